//! An agent: an MCP client on the stdio of `tandem-mcp`, one JSON-RPC message a line.

use std::path::Path;
use std::process::Stdio;

use anyhow::Context;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};

use crate::deadline::deadline;
use crate::fixture::{self, Runtime};
use crate::schema::Schemas;
use crate::transcript::Transcript;

/// The deadline of each wait, s.
const TIMEOUT_SECS: u64 = 60;

/// An agent: a running `tandem-mcp`, called over stdio.
pub struct Agent {
    name: &'static str,
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    id: i64,
    transcript: Transcript,
    schemas: Schemas,
    /// Notifications, in their order, since they were last taken.
    notifications: Vec<Value>,
    /// The number of tool calls so far.
    pub calls: usize,
    /// Characters of arguments and answers: what a model reads and writes.
    pub characters: usize,
}

impl Agent {
    /// Starts `tandem-mcp` and shakes hands.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn start(
        name: &'static str,
        runtime: Runtime,
        transcript: &Transcript,
    ) -> anyhow::Result<Self> {
        let mut command = tokio::process::Command::new(fixture::binary("tandem-mcp"));
        command.envs(runtime.environment().context("no runtime")?);
        Self::spawn(name, command, transcript).await
    }

    /// Starts `tandem-mcp` in a folder, which becomes its root, with these flags.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn in_folder(
        name: &'static str,
        folder: &Path,
        flags: &[&str],
        transcript: &Transcript,
    ) -> anyhow::Result<Self> {
        let mut command = tokio::process::Command::new(fixture::binary("tandem-mcp"));
        command.args(flags).current_dir(folder);
        Self::spawn(name, command, transcript).await
    }

    /// Shakes hands with a `tandem-mcp` that the command starts.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn spawn(
        name: &'static str,
        mut command: tokio::process::Command,
        transcript: &Transcript,
    ) -> anyhow::Result<Self> {
        // Its calls build in the project's own folder: projects of two tests may have the same name.
        command.kill_on_drop(true).env_remove("CARGO_TARGET_DIR");
        fixture::set_path(&mut command);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let stdin = child.stdin.take().context("no stdin")?;
        let lines = BufReader::new(child.stdout.take().context("no stdout")?).lines();
        let (transcript, schemas) = (transcript.clone(), Schemas::default());
        let mut agent = Self {
            name,
            child,
            stdin,
            lines,
            id: 0,
            transcript,
            schemas,
            notifications: Vec::new(),
            calls: 0,
            characters: 0,
        };
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": name, "version": "1" } });
        agent.rpc("initialize", hello).await?;
        agent.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await?;
        agent.schemas = Schemas::of(&agent.rpc("tools/list", json!({})).await?)?;
        Ok(agent)
    }

    async fn write(&mut self, message: &Value) -> anyhow::Result<()> {
        self.stdin.write_all(format!("{message}\n").as_bytes()).await?;
        Ok(self.stdin.flush().await?)
    }

    /// One JSON-RPC request.
    ///
    /// # Errors
    /// When it is not answered.
    pub async fn rpc(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        self.id += 1;
        let id = self.id;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await?;
        self.result(id).await.with_context(|| format!("`{method}` fails"))
    }

    /// The result of a request that was sent; notifications before it are kept.
    ///
    /// # Errors
    /// When it is not answered.
    pub async fn result(&mut self, id: i64) -> anyhow::Result<Value> {
        loop {
            let message = self.message().await?;
            if message["id"] == id {
                return Ok(message["result"].clone());
            }
            self.notifications.push(message);
        }
    }

    /// Sends a line unchanged.
    ///
    /// # Errors
    /// When the connection is gone.
    pub async fn send_line(&mut self, line: &[u8]) -> anyhow::Result<()> {
        self.stdin.write_all(line).await?;
        self.stdin.write_all(b"\n").await?;
        Ok(self.stdin.flush().await?)
    }

    /// The next message of any kind.
    ///
    /// # Errors
    /// If none arrives before the deadline.
    pub async fn message(&mut self) -> anyhow::Result<Value> {
        let line = tokio::time::timeout(deadline(TIMEOUT_SECS), self.lines.next_line()).await;
        let line = line.context("tandem-mcp says nothing")??.context("tandem-mcp has ended")?;
        Ok(serde_json::from_str(&line)?)
    }

    /// The next notification of this kind; those before it are dropped.
    ///
    /// # Errors
    /// If none arrives before the deadline.
    pub async fn next_notification(&mut self, method: &str) -> anyhow::Result<Value> {
        while !self.notifications.is_empty() {
            let message = self.notifications.remove(0);
            if message["method"] == method {
                return Ok(message["params"].clone());
            }
        }
        loop {
            let message = self.message().await.with_context(|| format!("no `{method}` comes"))?;
            if message["method"] == method {
                return Ok(message["params"].clone());
            }
        }
    }

    /// Calls a tool; returns its structured answer, success or not.
    ///
    /// # Errors
    /// When it is not answered.
    pub async fn call(&mut self, tool: &str, arguments: Value) -> anyhow::Result<Value> {
        self.transcript.sent(self.name, tool, &arguments);
        let result = self.rpc("tools/call", json!({ "name": tool, "arguments": arguments.clone() })).await?;
        // An unknown tool is a protocol error, and has no result.
        if !result.is_null() {
            self.schemas.check(tool, &result)?;
        }
        let answer = result["structuredContent"].clone();
        self.calls += 1;
        self.characters += arguments.to_string().chars().count() + answer.to_string().chars().count();
        self.transcript.answered(self.name, &answer);
        Ok(answer)
    }

    /// The bridge's peak of resident memory so far, KiB.
    ///
    /// # Errors
    /// If the bridge has ended.
    pub fn peak_memory(&self) -> anyhow::Result<u64> {
        let pid = self.child.id().context("it is gone")?;
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
        let peak = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
        peak.context("the system does not say")
    }

    /// Sends a signal and waits until the bridge has ended.
    ///
    /// # Errors
    /// When it does not end.
    pub async fn signal(mut self, name: &str) -> anyhow::Result<()> {
        crate::http::signal(&self.child, name).await?;
        tokio::time::timeout(deadline(TIMEOUT_SECS), self.child.wait())
            .await
            .context("tandem-mcp does not end")??;
        Ok(())
    }

    /// Sends a tool call and does not wait for its answer; returns its id.
    ///
    /// # Errors
    /// When the connection is gone.
    pub async fn start_call(&mut self, tool: &str, arguments: Value) -> anyhow::Result<i64> {
        self.id += 1;
        let meta = json!({ "progressToken": self.id });
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        self.write(&json!({ "jsonrpc": "2.0", "id": self.id, "method": "tools/call", "params": params }))
            .await?;
        Ok(self.id)
    }

    /// Sends a notification.
    ///
    /// # Errors
    /// When the connection is gone.
    pub async fn notify(&mut self, method: &str, params: Value) -> anyhow::Result<()> {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": params })).await
    }

    /// Hangs up and waits until the bridge has ended.
    ///
    /// # Errors
    /// When it does not end.
    pub async fn finish(self) -> anyhow::Result<()> {
        let Self { stdin, mut child, .. } = self;
        drop(stdin);
        tokio::time::timeout(deadline(TIMEOUT_SECS), child.wait())
            .await
            .context("tandem-mcp does not end")??;
        Ok(())
    }
}
