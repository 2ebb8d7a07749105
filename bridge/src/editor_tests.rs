//! `tandem-mcp tests`: lists, runs and debugs tests for an editor. Both sides write JSON, one object a line:
//! the editor one request on stdin, with the parameters of the tools for tests; it reads about tests, results
//! and the end from stdout. To debug, the editor is asked to launch each process with tests in its own
//! session. Ends what it runs when stdin ends.
//!
//! Debugs nothing itself. Not here: the same for agents ([`crate::tools::testing`]), frameworks
//! (`test-frameworks`).

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use dap_wire::{ErrorCode, Failure};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use test_frameworks::host::{BoxFuture, DirectLauncher, ProcessLaunch, ProcessLauncher, Stops};
use test_frameworks::model::TestEvent;
use test_frameworks::request::TestRequest;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use workspace_tools::jobs::ProgressSink;
use workspace_tools::process::{OutputStream, ProcessExit, Sink};
use workspace_tools::roots::Roots;

use crate::arguments::schema;
use crate::test_request::{self, TestArguments};

/// Lines of the editor that wait to be read.
const MAX_QUEUED_LINES: usize = 16;

/// Serves one request, to its end.
///
/// # Errors
/// When stdin has no request.
pub async fn serve(stop: CancellationToken) -> anyhow::Result<()> {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let first = lines.next_line().await.context("cannot read stdin")?.unwrap_or_default();
    let request: Value =
        serde_json::from_str(&first).context("the first line of stdin is not a JSON object")?;
    let (sender, answers) = mpsc::channel(MAX_QUEUED_LINES);
    let ends = stop.clone();
    tokio::spawn(async move {
        while let Ok(Some(line)) = lines.next_line().await {
            let answer = serde_json::from_str(&line).unwrap_or_default();
            if sender.send(answer).await.is_err() {
                return;
            }
        }
        ends.cancel();
    });
    let end = match answer(&request, answers, &stop).await {
        Ok(end) => end,
        Err(failure) => {
            json!({ "error": { "code": failure.code.as_str(), "message": failure.message,
                "hint": failure.hint } })
        }
    };
    say(&with_event("end", end));
    Ok(())
}

/// Writes a line. An editor that has closed stdout also closes stdin, which ends this program.
fn say(event: &Value) {
    let mut out = std::io::stdout().lock();
    drop(writeln!(out, "{event}").and_then(|()| out.flush()));
}

fn with_event(name: &str, body: Value) -> Value {
    let mut event = json!({ "event": name });
    if let (Some(event), Value::Object(body)) = (event.as_object_mut(), body) {
        event.extend(body);
    }
    event
}

/// A request of the editor.
#[derive(Deserialize, JsonSchema)]
struct EditorRequest {
    action: Option<String>,
    folder: Option<String>,
    #[serde(flatten)]
    tests: TestArguments,
}

async fn answer(
    request: &Value,
    answers: mpsc::Receiver<Value>,
    stop: &CancellationToken,
) -> Result<Value, Failure> {
    let arguments: EditorRequest = schema::read(request.as_object().cloned().unwrap_or_default())?;
    let folder = arguments.folder.map_or_else(|| PathBuf::from("."), PathBuf::from);
    let roots =
        Roots::open(&[folder]).map_err(|error| Failure::new(ErrorCode::IoFailed, error.to_string()))?;
    let mut request = test_request::parse(&arguments.tests, &roots)?.map_err(|project| {
        let message = format!("which tests `{}` has is not known here", project.folder.display());
        Failure::new(ErrorCode::Unsupported, message)
    })?;
    let doing: ProgressSink = Arc::new(|text: &str| say(&json!({ "event": "doing", "text": text })));
    let folder = request.project.folder.clone();
    request.listener = Some(Arc::new(move |event: &TestEvent<'_>| {
        let mut event = json!(event);
        // Some runners print paths from the project's folder on.
        if let Some(file) = event["file"].as_str() {
            event["file"] = json!(folder.join(file));
        }
        say(&event);
    }));
    match arguments.action.as_deref() {
        Some("list") => list(&request, stop, &doing).await,
        Some("run") => request.run(&DirectLauncher, stop, &doing).await.map(|outcome| outcome.answer),
        Some("debug") => {
            let host = EditorLauncher { answers: tokio::sync::Mutex::new(answers) };
            request.run(&host, stop, &doing).await.map(|outcome| outcome.answer)
        }
        other => Err(Failure::invalid(format!("`action` is `list`, `run` or `debug`, not {other:?}"))),
    }
}

