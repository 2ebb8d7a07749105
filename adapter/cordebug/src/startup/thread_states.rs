//! Checks whether all threads of a process sleep. A debugger sees from this that a held runtime has completed
//! its start. Only reads `/proc`; stops no thread.

use std::path::Path;
use std::time::{Duration, Instant};

/// Time between two checks while a thread still runs.
const POLL_INTERVAL: Duration = Duration::from_micros(300);

/// The runtime's name for its debugging threads (.NET 5 and later).
pub(super) const HELPER: &str = ".NET Debugger";

/// Waits until every thread of a process sleeps, at most `limit`. Returns whether they sleep now. If threads
/// have this name, only they count.
///
/// Two checks in a row must find each thread asleep, and it must not have run in between: a thread that waits
/// briefly for a lock is not at rest.
pub(super) fn wait_until_asleep(pid: u32, name: Option<&str>, limit: Duration) -> bool {
    let deadline = Instant::now() + limit;
    let mut before = sample_threads(pid, name);
    loop {
        let now = sample_threads(pid, name);
        if now.is_some() && now == before {
            return true;
        }
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(POLL_INTERVAL);
        before = now;
    }
}

/// The number of context switches of each thread, which changes when it runs; `None` if a thread does not
/// sleep or the process has ended. proc(5), `/proc/pid/task/tid/status`.
fn sample_threads(pid: u32, name: Option<&str>) -> Option<Vec<(std::ffi::OsString, String)>> {
    let (mut all, mut named) = (Vec::new(), Vec::new());
    for task in std::fs::read_dir(Path::new("/proc").join(pid.to_string()).join("task")).ok()? {
        let task = task.ok()?;
        let status = std::fs::read_to_string(task.path().join("status")).ok()?;
        let field = |name: &str| Some(status.lines().find_map(|line| line.strip_prefix(name))?.trim());
        let is_asleep = field("State:")?.starts_with('S');
        let switches = [field("voluntary_ctxt_switches:")?, field("nonvoluntary_ctxt_switches:")?];
        let found = (is_asleep, task.file_name(), switches.join(" "));
        if name.is_some() && field("Name:") == name {
            named.push(found.clone());
        }
        all.push(found);
    }
    let counted = if named.is_empty() { all } else { named };
    let asleep = !counted.is_empty() && counted.iter().all(|(asleep, ..)| *asleep);
    asleep.then(|| counted.into_iter().map(|(_, task, switches)| (task, switches)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::process::{Command, Stdio};

    #[test]
    fn a_process_that_waits_is_asleep_and_one_that_works_or_is_gone_is_not() {
        let mut waits = Command::new("sleep").arg("60").spawn().unwrap();
        assert!(wait_until_asleep(waits.id(), None, Duration::from_secs(10)));
        assert!(wait_until_asleep(waits.id(), Some("sleep"), Duration::from_secs(10)));
        assert!(
            wait_until_asleep(waits.id(), Some("another"), Duration::from_secs(10)),
            "no thread has this name"
        );
        waits.kill().unwrap();
        waits.wait().unwrap();
        assert!(!wait_until_asleep(waits.id(), None, Duration::ZERO));

        let mut works = Command::new("sh");
        let mut works =
            works.args(["-c", "echo; while :; do :; done"]).stdout(Stdio::piped()).spawn().unwrap();
        // Before its first output it may still be loading libraries.
        works.stdout.take().unwrap().read_exact(&mut [0]).unwrap();
        assert!(!wait_until_asleep(works.id(), None, Duration::from_millis(20)));
        works.kill().unwrap();
        works.wait().unwrap();
    }
}
