//! Tests of CMake projects: those of ctest, and those of GoogleTest inside their programs. A GoogleTest
//! program runs once for all its selected tests; ctest runs everything else. Not here: the output of both
//! ([`ctest`], [`googletest`]).

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use tandem_wire::{ErrorCode, Failure};
use tandem_workspace::bounded;
use tandem_workspace::build::project::{BuildTool, Project};
use tandem_workspace::build::readers::OutputParser;
use tandem_workspace::build::steps::BuildStep;
use tandem_workspace::process::output::CapturedOutput;
use tandem_workspace::process::{ProcessCommand, ProcessExit};

use crate::framework::{ChosenTests, TestFramework};
use crate::host::{BoxFuture, ProcessLaunch, Stops};
use crate::model::{TestItem, TestResult, TestStatus};
use crate::run::output::NullReader;
use crate::run::source::NoResultSource;
use crate::run::{FrameworkRun, ProcessPurpose};
use ctest::Ctest;
use googletest::GoogleTest;
use listing::{CtestEntry, CtestList};

mod ctest;
mod googletest;
mod listing;

/// Maximum length of a list of tests, in bytes.
const MAX_LIST: usize = 32 << 20;
/// A larger program is not looked through.
const MAX_PROGRAM: u64 = 512 << 20;
/// Processes that may crash in one program before the rest is given up.
const MAX_CRASHES: usize = 20;
/// An option that every program of GoogleTest knows.
const MARK: &[u8] = b"gtest_list_tests";

/// The debug adapter of such programs.
const ENGINE: &str = "lldb";

/// Tests of CMake projects.
pub(crate) struct Cmake;

/// The handle of a test: how to run it later.
#[derive(Debug, Clone, Default, PartialEq)]
struct CmakeTest {
    /// The program and its arguments.
    command: Vec<String>,
    folder: PathBuf,
    env: Vec<String>,
    will_fail: bool,
    /// The name inside the program, if it is a test of GoogleTest.
    name: Option<String>,
}

/// The name of a test inside a program of GoogleTest.
fn name_of(test: &TestItem) -> Option<&str> {
    test.handle.get::<CmakeTest>()?.name.as_deref()
}

fn build_folder(run: &FrameworkRun<'_>) -> PathBuf {
    run.project.folder.join("build")
}

/// Whether the build folder has a build type: without one there is nothing for a debugger.
fn has_build_type(folder: &Path) -> bool {
    let cache = bounded::read(&folder.join("CMakeCache.txt"), MAX_PROGRAM).unwrap_or_default();
    let text = String::from_utf8_lossy(&cache);
    text.lines()
        .any(|line| line.strip_prefix("CMAKE_BUILD_TYPE:STRING=").is_some_and(|kind| !kind.is_empty()))
}

/// Configures and builds, unless `noBuild` is set. Returns whether there is something to run.
async fn build(run: &mut FrameworkRun<'_>) -> Result<bool, Failure> {
    let folder = build_folder(run);
    if run.options.no_build {
        if !folder.is_dir() {
            let message =
                format!("`{}` is not built yet: there is no folder `build`", run.project.folder.display());
            return Err(Failure::invalid(message).hint("omit `noBuild`"));
        }
        return Ok(true);
    }
    let mut configure = ProcessCommand::new("cmake", &run.project.folder).args(["-S", ".", "-B", "build"]);
    if !has_build_type(&folder) {
        let kind = run.options.configuration.as_deref().unwrap_or("Debug");
        configure = configure.arg(format!("-DCMAKE_BUILD_TYPE={kind}"));
    }
    let step = BuildStep { command: configure, reader: OutputParser::cmake() };
    if !run.build(step, "cmake -B build").await? {
        return Ok(false);
    }
    let command = ProcessCommand::new("cmake", &run.project.folder).args(["--build", "build", "--parallel"]);
    run.build(BuildStep { command, reader: OutputParser::cmake() }, "cmake --build build").await
}

