//! The build of .NET test projects, and the description of each by MSBuild: a targets file of Tandem, which
//! every project imports, writes it. So one run of MSBuild suffices for a solution with several target
//! frameworks.
//!
//! Not here: the tests of a project ([`super::mtp`], [`super::vstest`]).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tandem_wire::{ErrorCode, Failure};
use tandem_workspace::bounded;
use tandem_workspace::build::readers::OutputParser;
use tandem_workspace::build::steps::{BuildStep, dotnet_build, dotnet_command};
use tandem_workspace::process::ProcessCommand;

use crate::run::FrameworkRun;

/// A larger description is not read.
const MAX_DESCRIPTION: u64 = 1 << 20;

/// Written beside the build; a project for several target frameworks is queried for each.
const INNER: &str = r#"<Project>
  <Target Name="TandemDescribeTests" AfterTargets="Build"
      Condition="'$(TargetPath)' != ''
        and ('$(IsTestProject)' == 'true' or '$(IsTestingPlatformApplication)' == 'true')">
    <ItemGroup>
      <_TandemLine Include="project=$([MSBuild]::Escape('$(MSBuildProjectFullPath)'))" />
      <_TandemLine Include="target=$([MSBuild]::Escape('$(TargetPath)'))" />
      <_TandemLine Include="framework=$(TargetFramework)" />
      <_TandemLine Include="identifier=$(TargetFrameworkIdentifier)" />
      <_TandemLine Include="frameworks=$([MSBuild]::Escape('$(TargetFrameworks)'))" />
      <_TandemLine Include="platform=$(IsTestingPlatformApplication)" />
      <_TandemLine Include="console=$([MSBuild]::Escape('$(VSTestConsolePath)'))" />
      <_TandemLine Include="settings=$([MSBuild]::Escape('$(RunSettingsFilePath)'))" />
      <_TandemLine Include="arguments=$([MSBuild]::Escape('$(TestingPlatformCommandLineArguments)'))" />
      <_TandemLine Include="cwd=$([MSBuild]::Escape('$(RunWorkingDirectory)'))" />
    </ItemGroup>
    <WriteLinesToFile File="$(TandemTestsFolder)/$([System.Guid]::NewGuid()).txt"
      Lines="@(_TandemLine)" Overwrite="true" />
  </Target>
</Project>
"#;
const OUTER: &str = r#"<Project>
  <Target Name="TandemDescribeTests">
    <ItemGroup><_TandemFramework Include="$(TargetFrameworks)" /></ItemGroup>
    <MSBuild Projects="$(MSBuildProjectFullPath)" Targets="TandemDescribeTests"
      Properties="TargetFramework=%(_TandemFramework.Identity)" />
  </Target>
</Project>
"#;

/// A project of tests as it was built for one target framework.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TestProject {
    /// Project file of the tests.
    pub project: PathBuf,
    /// Its path below what was named, where that has several projects of tests.
    pub name: Option<String>,
    /// Path of the built assembly.
    pub target: PathBuf,
    /// `net8.0`, where the project is built for several.
    pub framework: Option<String>,
    /// Whether it is a program of Microsoft.Testing.Platform; else VSTest runs it.
    pub is_platform: bool,
    /// Path of VSTest's console program.
    pub console: PathBuf,
    /// A settings file that the project names.
    pub settings: Option<PathBuf>,
    /// Arguments that the project has for its program.
    pub arguments: Vec<String>,
    /// Working folder of its program.
    pub folder: PathBuf,
}

/// The handle of a test: how to run it later.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DotnetTest {
    /// The project of the test.
    pub project: TestProject,
    /// The test, as its platform identifies it.
    pub key: DotnetTestKey,
}

/// A test, as its platform identifies it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum DotnetTestKey {
    /// The test case, which VSTest gets back unchanged.
    Vstest(Value),
    /// A node of Microsoft.Testing.Platform.
    Platform {
        /// The id, which the program gets back unchanged.
        uid: Value,
        /// The name that users see.
        shown: String,
    },
}

/// Arguments of `dotnet test`, split into those for the build and those for the tests.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct DotnetArguments {
    /// Arguments for MSBuild.
    pub build: Vec<String>,
    /// Arguments for the program of the tests.
    pub program: Vec<String>,
    /// Data collectors of VSTest.
    pub collectors: Vec<String>,
    /// Settings file that the arguments name.
    pub settings: Option<String>,
    /// Whether to skip the build.
    pub no_build: bool,
}

