//! The process that an attach names, as the system sees it: whether it can be attached to at all, whatever
//! the engine. Not here: its name ([`super::process_name`]), and what only one engine needs.

use tandem_wire::{ErrorCode, Failure};

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

#[cfg(test)]
mod tests {
    use super::*;

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
