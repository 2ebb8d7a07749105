//! jest: Tandem wraps its runner (jest-circus), so that it lists tests without running them, selects them by
//! exact ids, and reports their start and end from each of its processes.

use std::path::PathBuf;

use tandem_wire::{Failure, types};
use tandem_workspace::build::project::{BuildTool, Project};
use tandem_workspace::process::ProcessCommand;

use super::script::ScriptCommand;
use super::{
    HELPERS, Manifest, files, find_installed, launch, not_installed_failure, scope, selection, test_from_id,
    text, with_environment,
};
use crate::framework::{ChosenTests, TestFramework};
use crate::host::BoxFuture;
use crate::model::TestItem;
use crate::run::output::NullReader;
use crate::run::{FrameworkRun, ProcessPurpose};

/// The test framework jest.
pub(crate) struct Jest;

async fn jest(
    run: &mut FrameworkRun<'_>,
    more: Vec<String>,
    selected: Option<&[TestItem]>,
    purpose: ProcessPurpose,
) -> Result<Vec<TestItem>, Failure> {
    let program = find_installed(run.project, "jest/bin/jest.js")
        .ok_or_else(|| not_installed_failure("jest", run.project))?;
    let (helpers, mut reports) = run.prepare_helpers(&HELPERS)?;
    let lists = purpose == ProcessPurpose::List;
    let debugs = run.host.is_debugger() && !lists;
    let script = ScriptCommand::of(&Manifest::of(run.project).script, "jest");
    let mut command = ProcessCommand::new("node", &run.project.folder).args(&script.node).arg(&program);
    command = command.arg(format!("--testRunner={}", text(&helpers.join("tandem_jest.cjs"))));
    if debugs || lists {
        command = command.arg("--runInBand");
    }
    // With `--verbose`, output appears at once, as a debugged run needs it, but is not assigned to its test.
    command = command.arg(if debugs { "--verbose" } else { "--verbose=false" });
    if lists {
        command = command.args(["--silent", "--passWithNoTests"]);
    }
    command = command.args(script.settings(&run.options.arguments));
    command = command.args(&run.options.arguments).args(more);
    if let Some(tests) = selected {
        command = command.arg("--runTestsByPath").args(files(tests));
    } else if let Some(scope) = scope(run.project) {
        let exact = PathBuf::from(&scope).is_file();
        command = command.args(exact.then_some("--runTestsByPath")).arg(scope);
    }
    let modules: Vec<String> =
        program.canonicalize().iter().chain([&program]).filter_map(|file| file.parent()).map(text).collect();
    let command = with_environment(command, run, &reports, selected, (&script, purpose))?
        .env("TANDEM_TEST_MODULES", types::body(&modules).to_string());
    let launch = launch(command, script.node.len(), run.options.known.as_ref());
    run.process(purpose, launch, "jest", &mut NullReader, &mut reports).await?;
    Ok(run.collect(&mut reports, "jest"))
}

impl TestFramework for Jest {
    fn name(&self) -> &'static str {
        "jest"
    }

    fn kind(&self) -> BuildTool {
        BuildTool::Npm
    }

    fn detects(&self, project: &Project) -> bool {
        Manifest::of(project).is_for("jest")
    }

    fn list<'a>(&'a self, run: &'a mut FrameworkRun<'_>) -> BoxFuture<'a, Result<Vec<TestItem>, Failure>> {
        Box::pin(jest(run, Vec::new(), None, ProcessPurpose::List))
    }

    fn run<'a>(
        &'a self,
        run: &'a mut FrameworkRun<'_>,
        chosen: &'a ChosenTests,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            let (more, selected) = selection(chosen, "--testNamePattern");
            jest(run, more, selected, ProcessPurpose::Run).await.map(drop)
        })
    }

    fn test_from_id(&self, project: &Project, text: &str) -> Option<TestItem> {
        test_from_id(project, text)
    }
}
