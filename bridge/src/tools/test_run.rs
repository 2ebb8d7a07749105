//! A test under the debugger. What other test runners need is a launch (`test_kinds`); `dotnet test` starts its host held (`VSTEST_HOST_DEBUG`), says its process id, and the session
//! attaches to it. The run's own output is kept here, since the host's is not the session's.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};
use workspace::process::kept::{Kept, Lines};
use workspace::process::{Command, Sink, Stream};

use super::test_kinds::{self, Tests};
use super::{attaching, execution, launch};
use crate::call::Call;
use crate::observer::State;
use crate::source::absolute;
use crate::tool::{Effect, Family, Tool, run};

/// The project is built first.
const BUILD: Duration = Duration::from_secs(15 * 60);
/// How long the host may take to load its runtime, and how often that is looked for.
const RUNTIME: Duration = Duration::from_secs(30);
const RETRY: Duration = Duration::from_millis(100);
/// A run with its pauses.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// Kept of the run's output, bytes.
const OUTPUT: usize = 1024 * 1024;
/// Shown of it when the run failed, bytes.
const TAIL: usize = 4096;

/// Tests.
pub const FAMILY: Family = Family {
    name: "tests",
    of_session: false,
    tools: &[Tool {
        name: "debug_launch_test",
        core: false,
        effect: Effect::Acts,
        about: "Debug tests of dotnet, pytest, cargo or go, up to the first stop.",
        takes: &[
            "projectPath:s!=folder, project or test file",
            "filter:s=part of a test's name",
            "args:as",
            "breakpoints:a",
            "timeoutMs:i",
        ],
        gives: &["state:s", "session:s", "event:o", "pending:b"],
        run: run!(launch_test),
    }],
};

/// A run of tests; ends, with all its processes, when this goes.
#[derive(Debug)]
pub struct TestRun {
    seen: Arc<Mutex<Seen>>,
    ended: watch::Receiver<Option<i32>>,
    _end: DropGuard,
}

#[derive(Debug)]
struct Seen {
    kept: Kept,
    lines: Lines,
    said: String,
    host: watch::Sender<Option<u64>>,
}

/// Puts what a run prints where others can look.
struct Watching(Arc<Mutex<Seen>>);

impl Sink for Watching {
    fn take(&mut self, _: Stream, bytes: &[u8]) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Seen { kept, lines, said, host } = &mut *seen;
        kept.push(bytes);
        lines.push(bytes, |line| {
            if let Some(pid) = host_of(line) {
                host.send_replace(Some(pid));
            }
            if !line.trim().is_empty() {
                line.trim().clone_into(said);
            }
        });
    }
}

