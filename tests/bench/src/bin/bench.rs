//! The speed table: each figure beside what it is compared with, in one run; medians. Build with `--release`.
//!
//! Prints Markdown on stdout; with arguments, only the groups they name (`launch step breakpoint exceptions
//! inspect open output memory`). Not a test: machines differ, so nothing here passes or fails.

use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::Context;
use clr_metadata::image::PeImage;
use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;
use tokio::io::AsyncReadExt;

const LAUNCHES: usize = 11;
const STEPS: usize = 60;
const FLOODS: usize = 5;
const FLOOD: &str = "400";

type Rows = Vec<(&'static str, String)>;

#[tokio::main(flavor = "current_thread")]
#[allow(clippy::print_stdout, reason = "the table is what the program is for")]
async fn main() -> anyhow::Result<()> {
    let all = [(Runtime::Net31, ".NET Core 3.1"), (Runtime::Net9, ".NET 9"), (Runtime::Net10, ".NET 10")];
    let (mut heads, mut columns) = (Vec::new(), Vec::new());
    // .NET 10 is the user's own, where there is one.
    for (runtime, name) in all.into_iter().filter(|(runtime, _)| runtime.dotnet().is_some()) {
        heads.push(name);
        columns.push(measure(runtime).await?);
    }
    println!("| what | {} |\n|---|{}", heads.join(" | "), "---|".repeat(heads.len()));
    for (at, (what, _)) in columns.first().into_iter().flatten().enumerate() {
        let figures = columns.iter().filter_map(|rows| Some(rows.get(at)?.1.as_str()));
        println!("| {what} | {} |", figures.collect::<Vec<_>>().join(" | "));
    }
    Ok(())
}

/// Whether the arguments select this group of rows.
fn is_selected(group: &str) -> bool {
    std::env::args().len() == 1 || std::env::args().skip(1).any(|argument| argument == group)
}

fn median(mut values: Vec<Duration>) -> Duration {
    values.sort();
    values.get(values.len() / 2).copied().unwrap_or_default()
}

fn ms(value: Duration) -> String {
    format!("{:.2} ms", value.as_secs_f64() * 1e3)
}

async fn measure(runtime: Runtime) -> anyhow::Result<Rows> {
    let mut rows = Rows::new();
    if is_selected("launch") {
        launches(runtime, &mut rows).await?;
    }
    if is_selected("step") {
        let (step, _) = measure_baseline(runtime).await?;
        rows.push((
            "the baseline: one step of the runtime's debugging library, nothing looked at, median of 200",
            ms(step),
        ));
        rows.push(("one step, DAP client, median of 60", ms(dap_step(runtime).await?)));
        let step = mcp_step(runtime).await?;
        rows.push(("one step, MCP client (with place and source line), median of 60", ms(step)));
    }
    if is_selected("breakpoint") {
        let (_, stop) = measure_baseline(runtime).await?;
        let most = 1.0 / stop.as_secs_f64();
        rows.push(("the baseline: breakpoint hits per second, resumed immediately", format!("{most:.0}")));
        let rate = conditional_hits(runtime).await?;
        rows.push(("breakpoint hits per second whose condition is false", format!("{rate:.0}")));
    }
    if is_selected("exceptions") {
        exceptions(runtime, &mut rows).await?;
    }
    if is_selected("inspect") {
        let mut taken = Vec::new();
        for _ in 0..5 {
            taken.push(members(runtime).await?);
        }
        rows.push(("`variables` of an object with 100 members, median of 5", ms(median(taken))));
        rows.push(("a page of 100 of an `int[]`, median of 20", ms(measure_page(runtime).await?)));
        let mut taken = Vec::new();
        for _ in 0..5 {
            taken.push(inspect(runtime).await?);
        }
        rows.push(("stack, scopes and 16 variables of a fresh stop, median of 5", ms(median(taken))));
    }
    if is_selected("open") {
        rows.push(("open `System.Private.CoreLib` (methods), median of 11", open_largest_module(runtime)?));
    }
    if is_selected("output") {
        measure_floods(runtime, &mut rows).await?;
    }
    if is_selected("memory") {
        let held = memory(runtime).await?;
        rows.push(("resident memory of the host at a stop: all, of it mscordbi and DAC", held));
    }
    Ok(rows)
}

async fn launches(runtime: Runtime, rows: &mut Rows) -> anyhow::Result<()> {
    let (mut plain, mut stops, mut starts) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..LAUNCHES {
        starts.push(initialized(runtime).await?);
        plain.push(plain_start(runtime).await?);
        stops.push(first_stop(runtime).await?);
    }
    rows.push(("plain `dotnet tour.dll` to its first output, median of 11", ms(median(plain))));
    rows.push(("start of the adapter to `initialize` answered, median of 11", ms(median(starts))));
    rows.push(("launch to the first stop at `Main`'s first line, as the client sees it", ms(median(stops))));
    Ok(())
}

/// The cost of an exception that no filter stops at, as the program itself measures it.
async fn exceptions(runtime: Runtime, rows: &mut Rows) -> anyhow::Result<()> {
    for (what, way) in [
        (
            "an exception thrown and caught in user code; without a debugger, with one that stops at none; \
                mean of 1,000",
            "own",
        ),
        ("the same beneath 100 frames", "deep"),
        ("the same where the framework throws and catches by itself", "theirs"),
    ] {
        let arguments = [way, "1000"];
        let alone = dotnet(runtime, "catches", &arguments)?.output().await?;
        let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
        editor.launch("catches", &[], json!({ "args": arguments })).await?;
        editor.event("stopped").await?;
        let stdout = editor.output[0].clone();
        editor.finish().await?;
        let mean = |output: &str| {
            let taken = output.lines().nth(1).context("the program measured nothing")?.parse::<f64>()?;
            anyhow::Ok(ms(Duration::from_secs_f64(taken / 1e6)))
        };
        rows.push((what, format!("{}, {}", mean(&String::from_utf8_lossy(&alone.stdout))?, mean(&stdout)?)));
    }
    Ok(())
}

async fn measure_floods(runtime: Runtime, rows: &mut Rows) -> anyhow::Result<()> {
    let (mut cat, mut alone, mut read) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..FLOODS {
        cat.push(drained_by_cat(runtime).await?);
        alone.push(measure_output(runtime, false).await?);
        read.push(measure_output(runtime, true).await?);
    }
    let rate = |times: Vec<Duration>| {
        let rate = FLOOD.parse::<f64>().unwrap_or(0.0) / median(times).as_secs_f64();
        format!("{rate:.0} MiB/s")
    };
    rows.push(("`flood` through `cat > /dev/null`, median of 5", rate(cat)));
    rows.push(("`flood` drained by the host, no output read", rate(alone)));
    rows.push(("`flood` drained by the host, one client reading output", rate(read)));
    Ok(())
}

fn dotnet(runtime: Runtime, program: &str, arguments: &[&str]) -> anyhow::Result<tokio::process::Command> {
    let mut command = tokio::process::Command::new(runtime.dotnet().context("no dotnet")?);
    command.arg(fixture::program(program)).args(arguments).envs(runtime.environment().context("no runtime")?);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    Ok(command)
}

async fn plain_start(runtime: Runtime) -> anyhow::Result<Duration> {
    let start = Instant::now();
    let mut child = dotnet(runtime, "tour", &[])?.spawn()?;
    let mut first = [0u8; 1];
    child.stdout.as_mut().context("no stdout")?.read_exact(&mut first).await?;
    let taken = start.elapsed();
    child.kill().await?;
    Ok(taken)
}

async fn first_stop(runtime: Runtime) -> anyhow::Result<Duration> {
    let start = Instant::now();
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("tour", &["main"], json!({})).await?;
    editor.event("stopped").await?;
    let taken = start.elapsed();
    editor.finish().await?;
    Ok(taken)
}

async fn stop_in_loop(runtime: Runtime) -> anyhow::Result<(DapClient, i64)> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("spin", &["beat"], json!({})).await?;
    let thread = editor.event("stopped").await?["threadId"].as_i64().context("no thread")?;
    Ok((editor, thread))
}

