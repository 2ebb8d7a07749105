//! vitest: a reporter that Tandem adds, and the list from vitest's own API. Its tests run in a process that
//! it starts.
//!
//! Not here: where vitest is installed ([`super`]), and the process ([`super::process`]).

use std::path::PathBuf;

use tandem_wire::{Failure, types};
use tandem_workspace::build::project::{BuildTool, Project};

use super::process::{NodeProcess, NodeRunner};
use super::{BETWEEN, Manifest, files, installed, scope, source, test_from_id, text};
use crate::framework::{ChosenTests, TestFramework};
use crate::host::BoxFuture;
use crate::model::TestItem;
use crate::run::{FrameworkRun, ProcessPurpose};

/// More names do not fit on a command line; then their whole files run.
const MAX_NAMES: usize = 200;

const RUNNER: NodeRunner = NodeRunner { name: "vitest", word: "vitest", shown: "vitest run" };

/// The test framework vitest.
pub(crate) struct Vitest;

async fn list_tests(run: &mut FrameworkRun<'_>) -> Result<Vec<TestItem>, Failure> {
    let module = installed(run.project, "vitest", &["vitest/dist/node.js"])?;
    let mut process = NodeProcess::prepare(run, RUNNER, None, ProcessPurpose::List)?;
    let program = PathBuf::from(process.helper("tandem_vitest_list.mjs"));
    let settings = [process.script.settings(&run.options.arguments), run.options.arguments.clone()].concat();
    process.set_variable("TANDEM_TEST_SETTINGS", types::body(&settings).to_string());
    let arguments = std::iter::once(text(&module)).chain(scope(run.project)).collect();
    let end = process.run(run, &program, arguments).await?;
    end.report_error(run, RUNNER, &source(run.project));
    Ok(end.tests)
}

async fn vitest(
    run: &mut FrameworkRun<'_>,
    more: Vec<String>,
    selected: Option<&[TestItem]>,
) -> Result<(), Failure> {
    let program = installed(run.project, "vitest", &["vitest/vitest.mjs"])?;
    let process = NodeProcess::prepare(run, RUNNER, selected, ProcessPurpose::Run)?;
    let debugs = run.host.is_debugger();
    let reporter = process.helper("tandem_vitest.mjs");
    let mut arguments = vec!["run".into(), format!("--reporter={reporter}")];
    arguments.extend(process.script.settings(&run.options.arguments));
    let own: &[&str] = if debugs {
        &["--no-file-parallelism", "--pool=forks", "--testTimeout=0", "--hookTimeout=0"]
    } else {
        &["--reporter=default"]
    };
    arguments.extend(own.iter().map(|&option| option.to_owned()));
    arguments.extend(run.options.arguments.iter().cloned().chain(more));
    arguments.extend(selected.map_or_else(|| scope(run.project).into_iter().collect(), files));
    let exit = process.run(run, &program, arguments).await?.exit;
    // A worker that has ended had no time to report which test it began.
    if let Some(tests) = selected.filter(|_| exit.code != 0 && !run.status.broken && !debugs) {
        run.fail_crashed_test(tests, Some(exit), |test| test.id.clone());
    }
    Ok(())
}

/// A pattern that matches exactly these tests: vitest joins titles with spaces, and the separator of an id
/// may be part of a title.
fn exact_pattern(tests: &[TestItem]) -> Option<String> {
    let name = |test: &TestItem| {
        let name = test.id.split_once(BETWEEN).map_or(test.id.as_str(), |(_, name)| name);
        regex::escape(name).replace(BETWEEN, "(?: > | )")
    };
    let names: Vec<String> = tests.iter().map(name).collect();
    (tests.len() <= MAX_NAMES).then(|| format!("--testNamePattern=^(?:{})$", names.join("|")))
}

impl TestFramework for Vitest {
    fn name(&self) -> &'static str {
        "vitest"
    }

    fn kind(&self) -> BuildTool {
        BuildTool::Npm
    }

    fn detects(&self, project: &Project) -> bool {
        Manifest::of(project).is_for("vitest")
    }

    fn list<'a>(&'a self, run: &'a mut FrameworkRun<'_>) -> BoxFuture<'a, Result<Vec<TestItem>, Failure>> {
        Box::pin(list_tests(run))
    }

    fn run<'a>(
        &'a self,
        run: &'a mut FrameworkRun<'_>,
        chosen: &'a ChosenTests,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            match chosen {
                ChosenTests::Everything => vitest(run, Vec::new(), None).await,
                ChosenTests::Filter(filter) => {
                    vitest(run, vec![format!("--testNamePattern={filter}")], None).await
                }
                ChosenTests::Tests(tests) => {
                    vitest(run, exact_pattern(tests).into_iter().collect(), Some(tests)).await
                }
            }
        })
    }

    fn test_from_id(&self, project: &Project, text: &str) -> Option<TestItem> {
        test_from_id(project, text)
    }
}
