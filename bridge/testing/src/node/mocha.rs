//! mocha: Tandem adds a reporter, which also lists tests, selects them by exact ids, and finds their lines.
//!
//! Not here: where mocha is installed ([`super`]), and the process ([`super::process`]).

use tandem_wire::{Failure, types};
use tandem_workspace::build::project::{BuildTool, Project};

use super::process::{NodeProcess, NodeRunner};
use super::{Manifest, files, installed, scope, selection, source, test_from_id, text};
use crate::framework::{ChosenTests, TestFramework};
use crate::host::BoxFuture;
use crate::model::TestItem;
use crate::run::{FrameworkRun, ProcessPurpose};

const RUNNER: NodeRunner = NodeRunner { name: "mocha", word: "mocha", shown: "mocha" };
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
    let program = installed(run.project, "mocha", &PROGRAMS)?;
    let mut process = NodeProcess::prepare(run, RUNNER, selected, purpose)?;
    let helper = process.helper("tandem_mocha.cjs");
    let mut arguments = kept_arguments(process.script.arguments());
    // In parallel, tests are in other processes than the reporter. A filtered stack has relative paths.
    arguments.extend(["--no-parallel", "--full-trace", "--require"].map(str::to_owned));
    arguments.extend([helper.clone(), "--reporter".into(), helper]);
    arguments.extend(run.options.arguments.iter().cloned().chain(more));
    let scope = scope(run.project);
    arguments.extend(selected.map_or_else(|| scope.iter().cloned().collect(), files));
    let modules: Vec<String> = program.parent().map(text).into_iter().collect();
    process.set_variable("TANDEM_TEST_SCOPE", scope.clone().unwrap_or_default());
    process.set_variable("TANDEM_TEST_MODULES", types::body(&modules).to_string());
    let end = process.run(run, &program, arguments).await?;
    if !run.results.is_planned() {
        end.report_error(run, RUNNER, &source(run.project));
    }
    Ok(end.tests)
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
    use crate::node::script::ScriptCommand;

    #[test]
    fn a_run_replaces_the_reporter_of_the_script() {
        let script =
            "mocha -r ts-node/register --parallel -R dot --jobs=2 --reporter spec 'test/**/*.ts' --exit";
        let command = ScriptCommand::of(script, "mocha");
        let kept = kept_arguments(command.arguments()).join(" ");
        assert_eq!(kept, "-r ts-node/register test/**/*.ts --exit");
    }
}
