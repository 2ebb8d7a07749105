//! Misbehaving adapters: storms of events, noise where messages belong, half a message and then silence
//! or an end, a message that is announced too large, a stderr that never stops, responses to requests
//! that were never sent. The editor that reads gets its answers, and when it disconnects everything ends.

use anyhow::Context;
use fastrand::Rng;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Options;
use super::session::{AdapterScript, RawConnection, TIMEOUT_SECS};
use tandem_harness::deadline::deadline;

/// The number of events in one storm.
const STORM_EVENTS: u64 = 200_000;
/// Memory that a host may use in a storm, KiB: clients and queues are bounded.
const MAX_MEMORY: u64 = 400 * 1024;

type Plan = fn(&mut Rng) -> (&'static str, Vec<Value>);

const PLANS: [Plan; 7] = [storm, noise, half_then_silence, half_then_end, giant, words, unasked];

/// Plays so many rounds, one kind after the other.
///
/// # Errors
/// When an editor is not answered, or something does not end or takes too much memory.
pub async fn run(options: Options) -> anyhow::Result<String> {
    let mut random = Rng::with_seed(options.seed);
    let (mut events, mut peak, mut dropped) = (0, 0, 0);
    for round in 0..options.count {
        let plan = PLANS.get(round as usize % PLANS.len()).context("no plan")?;
        let (name, steps) = plan(&mut random);
        let outcome = run_script(name, &steps).await.with_context(|| format!("round {round}: {name}"))?;
        (events, peak) = (events + outcome.events, peak.max(outcome.peak));
        dropped += u64::from(!outcome.answered);
    }
    Ok(format!(
        "{} rounds: {events} events told, {dropped} sessions ended with the reason, at most {} MiB in a host",
        options.count,
        peak >> 10
    ))
}

struct ScriptOutcome {
    events: u64,
    /// The host's peak memory, in KiB.
    peak: u64,
    answered: bool,
}

async fn run_script(name: &str, steps: &[Value]) -> anyhow::Result<ScriptOutcome> {
    let script = AdapterScript::new(steps)?;
    let mut editor = RawConnection::start()?;
    editor.launch(&script).await?;
    let host = editor.host()?;
    if name == "storm" {
        editor.event("odd", STORM_EVENTS).await.context("events of the storm are missing")?;
    }
    // The request is answered in every case: with the adapter's response, or with the
    // reason why there is none.
    let answer = editor.ask("threads", json!({})).await?;
    if !answer.success {
        let events = answer.body["error"]["variables"]["message"].as_str().unwrap_or_default();
        anyhow::ensure!(!events.is_empty(), "refused without a reason");
    }
    let status = std::fs::read_to_string(format!("/proc/{host}/status")).unwrap_or_default();
    let peak =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
    let peak: u64 = peak.unwrap_or(0);
    anyhow::ensure!(peak < MAX_MEMORY, "the host took {peak} KiB");
    let events = editor.events.values().sum();
    let until = Instant::now() + deadline(TIMEOUT_SECS);
    editor.finish().await?;
    anyhow::ensure!(Instant::now() < until, "it took too long to end");
    Ok(ScriptOutcome { events, peak, answered: answer.success })
}

fn storm(_: &mut Rng) -> (&'static str, Vec<Value>) {
    let body = json!({ "text": "what an adapter says" });
    let storm = json!({ "do": "storm", "count": STORM_EVENTS, "event": "odd", "body": body });
    ("storm", vec![storm, json!({ "do": "serve" })])
}

fn noise(random: &mut Rng) -> (&'static str, Vec<Value>) {
    let bytes: Vec<u8> = (0..random.usize(9000..30_000)).map(|_| random.u8(..)).collect();
    ("noise", vec![json!({ "do": "bytes", "bytes": bytes }), json!({ "do": "hang" })])
}

fn partial_message(random: &mut Rng) -> Value {
    let whole = r#"{"seq":1,"type":"event","event":"odd","body":{"text":"half of it"}}"#;
    let text = format!("Content-Length: {}\r\n\r\n{whole}", whole.len());
    let cut = text.get(..random.usize(1..text.len())).unwrap_or_default();
    json!({ "do": "raw", "text": cut })
}

fn half_then_silence(random: &mut Rng) -> (&'static str, Vec<Value>) {
    // The client's own deadline is too long for this test, so the script ends after the request.
    let arguments = json!({ "dir": "out", "m": { "type": "request", "command": "threads", "seq": 9 } });
    (
        "half a message, then the end",
        vec![partial_message(random), arguments, json!({ "do": "exit", "code": 3 })],
    )
}

fn half_then_end(random: &mut Rng) -> (&'static str, Vec<Value>) {
    ("half a message at the end", vec![partial_message(random), json!({ "do": "exit", "code": 0 })])
}

fn giant(_: &mut Rng) -> (&'static str, Vec<Value>) {
    let announced = json!({ "do": "raw", "text": "Content-Length: 99999999999\r\n\r\n" });
    ("a giant", vec![announced, json!({ "do": "hang" })])
}

fn words(_: &mut Rng) -> (&'static str, Vec<Value>) {
    ("words on stderr", vec![json!({ "do": "words", "count": 200_000 }), json!({ "do": "serve" })])
}

fn unasked(random: &mut Rng) -> (&'static str, Vec<Value>) {
    let mut steps: Vec<Value> = (0..2000)
        .map(|_| {
            let unreadable = if random.bool() { json!({}) } else { json!([random.i32(..)]) };
            json!({ "dir": "in", "m": { "type": "response", "seq": 1,
                "request_seq": random.i64(10_000..i64::MAX),
                "success": random.bool(), "command": "threads", "body": unreadable } })
        })
        .collect();
    steps.push(json!({ "do": "serve" }));
    ("answers without requests", steps)
}
