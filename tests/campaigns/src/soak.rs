//! Sessions in a row, over all engines, through one listener and one bridge. All resources of a session end
//! with it: memory, descriptors and threads of listener and bridge stay as they were after the first
//! sessions, and no process is left.

use std::process::Stdio;
use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::Instant;

use super::Options;
use super::session::{RawConnection, TIMEOUT_SECS};
use tandem_harness::child::Subject;
use tandem_harness::deadline::deadline;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::process_tracking::ProcessTracker;

/// The programs that are debugged in turn; `None` is .NET.
const DEBUGGEES: [Option<Subject>; 9] = [
    None,
    Some(Subject::Python),
    Some(Subject::PythonAdapter),
    Some(Subject::Lldb),
    Some(Subject::Gdb),
    Some(Subject::Bash),
    Some(Subject::Delve),
    Some(Subject::Rdbg),
    Some(Subject::Js),
];
/// Memory that allocators and caches may still add after the first sessions, KiB.
const MAX_MEMORY_GROWTH: u64 = 24 * 1024;
/// As [`MAX_MEMORY_GROWTH`], for descriptors and threads: one more session may still be ending.
const MAX_HANDLE_GROWTH: u64 = 4;

/// Plays so many sessions, every other one through the bridge.
///
/// # Errors
/// When one fails, or something grows or is left.
pub async fn run(options: Options) -> anyhow::Result<String> {
    let mut tracker = ProcessTracker::new(options.seed)?;
    let listener =
        start(&tracker, "tandem-dap", &["--listen", &format!("unix:{}", tracker.socket().display())])?;
    let mut bridge = BridgeProcess::new(start(&tracker, "tandem-mcp", &[])?).await?;
    let pids = [listener.id(), bridge.child.id()].map(|pid| u64::from(pid.unwrap_or_default()));
    let warm = (options.count / 2).min(DEBUGGEES.len() as u64 * 4);
    let mut before = None;
    for number in 0..options.count {
        if number == warm {
            wait_until_alone(&mut tracker, pids).await?;
            before = Some(pids.map(ProcessResources::of));
        }
        let debuggee = DEBUGGEES.get((number / 2) as usize % DEBUGGEES.len()).copied().flatten();
        let session = async {
            if number % 2 == 0 {
                over_listener(&tracker, debuggee).await
            } else {
                bridge.session(debuggee).await
            }
        };
        session.await.with_context(|| format!("session {number}: {debuggee:?}"))?;
    }
    wait_until_alone(&mut tracker, pids).await?;
    let (before, after) = (before.context("no session")?, pids.map(ProcessResources::of));
    for (before, after) in before.iter().zip(&after) {
        let flat = after.memory <= before.memory + MAX_MEMORY_GROWTH
            && after.descriptors <= before.descriptors + MAX_HANDLE_GROWTH
            && after.threads <= before.threads + MAX_HANDLE_GROWTH;
        anyhow::ensure!(flat, "after {warm} sessions {before:?}, after {} {after:?}", options.count);
    }
    Ok(format!(
        "{} sessions: listener {} then {}; bridge {} then {}",
        options.count, before[0], after[0], before[1], after[1]
    ))
}

/// Resources that a process holds.
#[derive(Debug)]
struct ProcessResources {
    /// Resident memory, in KiB.
    memory: u64,
    descriptors: u64,
    threads: u64,
}

impl ProcessResources {
    fn of(pid: u64) -> Self {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
        };
        let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count) as u64;
        Self { memory: field("VmRSS:"), descriptors, threads: field("Threads:") }
    }
}

impl std::fmt::Display for ProcessResources {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} KiB, {} descriptors, {} threads", self.memory, self.descriptors, self.threads)
    }
}

