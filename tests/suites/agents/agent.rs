//! An editor and an agent in one session.

use anyhow::Context;
use serde_json::json;
use tandem_harness::agent::Agent;
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! { an_agent_joins_the_editors_session_and_both_steer, an_agent_debugs_alone }

net8_tests! {
    an_agent_joins_the_editors_session_and_both_steer,
    an_agent_debugs_alone,
}

async fn an_agent_joins_the_editors_session_and_both_steer(runtime: Runtime) -> anyhow::Result<()> {
    let transcript = Transcript::default();
    let mut editor = DapClient::start("editor", runtime, &transcript)?;
    editor.launch("tour", &["loop"], json!({})).await?;
    editor.breakpoint("changed").await?;
    let id = editor.ok("sessionInfo", json!({})).await?["id"].clone();
    let mut agent = Agent::start("agent", runtime, &Transcript::default()).await?;
    agent.call("debug_sessions", json!({ "select": id })).await?;

    transcript.note("the agent writes what the program asked for; the editor sees the stop it leads to");
    let waited = agent.call("debug_wait", json!({})).await?;
    anyhow::ensure!(waited["event"]["type"] == "waitingForInput", "{waited}");
    let written = agent.call("process_write_input", json!({ "data": "bob\n" })).await?;
    anyhow::ensure!(written["bytesWritten"] == 4, "{written}");
    let (_, frame) = editor.stop().await?;
    assert_eq!(frame["line"], fixture::line("tour", "loop"));
    let waited = agent.call("debug_wait", json!({})).await?;
    assert_eq!((&waited["state"], &waited["event"]["line"]), (&json!("stopped"), &frame["line"]));

    transcript.note("the agent steps; the editor sees it");
    let stepped = agent.call("debug_step_into", json!({})).await?;
    assert_eq!(stepped["event"]["function"], "Program.Add(int left, int right)");
    editor.event("continued").await?;
    let (thread, frame) = editor.stop().await?;
    assert_eq!(frame["name"], "Program.Add(int left, int right)");

    transcript.note("the agent's breakpoint appears in the editor; the editor clearing its own leaves it");
    let set = agent
        .call(
            "debug_set_breakpoint",
            json!({ "file": fixture::source("tour"), "line": fixture::line("tour", "after") }),
        )
        .await?;
    anyhow::ensure!(set["verified"] == true, "{set}");
    editor.breakpoint("new").await?;
    editor.break_at("tour", &[]).await?;
    editor.ok("continue", json!({ "threadId": thread })).await?;
    let (thread, frame) = editor.stop().await?;
    assert_eq!(frame["line"], fixture::line("tour", "after"));
    let waited = agent.call("debug_wait", json!({})).await?;
    assert_eq!(waited["event"]["breakpointId"], set["id"]);

    transcript.note("both see the end and the output");
    editor.ok("continue", json!({ "threadId": thread })).await?;
    let waited = agent.call("debug_wait", json!({})).await?;
    assert_eq!((&waited["state"], &waited["event"]["exitCode"]), (&json!("exited"), &json!(3)));
    let read = agent.call("process_read_output", json!({ "stream": "stdout" })).await?;
    assert_eq!(read["stdout"], "welcome\nname? hello bob: 6\n");
    editor.event("exited").await?;
    assert_eq!(editor.output[0], "welcome\nname? hello bob: 6\n");
    agent.finish().await?;
    editor.event("terminated").await?;
    editor.finish().await?;
    insta::assert_snapshot!("an_agent_joins_the_editors_session_and_both_steer", transcript.text());
    Ok(())
}

async fn an_agent_debugs_alone(runtime: Runtime) -> anyhow::Result<()> {
    let transcript = Transcript::default();
    let mut agent = Agent::start("agent", runtime, &transcript).await?;
    agent.call("debug_status", json!({})).await?;
    let (file, line) = (fixture::source("tour"), fixture::line("tour", "loop"));
    agent
        .call("debug_set_breakpoint", json!({ "source_file": file, "line": line, "condition": "i == 2" }))
        .await?;
    // Errors have the debugger's own messages.
    let program = json!({ "appDllPath": fixture::program("tour"), "expressionCompiler": "off" });
    agent.call("debug_launch", program).await?;
    agent.call("debug_continue", json!({})).await?;
    agent.call("process_write_input", json!({ "data": "bob\n" })).await?;
    agent.call("debug_wait", json!({})).await?;
    agent.call("debug_evaluate", json!({ "expression": "person" })).await?;
    agent.call("debug_evaluate", json!({ "expression": "person.Nope" })).await?;
    agent.call("debug_step_over", json!({})).await?;
    agent.call("debug_stacktrace", json!({})).await?;
    agent.call("debug_variables", json!({ "path": "words" })).await?;
    agent.call("debug_remove_breakpoint", json!({ "id": 7 })).await?;
    agent.call("debug_continue", json!({})).await?;
    agent.call("debug_step_over", json!({})).await?;
    agent.call("process_read_output", json!({ "stream": "stderr" })).await?;
    agent.call("debug_disconnect", json!({})).await?;
    agent.call("process_read_output", json!({})).await?;
    agent.finish().await?;
    insta::assert_snapshot!("an_agent_debugs_alone", transcript.text());
    Ok(())
}

/// Of the products of set-up only this one has an SDK.
#[tokio::test]
async fn a_build_that_fails_says_where() -> anyhow::Result<()> {
    let copy = fixture::broken_project()?;
    let mut agent = Agent::start("agent", Runtime::Net31, &Transcript::default()).await?;
    let answer = agent.call("debug_launch", json!({ "projectPath": copy.path() })).await?;
    assert_eq!(answer["error"]["code"], "BUILD_FAILED");
    let hint = answer["error"]["hint"].as_str().unwrap_or_default();
    assert!(hint.contains("`diagnostics`") && !hint.contains("Problems"), "{hint}");
    let found = answer["error"]["diagnostics"].as_array().context("no diagnostics")?;
    let places: Vec<_> = found.iter().map(|one| (one["code"].clone(), one["line"].clone())).collect();
    let (one, two) = (fixture::line("broken", "type"), fixture::line("broken", "name"));
    assert_eq!(places, [(json!("CS0029"), json!(one)), (json!("CS0103"), json!(two))]);
    assert_eq!(found[0]["file"], json!(copy.path().join("Program.cs")));
    agent.finish().await
}
