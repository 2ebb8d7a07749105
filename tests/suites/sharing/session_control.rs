//! Control of a session: two clients that act at once, restarting, ending, leaving, and the next owner.
//!
//! Not here: programs that end by themselves (`dotnet/program_exits.rs`).

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    a_restart_keeps_every_client_and_breakpoint,
    a_client_that_joined_restarts_a_program_that_runs,
    an_attached_process_is_not_restarted_and_not_shared_with_another_debugger,
    a_program_that_cannot_be_restarted_ends_the_session_with_a_reason,
    a_step_during_the_step_of_another_client_is_refused_by_name,
    two_pauses_at_once_both_succeed,
    stop_button_of_vs_code_terminates_and_then_disconnects,
    session_continues_after_its_editor_hands_over,
    an_editor_that_vanishes_ends_the_session_unless_it_hands_over,
}

net8_tests! {
    a_restart_keeps_every_client_and_breakpoint,
    a_client_that_joined_restarts_a_program_that_runs,
    two_pauses_at_once_both_succeed,
    stop_button_of_vs_code_terminates_and_then_disconnects,
}

/// `tour` at its loop, with one that joined.
async fn stop_two_clients_at_loop(
    runtime: Runtime,
    transcript: &Transcript,
    more: Value,
) -> anyhow::Result<(DapClient, DapClient, i64)> {
    let mut first = DapClient::start("editor", runtime, transcript)?;
    first.launch("tour", &["loop"], more).await?;
    first.ok("processWriteInput", json!({ "data": "bob\n" })).await?;
    let (thread, _) = first.stop().await?;
    let mut second = DapClient::connect("second", &first.socket().await?, transcript).await?;
    second.join(json!({ "clientID": "other", "clientName": "second" })).await?;
    second.event("stopped").await?;
    second.ok("sessionInfo", json!({ "subscribe": true })).await?;
    Ok((first, second, thread))
}

fn is_running(pid: &Value) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.rsplit(')').next().is_some_and(|rest| rest.trim().starts_with('Z'))
}

async fn a_restart_keeps_every_client_and_breakpoint(runtime: Runtime) -> anyhow::Result<()> {
    let transcript = Transcript::default();
    let (mut first, mut second, _) = stop_two_clients_at_loop(runtime, &transcript, json!({})).await?;
    second.break_at("tour", &["after"]).await?;
    let (old, _) = (first.event("process").await?, second.event("process").await?);
    second.ok("restart", json!({})).await?;
    // Breakpoints that were set earlier are reported first.
    while second.event("sessionChanged").await?["change"] != "restarted" {}
    for client in [&mut first, &mut second] {
        client.event("continued").await?;
        let new = client.event("process").await?;
        assert_ne!(new["systemProcessId"], old["systemProcessId"]);
    }
    assert!(!is_running(&old["systemProcessId"]));
    first.ok("processWriteInput", json!({ "data": "eve\n" })).await?;
    // Both breakpoints are in the new program.
    first.stop().await?;
    let (thread, _) = second.stop().await?;
    first.break_at("tour", &[]).await?;
    first.ok("continue", json!({ "threadId": thread })).await?;
    let (_, frame) = second.stop().await?;
    assert_eq!(frame["line"], fixture::line("tour", "after"));
    first.event("stopped").await?;
    second.event("continued").await?;
    second.ok("continue", json!({ "threadId": thread })).await?;
    first.event("continued").await?;
    assert_eq!(first.event("exited").await?["exitCode"], 3);
    first.event("terminated").await?;
    second.event("terminated").await?;
    assert_eq!(first.output[0], "welcome\nname? welcome\nname? hello eve: 6\n");
    let read = second.ok("processReadOutput", json!({ "stream": "stdout" })).await?;
    assert_eq!(read["stdout"], first.output[0]);
    second.finish().await?;
    first.finish().await?;
    insta::assert_snapshot!("a_restart_keeps_every_client_and_breakpoint", transcript.text());
    Ok(())
}