/// Waits until nothing runs but these.
async fn wait_until_alone(tracker: &mut ProcessTracker, pids: [u64; 2]) -> anyhow::Result<()> {
    let end = Instant::now() + deadline(TIMEOUT_SECS);
    loop {
        let others: Vec<_> = tracker.processes().into_iter().filter(|(pid, _)| !pids.contains(pid)).collect();
        if others.is_empty() {
            return Ok(());
        }
        anyhow::ensure!(Instant::now() < end, "left: {others:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn start(tracker: &ProcessTracker, name: &str, arguments: &[&str]) -> anyhow::Result<Child> {
    let mut command = Command::new(fixture::binary(name));
    command.args(arguments).envs(Runtime::Net9.environment().context("no runtime")?);
    command.envs(tracker.environment()).kill_on_drop(true);
    Ok(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?)
}

fn launch(debuggee: Option<Subject>) -> Value {
    debuggee.map_or_else(|| json!({ "program": fixture::program("echo") }), Subject::launch)
}

/// Runs one session over the listener, from launch to exit.
async fn over_listener(tracker: &ProcessTracker, debuggee: Option<Subject>) -> anyhow::Result<()> {
    let end = Instant::now() + deadline(TIMEOUT_SECS);
    let mut editor = loop {
        match RawConnection::connect(&tracker.socket()).await {
            Ok(editor) => break editor,
            Err(error) if Instant::now() > end => return Err(error),
            Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    };
    editor.ok("initialize", json!({ "clientID": "campaign", "adapterID": "tandem" })).await?;
    editor.send("launch", launch(debuggee)).await?;
    editor.event("initialized", 1).await?;
    editor.ok("configurationDone", json!({})).await?;
    editor.ok("threads", json!({})).await?;
    editor.ok("processWriteInput", json!({ "data": "line\n", "closeAfter": true })).await?;
    editor.event("exited", 1).await?;
    editor.ok("disconnect", json!({})).await.map(drop)
}

/// A bridge, and the pipes to it.
struct BridgeProcess {
    child: Child,
    to: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    id: u64,
}

impl BridgeProcess {
    async fn new(mut child: Child) -> anyhow::Result<Self> {
        let to = child.stdin.take().context("no stdin")?;
        let lines = BufReader::new(child.stdout.take().context("no stdout")?).lines();
        let mut bridge = Self { child, to, lines, id: 0 };
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "campaign", "version": "1" } });
        bridge.ask("initialize", hello).await?;
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        bridge.to.write_all(format!("{ready}\n").as_bytes()).await?;
        Ok(bridge)
    }

    async fn ask(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        self.id += 1;
        let message = json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params });
        self.to.write_all(format!("{message}\n").as_bytes()).await?;
        loop {
            let line = tokio::time::timeout(deadline(TIMEOUT_SECS), self.lines.next_line())
                .await
                .context("no answer")??;
            let answer: Value = serde_json::from_str(&line.context("tandem-mcp has ended")?)?;
            if answer["id"] == self.id && answer["method"].is_null() {
                return Ok(answer["result"].clone());
            }
        }
    }

    async fn tool(&mut self, name: &str, arguments: Value) -> anyhow::Result<Value> {
        let result = self.ask("tools/call", json!({ "name": name, "arguments": arguments })).await?;
        let content = result["structuredContent"].clone();
        anyhow::ensure!(content["success"] == true, "`{name}`: {result}");
        Ok(content)
    }

    /// Runs one session of the bridge, from launch to exit.
    async fn session(&mut self, debuggee: Option<Subject>) -> anyhow::Result<()> {
        let mut launch = launch(debuggee);
        launch["stopAtEntry"] = json!(false);
        self.tool("debug_launch", launch).await?;
        self.tool("process_write_input", json!({ "data": "line\n", "closeAfter": true })).await?;
        let end = Instant::now() + deadline(TIMEOUT_SECS);
        let mut how = "debug_wait";
        loop {
            let result = self.tool(how, json!({ "timeoutMs": 1000 })).await?;
            match result["state"].as_str() {
                Some("exited") => break,
                // For agents, Python stops where an exit code other than 0 is raised.
                Some("stopped") => how = "debug_continue",
                _ => how = "debug_wait",
            }
            anyhow::ensure!(Instant::now() < end, "the program does not end: {result}");
        }
        self.tool("debug_disconnect", json!({})).await.map(drop)
    }
}
