//! Tests of Python: pytest, with a plug-in that reports results, and unittest, with Tandem's own runner. Both
//! run in the project's own virtual environment when it has one. Not here: the parser of their
//! reports ([`crate::reports`]).

use std::path::{Path, PathBuf};

use serde::Serialize;
use tandem_wire::{ErrorCode, Failure};
use tandem_workspace::build::project::{BuildTool, Project};
use tandem_workspace::process::{ProcessCommand, ProcessExit};

use crate::framework::{ChosenTests, TestFramework};
use crate::host::{BoxFuture, ProcessLaunch, Stops};
use crate::model::TestItem;
use crate::reports::{ReportPipe, VARIABLE};
use crate::run::output::NullReader;
use crate::run::{FrameworkRun, ProcessPurpose};
use detection::is_unittest;
use refusal::{installation, refusal};

mod detection;
mod refusal;

/// More ids do not fit on a command line.
const MAX_IDS: usize = 200;
/// Names and contents of Tandem's helper scripts.
const HELPERS: [(&str, &str); 4] = [
    ("tandem_reports.py", include_str!("python/tandem_reports.py")),
    ("tandem_stop.py", include_str!("python/tandem_stop.py")),
    ("tandem_pytest.py", include_str!("python/tandem_pytest.py")),
    ("tandem_unittest.py", include_str!("python/tandem_unittest.py")),
];

/// Exit codes of pytest: it does not take its arguments, or does not know an id; no test was selected.
const USAGE_ERROR: i32 = 4;
const NO_TESTS: i32 = 5;
/// Exit code of unittest's runner when it does not take its arguments.
const UNKNOWN_ARGUMENT: i32 = 2;

/// The debug adapter of such programs.
const ENGINE: &str = "debugpy";

/// The test framework pytest.
pub(crate) struct Pytest;

/// The test framework unittest.
pub(crate) struct Unittest;

/// The Python that was chosen, else that of the virtual environment of the project or of a folder above.
fn python(run: &FrameworkRun<'_>) -> PathBuf {
    let folder = &run.project.folder;
    if let Some(chosen) = &run.options.python {
        // A bare name is searched for in PATH.
        return if chosen.contains('/') { folder.join(chosen) } else { PathBuf::from(chosen) };
    }
    python_above(folder).unwrap_or_else(|| PathBuf::from("python3"))
}

/// The nearest virtual environment: tests may be in a folder below the one that has it.
fn python_above(folder: &Path) -> Option<PathBuf> {
    let own = |above: &Path| [".venv/bin/python", "venv/bin/python"].map(|python| above.join(python));
    folder.ancestors().flat_map(own).find(|python| python.is_file())
}

/// A folder or a source that was named, and holds tests; a file that configures pytest does not.
fn scope(project: &Project) -> Option<&PathBuf> {
    project
        .file
        .as_ref()
        .filter(|file| file.is_dir() || file.extension().is_some_and(|ending| ending == "py"))
}

/// Puts our helpers where Python finds them, and a pipe for their reports.
fn prepare(run: &FrameworkRun<'_>, command: ProcessCommand) -> Result<(ProcessCommand, ReportPipe), Failure> {
    let (folder, reports) = run.prepare_helpers(&HELPERS)?;
    let chosen =
        run.options.env.iter().find(|(name, _)| name == "PYTHONPATH").and_then(|(_, value)| value.clone());
    let before = chosen.map(Into::into).or_else(|| std::env::var_os("PYTHONPATH")).unwrap_or_default();
    let mut path = folder.into_os_string();
    if !before.is_empty() {
        path.push(":");
        path.push(before);
    }
    let command = command.env("PYTHONUNBUFFERED", "1").env("NO_COLOR", "1").env(VARIABLE, reports.path());
    let command = command.envs(run.options.env.iter().filter(|(name, _)| name != "PYTHONPATH"));
    Ok((command.env("PYTHONPATH", path), reports))
}

/// The ids of these tests, on the command line or in a file.
fn with_ids(
    run: &FrameworkRun<'_>,
    command: ProcessCommand,
    tests: &[TestItem],
) -> Result<ProcessCommand, Failure> {
    let ids: Vec<&str> = tests.iter().map(|test| test.id.as_str()).collect();
    if ids.len() <= MAX_IDS {
        return Ok(command.args(ids));
    }
    let file = run.write_json("ids.json", &ids)?;
    let mut files: Vec<&str> =
        ids.iter().filter_map(|id| id.split("::").next()).filter(|id| id.ends_with(".py")).collect();
    files.dedup();
    Ok(command.args(files).env("TANDEM_TEST_IDS", file))
}

/// Our helpers pass the exception that failed a test to the debugger, as if it were uncaught.
fn stops() -> Stops {
    Stops { filters: vec![("uncaught", None)], ..Stops::default() }
}

