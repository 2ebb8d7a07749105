//! Agents' access to a session: the hub enforces `agentAccess` full, readOnly and none, whichever client
//! launched.

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    an_agent_without_access_learns_only_that_the_session_exists,
    an_agent_that_is_allowed_later_receives_everything,
    an_agent_that_launched_owns_its_session,
    an_agents_actions_are_labelled_with_its_name,
    the_default_is_what_the_adapter_was_started_with,
}

net8_tests! { an_agents_actions_are_labelled_with_its_name }

/// Stops `tour` in its loop; returns the editor and the thread.
async fn stop_at_loop(
    runtime: Runtime,
    transcript: &Transcript,
    access: &str,
) -> anyhow::Result<(DapClient, i64)> {
    let mut editor = DapClient::start("editor", runtime, transcript)?;
    editor.launch("tour", &["loop"], json!({ "agentAccess": access })).await?;
    editor.ok("processWriteInput", json!({ "data": "bob\n" })).await?;
    let (thread, _) = editor.stop().await?;
    Ok((editor, thread))
}

async fn an_agent_without_access_learns_only_that_the_session_exists(runtime: Runtime) -> anyhow::Result<()> {
    let transcript = Transcript::default();
    let (mut editor, thread) = stop_at_loop(runtime, &transcript, "none").await?;
    let mut agent = DapClient::connect("agent", &editor.socket().await?, &transcript).await?;
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
    // It is notified only of the end: no stop, no process, no output.
    agent.event("exited").await?;
    agent.event("terminated").await?;
    assert_eq!(agent.output.concat(), "");
    assert_eq!(agent.unclaimed_messages(), Vec::<String>::new());
    agent.finish().await?;
    editor.finish().await
}

async fn an_agent_that_is_allowed_later_receives_everything(runtime: Runtime) -> anyhow::Result<()> {
    let transcript = Transcript::default();
    let (mut editor, thread) = stop_at_loop(runtime, &transcript, "none").await?;
    let mut agent = DapClient::connect("agent", &editor.socket().await?, &transcript).await?;
    agent.join(json!({ "clientID": "tandem-mcp", "clientName": "robot" })).await?;
    agent.ok("sessionInfo", json!({ "subscribe": true })).await?;
    for access in ["none", "readOnly", "full"] {
        editor.ok("sessionControl", json!({ "agentAccess": access })).await?;
    }
    // All clients are notified of each change, and the agent gets the current state once.
    assert_eq!(agent.event("sessionChanged").await?["agentAccess"], "readOnly");
    assert_eq!(agent.event("sessionChanged").await?["agentAccess"], "full");
    let (same, _) = agent.stop().await?;
    assert_eq!(same, thread);
    assert_eq!(agent.output[0], "welcome\nname? ");
    agent.ok("evaluate", json!({ "expression": "1" })).await?;
    editor.ok("sessionControl", json!({ "agentAccess": "readOnly" })).await?;
    agent.ok("evaluate", json!({ "expression": "1" })).await?;
    assert_eq!(agent.refused("evaluate", json!({ "expression": "Add(1, 2)" })).await?, "ACCESS_DENIED");
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
    insta::assert_snapshot!("an_agent_that_is_allowed_later_receives_everything", transcript.text());
    Ok(())
}

