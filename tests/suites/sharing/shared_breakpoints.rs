//! Breakpoints of several owners: each gets what it requested, sees the others', and no condition gets lost.

use std::collections::HashMap;

use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::child::Subject;
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    three_owners_of_one_line_each_get_their_breakpoint,
    an_agents_breakpoint_that_an_editor_sends_back_stays_the_agents,
    a_breakpoint_that_its_owner_removes_disappears_for_all_clients,
    an_agents_breakpoint_is_taken_back_before_the_end,
    exception_filters_of_a_joiner_take_nothing_away,
    breakpoints_that_were_left_behind_stay_and_can_be_taken_over,
    a_breakpoint_has_its_id_from_before_the_launch,
    values_come_with_the_announced_capabilities_and_changes_are_reported,
}

net8_tests! { three_owners_of_one_line_each_get_their_breakpoint }

/// A first client at the start of `Work` in `tour`, with a clean slate.
async fn launch_to_work(runtime: Runtime, transcript: &Transcript) -> anyhow::Result<(DapClient, i64)> {
    let mut first = DapClient::start("first", runtime, transcript)?;
    first.launch("tour", &["work"], json!({})).await?;
    first.ok("processWriteInput", json!({ "data": "bob\n" })).await?;
    let (thread, _) = first.stop().await?;
    Ok((first, thread))
}

async fn join_session(
    name: &'static str,
    with: &mut DapClient,
    transcript: &Transcript,
) -> anyhow::Result<DapClient> {
    let mut client = DapClient::connect(name, &with.socket().await?, transcript).await?;
    client.join(json!({ "clientID": name, "clientName": name, "supportsInvalidatedEvent": true })).await?;
    client.event("stopped").await?;
    Ok(client)
}

/// A breakpoint in the loop of `tour`, with something more.
fn loop_breakpoint(more: Value) -> Value {
    let mut request = json!({ "line": fixture::line("tour", "loop") });
    if let (Some(request), Some(more)) = (request.as_object_mut(), more.as_object()) {
        request.extend(more.clone());
    }
    request
}

async fn set(client: &mut DapClient, requests: Value) -> anyhow::Result<Value> {
    let source = json!({ "path": fixture::source("tour") });
    let answer = client.ok("setBreakpoints", json!({ "source": source, "breakpoints": requests })).await?;
    Ok(answer["breakpoints"].clone())
}

/// The next stop's breakpoints and the value of `i` there.
async fn stop_in_loop(client: &mut DapClient) -> anyhow::Result<(Value, String)> {
    let stopped = client.event("stopped").await?;
    let stack = client.ok("stackTrace", json!({ "threadId": stopped["threadId"] })).await?;
    let frame = &stack["stackFrames"][0];
    assert_eq!(frame["line"], fixture::line("tour", "loop"));
    let value =
        client.ok("evaluate", json!({ "expression": "i", "frameId": frame["id"], "context": "watch" }));
    Ok((stopped["hitBreakpointIds"].clone(), value.await?["result"].as_str().unwrap_or_default().to_owned()))
}

async fn three_owners_of_one_line_each_get_their_breakpoint(runtime: Runtime) -> anyhow::Result<()> {
    let transcript = Transcript::default();
    let (mut first, thread) = launch_to_work(runtime, &transcript).await?;
    let mut second = join_session("second", &mut first, &transcript).await?;
    let mut third = join_session("third", &mut first, &transcript).await?;
    let one = set(&mut first, json!([loop_breakpoint(json!({ "condition": "i == 1" }))])).await?;
    let two = set(&mut second, json!([loop_breakpoint(json!({ "hitCondition": "4" }))])).await?;
    set(&mut third, json!([loop_breakpoint(json!({ "logMessage": "round {i}" }))])).await?;
    first.ok("continue", json!({ "threadId": thread })).await?;
    assert_eq!(stop_in_loop(&mut first).await?, (json!([one[0]["id"]]), "1".into()));
    first.ok("continue", json!({ "threadId": thread })).await?;
    assert_eq!(stop_in_loop(&mut first).await?, (json!([two[0]["id"]]), "3".into()));
    for client in [&mut second, &mut third] {
        for owner in [&one, &two] {
            assert_eq!(client.next_stop_of_another().await?["hitBreakpointIds"], json!([owner[0]["id"]]));
        }
    }
    second.ok("continue", json!({ "threadId": thread })).await?;
    for client in [&mut first, &mut third] {
        client.event("continued").await?;
        assert_eq!(client.event("exited").await?["exitCode"], 3);
        assert_eq!(client.output[2], "round 0\nround 1\nround 2\nround 3\n");
    }
    third.finish().await?;
    second.finish().await?;
    first.finish().await
}

