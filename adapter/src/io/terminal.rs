//! A terminal of ours for a program that asked for one (`pty`): a C program does not hold its output back then.
//!
//! Bytes pass as they are in both directions: no echo, no `\r` before `\n`. Input goes by lines, as people's does, so that
//! end of file can be said; a line may have 4,095 bytes.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, ptsname, unlockpt};
use rustix::termios::{
    LocalModes, OptionalActions, OutputModes, Winsize, tcgetattr, tcsetattr, tcsetwinsize,
};

/// What a terminal takes for the end of its input (`VEOF`), at the start of a line.
pub const END_OF_INPUT: u8 = 4;
/// Programs lay out their output for it.
const SIZE: Winsize = Winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };

/// Both ends of a terminal.
#[derive(Debug)]
pub struct Terminal {
    /// Ours: what we write is typed, what the program prints is read.
    pub ours: File,
    /// The program's. Must go once the program has it, or the end of its output never comes.
    pub programs: OwnedFd,
    /// Its name, for who opens it himself.
    pub path: PathBuf,
}

impl Terminal {
    /// A new one.
    ///
    /// # Errors
    /// When the system has no more.
    pub fn open() -> std::io::Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let ours = openpt(flags)?;
        grantpt(&ours)?;
        unlockpt(&ours)?;
        let name = ptsname(&ours, Vec::new())?;
        let programs = ioctl_tiocgptpeer(&ours, flags)?;
        let mut modes = tcgetattr(&programs)?;
        modes.local_modes.remove(LocalModes::ECHO | LocalModes::ECHONL | LocalModes::ECHOCTL);
        modes.output_modes.remove(OutputModes::OPOST);
        tcsetattr(&programs, OptionalActions::Now, &modes)?;
        tcsetwinsize(&programs, SIZE)?;
        let path = PathBuf::from(name.to_string_lossy().into_owned());
        Ok(Self { ours: ours.into(), programs, path })
    }
}