async fn list(
    request: &TestRequest,
    stop: &CancellationToken,
    doing: &ProgressSink,
) -> Result<Value, Failure> {
    let (tests, broken) = request.tests(stop, doing).await?;
    for test in &tests {
        let mut event = with_event("test", json!(test));
        event["class"] = json!(test.class);
        say(&event);
    }
    let mut end =
        json!({ "tool": request.framework.name(), "folder": request.project.folder, "total": tests.len() });
    for key in ["error", "diagnostics", "output"] {
        if !broken[key].is_null() {
            end[key] = broken[key].clone();
        }
    }
    Ok(end)
}

/// Has its processes launched by the editor.
struct EditorLauncher {
    answers: tokio::sync::Mutex<mpsc::Receiver<Value>>,
}

/// The stops in the form of a launch attribute.
fn failure_stops(stops: &Stops) -> Value {
    let plain = stops.filters.iter().filter(|(_, condition)| condition.is_none());
    let conditional = stops.filters.iter().filter_map(|(name, condition)| Some((name, condition.as_ref()?)));
    let functions = stops.functions.iter().map(|(name, condition)| match condition {
        Some(condition) => json!({ "name": name, "condition": condition }),
        None => json!({ "name": name }),
    });
    json!({
        "filters": plain.map(|(name, _)| *name).collect::<Vec<_>>(),
        "filterOptions": conditional.map(|(name, condition)| json!({ "filterId": name,
            "condition": condition })).collect::<Vec<_>>(),
        "breakpoints": functions.collect::<Vec<_>>(),
    })
}

impl ProcessLauncher for EditorLauncher {
    fn is_debugger(&self) -> bool {
        true
    }

    fn run<'a>(
        &'a self,
        mut launch: ProcessLaunch,
        sink: &'a mut dyn Sink,
        _: Duration,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ProcessExit, Failure>> {
        Box::pin(async move {
            let mut answers = self.answers.lock().await;
            let mut attributes = launch.debug_attributes();
            attributes["__failureStops"] = failure_stops(&launch.stops);
            say(&json!({ "event": "launch", "attributes": attributes, "note": launch.stops.note }));
            loop {
                let answer = tokio::select! {
                    answer = answers.recv() => answer.ok_or_else(Failure::cancelled)?,
                    () = cancel.cancelled() => {
                        say(&json!({ "event": "stop" }));
                        return Err(Failure::cancelled());
                    }
                };
                if let Some(pid) = answer["started"].as_u64().and_then(|pid| u32::try_from(pid).ok()) {
                    if let Some(started) = launch.started.take() {
                        started.send(pid).unwrap_or_default();
                    }
                } else if let Some(code) = answer["ended"].as_i64() {
                    for (stream, name) in [(OutputStream::Err, "stderr"), (OutputStream::Out, "stdout")] {
                        sink.take(stream, answer[name].as_str().unwrap_or_default().as_bytes());
                    }
                    return Ok(ProcessExit { code: i32::try_from(code).unwrap_or(-1) });
                } else if let Some(why) = answer["failed"].as_str() {
                    return Err(Failure::new(ErrorCode::LaunchFailed, why.to_owned()));
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_editor_launches_with_the_filters_and_functions_that_a_failed_check_calls() {
        let stops = Stops {
            filters: vec![("uncaught", None), ("all", Some("Xunit.Sdk.*".into()))],
            functions: vec![("testing.(*T).FailNow", None), ("testing.(*common).Fail", Some("x"))],
            ..Stops::default()
        };
        let expected = json!({
            "filters": ["uncaught"],
            "filterOptions": [{ "filterId": "all", "condition": "Xunit.Sdk.*" }],
            "breakpoints": [{ "name": "testing.(*T).FailNow" }, { "name": "testing.(*common).Fail",
                "condition": "x" }],
        });
        assert_eq!(failure_stops(&stops), expected);
        let none = json!({ "filters": [], "filterOptions": [], "breakpoints": [] });
        assert_eq!(failure_stops(&Stops::default()), none);
    }
}