async fn an_agents_breakpoint_that_an_editor_sends_back_stays_the_agents(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let transcript = Transcript::default();
    let (mut editor, thread) = launch_to_work(runtime, &transcript).await?;
    set(&mut editor, json!([])).await?;
    let mut agent = join_session("agent", &mut editor, &transcript).await?;
    transcript.note("the agent's breakpoint appears in the editor, which sends it back with its own, plain");
    set(&mut agent, json!([loop_breakpoint(json!({ "condition": "i == 2" }))])).await?;
    let shown = editor.breakpoint("new").await?["breakpoint"].clone();
    let after = json!({ "line": fixture::line("tour", "after") });
    let answer = set(&mut editor, json!([after, { "line": shown["line"] }])).await?;
    assert_eq!(answer[1]["id"], shown["id"]);
    transcript.note("its condition still holds");
    editor.ok("continue", json!({ "threadId": thread })).await?;
    assert_eq!(stop_in_loop(&mut editor).await?, (json!([shown["id"]]), "2".into()));
    agent.next_stop_of_another().await?;
    transcript.note("it goes with the agent");
    agent.finish().await?;
    assert_eq!(editor.breakpoint("removed").await?["breakpoint"]["id"], shown["id"]);
    editor.ok("continue", json!({ "threadId": thread })).await?;
    let (_, frame) = editor.stop().await?;
    assert_eq!(frame["line"], after["line"]);
    editor.finish().await?;
    insta::assert_snapshot!(
        "an_agents_breakpoint_that_an_editor_sends_back_stays_the_agents",
        transcript.text()
    );
    Ok(())
}

async fn a_breakpoint_that_its_owner_removes_disappears_for_all_clients(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let transcript = Transcript::default();
    let (mut editor, thread) = launch_to_work(runtime, &transcript).await?;
    let id = editor.ok("sessionInfo", json!({})).await?["id"].clone();
    let mut agent = Agent::start("agent", runtime, &Transcript::default()).await?;
    agent.call("debug_sessions", json!({ "select": id })).await?;
    let file = fixture::source("tour");
    let request = json!({ "sourceFile": file, "line": fixture::line("tour", "loop"), "condition": "i == 2" });
    agent.call("debug_set_breakpoint", request).await?;
    let line = editor.breakpoint("new").await?["breakpoint"]["line"].clone();
    let work = json!({ "line": fixture::line("tour", "work") });
    set(&mut editor, json!([work, { "line": line }])).await?;
    // A click on the dot.
    set(&mut editor, json!([work])).await?;
    let list = agent.call("debug_list_breakpoints", json!({})).await?;
    assert_eq!(list["breakpoints"], json!([]), "{list}");
    // Nor does it come back with the agent's next one.
    let request = json!({ "sourceFile": file, "line": fixture::line("tour", "end") });
    agent.call("debug_set_breakpoint", request).await?;
    editor.ok("continue", json!({ "threadId": thread })).await?;
    let (_, frame) = editor.stop().await?;
    assert_eq!(frame["line"], fixture::line("tour", "end"));
    agent.finish().await?;
    editor.finish().await
}

async fn an_agents_breakpoint_is_taken_back_before_the_end(runtime: Runtime) -> anyhow::Result<()> {
    let transcript = Transcript::default();
    let (mut editor, thread) = launch_to_work(runtime, &transcript).await?;
    let mut agent = join_session("agent", &mut editor, &transcript).await?;
    set(&mut agent, json!([{ "line": fixture::line("tour", "main") }])).await?;
    let shown = editor.breakpoint("new").await?["breakpoint"].clone();
    editor.ok("continue", json!({ "threadId": thread })).await?;
    editor.event("exited").await?;
    // The editor would keep it for its next session.
    assert_eq!(editor.breakpoint("removed").await?["breakpoint"]["id"], shown["id"]);
    editor.event("terminated").await?;
    agent.finish().await?;
    editor.finish().await
}

