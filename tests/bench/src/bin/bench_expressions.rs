//! The cost of C# expressions. The first argument names the `tandem-dap` of another build: both are measured
//! in turn, in one run. Further arguments choose runtimes (`net31 net9 net10`). Build with `--release`.
//!
//! Prints Markdown on stdout. Not a test: machines differ, so nothing here passes or fails.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::compiled::modern;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const ROUNDS: usize = 3;

const CONDITIONS: [&str; 2] = ["rounds < 0", "stop || rounds % 2 == 3 && rounds.ToString() != null"];

const WATCHES: [&str; 10] = [
    "one + two",
    "text.Length",
    "list[1]",
    "dog.Friend.Name",
    "ages[\"ann\"]",
    "point.Sum",
    "array.Length > 2",
    "names.Count",
    "people[0].age",
    "box.Pair().count",
];

/// The figures of one build, a list for each row.
type Figures = Vec<Vec<f64>>;

#[tokio::main(flavor = "current_thread")]
#[allow(clippy::print_stdout, reason = "the table is what the program is for")]
async fn main() -> anyhow::Result<()> {
    let other = std::env::args_os().nth(1).map(PathBuf::from);
    let builds: Vec<PathBuf> = std::iter::once(fixture::binary("tandem-dap")).chain(other).collect();
    println!("| what | this build | the other |\n|---|---|---|");
    for (runtime, name) in
        [(Runtime::Net31, ".NET Core 3.1"), (Runtime::Net9, ".NET 9"), (Runtime::Net10, ".NET 10")]
    {
        let is_chosen = std::env::args().len() < 3 || std::env::args().any(|name| name == runtime.name());
        if runtime.dotnet().is_none() || !is_chosen {
            continue;
        }
        let baseline = measure_baseline(runtime).await?;
        println!(
            "| {name}: the baseline, breakpoint hits per second, resumed immediately | {baseline:.0} \
             | {baseline:.0} |"
        );
        for condition in CONDITIONS {
            let figures =
                measure_builds(&builds, async |build| Ok(vec![hits(build, runtime, condition).await?]))
                    .await?;
            row(&format!("{name}: false conditions per second, `{condition}`"), "", &figures, 0);
        }
        let figures =
            measure_builds(&builds, async |build| Ok(vec![measure_watches(build, runtime).await?])).await?;
        row(&format!("{name}: ten watches at one stop"), " ms", &figures, 0);
        if runtime == Runtime::Net10 {
            let figures = measure_builds(&builds, async |build| compiled(build, runtime).await).await?;
            for (at, what) in [
                "first compiled expression, compiler not started",
                "`Where(…).Sum(…)` over 10,000 elements, the first time",
                "the same later",
                "another expression that is compiled",
            ]
            .into_iter()
            .enumerate()
            {
                row(&format!("{name}: {what}"), " ms", &figures, at);
            }
        }
    }
    Ok(())
}

/// Measures the builds in turn; a build that cannot do something has no figures.
async fn measure_builds(
    builds: &[PathBuf],
    measure: impl AsyncFn(&Path) -> anyhow::Result<Vec<f64>>,
) -> anyhow::Result<Vec<Figures>> {
    let mut all = vec![Figures::new(); builds.len()];
    for _ in 0..ROUNDS {
        for (build, figures) in builds.iter().zip(&mut all) {
            for (at, figure) in measure(build).await?.into_iter().enumerate() {
                figures.resize_with(figures.len().max(at + 1), Vec::new);
                figures[at].push(figure);
            }
        }
    }
    Ok(all)
}

#[allow(clippy::print_stdout, reason = "the table is what the program is for")]
fn row(what: &str, unit: &str, builds: &[Figures], at: usize) {
    let median = |figures: &Figures| {
        let mut figures = figures.get(at)?.clone();
        figures.sort_by(f64::total_cmp);
        figures.get(figures.len() / 2).copied()
    };
    let shown = |figures: &Figures| match median(figures) {
        Some(figure) if figure.is_nan() => "–".to_owned(),
        Some(figure) if unit.is_empty() => format!("{figure:.0}"),
        Some(figure) => format!("{figure:.2}{unit}"),
        None => "–".to_owned(),
    };
    println!("| {what} | {} |", builds.iter().map(shown).collect::<Vec<_>>().join(" | "));
}

fn start_editor(build: &Path, runtime: Runtime) -> anyhow::Result<DapClient> {
    let mut command = tokio::process::Command::new(build);
    command.envs(runtime.environment().context("no runtime")?);
    DapClient::of("editor", command, &Transcript::default())
}

fn milliseconds(taken: Duration) -> f64 {
    taken.as_secs_f64() * 1e3
}

