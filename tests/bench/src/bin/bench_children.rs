//! The speed of child adapters through Tandem beside the same adapters alone. Build with `--release`.
//!
//! All are at the same stop of the same program at once and take turns, so that a busy machine is busy for
//! each alike. Prints Markdown on stdout: the median, and the median of what it took longer than the adapter
//! alone in the same turn; then the same of the fastest tenth, which is what remains where other work does
//! not disturb. An argument with a slash is another build of `tandem-dap` to take part; `busy` keeps all
//! cores at work at the same time; others name the languages to do. Not a test: machines differ.

use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::{Value, json};
use tandem_harness::child::{self, Subject};
use tandem_harness::fixture;
use tandem_wire::peer::{Incoming, Peer};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;

const ROUNDS: usize = 200;
const TIMEOUT: Duration = Duration::from_secs(30);

/// One language: the program that counts, and the adapter alone.
struct LanguageCase {
    name: &'static str,
    subject: Subject,
    source: &'static str,
    adapter: Vec<String>,
    launch: Value,
}

/// The participants: the adapter alone comes first.
struct MeasuredClient {
    name: String,
    driver: Driver,
    thread: Value,
    /// One value per turn for each measurement, milliseconds.
    took: [Vec<f64>; 3],
}

const MEASURED: [&str; 3] = ["`next` until stopped", "`threads`", "`next`, then all an editor asks"];

#[tokio::main(flavor = "current_thread")]
#[allow(clippy::print_stdout, reason = "the table is what the program is for")]
async fn main() -> anyhow::Result<()> {
    let (builds, mut languages): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument.contains('/'));
    if languages.iter().any(|argument| argument == "busy") {
        languages.retain(|argument| argument != "busy");
        for _ in 0..std::thread::available_parallelism()?.get() {
            // They end with the process.
            std::thread::spawn(|| {
                loop {
                    std::hint::spin_loop();
                }
            });
        }
    }
    println!(
        "| what, median of {ROUNDS} | who | took | longer than alone | fastest tenth | longer |\n\
            |---|---|---|---|---|---|"
    );
    let mut chance = fastrand::Rng::with_seed(1);
    for case in cases()? {
        if !languages.is_empty() && !languages.iter().any(|language| language == case.name) {
            continue;
        }
        let mut tandem = case.subject.launch();
        tandem["program"] = case.launch["program"].clone();
        let own = fixture::binary("tandem-dap").display().to_string();
        let mut clients = vec![start(&case, "adapter alone", &case.adapter, &case.launch).await?];
        for build in std::iter::once(&own).chain(&builds) {
            let name = if *build == own { "through Tandem" } else { build };
            clients.push(start(&case, name, std::slice::from_ref(build), &tandem).await?);
        }
        for _ in 0..ROUNDS {
            // No participant is always first, or always after the same one, whose adapter may still be at
            // work.
            let mut order: Vec<usize> = (0..clients.len()).collect();
            chance.shuffle(&mut order);
            for at in order {
                let client = clients.get_mut(at).context("nobody")?;
                client.measure_once().await.context(case.name)?;
            }
        }
        for (at, what) in MEASURED.iter().enumerate() {
            let took = |client: &MeasuredClient| client.took.get(at).cloned().unwrap_or_default();
            let alone = clients.first().map(took).unwrap_or_default();
            for client in &clients {
                let took = took(client);
                let pairs: Vec<f64> = took.iter().zip(&alone).map(|(one, other)| one - other).collect();
                println!(
                    "| {}: {what} | {} | {:.2} ms | {:+.2} ms | {:.2} ms | {:+.2} ms |",
                    case.name,
                    client.name,
                    percentile(&took, 0.5),
                    percentile(&pairs, 0.5),
                    percentile(&took, 0.1),
                    percentile(&took, 0.1) - percentile(&alone, 0.1),
                );
            }
        }
        for client in clients {
            // It is killed next, if need be.
            drop(client.driver.ask("disconnect", json!({ "terminateDebuggee": true })).await);
        }
    }
    Ok(())
}

