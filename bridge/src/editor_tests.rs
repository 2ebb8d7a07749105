//! `tandem-mcp tests`: lists, runs and debugs tests for an editor. Both sides write JSON, one object a line:
//! the editor one request on stdin, with the parameters of the tools for tests; it reads about tests, results
//! and the end from stdout. To debug, the editor is asked to launch each process with tests in its own
//! session. Ends what it runs when stdin ends.
//!
//! Debugs nothing itself. Not here: the same for agents ([`crate::tools::testing`]), frameworks
//! (`tandem-testing`).

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tandem_testing::answer::TestRunAnswer;
use tandem_testing::host::{BoxFuture, DirectLauncher, ProcessLaunch, ProcessLauncher, Stops};
use tandem_testing::model::{TestEvent, TestItem, TestResult};
use tandem_testing::request::{TestRequest, TestRunOutcome};
use tandem_wire::{ErrorCode, Failure, types};
use tandem_workspace::answer_error::AnswerError;
use tandem_workspace::build::report::FileDiagnostics;
use tandem_workspace::jobs::ProgressSink;
use tandem_workspace::process::{OutputStream, ProcessExit, Sink};
use tandem_workspace::roots::Roots;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::arguments::schema;
use crate::program_event::RunFailure;
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
            let answer: EditorAnswer = serde_json::from_str(&line).unwrap_or_default();
            if sender.send(answer).await.is_err() {
                return;
            }
        }
        ends.cancel();
    });
    let end = match answer(&request, answers, &stop).await {
        Ok(end) => end,
        Err(failure) => RunEnd::Failed { error: RunFailure::from(failure) },
    };
    say(&EditorMessage::End(Box::new(end)));
    Ok(())
}

/// A line for the editor.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "camelCase")]
enum EditorMessage<'a> {
    /// A report of progress.
    Doing {
        text: &'a str,
    },
    Test {
        #[serde(flatten)]
        test: &'a TestItem,
        /// The class of the test, which agents see in its id.
        class: &'a str,
    },
    /// A process to launch in the editor's own session.
    Launch {
        attributes: Value,
        note: Option<&'a str>,
    },
    /// The process is to be ended.
    Stop,
    End(Box<RunEnd>),
}

/// The end of a request.
#[derive(Serialize)]
#[serde(untagged)]
enum RunEnd {
    Listed(ListEnd),
    Ran(Box<TestRunAnswer>),
    Failed { error: RunFailure },
}

/// The end of a list, after its tests.
#[derive(Serialize)]
struct ListEnd {
    tool: &'static str,
    folder: PathBuf,
    total: usize,
    /// Why tests may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<AnswerError>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diagnostics: Option<FileDiagnostics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
}

/// A report of the editor about a process that it launches. The first field that is present counts.
#[derive(Default, Deserialize)]
#[serde(default)]
struct EditorAnswer {
    /// The process has started with this id.
    #[serde(deserialize_with = "types::optional")]
    started: Option<u32>,
    /// The process has ended with this exit code.
    #[serde(deserialize_with = "types::optional")]
    ended: Option<i64>,
    #[serde(deserialize_with = "types::optional")]
    stdout: Option<String>,
    #[serde(deserialize_with = "types::optional")]
    stderr: Option<String>,
    /// Why the process cannot be started.
    #[serde(deserialize_with = "types::optional")]
    failed: Option<String>,
}

