//! A project, solution or C# file as the program of a launch: asks MSBuild which command starts it. [`kind`]
//! classifies the target, [`sdk`] runs the SDK, [`diagnostics`] parses its output. Starts only the SDK;
//! [`super::program`] adds folder and variables to the command.

mod diagnostics;
mod kind;
mod options;
mod outputs;
mod sdk;
mod test_project;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tandem_wire::{ErrorCode, Failure};

use super::launch_settings;
pub use kind::{LaunchTargetKind, is_buildable};
use kind::{ambiguous_programs, only_tests};
pub use options::BuildOptions;
use outputs::{belongs_to, is_of_tests, is_runnable, newest};
pub use sdk::DotnetSdk;
use sdk::{Properties, folder_of};
use tandem_engine::builds;
use test_project::TestRunner;

/// The first SDK that runs a C# file without a project.
const MIN_FILE_PROGRAM_SDK: u32 = 10;

/// The command that starts a project's program.
#[derive(Debug)]
pub struct LaunchCommand {
    /// Its assembly, or an executable: the app host, or the project's own `RunCommand`.
    pub path: PathBuf,
    /// The project's own arguments, before those of the launch.
    pub arguments: Vec<OsString>,
    /// The project or C# file.
    pub project: PathBuf,
    /// The working directory that the project configures.
    pub cwd: Option<PathBuf>,
    /// Its child processes are the programs to debug: it is the SDK, which runs tests in a host.
    pub starts_programs: bool,
}

/// Builds the target of a launch, unless the launch disables that, and determines the command that starts it.
///
/// # Errors
/// `BUILD_FAILED` with `data.diagnostics`; `LAUNCH_FAILED` when nothing of it can be started, or several
/// things (`data.programs`); `CANCELLED`.
pub fn build_launch_command(
    sdk: &DotnetSdk<'_>,
    kind: &LaunchTargetKind,
    options: &BuildOptions,
) -> Result<LaunchCommand, Failure> {
    let version = sdk.version(folder_of(kind.path()))?;
    match kind {
        LaunchTargetKind::Project(project) if DotnetSdk::reports_outputs(version) => {
            of_project(sdk, project, options)
        }
        LaunchTargetKind::Project(project) => {
            let outputs =
                if options.no_build { Vec::new() } else { sdk.build(project, options, false)?.outputs };
            Ok(assembly_of(project, newest(project, &outputs, options)?))
        }
        LaunchTargetKind::Solution(solution) => {
            of_solution(sdk, solution, options, DotnetSdk::reports_outputs(version))
        }
        LaunchTargetKind::File(file) if version >= MIN_FILE_PROGRAM_SDK => of_project(sdk, file, options),
        LaunchTargetKind::File(file) => {
            let has =
                if version == 0 { "there is none".into() } else { format!("the one here is {version}") };
            let message = format!(
                "`{}` has no project: C# files run without one from .NET SDK 10 on, and {has}",
                file.display()
            );
            Err(Failure::new(ErrorCode::LaunchFailed, message)
                .hint("install a newer SDK, or create a project (`dotnet new console`) and name its .csproj"))
        }
    }
}

fn of_project(sdk: &DotnetSdk<'_>, project: &Path, options: &BuildOptions) -> Result<LaunchCommand, Failure> {
    let built = if options.no_build { None } else { sdk.build(project, options, true)?.properties };
    let mut properties = match built {
        Some(properties) => properties,
        None => sdk.properties(project, options)?,
    };
    let mut options = options.clone();
    let frameworks = properties.text("TargetFrameworks").to_owned();
    if options.framework.is_none() && properties.text("TargetFramework").is_empty() {
        // All frameworks were built; one is started.
        options.framework = newest_framework(&frameworks).map(str::to_owned);
        if let Some(newest) = &options.framework {
            let name = project.file_name().unwrap_or_default().to_string_lossy();
            let line = format!("{name} is for {frameworks}: starting {newest}; `framework` chooses another");
            builds::print_line(sdk.send_event, &line);
            properties = sdk.properties(project, &options)?;
        }
    }
    let Some(runner) = test_project::runner(&properties) else {
        return start_command(project, &properties, &options);
    };
    builds::print_line(sdk.send_event, &test_project::announcement(project, runner));
    match runner {
        TestRunner::Itself => start_command(project, &properties, &options),
        // The project's own program, if it has one, does nothing.
        TestRunner::VsTest => {
            let assembly = PathBuf::from(properties.text("TargetPath"));
            let cwd = assembly.parent().map(Path::to_path_buf);
            let arguments = test_project::vstest(check_assembly(project, assembly, &options)?);
            let path = sdk.dotnet.clone();
            Ok(LaunchCommand { path, arguments, project: project.to_path_buf(), cwd, starts_programs: true })
        }
    }
}

