//! Ruby projects: RSpec when there are specs, else the files of minitest or test-unit; `bundle` when there is a Gemfile.

use std::path::Path;

use tandem_error::{ErrorCode, Failure};

use super::Step;
use crate::build::project::Project;
use crate::build::readers::{Reader, Results};
use crate::build::{Action, Selection};
use crate::process::Command;

/// Loads every file of tests; minitest and test-unit run them when Ruby ends, with the arguments behind `--`.
const LOAD_ALL: &str =
    r#"Dir["{test,tests}/**/{test_*,*_test}.rb"].sort.each { |file| require File.expand_path(file) }"#;

/// Tests and dependencies; Ruby has nothing to build.
pub(super) fn steps(
    project: &Project,
    action: Action,
    chosen: &Selection,
    scratch: &Path,
) -> Result<Vec<Step>, Failure> {
    let has = |name: &str| project.folder.join(name).exists();
    match action {
        Action::Test => {}
        Action::Restore if has("Gemfile") => {
            let command = Command::new("bundle", &project.folder).arg("install");
            return Ok(vec![Step { command, reader: Reader::compiler("bundle") }]);
        }
        Action::Build | Action::Check | Action::Restore => {
            let message = format!("a Ruby project has nothing for `{}`", action.name());
            return Err(Failure::new(ErrorCode::Unsupported, message).hint("run_tests runs its tests"));
        }
    }
    let file = project.file.as_ref().filter(|file| file.extension().is_some_and(|ending| ending == "rb"));
    let spec = file.is_some_and(|file| file.to_string_lossy().ends_with("_spec.rb"));
    let rspec = spec || file.is_none() && (has(".rspec") || has("spec"));
    let program = if rspec { "rspec" } else { "ruby" };
    let command = if has("Gemfile.lock") {
        Command::new("bundle", &project.folder).args(["exec", program])
    } else {
        Command::new(program, &project.folder)
    };
    if rspec {
        let results = scratch.join("rspec.json");
        let command = command.args(["--no-color", "--format", "progress", "--format", "json", "--out"]);
        let filter = chosen.filter.iter().flat_map(|filter| ["--example", filter.as_str()]);
        let command = command.arg(&results).args(filter).args(&chosen.arguments).args(file);
        return Ok(vec![Step { command, reader: Reader::compiler("ruby").with(Results::Rspec(results)) }]);
    }
    let command = command.args(["-Ilib", "-Itest"]);
    let command = match file {
        Some(file) => command.arg(file),
        None => command.args(["-e", LOAD_ALL, "--"]),
    };
    let filter = chosen.filter.iter().map(|filter| format!("--name=/{}/", filter.replace('/', r"\/")));
    let command = command.arg("--verbose").args(filter).args(&chosen.arguments);
    Ok(vec![Step { command, reader: Reader::minitest() }])
}
