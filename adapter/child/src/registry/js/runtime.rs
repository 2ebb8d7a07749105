//! The command of `runtimeExecutable`: Node, or a tool that starts it. Not here: loaders of TypeScript
//! ([`super::super::super::typescript`]).

use std::path::{Path, PathBuf};

use tandem_wire::{ErrorCode, Failure};

use super::super::super::find::{self, FileUse};
use super::super::super::target::Target;

/// The file that `runtimeExecutable` names, or the one on PATH or in `node_modules/.bin` of the project.
/// `None` without the attribute. js-debug would look for a relative path in a folder of its own, and end
/// itself where a file is missing.
///
/// # Errors
/// `ENGINE_NOT_FOUND` with the reason why it cannot be executed, `INVALID_PARAMETER` for anything but a
/// string.
pub(super) fn find(target: &Target) -> Result<Option<PathBuf>, Failure> {
    let Some(named) = target.text("runtimeExecutable")? else { return Ok(None) };
    let path = target.variable("PATH").unwrap_or_default();
    let (found, looked, unusable) = if named.contains('/') {
        let place = format!("`runtimeExecutable`, which begins in `{}`", target.cwd.display());
        (target.file(named), place, target.unusable_file(named))
    } else {
        let installed = target.project_folders().into_iter().map(|folder| folder.join("node_modules/.bin"));
        let found = find::on_path(&path, named)
            .or_else(|| installed.map(|folder| folder.join(named)).find(|file| find::is_executable(file)));
        let place = format!("PATH ({path}) and `node_modules/.bin` of the project");
        (found, place, find::unusable_on_path(&path, named))
    };
    let unusable = match &found {
        Some(file) => unusable_file(file),
        None => unusable,
    };
    let failure = match (found, unusable) {
        (Some(file), None) => return Ok(Some(file)),
        (_, Some(reason)) => {
            let message = format!("the engine `js` cannot run the program with {reason}");
            Failure::new(ErrorCode::EngineNotFound, message)
        }
        (None, None) => find::missing("js", &format!("`{named}`"), &[looked]),
    };
    Err(failure.hint("correct the attribute `runtimeExecutable`, or omit it to use `node`"))
}

/// A file that cannot be executed, or a script whose interpreter cannot, and the reason.
fn unusable_file(file: &Path) -> Option<String> {
    let name = file.display();
    if let Some(reason) = find::unusable_because(file, FileUse::Execute) {
        return Some(format!("`{name}`, {reason}"));
    }
    let words = find::script_words(file)?;
    let interpreter = words.first()?;
    let reason = find::unusable_because(Path::new(interpreter), FileUse::Execute)?;
    Some(format!("`{name}`, whose interpreter is `{interpreter}`, {reason}"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use serde_json::json;

    use super::*;

    #[test]
    fn a_runtime_that_cannot_be_executed_is_refused_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str, mode: u32| {
            let file = folder.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, text).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        file("plain", "", 0o644);
        file("script", "#!/no/such/node\n", 0o755);
        file("bin/runner", "#!/bin/sh\n", 0o755);
        file("node_modules/.bin/tool", "#!/bin/sh\n", 0o755);
        symlink("gone", folder.path().join("broken")).unwrap();
        let found = |runtime: &str| {
            let attributes = json!({ "program": folder.path().join("a.js"), "cwd": folder.path(),
                "runtimeExecutable": runtime, "env": { "PATH": folder.path() } });
            super::find(&Target::parse(&attributes).unwrap())
        };
        for (runtime, reason) in [
            ("./absent", "not found in `runtimeExecutable`"),
            ("absent", "not found in PATH"),
            ("./plain", "which you may not execute"),
            ("plain", "which you may not execute"),
            ("./broken", "which leads to `gone`"),
            ("./bin", "which is a folder"),
            ("./script", "whose interpreter is `/no/such/node`, and there is no such file"),
            ("script", "whose interpreter is `/no/such/node`"),
        ] {
            let failure = found(runtime).unwrap_err();
            assert!(failure.message.contains(reason), "{runtime}: {}", failure.message);
        }
        for (runtime, at) in [("bin/runner", "bin/runner"), ("tool", "node_modules/.bin/tool")] {
            assert_eq!(found(runtime).unwrap(), Some(folder.path().join(at)), "{runtime}");
        }
        assert_eq!(found("").unwrap(), None);
    }
}
