//! A project, solution or C# file as the program of a launch: which project that is, and what MSBuild says is started for it. Running
//! the SDK is [`sdk`]'s, reading its lines [`findings`]'s.

mod findings;
mod sdk;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use dap_wire::{ErrorCode, Failure};
use serde_json::json;

use super::launch_settings;
use super::program::Attributes;
use crate::engine::builds;
use findings::Output;
pub(super) use sdk::Sdk;
use sdk::{Properties, folder_of};

/// The first SDK that runs a C# file without a project.
const RUNS_FILES: u32 = 10;
/// How far above a C# file its project is looked for, in folders.
const ABOVE: usize = 16;
/// Most bytes of a file that are looked at to know what it is.
const START: usize = 4096;

/// How a project is built, and which of its outputs is meant.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) configuration: Option<String>,
    pub(super) framework: Option<String>,
    /// A runtime identifier (`linux-x64`).
    pub(super) runtime: Option<String>,
    pub(super) no_build: bool,
    /// Further arguments of `dotnet build`.
    pub(super) arguments: Vec<String>,
}

impl Options {
    /// Those of a launch.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`, with the attribute that is wrong.
    pub(super) fn of(attributes: &Attributes<'_>) -> Result<Self, Failure> {
        let text = |key: &str| Ok(attributes.text(key)?.map(str::to_owned));
        Ok(Self {
            configuration: text("configuration")?,
            framework: text("framework")?,
            runtime: text("runtimeIdentifier")?,
            no_build: attributes.flag("noBuild", false)?,
            arguments: attributes.texts("buildArguments")?,
        })
    }

    /// As arguments of `dotnet build`.
    fn of_build(&self) -> Vec<String> {
        let options = [("-c", &self.configuration), ("-f", &self.framework), ("-r", &self.runtime)];
        let given = options.into_iter().filter_map(|(name, value)| Some([name.to_owned(), value.clone()?]));
        given.flatten().chain(self.arguments.iter().cloned()).collect()
    }

    /// As arguments of a question that builds nothing: those that set properties.
    fn of_question(&self) -> Vec<String> {
        let sets = |argument: &&String| {
            ["-p:", "--property:", "-property:", "/p:", "/property:"]
                .iter()
                .any(|begin| argument.starts_with(begin))
        };
        let own = Self { arguments: Vec::new(), ..self.clone() };
        own.of_build().into_iter().chain(self.arguments.iter().filter(sets).cloned()).collect()
    }

    /// What was asked for, for people.
    fn described(&self) -> String {
        let parts = [&self.configuration, &self.framework, &self.runtime].into_iter().flatten();
        let parts: Vec<&str> = parts.map(String::as_str).collect();
        if parts.is_empty() { String::new() } else { format!(" for {}", parts.join(", ")) }
    }
}

/// A project's program.
#[derive(Debug)]
pub(super) struct Launchable {
    /// Its assembly, or an executable: the app host, or what the project's own `RunCommand` says.
    pub(super) path: PathBuf,
    /// Arguments that the project itself gives, before those of the launch.
    pub(super) arguments: Vec<OsString>,
    /// The project or C# file.
    pub(super) project: PathBuf,
    /// Where the project says that its program runs.
    pub(super) cwd: Option<PathBuf>,
}

/// What kind of thing a launch names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Project(PathBuf),
    Solution(PathBuf),
    /// A C# file that is a program by itself.
    File(PathBuf),
}

