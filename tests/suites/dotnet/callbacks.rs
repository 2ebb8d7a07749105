//! User code that a library calls: steps into it, and steps out of it when no other user code is on the
//! stack.

use serde_json::json;
use tandem_harness::agent::Agent;
use tandem_harness::client::DapClient;
use tandem_harness::deadline::{deadline, deadline_ms};
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    a_step_into_a_call_ends_in_what_the_library_calls_back,
    a_step_into_a_call_ends_in_the_lambda_that_runs_on_another_thread,
    a_step_out_of_what_a_library_runs_ends_where_it_is_awaited_or_nowhere,
    an_agent_learns_at_once_that_a_step_ends_nowhere,
}
net8_tests! {
    a_step_into_a_call_ends_in_what_the_library_calls_back,
    a_step_out_of_what_a_library_runs_ends_where_it_is_awaited_or_nowhere,
}

fn line(marker: &str) -> i64 {
    fixture::line("callbacks", marker)
}

async fn launch_to_marker(runtime: Runtime, marker: &str) -> anyhow::Result<(DapClient, i64)> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("callbacks", &[marker], json!({})).await?;
    let (thread, frame) = editor.stop().await?;
    assert_eq!(frame["line"], line(marker));
    Ok((editor, thread))
}

async fn step(editor: &mut DapClient, command: &str, thread: i64) -> anyhow::Result<(i64, i64)> {
    editor.ok(command, json!({ "threadId": thread })).await?;
    let (thread, frame) = editor.stop().await?;
    Ok((thread, frame["line"].as_i64().unwrap_or_default()))
}

async fn a_step_into_a_call_ends_in_what_the_library_calls_back(runtime: Runtime) -> anyhow::Result<()> {
    // A method begins at the brace above its first statement.
    for (call, inside) in [
        ("at comparison", line("in comparison")),
        ("at comparer", line("comparer") - 1),
        ("at select", line("in select")),
        ("at query", line("twice") - 1),
        ("at parallel", line("in parallel")),
        ("at items", line("items") - 1),
        ("at text", line("text") - 1),
        ("at regex", line("in regex")),
        ("at set", line("hash") - 1),
        ("at write", line("write") - 1),
        ("at read", line("read") - 1),
        ("at made", line("constructor") - 2),
        ("at activator", line("constructor") - 2),
        ("at lazy", line("in lazy")),
        ("at invoke", line("twice") - 1),
        ("at convert", line("twice") - 1),
    ] {
        let (mut editor, thread) = launch_to_marker(runtime, call).await?;
        assert_eq!(step(&mut editor, "stepIn", thread).await?.1, inside, "{call}");
        editor.finish().await?;
    }
    Ok(())
}

async fn a_step_into_a_call_ends_in_the_lambda_that_runs_on_another_thread(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let (mut editor, thread) = launch_to_marker(runtime, "at run").await?;
    let (thread, at) = step(&mut editor, "stepIn", thread).await?;
    assert_eq!(at, line("in run"));
    assert_eq!(step(&mut editor, "stepIn", thread).await?.1, line("twice") - 1);
    // The lambda has breakpoints of a step no longer: it does not stop again.
    editor.ok("continue", json!({ "threadId": thread })).await?;
    editor.event("terminated").await?;
    editor.finish().await
}

async fn a_step_out_of_what_a_library_runs_ends_where_it_is_awaited_or_nowhere(
    runtime: Runtime,
) -> anyhow::Result<()> {
    for command in ["next", "stepOut"] {
        let (mut editor, thread) = launch_to_marker(runtime, "in run").await?;
        assert_eq!(step(&mut editor, command, thread).await?.1, line("at run"), "{command}");
        editor.finish().await?;

        let (mut editor, thread) = launch_to_marker(runtime, "in pool").await?;
        editor.ok(command, json!({ "threadId": thread })).await?;
        assert_eq!(editor.event("exited").await?["exitCode"], 0);
        let lines = editor.output[2].lines().filter(|line| line.contains("ends nowhere")).count();
        assert_eq!(lines, 1, "{command}: {}", editor.output[2]);
        editor.event("terminated").await?;
        editor.finish().await?;
    }
    Ok(())
}

async fn an_agent_learns_at_once_that_a_step_ends_nowhere(runtime: Runtime) -> anyhow::Result<()> {
    let mut agent = Agent::start("agent", runtime, &Transcript::default()).await?;
    let breakpoint = json!({ "sourceFile": fixture::source("callbacks"), "line": line("in timer") });
    let launch = json!({ "program": fixture::program("callbacks"), "args": ["timer"], "run": true,
        "breakpoints": [breakpoint] });
    let hit = agent.call("debug_launch", launch).await?;
    assert_eq!(hit["event"]["line"], line("in timer"), "{hit}");
    let began = std::time::Instant::now();
    let stepped = agent.call("debug_step", json!({ "kind": "out", "timeoutMs": deadline_ms(60) })).await?;
    assert!(began.elapsed() < deadline(30), "{stepped}");
    assert_eq!((&stepped["state"], &stepped["pending"]), (&json!("running"), &json!(true)), "{stepped}");
    assert!(stepped["message"].as_str().is_some_and(|text| text.contains("ends nowhere")), "{stepped}");
    agent.call("debug_disconnect", json!({ "terminate": true })).await?;
    agent.finish().await
}
