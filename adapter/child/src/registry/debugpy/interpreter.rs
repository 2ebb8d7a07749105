//! The Python of a launch, and the debugpy that it can load. Not how they are started.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use tandem_wire::{ErrorCode, Failure};

use super::environment_tool;
use crate::find;
use crate::target::Target;
use tandem_engine::builds::command;

/// How long a Python may take that does nothing: a cold one on a busy machine takes seconds.
const RUN_TIMEOUT: Duration = Duration::from_secs(20);

/// A Python interpreter and the debugpy to use with it.
pub(super) struct Python {
    pub(super) interpreter: PathBuf,
    /// A tool such as `uv run` starts it.
    pub(super) is_of_tool: bool,
    /// The words after the interpreter, where `python` is a list.
    pub(super) options: Vec<String>,
    /// `-m debugpy`, or the folder of one that is not installed there.
    pub(super) debugpy: Vec<String>,
}

impl Python {
    /// The interpreter and its options, as debugpy's own attribute `python` has them.
    pub(super) fn command(&self) -> Vec<String> {
        let interpreter = self.interpreter.display().to_string();
        std::iter::once(interpreter).chain(self.options.iter().cloned()).collect()
    }
}

/// The interpreter the user names, the project's own, or that of PATH; with a debugpy it can load.
pub(super) fn find_python(target: &Target) -> Result<Python, Failure> {
    let mut looked = Vec::new();
    let interpreter = find(target, &mut looked)?;
    let words = command_words(target)?;
    let tool = environment_tool::split(&words);
    let is_of_tool = tool.is_some();
    let options =
        tool.map_or_else(|| words.iter().skip(1).cloned().collect(), |(_, options)| options.to_vec());
    let given = target.text("enginePath")?.map(|path| target.cwd.join(path));
    if given.is_none() && has_debugpy(&interpreter) {
        return Ok(Python { interpreter, is_of_tool, options, debugpy: vec!["-m".into(), "debugpy".into()] });
    }
    check_runs(&interpreter)?;
    let shown = interpreter.display().to_string();
    // Debian and others refuse to install packages for the system's own Python.
    let install = if interpreter.parent() == Some(Path::new("/usr/bin")) {
        format!("{shown} -m venv .venv && .venv/bin/pip install debugpy")
    } else {
        format!("{shown} -m pip install debugpy")
    };
    looked.push(format!("the modules of {shown}"));
    let found = match given {
        // Either the folder `debugpy` itself or the one it lies in.
        Some(given) => {
            let folder = if given.join("__main__.py").exists() { given } else { given.join("debugpy") };
            let place = format!("`enginePath` ({})", folder.display());
            folder.join("__main__.py").exists().then_some(folder).ok_or_else(|| {
                find::missing("debugpy", "the Python package `debugpy`", &[place])
                    .hint("set `enginePath` to the folder of the package `debugpy`")
            })?
        }
        None => find::AdapterSearch::new("debugpy", "the Python package `debugpy`", &install)
            .with_searched(looked)
            .in_extensions("ms-python.debugpy-", "bundled/libs/debugpy")
            .or_else(|| debugpy_of_path(target), "the modules of PATH's python3 and python")
            .end()?,
    };
    Ok(Python { interpreter, is_of_tool, options, debugpy: vec![found.display().to_string()] })
}

/// The attribute `python`: an interpreter, or a list of an interpreter and its options. Empty without it.
///
/// # Errors
/// `INVALID_PARAMETER` for anything else.
fn command_words(target: &Target) -> Result<Vec<String>, Failure> {
    let given = target.attribute("python");
    let words = match given {
        Value::Null => Some(Vec::new()),
        Value::String(path) => Some(Some(path.clone()).filter(|path| !path.is_empty()).into_iter().collect()),
        list => Vec::<String>::deserialize(list).ok(),
    };
    let words = words.filter(|words| words.first().is_none_or(|interpreter| !interpreter.is_empty()));
    words.ok_or_else(|| {
        let message =
            format!("`python` must be an interpreter, or a list of one and its options, not {given}");
        Failure::invalid(message)
    })
}

