//! VSTest: its console program, driven as editors drive it, over a socket. It loads the adapters of xunit,
//! NUnit and MSTest, lists tests with their places and reports results as they come. For a debugger it lets
//! us start the process that runs the tests. Not here: the socket ([`super::wire`]).

use std::path::Path;

use serde::Serialize;
use serde_json::{Value, json};
use tandem_wire::{ErrorCode, Failure, types};
use tandem_workspace::process::output::CapturedOutput;
use tandem_workspace::process::{ProcessCommand, ProcessExit};
use tokio::sync::oneshot;

use super::build::{DotnetArguments, DotnetTest, DotnetTestKey, TestProject};
use super::wire::{Framing, Wire};
use super::{names, settings};
use crate::host::{BoxFuture, DirectLauncher, ProcessLaunch, ProcessLauncher};
use crate::model::{TestHandle, TestItem, TestResult, TestStatus};
use crate::results::TestResults;
use crate::run::FrameworkRun;
use crate::run::options::KnownException;
use crate::run::output::NullReader;
use crate::run::source::ResultSource;
use messages::{
    DiscoveryEnd, DiscoveryRequest, ExecutionEnd, ExecutionRequest, HostLaunch, HostLaunched,
    PlatformOptions, RunStatistics, UserMessage, VstestMessage, VstestObject, VstestResult,
};

mod messages;

/// The newest version of the protocol that we speak.
const MAX_PROTOCOL_VERSION: u64 = 7;
/// Bytes that are kept of a debugged host's output.
const MAX_HOST_OUTPUT_BYTES: usize = 1 << 20;

/// The code of a run whose process with the tests has crashed.
const CRASHED: i32 = 125;

/// Request to VSTest's console program.
enum VstestRequest {
    List,
    /// Results of these tests.
    Run(Vec<Value>),
}

type HostedProcess<'a> = BoxFuture<'a, (Result<ProcessExit, Failure>, CapturedOutput)>;

/// The reports of the console program, apart from results of tests.
#[derive(Debug, Default)]
struct VstestAnswer {
    listed: Vec<TestItem>,
    /// Lines that belong to no test, for the user.
    printed: Vec<String>,
    /// Why the run was aborted.
    aborted: Option<String>,
    /// All tests were listed, or have run.
    is_complete: bool,
}

/// One conversation with the console program.
struct VstestConnection<'a> {
    wire: Wire,
    ask: VstestRequest,
    project: &'a TestProject,
    settings: String,
    version: u64,
    answer: VstestAnswer,
    /// Starts the process with the tests, when that is a debugger.
    host: Option<&'a dyn ProcessLauncher>,
    hosted: Option<HostedProcess<'a>>,
    cancel: tokio_util::sync::CancellationToken,
    env: Vec<(String, Option<String>)>,
    known: Option<KnownException>,
}

/// The tests of a project.
///
/// # Errors
/// When the console program cannot be started or does not speak the protocol.
pub async fn list(run: &mut FrameworkRun<'_>, project: &TestProject) -> Result<Vec<TestItem>, Failure> {
    run_request(run, project, VstestRequest::List).await
}

