//! Perl through `Perl::LanguageServer`, whose debugger runs inside the program and connects back to the
//! adapter.
//!
//! The adapter starts programs with its own pipes and keeps their output; it cannot pass input on. So it is
//! started with [`ADAPTER`] before its own code: it then asks for the program (`runInTerminal`), as others
//! do. The program loads the debugger and then [`PROGRAM`]. Both replace methods, by name, that are broken in
//! version 2.5; each says why. [`crate::terminal`] answers `runInTerminal`.

use std::path::Path;
use std::process::{Command, Stdio};

use dap_wire::Failure;
use serde_json::{Value, json};

use super::super::find::{self, AdapterSearch};
use super::super::launch_plan::{LaunchPlan, ProgramIo, Quirks, Transport};
use super::super::profile::{ConditionProfile, ExpressionAssignment, IdlePause, Profile};
use super::super::target::Target;
use tandem_engine::LookOnlyRequests;
use tandem_engine::condition_language::{ConditionLanguage, either};
use tandem_engine::description::{Description, EditorLanguage, Recognition};
use tandem_process::SpawnSpec;

/// Metadata of `Perl::LanguageServer`, known without starting it.
const DESCRIPTION: Description = Description {
    name: "perl",
    languages: "Perl",
    summary: "Perl: Perl::LanguageServer.",
    needs: "the module `Perl::LanguageServer` in the program's Perl (`apt-get install \
        libperl-languageserver-perl`)",
    stdio: "Tandem makes the adapter ask it to start the program",
    recognition: Recognition { extensions: &["pl", "t"], interpreters: &["perl*"], ..Recognition::NONE },
    editor_languages: &[EditorLanguage {
        id: "perl",
        name: "Perl",
        projects: &[],
        endings: &["pl"],
        runs_files: true,
    }],
    interpreters: &[("perl", "perl")],
    ..Description::NONE
};

/// The command that installs the adapter.
const INSTALL: &str = "apt-get install libperl-languageserver-perl";

/// Perl code that runs in the adapter before its own code.
const ADAPTER: &str = r##"
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
        $self->running(1);
        $self->send_request('continue');
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
"##;

/// What loads the debugger in the program, for perl's variable `PERL5DB`. One line each, so
/// nothing in it is a comment:
///
/// - SIGINT is the program's again; SIGURG, which programs ignore, pauses it. The handler serves the adapter
///   itself: so a program that waits in a `read` also stops, and breakpoints are set meanwhile. It must not
///   touch `$/`, which a `read` may be using. A signal that arrives while the debugger itself runs takes
///   effect as soon as the program runs.
/// - `DB::cont` and the like set flags that single-step the debugger's own code when it runs in that handler:
///   they are set at its end.
/// - A step out is steps until fewer functions are called: the debugger's own knows only calls that were
///   stepped into.
/// - A process that the program forks runs on without a debugger: it has the same connection.
/// - Errors are errors, not values; elements are in their order and in pages; values other than scalars,
///   arrays and hashes are shown; bytes that are UTF-8 are text; keys with quotes are found again.
/// - Modules that were loaded by a relative path are known by the whole one.
/// - A path is bytes for Perl, and text for the adapter.
/// - A character that is not valid Unicode, such as half a surrogate pair, is written out: the adapter cannot
///   read a message that has one.
const PROGRAM: &str = r##"BEGIN {
$| = 1;
require Perl::LanguageServer::DebuggerInterface;
require Cwd;
package DB;
$SIG{INT} = 'DEFAULT';
my $interface = 'Perl::LanguageServer::DebuggerInterface';
my ($result, $rows, $scalar, $children, $variables, $idle, $stop) =
    map { $interface->can($_) } qw(get_eval_result get_vars get_scalar get_var_eval req_vars idle cprestop);
