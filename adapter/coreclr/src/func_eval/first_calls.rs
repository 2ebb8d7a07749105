//! A thread's first call of managed code: a program that is stopped during it would hang at the next request.
//!
//! .NET reports a thread to the debugger when it first runs managed code, by an internal breakpoint there. If
//! that code was compiled ahead of time and runs for the first time, the breakpoint is placed under a lock
//! that steppers, breakpoints and calls need, and under that lock the thread may wait for the program to
//! resume (dotnet/runtime, issue 65047). It happens to the finalizer, which begins two seconds after the
//! program, and to the first thread that the program starts: a few of a hundred sessions that step at that
//! moment hang. So if a stop finds such a thread, Tandem resumes it alone until it is past its first call
//! (`calls::lone_thread`). Finds those threads.
//!
//! Excludes threads that have managed code on their stacks, and the finalizer of .NET Core 3.1, whose threads
//! have no names.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::hang_watchdog::{entries_of, is_named};

/// Name of the runtime's thread that runs finalizers, and prefix of the names of all its threads.
const FINALIZER: &str = ".NET Finalizer";
const RUNTIMES: &str = ".NET ";
/// Most remembered wait locations.
const MAX_KEPT: usize = 16;

/// Threads that may be in their first call.
#[derive(Default)]
pub(crate) struct FirstCalls {
    /// The last stop that was checked: how often the program had been resumed.
    looked_at: Option<u64>,
    finalizer: Option<u32>,
    /// Threads that need no check any more.
    passed: BTreeSet<u32>,
    /// Locations in which the finalizer waits for other things than the debugger.
    idle_places: BTreeSet<String>,
    /// A thread of the program has begun. The code that the first one runs is then compiled for all others.
    first_has_begun: bool,
}

impl FirstCalls {
    /// The program is about to start, or is attached to: its threads are the runtime's, or have begun. Only
    /// the finalizer, if it has its name, has yet to begin.
    pub(crate) fn start(&mut self, pid: u32) {
        self.finalizer = tasks(pid).find(|task| is_named(task, FINALIZER)).as_deref().and_then(id_of);
        self.passed =
            tasks(pid).filter_map(|task| id_of(&task)).filter(|id| Some(*id) != self.finalizer).collect();
    }

    /// The runtime has reported a thread.
    pub(crate) fn has_begun(&mut self, thread: u32) {
        self.first_has_begun |= self.passed.insert(thread) && Some(thread) != self.finalizer;
    }

    /// Records the check of a stop; `resumes`: how often the program had been resumed. Returns whether it is
    /// the first check of this stop.
    pub(crate) fn record_check(&mut self, resumes: u64) -> bool {
        self.looked_at.replace(resumes) != Some(resumes)
    }

    /// Threads that wait without a timeout, or run, and may not have begun; with the location.
    pub(crate) fn candidates(&mut self, pid: u32) -> Vec<(u32, String)> {
        let others = match self.first_has_begun {
            true => Vec::new(),
            false => tasks(pid).filter_map(|task| id_of(&task)).collect(),
        };
        let mut found = Vec::new();
        for id in self.finalizer.into_iter().chain(others) {
            if self.passed.contains(&id) || found.iter().any(|(known, _)| *known == id) {
                continue;
            }
            let name = std::fs::read_to_string(task(pid, id).join("comm")).unwrap_or_default();
            if name.trim_end() == FINALIZER {
                self.finalizer = Some(id);
            }
            if Some(id) != self.finalizer && name.starts_with(RUNTIMES) {
                self.passed.insert(id);
            } else if let Some(place) = busy_at(&task(pid, id))
                && !self.idle_places.contains(&place)
            {
                found.push((id, place));
            }
        }
        found
    }

    /// Records where a candidate is after it could run. A thread that has not moved waits for something else,
    /// as it will at the next stop.
    pub(crate) fn record_place(&mut self, id: u32, before: String, now: Option<&str>) {
        if now == Some(before.as_str()) && Some(id) == self.finalizer {
            if self.idle_places.len() < MAX_KEPT {
                self.idle_places.insert(before);
            }
        } else if now.is_none_or(|now| now == before) {
            self.passed.insert(id);
        }
    }
}

