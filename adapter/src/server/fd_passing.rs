//! Passing file descriptors: the relay passes the editor's stdin and stdout to the host, so that no process
//! copies the data. A socket between the two remains, which carries only a close notice: it ends with either
//! of them.
//!
//! - The editor kills the relay: to the host the editor has left.
//! - The editor closes the relay's stdin or does not read its stdout any more: as with any client, and the
//!   relay ends.
//! - The host closes the editor's connection (after `disconnect`; the session may continue for others): it
//!   sends the close notice, one byte, and the relay ends. A host that crashes sends nothing; the rest of its
//!   unfinished message is in [`partial_write`], and the relay notifies the editor.

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

use super::partial_write::{self, PartialWriteLog};
use super::shared_fd::{self, SharedFd};
use tandem_session::connection::Connection;

/// Passes this process's stdin and stdout to the other end, with memory for what it leaves unfinished, which
/// is returned. `None` when they cannot be shared or sent; then nothing was sent, and they must be copied.
pub(super) fn send(to: &UnixStream) -> Option<OwnedFd> {
    let (stdin, stdout, memory) = (shared_fd::stdin()?, shared_fd::stdout()?, partial_write::memory().ok()?);
    let descriptors = [stdin.as_fd(), stdout.as_fd(), memory.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return None;
    }
    let sent = sendmsg(to, &[IoSlice::new(b"\n")], &mut control, SendFlags::NOSIGNAL);
    sent.inspect_err(|error| tracing::warn!(%error, "the editor's pipes are copied")).ok()?;
    Some(memory)
}

/// Waits until the host has closed the pipes passed to it. False when it ended without a close notice.
pub(super) fn wait(mut host: &UnixStream) -> bool {
    loop {
        match host.read(&mut [0]) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            sent => return sent.is_ok_and(|count| count > 0),
        }
    }
}

/// The host's end of the socket to the relay. Sends the close notice when the last user of the editor's pipes
/// is dropped; not in a panic.
struct Relay(tokio::net::UnixStream);

impl Relay {
    fn send_close_notice(&self) {
        // A relay that is gone needs none.
        let sent = rustix::net::send(&self.0, b".", SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
        tracing::trace!(?sent, "close notice to the relay");
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.send_close_notice();
        }
    }
}

/// Receives what a relay sent before it started this process. Must be called inside a tokio runtime.
///
/// # Errors
/// When nothing usable came.
pub(super) fn receive(relay: UnixStream) -> anyhow::Result<Connection> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0u8];
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    recvmsg(&relay, &mut [IoSliceMut::new(&mut byte)], &mut control, flags)
        .context("cannot take over the editor's stdin and stdout from the relay")?;
    let mut received: Vec<OwnedFd> = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            received.extend(descriptors);
        }
    }
    let Ok([stdin, stdout, memory]) = <[OwnedFd; 3]>::try_from(received) else {
        bail!("the relay passed something else than the editor's stdin and stdout")
    };
    relay.set_nonblocking(true)?;
    let relay = Arc::new(Relay(tokio::net::UnixStream::from_std(relay)?));
    let stdin = SharedFd::new(stdin, Interest::READABLE).context("cannot read from the editor")?;
    let stdout = SharedFd::new(stdout, Interest::WRITABLE).context("cannot write to the editor")?;
    Ok(Connection {
        reader: Box::new(EditorReader { stdin, relay: relay.clone() }),
        writer: Box::new(EditorWriter { stdout, relay, log: PartialWriteLog::new(memory) }),
    })
}

/// Reads from the editor, until it hangs up or the relay is gone.
struct EditorReader {
    stdin: SharedFd,
    relay: Arc<Relay>,
}

impl AsyncRead for EditorReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut TaskContext<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        // Data that the editor sent before it left counts.
        if let Poll::Ready(outcome) = Pin::new(&mut self.stdin).poll_read(context, buffer) {
            return Poll::Ready(outcome);
        }
        while self.relay.0.poll_read_ready(context).is_ready() {
            match self.relay.0.try_read(&mut [0]) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                _ => return Poll::Ready(Ok(())),
            }
        }
        Poll::Pending
    }
}

/// Writes to the editor. As long as this or [`EditorReader`] exists the relay stays, which the editor
/// takes for its adapter.
struct EditorWriter {
    stdout: SharedFd,
    relay: Arc<Relay>,
    log: PartialWriteLog,
}

impl AsyncWrite for EditorWriter {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut TaskContext<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        self.log.begin_write(bytes);
        let outcome = Pin::new(&mut self.stdout).poll_write(context, bytes);
        let written = if let Poll::Ready(Ok(count)) = &outcome { *count } else { 0 };
        self.log.finish_write(bytes, written);
        if matches!(outcome, Poll::Ready(Err(_))) {
            // An editor that no longer reads has left, even if it still writes to stdin.
            self.relay.send_close_notice();
            let ended = rustix::net::shutdown(&self.relay.0, rustix::net::Shutdown::Both);
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
