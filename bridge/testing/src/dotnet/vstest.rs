//! VSTest: its console program, driven as editors drive it, over a socket. It loads the adapters of xunit,
//! NUnit and MSTest, lists tests with their places and reports results as they come. For a debugger it lets
//! us start the process that runs the tests. Not here: the socket ([`super::wire`]).

use std::path::Path;

use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use workspace_tools::process::output::CapturedOutput;
use workspace_tools::process::{ProcessCommand, ProcessExit};

use super::build::{DotnetArguments, TestProject};
use super::wire::{Framing, Wire};
use super::{names, settings};
use crate::host::{BoxFuture, DirectLauncher, ProcessLaunch, ProcessLauncher};
use crate::model::{TestItem, TestResult, TestStatus};
use crate::results::TestResults;
use crate::run::{FrameworkRun, KnownException, NullReader, ResultSource};

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
    let cases = tests.iter().map(|test| test.handle["case"].clone()).collect();
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
    async fn send(&mut self, kind: &str, payload: Value) -> Result<(), Failure> {
        let message = json!({ "Version": self.version, "MessageType": kind, "Payload": payload });
        self.wire.send(&message).await
    }

    async fn take(&mut self, message: &Value, results: &TestResults) -> Result<(), Failure> {
        let payload = &message["Payload"];
        match message["MessageType"].as_str().unwrap_or_default() {
            "TestSession.Connected" => self.send("ProtocolVersion", json!(MAX_PROTOCOL_VERSION)).await,
            "ProtocolVersion" => {
                self.version = payload.as_u64().unwrap_or(1).min(MAX_PROTOCOL_VERSION);
                self.ask().await
            }
            "ProtocolError" => {
                let message = format!("`{}` speaks another protocol", self.project.console.display());
                Err(Failure::new(ErrorCode::Unsupported, message))
            }
            "TestExecution.CustomTestHostLaunch" => self.start(payload).await,
            "TestExecution.Completed" | "TestDiscovery.Completed" => {
                self.note(message, results);
                self.answer.is_complete = true;
                self.send("TestSession.Terminate", Value::Null).await
            }
            _ => {
                self.note(message, results);
                Ok(())
            }
        }
    }

    async fn ask(&mut self) -> Result<(), Failure> {
        let options = json!({ "CollectMetrics": false, "SkipDefaultAdapters": false });
        match &self.ask {
            VstestRequest::List => {
                let payload = json!({ "Sources": [self.project.target], "RunSettings": self.settings,
                    "TestPlatformOptions": options });
                self.send("TestDiscovery.Start", payload).await
            }
            VstestRequest::Run(cases) => {
                let payload = json!({ "TestCases": cases, "RunSettings": self.settings, "KeepAlive": false,
                    "DebuggingEnabled": false, "TestPlatformOptions": options });
                let kind = match self.host {
                    // VSTest requests the start of the process; we start it, with or without a debugger.
                    Some(_) => "TestExecution.GetTestRunnerProcessStartInfoForRunSelected",
                    None => "TestExecution.RunAllWithDefaultHost",
                };
                self.send(kind, payload).await
            }
        }
    }

    /// Starts the process that runs the tests, under the debugger.
    async fn start(&mut self, payload: &Value) -> Result<(), Failure> {
        let Some(host) = self.host else {
            let refused = json!({ "HostProcessId": -1, "ErrorMessage": "not asked for" });
            return self.send("TestExecution.CustomTestHostLaunchCallback", refused).await;
        };
        let folder = payload["WorkingDirectory"].as_str().map_or(self.project.folder.as_path(), Path::new);
        let words = words(payload["Arguments"].as_str().unwrap_or_default());
        let mut command =
            ProcessCommand::new(payload["FileName"].as_str().unwrap_or("dotnet"), folder).args(words);
        for (name, value) in payload["EnvironmentVariables"].as_object().into_iter().flatten() {
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
                host.run(launch, &mut printed, workspace_tools::build::RUN_TIMEOUT * 48, &cancel).await;
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
        let answer = json!({ "HostProcessId": pid.map_or(-1, i64::from), "ErrorMessage": null });
        self.send("TestExecution.CustomTestHostLaunchCallback", answer).await
    }

    /// Handles a message that needs no response.
    fn note(&mut self, message: &Value, results: &TestResults) {
        let payload = &message["Payload"];
        match message["MessageType"].as_str().unwrap_or_default() {
            "TestDiscovery.TestFound" => self.list(payload),
            "TestDiscovery.Completed" => {
                self.list(&payload["LastDiscoveredTests"]);
                if payload["IsAborted"] == true {
                    self.answer.aborted = Some("the tests could not be listed".into());
                }
            }
            "TestExecution.StatsChange" => self.stats(payload, results),
            "TestExecution.Completed" => {
                self.stats(&payload["LastRunTests"], results);
                let ended = &payload["TestRunCompleteArgs"];
                if ended["IsAborted"] == true {
                    let why = ended["Error"]["Message"].as_str().map(str::to_owned);
                    self.answer
                        .aborted
                        .get_or_insert_with(|| why.unwrap_or_else(|| "the run was aborted".into()));
                }
            }
            "TestSession.Message" => {
                let text = payload["Message"].as_str().unwrap_or_default();
                // This message explains why a run was aborted, with the last output of the process.
                if payload["MessageLevel"] == 2 && text.contains("aborted") {
                    self.answer.aborted = Some(text.to_owned());
                } else if payload["MessageLevel"] != 0 || text.starts_with("No test") {
                    self.answer.printed.push(text.to_owned());
                }
            }
            _ => {}
        }
    }

    fn list(&mut self, cases: &Value) {
        let found = cases.as_array().into_iter().flatten().map(|case| test_of(case, self.project));
        self.answer.listed.extend(found);
    }

    fn stats(&self, payload: &Value, results: &TestResults) {
        for case in payload["ActiveTests"].as_array().into_iter().flatten() {
            results.start_test(&test_of(case, self.project).id);
        }
        for result in payload["NewTestResults"].as_array().into_iter().flatten() {
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
                self.note(&message, results);
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

/// A property of a test case: newer versions of the protocol write the usual ones beside each other.
fn property<'v>(case: &'v Value, name: &str, id: &str) -> &'v Value {
    if !case[name].is_null() {
        return &case[name];
    }
    let all = case["Properties"].as_array().into_iter().flatten();
    all.filter(|one| one["Key"]["Id"] == id).map(|one| &one["Value"]).next().unwrap_or(&Value::Null)
}

fn test_of(case: &Value, project: &TestProject) -> TestItem {
    let text = |name: &str, id: &str| property(case, name, id).as_str().unwrap_or_default();
    let qualified = text("FullyQualifiedName", "TestCase.FullyQualifiedName");
    let shown = text("DisplayName", "TestCase.DisplayName");
    let (class, method) = names::split(qualified);
    let file = text("CodeFilePath", "TestCase.CodeFilePath");
    let line = property(case, "LineNumber", "TestCase.LineNumber").as_u64();
    let id = names::id(class, method, shown);
    let skipped = text("", "XunitSkipReason");
    let mut traits: Vec<String> = Vec::new();
    for (name, value) in pairs(property(case, "Traits", "TestObject.Traits")) {
        traits.push(if value.is_empty() { name } else { format!("{name}={value}") });
    }
    for id in ["MSTestDiscoverer.TestCategory", "NUnit.TestCategory"] {
        let categories = property(case, "", id).as_array().into_iter().flatten().filter_map(Value::as_str);
        for category in categories {
            // NUnit lists them as traits, too.
            if !traits.iter().any(|one| one.ends_with(category)) {
                traits.push(category.to_owned());
            }
        }
    }
    TestItem {
        file: Some(file.to_owned()).filter(|file| !file.is_empty()),
        line: line.and_then(|line| u32::try_from(line).ok()).filter(|line| *line > 0),
        skipped: Some(skipped.to_owned()).filter(|why| !why.is_empty()),
        traits,
        framework: project.framework.clone(),
        class: class.to_owned(),
        handle: json!({ "case": case, "target": project.target }),
        id,
        ..TestItem::default()
    }
}

/// Traits: pairs of a name and a value.
fn pairs(traits: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = traits.as_array().into_iter().flatten();
    list.map(|one| (text(&one["Key"]), text(&one["Value"]))).collect()
}

fn result_of(result: &Value, project: &TestProject) -> TestResult {
    let test = test_of(&result["TestCase"], project);
    let text = |key: &str| result[key].as_str().unwrap_or_default().to_owned();
    let number = |name: &str, id: &str| property(result, name, id).as_u64();
    let outcome = match number("Outcome", "TestResult.Outcome") {
        Some(1) => TestStatus::Passed,
        Some(2) => TestStatus::Failed,
        _ => TestStatus::Skipped,
    };
    let words = |name: &str, id: &str| property(result, name, id).as_str().unwrap_or_default().to_owned();
    let message = words("ErrorMessage", "TestResult.ErrorMessage");
    let stack = words("ErrorStackTrace", "TestResult.ErrorStackTrace");
    let compared = names::compared_values(&message);
    let place = (outcome == TestStatus::Failed).then(|| names::place(&stack)).flatten();
    let (file, line) = place.or(test.file.zip(test.line)).unzip();
    let printed = result["Messages"].as_array().into_iter().flatten();
    let printed =
        printed.filter(|one| one["Category"] != "AdditionalInfo").filter_map(|one| one["Text"].as_str());
    // Rows that the framework discovers only during the run have separate names.
    let shown = text("DisplayName");
    let (class, method) = names::split(&test.id);
    let rows = !shown.is_empty() && !test.id.contains('(') && shown.contains('(');
    let id = if rows { names::id(class, method, &shown) } else { test.id.clone() };
    TestResult {
        id,
        outcome,
        message,
        compared,
        file,
        line,
        stack,
        output: printed.collect::<Vec<_>>().join("\n").trim().to_owned(),
        duration_ms: milliseconds(&words("Duration", "TestResult.Duration")),
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