async fn an_agent_that_launched_owns_its_session(runtime: Runtime) -> anyhow::Result<()> {
    let transcript = Transcript::default();
    let mut agent = DapClient::start("agent", runtime, &transcript)?;
    agent.ok("initialize", json!({ "clientID": "tandem-mcp", "clientName": "robot" })).await?;
    // The client that launches is not bound by the access that it sets for others.
    let program = json!({ "program": fixture::program("echo"), "agentAccess": "readOnly" });
    let launch = agent.send("launch", program).await?;
    agent.event("initialized").await?;
    agent.ok("configurationDone", json!({})).await?;
    anyhow::ensure!(agent.response(launch).await?.success);
    let socket = agent.socket().await?;
    let mut other = DapClient::connect("other", &socket, &transcript).await?;
    other.join(json!({ "clientID": "tandem-mcp", "clientName": "second robot" })).await?;
    let mut editor = DapClient::connect("editor", &socket, &transcript).await?;
    editor.join(json!({ "clientID": "vscode" })).await?;
    agent.ok("processWriteInput", json!({ "data": "one\n" })).await?;
    assert_eq!(other.refused("processWriteInput", json!({ "data": "two\n" })).await?, "ACCESS_DENIED");
    // A person is not an agent, and an agent that joined changes nothing.
    editor.ok("processWriteInput", json!({ "data": "three\n" })).await?;
    assert_eq!(other.refused("sessionControl", json!({ "agentAccess": "full" })).await?, "ACCESS_DENIED");
    agent.ok("sessionControl", json!({ "agentAccess": "full" })).await?;
    other.ok("processWriteInput", json!({ "data": "four\n" })).await?;
    // Only users and the client that launched may allow fetching, even if agents may do everything else.
    let fetch = json!({ "sourceLinkOptions": { "*": { "enabled": true } } });
    assert_eq!(other.refused("setSourceLinkOptions", fetch.clone()).await?, "ACCESS_DENIED");
    for client in [&mut agent, &mut editor] {
        client.ok("setSourceLinkOptions", fetch.clone()).await?;
    }
    other.finish().await?;
    // A person in the session limits also the agent that launched, which may not free itself.
    assert_eq!(editor.refused("sessionControl", json!({ "handOver": true })).await?, "ACCESS_DENIED");
    for access in ["readOnly", "none"] {
        editor.ok("sessionControl", json!({ "agentAccess": access })).await?;
        assert_eq!(agent.refused("processWriteInput", json!({ "data": "five\n" })).await?, "ACCESS_DENIED");
        assert_eq!(agent.refused("sessionControl", json!({ "agentAccess": "full" })).await?, "ACCESS_DENIED");
    }
    editor.ok("sessionControl", json!({ "agentAccess": "full" })).await?;
    agent.ok("processWriteInput", json!({ "data": "six\n" })).await?;
    assert_eq!(agent.refused("sessionControl", json!({ "agentAccess": "none" })).await?, "ACCESS_DENIED");
    editor.finish().await?;
    agent.finish().await
}

