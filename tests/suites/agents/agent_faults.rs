//! Adapters that die, hang, send nonsense or lie: the bridge answers each call with a reason, and keeps
//! working.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::deadline::deadline;
use tandem_harness::fixture;
use tandem_harness::transcript::Transcript;

/// An agent whose sessions use the failing adapter; the file has the requests that it got.
async fn agent_with(fault: &str) -> anyhow::Result<(Agent, tempfile::TempDir, PathBuf)> {
    let folder = tempfile::tempdir()?;
    let log = folder.path().join("requests.log");
    let adapter = fixture::root().join("fixtures/adapters/failing.py");
    let mut command = tokio::process::Command::new(fixture::binary("tandem-mcp"));
    command.arg("--adapter").arg(adapter).env("TANDEM_FAULT", fault).env("TANDEM_ASKED", &log);
    let agent = Agent::spawn("agent", command, &Transcript::default()).await?;
    Ok((agent, folder, log))
}

async fn launch_program(fault: &str) -> anyhow::Result<(Agent, tempfile::TempDir, PathBuf)> {
    let (mut agent, folder, log) = agent_with(fault).await?;
    let answer = agent.call("debug_launch", json!({ "program": "/some/program" })).await?;
    anyhow::ensure!(answer["state"] == "stopped", "{answer}");
    Ok((agent, folder, log))
}

fn code(answer: &Value) -> &str {
    answer["error"]["code"].as_str().unwrap_or_default()
}

async fn wait_for_request(file: &Path, command: &str) -> anyhow::Result<()> {
    let end = Instant::now() + deadline(20);
    while !std::fs::read_to_string(file)?.lines().any(|line| line == command) {
        anyhow::ensure!(Instant::now() < end, "the adapter received no `{command}` request");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}

#[tokio::test]
async fn an_adapter_that_dies_before_the_launch_is_a_failed_launch() -> anyhow::Result<()> {
    for command in ["initialize", "launch", "configurationDone"] {
        let (mut agent, _folder, _) = agent_with(&format!("die {command}")).await?;
        let answer = agent.call("debug_launch", json!({ "program": "/some/program" })).await?;
        assert_eq!(code(&answer), "ENGINE_FAILED", "{command}: {answer}");
        let status = agent.call("debug_status", json!({})).await?;
        assert_eq!(status["state"], "idle");
        agent.finish().await?;
    }
    Ok(())
}

#[tokio::test]
async fn an_adapter_that_dies_in_a_run_ends_the_session_and_the_next_one_starts() -> anyhow::Result<()> {
    let (mut agent, _folder, _) = launch_program("die continue").await?;
    let answer = agent.call("debug_continue", json!({})).await?;
    assert_eq!(code(&answer), "ENGINE_FAILED", "{answer}");
    let waited = agent.call("debug_wait", json!({})).await?;
    assert_eq!(waited["state"], "exited");
    let message = waited["event"]["message"].as_str().context("it does not say why")?;
    assert!(message.contains("went away"), "{message}");
    let looked = agent.call("debug_variables", json!({})).await?;
    assert_eq!(code(&looked), "NO_SESSION", "{looked}");
    let again = agent.call("debug_restart", json!({})).await?;
    assert_eq!(again["state"], "stopped", "{again}");
    agent.finish().await
}

#[tokio::test]
async fn a_call_that_hangs_can_be_cancelled_and_the_adapter_is_notified() -> anyhow::Result<()> {
    let (mut agent, _folder, log) = launch_program("hang evaluate").await?;
    let hanging = agent.start_call("debug_evaluate", json!({ "expression": "one" })).await?;
    wait_for_request(&log, "evaluate").await?;
    // Other requests are served at the same time.
    let threads = agent.call("debug_threads", json!({})).await?;
    assert_eq!(threads["threads"][0]["name"], "main");
    agent.notify("notifications/cancelled", json!({ "requestId": hanging, "reason": "enough" })).await?;
    wait_for_request(&log, "cancel").await?;
    let variables = agent.call("debug_variables", json!({})).await?;
    assert_eq!(variables["variables"][0]["name"], "one");
    // Nor does one that nobody cancels keep the agent from leaving.
    let hanging = agent.start_call("debug_evaluate", json!({ "expression": "one" })).await?;
    let leaving = agent.start_call("debug_disconnect", json!({})).await?;
    let mut answers = HashMap::new();
    while answers.len() < 2 {
        let mut message = agent.message().await?;
        if let Some(id) = message["id"].as_i64() {
            answers.insert(id, message["result"]["structuredContent"].take());
        }
    }
    assert_eq!(code(&answers[&hanging]), "CANCELLED", "{answers:?}");
    assert_eq!(answers[&leaving]["state"], "idle", "{answers:?}");
    agent.finish().await
}

#[tokio::test]
async fn malformed_messages_are_errors_and_do_not_end_the_bridge() -> anyhow::Result<()> {
    let (mut agent, _folder, _) = launch_program("garbage evaluate").await?;
    let answer = agent.call("debug_evaluate", json!({ "expression": "one" })).await?;
    assert_eq!(code(&answer), "ENGINE_FAILED", "{answer}");
    let status = agent.call("debug_status", json!({})).await?;
    assert_eq!(status["state"], "exited", "{status}");
    agent.finish().await
}

#[tokio::test]
async fn malformed_bodies_do_not_crash_the_host() -> anyhow::Result<()> {
    for command in ["stackTrace", "scopes", "variables", "evaluate", "threads"] {
        let (mut agent, _folder, _) = launch_program(&format!("lie {command}")).await?;
        for tool in
            ["debug_stacktrace", "debug_variables", "debug_snapshot", "debug_threads", "debug_modules"]
        {
            let answer = agent.call(tool, json!({})).await?;
            anyhow::ensure!(answer["success"].is_boolean(), "{command}, {tool}: {answer}");
        }
        agent.call("debug_evaluate", json!({ "expressions": ["one"] })).await?;
        let status = agent.call("debug_status", json!({})).await?;
        assert_eq!(status["state"], "stopped");
        agent.finish().await?;
    }
    Ok(())
}
