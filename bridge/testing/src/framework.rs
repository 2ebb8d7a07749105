//! The interface of a test framework. Each framework is in a separate file, which imports this one.
//!
//! Not here: the list of all frameworks ([`crate::frameworks`]), one run and its processes ([`crate::run`]),
//! the choice of tests ([`crate::select`]).

use tandem_wire::Failure;
use tandem_workspace::build::project::{BuildTool, Project};

use crate::host::BoxFuture;
use crate::model::TestItem;
use crate::run::FrameworkRun;

/// A test framework and its runner.
pub trait TestFramework: Sync {
    /// Name of the framework, as tools show it.
    fn name(&self) -> &'static str;

    /// The kind of project that may have such tests.
    fn kind(&self) -> BuildTool;

    /// Whether the tests of a project of this kind are written for it.
    fn detects(&self, project: &Project) -> bool;

    /// The tests of a project; builds it first where it must be built.
    ///
    /// # Errors
    /// When the runner cannot be started or is not installed. A build that fails sets
    /// [`RunStatus::broken`](crate::run::RunStatus::broken).
    fn list<'a>(&'a self, run: &'a mut FrameworkRun<'_>) -> BoxFuture<'a, Result<Vec<TestItem>, Failure>>;

    /// Runs tests; their results go to [`FrameworkRun::results`].
    ///
    /// # Errors
    /// As [`list`](Self::list).
    fn run<'a>(
        &'a self,
        run: &'a mut FrameworkRun<'_>,
        chosen: &'a ChosenTests,
    ) -> BoxFuture<'a, Result<(), Failure>>;

    /// The test that a text names for itself: then no list is needed to run it.
    fn test_from_id(&self, _project: &Project, _text: &str) -> Option<TestItem> {
        None
    }

    /// Whether a string looks like an id, which must then be in the list.
    fn is_id(&self, _text: &str) -> bool {
        false
    }

    /// Whether a filter is compared with the list of tests, rather than given to the runner.
    fn filters_the_list(&self) -> bool {
        false
    }

    /// Whether its runner reports how many tests it will run.
    fn plans(&self) -> bool {
        false
    }

    /// Whether a filter that is not an id selects this test.
    fn matches(&self, filter: &str, test: &TestItem) -> bool {
        test.id.contains(filter) || test.name.as_ref().is_some_and(|name| name.contains(filter))
    }
}

/// The tests to run, as a selection resolves to them.
#[derive(Debug, Clone, PartialEq)]
pub enum ChosenTests {
    /// Every test of the project.
    Everything,
    /// The tests that match a filter in the runner's own language.
    Filter(String),
    /// Exactly these tests, from the list.
    Tests(Vec<TestItem>),
}

impl ChosenTests {
    /// The tests that are named one by one.
    pub fn tests(&self) -> &[TestItem] {
        match self {
            Self::Tests(tests) => tests,
            Self::Everything | Self::Filter(_) => &[],
        }
    }
}
