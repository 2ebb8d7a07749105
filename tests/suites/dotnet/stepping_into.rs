//! Steps into calls: code that attributes and filters hide, a chosen call, iterators and lambdas;
//! and the targets of `goto`.

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

use crate::stepping::{place, walk};

dotnet_tests! {
    attributes_and_filters_hide_code_from_steps,
    without_filters_a_step_goes_into_accessors_and_operators,
    a_step_goes_into_a_chosen_call,
    a_chosen_call_that_is_not_made_is_stepped_over,
    targets_are_refused_when_they_are_stale_or_of_another_kind,
    a_loop_over_an_iterator_is_stepped_through,
    an_exception_leads_a_step_into_its_handler,
    an_exception_stop_cancels_the_step,
    debugger_break_stops_once_for_a_step_over_it,
    goto_sets_the_next_statement,
    going_into_or_out_of_a_handler_is_refused,
}

net8_tests! {
    attributes_and_filters_hide_code_from_steps,
    a_step_goes_into_a_chosen_call,
    a_loop_over_an_iterator_is_stepped_through,
    an_exception_leads_a_step_into_its_handler,
    goto_sets_the_next_statement,
}

net10_tests! {
    accessors_of_extension_blocks_are_passed_over_like_any_other,
}

async fn accessors_of_extension_blocks_are_passed_over_like_any_other(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let (thread, _) = editor.stopped_in_modern("blocks", "property").await?;
    for marker in ["method", "times"] {
        editor.ok("stepIn", json!({ "threadId": thread })).await?;
        let (_, frame) = editor.stop().await?;
        // A method begins at its brace.
        let line = fixture::modern_line("blocks", marker);
        assert!([line, line - 1].iter().any(|line| frame["line"] == *line), "{marker}: {frame}");
    }
    editor.finish().await
}

/// Steps into the call on the line of each marker.
async fn into(runtime: Runtime, markers: &[&str], more: Value) -> anyhow::Result<Vec<String>> {
    let mut lines = Vec::new();
    for marker in markers {
        let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
        editor.launch("jmc", &[marker], more.clone()).await?;
        lines.extend(walk(&mut editor, "jmc", &["stepIn", "stepIn"]).await?);
        editor.finish().await?;
    }
    Ok(lines)
}

async fn attributes_and_filters_hide_code_from_steps(runtime: Runtime) -> anyhow::Result<()> {
    let markers =
        ["into through", "into hidden", "into generated", "into property", "into operator", "into linq"];
    let mut lines = into(runtime, &markers, json!({})).await?;
    lines.push("all code".into());
    lines.extend(into(runtime, &markers, json!({ "justMyCode": false })).await?);
    insta::assert_snapshot!("attributes_and_filters_hide_code_from_steps", lines.join("\n"));
    Ok(())
}

async fn without_filters_a_step_goes_into_accessors_and_operators(runtime: Runtime) -> anyhow::Result<()> {
    let more = json!({ "enableStepFiltering": false });
    let lines = into(runtime, &["into property"], more).await?;
    insta::assert_snapshot!("without_filters_a_step_goes_into_accessors_and_operators", lines.join("\n"));
    Ok(())
}

/// The targets at a marker.
async fn targets(editor: &mut DapClient) -> anyhow::Result<(i64, Vec<Value>)> {
    let (thread, frame) = editor.stop().await?;
    let body = editor.ok("stepInTargets", json!({ "frameId": frame["id"] })).await?;
    Ok((thread, body["targets"].as_array().context("no targets")?.clone()))
}

