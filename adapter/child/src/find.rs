//! Finds adapters and language tools: given, in the project, in an editor's extensions, on PATH. If one is
//! missing, the error lists the locations searched and the install command.
//!
//! Does not start adapters ([`super::connection`]).

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::fs::Access;
use tandem_wire::{ErrorCode, Failure};

use super::target::Target;
use tandem_engine::builds::command;
use tandem_process::SpawnSpec;
pub(super) use tandem_process::executable::{is_executable, on_path, script_words};

/// How long a debugger may take to print its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);

/// A search for one file, with the locations for the error message.
pub(super) struct AdapterSearch<'a> {
    engine: &'a str,
    what: &'a str,
    install: &'a str,
    looked: Vec<String>,
    found: Option<PathBuf>,
}

impl<'a> AdapterSearch<'a> {
    /// Searches for `what`, which `engine` needs; `install` is the command that installs it.
    pub(super) fn new(engine: &'a str, what: &'a str, install: &'a str) -> Self {
        Self { engine, what, install, looked: Vec::new(), found: None }
    }

    /// Locations that other code has searched.
    pub(super) fn with_searched(mut self, places: Vec<String>) -> Self {
        self.looked.extend(places);
        self
    }

    /// Uses the attribute `enginePath`; if it is set, no other location is searched.
    pub(super) fn with_engine_path(mut self, target: &Target) -> Result<Self, Failure> {
        let Some(path) = target.text("enginePath")? else { return Ok(self) };
        let path = target.cwd.join(path);
        // A script that Tandem runs with Node needs no permission to be executed.
        let is_script = path.extension().is_some_and(|ending| ending == "js" || ending == "cjs");
        let use_of_file = if is_script { FileUse::Read } else { FileUse::Execute };
        if let Some(reason) = unusable_because(&path, use_of_file) {
            let message = format!("`enginePath` is `{}`, {reason}", path.display());
            let hint = match path.is_dir() {
                true => format!("name {} in it, or omit `enginePath` to search for it", self.what),
                false => format!("correct it, or omit it to search for {}", self.what),
            };
            return Err(Failure::new(ErrorCode::EngineNotFound, message).hint(hint));
        }
        self.found = Some(path);
        Ok(self)
    }

    /// The first of these files that exists; `place` names their location in messages.
    pub(super) fn files(mut self, files: Vec<PathBuf>, place: &str) -> Self {
        if self.found.is_none() {
            self.looked.push(place.to_owned());
            self.found = files.into_iter().find(|file| file.is_file());
        }
        self
    }

    /// Searches the folders of the program's PATH for these names.
    pub(super) fn on_path(mut self, target: &Target, names: &[&str]) -> Self {
        if self.found.is_none() {
            self.looked.push(format!("PATH ({})", names.join(", ")));
            let path = target.variable("PATH").unwrap_or_default();
            self.found = names.iter().find_map(|name| on_path(&path, name));
            if self.found.is_none() {
                self.looked.extend(names.iter().filter_map(|name| unusable_on_path(&path, name)));
            }
        }
        self
    }

    /// `inside` in the newest folder below an editor's extensions whose name begins with `extension`.
    pub(super) fn in_extensions(mut self, extension: &str, inside: &str) -> Self {
        let Some(home) = std::env::var_os("HOME").map(PathBuf::from).filter(|_| self.found.is_none()) else {
            return self;
        };
        for editor in [".vscode", ".vscode-server", ".vscode-oss", ".cursor", ".windsurf"] {
            let folder = home.join(editor).join("extensions");
            let mut versions: Vec<PathBuf> = std::fs::read_dir(&folder)
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| entry.path())
                .filter(|path| {
                    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(extension))
                })
                .collect();
            versions.sort();
            if let Some(found) =
                versions.into_iter().rev().map(|path| path.join(inside)).find(|path| path.exists())
            {
                self.found = Some(found);
                return self;
            }
        }
        self.looked.push(format!("editors' extensions ({extension}*)"));
        self
    }

    /// Another way to find the file; `place` names it in messages.
    pub(super) fn or_else(mut self, find: impl FnOnce() -> Option<PathBuf>, place: &str) -> Self {
        if self.found.is_none() {
            self.looked.push(place.to_owned());
            self.found = find();
        }
        self
    }

    /// The path that was found.
    ///
    /// # Errors
    /// `ENGINE_NOT_FOUND` with the locations that were searched and the command that installs it.
    pub(super) fn end(self) -> Result<PathBuf, Failure> {
        self.found.ok_or_else(|| {
            missing(self.engine, self.what, &self.looked)
                .hint(format!("install it: `{}`; or set `enginePath`", self.install))
        })
    }
}

/// `ENGINE_NOT_FOUND`, without a hint yet.
pub(super) fn missing(engine: &str, what: &str, looked: &[String]) -> Failure {
    Failure::new(
        ErrorCode::EngineNotFound,
        format!("the engine `{engine}` needs {what}; not found in {}", looked.join(", ")),
    )
}