async fn dap_step(runtime: Runtime) -> anyhow::Result<Duration> {
    let mut taken = Vec::new();
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("tour", &["loop"], json!({})).await?;
    editor.ok("processWriteInput", json!({ "data": "bob\n" })).await?;
    let mut thread = editor.event("stopped").await?["threadId"].clone();
    editor.break_at("tour", &[]).await?;
    for round in 0..STEPS {
        if round % 8 == 0 && round > 0 {
            editor.finish().await?;
            editor = DapClient::start("editor", runtime, &Transcript::default())?;
            editor.launch("tour", &["loop"], json!({})).await?;
            editor.ok("processWriteInput", json!({ "data": "bob\n" })).await?;
            thread = editor.event("stopped").await?["threadId"].clone();
            editor.break_at("tour", &[]).await?;
        }
        let start = Instant::now();
        editor.ok("next", json!({ "threadId": thread })).await?;
        editor.event("stopped").await?;
        taken.push(start.elapsed());
    }
    editor.finish().await?;
    Ok(median(taken))
}

/// The time that the debugging library itself takes for a step and for a stop at a breakpoint; a
/// separate program measures it.
async fn measure_baseline(runtime: Runtime) -> anyhow::Result<(Duration, Duration)> {
    let mut program = dotnet(runtime, "spin", &[])?.spawn()?;
    let mut first = [0u8; 1];
    program.stdout.as_mut().context("no stdout")?.read_exact(&mut first).await?;
    let line = fixture::line("spin", "spin").to_string();
    let pid = program.id().context("no pid")?.to_string();
    let output = tokio::process::Command::new(fixture::binary("bench_baseline"))
        .args([pid.as_str(), &fixture::source("spin"), &line])
        .kill_on_drop(true)
        .output()
        .await?;
    program.kill().await?;
    let problem = String::from_utf8_lossy(&output.stderr).into_owned();
    anyhow::ensure!(output.status.success(), "`bench_baseline` failed: {problem}");
    let text = String::from_utf8(output.stdout)?;
    let mut micros = text.split_whitespace().map(|number| number.parse().map(Duration::from_micros));
    let mut next = || anyhow::Ok(micros.next().context("a figure is missing")??);
    Ok((next()?, next()?))
}