/// The assembly of a project, if it exists.
fn check_assembly(project: &Path, assembly: PathBuf, options: &BuildOptions) -> Result<PathBuf, Failure> {
    if assembly.is_file() {
        return Ok(assembly);
    }
    let message = format!(
        "cannot start `{}`: it is not built{}: there is no `{}`",
        project.display(),
        options.describe(),
        assembly.display()
    );
    Err(Failure::new(ErrorCode::LaunchFailed, message)
        .hint("omit `noBuild` to build it, or check `configuration`, `framework` and `runtimeIdentifier`"))
}

/// The command that starts a project with these properties.
fn start_command(
    project: &Path,
    properties: &Properties,
    options: &BuildOptions,
) -> Result<LaunchCommand, Failure> {
    let failed = |reason: String, hint: &str| {
        let message = format!("cannot start `{}`: {reason}", project.display());
        Err(Failure::new(ErrorCode::LaunchFailed, message).hint(hint))
    };
    if properties.text("TargetFrameworkIdentifier") == ".NETFramework" {
        return failed(
            "it is for .NET Framework, which runs on Windows only".into(),
            "choose another of its frameworks with `framework`, or add one such as net10.0",
        );
    }
    let target = PathBuf::from(properties.text("TargetPath"));
    let command = PathBuf::from(properties.text("RunCommand"));
    let mut arguments = launch_settings::split(properties.text("RunArguments"));
    let cwd = Some(properties.text("RunWorkingDirectory")).filter(|folder| !folder.is_empty());
    let cwd = cwd.map(|folder| folder_of(project).join(folder));
    let is_program =
        ["Exe", "WinExe"].iter().any(|kind| properties.text("OutputType").eq_ignore_ascii_case(kind));
    let host = target.with_extension("");
    let by_dotnet = command.file_stem().is_some_and(|name| name == "dotnet");
    // `dotnet exec app.dll`, if a project has no app host.
    let executes = by_dotnet
        && arguments.get(..2).is_some_and(|words| words == ["exec".into(), target.display().to_string()]);
    if executes {
        arguments.drain(..2);
    }
    let is_usual = command == host || executes || command.as_os_str().is_empty();
    let path = match (is_program, is_usual) {
        (true, true) if properties.is("SelfContained") && command.is_file() && target.is_file() => command,
        (true, true) => check_assembly(project, target, options)?,
        (_, false) if by_dotnet => {
            // A server (Blazor's, for one) starts the project: `dotnet server.dll …`.
            let assembly = arguments.iter().position(|word| word.ends_with(".dll"));
            let Some(assembly) = assembly else {
                return failed(
                    format!("its `RunCommand` is `{} {}`", command.display(), arguments.join(" ")),
                    "name the program to debug as `program`",
                );
            };
            let assembly = PathBuf::from(arguments.drain(..=assembly).next_back().unwrap_or_default());
            folder_of(project).join(assembly)
        }
        (_, false) => folder_of(project).join(command),
        (false, true) => {
            return failed(
                "it is a library, which cannot be started".into(),
                "launch the project of a program that uses it",
            );
        }
    };
    let arguments = arguments.into_iter().map(OsString::from).collect();
    Ok(LaunchCommand { path, arguments, project: project.to_path_buf(), cwd, starts_programs: false })
}

