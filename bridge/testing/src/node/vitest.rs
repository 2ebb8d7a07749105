//! vitest: a reporter that Tandem adds, and the list from vitest's own API. Its tests run in a process that
//! it starts.
//!
//! Not here: where vitest is installed, and the environment of all three frameworks ([`super`]).

use tandem_wire::{Failure, types};
use tandem_workspace::build::project::{BuildTool, Project};
use tandem_workspace::process::ProcessCommand;

use super::script::ScriptCommand;
use super::{
    BETWEEN, HELPERS, Manifest, files, find_installed, launch, not_installed_failure, scope, test_from_id,
    text, with_environment,
};
use crate::framework::{ChosenTests, TestFramework};
use crate::host::BoxFuture;
use crate::model::TestItem;
use crate::run::output::NullReader;
use crate::run::{FrameworkRun, ProcessPurpose};

/// More names do not fit on a command line; then their whole files run.
const MAX_NAMES: usize = 200;

/// The test framework vitest.
pub(crate) struct Vitest;

fn script(run: &FrameworkRun<'_>) -> ScriptCommand {
    ScriptCommand::of(&Manifest::of(run.project).script, "vitest")
}

async fn list_tests(run: &mut FrameworkRun<'_>) -> Result<Vec<TestItem>, Failure> {
    let module = find_installed(run.project, "vitest/dist/node.js")
        .ok_or_else(|| not_installed_failure("vitest", run.project))?;
    let (helpers, mut reports) = run.prepare_helpers(&HELPERS)?;
    let command =
        ProcessCommand::new("node", &run.project.folder).arg(helpers.join("tandem_vitest_list.mjs"));
    let command = command.arg(module).args(scope(run.project));
    let script = script(run);
    let settings = [script.settings(&run.options.arguments), run.options.arguments.clone()].concat();
    let command = with_environment(command, run, &reports, None, (&script, ProcessPurpose::List))?
        .env("TANDEM_TEST_SETTINGS", types::body(&settings).to_string());
    let launch = launch(command, 0, None);
    run.process(ProcessPurpose::List, launch, "", &mut NullReader, &mut reports).await?;
    Ok(run.collect(&mut reports, "vitest"))
}

async fn vitest(
    run: &mut FrameworkRun<'_>,
    more: Vec<String>,
    selected: Option<&[TestItem]>,
) -> Result<(), Failure> {
    let program = find_installed(run.project, "vitest/vitest.mjs")
        .ok_or_else(|| not_installed_failure("vitest", run.project))?;
    let (helpers, mut reports) = run.prepare_helpers(&HELPERS)?;
    let debugs = run.host.is_debugger();
    let reporter = format!("--reporter={}", text(&helpers.join("tandem_vitest.mjs")));
    let script = script(run);
    let mut command = ProcessCommand::new("node", &run.project.folder).args(&script.node).arg(&program);
    command = command.arg("run").arg(reporter).args(script.settings(&run.options.arguments));
    if debugs {
        command =
            command.args(["--no-file-parallelism", "--pool=forks", "--testTimeout=0", "--hookTimeout=0"]);
    } else {
        command = command.arg("--reporter=default");
    }
    command = command.args(&run.options.arguments).args(more);
    command = match selected {
        Some(tests) => command.args(files(tests)),
        None => command.args(scope(run.project)),
    };
    let command = with_environment(command, run, &reports, selected, (&script, ProcessPurpose::Run))?;
    let launch = launch(command, script.node.len(), run.options.known.as_ref());
    let purpose = ProcessPurpose::Run;
    let ended = run.process(purpose, launch, "vitest run", &mut NullReader, &mut reports).await?;
    run.collect(&mut reports, "vitest");
    // A worker that has ended had no time to report which test it began.
    if let Some(tests) = selected.filter(|_| ended.code != 0 && !run.status.broken && !debugs) {
        run.fail_crashed_test(tests, Some(ended), |test| test.id.clone());
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
