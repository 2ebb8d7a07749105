//! Sends frames to `tandem-dap` and lines to `tandem-mcp`, most of them damaged. Each request with a readable
//! number is answered exactly once, and the sessions continue to the end.

use std::collections::BTreeMap;
use std::process::Stdio;

use anyhow::{Context, bail};
use fastrand::Rng;
use serde_json::{Value, json};
use tandem_wire::Message;
use tokio::io::{AsyncBufReadExt, AsyncWrite, AsyncWriteExt, BufReader};

use super::session::{AdapterScript, RawConnection, TIMEOUT_SECS};
use super::{Options, junk};
use tandem_harness::deadline::deadline;
use tandem_harness::fixture;

/// Requests under way at once; fewer than a client may have.
const MAX_IN_FLIGHT: usize = 256;
/// Number of frames after which a separate connection is broken on purpose.
const BREAK_EVERY: u64 = 2000;

const COMMANDS: [&str; 27] = [
    "threads",
    "stackTrace",
    "scopes",
    "variables",
    "evaluate",
    "setVariable",
    "setExpression",
    "completions",
    "source",
    "setBreakpoints",
    "setFunctionBreakpoints",
    "setExceptionBreakpoints",
    "setDataBreakpoints",
    "next",
    "continue",
    "pause",
    "cancel",
    "sessionInfo",
    "sessionControl",
    "processReadInput",
    "processReadOutput",
    "processWriteInput",
    "configurationDone",
    "modules",
    "readMemory",
    "gotoTargets",
    "noSuchCommand",
];

/// Requests that wait for answers, and the answers received.
#[derive(Default)]
struct PendingResponses {
    /// The bytes that were sent, by number.
    waiting: BTreeMap<i64, Vec<u8>>,
    answered: u64,
    unasked: u64,
}

impl PendingResponses {
    fn answered(&mut self, number: i64) -> anyhow::Result<()> {
        if self.waiting.remove(&number).is_some() {
            self.answered += 1;
        } else if number == 0 {
            // An answer to a message without a number.
            self.unasked += 1;
        } else {
            bail!("request {number} was answered twice, or not asked");
        }
        Ok(())
    }

    /// The oldest unanswered request, for the error message.
    fn first(&self) -> String {
        let first = self.waiting.first_key_value();
        first.map(|(number, bytes)| format!("{number}: {}", bytes.escape_ascii())).unwrap_or_default()
    }
}

/// Frames to a host in the middle of a session.
///
/// # Errors
/// When a request is not answered once, or the session does not live.
pub async fn dap(options: Options) -> anyhow::Result<String> {
    let mut random = Rng::with_seed(options.seed);
    let script = AdapterScript::serving()?;
    let mut editor = RawConnection::start()?;
    editor.launch(&script).await?;
    editor.event("stopped", 1).await?;
    let socket = editor.socket().await?;
    let (mut owed, mut broken, mut bytes) = (PendingResponses::default(), 0, 0);
    for number in 1..=options.count {
        editor.seq += 1;
        let body = frame(&mut random, editor.seq);
        let header = header(&mut random, body.len());
        bytes += body.len();
        owed.waiting.insert(editor.seq, body.clone());
        write_in_pieces(&mut random, &mut editor.writer, &[&header[..], &body].concat()).await?;
        if number % MAX_IN_FLIGHT as u64 == 0 {
            cancel(&mut editor, &mut owed, 1).await?;
        }
        while owed.waiting.len() >= MAX_IN_FLIGHT {
            take(&mut editor, &mut owed).await?;
        }
        if number % BREAK_EVERY == 0 {
            let mut other = RawConnection::connect(&socket).await?;
            let what = [
                &b"GET / HTTP/1.1\r\n\r\n"[..],
                b"Content-Length: 99999999999\r\n\r\n",
                b"Nothing: 1\r\n\r\n",
            ];
            let what = what.get(random.usize(0..what.len())).copied().unwrap_or_default();
            other.writer.write_all(what).await?;
            anyhow::ensure!(other.next().await.is_err(), "a broken frame is answered");
            broken += 1;
        }
    }
    cancel(&mut editor, &mut owed, MAX_IN_FLIGHT).await?;
    while !owed.waiting.is_empty() {
        take(&mut editor, &mut owed).await?;
    }
    editor.ok("sessionInfo", json!({})).await.context("the session does not live")?;
    editor.finish().await?;
    Ok(format!(
        "{} frames ({} MiB): {} answered once, {} without a number refused; {broken} connections broken",
        options.count,
        bytes >> 20,
        owed.answered,
        owed.unasked
    ))
}

/// Cancels the oldest requests: some wait as long as their `timeoutMs` says, which is up to a day.
async fn cancel(
    editor: &mut RawConnection,
    owed: &mut PendingResponses,
    oldest: usize,
) -> anyhow::Result<()> {
    let waiting: Vec<i64> = owed.waiting.keys().take(oldest).copied().collect();
    for request in waiting {
        let arguments = json!({ "requestId": request });
        let seq = editor.send("cancel", arguments.clone()).await?;
        owed.waiting.insert(seq, format!("cancel {arguments}").into_bytes());
    }
    Ok(())
}

async fn take(editor: &mut RawConnection, owed: &mut PendingResponses) -> anyhow::Result<()> {
    let left = owed.waiting.len();
    match editor
        .next()
        .await
        .with_context(|| format!("{left} requests wait, the first is {}", owed.first()))?
    {
        Message::Response(response) => owed.answered(response.request_seq),
        _ => Ok(()),
    }
}

