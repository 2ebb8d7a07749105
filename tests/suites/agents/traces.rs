//! `debug_trace` in each language: its values equal those of `debug_evaluate` at the same line for every
//! expression; the program's output is unchanged; and it ends where it reports its end.

use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::child::Subject;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! { a_trace_of_a_csharp_program_says_what_evaluate_says }

/// Lines that an expression about them could be confused with.
const LINES: [&str; 5] = ["ab", "x=1 %d {q} \"t\" \\", "a == b", "{}", "%s%s=1,2"];

/// The results of `debug_evaluate` for each expression at this stop, as in a row of a
/// trace; `null` for any error.
async fn evaluate_expression(agent: &mut Agent, expressions: &[&str]) -> anyhow::Result<Vec<Value>> {
    let result = agent.call("debug_evaluate", json!({ "expressions": expressions })).await?;
    let results = result["results"].as_array().context("no results")?;
    Ok(results.iter().map(|row| row["result"].clone()).collect())
}

fn trace_values(row: &Value) -> Vec<Value> {
    let cells = row.as_array().into_iter().flatten();
    cells.map(|cell| if cell["error"].is_string() { Value::Null } else { cell.clone() }).collect()
}

/// Launches the subject for an agent.
async fn launch_program(agent: &mut Agent, subject: Subject, folder: &std::path::Path) -> anyhow::Result<()> {
    let mut launch = subject.launch();
    if subject == Subject::Delve {
        // The Go here is newer than Debian's Delve, which needs a flag to accept it.
        let (dlv, script) = (launch["enginePath"].as_str().context("no dlv")?.to_owned(), folder.join("dlv"));
        std::fs::write(&script, format!("#!/bin/sh\nexec {dlv} \"$@\" --check-go-version=false\n"))?;
        std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        launch["enginePath"] = json!(script);
    }
    launch["run"] = json!(true);
    launch["timeoutMs"] = json!(1500);
    launch["breakpoints"] = json!([{ "sourceFile": subject.source(), "line": subject.line("handle") }]);
    let started = agent.call("debug_launch", launch).await?;
    anyhow::ensure!(started["success"] == true, "{started}");
    let data = LINES.join("\n") + "\n";
    agent.call("process_write_input", json!({ "data": data, "closeAfter": true })).await?;
    for _ in 0..50 {
        let stop = agent.call("debug_wait", json!({})).await?;
        if stop["state"] == "stopped" {
            return Ok(());
        }
        // Some adapters say late that there is a process.
        anyhow::ensure!(stop["state"] == "idle", "{stop}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    anyhow::bail!("it never stops")
}

async fn traces(subject: Subject, expressions: &[&str], expected: Value) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut agent = Agent::in_folder("agent", folder.path(), &[], &Transcript::default()).await?;
    launch_program(&mut agent, subject, folder.path()).await?;
    // The agent's own breakpoint is on that very line.
    let line =
        json!({ "sourceFile": subject.source(), "line": subject.line("handle"), "expressions": expressions });
    let mut three = line.clone();
    three["hits"] = json!(3);
    let table = agent.call("debug_trace", three).await?;
    assert_eq!((&table["ended"], &table["hits"]), (&json!("hits"), &json!(3)), "{subject:?}: {table}");
    assert_eq!(table["state"], "stopped", "{subject:?}: {table}");
    assert!(table["event"]["byOther"].is_null(), "{subject:?}: {table}");
    let rows = table["rows"].as_array().context("no rows")?;
    let first: Vec<Value> = rows.iter().map(|row| row[0].clone()).collect();
    assert_eq!(json!(first), expected, "{subject:?}: {table}");
    // It is stopped where the last row was recorded.
    let evaluated = evaluate_expression(&mut agent, expressions).await?;
    assert_eq!(rows.last().map(trace_values), Some(evaluated), "{subject:?}: {table}");
    let mut rest = line.clone();
    rest["condition"] = json!(condition(subject));
    let table = agent.call("debug_trace", rest).await?;
    assert_eq!((&table["ended"], &table["hits"]), (&json!("exited"), &json!(1)), "{subject:?}: {table}");
    assert_eq!(table["event"]["exitCode"], 7, "{subject:?}: {table}");
    let output = agent.call("process_read_output", json!({ "stream": "stdout" })).await?;
    let text = output["stdout"].as_str().context("no stdout")?;
    let lines: Vec<&str> = text.lines().collect();
    let own = lines.iter().all(|line| ["ready", "got ", "eof "].iter().any(|start| line.starts_with(start)));
    assert!(own && lines.len() <= LINES.len() + 2, "{subject:?}: the trace is in the output: {text}");
    let over = agent.call("debug_trace", line).await?;
    assert_eq!(over["error"]["code"], "NO_SESSION", "{subject:?}: {over}");
    agent.finish().await
}

/// A condition that holds only for the last line.
fn condition(subject: Subject) -> &'static str {
    match subject {
        Subject::Bash => "[[ $length -eq 8 ]]",
        Subject::Perl => "$length == 8",
        _ => "length == 8",
    }
}

