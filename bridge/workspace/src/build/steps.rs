//! The commands of an action, for each tool, and the parsers of their output.
//!
//! In the children: [`go`], [`node`] (package.json), [`python`] (pytest) and [`ruby`].
//!
//! Not here: running the commands ([`super`]).

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use quick_xml::escape::escape;
use tandem_error::{ErrorCode, Failure};

use super::project::{BuildTool, Project};
use super::readers::{OutputParser, ResultFiles};
use super::{BuildAction, RunnerArguments};
use crate::bounded;
use crate::process::ProcessCommand;

mod go;
mod node;
mod python;
mod ruby;

pub use go::{GoModules, go_command, go_packages};

/// Larger project files are not read.
const MAX_PROJECT_BYTES: u64 = 4 << 20;

/// A command of an action.
#[derive(Debug)]
pub struct BuildStep {
    /// The command of this step.
    pub command: ProcessCommand,
    /// Parser for its output.
    pub reader: OutputParser,
}

/// The steps of an action; each follows when the one before succeeds. `scratch` is for files the tools leave.
///
/// # Errors
/// `UNSUPPORTED` when the tool has no such action, or cannot choose tests by `chosen.filter`.
pub fn of(
    project: &Project,
    action: BuildAction,
    chosen: &RunnerArguments,
    scratch: &Path,
) -> Result<Vec<BuildStep>, Failure> {
    let untested = || UntestedAction::of(action, project.kind);
    match project.kind {
        BuildTool::Dotnet => dotnet(project, untested()?, scratch),
        BuildTool::Cargo => Ok(cargo(project, untested()?)),
        BuildTool::Go => Ok(go::steps(project, untested()?, scratch)),
        BuildTool::Npm => node::steps(project, action, chosen, scratch),
        BuildTool::Cmake => Ok(cmake(project, action, chosen, scratch)),
        BuildTool::Pytest => python::steps(project, untested()?, scratch),
        BuildTool::Ruby => ruby::steps(project, action, chosen, scratch),
        BuildTool::Make => make(project, action, chosen),
    }
}

/// An action of a tool whose tests are run by their framework.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UntestedAction {
    Build,
    Restore,
    Check,
}

impl UntestedAction {
    /// The action of such a tool.
    ///
    /// # Errors
    /// `UNSUPPORTED` for tests.
    fn of(action: BuildAction, tool: BuildTool) -> Result<Self, Failure> {
        match action {
            BuildAction::Build => Ok(Self::Build),
            BuildAction::Restore => Ok(Self::Restore),
            BuildAction::Check => Ok(Self::Check),
            BuildAction::Test => {
                let message = format!("tests of {} are run by their framework", tool.name());
                Err(Failure::new(ErrorCode::Unsupported, message).hint("run_tests does"))
            }
        }
    }
}

/// A runner that has no way to choose tests by name.
fn no_filter(what: &str) -> Failure {
    Failure::new(ErrorCode::Unsupported, format!("{what} does not take a `filter`"))
        .hint("pass the runner's own options in `args`")
}

/// `dotnet VERB` for a project, in an environment with English output, which leaves no server running.
pub fn dotnet_command(project: &Project, verb: &str) -> ProcessCommand {
    let own = std::env::var_os("DOTNET_ROOT").map(|root| PathBuf::from(root).join("dotnet"));
    let program = own.filter(|program| program.is_file()).unwrap_or_else(|| PathBuf::from("dotnet"));
    let mut command = ProcessCommand::new(program, &project.folder).arg(verb).args(&project.file);
    // Servers of MSBuild and the compiler end with the build.
    command = command.args(["-nologo", "-v:m", "-nodeReuse:false", "-p:UseSharedCompilation=false"]);
    for (name, value) in [
        ("LC_ALL", "C"),
        ("DOTNET_CLI_TELEMETRY_OPTOUT", "1"),
        ("DOTNET_NOLOGO", "1"),
        ("DOTNET_SKIP_FIRST_TIME_EXPERIENCE", "1"),
        // A build ends before profiles pay: without them it takes a quarter less of the processor.
        ("DOTNET_TieredPGO", "0"),
        ("MSBUILDTERMINALLOGGER", "off"),
    ] {
        command = command.env(name, value);
    }
    command
}

/// The build of a project or solution. `dotnet build` would leave two empty folders behind in the folder for
/// temporary files at each call.
pub fn dotnet_build(project: &Project) -> ProcessCommand {
    dotnet_command(project, "msbuild").args(["-restore", "-consoleLoggerParameters:Summary"])
}

