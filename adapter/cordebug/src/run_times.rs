//! The processor time that the threads of a program have had since it was resumed, from the kernel: proc(5),
//! `/proc/PID/task/TID/{status,schedstat}`. Does not know the runtime; [`crate::activity`] counts the
//! messages with it.

use std::collections::HashMap;

/// Processor time in which a thread reports what it ran into before, ns.
const MIN_RUN_TIME: u64 = 5_000_000;

/// The threads' processor times when the program was resumed.
#[derive(Debug)]
pub struct ThreadRunTimes {
    pid: u32,
    /// Processor time of each thread by its id, ns.
    start: HashMap<u32, u64>,
}

impl ThreadRunTimes {
    /// Reads the times of process `pid`, which runs from now on.
    pub fn start(pid: u32) -> Self {
        Self { pid, start: threads(pid).map(|thread| (thread, run_time(pid, thread))).collect() }
    }

    /// Whether each thread has had 5 ms of a processor, or waits for something else: on a loaded machine a
    /// thread can wait for a processor much longer than that. `true` if the program has ended.
    ///
    /// Those that wait do so at the same time: a thread that waited when it was read may have been resumed
    /// since by one that is read later, and waits by then.
    pub fn all_have_run(&self) -> bool {
        let waiting = self.waiting_threads();
        waiting.is_some() && waiting == self.waiting_threads()
    }

    /// The threads that have not had their time, and how often each has begun to wait; `None` if one could
    /// run.
    fn waiting_threads(&self) -> Option<Vec<(u32, u64)>> {
        let without_time = threads(self.pid).filter(|thread| !self.has_run(*thread));
        without_time.map(|thread| Some((thread, waits(self.pid, thread)?))).collect()
    }

    fn has_run(&self, thread: u32) -> bool {
        let before = self.start.get(&thread).copied().unwrap_or(0);
        run_time(self.pid, thread).saturating_sub(before) >= MIN_RUN_TIME
    }
}

fn threads(pid: u32) -> impl Iterator<Item = u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    tasks.filter_map(|task| task.file_name().to_str()?.parse().ok())
}

/// Processor time of a thread, ns; 0 where the kernel does not count it.
fn run_time(pid: u32, thread: u32) -> u64 {
    let times = std::fs::read_to_string(format!("/proc/{pid}/task/{thread}/schedstat")).unwrap_or_default();
    times.split_ascii_whitespace().next().and_then(|time| time.parse().ok()).unwrap_or(0)
}

/// How often a thread that waits has begun to wait; `None` if it runs or could run.
fn waits(pid: u32, thread: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/task/{thread}/status")).unwrap_or_default();
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    match field("State:") {
        Some(state) if state.starts_with('R') => None,
        // A thread that has ended waits for nothing more.
        _ => Some(field("voluntary_ctxt_switches:").and_then(|count| count.parse().ok()).unwrap_or(0)),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_thread_that_sleeps_is_not_waited_for() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        // It waits for moments while it starts.
        while !ThreadRunTimes::start(child.id()).all_have_run() {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(ThreadRunTimes::start(child.id()).all_have_run());
    }

    #[test]
    fn a_thread_that_can_run_is_waited_for_until_it_has_run() {
        let mut child = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let begun = run_time(child.id(), child.id());
        let times = ThreadRunTimes::start(child.id());
        while !times.all_have_run() {
            std::thread::yield_now();
        }
        assert!(run_time(child.id(), child.id()) - begun >= MIN_RUN_TIME);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
