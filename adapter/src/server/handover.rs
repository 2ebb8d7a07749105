//! The relay gives the editor's stdin and stdout to the host, so that no process copies what goes through them. Between the
//! two stays a socket on which nothing is said: it ends with either of them.
//!
//! - The editor kills the relay: the host takes it for the editor's leaving.
//! - The editor closes the relay's stdin or does not read its stdout any more: as with any client, and the relay ends.
//! - The host lets go of the editor (it has said `disconnect`; the session may go on for others) or dies: the relay ends.

use std::io::{ErrorKind, IoSlice, IoSliceMut, Read, Result};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use anyhow::{Context, bail};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};

use super::lent::{self, Lent};
use crate::hub::actor::Connection;

/// Puts our stdin and stdout on the way to whoever is at the other end. False when they cannot be lent or sent; then
/// nothing was sent, and they must be copied.
pub(super) fn give(to: &UnixStream) -> bool {
    let (Some(stdin), Some(stdout)) = (lent::stdin(), lent::stdout()) else { return false };
    let descriptors = [stdin.as_fd(), stdout.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return false;
    }
    let sent = sendmsg(to, &[IoSlice::new(b"\n")], &mut control, SendFlags::NOSIGNAL);
    sent.inspect_err(|error| tracing::warn!(%error, "the editor's pipes are copied")).is_ok()
}

/// Waits until the host has let go of what it was given.
pub(super) fn wait(mut host: &UnixStream) {
    // It says nothing; whatever ends the connection is its end.
    while host.read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::Interrupted) {}
}

/// Takes what a relay gave before it started us. Must be called inside a tokio runtime.
///
/// # Errors
/// When nothing usable came.
pub(super) fn take(relay: UnixStream) -> anyhow::Result<Connection> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0u8];
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    recvmsg(&relay, &mut [IoSliceMut::new(&mut byte)], &mut control, flags)
        .context("cannot take over the editor's stdin and stdout from the relay")?;
    let mut given: Vec<OwnedFd> = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            given.extend(descriptors);
        }
    }
    let Ok([stdin, stdout]) = <[OwnedFd; 2]>::try_from(given) else {
        bail!("the relay gave something else than the editor's stdin and stdout")
    };
    relay.set_nonblocking(true)?;
    let relay = Arc::new(tokio::net::UnixStream::from_std(relay)?);
    let stdin = Lent::new(stdin, Interest::READABLE).context("cannot read from the editor")?;
    let stdout = Lent::new(stdout, Interest::WRITABLE).context("cannot write to the editor")?;
    Ok(Connection {
        reader: Box::new(FromEditor { stdin, relay: relay.clone() }),
        writer: Box::new(ToEditor { stdout, relay }),
    })
}

/// What the editor says, until it hangs up or the relay has gone.
struct FromEditor {
    stdin: Lent,
    relay: Arc<tokio::net::UnixStream>,
}

impl AsyncRead for FromEditor {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut TaskContext<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        // What the editor said before it went counts.
        if let Poll::Ready(outcome) = Pin::new(&mut self.stdin).poll_read(context, buffer) {
            return Poll::Ready(outcome);
        }
        while self.relay.poll_read_ready(context).is_ready() {
            match self.relay.try_read(&mut [0]) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                _ => return Poll::Ready(Ok(())),
            }
        }
        Poll::Pending
    }
}

/// What the editor is told. As long as it or [`FromEditor`] is there the relay stays, and so what the editor takes for its
/// adapter.
struct ToEditor {
    stdout: Lent,
    relay: Arc<tokio::net::UnixStream>,
}

impl AsyncWrite for ToEditor {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut TaskContext<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        let outcome = Pin::new(&mut self.stdout).poll_write(context, bytes);
        if matches!(outcome, Poll::Ready(Err(_))) {
            // An editor that does not listen any more has gone, whatever it does with our stdin.
            let ended = rustix::net::shutdown(&*self.relay, rustix::net::Shutdown::Both);
            tracing::debug!(?ended, "the editor does not read any more");
        }
        outcome
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut TaskContext<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stdout).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut TaskContext<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stdout).poll_shutdown(context)
    }
}
