//! Options of a run of tests, the same for every framework.
//!
//! Not here: the tests that a call selects ([`crate::select`]).

use std::time::Duration;

/// Options of a run, independent of the framework.
#[derive(Debug, Clone)]
pub struct TestRunOptions {
    /// Run what was built before.
    pub no_build: bool,
    /// Set, or with `None` unset, in the environment of the tests.
    pub env: Vec<(String, Option<String>)>,
    /// Further arguments of the framework's runner.
    pub arguments: Vec<String>,
    /// The Python to run tests with.
    pub python: Option<String>,
    /// A settings file of the .NET test platform (`.runsettings`).
    pub settings: Option<String>,
    /// The build configuration, where the tool has several.
    pub configuration: Option<String>,
    /// No test may run longer.
    pub test_limit: Option<Duration>,
    /// Time limit of the whole run.
    pub run_limit: Duration,
    /// The exception that a run before has failed with: a debugger stops where it is thrown.
    pub known: Option<KnownException>,
}

/// An exception that a test fails with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownException {
    /// Its type; empty when only the message of the result is known.
    pub kind: String,
    /// Its message, or that of the result.
    pub message: String,
}

impl KnownException {
    /// Whether an exception is this one.
    pub fn is(&self, kind: &str, message: &str) -> bool {
        // As Rust has it: `thread 'a' panicked at src/lib.rs:1:2:`, then the message.
        let is_place = |line: &&str| line.starts_with("thread '") && line.contains(" panicked at ");
        let first = message.trim().lines().find(|line| !is_place(line)).unwrap_or_default();
        // As rdbg has it: `#<ArgumentError: no price> is raised.`
        let first = first.trim_start_matches("#<").trim_end_matches("> is raised.");
        (self.kind.is_empty() || self.kind == kind) && self.message.contains(first)
    }
}

impl Default for TestRunOptions {
    fn default() -> Self {
        Self {
            no_build: false,
            env: Vec::new(),
            arguments: Vec::new(),
            python: None,
            settings: None,
            configuration: None,
            test_limit: None,
            run_limit: tandem_workspace::build::RUN_TIMEOUT,
            known: None,
        }
    }
}
