//! Detection of the engine that a program needs (`engine: auto`). Looks at names, first lines and
//! sections of executables, and compares them with what each engine's description says; starts nothing.
//!
//! A bare name may be a command, which is looked for as [`tandem_child`] does.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tandem_wire::{ErrorCode, Failure, types};

use super::catalog;
use tandem_engine::description::{Description, Evidence, matches};
use tandem_engine::kind;

/// The engine for all other programs; its error names the requirements.
const FALLBACK: &str = tandem_coreclr::DESCRIPTION.name;

/// The attributes of a launch that say where its program is.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct ProgramLocation {
    program: Value,
    cwd: Value,
    env: Value,
    /// The folder that the editor has open.
    #[serde(rename = "__workspaceFolder")]
    open: Value,
}

/// The engine for `program` when the launch does not name one; the .NET engine, which reports what it
/// needs, when no other fits.
pub fn engine_for_launch(arguments: &Value) -> &'static str {
    match program_of_launch(arguments) {
        // A program that the build of `project` has yet to write.
        Some(path) => of_path(&path)
            .or_else(|| of_path(&located(arguments, "project").filter(|_| !path.exists())?))
            .unwrap_or(FALLBACK),
        None => {
            let named = |key: &&str| arguments[*key].is_string();
            first(|engine| engine.recognition.launch_attributes.iter().any(&named))
        }
    }
}

/// Refuses a folder without a project of any engine.
///
/// # Errors
/// `LAUNCH_FAILED` with the files that make a folder a project.
pub fn check_folder(arguments: &Value) -> Result<(), Failure> {
    let Some(folder) = program_of_launch(arguments).filter(|path| path.is_dir()) else { return Ok(()) };
    if of_folder(&folder).is_some() {
        return Ok(());
    }
    let mut files: Vec<String> = Vec::new();
    for (pattern, _) in catalog::engines().flat_map(|engine| engine.recognition.project_files) {
        let name = format!("`{pattern}`");
        if !files.contains(&name) {
            files.push(name);
        }
    }
    let message = format!("`{}` has no project", folder.display());
    Err(Failure::new(ErrorCode::LaunchFailed, message).hint(format!(
        "name a program or source as `program`, or a folder with one of {}; or set `engine`",
        files.join(", ")
    )))
}

/// The file or folder that a launch names.
fn program_of_launch(arguments: &Value) -> Option<PathBuf> {
    located(arguments, "program").or_else(|| located(arguments, "project"))
}

/// The path that an attribute names.
fn located(arguments: &Value, attribute: &str) -> Option<PathBuf> {
    let program = arguments[attribute].as_str().filter(|text| !text.is_empty())?;
    let location = ProgramLocation { program: program.into(), ..types::read(arguments) };
    let named = tandem_child::named_program(&types::body(&location));
    Some(named.unwrap_or_else(|| PathBuf::from(program)))
}

/// The engine that attach attributes other than a process choose, if any.
pub fn engine_for_attach(arguments: &Value) -> Option<&'static str> {
    let named = |engine: &&Description| {
        engine.recognition.attach_attributes.iter().any(|key| !arguments[*key].is_null())
    };
    catalog::engines().find(named).map(|engine| engine.name)
}

/// The same for a running process.
pub fn engine_for_process(pid: u64) -> &'static str {
    let process = Path::new("/proc").join(pid.to_string());
    let maps = std::fs::read_to_string(process.join("maps")).unwrap_or_default();
    let loads = |engine: &&Description| engine.recognition.loaded.iter().any(|part| maps.contains(part));
    let executable = std::fs::read_link(process.join("exe")).unwrap_or_default();
    let name = executable.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let runs = |engine: &&Description| engine.recognition.processes.iter().any(|one| matches(one, &name));
    let found = catalog::engines().find(loads).or_else(|| catalog::engines().find(runs));
    found.map(|engine| engine.name).or_else(|| of_executable(&process.join("exe"))).unwrap_or(FALLBACK)
}

fn first(is_wanted: impl Fn(&Description) -> bool) -> &'static str {
    catalog::engines().find(|engine| is_wanted(engine)).map_or(FALLBACK, |engine| engine.name)
}

fn of_path(path: &Path) -> Option<&'static str> {
    if path.is_dir() {
        return of_folder(path);
    }
    let name = path.file_name()?.to_str()?;
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let is_project = |engine: &&Description| {
        // The file of a makefile's project is meant if it is named, although any language may have it.
        let means = |(pattern, evidence): &(&str, Evidence)| {
            matches!(evidence, Evidence::Certain | Evidence::Any) && matches(pattern, name)
        };
        engine.recognition.project_files.iter().any(means)
    };
    let is_file = |engine: &&Description| engine.recognition.extensions.contains(&ending);
    catalog::engines()
        .find(is_project)
        .or_else(|| catalog::engines().find(is_file))
        .map(|engine| engine.name)
        // An app host runs the assembly of its own name.
        .or_else(|| PathBuf::from(format!("{}.dll", path.display())).exists().then_some(FALLBACK))
        .or_else(|| of_first_line(path))
        .or_else(|| of_executable(path))
}