async fn a_client_that_joined_restarts_a_program_that_runs(runtime: Runtime) -> anyhow::Result<()> {
    let transcript = Transcript::default();
    let mut first = DapClient::start("editor", runtime, &transcript)?;
    first.launch("echo", &[], json!({})).await?;
    let mut second = DapClient::connect("second", &first.socket().await?, &transcript).await?;
    second.join(json!({ "clientID": "other", "clientName": "second" })).await?;
    let waits = second.send("processReadOutput", json!({ "waitFor": "two", "timeoutMs": 20_000 })).await?;
    let old = second.event("process").await?;
    // An editor sends the arguments of the `attach` with which it joined.
    second.ok("restart", json!({ "arguments": { "request": "attach", "session": "x" } })).await?;
    let new = second.event("process").await?;
    assert_ne!(new["systemProcessId"], old["systemProcessId"]);
    assert_eq!(second.response(waits).await?.body["matched"], Value::Null);
    // The client that launched may pass other arguments.
    let arguments = json!({ "program": fixture::program("tour"), "stopOnEntry": true });
    first.ok("restart", json!({ "arguments": arguments })).await?;
    let (_, frame) = first.stop().await?;
    assert!(frame["name"].as_str().is_some_and(|name| name.contains("Main")), "{frame}");
    assert_eq!(second.event("stopped").await?["reason"], "entry");
    // The list of sessions shows the program that runs now.
    let published = std::fs::read_to_string(first.socket().await?.with_extension("json"))?;
    assert_eq!(serde_json::from_str::<Value>(&published)?["title"], "tour.dll");
    second.finish().await?;
    first.finish().await
}

async fn an_attached_process_is_not_restarted_and_not_shared_with_another_debugger(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let mut process = std::process::Command::new(runtime.dotnet().context("no runtime")?)
        .arg(fixture::program("spin"))
        .envs(runtime.environment().context("no runtime")?)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()?;
    let mut line = [0u8; 4];
    std::io::Read::read_exact(process.stdout.as_mut().context("no output")?, &mut line)?;
    let outcome = async {
        let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
        editor.ok("initialize", json!({ "clientID": "test" })).await?;
        let attach = editor.send("attach", json!({ "processId": process.id() })).await?;
        let changed = editor.event("capabilities").await?;
        assert_eq!(changed["capabilities"]["supportsRestartRequest"], false);
        editor.event("initialized").await?;
        editor.break_at("spin", &["spin"]).await?;
        editor.ok("configurationDone", Value::Null).await?;
        anyhow::ensure!(editor.response(attach).await?.success);
        editor.stop().await?;
        assert_eq!(editor.refused("restart", json!({})).await?, "UNSUPPORTED");
        let mut other = DapClient::start("other", runtime, &Transcript::default())?;
        other.ok("initialize", json!({ "clientID": "test" })).await?;
        assert_eq!(other.refused("attach", json!({ "processId": process.id() })).await?, "ALREADY_ATTACHED");
        other.finish().await?;
        editor.finish().await?;
        anyhow::ensure!(process.try_wait()?.is_none(), "the process did not survive");
        Ok(())
    }
    .await;
    process.kill()?;
    process.wait()?;
    outcome
}

async fn a_program_that_cannot_be_restarted_ends_the_session_with_a_reason(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let transcript = Transcript::default();
    let (mut first, mut second, _) = stop_two_clients_at_loop(runtime, &transcript, json!({})).await?;
    let gone = json!({ "arguments": { "program": "/nowhere/app.dll" } });
    assert_eq!(first.refused("restart", gone).await?, "LAUNCH_FAILED");
    for client in [&mut first, &mut second] {
        client.event("continued").await?;
        client.event("terminated").await?;
    }
    assert!(second.output[2].contains("could not be started again"), "{:?}", second.output);
    assert_eq!(first.refused("restart", json!({})).await?, "NO_SESSION");
    second.finish().await?;
    first.finish().await
}

async fn a_step_during_the_step_of_another_client_is_refused_by_name(runtime: Runtime) -> anyhow::Result<()> {
    let mut first = DapClient::start("editor", runtime, &Transcript::default())?;
    first.launch("spin", &["beat"], json!({})).await?;
    let (thread, _) = first.stop().await?;
    let mut second = DapClient::connect("second", &first.socket().await?, &Transcript::default()).await?;
    second.join(json!({ "clientID": "other", "clientName": "second" })).await?;
    second.event("stopped").await?;
    first.break_at("spin", &[]).await?;
    first.ok("continue", json!({ "threadId": thread })).await?;
    for command in ["next", "continue", "stepOut"] {
        let answer = second.ask(command, json!({ "threadId": thread })).await?;
        let error = &answer.body["error"]["variables"];
        assert_eq!((answer.success, &error["code"]), (false, &json!("NOT_STOPPED")));
        assert!(error["message"].as_str().is_some_and(|text| text.contains("resumed by editor")), "{error}");
    }
    second.event("continued").await?;
    second.ok("pause", json!({ "threadId": thread })).await?;
    first.event("stopped").await?;
    second.event("stopped").await?;
    assert_eq!(first.refused("pause", json!({ "threadId": thread })).await?, "NOT_RUNNING");
    second.finish().await?;
    first.finish().await
}

