//! Several clients in one session: none breaks another's view, none is notified twice, and a late one knows
//! everything.

use serde_json::json;
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    a_late_client_gets_the_present_state,
    the_second_of_two_resumes_is_refused,
    references_are_each_clients_own,
    agents_may_only_look_when_set_so,
    a_client_that_vanishes_takes_its_breakpoints_with_it,
    a_second_launch_is_refused_and_the_session_lives,
    an_editor_that_can_only_start_adapters_joins_by_the_sessions_name,
}

net8_tests! {
    a_late_client_gets_the_present_state,
    the_second_of_two_resumes_is_refused,
}

async fn a_late_client_gets_the_present_state(runtime: Runtime) -> anyhow::Result<()> {
    let transcript = Transcript::default();
    let mut first = DapClient::start("first", runtime, &transcript)?;
    first.launch("tour", &["loop"], json!({})).await?;
    first.ok("processWriteInput", json!({ "data": "bob\n" })).await?;
    let (thread, _) = first.stop().await?;
    let mut late = DapClient::connect("late", &first.socket().await?, &transcript).await?;
    // Counts from zero and uses URIs, only in its own messages.
    late.join(
        json!({ "clientID": "other", "linesStartAt1": false, "columnsStartAt1": false, "pathFormat": "uri" }),
    )
    .await?;
    let breakpoint = late.event("breakpoint").await?;
    assert_eq!(breakpoint["breakpoint"]["line"], fixture::line("tour", "loop") - 1);
    assert_eq!(breakpoint["breakpoint"]["source"]["path"], format!("file://{}", fixture::source("tour")));
    let (same, frame) = late.stop().await?;
    assert_eq!((same, &frame["line"]), (thread, &json!(fixture::line("tour", "loop") - 1)));
    assert_eq!(late.output[0], "welcome\nname? ");
    late.finish().await?;
    first.ok("continue", json!({ "threadId": thread })).await?;
    first.stop().await?;
    first.finish().await?;
    insta::assert_snapshot!("a_late_client_gets_the_present_state", transcript.text());
    Ok(())
}

/// Two clients at a stop in `tour`.
async fn stop_two_clients(runtime: Runtime) -> anyhow::Result<(DapClient, DapClient, i64)> {
    let transcript = Transcript::default();
    let mut first = DapClient::start("first", runtime, &transcript)?;
    first.launch("tour", &["loop"], json!({})).await?;
    first.ok("processWriteInput", json!({ "data": "bob\n" })).await?;
    let (thread, _) = first.stop().await?;
    let mut second = DapClient::connect("second", &first.socket().await?, &transcript).await?;
    second.join(json!({ "clientID": "other", "clientName": "second" })).await?;
    second.event("stopped").await?;
    Ok((first, second, thread))
}

async fn the_second_of_two_resumes_is_refused(runtime: Runtime) -> anyhow::Result<()> {
    let (mut first, mut second, thread) = stop_two_clients(runtime).await?;
    first.break_at("tour", &[]).await?;
    first.break_at("tour", &["end"]).await?;
    second.break_at("tour", &[]).await?;
    let one = first.send("next", json!({ "threadId": thread })).await?;
    let two = second.send("next", json!({ "threadId": thread })).await?;
    let answers = [first.response(one).await?, second.response(two).await?];
    // The first client resumed it; the other one is notified of that client, or steps too if the
    // first step was already over.
    assert!(answers.iter().any(|answer| answer.success));
    for answer in answers.iter().filter(|answer| !answer.success) {
        assert_eq!(answer.body["error"]["variables"]["code"], "NOT_STOPPED");
    }
    let loser = if answers[0].success { &mut second } else { &mut first };
    loser.event("continued").await?;
    first.event("stopped").await?;
    second.event("stopped").await?;
    second.finish().await?;
    first.finish().await
}

async fn references_are_each_clients_own(runtime: Runtime) -> anyhow::Result<()> {
    let (mut first, mut second, thread) = stop_two_clients(runtime).await?;
    let stack = json!({ "threadId": thread });
    let one = first.ok("stackTrace", stack.clone()).await?["stackFrames"][0]["id"].clone();
    let two = second.ok("stackTrace", stack).await?["stackFrames"][0]["id"].clone();
    assert_ne!(one, two);
    first.ok("scopes", json!({ "frameId": one })).await?;
    second.ok("scopes", json!({ "frameId": two })).await?;
    assert_eq!(second.refused("scopes", json!({ "frameId": one })).await?, "INVALID_PARAMETER");
    first.ok("next", json!({ "threadId": thread })).await?;
    first.event("stopped").await?;
    assert_eq!(first.refused("scopes", json!({ "frameId": one })).await?, "NOT_STOPPED");
    assert_eq!(second.refused("scopes", json!({ "frameId": two })).await?, "NOT_STOPPED");
    second.event("continued").await?;
    second.event("stopped").await?;
    second.finish().await?;
    first.finish().await
}

