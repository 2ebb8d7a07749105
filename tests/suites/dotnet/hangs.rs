//! A runtime that hangs: the hangs that Tandem resolves, and the clients' view of the others.

use std::cell::Cell;

use anyhow::Context;
use serde_json::json;
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

use super::dotnet_subprocesses::until;

/// In so many samples, 20 ms apart, an idle thread has not begun another wait.
const IDLE_SAMPLES: u32 = 5;

dotnet_tests! {
    steps_end_though_threads_come_and_go,
}

/// Early .NET 9 hangs in it about once in two thousand steps, without Tandem's correction.
async fn steps_end_though_threads_come_and_go(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("comings", &["loop"], json!({})).await?;
    let (thread, _) = editor.stop().await?;
    let steps = if runtime == Runtime::Net9 { 2000 } else { 500 };
    for _ in 0..steps {
        editor.ok("next", json!({ "threadId": thread })).await?;
        loop {
            let (event, body) = editor.any_event(&["stopped", "thread"]).await?;
            if event == "stopped" {
                assert_eq!(body["threadId"], thread);
                break;
            }
        }
    }
    editor.finish().await
}

/// How often the thread of the runtime that serves debuggers has begun to wait, if it waits.
fn waits_of_debugging_thread(pid: u64) -> Option<u64> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let mut threads = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("status")).ok());
    let status = threads.find(|status| status.starts_with("Name:\t.NET Debugger\n"))?;
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    field("State:")?.starts_with('S').then(|| field("voluntary_ctxt_switches:")?.parse().ok())?
}

/// Waits until that thread has nothing to do: it also waits for moments while it works.
async fn until_debugging_thread_is_idle(pid: u64) -> anyhow::Result<()> {
    let seen = Cell::new((None, 0));
    until("the wait of the debugging thread", || {
        let waits = waits_of_debugging_thread(pid);
        let (before, times) = seen.get();
        let times = if waits.is_some() && waits == before { times + 1 } else { 0 };
        seen.set((waits, times));
        times >= IDLE_SAMPLES
    })
    .await
}

/// .NET 9 only, whose threads name themselves: so the library knows which to hold up.
#[tokio::test]
async fn a_runtime_that_stops_answering_is_reported_and_can_be_ended() -> anyhow::Result<()> {
    let scratch = tempfile::tempdir()?;
    let (library, stuck) = (fixture::library("stuck", scratch.path()).await?, scratch.path().join("stuck"));
    for end in ["disconnect", "terminate"] {
        let mut editor = DapClient::start("editor", Runtime::Net9, &Transcript::default())?;
        let env = json!({ "LD_PRELOAD": library, "STUCK": stuck });
        editor.launch("steps", &["outer"], json!({ "env": env })).await?;
        let pid = editor.event("process").await?["systemProcessId"].as_u64().context("no process")?;
        let (thread, _) = editor.stop().await?;
        // One that is still at work would look for the file only after the next request.
        until_debugging_thread_is_idle(pid).await?;
        std::fs::write(&stuck, "")?;
        let on = json!({ "threadId": thread });
        for command in ["next", "continue"] {
            assert_eq!(editor.refused(command, on.clone()).await?, "ENGINE_FAILED", "{command}");
        }
        assert!(editor.output[2].contains("end the session and launch again"), "{:?}", editor.output);
        editor.ok(end, json!({})).await?;
        assert_eq!(editor.event("exited").await?["exitCode"], 137, "{end}");
        editor.event("terminated").await?;
        match end {
            "disconnect" => editor.wait_until_ended().await?,
            _ => editor.finish().await?,
        }
        std::fs::remove_file(&stuck)?;
    }
    Ok(())
}
