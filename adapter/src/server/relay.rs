//! What an editor starts: a host, which is given the editor's own pipes, and then the wait for its end. Where they cannot be
//! given, bytes are copied. Knows no DAP.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use anyhow::Context;

use super::handover;
use crate::hub::access::AgentAccess;
use crate::logging::Logging;

/// Bytes copied at once.
const BLOCK: usize = 256 * 1024;

/// What a new host finds on its stdin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stdin {
    /// The connection of its first client.
    Client,
    /// A socket over which that client's own stdin and stdout were sent.
    HandedOver,
}

/// What a host is told when it starts.
#[derive(Debug, Clone, Copy, Default)]
pub struct Orders<'a> {
    /// Its first client must present it.
    pub token: Option<&'a str>,
    /// The flag of this name.
    pub expect: Option<&'a str>,
    /// What agents may do when the launch does not say.
    pub agent_access: AgentAccess,
}

/// Starts a host for its first client. The host is in a process group of its own:
/// whoever kills the editor's group does not keep it from cleaning up.
///
/// # Errors
/// When the process cannot be started.
pub fn start_host(
    connection: OwnedFd,
    stdin: Stdin,
    logging: &Logging,
    orders: Orders<'_>,
) -> anyhow::Result<std::process::Child> {
    let program = std::env::current_exe().context("cannot find the program itself")?;
    let mut command = Command::new(&program);
    command.arg("host").args(logging.flags());
    if stdin == Stdin::HandedOver {
        command.arg("--handed-over");
    }
    if let Some(attributes) = orders.expect {
        command.arg("--expect").arg(attributes);
    }
    command.args(["--agent-access", orders.agent_access.as_str()]);
    match orders.token {
        Some(token) => {
            let (reader, mut writer) = std::io::pipe().context("cannot make a pipe")?;
            writer.write_all(token.as_bytes()).context("cannot hand over the token")?;
            command.arg("--token").stdout(reader);
        }
        None => drop(command.stdout(Stdio::null())),
    }
    command.env_remove(super::listener::TOKEN_VARIABLE);
    command.stdin(connection).stderr(Stdio::inherit()).process_group(0);
    command.spawn().with_context(|| format!("cannot start `{} host`", program.display()))
}

/// Serves one client on stdin and stdout, which says beforehand what it will launch.
///
/// # Errors
/// When the host cannot be started.
pub fn run(logging: &Logging, orders: Orders<'_>) -> anyhow::Result<()> {
    let (ours, theirs) = UnixStream::pair().context("cannot make a pair of sockets")?;
    // Sent before the host is there: it finds them waiting.
    if handover::give(&ours) {
        let mut host = start_host(theirs.into(), Stdin::HandedOver, logging, orders)?;
        handover::wait(&ours);
        host.try_wait()?;
        return Ok(());
    }
    let mut host = start_host(theirs.into(), Stdin::Client, logging, orders)?;
    let from_editor = File::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let to_editor = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    let to_host = ours.try_clone()?;
    std::thread::Builder::new().name("from-editor".into()).spawn(move || {
        // The editor went, or the host did: either way nothing is left to say to the host.
        copy(&from_editor, &to_host).unwrap_or_default();
        to_host.shutdown(Shutdown::Write).unwrap_or_default();
    })?;
    copy(&ours, &to_editor).unwrap_or_default();
    // The host closes the connection as its last act but cleaning up, which it does on its own. The other thread may
    // wait for the editor for ever; the end of the process is its end.
    host.try_wait()?;
    Ok(())
}

/// Copies until the end. Not `std::io::copy`: between a socket and a pipe it uses `splice`, which keeps the pipe locked
/// while it waits for the socket, so that the editor could not read what is in the pipe already.
fn copy(mut from: impl Read, mut to: impl Write) -> std::io::Result<()> {
    let mut block = vec![0; BLOCK];
    loop {
        match from.read(&mut block) {
            Ok(0) => return Ok(()),
            Ok(count) => to.write_all(block.get(..count).unwrap_or_default())?,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
