//! The cost of sharing a session: latency of a request, fan-out of an event, joining. Prints the table of
//! `docs/sharing.md`.
//!
//! `cargo build --workspace --release && target/release/bench_hub`. All times are what a client sees on its
//! socket, so they include the kernel's part and the client's own, and bound from above what the hub adds.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::Runtime;
use tandem_harness::transcript::Transcript;
use tandem_wire::codec::DapCodec;
use tandem_wire::{Message, Request};
use tokio::net::UnixStream;
use tokio_util::codec::Framed;

/// A client without a notebook: [`DapClient`] writes a transcript, which takes longer than the hub does.
struct RawClient {
    socket: Framed<UnixStream, DapCodec>,
    seq: i64,
}

impl RawClient {
    async fn connect(socket: &Path) -> anyhow::Result<Self> {
        Ok(Self { socket: Framed::new(UnixStream::connect(socket).await?, DapCodec::default()), seq: 0 })
    }

    async fn send(&mut self, command: &str, arguments: Value) -> anyhow::Result<()> {
        self.seq += 1;
        let request = Request { seq: self.seq, command: command.into(), arguments };
        Ok(self.socket.send(&Message::Request(request)).await?)
    }

    /// Reads until a message fits.
    async fn until(&mut self, fits: impl Fn(&Message) -> bool) -> anyhow::Result<Message> {
        loop {
            let next = self.socket.next().await.context("hung up on")?;
            if let Ok(message) = next.map_err(|error| anyhow::anyhow!("{error}"))?
                && fits(&message)
            {
                return Ok(message);
            }
        }
    }

    async fn ask(&mut self, command: &str, arguments: Value) -> anyhow::Result<()> {
        self.send(command, arguments).await?;
        let seq = self.seq;
        let answer = self.until(|message| matches!(message, Message::Response(it) if it.request_seq == seq));
        match answer.await? {
            Message::Response(response) if response.success => Ok(()),
            other => anyhow::bail!("`{command}` failed: {other:?}"),
        }
    }

    async fn event(&mut self, name: &str) -> anyhow::Result<()> {
        self.until(|message| matches!(message, Message::Event(event) if event.event == name)).await.map(drop)
    }

    /// Joins a stopped session, up to where it knows of the stop.
    async fn join(socket: &Path) -> anyhow::Result<Self> {
        let mut client = Self::connect(socket).await?;
        client.ask("initialize", json!({ "clientID": "bench" })).await?;
        client.ask("attach", json!({})).await?;
        client.event("initialized").await?;
        client.ask("configurationDone", json!({})).await?;
        client.event("stopped").await?;
        Ok(client)
    }
}

fn shown(mut times: Vec<Duration>) -> String {
    times.sort();
    let at = |share: f64| times.get(((times.len() - 1) as f64 * share) as usize).copied().unwrap_or_default();
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    format!("{:.3} ms | {:.3} ms | {:.3} ms", ms(at(0.5)), ms(at(0.99)), ms(at(1.0)))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", Runtime::Net9, &Transcript::default())?;
    editor.launch("tour", &["loop"], json!({})).await?;
    editor.ok("processWriteInput", json!({ "data": "bob\n" })).await?;
    editor.stop().await?;
    let socket = editor.socket().await?;
    eprintln!("| what | median | 99 % | worst |");
    eprintln!("|---|---|---|---|");

    let mut joins = Vec::new();
    for _ in 0..200 {
        let start = Instant::now();
        let client = RawClient::join(&socket).await?;
        joins.push(start.elapsed());
        drop(client);
    }
    eprintln!("| join a stopped session: connect to `stopped` | {} |", shown(joins));

    let mut eight = Vec::new();
    for _ in 0..8 {
        eight.push(RawClient::join(&socket).await?);
    }
    let mut latencies = Vec::new();
    for round in 0..4000 {
        let client = eight.get_mut(round % 8).context("no client")?;
        let start = Instant::now();
        client.ask("cancel", json!({})).await?;
        latencies.push(start.elapsed());
    }
    eprintln!("| a request the hub answers, 8 clients in turn | {} |", shown(latencies));
    let mut latencies = Vec::new();
    for _ in 0..500 {
        let start = Instant::now();
        for client in &mut eight {
            client.send("cancel", json!({})).await?;
        }
        for client in &mut eight {
            let seq = client.seq;
            client.until(|message| matches!(message, Message::Response(it) if it.request_seq == seq)).await?;
        }
        latencies.push(start.elapsed() / 8);
    }
    eprintln!("| the same, 8 clients at once, per request | {} |", shown(latencies));
    drop(eight);

    let mut many = Vec::new();
    for _ in 0..64 {
        let mut client = RawClient::join(&socket).await?;
        client.ask("sessionInfo", json!({ "subscribe": true })).await?;
        many.push(client);
    }
    let mut latencies = Vec::new();
    for round in 0..400 {
        let access = if round % 2 == 0 { "readOnly" } else { "full" };
        let start = Instant::now();
        editor.send("sessionControl", json!({ "agentAccess": access })).await?;
        for client in &mut many {
            client.event("sessionChanged").await?;
        }
        latencies.push(start.elapsed());
    }
    eprintln!("| an event to 64 clients: from its cause to the last one | {} |", shown(latencies));
    drop(many);
    editor.finish().await
}
