//! The interpreter that a tool such as `uv run python` or `poetry run python` starts, and the commands of its
//! environment. Not here: interpreters that the launch names itself ([`super::interpreter`]).

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tandem_wire::{ErrorCode, Failure};

use crate::find;
use crate::target::Target;
use tandem_engine::builds::command;
use tandem_engine::configurations::is_python;

/// How long a tool may take, which may install the project's packages first.
const TOOL_TIMEOUT: Duration = Duration::from_mins(2);
/// The start of the line with the interpreter; tools print lines of their own.
const MARK: &str = "tandem-interpreter:";
/// How much of a script is searched for the packages that it names.
const MAX_METADATA_LEN: u64 = 64 << 10;

/// The words of `python` that are the tool's, with the interpreter's name, and those that are options of the
/// interpreter. `None` if the first word is the interpreter.
pub(super) fn split(words: &[String]) -> Option<(&[String], &[String])> {
    let first = words.first()?;
    if is_interpreter(first) {
        return None;
    }
    let at = words.iter().position(|word| is_interpreter(word))?;
    words.split_at_checked(at + 1)
}

fn is_interpreter(word: &str) -> bool {
    Path::new(word).file_name().and_then(|name| name.to_str()).is_some_and(is_python)
}

/// Asks the tool for the interpreter that it starts.
///
/// # Errors
/// `ENGINE_NOT_FOUND` with what the tool prints.
pub(super) fn interpreter(target: &Target, words: &[String]) -> Result<PathBuf, Failure> {
    let shown = words.join(" ");
    let failed = |reason: String| {
        Failure::new(ErrorCode::EngineNotFound, format!("cannot find the Python of `{shown}`: {reason}"))
            .hint("run that command in a terminal, or set `python` to an interpreter")
    };
    let (tool, rest) = words.split_first().ok_or_else(|| failed("no command".into()))?;
    let path = target.variable("PATH").unwrap_or_default();
    let tool = match tool.contains('/') {
        true => target.file(tool),
        false => find::on_path(&path, tool),
    };
    let tool = tool.ok_or_else(|| failed(format!("not found in PATH ({path})")))?;
    let mut query = Command::new(&tool);
    query.current_dir(&target.cwd);
    query.args(with_packages_of_script(&tool, rest, &target.program));
    query.args(["-c", &format!("import sys; print('{MARK}' + sys.executable)")]);
    for (name, value) in &target.env {
        match value {
            Some(value) => query.env(name, value),
            None => query.env_remove(name),
        };
    }
    let (mut found, mut last) = (None, String::new());
    let status =
        command::run(query, TOOL_TIMEOUT, &|| false, &failed, &mut |line| match line.split_once(MARK) {
            Some((_, python)) => found = Some(PathBuf::from(python.trim())),
            None if !line.trim().is_empty() => line.trim().clone_into(&mut last),
            None => {}
        })?;
    match found {
        Some(python) if status.success() => Ok(python),
        _ if last.is_empty() => Err(failed(format!("it ended with {status}"))),
        _ => Err(failed(last)),
    }
}

/// `uv run` installs the packages that a script itself names, and not those of the project around it.
fn with_packages_of_script(tool: &Path, words: &[String], program: &Path) -> Vec<String> {
    let is_uv = tool.file_name().is_some_and(|name| name == "uv");
    if let [run, rest @ ..] = words
        && is_uv
        && run == "run"
        && names_packages(program)
    {
        let script = program.display().to_string();
        let own = ["run", "--no-project", "--with-requirements", &script].map(str::to_owned);
        return own.into_iter().chain(rest.iter().cloned()).collect();
    }
    words.to_vec()
}

/// Whether a script begins with inline metadata, as the packaging standard of Python defines it.
fn names_packages(script: &Path) -> bool {
    let mut text = Vec::new();
    let file = File::open(script).and_then(|file| file.take(MAX_METADATA_LEN).read_to_end(&mut text));
    file.is_ok() && String::from_utf8_lossy(&text).lines().any(|line| line.trim_end() == "# /// script")
}

/// The command of that name in the environment of an interpreter.
pub(super) fn command_beside(interpreter: &Path, name: &str) -> Option<PathBuf> {
    let file = interpreter.parent()?.join(name);
    (!name.contains('/') && find::is_executable(&file)).then_some(file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use serde_json::json;

    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_tool_precedes_the_interpreter() {
        for (given, tool, options) in [
            ("uv run python -X dev", "uv run python", "-X dev"),
            ("/opt/poetry run python3.12 -u", "/opt/poetry run python3.12", "-u"),
        ] {
            let given = words(given);
            assert_eq!(split(&given), Some((words(tool).as_slice(), words(options).as_slice())));
        }
        for given in ["python -X dev", "/usr/bin/python3.12", "py -u", "pypy"] {
            assert_eq!(split(&words(given)), None, "{given}");
        }
    }

    #[test]
    fn the_tool_names_the_interpreter_or_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
        };
        file("uv", "#!/bin/sh\necho \"$@\" >words; echo Resolved; echo 'tandem-interpreter:/env/python'\n");
        file("broken", "#!/bin/sh\necho 'no such project' >&2; exit 2\n");
        file("plain.py", "print(1)\n");
        file("own.py", "# /// script\n# dependencies = []\n# ///\n");
        let find = |tool: &str, program: &str| {
            let attributes = json!({ "program": program, "cwd": folder.path(),
                "env": { "PATH": format!("{}:/bin", folder.path().display()) } });
            interpreter(&Target::parse(&attributes).unwrap(), &words(tool))
        };
        assert_eq!(find("uv run --frozen python", "plain.py"), Ok(PathBuf::from("/env/python")));
        let asked = || std::fs::read_to_string(folder.path().join("words")).unwrap();
        assert!(asked().starts_with("run --frozen python -c "), "{}", asked());
        assert_eq!(find("uv run python", "own.py"), Ok(PathBuf::from("/env/python")));
        assert!(asked().starts_with("run --no-project --with-requirements /"), "{}", asked());
        for (tool, reason) in [("broken run python", "no such project"), ("absent run python", "not found")] {
            let failure = find(tool, "plain.py").unwrap_err();
            assert!(failure.message.contains(reason), "{failure}");
        }
    }
}
