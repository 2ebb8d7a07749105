//! mocha: Tandem adds a reporter, which also lists tests, selects them by exact ids, and finds their lines.
//!
//! Not here: where mocha is installed, and the environment of all frameworks of Node ([`super`]).

use std::path::PathBuf;

use tandem_wire::{Failure, types};
use tandem_workspace::build::project::{BuildTool, Project};
use tandem_workspace::process::ProcessCommand;

use super::printed_error::PrintedError;
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

/// The program of mocha, in new and in old versions.
const PROGRAMS: [&str; 2] = ["mocha/bin/mocha.js", "mocha/bin/mocha"];
/// Options of the script that a run by Tandem replaces, with a value.
const REPLACED_VALUES: [&str; 7] =
    ["--jobs", "--reporter", "--reporter-option", "--reporter-options", "-O", "-R", "-j"];
/// The same without a value.
const REPLACED_SWITCHES: [&str; 4] = ["--parallel", "--watch", "-p", "-w"];

/// The test framework mocha.
pub(crate) struct Mocha;

/// The arguments of the script that a run keeps.
fn kept_arguments(arguments: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let (name, is_complete) =
            word.split_once('=').map_or((word.as_str(), false), |(name, _)| (name, true));
        if REPLACED_VALUES.contains(&name) {
            if !is_complete {
                words.next();
            }
        } else if !REPLACED_SWITCHES.contains(&name) {
            kept.push(word.clone());
        }
    }
    kept
}

async fn mocha(
    run: &mut FrameworkRun<'_>,
    more: Vec<String>,
    selected: Option<&[TestItem]>,
    purpose: ProcessPurpose,
) -> Result<Vec<TestItem>, Failure> {
    let program = PROGRAMS.iter().find_map(|file| find_installed(run.project, file));
    let program = program.ok_or_else(|| not_installed_failure("mocha", run.project))?;
    let (helpers, mut reports) = run.prepare_helpers(&HELPERS)?;
    let script = ScriptCommand::of(&Manifest::of(run.project).script, "mocha");
    let helper = text(&helpers.join("tandem_mocha.cjs"));
    let mut command = ProcessCommand::new("node", &run.project.folder).args(&script.node).arg(&program);
    command = command.args(kept_arguments(script.arguments()));
    // In parallel, tests are in other processes than the reporter. A filtered stack has relative paths.
    command = command.args(["--no-parallel", "--full-trace", "--require", &helper, "--reporter", &helper]);
    command = command.args(&run.options.arguments).args(more);
    let scope = scope(run.project);
    command = match selected {
        Some(tests) => command.args(files(tests)),
        None => command.args(&scope),
    };
    let modules: Vec<String> = program.parent().map(text).into_iter().collect();
    let command = with_environment(command, run, &reports, selected, (&script, purpose))?
        .env("TANDEM_TEST_SCOPE", scope.clone().unwrap_or_default())
        .env("TANDEM_TEST_MODULES", types::body(&modules).to_string());
    let launch = launch(command, script.node.len(), run.options.known.as_ref());
    let before = run.results.counts().total();
    let ended = run.process(purpose, launch, "mocha", &mut NullReader, &mut reports).await?;
    let tests = run.collect(&mut reports, "mocha");
    let is_silent = tests.is_empty() && run.results.counts().total() == before && !run.results.is_planned();
    if ended.code != 0 && is_silent {
        let source = scope.map_or_else(|| run.project.folder.join("package.json"), PathBuf::from);
        PrintedError::report(run, ("mocha", &text(&source)), ended);
    }
    Ok(tests)
}

impl TestFramework for Mocha {
    fn name(&self) -> &'static str {
        "mocha"
    }

    fn kind(&self) -> BuildTool {
        BuildTool::Npm
    }

    fn detects(&self, project: &Project) -> bool {
        Manifest::of(project).is_for("mocha")
    }

    fn list<'a>(&'a self, run: &'a mut FrameworkRun<'_>) -> BoxFuture<'a, Result<Vec<TestItem>, Failure>> {
        Box::pin(mocha(run, Vec::new(), None, ProcessPurpose::List))
    }

    fn run<'a>(
        &'a self,
        run: &'a mut FrameworkRun<'_>,
        chosen: &'a ChosenTests,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            let (more, selected) = selection(chosen, "--grep");
            mocha(run, more, selected, ProcessPurpose::Run).await.map(drop)
        })
    }

    fn plans(&self) -> bool {
        true
    }

    fn test_from_id(&self, project: &Project, text: &str) -> Option<TestItem> {
        test_from_id(project, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_replaces_the_reporter_of_the_script() {
        let script =
            "mocha -r ts-node/register --parallel -R dot --jobs=2 --reporter spec 'test/**/*.ts' --exit";
        let command = ScriptCommand::of(script, "mocha");
        let kept = kept_arguments(command.arguments()).join(" ");
        assert_eq!(kept, "-r ts-node/register test/**/*.ts --exit");
    }
}
