//! The process that an attach names, as the system sees it: whether it can be attached to at all, whatever
//! the engine. Not here: its name ([`super::process_name`]), and what only one engine needs.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use tandem_wire::{ErrorCode, Failure};

/// How long a debugger that leaves a process has time to detach.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(1);
/// The setting of Yama, a security module of the kernel that restricts attaching; absent without it.
const PTRACE_SCOPE: &str = "/proc/sys/kernel/yama/ptrace_scope";
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

/// Why the kernel does not let a debugger of this user attach to a process; `None` if it does.
///
/// Opening the memory of a process needs the same rights as tracing it (`PTRACE_MODE_ATTACH` of ptrace(2)).
pub fn attach_obstacle(pid: u64) -> Option<Failure> {
    let opened = std::fs::File::open(format!("/proc/{pid}/mem"));
    is_forbidden(opened).then(|| explain_obstacle(pid))
}

/// Refuses a process of which not even the program can be seen, as any way to attach to it needs.
///
/// # Errors
/// `NOT_DEBUGGABLE`, with the reason.
pub fn refuse_hidden(pid: u64) -> Result<(), Failure> {
    match is_forbidden(std::fs::read_link(format!("/proc/{pid}/exe"))) {
        true => Err(explain_obstacle(pid)),
        false => Ok(()),
    }
}

fn is_forbidden<T>(access: std::io::Result<T>) -> bool {
    access.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
}

fn explain_obstacle(pid: u64) -> Failure {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let owner = status.lines().find_map(|line| line.strip_prefix("Uid:")?.split_whitespace().next());
    let scope = std::fs::read_to_string(PTRACE_SCOPE).unwrap_or_default();
    let own = rustix::process::geteuid().as_raw();
    let (reason, hint) = obstacle(owner.and_then(|owner| owner.parse().ok()), own, scope.trim());
    Failure::new(ErrorCode::NotDebuggable, format!("cannot attach to process {pid}: {reason}")).hint(hint)
}

/// The reason and the remedy, from the owner of a process, the own user and Yama's setting.
fn obstacle(owner: Option<u32>, own: u32, scope: &str) -> (String, String) {
    if let Some(owner) = owner.filter(|owner| own != 0 && *owner != own) {
        let reason = format!("it belongs to user {owner}, and Tandem runs as user {own}");
        return (
            reason,
            format!("run Tandem as user {owner} or as root, or launch the program through Tandem"),
        );
    }
    if !matches!(scope, "" | "0") {
        let reason = format!("the kernel forbids it ({PTRACE_SCOPE} is {scope})");
        let hint = match scope {
            "3" => "launch the program through Tandem; this setting cannot be changed before a reboot",
            _ => "run `sysctl kernel.yama.ptrace_scope=0` as root, or launch the program through Tandem",
        };
        return (reason, hint.into());
    }
    let reason = "the kernel forbids it: the process has rights that Tandem lacks (it has changed its user, \
        has capabilities, or is in another user namespace)";
    let hint =
        "run Tandem as root; a container also needs the capability (`docker run --cap-add=SYS_PTRACE`)";
    (reason.into(), hint.into())
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
    fn the_reason_why_the_kernel_forbids_an_attach_comes_with_a_remedy() {
        for (owner, own, scope, reason, hint) in [
            (Some(0), 1000, "", "belongs to user 0, and Tandem runs as user 1000", "as user 0 or as root"),
            (Some(0), 1000, "1", "belongs to user 0", "as root"),
            (Some(1000), 1000, "1", "ptrace_scope is 1", "sysctl"),
            (Some(1000), 1000, "3", "ptrace_scope is 3", "reboot"),
            (Some(1000), 1000, "0", "rights that Tandem lacks", "SYS_PTRACE"),
            (Some(1000), 0, "", "rights that Tandem lacks", "SYS_PTRACE"),
            (None, 1000, "2", "ptrace_scope is 2", "sysctl"),
        ] {
            let found = obstacle(owner, own, scope);
            assert!(found.0.contains(reason) && found.1.contains(hint), "{owner:?} {own} {scope}: {found:?}");
        }
        let own = u64::from(std::process::id());
        assert_eq!((attach_obstacle(own), refuse_hidden(own)), (None, Ok(())));
        assert_eq!((attach_obstacle(u64::MAX), refuse_hidden(u64::MAX)), (None, Ok(())));
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
