//! What agents may do: `agentAccess` full, readOnly and none, enforced by the hub, whoever launched.

use serde_json::{Value, json};
use tests::client::DapClient;
use tests::fixture::{self, Runtime};
use tests::transcript::Transcript;

stories! {
    an_agent_that_may_nothing_only_learns_that_the_session_exists,
    an_agent_that_is_let_in_later_is_told_everything,
    an_agent_that_launched_rules_its_session,
}

/// `tour` at its loop.
async fn at_the_loop(runtime: Runtime, story: &Transcript, access: &str) -> anyhow::Result<(DapClient, i64)> {
    let mut editor = DapClient::start("editor", runtime, story)?;
    editor.launch("tour", &["loop"], json!({ "agentAccess": access })).await?;
    editor.ok("processWriteInput", json!({ "data": "bob\n" })).await?;
    let (thread, _) = editor.stop().await?;
    Ok((editor, thread))
}

async fn an_agent_that_may_nothing_only_learns_that_the_session_exists(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let story = Transcript::default();
    let (mut editor, thread) = at_the_loop(runtime, &story, "none").await?;
    let mut agent = DapClient::connect("agent", &editor.socket().await?, &story).await?;
    agent.join(json!({ "clientID": "tandem-mcp", "clientName": "robot" })).await?;
    for (command, arguments) in [
        ("threads", json!({})),
        ("stackTrace", json!({ "threadId": thread })),
        ("processReadOutput", json!({})),
        ("continue", json!({ "threadId": thread })),
        ("restart", json!({})),
        ("terminate", json!({})),
        ("setBreakpoints", json!({ "source": { "path": "/x.cs" } })),
        ("inventedCommand", json!({})),
        ("sessionControl", json!({})),
    ] {
        assert_eq!(agent.refused(command, arguments).await?, "ACCESS_DENIED", "{command}");
    }
    let info = agent.ok("sessionInfo", json!({})).await?;
    assert_eq!((&info["state"], &info["agentAccess"]), (&json!("stopped"), &json!("none")));
    for hidden in ["place", "process", "clients", "reason"] {
        assert_eq!(info[hidden], Value::Null, "{hidden}");
    }
    editor.break_at("tour", &[]).await?;
    editor.ok("continue", json!({ "threadId": thread })).await?;
    editor.event("terminated").await?;
    // That it is over is all it hears: no stop, no process, not a word of output.
    agent.event("exited").await?;
    agent.event("terminated").await?;
    assert_eq!(agent.output.concat(), "");
    assert_eq!(agent.unclaimed(), Vec::<String>::new());
    agent.finish().await?;
    editor.finish().await
}

async fn an_agent_that_is_let_in_later_is_told_everything(runtime: Runtime) -> anyhow::Result<()> {
    let story = Transcript::default();
    let (mut editor, thread) = at_the_loop(runtime, &story, "none").await?;
    let mut agent = DapClient::connect("agent", &editor.socket().await?, &story).await?;
    agent.join(json!({ "clientID": "tandem-mcp", "clientName": "robot" })).await?;
    agent.ok("sessionInfo", json!({ "subscribe": true })).await?;
    for access in ["none", "readOnly", "full"] {
        editor.ok("sessionControl", json!({ "agentAccess": access })).await?;
    }
    // All are told of each change, and the agent is brought to where the others are, once.
    assert_eq!(agent.event("sessionChanged").await?["agentAccess"], "readOnly");
    assert_eq!(agent.event("sessionChanged").await?["agentAccess"], "full");
    let (same, _) = agent.stop().await?;
    assert_eq!(same, thread);
    assert_eq!(agent.output[0], "welcome\nname? ");
    agent.ok("evaluate", json!({ "expression": "1" })).await?;
    editor.ok("sessionControl", json!({ "agentAccess": "readOnly" })).await?;
    assert_eq!(agent.refused("evaluate", json!({ "expression": "1" })).await?, "ACCESS_DENIED");
    agent.ok("processReadOutput", json!({ "stream": "stderr" })).await?;
    editor.ok("sessionControl", json!({ "agentAccess": "none" })).await?;
    assert_eq!(agent.refused("threads", json!({})).await?, "ACCESS_DENIED");
    editor.break_at("tour", &[]).await?;
    editor.ok("continue", json!({ "threadId": thread })).await?;
    editor.event("terminated").await?;
    agent.event("terminated").await?;
    assert_eq!(agent.output[0], "welcome\nname? ");
    agent.finish().await?;
    editor.finish().await?;
    insta::assert_snapshot!("an_agent_that_is_let_in_later_is_told_everything", story.text());
    Ok(())
}

async fn an_agent_that_launched_rules_its_session(runtime: Runtime) -> anyhow::Result<()> {
    let story = Transcript::default();
    let mut agent = DapClient::start("agent", runtime, &story)?;
    agent.ok("initialize", json!({ "clientID": "tandem-mcp", "clientName": "robot" })).await?;
    // Whoever launches is not bound by what it says of others.
    let program = json!({ "program": fixture::program("echo"), "agentAccess": "readOnly" });
    let launch = agent.send("launch", program).await?;
    agent.event("initialized").await?;
    agent.ok("configurationDone", json!({})).await?;
    anyhow::ensure!(agent.response(launch).await?.success);
    let socket = agent.socket().await?;
    let mut other = DapClient::connect("other", &socket, &story).await?;
    other.join(json!({ "clientID": "tandem-mcp", "clientName": "second robot" })).await?;
    let mut editor = DapClient::connect("editor", &socket, &story).await?;
    editor.join(json!({ "clientID": "vscode" })).await?;
    agent.ok("processWriteInput", json!({ "data": "one\n" })).await?;
    assert_eq!(other.refused("processWriteInput", json!({ "data": "two\n" })).await?, "ACCESS_DENIED");
    // A person is no agent; only who launched decides about agents.
    editor.ok("processWriteInput", json!({ "data": "three\n" })).await?;
    assert_eq!(editor.refused("sessionControl", json!({ "agentAccess": "full" })).await?, "ACCESS_DENIED");
    agent.ok("sessionControl", json!({ "agentAccess": "full" })).await?;
    other.ok("processWriteInput", json!({ "data": "four\n" })).await?;
    other.finish().await?;
    editor.finish().await?;
    agent.finish().await
}
