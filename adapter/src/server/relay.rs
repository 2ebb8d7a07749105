//! What an editor starts: a host, and bytes copied between the editor's stdio and it. Knows no DAP.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use anyhow::Context;
use tokio::io::{AsyncWriteExt, copy};

use crate::logging::Logging;

/// Starts a host whose stdin is this end of its first client's connection. The host is in a process group of its own:
/// whoever kills the editor's group does not keep it from cleaning up.
///
/// # Errors
/// When the process cannot be started.
pub fn start_host(connection: OwnedFd, logging: &Logging) -> anyhow::Result<std::process::Child> {
    let program = std::env::current_exe().context("cannot find the program itself")?;
    let mut command = Command::new(&program);
    command.arg("host").args(logging.flags());
    command.stdin(connection).stdout(Stdio::null()).stderr(Stdio::inherit()).process_group(0);
    command.spawn().with_context(|| format!("cannot start `{} host`", program.display()))
}

/// Serves one client on stdin and stdout.
///
/// # Errors
/// When the host cannot be started.
pub fn run(logging: &Logging) -> anyhow::Result<()> {
    let (ours, theirs) = UnixStream::pair().context("cannot make a pair of sockets")?;
    let mut host = start_host(theirs.into(), logging)?;
    ours.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (mut from_host, mut to_host) = tokio::net::UnixStream::from_std(ours)?.into_split();
        let sending = tokio::spawn(async move {
            // The editor went, or the host did: either way nothing is left to say to the host.
            drop(copy(&mut tokio::io::stdin(), &mut to_host).await);
            drop(to_host.shutdown().await);
        });
        let mut stdout = tokio::io::stdout();
        drop(copy(&mut from_host, &mut stdout).await);
        sending.abort();
        stdout.flush().await
    })?;
    // The host closes the connection as its last act but cleaning up, which it does on its own.
    runtime.shutdown_background();
    host.try_wait()?;
    Ok(())
}
