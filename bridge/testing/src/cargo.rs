//! Tests of Rust: Cargo builds the test programs, and each runs separately with libtest's documented
//! options. So the process of each test is known, and a crash affects only the tests of its program.
//! rustdoc runs documentation tests.
//!
//! Not here: Cargo's command ([`command`]) and its arguments ([`arguments`]), the programs ([`executable`]),
//! the list of tests ([`listing`]), the processes with tests ([`execution`]) and their output ([`libtest`]).

use tandem_wire::Failure;
use tandem_workspace::build::project::{BuildTool, Project};

use crate::framework::{ChosenTests, TestFramework};
use crate::host::BoxFuture;
use crate::model::TestItem;
use crate::run::FrameworkRun;

mod arguments;
mod command;
mod executable;
mod execution;
mod libtest;
mod listing;
mod own_harness;
mod sources;

/// The test framework of Rust: `cargo test`.
pub(crate) struct Cargo;

impl TestFramework for Cargo {
    fn name(&self) -> &'static str {
        "cargo"
    }

    fn kind(&self) -> BuildTool {
        BuildTool::Cargo
    }

    fn detects(&self, _: &Project) -> bool {
        true
    }

    fn list<'a>(&'a self, run: &'a mut FrameworkRun<'_>) -> BoxFuture<'a, Result<Vec<TestItem>, Failure>> {
        Box::pin(listing::list_tests(run))
    }

    fn run<'a>(
        &'a self,
        run: &'a mut FrameworkRun<'_>,
        chosen: &'a ChosenTests,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            match chosen {
                ChosenTests::Tests(tests) => execution::run_tests(run, tests).await,
                ChosenTests::Filter(filter) => execution::run_all(run, Some(filter)).await,
                ChosenTests::Everything => execution::run_all(run, None).await,
            }
        })
    }

    fn is_id(&self, text: &str) -> bool {
        text.contains(' ')
    }
}
