//! Lists and runs of tests: chooses the tests, runs them by their framework, and answers for all of them
//! alike.
//!
//! Not here: a selection that matches no test ([`unmatched`]), the list of frameworks
//! ([`crate::frameworks`]), the processes of a run ([`crate::run`]).

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use tandem_wire::{ErrorCode, Failure};
use tandem_workspace::build::project::Project;
use tandem_workspace::build::report::FileDiagnostics;
use tandem_workspace::jobs::ProgressSink;
use tokio_util::sync::CancellationToken;

use crate::answer::{self, RunSummary, TestRunAnswer};
use crate::framework::{ChosenTests, TestFramework};
use crate::host::{DirectLauncher, ProcessLauncher};
use crate::model::{TestEvent, TestItem};
use crate::results::{Counts, Listener, Locator, TestResults};
use crate::run::options::TestRunOptions;
use crate::run::{FrameworkRun, RunStatus};
use crate::select::TestSelection;

mod unmatched;

/// The exit code of a run with a failed test in which no process reports it: processes that a
/// client drives end with 0.
const FAILED: i32 = 1;
/// Number of failures that are reported while a run continues.
const MAX_REPORTED_FAILURES: usize = 5;
/// Maximum characters of a reported failure message.
const MAX_MESSAGE_CHARS: usize = 200;
/// Output of the runner in an answer, bytes.
const DEFAULT_OUTPUT_BYTES: usize = 8 << 10;

/// A request to list or to run tests.
#[derive(Clone)]
pub struct TestRequest {
    /// Project with the tests.
    pub project: Project,
    /// Framework of the tests.
    pub framework: &'static dyn TestFramework,
    /// The tests to list or to run.
    pub selection: TestSelection,
    /// Options of the run, such as a time limit.
    pub options: TestRunOptions,
    /// Bytes of output in an answer.
    pub output_bytes: usize,
    /// Receives the events of the run; `None` when no client follows it.
    pub listener: Option<Listener>,
}

/// The outcome of a run.
pub struct TestRunOutcome {
    /// The tool's answer; `error` is set when a test failed, none ran, or the build failed.
    pub answer: TestRunAnswer,
    /// All results; the answer contains the most important ones.
    pub results: TestResults,
}

/// A part of the list of tests, or why there is none.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum TestListing {
    /// The tests that were found.
    Page(TestPage),
    /// The build or a source is broken, and no test was found.
    Broken(Box<TestRunAnswer>),
}

/// A part of the list of tests.
#[derive(Debug, Serialize)]
pub struct TestPage {
    tool: &'static str,
    folder: String,
    /// The number of tests in the whole list.
    total: usize,
    tests: Vec<TestItem>,
    /// The number of the test where the next part begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<usize>,
    /// Errors of sources whose tests may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    errors: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diagnostics: Option<FileDiagnostics>,
}

impl TestRequest {
    /// A request for all tests of a project.
    pub fn new(project: Project, framework: &'static dyn TestFramework) -> Self {
        let (selection, options) = (TestSelection::default(), TestRunOptions::default());
        Self { project, framework, selection, options, output_bytes: DEFAULT_OUTPUT_BYTES, listener: None }
    }

    /// Lists the selected tests, starting at `start`, at most `count`.
    ///
    /// # Errors
    /// The framework's own; `NOT_FOUND` with the nearest names.
    pub async fn list(
        &self,
        (start, count): (usize, usize),
        cancel: &CancellationToken,
        say: &ProgressSink,
    ) -> Result<TestListing, Failure> {
        let (tests, broken) = self.tests(cancel, say).await?;
        let problems = match broken {
            Some(broken) if tests.is_empty() => return Ok(TestListing::Broken(Box::new(broken))),
            broken => broken.map(|broken| broken.problems).unwrap_or_default(),
        };
        let folder = self.project.folder.display().to_string();
        let mut projects: HashMap<&str, HashSet<&Option<String>>> = HashMap::new();
        for test in &tests {
            projects.entry(&test.id).or_default().insert(&test.project);
        }
        let shown = |test: &TestItem| {
            let is_alone = projects.get(test.id.as_str()).is_none_or(|all| all.len() < 2);
            let mut test = test.clone();
            // The place of a test says as much, where no other has its id.
            test.project = test.project.filter(|_| !is_alone);
            test.file = test.file.map(|file| answer::relative(&file, &folder).to_owned());
            test
        };
        let end = start.saturating_add(count);
        Ok(TestListing::Page(TestPage {
            tool: self.framework.name(),
            total: tests.len(),
            tests: tests.iter().skip(start).take(count).map(shown).collect(),
            next: (end < tests.len()).then_some(end),
            errors: problems.errors,
            diagnostics: problems.diagnostics,
            folder,
        }))
    }