/// Runs these tests of a project.
///
/// # Errors
/// The errors of [`list`]: the console program does not start or does not speak the protocol.
pub async fn run(
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
    run_request(run, project, VstestRequest::Run(cases)).await?;
    if run.status.code == CRASHED {
        run.fail_crashed_test(tests, ProcessExit { code: 134 }, super::call_of);
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
    let is_run = matches!(ask, VstestRequest::Run(_));
    let command = ProcessCommand::new(super::dotnet(), &project.folder)
        .arg(&project.console)
        .arg(format!("/port:{}", wire.port()))
        .arg(format!("/parentprocessid:{}", std::process::id()))
        // How long VSTest waits for a host that a debugger may have stopped.
        .env("VSTEST_CONNECTION_TIMEOUT", "86400");
    let command = super::with_environment(command, run);
    let host = Some(run.host).filter(|host| is_run && host.is_debugger());
    let mut talk = VstestConnection {
        wire,
        ask,
        project,
        settings: settings::of(run, project, "")?,
        version: MAX_PROTOCOL_VERSION,
        answer: VstestAnswer::default(),
        host,
        hosted: None,
        cancel: run.cancel.child_token(),
        env: run.options.env.clone(),
        known: run.options.known.clone(),
    };
    let shown = if is_run { "dotnet test" } else { "" };
    let ended = run
        .process(&DirectLauncher, ProcessLaunch::new(command, "coreclr"), shown, &mut NullReader, &mut talk)
        .await?;
    let VstestAnswer { listed, printed, aborted, is_complete } = talk.answer;
    printed.iter().for_each(|line| run.report.say(line));
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

impl VstestConnection<'_> {
    async fn send(&mut self, kind: &str, payload: &impl Serialize) -> Result<(), Failure> {
        let (version, message_type) = (self.version, kind.to_owned());
        self.wire.send(&VstestMessage { version, message_type, payload: types::body(payload) }).await
    }

    async fn take(&mut self, message: &Value, results: &TestResults) -> Result<(), Failure> {
        let VstestMessage { message_type, payload, .. } = types::read(message);
        match message_type.as_str() {
            "TestSession.Connected" => self.send("ProtocolVersion", &MAX_PROTOCOL_VERSION).await,
            "ProtocolVersion" => {
                self.version = payload.as_u64().unwrap_or(1).min(MAX_PROTOCOL_VERSION);
                self.ask().await
            }
            "ProtocolError" => {
                let message = format!("`{}` speaks another protocol", self.project.console.display());
                Err(Failure::new(ErrorCode::Unsupported, message))
            }
            "TestExecution.CustomTestHostLaunch" => self.start(types::read(&payload)).await,
            "TestExecution.Completed" | "TestDiscovery.Completed" => {
                self.note(&message_type, &payload, results);
                self.answer.is_complete = true;
                self.send("TestSession.Terminate", &Value::Null).await
            }
            _ => {
                self.note(&message_type, &payload, results);
                Ok(())
            }
        }
    }

    async fn ask(&mut self) -> Result<(), Failure> {
        let (run_settings, test_platform_options) = (&self.settings, PlatformOptions::default());
        let (kind, payload) = match &self.ask {
            VstestRequest::List => {
                let sources = [self.project.target.as_path()];
                let payload = DiscoveryRequest { sources, run_settings, test_platform_options };
                ("TestDiscovery.Start", types::body(&payload))
            }
            VstestRequest::Run(test_cases) => {
                let payload = ExecutionRequest {
                    test_cases,
                    run_settings,
                    keep_alive: false,
                    debugging_enabled: false,
                    test_platform_options,
                };
                let kind = match self.host {
                    // VSTest requests the start of the process; we start it, with or without a debugger.
                    Some(_) => "TestExecution.GetTestRunnerProcessStartInfoForRunSelected",
                    None => "TestExecution.RunAllWithDefaultHost",
                };
                (kind, types::body(&payload))
            }
        };
        self.send(kind, &payload).await
    }

    /// Starts the process that runs the tests, under the debugger.
    async fn start(&mut self, asked: HostLaunch) -> Result<(), Failure> {
        let Some(host) = self.host else {
            let refused = HostLaunched { host_process_id: -1, error_message: Some("not asked for") };
            return self.send("TestExecution.CustomTestHostLaunchCallback", &refused).await;
        };
        let folder = asked.working_directory.as_deref().map_or(self.project.folder.as_path(), Path::new);
        let program = asked.file_name.as_deref().unwrap_or("dotnet");
        let mut command = ProcessCommand::new(program, folder).args(words(&asked.arguments));
        for (name, value) in &asked.environment_variables {
            command = command.env(name, value.as_str().unwrap_or_default());
        }
        for (name, value) in &self.env {
            command.environment.push((name.into(), value.as_ref().map(Into::into)));
        }
        let mut launch = ProcessLaunch::new(command, "coreclr");
        launch.stops = super::stops(self.known.as_ref());
        let (started, pid) = oneshot::channel();
        launch.started = Some(started);
        let cancel = self.cancel.clone();
        self.hosted = Some(Box::pin(async move {
            let mut printed = CapturedOutput::new(MAX_HOST_OUTPUT_BYTES, MAX_HOST_OUTPUT_BYTES);
            let ended =
                host.run(launch, &mut printed, tandem_workspace::build::RUN_TIMEOUT * 48, &cancel).await;
            (ended, printed)
        }));
        let pid = match &mut self.hosted {
            Some(hosted) => tokio::select! {
                pid = pid => pid.ok(),
                (outcome, _) = hosted => {
                    self.hosted = None;
                    outcome?;
                    None
                }
            },
            None => None,
        };
        let answer = HostLaunched { host_process_id: pid.map_or(-1, i64::from), error_message: None };
        self.send("TestExecution.CustomTestHostLaunchCallback", &answer).await
    }

    /// Handles a message that needs no response.
    fn note(&mut self, kind: &str, payload: &Value, results: &TestResults) {
        match kind {
            "TestDiscovery.TestFound" => self.list(payload.as_array().map(Vec::as_slice).unwrap_or_default()),
            "TestDiscovery.Completed" => {
                let end: DiscoveryEnd = types::read(payload);
                self.list(&end.last_discovered_tests);
                if end.is_aborted {
                    self.answer.aborted = Some("the tests could not be listed".into());
                }
            }
            "TestExecution.StatsChange" => self.stats(&types::read(payload), results),
            "TestExecution.Completed" => {
                let ExecutionEnd { last_run_tests, test_run_complete_args: ended } = types::read(payload);
                self.stats(&last_run_tests, results);
                if ended.is_aborted {
                    let why = ended.error.message;
                    self.answer
                        .aborted
                        .get_or_insert_with(|| why.unwrap_or_else(|| "the run was aborted".into()));
                }
            }
            "TestSession.Message" => {
                let UserMessage { message_level: level, message: text } = types::read(payload);
                // This message explains why a run was aborted, with the last output of the process.
                if level == Some(2) && text.contains("aborted") {
                    self.answer.aborted = Some(text);
                } else if level != Some(0) || text.starts_with("No test") {
                    self.answer.printed.push(text);
                }
            }
            _ => {}
        }
    }

    fn list(&mut self, cases: &[Value]) {
        self.answer.listed.extend(cases.iter().map(|case| test_of(case, self.project)));
    }

    fn stats(&self, statistics: &RunStatistics, results: &TestResults) {
        for case in &statistics.active_tests {
            results.start_test(&test_of(case, self.project).id);
        }
        for result in &statistics.new_test_results {
            results.finish_test(result_of(result, self.project));
        }
    }
}

impl ResultSource for VstestConnection<'_> {
    fn follow<'a>(&'a mut self, results: &'a TestResults) -> BoxFuture<'a, Failure> {
        Box::pin(async move {
            loop {
                let message = match &mut self.hosted {
                    Some(hosted) => tokio::select! {
                        message = self.wire.receive() => message,
                        (outcome, printed) = hosted => {
                            self.hosted = None;
                            self.answer.printed.push(printed.out.text());
                            match outcome {
                                Ok(_) => continue,
                                Err(failure) => return failure,
                            }
                        }
                    },
                    None => self.wire.receive().await,
                };
                let outcome = match message {
                    Ok(Some(message)) => self.take(&message, results).await,
                    Ok(None) => return std::future::pending().await,
                    Err(failure) => Err(failure),
                };
                if let Err(failure) = outcome {
                    return failure;
                }
            }
        })
    }

    fn finish<'a>(&'a mut self, results: &'a TestResults) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            for message in self.wire.drain().await {
                let VstestMessage { message_type, payload, .. } = types::read(&message);
                self.note(&message_type, &payload, results);
            }
            self.answer.aborted = self.answer.aborted.take().filter(|_| !self.cancel.is_cancelled());
            if let Some(hosted) = self.hosted.take() {
                let ended = tokio::time::timeout(std::time::Duration::from_secs(5), hosted).await;
                if let Ok((_, printed)) = ended {
                    self.answer.printed.push(printed.out.text());
                }
            }
        })
    }

    fn reason(&self) -> Option<&str> {
        self.answer.aborted.as_deref()
    }
}

