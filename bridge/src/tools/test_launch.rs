//! `debug_launch_test`: parses the call, starts its runs, and answers when nothing ran.
//! [`super::test_processes`] has the processes of a run, and [`super::test_stops`] interprets its first stop.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use tandem_wire::{ErrorCode, Failure};
use tandem_workspace::roots::Roots;
use tokio::time::Instant;

use super::run_answer::RunAnswer;
use super::test_processes::{RunStart, begin, leave};
use super::{answer, waiting};
use crate::call::ToolCall;
use crate::repeat::Repeat;
use crate::session::AgentSession;
use crate::source::absolute;
use crate::test_request;
use crate::test_run::{LaunchTestArguments, TestRun};

pub(super) async fn launch_test(call: &ToolCall, arguments: LaunchTestArguments) -> Result<Value, Failure> {
    answer(&launch_as(call, &arguments, arguments.timeout_ms).await?)
}

/// Runs a session's tests again, as they were called.
pub(super) async fn restart(
    call: &ToolCall,
    session: &AgentSession,
    run: &TestRun,
    timeout_ms: Option<u64>,
) -> Result<Value, Failure> {
    leave(call, session).await;
    let mut launched = launch_as(call, &run.arguments, timeout_ms).await?;
    launched.launch.how = Some("newSession");
    answer(&launched)
}

async fn launch_as(
    call: &ToolCall,
    arguments: &LaunchTestArguments,
    timeout_ms: Option<u64>,
) -> Result<RunAnswer, Failure> {
    let until = Instant::now() + waiting::limit(timeout_ms);
    let repeat = Repeat::of(&arguments.repeat)?;
    let elsewhere = outside_folders(call, arguments.tests.project_path())?;
    let options = &call.bridge.options;
    let roots = elsewhere.as_ref().unwrap_or(&options.roots);
    let request =
        test_request::request(&arguments.tests, roots, options.offer.commands, &call.cancel).await?;
    let request = match request {
        Ok(request) => request,
        Err(project) => return Err(unknown_framework(&project.folder)),
    };
    let key = format!("{} {:?}", test_request::key(&request), repeat);
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
                RunStart::Answer(answer) => return Ok(*answer),
            }
        }
    };
    let mut answer = waiting::wait_for_news(call, &session, seen, until).await?;
    if answer.is_pending() {
        answer.describe_session(&call.bridge.current().unwrap_or(session));
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

/// Error with advice when no framework is known.
fn unknown_framework(folder: &std::path::Path) -> Failure {
    let has = |name: &str| folder.join(name).exists();
    let hint = if has("package.json") {
        "debug_launch {program: \"node_modules/.bin/ava\", args: [\"--match\", NAME]} or what else runs them"
    } else {
        "debug_launch starts the program that runs them, with `args` that choose one"
    };
    let message = format!("how the tests of `{}` are run is not known here", folder.display());
    Failure::new(ErrorCode::Unsupported, message)
        .hint(format!("it knows {}; otherwise {hint}", known_frameworks()))
}

fn known_frameworks() -> String {
    let names: Vec<&str> = tandem_testing::frameworks::ALL.iter().map(|framework| framework.name()).collect();
    names.join(", ")
}
