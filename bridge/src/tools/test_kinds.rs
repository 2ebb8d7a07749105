//! How the tests of a project are started under a debugger: where that is only a launch of the right command, its attributes
//! are made here. `dotnet test` starts a process of its own, which is attached to: that is [`super::test_run`].

use std::path::{Path, PathBuf};

use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};

use crate::arguments::Arguments;

/// How the tests of a project are debugged.
#[derive(Debug, PartialEq)]
pub(super) enum Tests {
    /// By `dotnet test`, whose host is attached to.
    Dotnet,
    /// By a launch with these attributes.
    Launch(Value),
}

/// What marks a folder with pytest's tests.
const PYTHON: [&str; 6] = ["pyproject.toml", "pytest.ini", "tox.ini", "setup.cfg", "setup.py", "conftest.py"];
/// Where the folder of a project ends, seen from a file in it.
const TOP: [&str; 5] = ["pyproject.toml", "pytest.ini", "tox.ini", "setup.cfg", ".git"];

/// Looks at what the project is.
///
/// # Errors
/// `UNSUPPORTED` with what to do instead where no test runner is known.
pub(super) fn of(project: &Path, arguments: &Arguments) -> Result<Tests, Failure> {
    let has = |name: &str| project.join(name).is_file();
    let ending = project.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let name = project.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let files: Vec<String> = std::fs::read_dir(project)
        .into_iter()
        .flatten()
        .flatten()
        .map(|file| file.file_name().to_string_lossy().into_owned())
        .collect();
    let any = |ends: &str| files.iter().find(|file| file.ends_with(ends));
    if matches!(ending, "csproj" | "fsproj" | "vbproj" | "sln" | "slnx" | "dll")
        || [".csproj", ".fsproj", ".vbproj", ".sln", ".slnx"].iter().any(|ends| any(ends).is_some())
    {
        return Ok(Tests::Dotnet);
    }
    let filter = arguments.text("filter")?;
    let more = arguments.texts("args")?;
    let attributes = if ending == "rs" || name == "Cargo.toml" || has("Cargo.toml") {
        cargo(project, filter, more, arguments)
    } else if name.ends_with("_test.go") || has("go.mod") || any("_test.go").is_some() {
        go(project, any("_test.go"), filter, more)?
    } else if ending == "py" || is_pythons(&files) || PYTHON.iter().any(|name| has(name)) {
        python(project, filter, more)
    } else {
        return Err(unknown(project, &files));
    };
    Ok(Tests::Launch(attributes))
}

/// A folder of tests without any of the files that configure them.
fn is_pythons(files: &[String]) -> bool {
    files
        .iter()
        .any(|file| file.ends_with(".py") && (file.starts_with("test_") || file.ends_with("_test.py")))
}

/// `python -m pytest`, where the project's configuration and `conftest.py` are found.
fn python(project: &Path, filter: Option<String>, more: Vec<String>) -> Value {
    let mut args = Vec::new();
    let folder = if project.is_dir() {
        project.to_path_buf()
    } else {
        args.push(project.display().to_string());
        let above = || project.ancestors().skip(1);
        let top = above().find(|folder| TOP.iter().any(|name| folder.join(name).exists()));
        top.or(project.parent()).map(Path::to_path_buf).unwrap_or_default()
    };
    match filter {
        // The id of a test as pytest prints it.
        Some(id) if id.contains("::") && project.is_dir() => args.push(id),
        Some(id) if id.contains("::") => args = vec![id],
        Some(part) => args.extend(["-k".into(), part]),
        None => {}
    }
    args.extend(more);
    json!({ "module": "pytest", "engine": "debugpy", "args": args, "cwd": folder })
}

/// The test binary of a package that Cargo builds.
fn cargo(project: &Path, filter: Option<String>, more: Vec<String>, arguments: &Arguments) -> Value {
    let folder = if project.is_dir() { project } else { project.parent().unwrap_or(project) };
    let own = arguments.parsed("cargo");
    let mut attributes = json!({ "program": project, "engine": "lldb" });
    if !own.is_null() {
        attributes["cargo"] = own;
    } else if project.extension().is_none_or(|ending| ending != "rs") {
        // Of several test binaries one must be chosen: those of the library are the usual ones.
        let which = if folder.join("src/lib.rs").is_file() { "--lib" } else { "--bins" };
        attributes["cargo"] = json!({ "args": ["test", "--no-run", which] });
    }
    let mut args: Vec<String> = filter.into_iter().collect();
    args.extend(["--nocapture".into(), "--test-threads=1".into()]);
    args.extend(more);
    attributes["args"] = json!(args);
    attributes
}