async fn an_agents_actions_are_labelled_with_its_name(runtime: Runtime) -> anyhow::Result<()> {
    let transcript = Transcript::default();
    let (mut editor, thread) = stop_at_loop(runtime, &transcript, "full").await?;
    editor.ok("sessionInfo", json!({ "subscribe": true })).await?;
    let socket = editor.socket().await?;
    // An editor that does not subscribe gets a line on the debug console.
    let mut plain = DapClient::connect("plain", &socket, &transcript).await?;
    plain.join(json!({ "clientID": "helix" })).await?;
    plain.stop().await?;
    let mut agent = DapClient::connect("agent", &socket, &transcript).await?;
    agent.join(json!({ "clientID": "tandem-mcp", "clientName": "robot" })).await?;
    agent.ok("sessionInfo", json!({ "subscribe": true })).await?;
    let (_, frame) = agent.stop().await?;
    agent.break_at("tour", &["loop", "main"]).await?;
    agent.break_at("tour", &["main"]).await?;
    let scopes = agent.ok("scopes", json!({ "frameId": frame["id"] })).await?;
    let locals = &scopes["scopes"][0]["variablesReference"];
    let set = json!({ "variablesReference": locals, "name": "rounds", "value": "1 + 1" });
    assert_eq!(agent.ok("setVariable", set).await?["value"], "2");
    let expression = json!({ "expression": "total = 5", "context": "watch" });
    agent.ask("evaluate", expression).await?;
    agent.ok("processWriteInput", json!({ "data": "more\n" })).await?;
    editor.ok("processWriteInput", json!({ "data": "secret\n" })).await?;
    editor.ok("sessionControl", json!({ "agentAccess": "readOnly" })).await?;
    for _ in 0..3 {
        assert_eq!(agent.refused("continue", json!({ "threadId": thread })).await?, "ACCESS_DENIED");
    }
    // Agents learn only the length of what a person typed.
    let typed = loop {
        let change = agent.event("sessionChanged").await?;
        if change["change"] == "input" && change["kind"] == "editor" {
            break change;
        }
    };
    assert_eq!((&typed["bytes"], &typed["text"]), (&json!(7), &Value::Null));
    agent.finish().await?;

    let mut log = Vec::new();
    while log.last().is_none_or(|last: &Value| last["change"] != "left") {
        log.push(editor.event("sessionChanged").await?);
    }
    let changes: Vec<_> = log.iter().filter_map(|entry| entry["change"].as_str()).collect();
    assert_eq!(
        changes,
        [
            "joined",
            "joined",
            "breakpoints",
            "breakpoints",
            "valueSet",
            "evaluated",
            "input",
            "input",
            "agentAccess",
            "refused",
            "left"
        ],
        "{log:?}"
    );
    let (first, second) = (&log[2], &log[3]);
    assert_eq!((&first["client"], &first["kind"]), (&json!("robot"), &json!("agent")));
    assert_eq!(first["added"].as_array().map(Vec::len), Some(2));
    assert_eq!(second["removed"][0]["line"], fixture::line("tour", "loop"));
    assert_eq!(second["removed"][0]["file"], fixture::source("tour"));
    let set = &log[4];
    assert_eq!(
        (&set["client"], &set["name"], &set["value"]),
        (&json!("robot"), &json!("rounds"), &json!("1 + 1"))
    );
    assert_eq!(log[5]["expression"], "total = 5");
    assert_eq!((&log[6]["text"], &log[6]["bytes"]), (&json!("more\n"), &json!(5)));
    assert_eq!((&log[9]["command"], &log[9]["access"]), (&json!("continue"), &json!("readOnly")));
    plain.ok("threads", json!({})).await?;
    let noted = &plain.output[2];
    assert!(noted.contains("robot (an agent) joined this session; it may control the program"), "{noted}");
    assert!(noted.contains("robot was refused `continue`"), "{noted}");
    plain.finish().await?;
    editor.finish().await
}

async fn the_default_is_what_the_adapter_was_started_with(runtime: Runtime) -> anyhow::Result<()> {
    let transcript = Transcript::default();
    let environment = runtime.environment().context("no runtime")?;
    let mut editor =
        DapClient::start_with("editor", &["--agent-access", "none"], environment.clone(), &transcript)?;
    editor.launch("echo", &[], json!({})).await?;
    assert_eq!(editor.ok("sessionInfo", json!({})).await?["agentAccess"], "none");
    editor.finish().await?;
    // The launch takes precedence over the flag. An unsupported value is refused by name.
    let mut editor = DapClient::start_with("editor", &["--agent-access", "none"], environment, &transcript)?;
    editor.ok("initialize", json!({ "clientID": "test" })).await?;
    let asking = json!({ "program": fixture::program("echo"), "agentAccess": "ask" });
    let refused = editor.ask("launch", asking).await?;
    assert!(!refused.success && refused.body.to_string().contains("not offered yet"), "{}", refused.body);
    let launch = json!({ "program": fixture::program("echo"), "agentAccess": "full" });
    let launch = editor.send("launch", launch).await?;
    editor.initialized(launch).await?;
    editor.ok("configurationDone", json!({})).await?;
    anyhow::ensure!(editor.response(launch).await?.success);
    assert_eq!(editor.ok("sessionInfo", json!({})).await?["agentAccess"], "full");
    editor.finish().await
}
