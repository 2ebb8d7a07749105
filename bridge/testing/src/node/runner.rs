//! Node's own runner, `node --test`: each test file is a program, which runs with Tandem's replacement of
//! `node:test`. So tests are listed without running and selected by exact ids in every version.

use tandem_wire::{ErrorCode, Failure};
use tandem_workspace::build::project::{BuildTool, Project};
use tandem_workspace::process::ProcessCommand;

use super::files::{imports_runner, sources};
use super::printed_error::PrintedError;
use super::script::ScriptCommand;
use super::{HELPERS, Manifest, files, launch, test_from_id, text, with_environment};
use crate::framework::{ChosenTests, TestFramework};
use crate::host::BoxFuture;
use crate::model::TestItem;
use crate::run::output::NullReader;
use crate::run::{FrameworkRun, ProcessPurpose};

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
    let (helpers, mut reports) = run.prepare_helpers(&HELPERS)?;
    let helper = |name: &str| text(&helpers.join(name));
    let script = ScriptCommand::of(&Manifest::of(run.project).script, "--test");
    let mut own = script.node.clone();
    own.push(format!("--import={}", helper("tandem_node.mjs")));
    if purpose == ProcessPurpose::Run {
        let reporter = helper("tandem_node_reporter.mjs");
        // It writes nothing. Node 22 and newer flush a file at the end, and fail on one like /dev/null.
        own.extend([format!("--test-reporter={reporter}"), "--test-reporter-destination=stdout".into()]);
    }
    own.extend(more.iter().chain(&run.options.arguments).cloned());
    let command = ProcessCommand::new("node", &run.project.folder).args(&own).arg(file);
    let command = with_environment(command, run, &reports, selected, (&script, purpose))?;
    let launch = launch(command, own.len(), run.options.known.as_ref());
    let before = run.results.counts().total();
    let ended = run.process(purpose, launch, "node --test", &mut NullReader, &mut reports).await?;
    let tests = run.collect(&mut reports, "node");
    let printed = run.report.output.text();
    if printed.contains("node: bad option") {
        let message = format!("`node` does not know an option: {}", printed.trim());
        return Err(Failure::new(ErrorCode::CommandFailed, message).hint("Node 20.16 or newer runs them"));
    }
    // Node 20 runs the hooks of a suite whose tests a pattern excludes: a failure there means nothing.
    let is_chosen = more.is_empty() || PrintedError::is_in(&printed);
    if ended.code != 0 && is_chosen && tests.is_empty() && run.results.counts().total() == before {
        PrintedError::report(run, ("node", file), ended);
    }
    Ok(tests)
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
