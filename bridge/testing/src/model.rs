//! Tests and their results, as every framework reports them.
//!
//! Not here: the results of a run as they come ([`crate::results`]), their text in an answer
//! ([`crate::answer`]).

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A test as its framework lists it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TestItem {
    /// Names it from one build to the next; `run` and `debug` take it.
    pub id: String,
    /// Display name, if it differs from the id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Absolute path of its source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line of the test, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Categories, markers, tags: `name` or `name=value`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub traits: Vec<String>,
    /// Reason why the test is skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// The target framework, where a project is built for several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub framework: Option<String>,
    /// The project it is in, where a solution has several with tests: a path relative to the solution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The class, module, suite or package it belongs to.
    #[serde(skip_serializing)]
    pub class: String,
    /// Data with which the framework finds the test again.
    #[serde(skip)]
    pub handle: TestHandle,
}

/// Data that only the framework of a test knows; each framework has its own type.
#[derive(Clone, Default)]
pub struct TestHandle(Option<Arc<dyn Any + Send + Sync>>);

impl TestHandle {
    /// A handle with the data of a framework.
    pub fn new<T: Any + Send + Sync>(data: T) -> Self {
        Self(Some(Arc::new(data)))
    }

    /// The data, if they are of this type.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.as_ref()?.downcast_ref()
    }
}

impl PartialEq for TestHandle {
    /// Two handles are equal if they share their data, or have none.
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        }
    }
}

impl fmt::Debug for TestHandle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TestHandle").finish_non_exhaustive()
    }
}

/// Outcome of a test that has ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TestStatus {
    /// All checks of the test passed.
    #[default]
    Passed,
    /// A check failed, it threw, crashed or ran too long.
    Failed,
    /// The framework skipped the test on purpose.
    Skipped,
}

/// The values that a failed check compared.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ComparedValues {
    /// The value that it expected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// The value that it got.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual: Option<String>,
}

/// Result of one test, or of one row of a data-driven test.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TestResult {
    /// Id of the test, as [`TestItem`] has it.
    pub id: String,
    /// Display name, if it differs from the id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether it passed, failed or was skipped.
    pub outcome: TestStatus,
    /// Why it failed or was skipped.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The values that the failed check compared.
    #[serde(flatten)]
    pub compared: ComparedValues,
    /// Source file of the failure, in the user's code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line of the failure, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The calls that led there, the innermost first, as the framework prints them.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stack: String,
    /// Output of the test, where the framework separates it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// Duration of the test, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The target framework, where a project is built for several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub framework: Option<String>,
    /// The project, where a solution has several with tests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

/// An event of a run, for listeners.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "event", rename_all = "camelCase")]
pub enum TestEvent<'a> {
    /// A test has begun to run.
    Started {
        /// Id of the test that has begun.
        id: &'a str,
        /// The target framework, where a project is built for several.
        #[serde(skip_serializing_if = "Option::is_none")]
        framework: Option<&'a str>,
    },
    /// A test has ended, with this result.
    Finished(&'a TestResult),
}

impl TestResult {
    /// The name that users see.
    pub fn display_name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.id)
    }
}
