//! Ways to launch a .NET program: launch profiles, native executables, terminals.

use std::path::Path;

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::deadline::deadline_ms;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    a_launch_profile_supplies_the_settings_that_the_launch_omits,
    a_launch_profile_that_cannot_be_used_says_why,
    an_executable_of_its_own_is_debugged,
    a_runtime_beside_a_thread_that_never_rests_starts_all_the_same,
    a_terminal_serves_console_programs,
    attributes_that_mean_nothing_are_named,
    an_env_file_gives_variables,
}

net8_tests! {
    a_launch_profile_supplies_the_settings_that_the_launch_omits,
    an_executable_of_its_own_is_debugged,
}

/// .NET 9 only, whose threads name themselves: at that moment the library can hold one up. Each delay alone
/// hung about one launch in four when the debugger did not wait for the thread.
#[tokio::test]
async fn a_runtime_whose_helper_thread_is_late_starts_all_the_same() -> anyhow::Result<()> {
    let scratch = tempfile::tempdir()?;
    let library = fixture::library("late", scratch.path()).await?;
    for milliseconds in 8..=19 {
        let late = json!({ "LD_PRELOAD": library, "LATE_US": (milliseconds * 1000).to_string() });
        let lines = run_and_read_output(Runtime::Net9, json!({ "cwd": scratch.path(), "env": late }))
            .await
            .with_context(|| format!("late by {milliseconds} ms"))?;
        assert!(lines.iter().any(|line| line.starts_with("cwd=")), "{lines:?}");
    }
    Ok(())
}

async fn a_runtime_beside_a_thread_that_never_rests_starts_all_the_same(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let scratch = tempfile::tempdir()?;
    let busy = json!({ "LD_PRELOAD": fixture::library("busy", scratch.path()).await? });
    let lines = run_and_read_output(runtime, json!({ "cwd": scratch.path(), "env": busy })).await?;
    assert!(lines.iter().any(|line| line.starts_with("cwd=")), "{lines:?}");
    Ok(())
}

fn folder() -> String {
    let source = fixture::source("settings");
    Path::new(&source).parent().unwrap_or(Path::new("/")).display().to_string()
}

/// The settings that the program prints.
async fn run_and_read_output(runtime: Runtime, more: Value) -> anyhow::Result<Vec<String>> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("settings", &[], more).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 0);
    editor.event("terminated").await?;
    let lines: Vec<String> = editor.output[0].lines().map(str::to_owned).collect();
    // The console names the profile before the client has configured.
    let first = lines.first().map(String::as_str).unwrap_or_default();
    let has_profile = !matches!(first, "DOTNET_LAUNCH_PROFILE=" | "");
    assert_eq!(editor.output[2].contains("Launch profile "), has_profile, "{first}: {:?}", editor.output[2]);
    editor.finish().await?;
    Ok(lines)
}

async fn a_launch_profile_supplies_the_settings_that_the_launch_omits(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let folder = folder();
    let urls = "ASPNETCORE_URLS=https://localhost:5001;http://localhost:5000";
    let expected =
        ["DOTNET_LAUNCH_PROFILE=plain", urls, "MODE=plain", "GREETING=hello", "args=one|two three"];
    // The file below `cwd`, and its first profile that runs the project.
    let lines = run_and_read_output(runtime, json!({ "cwd": folder })).await?;
    assert_eq!(lines.get(..5).context("too few lines")?, expected, "{lines:?}");
    assert_eq!(lines[5], format!("cwd={folder}"));
    // Attributes of the launch take precedence.
    let more = json!({ "cwd": folder, "args": ["mine"], "env": { "MODE": "launch", "GREETING": null } });
    let lines = run_and_read_output(runtime, more).await?;
    assert_eq!(lines.get(2..5).context("too few lines")?, ["MODE=launch", "GREETING=", "args=mine"]);
    // Another profile, of a file elsewhere.
    let file = format!("{folder}/Properties/launchSettings.json");
    let more = json!({ "launchSettingsFilePath": file, "launchSettingsProfile": "other" });
    let lines = run_and_read_output(runtime, more).await?;
    assert_eq!((lines[2].as_str(), lines[4].as_str()), ("MODE=other", "args="));
    assert_eq!(lines[5], format!("cwd={folder}/Properties"));
    // None.
    let lines = run_and_read_output(runtime, json!({ "cwd": folder, "launchSettingsProfile": "" })).await?;
    assert_eq!(lines[0], "DOTNET_LAUNCH_PROFILE=", "{lines:?}");
    Ok(())
}

