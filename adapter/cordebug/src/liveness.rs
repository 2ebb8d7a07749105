//! Liveness of a process, as the kernel reports it: proc(5), `/proc/PID/stat`. Not here: how it ended
//! ([`crate::exit_status`]).

/// Flag of a thread that is exiting (PF_EXITING, include/linux/sched.h).
const EXITING: u32 = 0x4;

/// Whether the process has ended; its parent may not have reaped it yet. A process whose main thread ended
/// before other threads is still alive.
pub fn has_ended(pid: u32) -> bool {
    let Some(fields) = fields(pid) else { return true };
    let is_zombie = fields.first().is_some_and(|state| matches!(state.as_str(), "Z" | "X"));
    is_zombie && fields.get(17).is_some_and(|threads| matches!(threads.as_str(), "0" | "1"))
}

/// Whether the process has ended or is exiting. The kernel frees its memory before the process ends.
pub fn is_ending(pid: u32) -> bool {
    let Some(fields) = fields(pid) else { return true };
    fields.get(6).and_then(|flags| flags.parse::<u32>().ok()).is_some_and(|flags| flags & EXITING != 0)
}

/// The fields after the name, which may contain spaces and brackets: state, parent, … `None` if the
/// process does not exist.
fn fields(pid: u32) -> Option<Vec<String>> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    Some(fields.split_ascii_whitespace().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_whose_main_thread_has_ended_first_lives() {
        let code = "import ctypes, threading, time; threading.Thread(target=time.sleep, args=(60,)).start(); \
                    ctypes.CDLL(None).pthread_exit(None)";
        let mut child = Command::new("python3").args(["-c", code]).spawn().unwrap();
        let state = || fields(child.id()).unwrap().first().unwrap().clone();
        while state() != "Z" {
            std::thread::yield_now();
        }
        assert!(!has_ended(child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(has_ended(child.id()) && is_ending(child.id()));
    }

    #[test]
    fn a_killed_child_has_ended_also_when_its_status_was_not_read() {
        let own = std::process::id();
        assert!(!has_ended(own) && !is_ending(own));
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        assert!(!has_ended(child.id()) && !is_ending(child.id()));
        child.kill().unwrap();
        while !has_ended(child.id()) {
            std::thread::yield_now();
        }
        assert!(is_ending(child.id()));
        child.wait().unwrap();
    }
}
