//! Watchdog of an adapter that has to detach from a program by itself when its host is killed: a process of
//! its own that waits for the end of either. After the host's end it allows the adapter some time, and then
//! kills it.
//!
//! Not for programs: the kernel kills those with their host ([`super::child`]).

use std::io::{Error, Result};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

/// Maximum time of an adapter to detach from a program after the end of its input.
const DETACH_TIMEOUT: Duration = Duration::from_secs(10);

/// Starts the watchdog of a process that leads its group. It ends soon after that process, and acts only at
/// this process's end: its stdin is a pipe that closes then. The caller reaps it.
///
/// # Errors
/// If it cannot be started.
pub(super) fn start(stub: &Path, leader: u32) -> Result<std::process::Child> {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new(stub);
    command.arg("watchdog").arg(leader.to_string());
    // Not in the host's group: signals to that group are not meant for it.
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}

/// Runs the watchdog: returns when the process has ended, by itself or not.
///
/// # Errors
/// From the kernel; and when `leader` is not a process id.
pub fn run(leader: u32) -> Result<()> {
    let none = || Error::from_raw_os_error(Errno::INVAL.raw_os_error());
    let pid = i32::try_from(leader).ok().and_then(Pid::from_raw).ok_or_else(none)?;
    let process = match pidfd_open(pid, PidfdFlags::empty()) {
        Err(Errno::SRCH) => return Ok(()),
        opened => opened?,
    };
    let stdin = rustix::stdio::stdin();
    let mut ends = [PollFd::new(&process, PollFlags::IN), PollFd::new(&stdin, PollFlags::IN)];
    until_ready(&mut ends, None)?;
    let limit = Timespec::try_from(DETACH_TIMEOUT).map_err(|_| none())?;
    let mut end = [PollFd::new(&process, PollFlags::IN)];
    if !until_ready(&mut end, Some(&limit))? {
        // The leader lives, so its number is still that of its group.
        kill_process_group(pid, Signal::KILL)?;
    }
    Ok(())
}

/// Whether one of them is ready before the time is up.
fn until_ready(ends: &mut [PollFd<'_>], limit: Option<&Timespec>) -> Result<bool> {
    loop {
        match poll(ends, limit) {
            Err(Errno::INTR) => {}
            ready => return Ok(ready? > 0),
        }
    }
}
