//! Cancelled calls of an agent, over both transports: an evaluation in the program, a wait, a build, a
//! command with all processes that it started. Each ends, and the session and the connection stay usable.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::deadline::{deadline, deadline_ms, scaled};
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::http::Server;
use tandem_harness::transcript::Transcript;

const TOKEN: &str = "a-token-for-these-tests";
/// The deadline of each wait, s.
const TIMEOUT_SECS: u64 = 60;

dotnet_tests! {
    a_cancelled_evaluation_and_a_cancelled_wait_reach_the_program_over_stdio,
    a_cancelled_evaluation_reaches_the_program_over_http,
}

net8_tests! { a_cancelled_evaluation_reaches_the_program_over_http }

/// A thread that has not run for this long is asleep: the pauses between two calls of
/// one evaluation are shorter.
const QUIET_TIME: Duration = Duration::from_millis(200);

/// Longer than from a cancellation to the end of a call.
const CANCEL_TIME: Duration = Duration::from_millis(3500);

/// Shorter than the limit of an evaluation that is not cancelled, which is 5 s.
const MAX_CANCEL_TIME: Duration = Duration::from_millis(4800);

/// Time until a cancelled call must have ended.
fn cancel_deadline() -> Duration {
    scaled(CANCEL_TIME).min(MAX_CANCEL_TIME)
}

/// Reports its start, and ends when no client waits for it any more.
fn endless() -> Value {
    json!({ "expression":
        "new[] { 600000 }.Sum(time => { System.Console.WriteLine(\"asleep\"); \
            System.Threading.Thread.Sleep(time); return 0; })" })
}

/// Waits until [`endless`] has begun in the program.
fn wait_for_evaluation() -> Value {
    json!({ "stream": "stdout", "waitFor": "asleep\n", "timeoutMs": deadline_ms(30) })
}

/// Waits until the thread of the stop sleeps in [`endless`]: proc(5) counts how often it was switched. A call
/// that is aborted in its first moments is a different case, and may end otherwise.
async fn wait_until_asleep(stop: &Value) -> anyhow::Result<()> {
    let status = format!("/proc/{}/status", stop["event"]["threadId"]);
    let switches = || -> anyhow::Result<Vec<String>> {
        let text = std::fs::read_to_string(&status).with_context(|| format!("{status}: {stop}"))?;
        Ok(text.lines().filter(|line| line.contains("ctxt_switches")).map(str::to_owned).collect())
    };
    let until = Instant::now() + deadline(TIMEOUT_SECS);
    loop {
        let before = switches()?;
        tokio::time::sleep(QUIET_TIME).await;
        if before == switches()? {
            return Ok(());
        }
        anyhow::ensure!(Instant::now() < until, "it never sleeps");
    }
}

/// Runs to a line where evaluations can run: unlike in `hostile`, no display of a variable
/// has left a call in progress.
fn launch() -> Value {
    json!({ "program": fixture::program("frozen"), "run": true, "expressionCompiler": "off",
        "breakpoints": [{ "sourceFile": fixture::source("frozen"), "line": fixture::line("frozen",
            "before") }] })
}

async fn a_cancelled_evaluation_and_a_cancelled_wait_reach_the_program_over_stdio(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let mut agent = Agent::start("agent", runtime, &Transcript::default()).await?;
    let stop = agent.call("debug_launch", launch()).await?;
    anyhow::ensure!(stop["event"]["type"] == "breakpointHit", "{stop}");
    let endless = agent.start_call("debug_evaluate", endless()).await?;
    // Other requests are served at the same time.
    let begun = agent.call("process_read_output", wait_for_evaluation()).await?;
    anyhow::ensure!(begun["matched"].is_string(), "{begun}");
    wait_until_asleep(&stop).await?;
    let cancelled = Instant::now();
    cancel(&mut agent, endless).await?;
    let looked = agent.call("debug_evaluate", json!({ "expression": "done" })).await?;
    assert_eq!(looked["result"], "false", "{looked}");
    anyhow::ensure!(cancelled.elapsed() < cancel_deadline(), "it ended by itself");
    if can_abort_calls(runtime) {
        let stepped = agent.call("debug_step_over", json!({})).await?;
        anyhow::ensure!(stepped["event"]["reason"] == "step", "{stepped}");
    } else {
        let waiting = agent.call("debug_step_over", json!({ "timeoutMs": 500 })).await?;
        assert_eq!(waiting["pending"], true, "{waiting}");
        let why = waiting["message"].as_str().with_context(|| waiting.to_string())?;
        anyhow::ensure!(why.contains("is still in `") && why.contains("which an evaluation began"), "{why}");
    }

    agent.call("debug_disconnect", json!({})).await?;
    agent.call("debug_launch", json!({ "program": fixture::program("spin"), "stopAtEntry": false })).await?;
    let beat = json!({ "stream": "stdout", "waitFor": "beat 1\n", "timeoutMs": deadline_ms(30) });
    let begun = agent.call("process_read_output", beat).await?;
    anyhow::ensure!(begun["matched"].is_string(), "{begun}");
    let waiting = agent.start_call("debug_wait", json!({ "timeoutMs": 600_000 })).await?;
    // It says that it waits.
    let progress = agent.next_notification("notifications/progress").await?;
    assert_eq!(progress["progressToken"], waiting);
    cancel(&mut agent, waiting).await?;
    let paused = agent.call("debug_pause", json!({})).await?;
    assert_eq!(
        (&paused["state"], &paused["event"]["reason"]),
        (&json!("stopped"), &json!("pause")),
        "{paused}"
    );
    agent.finish().await
}