async fn agents_may_only_look_when_set_so(runtime: Runtime) -> anyhow::Result<()> {
    let transcript = Transcript::default();
    let mut editor = DapClient::start("editor", runtime, &transcript)?;
    editor.launch("tour", &["loop"], json!({ "agentAccess": "readOnly" })).await?;
    editor.ok("processWriteInput", json!({ "data": "bob\n" })).await?;
    let (thread, _) = editor.stop().await?;
    let mut agent = DapClient::connect("agent", &editor.socket().await?, &transcript).await?;
    agent.join(json!({ "clientID": "tandem-mcp" })).await?;
    agent.event("stopped").await?;
    agent.ok("stackTrace", json!({ "threadId": thread })).await?;
    for (command, arguments) in [
        ("continue", json!({ "threadId": thread })),
        ("evaluate", json!({ "expression": "total = 1" })),
        ("processWriteInput", json!({ "data": "x" })),
        ("setBreakpoints", json!({ "source": { "path": "/x.cs" } })),
        ("sessionControl", json!({ "agentAccess": "full" })),
    ] {
        assert_eq!(agent.refused(command, arguments).await?, "ACCESS_DENIED", "{command}");
    }
    editor.ok("sessionControl", json!({ "agentAccess": "full" })).await?;
    agent.ok("next", json!({ "threadId": thread })).await?;
    agent.finish().await?;
    editor.next_stop_of_another().await?;
    editor.finish().await
}

async fn a_client_that_vanishes_takes_its_breakpoints_with_it(runtime: Runtime) -> anyhow::Result<()> {
    let (mut first, mut second, thread) = stop_two_clients(runtime).await?;
    second.break_at("tour", &["after"]).await?;
    first.breakpoint("new").await?;
    // In the middle of a request it will never read the answer of.
    second.send("processReadOutput", json!({ "waitFor": "never", "timeoutMs": 60_000 })).await?;
    drop(second);
    first.breakpoint("removed").await?;
    first.break_at("tour", &[]).await?;
    first.ok("continue", json!({ "threadId": thread })).await?;
    assert_eq!(first.event("exited").await?["exitCode"], 3);
    first.finish().await
}

async fn a_second_launch_is_refused_and_the_session_lives(runtime: Runtime) -> anyhow::Result<()> {
    let (mut first, mut second, thread) = stop_two_clients(runtime).await?;
    for client in [&mut first, &mut second] {
        let again = json!({ "program": fixture::program("tour") });
        assert_eq!(client.refused("launch", again).await?, "ALREADY_ATTACHED");
        client.ok("threads", json!({})).await?;
    }
    second.finish().await?;
    first.ok("next", json!({ "threadId": thread })).await?;
    first.event("stopped").await?;
    first.finish().await
}

async fn an_editor_that_can_only_start_adapters_joins_by_the_sessions_name(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let transcript = Transcript::default();
    let mut first = DapClient::start("first", runtime, &transcript)?;
    first.launch("tour", &["loop"], json!({})).await?;
    first.ok("processWriteInput", json!({ "data": "bob\n" })).await?;
    let (thread, _) = first.stop().await?;
    let id = first.ok("sessionInfo", json!({})).await?["id"].clone();
    let mut second = DapClient::start("second", runtime, &transcript)?;
    second.ok("initialize", json!({ "clientID": "other", "clientName": "second" })).await?;
    assert_eq!(second.refused("attach", json!({ "session": "no-such" })).await?, "NO_SESSION");
    second.ok("attach", json!({ "session": id })).await?;
    second.event("initialized").await?;
    second.ok("configurationDone", json!({})).await?;
    let (same, frame) = second.stop().await?;
    assert_eq!((same, &frame["line"]), (thread, &json!(fixture::line("tour", "loop"))));
    second.ok("next", json!({ "threadId": thread })).await?;
    first.event("continued").await?;
    first.stop().await?;
    second.event("stopped").await?;
    assert_eq!(second.output[0], "welcome\nname? ");
    second.finish().await?;
    first.ok("threads", json!({})).await?;
    first.finish().await
}
