//! Tests of waits for input, with processes that wait and others.

use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use super::{CpuTimes, InputFile, InputWaitKind, ObservedProgram, ThreadActivity, WaitDetector, sample};

/// A process that ends with the test.
struct TestProcess(Child);

impl TestProcess {
    fn new(program: &str, arguments: &[&str]) -> Self {
        Self(Command::new(program).args(arguments).spawn().unwrap())
    }
}

impl Drop for TestProcess {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn on_a_loaded_machine_one_that_polls_sleeps_and_one_that_works_does_not() {
    let busy = ["-c", "while :; do :; done"];
    let load: Vec<_> = (0..8).map(|_| TestProcess::new("sh", &busy)).collect();
    let polls = TestProcess::new("perl", &["-e", "select(undef, undef, undef, 0.01) while 1"]);
    let works = &load[0].0;
    let until = Instant::now() + Duration::from_secs(60);
    let none = InputFile::new(Path::new("none"));
    let sleeps = |pid: u32| {
        let earlier = CpuTimes::read(pid, &none);
        std::thread::sleep(Duration::from_millis(300));
        CpuTimes::read(pid, &none).show_sleep_since(&earlier)
    };
    // perl itself has to start.
    while !sleeps(polls.0.id()) {
        assert!(Instant::now() < until, "never seen to sleep");
    }
    for _ in 0..5 {
        assert!(!sleeps(works.id()));
    }
    assert!(!sleeps(i32::MAX as u32), "of what is not there nothing is known");
}

#[test]
fn a_process_with_a_thread_that_runs_is_not_idle() {
    let sleeps = TestProcess::new("sleep", &["60"]);
    let runs = TestProcess::new("sh", &["-c", "while :; do :; done"]);
    let none = InputFile::new(Path::new("none"));
    let moment = |pid: u32| sample(pid, &none).moment;
    let until = Instant::now() + Duration::from_secs(20);
    while moment(sleeps.0.id()) != ThreadActivity::Idle || moment(runs.0.id()) == ThreadActivity::Idle {
        assert!(Instant::now() < until, "never seen so");
    }
    assert_ne!(moment(i32::MAX as u32), ThreadActivity::Idle, "what is not there is not known to be idle");
}

/// A Perl program, and our end of its stdin.
fn perl(script: &str) -> (TestProcess, ChildStdin, InputFile) {
    let mut child = Command::new("perl").args(["-e", script]).stdin(Stdio::piped()).spawn().unwrap();
    let stdin = child.stdin.take().unwrap();
    let inode = rustix::fs::fstat(&stdin).unwrap().st_ino;
    (TestProcess(child), stdin, InputFile::new(Path::new(&format!("pipe:[{inode}]"))))
}

/// Whether a program is found waiting by looks in a row, within this time.
fn waits_within(pid: u32, input: &InputFile, limit: Duration) -> bool {
    let subject =
        ObservedProgram { pid, input: input.clone(), is_empty: true, takes_keys: false, is_quiet: false };
    let (mut detector, until) = (WaitDetector::default(), Instant::now() + limit);
    while Instant::now() < until {
        if let Some(found) = detector.sample(Some(&subject)) {
            assert_eq!(found, InputWaitKind::Reading);
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

const TEST_TIMEOUT: Duration = Duration::from_secs(20);

#[test]
fn expensive_samples_are_taken_less_often() {
    let shortest = Duration::from_millis(15);
    let interval = |cost: u64| {
        let cost = Duration::from_micros(cost);
        WaitDetector { cost, ..WaitDetector::default() }.interval(shortest).as_millis()
    };
    assert_eq!([0, 300, 1000, 20_000, 10_000_000].map(interval), [15, 15, 40, 800, 1000]);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn each_call_that_waits_for_input_is_found_and_none_that_waits_for_another_pipe() {
    let ring = "sub poke { pipe(my $r, my $w); syswrite($w, $_[1]);
                        syscall(0, fileno($r), $_[0], length $_[1]) }
                    my $p = \"\\0\" x 120; my $f = syscall(425, 4, $p); exit 9 if $f < 0;
                    my $ring = syscall(9, 0, 4096, 3, 1, $f, 0); my $e = syscall(9, 0, 256, 3, 1, $f, \
                    0x10000000);
                    my $b = syscall(9, 0, 4096, 3, 0x22, -1, 0);
                    poke($e, pack('CCSlQQLLQ', 22, 0, 0, FD, ~0, $b, 1, 0, 1) . \"\\0\" x 24);
                    poke($ring + unpack('x44L', $p), pack('L', 1));
                    syscall(426, $f, 1, 1, 1, 0, 8)";
    let epoll = "my $e = syscall(291, 0); my $v = pack('LQ', 1, 0); syscall(233, $e, 1, FD, $v);";
    let outer = "my $o = syscall(291, 0); my $w = pack('LQ', 1, 0); syscall(233, $o, 1, $e, $w);";
    for (name, call) in [
        ("read", "syscall(0, FD, $b, 1)"),
        ("readv", "my $v = pack('PQ', $b, 1); syscall(19, FD, $v, 1)"),
        ("poll", "my $p = pack('lss', FD, 1, 0); syscall(7, $p, 1, -1)"),
        ("poll with a limit", "my $p = pack('lss', FD, 1, 0); syscall(7, $p, 1, 60000)"),
        ("ppoll", "my $p = pack('lss', FD, 1, 0); syscall(271, $p, 1, 0, 0, 8)"),
        ("select", "my $s = ''; vec($s, FD, 1) = 1; select($s, undef, undef, undef)"),
        ("pselect6", "my $s = \"\\0\" x 128; vec($s, FD, 1) = 1; syscall(270, FD + 1, $s, 0, 0, 0, 0)"),
        ("epoll_wait", &format!("{epoll} syscall(232, $e, $v, 1, -1)")),
        ("epoll_pwait", &format!("{epoll} syscall(281, $e, $v, 1, -1, 0, 8)")),
        ("a set in a set", &format!("{epoll} {outer} syscall(232, $o, $w, 1, -1)")),
        ("io_uring_enter", ring),
    ] {
        let prepared = |descriptor: &str| format!("my $b = ' ' x 8; {}", call.replace("FD", descriptor));
        let (mut waits, _stdin, input) = perl(&prepared("0"));
        let found = waits_within(waits.0.id(), &input, TEST_TIMEOUT / 4);
        if !found && waits.0.try_wait().unwrap().is_some_and(|status| status.code() == Some(9)) {
            // Many containers forbid rings.
            continue;
        }
        assert!(found, "{name}");
        let (other, _stdin, input) = perl(&format!("pipe(R, W); {}", prepared("fileno(R)")));
        assert!(!waits_within(other.0.id(), &input, Duration::from_millis(200)), "{name} of another pipe");
    }
}

#[test]
fn a_program_that_works_beside_its_read_does_not_wait() {
    // A child that has the same stdin, and one that has another.
    let (works, _stdin, input) = perl("if (!fork) { 1 while getppid > 1 } <STDIN>");
    assert!(!waits_within(works.0.id(), &input, Duration::from_millis(500)));
    let (waits, _stdin, input) =
        perl("if (!fork) { open(STDIN, '<', '/dev/null'); 1 while getppid > 1 } <STDIN>");
    assert!(waits_within(waits.0.id(), &input, TEST_TIMEOUT));
    let (child_waits, _stdin, input) = perl("if (!fork) { <STDIN>; exit } wait");
    assert!(waits_within(child_waits.0.id(), &input, TEST_TIMEOUT));
    // A suspended job of a shell, which ends with the shell.
    let script = format!(
        "if (!fork) {{ syscall({}, 1, 9, 0, 0, 0); kill 'STOP', $$; exit }} sleep 1; <STDIN>",
        libc::SYS_prctl
    );
    let (waits, _stdin, input) = perl(&script);
    assert!(waits_within(waits.0.id(), &input, TEST_TIMEOUT));
    // Half of the time it works.
    let often = "use Time::HiRes qw(time sleep); if (!fork) { while (getppid > 1) {
            my $end = time + 0.004; 1 while time < $end; sleep 0.004 } } <STDIN>";
    let (works, _stdin, input) = perl(often);
    assert!(!waits_within(works.0.id(), &input, Duration::from_millis(500)));
}

#[test]
fn a_program_that_opens_its_terminal_by_the_name_of_any_waits_for_it() {
    let terminal = crate::terminal::PseudoTerminal::open().unwrap();
    let own = |rest: &str| format!("use POSIX; POSIX::setsid; ioctl(STDIN, 0x540E, my $zero = 0); {rest}");
    let start = |script: &str| {
        let programs = terminal.programs.as_fd().try_clone_to_owned().unwrap();
        TestProcess(Command::new("perl").args(["-e", script]).stdin(programs).spawn().unwrap())
    };
    let input = InputFile::new(&terminal.path);
    let reads = start(&own("open(T, '<', '/dev/tty'); open(STDIN, '<', '/dev/null'); <T>"));
    assert!(waits_within(reads.0.id(), &input, TEST_TIMEOUT));
    drop(reads);
    // The terminal of this name may be another.
    let other = InputFile::new(&crate::terminal::PseudoTerminal::open().unwrap().path);
    let reads = start(&own("open(T, '<', '/dev/tty'); <T>"));
    assert!(!waits_within(reads.0.id(), &other, Duration::from_millis(300)));
}
