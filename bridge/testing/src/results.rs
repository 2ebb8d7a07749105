//! The results of a run as they come: counts, the tests that run now, and a bounded memory of what failed.
//!
//! Not here: the answer to the agent ([`crate::answer`]).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::model::{TestEvent, TestItem, TestResult, TestStatus};

/// Failed tests that are kept.
const MAX_FAILURES: usize = 200;
/// Skipped tests that are kept.
const MAX_SKIPS: usize = 50;
/// Passed tests that are kept.
const MAX_PASSES: usize = 20;
/// Ids that are remembered, so that no test counts twice.
const MAX_IDS: usize = 500_000;
/// Bytes of one test's message, stack or output that are kept.
const MAX_TEXT: usize = 64 << 10;

/// Receives the events of a run.
pub type Listener = Arc<dyn Fn(&TestEvent<'_>) + Send + Sync>;

/// Source file and line (from 1) of a test.
pub(crate) type TestPlace = (String, u32);

/// The source and line of a test, by its id.
pub(crate) type Locator = Arc<dyn Fn(&str) -> Option<TestPlace> + Send + Sync>;

/// Results of a run, shared by the tasks that read them from several pipes.
#[derive(Clone, Default)]
pub struct TestResults(Arc<Mutex<TestResultsState>>);

#[derive(Default)]
struct TestResultsState {
    listener: Option<Listener>,
    counts: Counts,
    outcomes: HashMap<String, TestStatus>,
    /// How often a test has begun again after its end, because several tests have its id.
    repeats: HashMap<String, u32>,
    /// Results that were reported, also several of one test.
    reported: u64,
    /// Number of tests that the runner announced, if it did.
    planned: Option<u64>,
    running: Vec<RunningTest>,
    /// Places of tests whose failures have none, such as the end of their process.
    locator: Option<Locator>,
    /// Target framework and project of the tests that start from now.
    scope: TestScope,
    kept: StoredResults,
}

/// Distinguishes tests of one id: the target framework and the project, if there are several.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TestScope {
    /// The target framework.
    pub framework: Option<String>,
    /// The project, as a path relative to the solution.
    pub project: Option<String>,
}

/// A test that has begun.
struct RunningTest {
    id: String,
    since: Instant,
    scope: TestScope,
    /// Where the test is declared, if its runner says so.
    place: Option<TestPlace>,
}

/// Number of tests by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of tests that passed.
    pub passed: u64,
    /// Number of tests that failed.
    pub failed: u64,
    /// Number of tests that were skipped.
    pub skipped: u64,
}

/// Results in full; of many tests only the first.
#[derive(Debug, Clone, Default)]
pub struct StoredResults {
    /// Results of failed tests.
    pub failures: Vec<TestResult>,
    /// Results of skipped tests.
    pub skips: Vec<TestResult>,
    /// Results of passed tests.
    pub passes: Vec<TestResult>,
}

impl Counts {
    /// Returns the number of all tests.
    pub fn total(self) -> u64 {
        self.passed + self.failed + self.skipped
    }

    /// Counts a test with this outcome.
    pub fn add(&mut self, outcome: TestStatus) {
        *self.of(outcome) += 1;
    }

    fn of(&mut self, outcome: TestStatus) -> &mut u64 {
        match outcome {
            TestStatus::Passed => &mut self.passed,
            TestStatus::Failed => &mut self.failed,
            TestStatus::Skipped => &mut self.skipped,
        }
    }
}

impl TestResultsState {
    /// The key of the test that began last of those with a key.
    fn numbered(&self, key: &str) -> String {
        match self.repeats.get(key) {
            Some(number) => format!("{key}\0{number}"),
            None => key.to_owned(),
        }
    }
}

impl StoredResults {
    fn of(&mut self, outcome: TestStatus) -> (&mut Vec<TestResult>, usize) {
        match outcome {
            TestStatus::Passed => (&mut self.passes, MAX_PASSES),
            TestStatus::Failed => (&mut self.failures, MAX_FAILURES),
            TestStatus::Skipped => (&mut self.skips, MAX_SKIPS),
        }
    }
}

