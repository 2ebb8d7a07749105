//! Steps through every statement that the compiler takes apart, place by place, against what the programs
//! themselves say above each method: tables that were written from the language, not recorded.

use std::collections::HashMap;

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    next_stops_once_at_each_place_of_a_statement,
    step_in_stops_once_at_each_place_of_a_statement,
    next_stops_once_at_each_place_of_an_async_statement,
    step_in_stops_once_at_each_place_of_an_async_statement,
}

net8_tests! {
    next_stops_once_at_each_place_of_a_statement,
    next_stops_once_at_each_place_of_an_async_statement,
}

/// Further steps after the expected ones, to show where a wrong step leads.
const EXTRA_STEPS: usize = 4;

/// A method of a program, and where steps through it stop.
#[derive(Default)]
struct SteppedMethod {
    name: String,
    next: Vec<String>,
    step_in: Option<Vec<String>>,
    lines: HashMap<String, i64>,
}

/// The table that a program prints about itself.
struct Table {
    text: Vec<String>,
    cases: Vec<SteppedMethod>,
    /// Lines with names, at which the stops of any method may be.
    named: HashMap<String, i64>,
}

impl Table {
    fn read(program: &str) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(fixture::source(program))?;
        let text: Vec<String> = text.lines().map(str::to_owned).collect();
        let (mut cases, mut named) = (Vec::<SteppedMethod>::new(), HashMap::new());
        for (number, line) in (1..).zip(&text) {
            let places = |rest: &str| rest.split(' ').map(str::to_owned).collect::<Vec<_>>();
            match (line.trim().strip_prefix("// "), line.rsplit_once("// ")) {
                (Some(comment), _) => {
                    if let Some(rest) = comment.strip_prefix("next: ") {
                        cases.push(SteppedMethod { next: places(rest), ..SteppedMethod::default() });
                    } else if let (Some(rest), Some(case)) =
                        (comment.strip_prefix("stepIn: "), cases.last_mut())
                    {
                        case.step_in = Some(places(rest));
                    }
                }
                (None, Some((_, tag))) if tag.parse::<u32>().is_ok() => {
                    let case = cases.last_mut().context("a number before the first method")?;
                    case.lines.insert(tag.to_owned(), number);
                }
                (None, Some((_, tag))) => {
                    named.insert(tag.replace(' ', "-"), number);
                }
                (None, None) => {
                    if let Some(case) = cases.last_mut().filter(|case| case.name.is_empty()) {
                        case.name = line.trim().to_owned();
                    }
                }
            }
        }
        Ok(Self { text, cases, named })
    }

    /// The location of a frame: the tag of its line and the source from there; `out` elsewhere.
    fn place(&self, program: &str, case: &SteppedMethod, frame: &Value) -> (String, String) {
        let line = frame["line"].as_i64().unwrap_or(0);
        let is_here = frame["source"]["path"] == fixture::source(program);
        let mut tags = case.lines.iter().chain(&self.named);
        match tags.find(|(_, at)| is_here && **at == line) {
            Some((tag, _)) => {
                let source = usize::try_from(line - 1).ok().and_then(|at| self.text.get(at));
                let column = usize::try_from(frame["column"].as_i64().unwrap_or(1) - 1).unwrap_or(0);
                (tag.clone(), source.and_then(|text| text.get(column..)).unwrap_or_default().to_owned())
            }
            None => ("out".into(), String::new()),
        }
    }
}

/// Whether a place is the one that is written so.
fn is(written: &str, (tag, source): &(String, String)) -> bool {
    match written.split_once(':') {
        Some((line, begin)) => line == tag && source.starts_with(begin),
        None => written == tag,
    }
}

/// Walks through every method of a program by one kind of step.
async fn walk(runtime: Runtime, program: &str, step: &str) -> anyhow::Result<()> {
    let table = Table::read(program)?;
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test" })).await?;
    let launch = editor.send("launch", json!({ "program": fixture::program(program) })).await?;
    editor.initialized(launch).await?;
    let first =
        |case: &SteppedMethod| case.lines.get("1").copied().context("a method without its first place");
    let lines: Vec<i64> = table.cases.iter().map(first).collect::<Result<_, _>>()?;
    let requests: Vec<Value> = lines.iter().map(|line| json!({ "line": line })).collect();
    let requests = json!({ "source": { "path": fixture::source(program) }, "breakpoints": requests });
    editor.ok("setBreakpoints", requests).await?;
    editor.ok("configurationDone", Value::Null).await?;
    anyhow::ensure!(editor.response(launch).await?.success, "the launch failed");
    let mut wrong = Vec::new();
    for case in &table.cases {
        let expected = case.step_in.as_ref().filter(|_| step == "stepIn").unwrap_or(&case.next);
        let (mut thread, frame) = editor.stop().await.with_context(|| format!("before `{}`", case.name))?;
        let mut places = vec![table.place(program, case, &frame)];
        while places.last().is_some_and(|(tag, _)| tag != "out")
            && places.len() < expected.len() + EXTRA_STEPS
        {
            editor.ok(step, json!({ "threadId": thread })).await?;
            let (now, frame) = editor.stop().await.with_context(|| format!("in `{}`", case.name))?;
            thread = now;
            places.push(table.place(program, case, &frame));
        }
        let is_right =
            places.len() == expected.len() && expected.iter().zip(&places).all(|(one, at)| is(one, at));
        if !is_right {
            let reached: Vec<String> = places.iter().map(|(tag, source)| format!("{tag}:{source}")).collect();
            wrong.push(format!("{}\n  meant: {}\n  {step}: {reached:?}", case.name, expected.join(" ")));
        }
        editor.ok("continue", json!({ "threadId": thread })).await?;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    editor.event("exited").await?;
    editor.finish().await
}

async fn next_stops_once_at_each_place_of_a_statement(runtime: Runtime) -> anyhow::Result<()> {
    walk(runtime, "statements", "next").await
}

async fn step_in_stops_once_at_each_place_of_a_statement(runtime: Runtime) -> anyhow::Result<()> {
    walk(runtime, "statements", "stepIn").await
}

async fn next_stops_once_at_each_place_of_an_async_statement(runtime: Runtime) -> anyhow::Result<()> {
    walk(runtime, "asyncstatements", "next").await
}

async fn step_in_stops_once_at_each_place_of_an_async_statement(runtime: Runtime) -> anyhow::Result<()> {
    walk(runtime, "asyncstatements", "stepIn").await
}
