//! A pipe or a socket of the editor that the host reads or writes without changing it for other processes
//! that have it.
//!
//! `O_NONBLOCK` belongs to the open file and is shared by all that inherited it. So a pipe is opened again,
//! and a socket, which cannot be, is used with `MSG_DONTWAIT`. What allows neither (a terminal, a file, a
//! device, a named pipe) is not shared: the relay copies instead.

use std::io::{Error, ErrorKind, Result};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::net::{RecvFlags, SendFlags, SocketType};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};

/// What `fstatfs` says of a pipe without a name (`PIPEFS_MAGIC`, magic.h). One with a name does not always
/// tell who polls it that its writers have gone (pipe(7), fifo(7)).
const PIPEFS: rustix::fs::FsWord = 0x5049_5045;

/// The kind of a descriptor, which determines how to use it without waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DescriptorKind {
    Pipe,
    Socket,
}

impl DescriptorKind {
    /// `None` for what cannot be shared.
    fn of(descriptor: BorrowedFd<'_>) -> Option<Self> {
        match FileType::from_raw_mode(rustix::fs::fstat(descriptor).ok()?.st_mode) {
            FileType::Fifo => (rustix::fs::fstatfs(descriptor).ok()?.f_type == PIPEFS).then_some(Self::Pipe),
            FileType::Socket => (rustix::net::sockopt::socket_type(descriptor).ok()? == SocketType::STREAM)
                .then_some(Self::Socket),
            _ => None,
        }
    }
}

/// Stdin, as another process may use it. `None` when it cannot be shared.
pub(super) fn stdin() -> Option<OwnedFd> {
    share(rustix::stdio::stdin(), "/proc/self/fd/0", OFlags::RDONLY)
}

/// Stdout, as another process may use it. `None` when it cannot be shared.
pub(super) fn stdout() -> Option<OwnedFd> {
    share(rustix::stdio::stdout(), "/proc/self/fd/1", OFlags::WRONLY)
}

fn share(descriptor: BorrowedFd<'_>, path: &str, way: OFlags) -> Option<OwnedFd> {
    match DescriptorKind::of(descriptor)? {
        // Fails where /proc is missing, where the pipe was made by another user, and where its other end is
        // closed.
        DescriptorKind::Pipe => {
            rustix::fs::open(path, way | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()).ok()
        }
        DescriptorKind::Socket => descriptor.try_clone_to_owned().ok(),
    }
}

/// One such pipe or socket, in the host.
#[derive(Debug)]
pub(super) struct SharedFd {
    descriptor: AsyncFd<OwnedFd>,
    kind: DescriptorKind,
}

impl SharedFd {
    /// Uses what [`stdin`] or [`stdout`] returned. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// When it is something else.
    pub(super) fn new(descriptor: OwnedFd, interest: Interest) -> Result<Self> {
        let kind = DescriptorKind::of(descriptor.as_fd())
            .ok_or_else(|| Error::new(ErrorKind::InvalidInput, "neither a pipe nor a stream socket"))?;
        #[expect(
            deprecated,
            reason = "its successor is `unsafe`, for other types than `OwnedFd`, which keeps what is \
                demanded there"
        )]
        let descriptor = AsyncFd::with_interest(descriptor, interest)?;
        Ok(Self { descriptor, kind })
    }
}

impl AsyncRead for SharedFd {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        loop {
            let mut guard = ready!(self.descriptor.poll_read_ready(context))?;
            let free = buffer.initialize_unfilled();
            let room = free.len();
            let read = guard.try_io(|descriptor| match self.kind {
                DescriptorKind::Pipe => Ok(rustix::io::read(descriptor, free)?),
                DescriptorKind::Socket => Ok(rustix::net::recv(descriptor, free, RecvFlags::DONTWAIT)?.0),
            });
            match read {
                Ok(Ok(count)) => {
                    // Less than there was room for: there is no more now, and no further read is needed
                    // (epoll(7), "edge").
                    if (1..room).contains(&count) {
                        guard.clear_ready();
                    }
                    buffer.advance(count);
                    return Poll::Ready(Ok(()));
                }
                Ok(Err(error)) if error.kind() == ErrorKind::Interrupted => {}
                Ok(Err(error)) => return Poll::Ready(Err(error)),
                Err(_would_block) => {}
            }
        }
    }
}

impl AsyncWrite for SharedFd {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        loop {
            let mut guard = ready!(self.descriptor.poll_write_ready(context))?;
            let written = guard.try_io(|descriptor| match self.kind {
                DescriptorKind::Pipe => Ok(rustix::io::write(descriptor, bytes)?),
                DescriptorKind::Socket => {
                    Ok(rustix::net::send(descriptor, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?)
                }
            });
            match written {
                Ok(Err(error)) if error.kind() == ErrorKind::Interrupted => {}
                Ok(outcome) => return Poll::Ready(outcome),
                Err(_would_block) => {}
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Closing only drops the handle: other processes that share a socket may still use it.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }
}