    /// Returns the selected tests, and an answer with errors when a build or a source is broken.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub async fn tests(
        &self,
        cancel: &CancellationToken,
        say: &ProgressSink,
    ) -> Result<(Vec<TestItem>, Option<TestRunAnswer>), Failure> {
        let scratch = scratch()?;
        let mut run = self.begin(scratch.path(), &DirectLauncher, cancel, say, TestResults::default());
        let tests = self.list_all(&mut run).await?;
        let is_broken = run.status.broken;
        let broken = is_broken.then(|| self.answer(run, &TestResults::default()));
        // The selected tests may be in a source that cannot be loaded.
        match self.selection.pick(tests, |filter, test| self.framework.matches(filter, test)) {
            Err(_) if broken.is_some() => Ok((Vec::new(), broken)),
            picked => Ok((picked?, broken)),
        }
    }

    /// Lists all tests of the project.
    async fn list_all(&self, run: &mut FrameworkRun<'_>) -> Result<Vec<TestItem>, Failure> {
        let tests = self.framework.list(run).await?;
        match run.status.refusal.take() {
            Some(reason) => Err(self.refusal(&reason)),
            None => Ok(tests),
        }
    }

    /// Runs the selected tests in processes of this host.
    ///
    /// # Errors
    /// The framework's own; `NOT_FOUND` with the nearest names. A test that fails is an outcome.
    pub async fn run(
        &self,
        host: &dyn ProcessLauncher,
        cancel: &CancellationToken,
        say: &ProgressSink,
    ) -> Result<TestRunOutcome, Failure> {
        let scratch = scratch()?;
        let results = TestResults::new(Some(follow(self.listener.clone(), say.clone())));
        let mut run = self.begin(scratch.path(), host, cancel, say, results.clone());
        let mut chosen = match self.choose(&mut run).await? {
            Some(chosen) => chosen,
            None => return Ok(TestRunOutcome { answer: self.answer(run, &results), results }),
        };
        run.results.locate_with(locator(chosen.tests()));
        // Listing the tests may have started processes, too: drop their exit code and output.
        (run.status.first_code, run.status.printed) = (None, String::new());
        self.framework.run(&mut run, &chosen).await?;
        let mut listed = None;
        if self.has_run_nothing(&run, &chosen) {
            let code = run.status.code;
            let tests = self.framework.list(&mut run).await.unwrap_or_default();
            if let Some(found) = self.tests_by_part(&tests) {
                (run.status, chosen) = (RunStatus::default(), found);
                self.framework.run(&mut run, &chosen).await?;
            } else {
                run.status.code = code;
                listed = Some(tests);
            }
        }
        let ran = results.counts();
        if run.status.code == 0 {
            run.status.code = run.status.first_code.unwrap_or(if ran.failed > 0 { FAILED } else { 0 });
        }
        if let Some(reason) = run.status.refusal.take() {
            return Ok(self.refused(run, &chosen, &reason, results).await);
        }
        let is_quiet = !run.status.broken && run.status.code == 0;
        if is_quiet && ran.total() == 0 && self.framework.plans() && !results.is_planned() {
            let message =
                format!("no test ran: `{}` ended before its tests were known", run.commands.join(" && "));
            let failure = Failure::new(ErrorCode::CommandFailed, message)
                .hint("check whether a source ends the process while it is loaded");
            return Ok(TestRunOutcome { answer: self.answer(run, &results).with_error(failure), results });
        }
        let none_ran = ran.total() == 0 || ran.total() == ran.skipped && run.status.code != 0;
        if none_ran && !run.status.broken && chosen != ChosenTests::Everything {
            return self.explain(run, &chosen, listed).await;
        }
        if ran.total() == 0 && !run.status.broken && run.status.code == 0 {
            let hint =
                "name the project or folder of the tests in `projectPath`; `build` says whether it builds";
            let message = format!(
                "no test ran: {} found none in `{}`",
                self.framework.name(),
                run.project.folder.display()
            );
            let failure = Failure::new(ErrorCode::NotFound, message).hint(hint);
            return Ok(TestRunOutcome { answer: self.answer(run, &results).with_error(failure), results });
        }
        let debugged = run.host.is_debugger();
        let mut answer = self.answer(run, &results);
        if answer.error.is_none()
            && let Some(id) = self.first_unknown_id(&chosen, &results).filter(|_| !debugged)
        {
            let failure = Failure::new(ErrorCode::NotFound, format!("there is no test `{id}`"));
            answer = answer.with_error(failure.hint("list_tests lists the ids"));
        }
        Ok(TestRunOutcome { answer, results })
    }

    /// The first of the ids that were taken without a look at the list, and have no result.
    fn first_unknown_id<'c>(&self, chosen: &'c ChosenTests, results: &TestResults) -> Option<&'c str> {
        let ids = chosen.tests().iter().map(|test| test.id.as_str());
        let mut named = ids.filter(|id| self.framework.test_from_id(&self.project, id).is_some());
        named.find(|id| !results.has_any(id))
    }

    fn begin<'a>(
        &'a self,
        scratch: &'a std::path::Path,
        host: &'a dyn ProcessLauncher,
        cancel: &'a CancellationToken,
        say: &'a ProgressSink,
        results: TestResults,
    ) -> FrameworkRun<'a> {
        let output = (results, self.output_bytes);
        let mut run = FrameworkRun::new((&self.project, &self.options), scratch, host, (cancel, say), output);
        run.selection = self.selection.clone();
        run
    }

    /// Selects the tests; `None` when they are unknown because the build fails.
    async fn choose(&self, run: &mut FrameworkRun<'_>) -> Result<Option<ChosenTests>, Failure> {
        let TestSelection { ids, filter, .. } = &self.selection;
        let by_name = |text: &String| self.framework.test_from_id(&self.project, text);
        let looked_up = filter.as_ref().is_some_and(|filter| self.framework.is_id(filter));
        if self.selection.is_native() && !self.framework.filters_the_list() && !looked_up {
            let named: Option<Vec<TestItem>> = ids.iter().chain(filter).map(by_name).collect();
            match (ids.is_empty(), filter, named) {
                (true, None, _) => return Ok(Some(ChosenTests::Everything)),
                (.., Some(tests)) => return Ok(Some(ChosenTests::Tests(tests))),
                (true, Some(filter), None) => return Ok(Some(ChosenTests::Filter(filter.clone()))),
                (false, ..) => {}
            }
        }
        let tests = self.list_all(run).await?;
        if run.status.broken && tests.is_empty() {
            return Ok(None);
        }
        let everything = self.selection.is_everything();
        let picked = match self.selection.pick(tests, |filter, test| self.framework.matches(filter, test)) {
            // The selected tests may be in a source that cannot be loaded.
            Err(_) if run.status.broken => return Ok(None),
            picked => picked?,
        };
        Ok(Some(if everything && picked.is_empty() {
            ChosenTests::Everything
        } else {
            ChosenTests::Tests(picked)
        }))
    }

    fn answer(&self, run: FrameworkRun<'_>, results: &TestResults) -> TestRunAnswer {
        let duration_ms = u64::try_from(run.elapsed().as_millis()).unwrap_or(u64::MAX);
        let scratch = run.scratch.display().to_string();
        let folder = self.project.folder.display().to_string();
        let ran = RunSummary {
            tool: self.framework.name(),
            command: run.commands.join(" && ").replace(&scratch, "TMP"),
            folder: &folder,
            exit_code: run.status.code,
            duration_ms,
            broken: run.status.broken,
            debugged: run.host.is_debugger(),
            printed: &run.status.printed,
            late_failure: run.status.late_failure.as_deref(),
        };
        answer::of(&ran, run.report.finish(), results)
    }
}

