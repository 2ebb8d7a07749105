//! Python projects: `compileall` and pip, with the project's own virtual environment when it has one.
//!
//! Runs no tests: the crate `tandem-testing` does. Not here: the compiler's output
//! ([`crate::build::readers`]).

use std::path::{Path, PathBuf};

use tandem_error::{ErrorCode, Failure};

use super::{BuildStep, UntestedAction};
use crate::build::project::Project;
use crate::build::readers::OutputParser;
use crate::process::ProcessCommand;

/// The steps of a Python project.
pub(super) fn steps(
    project: &Project,
    action: UntestedAction,
    scratch: &Path,
) -> Result<Vec<BuildStep>, Failure> {
    let own = [".venv/bin/python", "venv/bin/python"].map(|python| project.folder.join(python));
    let own = own.into_iter().find(|python| python.is_file());
    let program = own.clone().unwrap_or_else(|| PathBuf::from("python3"));
    let command =
        ProcessCommand::new(program, &project.folder).env("PYTHONUNBUFFERED", "1").env("NO_COLOR", "1");
    let step = match action {
        UntestedAction::Build | UntestedAction::Check => {
            let command = command.env("PYTHONPYCACHEPREFIX", scratch).args(["-m", "compileall", "-q", "-x"]);
            BuildStep {
                command: command.args([r"[/\\]\.|[/\\](node_modules|venv)[/\\]", "."]),
                reader: OutputParser::python(),
            }
        }
        UntestedAction::Restore if own.is_none() => {
            let message =
                format!("`{}` has no virtual environment (.venv) to install into", project.folder.display());
            return Err(
                Failure::new(ErrorCode::Unsupported, message).hint("create one: python3 -m venv .venv")
            );
        }
        UntestedAction::Restore => {
            let command = command.args(["-m", "pip", "install", "--disable-pip-version-check", "--no-input"]);
            let listed = project.folder.join("requirements.txt").is_file();
            let command =
                if listed { command.args(["-r", "requirements.txt"]) } else { command.args(["-e", "."]) };
            BuildStep { command, reader: OutputParser::compiler("pip") }
        }
    };
    Ok(vec![step])
}