/// Whether a tool such as `uv run` starts the interpreter.
pub(super) fn is_of_tool(target: &Target) -> Result<bool, Failure> {
    Ok(environment_tool::split(&command_words(target)?).is_some())
}

/// The interpreter alone; `looked` gets the places in which there was none.
pub(super) fn find(target: &Target, looked: &mut Vec<String>) -> Result<PathBuf, Failure> {
    let words = command_words(target)?;
    if let Some((tool, _)) = environment_tool::split(&words) {
        return environment_tool::interpreter(target, tool);
    }
    let path = target.variable("PATH").unwrap_or_default();
    if let Some(given) = words.first().map(String::as_str) {
        let (found, looked, unusable) = if given.contains('/') {
            let place = format!("`python`, which begins in `{}`", target.cwd.display());
            (target.file(given), place, target.unusable_file(given))
        } else {
            (find::on_path(&path, given), format!("PATH ({path})"), find::unusable_on_path(&path, given))
        };
        return found.ok_or_else(|| {
            let failure = match unusable {
                Some(reason) => {
                    let message = format!("the engine `debugpy` cannot use the Python {reason}");
                    Failure::new(ErrorCode::EngineNotFound, message)
                }
                None => find::missing("debugpy", &format!("the Python `{given}`"), &[looked]),
            };
            failure.hint("correct the attribute `python`, or omit it to search for an interpreter")
        });
    }
    if let Some(python) = find::python_of_command(&target.program) {
        return Ok(python);
    }
    for folder in target.environments() {
        // A virtual environment has its own marker; any other folder `env` is just a folder.
        let python = folder.join("bin/python");
        if python.is_file() && (folder.join("pyvenv.cfg").is_file() || folder.join("conda-meta").is_dir()) {
            return Ok(python);
        }
        // Another Python would run the program without the project's packages, for no visible reason.
        if folder.join("pyvenv.cfg").is_file() && python.is_symlink() {
            return Err(broken_environment(&folder, &python));
        }
    }
    looked.push("`.venv` and `venv` of the project".into());
    looked.push("PATH (python3, python)".into());
    find::on_path(&path, "python3").or_else(|| find::on_path(&path, "python")).ok_or_else(|| {
        find::missing("debugpy", "a Python", looked)
            .hint("install it: `apt-get install python3-venv`, then `python3 -m venv .venv`; or set `python`")
    })
}

/// The folder of a debugpy that another Python has: it is written in Python, and runs with each.
fn debugpy_of_path(target: &Target) -> Option<PathBuf> {
    let path = target.variable("PATH").unwrap_or_default();
    ["python3", "python"].into_iter().filter_map(|name| find::on_path(&path, name)).find_map(|python| {
        let code = "import importlib.util as u; print(u.find_spec('debugpy').submodule_search_locations[0])";
        let mut query = Command::new(python);
        query.args(["-c", code]).current_dir("/");
        let folder = PathBuf::from(command::first_line(query)?);
        folder.join("__main__.py").exists().then_some(folder)
    })
}

/// A virtual environment whose Python was removed or replaced since.
fn broken_environment(folder: &Path, python: &Path) -> Failure {
    let there = std::fs::read_link(python).unwrap_or_default();
    let message = format!(
        "the project's environment `{}` is broken: `{}` leads to `{}`, which is not there",
        folder.display(),
        python.display(),
        there.display()
    );
    Failure::new(ErrorCode::EngineNotFound, message).hint(format!(
        "recreate it: `python3 -m venv --clear {}`, then install its packages and `debugpy`; or set `python`",
        folder.display()
    ))
}

/// Whether the Python of a launch has a module, with the launch's environment.
pub(super) fn of_target_has(target: &Target, module: &str) -> bool {
    let Ok(interpreter) = find(target, &mut Vec::new()) else { return false };
    let mut query = module_query(module, &interpreter);
    for (name, value) in &target.env {
        match value {
            Some(value) => query.env(name, value),
            None => query.env_remove(name),
        };
    }
    command::succeeds(query)
}

