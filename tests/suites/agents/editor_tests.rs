//! Tests for editors: `tandem-mcp tests`, which writes JSON lines, and the sessions that an editor launches
//! for it.

use std::collections::HashMap;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tandem_harness::child::Subject;
use tandem_harness::client::DapClient;
use tandem_harness::deadline::deadline;
use tandem_harness::fixture;
use tandem_harness::transcript::Transcript;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// Time limit for every step, even on a busy machine, s.
const TIMEOUT_SECS: u64 = 60;

/// One request under way.
struct EditorTestRun {
    child: Child,
    stdin: Option<ChildStdin>,
    events: Lines<BufReader<ChildStdout>>,
}

impl EditorTestRun {
    async fn start(request: &Value) -> anyhow::Result<Self> {
        Self::start_with(request, &HashMap::new()).await
    }

    async fn start_with(request: &Value, env: &HashMap<String, String>) -> anyhow::Result<Self> {
        let mut child = Command::new(fixture::binary("tandem-mcp"))
            .arg("tests")
            .envs(env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let events = BufReader::new(child.stdout.take().context("no stdout")?).lines();
        let mut tests = Self { stdin: child.stdin.take(), child, events };
        tests.send(request).await?;
        Ok(tests)
    }

    async fn send(&mut self, line: &Value) -> anyhow::Result<()> {
        let stdin = self.stdin.as_mut().context("stdin is closed")?;
        Ok(stdin.write_all(format!("{line}\n").as_bytes()).await?)
    }

    /// The next event that is not about what is being done.
    async fn next(&mut self) -> anyhow::Result<Value> {
        loop {
            let line = tokio::time::timeout(deadline(TIMEOUT_SECS), self.events.next_line())
                .await
                .context("no event")??;
            let event: Value = serde_json::from_str(&line.context("no more events")?)?;
            if event["event"] != "doing" {
                return Ok(event);
            }
        }
    }

    async fn until(&mut self, name: &str) -> anyhow::Result<(Vec<Value>, Value)> {
        let mut before = Vec::new();
        loop {
            let event = self.next().await?;
            if event["event"] == name {
                return Ok((before, event));
            }
            ensure!(event["event"] != "end", "{event}");
            before.push(event);
        }
    }

    /// Closes its stdin and expects it to end by itself.
    async fn ends(mut self) -> anyhow::Result<()> {
        drop(self.stdin.take());
        let status = tokio::time::timeout(deadline(TIMEOUT_SECS), self.child.wait())
            .await
            .context("it does not end")??;
        ensure!(status.success(), "{status}");
        Ok(())
    }
}

/// Runs a request; returns all its events, and the last one.
pub(crate) async fn events(
    folder: &Path,
    more: Value,
    env: &HashMap<String, String>,
) -> anyhow::Result<(Vec<Value>, Value)> {
    let mut tests = EditorTestRun::start_with(&request(folder, more), env).await?;
    let events = tests.until("end").await?;
    tests.ends().await?;
    Ok(events)
}

fn request(folder: &Path, more: Value) -> Value {
    let mut request = json!({ "folder": folder, "projectPath": folder });
    for (name, value) in more.as_object().into_iter().flatten() {
        request[name] = value.clone();
    }
    request
}

#[tokio::test]
async fn an_editor_is_notified_of_tests_and_their_results_as_they_come() -> anyhow::Result<()> {
    let project = fixture::test_project("unittest")?;
    let mut list = EditorTestRun::start(&request(project.path(), json!({ "action": "list" }))).await?;
    let (tests, end) = list.until("end").await?;
    ensure!(tests.len() == 12 && end["total"] == 12 && end["tool"] == "unittest", "{end}");
    let fails = tests.iter().find(|test| test["id"] == "tests.test_cart.CartTests.test_fails");
    let fails = fails.context("not listed")?;
    let file = project.path().join("tests/test_cart.py");
    ensure!(
        fails["file"].as_str() == file.to_str() && fails["class"] == "tests.test_cart.CartTests",
        "{fails}"
    );
    list.ends().await?;
    let expected = ["tests.test_cart.CartTests.test_adds", "tests.test_cart.CartTests.test_fails"];
    let mut run =
        EditorTestRun::start(&request(project.path(), json!({ "action": "run", "tests": expected }))).await?;
    let (events, end) = run.until("end").await?;
    let names: Vec<&str> = events.iter().filter_map(|event| event["event"].as_str()).collect();
    ensure!(names == ["started", "finished", "started", "finished"], "{events:#?}");
    ensure!(
        events.iter().any(|event| event["outcome"] == "failed" && event["file"].as_str() == file.to_str()),
        "{events:#?}"
    );
    ensure!(end["error"]["code"] == "TESTS_FAILED", "{end}");
    run.ends().await
}

#[tokio::test]
async fn an_editor_that_debugs_a_test_stops_where_it_fails() -> anyhow::Result<()> {
    let project = fixture::test_project("unittest")?;
    let file = project.path().join("tests/test_cart.py");
    let expected = ["tests.test_cart.CartTests.test_fails"];
    let mut debug =
        EditorTestRun::start(&request(project.path(), json!({ "action": "debug", "tests": expected })))
            .await?;
    let (_, launch) = debug.until("launch").await?;
    let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let launched = editor.send("launch", Subject::Python.with(launch["attributes"].clone())).await?;
    editor.initialized(launched).await?;
    // The user chose no filters; those of the tests stay set.
    editor.ok("setExceptionBreakpoints", json!({ "filters": [] })).await?;
    editor.ok("configurationDone", Value::Null).await?;
    ensure!(editor.response(launched).await?.success, "not launched");
    let stopped = editor.event("stopped").await?;
    ensure!(stopped["reason"] == "exception", "{stopped}");
    let stack = editor.ok("stackTrace", json!({ "threadId": stopped["threadId"] })).await?;
    let mut frames = stack["stackFrames"].as_array().into_iter().flatten();
    ensure!(frames.any(|frame| frame["source"]["path"].as_str() == file.to_str()), "{stack:#}");
    editor.ok("continue", json!({ "threadId": stopped["threadId"] })).await?;
    let exited = editor.event("exited").await?;
    editor.event("terminated").await?;
    editor.finish().await?;
    debug.send(&json!({ "ended": exited["exitCode"], "stdout": "", "stderr": "" })).await?;
    let (events, end) = debug.until("end").await?;
    ensure!(events.iter().any(|event| event["outcome"] == "failed"), "{events:#?}");
    ensure!(end["error"]["code"] == "TESTS_FAILED", "{end}");
    debug.ends().await
}

#[tokio::test]
async fn an_editor_that_goes_ends_what_runs_and_what_it_asks_wrongly_is_an_error() -> anyhow::Result<()> {
    let project = fixture::test_project("unittest")?;
    let expected = ["tests.test_bad.BadTests.test_hangs"];
    let mut hangs =
        EditorTestRun::start(&request(project.path(), json!({ "action": "run", "tests": expected }))).await?;
    hangs.until("started").await?;
    // The test waits forever, and is in the folder of the project.
    hangs.ends().await?;
    let left = std::fs::read_dir("/proc")?.flatten().filter(|entry| {
        std::fs::read_link(entry.path().join("cwd")).is_ok_and(|folder| folder.starts_with(project.path()))
    });
    ensure!(left.count() == 0, "a process of the tests is left");
    for (wrong, code) in [
        (json!({ "action": "dance" }), "INVALID_PARAMETER"),
        (json!({ "action": "run", "tests": ["no.such.test"] }), "NOT_FOUND"),
        (json!({ "action": "list", "projectPath": "/etc" }), "PATH_NOT_ALLOWED"),
    ] {
        let mut tests = EditorTestRun::start(&request(project.path(), wrong)).await?;
        let (_, end) = tests.until("end").await?;
        ensure!(end["error"]["code"] == code, "{end}");
        tests.ends().await?;
    }
    Ok(())
}
