//! jest: its own runner of a file (jest-circus) with ours around it, so that tests are listed without running, chosen by exact ids, and
//! report as they begin and end, in whichever of its processes they run.

use std::path::PathBuf;

use dap_wire::Failure;
use serde_json::json;
use workspace_tools::build::project::{Kind, Project};
use workspace_tools::process::Command;

use super::{
    Manifest, files, installed, launch, named, not_installed, prepare, scope, text, with_environment,
};
use crate::framework::{Chosen, Framework};
use crate::host::{Boxed, Processes};
use crate::model::Test;
use crate::run::{Run, Silent};

/// The test framework jest.
pub struct Jest;

async fn jest(
    run: &mut Run<'_>,
    more: Vec<String>,
    wanted: Option<&[Test]>,
    lists: bool,
) -> Result<Vec<Test>, Failure> {
    let program =
        installed(run.project, "jest/bin/jest.js").ok_or_else(|| not_installed("jest", run.project))?;
    let (helpers, mut reports) = prepare(run)?;
    let debugs = run.host.is_debugger() && !lists;
    let mut command = Command::new("node", &run.project.folder).arg(&program);
    command = command.arg(format!("--testRunner={}", text(&helpers.join("tandem_jest.cjs"))));
    if debugs || lists {
        command = command.arg("--runInBand");
    }
    // With `--verbose`, output appears at once, as a debugged run needs it, but is not assigned to its test.
    command = command.arg(if debugs { "--verbose" } else { "--verbose=false" });
    if lists {
        command = command.args(["--silent", "--passWithNoTests"]);
    }
    command = command.args(&run.options.arguments).args(more);
    if let Some(tests) = wanted {
        command = command.arg("--runTestsByPath").args(files(tests));
    } else if let Some(scope) = scope(run.project) {
        let exact = PathBuf::from(&scope).is_file();
        command = command.args(exact.then_some("--runTestsByPath")).arg(scope);
    }
    let modules: Vec<String> =
        program.canonicalize().iter().chain([&program]).filter_map(|file| file.parent()).map(text).collect();
    let command = with_environment(command, run, &reports, wanted, lists)?
        .env("TANDEM_TEST_MODULES", json!(modules).to_string());
    let launch = launch(command, 0, run.options.known.as_ref());
    let host = if lists { &Processes } else { run.host };
    let shown = if lists { "" } else { "jest" };
    run.process(host, launch, shown, &mut Silent, &mut reports).await?;
    Ok(run.collect(&mut reports, "jest"))
}

impl Framework for Jest {
    fn name(&self) -> &'static str {
        "jest"
    }

    fn kind(&self) -> Kind {
        Kind::Npm
    }

    fn detects(&self, project: &Project) -> bool {
        Manifest::of(project).is_for("jest")
    }

    fn list<'a>(&'a self, run: &'a mut Run<'_>) -> Boxed<'a, Result<Vec<Test>, Failure>> {
        Box::pin(jest(run, Vec::new(), None, true))
    }

    fn run<'a>(&'a self, run: &'a mut Run<'_>, chosen: &'a Chosen) -> Boxed<'a, Result<(), Failure>> {
        Box::pin(async move {
            let (more, wanted) = match chosen {
                Chosen::Everything => (Vec::new(), None),
                Chosen::Filter(filter) => (vec![format!("--testNamePattern={filter}")], None),
                Chosen::Tests(tests) => (Vec::new(), Some(tests.as_slice())),
            };
            jest(run, more, wanted, false).await.map(drop)
        })
    }

    fn named(&self, project: &Project, text: &str) -> Option<Test> {
        named(project, text)
    }
}
