//! Attaching to processes that are in the middle of something, and detaching from them.

use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::deadline::deadline;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::plain_programs::running_with;
use tandem_harness::transcript::Transcript;
use tokio::io::{AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout};

dotnet_tests! {
    a_pause_right_after_attaching_knows_every_module_and_thread,
    a_busy_process_with_many_threads_and_modules_survives_repeated_attach_and_detach,
    process_end_is_reported_before_its_parent_waits,
    a_process_that_ends_as_it_is_detached_from_keeps_nobody_waiting,
}

// It takes 15 s, most of it asleep; the effect of a call that blocks on .NET 10 is tested in
// [`super::failing_members`].
older_dotnet_tests! {
    a_call_that_blocks_does_not_prevent_a_detach,
}

net8_tests! {
    a_pause_right_after_attaching_knows_every_module_and_thread,
    process_end_is_reported_before_its_parent_waits,
    a_process_that_ends_as_it_is_detached_from_keeps_nobody_waiting,
}

/// Starts a program without a debugger and waits for its first line.
async fn running(runtime: Runtime, program: &str) -> anyhow::Result<(Child, Lines<BufReader<ChildStdout>>)> {
    running_with(runtime, program, &[]).await
}

async fn attach_to_program(
    runtime: Runtime,
    process: &Child,
    program: &str,
    markers: &[&str],
) -> anyhow::Result<DapClient> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test" })).await?;
    let attach = editor.send("attach", json!({ "processId": process.id() })).await?;
    // DAP's order; and a client may configure only when it has both.
    anyhow::ensure!(editor.response(attach).await?.success);
    let before = editor.unclaimed_messages();
    anyhow::ensure!(before.iter().any(|name| name == "initialized"), "answered after only {before:?}");
    editor.event("initialized").await?;
    editor.break_at(program, markers).await?;
    editor.ok("configurationDone", Value::Null).await?;
    Ok(editor)
}

/// Ends the program and sees it end well.
async fn expect_success(mut process: Child) -> anyhow::Result<()> {
    drop(process.stdin.take());
    let status = process.wait().await?;
    anyhow::ensure!(status.success(), "the program did not end well: {status}");
    Ok(())
}

async fn a_pause_right_after_attaching_knows_every_module_and_thread(runtime: Runtime) -> anyhow::Result<()> {
    let (process, _lines) = running(runtime, "spin").await?;
    let mut editor = attach_to_program(runtime, &process, "spin", &[]).await?;
    editor.ok("pause", json!({ "threadId": process.id() })).await?;
    let stopped = editor.event("stopped").await?;
    let threads = editor.ok("threads", json!({})).await?["threads"].clone();
    let mut named = Vec::new();
    for thread in threads.as_array().into_iter().flatten() {
        named.push(thread["name"].as_str().unwrap_or_default().to_owned());
        let stack = editor.ok("stackTrace", json!({ "threadId": thread["id"] })).await?;
        for frame in stack["stackFrames"].as_array().into_iter().flatten() {
            assert_ne!(frame["name"], "[Unknown Module]", "{stack}");
        }
    }
    for name in ["Main Thread", "worker", "beat"] {
        assert!(named.iter().any(|named| named == name), "{named:?}");
    }
    assert_eq!(stopped["reason"], "pause");
    editor.finish().await?;
    expect_success(process).await
}

async fn a_busy_process_with_many_threads_and_modules_survives_repeated_attach_and_detach(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let (process, _lines) = running(runtime, "busy").await?;
    for _ in 0..3 {
        let mut editor = attach_to_program(runtime, &process, "busy", &["work"]).await?;
        for round in 1..=3 {
            let (thread, frame) = editor.stop().await?;
            assert_eq!(frame["line"], fixture::line("busy", "work"));
            let arguments = json!({ "expression": "round >= 0 && seen.Count > 0", "frameId": frame["id"] });
            assert_eq!(editor.ok("evaluate", arguments).await?["result"], "true");
            if round == 3 {
                // The process is stopped, and sixty threads are on their way to the next stop.
                editor.break_at("busy", &[]).await?;
            }
            editor.ok("continue", json!({ "threadId": thread })).await?;
        }
        let modules = editor.ok("modules", json!({})).await?;
        assert!(modules["totalModules"].as_u64().is_some_and(|count| count > 100), "{modules}");
        let threads = editor.ok("threads", json!({})).await?["threads"].clone();
        let workers = threads
            .as_array()
            .into_iter()
            .flatten()
            .filter(|thread| thread["name"].as_str().is_some_and(|name| name.starts_with("worker ")));
        assert_eq!(workers.count(), 60);
        editor.finish().await?;
    }
    expect_success(process).await
}

