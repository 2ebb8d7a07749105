//! The end of a process with tests, and its meaning for them: those that it left unfinished have failed.
//!
//! Not here: running the process ([`super`]).

use tandem_wire::{ErrorCode, Failure};
use tandem_workspace::process::ProcessExit;

use super::FrameworkRun;
use super::fatal_error::FatalError;
use super::output::bounded_tail;
use crate::model::{TestItem, TestResult, TestStatus};

/// Lines before the stack of a process that has crashed.
const MAX_REASON: usize = 2;
/// Maximum number of tests that an error names when it is unknown which of them ended the process.
const MAX_CANDIDATES: usize = 10;

impl FrameworkRun<'_> {
    /// Records what the end of a process means for the tests that it ran.
    pub(super) fn conclude(
        &self,
        outcome: Result<ProcessExit, Failure>,
        overdue: Option<String>,
        known: Option<&str>,
        tail: &str,
    ) -> Result<ProcessExit, Failure> {
        match (outcome, overdue) {
            (_, Some(_)) => {
                let limit = self.options.test_limit.unwrap_or_default();
                let why =
                    format!("ran longer than {} ms (`testTimeoutMs`); the run was ended", limit.as_millis());
                self.results.fail_running(&why, tail);
                Ok(ProcessExit { code: 124 })
            }
            (Ok(ended), None) => {
                let why = match known {
                    Some(known) => {
                        format!("the process of the tests ended while this test ran{}", reason(known))
                    }
                    None => {
                        format!("the process of the tests ended with {ended} while this test ran")
                    }
                };
                let printed = self.report.output.text();
                match FatalError::find(&printed, &self.project.folder).filter(|_| !ended.success()) {
                    Some(error) => {
                        error.place.iter().for_each(|place| self.results.locate_running(place));
                        self.results.fail_running(&format!("{why}: {}", error.reason), &error.calls);
                    }
                    None => self.results.fail_running(&why, known.unwrap_or(tail)),
                }
                Ok(ended)
            }
            (Err(failure), None)
                if failure.code == ErrorCode::Timeout && !self.results.running().is_empty() =>
            {
                let why = format!(
                    "it was still running when the time limit of the run ({} s) was reached",
                    self.options.run_limit.as_secs()
                );
                self.results.fail_running(&why, tail);
                Ok(ProcessExit { code: 124 })
            }
            (Err(failure), None) => Err(failure),
        }
    }

    /// The process failed without reporting which test it ran. Of these tests, the one that has no result, or
    /// whose call is in the output, has failed. `ended` is its exit code, if that is known.
    pub fn fail_crashed_test(
        &self,
        tests: &[TestItem],
        ended: Option<ProcessExit>,
        calls: impl Fn(&TestItem) -> String,
    ) {
        let ended = ended.map_or_else(|| "ended".to_owned(), |ended| format!("ended with {ended}"));
        let left: Vec<&TestItem> = tests.iter().filter(|test| !self.results.has_result(test)).collect();
        let printed = self.report.output.text();
        let called = left.iter().filter_map(|test| Some((printed.find(&calls(test))?, *test)));
        let guilty = called.min_by_key(|(at, _)| *at).map(|(_, test)| test);
        let only = left.first().copied().filter(|_| left.len() == 1);
        let words = bounded_tail(&printed);
        match guilty.or(only) {
            Some(test) => {
                self.results.start_listed_test(test);
                let what =
                    format!("the process of the tests {ended} while this test ran{}", reason(&printed));
                self.results.fail_running(&what, &words);
            }
            None if left.is_empty() => {}
            None => {
                let names: Vec<&str> =
                    left.iter().take(MAX_CANDIDATES).map(|test| test.id.as_str()).collect();
                let more = if left.len() > names.len() { ", …" } else { "" };
                let message = format!(
                    "the process of the tests {ended}; {} tests had not ended: {}{more}",
                    left.len(),
                    names.join(", ")
                );
                self.results.finish_test(TestResult {
                    id: "(process)".into(),
                    outcome: TestStatus::Failed,
                    message,
                    output: words,
                    ..TestResult::default()
                });
            }
        }
    }
}

/// The lines that a runtime prints before the stack of a crashed process, for a message; empty
/// if there is no such stack.
fn reason(printed: &str) -> String {
    let is_call = |line: &&str| line.trim_start().starts_with("at ") && line.starts_with(' ');
    let Some(stack) = printed.lines().position(|line| is_call(&line)) else { return String::new() };
    let before: Vec<&str> = printed
        .lines()
        .take(stack)
        .map(str::trim)
        .filter(|line| !line.trim_matches('-').is_empty())
        .collect();
    let last = before.get(before.len().saturating_sub(MAX_REASON)..).unwrap_or_default();
    format!(": {}", last.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_what_a_runtime_prints_before_the_stack() {
        let printed =
            "adds\nUnhandled exception.\n\nSystem.Exception: no price\n   at Shop.Cart.Add()\nend\n";
        assert_eq!(reason(printed), ": Unhandled exception. System.Exception: no price");
        assert_eq!(reason("at the end\nno stack\n"), "");
        let overflow =
            "Stack overflow.\nRepeated 9 times:\n------\n   at Shop.Cart.Add()\n------\n   at Main()\n";
        assert_eq!(reason(overflow), ": Stack overflow. Repeated 9 times:");
    }
}
