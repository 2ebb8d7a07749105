//! Does the program wait for input? On Linux `/proc` tells which system call each thread is blocked in.
//!
//! Not a guess at prompts: a thread must be inside `read` on the very pipe we write. A program that polls the keys of a terminal is
//! never found there: whoever asks has to see by the terminal that it takes keys, and here that nothing runs ([`is_idle`]).

use std::collections::VecDeque;
use std::path::Path;

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

/// Whether a thread of process `pid`, or of one below it, is blocked reading what `/proc` calls `name`. `false` where it
/// cannot be known.
pub fn is_reading(pid: u32, name: &Path) -> bool {
    any_of_family(pid, |process| process_is_reading(process, name))
}

/// Whether no thread of process `pid`, or of one below it, runs or waits for a disk at this moment. A program that works has no such
/// moment, one that polls has many: whoever wants to find it looks several times. `false` where it cannot be known.
pub fn is_idle(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).join("task").is_dir() && !any_of_family(pid, process_runs)
}

/// Whether this holds for process `pid` or for one below it, as far as [`FAMILY`] goes.
fn any_of_family(pid: u32, holds: impl Fn(&str) -> bool) -> bool {
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

/// Whether a thread is in state `R` or `D` (proc_pid_stat(5)): the letter behind the name, which is in parentheses and may have some.
fn process_runs(pid: &str) -> bool {
    let Ok(tasks) = std::fs::read_dir(Path::new("/proc").join(pid).join("task")) else { return false };
    tasks.flatten().any(|task| {
        let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
        matches!(state, Some('R' | 'D'))
    })
}

#[cfg(test)]
mod tests {
    use super::is_idle;

    #[test]
    fn a_process_with_a_thread_that_runs_is_not_idle() {
        let mut sleeps = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let mut runs = std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while !is_idle(sleeps.id()) || is_idle(runs.id()) {
            assert!(std::time::Instant::now() < until, "never seen so");
        }
        for child in [&mut sleeps, &mut runs] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert!(!is_idle(sleeps.id()), "what is not there is not known to be idle");
    }
}