fn cases() -> anyhow::Result<Vec<LanguageCase>> {
    let python = child::python("count.py")["python"].as_str().context("no Python")?.to_owned();
    let echo = Subject::Lldb.launch()["program"].as_str().context("no program")?.to_owned();
    let native = echo.strip_suffix("echo").context("no program")?.to_owned() + "count";
    let path =
        |engine: Subject| engine.launch()["enginePath"].as_str().map(str::to_owned).context("no adapter");
    let script = child::source("count.sh");
    Ok(vec![
        LanguageCase {
            name: "python",
            subject: Subject::Python,
            source: "count.py",
            adapter: vec![python.clone(), "-m".into(), "debugpy.adapter".into()],
            launch: json!({ "program": child::source("count.py"), "console": "integratedTerminal",
                "python": [python],
                "redirectOutput": false }),
        },
        LanguageCase {
            name: "lldb",
            subject: Subject::Lldb,
            source: "count.c",
            adapter: vec![path(Subject::Lldb)?],
            launch: json!({ "program": native, "runInTerminal": true }),
        },
        LanguageCase {
            name: "gdb",
            subject: Subject::Gdb,
            source: "count.c",
            adapter: vec![path(Subject::Gdb)?, "-q".into(), "-nx".into(), "-i".into(), "dap".into()],
            launch: json!({ "program": native }),
        },
        LanguageCase {
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
        self.peer.request(command, arguments, TIMEOUT).await.with_context(|| command.to_owned())
    }

    /// Waits for an event; answers a `runInTerminal` request by starting the program.
    async fn event(&mut self, name: &str) -> anyhow::Result<Value> {
        loop {
            match tokio::time::timeout(TIMEOUT, self.incoming.recv()).await?.context("hung up")? {
                Incoming::Event(event) if event.event == name => return Ok(event.body),
                Incoming::Event(event) if event.event == "terminated" => bail!("terminated before `{name}`"),
                Incoming::Event(_) | Incoming::Response(_) => {}
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
                    self.peer.respond(&request, Ok(json!({ "processId": child.id() })));
                    self.programs.push(child);
                }
            }
        }
    }

    /// Everything that an editor requests at a stop.
    async fn inspect_stop(&self, thread: &Value) -> anyhow::Result<()> {
        self.ask("threads", Value::Null).await?;
        let stack =
            self.ask("stackTrace", json!({ "threadId": thread, "startFrame": 0, "levels": 20 })).await?;
        let scopes = self.ask("scopes", json!({ "frameId": stack["stackFrames"][0]["id"] })).await?;
        let locals = scopes["scopes"][0]["variablesReference"].clone();
        self.ask("variables", json!({ "variablesReference": locals })).await?;
        Ok(())
    }
}

fn millis_since(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

/// The value below which this part of the others lies.
fn percentile(values: &[f64], part: f64) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank among a few hundred")]
    let at = (values.len() as f64 * part) as usize;
    values.get(at).copied().unwrap_or_default()
}

/// Up to the first stop, without a breakpoint left.
async fn start(
    case: &LanguageCase,
    name: &str,
    command: &[String],
    launch: &Value,
) -> anyhow::Result<MeasuredClient> {
    let source = child::source(case.source);
    let mut driver = Driver::start(command)?;
    let hello = json!({ "clientID": "bench", "adapterID": "bench", "linesStartAt1": true,
        "columnsStartAt1": true,
        "pathFormat": "path", "supportsRunInTerminalRequest": true, "supportsVariableType": true });
    driver.ask("initialize", hello).await?;
    let launching = tokio::spawn({
        let (peer, launch) = (driver.peer.clone(), launch.clone());
        async move { peer.request("launch", launch, TIMEOUT).await }
    });
    driver.event("initialized").await?;
    let lines = json!([{ "line": child::line(&source, "count") }]);
    driver.ask("setBreakpoints", json!({ "source": { "path": source }, "breakpoints": lines })).await?;
    driver.ask("configurationDone", json!({})).await?;
    let stopped = driver.event("stopped").await.with_context(|| format!("{}, {name}", case.name))?;
    launching.await??;
    driver.ask("setBreakpoints", json!({ "source": { "path": source }, "breakpoints": [] })).await?;
    Ok(MeasuredClient {
        name: name.to_owned(),
        driver,
        thread: stopped["threadId"].clone(),
        took: Default::default(),
    })
}

impl MeasuredClient {
    async fn measure_once(&mut self) -> anyhow::Result<()> {
        let (driver, thread) = (&mut self.driver, &self.thread);
        let [steps, threads, ready] = &mut self.took;
        let start = Instant::now();
        driver.ask("next", json!({ "threadId": thread })).await?;
        driver.event("stopped").await?;
        steps.push(millis_since(start));
        let start = Instant::now();
        driver.ask("threads", Value::Null).await?;
        threads.push(millis_since(start));
        let start = Instant::now();
        driver.ask("next", json!({ "threadId": thread })).await?;
        driver.event("stopped").await?;
        driver.inspect_stop(thread).await?;
        ready.push(millis_since(start));
        Ok(())
    }
}
