//! An editor: a DAP client on the stdio of `tandem-dap`, or on a session's socket. Takes messages strictly in
//! order.

mod session_end;

use std::collections::VecDeque;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, bail};
use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tandem_wire::codec::DapCodec;
use tandem_wire::{Event, Failure, Message, Request, Response};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::process::Child;
use tokio_util::codec::{FramedRead, FramedWrite};

use crate::deadline::deadline;
use crate::fixture::{self, Runtime};
use crate::order::EventOrder;
use crate::transcript::Transcript;

/// No message takes longer, even on a busy machine, s.
const TIMEOUT_SECS: u64 = 60;

/// A DAP client over pipes, a socket or TCP.
pub struct DapClient {
    name: &'static str,
    reader: FramedRead<Box<dyn AsyncRead + Send + Unpin>, DapCodec>,
    writer: FramedWrite<Box<dyn AsyncWrite + Send + Unpin>, DapCodec>,
    child: Option<Child>,
    seq: i64,
    last_seq: i64,
    waiting: VecDeque<Message>,
    transcript: Transcript,
    /// Everything the program printed, as `output` events reported it: stdout, stderr, console.
    pub output: [String; 3],
    /// Whether this client has sent `configurationDone`.
    configured: bool,
    /// Whether this client has sent `disconnect` or `terminate`.
    leaving: bool,
    /// Events that had arrived before it left, and that its test should have taken.
    overlooked: Vec<Event>,
    order: EventOrder,
    /// Whether output is kept: in `output`, and for [`DapClient::event`]. Off, it is read and forgotten.
    pub keeps_output: bool,
}