async fn list_tests(run: &mut FrameworkRun<'_>) -> Result<Vec<TestItem>, Failure> {
    if !build(run).await? {
        return Ok(Vec::new());
    }
    let folder = build_folder(run);
    let command = ProcessCommand::new("ctest", &run.project.folder).args([
        "--test-dir",
        "build",
        "--show-only=json-v1",
    ]);
    let mut printed = CapturedOutput::new(MAX_LIST, 4 << 10);
    let ended = command.run(&mut printed, run.options.run_limit, run.cancel).await?;
    let errors = printed.err.text();
    let bytes = printed.out.whole().unwrap_or_default();
    let list: CtestList = serde_json::from_slice(&bytes).map_err(|error| {
        let message = format!("ctest does not list its tests ({ended}): {error}; {}", errors.trim());
        Failure::new(ErrorCode::CommandFailed, message).hint("ctest 3.14 or newer lists them")
    })?;
    let CtestList { tests: all, backtrace_graph: graph } = list;
    let all: Vec<CtestEntry> =
        all.into_iter().filter_map(|one| CtestEntry::of(one, &graph, &folder)).collect();
    let mut programs: HashMap<String, Option<Vec<TestItem>>> = HashMap::new();
    let mut tests = Vec::new();
    for one in &all {
        // ctest has not found its program, and fails it.
        let Some(program) = one.command.first().cloned() else {
            tests.push(one.test());
            continue;
        };
        if !programs.contains_key(&program) {
            let inside = match is_googletest(Path::new(&program)) {
                true => Some(googletest::list(run, &program, one).await?),
                false => None,
            };
            programs.insert(program.clone(), inside);
        }
        match (programs.get(&program).cloned().flatten(), one.discovered_test()) {
            // ctest has a test for each: its place is where GoogleTest says.
            (Some(inside), Some((_, name))) => {
                let mut test = one.test();
                if let Some(own) = inside.into_iter().find(|own| name_of(own) == Some(name.as_str())) {
                    test = TestItem { id: test.id, traits: test.traits, ..own };
                }
                tests.push(test);
            }
            // One of ctest's for the whole program.
            (Some(inside), None) => tests.extend(inside),
            (None, _) => tests.push(one.test()),
        }
    }
    Ok(tests)
}

/// Whether a program uses GoogleTest. Any other program would do its normal work if it were run for a list.
fn is_googletest(program: &Path) -> bool {
    bounded::read(program, MAX_PROGRAM).is_ok_and(|bytes| bytes.windows(MARK.len()).any(|part| part == MARK))
}

/// The process of a test, with its folder and environment.
fn command_of(run: &FrameworkRun<'_>, test: &TestItem) -> Option<ProcessCommand> {
    let handle = test.handle.get::<CmakeTest>()?;
    let (program, arguments) = handle.command.split_first()?;
    let mut command = ProcessCommand::new(program, &handle.folder).args(arguments);
    for pair in &handle.env {
        if let Some((name, value)) = pair.split_once('=') {
            command = command.env(name, value);
        }
    }
    Some(command.envs(&run.options.env))
}

/// Runs tests of one GoogleTest program; after a crash, runs those without a result once more.
async fn run_googletest(run: &mut FrameworkRun<'_>, tests: &[TestItem]) -> Result<(), Failure> {
    let debugs = run.host.is_debugger();
    let mut left: Vec<TestItem> = tests.to_vec();
    for _ in 0..MAX_CRASHES {
        let Some(first) = left.first() else { return Ok(()) };
        let Some(mut command) = command_of(run, first) else { return Ok(()) };
        let names: Vec<&str> = left.iter().filter_map(name_of).collect();
        command.arguments.clear();
        command = command.arg(format!("--gtest_filter={}", names.join(":"))).arg("--gtest_color=no");
        if tests.len() == 1 && tests.iter().all(|test| test.skipped.is_some()) {
            command = command.arg("--gtest_also_run_disabled_tests");
        }
        if debugs {
            command = command.args(["--gtest_break_on_failure", "--gtest_catch_exceptions=0"]);
        }
        let command = command.args(&run.options.arguments);
        let mut launch = ProcessLaunch::new(command, ENGINE);
        launch.stops = Stops { own_frames: true, preamble: googletest::PREAMBLE, ..Stops::default() };
        let mut reader = GoogleTest::new(&left);
        let purpose = ProcessPurpose::Run;
        let ended =
            run.process(purpose, launch, "ctest (GoogleTest)", &mut reader, &mut NoResultSource).await?;
        let before = left.len();
        left.retain(|test| !run.results.has_result(test));
        if ended.code < 128 || left.len() == before || debugs {
            // Arguments of a call may choose among the tests.
            if !debugs && run.options.arguments.is_empty() {
                left.iter().for_each(|test| run.results.finish_test(unrun_result(test, ended)));
            }
            break;
        }
    }
    Ok(())
}

/// The result of a test that its program has not run: it is disabled, or the program ended early, outside of
/// its tests.
fn unrun_result(test: &TestItem, ended: ProcessExit) -> TestResult {
    let (outcome, message) = match &test.skipped {
        Some(why) => (TestStatus::Skipped, why.clone()),
        None => (TestStatus::Failed, format!("did not run: its program ended with {ended} before")),
    };
    TestResult {
        id: test.id.clone(),
        name: test.name.clone(),
        outcome,
        message,
        file: test.file.clone(),
        line: test.line,
        ..TestResult::default()
    }
}

