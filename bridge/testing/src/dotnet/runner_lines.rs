//! The output of a process with .NET tests: what the tests print, lines of the runner itself, and failures of
//! code that runs after the tests of a class.
//!
//! Not here: results of tests, which a protocol reports ([`super::mtp`], [`super::vstest`]).

use tandem_workspace::build::report::BuildReport;
use tandem_workspace::process::OutputStream;
use tandem_workspace::process::output::BoundedOutput;

use crate::results::TestResults;
use crate::run::RunStatus;
use crate::run::output::OutputReader;

/// Bytes of the output of a process with tests that are kept.
const MAX_PRINTED_BYTES: usize = 2 << 10;
/// Beginning of NUnit's line before the reason why an `OneTimeTearDown` failed. No test fails with it.
const TEAR_DOWN: &str = "TearDown failed for test fixture ";

/// Beginnings of the lines that Microsoft.Testing.Platform and xunit print before the tests.
pub(super) const PREAMBLE: &[&str] = &[
    "Connecting to client host",
    "* Note: Long running test detection",
    "NUnit Adapter ",
    "Debugging selected tests in ",
    "Running selected tests in ",
    "Running all tests in ",
    "VSTest version ",
    "NUnit3TestExecutor ",
];

/// Reads what a process with tests prints.
pub(super) struct RunnerLines {
    printed: BoundedOutput,
    /// The class whose failure the next line explains.
    fixture: Option<String>,
    late_failure: Option<String>,
}

impl RunnerLines {
    pub(super) fn new() -> Self {
        Self { printed: BoundedOutput::new(MAX_PRINTED_BYTES), fixture: None, late_failure: None }
    }

    /// Reads a line, which may be one of a message to the user.
    pub(super) fn read(&mut self, line: &str) {
        if let Some(class) = self.fixture.take().filter(|_| self.late_failure.is_none()) {
            let reason = line.trim().trim_start_matches("TearDown : ");
            self.late_failure = Some(format!("code that runs after the tests of `{class}` failed: {reason}"));
        }
        self.fixture = line.strip_prefix(TEAR_DOWN).map(|class| class.trim().to_owned());
        if !self.hides(line) {
            self.printed.push(line.as_bytes());
            self.printed.push(b"\n");
        }
    }

    /// Adds what was read to the end of the run.
    pub(super) fn report(self, status: &mut RunStatus) {
        status.printed.push_str(&self.printed.text());
        status.late_failure = status.late_failure.take().or(self.late_failure);
    }
}

impl OutputReader for RunnerLines {
    fn line(&mut self, _: OutputStream, line: &str, _: &mut BuildReport, _: &TestResults) {
        self.read(line);
    }

    fn hides(&self, line: &str) -> bool {
        PREAMBLE.iter().any(|begin| line.trim_start().starts_with(begin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_after_the_tests_of_a_class_is_found_in_the_output() {
        let mut lines = RunnerLines::new();
        let printed = "Running all tests in /w/a.dll\nhello\nTearDown failed for test fixture Shop.Cart\n\
            TearDown : System.Exception : no end\nStackTrace: --TearDown\n";
        printed.lines().for_each(|line| lines.read(line));
        let mut status = RunStatus::default();
        lines.report(&mut status);
        let expected = "code that runs after the tests of `Shop.Cart` failed: System.Exception : no end";
        assert_eq!(status.late_failure.as_deref(), Some(expected));
        assert!(status.printed.starts_with("hello\nTearDown failed"), "{}", status.printed);
    }
}