/// The tests of a Go package: one of its files stands for them.
fn go(
    project: &Path,
    file: Option<&String>,
    filter: Option<String>,
    more: Vec<String>,
) -> Result<Value, Failure> {
    let program: PathBuf = match (project.is_dir(), file) {
        (false, _) => project.to_path_buf(),
        (true, Some(file)) => project.join(file),
        (true, None) => {
            return Err(Failure::invalid(format!("there is no `_test.go` file in `{}`", project.display()))
                .hint(
                    "name the folder of the package whose tests are meant, or one of its `_test.go` files",
                ));
        }
    };
    let mut args = vec!["-test.v".to_owned()];
    args.extend(filter.into_iter().flat_map(|filter| ["-test.run".to_owned(), filter]));
    args.extend(more);
    Ok(json!({ "program": program, "engine": "delve", "args": args }))
}

/// What can be done where this tool does not know the way.
fn unknown(project: &Path, files: &[String]) -> Failure {
    let has = |name: &str| files.iter().any(|file| file == name);
    let file = |ending: &str| project.extension().is_some_and(|found| found == ending);
    let hint = if has("package.json") || file("js") || file("ts") {
        "debug_launch {program: \"node_modules/jest/bin/jest.js\", args: [\"--runInBand\", \"-t\", NAME]} or what else runs them"
    } else if has("Gemfile") || has("Rakefile") || file("rb") {
        "debug_launch {program: \"test/x_test.rb\", args: [\"-n\", \"/NAME/\"]} runs one file of minitest; rspec: {program: \"bin/rspec\"}"
    } else {
        "debug_launch starts the program that runs them, with `args` that choose one"
    };
    Failure::new(
        ErrorCode::Unsupported,
        format!("how the tests of `{}` are run is not known here", project.display()),
    )
    .hint(format!("it knows dotnet, pytest, cargo and go; otherwise {hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[&str], project: &str, given: Value) -> Result<Tests, Failure> {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let tests = of(&folder.path().join(project), &Arguments::new(given.as_object().cloned()))?;
        let shown = match tests {
            Tests::Dotnet => return Ok(Tests::Dotnet),
            Tests::Launch(attributes) => attributes.to_string(),
        };
        let shown = shown.replace(&folder.path().display().to_string(), "P").replace("P/\"", "P\"");
        Ok(Tests::Launch(serde_json::from_str(&shown).unwrap()))
    }

    #[test]
    fn the_tests_of_each_language_are_launched_by_their_own_runner() {
        let pytest =
            |args: Value| json!({ "module": "pytest", "engine": "debugpy", "args": args, "cwd": "P" });
        for (files, project, given, wanted) in [
            (vec!["pyproject.toml"], "", json!({ "filter": "add" }), pytest(json!(["-k", "add"]))),
            (
                vec!["setup.cfg", "tests/test_a.py"],
                "tests/test_a.py",
                json!({ "filter": "tests/test_a.py::test_x", "args": ["-x"] }),
                pytest(json!(["tests/test_a.py::test_x", "-x"])),
            ),
            (
                vec!["Cargo.toml", "src/lib.rs"],
                "",
                json!({ "filter": "adds" }),
                json!({ "program": "P", "engine": "lldb", "cargo": { "args": ["test", "--no-run", "--lib"] },
                    "args": ["adds", "--nocapture", "--test-threads=1"] }),
            ),
            (
                vec!["Cargo.toml", "tests/it.rs"],
                "tests/it.rs",
                json!({}),
                json!({ "program": "P/tests/it.rs", "engine": "lldb", "args": ["--nocapture", "--test-threads=1"] }),
            ),
            (
                vec!["go.mod", "add_test.go"],
                "",
                json!({ "filter": "TestAdd$" }),
                json!({ "program": "P/add_test.go", "engine": "delve", "args": ["-test.v", "-test.run", "TestAdd$"] }),
            ),
        ] {
            assert_eq!(found(&files, project, given).unwrap(), Tests::Launch(wanted), "{files:?}");
        }
        assert_eq!(found(&["a.csproj"], "", json!({})).unwrap(), Tests::Dotnet);
        let unknown = found(&["package.json"], "", json!({})).unwrap_err();
        assert!(unknown.hint.unwrap().contains("jest"));
    }
}