/// Runs these tests with ctest.
async fn run_ctest(run: &mut FrameworkRun<'_>, tests: &[TestItem]) -> Result<(), Failure> {
    let names: Vec<String> = tests.iter().map(|test| pattern(&test.id)).collect();
    let mut command = ProcessCommand::new("ctest", &run.project.folder)
        .args(["--test-dir", "build", "--output-on-failure", "-R"])
        .arg(format!("^({})$", names.join("|")));
    if let Some(limit) = run.options.test_limit {
        command = command.arg("--timeout").arg(limit.as_secs().max(1).to_string());
    }
    let command = command.args(&run.options.arguments).envs(&run.options.env);
    let mut reader = Ctest::new(tests);
    run.process(
        ProcessPurpose::RunDirectly,
        ProcessLaunch::new(command, ENGINE),
        "ctest",
        &mut reader,
        &mut NoResultSource,
    )
    .await
    .map(drop)
}

/// A name in CMake's regular expressions, which do not know every escape.
fn pattern(name: &str) -> String {
    let escape = |letter: char| match letter {
        '.' | '*' | '+' | '?' | '(' | ')' | '[' | ']' | '^' | '$' | '|' | '\\' => format!("\\{letter}"),
        letter => letter.to_string(),
    };
    name.chars().map(escape).collect()
}

/// The program of a test of ctest's, under a debugger. Its exit code is its result.
async fn debug_ctest(run: &mut FrameworkRun<'_>, test: &TestItem) -> Result<(), Failure> {
    let Some(command) = command_of(run, test) else { return Ok(()) };
    let mut launch = ProcessLaunch::new(command.args(&run.options.arguments), ENGINE);
    let note = "a test of ctest fails by its exit code, unless it aborts or crashes";
    launch.stops = Stops { note: Some(note), ..Stops::default() };
    let purpose = ProcessPurpose::Run;
    let ended = run.process(purpose, launch, "ctest", &mut NullReader, &mut NoResultSource).await?;
    let will_fail = test.handle.get::<CmakeTest>().is_some_and(|handle| handle.will_fail);
    let passed = ended.success() != will_fail;
    run.results.finish_test(TestResult {
        id: test.id.clone(),
        outcome: if passed { TestStatus::Passed } else { TestStatus::Failed },
        message: if passed { String::new() } else { format!("its program ended with {ended}") },
        ..TestResult::default()
    });
    Ok(())
}

async fn run_tests(run: &mut FrameworkRun<'_>, tests: &[TestItem]) -> Result<(), Failure> {
    let mut programs: Vec<(String, Vec<TestItem>)> = Vec::new();
    let mut others = Vec::new();
    for test in tests {
        let Some(handle) = test.handle.get::<CmakeTest>().filter(|handle| handle.name.is_some()) else {
            others.push(test.clone());
            continue;
        };
        let program = handle.command.first().map(String::as_str).unwrap_or_default();
        match programs.iter_mut().find(|(known, _)| known == program) {
            Some((_, own)) => own.push(test.clone()),
            None => programs.push((program.to_owned(), vec![test.clone()])),
        }
    }
    for (_, own) in &programs {
        run_googletest(run, own).await?;
    }
    if run.host.is_debugger() {
        for test in &others {
            debug_ctest(run, test).await?;
        }
    } else if !others.is_empty() {
        run_ctest(run, &others).await?;
    }
    Ok(())
}

impl TestFramework for Cmake {
    fn name(&self) -> &'static str {
        "cmake"
    }

    fn kind(&self) -> BuildTool {
        BuildTool::Cmake
    }

    fn detects(&self, _: &Project) -> bool {
        true
    }

    fn list<'a>(&'a self, run: &'a mut FrameworkRun<'_>) -> BoxFuture<'a, Result<Vec<TestItem>, Failure>> {
        Box::pin(list_tests(run))
    }

    fn run<'a>(
        &'a self,
        run: &'a mut FrameworkRun<'_>,
        chosen: &'a ChosenTests,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move { run_tests(run, chosen.tests()).await })
    }

    fn filters_the_list(&self) -> bool {
        true
    }

    /// Compares as `ctest -R` does: with a regular expression.
    fn matches(&self, filter: &str, test: &TestItem) -> bool {
        match regex::Regex::new(filter) {
            Ok(pattern) => pattern.is_match(&test.id),
            Err(_) => test.id.contains(filter),
        }
    }
}

#[cfg(test)]
mod tests;