fn dotnet(project: &Project, action: UntestedAction, scratch: &Path) -> Result<Vec<BuildStep>, Failure> {
    let mut command = match action {
        UntestedAction::Restore => dotnet_command(project, "restore"),
        UntestedAction::Build | UntestedAction::Check => dotnet_build(project),
    };
    let reader = OutputParser::compiler("msbuild");
    // An incremental build does not repeat the warnings of code that it does not compile again, and a full
    // build deletes its earlier output. So everything is compiled into a separate folder.
    if action == UntestedAction::Check {
        let mut elsewhere = OsString::from("-p:CustomAfterMicrosoftCommonProps=");
        elsewhere.push(redirect_output(scratch)?);
        command = command.arg(elsewhere);
    }
    Ok(vec![BuildStep { command, reader }])
}

/// Writes a file for MSBuild that places the output of every project in a separate folder
/// below the scratch folder.
fn redirect_output(scratch: &Path) -> Result<PathBuf, Failure> {
    let file = scratch.join("elsewhere.props");
    let failed = |why: String| {
        let message = format!("cannot prepare a place to compile in, `{}`: {why}", scratch.display());
        Failure::new(ErrorCode::IoFailed, message).hint("make the folder for temporary files writable")
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

fn cargo(project: &Project, action: UntestedAction) -> Vec<BuildStep> {
    let mut command = ProcessCommand::new("cargo", &project.folder);
    command = match action {
        UntestedAction::Build => command.arg("build"),
        UntestedAction::Check => command.args(["check", "--all-targets"]),
        UntestedAction::Restore => command.arg("fetch"),
    };
    if action != UntestedAction::Restore {
        command = command.arg("--message-format=json");
    }
    if let Some(manifest) = &project.file {
        command = command.arg("--manifest-path").arg(manifest);
    }
    let command = command.env("CARGO_TERM_COLOR", "never").env("CARGO_TERM_PROGRESS_WHEN", "never");
    vec![BuildStep { command, reader: OutputParser::cargo(&project.folder) }]
}

fn cmake(project: &Project, action: BuildAction, chosen: &RunnerArguments, scratch: &Path) -> Vec<BuildStep> {
    let configure = ProcessCommand::new("cmake", &project.folder).args(["-S", ".", "-B", "build"]);
    let build = ProcessCommand::new("cmake", &project.folder).args(["--build", "build", "--parallel"]);
    let mut steps = vec![BuildStep { command: configure, reader: OutputParser::cmake() }];
    if action != BuildAction::Restore {
        steps.push(BuildStep { command: build, reader: OutputParser::cmake() });
    }
    if action == BuildAction::Test {
        let file = scratch.join("ctest.xml");
        let test = ProcessCommand::new("ctest", &project.folder);
        let command = test.args(["--test-dir", "build", "--output-on-failure", "--output-junit"]).arg(&file);
        let filter = chosen.filter.iter().flat_map(|filter| ["-R", filter.as_str()]);
        let command = command.args(filter).args(&chosen.arguments);
        steps.push(BuildStep {
            command,
            reader: OutputParser::compiler("ctest").with(ResultFiles::Junit(file)),
        });
    }
    steps
}

fn make(project: &Project, action: BuildAction, chosen: &RunnerArguments) -> Result<Vec<BuildStep>, Failure> {
    if chosen.filter.is_some() {
        return Err(no_filter("a makefile"));
    }
    let mut command = ProcessCommand::new("make", &project.folder);
    if let Some(file) = &project.file {
        command = command.arg("-f").arg(file);
    }
    let names = ["GNUmakefile", "makefile", "Makefile"].map(|name| project.folder.join(name));
    let file = project.file.clone().or_else(|| names.into_iter().find(|name| name.is_file()));
    let text = file.and_then(|file| bounded::read(&file, MAX_PROJECT_BYTES).ok()).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let target =
        |name: &str| text.lines().any(|line| line.split(':').next() == Some(name) && line.contains(':'));
    let command = match action {
        BuildAction::Build | BuildAction::Check => command,
        BuildAction::Test if target("check") && !target("test") => command.arg("check"),
        BuildAction::Test if target("test") => command.arg("test"),
        BuildAction::Test | BuildAction::Restore => {
            let message = format!("the makefile has no target for `{}`", action.name());
            return Err(Failure::new(ErrorCode::Unsupported, message).hint("build runs its default target"));
        }
    };
    let reader =
        if action == BuildAction::Test { OutputParser::tap() } else { OutputParser::compiler("make") };
    Ok(vec![BuildStep { command: command.args(&chosen.arguments).env("LC_ALL", "C"), reader }])
}
