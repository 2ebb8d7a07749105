//! The process that an editor starts: it starts a host, passes it the editor's own pipes, and waits for its
//! end. If they cannot be passed, it copies bytes. Knows no DAP but how a frame looks: a host that dies
//! cannot tell the editor, so the relay does.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tandem_wire::types::{self, OutputEventBody};
use tandem_wire::{Event, Message};

use super::fd_passing;
use super::partial_write::{self, FramePosition};
use crate::logging::LogSettings;
use tandem_hub::access::AgentAccess;

/// The variable that a listener's token may come from; no host inherits it.
pub const TOKEN_VARIABLE: &str = "TANDEM_TOKEN";
/// Bytes copied at once.
const COPY_LEN: usize = 256 * 1024;
/// From the end of its connection to the end of a host that dies.
const HOST_EXIT_TIMEOUT: Duration = Duration::from_secs(2);
/// The same if a host keeps running and closes the connection without a close notice, so that the editor
/// waits for us in vain.
const LIVE_HOST_TIMEOUT: Duration = Duration::from_millis(200);
/// Between two looks at whether the host has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// How long it may take to report a host's death to an editor.
const REPORT_TIMEOUT: Duration = Duration::from_secs(5);
/// `seq` of the last event: how far the host had counted is not known.
const LAST_NUMBER: i64 = i32::MAX as i64;

/// The kind of a new host's stdin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostStdin {
    /// The connection of its first client.
    Client,
    /// A socket over which that client's own stdin and stdout were sent.
    HandedOver,
}

/// Settings of a new host.
#[derive(Debug, Clone, Copy, Default)]
pub struct HostOptions<'a> {
    /// Its first client must present it.
    pub token: Option<&'a str>,
    /// The flag of this name.
    pub expect: Option<&'a str>,
    /// What agents may do when the launch does not say.
    pub agent_access: AgentAccess,
    /// For the host of a child session.
    pub child: Option<&'a ChildOf>,
}

/// Facts about a child session for its host, before its first client connects.
#[derive(Debug, Clone)]
pub struct ChildOf {
    /// The id of the parent session.
    pub parent: String,
    /// The id of the child session.
    pub id: String,
    /// The name of its program for users.
    pub title: String,
}

/// Starts a host for its first client. The host becomes the leader of a session at its start:
/// killing the editor's process group does not keep it from cleaning up, and it has no terminal.
///
/// # Errors
/// When the process cannot be started.
pub fn start_host(
    connection: OwnedFd,
    stdin: HostStdin,
    logging: &LogSettings,
    options: HostOptions<'_>,
) -> anyhow::Result<std::process::Child> {
    let program = std::env::current_exe().context("cannot find the program itself")?;
    let mut command = Command::new(&program);
    command.arg("host").args(logging.flags());
    if stdin == HostStdin::HandedOver {
        command.arg("--handed-over");
    }
    if let Some(attributes) = options.expect {
        command.arg("--expect").arg(attributes);
    }
    if let Some(ChildOf { id, parent, title }) = options.child {
        command.args(["--id", id, "--parent", parent, "--title", title]);
    }
    command.args(["--agent-access", options.agent_access.as_str()]);
    match options.token {
        Some(token) => {
            let (reader, mut writer) = std::io::pipe().context("cannot make a pipe")?;
            writer.write_all(token.as_bytes()).context("cannot hand over the token")?;
            command.arg("--token").stdout(reader);
        }
        None => drop(command.stdout(Stdio::null())),
    }
    command.env_remove(TOKEN_VARIABLE);
    command.stdin(connection).stderr(Stdio::inherit());
    command.spawn().with_context(|| format!("cannot start `{} host`", program.display()))
}