impl DotnetArguments {
    /// Reads the arguments that `dotnet test` would take.
    pub(super) fn read(words: &[String]) -> Self {
        let mut read = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let (name, value) = match word.split_once('=').filter(|_| word.starts_with("--")) {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (word.as_str(), None),
            };
            let mut value = || value.clone().or_else(|| words.next().cloned()).unwrap_or_default();
            match name {
                "--" => {
                    read.program.extend(words.by_ref().cloned());
                }
                "--no-build" => read.no_build = true,
                "--no-restore" | "--nologo" | "-nologo" => read.build.push(word.clone()),
                "-c" | "--configuration" => read.build.extend(["-c".into(), value()]),
                "-s" | "--settings" => read.settings = Some(value()),
                "--collect" => read.collectors.push(value()),
                _ if ["-p:", "/p:", "-property:", "--property:"]
                    .iter()
                    .any(|start| word.starts_with(start)) =>
                {
                    read.build.push(word.clone());
                }
                _ => read.program.push(word.clone()),
            }
        }
        read
    }
}

/// Builds the project or solution, unless `noBuild` is set, and describes its test projects;
/// empty when the build fails.
///
/// # Errors
/// When `dotnet` cannot be started; `INVALID_PARAMETER` when a project is not built yet and `noBuild` is set.
pub(super) async fn projects(run: &mut FrameworkRun<'_>) -> Result<Vec<TestProject>, Failure> {
    let arguments = DotnetArguments::read(&run.options.arguments);
    let builds = !(run.options.no_build || arguments.no_build);
    let folder = run.scratch.join("projects");
    std::fs::create_dir_all(&folder).map_err(|error| {
        let message = format!("cannot create `{}`: {error}", folder.display());
        Failure::new(ErrorCode::IoFailed, message)
    })?;
    run.write_file("inner.targets", INNER)?;
    run.write_file("outer.targets", OUTER)?;
    let command = if builds && arguments.build.is_empty() {
        dotnet_build(run.project)
    } else if builds {
        dotnet_command(run.project, "build").args(&arguments.build)
    } else {
        let properties =
            arguments.build.iter().filter(|word| word.starts_with(['-', '/']) && word.contains(':'));
        dotnet_command(run.project, "msbuild").arg("-t:TandemDescribeTests").args(properties)
    };
    let command = match &run.options.configuration {
        Some(name) => command.arg(format!("-p:Configuration={name}")),
        None => command,
    };
    let command = add_description_targets(command, run.scratch, &folder);
    let name = run.project.file.as_ref().and_then(|file| file.file_name()).unwrap_or_default();
    let shown = if builds { format!("dotnet build {}", name.to_string_lossy()) } else { String::new() };
    let step = BuildStep { command, reader: OutputParser::compiler("msbuild") };
    if !run.build(step, shown.trim_end()).await? {
        return Ok(Vec::new());
    }
    let mut found = select_framework(read(&folder), run.selection.framework.as_deref())?;
    name_projects(&mut found, &run.project.folder);
    if let Some(missing) = found.iter().find(|one| !one.target.is_file()) {
        let message = format!(
            "`{}` is not built yet: there is no `{}`",
            missing.project.display(),
            missing.target.display()
        );
        return Err(Failure::invalid(message).hint("omit `noBuild`"));
    }
    Ok(found)
}

fn add_description_targets(command: ProcessCommand, scratch: &Path, folder: &Path) -> ProcessCommand {
    let scratch = scratch.display();
    command
        .arg(format!("-p:CustomAfterMicrosoftCommonTargets={scratch}/inner.targets"))
        .arg(format!("-p:CustomAfterMicrosoftCommonCrossTargetingTargets={scratch}/outer.targets"))
        .arg(format!("-p:TandemTestsFolder={}", folder.display()))
}

/// A project as it was built, and the target framework that was for.
type DescribedProject = (TestProject, String);

/// Selects the projects of a target framework; all if none is given.
fn select_framework(
    found: Vec<DescribedProject>,
    framework: Option<&str>,
) -> Result<Vec<TestProject>, Failure> {
    let all: BTreeSet<String> = found.iter().map(|(_, own)| own.clone()).collect();
    let is_selected = |own: &str| framework.is_none_or(|framework| own.eq_ignore_ascii_case(framework));
    let picked: Vec<TestProject> =
        found.into_iter().filter(|(_, own)| is_selected(own)).map(|(project, _)| project).collect();
    match framework {
        Some(framework) if picked.is_empty() && !all.is_empty() => {
            let all: Vec<String> = all.into_iter().collect();
            let message = format!("no project of tests is built for `{framework}`");
            Err(Failure::new(ErrorCode::NotFound, message)
                .hint(format!("`framework` may be {}", all.join(", "))))
        }
        _ => Ok(picked),
    }
}

/// Names the projects, where there are several.
fn name_projects(found: &mut [TestProject], folder: &Path) {
    let files: BTreeSet<PathBuf> = found.iter().map(|one| one.project.clone()).collect();
    for one in found.iter_mut().filter(|_| files.len() > 1) {
        let path = one.project.strip_prefix(folder).unwrap_or(&one.project);
        one.name = Some(path.display().to_string());
    }
}

