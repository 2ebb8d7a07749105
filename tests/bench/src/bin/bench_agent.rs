//! The overhead of a tool over its DAP requests: an agent and an editor in one session send the same requests
//! in turn; medians. Build with `--release`. Prints Markdown on stdout. Not a test: machines differ.

use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::child;
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

const ROUNDS: usize = 200;

#[tokio::main(flavor = "current_thread")]
#[allow(clippy::print_stdout, reason = "the table is what the program is for")]
async fn main() -> anyhow::Result<()> {
    println!("| what, median of {ROUNDS} | DAP requests | MCP tool | difference |\n|---|---|---|---|");
    let spin = json!({ "program": fixture::program("spin"), "run": true,
        "breakpoints": [{ "sourceFile": fixture::source("spin"), "text": "// BP spin" }] });
    let mut count = child::python("count.py");
    count["run"] = json!(true);
    count["breakpoints"] = json!([{ "sourceFile": child::source("count.py"), "text": "# BP count" }]);
    for (name, launch) in [(".NET 9", spin), ("Python", count)] {
        for (what, dap, mcp) in measure(launch).await.context(name)? {
            let (dap, mcp) = (dap.as_secs_f64() * 1e3, mcp.as_secs_f64() * 1e3);
            println!("| {name}: {what} | {dap:.2} ms | {mcp:.2} ms | {:+.2} ms |", mcp - dap);
        }
    }
    Ok(())
}

fn median(mut values: Vec<Duration>) -> Duration {
    values.sort();
    values.get(values.len() / 2).copied().unwrap_or_default()
}

#[derive(Default)]
struct RoundTrips {
    dap: Vec<Duration>,
    mcp: Vec<Duration>,
}

async fn measure(launch: Value) -> anyhow::Result<Vec<(&'static str, Duration, Duration)>> {
    let mut agent = Agent::start("agent", Runtime::Net9, &Transcript::default()).await?;
    let stop = agent.call("debug_launch", launch).await?;
    let id = stop["session"].as_str().with_context(|| stop.to_string())?;
    let hit = stop["event"]["breakpointId"].clone();
    let socket = fixture::session_socket(id);
    let mut editor = DapClient::connect("editor", &socket, &Transcript::default()).await?;
    editor.keeps_output = false;
    editor.join(json!({ "clientID": "bench", "clientName": "editor" })).await?;
    let thread = editor.event("stopped").await?["threadId"].clone();
    agent.call("debug_remove_breakpoint", json!({ "id": hit })).await?;
    let (mut threads, mut locals, mut steps) =
        (RoundTrips::default(), RoundTrips::default(), RoundTrips::default());
    for _ in 0..ROUNDS {
        let start = Instant::now();
        editor.ok("threads", Value::Null).await?;
        threads.dap.push(start.elapsed());
        let start = Instant::now();
        agent.call("debug_threads", json!({})).await?;
        threads.mcp.push(start.elapsed());

        let start = Instant::now();
        inspect_stop(&mut editor, &thread).await?;
        locals.dap.push(start.elapsed());
        let start = Instant::now();
        agent.call("debug_variables", json!({})).await?;
        locals.mcp.push(start.elapsed());

        // A tool's step also returns location, lines, changed variables and new output: so does the
        // editor's, through its requests.
        let start = Instant::now();
        editor.ok("next", json!({ "threadId": thread })).await?;
        editor.event("stopped").await?;
        inspect_stop(&mut editor, &thread).await?;
        editor.ok("processReadOutput", json!({ "maxBytes": 4096 })).await?;
        steps.dap.push(start.elapsed());
        // The client that did not step is notified of the stop; that is not another step.
        agent.call("debug_status", json!({})).await?;
        let start = Instant::now();
        let answer = agent.call("debug_step_over", json!({})).await?;
        anyhow::ensure!(
            answer["event"]["reason"] == "step" && answer["event"]["unseen"].is_null(),
            "{answer}"
        );
        steps.mcp.push(start.elapsed());
        editor.event("stopped").await?;
    }
    editor.finish().await?;
    agent.finish().await?;
    Ok(vec![
        ("threads", median(threads.dap), median(threads.mcp)),
        ("variables of the top frame", median(locals.dap), median(locals.mcp)),
        ("a step, with place, variables and output", median(steps.dap), median(steps.mcp)),
    ])
}

async fn inspect_stop(editor: &mut DapClient, thread: &Value) -> anyhow::Result<()> {
    let stack = editor.ok("stackTrace", json!({ "threadId": thread, "startFrame": 0, "levels": 1 })).await?;
    let scopes = editor.ok("scopes", json!({ "frameId": stack["stackFrames"][0]["id"] })).await?;
    let reference = &scopes["scopes"][0]["variablesReference"];
    editor.ok("variables", json!({ "variablesReference": reference, "start": 0, "count": 100 })).await?;
    Ok(())
}