async fn mcp_step(runtime: Runtime) -> anyhow::Result<Duration> {
    let mut taken = Vec::new();
    let mut agent = Agent::start("agent", runtime, &Transcript::default()).await?;
    while taken.len() < STEPS {
        agent.call("debug_launch", json!({ "program": fixture::program("tour") })).await?;
        let at = json!({ "file": fixture::source("tour"), "line": fixture::line("tour", "loop") });
        let set = agent.call("debug_set_breakpoint", at).await?;
        agent.call("process_write_input", json!({ "data": "bob\n" })).await?;
        agent.call("debug_continue", json!({})).await?;
        agent.call("debug_wait", json!({})).await?;
        agent.call("debug_remove_breakpoint", json!({ "id": set["id"] })).await?;
        for _ in 0..8 {
            let start = Instant::now();
            let answer = agent.call("debug_step_over", json!({})).await?;
            anyhow::ensure!(answer["state"] == "stopped", "{answer}");
            taken.push(start.elapsed());
        }
        agent.call("debug_disconnect", json!({})).await?;
    }
    agent.finish().await?;
    Ok(median(taken))
}

/// Number of times per second that a loop passes a breakpoint whose condition never holds.
async fn conditional_hits(runtime: Runtime) -> anyhow::Result<f64> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.keeps_output = false;
    editor.launch("spin", &["beat"], json!({})).await?;
    let thread = editor.event("stopped").await?["threadId"].clone();
    let line = fixture::line("spin", "spin");
    let request = json!({ "source": { "path": fixture::source("spin") },
        "breakpoints": [{ "line": line, "condition": "rounds < 0" }] });
    editor.ok("setBreakpoints", request).await?;
    let (mut counted, mut since) = (Vec::new(), Instant::now());
    for _ in 0..3 {
        // Alone with its thread: what the others do is not counted.
        let arguments = json!({ "expression": "Program.rounds" });
        let body = editor.ok("evaluate", arguments).await?;
        counted.push((body["result"].as_str().context("no count")?.parse::<f64>()?, since.elapsed()));
        editor.ok("continue", json!({ "threadId": thread })).await?;
        since = Instant::now();
        tokio::time::sleep(Duration::from_secs(2)).await;
        editor.ok("pause", json!({ "threadId": thread })).await?;
        editor.event("stopped").await?;
    }
    editor.finish().await?;
    let rates = counted.windows(2).filter_map(|pair| match pair {
        [(before, _), (after, taken)] => Some((after - before) / taken.as_secs_f64()),
        _ => None,
    });
    rates.reduce(f64::max).context("nothing was counted")
}

/// A page of 100 fields, as a client requests it when it expands the row.
async fn members(runtime: Runtime) -> anyhow::Result<Duration> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("values", &["objects"], json!({})).await?;
    let (_, frame) = editor.stop().await?;
    let arguments = json!({ "expression": "big", "frameId": frame["id"] });
    let reference = editor.ok("evaluate", arguments).await?["variablesReference"].clone();
    let start = Instant::now();
    let rows = editor.ok("variables", json!({ "variablesReference": reference })).await?;
    let taken = start.elapsed();
    anyhow::ensure!(rows["variables"].as_array().is_some_and(|rows| rows.len() >= 100), "{rows}");
    editor.finish().await?;
    Ok(taken)
}

