//! The effect of a client that never reads and of a program that floods its output on other clients. 64
//! clients share one session, and the program prints as fast as it can. Measured is how long clients wait for
//! their answers: one editor among clients that only read, or all of them. Each client is a separate process,
//! so that no measurement waits for another. Prints the rows of `docs/sharing.md`.
//!
//! `cargo build --workspace --release && target/release/bench_clients [CLIENTS]`.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::Runtime;
use tandem_harness::transcript::Transcript;

const CLIENTS: usize = 64;

/// One measurement: which clients send which request while the program prints how much.
struct LoadRound {
    command: &'static str,
    /// Whether all clients send requests, or one does while the others only read.
    all: bool,
    /// MiB that the program prints.
    flood: &'static str,
}

const ROUNDS: [LoadRound; 5] = [
    LoadRound { command: "sessionInfo", all: false, flood: "1500" },
    LoadRound { command: "threads", all: false, flood: "1500" },
    LoadRound { command: "sessionInfo", all: true, flood: "1" },
    LoadRound { command: "sessionInfo", all: true, flood: "300" },
    LoadRound { command: "threads", all: true, flood: "300" },
];
/// Between two requests of a client: an editor sends requests in bursts, but not without end.
const PAUSE: Duration = Duration::from_millis(20);

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["client", socket, command, offset] => client(
            Path::new(socket),
            command,
            Duration::from_micros(offset.parse().context("OFFSET is a number")?),
        ),
        ["reader", socket] => reader(Path::new(socket)),
        [] => measure(CLIENTS),
        [count] => measure(count.parse().context("CLIENTS is a number")?),
        _ => anyhow::bail!("usage: bench_clients [CLIENTS]"),
    }
}

/// A client that knows of DAP what it needs to measure: it does not parse the flood.
struct TimedClient {
    socket: UnixStream,
    reader: BufReader<UnixStream>,
    seq: u64,
}

impl TimedClient {
    fn connect(socket: &Path) -> anyhow::Result<Self> {
        let socket = UnixStream::connect(socket)?;
        let reader = BufReader::with_capacity(256 * 1024, socket.try_clone()?);
        Ok(Self { socket, reader, seq: 0 })
    }

    fn send(&mut self, command: &str, arguments: &Value) -> anyhow::Result<()> {
        self.seq += 1;
        let body = json!({ "seq": self.seq, "type": "request", "command": command, "arguments": arguments })
            .to_string();
        Ok(write!(self.socket, "Content-Length: {}\r\n\r\n{body}", body.len())?)
    }

    /// Reads until a message begins with its type and has this in it; the answer to our request, or an event.
    fn until(&mut self, kind: &str, part: &str) -> anyhow::Result<()> {
        loop {
            let mut length = 0;
            loop {
                let mut line = String::new();
                anyhow::ensure!(self.reader.read_line(&mut line)? > 0, "hung up on");
                match line.trim().strip_prefix("Content-Length:") {
                    Some(count) => length = count.trim().parse()?,
                    None if line.trim().is_empty() => break,
                    None => {}
                }
            }
            let mut body = vec![0; length];
            self.reader.read_exact(&mut body)?;
            let head = String::from_utf8_lossy(body.get(..body.len().min(160)).unwrap_or_default());
            if head.contains(kind) && head.contains(part) {
                return Ok(());
            }
        }
    }

    fn ask(&mut self, command: &str, arguments: &Value) -> anyhow::Result<()> {
        self.send(command, arguments)?;
        let part = format!("\"request_seq\":{},", self.seq);
        self.until("\"type\":\"response\"", &part)
    }

    fn join(&mut self) -> anyhow::Result<()> {
        self.ask("initialize", &json!({ "clientID": "bench" }))?;
        self.ask("attach", &json!({}))?;
        self.until("\"type\":\"event\"", "\"event\":\"initialized\"")?;
        self.ask("configurationDone", &json!({}))
    }
}