#[tokio::test]
async fn a_trace_of_python_says_what_evaluate_says() -> anyhow::Result<()> {
    let expressions = [
        "length == 6",
        "length % 2",
        "nope",
        "f\"{line}\"",
        "{\"a=b\": length}",
        "line",
        "'%s {}' % line",
        "max(length, 3)",
        "'\\\\'",
        "line.split('=')",
        "length = 3",
    ];
    traces(Subject::Python, &expressions, json!(["False", "True", "False"])).await
}

#[tokio::test]
async fn a_trace_of_javascript_says_what_evaluate_says() -> anyhow::Result<()> {
    let expressions = [
        "length == 6",
        "length % 2",
        "nope",
        "({ a: length })",
        "`${line}`",
        "line",
        "'100%' + \"=\"",
        "Math.max(length, 3)",
        "'\\\\'",
        "line.split('=')",
    ];
    traces(Subject::Js, &expressions, json!(["false", "true", "false"])).await
}

/// Expressions in C, for both debuggers.
const OF_C: [&str; 8] = [
    "length == 6",
    "length % 2",
    "nope",
    "line[0] == '='",
    "\"a=b %d {}\"",
    "(length, total)",
    "'\\\\'",
    "length > 3 ? line : \"}\"",
];

#[tokio::test]
async fn a_trace_of_c_says_what_evaluate_says_in_lldb() -> anyhow::Result<()> {
    traces(Subject::Lldb, &OF_C, json!(["false", "true", "false"])).await
}

#[tokio::test]
async fn a_trace_of_c_says_what_evaluate_says_in_gdb() -> anyhow::Result<()> {
    traces(Subject::Gdb, &OF_C, json!(["0", "1", "0"])).await
}

#[tokio::test]
async fn a_trace_of_go_says_what_evaluate_says() -> anyhow::Result<()> {
    let expressions = ["length == 6", "length % 2", "nope", "line", "\"a=b %d {}\" == line", "len(line)"];
    traces(Subject::Delve, &expressions, json!(["false", "true", "false"])).await
}