async fn exception_filters_of_a_joiner_take_nothing_away(runtime: Runtime) -> anyhow::Result<()> {
    let transcript = Transcript::default();
    let mut first = DapClient::start("first", runtime, &transcript)?;
    first.launch("throws", &["throw"], json!({})).await?;
    let (thread, _) = first.stop().await?;
    let mut second = join_session("second", &mut first, &transcript).await?;
    // As VS Code does when it joins: it has none ticked, and no function breakpoints.
    second.ok("setExceptionBreakpoints", json!({ "filters": [] })).await?;
    second.ok("setFunctionBreakpoints", json!({ "breakpoints": [] })).await?;
    let source = json!({ "path": fixture::source("throws") });
    first.ok("setBreakpoints", json!({ "source": source, "breakpoints": [] })).await?;
    first.ok("continue", json!({ "threadId": thread })).await?;
    // No client requested unhandled exceptions explicitly: this is the default of the client that launched.
    assert_eq!(first.event("stopped").await?["reason"], "exception");
    second.finish().await?;
    first.finish().await
}

async fn breakpoints_that_were_left_behind_stay_and_can_be_taken_over(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let transcript = Transcript::default();
    let (mut first, thread) = launch_to_work(runtime, &transcript).await?;
    let mut second = join_session("second", &mut first, &transcript).await?;
    let requests =
        json!([{ "line": fixture::line("tour", "after") }, { "line": fixture::line("tour", "end") }]);
    set(&mut second, requests.clone()).await?;
    let kept = first.breakpoint("new").await?["breakpoint"]["id"].clone();
    second.ok("disconnect", json!({ "keepBreakpoints": true })).await?;
    first.ok("continue", json!({ "threadId": thread })).await?;
    let stopped = first.event("stopped").await?;
    assert_eq!(stopped["hitBreakpointIds"], json!([kept]));
    // The client returns and sets the same again: it owns them now, and they are removed when it leaves.
    let mut again = DapClient::connect("again", &first.socket().await?, &transcript).await?;
    again.ok("initialize", json!({ "clientID": "second" })).await?;
    again.ok("attach", json!({})).await?;
    again.event("initialized").await?;
    assert_eq!(set(&mut again, requests).await?[0]["id"], kept);
    again.ok("configurationDone", json!({})).await?;
    again.finish().await?;
    first.ok("continue", json!({ "threadId": thread })).await?;
    assert_eq!(first.event("exited").await?["exitCode"], 3);
    first.finish().await
}

async fn a_breakpoint_has_its_id_from_before_the_launch(runtime: Runtime) -> anyhow::Result<()> {
    let transcript = Transcript::default();
    let mut editor = DapClient::start("editor", runtime, &transcript)?;
    editor.ok("initialize", json!({ "clientID": "test" })).await?;
    let answer = set(&mut editor, json!([loop_breakpoint(json!({}))])).await?;
    assert_eq!(answer[0]["verified"], false);
    let launch = editor.send("launch", json!({ "program": fixture::program("tour") })).await?;
    editor.event("initialized").await?;
    editor.ok("configurationDone", Value::Null).await?;
    editor.response(launch).await?;
    // The engine learns of it first, then its module is loaded.
    loop {
        let changed = editor.breakpoint("changed").await?["breakpoint"].clone();
        assert_eq!(changed["id"], answer[0]["id"]);
        if changed["verified"] == true {
            break;
        }
    }
    editor.ok("processWriteInput", json!({ "data": "bob\n" })).await?;
    assert_eq!(stop_in_loop(&mut editor).await?, (json!([answer[0]["id"]]), "0".into()));
    editor.finish().await
}