impl Kind {
    /// What `target` is; `None` when it is nothing to be built. `open`: the folder the client has open, above which no project is
    /// looked for.
    ///
    /// # Errors
    /// `LAUNCH_FAILED` for a folder with several projects or none.
    pub(super) fn of(target: &Path, open: Option<&Path>) -> Result<Option<Self>, Failure> {
        if target.is_dir() {
            return in_folder(target).map(Some);
        }
        if is_solution(target) {
            return Ok(Some(Self::Solution(target.to_path_buf())));
        }
        if is_project(target) {
            return Ok(Some(Self::Project(target.to_path_buf())));
        }
        let start = start_of(target);
        if has_ending(target, &["cs"]) {
            let directives = start.lines().any(|line| line.starts_with("#:"));
            let own = match start.starts_with("#!") || directives {
                true => None,
                false => project_above(target, open)?,
            };
            return Ok(Some(own.map_or_else(|| Self::File(target.to_path_buf()), Self::Project)));
        }
        let first = start.lines().next().unwrap_or_default();
        let is_script = first.starts_with("#!")
            && first.split(['/', ' ']).any(|word| word == "dotnet")
            && !target.with_extension("dll").exists();
        Ok(is_script.then(|| Self::File(target.to_path_buf())))
    }

    fn path(&self) -> &Path {
        match self {
            Self::Project(path) | Self::Solution(path) | Self::File(path) => path,
        }
    }
}

/// Whether this is what `dotnet build` takes, by its name.
pub(super) fn is_buildable(path: &Path) -> bool {
    is_project(path) || is_solution(path)
}

fn is_project(path: &Path) -> bool {
    has_ending(path, &["csproj", "fsproj", "vbproj"])
}

fn is_solution(path: &Path) -> bool {
    has_ending(path, &["sln", "slnx", "slnf"])
}

fn has_ending(path: &Path, endings: &[&str]) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| endings.iter().any(|known| ending.eq_ignore_ascii_case(known)))
}

/// The first bytes of a file, as text.
fn start_of(path: &Path) -> String {
    use std::io::Read;
    let mut start = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(START as u64).read_to_end(&mut start));
    if read.is_err() {
        String::new()
    } else {
        String::from_utf8_lossy(&start).trim_start_matches('\u{feff}').into()
    }
}

fn listed(folder: &Path, fits: fn(&Path) -> bool) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| fits(path) && path.is_file()).collect();
    found.sort();
    found
}

fn names(paths: &[PathBuf], folder: &Path) -> String {
    let names = paths.iter().map(|path| path.strip_prefix(folder).unwrap_or(path).display().to_string());
    names.collect::<Vec<_>>().join(", ")
}

/// The one project of a folder, else its one solution.
fn in_folder(folder: &Path) -> Result<Kind, Failure> {
    let (projects, solutions) = (listed(folder, is_project), listed(folder, is_solution));
    match (projects.as_slice(), solutions.as_slice()) {
        ([project], _) => Ok(Kind::Project(project.clone())),
        ([], [solution]) => Ok(Kind::Solution(solution.clone())),
        ([], []) => {
            let message = format!("`{}` has no .NET project or solution", folder.display());
            Err(Failure::new(ErrorCode::LaunchFailed, message)
                .hint("name a .csproj, .sln or .slnx, a C# file, or a built .dll as `program`"))
        }
        (projects, solutions) => {
            let all = if projects.is_empty() { solutions } else { projects };
            Err(several(folder, all, folder))
        }
    }
}

fn several(whole: &Path, programs: &[PathBuf], folder: &Path) -> Failure {
    let message = format!("`{}` has several programs: {}", whole.display(), names(programs, folder));
    Failure::new(ErrorCode::LaunchFailed, message)
        .hint("name one of them as `program`")
        .data(json!({ "programs": programs }))
}

/// The project that a C# file belongs to: the nearest one above it.
fn project_above(file: &Path, open: Option<&Path>) -> Result<Option<PathBuf>, Failure> {
    for folder in file.ancestors().skip(1).take(ABOVE) {
        match listed(folder, is_project).as_slice() {
            [] => {}
            [project] => return Ok(Some(project.clone())),
            projects => return Err(several(folder, projects, folder)),
        }
        if open == Some(folder) {
            break;
        }
    }
    Ok(None)
}

