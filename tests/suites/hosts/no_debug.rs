//! `noDebug: true`: the program runs without a debugger, and all clients share its stdio.
//!
//! Not here: programs in other languages (`adapters/child_launches.rs`).

use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    a_program_without_a_debugger_reads_prints_and_ends_by_itself,
    a_program_without_a_debugger_is_restarted_and_ended,
}

net8_tests! { a_program_without_a_debugger_reads_prints_and_ends_by_itself }

async fn launch_program(runtime: Runtime, program: &str, more: Value) -> anyhow::Result<DapClient> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test" })).await?;
    let mut arguments = json!({ "program": fixture::program(program), "noDebug": true });
    if let (Some(arguments), Some(more)) = (arguments.as_object_mut(), more.as_object()) {
        arguments.extend(more.clone());
    }
    let launch = editor.send("launch", arguments).await?;
    editor.event("initialized").await?;
    let request = json!({ "source": { "path": fixture::source(program) }, "breakpoints": [{ "line": 9 }] });
    let set = editor.ok("setBreakpoints", request).await?;
    assert_eq!(set["breakpoints"][0]["verified"], false);
    assert!(set["breakpoints"][0]["message"].as_str().is_some_and(|text| text.contains("noDebug")), "{set}");
    editor.ok("configurationDone", Value::Null).await?;
    anyhow::ensure!(editor.response(launch).await?.success);
    Ok(editor)
}

async fn a_program_without_a_debugger_reads_prints_and_ends_by_itself(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let mut editor = launch_program(runtime, "echo", json!({})).await?;
    let process = editor.event("process").await?;
    assert!(process["systemProcessId"].as_u64().is_some_and(|pid| pid > 0), "{process}");
    assert_eq!(editor.refused("pause", json!({ "threadId": 1 })).await?, "UNSUPPORTED");
    assert_eq!(editor.ok("threads", json!({})).await?["threads"], json!([]));
    editor.ok("processWriteInput", json!({ "data": "one\n", "closeAfter": true })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 0);
    editor.event("terminated").await?;
    assert_eq!(editor.output[0], "echo: one\neof\n");
    editor.finish().await?;
    let mut editor = launch_program(runtime, "crashes", json!({ "args": ["failfast"] })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 134);
    editor.finish().await
}

async fn a_program_without_a_debugger_is_restarted_and_ended(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = launch_program(runtime, "spin", json!({})).await?;
    let first = editor.event("process").await?["systemProcessId"].clone();
    editor.ok("processReadOutput", json!({ "waitFor": "beat 1" })).await?;
    editor.ok("restart", json!({})).await?;
    let second = editor.event("process").await?["systemProcessId"].clone();
    assert_ne!(first, second);
    editor.ok("processReadOutput", json!({ "waitFor": "beat 1" })).await?;
    assert!(!std::path::Path::new("/proc").join(first.to_string()).exists(), "{first} lives");
    editor.finish().await?;
    assert!(!std::path::Path::new("/proc").join(second.to_string()).exists(), "{second} lives");
    Ok(())
}
