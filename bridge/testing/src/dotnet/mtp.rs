//! Microsoft.Testing.Platform: a project is a program that runs its tests itself (xunit.v3, TUnit, and the
//! runners of NUnit and MSTest). In server mode it connects to a socket, lists tests with their locations
//! and reports the start and end of each, in JSON-RPC. This program is the process of the tests, so a
//! debugger launches it directly.
//!
//! Not here: the socket and its frames ([`super::wire`]), run settings ([`super::settings`]).

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};
use tandem_wire::{ErrorCode, Failure, types};
use tandem_workspace::process::ProcessCommand;

use super::build::{DotnetTest, DotnetTestKey, TestProject};
use super::runner_lines::RunnerLines;
use super::wire::{Framing, Wire};
use super::{ENGINE, names, settings};
use crate::host::{BoxFuture, ProcessLaunch};
use crate::model::{TestHandle, TestItem, TestResult, TestStatus};
use crate::results::TestResults;
use crate::run::source::ResultSource;
use crate::run::{FrameworkRun, ProcessPurpose};
use messages::{
    ClientInfo, InitializeParams, JsonRpcCall, JsonRpcRefusal, OfferedCapabilities, ProgramMessage,
    RequestedNode, TestChange, TestFailure, TestLocation, TestNode, TestUpdates, TestingCapabilities,
    WorkParams,
};

mod messages;

/// Time limit for the program to exit after the request.
const EXIT_TIMEOUT: Duration = Duration::from_secs(20);

/// The code of a program that does not know its arguments.
const INVALID_COMMAND_LINE: i32 = 5;

/// Exit code of a program in which a test has failed. A program that a client drives still ends with 0.
const TESTS_FAILED: i32 = 2;

const INITIALIZE: u64 = 1;
const WORK: u64 = 2;

/// Request to the test program.
enum MtpRequest {
    List,
    /// Results of these tests; of all when there are none. Their listed ids follow.
    Run(Vec<TestItem>, HashMap<String, String>),
}

impl MtpRequest {
    fn purpose(&self) -> ProcessPurpose {
        match self {
            Self::List => ProcessPurpose::List,
            Self::Run(..) => ProcessPurpose::Run,
        }
    }
}

/// One conversation with the program.
struct MtpConnection<'a> {
    wire: Wire,
    ask: MtpRequest,
    /// The settings say which tests.
    by_where: bool,
    /// All tests run, also those that the framework only runs if they are named.
    is_everything: bool,
    project: &'a TestProject,
    listed: Vec<TestItem>,
    done: bool,
}

/// The tests of a project.
///
/// # Errors
/// When the program cannot be started or does not speak the protocol.
pub(super) async fn list(
    run: &mut FrameworkRun<'_>,
    project: &TestProject,
) -> Result<Vec<TestItem>, Failure> {
    run_request(run, project, MtpRequest::List).await
}

/// Runs these tests of a project, or all if the list is empty.
///
/// # Errors
/// The errors of [`list`]: the program does not start or does not speak the protocol.
pub(super) async fn run(
    run: &mut FrameworkRun<'_>,
    project: &TestProject,
    tests: Vec<TestItem>,
) -> Result<(), Failure> {
    let before = run.results.counts().failed;
    let ids = super::listed_ids(&tests);
    run_request(run, project, MtpRequest::Run(tests, ids)).await?;
    if run.results.counts().failed > before {
        run.status.first_code.get_or_insert(TESTS_FAILED);
    }
    Ok(())
}

async fn run_request(
    run: &mut FrameworkRun<'_>,
    project: &TestProject,
    ask: MtpRequest,
) -> Result<Vec<TestItem>, Failure> {
    let wire = Wire::listen(Framing::Headers).await?;
    let port = wire.port().to_string();
    let mut command = ProcessCommand::new(super::dotnet(), &project.folder).arg(&project.target);
    command = command.args(["--server", "jsonrpc", "--client-host", "127.0.0.1", "--client-port", &port]);
    command = command
        .args(&project.arguments)
        .args(super::build::DotnetArguments::read(&run.options.arguments).program);
    let nunit = project.target.with_file_name("NUnit3.TestAdapter.dll").is_file();
    let mut by_where = false;
    if nunit {
        // Its runner reports places only to editors, and wraps a part of VSTest: it reads VSTest's settings.
        let filter = match &ask {
            MtpRequest::Run(tests, _)
                if !run.selection.is_everything() && tests.iter().any(|test| test.id.contains('"')) =>
            {
                settings::nunit_where(tests)
            }
            _ => String::new(),
        };
        by_where = !filter.is_empty();
        let file = run.write_file("nunit.runsettings", &settings::of(run, project, &filter)?)?;
        command = command.arg("--settings").arg(file);
    } else if let Some(file) = settings::settings_file(run) {
        settings::read(&file)?;
        command = command.arg("--settings").arg(file);
    }
    command = super::with_environment(command, run);
    let purpose = ask.purpose();
    let mut launch = ProcessLaunch::new(command, ENGINE);
    launch.set_attribute("program", &project.target);
    let arguments = launch.command.arguments.iter().skip(1);
    let arguments: Vec<String> = arguments.map(|word| word.to_string_lossy().into_owned()).collect();
    launch.set_attribute("args", &arguments);
    launch.stops = super::stops(run.options.known.as_ref());
    let is_everything = run.selection.is_everything();
    let mut talk =
        MtpConnection { wire, ask, by_where, is_everything, project, listed: Vec::new(), done: false };
    let mut reader = RunnerLines::new();
    let ended = run.process(purpose, launch, "dotnet test", &mut reader, &mut talk).await?;
    reader.report(&mut run.status);
    if let (false, MtpRequest::Run(tests, _)) = (talk.done, &talk.ask)
        && !tests.is_empty()
        && run.results.running().is_empty()
    {
        run.fail_crashed_test(tests, Some(ended), super::call_of);
    } else if ended.code == INVALID_COMMAND_LINE && !talk.done {
        return Err(arguments_failure(&run.report.output.text(), project));
    } else if !talk.done && run.results.counts().total() == 0 {
        let message = format!("`{}` ended with {ended} before it answered", project.target.display());
        return Err(Failure::new(ErrorCode::LaunchFailed, message)
            .data(json!({ "output": run.report.output.text() }))
            .hint(
                "`output` says why; its test framework may be too old for the server mode of \
                Microsoft.Testing.Platform",
            ));
    }
    Ok(talk.listed)
}

