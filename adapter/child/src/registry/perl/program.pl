BEGIN {
$| = 1;
require Perl::LanguageServer::DebuggerInterface;
require Cwd;
package DB;
$SIG{INT} = 'DEFAULT';
my ($evaluate, $save) = (\&DB::eval, \&DB::save);
our $error;
*DB::eval = sub { local $error = [$@]; &$evaluate };
*DB::save = sub { ($@) = @$error if $error; &$save };
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
my $beginning;
*{"${interface}::req_begin"} = sub { $beginning = 1; return };
*{"${interface}::idle"} = sub {
    if ($beginning) {
        $beginning = 0;
        my ($condition) = split /\0/, $DB::dbline{$DB::lineno} // '';
        my $holds = $condition && eval "package $DB::package; $condition";
        return DB->cont if !$holds;
        $interface->cprestop;
    }
    goto &$idle if !$pass;
    $leave ? DB->step : DB->cont;
};
*{"${interface}::get_eval_result"} = sub {
    my ($self, $frame, @rest) = @_;
    local @SIG{qw(__DIE__ __WARN__)} = ('DEFAULT', sub {});
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
}
