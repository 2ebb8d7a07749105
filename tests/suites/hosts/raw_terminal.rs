//! Programs that take single keys of a terminal: they wait for input too, and what they draw is read as text.

use serde_json::json;
use tandem_harness::agent::Agent;
use tandem_harness::deadline::deadline_ms;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    keys_that_are_polled_are_waited_for_and_the_screen_is_text,
    keys_that_are_read_are_waited_for_too,
    a_program_that_is_stopped_or_works_waits_for_no_key,
    a_program_that_has_pipes_and_reads_keys_says_how_to_launch_it,
}

net8_tests! { keys_that_are_polled_are_waited_for_and_the_screen_is_text }

async fn keys_that_are_polled_are_waited_for_and_the_screen_is_text(runtime: Runtime) -> anyhow::Result<()> {
    chooses(runtime, &[]).await
}

async fn keys_that_are_read_are_waited_for_too(runtime: Runtime) -> anyhow::Result<()> {
    chooses(runtime, &["read"]).await
}

async fn chooses(runtime: Runtime, arguments: &[&str]) -> anyhow::Result<()> {
    let mut agent = Agent::start("agent", runtime, &Transcript::default()).await?;
    let launch = json!({ "program": fixture::program("keys"), "args": arguments, "pty": true, "run": true,
        "env": { "TERM": "xterm" } });
    let asks = agent.call("debug_launch", launch).await?;
    assert_eq!(asks["event"]["type"], "waitingForInput", "{asks}");
    assert_eq!(asks["event"]["screen"], "Which?\n> item 0\n  item 1\n  item 2", "{asks}");
    assert_eq!(asks["event"]["output"]["stdout"], "Which?\n> item 0\n  item 1\n  item 2\n", "{asks}");
    agent.call("process_write_input", json!({ "data": "j" })).await?;
    let asks = agent.call("debug_wait", json!({ "timeoutMs": deadline_ms(20) })).await?;
    assert_eq!(asks["event"]["type"], "waitingForInput", "{asks}");
    assert_eq!(asks["event"]["screen"], "Which?\n  item 0\n> item 1\n  item 2", "{asks}");
    let shown = agent.call("process_read_output", json!({ "screen": true })).await?;
    assert_eq!((&shown["screen"], &shown["waitingForInput"]), (&asks["event"]["screen"], &json!(true)));
    agent.call("process_write_input", json!({ "data": "\r" })).await?;
    let ended = agent.call("debug_wait", json!({ "timeoutMs": deadline_ms(20) })).await?;
    assert_eq!(
        (&ended["event"]["type"], &ended["event"]["exitCode"]),
        (&json!("exited"), &json!(1)),
        "{ended}"
    );
    agent.finish().await
}

async fn a_program_that_is_stopped_or_works_waits_for_no_key(runtime: Runtime) -> anyhow::Result<()> {
    let mut agent = Agent::start("agent", runtime, &Transcript::default()).await?;
    let here = json!([{ "sourceFile": fixture::source("keys"), "line": fixture::line("keys", "chosen") }]);
    let launch = json!({ "program": fixture::program("keys"), "pty": true, "run": true, "breakpoints": here,
        "env": { "TERM": "xterm" } });
    let asks = agent.call("debug_launch", launch).await?;
    assert_eq!(asks["event"]["type"], "waitingForInput", "{asks}");
    agent.call("process_write_input", json!({ "data": "\r" })).await?;
    let stopped = agent.call("debug_wait", json!({ "timeoutMs": deadline_ms(20) })).await?;
    assert_eq!(stopped["event"]["type"], "breakpointHit", "{stopped}");
    // Its terminal still takes keys, all of them were read, and nothing runs: yet it is the debugger that it
    // waits for.
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    let shown = agent.call("process_read_output", json!({ "screen": true })).await?;
    assert_eq!(shown["waitingForInput"], false, "{shown}");
    let ended = agent.call("debug_continue", json!({})).await?;
    assert_eq!(ended["event"]["exitCode"], 0, "{ended}");
    // Pipes have no screen.
    agent.call("debug_launch", json!({ "program": fixture::program("echo") })).await?;
    let refused = agent.call("process_read_output", json!({ "screen": true })).await?;
    assert_eq!(refused["error"]["code"], "INVALID_PARAMETER", "{refused}");
    agent.finish().await
}

async fn a_program_that_has_pipes_and_reads_keys_says_how_to_launch_it(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let mut agent = Agent::start("agent", runtime, &Transcript::default()).await?;
    let launch = json!({ "program": fixture::program("keys"), "args": ["read"], "run": true });
    let stop = agent.call("debug_launch", launch).await?;
    assert_eq!(stop["event"]["exceptionType"], "System.InvalidOperationException", "{stop}");
    assert_eq!(
        stop["event"]["hint"].as_str().map(|hint| hint.contains("\"pty\": true")),
        Some(true),
        "{stop}"
    );
    let ended = agent.call("debug_continue", json!({})).await?;
    assert_eq!(
        (&ended["event"]["type"], &ended["event"]["hint"]),
        (&json!("exited"), &json!(null)),
        "{ended}"
    );
    agent.finish().await
}