async fn a_launch_profile_that_cannot_be_used_says_why(runtime: Runtime) -> anyhow::Result<()> {
    let folder = folder();
    let program = fixture::program("settings");
    let scratch = tempfile::tempdir()?;
    let broken = scratch.path().join("launchSettings.json");
    std::fs::write(&broken, "{ \"profiles\": ")?;
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test" })).await?;
    for (more, code, expected) in [
        (
            json!({ "cwd": folder, "launchSettingsProfile": "nobody" }),
            "LAUNCH_FAILED",
            "IIS Express, plain, other",
        ),
        (json!({ "cwd": folder, "launchSettingsProfile": "IIS Express" }), "LAUNCH_FAILED", "IISExpress"),
        (json!({ "cwd": scratch.path(), "launchSettingsProfile": "plain" }), "LAUNCH_FAILED", "there is no"),
        (json!({ "launchSettingsFilePath": broken }), "LAUNCH_FAILED", "it is not JSON"),
        (json!({ "launchSettingsFilePath": "/no/such/file" }), "LAUNCH_FAILED", "/no/such/file"),
        (json!({ "launchSettingsProfile": 7 }), "INVALID_PARAMETER", "must be a string"),
    ] {
        let mut arguments = json!({ "program": program });
        if let (Some(arguments), Some(more)) = (arguments.as_object_mut(), more.as_object()) {
            arguments.extend(more.clone());
        }
        let response = editor.ask("launch", arguments).await?;
        let of = |key: &str| response.body["error"]["variables"][key].as_str().unwrap_or_default().to_owned();
        assert!(
            !response.success && of("code") == code && of("message").contains(expected),
            "{more}: {}",
            response.body
        );
    }
    editor.finish().await
}

async fn an_executable_of_its_own_is_debugged(runtime: Runtime) -> anyhow::Result<()> {
    let program = fixture::program("apphost");
    let host = program.strip_suffix(".dll").context("no .dll")?;
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("apphost", &["here"], json!({ "program": host, "args": ["a", "b"] })).await?;
    let (thread, frame) = editor.stop().await?;
    assert_eq!(frame["line"], fixture::line("apphost", "here"));
    let arguments = json!({ "expression": "count", "frameId": frame["id"] });
    assert_eq!(editor.ok("evaluate", arguments).await?["result"], "2");
    editor.ok("continue", json!({ "threadId": thread })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 42);
    editor.finish().await?;
    // Its entry, too.
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("apphost", &[], json!({ "program": host, "stopOnEntry": true })).await?;
    assert_eq!(editor.event("stopped").await?["reason"], "entry");
    editor.finish().await
}

async fn a_terminal_serves_console_programs(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("echo", &["line"], json!({ "pty": true })).await?;
    editor.ok("processWriteInput", json!({ "data": "wörld\n" })).await?;
    let (thread, frame) = editor.stop().await?;
    for (expression, value) in [
        ("line", "\"wörld\""),
        ("Console.IsOutputRedirected || Console.IsInputRedirected || Console.IsErrorRedirected", "false"),
        ("Console.WindowWidth", "120"),
    ] {
        let arguments = json!({ "expression": expression, "frameId": frame["id"] });
        assert_eq!(editor.ok("evaluate", arguments).await?["result"], value, "{expression}");
    }
    editor.ok("continue", json!({ "threadId": thread })).await?;
    let read = json!({ "waitFor": "echo: wörld", "timeoutMs": deadline_ms(20) });
    assert_eq!(editor.ok("processReadOutput", read).await?["matched"], "echo: wörld");
    editor.ok("processWriteInput", json!({ "data": "", "closeAfter": true })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 0);
    editor.event("terminated").await?;
    // The terminal echoes the input.
    let shown = &editor.output[0];
    assert!(shown.contains("wörld\necho: wörld\n") && shown.ends_with("eof\n"), "{shown:?}");
    editor.finish().await
}

async fn attributes_that_mean_nothing_are_named(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let more = json!({ "stopOnEntri": true, "requireExactSourc": false, "__sessionId": "1", "type": "tandem",
        "name": "mine", "request": "launch", "preLaunchTask": "build", "presentation": {} });
    editor.launch("settings", &[], more).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 0);
    let named: Vec<&str> = editor.output[2].lines().filter(|line| line.contains("nothing")).collect();
    let remark = "`stopOnEntri`, `requireExactSourc`: the attributes mean nothing to the .NET engine; they \
        are ignored";
    assert_eq!(named, [remark]);
    editor.finish().await
}

async fn an_env_file_gives_variables(runtime: Runtime) -> anyhow::Result<()> {
    let scratch = tempfile::tempdir()?;
    std::fs::write(scratch.path().join("own.env"), "ASPNETCORE_URLS=\"from the file\"\n# none\nodd\n")?;
    let more = json!({ "envFile": "own.env", "cwd": scratch.path() });
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("settings", &[], more.clone()).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 0);
    assert!(editor.output[0].contains("ASPNETCORE_URLS=from the file\n"), "{:?}", editor.output);
    assert!(editor.output[2].contains("they are ignored: 3"), "{:?}", editor.output);
    editor.finish().await?;
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let mut more = more;
    more["env"] = json!({ "ASPNETCORE_URLS": "from env" });
    editor.launch("settings", &[], more).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 0);
    assert!(editor.output[0].contains("ASPNETCORE_URLS=from env\n"), "{:?}", editor.output);
    editor.finish().await?;
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test" })).await?;
    let wrong = json!({ "program": fixture::program("settings"), "envFile": "/nowhere/own.env" });
    assert_eq!(editor.refused("launch", wrong).await?, "LAUNCH_FAILED");
    editor.finish().await
}
