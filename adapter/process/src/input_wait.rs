//! Detection of a program that waits for input: one model for all languages, from `/proc` on Linux.
//!
//! Not a guess at prompts: a thread of the program, or of a process below it that has the same stdin or
//! terminal, is blocked in a system call that waits for this input
//! ([`blocking_calls`](super::blocking_calls)), and no other thread of these processes runs. One sample may
//! find a working program between two short sleeps, so [`WaitDetector`] takes several. A program that polls
//! the keys of a terminal without a blocking call is never found blocked: the caller checks in the terminal
//! that it takes keys, and here that nothing runs ([`ThreadActivity`]), or hardly anything ([`CpuTimes`]).

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::blocking_calls::InputFile;
use super::stdin::ProgramStdin;

/// How a program waits for input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputWaitKind {
    /// It is blocked until it can read lines, or any input.
    Reading,
    /// It takes single keys of a terminal.
    ForKeys,
}

/// How many processes below the program are checked.
const MAX_DESCENDANTS: usize = 64;
/// How many threads of these processes are checked.
const MAX_THREADS: usize = 512;
/// The shortest time between two samples.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(4);
/// Samples may take one part in so many of a processor's time.
const MAX_LOAD: u32 = 40;
/// The longest time between two samples, for a program with many threads.
const MAX_SAMPLE_INTERVAL: Duration = Duration::from_secs(1);
/// How long each sample has to find a program blocked on its input.
const WAIT_PROBE_TIMEOUT: Duration = Duration::from_millis(20);
/// Of so many looks in a row at a program that may poll for keys so many have to find it idle, or its threads
/// have slept nearly all of the time between the first and the last. Looks, not time: on a machine that was
/// paused for a while the program has not run either.
const MIN_SAMPLES: u32 = 12;
const MIN_IDLE_SAMPLES: u32 = 8;
/// One that polls has nothing to do for so long, each time that it gets a processor.
const MAX_POLL_TURN: Duration = Duration::from_millis(1);
/// A thread that runs less than one part in so many of the time sleeps.
const SLEEPS_TO_RUNS: u32 = 10;

/// Samples the threads of process `pid`, and of the processes below it that share this input.
pub(super) fn sample(pid: u32, input: &InputFile) -> ProgramSample {
    let mut found = ProgramSample { awaits_input: false, moment: ThreadActivity::Idle };
    let mut is_there = false;
    each_of_family(pid, |process, is_first| {
        let tasks = unsuspended_tasks(process, is_first);
        let threads: Vec<_> = tasks.map(|task| (thread_moment(&task), task)).collect();
        is_there |= is_first && !threads.is_empty();
        let awaits = |(moment, task): &(ThreadActivity, PathBuf)| {
            *moment == ThreadActivity::Idle && input.is_awaited_by(process, task)
        };
        let awaits_input = threads.iter().any(awaits);
        found.awaits_input |= awaits_input;
        if is_first || awaits_input || input.is_shared_by(process) {
            found.moment = threads.iter().map(|(moment, _)| *moment).fold(found.moment, ThreadActivity::max);
        }
    });
    if is_there { found } else { ProgramSample { awaits_input: false, moment: ThreadActivity::Runs } }
}

/// One sample of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProgramSample {
    /// A thread waits until it can read the input.
    awaits_input: bool,
    /// The busiest thread's state; [`ThreadActivity::Runs`] where it cannot be known.
    moment: ThreadActivity,
}

impl ProgramSample {
    /// Whether the program waits for input at this moment.
    pub(super) fn is_wait(self) -> bool {
        self.awaits_input && self.moment == ThreadActivity::Idle
    }
}

/// Combined state of a program's threads at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ThreadActivity {
    /// No thread runs. A program that works is never idle, one that polls often is:
    /// several samples detect that.
    Idle,
    /// One runs, or could if there were a processor for it, or is stopped by a debugger or a signal.
    Runs,
    /// One waits for a disk.
    WaitsForDisk,
}

/// Processor time that the threads of a program have used (`schedstat` of proc(5)).
#[derive(Debug)]
pub(super) struct CpuTimes {
    taken: Instant,
    threads: HashMap<PathBuf, ThreadTimes>,
}

#[derive(Debug, Clone, Copy)]
struct ThreadTimes {
    ran: Duration,
    /// For a processor, without the wait that lasts now.
    waited: Duration,
    /// How often it got one.
    turns: u32,
    now: ThreadActivity,
}