/// Builds what a launch names, unless it says not to, and finds out what is started.
///
/// # Errors
/// `BUILD_FAILED` with `data.diagnostics`; `LAUNCH_FAILED` when nothing of it can be started, or several things (`data.programs`);
/// `CANCELLED`.
pub(super) fn launchable(sdk: &Sdk<'_>, kind: &Kind, options: &Options) -> Result<Launchable, Failure> {
    let version = sdk.version(folder_of(kind.path()))?;
    match kind {
        Kind::Project(project) if Sdk::answers(version) => of_project(sdk, project, options),
        Kind::Project(project) => {
            let outputs =
                if options.no_build { Vec::new() } else { sdk.build(project, options, false)?.outputs };
            Ok(assembly_of(project, newest(project, &outputs, options)?))
        }
        Kind::Solution(solution) => of_solution(sdk, solution, options, Sdk::answers(version)),
        Kind::File(file) if version >= RUNS_FILES => of_project(sdk, file, options),
        Kind::File(file) => {
            let has =
                if version == 0 { "there is none".into() } else { format!("the one here is {version}") };
            let message = format!(
                "`{}` has no project: C# files run without one from .NET SDK 10 on, and {has}",
                file.display()
            );
            Err(Failure::new(ErrorCode::LaunchFailed, message)
                .hint("install a newer SDK, or make a project (`dotnet new console`) and name its .csproj"))
        }
    }
}

fn of_project(sdk: &Sdk<'_>, project: &Path, options: &Options) -> Result<Launchable, Failure> {
    let built = if options.no_build { None } else { sdk.build(project, options, true)?.properties };
    let mut properties = match built {
        Some(properties) => properties,
        None => sdk.properties(project, options)?,
    };
    let mut options = options.clone();
    let frameworks = properties.text("TargetFrameworks").to_owned();
    if options.framework.is_none() && properties.text("TargetFramework").is_empty() {
        // All of them were built; one is started.
        options.framework =
            frameworks.split(';').map(str::trim).find(|name| !name.is_empty()).map(str::to_owned);
        if let Some(first) = &options.framework {
            let name = project.file_name().unwrap_or_default().to_string_lossy();
            let line = format!("{name} is for {frameworks}: starting {first}; `framework` chooses another");
            builds::say(sdk.tell, &line);
            properties = sdk.properties(project, &options)?;
        }
    }
    started(project, &properties, &options)
}

/// What is started for a project with these properties.
fn started(project: &Path, properties: &Properties, options: &Options) -> Result<Launchable, Failure> {
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
    // `dotnet exec app.dll`, where a project has no app host.
    let executes = by_dotnet
        && arguments.get(..2).is_some_and(|words| words == ["exec".into(), target.display().to_string()]);
    if executes {
        arguments.drain(..2);
    }
    let is_usual = command == host || executes || command.as_os_str().is_empty();
    let path = match (is_program, is_usual) {
        (true, true) if !target.is_file() => {
            let name = target.display();
            let for_what = options.described();
            return failed(
                format!("it is not built{for_what}: there is no `{name}`"),
                "leave `noBuild` out to have it built, or check `configuration`, `framework` and `runtimeIdentifier`",
            );
        }
        (true, true) if properties.is("SelfContained") && command.is_file() => command,
        (true, true) => target,
        (_, false) if by_dotnet => {
            // A server of its own starts the project (Blazor's, for one): `dotnet server.dll …`.
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
                "it is a library, which has nothing to start".into(),
                "launch the project of a program that uses it",
            );
        }
    };
    let arguments = arguments.into_iter().map(OsString::from).collect();
    Ok(Launchable { path, arguments, project: project.to_path_buf(), cwd })
}

