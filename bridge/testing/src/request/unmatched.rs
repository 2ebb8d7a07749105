//! Runs in which no selected test ran: a filter that is a part of listed names, and the explanation of the
//! others.
//!
//! Not here: the runs ([`super`]).

use tandem_wire::{ErrorCode, Failure};

use super::{TestRequest, TestRunOutcome};
use crate::framework::ChosenTests;
use crate::model::TestItem;
use crate::results::TestResults;
use crate::run::FrameworkRun;
use crate::select::none;

impl TestRequest {
    /// Whether a run ended regularly without a result, and its filter looks like a part of an id.
    pub(super) fn has_run_nothing(&self, run: &FrameworkRun<'_>, chosen: &ChosenTests) -> bool {
        let is_by_name =
            self.selection.filter.as_deref().is_some_and(is_part_of_id) && *chosen != ChosenTests::Everything;
        let status = &run.status;
        is_by_name && run.results.counts().total() == 0 && !status.broken && status.refusal.is_none()
    }

    /// The tests whose names, as lists show them, contain the filter. Runners compare with names of other
    /// forms: mocha joins titles with spaces, and pytest does not read a part of an id.
    pub(super) fn tests_by_part(&self, tests: &[TestItem]) -> Option<ChosenTests> {
        let picked = self.selection.pick(tests.to_vec(), |filter, test| self.framework.matches(filter, test));
        picked.ok().map(ChosenTests::Tests)
    }

    /// Explains that no selected test ran: the nearest names, or the error that prevented the list.
    pub(super) async fn explain(
        &self,
        mut run: FrameworkRun<'_>,
        chosen: &ChosenTests,
        listed: Option<Vec<TestItem>>,
    ) -> Result<TestRunOutcome, Failure> {
        let selector = match chosen {
            ChosenTests::Filter(filter) => filter.clone(),
            _ => chosen.tests().first().map(|test| test.id.clone()).unwrap_or_default(),
        };
        let code = run.status.code;
        let tests = match listed {
            Some(tests) => tests,
            None => self.framework.list(&mut run).await.unwrap_or_default(),
        };
        // The code of the run counts, not that of the list.
        run.status.code = code;
        let results = run.results.clone();
        let mut answer = self.answer(run, &results);
        let code = answer.error.as_ref().map(|error| error.code);
        if code != Some(ErrorCode::BuildFailed.as_str()) || !tests.is_empty() {
            let failure =
                none(&format!("no test ran: {} matches none", self.selection.describe()), &selector, &tests);
            answer = answer.with_error(failure);
        }
        Ok(TestRunOutcome { answer, results })
    }

    /// The runner did not take the filter or the arguments: its reason, and for a filter the nearest names.
    pub(super) async fn refused(
        &self,
        mut run: FrameworkRun<'_>,
        chosen: &ChosenTests,
        reason: &str,
        results: TestResults,
    ) -> TestRunOutcome {
        let name = self.framework.name();
        let failure = match chosen {
            ChosenTests::Filter(filter) => {
                let tests = self.framework.list(&mut run).await.unwrap_or_default();
                let message = format!("{name} does not take the filter `{filter}`: {reason}");
                let hint = none("", filter, &tests).hint.unwrap_or_default();
                Failure::invalid(message).hint(format!("correct it, or pass an id in `tests`; {hint}"))
            }
            _ => self.refusal(reason),
        };
        TestRunOutcome { answer: self.answer(run, &results).with_error(failure), results }
    }

    pub(super) fn refusal(&self, reason: &str) -> Failure {
        Failure::invalid(format!("{} does not run: {reason}", self.framework.name()))
            .hint("correct `args`, or the configuration of the project")
    }
}

/// Whether a filter has a separator of ids. Another one, such as a letter, may be in the name of a package or
/// file, and then would run tests that nobody means.
fn is_part_of_id(filter: &str) -> bool {
    [" > ", "::", "/"].iter().any(|separator| filter.contains(separator))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_filter_with_a_separator_is_a_part_of_an_id() {
        for (filter, expected) in [
            ("Cart > adds", true),
            ("test_cart.py::test_rows", true),
            ("test/cart.test.js", true),
            ("t", false),
            ("cart and not slow", false),
        ] {
            assert_eq!(is_part_of_id(filter), expected, "{filter}");
        }
    }
}
