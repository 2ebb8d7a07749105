//! Ruby projects: RSpec when there are specs, else the files of minitest or test-unit; `bundle` when there is
//! a Gemfile.
//!
//! Lists no tests and debugs none: the crate `tandem-testing` does.

use std::path::Path;

use tandem_error::{ErrorCode, Failure};

use super::BuildStep;
use crate::build::project::Project;
use crate::build::readers::{OutputParser, ResultFiles};
use crate::build::{BuildAction, RunnerArguments};
use crate::process::ProcessCommand;

/// Loads every test file; minitest and test-unit run them when Ruby ends, with the arguments after `--`.
const LOAD_ALL: &str =
    r#"Dir["{test,tests}/**/{test_*,*_test}.rb"].sort.each { |file| require File.expand_path(file) }"#;

/// Tests and dependencies; Ruby has nothing to build.
pub(super) fn steps(
    project: &Project,
    action: BuildAction,
    chosen: &RunnerArguments,
    scratch: &Path,
) -> Result<Vec<BuildStep>, Failure> {
    let has = |name: &str| project.folder.join(name).exists();
    match action {
        BuildAction::Test => {}
        BuildAction::Restore if has("Gemfile") => {
            let command = ProcessCommand::new("bundle", &project.folder).arg("install");
            return Ok(vec![BuildStep { command, reader: OutputParser::compiler("bundle") }]);
        }
        BuildAction::Build | BuildAction::Check | BuildAction::Restore => {
            let message = format!("a Ruby project has nothing for `{}`", action.name());
            return Err(Failure::new(ErrorCode::Unsupported, message).hint("run_tests runs its tests"));
        }
    }
    let file = project.file.as_ref().filter(|file| file.extension().is_some_and(|ending| ending == "rb"));
    let spec = file.is_some_and(|file| file.to_string_lossy().ends_with("_spec.rb"));
    let rspec = spec || file.is_none() && (has(".rspec") || has("spec"));
    let program = if rspec { "rspec" } else { "ruby" };
    let command = if has("Gemfile.lock") {
        ProcessCommand::new("bundle", &project.folder).args(["exec", program])
    } else {
        ProcessCommand::new(program, &project.folder)
    };
    if rspec {
        let results = scratch.join("rspec.json");
        let command = command.args(["--no-color", "--format", "progress", "--format", "json", "--out"]);
        let filter = chosen.filter.iter().flat_map(|filter| ["--example", filter.as_str()]);
        let command = command.arg(&results).args(filter).args(&chosen.arguments).args(file);
        return Ok(vec![BuildStep {
            command,
            reader: OutputParser::compiler("ruby").with(ResultFiles::Rspec(results)),
        }]);
    }
    let command = command.args(["-Ilib", "-Itest"]);
    let command = match file {
        Some(file) => command.arg(file),
        None => command.args(["-e", LOAD_ALL, "--"]),
    };
    let filter = chosen.filter.iter().map(|filter| format!("--name=/{}/", filter.replace('/', r"\/")));
    let command = command.arg("--verbose").args(filter).args(&chosen.arguments);
    Ok(vec![BuildStep { command, reader: OutputParser::minitest() }])
}