/// The places of listed tests, for failures that have none; of tests with one id only if they share it.
fn locator(tests: &[TestItem]) -> Locator {
    let mut places: HashMap<String, Option<(String, u32)>> = HashMap::new();
    for test in tests {
        let place = test.file.clone().zip(test.line);
        let known = places.entry(test.id.clone()).or_insert_with(|| place.clone());
        *known = known.take().filter(|known| Some(known) == place.as_ref());
    }
    Arc::new(move |id: &str| places.get(id).cloned().flatten())
}

/// Passes each event to the listener, and reports progress: counts, the test that started
/// last, and the last failures.
fn follow(listener: Option<Listener>, say: ProgressSink) -> Listener {
    let so_far = Mutex::new((Counts::default(), VecDeque::new()));
    Arc::new(move |event| {
        if let Some(listener) = &listener {
            listener(event);
        }
        let mut so_far = so_far.lock().unwrap_or_else(PoisonError::into_inner);
        let (counts, failed) = &mut *so_far;
        let running = match event {
            TestEvent::Started { id, .. } => format!("; runs {id}"),
            TestEvent::Finished(result) => {
                counts.add(result.outcome);
                if result.outcome == crate::model::TestStatus::Failed {
                    let why = result.message.lines().next().unwrap_or_default();
                    failed.push_back(
                        format!("\nfailed: {}: {why}", result.id)
                            .chars()
                            .take(MAX_MESSAGE_CHARS)
                            .collect::<String>(),
                    );
                    failed.drain(..failed.len().saturating_sub(MAX_REPORTED_FAILURES));
                }
                String::new()
            }
        };
        let failed: String = failed.iter().map(String::as_str).collect();
        say(&format!("{} passed, {} failed{running}{failed}", counts.passed, counts.failed));
    })
}

fn scratch() -> Result<tempfile::TempDir, Failure> {
    tempfile::tempdir().map_err(|error| {
        Failure::new(ErrorCode::IoFailed, format!("cannot create a temporary folder: {error}"))
    })
}