/// Configures the launch of a module under a debugger.
fn set_up_debugging(run: &FrameworkRun<'_>, launch: &mut ProcessLaunch, module: Option<&str>) {
    let python = python(run);
    if python.is_absolute() || run.options.python.is_some() {
        launch.set_attribute("python", &[python]);
    }
    // The module or the program precedes the arguments.
    let skipped = if module.is_some() { 2 } else { 1 };
    let words = launch.command.arguments.iter().map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = words.collect();
    match module {
        Some(module) => {
            launch.set_attribute("module", module);
            launch.set_attribute("program", &None::<&str>);
        }
        None => {
            launch.set_attribute("program", &words.first());
        }
    }
    launch.set_attribute("args", words.get(skipped..).unwrap_or_default());
    let rules = foreign(run, &launch.command);
    launch.set_attribute("rules", &rules);
    launch.stops = stops();
}

/// A rule of debugpy: whether code below a path is the user's.
#[derive(Serialize)]
struct PathRule {
    path: String,
    include: bool,
}

/// Folders with code that is not the user's, besides those of installed packages: Tandem's helpers, and
/// folders that `PYTHONPATH` adds. An exception that passes through them does not belong to the test.
fn foreign(run: &FrameworkRun<'_>, command: &ProcessCommand) -> Vec<PathRule> {
    let path = command.environment.iter().rev().find(|(name, _)| name == "PYTHONPATH");
    let path = path.and_then(|(_, value)| value.clone()).unwrap_or_default();
    let folder = &run.project.folder;
    let outside =
        |entry: &PathBuf| entry.is_absolute() && !entry.starts_with(folder) && !folder.starts_with(entry);
    std::env::split_paths(&path)
        .filter(outside)
        .map(|entry| PathRule { path: format!("{}/**", entry.display()), include: false })
        .collect()
}

fn is_not_installed(run: &FrameworkRun<'_>) -> bool {
    run.report.output.text().contains("No module named pytest")
}

impl Pytest {
    fn command(run: &FrameworkRun<'_>) -> ProcessCommand {
        ProcessCommand::new(python(run), &run.project.folder).args([
            "-m",
            "pytest",
            "-p",
            "tandem_pytest",
            "--tb=short",
        ])
    }

    /// Runs pytest; returns its exit code and the tests that it listed.
    async fn pytest(
        run: &mut FrameworkRun<'_>,
        command: ProcessCommand,
        shown: &str,
        purpose: ProcessPurpose,
    ) -> Result<(ProcessExit, Vec<TestItem>), Failure> {
        let (command, mut reports) = prepare(run, command)?;
        let mut launch = ProcessLaunch::new(command, ENGINE);
        set_up_debugging(run, &mut launch, Some("pytest"));
        let ended = run.process(purpose, launch, shown, &mut NullReader, &mut reports).await?;
        let tests = run.collect(&mut reports, "pytest");
        if is_not_installed(run) {
            let python = python(run);
            let message = format!("pytest is not installed for `{}`", python.display());
            let hint = format!("install it: {}; or pass tool: \"unittest\"", installation(&python));
            return Err(Failure::new(ErrorCode::CommandFailed, message).hint(hint));
        }
        Ok((ended, tests))
    }
}

impl TestFramework for Pytest {
    fn name(&self) -> &'static str {
        "pytest"
    }

    fn kind(&self) -> BuildTool {
        BuildTool::Pytest
    }

    fn detects(&self, project: &Project) -> bool {
        !is_unittest(project)
    }

    fn list<'a>(&'a self, run: &'a mut FrameworkRun<'_>) -> BoxFuture<'a, Result<Vec<TestItem>, Failure>> {
        Box::pin(async move {
            let command = Self::command(run).args(["--collect-only", "-q"]).args(scope(run.project));
            let command = command.args(&run.options.arguments);
            let (ended, tests) = Self::pytest(run, command, "", ProcessPurpose::List).await?;
            let printed = run.report.output.text();
            if ended.code == USAGE_ERROR {
                run.status.refusal = refusal(&printed);
            }
            let is_explained = run.status.broken || !tests.is_empty();
            if !is_explained && !matches!(ended.code, 0 | USAGE_ERROR | NO_TESTS) {
                let last = printed.trim_end().lines().last().unwrap_or_default();
                let message = format!("pytest ended with {ended} before it listed tests: {last}");
                return Err(Failure::new(ErrorCode::CommandFailed, message));
            }
            Ok(tests)
        })
    }

    fn run<'a>(
        &'a self,
        run: &'a mut FrameworkRun<'_>,
        chosen: &'a ChosenTests,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            let mut command = Self::command(run);
            if run.host.is_debugger() {
                // Input and output belong to the session; failures are reported and need not be printed.
                command = command.args(["-s", "--no-header", "--tb=no"]);
            }
            let mut shown = "pytest".to_owned();
            command = match chosen {
                ChosenTests::Everything => command.args(scope(run.project)),
                ChosenTests::Filter(expression) => {
                    shown.push_str(&format!(" -k {expression:?}"));
                    command.arg("-k").arg(expression).args(scope(run.project))
                }
                ChosenTests::Tests(tests) => with_ids(run, command, tests)?,
            };
            command = command.args(&run.options.arguments);
            let (ended, _) = Self::pytest(run, command, &shown, ProcessPurpose::Run).await?;
            if ended.code >= 128 {
                run.fail_crashed_test(chosen.tests(), Some(ended), |test| test.id.clone());
            }
            if ended.code == USAGE_ERROR {
                run.status.refusal = refusal(&run.report.output.text());
            }
            // Neither an unknown id nor a run without tests is a broken build.
            if matches!(ended.code, USAGE_ERROR | NO_TESTS) && !run.status.broken {
                (run.status.code, run.status.first_code) = (0, None);
            }
            Ok(())
        })
    }

    fn plans(&self) -> bool {
        true
    }

    fn test_from_id(&self, project: &Project, text: &str) -> Option<TestItem> {
        id_of(project, text).map(|id| TestItem { id, ..TestItem::default() })
    }
}