/// The version that a command prints: in the first line with one, the rightmost word that begins with a digit
/// and has a dot. `None` when there is none within [`VERSION_TIMEOUT`].
pub(super) fn printed_version(query: Command) -> Option<String> {
    let mut found = None;
    let each = &mut |line: &str| found = found.take().or_else(|| version_in(line));
    command::run(query, VERSION_TIMEOUT, &|| false, &|reason| Failure::invalid(reason), each).ok()?;
    found
}

fn version_in(line: &str) -> Option<String> {
    let words = line.split(|letter: char| letter.is_whitespace() || "(),:".contains(letter));
    let is_version =
        |word: &&str| word.starts_with(|first: char| first.is_ascii_digit()) && word.contains('.');
    words.rev().find(is_version).map(str::to_owned)
}

/// Checks that the interpreter of an adapter script is installed: the error of the kernel, or of `env`, would
/// not name it. `package_of` returns the Debian package of an interpreter.
///
/// # Errors
/// `ENGINE_NOT_FOUND` with the interpreter and how to install it.
pub(super) fn has_interpreter(
    engine: &str,
    adapter: &SpawnSpec,
    package_of: impl Fn(&str) -> Option<&'static str>,
) -> Result<(), Failure> {
    let script = adapter.program.display();
    let Some(words) = script_words(&adapter.program) else { return Ok(()) };
    match words.as_slice() {
        [env, options @ ..] if Path::new(env).file_name().is_some_and(|name| name == "env") => {
            // `env -S`, and variables it sets.
            let mut names = options.iter().filter(|word| !word.starts_with('-') && !word.contains('='));
            let Some(name) = names.next().filter(|name| !name.contains('/')) else { return Ok(()) };
            let changed = adapter.env.iter().rev().find(|(key, _)| key == "PATH");
            let path = match changed {
                Some((_, path)) => path.clone(),
                None => std::env::var("PATH").ok(),
            };
            let path = path.unwrap_or_default();
            if on_path(&path, name).is_some() {
                return Ok(());
            }
            Err(missing(engine, &format!("`{name}`, which runs `{script}`"), &[format!("PATH ({path})")])
                .hint(match package_of(name) {
                    Some(package) => {
                        format!("install it: `apt-get install {package}`; or put its folder on PATH")
                    }
                    None => format!("install `{name}`, or put its folder on PATH"),
                }))
        }
        [interpreter, ..] if Path::new(interpreter).is_absolute() => {
            let Some(reason) = unusable_because(Path::new(interpreter), FileUse::Execute) else {
                return Ok(());
            };
            let message = format!("the engine `{engine}` runs `{script}` with `{interpreter}`, {reason}");
            Err(Failure::new(ErrorCode::EngineNotFound, message)
                .hint("reinstall the adapter with an existing interpreter, or set `enginePath`"))
        }
        _ => Ok(()),
    }
}

/// The Python that a command such as `pytest` names in its first line: no other has its modules. `None` of
/// another program, and where that Python is not there.
pub(super) fn python_of_command(program: &Path) -> Option<PathBuf> {
    if program.extension().is_some() {
        return None;
    }
    let words = script_words(program)?;
    let python = PathBuf::from(words.first()?);
    let is_python = python.file_name()?.to_string_lossy().starts_with("python");
    (is_python && is_executable(&python)).then_some(python)
}

/// The error for an adapter that cannot do what the client requested.
pub(super) fn unsupported(engine: &str, target: &Target, what: &str) -> Failure {
    tracing::debug!(engine, program = %target.program.display(), "refused: {what}");
    Failure::new(ErrorCode::Unsupported, format!("the engine `{engine}` cannot {what}"))
}

/// Whether a folder has a file with this ending.
pub(super) fn any_file(folder: &Path, ending: &str) -> bool {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files
        .map(|entry| entry.path())
        .any(|path| path.is_file() && path.extension().is_some_and(|found| found == ending))
}

/// The intended use of a file that an attribute names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileUse {
    Read,
    Execute,
}

/// The reason why a file cannot be used, as a clause behind its name; `None` if it can.
pub(super) fn unusable_because(file: &Path, usage: FileUse) -> Option<String> {
    let found = match std::fs::metadata(file) {
        Ok(found) => found,
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Some(format!("which cannot be reached: {error}"));
        }
        Err(_) => {
            return Some(match std::fs::read_link(file) {
                Ok(target) => format!("which leads to `{}`, and that does not exist", target.display()),
                Err(_) => "and there is no such file".to_owned(),
            });
        }
    };
    if found.is_dir() {
        return Some("which is a folder".to_owned());
    }
    if !found.is_file() {
        return Some("which is not a regular file".to_owned());
    }
    let (wanted, verb, command) = match usage {
        FileUse::Read => (Access::READ_OK, "read", "chmod +r"),
        FileUse::Execute => (Access::EXEC_OK, "execute", "chmod +x"),
    };
    let error = rustix::fs::access(file, wanted).err()?;
    Some(format!("which you may not {verb} ({error}; `{command}` allows it if the file is yours)"))
}

