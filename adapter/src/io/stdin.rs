//! What clients write to the program: in order, bounded in time, never in the way of anything else.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::time::Duration;

use dap_wire::{ErrorCode, Failure};
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;
use tokio_util::sync::CancellationToken;

/// How long a writer waits for the program to take what is in the full pipe.
pub const WRITE_DEADLINE: Duration = Duration::from_secs(10);

/// Our end of the program's stdin.
#[derive(Debug)]
pub struct Stdin {
    /// The lock is fair: writers come in the order they asked.
    /// The only copy of the descriptor: when it goes, the program sees the end of its input.
    pipe: tokio::sync::Mutex<Option<pipe::Sender>>,
    inode: u64,
}

impl Stdin {
    /// Takes over the write end. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// `IO_FAILED` when the descriptor cannot be prepared.
    pub fn new(stdin: File) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| {
            Failure::new(ErrorCode::IoFailed, format!("cannot prepare the program's stdin: {error}"))
        };
        let inode = rustix::fs::fstat(&stdin).map_err(|error| failed(error.into()))?.st_ino;
        rustix::io::ioctl_fionbio(&stdin, true).map_err(|error| failed(error.into()))?;
        let sender = pipe::Sender::from_owned_fd(OwnedFd::from(stdin)).map_err(failed)?;
        Ok(Self { pipe: tokio::sync::Mutex::new(Some(sender)), inode })
    }

    /// The pipe, as `/proc` names it.
    pub fn inode(&self) -> u64 {
        self.inode
    }

    /// Whether everything written was read by the program, and it can still read.
    pub fn is_empty_and_open(&self) -> bool {
        // While somebody writes it is not empty, or will not be.
        let Ok(pipe) = self.pipe.try_lock() else { return false };
        pipe.as_ref().is_some_and(|pipe| rustix::io::ioctl_fionread(pipe).is_ok_and(|unread| unread == 0))
    }

    /// Writes all of `data`, then closes when told so. Gives whether stdin is closed now.
    ///
    /// # Errors
    /// `STDIN_CLOSED`, `TIMEOUT` (says how much the program took), `CANCELLED`, `IO_FAILED`.
    pub async fn write(&self, data: &[u8], close: bool, cancel: &CancellationToken) -> Result<bool, Failure> {
        let mut written = 0;
        let work = async {
            let mut guard = self.pipe.lock().await;
            let Some(pipe) = guard.as_mut() else { return Err(closed("it was closed before")) };
            while let Some(rest) = data.get(written..).filter(|rest| !rest.is_empty()) {
                match pipe.write(rest).await {
                    Ok(count) => written += count,
                    Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {
                        *guard = None;
                        return Err(closed("the program closed it or has ended"));
                    }
                    Err(error) => {
                        return Err(Failure::new(
                            ErrorCode::IoFailed,
                            format!("writing to the program's stdin failed after {written} bytes: {error}"),
                        ));
                    }
                }
            }
            if close {
                *guard = None;
            }
            Ok(guard.is_none())
        };
        let outcome = tokio::select! {
            outcome = work => Some(outcome),
            () = cancel.cancelled() => Some(Err(Failure::cancelled())),
            () = tokio::time::sleep(WRITE_DEADLINE) => None,
        };
        outcome.unwrap_or_else(|| {
            Err(Failure::new(
                ErrorCode::Timeout,
                format!(
                    "the program took {written} of {} bytes within {} s; its stdin is full",
                    data.len(),
                    WRITE_DEADLINE.as_secs()
                ),
            )
            .hint("it does not read now; write the rest when it does"))
        })
    }
}

fn closed(why: &str) -> Failure {
    Failure::new(ErrorCode::StdinClosed, format!("the program's stdin is closed: {why}"))
        .hint("a closed stdin cannot be opened again; restart the program to give it more input")
}
