//! Node's own runner, `node --test`: each test file is a program, which runs with Tandem's replacement of
//! `node:test`. So tests are listed without running and selected by exact ids in every version.

use std::path::Path;

use tandem_wire::{ErrorCode, Failure};
use tandem_workspace::build::project::{BuildTool, Project};

use super::files::{imports_runner, sources};
use super::printed_error::PrintedError;
use super::process::{NodeProcess, NodeRunner};
use super::{Manifest, files, test_from_id, text};
use crate::framework::{ChosenTests, TestFramework};
use crate::host::BoxFuture;
use crate::model::TestItem;
use crate::run::{FrameworkRun, ProcessPurpose};

const RUNNER: NodeRunner = NodeRunner { name: "node", word: "--test", shown: "node --test" };

/// The runner of Node.js itself: `node --test`.
pub(crate) struct NodeTest;

/// Runs the tests of one file.
async fn file(
    run: &mut FrameworkRun<'_>,
    file: &str,
    more: &[String],
    selected: Option<&[TestItem]>,
    purpose: ProcessPurpose,
) -> Result<Vec<TestItem>, Failure> {
    let mut process = NodeProcess::prepare(run, RUNNER, selected, purpose)?;
    process.node.push(format!("--import={}", process.helper("tandem_node.mjs")));
    if purpose == ProcessPurpose::Run {
        process.node.push(format!("--test-reporter={}", process.helper("tandem_node_reporter.mjs")));
        // It writes nothing. Node 22 and newer flush a file at the end, and fail on one like /dev/null.
        process.node.push("--test-reporter-destination=stdout".into());
    }
    process.node.extend(more.iter().chain(&run.options.arguments).cloned());
    let end = process.run(run, Path::new(file), Vec::new()).await?;
    let printed = run.report.output.text();
    if printed.contains("node: bad option") {
        let message = format!("`node` does not know an option: {}", printed.trim());
        return Err(Failure::new(ErrorCode::CommandFailed, message).hint("Node 20.16 or newer runs them"));
    }
    // Node 20 runs the hooks of a suite whose tests a pattern excludes: a failure there means nothing.
    let is_chosen = more.is_empty() || PrintedError::is_in(&printed);
    if is_chosen {
        end.report_error(run, RUNNER, file);
    }
    Ok(end.tests)
}

impl TestFramework for NodeTest {
    fn name(&self) -> &'static str {
        "node"
    }

    fn kind(&self) -> BuildTool {
        BuildTool::Npm
    }

    fn detects(&self, project: &Project) -> bool {
        Manifest::of(project).runs("--test")
            || project.file.as_ref().is_some_and(|file| file.is_file() && imports_runner(file))
    }

    fn list<'a>(&'a self, run: &'a mut FrameworkRun<'_>) -> BoxFuture<'a, Result<Vec<TestItem>, Failure>> {
        Box::pin(async move {
            let mut tests = Vec::new();
            for source in sources(run.project, ProcessPurpose::List) {
                tests.extend(file(run, &text(&source), &[], None, ProcessPurpose::List).await?);
            }
            Ok(tests)
        })
    }

    fn run<'a>(
        &'a self,
        run: &'a mut FrameworkRun<'_>,
        chosen: &'a ChosenTests,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            let sources =
                || sources(run.project, ProcessPurpose::Run).iter().map(|source| text(source)).collect();
            let (files, more, selected): (Vec<String>, _, _) = match chosen {
                ChosenTests::Everything => (sources(), Vec::new(), None),
                ChosenTests::Filter(filter) => {
                    (sources(), vec![format!("--test-name-pattern={filter}")], None)
                }
                ChosenTests::Tests(tests) => (files(tests), Vec::new(), Some(tests.as_slice())),
            };
            let mut worst = 0;
            for source in files {
                let before = run.results.counts().total();
                file(run, &source, &more, selected, ProcessPurpose::Run).await?;
                if more.is_empty() || run.status.broken || run.results.counts().total() > before {
                    worst = worst.max(run.status.code);
                }
            }
            (run.status.code, run.status.first_code) = (worst, Some(worst).filter(|code| *code != 0));
            Ok(())
        })
    }

    fn test_from_id(&self, project: &Project, text: &str) -> Option<TestItem> {
        test_from_id(project, text)
    }
}
