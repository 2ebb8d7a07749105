//! The commands of an action, for each tool, and the parsers of their output.
//!
//! In the children: [`node`] (package.json), [`python`] (pytest) and [`ruby`].

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use quick_xml::escape::escape;
use tandem_error::{ErrorCode, Failure};

use super::project::{Kind, Project};
use super::readers::{Reader, Results};
use super::{Action, Selection};
use crate::bounded;
use crate::process::Command;

mod node;
mod python;
mod ruby;

/// Larger project files are not read.
const LARGEST: u64 = 4 << 20;

/// A command of an action.
#[derive(Debug)]
pub struct Step {
    /// The command of this step.
    pub command: Command,
    /// Parser for its output.
    pub reader: Reader,
}

/// The steps of an action; each follows when the one before succeeds. `scratch` is for files the tools leave.
///
/// # Errors
/// `UNSUPPORTED` when the tool has no such action, or cannot choose tests by `chosen.filter`.
pub fn of(
    project: &Project,
    action: Action,
    chosen: &Selection,
    scratch: &Path,
) -> Result<Vec<Step>, Failure> {
    if action == Action::Test && matches!(project.kind, Kind::Dotnet | Kind::Cargo | Kind::Go | Kind::Pytest)
    {
        let message = format!("tests of {} are run by their framework", project.kind.name());
        return Err(Failure::new(ErrorCode::Unsupported, message).hint("run_tests does"));
    }
    match project.kind {
        Kind::Dotnet => dotnet(project, action, scratch),
        Kind::Cargo => Ok(cargo(project, action)),
        Kind::Go => Ok(go(project, action)),
        Kind::Npm => node::steps(project, action, chosen, scratch),
        Kind::Cmake => Ok(cmake(project, action, chosen, scratch)),
        Kind::Pytest => python::steps(project, action, scratch),
        Kind::Ruby => ruby::steps(project, action, chosen, scratch),
        Kind::Make => make(project, action, chosen),
    }
}

/// A runner that has no way to choose tests by name.
fn no_filter(what: &str) -> Failure {
    Failure::new(ErrorCode::Unsupported, format!("{what} cannot be given a `filter`"))
        .hint("pass the runner's own options in `args`")
}

/// `dotnet VERB` for a project, in an environment in which its words can be read and no server stays behind.
pub fn dotnet_command(project: &Project, verb: &str) -> Command {
    let own = std::env::var_os("DOTNET_ROOT").map(|root| PathBuf::from(root).join("dotnet"));
    let program = own.filter(|program| program.is_file()).unwrap_or_else(|| PathBuf::from("dotnet"));
    let mut command = Command::new(program, &project.folder).arg(verb).args(&project.file);
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
    command
}

fn dotnet(project: &Project, action: Action, scratch: &Path) -> Result<Vec<Step>, Failure> {
    let verb = if action == Action::Restore { "restore" } else { "build" };
    let mut command = dotnet_command(project, verb);
    let reader = Reader::compiler("msbuild");
    // An incremental build does not repeat the warnings of what it does not compile again, and one that is not
    // incremental deletes what was built first: so all is compiled, into a place of its own.
    if action == Action::Check {
        let mut elsewhere = OsString::from("-p:CustomAfterMicrosoftCommonProps=");
        elsewhere.push(output_elsewhere(scratch)?);
        command = command.arg(elsewhere);
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
        Action::Build | Action::Test => command.arg("build"),
        Action::Check => command.args(["check", "--all-targets"]),
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
    let command = match action {
        Action::Build | Action::Test => command.args(["build", "./..."]),
        Action::Check => command.args(["vet", "./..."]),
        Action::Restore => command.args(["mod", "download"]),
    };
    vec![Step { command, reader: Reader::compiler("go") }]
}

fn cmake(project: &Project, action: Action, chosen: &Selection, scratch: &Path) -> Vec<Step> {
    let configure = Command::new("cmake", &project.folder).args(["-S", ".", "-B", "build"]);
    let build = Command::new("cmake", &project.folder).args(["--build", "build", "--parallel"]);
    let mut steps = vec![Step { command: configure, reader: Reader::cmake() }];
    if action != Action::Restore {
        steps.push(Step { command: build, reader: Reader::cmake() });
    }
    if action == Action::Test {
        let file = scratch.join("ctest.xml");
        let test = Command::new("ctest", &project.folder);
        let command = test.args(["--test-dir", "build", "--output-on-failure", "--output-junit"]).arg(&file);
        let filter = chosen.filter.iter().flat_map(|filter| ["-R", filter.as_str()]);
        let command = command.args(filter).args(&chosen.arguments);
        steps.push(Step { command, reader: Reader::compiler("ctest").with(Results::Junit(file)) });
    }
    steps
}

fn make(project: &Project, action: Action, chosen: &Selection) -> Result<Vec<Step>, Failure> {
    if chosen.filter.is_some() {
        return Err(no_filter("a makefile"));
    }
    let mut command = Command::new("make", &project.folder);
    if let Some(file) = &project.file {
        command = command.arg("-f").arg(file);
    }
    let names = ["GNUmakefile", "makefile", "Makefile"].map(|name| project.folder.join(name));
    let file = project.file.clone().or_else(|| names.into_iter().find(|name| name.is_file()));
    let text = file.and_then(|file| bounded::read(&file, LARGEST).ok()).unwrap_or_default();
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
    Ok(vec![Step { command: command.args(&chosen.arguments).env("LC_ALL", "C"), reader }])
}