/// A file of this name on a PATH that cannot be used, and the reason.
pub(super) fn unusable_on_path(path: &str, name: &str) -> Option<String> {
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    let file = folders.map(|folder| folder.join(name)).find(|file| file.symlink_metadata().is_ok())?;
    let reason = unusable_because(&file, FileUse::Execute)?;
    Some(format!("`{}`, {reason}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_debuggers_print() {
        for (line, version) in [
            ("GNU gdb (Debian 13.1-3) 13.1", Some("13.1")),
            ("GNU gdb (GDB; openSUSE) 15.2", Some("15.2")),
            ("lldb version 19.1.7", Some("19.1.7")),
            ("Version: 1.20.2", Some("1.20.2")),
            ("rdbg 1.4.0", Some("1.4.0")),
            ("NET Core debugger 3.1.2-1054 (48c5ea7, Release)", Some("3.1.2-1054")),
            ("Delve Debugger", None),
            ("Build: $Id: 1234 $", None),
        ] {
            assert_eq!(version_in(line).as_deref(), version, "{line}");
        }
        let mut two = Command::new("sh");
        two.args(["-c", "echo Debugger; echo Version: 1.2.3; echo 4.5"]);
        assert_eq!(printed_version(two).as_deref(), Some("1.2.3"));
        assert_eq!(printed_version(Command::new("/no/such/debugger")), None);
    }

    #[test]
    fn a_file_that_cannot_be_used_is_reported_with_the_reason() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        std::fs::write(file("plain"), "").unwrap();
        std::fs::set_permissions(file("plain"), std::fs::Permissions::from_mode(0o644)).unwrap();
        std::fs::write(file("dap.js"), "").unwrap();
        symlink("gone", file("broken")).unwrap();
        symlink("loop", file("loop")).unwrap();
        for (name, reason) in [
            ("plain", "which you may not execute"),
            ("broken", "which leads to `gone`"),
            ("loop", "which cannot be reached: Too many levels"),
            ("plain/bin", "which cannot be reached: Not a directory"),
            (".", "which is a folder"),
            ("absent", "and there is no such file"),
        ] {
            let target = Target::parse(&serde_json::json!({ "program": "/a", "enginePath": file(name) }));
            let search = AdapterSearch::new("delve", "`dlv`", "").with_engine_path(&target.unwrap());
            let Err(failure) = search else { panic!("{name}") };
            assert!(failure.message.contains(reason), "{failure}");
        }
        let target = Target::parse(&serde_json::json!({ "program": "/a", "enginePath": file("dap.js") }));
        assert!(AdapterSearch::new("js", "js-debug", "").with_engine_path(&target.unwrap()).is_ok());
        let env = serde_json::json!({ "PATH": folder.path() });
        let target = Target::parse(&serde_json::json!({ "program": "/a", "env": env })).unwrap();
        let search = |name| AdapterSearch::new("delve", "`dlv`", "").on_path(&target, &[name]).end();
        for (name, reason) in [("plain", "may not execute"), ("broken", "which leads to `gone`")] {
            let failure = search(name).unwrap_err();
            assert!(failure.message.contains(reason), "{failure}");
        }
        let failure = search("absent").unwrap_err();
        assert!(failure.message.ends_with("PATH (absent)"), "{failure}");
    }

    #[test]
    fn a_script_whose_interpreter_is_missing_is_refused_with_where_it_was_looked_for() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("rdbg");
        let refused = |line: &str, path: Option<&str>| {
            std::fs::write(&script, format!("{line}\nputs 1\n")).unwrap();
            let env = path.map(|path| ("PATH".to_owned(), Some(path.to_owned()))).into_iter().collect();
            let spec = SpawnSpec { program: script.clone(), env, ..SpawnSpec::default() };
            has_interpreter("rdbg", &spec, |_| None).err().map(|failure| (failure.code, failure.to_string()))
        };
        for line in ["#!/usr/bin/env ruby", "#! /usr/bin/env -S X=1 ruby -w"] {
            let (code, message) = refused(line, Some("/no/such:/nor/this")).unwrap();
            assert_eq!(code, ErrorCode::EngineNotFound);
            assert!(message.contains("`ruby`") && message.contains("PATH (/no/such:/nor/this)"), "{message}");
        }
        let (code, message) = refused("#!/no/such/python3 -I", None).unwrap();
        assert_eq!(code, ErrorCode::EngineNotFound);
        assert!(message.contains("`/no/such/python3`"), "{message}");
        for line in ["#!/bin/sh", "#!/usr/bin/env sh", "#!/usr/bin/env", "#!", "\u{7f}ELF", ""] {
            assert_eq!(refused(line, None), None, "{line}");
        }
        assert_eq!(
            has_interpreter(
                "x",
                &SpawnSpec { program: folder.path().into(), ..SpawnSpec::default() },
                |_| None
            ),
            Ok(())
        );
    }
}
