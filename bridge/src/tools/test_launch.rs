//! `debug_launch_test`: parses the call, starts its runs, and answers when nothing ran. [`super::test_run`]
//! has the processes of a run, and [`super::test_stops`] interprets its first stop.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use dap_wire::{ErrorCode, Failure};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;
use workspace_tools::roots::Roots;

use super::attributes::{PassedAttributes, TestNames};
use super::repeats::{Repeat, RepeatArguments};
use super::test_run::{RESULTS_TIMEOUT, RunUpdate, TestRun, leave, start};
use super::testing::TestArguments;
use super::{execution, launch, testing, waiting};
use crate::call::ToolCall;
use crate::session::AgentSession;
use crate::source::absolute;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-unlisted" = ["tests", "class", "file", "trait", "changedSince", "args"]))]
pub(super) struct LaunchTestArguments {
    #[serde(flatten)]
    pub(super) tests: TestArguments,
    #[serde(default)]
    pub(super) breakpoints: Vec<Value>,
    #[serde(flatten)]
    repeat: RepeatArguments,
    timeout_ms: Option<u64>,
    #[serde(flatten)]
    pub(super) passed: PassedAttributes<TestNames>,
}

pub(super) async fn launch_test(call: &ToolCall, arguments: LaunchTestArguments) -> Result<Value, Failure> {
    launch_as(call, &arguments, arguments.timeout_ms).await
}

/// Runs a session's tests again, as they were called.
pub(super) async fn restart(
    call: &ToolCall,
    session: &AgentSession,
    run: &TestRun,
    timeout_ms: Option<u64>,
) -> Result<Value, Failure> {
    leave(call, session).await;
    let mut answer = launch_as(call, &run.arguments, timeout_ms).await?;
    answer["how"] = json!("newSession");
    Ok(answer)
}

async fn launch_as(
    call: &ToolCall,
    arguments: &LaunchTestArguments,
    timeout_ms: Option<u64>,
) -> Result<Value, Failure> {
    let until = Instant::now() + execution::limit(timeout_ms);
    let repeat = Repeat::of(&arguments.repeat)?;
    let elsewhere = outside_folders(call, arguments.tests.project_path())?;
    let roots = elsewhere.as_ref().unwrap_or(&call.bridge.options.roots);
    let request = match testing::request(call, &arguments.tests, roots).await? {
        Ok(request) => request,
        Err(project) => return Err(unknown_framework(&project.folder)),
    };
    let key = format!("{} {:?}", testing::key(&request), repeat);
    let (session, seen) = match find_pending(call, &key) {
        Some(session) => {
            let seen = session.agent_view.last_reported();
            (session, seen)
        }
        None => {
            let run = call.bridge.begun_test(&key);
            let run = run.unwrap_or_else(|| TestRun::start(request, arguments.clone(), key, repeat));
            match begin(call, run, until).await? {
                RunStart::Session(session) => (session, 0),
                RunStart::Answer(answer) => return Ok(answer),
            }
        }
    };
    let mut answer = waiting::wait_for_news(call, &session, seen, until).await?;
    if answer["pending"] == true {
        launch::describe(&mut answer, &call.bridge.current().unwrap_or(session));
    }
    Ok(answer)
}

/// The session of a call that was answered with `pending`: the same call continues to wait in it, even if
/// another run uses it by now.
fn find_pending(call: &ToolCall, key: &str) -> Option<Arc<AgentSession>> {
    let is_it = |session: &Arc<AgentSession>| {
        session.agent_view.pending() && session.test_run().is_some_and(|run| run.key == key)
    };
    call.bridge.joined_sessions().into_iter().find(is_it)
}

/// The repository or folder of a project outside the roots, because tests may be debugged wherever a program
/// may. `None` for a project inside the roots.
fn outside_folders(call: &ToolCall, named: Option<&str>) -> Result<Option<Roots>, Failure> {
    let Some(named) = named else { return Ok(None) };
    let path = PathBuf::from(absolute(named));
    if call.bridge.options.roots.paths().any(|root| path.starts_with(root))
        || call.bridge.options.roots.existing_path(Some(named)).is_ok()
    {
        return Ok(None);
    }
    if !path.exists() {
        return Err(Failure::invalid(format!("there is no project `{}`", path.display())));
    }
    let top = path.ancestors().find(|folder| folder.join(".git").exists());
    let own = if path.is_dir() { path.as_path() } else { path.parent().unwrap_or(&path) };
    Roots::open(&[top.unwrap_or(own).to_owned()])
        .map(Some)
        .map_err(|error| Failure::new(ErrorCode::IoFailed, error.to_string()))
}

pub(super) enum RunStart {
    /// The session of the first process.
    Session(Arc<AgentSession>),
    /// Not: it is built still, or there is nothing to start.
    Answer(Value),
}

/// Deadline of a run that needs no build.
pub(super) fn results_deadline() -> Instant {
    Instant::now() + RESULTS_TIMEOUT
}

/// Starts the first process of a run.
pub(super) async fn begin(call: &ToolCall, run: Arc<TestRun>, until: Instant) -> Result<RunStart, Failure> {
    match run.next(call, until).await? {
        RunUpdate::Process(request) => start(call, &run, *request).await.map(RunStart::Session),
        RunUpdate::Outcome(outcome) => {
            let (mut answer, _) = outcome?;
            if answer["error"].is_null() {
                let message = "no process with tests was started";
                answer["error"] = json!({ "code": ErrorCode::NotFound.as_str(), "message": message });
            }
            Ok(RunStart::Answer(answer))
        }
        RunUpdate::Pending(doing) => {
            call.bridge.begin_test(run);
            let message = format!("the tests are being built: {doing}; the same call waits on");
            Ok(RunStart::Answer(json!({ "state": "running", "pending": true, "message": message })))
        }
    }
}

/// Error with advice when no framework is known.
fn unknown_framework(folder: &std::path::Path) -> Failure {
    let has = |name: &str| folder.join(name).exists();
    let hint = if has("package.json") {
        "debug_launch {program: \"node_modules/.bin/mocha\", args: [\"--grep\", NAME]} or what else runs them"
    } else {
        "debug_launch starts the program that runs them, with `args` that choose one"
    };
    let message = format!("how the tests of `{}` are run is not known here", folder.display());
    Failure::new(ErrorCode::Unsupported, message)
        .hint(format!("it knows {}; otherwise {hint}", known_frameworks()))
}

fn known_frameworks() -> String {
    let names: Vec<&str> = test_frameworks::framework::ALL.iter().map(|framework| framework.name()).collect();
    names.join(", ")
}

/// The runs that are being built after their call was answered, by the arguments that distinguish the calls.
#[derive(Debug, Default)]
pub struct BegunTests(Mutex<HashMap<String, Arc<TestRun>>>);

impl BegunTests {
    /// Removes and returns the run of a call, if there is one.
    pub fn take(&self, key: &str) -> Option<Arc<TestRun>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key)
    }

    /// Adds a run under the key of its call.
    pub fn put(&self, run: Arc<TestRun>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(run.key.clone(), run);
    }

    /// Drops all runs, which ends them.
    pub fn end(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