async fn two_pauses_at_once_both_succeed(runtime: Runtime) -> anyhow::Result<()> {
    let mut first = DapClient::start("editor", runtime, &Transcript::default())?;
    first.launch("spin", &[], json!({})).await?;
    let mut second = DapClient::connect("second", &first.socket().await?, &Transcript::default()).await?;
    second.join(json!({ "clientID": "other", "clientName": "second" })).await?;
    for _ in 0..3 {
        let one = first.send("pause", json!({})).await?;
        let two = second.send("pause", json!({})).await?;
        // The second may also arrive after the end, and then reports that.
        let answers = [first.response(one).await?, second.response(two).await?];
        let done = |success: bool, code: &Value| success || code == "NOT_RUNNING";
        assert!(answers.iter().any(|answer| answer.success));
        assert!(
            answers.iter().all(|answer| done(answer.success, &answer.body["error"]["variables"]["code"]))
        );
        // One stop for all, however many clients requested it.
        let thread = first.event("stopped").await?["threadId"].clone();
        second.event("stopped").await?;
        second.ok("continue", json!({ "threadId": thread })).await?;
        first.event("continued").await?;
    }
    second.finish().await?;
    first.finish().await
}

async fn stop_button_of_vs_code_terminates_and_then_disconnects(runtime: Runtime) -> anyhow::Result<()> {
    let transcript = Transcript::default();
    let mut first = DapClient::start("editor", runtime, &transcript)?;
    first.launch("shutdowns", &["working"], json!({})).await?;
    first.stop().await?;
    let mut second = DapClient::connect("second", &first.socket().await?, &transcript).await?;
    second.join(json!({ "clientID": "other", "clientName": "second" })).await?;
    second.event("stopped").await?;
    first.ok("terminate", json!({ "restart": false })).await?;
    first.event("continued").await?;
    second.event("continued").await?;
    first.event("exited").await?;
    first.event("terminated").await?;
    second.event("exited").await?;
    second.event("terminated").await?;
    first.ok("disconnect", json!({ "restart": false })).await?;
    // The program's output can still be read.
    assert_eq!(second.ok("processReadOutput", json!({})).await?["stdout"], "ready\nsaving\nsaved\n");
    second.ok("disconnect", json!({ "restart": false })).await?;
    insta::assert_snapshot!("the_stop_button_of_vs_code", transcript.text());
    Ok(())
}

async fn session_continues_after_its_editor_hands_over(runtime: Runtime) -> anyhow::Result<()> {
    let transcript = Transcript::default();
    let (mut first, mut second, thread) = stop_two_clients_at_loop(runtime, &transcript, json!({})).await?;
    assert_eq!(second.refused("sessionControl", json!({ "handOver": true })).await?, "ACCESS_DENIED");
    first.ok("disconnect", json!({ "handOver": true, "keepBreakpoints": true })).await?;
    // The editor's adapter process has ended, but the session has not.
    first.wait_until_ended().await?;
    assert_eq!(second.event("sessionChanged").await?["change"], "left");
    let changed = second.event("sessionChanged").await?;
    assert_eq!((&changed["change"], &changed["client"]), (&json!("owner"), &json!("second")));
    // It rules now, and the breakpoint it inherited still stops.
    second.ok("sessionControl", json!({ "handOver": false })).await?;
    let info = second.ok("sessionInfo", json!({})).await?;
    assert_eq!(info["clients"].as_array().map(Vec::len), Some(1));
    second.ok("continue", json!({ "threadId": thread })).await?;
    let (_, frame) = second.stop().await?;
    assert_eq!(frame["line"], fixture::line("tour", "loop"));
    let pid = second.event("process").await?["systemProcessId"].clone();
    // Its going ends the session, as it would have for the first.
    second.ok("disconnect", json!({})).await?;
    assert!(!is_running(&pid));
    Ok(())
}

async fn an_editor_that_vanishes_ends_the_session_unless_it_hands_over(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let transcript = Transcript::default();
    let (first, mut second, _) = stop_two_clients_at_loop(runtime, &transcript, json!({})).await?;
    first.kill().await?;
    second.event("terminated").await?;
    second.finish().await?;

    let (first, mut second, thread) =
        stop_two_clients_at_loop(runtime, &transcript, json!({ "handOver": true })).await?;
    first.kill().await?;
    assert_eq!(second.event("sessionChanged").await?["change"], "left");
    assert_eq!(second.event("sessionChanged").await?["change"], "owner");
    second.ok("next", json!({ "threadId": thread })).await?;
    second.event("stopped").await?;
    second.finish().await
}
