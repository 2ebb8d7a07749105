//! Async methods that the runtime itself suspends. Up to .NET 10 its debugging library crashes when one is on
//! a stack.

use std::process::Stdio;

use anyhow::Context;
use serde_json::json;
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

net10_tests! {
    a_program_with_runtime_async_is_refused_and_runs_without_a_debugger,
    a_process_that_the_runtime_suspends_methods_of_is_not_attached_to_and_runs_on,
    an_assembly_that_comes_later_is_named_and_what_is_not_on_a_stack_does_no_harm,
}

async fn a_program_with_runtime_async_is_refused_and_runs_without_a_debugger(
    runtime: Runtime,
) -> anyhow::Result<()> {
    // .NET 10 runs such code only with a setting.
    let launch =
        json!({ "program": fixture::modern_program("suspended"), "env": { "DOTNET_RuntimeAsync": "1" } });
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let refused = editor.ask("launch", launch.clone()).await?;
    let error = &refused.body["error"];
    assert_eq!(error["variables"]["code"], "NOT_DEBUGGABLE", "{error}");
    assert!(
        error["variables"]["message"].as_str().is_some_and(|text| text.contains("runtime-async=on")),
        "{error}"
    );
    editor.finish().await?;

    let mut launch = launch;
    launch["noDebug"] = json!(true);
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let launch = editor.send("launch", launch).await?;
    editor.initialized(launch).await?;
    editor.ok("configurationDone", json!({})).await?;
    anyhow::ensure!(editor.response(launch).await?.success, "the launch failed");
    assert_eq!(editor.event("exited").await?["exitCode"], 5);
    editor.event("terminated").await?;
    assert_eq!(editor.output[0], "4\n");
    editor.finish().await
}

async fn a_process_that_the_runtime_suspends_methods_of_is_not_attached_to_and_runs_on(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let mut command = tokio::process::Command::new(runtime.dotnet().context("no dotnet")?);
    command.args([&fixture::modern_program("suspended"), "wait"]);
    command.envs(runtime.environment().context("no runtime")?).env("DOTNET_RuntimeAsync", "1");
    let mut process = command.kill_on_drop(true).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut lines = BufReader::new(process.stdout.take().context("no stdout")?).lines();
    assert_eq!(lines.next_line().await?.as_deref(), Some("ready"));
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let refused = editor.ask("attach", json!({ "processId": process.id() })).await?;
    let error = &refused.body["error"]["variables"];
    assert_eq!(error["code"], "NOT_DEBUGGABLE", "{error}");
    assert!(error["message"].as_str().is_some_and(|text| text.contains("runtime-async=on")), "{error}");
    editor.finish().await?;
    process.stdin.take().context("no stdin")?.write_all(b"\n").await?;
    assert_eq!(lines.next_line().await?.as_deref(), Some("4"));
    assert_eq!(process.wait().await?.code(), Some(5));
    Ok(())
}

async fn an_assembly_that_comes_later_is_named_and_what_is_not_on_a_stack_does_no_harm(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let later = folder.path().join("suspended.dll");
    std::fs::copy(fixture::modern_program("suspended"), &later)?;
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let source = std::path::PathBuf::from(fixture::modern_source("refs"));
    let switch = json!({ "env": { "DOTNET_RuntimeAsync": "1" } });
    let stop = editor.launch_to(&fixture::modern_program("refs"), (source, "held"), switch).await?;
    assert!(!editor.output[2].contains("runtime-async"), "{:?}", editor.output[2]);
    let load = format!("System.Reflection.Assembly.LoadFrom(\"{}\").GetTypes().Length > 0", later.display());
    editor.check_results(&stop.frame, &[(load.as_str(), "true")]).await?;
    // The engine reads the assembly's metadata beside the evaluation.
    editor
        .wait_for_console(&format!(
            "`{}` has async methods that the runtime itself suspends",
            later.display()
        ))
        .await?;
    assert!(editor.output[2].contains("crashes"), "{}", editor.output[2]);
    editor.ok("next", json!({ "threadId": stop.thread })).await?;
    editor.stop().await?;
    editor.ok("continue", json!({ "threadId": stop.thread })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 0);
    editor.event("terminated").await?;
    editor.finish().await
}
