//! The end of a session: no process, socket or semaphore outlives it.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::deadline::deadline;
use tandem_harness::fixture::Runtime;
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    nothing_is_left_after_an_orderly_end,
    nothing_is_left_when_the_editor_kills_its_adapter,
    nothing_is_left_when_the_host_is_killed,
    a_program_that_was_never_configured_ends_with_its_session,
    terminate_lets_a_running_program_end_by_itself,
}

net8_tests! {
    nothing_is_left_after_an_orderly_end,
    terminate_lets_a_running_program_end_by_itself,
}

/// Waits until `gone` returns true; fails after a deadline with what is left.
async fn wait_until(what: &str, gone: impl Fn() -> bool) -> anyhow::Result<()> {
    let end = Instant::now() + deadline(15);
    while !gone() {
        anyhow::ensure!(Instant::now() < end, "{what} is still there");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

fn is_running(pid: &Value) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.rsplit(')').next().is_some_and(|rest| rest.trim().starts_with('Z'))
}

fn semaphores(pid: &Value) -> bool {
    let hex = format!("{:08x}", pid.as_u64().unwrap_or(0));
    let files = std::fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    files
        .map(|file| file.file_name().to_string_lossy().into_owned())
        .any(|name| name.starts_with("sem.clr") && name.contains(&hex))
}

fn temporary_files(pid: &Value) -> bool {
    let files = std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
    let mut names = files.map(|file| file.file_name().to_string_lossy().into_owned());
    names.any(|name| {
        ["clr-debug-pipe", "dotnet-diagnostic"].iter().any(|kind| name.starts_with(&format!("{kind}-{pid}-")))
    })
}

async fn wait_until_all_gone(pid: &Value, socket: &Path) -> anyhow::Result<()> {
    wait_until("the program", || !is_running(pid)).await?;
    wait_until("the socket", || !socket.exists()).await?;
    wait_until("the session's file", || !socket.with_extension("json").exists()).await?;
    anyhow::ensure!(!semaphores(pid), "a semaphore is left");
    wait_until("a file of the runtime", || !temporary_files(pid)).await?;
    Ok(())
}

async fn running(runtime: Runtime) -> anyhow::Result<(DapClient, Value, std::path::PathBuf)> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("spin", &["beat"], json!({})).await?;
    let pid = editor.event("process").await?["systemProcessId"].clone();
    editor.stop().await?;
    let socket = editor.socket().await?;
    anyhow::ensure!(socket.exists() && is_running(&pid) && !semaphores(&pid));
    Ok((editor, pid, socket))
}

async fn nothing_is_left_after_an_orderly_end(runtime: Runtime) -> anyhow::Result<()> {
    let (editor, pid, socket) = running(runtime).await?;
    editor.finish().await?;
    wait_until_all_gone(&pid, &socket).await
}

async fn nothing_is_left_when_the_editor_kills_its_adapter(runtime: Runtime) -> anyhow::Result<()> {
    let (editor, pid, socket) = running(runtime).await?;
    editor.kill().await?;
    wait_until_all_gone(&pid, &socket).await
}

async fn nothing_is_left_when_the_host_is_killed(runtime: Runtime) -> anyhow::Result<()> {
    let (editor, pid, socket) = running(runtime).await?;
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let host =
        stat.rsplit(')').next().and_then(|rest| rest.split_ascii_whitespace().nth(1)).context("no parent")?;
    anyhow::ensure!(std::process::Command::new("kill").args(["-9", host]).status()?.success());
    wait_until("the program", || !is_running(&pid)).await?;
    drop(editor);
    // Its files are swept when the next session starts, or when sessions are listed; the kernel closes its
    // socket last.
    wait_until("the session's files", || {
        let output = std::process::Command::new(tandem_harness::fixture::binary("tandem-dap"))
            .arg("sessions")
            .output();
        output.is_ok_and(|listed| listed.status.success())
            && !socket.exists()
            && !socket.with_extension("json").exists()
    })
    .await
}

async fn a_program_that_was_never_configured_ends_with_its_session(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test" })).await?;
    let launch =
        editor.send("launch", json!({ "program": tandem_harness::fixture::program("spin") })).await?;
    editor.event("initialized").await?;
    anyhow::ensure!(editor.response(launch).await?.success);
    let socket = editor.socket().await?;
    // It is held: it has printed nothing and never will.
    let read = editor.ok("processReadOutput", json!({})).await?;
    assert_eq!(read["stdout"], "");
    editor.finish().await?;
    wait_until("the socket", || !socket.exists()).await
}

async fn terminate_lets_a_running_program_end_by_itself(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("echo", &[], json!({})).await?;
    let read = editor.ok("processReadOutput", json!({ "waitFor": "no such text" })).await?;
    assert_eq!(read["waitingForInput"], true);
    editor.ok("terminate", json!({})).await?;
    // 143: SIGTERM, as the program itself handles it; 137 would mean that Tandem killed
    // it after its time was up.
    assert_eq!(editor.event("exited").await?["exitCode"], 143);
    editor.event("terminated").await?;
    editor.finish().await
}