/// Sends this request until the program has ended, the first time after `offset`; prints how long each answer
/// took, in microseconds.
fn client(socket: &Path, command: &str, offset: Duration) -> anyhow::Result<()> {
    let mut client = TimedClient::connect(socket)?;
    client.join()?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "ready")?;
    // The parent process sends a line to start.
    std::io::stdin().read_line(&mut String::new())?;
    let end = Instant::now() + Duration::from_secs(120);
    std::thread::sleep(offset);
    let mut stdin = std::io::stdin();
    let (done, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        stdin.read_exact(&mut [0]).unwrap_or_default();
        done.send(()).unwrap_or_default();
    });
    while ended.try_recv().is_err() && Instant::now() < end {
        let start = Instant::now();
        client.ask(command, &json!({}))?;
        writeln!(stdout, "{}", start.elapsed().as_micros())?;
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

/// Reads all messages until the program has ended.
fn reader(socket: &Path) -> anyhow::Result<()> {
    let mut client = TimedClient::connect(socket)?;
    client.join()?;
    writeln!(std::io::stdout(), "ready")?;
    client.until("\"type\":\"event\"", "\"event\":\"exited\"")
}

#[tokio::main(flavor = "current_thread")]
async fn measure(count: usize) -> anyhow::Result<()> {
    eprintln!("| what | median | 99 % | worst |");
    eprintln!("|---|---|---|---|");
    for round in ROUNDS {
        let (mut times, printed) = round.run(count).await?;
        times.sort_unstable();
        let at =
            |share: f64| times.get(((times.len() - 1) as f64 * share) as usize).copied().unwrap_or_default();
        let ms = |micros: u64| format!("{:.2} ms", micros as f64 / 1000.0);
        let who = if round.all { "all but two ask" } else { "one asks, the others read" };
        eprintln!(
            "| `{}`, {count} clients, {who}, one never reads, while the program prints {} MiB ({} answers \
                in {:.1} s) | {} | {} | {} |",
            round.command,
            round.flood,
            times.len(),
            printed.as_secs_f64(),
            ms(at(0.5)),
            ms(at(0.99)),
            ms(at(1.0))
        );
    }
    Ok(())
}

impl LoadRound {
    /// Latencies in microseconds, and how long it took until the editor knew that the program had ended.
    async fn run(&self, count: usize) -> anyhow::Result<(Vec<u64>, Duration)> {
        let mut editor = DapClient::start("editor", Runtime::Net9, &Transcript::default())?;
        editor.keeps_output = false;
        editor.launch("flood", &["start"], json!({ "args": [self.flood] })).await?;
        let (thread, _) = editor.stop().await?;
        editor.break_at("flood", &[]).await?;
        let socket = editor.socket().await?;
        let mut silent = TimedClient::connect(&socket)?;
        silent.join()?;
        let others = count.saturating_sub(2);
        let asking = if self.all { others } else { 1 };
        // Clients that ask at the same instant on two cores measure how those share them out, not the
        // session.
        let offset = |index: usize| (PAUSE.as_micros() as usize * index / asking).to_string();
        let mut clients = start_clients(asking, &socket, |index| {
            vec!["client".into(), self.command.into(), offset(index)]
        })?;
        let readers = start_clients(others - asking, &socket, |_| vec!["reader".into()])?;
        editor.ok("continue", json!({ "threadId": thread })).await?;
        for child in &mut clients {
            child.stdin.as_mut().context("no stdin")?.write_all(b"go\n")?;
        }
        let start = Instant::now();
        editor.event("exited").await?;
        let printed = start.elapsed();
        let mut times = Vec::new();
        for mut child in clients {
            drop(child.stdin.take());
            let mut text = String::new();
            child.stdout.take().context("no stdout")?.read_to_string(&mut text)?;
            times.extend(text.lines().filter_map(|line| line.parse::<u64>().ok()));
            anyhow::ensure!(child.wait()?.success(), "a client failed");
        }
        for mut child in readers {
            anyhow::ensure!(child.wait()?.success(), "a reader failed");
        }
        drop(silent);
        editor.finish().await?;
        Ok((times, printed))
    }
}

/// Starts clients in the role of their index. Arguments: the role's name, the socket, then those of the role.
fn start_clients(
    count: usize,
    socket: &Path,
    role: impl Fn(usize) -> Vec<String>,
) -> anyhow::Result<Vec<std::process::Child>> {
    let own = std::env::current_exe()?;
    let mut clients = Vec::new();
    for index in 0..count {
        let mut command = Command::new(&own);
        let role = role(index);
        let (kind, rest) = role.split_first().context("no role")?;
        command.arg(kind).arg(socket).args(rest).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        // It prints a line when it has joined; the rest of its output is read at the end.
        let mut ready = [0; 6];
        child.stdout.as_mut().context("no stdout")?.read_exact(&mut ready)?;
        clients.push(child);
    }
    Ok(clients)
}
