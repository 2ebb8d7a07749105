//! Attributes and path spellings with the meaning of other debuggers: code that is hidden, lines without
//! code, files that are not there, names of attributes and filters.

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    no_breakpoint_stops_in_hidden_code,
    a_comment_in_a_lambda_means_the_next_line_of_it,
    a_name_alone_is_not_a_file,
    stop_at_entry_is_stop_on_entry,
    an_exception_that_library_code_throws_and_catches_is_not_user_unhandled,
}

net8_tests! { an_exception_that_library_code_throws_and_catches_is_not_user_unhandled }

/// Stops at the program's first line, at which its breakpoints are reported.
async fn stop_at_entry(runtime: Runtime) -> anyhow::Result<DapClient> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("marked", &[], json!({ "stopOnEntry": true })).await?;
    editor.stop().await?;
    Ok(editor)
}

async fn no_breakpoint_stops_in_hidden_code(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = stop_at_entry(runtime).await?;
    let breakpoints = editor.break_at("marked", &["hidden", "end"]).await?;
    let (hidden, end) = (&breakpoints["breakpoints"][0], &breakpoints["breakpoints"][1]);
    assert_eq!((&hidden["verified"], &end["verified"]), (&json!(false), &json!(true)), "{breakpoints}");
    assert!(hidden["message"].as_str().is_some_and(|text| text.contains("[DebuggerHidden]")), "{hidden}");
    let by_name = json!({ "breakpoints": [{ "name": "Program.Hidden" }] });
    let body = editor.ok("setFunctionBreakpoints", by_name).await?;
    assert_eq!(body["breakpoints"][0]["verified"], false, "{body}");
    editor.ok("continue", json!({})).await?;
    let (_, frame) = editor.stop().await?;
    assert_eq!(frame["line"], fixture::line("marked", "end"));
    editor.finish().await
}

async fn a_comment_in_a_lambda_means_the_next_line_of_it(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = stop_at_entry(runtime).await?;
    let breakpoints = editor.break_at("marked", &["comment"]).await?;
    let line = fixture::line("marked", "behind the comment");
    assert_eq!(breakpoints["breakpoints"][0]["line"], line, "{breakpoints}");
    assert!(breakpoints["breakpoints"][0]["message"].is_string(), "{breakpoints}");
    editor.ok("continue", json!({})).await?;
    let (_, frame) = editor.stop().await?;
    assert_eq!(frame["line"], line);
    editor.finish().await
}

async fn a_name_alone_is_not_a_file(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = stop_at_entry(runtime).await?;
    let line = fixture::line("marked", "end");
    let at = |path: &str| json!({ "source": { "path": path }, "breakpoints": [{ "line": line }] });
    let body = editor.ok("setBreakpoints", at("/nowhere/other/Program.cs")).await?;
    assert_eq!(body["breakpoints"][0]["verified"], false, "{body}");
    assert!(
        body["breakpoints"][0]["message"].as_str().is_some_and(|text| text.contains("/nowhere/other")),
        "{body}"
    );
    // The same project in another folder is a good guess, and is reported as a guess.
    let body = editor.ok("setBreakpoints", at("/nowhere/marked/Program.cs")).await?;
    assert_eq!(body["breakpoints"][0]["verified"], true, "{body}");
    assert!(
        body["breakpoints"][0]["message"].as_str().is_some_and(|text| text.contains("no file")),
        "{body}"
    );
    editor.finish().await
}

async fn stop_at_entry_is_stop_on_entry(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("marked", &[], json!({ "stopAtEntry": true })).await?;
    assert_eq!(editor.event("stopped").await?["reason"], "entry");
    editor.finish().await
}

async fn an_exception_that_library_code_throws_and_catches_is_not_user_unhandled(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("marked", &["main"], json!({ "justMyCode": false })).await?;
    editor.stop().await?;
    let answer = editor.ok("setExceptionBreakpoints", json!({ "filters": ["user-unhandled"] })).await?;
    assert_eq!(answer["breakpoints"][0]["verified"], true, "{answer}");
    editor.ok("continue", json!({})).await?;
    let (event, body) = editor.any_event(&["stopped", "exited"]).await?;
    assert_eq!(event, "exited", "{body}");
    editor.finish().await
}

/// A build of another configuration is newer than the requested one.
#[tokio::test]
async fn launch_starts_the_program_that_it_has_built() -> anyhow::Result<()> {
    let environment = Runtime::Net31.environment().context("no .NET Core 3.1")?;
    let folder = tempfile::tempdir()?;
    let source = fixture::root().join("fixtures/programs/dotnet");
    for name in ["marked/Program.cs", "marked/marked.csproj", "Directory.Build.props"] {
        std::fs::copy(source.join(name), folder.path().join(name.rsplit('/').next().unwrap_or(name)))?;
    }
    let mut editor = DapClient::start_in("editor", environment.clone(), &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test" })).await?;
    let project = folder.path().join("marked.csproj");
    // An older build of Tandem's, then one that a person made, and Tandem's again, with nothing to do.
    for configuration in ["Debug", "Release"] {
        let built = tokio::process::Command::new(Runtime::Net31.dotnet().unwrap_or_default())
            .args(["build", "-nologo", "-v:quiet", "-nodeReuse:false", "-p:UseSharedCompilation=false"])
            .args(["-c", configuration])
            .arg(&project)
            .envs(&environment)
            .output()
            .await?;
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stdout));
    }
    let launch = editor.send("launch", json!({ "program": project, "stopOnEntry": true })).await?;
    editor.initialized(launch).await?;
    editor.ok("configurationDone", Value::Null).await?;
    assert!(editor.response(launch).await?.success);
    let name = editor.event("process").await?["name"].clone();
    assert!(name.as_str().is_some_and(|name| name.contains("/bin/Debug/")), "{name}");
    editor.stop().await?;
    editor.finish().await
}