fn of_solution(
    sdk: &Sdk<'_>,
    solution: &Path,
    options: &Options,
    answers: bool,
) -> Result<Launchable, Failure> {
    let built = if options.no_build { None } else { Some(sdk.build(solution, options, false)?.outputs) };
    let projects = sdk.projects(solution)?;
    let mut programs = Vec::new();
    for project in &projects {
        let is_program = match &built {
            Some(outputs) => {
                outputs.iter().any(|output| is_its(output, project) && is_runnable(&output.assembly))
            }
            None if answers => {
                let properties = sdk.properties(project, options)?;
                let kind = properties.text("OutputType");
                ["Exe", "WinExe"].contains(&kind) && !properties.is("IsTestProject")
            }
            None => true,
        };
        if is_program {
            programs.push(project.clone());
        }
    }
    match programs.as_slice() {
        [project] if answers => of_project(sdk, project, &Options { no_build: true, ..options.clone() }),
        [project] => {
            let outputs = built.unwrap_or_default();
            Ok(assembly_of(project, newest(project, &outputs, options)?))
        }
        [] => {
            let what = match projects.len() {
                0 => "it has no projects".to_owned(),
                count => format!("none of its {count} projects is a program: they are libraries or tests"),
            };
            let message = format!("cannot start `{}`: {what}", solution.display());
            Err(Failure::new(ErrorCode::LaunchFailed, message)
                .hint("name a project or a built .dll as `program`; tests are run by the test tools"))
        }
        programs => Err(several(solution, programs, folder_of(solution))),
    }
}

/// Whether an output is this project's.
fn is_its(output: &Output, project: &Path) -> bool {
    project.file_stem().is_some_and(|name| name == output.project.as_str())
}

/// Whether an assembly is a program, and not one of tests, whose packages bring a program of their own.
fn is_runnable(assembly: &Path) -> bool {
    let dependencies = std::fs::read_to_string(assembly.with_extension("deps.json")).unwrap_or_default();
    let tests = ["\"Microsoft.NET.Test.Sdk/", "\"Microsoft.Testing.Platform/"];
    assembly.with_extension("runtimeconfig.json").exists()
        && !tests.iter().any(|name| dependencies.contains(name))
}

fn assembly_of(project: &Path, assembly: PathBuf) -> Launchable {
    Launchable { path: assembly, arguments: Vec::new(), project: project.to_path_buf(), cwd: None }
}

