//! Joining at any moment: which messages a late client gets, and in which order.

use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    a_client_that_joins_while_the_program_is_being_started,
    a_client_that_joins_while_the_program_runs,
    a_client_that_joins_at_a_stop,
    a_client_that_joins_after_the_end,
}

net8_tests! {
    a_client_that_joins_at_a_stop,
    a_client_that_joins_while_the_program_runs,
}

/// Process, then threads, then modules, then the rest: as a client would have seen it from the start.
fn assert_order(names: &[String], last: &[&str]) {
    let rank = |name: &str| match name {
        "process" => 0,
        "thread" => 1,
        "module" => 2,
        _ => 3,
    };
    let ranks: Vec<i32> = names.iter().map(|name| rank(name)).collect();
    assert!(ranks.is_sorted(), "{names:?}");
    assert_eq!(names.first().map(String::as_str), Some("process"), "{names:?}");
    for kind in ["thread", "module"].iter().chain(last) {
        assert!(names.iter().any(|name| name == kind), "no {kind} in {names:?}");
    }
}

async fn a_client_that_joins_while_the_program_is_being_started(runtime: Runtime) -> anyhow::Result<()> {
    let transcript = Transcript::default();
    let mut editor = DapClient::start("editor", runtime, &transcript)?;
    editor.ok("initialize", json!({ "clientID": "test", "clientName": "editor" })).await?;
    // Before the launch: later the answer depends on how far the program is.
    let socket = editor.socket().await?;
    let launch = editor.send("launch", json!({ "program": fixture::program("tour") })).await?;
    editor.event("initialized").await?;
    let mut late = DapClient::connect("late", &socket, &transcript).await?;
    late.join(json!({ "clientID": "other", "clientName": "late" })).await?;
    // Nothing runs until the client that launched has configured; the joiner's
    // breakpoints apply from the start.
    late.break_at("tour", &["main"]).await?;
    editor.ok("configurationDone", Value::Null).await?;
    anyhow::ensure!(editor.response(launch).await?.success);
    late.event("process").await?;
    let (thread, frame) = late.stop().await?;
    assert_eq!(frame["line"], fixture::line("tour", "main"));
    editor.event("stopped").await?;
    late.break_at("tour", &[]).await?;
    late.ok("continue", json!({ "threadId": thread })).await?;
    editor.event("continued").await?;
    editor.ok("processWriteInput", json!({ "data": "bob\n" })).await?;
    late.event("exited").await?;
    late.event("terminated").await?;
    late.finish().await?;
    editor.finish().await?;
    insta::assert_snapshot!("a_client_that_joins_while_the_program_is_being_started", transcript.text());
    Ok(())
}

async fn a_client_that_joins_while_the_program_runs(runtime: Runtime) -> anyhow::Result<()> {
    let transcript = Transcript::default();
    let mut editor = DapClient::start("editor", runtime, &transcript)?;
    editor.launch("spin", &[], json!({})).await?;
    editor.ok("processReadOutput", json!({ "stream": "stdout", "waitFor": "beat" })).await?;
    let mut late = DapClient::connect("late", &editor.socket().await?, &transcript).await?;
    late.join(json!({ "clientID": "other", "clientName": "late" })).await?;
    // Any request that is answered after the events about the past.
    late.ok("pause", json!({})).await?;
    late.event("stopped").await?;
    assert_order(&late.unclaimed_messages(), &["output"]);
    assert!(late.output[0].starts_with("beat 0\n"), "{:?}", late.output);
    editor.event("stopped").await?;
    late.finish().await?;
    editor.finish().await
}

async fn a_client_that_joins_at_a_stop(runtime: Runtime) -> anyhow::Result<()> {
    let transcript = Transcript::default();
    let mut editor = DapClient::start("editor", runtime, &transcript)?;
    editor.launch("tour", &["loop"], json!({})).await?;
    editor.ok("processWriteInput", json!({ "data": "bob\n" })).await?;
    let (thread, _) = editor.stop().await?;
    let mut late = DapClient::connect("late", &editor.socket().await?, &transcript).await?;
    late.join(json!({ "clientID": "other", "clientName": "late" })).await?;
    let stopped = late.event("stopped").await?;
    assert_eq!((&stopped["reason"], &stopped["threadId"]), (&json!("breakpoint"), &json!(thread)));
    // The stop is sent last: all earlier messages are waiting.
    assert_order(&late.unclaimed_messages(), &["output", "breakpoint"]);
    assert_eq!(late.output[0], "welcome\nname? ");
    late.finish().await?;
    editor.finish().await
}

async fn a_client_that_joins_after_the_end(runtime: Runtime) -> anyhow::Result<()> {
    let transcript = Transcript::default();
    let mut editor = DapClient::start("editor", runtime, &transcript)?;
    editor.launch("tour", &[], json!({})).await?;
    editor.ok("processWriteInput", json!({ "data": "bob\n" })).await?;
    editor.event("terminated").await?;
    let mut late = DapClient::connect("late", &editor.socket().await?, &transcript).await?;
    late.join(json!({ "clientID": "other", "clientName": "late" })).await?;
    assert_eq!(late.event("exited").await?["exitCode"], 3);
    assert_eq!(late.output[0], "welcome\nname? hello bob: 6\n");
    assert_eq!(late.output[1], "done\n");
    late.event("terminated").await?;
    let read = late.ok("processReadOutput", json!({ "stream": "stderr" })).await?;
    assert_eq!((&read["stderr"], &read["exited"]), (&json!("done\n"), &json!(true)));
    assert_eq!(late.refused("threads", json!({})).await?, "NO_SESSION");
    late.finish().await?;
    editor.finish().await?;
    insta::assert_snapshot!("a_client_that_joins_after_the_end", transcript.text());
    Ok(())
}
