use Perl::LanguageServer;
use Perl::LanguageServer::Methods::DebugAdapter;
use Perl::LanguageServer::Methods::DebugAdapterInterface;
no warnings;
our ($own, $answered, $threads);
BEGIN { ($own, $answered) = (JSON::decode_json(shift @ARGV), Coro::Channel->new) }

package Perl::LanguageServer::DebuggerProcess;
# The client starts the program, and has its pipes.
sub launch {
    my ($self) = @_;
    my $adapter = $self->debug_adapter;
    my %env = $main::own->{debug} ? (
        PLSDI_REMOTE => '127.0.0.1:' . $adapter->listen_port, PLSDI_SESSION => '' . $self->session_id,
        PLSDI_OPTIONS => $self->reload_modules ? 'reload_modules' : '', PERL5DB => $main::own->{debug}) : ();
    $adapter->send_notification({ type => 'request', seq => 1, command => 'runInTerminal', arguments => {
        kind => 'integrated', title => $self->program, cwd => $self->cwd, env => \%env,
        args => [@{ $main::own->{perl} }, %env ? '-d' : (), $self->program, @{ $self->args }] } });
    my $answer = $main::answered->get;
    die "$answer->{message}\n" unless $answer->{success};
    my $pid = $answer->{body}{processId} or return;
    $self->pid($pid);
    $self->send_event('process', { name => $self->program, systemProcessId => $pid,
        isLocalProcess => JSON::true(), startMethod => 'launch' });
    async {
        Coro::AnyEvent::sleep(0.05) while kill 0, $pid;
        $self->send_event('terminated');
    };
}

package Perl::LanguageServer;
my $call;
BEGIN { $call = \&call_method }
sub call_method {
    my ($self, $message) = @_;
    goto &$call if $message->{type} ne 'response';
    $main::answered->put($message);
    return;
}

package Perl::LanguageServer::Methods::DebugAdapter;
my ($stack, $evaluate, $assign, $breakpoints);
BEGIN {
    ($stack, $evaluate, $assign, $breakpoints) =
        (\&_dapreq_stackTrace, \&_dapreq_evaluate, \&_dapreq_setVariable, \&_set_breakpoints);
}
# As its name says: its own forgets the threads instead.
sub clear_non_thread_ids {
    my ($self) = @_;
    my ($ids, $refs) = ($self->ref2id, $self->id2ref);
    delete $refs->{ delete $ids->{$_} } for grep { !/^0:/ } keys %$ids;
}
sub _check_not_running { die "the program runs\n" if $_[0]->running }
sub _dapreq_pause {
    my ($self) = @_;
    $self->debugger_process->signal('URG') if $self->running;
    return {};
}
# A thread that was stopped temporarily resumes as before: a step stays a step.
sub _temp_cont {
    my ($self, $workspace, $running) = @_;
    my $inside = $self->in_temp_break;
    return if !$running || !$inside;
    $self->in_temp_break($inside - 1);
    return if $inside > 1;
    $self->running(1);
    $self->send_request('resume');
}
sub _dapreq_threads {
    my ($self) = @_;
    my $list = $self->running ? $main::threads : ($main::threads = $self->send_request('threads')->{threads});
    return { threads => [map { {
        id => $self->getid(0, $_->{thread_ref}),
        name => $_->{name} eq 'single' ? 'main' : $_->{name},
    } } @{ $list || [{ thread_ref => 1, name => 'main' }] }] };
}
sub _dapreq_configurationDone {
    my ($self, $workspace) = @_;
    if ($main::own->{entry}) {
        my ($thread) = @{ $self->_dapreq_threads->{threads} };
        $self->send_event('stopped',
            { reason => 'entry', threadId => $thread->{id}, allThreadsStopped => JSON::true() });
    } else {
        # The program waits in its first line, past the breakpoint there.
        $self->running(1);
        $self->send_request('begin');
    }
    return {};
}
sub _dapreq_stackTrace {
    my ($self) = @_;
    my $answer = &$stack;
    my @frames;
    my $inside;
    # A block of `eval` is part of the function that contains it.
    for my $frame (@{ $answer->{stackFrames} }) {
        my $line = defined $inside ? $inside : $frame->{line};
        undef $inside;
        if ($frame->{name} eq '(eval)' && $frame != $answer->{stackFrames}[-1]) {
            $inside = $line;
            next;
        }
        $frame->{line} = $line;
        push @frames, $frame;
        my $path = $frame->{source}{path};
        if ($path =~ /^\(eval/) {
            $frame->{source} = { name => $path, presentationHint => 'deemphasize' };
        } elsif ($path !~ m{^/}) {
            $frame->{source}{path} = $self->debugger_process->cwd . "/$path";
        }
        delete @$frame{qw(frame_ref package)};
    }
    return { stackFrames => \@frames };
}
sub _set_breakpoints {
    my $answer = &$breakpoints;
    for my $one (@{ $answer->{breakpoints} }) {
        for my $key (qw(id line message)) { delete $one->{$key} unless $one->{$key} }
        delete $one->{source} unless $one->{verified};
        $one->{message} //= 'not loaded yet' unless $one->{verified};
    }
    return $answer;
}
sub told {
    my ($answer, $value) = @_;
    if ($answer->{name} eq 'ERROR') {
        $value =~ s/\s+$//;
        die "$value\n";
    }
    die "it has no value\n" unless defined $value;
    delete @$answer{qw(name var_ref)};
    return $answer;
}
sub _dapreq_evaluate {
    my ($self, $workspace, $asked) = @_;
    if (!$asked->params->{frameId} && !$self->running) {
        # Without a frame it means where the program is stopped.
        $asked->params->{threadId} = $self->_dapreq_threads->{threads}[0]{id};
        $asked->params->{frameId} = &$stack->{stackFrames}[0]{id};
    }
    my $answer = &$evaluate;
    return told($answer, $answer->{result});
}
sub _dapreq_setVariable { my $answer = &$assign; return told($answer, $answer->{value}) }
package main;
Perl::LanguageServer::run;
