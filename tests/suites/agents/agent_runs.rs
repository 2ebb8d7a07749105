//! Agents that run a program which other clients look at too: restarts, stops that were not reported to them,
//! sources named by a part of their path.

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    a_restart_keeps_the_session_with_its_clients_and_breakpoints,
    an_agent_restarts_the_program_of_an_editor,
    a_stop_the_agent_does_not_know_is_reported_before_the_program_resumes,
    a_source_is_found_by_the_end_of_its_path,
}

net10_tests! {
    a_web_server_is_launched_until_it_listens,
}

net8_tests! {
    a_restart_keeps_the_session_with_its_clients_and_breakpoints,
    a_stop_the_agent_does_not_know_is_reported_before_the_program_resumes,
}

fn silent() -> Transcript {
    Transcript::default()
}

async fn join_session(runtime: Runtime, editor: &mut DapClient) -> anyhow::Result<Agent> {
    let id = editor.ok("sessionInfo", json!({})).await?["id"].clone();
    let mut agent = Agent::start("agent", runtime, &silent()).await?;
    agent.call("debug_sessions", json!({ "select": id })).await?;
    Ok(agent)
}

async fn a_restart_keeps_the_session_with_its_clients_and_breakpoints(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let mut agent = Agent::start("agent", runtime, &silent()).await?;
    let own = json!({ "sourceFile": fixture::source("tour"), "text": "total = Add(total, i);",
        "condition": "i == 3" });
    let launched = agent
        .call("debug_launch", json!({ "program": fixture::program("tour"), "breakpoints": [own] }))
        .await?;
    let id = launched["session"].as_str().context("no session")?;
    let socket = fixture::session_socket(id);
    let mut editor = DapClient::connect("editor", &socket, &silent()).await?;
    editor.join(json!({ "clientID": "test", "clientName": "editor" })).await?;
    editor.event("stopped").await?;
    editor.break_at("tour", &["after"]).await?;

    // The restart ignores the state of the old program, which waits for input.
    let result = agent.call("debug_continue", json!({})).await?;
    assert_eq!(result["event"]["type"], "waitingForInput", "{result}");
    let again = agent.call("debug_restart", json!({})).await?;
    assert_eq!((&again["how"], &again["session"]), (&json!("restart"), &json!(id)), "{again}");
    assert_eq!((&again["state"], &again["event"]["reason"]), (&json!("stopped"), &json!("entry")));
    assert_ne!(again["pid"], launched["pid"]);
    assert_eq!(again["breakpoints"][0]["verified"], true, "{again}");
    editor.next_stop_of_another().await?;
    // Once more, and past the entry. The new program asks for input as the old one did.
    let result = agent.call("debug_restart", json!({ "run": true })).await?;
    assert_eq!(result["event"]["type"], "waitingForInput", "{result}");
    agent.call("process_write_input", json!({ "data": "bob\n" })).await?;
    let hit = agent.call("debug_wait", json!({})).await?;
    assert_eq!(hit["event"]["breakpointId"], launched["breakpoints"][0]["id"], "{hit}");
    editor.next_stop_of_another().await?;
    let hit = agent.call("debug_continue", json!({})).await?;
    assert_eq!(
        (&hit["event"]["byOther"], &hit["event"]["line"]),
        (&json!(true), &json!(fixture::line("tour", "after")))
    );
    editor.next_stop_of_another().await?;
    let ended = agent.call("debug_continue", json!({})).await?;
    assert_eq!(ended["state"], "exited");
    editor.event("continued").await?;

    // A program that has ended takes its session along: a new one.
    let new = agent.call("debug_restart", json!({})).await?;
    assert_eq!((&new["how"], &new["event"]["reason"]), (&json!("newSession"), &json!("entry")), "{new}");
    assert_ne!(new["session"], json!(id));
    agent.finish().await?;
    editor.finish().await
}

async fn a_web_server_is_launched_until_it_listens(runtime: Runtime) -> anyhow::Result<()> {
    let mut agent = Agent::start("agent", runtime, &silent()).await?;
    let program = fixture::modern_program("host");
    let up = agent.call("debug_launch", json!({ "program": program, "run": true })).await?;
    let event = &up["event"];
    assert_eq!((&up["state"], &event["type"]), (&json!("running"), &json!("listening")), "{up}");
    let url = event["urls"][0].as_str().context("no address")?.to_owned();
    let address = url.strip_prefix("http://").context("another scheme")?;
    tokio::net::TcpStream::connect(address).await?;
    assert!(event["output"]["stdout"].as_str().is_some_and(|text| text.contains(&url)), "{up}");
    // It is reported once; then only what happens next is news.
    let later = agent.call("debug_wait", json!({ "timeoutMs": 2500 })).await?;
    assert_eq!(later["pending"], true, "{later}");

    // Stops and the awaited output are reported as usual; the address is included as well.
    let marked = json!({ "sourceFile": fixture::modern_source("host"), "line": fixture::modern_line("host",
        "saving") });
    let arguments =
        json!({ "program": program, "breakpoints": [marked], "waitFor": "Application started.*" });
    let waited = agent.call("debug_launch", arguments).await?;
    assert_eq!(waited["event"]["type"], "output", "{waited}");
    assert!(waited["urls"][0].as_str().is_some_and(|url| url.starts_with("http://127.0.0.1:")), "{waited}");
    agent.finish().await
}

