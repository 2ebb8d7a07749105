//! Steps across `await` and threads: the next statement may come later and elsewhere.
//!
//! Not here: steps into calls ([`super::stepping_into`]), and every kind of statement
//! ([`super::statements`]).

use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    a_step_over_an_await_ends_at_the_next_statement,
    a_step_over_two_awaits_of_a_statement_passes_both,
    a_step_out_of_an_async_method_ends_where_it_is_awaited,
    a_step_into_an_async_call_goes_through_its_end_to_the_method_that_awaits_it,
    a_step_stays_with_its_own_call_of_a_method_that_waits_for_itself,
    two_calls_of_a_method_at_once_are_told_apart,
    a_step_over_an_await_that_fails_ends_in_the_handler,
    a_step_walks_through_a_stream,
    an_async_lambda_is_stepped_through,
    a_step_is_given_up_at_a_breakpoint_on_the_way,
}

net8_tests! {
    a_step_over_an_await_ends_at_the_next_statement,
    a_step_out_of_an_async_method_ends_where_it_is_awaited,
    two_calls_of_a_method_at_once_are_told_apart,
    a_step_over_an_await_that_fails_ends_in_the_handler,
    a_step_walks_through_a_stream,
}

/// The method and the source line of a frame.
pub(crate) fn place(program: &str, frame: &Value) -> String {
    let text = std::fs::read_to_string(fixture::source(program)).unwrap_or_default();
    let line = usize::try_from(frame["line"].as_i64().unwrap_or(0)).unwrap_or(0);
    let source = text.lines().nth(line.saturating_sub(1)).unwrap_or_default().trim();
    format!("{}: {source}", frame["name"].as_str().unwrap_or_default())
}

/// Steps repeatedly and records where each step ends.
pub(crate) async fn walk(
    editor: &mut DapClient,
    program: &str,
    steps: &[&str],
) -> anyhow::Result<Vec<String>> {
    let (mut thread, frame) = editor.stop().await?;
    let mut lines = vec![format!("{:8} {}", "", place(program, &frame))];
    for step in steps {
        editor.ok(step, json!({ "threadId": thread })).await?;
        let (now, frame) = editor.stop().await?;
        thread = now;
        lines.push(format!("{step:8} {}", place(program, &frame)));
    }
    Ok(lines)
}

/// Runs to a marker once, steps from there and returns one line per step.
async fn steps_from(runtime: Runtime, marker: &str, steps: &[&str]) -> anyhow::Result<String> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("asyncs", &[marker], json!({})).await?;
    let (first, rest) = steps.split_first().unwrap_or((&"", &[]));
    let mut lines = walk(&mut editor, "asyncs", &[]).await?;
    editor.break_at("asyncs", &[]).await?;
    editor.ok(first, json!({})).await?;
    let mut more = walk(&mut editor, "asyncs", rest).await?;
    if let Some(line) = more.first_mut() {
        line.replace_range(..8, &format!("{first:8}"));
    }
    lines.append(&mut more);
    editor.finish().await?;
    Ok(lines.join("\n"))
}

async fn a_step_over_an_await_ends_at_the_next_statement(runtime: Runtime) -> anyhow::Result<()> {
    let rows = steps_from(runtime, "main", &["next"; 14]).await?;
    insta::assert_snapshot!("a_step_over_an_await_ends_at_the_next_statement", rows);
    Ok(())
}

async fn a_step_over_two_awaits_of_a_statement_passes_both(runtime: Runtime) -> anyhow::Result<()> {
    let rows = steps_from(runtime, "two", &["next", "next", "next", "next"]).await?;
    insta::assert_snapshot!("a_step_over_two_awaits_of_a_statement_passes_both", rows);
    Ok(())
}

async fn a_step_out_of_an_async_method_ends_where_it_is_awaited(runtime: Runtime) -> anyhow::Result<()> {
    let mut tables = Vec::new();
    // Of a method that was resumed, of one whose task is a value, and of one that never waited.
    for (marker, steps) in [
        ("inner after", &["stepOut", "next", "stepOut", "next"][..]),
        ("slow return", &["stepOut", "next"]),
        ("quick return", &["stepOut", "next"]),
    ] {
        tables.push(steps_from(runtime, marker, steps).await?);
    }
    insta::assert_snapshot!("a_step_out_of_an_async_method_ends_where_it_is_awaited", tables.join("\n\n"));
    Ok(())
}