async fn values_come_with_the_announced_capabilities_and_changes_are_reported(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let transcript = Transcript::default();
    let mut first = DapClient::start("first", runtime, &transcript)?;
    first.launch("tour", &["loop"], json!({})).await?;
    first.ok("processWriteInput", json!({ "data": "bob\n" })).await?;
    let (thread, _) = first.stop().await?;
    let mut bare = DapClient::connect("bare", &first.socket().await?, &transcript).await?;
    bare.join(json!({ "clientID": "bare", "supportsVariableType": false, "supportsInvalidatedEvent": true }))
        .await?;
    bare.event("stopped").await?;
    let mut types = Vec::new();
    for client in [&mut first, &mut bare] {
        let stack = client.ok("stackTrace", json!({ "threadId": thread })).await?;
        let frame = stack["stackFrames"][0]["id"].clone();
        let value =
            client.ok("evaluate", json!({ "expression": "i", "frameId": frame, "context": "watch" })).await?;
        types.push(value["type"].clone());
        let scopes = client.ok("scopes", json!({ "frameId": frame })).await?;
        let locals = scopes["scopes"][0]["variablesReference"].clone();
        if client.ok("variables", json!({ "variablesReference": locals })).await?["variables"][0]["type"]
            .is_null()
        {
            continue;
        }
        client
            .ok("setVariable", json!({ "variablesReference": locals, "name": "total", "value": "5" }))
            .await?;
    }
    assert_eq!(types, [json!("int"), Value::Null]);
    assert_eq!(bare.event("invalidated").await?["areas"], json!(["variables"]));
    // A change of the other client's breakpoints is an event, too.
    set(&mut first, json!([])).await?;
    assert_eq!(bare.event("invalidated").await?["areas"], json!(["breakpoints"]));
    bare.finish().await?;
    first.finish().await
}

/// debugpy keeps one breakpoint per line: the hub stops there for every client and evaluates the conditions.
#[tokio::test]
async fn three_owners_of_one_line_each_get_their_breakpoint_in_python() -> anyhow::Result<()> {
    evaluate_expression(Subject::Python, "length == 3").await
}

/// lldb-dap keeps one breakpoint per line too.
#[tokio::test]
async fn three_owners_of_one_line_each_get_their_breakpoint_in_c() -> anyhow::Result<()> {
    evaluate_expression(Subject::Lldb, "length == 3").await
}

async fn evaluate_expression(subject: Subject, condition: &str) -> anyhow::Result<()> {
    let transcript = Transcript::default();
    let mut first = DapClient::start_in("first", HashMap::new(), &transcript)?;
    first.launch_child(subject.launch(), &subject.source(), &[]).await?;
    let socket = first.socket().await?;
    let mut second = DapClient::connect("second", &socket, &transcript).await?;
    second.join(json!({ "clientID": "second" })).await?;
    let mut third = DapClient::connect("third", &socket, &transcript).await?;
    third.join(json!({ "clientID": "third" })).await?;
    let line = subject.line("handle");
    let mut ids = Vec::new();
    for (client, more) in [
        (&mut first, json!({ "line": line, "condition": condition })),
        (&mut second, json!({ "line": line, "hitCondition": "4" })),
        (&mut third, json!({ "line": line, "logMessage": "length {length}" })),
    ] {
        let request = json!({ "source": { "path": subject.source() }, "breakpoints": [more] });
        ids.push(client.ok("setBreakpoints", request).await?["breakpoints"][0]["id"].clone());
    }
    let input = json!({ "data": "a\nbb\nccc\ndddd\neeeee\n", "closeAfter": true });
    first.ok("processWriteInput", input).await?;
    for (id, length) in [(&ids[0], "3"), (&ids[1], "4")] {
        let stopped = first.event("stopped").await?;
        assert_eq!(stopped["hitBreakpointIds"], json!([id]));
        let stack = first.ok("stackTrace", json!({ "threadId": stopped["threadId"] })).await?;
        let frame = &stack["stackFrames"][0];
        let arguments = json!({ "expression": "length", "frameId": frame["id"], "context": "watch" });
        assert_eq!(first.ok("evaluate", arguments).await?["result"], length);
        first.ok("continue", json!({ "threadId": stopped["threadId"] })).await?;
    }
    assert_eq!(first.event("exited").await?["exitCode"], 7);
    for length in 1..=5 {
        assert!(first.output[2].contains(&format!("length {length}\n")), "{:?}", first.output);
    }
    third.finish().await?;
    second.finish().await?;
    first.finish().await
}