impl CpuTimes {
    /// Reads the times of process `pid`, and of the processes below it that share this input; empty if
    /// they are not readable.
    pub(super) fn read(pid: u32, input: &InputFile) -> Self {
        let mut threads = HashMap::new();
        each_of_family(pid, |process, is_first| {
            if !is_first && !input.is_shared_by(process) {
                return;
            }
            for task in unsuspended_tasks(process, is_first).take(MAX_THREADS.saturating_sub(threads.len())) {
                let text = std::fs::read_to_string(task.join("schedstat")).unwrap_or_default();
                let mut times = text
                    .split_ascii_whitespace()
                    .filter_map(|word| word.parse().ok())
                    .map(Duration::from_nanos);
                if let (Some(ran), Some(waited)) = (times.next(), times.next()) {
                    let turns = text.split_ascii_whitespace().nth(2).and_then(|turns| turns.parse().ok());
                    let thread =
                        ThreadTimes { ran, waited, turns: turns.unwrap_or(1), now: thread_moment(&task) };
                    threads.insert(task, thread);
                }
            }
        });
        Self { taken: Instant::now(), threads }
    }

    /// Whether each thread has slept nearly all of the time since then, but for when it waited for a
    /// processor: on a loaded machine a program that polls is seen to wait for one at most looks. `false`
    /// where it cannot be known.
    fn show_sleep_since(&self, earlier: &Self) -> bool {
        let passed = self.taken.saturating_duration_since(earlier.taken);
        !self.threads.is_empty()
            && self.threads.iter().all(|(id, now)| {
                let (ran, waited, turns) =
                    earlier.threads.get(id).map_or((now.ran, now.waited, now.turns), |before| {
                        (
                            now.ran.saturating_sub(before.ran),
                            now.waited.saturating_sub(before.waited),
                            now.turns.saturating_sub(before.turns),
                        )
                    });
                // A thread that has got no processor all that time is not known to want little of it.
                let starved = ran.is_zero() && now.now != ThreadActivity::Idle;
                // One that works waits most of the time if others have the processor. It uses up its turns.
                let works = now.now != ThreadActivity::Idle && ran > MAX_POLL_TURN * turns.max(1);
                !starved && !works && ran * SLEEPS_TO_RUNS <= passed.saturating_sub(waited)
            })
    }
}

/// Samples a program several times in a row, until the samples show whether it waits for input.
#[derive(Debug, Default)]
pub(super) struct WaitDetector {
    count: u32,
    last: Option<Instant>,
    /// How long the last sample took.
    cost: Duration,
    /// How many in a row found it blocked on its input.
    waits: u32,
    /// How many in a row found that it may poll for keys, and of them those that found it idle,
    /// or waiting for a disk.
    polls: u32,
    idle: u32,
    on_disk: u32,
    /// The times at the first sample of the row.
    earlier: Option<CpuTimes>,
}

/// A program that takes keys and has neither printed nor been typed to for so long, and does not
/// run, waits for a key.
pub(super) const QUIET_INTERVAL: Duration = Duration::from_millis(300);

/// The program to sample, with facts that `/proc` does not have.
#[derive(Debug)]
pub(super) struct ObservedProgram {
    /// The process that reads what is written.
    pub(super) pid: u32,
    pub(super) input: InputFile,
    /// Everything that was written has been read.
    pub(super) is_empty: bool,
    /// Its terminal is switched to single keys, and it has read all of them.
    pub(super) takes_keys: bool,
    /// It has neither printed nor got a key for a while.
    pub(super) is_quiet: bool,
}

impl ObservedProgram {
    /// The process that reads this input, and whether it has printed within [`QUIET_INTERVAL`].
    pub(super) fn new(pid: u32, stdin: &ProgramStdin, has_printed: bool) -> Self {
        Self {
            pid,
            input: stdin.input().clone(),
            is_empty: stdin.is_empty_and_open(),
            takes_keys: stdin.takes_keys(),
            is_quiet: !has_printed && !stdin.was_typed_within(QUIET_INTERVAL),
        }
    }
}

impl WaitDetector {
    /// Takes one more sample. Without a program the row begins again.
    pub(super) fn sample(&mut self, subject: Option<&ObservedProgram>) -> Option<InputWaitKind> {
        let began = Instant::now();
        let found = self.take_sample(subject);
        self.cost = began.elapsed();
        found
    }

    /// The time until the next sample: at least `shortest`, and longer for a program with so many
    /// threads that sampling would take a larger part of a processor than [`MAX_LOAD`].
    pub(super) fn interval(&self, shortest: Duration) -> Duration {
        shortest.max((self.cost * MAX_LOAD).min(MAX_SAMPLE_INTERVAL))
    }

