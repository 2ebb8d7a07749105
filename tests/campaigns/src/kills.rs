//! Kills a random part of a session at a random moment: relay, listener, bridge, host, an adapter, the
//! program. Then the client leaves, and a while later no process and no file is left. The relay that started
//! a host removes the files that the killed host left. If the listener that started it has ended, the next
//! host removes them when it starts. Not here: sessions that attach, and their watchdogs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context;
use fastrand::Rng;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};
use tokio::time::Instant;

use super::Options;
use super::session::RawConnection;
use tandem_harness::child::Subject;
use tandem_harness::deadline::deadline;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::process_tracking::{self, ProcessTracker};

/// Time until all processes have ended: an adapter may take 10 s to detach from a program by itself, s.
const TIMEOUT_SECS: u64 = 30;
/// Delay of the kill, ms: from before the host exists to a program that runs.
const KILL_DELAYS_MS: std::ops::Range<u64> = 0..2500;

/// Another client joins, if it is let in so soon.
const GUEST_TIMEOUT: Duration = Duration::from_millis(500);

/// The program that starts the session.
#[derive(Debug, Clone, Copy)]
enum EntryPoint {
    Relay,
    Listener,
    Bridge,
}

/// The program of a session.
#[derive(Debug, Clone, Copy)]
enum TargetProgram {
    DotNet(Runtime),
    Child(Subject),
}

const DEBUGGEES: [TargetProgram; 12] = [
    TargetProgram::DotNet(Runtime::Net31),
    TargetProgram::DotNet(Runtime::Net9),
    TargetProgram::DotNet(Runtime::Net31),
    TargetProgram::DotNet(Runtime::Net9),
    TargetProgram::Child(Subject::Python),
    TargetProgram::Child(Subject::PythonAdapter),
    TargetProgram::Child(Subject::Lldb),
    TargetProgram::Child(Subject::Gdb),
    TargetProgram::Child(Subject::Bash),
    TargetProgram::Child(Subject::Delve),
    TargetProgram::Child(Subject::Rdbg),
    TargetProgram::Child(Subject::Js),
];

impl TargetProgram {
    fn launch(self) -> Value {
        match self {
            Self::DotNet(_) => json!({ "program": fixture::program("echo") }),
            Self::Child(subject) => subject.launch(),
        }
    }

    fn runtime(self) -> Runtime {
        match self {
            Self::DotNet(runtime) => runtime,
            Self::Child(_) => Runtime::Net9,
        }
    }
}

/// Runs `options.count` sessions and kills one part of each.
///
/// # Errors
/// If a process or a file is left.
pub async fn run(options: Options) -> anyhow::Result<String> {
    let mut random = Rng::with_seed(options.seed);
    let (mut killed, mut swept) = (BTreeMap::<String, u64>::new(), 0);
    for number in 0..options.count {
        let doors = [EntryPoint::Relay, EntryPoint::Relay, EntryPoint::Listener, EntryPoint::Bridge];
        let door = random.choice(doors).context("no door")?;
        let debuggee = random.choice(DEBUGGEES).context("no debuggee")?;
        let round = round(&mut random, number, door, debuggee).await;
        let round = round.with_context(|| format!("kill {number}: {door:?}, {debuggee:?}"))?;
        *killed.entry(round.victim).or_default() += 1;
        swept += u64::from(round.swept);
    }
    let killed: Vec<String> = killed.iter().map(|(part, count)| format!("{part} {count}")).collect();
    Ok(format!("killed: {}; files of {swept} were swept at the next start", killed.join(", ")))
}

struct KillRound {
    victim: String,
    swept: bool,
}

async fn round(
    random: &mut Rng,
    number: u64,
    door: EntryPoint,
    debuggee: TargetProgram,
) -> anyhow::Result<KillRound> {
    let mut session = ProcessTracker::new(number)?;
    let mut client = LaunchingClient::start(&session, door, debuggee)?;
    let moment = Duration::from_millis(random.u64(KILL_DELAYS_MS));
    // Whether it is answered is for other campaigns.
    drop(tokio::time::timeout(moment, client.work(random, debuggee)).await);
    let guest = match session.sessions().first() {
        Some(socket) if random.bool() => tokio::time::timeout(GUEST_TIMEOUT, join(socket)).await.ok(),
        _ => None,
    };
    let parts = session.processes();
    let (pid, victim) = random.choice(parts).context("nothing runs")?;
    process_tracking::kill(pid);
    let after = Duration::from_millis(random.u64(0..200));
    drop(tokio::time::timeout(after, client.work(random, debuggee)).await);
    session.processes();
    client.leave(random.bool()).await;
    drop(guest);
    let what = format!("{victim} (process {pid}) was killed after {moment:?}");
    let swept = expect_nothing_left(&mut session, door, &victim).await.context(what)?;
    Ok(KillRound { victim, swept })
}