/// Reason why a program rejects its arguments: the lines that it prints before its usage.
fn arguments_failure(printed: &str, project: &TestProject) -> Failure {
    let lines = printed.lines().map(str::trim).take_while(|line| !line.starts_with("Usage "));
    let is_why = |line: &&str| {
        !line.is_empty() && !line.starts_with("Run '--help'") && !line.starts_with("Command line:")
    };
    let why: Vec<&str> = lines.filter(is_why).collect();
    let message = format!(
        "`{}` does not take its arguments: {}",
        project.target.file_name().unwrap_or_default().to_string_lossy(),
        why.join("; ")
    );
    Failure::invalid(message)
        .hint("`runsettings` is for MSTest and NUnit; `args` takes what the program lists with `--help`")
}

impl MtpConnection<'_> {
    async fn greet(&mut self) -> Result<(), Failure> {
        self.wire.connect().await?;
        let params = InitializeParams {
            process_id: std::process::id(),
            client_info: ClientInfo { name: "tandem", version: env!("CARGO_PKG_VERSION") },
            capabilities: OfferedCapabilities { testing: TestingCapabilities { debugger_provider: false } },
        };
        self.wire.send(&JsonRpcCall::request(INITIALIZE, "initialize", params)).await
    }

    /// Handles a message of the program.
    async fn take(&mut self, message: &Value, results: &TestResults) -> Result<(), Failure> {
        let ProgramMessage { id, method, error, params } = types::read(message);
        match method.as_deref() {
            Some("testing/testUpdates/tests") => {
                self.update(params, results);
                return Ok(());
            }
            // A request of the program's: nothing is offered.
            Some(method) if !id.is_null() => {
                let message = format!("`{method}` is not offered");
                return self.wire.send(&JsonRpcRefusal::new(id, message)).await;
            }
            Some(_) => return Ok(()),
            None => {}
        }
        if let Some(error) = error.message {
            let message = format!("the tests of `{}` refused: {error}", self.project.target.display());
            return Err(Failure::new(ErrorCode::CommandFailed, message));
        }
        match id.as_u64() {
            Some(INITIALIZE) => {
                let (method, tests) = match &self.ask {
                    MtpRequest::List => ("testing/discoverTests", None),
                    MtpRequest::Run(tests, _) => (
                        "testing/runTests",
                        Some(tests)
                            .filter(|tests| !tests.is_empty() && !self.by_where && !self.is_everything),
                    ),
                };
                let tests = tests.map(|tests| tests.iter().map(RequestedNode::of).collect());
                let params = WorkParams { run_id: "3a4f5c0e-7f0b-4d8e-9a53-0d6b6c7f1a11", tests };
                self.wire.send(&JsonRpcCall::request(WORK, method, params)).await
            }
            Some(WORK) => {
                self.done = true;
                self.wire.send(&JsonRpcCall::exit()).await
            }
            _ => Ok(()),
        }
    }

    fn update(&mut self, updates: TestUpdates, results: &TestResults) {
        for TestChange { node } in updates.changes {
            self.node(node, results);
        }
    }

    fn node(&mut self, node: TestNode, results: &TestResults) {
        if node.kind == "group" {
            return;
        }
        let mut test = test_of(&node, self.project);
        if let MtpRequest::Run(_, ids) = &self.ask {
            super::restore_number(&mut test, ids.get(&node.uid.to_string()));
        }
        match node.execution_state.as_str() {
            "discovered" => self.listed.push(test),
            "in-progress" => results.start_listed_test(&test),
            "passed" | "skipped" | "failed" | "error" | "timed-out" | "cancelled" => {
                // Rows may share a name, and the platform counts what cleans up after a test, too.
                results.start_listed_test(&test);
                results.finish_test(result_of(node, test, self.project));
            }
            _ => {}
        }
    }
}