/// `Process Id: 4711, Name: dotnet`, as the test platform says it.
fn host_of(line: &str) -> Option<u64> {
    let rest = line.split_once("Process Id: ")?.1;
    rest.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

impl TestRun {
    /// Starts it; must be called inside a tokio runtime.
    fn start(command: Command) -> (Self, watch::Receiver<Option<u64>>) {
        let host = watch::Sender::new(None);
        let found = host.subscribe();
        let seen = Seen { kept: Kept::new(OUTPUT), lines: Lines::default(), said: String::new(), host };
        let seen = Arc::new(Mutex::new(seen));
        let (end, ended) = (CancellationToken::new(), watch::Sender::new(None));
        let run = Self { seen: seen.clone(), ended: ended.subscribe(), _end: end.clone().drop_guard() };
        tokio::spawn(async move {
            let outcome = command.run(&mut Watching(seen.clone()), LONGEST, &end).await;
            let code = outcome.map_or_else(
                |failure| {
                    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                    seen.kept.push(format!("{failure}\n").as_bytes());
                    -1
                },
                |ended| ended.code,
            );
            ended.send_replace(Some(code));
        });
        (run, found)
    }

    fn with<T>(&self, work: impl FnOnce(&Seen) -> T) -> T {
        work(&self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// As `process_read_output` answers; a cursor is a number of bytes here.
    pub fn output(&self, since: usize, most: usize) -> Value {
        let text = self.with(|seen| seen.kept.text());
        let mut start = since.min(text.len());
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        let mut end = text.len().min(start.saturating_add(most));
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let shown = text.get(start..end).unwrap_or_default();
        let code = *self.ended.borrow();
        json!({ "stdout": shown, "stdoutBytes": shown.len(), "stderr": "", "stderrBytes": 0, "cursor": end.to_string(),
            "exited": code.is_some(), "exitCode": code })
    }
}

async fn launch_test(call: &Call) -> Result<Value, Failure> {
    let project = PathBuf::from(absolute(&call.arguments.need_text("projectPath")?));
    let folder =
        if project.is_dir() { project.as_path() } else { project.parent().unwrap_or(Path::new("/")) };
    if !project.exists() {
        return Err(Failure::invalid(format!("there is no project `{}`", project.display())));
    }
    if let Tests::Launch(attributes) = test_kinds::of(&project, &call.arguments)? {
        return launch::start_test(call, attributes).await;
    }
    let until = Instant::now() + execution::limit(call)?;
    let mut command = Command::new(dotnet(), folder).arg("test").arg(&project).env("VSTEST_HOST_DEBUG", "1");
    if let Some(filter) = call.arguments.text("filter")? {
        // A bare name means every test with it in its name; anything else is the platform's own language.
        let whole = filter.contains(['=', '~', '|', '&', '(']);
        command =
            command.arg("--filter").arg(if whole { filter } else { format!("FullyQualifiedName~{filter}") });
    }
    let (run, mut host) = TestRun::start(command);
    let pid = call.progress.during("building the tests", None, held(call, &run, &mut host)).await?;
    let mut answer = attach(call, &run, pid).await?;
    let session = call.bridge.current().filter(|session| answer["session"] == session.id.as_str());
    let session = session.ok_or_else(|| Failure::new(ErrorCode::NoSession, "the test host ended at once"))?;
    session.keep_run(run);
    let mut event = execution::wait_for_news(call, &session, 0, until).await?;
    let stop = session.snapshot();
    // The host breaks into the debugger it waited for; that is nobody's stop.
    if stop.state == State::Stopped
        && stop.stop["reason"] != "exception"
        && stop.stop["hitBreakpointIds"].is_null()
    {
        session.resume("continue", json!({ "threadId": stop.stop["threadId"] }), &call.cancel).await?;
        event = execution::wait_for_news(call, &session, stop.news, until).await?;
    }
    for key in ["state", "event", "pending", "output"] {
        answer[key] = event[key].clone();
    }
    answer["breakpoints"] = json!(session.with_wishes(|wishes| wishes.bodies()));
    Ok(answer)
}

/// Attaches once the host has its runtime: its id is said as soon as it is started.
async fn attach(call: &Call, run: &TestRun, pid: u64) -> Result<Value, Failure> {
    let until = Instant::now() + RUNTIME;
    loop {
        match attaching::attach_with(call, json!({ "processId": pid })).await {
            Err(failure) if failure.code == ErrorCode::NotDebuggable && Instant::now() < until => {
                if run.ended.borrow().is_some() || call.cancel.is_cancelled() {
                    return Err(failure);
                }
                tokio::time::sleep(RETRY).await;
            }
            outcome => return outcome,
        }
    }
}

/// Waits until the host says its process id.
async fn held(call: &Call, run: &TestRun, host: &mut watch::Receiver<Option<u64>>) -> Result<u64, Failure> {
    let mut ended = run.ended.clone();
    let pid = async { host.wait_for(Option::is_some).await.ok().and_then(|pid| *pid) };
    let over = async { ended.wait_for(Option::is_some).await.ok().and_then(|code| *code) };
    let tail = || {
        let text = run.with(|seen| seen.kept.text());
        let from = text.char_indices().rev().take_while(|(at, _)| text.len() - at <= TAIL).last();
        json!({ "output": text.get(from.map_or(0, |(at, _)| at)..).unwrap_or_default() })
    };
    tokio::select! {
        biased;
        () = call.cancel.cancelled() => Err(Failure::cancelled()),
        pid = pid => pid.ok_or_else(|| Failure::new(ErrorCode::LaunchFailed, "`dotnet test` ended at once").data(tail())),
        code = over => {
            let code = code.unwrap_or(-1);
            Err(Failure::new(
                ErrorCode::LaunchFailed,
                format!("`dotnet test` ended with code {code} and started no test host"),
            )
            .data(tail())
            .hint("mend what `output` says: a build that fails, a filter no test matches, or no test platform"))
        }
        () = tokio::time::sleep(BUILD) => {
            let said = run.with(|seen| seen.said.clone());
            Err(Failure::new(ErrorCode::Timeout, format!("`dotnet test` started no test host; it said last: {said}")))
        }
    }
}

/// `dotnet` in PATH, else in `DOTNET_ROOT`.
fn dotnet() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path =
        std::env::split_paths(&path).map(|folder| folder.join("dotnet")).find(|file| file.is_file());
    let rooted = std::env::var_os("DOTNET_ROOT").map(|root| Path::new(&root).join("dotnet"));
    in_path.or(rooted.filter(|file| file.is_file())).unwrap_or_else(|| PathBuf::from("dotnet"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_platform_names_its_host() {
        assert_eq!(host_of("Process Id: 4711, Name: dotnet"), Some(4711));
        assert_eq!(
            host_of("Host debugging is enabled. Please attach debugger to testhost process to continue."),
            None
        );
    }
}