async fn a_step_goes_into_a_chosen_call(runtime: Runtime) -> anyhow::Result<()> {
    let mut lines = Vec::new();
    for (marker, count) in [("targets", 4), ("more targets", 3)] {
        for chosen in 0..count {
            let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
            editor.launch("jmc", &[marker], json!({})).await?;
            let (thread, list) = targets(&mut editor).await?;
            assert_eq!(list.len(), count, "{list:?}");
            let target = &list[chosen];
            editor.ok("stepIn", json!({ "threadId": thread, "targetId": target["id"] })).await?;
            let (thread, frame) = editor.stop().await?;
            lines.push(format!("{} → {}", target["label"], place("jmc", &frame)));
            // Back, the rest of the statement is offered.
            editor.ok("stepOut", json!({ "threadId": thread })).await?;
            let (_, rest) = targets(&mut editor).await?;
            assert_eq!(rest.len(), count - chosen - 1, "{rest:?}");
            editor.finish().await?;
        }
    }
    insta::assert_snapshot!("a_step_goes_into_a_chosen_call", lines.join("\n"));
    Ok(())
}

async fn a_chosen_call_that_is_not_made_is_stepped_over(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("jmc", &["short"], json!({})).await?;
    let (thread, list) = targets(&mut editor).await?;
    let target = list.get(1).context("no second call")?;
    assert_eq!(target["label"], "Program.Other(int number)");
    editor.ok("stepIn", json!({ "threadId": thread, "targetId": target["id"] })).await?;
    let (_, frame) = editor.stop().await?;
    assert_eq!(frame["line"], fixture::line("jmc", "foreach"));
    editor.finish().await
}

async fn targets_are_refused_when_they_are_stale_or_of_another_kind(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("jmc", &["targets"], json!({})).await?;
    let (thread, list) = targets(&mut editor).await?;
    let call = list[0]["id"].clone();
    let arguments =
        json!({ "source": { "path": fixture::source("jmc") }, "line": fixture::line("jmc", "start") });
    let body = editor.ok("gotoTargets", arguments).await?;
    let statement = body["targets"][0]["id"].clone();
    let code = editor.refused("goto", json!({ "threadId": thread, "targetId": call })).await?;
    assert_eq!(code, "INVALID_PARAMETER");
    let code = editor.refused("stepIn", json!({ "threadId": thread, "targetId": statement })).await?;
    assert_eq!(code, "INVALID_PARAMETER");
    let code = editor.refused("goto", json!({ "threadId": thread })).await?;
    assert_eq!(code, "INVALID_PARAMETER");
    editor.ok("next", json!({ "threadId": thread })).await?;
    editor.stop().await?;
    let code = editor.refused("stepIn", json!({ "threadId": thread, "targetId": call })).await?;
    assert!(code == "NOT_STOPPED" || code == "INVALID_PARAMETER", "{code}");
    editor.finish().await
}

async fn a_loop_over_an_iterator_is_stepped_through(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("jmc", &["foreach"], json!({})).await?;
    let steps = ["next", "next", "stepIn", "next", "next", "next", "next", "next", "stepOut", "next"];
    let lines = walk(&mut editor, "jmc", &steps).await?;
    insta::assert_snapshot!("a_loop_over_an_iterator_is_stepped_through", lines.join("\n"));
    editor.finish().await
}

async fn an_exception_leads_a_step_into_its_handler(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("jmc", &["catches"], json!({})).await?;
    let lines = walk(&mut editor, "jmc", &["next", "next", "next"]).await?;
    assert!(lines[1].contains("catch (InvalidOperationException)"), "{lines:?}");
    assert!(lines[3].contains("BP caught"), "{lines:?}");
    editor.finish().await
}

async fn an_exception_stop_cancels_the_step(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("jmc", &["main catches"], json!({})).await?;
    let (thread, _) = editor.stop().await?;
    editor.ok("setExceptionBreakpoints", json!({ "filters": ["all"] })).await?;
    editor.ok("next", json!({ "threadId": thread })).await?;
    let stopped = editor.event("stopped").await?;
    assert_eq!(stopped["reason"], "exception");
    // The step is over: the program continues to `Debugger.Break()`.
    editor.ok("continue", json!({ "threadId": thread })).await?;
    let stopped = editor.event("stopped").await?;
    assert_eq!(
        (&stopped["reason"], &stopped["description"]),
        (&json!("breakpoint"), &json!("Debugger.Break()"))
    );
    editor.finish().await
}

