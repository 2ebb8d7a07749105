//! A log whose reader does not read: it drops lines that do not fit, and blocks neither program.

use std::collections::HashMap;
use std::process::Stdio;

use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::client::DapClient;
use tandem_harness::fixture;
use tandem_harness::transcript::Transcript;

#[tokio::test]
async fn an_agent_that_does_not_read_the_bridges_stderr_is_served() -> anyhow::Result<()> {
    let mut command = tokio::process::Command::new(fixture::binary("tandem-mcp"));
    command.stderr(Stdio::piped()).args(["--log-level", "debug"]);
    let mut agent = Agent::spawn("agent", command, &Transcript::default()).await?;
    for number in 0..1000 {
        // Each is refused, and the refusal logged.
        agent.rpc("resources/read", json!({ "uri": format!("debug://sessions/none/{number}") })).await?;
    }
    assert_eq!(agent.call("debug_status", json!({})).await?["state"], "idle");
    agent.finish().await
}

/// The adapter sends invalid messages. Each causes a warning on stderr, far more than a pipe holds.
#[tokio::test]
async fn an_editor_that_does_not_read_stderr_is_served_whatever_the_adapter_says() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let request = |command: &str, seq: i64| {
        json!({ "dir": "out", "m": { "type": "request",
        "command": command, "seq": seq } })
    };
    let answer = |command: &str, seq: i64| {
        json!({ "dir": "in", "m": { "type": "response",
        "command": command, "request_seq": seq, "seq": 0, "success": true } })
    };
    let steps = [
        request("initialize", 1),
        answer("initialize", 1),
        request("launch", 2),
        answer("launch", 2),
        json!({ "dir": "in", "m": { "type": "event", "event": "initialized", "seq": 0 } }),
        json!({ "do": "raw", "text": "Content-Length: 3\r\n\r\n{x}".repeat(5000) }),
        json!({ "do": "words", "count": 5000 }),
        json!({ "do": "serve" }),
    ];
    let script = steps.map(|step: Value| step.to_string()).join("\n");
    let path = folder.path().join("script");
    std::fs::write(&path, script)?;
    let mut command = tokio::process::Command::new(fixture::binary("tandem-dap"));
    command.stderr(Stdio::piped()).args(["--log-level", "debug"]);
    let mut editor = DapClient::of("editor", command, &Transcript::default())?;
    let launch = json!({ "program": "/scripted",
        "engine": { "command": fixture::binary("fake_adapter"), "args": [path] } });
    editor.launch_child(launch, folder.path(), &[]).await?;
    for _ in 0..100 {
        editor.ok("threads", json!({})).await?;
    }
    editor.finish().await
}

/// Stderr was closed before the start, so a write to it fails.
#[tokio::test]
async fn tandem_dap_survives_a_closed_stderr() -> anyhow::Result<()> {
    let mut shell = tokio::process::Command::new("sh");
    shell.args(["-c", "exec \"$0\" --log-level debug 2>&-"]).arg(fixture::binary("tandem-dap"));
    let mut editor = DapClient::of("editor", shell, &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test" })).await?;
    assert_eq!(
        editor.refused("launch", json!({ "program": "/no/such/program.dll" })).await?,
        "LAUNCH_FAILED"
    );
    editor.finish().await?;
    let mut refused = DapClient::start_with(
        "editor",
        &["--listen", "not an address"],
        HashMap::new(),
        &Transcript::default(),
    )?;
    assert!(refused.ask("initialize", json!({})).await.is_err());
    Ok(())
}
