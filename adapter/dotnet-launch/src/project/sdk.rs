//! Commands of the .NET SDK: a build with its progress and errors, and the evaluation of a project's
//! properties. Not here: the choice of a project and of its command ([`super`]), and parsing a build's output
//! ([`super::diagnostics`]).

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use serde_json::Value;
use tandem_registry::ScratchFolder;
use tandem_wire::Failure;

use super::BuildOptions;
use super::diagnostics::{self, Output};
use tandem_engine::builds::{self, BuildProgress, EventSink, OutputTail};

/// How long a build may take.
const BUILD_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// Time limit of an evaluation by MSBuild. The first after an installation is slow.
const QUERY_TIMEOUT: Duration = Duration::from_secs(2 * 60);
/// Most lines of an answer that are kept.
const MAX_LINES: usize = 10_000;
/// The first SDK whose MSBuild evaluates properties during a build (17.8).
const MIN_PROPERTY_SDK: u32 = 8;

/// Properties of a project that are evaluated.
const PROPERTIES: [&str; 12] = [
    "TargetPath",
    "TargetFramework",
    "TargetFrameworks",
    "TargetFrameworkIdentifier",
    "OutputType",
    "SelfContained",
    "RunCommand",
    "RunArguments",
    "RunWorkingDirectory",
    "IsTestProject",
    "IsTestingPlatformApplication",
    "Configuration",
];

/// Properties of a project that MSBuild has evaluated, by the names of [`PROPERTIES`].
#[derive(Debug, Default)]
pub(super) struct Properties(Value);

impl Properties {
    /// These properties, for tests.
    #[cfg(test)]
    pub(super) fn of(answer: Value) -> Self {
        Self(answer)
    }

    /// The value of a property, empty if it has none.
    pub(super) fn text(&self, name: &str) -> &str {
        self.0[name].as_str().unwrap_or_default().trim()
    }

    /// Whether a property is `true`, ignoring case.
    pub(super) fn is(&self, name: &str) -> bool {
        self.text(name).eq_ignore_ascii_case("true")
    }

    fn read(text: &str) -> Option<Self> {
        let mut answer: Value = serde_json::from_str(text).ok()?;
        Some(Self(answer.get_mut("Properties")?.take()))
    }
}

/// Outputs and properties of the projects that a build has built.
#[derive(Debug, Default)]
pub struct BuiltProjects {
    /// Properties of a project, if the SDK can report them.
    pub(super) properties: Option<Properties>,
    pub(super) outputs: Vec<Output>,
}

/// An SDK, found by its `dotnet`.
pub struct DotnetSdk<'a> {
    pub dotnet: PathBuf,
    /// The launch's own variables; `None` unsets.
    pub env: Vec<(String, Option<String>)>,
    pub send_event: EventSink<'a>,
    pub give_up: &'a dyn Fn() -> bool,
}