fn of_folder(folder: &Path) -> Option<&'static str> {
    let files: Vec<String> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    strongest(|engine| {
        let signs = engine.recognition.project_files.iter();
        let there = signs.filter(|(pattern, _)| files.iter().any(|name| matches(pattern, name)));
        there.map(|(_, evidence)| *evidence).min()
    })
}

/// The engine for which most speaks; of equals the first.
fn strongest(evidence: impl Fn(&Description) -> Option<Evidence>) -> Option<&'static str> {
    let found = catalog::engines().filter_map(|engine| Some((evidence(engine)?, engine.name)));
    found.min_by_key(|(evidence, _)| *evidence).map(|(_, name)| name)
}

/// `#!/usr/bin/env python3` and the like.
fn of_first_line(path: &Path) -> Option<&'static str> {
    let mut start = [0; 128];
    let count = File::open(path).ok()?.read(&mut start).ok()?;
    let text = String::from_utf8_lossy(start.get(..count)?);
    let line = text.strip_prefix("#!")?.lines().next()?;
    let mut words = line.split_ascii_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
    let mut interpreter = words.next()?;
    while interpreter == "env" || interpreter.starts_with('-') {
        interpreter = words.next()?;
    }
    let runs =
        |engine: &&Description| engine.recognition.interpreters.iter().any(|one| matches(one, interpreter));
    catalog::engines().find(runs).map(|engine| engine.name)
}

/// An ELF file, by its sections.
fn of_executable(path: &Path) -> Option<&'static str> {
    let names = kind::section_names(&File::open(path).ok()?)?;
    strongest(|engine| {
        let sections = engine.recognition.sections.iter();
        sections.filter(|(name, _)| kind::has(&names, name)).map(|(_, evidence)| *evidence).min()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_program_is_known_by_its_name_its_first_line_or_its_sections() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &[u8]| {
            std::fs::write(folder.path().join(name), text).unwrap();
            json!({ "program": name, "cwd": folder.path() })
        };
        for (name, text, engine) in [
            ("a.py", &b""[..], "debugpy"),
            ("a.pyz", b"#!/usr/bin/env python3\nPK", "debugpy"),
            ("a.dll", b"", "coreclr"),
            ("a.go", b"", "delve"),
            ("a.mjs", b"", "js"),
            ("a.rb", b"", "rdbg"),
            ("a.sh", b"", "bash"),
            ("a.c", b"", "lldb"),
            ("CMakeLists.txt", b"", "lldb"),
            ("Makefile", b"", "lldb"),
            ("tool", b"#!/usr/bin/env -S python3.11 -u\n", "debugpy"),
            ("script", b"#! /bin/bash -e\n", "bash"),
            ("hello.cs", b"#!/usr/bin/env dotnet\n", "coreclr"),
            ("hello", b"#!/usr/bin/env dotnet\n", "coreclr"),
            ("strange", b"#!", "coreclr"),
            ("broken", b"\x7fELF\x02\x01", "coreclr"),
            ("empty", b"", "coreclr"),
        ] {
            assert_eq!(engine_for_launch(&file(name, text)), engine, "{name}");
        }
        // This test itself is native code with debug information.
        let own = std::env::current_exe().unwrap();
        assert_eq!(engine_for_launch(&json!({ "program": own })), "lldb");
        assert_eq!(engine_for_launch(&json!({ "module": "http.server" })), "debugpy");
        assert_eq!(engine_for_launch(&json!({ "program": "/no/such" })), "coreclr");
        // A package of a module that lies above.
        assert_eq!(engine_for_launch(&json!({ "program": folder.path() })), "delve");
        for name in ["a.go", "CMakeLists.txt", "Makefile"] {
            std::fs::remove_file(folder.path().join(name)).unwrap();
        }
        let refused = check_folder(&json!({ "program": folder.path() })).unwrap_err();
        assert_eq!(refused.code, ErrorCode::LaunchFailed);
        for name in ["`*.csproj`", "`Cargo.toml`", "`go.mod`", "`package.json`"] {
            assert!(refused.hint.as_deref().unwrap_or_default().contains(name), "{refused:?}");
        }
        for fine in
            [json!({ "program": "a.py", "cwd": folder.path() }), json!({ "program": "/no/such" }), json!({})]
        {
            assert_eq!(check_folder(&fine), Ok(()));
        }
        file("Cargo.toml", b"");
        assert_eq!(check_folder(&json!({ "program": folder.path() })), Ok(()));
        assert_eq!(engine_for_launch(&json!({ "program": folder.path() })), "lldb");
        assert_eq!(engine_for_launch(&json!({ "project": folder.path() })), "lldb");
        let unbuilt = json!({ "project": ".", "program": "build/a", "cwd": folder.path() });
        assert_eq!(engine_for_launch(&unbuilt), "lldb");
        assert_eq!(engine_for_launch(&file("all.slnx", b"<Solution />")), "coreclr");
        assert_eq!(engine_for_launch(&json!({ "program": folder.path() })), "coreclr");
    }
}
