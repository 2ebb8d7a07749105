//! One conversation with VSTest's console program: a request for tests or results, and its reports.
//!
//! Not here: the messages ([`super::messages`]), the start of the console program ([`super`]).

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use serde_json::Value;
use tandem_wire::{ErrorCode, Failure, types};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::cases::{listed_test_of, result_of, test_of};
use super::messages::{
    DiscoveryEnd, DiscoveryRequest, ExecutionEnd, ExecutionRequest, HostLaunch, HostLaunched,
    PlatformOptions, RunStatistics, UserMessage, VstestMessage,
};
use super::test_host::{self, HostedProcess};
use crate::dotnet::build::TestProject;
use crate::dotnet::wire::Wire;
use crate::dotnet::{ENGINE, stops};
use crate::host::{BoxFuture, ProcessLaunch, ProcessLauncher};
use crate::model::TestItem;
use crate::results::TestResults;
use crate::run::FrameworkRun;
use crate::run::options::KnownException;
use crate::run::source::ResultSource;

/// The newest version of the protocol that we speak.
const MAX_PROTOCOL_VERSION: u64 = 7;

/// Request to VSTest's console program.
pub(super) enum VstestRequest {
    List,
    /// Results of these tests, whose listed ids follow.
    Run(Vec<Value>, HashMap<String, String>),
}

/// The reports of the console program, apart from results of tests.
#[derive(Debug, Default)]
pub(super) struct VstestAnswer {
    /// The tests that it listed.
    pub(super) listed: Vec<TestItem>,
    /// Lines that belong to no test, for the user.
    pub(super) printed: Vec<String>,
    /// Why the run was aborted.
    pub(super) aborted: Option<String>,
    /// All tests were listed, or have run.
    pub(super) is_complete: bool,
}

/// One conversation with the console program.
pub(super) struct VstestConnection<'a> {
    wire: Wire,
    ask: VstestRequest,
    project: &'a TestProject,
    settings: String,
    version: u64,
    answer: VstestAnswer,
    /// Starts the process with the tests, when that is a debugger.
    host: Option<&'a dyn ProcessLauncher>,
    hosted: Option<HostedProcess<'a>>,
    cancel: CancellationToken,
    env: Vec<(String, Option<String>)>,
    /// Tests whose rows the framework discovers only during the run; VSTest reports no result of the test.
    theories: HashSet<String>,
    known: Option<KnownException>,
}

impl<'a> VstestConnection<'a> {
    /// A conversation that has not begun, about a project with its run settings. `host` starts the process
    /// with the tests, when that is a debugger.
    pub(super) fn new(
        wire: Wire,
        ask: VstestRequest,
        (project, settings): (&'a TestProject, String),
        host: Option<&'a dyn ProcessLauncher>,
        run: &FrameworkRun<'_>,
    ) -> Self {
        Self {
            wire,
            ask,
            project,
            settings,
            version: MAX_PROTOCOL_VERSION,
            answer: VstestAnswer::default(),
            host,
            hosted: None,
            cancel: run.cancel.child_token(),
            env: run.options.env.clone(),
            theories: HashSet::new(),
            known: run.options.known.clone(),
        }
    }

    /// The reports of the console program.
    pub(super) fn into_answer(self) -> VstestAnswer {
        self.answer
    }

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
            VstestRequest::Run(test_cases, _) => {
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
        let Some(launcher) = self.host else {
            let refused = HostLaunched { host_process_id: -1, error_message: Some("not asked for") };
            return self.send("TestExecution.CustomTestHostLaunchCallback", &refused).await;
        };
        let command = test_host::command(&asked, &self.project.folder, &self.env);
        let mut launch = ProcessLaunch::new(command, ENGINE);
        launch.stops = stops(self.known.as_ref());
        let (started, pid) = oneshot::channel();
        launch.started = Some(started);
        self.hosted = Some(test_host::run(launcher, launch, self.cancel.clone()));
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
                } else {
                    self.theories.iter().for_each(|theory| results.end_without_result(theory));
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

    fn stats(&mut self, statistics: &RunStatistics, results: &TestResults) {
        let none = HashMap::new();
        let ids = if let VstestRequest::Run(_, ids) = &self.ask { ids } else { &none };
        record(statistics, (self.project, ids), results, &mut self.theories);
    }
}

/// Records the tests that run, and those that have ended. `theories` remembers the tests that have only
/// results of rows.
fn record(
    statistics: &RunStatistics,
    (project, ids): (&TestProject, &HashMap<String, String>),
    results: &TestResults,
    theories: &mut HashSet<String>,
) {
    for case in &statistics.active_tests {
        results.start_listed_test(&listed_test_of(case, project, ids));
    }
    for result in &statistics.new_test_results {
        let theory = listed_test_of(&result.test_case, project, ids).id;
        let result = result_of(result, project, ids);
        if result.id != theory {
            results.end_without_result(&theory);
            theories.insert(theory);
        }
        // VSTest reports each test once, and not always its start: rows may share a name.
        results.start_test(&result.id);
        results.finish_test(result);
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_theory_whose_rows_have_results_has_ended() {
        let case = json!({ "FullyQualifiedName": "A.Row", "DisplayName": "A.Row" });
        let row = json!({ "TestCase": case, "DisplayName": "A.Row(x: Cart { })", "Outcome": 1 });
        let statistics = |active: &[&Value], new: &[&Value]| -> RunStatistics {
            types::read(&json!({ "ActiveTests": active, "NewTestResults": new }))
        };
        let (results, mut theories) = (TestResults::default(), HashSet::new());
        let (project, ids) = (TestProject::default(), HashMap::new());
        let tests = (&project, &ids);
        for news in [statistics(&[&case], &[]), statistics(&[&case], &[&row])] {
            record(&news, tests, &results, &mut theories);
        }
        assert_eq!((results.running().len(), results.counts().passed), (0, 1));
        // Another test may have a result while the theory counts as running.
        record(&statistics(&[&case], &[]), tests, &results, &mut theories);
        theories.iter().for_each(|theory| results.end_without_result(theory));
        results.fail_running("the process ended", "");
        assert_eq!(results.counts().failed, 0);
        // Another row of this name.
        record(&statistics(&[], &[&row]), tests, &results, &mut theories);
        assert_eq!(results.counts().passed, 2);
    }

    #[test]
    fn tests_of_one_name_have_results_by_their_listed_ids() {
        let case = |id: &str| json!({ "Id": id, "FullyQualifiedName": "A.Row", "DisplayName": "A.Row" });
        let news: RunStatistics = types::read(&json!({ "NewTestResults": [
            { "TestCase": case("x"), "Outcome": 1 }, { "TestCase": case("y"), "Outcome": 2 },
        ] }));
        let (results, project) = (TestResults::default(), TestProject::default());
        let ids = [("x", "A.Row"), ("y", "A.Row#2")].map(|(key, id)| (key.to_owned(), id.to_owned()));
        record(&news, (&project, &ids.into()), &results, &mut HashSet::new());
        assert_eq!(
            (results.counts().passed, results.stored_results().failures[0].id.as_str()),
            (1, "A.Row#2")
        );
    }
}
