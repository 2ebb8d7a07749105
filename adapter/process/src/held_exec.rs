//! The stub that turns into a program once it is released. Starting the stub and releasing it is
//! [`super::child`]'s.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;

use super::terminal::{self, Pty};

/// Makes the kernel kill this process when its parent ends.
///
/// # Errors
/// Also when it has another parent by now: this one was killed before, perhaps after it had opened the gate.
pub fn die_with(parent: Option<u32>) -> std::io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    let now = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get().cast_unsigned());
    if parent.is_some() && parent != now {
        return Err(std::io::Error::other("the debugger went away before the program was started"));
    }
    Ok(())
}

/// The stub: waits for one byte on stdin, then becomes the program, in a new process session. So it never has
/// Tandem's own terminal, and leads a process group. Returns only when that fails. `dies_with`: a host that
/// is killed takes the program with it, and is this process, if that is known.
pub fn exec_held(
    program: &Path,
    args: &[OsString],
    pty: Pty,
    dies_with: Option<Option<u32>>,
) -> std::io::Error {
    let taken = rustix::process::setsid().and_then(|_| match pty {
        Pty::No => Ok(()),
        Pty::Quiet | Pty::Echoing => rustix::process::ioctl_tiocsctty(rustix::stdio::stdin()),
    });
    if let Err(error) = taken {
        return error.into();
    }
    if let Some(parent) = dies_with
        && let Err(error) = die_with(parent)
    {
        return error;
    }
    let mut byte = [0u8];
    match rustix::io::read(rustix::stdio::stdin(), &mut byte) {
        Ok(1) => {
            // Not before: the byte would have been shown.
            if pty == Pty::Echoing
                && let Err(error) = terminal::show_typing(rustix::stdio::stdin())
            {
                return error;
            }
            Command::new(program).args(args).exec()
        }
        Ok(_) => std::io::Error::other("the debugger went away before the program was started"),
        Err(error) => error.into(),
    }
}