impl TestResults {
    /// Empty; `listener` is called for each test that begins or ends.
    pub fn new(listener: Option<Listener>) -> Self {
        Self(Arc::new(Mutex::new(TestResultsState { listener, ..TestResultsState::default() })))
    }

    fn with<T>(&self, work: impl FnOnce(&mut TestResultsState) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The tests that begin from now on are those of this scope.
    pub(crate) fn enter(&self, scope: TestScope) {
        self.with(|inner| inner.scope = scope);
    }

    /// A failure from now on that has no place gets that of its test.
    pub(crate) fn locate_with(&self, locator: Locator) {
        self.with(|inner| inner.locator = Some(locator));
    }

    /// Records that a test has begun. One that begins again after its end is another test with its id.
    pub(crate) fn start_test(&self, id: &str) {
        self.start_test_at(id, None);
    }

    /// As [`start_test`](Self::start_test), with the place of the test: a failure of the test that has no
    /// place, such as the end of its process, gets this one.
    pub(crate) fn start_test_at(&self, id: &str, place: Option<TestPlace>) {
        self.with(|inner| {
            if let Some(running) = inner.running.iter_mut().find(|running| running.id == id) {
                running.place = running.place.take().or(place);
                return;
            }
            let (since, scope) = (Instant::now(), inner.scope.clone());
            let key = key(id, &scope.framework, &scope.project);
            if inner.outcomes.contains_key(&inner.numbered(&key)) {
                *inner.repeats.entry(key).or_default() += 1;
            }
            inner.running.push(RunningTest { id: id.to_owned(), since, scope, place });
            if let Some(listener) = &inner.listener {
                listener(&TestEvent::Started { id, framework: inner.scope.framework.as_deref() });
            }
        });
    }

    /// As [`start_test`](Self::start_test), for a test that a runner describes.
    pub(crate) fn start_listed_test(&self, test: &TestItem) {
        self.start_test_at(&test.id, test.file.clone().zip(test.line));
    }

    /// A test has ended. A second result of the same test replaces the first when it is worse: a test may
    /// pass, and what cleans up after it fail.
    pub fn finish_test(&self, mut result: TestResult) {
        for text in [&mut result.message, &mut result.stack, &mut result.output] {
            shorten(text);
        }
        if result.outcome == TestStatus::Failed && result.file.is_none() {
            let (locator, own) = self.with(|inner| {
                let running = inner.running.iter().find(|running| running.id == result.id);
                (inner.locator.clone(), running.and_then(|running| running.place.clone()))
            });
            if let Some((file, line)) = locator.and_then(|locator| locator(&result.id)).or(own) {
                (result.file, result.line) = (Some(file), Some(line));
            }
        }
        self.with(|inner| {
            inner.running.retain(|running| running.id != result.id);
            inner.reported += 1;
            let key = inner.numbered(&key(&result.id, &result.framework, &result.project));
            if let Some(before) = inner.outcomes.get(&key).copied() {
                if before == result.outcome || result.outcome != TestStatus::Failed {
                    return;
                }
                let count = inner.counts.of(before);
                *count = count.saturating_sub(1);
                let is_other = |one: &TestResult| {
                    (&one.id, &one.framework, &one.project)
                        != (&result.id, &result.framework, &result.project)
                };
                inner.kept.of(before).0.retain(is_other);
            }
            if inner.outcomes.len() < MAX_IDS {
                inner.outcomes.insert(key, result.outcome);
            }
            *inner.counts.of(result.outcome) += 1;
            if let Some(listener) = &inner.listener {
                listener(&TestEvent::Finished(&result));
            }
            let (list, most) = inner.kept.of(result.outcome);
            if list.len() < most {
                list.push(result);
            }
        });
    }

    /// A test has ended without a result: those of its rows are its results, or it will run again.
    pub(crate) fn end_without_result(&self, id: &str) {
        self.with(|inner| inner.running.retain(|running| running.id != id));
    }

    /// Returns the counts so far.
    pub fn counts(&self) -> Counts {
        self.with(|inner| inner.counts)
    }

    /// Returns the results that are kept so far.
    pub fn stored_results(&self) -> StoredResults {
        self.with(|inner| inner.kept.clone())
    }

    /// A runner knows its tests, and runs so many of them.
    pub(crate) fn plan(&self, count: u64) {
        self.with(|inner| inner.planned = Some(inner.planned.unwrap_or(0).saturating_add(count)));
    }

    /// Whether a runner got as far as to know its tests.
    pub(crate) fn is_planned(&self) -> bool {
        self.with(|inner| inner.planned.is_some())
    }

    /// Number of announced tests that the runner did not report, and of all announced ones.
    pub(crate) fn missing_counts(&self) -> (u64, u64) {
        self.with(|inner| {
            let planned = inner.planned.unwrap_or(0);
            (planned.saturating_sub(inner.reported), planned)
        })
    }

    /// Whether a test of this id, one of its rows or a test below it has a result. An id may have a
    /// longer path than its results.
    pub(crate) fn has_any(&self, id: &str) -> bool {
        self.with(|inner| {
            if inner.outcomes.contains_key(&key(id, &None, &None)) {
                return true;
            }
            let mut known = inner.outcomes.keys().filter_map(|key| key.split('\0').next());
            known.any(|known| {
                known.starts_with(id) || id.ends_with(known.split('[').next().unwrap_or_default())
            })
        })
    }

    /// Whether this test has ended.
    pub fn has_result(&self, test: &TestItem) -> bool {
        let key = key(&test.id, &test.framework, &test.project);
        self.with(|inner| inner.outcomes.contains_key(&key))
    }

    /// The tests that have begun and not ended.
    pub(crate) fn running(&self) -> Vec<String> {
        self.with(|inner| inner.running.iter().map(|running| running.id.clone()).collect())
    }

    /// The test that has run for longer than the limit.
    pub(crate) fn overdue(&self, limit: Duration) -> Option<String> {
        self.with(|inner| {
            let late = inner.running.iter().find(|running| running.since.elapsed() > limit);
            late.map(|running| running.id.clone())
        })
    }

    /// The tests that are running fail at this place, if their process ends.
    pub(crate) fn locate_running(&self, place: &TestPlace) {
        self.with(|inner| inner.running.iter_mut().for_each(|running| running.place = Some(place.clone())));
    }

    /// The tests that were running fail, since their process has ended or was ended.
    pub(crate) fn fail_running(&self, why: &str, output: &str) {
        let running = self.with(|inner| std::mem::take(&mut inner.running));
        for RunningTest { id, since, scope, place } in running {
            let (file, line) = place.unzip();
            self.finish_test(TestResult {
                id,
                file,
                line,
                outcome: TestStatus::Failed,
                message: why.to_owned(),
                output: output.to_owned(),
                duration_ms: u64::try_from(since.elapsed().as_millis()).ok(),
                framework: scope.framework,
                project: scope.project,
                ..TestResult::default()
            });
        }
    }
}

fn key(id: &str, framework: &Option<String>, project: &Option<String>) -> String {
    let text = |part: &Option<String>| part.clone().unwrap_or_default();
    format!("{id}\0{}\0{}", text(framework), text(project))
}

fn shorten(text: &mut String) {
    if text.len() <= MAX_TEXT {
        return;
    }
    let head = text.floor_char_boundary(MAX_TEXT / 4);
    let tail = text.ceil_char_boundary(text.len() - MAX_TEXT / 4 * 3);
    let (first, last) = (text.get(..head).unwrap_or_default(), text.get(tail..).unwrap_or_default());
    *text = format!("{first}\n[… {} bytes left out …]\n{last}", tail - head);
}

#[cfg(test)]
mod tests;