    fn take_sample(&mut self, subject: Option<&ObservedProgram>) -> Option<InputWaitKind> {
        // Output may come in many pieces. One look at several of them is enough.
        if self.last.is_some_and(|last| last.elapsed() < SAMPLE_INTERVAL) {
            return None;
        }
        self.last = Some(Instant::now());
        self.count += 1;
        let Some(subject) = subject else {
            self.begin();
            return None;
        };
        let now = sample(subject.pid, &subject.input);
        if subject.is_empty && now.is_wait() {
            return self.detect_blocked(subject);
        }
        self.waits = 0;
        if subject.takes_keys && subject.is_quiet {
            return self.detect_polling(subject, now.moment);
        }
        self.begin();
        None
    }

    /// Whether another sample cannot change the result.
    pub(super) fn is_over(&self) -> bool {
        self.count > MIN_SAMPLES * 2 || self.waits == 0 && (self.polls == 0 || self.polls == MIN_SAMPLES)
    }

    fn begin(&mut self) {
        *self = Self { count: self.count, last: self.last, cost: self.cost, ..Self::default() };
    }

    fn detect_blocked(&mut self, subject: &ObservedProgram) -> Option<InputWaitKind> {
        let now = CpuTimes::read(subject.pid, &subject.input);
        if self.waits == 0 {
            self.begin();
        }
        self.waits += 1;
        let earlier = self.earlier.get_or_insert(now);
        if earlier.taken.elapsed() < WAIT_PROBE_TIMEOUT {
            return None;
        }
        if !CpuTimes::read(subject.pid, &subject.input).show_sleep_since(earlier) {
            self.begin();
            return None;
        }
        Some(if subject.takes_keys { InputWaitKind::ForKeys } else { InputWaitKind::Reading })
    }

    fn detect_polling(&mut self, subject: &ObservedProgram, moment: ThreadActivity) -> Option<InputWaitKind> {
        if self.polls == MIN_SAMPLES {
            self.begin();
        }
        self.polls += 1;
        match moment {
            ThreadActivity::Idle => self.idle += 1,
            ThreadActivity::Runs => {}
            ThreadActivity::WaitsForDisk => self.on_disk += 1,
        }
        let read = || CpuTimes::read(subject.pid, &subject.input);
        let earlier = self.earlier.get_or_insert_with(read);
        if self.polls < MIN_SAMPLES {
            return None;
        }
        let sleeps = self.on_disk == 0 && read().show_sleep_since(earlier);
        (self.idle >= MIN_IDLE_SAMPLES || sleeps).then_some(InputWaitKind::ForKeys)
    }
}

/// Visits process `pid`, which is the first, and those below it, as far as [`MAX_DESCENDANTS`] goes.
pub(super) fn each_of_family(pid: u32, mut visit: impl FnMut(&Path, bool)) {
    let mut family = VecDeque::from([Path::new("/proc").join(pid.to_string())]);
    let mut seen = 0;
    while let Some(process) = family.pop_front() {
        visit(&process, seen == 0);
        seen += 1;
        for task in tasks_of(&process) {
            let children = std::fs::read_to_string(task.join("children")).unwrap_or_default();
            let room = MAX_DESCENDANTS.saturating_sub(seen + family.len());
            let children = children.split_ascii_whitespace().take(room);
            family.extend(children.map(|child| Path::new("/proc").join(child)));
        }
    }
}

/// The folders of a process's threads.
pub(super) fn tasks_of(process: &Path) -> impl Iterator<Item = PathBuf> {
    std::fs::read_dir(process.join("task")).into_iter().flatten().flatten().map(|task| task.path())
}

/// The same without those of a suspended job, which does not hide that the shell waits for input.
fn unsuspended_tasks(process: &Path, is_first: bool) -> impl Iterator<Item = PathBuf> {
    tasks_of(process).filter(move |task| is_first || thread_state(task) != Some('T'))
}

/// The letter behind the thread's name, which is in parentheses and may have some (proc_pid_stat(5)).
pub(super) fn thread_state(task: &Path) -> Option<char> {
    let stat = std::fs::read_to_string(task.join("stat")).unwrap_or_default();
    stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next())
}

fn thread_moment(task: &Path) -> ThreadActivity {
    match thread_state(task) {
        Some('R' | 't' | 'T') => ThreadActivity::Runs,
        Some('D') => ThreadActivity::WaitsForDisk,
        _ => ThreadActivity::Idle,
    }
}

#[cfg(test)]
mod tests;