impl ResultSource for MtpConnection<'_> {
    fn follow<'a>(&'a mut self, results: &'a TestResults) -> BoxFuture<'a, Failure> {
        Box::pin(async move {
            if let Err(failure) = self.greet().await {
                return failure;
            }
            loop {
                let outcome = match self.wire.receive().await {
                    Ok(Some(message)) => self.take(&message, results).await,
                    Ok(None) => return std::future::pending().await,
                    Err(failure) => Err(failure),
                };
                if let Err(failure) = outcome {
                    return failure;
                }
                if self.done {
                    tokio::time::sleep(EXIT_TIMEOUT).await;
                    return Failure::new(
                        ErrorCode::Timeout,
                        "the program of the tests does not end after its tests",
                    );
                }
            }
        })
    }

    fn finish<'a>(&'a mut self, results: &'a TestResults) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            for message in self.wire.drain().await {
                let message: ProgramMessage = types::read(&message);
                self.update(message.params, results);
            }
        })
    }
}

/// The test that a node represents.
fn test_of(node: &TestNode, project: &TestProject) -> TestItem {
    let traits = node.traits.iter().flatten();
    let traits = traits.map(|(name, value)| match value.as_str().filter(|value| !value.is_empty()) {
        Some(value) => format!("{name}={value}"),
        None => name.clone(),
    });
    let (location, shown) = (&node.location, node.display_name.clone());
    let (class, method) = class_and_method(&node.uid, location, &shown);
    let (class, id) = (class.to_owned(), names::id(class, method, &shown));
    TestItem {
        file: Some(location.file.clone()).filter(|file| !file.is_empty()),
        line: location.line_start.filter(|line| *line > 0),
        traits: traits.collect(),
        framework: project.framework.clone(),
        handle: TestHandle::new(DotnetTest {
            project: project.clone(),
            key: DotnetTestKey::Platform { uid: node.uid.clone(), shown },
        }),
        class,
        id,
        ..TestItem::default()
    }
}

/// Class and method of a node. NUnit's runner splits a name at its last dot, wherever that is, and its ids
/// end in the name that a test was given, which VSTest has in place of the method.
fn class_and_method<'a>(uid: &'a Value, location: &'a TestLocation, shown: &str) -> (&'a str, &'a str) {
    let (class, method) = names::split_shown(uid.as_str().unwrap_or_default(), shown);
    match !class.is_empty() && location.class.starts_with(class) {
        true if method == shown => (class, method),
        true => (class, &location.method),
        false => (&location.class, &location.method),
    }
}

fn result_of(node: TestNode, test: TestItem, project: &TestProject) -> TestResult {
    let TestFailure { message, stacktrace: stack, expected, actual } = node.failure;
    let mut compared = names::compared_values(&message);
    for (value_of, value) in [(&mut compared.expected, expected), (&mut compared.actual, actual)] {
        if !value.is_empty() {
            *value_of = Some(value);
        }
    }
    let outcome = match node.execution_state.as_str() {
        "passed" => TestStatus::Passed,
        "skipped" => TestStatus::Skipped,
        _ => TestStatus::Failed,
    };
    let place = (outcome == TestStatus::Failed).then(|| names::place(&stack)).flatten();
    let (file, line) = place.or(test.file.zip(test.line)).unzip();
    let printed = [node.standard_output, node.standard_error];
    TestResult {
        id: test.id,
        outcome,
        message,
        compared,
        file,
        line,
        stack,
        output: printed.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n"),
        duration_ms: node.duration_ms.map(|ms| ms.max(0.0) as u64),
        framework: test.framework,
        project: project.name.clone(),
        ..TestResult::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_a_test_of_nunit_was_given_takes_the_place_of_its_method() {
        for (uid, shown, expected) in [
            ("Shop.CartTests.adds v1.2", "adds v1.2", ("Shop.CartTests", "adds v1.2")),
            ("Shop.CartTests.Rows(1)", "Rows(1)", ("Shop.CartTests", "Rows(1)")),
            ("0b7d", "Rows (1)", ("Shop.CartTests", "Rows")),
        ] {
            let location =
                TestLocation { class: "Shop.CartTests".into(), method: "Rows".into(), ..Default::default() };
            assert_eq!(class_and_method(&uid.into(), &location, shown), expected);
        }
    }

    #[test]
    fn a_program_that_does_not_know_an_argument_says_which_and_not_all_that_it_knows() {
        let printed = "Unknown option '--settings'\nRun '--help' to see the options registered by this test \
            application.\n\
            Command line: --server jsonrpc --settings a\nUsage dotnet exec a.dll [option providers]\n\n\
            Options:\n    --ansi\n";
        let project = TestProject { target: "/w/bin/a.dll".into(), ..TestProject::default() };
        let failure = arguments_failure(printed, &project);
        assert_eq!(failure.code, ErrorCode::InvalidParameter);
        assert_eq!(failure.message, "`a.dll` does not take its arguments: Unknown option '--settings'");
    }
}