/// Writes a line. An editor that has closed stdout also closes stdin, which ends this program.
fn say(message: &impl Serialize) {
    let mut out = std::io::stdout().lock();
    drop(writeln!(out, "{}", types::body(message)).and_then(|()| out.flush()));
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
    answers: mpsc::Receiver<EditorAnswer>,
    stop: &CancellationToken,
) -> Result<RunEnd, Failure> {
    let arguments: EditorRequest = schema::read(request.as_object().cloned().unwrap_or_default())?;
    let folder = arguments.folder.map_or_else(|| PathBuf::from("."), PathBuf::from);
    let roots =
        Roots::open(&[folder]).map_err(|error| Failure::new(ErrorCode::IoFailed, error.to_string()))?;
    let mut request = test_request::parse(&arguments.tests, &roots)?.map_err(|project| {
        let message = format!("which tests `{}` has is not known here", project.folder.display());
        Failure::new(ErrorCode::Unsupported, message)
    })?;
    let doing: ProgressSink = Arc::new(|text: &str| say(&EditorMessage::Doing { text }));
    let folder = request.project.folder.clone();
    request.listener = Some(Arc::new(move |event: &TestEvent<'_>| {
        let TestEvent::Finished(result) = event else { return say(event) };
        let mut result = TestResult::clone(result);
        // Some runners print paths from the project's folder on.
        result.file = result.file.map(|file| folder.join(file).display().to_string());
        say(&TestEvent::Finished(&result));
    }));
    let ran = |outcome: TestRunOutcome| RunEnd::Ran(Box::new(outcome.answer));
    match arguments.action.as_deref() {
        Some("list") => list(&request, stop, &doing).await,
        Some("run") => request.run(&DirectLauncher, stop, &doing).await.map(ran),
        Some("debug") => {
            let host = EditorLauncher { answers: tokio::sync::Mutex::new(answers) };
            request.run(&host, stop, &doing).await.map(ran)
        }
        other => Err(Failure::invalid(format!("`action` is `list`, `run` or `debug`, not {other:?}"))),
    }
}

async fn list(
    request: &TestRequest,
    stop: &CancellationToken,
    doing: &ProgressSink,
) -> Result<RunEnd, Failure> {
    let (tests, broken) = request.tests(stop, doing).await?;
    for test in &tests {
        say(&EditorMessage::Test { test, class: &test.class });
    }
    let broken = broken.unwrap_or_default();
    Ok(RunEnd::Listed(ListEnd {
        tool: request.framework.name(),
        folder: request.project.folder.clone(),
        total: tests.len(),
        error: broken.error,
        diagnostics: broken.problems.diagnostics,
        output: broken.output,
    }))
}

/// Has its processes launched by the editor.
struct EditorLauncher {
    answers: tokio::sync::Mutex<mpsc::Receiver<EditorAnswer>>,
}

/// The stops of a failing test, as a launch attribute.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FailureStops<'a> {
    filters: Vec<&'a str>,
    filter_options: Vec<FailureFilter<'a>>,
    breakpoints: Vec<FailureFunction<'a>>,
}

/// An exception filter with a condition.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FailureFilter<'a> {
    filter_id: &'a str,
    condition: &'a str,
}

/// A function that frameworks call for a check that failed.
#[derive(Serialize)]
struct FailureFunction<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    condition: Option<&'a str>,
}

impl<'a> From<&'a Stops> for FailureStops<'a> {
    fn from(stops: &'a Stops) -> Self {
        let plain = stops.filters.iter().filter(|(_, condition)| condition.is_none());
        let conditional = stops.filters.iter().filter_map(|(filter_id, condition)| {
            Some(FailureFilter { filter_id, condition: condition.as_deref()? })
        });
        let functions = stops.functions.iter();
        Self {
            filters: plain.map(|(name, _)| *name).collect(),
            filter_options: conditional.collect(),
            breakpoints: functions
                .map(|(name, condition)| FailureFunction { name, condition: *condition })
                .collect(),
        }
    }
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
            attributes["__failureStops"] = types::body(&FailureStops::from(&launch.stops));
            say(&EditorMessage::Launch { attributes, note: launch.stops.note });
            loop {
                let answer = tokio::select! {
                    answer = answers.recv() => answer.ok_or_else(Failure::cancelled)?,
                    () = cancel.cancelled() => {
                        say(&EditorMessage::Stop);
                        return Err(Failure::cancelled());
                    }
                };
                if let Some(pid) = answer.started {
                    if let Some(started) = launch.started.take() {
                        started.send(pid).unwrap_or_default();
                    }
                } else if let Some(code) = answer.ended {
                    let output = [(OutputStream::Err, answer.stderr), (OutputStream::Out, answer.stdout)];
                    for (stream, text) in output {
                        sink.take(stream, text.unwrap_or_default().as_bytes());
                    }
                    return Ok(ProcessExit { code: i32::try_from(code).unwrap_or(-1) });
                } else if let Some(why) = answer.failed {
                    return Err(Failure::new(ErrorCode::LaunchFailed, why));
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
        assert_eq!(types::body(&FailureStops::from(&stops)), expected);
        let none = json!({ "filters": [], "filterOptions": [], "breakpoints": [] });
        assert_eq!(types::body(&FailureStops::from(&Stops::default())), none);
    }
}