/// Serves one client on stdin and stdout, which announces what it will launch.
///
/// # Errors
/// When the host cannot be started.
pub fn run(logging: &LogSettings, options: HostOptions<'_>) -> anyhow::Result<()> {
    let (ours, theirs) = UnixStream::pair().context("cannot make a pair of sockets")?;
    // Sent before the host is there: it finds them waiting.
    if let Some(memory) = fd_passing::send(&ours) {
        let mut host = start_host(theirs.into(), HostStdin::HandedOver, logging, options)?;
        if fd_passing::wait(&ours) {
            host.try_wait()?;
            return Ok(());
        }
        return report_death(&mut host, HOST_EXIT_TIMEOUT, || partial_write::rest(&memory));
    }
    let mut host = start_host(theirs.into(), HostStdin::Client, logging, options)?;
    let from_editor = File::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let to_editor = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    let to_host = ours.try_clone()?;
    std::thread::Builder::new().name("from-editor".into()).spawn(move || {
        // The editor went, or the host did: either way nothing is left to say to the host.
        copy(&from_editor, &to_host).unwrap_or_default();
        to_host.shutdown(Shutdown::Write).unwrap_or_default();
    })?;
    let mut to_editor = RelayedEditor { editor: to_editor, position: FramePosition::Header(Vec::new()) };
    copy(&ours, &mut to_editor).unwrap_or_default();
    // The host closes the connection as its last step but cleaning up, which it does on its own. The other
    // thread may wait for the editor forever; the end of the process is its end.
    report_death(&mut host, LIVE_HOST_TIMEOUT, || to_editor.position.rest())
}

/// The editor, and which part of the host's output it has got.
struct RelayedEditor {
    editor: File,
    position: FramePosition,
}

impl Write for RelayedEditor {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let count = self.editor.write(bytes)?;
        self.position.pass(bytes.get(..count).unwrap_or_default());
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.editor.flush()
    }
}

/// The host has closed its end. If it has died (within `limit`), notifies the editor: `rest` completes the
/// message that the host was writing.
///
/// # Errors
/// If the host has died.
fn report_death(
    host: &mut std::process::Child,
    limit: Duration,
    rest: impl FnOnce() -> std::io::Result<Vec<u8>>,
) -> anyhow::Result<()> {
    let until = Instant::now() + limit;
    let status = loop {
        match host.try_wait()? {
            Some(status) => break status,
            // It keeps running, for other clients.
            None if Instant::now() >= until => return Ok(()),
            None => std::thread::sleep(POLL_INTERVAL),
        }
    };
    if status.success() {
        return Ok(());
    }
    let reason = format!("the host of the debug session died ({status}): the session has ended");
    let notified = rest().map(|rest| notify_editor(rest, &reason));
    super::stale_files::sweep_after_death();
    if let Err(error) = notified {
        bail!("{reason}; the editor cannot be notified on its connection: {error}");
    }
    bail!("{reason}; `--log FILE --log-level debug` may show why, if it happens again")
}

/// Notifies the editor that the session is over, if it still reads.
fn notify_editor(rest: Vec<u8>, reason: &str) {
    let mut bytes = rest;
    let output = OutputEventBody {
        category: Some("important".into()),
        output: format!("{reason}\n"),
        ..OutputEventBody::default()
    };
    let events = [("output", types::body(&output)), ("terminated", types::empty())];
    for (seq, (event, body)) in (LAST_NUMBER - 1..).zip(events) {
        let message = Message::Event(Event { seq, event: event.into(), body });
        let body = serde_json::to_string(&message).unwrap_or_default();
        bytes.extend_from_slice(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    }
    let (done, written) = mpsc::channel();
    let telling = std::thread::Builder::new().name("to-editor".into()).spawn(move || {
        let stdout = std::io::stdout().as_fd().try_clone_to_owned().map(File::from);
        // An editor that has gone is not notified, nor is a parent that no longer waits.
        drop(stdout.and_then(|mut stdout| stdout.write_all(&bytes)));
        done.send(()).unwrap_or_default();
    });
    if telling.is_ok() {
        written.recv_timeout(REPORT_TIMEOUT).unwrap_or_default();
    }
}

/// Copies until the end. Not `std::io::copy`: between a socket and a pipe it uses `splice`, which keeps the
/// pipe locked while it waits for the socket, so that the editor could not read what is in the pipe already.
fn copy(mut from: impl Read, mut to: impl Write) -> std::io::Result<()> {
    let mut block = vec![0; COPY_LEN];
    loop {
        match from.read(&mut block) {
            Ok(0) => return Ok(()),
            Ok(count) => to.write_all(block.get(..count).unwrap_or_default())?,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
