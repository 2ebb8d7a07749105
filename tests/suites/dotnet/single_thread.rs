//! `singleThread`: one thread steps or continues, the others stay suspended.

use std::time::Instant;

use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::deadline::deadline;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

/// Time limit for a step to reach its wait, s.
const TIMEOUT_SECS: u64 = 30;

dotnet_tests! {
    one_thread_steps_alone_when_asked,
    a_condition_on_the_way_keeps_the_others_held,
    a_breakpoint_of_another_thread_ends_a_step,
    a_step_that_waits_for_a_held_thread_is_paused,
}

net8_tests! {
    one_thread_steps_alone_when_asked,
    a_breakpoint_of_another_thread_ends_a_step,
}

/// The counter that the other thread counts.
async fn read_counter(editor: &mut DapClient, thread: i64) -> anyhow::Result<Value> {
    let stack = editor.ok("stackTrace", json!({ "threadId": thread, "levels": 1 })).await?;
    let frame = &stack["stackFrames"][0]["id"];
    Ok(editor.ok("evaluate", json!({ "expression": "other", "frameId": frame })).await?["result"].clone())
}

async fn one_thread_steps_alone_when_asked(runtime: Runtime) -> anyhow::Result<()> {
    for alone in [true, false] {
        let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
        editor.launch("frozen", &["sleep"], json!({})).await?;
        let (thread, _) = editor.stop().await?;
        let before = read_counter(&mut editor, thread).await?;
        for _ in 0..2 {
            editor.ok("next", json!({ "threadId": thread, "singleThread": alone })).await?;
            editor.stop().await?;
        }
        // While it stepped alone, no other thread counted.
        let after = read_counter(&mut editor, thread).await?;
        assert_eq!(after == before, alone, "{before} and {after}");
        editor.ok("continue", json!({ "threadId": thread })).await?;
        assert_eq!(editor.event("exited").await?["exitCode"], 0);
        editor.finish().await?;
    }
    Ok(())
}

async fn a_condition_on_the_way_keeps_the_others_held(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("frozen", &["sleep"], json!({})).await?;
    let (thread, _) = editor.stop().await?;
    let before = read_counter(&mut editor, thread).await?;
    let never =
        json!({ "line": fixture::line("frozen", "napping"), "condition": "number.ToString() == \"\"" });
    let source = json!({ "path": fixture::source("frozen") });
    editor.ok("setBreakpoints", json!({ "source": source, "breakpoints": [never] })).await?;
    editor.ok("next", json!({ "threadId": thread, "singleThread": true })).await?;
    editor.stop().await?;
    assert_eq!(read_counter(&mut editor, thread).await?, before);
    editor.finish().await
}

async fn a_breakpoint_of_another_thread_ends_a_step(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("frozen", &["napping"], json!({ "args": ["meet"] })).await?;
    let (thread, _) = editor.stop().await?;
    editor.break_at("frozen", &["other thread"]).await?;
    editor.ok("next", json!({ "threadId": thread })).await?;
    let stopped = editor.event("stopped").await?;
    assert_eq!(stopped["reason"], "breakpoint");
    assert_ne!(stopped["threadId"], thread);
    editor.break_at("frozen", &[]).await?;
    // The first thread can be stepped from its position: it may be in framework code, which it leaves first.
    editor.ok("next", json!({ "threadId": thread })).await?;
    let (now, frame) = editor.stop().await?;
    assert_eq!((now, &frame["line"]), (thread, &json!(fixture::line("frozen", "napping") + 1)));
    editor.finish().await
}

async fn a_step_that_waits_for_a_held_thread_is_paused(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("frozen", &["join"], json!({})).await?;
    let (thread, _) = editor.stop().await?;
    let begin = Instant::now();
    loop {
        editor.ok("next", json!({ "threadId": thread, "singleThread": true })).await?;
        editor.ok("pause", json!({ "threadId": thread })).await?;
        let stopped = editor.event("stopped").await?;
        assert_eq!((&stopped["reason"], &stopped["threadId"]), (&json!("pause"), &json!(thread)));
        let stack = editor.ok("stackTrace", json!({ "threadId": thread })).await?;
        let name = stack["stackFrames"][0]["name"].as_str().unwrap_or_default();
        if name.contains("Thread.Join") {
            break;
        }
        // The pause was faster than the step, which has not reached its wait.
        anyhow::ensure!(begin.elapsed() < deadline(TIMEOUT_SECS), "it never waits: {stack}");
    }
    // When it is resumed, the other one ends, and so does the step.
    editor.ok("next", json!({ "threadId": thread })).await?;
    let (_, frame) = editor.stop().await?;
    assert_eq!(frame["line"], fixture::line("frozen", "end"));
    editor.finish().await
}
