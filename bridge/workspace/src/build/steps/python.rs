//! Python projects: pytest, `compileall` and pip, with the project's own virtual environment when it has one.

use std::path::{Path, PathBuf};

use dap_wire::{ErrorCode, Failure};

use super::Step;
use crate::build::project::Project;
use crate::build::readers::{Reader, Results};
use crate::build::{Action, Selection};
use crate::process::Command;

/// pytest, and what Python itself does.
pub(super) fn steps(
    project: &Project,
    action: Action,
    chosen: &Selection,
    scratch: &Path,
) -> Result<Vec<Step>, Failure> {
    let own = [".venv/bin/python", "venv/bin/python"].map(|python| project.folder.join(python));
    let own = own.into_iter().find(|python| python.is_file());
    let program = own.clone().unwrap_or_else(|| PathBuf::from("python3"));
    let command = Command::new(program, &project.folder).env("PYTHONUNBUFFERED", "1").env("NO_COLOR", "1");
    let step = match action {
        Action::Build | Action::Check => {
            let command = command.env("PYTHONPYCACHEPREFIX", scratch).args(["-m", "compileall", "-q", "-x"]);
            Step {
                command: command.args([r"[/\\]\.|[/\\](node_modules|venv)[/\\]", "."]),
                reader: Reader::python(),
            }
        }
        Action::Test => {
            let file = scratch.join("pytest.xml");
            let command = command.args(["-m", "pytest", "--tb=short", "-o", "junit_family=xunit1"]);
            let command = command.arg(format!("--junitxml={}", file.display()));
            // A file that configures pytest is no test.
            let place = project
                .file
                .as_ref()
                .filter(|file| file.is_dir() || file.extension().is_some_and(|ending| ending == "py"));
            let command = match chosen.filter.as_ref().map(|filter| test_id(project, filter)) {
                Some(Ok(id)) => command.arg(id),
                Some(Err(expression)) => command.arg("-k").arg(expression).args(place),
                None => command.args(place),
            };
            let command = command.args(&chosen.arguments);
            Step { command, reader: Reader::python().with(Results::Junit(file)) }
        }
        Action::Restore if own.is_none() => {
            let message =
                format!("`{}` has no virtual environment (.venv) to install into", project.folder.display());
            return Err(Failure::new(ErrorCode::Unsupported, message).hint("make one: python3 -m venv .venv"));
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

/// The id of one test (`tests/test_a.py::test_b`); also from the name that results give it (`tests.test_a.test_b`). Anything
/// else is an expression, and comes back as it is.
fn test_id<'a>(project: &Project, filter: &'a str) -> Result<String, &'a str> {
    if let Some((file, rest)) = filter.split_once("::") {
        // An id is relative to where pytest runs, or to the folder that was named.
        let named = project.file.as_ref().map(|folder| folder.join(file)).filter(|file| file.is_file());
        return Ok(match named.filter(|_| !project.folder.join(file).is_file()) {
            Some(file) => format!("{}::{rest}", file.display()),
            None => filter.to_owned(),
        });
    }
    let dotted = filter.split('[').next().unwrap_or_default();
    let ends = dotted.match_indices('.').map(|(at, _)| at);
    for at in ends {
        let (module, rest) = (filter.get(..at).unwrap_or_default(), filter.get(at + 1..).unwrap_or_default());
        let file = format!("{}.py", module.replace('.', "/"));
        if project.folder.join(&file).is_file() {
            let (names, parameters) = rest.split_at(rest.find('[').unwrap_or(rest.len()));
            return Ok(format!("{file}::{}{parameters}", names.replace('.', "::")));
        }
    }
    Err(filter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::project::Kind;

    #[test]
    fn a_name_from_the_results_is_an_id() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("tests")).unwrap();
        std::fs::write(folder.path().join("tests/test_a.py"), "").unwrap();
        let below = Some(folder.path().join("tests"));
        let project = Project { kind: Kind::Pytest, folder: folder.path().to_owned(), file: below };
        let id = |filter| test_id(&project, filter).unwrap();
        assert_eq!(id("tests.test_a.test_b"), "tests/test_a.py::test_b");
        assert_eq!(id("tests.test_a.TestC.test_d[1.5-x]"), "tests/test_a.py::TestC::test_d[1.5-x]");
        assert_eq!(id("tests/test_a.py::test_b"), "tests/test_a.py::test_b");
        assert!(id("test_a.py::test_b").ends_with("/tests/test_a.py::test_b"));
        assert_eq!(test_id(&project, "test_b and not slow"), Err("test_b and not slow"));
    }
}
