//! Does the program wait for input? On Linux `/proc` shows which system call each thread is blocked in.
//!
//! Not a guess at prompts: a thread must be inside `read` on the very pipe we write. A program that polls the keys of a terminal is
//! never found there: the caller has to check by the terminal that it takes keys, and here that nothing runs ([`moment`]), or hardly
//! anything ([`CpuTimes`]).

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::time::{Duration, Instant};

/// How a program waits for input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    /// It is blocked reading lines, or whatever comes.
    Reading,
    /// It takes single keys of a terminal.
    ForKeys,
}

/// x86-64 system call numbers that read: `read`, `readv`, `preadv2` is not used on pipes.
const READING_CALLS: [&str; 2] = ["0", "19"];

/// How many processes below the program are looked at.
const FAMILY: usize = 64;
/// How many threads of them are.
const MAX_THREADS: usize = 512;
/// A thread that runs less than one part in so many of the time sleeps.
const SLEEPS_TO_RUNS: u32 = 10;

/// Whether a thread of process `pid`, or of one below it, is blocked reading what `/proc` calls `name`. `false` where it
/// cannot be known.
pub fn is_reading(pid: u32, name: &Path) -> bool {
    any_of_family(pid, |process| process_is_reading(process, name))
}

/// What the threads of a program do at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// None runs. A program that works has no such moment, one that polls has many: to detect it, look several times.
    Idle,
    /// One runs, or could if there were a processor for it.
    Runs,
    /// One waits for a disk.
    WaitsForDisk,
}

/// What the threads of process `pid` and of those below it do; [`Moment::Runs`] where it cannot be known.
pub fn moment(pid: u32) -> Moment {
    if !Path::new("/proc").join(pid.to_string()).join("task").is_dir() {
        return Moment::Runs;
    }
    let mut most = Moment::Idle;
    any_of_family(pid, |process| {
        most = most.max(process_moment(process));
        most == Moment::WaitsForDisk
    });
    most
}

/// What the threads of a process and of those below it have used of the processors (`schedstat` of proc(5)).
#[derive(Debug)]
pub struct CpuTimes {
    taken: Instant,
    threads: HashMap<String, Thread>,
}

#[derive(Debug, Clone, Copy)]
struct Thread {
    ran: Duration,
    /// For a processor.
    waited: Duration,
    now: Moment,
}

impl CpuTimes {
    /// Those of process `pid` and of those below it up to now; none where they cannot be known.
    pub fn read(pid: u32) -> Self {
        let mut threads = HashMap::new();
        any_of_family(pid, |process| {
            let tasks = std::fs::read_dir(Path::new("/proc").join(process).join("task"));
            for task in tasks.into_iter().flatten().flatten().take(MAX_THREADS.saturating_sub(threads.len()))
            {
                let text = std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
                let mut times = text
                    .split_ascii_whitespace()
                    .filter_map(|word| word.parse().ok())
                    .map(Duration::from_nanos);
                if let (Some(ran), Some(waited)) = (times.next(), times.next()) {
                    let thread = Thread { ran, waited, now: thread_moment(&task.path()) };
                    threads.insert(task.file_name().to_string_lossy().into_owned(), thread);
                }
            }
            false
        });
        Self { taken: Instant::now(), threads }
    }

    /// Whether each thread has slept nearly all of the time since then, but for when it waited for a processor: on a loaded machine a
    /// program that polls is seen to wait for one at most looks. `false` where it cannot be known.
    pub fn show_sleep_since(&self, earlier: &Self) -> bool {
        let passed = self.taken.saturating_duration_since(earlier.taken);
        !self.threads.is_empty()
            && self.threads.iter().all(|(id, now)| {
                let (ran, waited) = earlier.threads.get(id).map_or((now.ran, now.waited), |before| {
                    (now.ran.saturating_sub(before.ran), now.waited.saturating_sub(before.waited))
                });
                // A thread that has got no processor all that time is not known to want little of it.
                let starved = ran.is_zero() && now.now != Moment::Idle;
                !starved && ran * SLEEPS_TO_RUNS <= passed.saturating_sub(waited)
            })
    }
}

