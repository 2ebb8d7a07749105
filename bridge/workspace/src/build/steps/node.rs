//! Packages of Node.js: their scripts, run by npm, pnpm or yarn, and the test runners that
//! the script `test` starts.
//!
//! Lists no tests and debugs none: the crate `tandem-testing` does.

use std::fmt::Display;
use std::path::Path;

use serde_json::Value;
use tandem_error::{ErrorCode, Failure};

use super::{BuildStep, MAX_PROJECT_BYTES, no_filter};
use crate::bounded;
use crate::build::project::Project;
use crate::build::readers::{OutputParser, ResultFiles};
use crate::build::{BuildAction, RunnerArguments};
use crate::process::ProcessCommand;

/// The scripts of a package, run by the manager whose lock file exists.
pub(super) fn steps(
    project: &Project,
    action: BuildAction,
    chosen: &RunnerArguments,
    scratch: &Path,
) -> Result<Vec<BuildStep>, Failure> {
    let has = |name: &str| project.folder.join(name).is_file();
    let manager = if has("pnpm-lock.yaml") {
        "pnpm"
    } else if has("yarn.lock") {
        "yarn"
    } else {
        "npm"
    };
    let unreadable = |why: &dyn Display| {
        Failure::new(ErrorCode::BuildFailed, format!("package.json cannot be read: {why}"))
    };
    let manifest = bounded::read(&project.folder.join("package.json"), MAX_PROJECT_BYTES);
    let manifest = manifest.map_err(|error| unreadable(&error))?;
    let manifest: Value = serde_json::from_slice(&manifest).map_err(|error| unreadable(&error))?;
    let script = |name: &str| manifest["scripts"][name].as_str();
    let command = ProcessCommand::new(manager, &project.folder).env("NO_COLOR", "1").env("CI", "1");
    let compiler = || OutputParser::compiler("npm");
    let step = match action {
        BuildAction::Restore if manager == "npm" && has("package-lock.json") => {
            BuildStep { command: command.args(["ci", "--no-audit", "--no-fund"]), reader: compiler() }
        }
        BuildAction::Restore => BuildStep { command: command.arg("install"), reader: compiler() },
        BuildAction::Build if script("build").is_some() => {
            BuildStep { command: command.args(["run", "build"]), reader: compiler() }
        }
        BuildAction::Test if script("test").is_some() => {
            test_script(command, script("test").unwrap_or_default(), chosen, scratch)?
        }
        BuildAction::Check if has("node_modules/.bin/tsc") && has("tsconfig.json") => {
            let compile = ProcessCommand::new(project.folder.join("node_modules/.bin/tsc"), &project.folder);
            BuildStep {
                command: compile.args(["--noEmit", "--pretty", "false"]),
                reader: OutputParser::compiler("tsc"),
            }
        }
        BuildAction::Check if script("lint").is_some() => {
            BuildStep { command: command.args(["run", "lint"]), reader: compiler() }
        }
        BuildAction::Build | BuildAction::Test | BuildAction::Check => {
            let message = format!("package.json has no script for `{}`", action.name());
            return Err(Failure::new(ErrorCode::Unsupported, message).hint("see its `scripts`"));
        }
    };
    Ok(vec![step])
}

/// A test script, with a machine-readable format if its runner is known.
fn test_script(
    command: ProcessCommand,
    script: &str,
    chosen: &RunnerArguments,
    scratch: &Path,
) -> Result<BuildStep, Failure> {
    let file = scratch.join("results.json");
    let to = |option: &str| format!("{option}={}", file.display());
    let command = command.arg("test");
    let compiler = OutputParser::compiler("npm");
    let runs = |name: &str| script.split([' ', '/', '&', ';']).any(|word| word == name);
    let more = |option: &str| {
        let filter = chosen.filter.iter().map(|filter| format!("{option}={filter}"));
        filter.chain(chosen.arguments.iter().cloned()).collect::<Vec<String>>()
    };
    Ok(if runs("jest") {
        let command = command.args(["--", "--json", &to("--outputFile")]).args(more("--testNamePattern"));
        BuildStep { command, reader: compiler.with(ResultFiles::Jest(file)) }
    } else if runs("vitest") {
        let command = command.args(["--", "--reporter=default", "--reporter=json", &to("--outputFile")]);
        BuildStep {
            command: command.args(more("--testNamePattern")),
            reader: compiler.with(ResultFiles::Jest(file)),
        }
    } else if runs("mocha") {
        let command = command.args(["--", "--reporter", "json", "--reporter-option", &to("output")]);
        BuildStep { command: command.args(more("--grep")), reader: compiler.with(ResultFiles::Mocha(file)) }
    } else if runs("--test") {
        // Node reads options only before the first file, but added arguments follow the script.
        let files = script.split(' ').skip_while(|word| *word != "--test").any(|word| !word.starts_with('-'));
        if files && chosen.filter.is_some() {
            return Err(no_filter(&format!("the script `{script}`, which names files behind `--test`,")));
        }
        let inherited = std::env::var("NODE_OPTIONS").unwrap_or_default();
        let options = format!("{inherited} --test-reporter=tap");
        let command = command.env("NODE_OPTIONS", options.trim());
        BuildStep {
            command: append_script_arguments(command, more("--test-name-pattern")),
            reader: OutputParser::tap(),
        }
    } else if chosen.filter.is_some() {
        return Err(no_filter(&format!("the runner of the script `{script}`")));
    } else {
        BuildStep { command: append_script_arguments(command, more("")), reader: OutputParser::tap() }
    })
}

/// Arguments for a script's own program.
fn append_script_arguments(command: ProcessCommand, arguments: Vec<String>) -> ProcessCommand {
    if arguments.is_empty() { command } else { command.arg("--").args(arguments) }
}
