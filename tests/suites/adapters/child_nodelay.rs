//! `TCP_NODELAY` on the connections between a real program and its adapter, which otherwise wait for
//! acknowledgements. How long a request takes is for the benchmarks.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use rustix::net::sockopt;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use serde_json::{Value, json};
use tandem_harness::child::{self, Subject};
use tandem_harness::client::DapClient;
use tandem_harness::deadline::deadline;
use tandem_harness::transcript::Transcript;

/// Maximum time until the sockets have their options, s. They are set during the start of the session.
const TIMEOUT_SECS: u64 = 20;

/// For each established TCP connection of a process, whether `TCP_NODELAY` is set.
fn connections(pid: u64) -> anyhow::Result<Vec<bool>> {
    let process = Pid::from_raw(i32::try_from(pid)?).context("no process id")?;
    let process = pidfd_open(process, PidfdFlags::empty())?;
    let mut found = Vec::new();
    for entry in std::fs::read_dir(format!("/proc/{pid}/fd"))? {
        let entry = entry?;
        if !std::fs::read_link(entry.path()).is_ok_and(|to| to.to_string_lossy().starts_with("socket:")) {
            continue;
        }
        let number = entry.file_name().to_str().context("a file's number")?.parse()?;
        // It may have been closed since.
        let Ok(socket) = pidfd_getfd(&process, number, PidfdGetfdFlags::empty()) else { continue };
        if rustix::net::getpeername(&socket).is_ok()
            && let Ok(at_once) = sockopt::tcp_nodelay(&socket)
        {
            found.push(at_once);
        }
    }
    Ok(found)
}

/// Waits until there is a connection and each sends at once.
async fn wait_for_nodelay(pid: u64) -> anyhow::Result<()> {
    let end = tokio::time::Instant::now() + deadline(TIMEOUT_SECS);
    loop {
        let found = connections(pid)?;
        if !found.is_empty() && found.iter().all(|at_once| *at_once) {
            return Ok(());
        }
        anyhow::ensure!(
            tokio::time::Instant::now() < end,
            "whether each connection of the program sends at once: {found:?}"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn editor() -> anyhow::Result<DapClient> {
    DapClient::start_in("editor", HashMap::new(), &Transcript::default())
}

#[tokio::test]
async fn node_s_inspector_sends_at_once() -> anyhow::Result<()> {
    let (mut editor, source) = (editor()?, Subject::Js.source());
    let line = child::line(&source, "handle");
    editor.launch_child(Subject::Js.launch(), &source, &[line]).await?;
    let process = editor.event("process").await?;
    editor.ok("processWriteInput", json!({ "data": "line\n" })).await?;
    editor.stop().await?;
    wait_for_nodelay(process["systemProcessId"].as_u64().context("no process id")?).await?;
    editor.finish().await
}

/// js-debug does not name the process that it is attached to.
#[tokio::test]
async fn an_attached_node_sends_at_once() -> anyhow::Result<()> {
    let (mut editor, source) = (editor()?, child::source("spin.js"));
    let mut command = Command::new(child::interpreter("node"));
    command.arg("--inspect=127.0.0.1:0").arg(&source).stdin(Stdio::null()).stdout(Stdio::null());
    let mut program = command.stderr(Stdio::piped()).spawn()?;
    let mut listens = String::new();
    BufReader::new(program.stderr.take().context("no stderr")?).read_line(&mut listens)?;
    let pid = program.id();
    let outcome = async {
        let attach = Subject::Js.with(json!({ "processId": pid }));
        editor.attach_child(attach, &source, &[child::line(&source, "spin")]).await?;
        editor.stop().await?;
        wait_for_nodelay(u64::from(pid)).await?;
        editor.finish().await
    };
    let outcome = outcome.await;
    program.kill()?;
    program.wait()?;
    outcome
}

#[tokio::test]
async fn an_attached_python_sends_at_once() -> anyhow::Result<()> {
    let (mut editor, source) = (editor()?, child::source("spin.py"));
    let mut command = Command::new(child::interpreter("python"));
    command.arg(&source).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut program = command.spawn()?;
    let pid = program.id();
    let attach: Value = Subject::Python.with(json!({ "processId": pid }));
    let outcome = async {
        editor.attach_child(attach, &source, &[child::line(&source, "spin")]).await?;
        editor.stop().await?;
        wait_for_nodelay(u64::from(pid)).await?;
        editor.finish().await
    };
    let outcome = outcome.await;
    program.kill()?;
    program.wait()?;
    outcome
}