/// Arguments as .NET writes them in one text: in double quotes where they have spaces.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted, mut begun) = (Vec::new(), String::new(), false, false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.peek() == Some(&'"') => word.extend(letters.next()),
            '"' => (quoted, begun) = (!quoted, true),
            ' ' if !quoted => {
                if begun || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            letter => word.push(letter),
        }
    }
    if begun || !word.is_empty() {
        words.push(word);
    }
    words
}

fn test_of(case: &Value, project: &TestProject) -> TestItem {
    let object: VstestObject = types::read(case);
    let qualified = object.text("FullyQualifiedName", "TestCase.FullyQualifiedName");
    let shown = object.text("DisplayName", "TestCase.DisplayName");
    let (class, method) = names::split(&qualified);
    let line = object.number("LineNumber", "TestCase.LineNumber");
    let mut traits: Vec<String> = Vec::new();
    for (name, value) in object.traits() {
        traits.push(if value.is_empty() { name } else { format!("{name}={value}") });
    }
    for category in
        ["MSTestDiscoverer.TestCategory", "NUnit.TestCategory"].map(|id| object.texts(id)).concat()
    {
        // NUnit lists them as traits, too.
        if !traits.iter().any(|one| one.ends_with(category)) {
            traits.push(category.to_owned());
        }
    }
    let named = |text: String| Some(text).filter(|text| !text.is_empty());
    TestItem {
        file: named(object.text("CodeFilePath", "TestCase.CodeFilePath")),
        line: line.and_then(|line| u32::try_from(line).ok()).filter(|line| *line > 0),
        skipped: named(object.text("", "XunitSkipReason")),
        traits,
        framework: project.framework.clone(),
        id: names::id(class, method, &shown),
        class: class.to_owned(),
        handle: TestHandle::new(DotnetTest {
            project: project.clone(),
            key: DotnetTestKey::Vstest(case.clone()),
        }),
        ..TestItem::default()
    }
}

