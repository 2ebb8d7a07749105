//! `terminate` of .NET programs: how Tandem asks them to end, how long they may take, and what ends them
//! afterwards. For other programs: `adapters/child_terminate.rs`.

use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::client::DapClient;
use tandem_harness::deadline::deadline;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

use tandem_harness::plain_programs::running_with;

dotnet_tests! {
    a_stopped_program_is_resumed_to_end_and_a_breakpoint_on_its_way_out_is_shown,
    a_program_that_takes_its_time_to_end_is_left_to_it,
    a_program_that_never_ends_is_ended_by_force_when_its_time_is_up,
    a_client_that_asks_again_kills_the_program_and_another_client_does_not,
    a_limit_of_nothing_ends_the_program_at_once_and_one_that_is_not_a_number_is_refused,
    a_suspended_program_resumes_to_receive_the_request_to_end,
    a_disconnect_ends_a_program_that_does_not_want_to,
    a_restart_forgets_that_the_program_was_to_end,
    a_process_that_was_attached_to_is_asked_and_not_ended_by_force,
    a_program_without_a_debugger_is_asked_to_end,
    an_evaluation_does_not_keep_a_program_from_ending,
    an_agent_is_notified_of_a_program_that_does_not_end,
}

net10_tests! {
    a_web_host_stops_its_services_in_order,
    a_web_host_that_never_stops_is_ended_by_force,
}

const PROGRAM: &str = "shutdowns";

/// An editor with the program, up to where it runs.
async fn launch_program(runtime: Runtime, markers: &[&str], more: Value) -> anyhow::Result<DapClient> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch(PROGRAM, markers, more).await?;
    Ok(editor)
}

