//! Which commands an action takes, tool by tool, and who reads what they print.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use dap_wire::{ErrorCode, Failure};
use quick_xml::escape::escape;
use serde_json::Value;

use super::Action;
use super::project::{Kind, Project};
use super::readers::{Reader, Results};
use crate::process::Command;

/// One command.
#[derive(Debug)]
pub struct Step {
    /// What to run.
    pub command: Command,
    /// Who reads it.
    pub reader: Reader,
}

/// The steps of an action; each follows when the one before succeeds. `scratch` is for files the tools leave.
///
/// # Errors
/// `UNSUPPORTED` when the tool has no such action.
pub fn of(project: &Project, action: Action, scratch: &Path) -> Result<Vec<Step>, Failure> {
    match project.kind {
        Kind::Dotnet => dotnet(project, action, scratch),
        Kind::Cargo => Ok(cargo(project, action)),
        Kind::Go => Ok(go(project, action)),
        Kind::Npm => npm(project, action, scratch),
        Kind::Cmake => Ok(cmake(project, action, scratch)),
        Kind::Pytest => python(project, action, scratch),
        Kind::Make => make(project, action),
    }
}

fn dotnet(project: &Project, action: Action, scratch: &Path) -> Result<Vec<Step>, Failure> {
    let own = std::env::var_os("DOTNET_ROOT").map(|root| PathBuf::from(root).join("dotnet"));
    let program = own.filter(|program| program.is_file()).unwrap_or_else(|| PathBuf::from("dotnet"));
    let verb = match action {
        Action::Build | Action::Check => "build",
        Action::Test => "test",
        Action::Restore => "restore",
    };
    let mut command = Command::new(program, &project.folder).arg(verb);
    command = command.args(&project.file);
    // No server of MSBuild or the compiler stays behind.
    command = command.args(["-nologo", "-v:m", "-nodeReuse:false", "-p:UseSharedCompilation=false"]);
    for (name, value) in [
        ("LC_ALL", "C"),
        ("DOTNET_CLI_TELEMETRY_OPTOUT", "1"),
        ("DOTNET_NOLOGO", "1"),
        ("DOTNET_SKIP_FIRST_TIME_EXPERIENCE", "1"),
        ("MSBUILDTERMINALLOGGER", "off"),
    ] {
        command = command.env(name, value);
    }
    let mut reader = Reader::compiler("msbuild");
    match action {
        // An incremental build does not repeat the warnings of what it does not compile again, and one that is not
        // incremental deletes what was built first: so all is compiled, into a place of its own.
        Action::Check => {
            let mut elsewhere = OsString::from("-p:CustomAfterMicrosoftCommonProps=");
            elsewhere.push(output_elsewhere(scratch)?);
            command = command.arg(elsewhere);
        }
        Action::Test => {
            command = command.args(["--logger", "trx", "--results-directory"]).arg(scratch);
            reader = reader.with(Results::Trx(scratch.to_owned()));
        }
        Action::Build | Action::Restore => {}
    }
    Ok(vec![Step { command, reader }])
}

/// A file for MSBuild that lets every project be built below the scratch folder, each in a place of its own.
fn output_elsewhere(scratch: &Path) -> Result<PathBuf, Failure> {
    let file = scratch.join("elsewhere.props");
    let failed = |why: String| {
        let message = format!("cannot prepare a place to compile in, `{}`: {why}", scratch.display());
        Failure::new(ErrorCode::IoFailed, message).hint("the folder for temporary files must be writable")
    };
    let place = escape(scratch.to_str().ok_or_else(|| failed("its name is not UTF-8".into()))?);
    let own = "$(MSBuildProjectDirectory)/$(MSBuildProjectName)";
    let text = format!(
        "<Project><PropertyGroup><IntermediateOutputPath>{place}/obj{own}/</IntermediateOutputPath>\
         <OutDir>{place}/bin{own}/$(TargetFramework)/</OutDir></PropertyGroup></Project>\n"
    );
    std::fs::write(&file, text).map_err(|error| failed(error.to_string()))?;
    Ok(file)
}

fn cargo(project: &Project, action: Action) -> Vec<Step> {
    let mut command = Command::new("cargo", &project.folder);
    command = match action {
        Action::Build => command.arg("build"),
        Action::Check => command.args(["check", "--all-targets"]),
        Action::Test => command.args(["test", "--no-fail-fast"]),
        Action::Restore => command.arg("fetch"),
    };
    if action != Action::Restore {
        command = command.arg("--message-format=json");
    }
    if let Some(manifest) = &project.file {
        command = command.arg("--manifest-path").arg(manifest);
    }
    let command = command.env("CARGO_TERM_COLOR", "never").env("CARGO_TERM_PROGRESS_WHEN", "never");
    vec![Step { command, reader: Reader::cargo(&project.folder) }]
}

fn go(project: &Project, action: Action) -> Vec<Step> {
    let command = Command::new("go", &project.folder);
    let (command, reader) = match action {
        Action::Build => (command.args(["build", "./..."]), Reader::compiler("go")),
        Action::Check => (command.args(["vet", "./..."]), Reader::compiler("go")),
        Action::Restore => (command.args(["mod", "download"]), Reader::compiler("go")),
        Action::Test => (command.args(["test", "-json", "./..."]), Reader::go_test(&project.folder)),
    };
    vec![Step { command, reader }]
}

