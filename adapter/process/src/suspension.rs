//! A program that a signal has suspended (SIGSTOP, Ctrl+Z, a read in the background): a client that waits for
//! it learns that.
//!
//! Not here: processes that a debugger has stopped, which Linux reports with another state.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tandem_error::Failure;

use super::blocking_calls::InputFile;
use super::input_wait::{each_of_family, tasks_of, thread_state};

/// How long a program is suspended before a wait ends with that: a job may be suspended for a moment.
const SUSPENSION_TIME: Duration = Duration::from_secs(2);
/// How often a wait looks.
const LOOK_INTERVAL: Duration = Duration::from_millis(200);

/// The first of process `pid` and those below it with the same input that a signal has suspended.
pub(super) fn suspended_process(pid: u32, input: Option<&InputFile>) -> Option<u32> {
    let mut found = None;
    each_of_family(pid, |process, is_first| {
        let is_the_programs = || is_first || input.is_some_and(|input| input.is_shared_by(process));
        if found.is_none() && is_suspended(process) && is_the_programs() {
            found = process.file_name().and_then(|name| name.to_str()?.parse().ok());
        }
    });
    found
}

/// Whether all threads of the process in this folder of `/proc` are suspended.
fn is_suspended(process: &Path) -> bool {
    let mut states = tasks_of(process).map(|task| thread_state(&task)).peekable();
    states.peek().is_some() && states.all(|state| state == Some('T'))
}

/// Looks during a wait whether the program's own process stays suspended.
#[derive(Debug, Default)]
pub(super) struct SuspensionWatch {
    last: Option<Instant>,
    /// Since when it is suspended.
    since: Option<Instant>,
}

impl SuspensionWatch {
    /// Looks at these processes, unless it has just looked; whether one has been suspended for a while.
    pub(super) fn is_long(&mut self, processes: &[u32]) -> bool {
        let now = Instant::now();
        if self.last.is_none_or(|last| now - last >= LOOK_INTERVAL) {
            self.last = Some(now);
            let is_suspended = processes.iter().any(|pid| is_suspended(&folder_of(*pid)));
            self.since = is_suspended.then(|| self.since.unwrap_or(now));
        }
        self.since.is_some_and(|since| now - since >= SUSPENSION_TIME)
    }
}

/// `data` of a refused read.
#[derive(Debug, serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct SuspensionData {
    suspended_process: u32,
}

/// Adds to a refusal which process a signal has suspended.
pub(super) fn note_suspension(refusal: Failure, suspended_process: Option<u32>) -> Failure {
    let Some(suspended_process) = suspended_process else { return refusal };
    // A number is always JSON.
    refusal.data(serde_json::to_value(SuspensionData { suspended_process }).unwrap_or_default())
}

fn folder_of(pid: u32) -> PathBuf {
    Path::new("/proc").join(pid.to_string())
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    use rustix::process::{Pid, Signal, kill_process};

    use super::*;

    #[test]
    fn a_process_below_the_program_counts_if_it_has_its_input() {
        // The shell has another input than the process that it starts.
        let script = "exec 3<&0 0</dev/null; sleep 60 <&3 & exec 3<&-; echo $!; wait";
        let mut shell = Command::new("sh");
        let mut shell =
            shell.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(shell.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let below: i32 = line.trim().parse().unwrap();
        let inode = rustix::fs::fstat(shell.stdin.as_ref().unwrap()).unwrap().st_ino;
        let input = InputFile::new(Path::new(&format!("pipe:[{inode}]")));
        let other = InputFile::new(Path::new("pipe:[1]"));
        let until = Instant::now() + Duration::from_secs(20);
        let wait_for = |expected: Option<u32>| {
            while suspended_process(shell.id(), Some(&input)) != expected {
                assert!(Instant::now() < until, "never {expected:?}");
                std::thread::sleep(Duration::from_millis(5));
            }
        };
        for process in [Pid::from_child(&shell), Pid::from_raw(below).unwrap()] {
            wait_for(None);
            kill_process(process, Signal::STOP).unwrap();
            wait_for(u32::try_from(process.as_raw_nonzero().get()).ok());
            let counts_with_any_input = suspended_process(shell.id(), Some(&other)).is_some();
            assert_eq!(counts_with_any_input, process == Pid::from_child(&shell));
            kill_process(process, Signal::CONT).unwrap();
        }
        kill_process(Pid::from_raw(below).unwrap(), Signal::KILL).unwrap();
        shell.kill().unwrap();
        shell.wait().unwrap();
    }
}
