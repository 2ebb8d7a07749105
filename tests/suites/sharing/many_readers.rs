//! Many clients and a program that prints more than they read: every request is answered, in order;
//! each client receives the output or learns how much of it is missing; a client that reads slowly,
//! or never, delays no other.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::deadline::deadline;
use tandem_harness::fixture::Runtime;
use tandem_harness::transcript::Transcript;
use tandem_wire::codec::DapCodec;
use tandem_wire::{Message, Request};
use tokio::net::UnixStream;
use tokio_util::codec::Framed;

const CLIENTS: usize = 64;
/// Output of the program, MiB.
const OUTPUT_MIB: usize = 24;
/// Limit for a hang, s. The results do not depend on it.
const TIMEOUT_SECS: u64 = 60;

dotnet_tests! {
    many_clients_are_answered_in_order_and_learn_what_output_they_missed,
}

/// A client that counts what it receives.
struct CountingClient {
    socket: Framed<UnixStream, DapCodec>,
    seq: i64,
    last: i64,
    shown: usize,
    missed: usize,
    exited: bool,
}

impl CountingClient {
    async fn join(socket: &Path) -> anyhow::Result<Self> {
        let socket = Framed::new(UnixStream::connect(socket).await?, DapCodec::default());
        let mut client = Self { socket, seq: 0, last: 0, shown: 0, missed: 0, exited: false };
        for command in ["initialize", "attach", "configurationDone"] {
            let seq = client.send(command).await?;
            while client.next().await? != Some(seq) {}
        }
        Ok(client)
    }

    async fn send(&mut self, command: &str) -> anyhow::Result<i64> {
        self.seq += 1;
        let arguments = json!({ "clientID": "client" });
        let request = Request { seq: self.seq, command: command.into(), arguments };
        self.socket.send(&Message::Request(request)).await?;
        Ok(self.seq)
    }

    /// Reads a message; returns the request that it answers.
    async fn next(&mut self) -> anyhow::Result<Option<i64>> {
        let next = tokio::time::timeout(deadline(TIMEOUT_SECS), self.socket.next())
            .await
            .context("nothing comes")?;
        let message = next.context("hung up on")??.map_err(|error| anyhow::anyhow!("{error}"))?;
        anyhow::ensure!(message.seq() == self.last + 1, "seq {} after {}", message.seq(), self.last);
        self.last = message.seq();
        match message {
            Message::Response(response) => return Ok(Some(response.request_seq)),
            Message::Event(event) if event.event == "output" => self.printed(&event.body)?,
            Message::Event(event) => self.exited |= event.event == "exited",
            Message::Request(_) => {}
        }
        Ok(None)
    }

    fn printed(&mut self, body: &Value) -> anyhow::Result<()> {
        let text = body["output"].as_str().unwrap_or_default();
        anyhow::ensure!(!self.exited, "output after the end: {text}");
        if body["category"] == "stdout" {
            self.shown += text.len();
        } else if let Some((bytes, _)) =
            text.trim_start_matches('[').split_once(" bytes of stdout were not shown")
        {
            self.missed += bytes.parse::<usize>().with_context(|| text.to_owned())?;
        }
        Ok(())
    }

    /// Repeatedly sends two requests to the engine and one to the hub at once, until the program has ended.
    async fn run(mut self, pause: Duration) -> anyhow::Result<Self> {
        while !self.exited {
            let engine = [self.send("threads").await?, self.send("threads").await?];
            let hub = self.send("sessionInfo").await?;
            let mut answered = Vec::new();
            while answered.len() < 3 {
                answered.extend(self.next().await?);
                tokio::time::sleep(pause).await;
            }
            anyhow::ensure!(answered.contains(&hub), "{answered:?}");
            answered.retain(|seq| *seq != hub);
            anyhow::ensure!(answered == engine, "{answered:?} instead of {engine:?}");
            // A running program is held while its threads are listed.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(self)
    }
}

async fn many_clients_are_answered_in_order_and_learn_what_output_they_missed(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.keeps_output = false;
    editor.launch("flood", &["start"], json!({ "args": [OUTPUT_MIB.to_string()] })).await?;
    let (thread, _) = editor.stop().await?;
    editor.break_at("flood", &[]).await?;
    let socket = editor.socket().await?;
    // One that never reads, and some that read a message now and then.
    let silent = CountingClient::join(&socket).await?;
    let mut clients = Vec::new();
    for number in 0..CLIENTS - 2 {
        let pause = Duration::from_millis(if number < 4 { 10 } else { 0 });
        clients.push(tokio::spawn(CountingClient::join(&socket).await?.run(pause)));
    }
    editor.ok("continue", json!({ "threadId": thread })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 0);
    let printed = OUTPUT_MIB * 1024 * 1024 + "the last line\n".len();
    for client in clients {
        let client = client.await??;
        assert_eq!(client.shown + client.missed, printed, "{} shown", client.shown);
        assert!(client.shown > 64 * 1024);
    }
    drop(silent);
    editor.event("terminated").await?;
    editor.finish().await
}
