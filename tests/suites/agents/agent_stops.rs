//! The answer of a stop, without repetitions: the location, the user's frames, the lines stepped over,
//! messages of logpoints, unread output.

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::deadline::deadline_ms;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    output_that_was_read_is_not_repeated,
    next_answer_contains_the_output_of_a_logpoint,
    several_steps_tell_the_lines_they_walked,
    source_begins_where_it_is_asked_to,
    all_breakpoints_are_removed_at_once,
    an_exception_of_a_task_is_reported_with_the_place_that_threw_it,
}

net10_tests! {
    frames_of_libraries_are_folded,
    a_pause_in_a_library_tells_no_variables_that_cannot_be_read,
}

async fn agent(runtime: Runtime) -> anyhow::Result<Agent> {
    Agent::start("agent", runtime, &Transcript::default()).await
}

/// Launches the tour with these breakpoints and answers its prompts.
async fn stop_in_tour(runtime: Runtime, breakpoints: Value) -> anyhow::Result<(Agent, Value)> {
    let mut agent = agent(runtime).await?;
    let launch = json!({ "program": fixture::program("tour"), "run": true, "breakpoints": breakpoints });
    let asks = agent.call("debug_launch", launch).await?;
    assert_eq!(asks["event"]["type"], "waitingForInput", "{asks}");
    agent.call("process_write_input", json!({ "data": "ann\n" })).await?;
    let stop = agent.call("debug_wait", json!({})).await?;
    Ok((agent, stop))
}

fn marked(marker: &str, more: Value) -> Value {
    let mut request = json!({ "sourceFile": fixture::source("tour"), "line": fixture::line("tour", marker) });
    if let (Some(request), Value::Object(more)) = (request.as_object_mut(), more) {
        request.extend(more);
    }
    request
}

async fn output_that_was_read_is_not_repeated(runtime: Runtime) -> anyhow::Result<()> {
    let (mut agent, stop) = stop_in_tour(runtime, json!([marked("after", json!({}))])).await?;
    assert_eq!(stop["event"]["line"], fixture::line("tour", "after"), "{stop}");
    // It prints while no call waits, and the agent reads that by itself.
    let over = agent.call("debug_step_over", json!({})).await?;
    assert_eq!(over["event"]["output"]["stdout"], "hello ann: 6\n", "{over}");
    let printing = json!({ "expression": "System.Console.WriteLine(\"read it\")" });
    agent.call("debug_evaluate", printing).await?;
    let read = json!({ "waitFor": "read it", "timeoutMs": deadline_ms(20) });
    let read = agent.call("process_read_output", read).await?;
    assert_eq!(read["matched"], "read it", "{read}");
    let ended = agent.call("debug_continue", json!({})).await?;
    assert_eq!(ended["event"]["type"], "exited", "{ended}");
    assert_eq!(ended["event"]["output"], json!({ "stderr": "done\n" }), "{ended}");
    agent.finish().await
}

async fn next_answer_contains_the_output_of_a_logpoint(runtime: Runtime) -> anyhow::Result<()> {
    let logs = marked("loop", json!({ "logMessage": "total {total}, {i:D2}" }));
    let (mut agent, stop) = stop_in_tour(runtime, json!([logs, marked("after", json!({}))])).await?;
    let lines = json!(["total 0, 00", "total 0, 01", "total 1, 02", "total 3, 03"]);
    assert_eq!(stop["event"]["output"]["logged"], lines, "{stop}");
    let over = agent.call("debug_step_over", json!({})).await?;
    assert!(over["event"]["output"]["logged"].is_null(), "{over}");
    agent.finish().await
}

async fn several_steps_tell_the_lines_they_walked(runtime: Runtime) -> anyhow::Result<()> {
    let (mut agent, _) = stop_in_tour(runtime, json!([marked("add", json!({}))])).await?;
    let over = agent.call("debug_step_over", json!({ "count": 4 })).await?;
    let add = fixture::line("tour", "add");
    let walked = json!([
        format!("{} return sum;", add + 1),
        format!("{} }}", add + 2),
        format!("{} total = Add(total, i); // BP loop", fixture::line("tour", "loop")),
    ]);
    assert_eq!(over["event"]["walked"], walked, "{over}");
    let one = agent.call("debug_step_over", json!({})).await?;
    assert!(one["event"]["walked"].is_null(), "{one}");
    agent.finish().await
}

async fn source_begins_where_it_is_asked_to(runtime: Runtime) -> anyhow::Result<()> {
    let (mut agent, stop) = stop_in_tour(runtime, json!([marked("add", json!({}))])).await?;
    let first = agent.call("debug_source", json!({ "start": 3, "count": 2 })).await?;
    assert_eq!(first["file"], stop["event"]["file"], "{first}");
    assert_eq!(first["lines"], json!(["    3 using System.Collections.Generic;", "    4 "]), "{first}");
    assert!(first["ignored"].is_null(), "{first}");
    let next = json!({ "sourceFile": "Program.cs", "start": first["next"], "count": 1 });
    let next = agent.call("debug_source", next).await?;
    assert_eq!(next["lines"], json!(["    5 enum Color { Red, Green, Blue }"]), "{next}");
    agent.finish().await
}

