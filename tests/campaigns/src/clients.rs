//! Two to eight clients of one session, each a small state machine that joins, sends requests, cancels,
//! disconnects or vanishes as chance has it. A client that stays gets exactly one answer to each request;
//! when the owner disconnects, everything ends.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use fastrand::Rng;
use serde_json::{Value, json};
use tandem_wire::Message;

use super::Options;
use super::session::{AdapterScript, RawConnection};

/// Requests before the session is ended and another begun.
const SESSION_REQUESTS: u64 = 1500;
/// Maximum number of requests of one client in progress before it reads.
const MAX_IN_FLIGHT: usize = 40;

/// A client, and what it waits for.
struct PipeliningClient {
    raw: RawConnection,
    owed: BTreeMap<i64, &'static str>,
}

impl PipeliningClient {
    async fn ask(&mut self, command: &'static str, arguments: Value) -> anyhow::Result<()> {
        let seq = self.raw.send(command, arguments).await?;
        self.owed.insert(seq, command);
        Ok(())
    }

    async fn take(&mut self) -> anyhow::Result<()> {
        let next = self.raw.next().await.with_context(|| format!("these wait: {:?}", self.owed))?;
        if let Message::Response(response) = next {
            let pending = self.owed.remove(&response.request_seq);
            anyhow::ensure!(pending.is_some(), "answered twice, or not requested: {response:?}");
        }
        Ok(())
    }

    /// Reads until at most `left` responses are missing.
    async fn read(&mut self, left: usize) -> anyhow::Result<()> {
        while self.owed.len() > left {
            self.take().await?;
        }
        Ok(())
    }

    async fn join(socket: &Path, shakes_hands: bool) -> anyhow::Result<Self> {
        let mut client = Self { raw: RawConnection::connect(socket).await?, owed: BTreeMap::new() };
        if shakes_hands {
            let commands = ["initialize", "attach", "configurationDone"];
            for command in commands {
                client.ask(command, json!({ "clientID": "campaign" })).await?;
                client.read(0).await?;
            }
        }
        Ok(client)
    }

    /// Its answers come before the connection closes.
    async fn disconnect(mut self) -> anyhow::Result<()> {
        self.ask("disconnect", json!({})).await?;
        self.read(0).await?;
        anyhow::ensure!(self.raw.next().await.is_err(), "a message arrives after the answer to `disconnect`");
        Ok(())
    }
}

/// Runs sessions until so many requests were sent.
///
/// # Errors
/// When a request is not answered once, or something does not end.
pub async fn run(options: Options) -> anyhow::Result<String> {
    let mut random = Rng::with_seed(options.seed);
    let (mut requests_sent, mut sessions, mut joined) = (0, 0, 0);
    while requests_sent < options.count {
        let (requests, clients) = session(&mut random, SESSION_REQUESTS.min(options.count - requests_sent))
            .await
            .with_context(|| format!("in session {sessions}, after {requests_sent} requests"))?;
        (requests_sent, joined, sessions) = (requests_sent + requests, joined + clients, sessions + 1);
    }
    Ok(format!("{requests_sent} requests of {joined} clients in {sessions} sessions, each answered once"))
}

async fn session(random: &mut Rng, requests: u64) -> anyhow::Result<(u64, u64)> {
    let script = AdapterScript::serving()?;
    let mut owner = RawConnection::start()?;
    owner.launch(&script).await?;
    owner.event("stopped", 1).await?;
    let socket = owner.socket().await?;
    let most = random.usize(1..8);
    let mut clients = vec![PipeliningClient { raw: owner, owed: BTreeMap::new() }];
    let mut joined = 1;
    for _ in 0..requests {
        let at = random.usize(0..clients.len());
        match random.u8(0..40) {
            0..=2 if clients.len() <= most => {
                clients.push(PipeliningClient::join(&socket, random.u8(0..8) != 0).await?);
                joined += 1;
            }
            // It disconnects with requests in progress.
            3 if at > 0 => drop(clients.swap_remove(at)),
            4 if at > 0 => clients.swap_remove(at).disconnect().await?,
            _ => {
                if let Some(client) = clients.get_mut(at) {
                    let (command, arguments) = request(random, client.raw.seq);
                    client.ask(command, arguments).await.context("it was hung up on")?;
                    client.read(random.usize(0..MAX_IN_FLIGHT)).await?;
                }
            }
        }
    }
    for client in &mut clients {
        client.read(0).await?;
    }
    let owner = clients.swap_remove(0);
    drop(clients);
    owner.raw.finish().await?;
    Ok((requests, joined))
}

fn request(random: &mut Rng, last: i64) -> (&'static str, Value) {
    let reference = [0, 1, 2, 3, 5, 1000, 1001][random.usize(0..7)];
    let thread = i64::from(random.u8(0..12) == 0) + 1;
    match random.u8(0..20) {
        0 | 1 => ("threads", json!({})),
        2 | 3 => ("stackTrace", json!({ "threadId": thread })),
        4 => ("scopes", json!({ "frameId": reference })),
        5 => ("variables", json!({ "variablesReference": reference })),
        6 | 7 => (
            "evaluate",
            json!({ "expression": "x", "context": (["hover", "repl", "watch"][random.usize(0..3)]) }),
        ),
        8 => (
            "setBreakpoints",
            json!({ "source": { "path": (["/a.src", "/b.src"][random.usize(0..2)]) },
            "breakpoints": [{ "line": random.u8(1..9) }, { "line": random.u8(1..9) }] }),
        ),
        9 => ("continue", json!({ "threadId": thread })),
        10 | 11 => ("next", json!({ "threadId": thread })),
        12 => ("pause", json!({ "threadId": thread })),
        13 => ("cancel", json!({ "requestId": last - i64::from(random.u8(0..5)) })),
        14 => ("sessionInfo", json!({ "subscribe": random.bool() })),
        15 => ("processReadOutput", json!({ "timeoutMs": random.u8(0..20), "waitFor": "never" })),
        16 => ("processWriteInput", json!({ "data": "x" })),
        17 => ("setFunctionBreakpoints", json!({ "breakpoints": [{ "name": "main" }] })),
        18 => ("completions", json!({ "text": "x.", "column": 3 })),
        _ => ("noSuchRequest", json!({})),
    }
}
