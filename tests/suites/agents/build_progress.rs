//! A launch that builds first: clients that show progress get it, can cancel the build, and learn why it
//! failed.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::child::{self, Subject};
use tandem_harness::client::DapClient;
use tandem_harness::deadline::deadline;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

/// Time limit for every step, even on a busy machine, s.
const TIMEOUT_SECS: u64 = 60;

/// An editor that shows progress, or does not.
async fn editor(environment: HashMap<String, String>, progress: bool) -> anyhow::Result<DapClient> {
    let mut editor = DapClient::start_in("editor", environment, &Transcript::default())?;
    let hello = json!({ "clientID": "test", "adapterID": "tandem", "supportsProgressReporting": progress });
    editor.ok("initialize", hello).await?;
    Ok(editor)
}

/// A folder with a Makefile whose build prints a line and then waits in a process; the
/// returned file contains its pid.
fn slow() -> anyhow::Result<(tempfile::TempDir, Value)> {
    let folder = tempfile::tempdir()?;
    let makefile = "all:\n\t@echo still building\n\t@echo $$$$ > started; exec sleep 600\n";
    std::fs::write(folder.path().join("Makefile"), makefile)?;
    let attributes = json!({ "project": folder.path(), "program": child::native("spin") });
    Ok((folder, Subject::Lldb.with(attributes)))
}

/// The process that the build waits in, once it does.
async fn wait_for_build(folder: &Path) -> anyhow::Result<i32> {
    let until = tokio::time::Instant::now() + deadline(TIMEOUT_SECS);
    loop {
        if let Ok(text) = std::fs::read_to_string(folder.join("started"))
            && let Ok(pid) = text.trim().parse()
        {
            return Ok(pid);
        }
        anyhow::ensure!(tokio::time::Instant::now() < until, "the build does not begin");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn wait_for_end(pid: i32) -> anyhow::Result<()> {
    let until = tokio::time::Instant::now() + deadline(TIMEOUT_SECS);
    while Path::new(&format!("/proc/{pid}/cmdline")).exists() {
        anyhow::ensure!(tokio::time::Instant::now() < until, "process {pid} is still running");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

#[tokio::test]
async fn a_build_that_is_cancelled_by_its_progress_ends_and_the_next_launch_is_as_good_as_the_first()
-> anyhow::Result<()> {
    let (folder, attributes) = slow()?;
    let mut editor = editor(HashMap::new(), true).await?;
    let launch = editor.send("launch", attributes).await?;
    let began = editor.event("progressStart").await?;
    let name = folder.path().file_name().context("no name")?.to_string_lossy();
    assert_eq!(began["title"], format!("Building {name}"));
    assert_eq!(began["cancellable"], true);
    let pid = wait_for_build(folder.path()).await?;
    // No progress has another id.
    editor.ok("cancel", json!({ "progressId": "other" })).await?;
    editor.ok("cancel", json!({ "progressId": began["progressId"] })).await?;
    assert_eq!(editor.event("progressEnd").await?["progressId"], began["progressId"]);
    let refused = editor.response(launch).await?;
    assert_eq!(refused.body["error"]["variables"]["code"], "CANCELLED", "{}", refused.body);
    assert_eq!(refused.body["error"]["showUser"], false, "{}", refused.body);
    wait_for_end(pid).await?;

    let good = tempfile::tempdir()?;
    let source = good.path().join("main.c");
    std::fs::write(&source, "int main(void) {\n    return 3;\n}\n")?;
    let launch = editor.send("launch", Subject::Lldb.with(json!({ "program": source }))).await?;
    assert_eq!(editor.event("progressStart").await?["title"], "Building main.c");
    editor.event("progressEnd").await?;
    editor.initialized(launch).await?;
    editor.ok("configurationDone", Value::Null).await?;
    assert!(editor.response(launch).await?.success);
    assert_eq!(editor.event("exited").await?["exitCode"], 3);
    editor.event("terminated").await?;
    editor.finish().await
}

#[tokio::test]
async fn a_client_without_progress_support_gets_none_and_leaving_ends_the_build() -> anyhow::Result<()> {
    let (folder, attributes) = slow()?;
    let mut editor = editor(HashMap::new(), false).await?;
    editor.send("launch", attributes).await?;
    let (event, body) = editor.any_event(&["progressStart", "output"]).await?;
    assert_eq!((event.as_str(), &body["category"]), ("output", &json!("console")), "{body}");
    let pid = wait_for_build(folder.path()).await?;
    editor.kill().await?;
    wait_for_end(pid).await
}

#[tokio::test]
async fn a_broken_project_says_how_many_errors_there_are_and_where_the_first_is() -> anyhow::Result<()> {
    // Of what set-up makes only this one has an SDK.
    let runtime = Runtime::Net31;
    let copy = fixture::broken_project()?;
    let mut editor = editor(runtime.environment().context("no runtime")?, true).await?;
    let file = copy.path().join("broken.csproj");
    let launch = editor.send("launch", json!({ "program": file })).await?;
    let began = editor.event("progressStart").await?;
    assert_eq!(began["title"], "Building broken.csproj");
    let refused = editor.response(launch).await?;
    assert_eq!(editor.event("progressEnd").await?["progressId"], began["progressId"]);
    let error = &refused.body["error"];
    let first = format!(
        "cannot build `{}`: 2 errors, the first at Program.cs:{}: ",
        file.display(),
        fixture::line("broken", "type")
    );
    let message = error["variables"]["message"].as_str().context("no message")?;
    assert!(message.starts_with(&first) && message.ends_with(" (CS0029)"), "{message}");
    let hint = error["variables"]["hint"].as_str().context("no hint")?;
    assert!(!hint.contains("diagnostics"), "{hint}");
    assert_eq!(error["data"]["diagnostics"].as_array().map(Vec::len), Some(2), "{error}");
    editor.finish().await
}