/// The descriptions in a folder, in the order of the projects' paths and frameworks.
fn read(folder: &Path) -> Vec<DescribedProject> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let texts = files.filter_map(|file| bounded::read(&file.path(), MAX_DESCRIPTION).ok());
    let mut found: Vec<DescribedProject> =
        texts.filter_map(|text| parse_description(&String::from_utf8_lossy(&text))).collect();
    found
        .sort_by(|(left, _), (right, _)| (&left.project, &left.target).cmp(&(&right.project, &right.target)));
    found.dedup();
    found
}

fn parse_description(text: &str) -> Option<DescribedProject> {
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?;
        Some(line.trim()).filter(|value| !value.is_empty())
    };
    // .NET Framework needs Windows.
    if value("identifier").is_some_and(|name| name != ".NETCoreApp") {
        return None;
    }
    let project = PathBuf::from(value("project")?);
    let folder = project.parent().map(Path::to_owned).unwrap_or_default();
    let framework = value("framework").unwrap_or_default().to_owned();
    let project = TestProject {
        name: None,
        target: PathBuf::from(value("target")?),
        framework: value("frameworks").map(|_| framework.clone()),
        is_platform: value("platform").is_some_and(|is| is.eq_ignore_ascii_case("true")),
        console: value("console").map(PathBuf::from).unwrap_or_default(),
        settings: value("settings").map(|file| folder.join(file)),
        arguments: value("arguments")
            .into_iter()
            .flat_map(str::split_whitespace)
            .map(str::to_owned)
            .collect(),
        folder: value("cwd").map_or(folder.clone(), |cwd| folder.join(cwd)),
        project,
    };
    Some((project, framework))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_says_what_a_project_of_tests_is() {
        let text = "project=/w/a/a.csproj\ntarget=/w/a/bin/a.dll\nframework=net10.0\n\
            identifier=.NETCoreApp\nframeworks=\n\
            platform=true\nconsole=/sdk/vstest.console.dll\nsettings=\narguments=--no-banner  --x\ncwd=\n";
        let (found, built_for) = parse_description(text).unwrap();
        assert_eq!(built_for, "net10.0");
        assert_eq!((found.framework, found.is_platform), (None, true));
        assert_eq!(
            (found.folder, found.arguments),
            ("/w/a".into(), vec!["--no-banner".into(), "--x".into()])
        );
        let (several, _) =
            parse_description(&text.replace("frameworks=", "frameworks=net8.0;net10.0")).unwrap();
        assert_eq!(several.framework.as_deref(), Some("net10.0"));
        assert_eq!(parse_description(&text.replace(".NETCoreApp", ".NETFramework")), None);
    }

    #[test]
    fn a_target_framework_that_nothing_is_built_for_is_refused_with_those_there_are() {
        let built = |project: &str, framework: &str| {
            (TestProject { project: project.into(), ..TestProject::default() }, framework.to_owned())
        };
        let found = vec![
            built("/w/a/a.csproj", "net10.0"),
            built("/w/a/a.csproj", "net8.0"),
            built("/w/b/b.csproj", "net10.0"),
        ];
        let mut some = select_framework(found.clone(), Some("NET10.0")).unwrap();
        name_projects(&mut some, Path::new("/w"));
        let names: Vec<_> = some.iter().filter_map(|one| one.name.as_deref()).collect();
        assert_eq!(names, ["a/a.csproj", "b/b.csproj"]);
        // One project for several frameworks needs no name.
        let mut one = select_framework(found[..2].to_vec(), None).unwrap();
        name_projects(&mut one, Path::new("/w"));
        assert!(one.len() == 2 && one.iter().all(|one| one.name.is_none()));
        let refused = select_framework(found, Some("net9.0")).unwrap_err();
        assert_eq!(refused.hint.as_deref(), Some("`framework` may be net10.0, net8.0"));
        assert_eq!(select_framework(Vec::new(), Some("net9.0")).unwrap(), []);
    }

    #[test]
    fn arguments_of_dotnet_test_are_understood() {
        let words = [
            "-c",
            "Release",
            "--no-build",
            "--collect=Code Coverage",
            "--settings",
            "a.runsettings",
            "-p:X=1",
            "--",
            "--coverage",
        ];
        let read = DotnetArguments::read(&words.map(str::to_owned));
        assert_eq!(read.build, ["-c", "Release", "-p:X=1"]);
        assert_eq!(
            (read.program, read.collectors),
            (vec!["--coverage".into()], vec!["Code Coverage".into()])
        );
        assert_eq!((read.settings.as_deref(), read.no_build), (Some("a.runsettings"), true));
    }
}
