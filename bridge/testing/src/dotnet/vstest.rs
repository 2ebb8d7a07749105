//! VSTest: its console program, driven as editors drive it, over a socket. It loads the adapters of xunit,
//! NUnit and MSTest, lists tests with their places and reports results as they come.
//!
//! Not here: the conversation ([`connection`]), the tests in its messages ([`cases`]), the process with the
//! tests under a debugger ([`test_host`]), the socket ([`super::wire`]).

use serde_json::json;
use tandem_wire::{ErrorCode, Failure};
use tandem_workspace::process::ProcessCommand;

use super::build::{DotnetArguments, DotnetTest, DotnetTestKey, TestProject};
use super::runner_lines::RunnerLines;
use super::wire::{Framing, Wire};
use super::{ENGINE, settings};
use crate::host::ProcessLaunch;
use crate::model::TestItem;
use crate::run::{FrameworkRun, ProcessPurpose};
use connection::{VstestAnswer, VstestConnection, VstestRequest};

pub(super) use cases::identity;

mod cases;
mod connection;
mod messages;
mod test_host;

/// The code of a run whose process with the tests has crashed.
const CRASHED: i32 = 125;

/// The tests of a project.
///
/// # Errors
/// When the console program cannot be started or does not speak the protocol.
pub(super) async fn list(
    run: &mut FrameworkRun<'_>,
    project: &TestProject,
) -> Result<Vec<TestItem>, Failure> {
    run_request(run, project, VstestRequest::List).await
}

/// Runs these tests of a project.
///
/// # Errors
/// The errors of [`list`]: the console program does not start or does not speak the protocol.
pub(super) async fn run(
    run: &mut FrameworkRun<'_>,
    project: &TestProject,
    tests: &[TestItem],
) -> Result<(), Failure> {
    let handles = tests.iter().filter_map(|test| test.handle.get::<DotnetTest>());
    let cases = handles.filter_map(|handle| match &handle.key {
        DotnetTestKey::Vstest(case) => Some(case.clone()),
        DotnetTestKey::Platform { .. } => None,
    });
    let cases = cases.collect();
    run_request(run, project, VstestRequest::Run(cases, super::listed_ids(tests))).await?;
    if run.status.code == CRASHED {
        run.fail_crashed_test(tests, None, super::call_of);
    }
    Ok(())
}

async fn run_request(
    run: &mut FrameworkRun<'_>,
    project: &TestProject,
    ask: VstestRequest,
) -> Result<Vec<TestItem>, Failure> {
    if let Some(word) =
        DotnetArguments::read(&run.options.arguments).program.iter().find(|word| word.starts_with('-'))
    {
        let message = format!("`{word}` is not an argument that VSTest can take here");
        return Err(Failure::new(ErrorCode::Unsupported, message).hint(
            "taken are -c, --settings, --collect, --no-build, -p:NAME=VALUE, and NAME=VALUE of run \
                settings behind `--`",
        ));
    }
    let wire = Wire::listen(Framing::Counted).await?;
    let is_run = matches!(ask, VstestRequest::Run(..));
    let command = ProcessCommand::new(super::dotnet(), &project.folder)
        .arg(&project.console)
        .arg(format!("/port:{}", wire.port()))
        .arg(format!("/parentprocessid:{}", std::process::id()))
        // How long VSTest waits for a host that a debugger may have stopped.
        .env("VSTEST_CONNECTION_TIMEOUT", "86400");
    let command = super::with_environment(command, run);
    let host = Some(run.host).filter(|host| is_run && host.is_debugger());
    let settings = settings::of(run, project, "")?;
    let mut talk = VstestConnection::new(wire, ask, (project, settings), host, run);
    // A debugger starts the process with the tests, not the console program.
    let purpose = if is_run { ProcessPurpose::RunDirectly } else { ProcessPurpose::List };
    let mut reader = RunnerLines::new();
    let ended = run
        .process(purpose, ProcessLaunch::new(command, ENGINE), "dotnet test", &mut reader, &mut talk)
        .await?;
    let VstestAnswer { listed, printed, aborted, is_complete } = talk.into_answer();
    for text in &printed {
        run.report.say(text);
        text.lines().for_each(|line| reader.read(line));
    }
    reader.report(&mut run.status);
    if let Some(why) = &aborted {
        run.report.say(why);
        run.status.broken |= !is_run;
        run.status.code = CRASHED;
    } else if !is_complete && run.results.counts().total() == 0 {
        let message = format!("`{}` ended with {ended} before it answered", project.console.display());
        return Err(Failure::new(ErrorCode::LaunchFailed, message)
            .data(json!({ "output": run.report.output.text() })));
    }
    Ok(listed)
}