fn result_of(result: &VstestResult, project: &TestProject) -> TestResult {
    let (test, object) = (test_of(&result.test_case, project), &result.object);
    let outcome = match object.number("Outcome", "TestResult.Outcome") {
        Some(1) => TestStatus::Passed,
        Some(2) => TestStatus::Failed,
        _ => TestStatus::Skipped,
    };
    let message = object.text("ErrorMessage", "TestResult.ErrorMessage");
    let stack = object.text("ErrorStackTrace", "TestResult.ErrorStackTrace");
    let compared = names::compared_values(&message);
    let place = (outcome == TestStatus::Failed).then(|| names::place(&stack)).flatten();
    let (file, line) = place.or(test.file.zip(test.line)).unzip();
    let printed = result.messages.iter().filter(|one| one.category != "AdditionalInfo");
    let printed: Vec<&str> = printed.filter_map(|one| one.text.as_deref()).collect();
    // Rows that the framework discovers only during the run have separate names.
    let shown = &result.display_name;
    let (class, method) = names::split(&test.id);
    let rows = !shown.is_empty() && !test.id.contains('(') && shown.contains('(');
    let id = if rows { names::id(class, method, shown) } else { test.id.clone() };
    TestResult {
        id,
        outcome,
        message,
        compared,
        file,
        line,
        stack,
        output: printed.join("\n").trim().to_owned(),
        duration_ms: milliseconds(&object.text("Duration", "TestResult.Duration")),
        framework: test.framework,
        project: project.name.clone(),
        ..TestResult::default()
    }
}

/// Parses a time span such as `00:00:01.0230000`.
fn milliseconds(span: &str) -> Option<u64> {
    let mut seconds = 0.0;
    for part in span.split(':') {
        seconds = seconds * 60.0 + part.parse::<f64>().ok()?;
    }
    Some((seconds * 1000.0).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_of_dotnet_is_taken_apart() {
        assert_eq!(
            words(r#"exec --depsfile "/a b/x.json" "" --port 1 a\"b"#),
            ["exec", "--depsfile", "/a b/x.json", "", "--port", "1", "a\"b"]
        );
        assert_eq!(milliseconds("00:01:02.5000000"), Some(62_500));
    }
}