/// For SDKs that cannot be asked: the program that a build of a project names; where it names none, the newest assembly with a
/// `.runtimeconfig.json` under the project's `bin`.
fn newest(project: &Path, outputs: &[Output], options: &Options) -> Result<PathBuf, Failure> {
    let written = |path: &Path| path.metadata().and_then(|found| found.modified()).ok();
    let is_meant = |path: &Path| {
        let parts = [&options.configuration, &options.framework, &options.runtime].into_iter().flatten();
        parts.into_iter().all(|part| path.iter().any(|folder| folder.eq_ignore_ascii_case(part)))
    };
    let programs = outputs.iter().filter(|output| is_its(output, project)).map(|output| &output.assembly);
    let programs =
        programs.filter(|path| path.with_extension("runtimeconfig.json").exists() && is_meant(path));
    if let Some(program) = programs.max_by_key(|path| written(path)) {
        return Ok(program.clone());
    }
    let mut newest: Option<(std::time::SystemTime, PathBuf)> = None;
    let mut folders = vec![(folder_of(project).join("bin"), 0)];
    while let Some((folder, depth)) = folders.pop() {
        for file in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = file.path();
            if path.is_dir() {
                if depth < 6 {
                    folders.push((path, depth + 1));
                }
                continue;
            }
            let Some(stem) = path.to_str().and_then(|path| path.strip_suffix(".runtimeconfig.json")) else {
                continue;
            };
            let assembly = PathBuf::from(format!("{stem}.dll"));
            let fits = assembly.file_stem() == project.file_stem() && is_meant(&assembly);
            if let Some(when) = written(&assembly)
                && fits
                && newest.as_ref().is_none_or(|(newer, _)| when > *newer)
            {
                newest = Some((when, assembly));
            }
        }
    }
    newest.map(|(_, assembly)| assembly).ok_or_else(|| {
        let built = if options.no_build { "is not built" } else { "was built" };
        let for_what = options.described();
        let message =
            format!("`{}` {built}{for_what}, and no program was found under `bin`", project.display());
        Failure::new(ErrorCode::LaunchFailed, message)
            .hint("name the built .dll as `program`; libraries cannot be launched")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_is_known_by_its_name_its_folder_and_its_first_lines() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            path
        };
        let of = |path: &Path| Kind::of(path, Some(folder.path()));
        let loose = file("loose/hello.cs", "Console.WriteLine();\n");
        assert_eq!(of(&loose).unwrap(), Some(Kind::File(loose.clone())));
        let project = file("app/app.csproj", "<Project />");
        let source = file("app/src/Program.cs", "return 0;\n");
        assert_eq!(of(&source).unwrap(), Some(Kind::Project(project.clone())));
        assert_eq!(of(&folder.path().join("app")).unwrap(), Some(Kind::Project(project)));
        let own = file("app/src/tool.cs", "\u{feff}#!/usr/bin/env dotnet\nreturn 0;\n");
        assert_eq!(of(&own).unwrap(), Some(Kind::File(own)));
        let script = file("bin/hello", "#!/usr/bin/env -S dotnet run\nreturn 0;\n");
        assert_eq!(of(&script).unwrap(), Some(Kind::File(script)));
        let solution = file("all.SLNX", "<Solution />");
        assert_eq!(of(folder.path()).unwrap(), Some(Kind::Solution(solution)));
        for other in [file("app.dll", ""), file("tool", "#!/bin/sh\ndotnet run\n"), file("empty", "")] {
            assert_eq!(of(&other).unwrap(), None, "{other:?}");
        }
        let second = file("app/second.fsproj", "<Project />");
        let several = of(&folder.path().join("app")).unwrap_err();
        assert!(several.message.ends_with("has several programs: app.csproj, second.fsproj"), "{several}");
        assert!(of(&source).is_err() && of(&second).is_ok());
        assert!(of(&folder.path().join("bin")).unwrap_err().message.contains("no .NET project"));
    }

    #[test]
    fn without_answers_the_newest_build_that_fits_is_started() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("shop.csproj");
        let build = |part: &str| {
            let place = folder.path().join("bin").join(part);
            std::fs::create_dir_all(&place).unwrap();
            std::fs::write(place.join("shop.dll"), "").unwrap();
            std::fs::write(place.join("shop.runtimeconfig.json"), "{}").unwrap();
            place.join("shop.dll")
        };
        let options =
            |configuration: &str| Options { configuration: Some(configuration.into()), ..Options::default() };
        assert!(newest(&project, &[], &Options::default()).is_err());
        let debug = build("Debug/net9.0");
        let release = build("Release/net9.0");
        assert_eq!(newest(&project, &[], &options("debug")).unwrap(), debug);
        assert_eq!(newest(&project, &[], &options("Release")).unwrap(), release);
        // What the build itself says counts more than what is newer.
        let said = Output { project: "shop".into(), assembly: debug.clone() };
        assert_eq!(newest(&project, &[said], &Options::default()).unwrap(), debug);
    }

    #[test]
    fn questions_build_nothing_and_keep_what_sets_properties() {
        let options = Options {
            configuration: Some("Release".into()),
            framework: Some("net10.0".into()),
            arguments: ["-p:X=1", "--no-restore", "-t:Clean"].map(String::from).to_vec(),
            ..Options::default()
        };
        assert_eq!(options.of_question(), ["-c", "Release", "-f", "net10.0", "-p:X=1"]);
        assert_eq!(options.of_build().len(), 7);
        assert_eq!(options.described(), " for Release, net10.0");
    }
}