/// The program has begun. One that has not may look as if it waited for input.
async fn ready(editor: &mut DapClient) -> anyhow::Result<()> {
    let end = Instant::now() + deadline(20);
    while Instant::now() < end {
        if editor.read_stdout("ready").await?.contains("ready") {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    anyhow::bail!("the program does not begin: {:?}", editor.output)
}

/// The program ends as it does by itself.
async fn expect_orderly_end(editor: &mut DapClient, code: i64) -> anyhow::Result<()> {
    assert_eq!(editor.event("exited").await?["exitCode"], code, "{:?}", editor.output);
    editor.event("terminated").await?;
    assert!(editor.output[0].ends_with("saving\nsaved\n"), "{:?}", editor.output);
    assert!(!editor.output[2].contains("killed"), "{:?}", editor.output);
    Ok(())
}

/// Checks that the program is killed before it has cleaned up; returns the console's message.
async fn expect_forced_end(editor: &mut DapClient) -> anyhow::Result<String> {
    assert_eq!(editor.event("exited").await?["exitCode"], 137, "{:?}", editor.output);
    editor.event("terminated").await?;
    assert!(!editor.output[0].contains("saved"), "{:?}", editor.output);
    Ok(editor.output[2].clone())
}

async fn a_stopped_program_is_resumed_to_end_and_a_breakpoint_on_its_way_out_is_shown(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let limit = deadline(2);
    let more = json!({ "terminateTimeout": limit.as_millis() });
    let mut editor = launch_program(runtime, &["working", "saved"], more).await?;
    editor.stop().await?;
    let mut second = DapClient::connect("second", &editor.socket().await?, &Transcript::default()).await?;
    second.join(json!({ "clientID": "other", "clientName": "second" })).await?;
    second.event("stopped").await?;
    // It passes the same breakpoint all the time until it ends.
    editor.ok("terminate", json!({})).await?;
    for client in [&mut editor, &mut second] {
        client.event("continued").await?;
    }
    let (thread, frame) = editor.stop().await?;
    assert_eq!(frame["line"], fixture::line(PROGRAM, "saved"), "{frame}");
    second.event("stopped").await?;
    tokio::time::sleep(limit + Duration::from_millis(500)).await;
    let arguments = json!({ "expression": "rounds >= 0", "frameId": frame["id"] });
    assert_eq!(editor.ok("evaluate", arguments).await?["result"], "true");
    editor.ok("continue", json!({ "threadId": thread })).await?;
    second.event("continued").await?;
    expect_orderly_end(&mut editor, 143).await?;
    second.event("exited").await?;
    second.event("terminated").await?;
    second.finish().await?;
    editor.finish().await
}

async fn a_program_that_takes_its_time_to_end_is_left_to_it(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = launch_program(runtime, &[], json!({ "args": ["slow"] })).await?;
    ready(&mut editor).await?;
    editor.ok("terminate", json!({})).await?;
    expect_orderly_end(&mut editor, 143).await?;
    editor.finish().await
}

async fn a_program_that_never_ends_is_ended_by_force_when_its_time_is_up(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let more = json!({ "args": ["never"], "terminateTimeout": 1000 });
    let mut editor = launch_program(runtime, &["working"], more).await?;
    editor.stop().await?;
    editor.ok("terminate", json!({})).await?;
    editor.event("continued").await?;
    let console = expect_forced_end(&mut editor).await?;
    assert!(console.contains("has not ended within 1 s of being asked to (`terminateTimeout`)"), "{console}");
    editor.finish().await
}

async fn a_client_that_asks_again_kills_the_program_and_another_client_does_not(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let mut editor = launch_program(runtime, &[], json!({ "args": ["never"] })).await?;
    ready(&mut editor).await?;
    let mut second = DapClient::connect("second", &editor.socket().await?, &Transcript::default()).await?;
    second.join(json!({ "clientID": "other", "clientName": "second" })).await?;
    editor.ok("terminate", json!({})).await?;
    second.ok("terminate", json!({})).await?;
    assert!(editor.read_stdout("saving").await?.contains("saving"));
    let info = editor.ok("sessionInfo", json!({})).await?;
    assert_eq!(info["state"], "running");
    second.ok("terminate", json!({})).await?;
    let console = expect_forced_end(&mut editor).await?;
    assert!(console.contains("second asks the program again to end: it is killed"), "{console}");
    second.event("terminated").await?;
    second.finish().await?;
    editor.finish().await
}

async fn a_limit_of_nothing_ends_the_program_at_once_and_one_that_is_not_a_number_is_refused(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test" })).await?;
    let wrong = json!({ "program": fixture::program(PROGRAM), "terminateTimeout": "30" });
    assert_eq!(editor.refused("launch", wrong).await?, "INVALID_PARAMETER");
    let launch = json!({ "program": fixture::program(PROGRAM), "terminateTimeout": 0 });
    let launch = editor.send("launch", launch).await?;
    editor.initialized(launch).await?;
    editor.ok("configurationDone", Value::Null).await?;
    anyhow::ensure!(editor.response(launch).await?.success);
    ready(&mut editor).await?;
    editor.ok("terminate", json!({})).await?;
    expect_forced_end(&mut editor).await?;
    assert_eq!(editor.output[0], "ready\n");
    editor.finish().await
}

async fn a_suspended_program_resumes_to_receive_the_request_to_end(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = launch_program(runtime, &[], json!({})).await?;
    let pid = editor.event("process").await?["systemProcessId"].as_i64().context("no process id")?;
    ready(&mut editor).await?;
    kill_process(Pid::from_raw(i32::try_from(pid)?).context("no process id")?, Signal::STOP)?;
    editor.ok("terminate", json!({})).await?;
    expect_orderly_end(&mut editor, 143).await?;
    editor.finish().await
}

async fn a_disconnect_ends_a_program_that_does_not_want_to(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = launch_program(runtime, &[], json!({ "args": ["never"] })).await?;
    ready(&mut editor).await?;
    editor.ok("terminate", json!({})).await?;
    assert!(editor.read_stdout("saving").await?.contains("saving"));
    editor.ok("disconnect", json!({ "terminateDebuggee": true })).await?;
    expect_forced_end(&mut editor).await?;
    editor.wait_until_ended().await
}

async fn a_restart_forgets_that_the_program_was_to_end(runtime: Runtime) -> anyhow::Result<()> {
    let limit = deadline(3);
    let more = json!({ "args": ["never"], "terminateTimeout": limit.as_millis() });
    let mut editor = launch_program(runtime, &[], more).await?;
    ready(&mut editor).await?;
    editor.ok("terminate", json!({})).await?;
    assert!(editor.read_stdout("saving").await?.contains("saving"));
    editor.ok("restart", json!({})).await?;
    // The time of the old one passes.
    tokio::time::sleep(limit + Duration::from_millis(500)).await;
    assert_eq!(editor.ok("sessionInfo", json!({})).await?["state"], "running");
    editor.read_stdout("saving\nready").await?;
    assert!(!editor.output[2].contains("killed"), "{:?}", editor.output);
    editor.finish().await
}

async fn a_process_that_was_attached_to_is_asked_and_not_ended_by_force(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let (mut process, mut lines) = running_with(runtime, PROGRAM, &[]).await?;
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test" })).await?;
    let attach = editor.send("attach", json!({ "processId": process.id() })).await?;
    editor.initialized(attach).await?;
    editor.break_at(PROGRAM, &["working", "saved"]).await?;
    editor.ok("configurationDone", Value::Null).await?;
    anyhow::ensure!(editor.response(attach).await?.success);
    editor.stop().await?;
    editor.ok("terminate", json!({})).await?;
    editor.event("continued").await?;
    let (thread, frame) = editor.stop().await?;
    assert_eq!(frame["line"], fixture::line(PROGRAM, "saved"), "{frame}");
    editor.ok("continue", json!({ "threadId": thread })).await?;
    editor.event("terminated").await?;
    editor.finish().await?;
    let mut printed = Vec::new();
    while let Some(line) = lines.next_line().await? {
        printed.push(line);
    }
    assert_eq!(printed, ["saving", "saved"]);
    assert_eq!(process.wait().await?.code(), Some(143));
    Ok(())
}

async fn a_program_without_a_debugger_is_asked_to_end(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = launch_program(runtime, &["working", "saved"], json!({ "noDebug": true })).await?;
    ready(&mut editor).await?;
    editor.ok("terminate", json!({})).await?;
    expect_orderly_end(&mut editor, 143).await?;
    editor.finish().await
}

async fn an_evaluation_does_not_keep_a_program_from_ending(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = launch_program(runtime, &["working"], json!({})).await?;
    let (_, frame) = editor.stop().await?;
    let arguments = json!({ "expression": "System.Threading.Thread.Sleep(60000)", "frameId": frame["id"] });
    let evaluation = editor.send("evaluate", arguments).await?;
    editor.ok("terminate", json!({})).await?;
    assert!(!editor.response(evaluation).await?.success);
    expect_orderly_end(&mut editor, 143).await?;
    editor.finish().await
}

async fn an_agent_is_notified_of_a_program_that_does_not_end(runtime: Runtime) -> anyhow::Result<()> {
    for (more, hint) in
        [(json!({ "args": ["never"] }), Some("was asked to end and has not ended yet")), (json!({}), None)]
    {
        let mut editor = launch_program(runtime, &[], more).await?;
        ready(&mut editor).await?;
        let id = editor.ok("sessionInfo", json!({})).await?["id"].clone();
        let mut agent = Agent::start("agent", runtime, &Transcript::default()).await?;
        agent.call("debug_sessions", json!({ "select": id })).await?;
        let left = agent.call("debug_disconnect", json!({ "terminate": true })).await?;
        assert_eq!(left["state"], "idle");
        match hint {
            Some(hint) => {
                assert!(left["message"].as_str().is_some_and(|message| message.contains(hint)), "{left}")
            }
            None => {
                assert!(left["message"].is_null(), "{left}");
                expect_orderly_end(&mut editor, 143).await?;
            }
        }
        agent.finish().await?;
        editor.finish().await?;
    }
    Ok(())
}

/// The web host with breakpoints at these markers, at the first of them.
async fn web_host(runtime: Runtime, more: Value, markers: &[&str]) -> anyhow::Result<DapClient> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let mut attributes = json!({ "program": fixture::modern_program("host") });
    if let (Some(attributes), Value::Object(more)) = (attributes.as_object_mut(), more) {
        attributes.extend(more);
    }
    let launch = editor.send("launch", attributes).await?;
    editor.initialized(launch).await?;
    let lines: Vec<Value> =
        markers.iter().map(|marker| json!({ "line": fixture::modern_line("host", marker) })).collect();
    let request = json!({ "source": { "path": fixture::modern_source("host") }, "breakpoints": lines });
    editor.ok("setBreakpoints", request).await?;
    editor.ok("configurationDone", json!({})).await?;
    anyhow::ensure!(editor.response(launch).await?.success, "the launch failed");
    // It listens for signals once all its services run.
    editor.read_stdout("Application started").await?;
    Ok(editor)
}

async fn a_web_host_stops_its_services_in_order(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = web_host(runtime, json!({}), &["saving"]).await?;
    let taken = json!({ "source": { "path": fixture::modern_source("host") }, "breakpoints": [
        { "line": fixture::modern_line("host", "taken") }, { "line": fixture::modern_line("host",
            "saving") }] });
    editor.ok("setBreakpoints", taken).await?;
    editor.stop().await?;
    editor.ok("terminate", json!({})).await?;
    editor.event("continued").await?;
    let (thread, frame) = editor.stop().await?;
    assert_eq!(frame["line"], fixture::modern_line("host", "saving"), "{frame}");
    editor.ok("continue", json!({ "threadId": thread })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 0, "{:?}", editor.output);
    editor.event("terminated").await?;
    assert!(editor.output[0].ends_with("saved\nended in order\n"), "{:?}", editor.output);
    editor.finish().await
}

async fn a_web_host_that_never_stops_is_ended_by_force(runtime: Runtime) -> anyhow::Result<()> {
    let more = json!({ "args": ["never"], "terminateTimeout": 1500 });
    let mut editor = web_host(runtime, more, &[]).await?;
    editor.ok("terminate", json!({})).await?;
    let console = expect_forced_end(&mut editor).await?;
    assert!(console.contains("has not ended within 1.5 s of being asked to"), "{console}");
    assert!(editor.output[0].contains("saving"), "{:?}", editor.output);
    editor.finish().await
}
