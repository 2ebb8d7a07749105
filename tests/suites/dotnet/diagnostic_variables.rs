//! Variables that keep a debugger from a .NET runtime: those that can be done without, and those that are
//! named.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::deadline::deadline;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::terminal::Terminal;
use tandem_harness::transcript::Transcript;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Child;

dotnet_tests! {
    a_runtime_that_would_wait_for_another_tool_does_not,
    environments_that_prevent_debugging_are_refused_before_anything_runs,
    variables_set_by_a_clients_terminal_are_named,
    a_program_keeps_its_own_temporary_folder,
    a_process_with_another_temporary_folder_is_attached_to,
    a_process_without_debugging_services_is_named_with_what_turns_them_off,
}

net8_tests! {
    a_runtime_that_would_wait_for_another_tool_does_not,
    a_program_keeps_its_own_temporary_folder,
    a_process_without_debugging_services_is_named_with_what_turns_them_off,
}

async fn a_runtime_that_would_wait_for_another_tool_does_not(runtime: Runtime) -> anyhow::Result<()> {
    for (name, value) in [
        ("DOTNET_DefaultDiagnosticPortSuspend", "1"),
        ("COMPlus_DefaultDiagnosticPortSuspend", "1"),
        ("DOTNET_DiagnosticPorts", "/no/such/socket,suspend"),
    ] {
        let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
        editor.launch("spin", &["beat"], json!({ "env": { name: value } })).await.context(name)?;
        editor.stop().await.context(name)?;
        let count = editor.output[2].lines().filter(|line| line.contains(name)).count();
        assert_eq!(count, 1, "{}", editor.output[2]);
        editor.finish().await?;
    }
    // The debugger's own environment counts, too.
    let mut environment = runtime.environment().context("no runtime")?;
    environment.insert("DOTNET_DefaultDiagnosticPortSuspend".into(), "1".into());
    let mut editor = DapClient::start_in("editor", environment, &Transcript::default())?;
    editor.launch("spin", &["beat"], json!({})).await?;
    editor.stop().await?;
    editor.finish().await
}

async fn environments_that_prevent_debugging_are_refused_before_anything_runs(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let long = "x".repeat(4096);
    for (name, value, code) in [
        ("DOTNET_EnableDiagnostics", "0x0", "NOT_DEBUGGABLE"),
        ("DOTNET_EnableDiagnostics_Debugger", "0", "NOT_DEBUGGABLE"),
        ("COMPlus_EnableDiagnostics_Debugger", "0", "NOT_DEBUGGABLE"),
        ("TMPDIR", "/no/such/folder", "LAUNCH_FAILED"),
        ("TMPDIR", "/etc/hostname", "LAUNCH_FAILED"),
        ("TMPDIR", long.as_str(), "LAUNCH_FAILED"),
    ] {
        let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
        editor.ok("initialize", json!({ "clientID": "test" })).await?;
        let launch = json!({ "program": fixture::program("tour"), "env": { name: value } });
        let answer = editor.ask("launch", launch).await?;
        assert_eq!(answer.body["error"]["variables"]["code"], code, "{name}: {}", answer.body);
        let message = answer.message.unwrap_or_default();
        assert!(message.contains(&format!("`{name}`")), "{message}");
        assert_eq!(editor.output[0], "", "the program has run");
        editor.finish().await?;
    }
    Ok(())
}

async fn variables_set_by_a_clients_terminal_are_named(runtime: Runtime) -> anyhow::Result<()> {
    for setting in ["COMPlus_EnableDiagnostics=0", "DOTNET_DefaultDiagnosticPortSuspend=1"] {
        let (name, value) = setting.split_once('=').context("no setting")?;
        let mut environment = runtime.environment().context("no runtime")?;
        environment.insert(name.into(), value.into());
        let terminal = Terminal::open(&environment)?;
        let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
        let hello = json!({ "clientID": "test", "supportsRunInTerminalRequest": true });
        editor.ok("initialize", hello).await?;
        let launch = json!({ "program": fixture::program("tour"), "console": "integratedTerminal" });
        let launch = editor.send("launch", launch).await?;
        terminal.run(&editor.request("runInTerminal").await?)?;
        let answer = editor.response(launch).await?;
        assert_eq!(answer.body["error"]["variables"]["code"], "NOT_DEBUGGABLE", "{}", answer.body);
        let message = answer.message.unwrap_or_default();
        assert!(message.contains(&format!("`{name}`")), "{message}");
        editor.finish().await?;
    }
    Ok(())
}

/// Files that a runtime has created in a folder.
fn made(folder: &Path) -> anyhow::Result<Vec<String>> {
    let names = std::fs::read_dir(folder)?.flatten().map(|file| file.file_name());
    let names = names.map(|name| name.to_string_lossy().into_owned());
    Ok(names.filter(|name| name.starts_with("clr-debug-pipe") || name.starts_with("dotnet-diag")).collect())
}

