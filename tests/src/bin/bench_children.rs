//! The speed of child adapters through Tandem beside the same adapters alone, in one run; medians. Build with `--release`.
//!
//! Prints Markdown on stdout; with arguments, only the languages they name. Not a test: machines differ.

use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use dap_wire::peer::{Incoming, Peer};
use serde_json::{Value, json};
use tests::child::{self, Subject};
use tests::fixture;
use tokio::process::{Child, Command};
use tokio::sync::mpsc;

const ROUNDS: usize = 60;
const LIMIT: Duration = Duration::from_secs(30);

/// One language: the program that counts, and the adapter alone.
struct Case {
    name: &'static str,
    subject: Subject,
    source: &'static str,
    adapter: Vec<String>,
    launch: Value,
}

#[tokio::main(flavor = "current_thread")]
#[allow(clippy::print_stdout, reason = "the table is what the program is for")]
async fn main() -> anyhow::Result<()> {
    println!("| what, median of {ROUNDS} | adapter alone | through Tandem | difference |\n|---|---|---|---|");
    for case in cases()? {
        if std::env::args().len() > 1 && !std::env::args().skip(1).any(|argument| argument == case.name) {
            continue;
        }
        let mut tandem = case.subject.launch();
        tandem["program"] = case.launch["program"].clone();
        let own = vec![fixture::binary("tandem-dap").display().to_string()];
        let alone = measure(&case, &case.adapter, case.launch.clone()).await.context(case.name)?;
        let through = measure(&case, &own, tandem).await.context(case.name)?;
        for ((what, alone), (_, through)) in alone.iter().zip(&through) {
            let (one, other) = (alone.as_secs_f64() * 1e3, through.as_secs_f64() * 1e3);
            println!("| {}: {what} | {one:.2} ms | {other:.2} ms | {:+.2} ms |", case.name, other - one);
        }
    }
    Ok(())
}

fn cases() -> anyhow::Result<Vec<Case>> {
    let python = child::python("count.py")["python"].as_str().context("no Python")?.to_owned();
    let echo = Subject::Lldb.launch()["program"].as_str().context("no program")?.to_owned();
    let native = echo.strip_suffix("echo").context("no program")?.to_owned() + "count";
    let path =
        |engine: Subject| engine.launch()["enginePath"].as_str().map(str::to_owned).context("no adapter");
    let script = child::source("count.sh");
    Ok(vec![
        Case {
            name: "python",
            subject: Subject::Python,
            source: "count.py",
            adapter: vec![python.clone(), "-m".into(), "debugpy.adapter".into()],
            launch: json!({ "program": child::source("count.py"), "console": "integratedTerminal", "python": [python],
                "redirectOutput": false }),
        },
        Case {
            name: "lldb",
            subject: Subject::Lldb,
            source: "count.c",
            adapter: vec![path(Subject::Lldb)?],
            launch: json!({ "program": native, "runInTerminal": true }),
        },
        Case {
            name: "gdb",
            subject: Subject::Gdb,
            source: "count.c",
            adapter: vec![path(Subject::Gdb)?, "-q".into(), "-nx".into(), "-i".into(), "dap".into()],
            launch: json!({ "program": native }),
        },
        Case {
            name: "bash",
            subject: Subject::Bash,
            source: "count.sh",
            adapter: vec![path(Subject::Bash)?, "-m".into(), "bash_dap".into()],
            launch: json!({ "program": script, "console": "integratedTerminal" }),
        },
    ])
}

/// A client of an adapter, or of Tandem.
struct Driver {
    peer: Peer,
    incoming: mpsc::UnboundedReceiver<Incoming>,
    programs: Vec<Child>,
    _adapter: Child,
}

impl Driver {
    fn start(command: &[String]) -> anyhow::Result<Self> {
        let (program, args) = command.split_first().context("no command")?;
        let mut command = Command::new(program);
        command
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        let mut adapter = command.spawn()?;
        let (stdin, stdout) =
            (adapter.stdin.take().context("no stdin")?, adapter.stdout.take().context("no stdout")?);
        let (peer, incoming) = Peer::start(stdout, stdin);
        Ok(Self { peer, incoming, programs: Vec::new(), _adapter: adapter })
    }