async fn a_call_that_blocks_does_not_prevent_a_detach(runtime: Runtime) -> anyhow::Result<()> {
    let (process, mut lines) = running(runtime, "spin").await?;
    let mut editor = attach_to_program(runtime, &process, "spin", &["beat"]).await?;
    let (_, frame) = editor.stop().await?;
    let arguments = json!({ "expression": "System.Threading.Thread.Sleep(9000)", "frameId": frame["id"] });
    assert_eq!(editor.refused("evaluate", arguments).await?, "EVALUATION_TIMEOUT");
    editor.finish().await?;
    let count = |line: &str| line.strip_prefix("beat ").and_then(|count| count.parse::<u32>().ok());
    let mut beats = Vec::new();
    // Once the call is over, it continues to beat from the same count.
    while beats.len() < 60 {
        let line = lines.next_line().await?.context("the program has ended")?;
        beats.push(count(&line).context("no beat")?);
    }
    assert!(beats.is_sorted_by(|one, next| *next == one + 1), "{beats:?}");
    expect_success(process).await
}

/// The kernel keeps a process until its parent reaps it; these tests do so at the very end.
async fn process_end_is_reported_before_its_parent_waits(runtime: Runtime) -> anyhow::Result<()> {
    for way in ["return", "exit", "kill"] {
        let (mut process, _lines) = running_with(runtime, "ends", &[way, "waits"]).await?;
        let mut editor = attach_to_program(runtime, &process, "ends", &["leave"]).await?;
        process.stdin.take().context("no stdin")?.write_all(b"\n").await?;
        let (thread, _) = editor.stop().await?;
        editor.ok("continue", json!({ "threadId": thread })).await?;
        editor.event("terminated").await.context(way)?;
        assert!(process.id().is_some(), "no request has come so far");
        editor.finish().await?;
        process.wait().await?;
    }
    Ok(())
}

async fn a_process_that_ends_as_it_is_detached_from_keeps_nobody_waiting(
    runtime: Runtime,
) -> anyhow::Result<()> {
    for round in 0..10 {
        let way = ["return", "exit"][round % 2];
        let (mut process, _lines) = running_with(runtime, "ends", &[way, "waits"]).await?;
        let mut editor = attach_to_program(runtime, &process, "ends", &["leave"]).await?;
        process.stdin.take().context("no stdin")?.write_all(b"\n").await?;
        editor.stop().await?;
        editor.ok("disconnect", Value::Null).await?;
        // The console would report a failure.
        assert_eq!(editor.output[2], "");
        editor.wait_until_ended().await?;
        let code = if way == "return" { 3 } else { 42 };
        assert_eq!(process.wait().await?.code(), Some(code));
    }
    Ok(())
}

/// A program whose debugging pipes are there, but hardly more of its runtime.
async fn start_with_late_runtime(library: &Path, late: u64) -> anyhow::Result<Child> {
    let runtime = Runtime::Net9;
    let mut command = tokio::process::Command::new(runtime.dotnet().context("no dotnet")?);
    command.arg(fixture::program("spin")).envs(runtime.environment().context("no runtime")?);
    command.env("LD_PRELOAD", library).env("LATE_US", late.to_string());
    let process = command.kill_on_drop(true).stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
    let pipes = format!("clr-debug-pipe-{}-", process.id().context("it ended")?);
    let end = Instant::now() + deadline(30);
    loop {
        let names = std::fs::read_dir(std::env::temp_dir())?.flatten().map(|entry| entry.file_name());
        if names.into_iter().any(|name| name.to_string_lossy().starts_with(&pipes)) {
            return Ok(process);
        }
        anyhow::ensure!(Instant::now() < end, "no debugging pipes");
        tokio::task::yield_now().await;
    }
}

/// .NET 9 only, whose threads name themselves: at that moment the library can hold one up. Without a wait for
/// it one attach in six hung.
#[tokio::test]
async fn a_process_whose_runtime_is_just_starting_is_attached_to() -> anyhow::Result<()> {
    let scratch = tempfile::tempdir()?;
    let library = fixture::library("late", scratch.path()).await?;
    for late in (10..=50).step_by(4) {
        let process = start_with_late_runtime(&library, late * 1000).await?;
        let mut editor = attach_to_program(Runtime::Net9, &process, "spin", &["beat"])
            .await
            .with_context(|| format!("late by {late} ms"))?;
        editor.stop().await.with_context(|| format!("late by {late} ms"))?;
        editor.break_at("spin", &[]).await?;
        editor.finish().await?;
        expect_success(process).await?;
    }
    Ok(())
}