/// Whether this holds for process `pid` or for one below it, as far as [`FAMILY`] goes.
fn any_of_family(pid: u32, mut holds: impl FnMut(&str) -> bool) -> bool {
    let mut family = VecDeque::from([pid.to_string()]);
    let mut seen = 0;
    while let Some(process) = family.pop_front() {
        if holds(&process) {
            return true;
        }
        seen += 1;
        let tasks = std::fs::read_dir(Path::new("/proc").join(process).join("task"));
        for task in tasks.into_iter().flatten().flatten() {
            let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            let room = FAMILY.saturating_sub(seen + family.len());
            family.extend(children.split_ascii_whitespace().take(room).map(str::to_owned));
        }
    }
    false
}

fn process_is_reading(pid: &str, name: &Path) -> bool {
    let process = Path::new("/proc").join(pid);
    let Ok(tasks) = std::fs::read_dir(process.join("task")) else { return false };
    tasks.flatten().any(|task| {
        let Ok(call) = std::fs::read_to_string(task.path().join("syscall")) else { return false };
        let mut words = call.split_ascii_whitespace();
        let reading = words.next().is_some_and(|number| READING_CALLS.contains(&number));
        let descriptor =
            words.next().and_then(|word| u32::from_str_radix(word.trim_start_matches("0x"), 16).ok());
        // The runtime may have duplicated descriptor 0: what counts is the pipe behind it.
        match (reading, descriptor) {
            (true, Some(descriptor)) => std::fs::read_link(process.join("fd").join(descriptor.to_string()))
                .is_ok_and(|target| target == name),
            _ => false,
        }
    })
}

fn process_moment(pid: &str) -> Moment {
    let Ok(tasks) = std::fs::read_dir(Path::new("/proc").join(pid).join("task")) else { return Moment::Idle };
    tasks.flatten().map(|task| thread_moment(&task.path())).max().unwrap_or(Moment::Idle)
}

/// By the letter behind the thread's name, which is in parentheses and may have some (proc_pid_stat(5)).
fn thread_moment(task: &Path) -> Moment {
    let stat = std::fs::read_to_string(task.join("stat")).unwrap_or_default();
    match stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()) {
        Some('R') => Moment::Runs,
        Some('D') => Moment::WaitsForDisk,
        _ => Moment::Idle,
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};
    use std::time::{Duration, Instant};

    use super::{CpuTimes, Moment, moment};

    /// A process that ends with the test.
    struct Started(Child);

    impl Started {
        fn new(program: &str, arguments: &[&str]) -> Self {
            Self(Command::new(program).args(arguments).spawn().unwrap())
        }
    }

    impl Drop for Started {
        fn drop(&mut self) {
            self.0.kill().unwrap();
            self.0.wait().unwrap();
        }
    }

    #[test]
    fn on_a_loaded_machine_one_that_polls_sleeps_and_one_that_works_does_not() {
        let busy = ["-c", "while :; do :; done"];
        let load: Vec<_> = (0..8).map(|_| Started::new("sh", &busy)).collect();
        let polls = Started::new("perl", &["-e", "select(undef, undef, undef, 0.01) while 1"]);
        let works = &load[0].0;
        let until = Instant::now() + Duration::from_secs(60);
        let sleeps = |pid: u32| {
            let earlier = CpuTimes::read(pid);
            std::thread::sleep(Duration::from_millis(300));
            CpuTimes::read(pid).show_sleep_since(&earlier)
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
        let sleeps = Started::new("sleep", &["60"]);
        let runs = Started::new("sh", &["-c", "while :; do :; done"]);
        let until = Instant::now() + Duration::from_secs(20);
        while moment(sleeps.0.id()) != Moment::Idle || moment(runs.0.id()) == Moment::Idle {
            assert!(Instant::now() < until, "never seen so");
        }
        assert_ne!(moment(i32::MAX as u32), Moment::Idle, "what is not there is not known to be idle");
    }
}