/// Runs the interpreter: only it knows where its modules are.
fn has_debugpy(interpreter: &Path) -> bool {
    command::succeeds(module_query("debugpy", interpreter))
}

/// Refuses an interpreter that cannot be executed, or is not a Python.
fn check_runs(interpreter: &Path) -> Result<(), Failure> {
    let failed = |reason: String| {
        let message = format!("cannot run the Python `{}`: {reason}", interpreter.display());
        Failure::new(ErrorCode::EngineNotFound, message).hint(
            "set the attribute `python` to a Python interpreter that you may execute, or repair that file",
        )
    };
    let mut query = Command::new(interpreter);
    query.args(["-c", ""]).current_dir("/");
    let mut printed = String::new();
    let each = &mut |line: &str| printed = line.to_owned();
    let status = command::run(query, RUN_TIMEOUT, &|| false, &failed, each)?;
    match (status.success(), printed.is_empty()) {
        (true, _) => Ok(()),
        (false, true) => Err(failed(format!("it ended with {status}"))),
        (false, false) => Err(failed(format!("it ended with {status}: {printed}"))),
    }
}

/// Asks a Python whether it has a module.
fn module_query(module: &str, interpreter: &Path) -> Command {
    let code = "import importlib.util,sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)";
    let mut command = Command::new(interpreter);
    command.args(["-c", code, module]).current_dir("/");
    command
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_python_that_cannot_be_executed_is_refused_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let python = folder.path().join("python");
        for (text, mode, reason) in [
            ("#!/bin/sh\n", 0o600, "Permission denied"),
            ("\u{7f}ELF", 0o700, "Exec format error"),
            ("#!/bin/sh\necho broken >&2; exit 3\n", 0o700, "exit status: 3: broken"),
        ] {
            std::fs::write(&python, text).unwrap();
            std::fs::set_permissions(&python, std::fs::Permissions::from_mode(mode)).unwrap();
            let target = Target::parse(&json!({ "program": "/a.py", "python": python })).unwrap();
            let Err(failure) = find_python(&target) else { panic!("{reason}") };
            assert_eq!(failure.code, ErrorCode::EngineNotFound);
            assert!(failure.message.contains(reason), "{failure}");
            assert!(failure.hint.is_some_and(|hint| hint.contains("`python`")));
        }
    }

    #[test]
    fn a_python_that_cannot_be_reached_is_not_reported_as_missing() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("plain"), "").unwrap();
        std::os::unix::fs::symlink("gone", folder.path().join("broken")).unwrap();
        let refusal = |python: &str| {
            let attributes = json!({
                "program": "/a.py", "cwd": folder.path(), "python": python, "env": { "PATH": folder.path() },
            });
            find(&Target::parse(&attributes).unwrap(), &mut Vec::new()).unwrap_err().message
        };
        for (python, reason) in [
            ("./plain/python", "Not a directory"),
            ("./broken", "which leads to `gone`"),
            (".//", "which is a folder"),
            ("plain", "which you may not execute"),
            ("broken", "which leads to `gone`"),
            ("./absent", "not found in `python`"),
            ("absent", "not found in PATH"),
        ] {
            assert!(refusal(python).contains(reason), "{python}: {}", refusal(python));
        }
    }

    #[test]
    fn an_interpreter_may_have_options() {
        let words = |python: Value| {
            command_words(&Target::parse(&json!({ "program": "/a.py", "python": python })).unwrap())
        };
        for (python, expected) in [
            (json!("py"), vec!["py"]),
            (json!(["py"]), vec!["py"]),
            (json!(["py", "-X", "dev"]), vec!["py", "-X", "dev"]),
            (json!(""), vec![]),
            (json!([]), vec![]),
            (Value::Null, vec![]),
        ] {
            assert_eq!(words(python).unwrap(), expected);
        }
        for python in [json!(3), json!(["py", 3]), json!([""]), json!(["", "-u"]), json!({ "path": "py" })] {
            let failure = words(python).unwrap_err();
            assert_eq!(failure.code, ErrorCode::InvalidParameter);
            assert!(failure.message.contains("`python`"), "{failure}");
        }
    }
}