/// The runtime of .NET 9 cannot end a call that has begun there; its thread continues with the call.
fn can_abort_calls(runtime: Runtime) -> bool {
    runtime == Runtime::Net31
}

async fn cancel(agent: &mut Agent, id: i64) -> anyhow::Result<()> {
    agent.notify("notifications/cancelled", json!({ "requestId": id, "reason": "enough" })).await
}

async fn a_cancelled_evaluation_reaches_the_program_over_http(runtime: Runtime) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let environment = runtime.environment().context("no runtime")?;
    let server = Server::with("127.0.0.1:0", folder.path(), &[], TOKEN, &environment).await?;
    let mut agent = server.agent(TOKEN).await?;
    let stop = agent.call("debug_launch", &launch()).await?;
    anyhow::ensure!(stop["event"]["type"] == "breakpointHit", "{stop}");
    let (endless, connection) = agent.start_call("debug_evaluate", &endless()).await?;
    // It has a separate connection: a later request may arrive before it.
    let begun = agent.call("process_read_output", &wait_for_evaluation()).await?;
    anyhow::ensure!(begun["matched"].is_string(), "{begun}");
    wait_until_asleep(&stop).await?;
    let cancelled = Instant::now();
    agent.notify("notifications/cancelled", &json!({ "requestId": endless })).await?;
    let looked = agent.call("debug_evaluate", &json!({ "expression": "done" })).await?;
    assert_eq!(looked["result"], "false", "{looked}");
    anyhow::ensure!(cancelled.elapsed() < cancel_deadline(), "it ended by itself");
    if can_abort_calls(runtime) {
        let stepped = agent.call("debug_step_over", &json!({})).await?;
        anyhow::ensure!(stepped["event"]["reason"] == "step", "{stepped}");
    }
    drop(connection);
    server.stop().await
}

/// Starts two processes and never ends.
const GROUP: &str = "sleep 1000 & echo $! > child; echo $$ > pid; wait";

fn makefile(folder: &Path) -> std::io::Result<()> {
    let script = GROUP.replace('$', "$$");
    std::fs::write(folder.join("Makefile"), format!("all:\n\t@echo begun; {script}\n"))
}

#[tokio::test]
async fn cancelled_builds_and_commands_end_with_all_they_started_over_stdio() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    makefile(folder.path())?;
    let mut agent =
        Agent::in_folder("agent", folder.path(), &["--allow-commands"], &Transcript::default()).await?;
    for (tool, arguments) in [
        ("run_command", json!({ "command": "sh -c", "args": [GROUP] })),
        ("build", json!({})),
        ("get_diagnostics", json!({})),
    ] {
        let id = agent.start_call(tool, arguments).await?;
        if tool != "run_command" {
            let progress = agent.next_notification("notifications/progress").await?;
            assert_eq!(progress["progressToken"], id);
            anyhow::ensure!(progress["message"].is_string(), "{progress}");
        }
        let started = start_program(folder.path()).await?;
        cancel(&mut agent, id).await?;
        wait_for_end(&started).await?;
        agent.call("file_exists", json!({ "path": "Makefile" })).await?;
    }
    agent.finish().await
}

#[tokio::test]
async fn cancelled_builds_and_commands_end_with_all_they_started_over_http() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    makefile(folder.path())?;
    let server = Server::start(folder.path(), &["--allow-commands"], TOKEN).await?;
    let mut agent = server.agent(TOKEN).await?;
    for (tool, arguments) in
        [("run_command", json!({ "command": "sh -c", "args": [GROUP] })), ("build", json!({}))]
    {
        let (id, connection) = agent.start_call(tool, &arguments).await?;
        let started = start_program(folder.path()).await?;
        agent.notify("notifications/cancelled", &json!({ "requestId": id })).await?;
        wait_for_end(&started).await?;
        drop(connection);
        agent.call("file_exists", &json!({ "path": "Makefile" })).await?;
    }
    server.stop().await
}

/// The processes of [`GROUP`], once both are there.
async fn start_program(folder: &Path) -> anyhow::Result<[u64; 2]> {
    let until = Instant::now() + deadline(TIMEOUT_SECS);
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok()?.trim().parse().ok();
    loop {
        if let (Some(child), Some(parent)) = (read("child"), read("pid")) {
            for name in ["child", "pid"] {
                std::fs::remove_file(folder.join(name))?;
            }
            return Ok([child, parent]);
        }
        anyhow::ensure!(Instant::now() < until, "it does not start");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn wait_for_end(pids: &[u64]) -> anyhow::Result<()> {
    let until = Instant::now() + deadline(TIMEOUT_SECS);
    for pid in pids {
        while fixture::is_running(*pid) {
            anyhow::ensure!(Instant::now() < until, "process {pid} is left");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    Ok(())
}
