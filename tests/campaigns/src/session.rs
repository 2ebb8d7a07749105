//! A session with the scripted adapter and a connection that sends raw bytes: shared by the campaigns.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use futures::StreamExt;
use serde_json::{Value, json};
use tandem_wire::codec::DapCodec;
use tandem_wire::{Message, Request, Response};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::process::Child;
use tokio_util::bytes::BytesMut;
use tokio_util::codec::{Encoder, FramedRead};

use tandem_harness::deadline::deadline;
use tandem_harness::fixture;

/// No message takes longer, even on a busy machine, s.
pub(super) const TIMEOUT_SECS: u64 = 60;

/// A connection that takes any bytes.
pub(super) struct RawConnection {
    pub(super) reader: FramedRead<Box<dyn AsyncRead + Send + Unpin>, DapCodec>,
    pub(super) writer: Box<dyn AsyncWrite + Send + Unpin>,
    pub(super) seq: i64,
    /// `tandem-dap`, where this connection is its stdio.
    pub(super) child: Option<Child>,
    /// Events that came while something else was waited for, by name.
    pub(super) events: HashMap<String, u64>,
}

impl RawConnection {
    pub(super) fn start() -> anyhow::Result<Self> {
        let mut command = tokio::process::Command::new(fixture::binary("tandem-dap"));
        command.args(["--log-level", "off"]);
        Self::of(command)
    }

    /// Starts this command, which is `tandem-dap`.
    pub(super) fn of(mut command: tokio::process::Command) -> anyhow::Result<Self> {
        command.kill_on_drop(true);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (to, from) = (child.stdin.take().context("no stdin")?, child.stdout.take().context("no stdout")?);
        Ok(Self::over(Box::new(from), Box::new(to), Some(child)))
    }

    pub(super) async fn connect(socket: &Path) -> anyhow::Result<Self> {
        let (from, to) = tokio::net::UnixStream::connect(socket).await?.into_split();
        Ok(Self::over(Box::new(from), Box::new(to), None))
    }

    fn over(
        from: Box<dyn AsyncRead + Send + Unpin>,
        writer: Box<dyn AsyncWrite + Send + Unpin>,
        child: Option<Child>,
    ) -> Self {
        let reader = FramedRead::new(from, DapCodec::default());
        Self { reader, writer, seq: 0, child, events: HashMap::new() }
    }

    pub(super) async fn send(&mut self, command: &str, arguments: Value) -> anyhow::Result<i64> {
        self.seq += 1;
        let request = Request { seq: self.seq, command: command.into(), arguments };
        let mut bytes = BytesMut::new();
        DapCodec::default().encode(&Message::Request(request), &mut bytes)?;
        self.writer.write_all(&bytes).await?;
        self.writer.flush().await?;
        Ok(self.seq)
    }

    /// The next message from the host.
    pub(super) async fn next(&mut self) -> anyhow::Result<Message> {
        let next = tokio::time::timeout(deadline(TIMEOUT_SECS), self.reader.next())
            .await
            .context("nothing comes")?;
        let message = next.context("hung up")??.map_err(|error| anyhow::anyhow!("{error}"))?;
        if let Message::Event(event) = &message {
            *self.events.entry(event.event.clone()).or_default() += 1;
        }
        Ok(message)
    }

    /// Sends a request, and ignores other messages until the response.
    pub(super) async fn ask(&mut self, command: &str, arguments: Value) -> anyhow::Result<Response> {
        let seq = self.send(command, arguments).await?;
        loop {
            match self.next().await.with_context(|| format!("no answer to `{command}`"))? {
                Message::Response(response) if response.request_seq == seq => return Ok(response),
                _ => {}
            }
        }
    }

    pub(super) async fn ok(&mut self, command: &str, arguments: Value) -> anyhow::Result<Value> {
        let response = self.ask(command, arguments).await?;
        anyhow::ensure!(response.success, "`{command}` failed: {}", response.body);
        Ok(response.body)
    }

    /// Waits for an event that has not been seen so often.
    pub(super) async fn event(&mut self, name: &str, times: u64) -> anyhow::Result<()> {
        while self.events.get(name).copied().unwrap_or(0) < times {
            self.next().await.with_context(|| format!("no `{name}`"))?;
        }
        Ok(())
    }

