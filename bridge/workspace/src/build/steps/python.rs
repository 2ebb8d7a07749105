//! Python projects: `compileall` and pip, with the project's own virtual environment when it has one.

use std::path::{Path, PathBuf};

use tandem_error::{ErrorCode, Failure};

use super::Step;
use crate::build::Action;
use crate::build::project::Project;
use crate::build::readers::Reader;
use crate::process::Command;

/// The steps of a Python project.
pub(super) fn steps(project: &Project, action: Action, scratch: &Path) -> Result<Vec<Step>, Failure> {
    let own = [".venv/bin/python", "venv/bin/python"].map(|python| project.folder.join(python));
    let own = own.into_iter().find(|python| python.is_file());
    let program = own.clone().unwrap_or_else(|| PathBuf::from("python3"));
    let command = Command::new(program, &project.folder).env("PYTHONUNBUFFERED", "1").env("NO_COLOR", "1");
    let step = match action {
        Action::Build | Action::Check | Action::Test => {
            let command = command.env("PYTHONPYCACHEPREFIX", scratch).args(["-m", "compileall", "-q", "-x"]);
            Step {
                command: command.args([r"[/\\]\.|[/\\](node_modules|venv)[/\\]", "."]),
                reader: Reader::python(),
            }
        }
        Action::Restore if own.is_none() => {
            let message =
                format!("`{}` has no virtual environment (.venv) to install into", project.folder.display());
            return Err(
                Failure::new(ErrorCode::Unsupported, message).hint("create one: python3 -m venv .venv")
            );
        }
        Action::Restore => {
            let command = command.args(["-m", "pip", "install", "--disable-pip-version-check", "--no-input"]);
            let listed = project.folder.join("requirements.txt").is_file();
            let command =
                if listed { command.args(["-r", "requirements.txt"]) } else { command.args(["-e", "."]) };
            Step { command, reader: Reader::compiler("pip") }
        }
    };
    Ok(vec![step])
}