/// A page of 100 items of an array, another one each time.
async fn measure_page(runtime: Runtime) -> anyhow::Result<Duration> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("giants", &["here"], json!({})).await?;
    let (_, frame) = editor.stop().await?;
    let arguments = json!({ "expression": "array", "frameId": frame["id"] });
    let reference = editor.ok("evaluate", arguments).await?["variablesReference"].clone();
    let mut taken = Vec::new();
    for round in 1..=20 {
        let arguments = json!({ "variablesReference": reference, "filter": "indexed", "start": round * 1000,
            "count": 100 });
        let start = Instant::now();
        let rows = editor.ok("variables", arguments).await?;
        taken.push(start.elapsed());
        anyhow::ensure!(rows["variables"].as_array().is_some_and(|rows| rows.len() == 100), "{rows}");
    }
    editor.finish().await?;
    Ok(median(taken))
}

/// Time from the start of the adapter to its response to `initialize`.
async fn initialized(runtime: Runtime) -> anyhow::Result<Duration> {
    let start = Instant::now();
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.ok("initialize", json!({ "adapterID": "tandem" })).await?;
    let taken = start.elapsed();
    editor.finish().await?;
    Ok(taken)
}

async fn inspect(runtime: Runtime) -> anyhow::Result<Duration> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("tour", &["loop"], json!({})).await?;
    editor.ok("processWriteInput", json!({ "data": "bob\n" })).await?;
    let thread = editor.event("stopped").await?["threadId"].clone();
    let start = Instant::now();
    let stack = editor.ok("stackTrace", json!({ "threadId": thread })).await?;
    let scopes = editor.ok("scopes", json!({ "frameId": stack["stackFrames"][0]["id"] })).await?;
    let reference = &scopes["scopes"][0]["variablesReference"];
    editor.ok("variables", json!({ "variablesReference": reference })).await?;
    let taken = start.elapsed();
    editor.finish().await?;
    Ok(taken)
}

/// The largest module that every program loads, with its metadata read; and how many methods it has.
fn open_largest_module(runtime: Runtime) -> anyhow::Result<String> {
    let dotnet = runtime.dotnet().context("no dotnet")?;
    let frameworks = dotnet.parent().context("no folder")?.join("shared/Microsoft.NETCore.App");
    let version = std::fs::read_dir(&frameworks)?.next().context("no runtime")??.path();
    let (mut taken, mut methods) = (Vec::new(), 0);
    for _ in 0..LAUNCHES {
        let start = Instant::now();
        let image = PeImage::open(&version.join("System.Private.CoreLib.dll"))?;
        taken.push(start.elapsed());
        methods = image.metadata.all_methods().count();
    }
    Ok(format!("{} ({methods})", ms(median(taken))))
}

async fn drained_by_cat(runtime: Runtime) -> anyhow::Result<Duration> {
    let mut command = dotnet(runtime, "flood", &[FLOOD])?;
    let start = Instant::now();
    let mut child = command.spawn()?;
    let stdout: Stdio = child.stdout.take().context("no stdout")?.try_into()?;
    let mut cat = tokio::process::Command::new("cat").stdin(stdout).stdout(Stdio::null()).spawn()?;
    cat.wait().await?;
    child.wait().await?;
    Ok(start.elapsed())
}

async fn measure_output(runtime: Runtime, reading: bool) -> anyhow::Result<Duration> {
    let start = Instant::now();
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.keeps_output = false;
    editor.launch("flood", &[], json!({ "args": [FLOOD] })).await?;
    if reading {
        editor.event("exited").await?;
    } else {
        // The end shows in the program's own exit: the client's connection is not read in between.
        let process = editor.event("process").await?["systemProcessId"].clone();
        while is_alive(&process) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    let taken = start.elapsed();
    if !reading {
        editor.event("exited").await?;
    }
    editor.finish().await?;
    Ok(taken)
}

fn is_alive(pid: &Value) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.rsplit(')').next().is_some_and(|rest| rest.trim().starts_with('Z'))
}

async fn memory(runtime: Runtime) -> anyhow::Result<String> {
    let (mut editor, _) = stop_in_loop(runtime).await?;
    let pid = editor.event("process").await?["systemProcessId"].clone();
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let host =
        stat.rsplit(')').next().and_then(|rest| rest.split_ascii_whitespace().nth(1)).context("no parent")?;
    let (mut all, mut theirs, mut current) = (0u64, 0u64, false);
    for line in std::fs::read_to_string(format!("/proc/{host}/smaps"))?.lines() {
        if let Some(kib) = line.strip_prefix("Rss:") {
            let kib: u64 = kib.trim().trim_end_matches(" kB").parse()?;
            all += kib;
            theirs += if current { kib } else { 0 };
        } else if line.split_ascii_whitespace().next().is_some_and(|range| range.contains('-')) {
            current = line.contains("libmscord");
        }
    }
    editor.finish().await?;
    Ok(format!("{:.1} MiB, {:.1} MiB", all as f64 / 1024.0, theirs as f64 / 1024.0))
}