async fn an_agent_restarts_the_program_of_an_editor(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &silent())?;
    editor.launch("tour", &["main"], json!({})).await?;
    editor.stop().await?;
    let mut agent = join_session(runtime, &mut editor).await?;
    let again = agent.call("debug_restart", json!({})).await?;
    assert_eq!((&again["how"], &again["event"]["byOther"]), (&json!("restart"), &json!(true)), "{again}");
    assert_eq!(again["event"]["line"], fixture::line("tour", "main"));
    editor.event("continued").await?;
    editor.stop().await?;
    agent.finish().await?;
    editor.finish().await
}

async fn a_stop_the_agent_does_not_know_is_reported_before_the_program_resumes(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &silent())?;
    editor.launch("tour", &["main"], json!({})).await?;
    let (thread, _) = editor.stop().await?;
    let mut agent = join_session(runtime, &mut editor).await?;
    agent.call("process_write_input", json!({ "data": "bob\n" })).await?;
    let main = fixture::line("tour", "main");

    // The editor steps before the agent does: the agent's step is answered with the new location, and nothing
    // runs.
    step_in_the_editor(&mut editor, &mut agent, thread).await?;
    let result = agent.call("debug_step_over", json!({})).await?;
    assert_eq!(
        (&result["event"]["unseen"], &result["event"]["line"]),
        (&json!(true), &json!(main + 1)),
        "{result}"
    );
    assert_eq!(result["event"]["resumedBy"], "editor");
    // Never twice in a row, even if the editor steps again in between: a repeated request is carried out.
    step_in_the_editor(&mut editor, &mut agent, thread).await?;
    let stepped = agent.call("debug_step_over", json!({})).await?;
    assert_eq!(
        (&stepped["event"]["unseen"], &stepped["event"]["line"]),
        (&Value::Null, &json!(main + 3)),
        "{stepped}"
    );
    editor.next_stop_of_another().await?;
    // An agent that has inspected the program knows where it is stopped.
    step_in_the_editor(&mut editor, &mut agent, thread).await?;
    let seen = agent.call("debug_status", json!({})).await?;
    assert_eq!(seen["place"]["line"], main + 4, "{seen}");
    let stepped = agent.call("debug_step_over", json!({})).await?;
    assert_eq!(
        (&stepped["event"]["unseen"], &stepped["event"]["line"]),
        (&Value::Null, &json!(main + 5)),
        "{stepped}"
    );
    editor.next_stop_of_another().await?;
    // The end is also reported once in this way; then there is nothing left to run.
    editor.ok("continue", json!({ "threadId": thread })).await?;
    editor.event("exited").await?;
    agent.call("debug_list_breakpoints", json!({})).await?;
    let ended = agent.call("debug_continue", json!({})).await?;
    assert_eq!((&ended["state"], &ended["event"]["unseen"]), (&json!("exited"), &json!(true)), "{ended}");
    let over = agent.call("debug_continue", json!({})).await?;
    assert_eq!(over["error"]["code"], "NO_SESSION", "{over}");
    agent.finish().await?;
    editor.finish().await
}

/// The editor steps. When this returns, the bridge has received the stop, but the agent has not.
async fn step_in_the_editor(editor: &mut DapClient, agent: &mut Agent, thread: i64) -> anyhow::Result<()> {
    editor.ok("next", json!({ "threadId": thread })).await?;
    editor.event("stopped").await?;
    agent.call("debug_list_breakpoints", json!({})).await?;
    Ok(())
}

async fn a_source_is_found_by_the_end_of_its_path(runtime: Runtime) -> anyhow::Result<()> {
    let mut agent = Agent::start("agent", runtime, &silent()).await?;
    agent.call("debug_launch", json!({ "program": fixture::program("tour") })).await?;
    let full = fixture::source("tour");
    let set = agent
        .call("debug_set_breakpoint", json!({ "file": "tour/Program.cs", "text": "int sum = left + right;" }))
        .await?;
    assert_eq!((&set["file"], &set["verified"]), (&json!(full), &json!(true)), "{set}");
    let read =
        agent.call("debug_source", json!({ "sourceFile": "Program.cs", "line": 1, "count": 1 })).await?;
    assert_eq!(read["file"], json!(full), "{read}");
    // The path is unknown: it stays unchanged and does not bind.
    let unknown = agent.call("debug_set_breakpoint", json!({ "file": "nope/Nothing.cs", "line": 3 })).await?;
    assert_eq!(unknown["verified"], false, "{unknown}");
    let unreadable = agent.call("debug_set_breakpoint", json!({ "file": "Nothing.cs", "text": "x" })).await?;
    assert_eq!(unreadable["error"]["code"], "INVALID_PARAMETER", "{unreadable}");
    let reached = agent.call("debug_run_to", json!({ "file": "Program.cs", "text": "// BP read" })).await?;
    assert_eq!(reached["event"]["line"], fixture::line("tour", "read"), "{reached}");
    agent.finish().await
}
