//! Leaks of restarts of a .NET program in the session's process: its threads, descriptors and memory.

use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::json;
use tandem_harness::client::DapClient;
use tandem_harness::deadline::deadline;
use tandem_harness::fixture::Runtime;
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    restarts_of_a_stopped_program_leave_nothing_behind,
    restarts_of_a_running_program_leave_nothing_behind,
}

net8_tests! { restarts_of_a_running_program_leave_nothing_behind }

/// Restarts before the first measurement: they load libraries and fill pools that are kept.
const WARM_UP_RESTARTS: u32 = 8;
/// Restarts between the measurements, enough to tell a leak from chance.
const MEASURED_RESTARTS: u32 = 30;
/// Bytes that the allocator may keep.
const MAX_KEPT_BYTES: u64 = 10 * 1024 * 1024;

/// Resources that a process holds.
#[derive(Debug)]
struct HeldResources {
    threads: usize,
    descriptors: Vec<String>,
    memory: u64,
}

fn read_resources(pid: u64) -> anyhow::Result<HeldResources> {
    let entries = |name: &str| -> anyhow::Result<Vec<_>> {
        Ok(std::fs::read_dir(format!("/proc/{pid}/{name}"))?.flatten().collect())
    };
    let link = |entry: &std::fs::DirEntry| std::fs::read_link(entry.path()).unwrap_or_default();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next());
    // The library of .NET Core 3.1 leaks these when a process ends while its file is read.
    let in_error = |name: &String| name.starts_with("/proc/") && name.ends_with("/stat");
    let all = entries("fd")?;
    let descriptors = all.iter().map(|entry| link(entry).display().to_string());
    Ok(HeldResources {
        threads: entries("task")?.len(),
        descriptors: descriptors.filter(|name| !in_error(name)).collect(),
        memory: memory.context("no memory")?.parse::<u64>()? * 1024,
    })
}

/// The session's process, which has started the program.
fn host_of(program: u64) -> anyhow::Result<u64> {
    let mut pid = program;
    loop {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
        let after_name = stat.rsplit_once(')').context("no stat")?.1;
        pid = after_name.split_whitespace().nth(1).context("no parent")?.parse()?;
        let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline"))?;
        if line.contains("tandem-dap\0host\0") {
            return Ok(pid);
        }
    }
}

/// The state of the program when it is restarted.
#[derive(Clone, Copy, PartialEq)]
enum RestartState {
    Stopped,
    Running,
}

/// Compares the resources held after the first restarts with those after more of them.
async fn check_restarts(runtime: Runtime, when: RestartState) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("tour", &["loop"], json!({})).await?;
    let first = editor.event("process").await?["systemProcessId"].as_u64().context("no process")?;
    let host = host_of(first)?;
    let mut before = None;
    for round in 0..WARM_UP_RESTARTS + MEASURED_RESTARTS {
        if when == RestartState::Stopped {
            editor.ok("processWriteInput", json!({ "data": "bob\n" })).await?;
            let (thread, _) = editor.stop().await?;
            editor.ok("stackTrace", json!({ "threadId": thread })).await?;
        }
        editor.ok("restart", json!({})).await?;
        if when == RestartState::Stopped {
            editor.event("continued").await?;
        }
        editor.event("process").await?;
        if round + 1 == WARM_UP_RESTARTS {
            // The transports of the first ones end within a second.
            tokio::time::sleep(deadline(2)).await;
            before = Some(read_resources(host)?);
        }
    }
    let before = before.context("no round")?;
    // The parts of the last program may take a moment to end.
    let mut after = read_resources(host)?;
    let end = Instant::now() + deadline(10);
    while Instant::now() < end {
        if after.threads <= before.threads && after.descriptors.len() <= before.descriptors.len() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        after = read_resources(host)?;
    }
    assert!(after.threads <= before.threads, "{before:#?} {after:#?}");
    assert!(after.descriptors.len() <= before.descriptors.len(), "{before:#?} {after:#?}");
    assert!(after.memory < before.memory + MAX_KEPT_BYTES, "{before:?} {after:?}");
    editor.finish().await
}

async fn restarts_of_a_stopped_program_leave_nothing_behind(runtime: Runtime) -> anyhow::Result<()> {
    check_restarts(runtime, RestartState::Stopped).await
}

async fn restarts_of_a_running_program_leave_nothing_behind(runtime: Runtime) -> anyhow::Result<()> {
    check_restarts(runtime, RestartState::Running).await
}