/// Another client of the session, as far as it comes.
async fn join(socket: &Path) -> anyhow::Result<RawConnection> {
    let mut guest = RawConnection::connect(socket).await?;
    for command in ["initialize", "attach", "configurationDone"] {
        guest.ask(command, json!({ "clientID": "guest" })).await?;
    }
    Ok(guest)
}

/// Whether it took the sweep of the next start.
async fn expect_nothing_left(
    session: &mut ProcessTracker,
    door: EntryPoint,
    victim: &str,
) -> anyhow::Result<bool> {
    let end = Instant::now() + deadline(TIMEOUT_SECS);
    loop {
        let (processes, files) = (session.processes(), session.files());
        if processes.is_empty() && files.is_empty() {
            return Ok(false);
        }
        // The process that should remove them was killed, or was the listener that the client ended.
        if processes.is_empty()
            && matches!(door, EntryPoint::Listener)
            && matches!(victim, "host" | "listener")
        {
            break;
        }
        anyhow::ensure!(
            Instant::now() < end,
            "left: {processes:?}, {files:?}; there were {:?}",
            session.seen
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    if victim == "listener" {
        // The next one takes its socket over.
        let mut next =
            LaunchingClient::start(session, EntryPoint::Listener, TargetProgram::DotNet(Runtime::Net9))?;
        let listens = tokio::time::timeout(deadline(TIMEOUT_SECS), next.connect()).await;
        listens.context("the next listener does not listen")?;
        next.leave(true).await;
    }
    let mut next = RawConnection::of(command(session, "tandem-dap", Runtime::Net9)?)?;
    next.ok("initialize", json!({ "clientID": "campaign" })).await?;
    next.finish().await.context("the next session")?;
    // Its host closes the connection first, and sweeps once more.
    session.wait_until_ended(deadline(TIMEOUT_SECS)).await.context("the next session's host")?;
    let files = session.files();
    anyhow::ensure!(files.is_empty(), "left after the next start: {files:?}; there were {:?}", session.seen);
    Ok(true)
}

fn command(session: &ProcessTracker, name: &str, runtime: Runtime) -> anyhow::Result<Command> {
    let mut command = Command::new(fixture::binary(name));
    command.envs(runtime.environment().context("no runtime")?).envs(session.environment());
    command.args(["--log-level", "off"]).stderr(Stdio::null());
    Ok(command)
}

/// The client that started the session. Its errors are ignored: they follow from the killed part.
enum LaunchingClient {
    Editor(Box<RawConnection>),
    /// The listener, and a connection when it listens.
    Remote {
        listener: Child,
        socket: PathBuf,
        editor: Option<Box<RawConnection>>,
    },
    /// The bridge, and the number of the last request.
    Agent(Child, u64),
}

impl LaunchingClient {
    fn start(session: &ProcessTracker, door: EntryPoint, debuggee: TargetProgram) -> anyhow::Result<Self> {
        let runtime = debuggee.runtime();
        let quiet = |mut command: Command| command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
        Ok(match door {
            EntryPoint::Relay => {
                Self::Editor(Box::new(RawConnection::of(command(session, "tandem-dap", runtime)?)?))
            }
            EntryPoint::Listener => {
                let socket = session.socket();
                let mut command = Command::new(fixture::binary("tandem-dap"));
                command.args(["--listen", &format!("unix:{}", socket.display())]).stderr(Stdio::null());
                command.envs(runtime.environment().context("no runtime")?).envs(session.environment());
                Self::Remote { listener: quiet(command)?, socket, editor: None }
            }
            EntryPoint::Bridge => Self::Agent(quiet(command(session, "tandem-mcp", runtime)?)?, 0),
        })
    }

    /// Waits until the listener listens, if there is one.
    async fn connect(&mut self) {
        if let Self::Remote { socket, editor, .. } = self {
            while editor.is_none() {
                *editor = RawConnection::connect(socket).await.ok().map(Box::new);
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    }

    /// Works until something fails, or forever.
    async fn work(&mut self, random: &mut Rng, debuggee: TargetProgram) -> anyhow::Result<()> {
        match self {
            Self::Editor(editor) => edit(editor, random, debuggee).await,
            Self::Remote { .. } => {
                self.connect().await;
                let Self::Remote { editor: Some(editor), .. } = self else { return Ok(()) };
                edit(editor, random, debuggee).await
            }
            Self::Agent(bridge, last) => direct(bridge, last, random, debuggee).await,
        }
    }

    /// Ends the session in order, or by closing its connection.
    async fn leave(self, politely: bool) {
        let part = async |editor: &mut RawConnection| {
            if politely && editor.send("disconnect", json!({})).await.is_ok() {
                while editor.next().await.is_ok() {}
            }
        };
        match self {
            Self::Editor(mut editor) => {
                drop(tokio::time::timeout(deadline(TIMEOUT_SECS), part(&mut editor)).await);
                let RawConnection { child, writer, reader, .. } = *editor;
                drop((writer, reader));
                end(child).await;
            }
            Self::Remote { listener, editor, .. } => {
                if let Some(mut editor) = editor {
                    drop(tokio::time::timeout(deadline(TIMEOUT_SECS), part(&mut editor)).await);
                }
                // Its sessions run in separate processes.
                let pid =
                    listener.id().and_then(|pid| rustix::process::Pid::from_raw(i32::try_from(pid).ok()?));
                pid.map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::TERM).ok());
                end(Some(listener)).await;
            }
            Self::Agent(mut bridge, _) => {
                drop(bridge.stdin.take());
                end(Some(bridge)).await;
            }
        }
    }
}

/// Waits for the end of a client; whether it ends in time is checked with all other processes.
async fn end(child: Option<Child>) {
    if let Some(mut child) = child {
        drop(tokio::time::timeout(deadline(TIMEOUT_SECS), child.wait()).await);
    }
}

async fn edit(editor: &mut RawConnection, random: &mut Rng, debuggee: TargetProgram) -> anyhow::Result<()> {
    if editor.seq == 0 {
        editor.ok("initialize", json!({ "clientID": "campaign", "adapterID": "tandem" })).await?;
        let mut launch = debuggee.launch();
        launch["stopOnEntry"] = json!(random.bool());
        editor.send("launch", launch).await?;
        editor.event("initialized", 1).await?;
        editor.ok("configurationDone", json!({})).await?;
    }
    loop {
        let threads = editor.ask("threads", json!({})).await?.body;
        let thread = json!({ "threadId": threads["threads"][0]["id"] });
        let (command, arguments) = match random.u8(0..12) {
            0..3 => ("continue", thread),
            3 | 4 => ("pause", thread),
            5 => ("next", thread),
            6 => ("stackTrace", thread),
            7..10 => ("processWriteInput", json!({ "data": "line\n" })),
            10 => ("evaluate", json!({ "expression": "1 + 1" })),
            _ => ("restart", json!({})),
        };
        // A request that waits for the program is not waited for.
        editor.send(command, arguments).await?;
        tokio::time::sleep(Duration::from_millis(random.u64(0..30))).await;
    }
}

async fn direct(
    bridge: &mut Child,
    last: &mut u64,
    random: &mut Rng,
    debuggee: TargetProgram,
) -> anyhow::Result<()> {
    let to = bridge.stdin.as_mut().context("no stdin")?;
    let is_new = *last == 0;
    let mut say = async |method: &str, params: Value| -> anyhow::Result<()> {
        *last += 1;
        let mut message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        if !method.starts_with("notifications/") {
            message["id"] = json!(*last);
        }
        Ok(to.write_all(format!("{message}\n").as_bytes()).await?)
    };
    if is_new {
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "campaign", "version": "1" } });
        say("initialize", hello).await?;
        say("notifications/initialized", json!({})).await?;
        let mut launch = debuggee.launch();
        launch["stopAtEntry"] = json!(random.bool());
        say("tools/call", json!({ "name": "debug_launch", "arguments": launch })).await?;
    }
    loop {
        tokio::time::sleep(Duration::from_millis(random.u64(0..60))).await;
        let (name, arguments) = match random.u8(0..6) {
            0 | 1 => ("process_write_input", json!({ "data": "line\n" })),
            2 => ("debug_continue", json!({ "timeoutMs": 20 })),
            3 => ("debug_pause", json!({})),
            4 => ("debug_snapshot", json!({})),
            _ => ("debug_status", json!({})),
        };
        say("tools/call", json!({ "name": name, "arguments": arguments })).await?;
    }
}