async fn all_breakpoints_are_removed_at_once(runtime: Runtime) -> anyhow::Result<()> {
    let requests =
        json!([marked("add", json!({})), marked("loop", json!({})), { "function": "Program.Work" }]);
    let (mut agent, stop) = stop_in_tour(runtime, requests).await?;
    assert_eq!(stop["event"]["type"], "breakpointHit", "{stop}");
    let removed = agent.call("debug_remove_breakpoint", json!({ "all": true })).await?;
    assert_eq!(removed, json!({ "removed": 3, "success": true }));
    let neither = agent.call("debug_remove_breakpoint", json!({})).await?;
    assert!(neither["error"]["hint"].as_str().is_some_and(|hint| hint.contains("`all: true`")), "{neither}");
    let ended = agent.call("debug_continue", json!({})).await?;
    assert_eq!(ended["event"]["type"], "exited", "{ended}");
    // `all` also removes the breakpoints that are kept for the next launch.
    agent.call("debug_set_breakpoint", marked("main", json!({}))).await?;
    let removed = agent.call("debug_remove_breakpoint", json!({ "all": true })).await?;
    assert_eq!(removed["removed"], 1, "{removed}");
    let again = json!({ "program": fixture::program("tour"), "run": true });
    let asks = agent.call("debug_launch", again).await?;
    assert_eq!(asks["event"]["type"], "waitingForInput", "{asks}");
    agent.finish().await
}

/// A library throws again what the user's code threw before: the location shown is the call of the library.
async fn an_exception_of_a_task_is_reported_with_the_place_that_threw_it(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let mut agent = agent(runtime).await?;
    let launch = json!({ "program": fixture::program("carried"), "run": true });
    let mut stop = agent.call("debug_launch", launch).await?;
    while stop["event"]["message"] != "8" {
        assert_eq!(stop["event"]["type"], "exception", "{stop}");
        stop = agent.call("debug_continue", json!({})).await?;
    }
    let thrown = &stop["event"]["thrownAt"];
    assert_eq!(thrown["line"], fixture::line("carried", "early"), "{stop}");
    assert_eq!(thrown["function"], "Program.Early(string text)", "{stop}");
    assert_eq!(stop["event"]["function"], "Program.Main(string[] arguments)", "{stop}");
    // Every tool that looks at the stop looks there.
    let line = &stop["event"]["line"];
    let status = agent.call("debug_status", json!({})).await?;
    assert_eq!(&status["place"]["line"], line, "{status}");
    let snapshot = agent.call("debug_snapshot", json!({})).await?;
    assert_eq!((&snapshot["event"]["line"], &snapshot["variables"][0]["name"]), (line, &json!("arguments")));
    let source = agent.call("debug_source", json!({ "count": 1 })).await?;
    let marked = source["lines"][0].as_str().context("no line")?;
    assert!(marked.starts_with(&format!(">{:>4} ", line.as_u64().unwrap_or(0))), "{source}");
    agent.finish().await
}

async fn frames_of_libraries_are_folded(runtime: Runtime) -> anyhow::Result<()> {
    let mut agent = agent(runtime).await?;
    let marked = json!({ "sourceFile": fixture::modern_source("unhandled"),
        "line": fixture::modern_line("unhandled", "page") });
    let launch =
        json!({ "program": fixture::modern_program("unhandled"), "run": true, "breakpoints": [marked] });
    let stop = agent.call("debug_launch", launch).await?;
    assert_eq!(stop["event"]["type"], "breakpointHit", "{stop}");
    let stack = agent.call("debug_stacktrace", json!({})).await?;
    let frames = stack["frames"].as_array().context("no frames")?;
    assert_eq!(frames[0]["line"], stop["event"]["line"], "{stack}");
    let folded = frames[1]["folded"].as_u64().context("nothing is folded")?;
    assert_eq!(frames[1]["start"], 1, "{stack}");
    let snapshot = agent.call("debug_snapshot", json!({})).await?;
    assert_eq!(snapshot["frames"][1], frames[1], "{snapshot}");
    // Folded frames are returned on request.
    let page = agent.call("debug_stacktrace", json!({ "start": 1, "count": folded })).await?;
    let frames = page["frames"].as_array().context("no frames")?;
    assert_eq!(frames.len() as u64, folded, "{page}");
    assert!(frames.iter().all(|frame| frame["file"].is_null() && frame["function"].is_string()), "{page}");
    agent.finish().await
}

async fn a_pause_in_a_library_tells_no_variables_that_cannot_be_read(runtime: Runtime) -> anyhow::Result<()> {
    let mut agent = agent(runtime).await?;
    let launch = json!({ "program": fixture::modern_program("host"), "run": true });
    let up = agent.call("debug_launch", launch).await?;
    assert_eq!(up["event"]["type"], "listening", "{up}");
    let paused = agent.call("debug_pause", json!({})).await?;
    assert_eq!(paused["event"]["reason"], "pause", "{paused}");
    let locals = paused["event"]["locals"].as_array().cloned().unwrap_or_default();
    assert!(!json!(locals).to_string().contains("cannot"), "{paused}");
    agent.finish().await
}