/// The folder of a thread in proc(5).
pub(crate) fn task(pid: u32, id: u32) -> PathBuf {
    Path::new("/proc").join(pid.to_string()).join("task").join(id.to_string())
}

fn tasks(pid: u32) -> impl Iterator<Item = PathBuf> {
    entries_of(&Path::new("/proc").join(pid.to_string()).join("task"))
}

fn id_of(task: &Path) -> Option<u32> {
    task.file_name()?.to_str()?.parse().ok()
}

/// The stack pointer of a thread that waits without a timeout; empty while it runs. proc(5),
/// `/proc/pid/task/tid/syscall`: number, six arguments, stack and program pointers. A thread that waits for
/// the debugger has no timeout, futex(2)'s fourth argument; a finalizer that waits for work has.
pub(crate) fn busy_at(task: &Path) -> Option<String> {
    let now = std::fs::read_to_string(task.join("syscall")).ok()?;
    let words: Vec<&str> = now.split_ascii_whitespace().collect();
    match words.as_slice() {
        [_, _, _, _, limit, _, _, _, _] if *limit != "0x0" => None,
        [.., stack, _] => Some((*stack).to_owned()),
        _ => Some(String::new()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Id of the calling thread.
    fn own_id() -> u32 {
        id_of(&std::fs::read_link("/proc/thread-self").unwrap()).unwrap()
    }

    #[test]
    fn wait_without_timeout_is_distinguished_from_a_wait_for_work() {
        let own = std::process::id();
        let (sender, ids) = std::sync::mpsc::channel();
        let waiters = [None, Some(Duration::from_secs(600))].map(|limit| {
            let sender = sender.clone();
            std::thread::spawn(move || {
                sender.send((limit.is_some(), own_id())).unwrap();
                match limit {
                    None => std::thread::park(),
                    Some(limit) => std::thread::park_timeout(limit),
                }
            })
        });
        for _ in &waiters {
            let (has_limit, id) = ids.recv().unwrap();
            while busy_at(&task(own, id)) == Some(String::new()) {
                std::thread::yield_now();
            }
            assert_eq!(busy_at(&task(own, id)).is_none(), has_limit);
        }
        for waiter in waiters {
            waiter.thread().unpark();
            waiter.join().unwrap();
        }
        assert_eq!(busy_at(&task(own, u32::MAX)), None);
    }

    #[test]
    fn first_program_thread_and_the_finalizer_are_watched() {
        let (main, finalizer, first) = (10, 11, 12);
        let mut first_calls = FirstCalls {
            finalizer: Some(finalizer),
            passed: BTreeSet::from([main]),
            ..FirstCalls::default()
        };
        first_calls.has_begun(main);
        first_calls.has_begun(finalizer);
        assert!(!first_calls.first_has_begun);
        first_calls.has_begun(first);
        assert!(first_calls.first_has_begun);
        assert_eq!(first_calls.passed, BTreeSet::from([main, finalizer, first]));

        assert!(first_calls.record_check(1));
        assert!(!first_calls.record_check(1), "the same stop");

        let mut first_calls = FirstCalls::default();
        first_calls.start(std::process::id());
        assert!(
            first_calls.passed.contains(&own_id()) && first_calls.candidates(std::process::id()).is_empty()
        );
    }
    #[test]
    fn finalizer_that_did_not_move_is_idle_there_and_another_thread_counts_as_begun() {
        let (finalizer, other) = (11, 12);
        let mut first_calls = FirstCalls { finalizer: Some(finalizer), ..FirstCalls::default() };
        first_calls.record_place(finalizer, "7f00".into(), Some("7f00"));
        assert_eq!(first_calls.idle_places, BTreeSet::from(["7f00".to_owned()]));
        assert!(first_calls.passed.is_empty(), "the finalizer is still watched");
        first_calls.record_place(finalizer, "7f08".into(), Some("7f10"));
        first_calls.record_place(other, "7f08".into(), Some("7f10"));
        assert!(first_calls.passed.is_empty(), "they have moved, and may be in their first calls");
        first_calls.record_place(other, "7f08".into(), Some("7f08"));
        first_calls.record_place(finalizer, "7f08".into(), None);
        assert_eq!(first_calls.passed, BTreeSet::from([finalizer, other]));
    }
}