/// A request with a readable number, followed by arbitrary bytes.
fn frame(random: &mut Rng, seq: i64) -> Vec<u8> {
    let prefix = format!(r#"{{"seq":{seq},"type":"request","#);
    let command = COMMANDS.get(random.usize(0..COMMANDS.len())).copied().unwrap_or_default();
    let arguments = if random.u8(0..10) == 0 { junk::value(random, 0) } else { junk::object(random, 0) };
    let mut body = format!(r#"{prefix}"command":"{command}","arguments":{arguments}}}"#).into_bytes();
    if random.u8(0..3) == 0 {
        junk::damage(random, &mut body, prefix.len());
    }
    body
}

fn header(random: &mut Rng, length: usize) -> Vec<u8> {
    match random.u8(0..6) {
        0 => format!("content-length:{length}\r\n\r\n"),
        1 => format!("X-Other: 1\r\nContent-Length: {length}\r\n\r\n"),
        2 => format!("\r\nCONTENT-LENGTH:   {length}  \r\nContent-Type: x\r\n\r\n"),
        _ => format!("Content-Length: {length}\r\n\r\n"),
    }
    .into_bytes()
}

async fn write_in_pieces(
    random: &mut Rng,
    writer: &mut (impl AsyncWrite + Unpin),
    mut bytes: &[u8],
) -> anyhow::Result<()> {
    while random.u8(0..4) == 0 && bytes.len() > 1 {
        let (piece, rest) = bytes.split_at(random.usize(1..bytes.len()));
        writer.write_all(piece).await?;
        writer.flush().await?;
        tokio::task::yield_now().await;
        bytes = rest;
    }
    writer.write_all(bytes).await?;
    Ok(writer.flush().await?)
}

/// Lines to a bridge with an empty root.
///
/// # Errors
/// When a request is not answered once, or the bridge does not live.
pub async fn mcp(options: Options) -> anyhow::Result<String> {
    let mut random = Rng::with_seed(options.seed);
    let folder = tempfile::tempdir()?;
    let mut command = tokio::process::Command::new(fixture::binary("tandem-mcp"));
    command.args(["--log-level", "off"]).current_dir(folder.path()).kill_on_drop(true);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut to = child.stdin.take().context("no stdin")?;
    let mut lines = BufReader::new(child.stdout.take().context("no stdout")?).lines();
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "campaign",
            "version": "1" } } });
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    to.write_all(format!("{hello}\n").as_bytes()).await?;
    let mut owed = PendingResponses::default();
    owed.waiting.insert(1, hello.to_string().into_bytes());
    let mut next = async |owed: &mut PendingResponses| -> anyhow::Result<()> {
        let line = tokio::time::timeout(deadline(TIMEOUT_SECS), lines.next_line()).await;
        let line = line.with_context(|| {
            format!("nothing comes; {} wait, the first is {}", owed.waiting.len(), owed.first())
        })??;
        let message: Value = serde_json::from_str(&line.context("tandem-mcp has ended")?)?;
        match (message.get("method"), &message["id"]) {
            (Some(_), _) => Ok(()),
            (None, Value::Null) => owed.answered(0),
            (None, id) => owed.answered(id.as_i64().with_context(|| format!("an odd number: {message}"))?),
        }
    };
    next(&mut owed).await?;
    to.write_all(format!("{ready}\n").as_bytes()).await?;
    for id in 2..options.count as i64 + 2 {
        let line = line(&mut random, id);
        to.write_all(&line).await?;
        owed.waiting.insert(id, line);
        while owed.waiting.len() >= MAX_IN_FLIGHT / 8 {
            next(&mut owed).await?;
        }
    }
    while !owed.waiting.is_empty() {
        next(&mut owed).await?;
    }
    drop(to);
    let status = tokio::time::timeout(deadline(TIMEOUT_SECS), child.wait())
        .await
        .context("tandem-mcp does not end")??;
    anyhow::ensure!(status.success(), "tandem-mcp ended with {status}");
    Ok(format!(
        "{} lines: {} answered once, {} without a number refused",
        options.count, owed.answered, owed.unasked
    ))
}

/// A request with a readable number, followed by arbitrary bytes.
fn line(random: &mut Rng, id: i64) -> Vec<u8> {
    const METHODS: [&str; 8] = [
        "tools/call",
        "tools/call",
        "tools/call",
        "resources/read",
        "prompts/get",
        "ping",
        "completion/complete",
        "no/such",
    ];
    const TOOLS: [&str; 10] = [
        "debug_status",
        "debug_threads",
        "debug_evaluate",
        "file_exists",
        "read_file",
        "list_directory",
        "git_status",
        "process_read_output",
        "debug_variables",
        "no_such_tool",
    ];
    let prefix = format!(r#"{{"jsonrpc":"2.0","id":{id},"#);
    let method = METHODS.get(random.usize(0..METHODS.len())).copied().unwrap_or_default();
    let params = match (method, random.u8(0..8)) {
        (_, 0) => junk::value(random, 0),
        ("tools/call", _) => {
            let tool = TOOLS.get(random.usize(0..TOOLS.len())).copied().unwrap_or_default();
            let arguments =
                if random.u8(0..8) == 0 { junk::value(random, 1) } else { junk::object(random, 1) };
            format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#)
        }
        _ => junk::object(random, 1),
    };
    let mut text = format!(r#"{prefix}"method":"{method}","params":{params}}}"#).into_bytes();
    if random.u8(0..3) == 0 {
        junk::damage(random, &mut text, prefix.len());
        // On a separate line: text after a line break would be another message.
        text.retain(|byte| *byte != b'\n');
    }
    text.push(b'\n');
    text
}