/// The id of a test (`tests/test_a.py::test_b`) or of a source (`tests/test_a.py`); also of the dotted name
/// that JUnit files have for a test (`tests.test_a.test_b`).
fn id_of(project: &Project, text: &str) -> Option<String> {
    if let Some((file, rest)) = text.split_once("::") {
        // An id is relative to where pytest runs, or to the folder that was named.
        let named = project.file.as_ref().map(|folder| folder.join(file)).filter(|file| file.is_file());
        return Some(match named.filter(|_| !project.folder.join(file).is_file()) {
            Some(file) => format!("{}::{rest}", file.display()),
            None => text.to_owned(),
        });
    }
    if text.ends_with(".py") {
        let named = project.file.as_ref().map(|folder| folder.join(text));
        let source =
            [Some(project.folder.join(text)), named].into_iter().flatten().find(|file| file.is_file())?;
        return Some(source.strip_prefix(&project.folder).unwrap_or(&source).display().to_string());
    }
    let dotted = text.split('[').next().unwrap_or_default();
    dotted.match_indices('.').find_map(|(at, _)| {
        let (module, rest) = (text.get(..at)?, text.get(at + 1..)?);
        let file = format!("{}.py", module.replace('.', "/"));
        let (names, parameters) = rest.split_at(rest.find('[').unwrap_or(rest.len()));
        project
            .folder
            .join(&file)
            .is_file()
            .then(|| format!("{file}::{}{parameters}", names.replace('.', "::")))
    })
}

impl Unittest {
    async fn unittest(
        run: &mut FrameworkRun<'_>,
        purpose: ProcessPurpose,
        tests: &[TestItem],
    ) -> Result<Vec<TestItem>, Failure> {
        let start = scope(run.project).unwrap_or(&run.project.folder).clone();
        let helper = run.scratch.join("helpers/tandem_unittest.py");
        let mode = match purpose {
            ProcessPurpose::List => "list",
            ProcessPurpose::Run | ProcessPurpose::RunDirectly => "run",
        };
        let command = ProcessCommand::new(python(run), &run.project.folder).arg(helper).arg(mode).arg(start);
        let mut command = with_ids(run, command, tests)?.arg("--").args(&run.options.arguments);
        if run.host.is_debugger() {
            command = command.env("TANDEM_TEST_DEBUGGED", "1");
        }
        let (command, mut reports) = prepare(run, command)?;
        let mut launch = ProcessLaunch::new(command, ENGINE);
        set_up_debugging(run, &mut launch, None);
        let shown = "python -m unittest";
        let ended = run.process(purpose, launch, shown, &mut NullReader, &mut reports).await?;
        if ended.code >= 128 {
            run.fail_crashed_test(tests, Some(ended), |test| test.id.clone());
        }
        if ended.code == UNKNOWN_ARGUMENT
            && let Some(reason) = refusal(&run.report.output.text())
        {
            let message = format!("unittest does not take its arguments: {reason}");
            return Err(Failure::invalid(message).hint("`args` takes those of `python -m unittest`"));
        }
        Ok(run.collect(&mut reports, "unittest"))
    }
}

impl TestFramework for Unittest {
    fn name(&self) -> &'static str {
        "unittest"
    }

    fn kind(&self) -> BuildTool {
        BuildTool::Pytest
    }

    fn detects(&self, _: &Project) -> bool {
        true
    }

    fn list<'a>(&'a self, run: &'a mut FrameworkRun<'_>) -> BoxFuture<'a, Result<Vec<TestItem>, Failure>> {
        Box::pin(Self::unittest(run, ProcessPurpose::List, &[]))
    }

    fn run<'a>(
        &'a self,
        run: &'a mut FrameworkRun<'_>,
        chosen: &'a ChosenTests,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move { Self::unittest(run, ProcessPurpose::Run, chosen.tests()).await.map(drop) })
    }

    fn plans(&self) -> bool {
        true
    }

    fn filters_the_list(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