async fn a_step_into_an_async_call_goes_through_its_end_to_the_method_that_awaits_it(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let steps = ["stepIn", "next", "next", "next", "next", "next", "next", "next"];
    let rows = steps_from(runtime, "middle await", &steps).await?;
    insta::assert_snapshot!("a_step_into_an_async_call_goes_through_its_end", rows);
    Ok(())
}

async fn a_step_stays_with_its_own_call_of_a_method_that_waits_for_itself(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("asyncs", &["deep"], json!({})).await?;
    let (thread, _) = editor.stop().await?;
    editor.break_at("asyncs", &[]).await?;
    // The calls inside yield at the very same await, and resume from there first.
    editor.ok("next", json!({ "threadId": thread })).await?;
    let (_, frame) = editor.stop().await?;
    assert_eq!(frame["line"], fixture::line("asyncs", "deep return"));
    let body = editor.ok("evaluate", json!({ "expression": "depth", "frameId": frame["id"] })).await?;
    assert_eq!(body["result"], "2");
    editor.finish().await
}

async fn two_calls_of_a_method_at_once_are_told_apart(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("asyncs", &["many"], json!({})).await?;
    editor.stop().await?;
    editor.break_at("asyncs", &["inner await"]).await?;
    let mut last = 0;
    for _ in 0..2 {
        editor.ok("continue", json!({})).await?;
        (last, _) = editor.stop().await?;
    }
    editor.break_at("asyncs", &[]).await?;
    // The second is stopped at its await now, the first waits there: the step over belongs to the second.
    editor.ok("next", json!({ "threadId": last })).await?;
    let (_, frame) = editor.stop().await?;
    assert_eq!(frame["line"], fixture::line("asyncs", "inner after"));
    let body = editor.ok("evaluate", json!({ "expression": "number", "frameId": frame["id"] })).await?;
    assert_eq!(body["result"], "2");
    editor.finish().await
}

async fn a_step_over_an_await_that_fails_ends_in_the_handler(runtime: Runtime) -> anyhow::Result<()> {
    let tables = [
        steps_from(runtime, "catches", &["next", "next", "next"]).await?,
        steps_from(runtime, "failing", &["next", "next"]).await?,
    ];
    insta::assert_snapshot!("a_step_over_an_await_that_fails_ends_in_the_handler", tables.join("\n\n"));
    Ok(())
}

async fn a_step_walks_through_a_stream(runtime: Runtime) -> anyhow::Result<()> {
    let tables = [
        steps_from(runtime, "item", &["next", "next", "next", "next", "next"]).await?,
        steps_from(runtime, "stream await", &["next"]).await?,
    ];
    insta::assert_snapshot!("a_step_walks_through_a_stream", tables.join("\n\n"));
    Ok(())
}

async fn an_async_lambda_is_stepped_through(runtime: Runtime) -> anyhow::Result<()> {
    let rows = steps_from(runtime, "main lambda", &["stepIn", "next", "next"]).await?;
    insta::assert_snapshot!("an_async_lambda_is_stepped_through", rows);
    Ok(())
}

async fn a_step_is_given_up_at_a_breakpoint_on_the_way(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("asyncs", &["main", "inner after"], json!({})).await?;
    let (thread, _) = editor.stop().await?;
    editor.ok("next", json!({ "threadId": thread })).await?;
    let stopped = editor.event("stopped").await?;
    assert_eq!(stopped["reason"], "breakpoint");
    editor.break_at("asyncs", &[]).await?;
    // Nothing is left of the step: the program runs to its end.
    editor.ok("continue", json!({ "threadId": stopped["threadId"] })).await?;
    let (event, body) = editor.any_event(&["stopped", "exited"]).await?;
    assert_eq!((event.as_str(), &body["exitCode"]), ("exited", &json!(0)));
    editor.finish().await
}