impl DapClient {
    /// Starts `tandem-dap` as an editor does.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(name: &'static str, runtime: Runtime, transcript: &Transcript) -> anyhow::Result<Self> {
        Self::start_in(name, runtime.environment().context("no runtime")?, transcript)
    }

    /// As [`start`](Self::start), with these variables in addition to those of the test.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start_in(
        name: &'static str,
        environment: std::collections::HashMap<String, String>,
        transcript: &Transcript,
    ) -> anyhow::Result<Self> {
        Self::start_with(name, &[], environment, transcript)
    }

    /// As [`start_in`](Self::start_in), with flags.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start_with(
        name: &'static str,
        flags: &[&str],
        environment: std::collections::HashMap<String, String>,
        transcript: &Transcript,
    ) -> anyhow::Result<Self> {
        let mut command = tokio::process::Command::new(fixture::binary("tandem-dap"));
        // It builds in the project's own folder: projects of two tests may have the same name.
        command.env_remove("CARGO_TARGET_DIR").args(flags).envs(environment);
        Self::of(name, command, transcript)
    }

    /// Starts this command, which is `tandem-dap` or becomes it.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn of(
        name: &'static str,
        mut command: tokio::process::Command,
        transcript: &Transcript,
    ) -> anyhow::Result<Self> {
        command.kill_on_drop(true);
        fixture::set_path(&mut command);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (stdin, stdout) =
            (child.stdin.take().context("no stdin")?, child.stdout.take().context("no stdout")?);
        Ok(Self::over(name, Box::new(stdout), Box::new(stdin), Some(child), transcript))
    }

    /// Connects to a session's socket.
    ///
    /// # Errors
    /// If no host listens there.
    pub async fn connect(name: &'static str, socket: &Path, transcript: &Transcript) -> anyhow::Result<Self> {
        let (reader, writer) = tokio::net::UnixStream::connect(socket).await?.into_split();
        Ok(Self::over(name, Box::new(reader), Box::new(writer), None, transcript))
    }

    /// Connects to a listener on this machine.
    ///
    /// # Errors
    /// If no host listens there.
    pub async fn connect_tcp(name: &'static str, port: u16, transcript: &Transcript) -> anyhow::Result<Self> {
        let (reader, writer) = tokio::net::TcpStream::connect(("127.0.0.1", port)).await?.into_split();
        Ok(Self::over(name, Box::new(reader), Box::new(writer), None, transcript))
    }

    /// Names of the received messages that no test has claimed yet.
    pub fn unclaimed_messages(&self) -> Vec<String> {
        let name = |message: &Message| match message {
            Message::Event(event) => event.event.clone(),
            Message::Response(response) => response.command.clone(),
            Message::Request(request) => request.command.clone(),
        };
        self.waiting.iter().map(name).collect()
    }

    fn over(
        name: &'static str,
        reader: Box<dyn AsyncRead + Send + Unpin>,
        writer: Box<dyn AsyncWrite + Send + Unpin>,
        child: Option<Child>,
        transcript: &Transcript,
    ) -> Self {
        Self {
            name,
            reader: FramedRead::new(reader, DapCodec::default()),
            writer: FramedWrite::new(writer, DapCodec::default()),
            child,
            seq: 0,
            last_seq: 0,
            waiting: VecDeque::new(),
            transcript: transcript.clone(),
            output: Default::default(),
            keeps_output: true,
            configured: false,
            leaving: false,
            overlooked: Vec::new(),
            order: EventOrder::default(),
        }
    }

    /// Sends a request; returns its number.
    ///
    /// # Errors
    /// When the connection is gone.
    pub async fn send(&mut self, command: &str, arguments: Value) -> anyhow::Result<i64> {
        self.seq += 1;
        if matches!(command, "disconnect" | "terminate") && !std::mem::replace(&mut self.leaving, true) {
            self.overlooked = self.overlooked_messages();
        }
        self.configured |= command == "configurationDone";
        self.transcript.sent(self.name, command, &arguments);
        let arguments = if command == "initialize" { announcing(arguments) } else { arguments };
        let request = Request { seq: self.seq, command: command.into(), arguments };
        self.writer.send(&Message::Request(request)).await?;
        Ok(self.seq)
    }

    /// Sends raw bytes to the adapter.
    ///
    /// # Errors
    /// When the connection is gone.
    pub async fn send_raw(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.writer.get_mut().write_all(bytes).await?;
        Ok(self.writer.get_mut().flush().await?)
    }

    /// Records a message, whether or not the test takes it.
    fn record(&mut self, message: &Message) -> anyhow::Result<()> {
        self.transcript.arrived(self.name, message);
        let Message::Event(event) = message else { return Ok(()) };
        let order = self.order.take(&event.event);
        order.with_context(|| format!("{}; so far:\n{}", self.name, self.transcript.text()))
    }

    /// The next message that fits; others stay for later, in order.
    async fn take(&mut self, what: &str, fits: impl Fn(&Message) -> bool) -> anyhow::Result<Message> {
        if let Some(at) = self.waiting.iter().position(&fits) {
            let found = self.waiting.remove(at).context("a message got lost")?;
            self.transcript.received(self.name, &found);
            return Ok(found);
        }
        loop {
            let next = tokio::time::timeout(deadline(TIMEOUT_SECS), self.reader.next()).await;
            let Ok(next) = next else {
                bail!("{} waits for {what} in vain; so far:\n{}", self.name, self.transcript.text());
            };
            let next =
                next.with_context(|| format!("{} was hung up on while it waits for {what}", self.name))?;
            let message = next?.map_err(|error| anyhow::anyhow!("{error}"))?;
            anyhow::ensure!(
                message.seq() == self.last_seq + 1,
                "{} got seq {} after {}: {message:?}; so far:\n{}",
                self.name,
                message.seq(),
                self.last_seq,
                self.transcript.text()
            );
            self.last_seq = message.seq();
            self.record(&message)?;
            if let Message::Event(Event { event, body, .. }) = &message
                && event == "output"
            {
                if !self.keeps_output {
                    continue;
                }
                let at = match body["category"].as_str() {
                    Some("stdout") => 0,
                    Some("stderr") => 1,
                    _ => 2,
                };
                if let Some(kept) = self.output.get_mut(at) {
                    kept.push_str(body["output"].as_str().unwrap_or_default());
                }
            }
            if fits(&message) {
                self.transcript.received(self.name, &message);
                return Ok(message);
            }
            self.waiting.push_back(message);
        }
    }

    /// The answer to a request.
    ///
    /// # Errors
    /// When it does not come.
    pub async fn response(&mut self, seq: i64) -> anyhow::Result<Response> {
        let fits =
            |message: &Message| matches!(message, Message::Response(response) if response.request_seq == seq);
        match self.take(&format!("the answer to request {seq}"), fits).await? {
            Message::Response(response) => Ok(response),
            _ => bail!("not a response"),
        }
    }

    /// The next answer, to whichever request.
    ///
    /// # Errors
    /// If none arrives before the deadline.
    pub async fn next_response(&mut self) -> anyhow::Result<Response> {
        match self.take("an answer", |message| matches!(message, Message::Response(_))).await? {
            Message::Response(response) => Ok(response),
            _ => bail!("not a response"),
        }
    }

    /// Sends a request and returns its response, even if it failed.
    ///
    /// # Errors
    /// When it does not come.
    pub async fn ask(&mut self, command: &str, arguments: Value) -> anyhow::Result<Response> {
        let seq = self.send(command, arguments).await?;
        self.response(seq).await
    }

    /// Sends a request and returns the body of a success.
    ///
    /// # Errors
    /// If the request fails.
    pub async fn ok(&mut self, command: &str, arguments: Value) -> anyhow::Result<Value> {
        let response = self.ask(command, arguments).await?;
        anyhow::ensure!(response.success, "`{command}` failed: {}", response.body);
        Ok(response.body)
    }

    /// Sends a request and returns the code of a failure.
    ///
    /// # Errors
    /// If the request succeeds.
    pub async fn refused(&mut self, command: &str, arguments: Value) -> anyhow::Result<String> {
        let response = self.ask(command, arguments).await?;
        anyhow::ensure!(!response.success, "`{command}` succeeded: {}", response.body);
        Ok(response.body["error"]["variables"]["code"].as_str().unwrap_or_default().to_owned())
    }

    /// Reads `output` events until the console has this text.
    ///
    /// # Errors
    /// When the text does not come.
    pub async fn wait_for_console(&mut self, text: &str) -> anyhow::Result<()> {
        while !self.output[2].contains(text) {
            self.event("output")
                .await
                .with_context(|| format!("the console has no `{text}`: {:?}", self.output[2]))?;
        }
        Ok(())
    }

    /// The body of the next event of this name.
    ///
    /// # Errors
    /// When it does not come.
    pub async fn event(&mut self, name: &str) -> anyhow::Result<Value> {
        let fits = |message: &Message| matches!(message, Message::Event(event) if event.event == name);
        match self.take(&format!("`{name}`"), fits).await? {
            Message::Event(event) => Ok(event.body),
            _ => bail!("not an event"),
        }
    }

    /// The next stop after another client resumed the program: the body of `stopped`.
    ///
    /// # Errors
    /// When `continued` or `stopped` does not come.
    pub async fn next_stop_of_another(&mut self) -> anyhow::Result<Value> {
        self.event("continued").await?;
        self.event("stopped").await
    }

    /// The next `initialized`, for which a launch or attach with this number waits.
    ///
    /// # Errors
    /// If the launch is refused, or neither arrives before the deadline.
    pub async fn initialized(&mut self, launch: i64) -> anyhow::Result<()> {
        let fits = |message: &Message| match message {
            Message::Event(event) => event.event == "initialized",
            Message::Response(response) => response.request_seq == launch && !response.success,
            Message::Request(_) => false,
        };
        match self.take("`initialized`", fits).await? {
            Message::Response(response) => bail!("`{}` was refused: {}", response.command, response.body),
            _ => Ok(()),
        }
    }

    /// The next event of any of these names: its name and body.
    ///
    /// # Errors
    /// If none arrives before the deadline.
    pub async fn any_event(&mut self, names: &[&str]) -> anyhow::Result<(String, Value)> {
        let fits = |message: &Message| {
            matches!(message,
            Message::Event(event) if names.contains(&event.event.as_str()))
        };
        match self.take(&format!("one of {names:?}"), fits).await? {
            Message::Event(event) => Ok((event.event, event.body)),
            _ => bail!("not an event"),
        }
    }

    /// The arguments of the next reverse request of this name, which is answered with success.
    ///
    /// # Errors
    /// When it does not come.
    pub async fn request(&mut self, command: &str) -> anyhow::Result<Value> {
        self.request_answered(command, Ok(Value::Null)).await
    }

    /// As [`request`](Self::request), answered with this body or this refusal.
    ///
    /// # Errors
    /// When it does not come.
    pub async fn request_answered(
        &mut self,
        command: &str,
        answer: Result<Value, Failure>,
    ) -> anyhow::Result<Value> {
        let fits =
            |message: &Message| matches!(message, Message::Request(request) if request.command == command);
        let Message::Request(request) = self.take(&format!("`{command}`"), fits).await? else {
            bail!("not a request");
        };
        self.seq += 1;
        let mut answer = Response::to(request.seq, command, answer);
        answer.seq = self.seq;
        self.writer.send(&Message::Response(answer)).await?;
        Ok(request.arguments)
    }

    /// The next `breakpoint` event with this reason.
    ///
    /// # Errors
    /// When it does not come.
    pub async fn breakpoint(&mut self, reason: &str) -> anyhow::Result<Value> {
        loop {
            let body = self.event("breakpoint").await?;
            if body["reason"] == reason {
                return Ok(body);
            }
        }
    }

    /// Launches a fixture program with breakpoints at its markers, up to where it runs.
    ///
    /// # Errors
    /// When anything on the way fails.
    pub async fn launch(&mut self, program: &str, markers: &[&str], more: Value) -> anyhow::Result<()> {
        self.ok("initialize", json!({ "clientID": "test", "clientName": self.name, "adapterID": "tandem" }))
            .await?;
        let mut arguments = json!({ "program": fixture::program(program) });
        if let (Some(arguments), Some(more)) = (arguments.as_object_mut(), more.as_object()) {
            arguments.extend(more.clone());
        }
        let launch = self.send("launch", arguments).await?;
        self.initialized(launch).await?;
        if !markers.is_empty() {
            self.break_at(program, markers).await?;
        }
        self.ok("configurationDone", Value::Null).await?;
        let launched = self.response(launch).await?;
        anyhow::ensure!(launched.success, "launch failed: {}", launched.body);
        Ok(())
    }

    /// Joins the session on whose socket it is.
    ///
    /// # Errors
    /// When anything on the way fails.
    pub async fn join(&mut self, initialize: Value) -> anyhow::Result<()> {
        self.ok("initialize", initialize).await?;
        self.ok("attach", json!({})).await?;
        self.event("initialized").await?;
        self.ok("configurationDone", Value::Null).await?;
        Ok(())
    }

    /// Sets this client's breakpoints in a fixture program.
    ///
    /// # Errors
    /// If the request is refused.
    pub async fn break_at(&mut self, program: &str, markers: &[&str]) -> anyhow::Result<Value> {
        let lines: Vec<Value> =
            markers.iter().map(|marker| json!({ "line": fixture::line(program, marker) })).collect();
        self.ok(
            "setBreakpoints",
            json!({ "source": { "path": fixture::source(program) }, "breakpoints": lines }),
        )
        .await
    }

    /// The next stop: its thread, and the name and line of the frame on top.
    ///
    /// # Errors
    /// If the program does not stop before the deadline.
    pub async fn stop(&mut self) -> anyhow::Result<(i64, Value)> {
        let stopped = self.event("stopped").await?;
        let thread = stopped["threadId"].as_i64().context("a stop without a thread")?;
        let stack =
            self.ok("stackTrace", json!({ "threadId": thread, "startFrame": 0, "levels": 1 })).await?;
        Ok((thread, stack["stackFrames"][0].clone()))
    }

    /// The socket of its session, found through `sessionInfo`.
    ///
    /// # Errors
    /// When there is no session.
    pub async fn socket(&mut self) -> anyhow::Result<std::path::PathBuf> {
        let info = self.ok("sessionInfo", json!({})).await?;
        Ok(fixture::session_socket(info["id"].as_str().context("a session without an id")?))
    }
}

/// The `initialize` arguments of every editor, unless the test overrides them.
fn announcing(mut arguments: Value) -> Value {
    if let Some(arguments) = arguments.as_object_mut() {
        for flag in ["supportsVariableType", "supportsVariablePaging", "supportsMemoryReferences"] {
            arguments.entry(flag).or_insert(json!(true));
        }
    }
    arguments
}
