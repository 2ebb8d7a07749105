//! Tandem's pipes for a program that another process starts: it opens them by their names in `/proc`.
//!
//! Starts no process: the adapter does. Not here: the shim that opens the pipes ([`super::exec_shim`]).

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

use rustix::pipe::{PipeFlags, pipe_with};
use tokio::sync::watch;

use super::child::ChildPipes;
use super::exit::ExitInfo;
use super::terminal::{self, PseudoTerminal, Pty};

/// The offered pipes. Dropping them means that no process will open them.
#[derive(Debug)]
pub struct NamedPipes {
    /// The pipes to open as stdin, stdout and stderr.
    pub paths: [PathBuf; 3],
    /// The program's ends, until it has its own: while we hold them the end of its output never comes.
    held: Vec<OwnedFd>,
    exit: watch::Sender<Option<ExitInfo>>,
}

impl NamedPipes {
    /// Pipes or a terminal, and our ends of them.
    pub(super) fn new(pty: Pty) -> std::io::Result<(Self, ChildPipes)> {
        let exit = watch::Sender::new(None);
        if pty != Pty::No {
            let PseudoTerminal { ours, programs, path } = PseudoTerminal::open()?;
            if pty == Pty::Echoing {
                terminal::show_typing(&programs)?;
            }
            let terminal = Some(path.clone());
            let pipes = ChildPipes { stdin: ours.try_clone()?, stdout: ours, stderr: None, terminal, pty };
            let paths = [path.clone(), path.clone(), path];
            return Ok((Self { paths, held: vec![programs], exit }, pipes));
        }
        let (stdin, our_stdin) = pipe_with(PipeFlags::CLOEXEC)?;
        let (our_stdout, stdout) = pipe_with(PipeFlags::CLOEXEC)?;
        let (our_stderr, stderr) = pipe_with(PipeFlags::CLOEXEC)?;
        let name =
            |end: &OwnedFd| PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), end.as_raw_fd()));
        let paths = [name(&stdin), name(&stdout), name(&stderr)];
        let pipes = ChildPipes {
            stdin: our_stdin.into(),
            stdout: our_stdout.into(),
            stderr: Some(our_stderr.into()),
            terminal: None,
            pty,
        };
        Ok((Self { paths, held: vec![stdin, stdout, stderr], exit }, pipes))
    }

    pub(super) fn exit(&self) -> watch::Receiver<Option<ExitInfo>> {
        self.exit.subscribe()
    }

    /// Closes our copies if this process has opened them; returns whether it has.
    pub fn release_to(&mut self, pid: u32) -> bool {
        let own = |number: usize| std::fs::read_link(self.paths.get(number)?).ok();
        let its = |number: usize| std::fs::read_link(format!("/proc/{pid}/fd/{number}")).ok();
        // Of a terminal the path is its name, not a link.
        let same = |number: usize| {
            let expected = own(number).or_else(|| self.paths.get(number).cloned());
            its(number).is_some() && its(number) == expected
        };
        let taken = self.held.is_empty() || (0..3).all(same);
        if taken {
            self.held.clear();
        }
        taken
    }

    /// The program has ended, or will never start.
    pub fn report_end(&mut self, code: i32) {
        self.held.clear();
        self.exit.send_if_modified(|info| info.replace(ExitInfo { code, signal: None }).is_none());
    }
}

impl Drop for NamedPipes {
    fn drop(&mut self) {
        self.report_end(-1);
    }
}