async fn debugger_break_stops_once_for_a_step_over_it(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("jmc", &["main catches", "break"], json!({})).await?;
    let (thread, _) = editor.stop().await?;
    editor.ok("continue", json!({ "threadId": thread })).await?;
    editor.stop().await?;
    // The thread is stopped where it is called: the step goes over it.
    editor.ok("next", json!({ "threadId": thread })).await?;
    let (_, frame) = editor.stop().await?;
    assert_eq!(frame["line"], fixture::line("jmc", "end"));
    editor.finish().await?;
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("jmc", &["main catches"], json!({})).await?;
    let (thread, _) = editor.stop().await?;
    editor.ok("continue", json!({ "threadId": thread })).await?;
    let stopped = editor.event("stopped").await?;
    assert_eq!(stopped["description"], "Debugger.Break()");
    editor.ok("next", json!({ "threadId": thread })).await?;
    let (_, frame) = editor.stop().await?;
    assert_eq!(frame["line"], fixture::line("jmc", "end"));
    editor.finish().await
}

/// The targets of `goto` on the line of a marker.
async fn places(editor: &mut DapClient, program: &str, marker: &str) -> anyhow::Result<Vec<Value>> {
    let source = json!({ "path": fixture::source(program) });
    let body =
        editor.ok("gotoTargets", json!({ "source": source, "line": fixture::line(program, marker) })).await?;
    Ok(body["targets"].as_array().context("no targets")?.clone())
}

async fn goto_sets_the_next_statement(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("places", &["loop end"], json!({})).await?;
    let (thread, _) = editor.stop().await?;
    assert_eq!(places(&mut editor, "places", "generic").await?, Vec::<Value>::new());
    let target = places(&mut editor, "places", "loop").await?[0]["id"].clone();
    editor.ok("goto", json!({ "threadId": thread, "targetId": target })).await?;
    let stopped = editor.event("stopped").await?;
    assert_eq!(stopped["reason"], "goto");
    let stack = editor.ok("stackTrace", json!({ "threadId": thread, "levels": 1 })).await?;
    assert_eq!(stack["stackFrames"][0]["line"], fixture::line("places", "loop"));
    let frame = &stack["stackFrames"][0]["id"];
    let body = editor.ok("evaluate", json!({ "expression": "sum", "frameId": frame })).await?;
    assert_eq!(body["result"], "45");
    editor.ok("next", json!({ "threadId": thread })).await?;
    let (_, frame) = editor.stop().await?;
    // The line ran once more: 45 and the 10 of where the loop had ended.
    let body = editor.ok("evaluate", json!({ "expression": "sum", "frameId": frame["id"] })).await?;
    assert_eq!(body["result"], "55");
    editor.finish().await
}

async fn going_into_or_out_of_a_handler_is_refused(runtime: Runtime) -> anyhow::Result<()> {
    for (from, to, why) in [("catches", "caught", "into a catch"), ("caught", "catches", "out of a catch")] {
        let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
        editor.launch("jmc", &[from], json!({})).await?;
        let (thread, _) = editor.stop().await?;
        let target = places(&mut editor, "jmc", to).await?[0]["id"].clone();
        let answer = editor.ask("goto", json!({ "threadId": thread, "targetId": target })).await?;
        let error = &answer.body["error"]["variables"];
        assert_eq!((answer.success, &error["code"]), (false, &json!("UNSUPPORTED")));
        assert!(error["message"].as_str().is_some_and(|text| text.contains(why)), "{error}");
        // The program is stopped where it was before.
        let stack = editor.ok("stackTrace", json!({ "threadId": thread, "levels": 1 })).await?;
        assert_eq!(stack["stackFrames"][0]["line"], fixture::line("jmc", from));
        editor.ok("next", json!({ "threadId": thread })).await?;
        editor.stop().await?;
        editor.finish().await?;
    }
    Ok(())
}