our ($from, $count);
my ($own, $leave, $pass, $stepping) = ($$, 0, 0, 0);
no warnings;
our $within;
my ($go, $resume, $want, $again);
for my $name (qw(cont step next ret)) {
    my $code = DB->can($name);
    *{"DB::$name"} = sub {
        &$code;
        ($go, $want, $DB::single) = (1, $DB::single, 0) if $within;
    };
}
*{"${interface}::req_resume"} = sub { $resume = 1; DB->cont; return };
$SIG{URG} = sub {
    my ($package, $file, $line) = caller;
    if ($package eq 'DB' || $package =~ /^Perl::LanguageServer::Debugger/) {
        ($within ? $again : $DB::signal) = 1;
        $Perl::LanguageServer::DebuggerInterface::break_reason = 'pause';
        return;
    }
    my $single = $DB::single;
    local ($@, $!) = ($@, $!);
    ($DB::single, $DB::signal, $go, $resume, $again) = (0, 0, 0, 0, 0);
    local $within = 1;
    ($DB::package, $DB::filename, $DB::lineno) = ($package, $file, $line);
    local (*DB::dbline) = "::_<$file";
    $Perl::LanguageServer::DebuggerInterface::break_reason = 'pause';
    $interface->cprestop;
    $interface->idle until $go;
    $DB::single = $resume ? $single : $want;
    $DB::signal = $again;
};
sub depth { my $depth = 0; $depth++ while caller $depth; return $depth }
*{"${interface}::cprestop"} = sub {
    close $Perl::LanguageServer::DebuggerInterface::socket if $$ != $own;
    $pass = $$ != $own || $leave && depth() >= $leave;
    return if $pass;
    $Perl::LanguageServer::DebuggerInterface::break_reason ||= 'step'
        if $stepping && !$DB::dbline{$DB::lineno};
    $leave = $stepping = 0;
    goto &$stop;
};
*{"${interface}::idle"} = sub {
    goto &$idle if !$pass;
    $leave ? DB->step : DB->cont;
};
*{"${interface}::get_eval_result"} = sub {
    my ($self, $frame, @rest) = @_;
    my $found = $result->($self, $frame + 1, @rest);
    if ($found->{ERROR}) {
        my ($why) = @{ $found->{ERROR} };
        $why =~ s/ at \(eval \d+\)(\[[^\]]*\])? line \d+//g;
        $why =~ s/\s+$//;
        die "$why\n";
    }
    return $found;
};
*{"${interface}::req_vars"} = sub {
    my ($self, $asked, @rest) = @_;
    local ($from, $count) = @$asked{qw(start count)};
    return $variables->($self, { %$asked, frame_ref => $asked->{frame_ref} + 1 }, @rest);
};
*{"${interface}::get_vars"} = sub {
    my ($self, $found, $shown) = @_;
    my $elements = !grep { /\D/ } keys %$found;
    if ($elements && $count) {
        my %page = map { ($_ => $found->{$_}) } grep { exists $found->{$_} } $from .. $from + $count - 1;
        $found = \%page;
    }
    $rows->($self, $found, $shown, $elements);
    for my $name (sort keys %$found) {
        my $value = $found->{$name}[0];
        $value = $$value if ref $value eq 'REF';
        my $kind = Scalar::Util::reftype($value);
        next if $kind =~ /^(|SCALAR|ARRAY|HASH)$/ || $name =~ /^Handle/;
        push @$shown, { name => $name, value => "$value", type => ucfirst lc $kind };
    }
};
*{"${interface}::get_scalar"} = sub {
    my ($self, $value) = @_;
    utf8::decode($value) if defined $value && !ref $value && !utf8::is_utf8($value);
    return $scalar->($self, $value);
};
*{"${interface}::get_var_eval"} = sub {
    my $found = &$children;
    for my $name (grep { /[\\']/ } keys %$found) {
        (my $quoted = $name) =~ s/([\\'])/\\$1/g;
        $found->{$name}[1] =~ s/\{'\Q$name\E'\}$/{'$quoted'}/;
    }
    return $found;
};
*{"${interface}::req_step_out"} = sub {
    $leave = depth() - 2;
    $stepping = 1;
    DB->step;
    return;
};
my ($set, $postponed, $home) = ($interface->can('req_breakpoint'), \&DB::postponed, Cwd::getcwd());
sub whole { my ($path) = @_; return $path =~ m{^[/(]} ? $path : "$home/" . $path =~ s{^\./}{}r }
*{"${interface}::req_breakpoint"} = sub {
    my ($self, $asked) = @_;
    my $file = $asked->{filename};
    utf8::encode($file) if defined $file;
    $asked = { %$asked, filename => $file };
    if (defined $file && !defined $main::{"_<$file"}) {
        my ($loaded) = grep { whole($_) eq $file } map { substr $_, 2 } grep { /^_</ } keys %main::;
        $asked = { %$asked, filename => $loaded } if defined $loaded;
    }
    my $answer = $set->($self, $asked);
    for my $one (@{ $answer->{breakpoints} }) { $one->[5] = whole($one->[5] // $file) if $one->[2] }
    return $answer;
};
*DB::postponed = sub {
    my ($loaded) = @_;
    if (ref \$loaded eq 'GLOB') {
        local *dbline = $loaded;
        my $file = whole($dbline);
        my $waiting = \%Perl::LanguageServer::DebuggerInterface::postponed_breakpoints;
        $waiting->{$dbline} = delete $waiting->{$file} if $file ne $dbline && exists $waiting->{$file};
    }
    &$postponed;
};
my $send = $interface->can('_send');
sub written_out {
    my ($told) = @_;
    return { map { ($_ => written_out($told->{$_})) } keys %$told } if ref $told eq 'HASH';
    return [map { written_out($_) } @$told] if ref $told eq 'ARRAY';
    return $told if ref $told || !defined $told || $told !~ /[^\x00-\x7f]/;
    utf8::decode($told) if !utf8::is_utf8($told);
    return $told if $told !~ /[\x{d800}-\x{dfff}\x{110000}-\x{7fffffff}]/;
    (my $text = $told) =~ s/([\x{d800}-\x{dfff}\x{110000}-\x{7fffffff}])/sprintf '\\x{%x}', ord $1/ge;
    return $text;
}
*{"${interface}::_send"} = sub { $send->($_[0], written_out($_[1])) };
for my $name (qw(next step_in)) {
    my $step = $interface->can("req_$name");
    *{"${interface}::req_$name"} = sub { $stepping = 1; goto &$step };
}
DB::DB();
}"##;

/// Perl's conditions, where the debugger continues past one that fails.
const PERL: ConditionLanguage = ConditionLanguage {
    name: "Perl",
    combine: |conditions| {
        // A comment ends with its line.
        let each = |condition: &str| format!("(do {{ local $@; eval {{ ({condition}\n) ? 1 : 0 }} // 1 }})");
        Some(either(conditions, each))
    },
    truth: |text| !matches!(text, "" | "undef" | "0" | "''"),
};

/// How Tandem launches Perl::LanguageServer, and where it differs from other adapters.
pub(super) struct Perl;

impl Profile for Perl {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    /// It turns objects into text, which may be overloaded.
    fn look_only_requests(&self) -> LookOnlyRequests {
        LookOnlyRequests::Known(&[])
    }

    fn is_in_the_program(&self) -> bool {
        true
    }

    /// A signal is handled between two of Perl's operations.
    fn idle_pause(&self) -> IdlePause {
        IdlePause::Deferred("it is in a call that has not returned to Perl")
    }

    fn mixes_children(&self) -> bool {
        false
    }

    /// An assignment to a list, which any place can be in.
    fn expression_assignment(&self) -> Option<ExpressionAssignment> {
        Some(ExpressionAssignment::Evaluated)
    }

    /// It announces requests that it has no code for, and answers `breakpointLocations` with the first line.
    fn complete_capabilities(&self, capabilities: &mut Value) {
        for name in [
            "supportsCancelRequest",
            "supportsTerminateThreadsRequest",
            "supportsModulesRequest",
            "supportsSetExpression",
            "supportsBreakpointLocationsRequest",
        ] {
            capabilities[name] = json!(false);
        }
    }

    fn version(&self, target: &Target) -> Option<String> {
        let mut query = Command::new(find_perl(target).ok()?);
        query.args(["-MPerl::LanguageServer", "-e", "print $Perl::LanguageServer::VERSION"]);
        find::printed_version(query)
    }

    fn launch(&self, target: &Target) -> Result<LaunchPlan, Failure> {
        let program = target.existing_program()?.display().to_string();
        let perl = find_perl(target)?;
        let switches = target.attribute("perlArgs").as_array().cloned().unwrap_or_default();
        let command: Vec<Value> =
            std::iter::once(json!(perl.display().to_string())).chain(switches).collect();
        let debug = if target.no_debug { json!(null) } else { json!(PROGRAM.replace('\n', " ")) };
        let own = json!({ "perl": command, "debug": debug, "entry": target.flag("stopOnEntry", false)? });
        let args = ["-e", ADAPTER, "--", &own.to_string(), "--port", "{port}", "--nostdio"];
        Ok(LaunchPlan {
            spec: SpawnSpec {
                program: perl,
                args: args.map(Into::into).to_vec(),
                cwd: target.cwd.clone(),
                ..SpawnSpec::default()
            },
            transport: Transport::Listens,
            program_io: ProgramIo::Terminal,
            adapter_id: "perl".into(),
            command: "launch",
            arguments: target
                .for_adapter(json!({ "program": program, "cwd": target.cwd, "args": target.args, "env": {},
                    "stopOnEntry": false })),
            launched: true,
            quirks: Quirks {
                skips_initialized_without_debug: target.no_debug,
                reuses_address: true,
                ..Quirks::default()
            },
            opened: None,
        })
    }
}

impl ConditionProfile for Perl {
    fn condition_language(&self) -> ConditionLanguage {
        PERL
    }

    fn syntax_check(&self, target: &Target, condition: &str) -> Option<Command> {
        let check = "my $c = shift; eval \"no strict; sub { ($c\\n) }\"; $@ =~ s/ at \\(eval \\d+\\) line \
            \\d+//g; print $@";
        let mut command = Command::new(find::on_path(&target.variable("PATH").unwrap_or_default(), "perl")?);
        command.env_remove("PERL5OPT").env_remove("PERL5DB").args(["-e", check, "--", condition]);
        Some(command)
    }

    /// It takes what dies for false, and a text for the number that it begins with.
    fn guarded_condition(&self, condition: &str) -> String {
        format!(
            "(do {{ local $@; eval {{ ({condition}\n) ? 1 : 0 }} // do {{ $DB::tandem_failed = $@; 1 }} }})"
        )
    }

    fn failure_query(&self) -> Option<&'static str> {
        Some(
            "my $told = $DB::tandem_failed // ''; undef $DB::tandem_failed; $told =~ s/ at \\S+ line \
                \\d+//; $told",
        )
    }
}

/// A Perl that has the adapter's module.
fn find_perl(target: &Target) -> Result<std::path::PathBuf, Failure> {
    let perl = AdapterSearch::new("perl", "`perl` with the module `Perl::LanguageServer`", INSTALL)
        .with_engine_path(target)?
        .on_path(target, &["perl"])
        .end()?;
    if has_module(&perl, target) {
        return Ok(perl);
    }
    let looked = format!("the modules of {}", perl.display());
    let what = "the Perl module `Perl::LanguageServer`";
    Err(find::missing("perl", what, &[looked]).hint(format!(
        "install it: `{INSTALL}` or `cpan Perl::LanguageServer`; or set `enginePath` to another perl"
    )))
}

/// Looks in the folders of modules; loading the module would take a second.
fn has_module(perl: &Path, target: &Target) -> bool {
    let look = "for (@INC) { exit 0 if -e \"$_/Perl/LanguageServer.pm\" } exit 1";
    let mut command = Command::new(perl);
    command.args(["-e", look]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Some(library) = target.variable("PERL5LIB") {
        command.env("PERL5LIB", library);
    }
    command.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_does_not_hide_the_other_conditions() {
        let combined = PERL.any_of(&["$a # //", "$b"]).unwrap_or_default();
        assert!(combined.contains("($a # //\n)"), "{combined}");
    }

    #[test]
    fn only_what_perl_holds_for_false_does_not_hold() {
        for text in ["undef", "0", "''", " 0 "] {
            assert!(!PERL.is_true(text), "{text}");
        }
        for text in ["1", "'0.0'", "0.0", "[]", "{}", "'false'"] {
            assert!(PERL.is_true(text), "{text}");
        }
    }

    #[test]
    fn program_code_has_no_comments_or_placeholders() {
        assert!(!PROGRAM.lines().any(|line| line.trim_start().starts_with('#') || line.contains(" # ")));
        assert!(!PROGRAM.contains("{port}") && !ADAPTER.contains("{port}"));
    }
}