async fn wait_until(what: &str, holds: impl Fn() -> anyhow::Result<bool>) -> anyhow::Result<()> {
    let end = Instant::now() + deadline(30);
    while !holds()? {
        anyhow::ensure!(Instant::now() < end, "{what} in vain");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

async fn temporary_folder(editor: &mut DapClient) -> anyhow::Result<String> {
    let (_, frame) = editor.stop().await?;
    let arguments = json!({ "expression": "System.IO.Path.GetTempPath()", "frameId": frame["id"] });
    let result = editor.ok("evaluate", arguments).await?["result"].clone();
    Ok(result.as_str().unwrap_or_default().trim_matches('"').trim_end_matches('/').to_owned())
}

async fn a_program_keeps_its_own_temporary_folder(runtime: Runtime) -> anyhow::Result<()> {
    let scratch = tempfile::tempdir()?;
    let real = scratch.path().join("real");
    let link = scratch.path().join("link");
    std::fs::create_dir(&real)?;
    std::os::unix::fs::symlink(&real, &link)?;
    for (named, cwd) in [(link.as_path(), None), (Path::new("real"), Some(scratch.path()))] {
        let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
        let mut more = json!({ "env": { "TMPDIR": named } });
        if let Some(cwd) = cwd {
            more["cwd"] = json!(cwd);
        }
        editor.launch("spin", &["beat"], more).await?;
        assert_eq!(temporary_folder(&mut editor).await?, named.display().to_string());
        assert!(made(&real)?.len() >= 2, "its pipes are there");
        editor.ok("restart", Value::Null).await?;
        editor.event("continued").await?;
        assert_eq!(temporary_folder(&mut editor).await?, named.display().to_string());
        editor.finish().await?;
        // It was killed, and could not remove them itself.
        wait_until("the pipes are removed", || Ok(made(&real)?.is_empty())).await?;
    }
    Ok(())
}

async fn start_program(runtime: Runtime, variables: &[(&str, &str)]) -> anyhow::Result<Child> {
    let mut command = tokio::process::Command::new(runtime.dotnet().context("no dotnet")?);
    command.arg(fixture::program("spin")).envs(runtime.environment().context("no runtime")?);
    command.envs(variables.iter().copied());
    Ok(command.kill_on_drop(true).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?)
}

/// Waits until it prints; it may go on to do so.
async fn prints(process: &mut Child) -> anyhow::Result<()> {
    let mut lines = BufReader::new(process.stdout.as_mut().context("no stdout")?).lines();
    lines.next_line().await?.context("the program prints nothing")?;
    Ok(())
}

async fn a_process_with_another_temporary_folder_is_attached_to(runtime: Runtime) -> anyhow::Result<()> {
    let scratch = tempfile::tempdir()?;
    let folder = scratch.path().display().to_string();
    let mut process = start_program(runtime, &[("TMPDIR", &folder)]).await?;
    prints(&mut process).await?;
    for _ in 0..2 {
        let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
        editor.ok("initialize", json!({ "clientID": "test" })).await?;
        let attach = editor.send("attach", json!({ "processId": process.id() })).await?;
        let answer = editor.response(attach).await?;
        anyhow::ensure!(answer.success, "{}", answer.body);
        editor.event("initialized").await?;
        editor.break_at("spin", &["beat"]).await?;
        editor.ok("configurationDone", Value::Null).await?;
        assert_eq!(temporary_folder(&mut editor).await?, folder);
        editor.break_at("spin", &[]).await?;
        editor.finish().await?;
    }
    process.kill().await?;
    Ok(())
}

async fn a_process_without_debugging_services_is_named_with_what_turns_them_off(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let scratch = tempfile::tempdir()?;
    let folder = scratch.path().display().to_string();
    let off = ["COMPlus_EnableDiagnostics=0", "DOTNET_EnableDiagnostics_Debugger=0"];
    let waits = ["DOTNET_DefaultDiagnosticPortSuspend=1", "DOTNET_DiagnosticPorts=/no/such/socket"];
    // .NET Core 3.1 knows the first alone.
    let known = if runtime == Runtime::Net31 { 1 } else { 4 };
    for setting in off.into_iter().chain(waits).take(known) {
        let (name, value) = setting.split_once('=').context("no setting")?;
        let mut process = start_program(runtime, &[(name, value), ("TMPDIR", &folder)]).await?;
        if waits.contains(&setting) {
            wait_until("the runtime waits", || Ok(!made(scratch.path())?.is_empty())).await?;
        } else {
            prints(&mut process).await?;
        }
        let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
        editor.ok("initialize", json!({ "clientID": "test" })).await?;
        let answer = editor.ask("attach", json!({ "processId": process.id(), "engine": "coreclr" })).await?;
        assert_eq!(answer.body["error"]["variables"]["code"], "NOT_DEBUGGABLE", "{}", answer.body);
        let message = answer.message.unwrap_or_default();
        assert!(message.contains(&format!("was started with `{setting}`")), "{message}");
        editor.finish().await?;
        process.kill().await?;
        for file in made(scratch.path())? {
            std::fs::remove_file(scratch.path().join(file))?;
        }
    }
    Ok(())
}