    async fn ask(&self, command: &str, arguments: Value) -> anyhow::Result<Value> {
        self.peer.request(command, arguments, LIMIT).await.with_context(|| command.to_owned())
    }

    /// Waits for an event; starts the program when it is asked to.
    async fn event(&mut self, name: &str) -> anyhow::Result<Value> {
        loop {
            match tokio::time::timeout(LIMIT, self.incoming.recv()).await?.context("hung up")? {
                Incoming::Event(event) if event.event == name => return Ok(event.body),
                Incoming::Event(event) if event.event == "terminated" => bail!("terminated before `{name}`"),
                Incoming::Event(_) => {}
                Incoming::Request(request) => {
                    let words: Vec<&str> = request.arguments["args"]
                        .as_array()
                        .into_iter()
                        .flatten()
                        .filter_map(Value::as_str)
                        .collect();
                    let (program, args) = words.split_first().context("nothing to run")?;
                    let mut command = Command::new(program);
                    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).kill_on_drop(true);
                    for (name, value) in request.arguments["env"].as_object().into_iter().flatten() {
                        command.env(name, value.as_str().unwrap_or_default());
                    }
                    let child = command.spawn()?;
                    self.peer.answer(&request, Ok(json!({ "processId": child.id() })));
                    self.programs.push(child);
                }
            }
        }
    }

    /// Everything an editor asks for at a stop.
    async fn look(&self, thread: &Value) -> anyhow::Result<()> {
        self.ask("threads", Value::Null).await?;
        let stack =
            self.ask("stackTrace", json!({ "threadId": thread, "startFrame": 0, "levels": 20 })).await?;
        let scopes = self.ask("scopes", json!({ "frameId": stack["stackFrames"][0]["id"] })).await?;
        let locals = scopes["scopes"][0]["variablesReference"].clone();
        self.ask("variables", json!({ "variablesReference": locals })).await?;
        Ok(())
    }
}

fn median(mut values: Vec<Duration>) -> Duration {
    values.sort();
    values.get(values.len() / 2).copied().unwrap_or_default()
}

async fn measure(
    case: &Case,
    command: &[String],
    launch: Value,
) -> anyhow::Result<Vec<(&'static str, Duration)>> {
    let source = child::source(case.source);
    let mut driver = Driver::start(command)?;
    let hello = json!({ "clientID": "bench", "adapterID": "bench", "linesStartAt1": true, "columnsStartAt1": true,
        "pathFormat": "path", "supportsRunInTerminalRequest": true, "supportsVariableType": true });
    driver.ask("initialize", hello).await?;
    let launching = tokio::spawn({
        let peer = driver.peer.clone();
        async move { peer.request("launch", launch, LIMIT).await }
    });
    driver.event("initialized").await?;
    let lines = json!([{ "line": child::line(&source, "count") }]);
    driver.ask("setBreakpoints", json!({ "source": { "path": source }, "breakpoints": lines })).await?;
    driver.ask("configurationDone", json!({})).await?;
    let stopped = driver.event("stopped").await?;
    launching.await??;
    driver.ask("setBreakpoints", json!({ "source": { "path": source }, "breakpoints": [] })).await?;
    let thread = stopped["threadId"].clone();
    let (mut steps, mut threads, mut ready) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let start = Instant::now();
        driver.ask("next", json!({ "threadId": thread })).await?;
        driver.event("stopped").await?;
        steps.push(start.elapsed());
        let start = Instant::now();
        driver.ask("threads", Value::Null).await?;
        threads.push(start.elapsed());
        let start = Instant::now();
        driver.ask("next", json!({ "threadId": thread })).await?;
        driver.event("stopped").await?;
        driver.look(&thread).await?;
        ready.push(start.elapsed());
    }
    drop(driver.ask("disconnect", json!({ "terminateDebuggee": true })).await);
    Ok(vec![
        ("`next` until stopped", median(steps)),
        ("`threads`", median(threads)),
        ("`next`, then all an editor asks", median(ready)),
    ])
}
