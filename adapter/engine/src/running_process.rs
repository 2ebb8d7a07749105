//! The process that an attach names, as the system sees it: whether it can be attached to at all, whatever
//! the engine. Not here: its name ([`super::process_name`]), and what only one engine needs.

use std::time::{Duration, Instant};

use tandem_wire::{ErrorCode, Failure};

/// How long a debugger that leaves a process has time to detach.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(1);
/// Interval of the looks at the process meanwhile.
const RELEASE_INTERVAL: Duration = Duration::from_millis(20);

/// Refuses a process that does not exist or has ended.
///
/// # Errors
/// `PROCESS_NOT_FOUND`, for a zombie with the process that it waits for.
pub fn check(pid: u64) -> Result<(), Failure> {
    let missing = |reason: String| {
        Failure::new(ErrorCode::ProcessNotFound, format!("cannot attach to process {pid}: {reason}"))
    };
    let Ok(status) = std::fs::read_to_string(format!("/proc/{pid}/status")) else {
        return Err(missing("there is no such process".into())
            .hint("check the process id: the process may have ended, or run in another container"));
    };
    let field = |name: &str| status.lines().find_map(|line| Some(line.strip_prefix(name)?.trim()));
    let has_ended = field("State:").is_some_and(|state| state.starts_with(['Z', 'X']));
    // A first thread that ends before the others is a zombie as well.
    if !has_ended || field("Threads:").is_none_or(|threads| !matches!(threads, "0" | "1")) {
        return Ok(());
    }
    let parent = field("PPid:").unwrap_or("0");
    let name = std::fs::read_to_string(format!("/proc/{parent}/comm")).unwrap_or_default();
    let reason = format!(
        "it has ended, and waits for its parent, process {parent} (`{}`), to read its exit status",
        name.trim()
    );
    Err(missing(reason).hint("attach to a process that runs, or launch the program"))
}

/// Refuses a process that another debugger holds: the kernel allows one (`PTRACE_ATTACH` of ptrace(2)).
///
/// # Errors
/// `ALREADY_ATTACHED`, with that debugger.
pub fn refuse_traced(pid: u32) -> Result<(), Failure> {
    let deadline = Instant::now() + RELEASE_TIMEOUT;
    while let Some(tracer) = tracer_of(pid) {
        if Instant::now() < deadline {
            std::thread::sleep(RELEASE_INTERVAL);
            continue;
        }
        let name = std::fs::read_to_string(format!("/proc/{tracer}/comm")).unwrap_or_default();
        let message =
            format!("another debugger is attached to process {pid}: process {tracer} (`{}`)", name.trim());
        return Err(Failure::new(ErrorCode::AlreadyAttached, message)
            .hint("detach it first; if it is a session of Tandem, join that (`tandem-dap sessions`)"));
    }
    Ok(())
}

/// The process that traces this one (`TracerPid` of proc_pid_status(5)).
fn tracer_of(pid: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"))?;
    tracer.trim().parse().ok().filter(|tracer| *tracer != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_without_a_debugger_is_not_refused() {
        assert_eq!(tracer_of(std::process::id()), None);
        assert_eq!(refuse_traced(std::process::id()), Ok(()));
        assert_eq!(tracer_of(u32::MAX), None);
    }

    #[test]
    fn a_process_that_has_ended_is_refused_with_its_parent() {
        let own = std::process::id();
        assert!(check(own.into()).is_ok());
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let id = rustix::process::Pid::from_child(&child);
        // It stays a zombie.
        let options = rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT;
        rustix::process::waitid(rustix::process::WaitId::Pid(id), options).unwrap();
        let zombie = check(child.id().into()).unwrap_err();
        child.wait().unwrap();
        assert_eq!(zombie.code, ErrorCode::ProcessNotFound);
        assert!(zombie.message.contains(&format!("it has ended, and waits for its parent, process {own}")));
        let gone = check(child.id().into()).unwrap_err();
        assert_eq!(gone.code, ErrorCode::ProcessNotFound);
        assert!(gone.message.contains("there is no such process"), "{gone}");
    }
}
