//! The stop at entry of programs whose entry method the compiler wrote: it is where the user's code begins.

use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    an_async_main_stops_at_entry_in_its_own_body,
}

net8_tests! { an_async_main_stops_at_entry_in_its_own_body }

net10_tests! {
    top_level_statements_that_wait_stop_at_entry_at_the_first,
}

/// The top frame at entry.
async fn entry(editor: &mut DapClient, program: String) -> anyhow::Result<Value> {
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let launch = editor.send("launch", json!({ "program": program, "stopOnEntry": true })).await?;
    editor.initialized(launch).await?;
    editor.ok("configurationDone", json!({})).await?;
    anyhow::ensure!(editor.response(launch).await?.success, "the launch failed");
    let stopped = editor.event("stopped").await?;
    assert_eq!(stopped["reason"], "entry");
    let stack = editor.ok("stackTrace", json!({ "threadId": stopped["threadId"] })).await?;
    Ok(stack["stackFrames"][0].clone())
}

async fn an_async_main_stops_at_entry_in_its_own_body(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let top = entry(&mut editor, fixture::program("asyncs")).await?;
    assert_eq!(top["name"], "Program.Main()");
    let source = std::fs::read_to_string(fixture::source("asyncs"))?;
    let main = source.lines().position(|line| line.contains("async Task Main(")).map(|at| at + 1);
    // Its brace is on the next line.
    assert_eq!(top["line"].as_u64(), main.map(|line| line as u64 + 1));
    editor.finish().await
}

async fn top_level_statements_that_wait_stop_at_entry_at_the_first(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let top = entry(&mut editor, fixture::modern_program("toplevel")).await?;
    assert_eq!(top["line"], fixture::modern_line("toplevel", "first"));
    assert_eq!(top["source"]["path"], fixture::modern_source("toplevel"));
    editor.finish().await
}