impl DotnetSdk<'_> {
    /// The major version of the SDK that is used in a folder; 0 if there is none, which a build then reports.
    ///
    /// # Errors
    /// `CANCELLED` if the launch was cancelled.
    pub(super) fn version(&self, folder: &Path) -> Result<u32, Failure> {
        let answer = self.ask(folder, ["--version"].map(String::from).to_vec())?;
        let version = answer
            .filter(|(status, _)| status.success())
            .and_then(|(_, lines)| lines.iter().find_map(|line| line.trim().split_once('.')?.0.parse().ok()));
        Ok(version.unwrap_or(0))
    }

    /// Whether an SDK of this version can report what it will start.
    pub(super) const fn reports_outputs(version: u32) -> bool {
        version >= MIN_PROPERTY_SDK
    }

    /// Builds a project, solution or folder; with `asks`, returns its properties.
    ///
    /// # Errors
    /// `BUILD_FAILED` with `data.diagnostics`, `CANCELLED`.
    pub fn build(&self, target: &Path, options: &BuildOptions, asks: bool) -> Result<BuiltProjects, Failure> {
        let failed = |reason: String| builds::failure(target, reason);
        let mut arguments = options.build_command(target);
        arguments.extend(["-nologo", "-v:minimal", "-consoleLoggerParameters:NoSummary"].map(String::from));
        let scratch = match asks {
            true => Some(
                ScratchFolder::new(&tandem_registry::folder()).map_err(|error| failed(error.to_string()))?,
            ),
            false => None,
        };
        let answer = scratch.as_ref().map(|scratch| scratch.path().join("properties.json"));
        if let Some(answer) = &answer {
            // MSBuild evaluates properties only for a named target.
            arguments.extend(["-t:Build".into(), format!("-getProperty:{}", PROPERTIES.join(","))]);
            arguments.push(format!("-getResultOutputFile:{}", answer.display()));
        }
        arguments.push(target.display().to_string());
        let folder = folder_of(target);
        let (mut diagnostics, mut printed, mut outputs) = (Vec::new(), OutputTail::default(), Vec::new());
        let telling = BuildProgress::begin(self.send_event, target);
        let status = self.run(folder, arguments, BUILD_TIMEOUT, &failed, &mut |line| {
            telling.line(line);
            outputs.extend(diagnostics::output(line));
            if let Some(found) = diagnostics::diagnostic(line, target, folder)
                && !diagnostics.contains(&found)
                && diagnostics.len() < MAX_LINES
            {
                diagnostics.push(found);
            }
            printed.push(line);
        })?;
        if !status.success() {
            return Err(builds::build_failure(target, &diagnostics, &printed));
        }
        let properties = answer.and_then(|file| Properties::read(&std::fs::read_to_string(file).ok()?));
        Ok(BuiltProjects { properties, outputs })
    }

    /// The properties of a project's build, without building it.
    ///
    /// # Errors
    /// `BUILD_FAILED` with the SDK's errors, `CANCELLED`.
    pub(super) fn properties(&self, project: &Path, options: &BuildOptions) -> Result<Properties, Failure> {
        let mut arguments = options.evaluation_command(project);
        arguments.push("-nologo".into());
        arguments.push(format!("-getProperty:{}", PROPERTIES.join(",")));
        arguments.push(project.display().to_string());
        let answer = self.ask(folder_of(project), arguments)?;
        let (status, lines) = answer.unwrap_or_default();
        let text = lines.join("\n");
        let json = text.find('{').and_then(|begin| text.get(begin..)).unwrap_or_default();
        match Properties::read(json) {
            Some(properties) if status.success() => Ok(properties),
            _ => {
                let diagnostics = lines
                    .iter()
                    .filter_map(|line| diagnostics::diagnostic(line, project, folder_of(project)))
                    .collect::<Vec<_>>();
                let mut printed = OutputTail::default();
                lines.iter().for_each(|line| printed.push(line));
                Err(builds::build_failure(project, &diagnostics, &printed))
            }
        }
    }

    /// The projects of a solution, in its order.
    ///
    /// # Errors
    /// `CANCELLED` if the launch was cancelled.
    pub(super) fn projects(&self, solution: &Path) -> Result<Vec<PathBuf>, Failure> {
        let folder = folder_of(solution);
        let arguments = vec!["sln".to_owned(), solution.display().to_string(), "list".into()];
        let (_, lines) = self.ask(folder, arguments)?.unwrap_or_default();
        let is_project = |line: &&String| line.trim().ends_with("proj");
        Ok(lines.iter().filter(is_project).map(|line| folder.join(line.trim().replace('\\', "/"))).collect())
    }

    /// The output lines of a command and its exit status; `None` if it could not be run.
    fn ask(
        &self,
        folder: &Path,
        arguments: Vec<String>,
    ) -> Result<Option<(ExitStatus, Vec<String>)>, Failure> {
        let mut lines = Vec::new();
        let failed = |reason: String| builds::failure(folder, reason);
        let status = self.run(folder, arguments, QUERY_TIMEOUT, &failed, &mut |line| {
            if lines.len() < MAX_LINES {
                lines.push(line.to_owned());
            }
        });
        match status {
            Ok(status) => Ok(Some((status, lines))),
            Err(failure) if failure.code == tandem_wire::ErrorCode::Cancelled => Err(failure),
            Err(failure) => {
                tracing::debug!(%failure, "the .NET SDK does not answer");
                Ok(None)
            }
        }
    }

    fn run(
        &self,
        folder: &Path,
        arguments: Vec<String>,
        limit: Duration,
        failed: &dyn Fn(String) -> Failure,
        each: &mut dyn FnMut(&str),
    ) -> Result<ExitStatus, Failure> {
        let mut command = Command::new(&self.dotnet);
        command.args(arguments).current_dir(folder);
        for (name, value) in &self.env {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        // Build servers would outlive the session.
        command.env("MSBUILDDISABLENODEREUSE", "1").env("UseSharedCompilation", "false");
        command.env("DOTNET_CLI_TELEMETRY_OPTOUT", "1").env("DOTNET_NOLOGO", "1");
        // A build ends before profiles pay: without them it takes a quarter less of the processor.
        command.env("DOTNET_TieredPGO", "0");
        builds::command::run(command, limit, self.give_up, failed, each)
    }
}

/// Base of relative names of a target.
pub(super) fn folder_of(target: &Path) -> &Path {
    if target.is_dir() { target } else { target.parent().unwrap_or(target) }
}