fn npm(project: &Project, action: Action, scratch: &Path) -> Result<Vec<Step>, Failure> {
    let has = |name: &str| project.folder.join(name).is_file();
    let manager = if has("pnpm-lock.yaml") {
        "pnpm"
    } else if has("yarn.lock") {
        "yarn"
    } else {
        "npm"
    };
    let manifest = std::fs::read_to_string(project.folder.join("package.json")).unwrap_or_default();
    let manifest: Value = serde_json::from_str(&manifest).map_err(|error| {
        Failure::new(ErrorCode::BuildFailed, format!("package.json cannot be read: {error}"))
    })?;
    let script = |name: &str| manifest["scripts"][name].as_str();
    let command = Command::new(manager, &project.folder).env("NO_COLOR", "1").env("CI", "1");
    let compiler = || Reader::compiler("npm");
    let step = match action {
        Action::Restore if manager == "npm" && has("package-lock.json") => {
            Step { command: command.args(["ci", "--no-audit", "--no-fund"]), reader: compiler() }
        }
        Action::Restore => Step { command: command.arg("install"), reader: compiler() },
        Action::Build if script("build").is_some() => {
            Step { command: command.args(["run", "build"]), reader: compiler() }
        }
        Action::Test if script("test").is_some() => {
            test_script(command, script("test").unwrap_or_default(), scratch)
        }
        Action::Check if has("node_modules/.bin/tsc") && has("tsconfig.json") => {
            let compile = Command::new(project.folder.join("node_modules/.bin/tsc"), &project.folder);
            Step { command: compile.args(["--noEmit", "--pretty", "false"]), reader: Reader::compiler("tsc") }
        }
        Action::Check if script("lint").is_some() => {
            Step { command: command.args(["run", "lint"]), reader: compiler() }
        }
        Action::Build | Action::Test | Action::Check => {
            let message = format!("package.json has no script for `{}`", action.name());
            return Err(Failure::new(ErrorCode::Unsupported, message).hint("its `scripts` say what there is"));
        }
    };
    Ok(vec![step])
}

/// A test script, asked for a format that machines read when its runner is known.
fn test_script(command: Command, script: &str, scratch: &Path) -> Step {
    let file = scratch.join("results.json");
    let to = |option: &str| format!("{option}={}", file.display());
    let command = command.arg("test");
    let compiler = Reader::compiler("npm");
    let runs = |name: &str| script.split([' ', '/', '&', ';']).any(|word| word == name);
    if runs("jest") {
        let command = command.args(["--", "--json", &to("--outputFile")]);
        Step { command, reader: compiler.with(Results::Jest(file)) }
    } else if runs("vitest") {
        let command = command.args(["--", "--reporter=default", "--reporter=json", &to("--outputFile")]);
        Step { command, reader: compiler.with(Results::Jest(file)) }
    } else if runs("mocha") {
        let command = command.args(["--", "--reporter", "json", "--reporter-option", &to("output")]);
        Step { command, reader: compiler.with(Results::Mocha(file)) }
    } else if runs("--test") {
        let inherited = std::env::var("NODE_OPTIONS").unwrap_or_default();
        let options = format!("{inherited} --test-reporter=tap");
        Step { command: command.env("NODE_OPTIONS", options.trim()), reader: Reader::tap() }
    } else {
        Step { command, reader: Reader::tap() }
    }
}

fn cmake(project: &Project, action: Action, scratch: &Path) -> Vec<Step> {
    let configure = Command::new("cmake", &project.folder).args(["-S", ".", "-B", "build"]);
    let build = Command::new("cmake", &project.folder).args(["--build", "build", "--parallel"]);
    let mut steps = vec![Step { command: configure, reader: Reader::compiler("cmake") }];
    if action != Action::Restore {
        steps.push(Step { command: build, reader: Reader::compiler("cmake") });
    }
    if action == Action::Test {
        let file = scratch.join("ctest.xml");
        let test = Command::new("ctest", &project.folder);
        let command = test.args(["--test-dir", "build", "--output-on-failure", "--output-junit"]).arg(&file);
        steps.push(Step { command, reader: Reader::compiler("ctest").with(Results::Junit(file)) });
    }
    steps
}

fn python(project: &Project, action: Action, scratch: &Path) -> Result<Vec<Step>, Failure> {
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
            let command = command.arg(format!("--junitxml={}", file.display())).args(&project.file);
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

fn make(project: &Project, action: Action) -> Result<Vec<Step>, Failure> {
    let mut command = Command::new("make", &project.folder);
    if let Some(file) = &project.file {
        command = command.arg("-f").arg(file);
    }
    let names = ["GNUmakefile", "makefile", "Makefile"].map(|name| project.folder.join(name));
    let file = project.file.clone().or_else(|| names.into_iter().find(|name| name.is_file()));
    let text = file.and_then(|file| std::fs::read(file).ok()).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let target =
        |name: &str| text.lines().any(|line| line.split(':').next() == Some(name) && line.contains(':'));
    let command = match action {
        Action::Build | Action::Check => command,
        Action::Test if target("check") && !target("test") => command.arg("check"),
        Action::Test if target("test") => command.arg("test"),
        Action::Test | Action::Restore => {
            let message = format!("the makefile has no target for `{}`", action.name());
            return Err(Failure::new(ErrorCode::Unsupported, message).hint("build runs its default target"));
        }
    };
    let reader = if action == Action::Test { Reader::tap() } else { Reader::compiler("make") };
    Ok(vec![Step { command: command.env("LC_ALL", "C"), reader }])
}