#[tokio::test]
async fn a_trace_of_ruby_says_what_evaluate_says() -> anyhow::Result<()> {
    let expressions = [
        "length == 6",
        "length % 2",
        "\"#{line}\"",
        "{ a: length }",
        "line",
        "'100%' + \"=\"",
        "[length, 3].max",
        "'\\\\'",
    ];
    for subject in [Subject::Rdbg, Subject::Rdbg192] {
        traces(subject, &expressions, json!(["false", "true", "false"])).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_trace_of_perl_says_what_evaluate_says() -> anyhow::Result<()> {
    let expressions = [
        "$length == 6",
        "$length % 2",
        "$nope->{a}{b}",
        "nope()",
        "\"<$line>\"",
        "$line",
        "'100%' . '='",
        "[$length, 3]",
    ];
    traces(Subject::Perl, &expressions, json!(["''", "1", "''"])).await
}

#[tokio::test]
async fn a_trace_of_a_shell_script_says_what_evaluate_says() -> anyhow::Result<()> {
    let expressions = ["$length", "nope", "$((length % 2))", "\"{$length}\"", "a=$length"];
    traces(Subject::Bash, &expressions, json!(["16", "6", "2"])).await
}

async fn a_trace_of_a_csharp_program_says_what_evaluate_says(runtime: Runtime) -> anyhow::Result<()> {
    let mut agent = Agent::start("agent", runtime, &Transcript::default()).await?;
    let source = fixture::source("cart");
    agent.call("debug_launch", json!({ "program": fixture::program("cart") })).await?;
    let expressions = [
        "item.Name == \"milk\"",
        "i % 2",
        "nope",
        "$\"{i}={item.Name}\"",
        "item.Name",
        "\"100% {} \\\\ =\"",
        "Math.Max(i, 3)",
        "i ==",
    ];
    let place =
        json!({ "sourceFile": source, "text": "if (item.Stale)", "expressions": expressions, "hits": 2 });
    let table = agent.call("debug_trace", place).await?;
    assert_eq!((&table["ended"], &table["state"]), (&json!("hits"), &json!("stopped")), "{table}");
    let rows = table["rows"].as_array().context("no rows")?;
    assert_eq!(rows[0][0], "false", "{table}");
    assert_eq!(rows[1][0], "true", "{table}");
    let evaluated = evaluate_expression(&mut agent, &expressions).await?;
    assert_eq!(rows.last().map(trace_values), Some(evaluated), "{table}");
    for broken in [2, 7] {
        assert!(rows[1][broken]["error"].is_string(), "{table}");
    }
    let wrong = json!({ "sourceFile": source, "text": "if (item.Stale)", "expressions": ["i"],
        "condition": "i == 2 &&" });
    let refused = agent.call("debug_trace", wrong).await?;
    assert_eq!(refused["error"]["code"], "INVALID_PARAMETER", "{refused}");
    agent.finish().await
}

/// Two functions that call each other's turns, in two threads.
const TURNS: &str = "\
import threading


def odd(number):
    return number * 3 + 1


def even(number):
    half = number // 2
    return half


def walk(number):
    while number != 1:
        number = even(number) if number % 2 == 0 else odd(number)


workers = [threading.Thread(target=walk, args=(start,)) for start in (6, 7)]
for worker in workers:
    worker.start()
    worker.join()
";

#[tokio::test]
async fn several_places_are_traced_in_the_order_of_time() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("turns.py");
    std::fs::write(&path, TURNS)?;
    let mut agent = Agent::in_folder("agent", folder.path(), &[], &Transcript::default()).await?;
    let mut launch = Subject::Python.launch();
    launch["program"] = json!(path);
    agent.call("debug_launch", launch).await?;
    let places = json!([
        { "sourceFile": path, "text": "return number * 3 + 1" },
        { "sourceFile": path, "text": "return half", "expressions": ["number", "half"] },
    ]);
    // The walk from 6: 6, 3, 10, 5, 16, 8, 4, 2.
    let trace = json!({ "places": places, "expressions": ["number"], "hits": 8 });
    let table = agent.call("debug_trace", trace).await?;
    let rows = json!([
        [1, "6", "3"],
        [0, "3"],
        [1, "10", "5"],
        [0, "5"],
        [1, "16", "8"],
        [1, "8", "4"],
        [1, "4", "2"],
        [1, "2", "1"]
    ]);
    assert_eq!((&table["ended"], &table["rows"]), (&json!("hits"), &rows), "{table}");
    assert_eq!((&table["places"][0]["hits"], &table["places"][1]["hits"]), (&json!(2), &json!(6)), "{table}");
    assert_eq!(table["state"], "stopped", "{table}");
    // The other thread's, by combination and by thread.
    let trace =
        json!({ "places": places, "expressions": ["number % 4"], "keep": "distinct", "perThread": true });
    let table = agent.call("debug_trace", trace).await?;
    assert_eq!(table["ended"], "exited", "{table}");
    let threads = table["places"][0]["threads"].as_object().context("no threads")?;
    assert_eq!(threads.len(), 1, "{table}");
    let sum: u64 = table["rows"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|row| row.as_array()?.last()?.as_u64())
        .sum();
    assert_eq!(json!(sum), table["hits"], "{table}");
    agent.finish().await
}

#[tokio::test]
async fn a_trace_of_places_that_make_no_sense_is_refused() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut agent = Agent::in_folder("agent", folder.path(), &[], &Transcript::default()).await?;
    agent.call("debug_launch", Subject::Python.launch()).await?;
    let here = json!({ "sourceFile": Subject::Python.source(), "line": Subject::Python.line("handle") });
    for wrong in [
        json!({ "places": [] }),
        json!({ "places": [here] }),
        json!({ "places": "x" }),
        json!({ "places": [{ "expressions": ["1"] }] }),
        json!({ "places": vec![here.clone(); 21], "expressions": ["1"] }),
        json!({ "places": [here], "expressions": ["1"], "keep": "some" }),
    ] {
        let refused = agent.call("debug_trace", wrong.clone()).await?;
        assert_eq!(refused["error"]["code"], "INVALID_PARAMETER", "{wrong}: {refused}");
    }
    let listed = agent.call("debug_list_breakpoints", json!({})).await?;
    assert_eq!(listed["breakpoints"], json!([]), "{listed}");
    agent.finish().await
}
