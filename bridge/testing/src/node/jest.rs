//! jest: Tandem wraps its runner (jest-circus), so that it lists tests without running them, selects them by
//! exact ids, and reports their start and end from each of its processes.

use std::path::PathBuf;

use tandem_wire::{Failure, types};
use tandem_workspace::build::project::{BuildTool, Project};

use super::process::{NodeProcess, NodeRunner};
use super::{Manifest, files, installed, scope, selection, source, test_from_id, text};
use crate::framework::{ChosenTests, TestFramework};
use crate::host::BoxFuture;
use crate::model::TestItem;
use crate::run::{FrameworkRun, ProcessPurpose};

const RUNNER: NodeRunner = NodeRunner { name: "jest", word: "jest", shown: "jest" };

/// The test framework jest.
pub(crate) struct Jest;

async fn jest(
    run: &mut FrameworkRun<'_>,
    more: Vec<String>,
    selected: Option<&[TestItem]>,
    purpose: ProcessPurpose,
) -> Result<Vec<TestItem>, Failure> {
    let program = installed(run.project, "jest", &["jest/bin/jest.js"])?;
    let mut process = NodeProcess::prepare(run, RUNNER, selected, purpose)?;
    let lists = purpose == ProcessPurpose::List;
    let debugs = run.host.is_debugger() && !lists;
    let mut arguments = vec![format!("--testRunner={}", process.helper("tandem_jest.cjs"))];
    if debugs || lists {
        arguments.push("--runInBand".into());
    }
    // With `--verbose`, output appears at once, as a debugged run needs it, but is not assigned to its test.
    arguments.push(if debugs { "--verbose" } else { "--verbose=false" }.into());
    if lists {
        arguments.extend(["--silent", "--passWithNoTests"].map(str::to_owned));
    }
    arguments.extend(process.script.settings(&run.options.arguments));
    arguments.extend(run.options.arguments.iter().cloned().chain(more));
    if let Some(tests) = selected {
        arguments.push("--runTestsByPath".into());
        arguments.extend(files(tests));
    } else if let Some(scope) = scope(run.project) {
        let exact = PathBuf::from(&scope).is_file();
        arguments.extend(exact.then(|| "--runTestsByPath".into()));
        arguments.push(scope);
    }
    let modules: Vec<String> =
        program.canonicalize().iter().chain([&program]).filter_map(|file| file.parent()).map(text).collect();
    process.set_variable("TANDEM_TEST_MODULES", types::body(&modules).to_string());
    let end = process.run(run, &program, arguments).await?;
    if lists {
        end.report_error(run, RUNNER, &source(run.project));
    }
    Ok(end.tests)
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