    /// Launches the scripted adapter, up to where it was configured.
    pub(super) async fn launch(&mut self, script: &AdapterScript) -> anyhow::Result<()> {
        self.ok("initialize", json!({ "clientID": "campaign", "adapterID": "tandem" })).await?;
        let launch = self.send("launch", script.launch()).await?;
        self.event("initialized", 1).await?;
        self.ok("configurationDone", json!({})).await?;
        loop {
            match self.next().await? {
                Message::Response(response) if response.request_seq == launch => {
                    anyhow::ensure!(response.success, "launch failed: {}", response.body);
                    return Ok(());
                }
                _ => {}
            }
        }
    }

    /// The socket at which other clients join.
    pub(super) async fn socket(&mut self) -> anyhow::Result<PathBuf> {
        let info = self.ok("sessionInfo", json!({})).await?;
        Ok(fixture::session_socket(info["id"].as_str().context("a session without an id")?))
    }

    /// The process of its session.
    pub(super) fn host(&self) -> anyhow::Result<u64> {
        let relay = self.child.as_ref().and_then(Child::id).context("no relay")?;
        let children = std::fs::read_to_string(format!("/proc/{relay}/task/{relay}/children"))?;
        children.split_whitespace().next().and_then(|pid| pid.parse().ok()).context("no host")
    }

    /// Disconnects, and waits until relay and host have ended.
    pub(super) async fn finish(mut self) -> anyhow::Result<()> {
        let host = self.host()?;
        self.ok("disconnect", json!({ "terminateDebuggee": true })).await?;
        let mut child = self.child.take().context("no adapter of its own")?;
        let status = tokio::time::timeout(deadline(TIMEOUT_SECS), child.wait())
            .await
            .context("the relay does not end")??;
        anyhow::ensure!(status.success(), "the relay ended with {status}");
        let end = tokio::time::Instant::now() + deadline(TIMEOUT_SECS);
        while fixture::is_running(host) {
            if tokio::time::Instant::now() > end {
                bail!("the host does not end");
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }
}

/// The script that the fake adapter plays after its handshake.
pub(super) struct AdapterScript(tempfile::TempDir);

impl AdapterScript {
    pub(super) fn new(steps: &[Value]) -> anyhow::Result<Self> {
        let out = |command: &str, seq: i64| {
            json!({ "dir": "out", "m": { "type": "request",
            "command": command, "seq": seq } })
        };
        let answer = |command: &str, seq: i64, body: Value| {
            json!({ "dir": "in", "m": { "type": "response", "command": command, "request_seq": seq, "seq": 0,
                "success": true, "body": body } })
        };
        let event = |event: &str, body: Value| {
            json!({ "dir": "in", "m": { "type": "event", "event": event,
            "seq": 0, "body": body } })
        };
        let can = json!({ "supportsConfigurationDoneRequest": true, "supportsSetVariable": true,
            "supportsCompletionsRequest": true });
        let mut script = vec![
            out("initialize", 1),
            answer("initialize", 1, can),
            out("launch", 2),
            event("initialized", Value::Null),
            out("configurationDone", 3),
            answer("configurationDone", 3, Value::Null),
            answer("launch", 2, Value::Null),
            event("process", json!({ "name": "scripted" })),
        ];
        script.extend_from_slice(steps);
        let folder = tempfile::tempdir()?;
        let lines: Vec<String> = script.iter().map(Value::to_string).collect();
        std::fs::write(folder.path().join("script"), lines.join("\n"))?;
        Ok(Self(folder))
    }

    /// One that stops and then answers every request.
    pub(super) fn serving() -> anyhow::Result<Self> {
        let stopped = json!({ "reason": "entry", "threadId": 1, "allThreadsStopped": true });
        Self::new(&[
            json!({ "dir": "in", "m": { "type": "event", "event": "stopped", "seq": 0, "body": stopped } }),
            json!({ "do": "serve" }),
        ])
    }

    fn launch(&self) -> Value {
        let script = self.0.path().join("script");
        json!({ "program": "/scripted", "cwd": self.0.path(),
            "engine": { "command": fixture::binary("fake_adapter"), "args": [script] } })
    }
}