fn of_solution(
    sdk: &DotnetSdk<'_>,
    solution: &Path,
    options: &BuildOptions,
    answers: bool,
) -> Result<LaunchCommand, Failure> {
    let built = if options.no_build { None } else { Some(sdk.build(solution, options, false)?.outputs) };
    let projects = sdk.projects(solution)?;
    let (mut programs, mut tests) = (Vec::new(), Vec::new());
    for project in &projects {
        let (is_program, has_tests) = match &built {
            Some(outputs) => {
                let mut own = outputs
                    .iter()
                    .filter(|output| belongs_to(output, project))
                    .map(|output| &output.assembly);
                (own.clone().any(|own| is_runnable(own)), own.any(|own| is_of_tests(own)))
            }
            None if answers => {
                let properties = sdk.properties(project, options)?;
                let has_tests = test_project::runner(&properties).is_some();
                let kind = properties.text("OutputType");
                (["Exe", "WinExe"].contains(&kind) && !has_tests, has_tests)
            }
            None => (true, false),
        };
        if is_program {
            programs.push(project.clone());
        } else if has_tests {
            tests.push(project.clone());
        }
    }
    match programs.as_slice() {
        [project] if answers => of_project(sdk, project, &BuildOptions { no_build: true, ..options.clone() }),
        [project] => {
            let outputs = built.unwrap_or_default();
            Ok(assembly_of(project, newest(project, &outputs, options)?))
        }
        [] if !tests.is_empty() => Err(only_tests(solution, &tests, folder_of(solution))),
        [] => {
            let what = match projects.len() {
                0 => "it has no projects".to_owned(),
                count => format!("none of its {count} projects is a program: they are libraries or tests"),
            };
            let message = format!("cannot start `{}`: {what}", solution.display());
            Err(Failure::new(ErrorCode::LaunchFailed, message)
                .hint("name a project, also one of tests, or a built .dll as `program`"))
        }
        programs => Err(ambiguous_programs(solution, programs, folder_of(solution))),
    }
}

fn assembly_of(project: &Path, assembly: PathBuf) -> LaunchCommand {
    LaunchCommand {
        path: assembly,
        arguments: Vec::new(),
        project: project.to_path_buf(),
        cwd: None,
        starts_programs: false,
    }
}

/// The newest of a project's target frameworks that this debugger can start: .NET before .NET Core, and a
/// portable one before one for a single system. The first if none is known.
fn newest_framework(frameworks: &str) -> Option<&str> {
    let rank = |name: &str| {
        let (base, platform) =
            name.split_once('-').map_or((name, None), |(base, platform)| (base, Some(platform)));
        let version = base.strip_prefix("netcoreapp").or_else(|| base.strip_prefix("net"));
        let (major, minor) = version.and_then(|version| version.split_once('.')).unwrap_or_default();
        let number = |text: &str| text.parse::<u32>().unwrap_or_default();
        (platform.is_none(), number(major), number(minor))
    };
    let mut newest: Option<&str> = None;
    for name in frameworks.split(';').map(str::trim).filter(|name| !name.is_empty()) {
        if newest.is_none_or(|newest| rank(name) > rank(newest)) {
            newest = Some(name);
        }
    }
    newest
}

#[cfg(test)]
mod tests {
    use super::newest_framework;

    #[test]
    fn the_newest_framework_is_started() {
        for (frameworks, newest) in [
            ("net8.0;net10.0", Some("net10.0")),
            ("net10.0; net8.0;", Some("net10.0")),
            ("netstandard2.0;net48;netcoreapp3.1;net9.0", Some("net9.0")),
            ("net10.0-windows;net8.0", Some("net8.0")),
            ("netcoreapp3.1;netcoreapp2.1", Some("netcoreapp3.1")),
            ("other;more", Some("other")),
            (" ;", None),
        ] {
            assert_eq!(newest_framework(frameworks), newest, "{frameworks}");
        }
    }
}