/// Number of times per second that the debugging library alone reports a breakpoint and resumes.
async fn measure_baseline(runtime: Runtime) -> anyhow::Result<f64> {
    let mut program = tokio::process::Command::new(runtime.dotnet().context("no runtime")?)
        .arg(fixture::program("spin"))
        .envs(runtime.environment().context("no runtime")?)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let mut out = program.stdout.take().context("no output")?;
    let mut first = [0];
    out.read_exact(&mut first).await?;
    tokio::spawn(async move { tokio::io::copy(&mut out, &mut tokio::io::sink()).await });
    let pid = program.id().context("no pid")?.to_string();
    let line = fixture::line("spin", "spin").to_string();
    let output = tokio::process::Command::new(fixture::binary("bench_baseline"))
        .args([pid.as_str(), &fixture::source("spin"), &line])
        .kill_on_drop(true)
        .output()
        .await?;
    if let Some(stdin) = &mut program.stdin {
        stdin.shutdown().await?;
    }
    program.kill().await?;
    let problem = String::from_utf8_lossy(&output.stderr).into_owned();
    anyhow::ensure!(output.status.success(), "`bench_baseline` failed: {problem}");
    let text = String::from_utf8(output.stdout)?;
    let micros: f64 = text.split_whitespace().nth(1).context("a figure is missing")?.parse()?;
    Ok(1e6 / micros)
}

/// Number of times per second that a loop passes a breakpoint whose condition never holds.
async fn hits(build: &Path, runtime: Runtime, condition: &str) -> anyhow::Result<f64> {
    let mut editor = start_editor(build, runtime)?;
    editor.keeps_output = false;
    editor.launch("spin", &["beat"], json!({})).await?;
    let thread = editor.event("stopped").await?["threadId"].clone();
    let request = json!({ "source": { "path": fixture::source("spin") },
        "breakpoints": [{ "line": fixture::line("spin", "spin"), "condition": condition }] });
    editor.ok("setBreakpoints", request).await?;
    let mut counts = Vec::new();
    let mut taken = Duration::ZERO;
    for _ in 0..2 {
        let body = editor.ok("evaluate", json!({ "expression": "Program.rounds" })).await?;
        counts.push(body["result"].as_str().context("no count")?.parse::<f64>()?);
        if counts.len() == 2 {
            break;
        }
        editor.ok("continue", json!({ "threadId": thread })).await?;
        let since = Instant::now();
        tokio::time::sleep(Duration::from_secs(2)).await;
        editor.ok("pause", json!({ "threadId": thread })).await?;
        editor.event("stopped").await?;
        taken = since.elapsed();
    }
    editor.finish().await?;
    let [before, after] = counts[..] else { anyhow::bail!("nothing was counted") };
    Ok((after - before) / taken.as_secs_f64())
}

/// Ten expressions, as an editor asks for its watches; the median of some rounds.
async fn measure_watches(build: &Path, runtime: Runtime) -> anyhow::Result<f64> {
    let mut editor = start_editor(build, runtime)?;
    editor.launch("expressions", &["here"], json!({})).await?;
    let (_, frame) = editor.stop().await?;
    let mut taken = Vec::new();
    for _ in 0..21 {
        let since = Instant::now();
        for expression in WATCHES {
            let arguments = json!({ "expression": expression, "frameId": frame["id"], "context": "watch" });
            editor.ok("evaluate", arguments).await?;
        }
        taken.push(milliseconds(since.elapsed()));
    }
    editor.finish().await?;
    taken.sort_by(f64::total_cmp);
    taken.get(taken.len() / 2).copied().context("nothing was measured")
}

/// The first compiled expression; a sum over 10,000 elements, the first time and later; further expressions.
async fn compiled(build: &Path, runtime: Runtime) -> anyhow::Result<Vec<f64>> {
    let mut editor = start_editor(build, runtime)?;
    let program = fixture::modern_program("compiled");
    let place = (modern("Program.cs"), "many");
    let stop = editor.launch_to(&program, place, json!({ "args": ["many"] })).await?;
    let frame = stop.frame["id"].clone();
    let first =
        measure_expression(&mut editor, &frame, "many.Take(3).Select(o => o.Total + 1).Last()").await?;
    let sum = "many.Where(o => o.Total > 3 && o.Name.Length > 1).Sum(o => o.Total)";
    let once = measure_expression(&mut editor, &frame, sum).await?;
    let (mut later, mut others) = (Vec::new(), Vec::new());
    for at in 0..11 {
        later.push(measure_expression(&mut editor, &frame, sum).await?);
        let other = format!("many.Skip({at}).Take(9).Where(o => o.Total > {at}).Select(o => o.Name).Count()");
        others.push(measure_expression(&mut editor, &frame, &other).await?);
    }
    editor.finish().await?;
    later.sort_by(f64::total_cmp);
    others.sort_by(f64::total_cmp);
    Ok(vec![first, once, later[later.len() / 2], others[others.len() / 2]])
}

/// The milliseconds an expression takes; not a number when it is refused.
async fn measure_expression(editor: &mut DapClient, frame: &Value, expression: &str) -> anyhow::Result<f64> {
    let since = Instant::now();
    let response = editor
        .ask("evaluate", json!({ "expression": expression, "frameId": frame, "context": "repl" }))
        .await?;
    Ok(if response.success { milliseconds(since.elapsed()) } else { f64::NAN })
}
