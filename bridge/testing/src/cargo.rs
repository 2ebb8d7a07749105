//! Tests of Rust: Cargo builds the test programs, and each runs separately with libtest's documented
//! options. So the process of each test is known, and a crash affects only the tests of its program.
//! rustdoc runs documentation tests.

use std::path::{Path, PathBuf};

use tandem_wire::Failure;
use tandem_workspace::build::project::{BuildTool, Project};
use tandem_workspace::build::readers::OutputParser;
use tandem_workspace::build::report::CargoArtifact;
use tandem_workspace::build::steps::BuildStep;
use tandem_workspace::process::output::CapturedOutput;
use tandem_workspace::process::{ProcessCommand, ProcessExit};

use crate::framework::{ChosenTests, TestFramework};
use crate::host::{BoxFuture, DirectLauncher, ProcessLaunch, Stops};
use crate::model::{TestHandle, TestItem};
use crate::run::FrameworkRun;
use crate::run::source::NoResultSource;
use libtest::Libtest;
use sources::CrateSources;

mod libtest;
mod sources;

/// Maximum length of a list of tests, in bytes.
const MAX_LIST: usize = 16 << 20;
/// Processes that may crash in one program of tests before the rest is given up.
const MAX_CRASHES: usize = 20;

/// Beginnings of libtest's lines before a test, and of Rust's after a panic.
const PREAMBLE: &[&str] = &["running ", "test ", "note: run with `RUST_BACKTRACE"];

/// The test framework of Rust: `cargo test`.
pub struct Cargo;

/// A debugger stops at each panic. In tests that must panic it stops only once a panic
/// is known to fail the test.
fn stops(are_to_panic: bool, is_known: bool) -> Stops {
    let note = match are_to_panic {
        true => "a test that should panic, and does not, has no location of its failure",
        false => "a test that returns an error does not panic: its result has the error",
    };
    let passes_by_it = are_to_panic && !is_known;
    let filters = if passes_by_it { Vec::new() } else { vec![("rust_panic", None)] };
    Stops { filters, retries: passes_by_it, note: Some(note), preamble: PREAMBLE, ..Stops::default() }
}

/// A test executable that cargo built.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TestExecutable {
    /// `package`, `package::name` of an integration test, `package::bin/name`.
    name: String,
    file: PathBuf,
    /// The package's folder, where its tests run.
    folder: PathBuf,
    /// Source file of its root module.
    source: PathBuf,
}

impl TestExecutable {
    fn of(artifact: CargoArtifact) -> Option<Self> {
        let CargoArtifact { manifest_path, package_id, target, profile, executable } = artifact;
        if !profile.test {
            return None;
        }
        let folder = PathBuf::from(manifest_path).parent()?.to_owned();
        let package = package(&package_id, &folder);
        let name = match target.kind.first()?.as_str() {
            "test" => format!("{package}::{}", target.name),
            kind @ ("bin" | "example" | "bench") => format!("{package}::{kind}/{}", target.name),
            _ => package,
        };
        Some(Self { name, file: PathBuf::from(executable?), folder, source: PathBuf::from(target.src_path) })
    }

    /// The command with the environment that `cargo test` sets.
    fn command(&self, run: &FrameworkRun<'_>) -> ProcessCommand {
        let mut command = ProcessCommand::new(&self.file, &self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder)
            .env("CARGO", "cargo")
            .env("RUST_BACKTRACE", std::env::var_os("RUST_BACKTRACE").unwrap_or_else(|| "0".into()));
        // Where the compiler's own libraries, and those of the workspace, are found.
        let deps = self.file.parent().map(Path::to_owned).unwrap_or_default();
        let own = [deps.parent().map(Path::to_owned).unwrap_or_default(), deps.clone()];
        let before = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let all =
            own.into_iter().chain(std::env::split_paths(&before).filter(|path| !path.as_os_str().is_empty()));
        if let Ok(path) = std::env::join_paths(all) {
            command = command.env("LD_LIBRARY_PATH", path);
        }
        for (name, value) in &run.options.env {
            command.environment.push((name.into(), value.as_ref().map(Into::into)));
        }
        command
    }
}

/// `path+file:///w/calc#0.1.0`, `path+file:///w#calc@0.1.0`, `calc 0.1.0 (path+…)`.
fn package(id: &str, folder: &Path) -> String {
    let own = || folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match id.rsplit_once('#') {
        Some((_, rest)) => rest.split_once('@').map_or_else(own, |(name, _)| name.to_owned()),
        None => id.split(' ').next().map_or_else(own, str::to_owned),
    }
}

/// Arguments for Cargo, and those for the programs.
fn arguments<'a>(run: &FrameworkRun<'a>) -> (&'a [String], &'a [String]) {
    let all = run.options.arguments.as_slice();
    match all.iter().position(|word| word == "--") {
        Some(at) => (all.get(..at).unwrap_or_default(), all.get(at + 1..).unwrap_or_default()),
        None => (all, &[]),
    }
}

fn cargo(run: &FrameworkRun<'_>) -> ProcessCommand {
    let mut command = ProcessCommand::new("cargo", &run.project.folder).arg("test");
    if let Some(file) = &run.project.file {
        let is_source = file.extension().is_some_and(|ending| ending == "rs");
        let stem = file.file_stem().unwrap_or_default();
        if !is_source {
            command = command.arg("--manifest-path").arg(file);
        } else if file.parent().is_some_and(|folder| folder.ends_with("tests")) {
            command = command.arg("--test").arg(stem);
        }
    }
    command.env("CARGO_TERM_COLOR", "never").env("CARGO_TERM_PROGRESS_WHEN", "never")
}

/// Builds the programs of tests.
async fn programs(run: &mut FrameworkRun<'_>) -> Result<Vec<TestExecutable>, Failure> {
    let (own, _) = arguments(run);
    let command = cargo(run).args(["--no-run", "--message-format=json"]).args(own);
    run.report.artifacts.clear();
    let step = BuildStep { command, reader: OutputParser::cargo(&run.project.folder) };
    if !run.build(step, "cargo test --no-run").await? {
        return Ok(Vec::new());
    }
    let mut programs: Vec<TestExecutable> =
        std::mem::take(&mut run.report.artifacts).into_iter().filter_map(TestExecutable::of).collect();
    // Cargo lists them in the order of compilation, which differs from build to build: sort them for paging.
    programs.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(programs)
}

/// Lists the names of the tests in a program.
async fn names(
    run: &FrameworkRun<'_>,
    program: &TestExecutable,
    more: &[&str],
) -> Result<Vec<String>, Failure> {
    let command = program.command(run).args(["--list", "--format", "terse"]).args(more);
    let mut printed = CapturedOutput::new(MAX_LIST, 1 << 10);
    command.run(&mut printed, run.options.run_limit, run.cancel).await?;
    let text = String::from_utf8_lossy(&printed.out.whole().unwrap_or_default()).into_owned();
    Ok(text.lines().filter_map(|line| line.strip_suffix(": test").map(str::to_owned)).collect())
}

async fn list_tests(run: &mut FrameworkRun<'_>) -> Result<Vec<TestItem>, Failure> {
    let mut tests = Vec::new();
    let programs = programs(run).await?;
    for program in &programs {
        let ignored = names(run, program, &["--ignored"]).await?;
        let mut sources = CrateSources::of(&program.source);
        for name in names(run, program, &[]).await? {
            let place = sources.find(&name);
            let why =
                || place.as_ref().and_then(|place| place.ignored.clone()).unwrap_or_else(|| "ignored".into());
            tests.push(TestItem {
                id: format!("{} {name}", program.name),
                file: place.as_ref().map(|place| place.file.display().to_string()),
                line: place.as_ref().map(|place| place.line),
                skipped: ignored.contains(&name).then(why),
                class: class_of(program, &name),
                handle: handle(program, &name, place.as_ref().is_some_and(|place| place.panics)),
                name: Some(name),
                ..TestItem::default()
            });
        }
    }
    if let Some(file) =
        run.project.file.as_ref().filter(|file| file.extension().is_some_and(|ending| ending == "rs"))
    {
        tests.retain(|test| test.file.as_deref().is_none_or(|own| Path::new(own) == file));
    }
    tests.extend(documentation(run, &programs).await?);
    Ok(tests)
}

/// Class of a test, such as `calc::tests`.
fn class_of(program: &TestExecutable, name: &str) -> String {
    match name.rsplit_once("::") {
        Some((module, _)) => format!("{}::{module}", program.name),
        None => program.name.clone(),
    }
}

/// The handle of a test: how to run it later.
struct CargoTest {
    /// The program of the test; a test in documentation has none.
    program: Option<TestExecutable>,
    /// The name of the test in its program.
    name: String,
    /// Whether it passes when it panics.
    panics: bool,
}

fn handle(program: &TestExecutable, name: &str, panics: bool) -> TestHandle {
    TestHandle::new(CargoTest { program: Some(program.clone()), name: name.to_owned(), panics })
}

fn program_of(test: &TestItem) -> Option<&TestExecutable> {
    test.handle.get::<CargoTest>()?.program.as_ref()
}

/// The name of a test in its program.
fn name_of(test: &TestItem) -> Option<&str> {
    test.handle.get::<CargoTest>().map(|handle| handle.name.as_str())
}

fn is_documentation(test: &TestItem) -> bool {
    test.handle.get::<CargoTest>().is_some_and(|handle| handle.program.is_none())
}

/// Whether a library has examples in its documentation; without any, rustdoc does not have to run.
fn has_documentation(programs: &[TestExecutable]) -> bool {
    programs.iter().any(|program| {
        program.source.file_name().is_some_and(|name| name == "lib.rs")
            && sources::has_examples(&program.source)
    })
}

/// The tests in documentation: `src/lib.rs - add (line 5)`.
async fn documentation(
    run: &mut FrameworkRun<'_>,
    programs: &[TestExecutable],
) -> Result<Vec<TestItem>, Failure> {
    if run.status.broken || !has_documentation(programs) {
        return Ok(Vec::new());
    }
    let (own, _) = arguments(run);
    let command = cargo(run).arg("--doc").args(own).args(["--", "--list", "--format", "terse"]);
    let mut printed = CapturedOutput::new(MAX_LIST, 8 << 10);
    command.run(&mut printed, run.options.run_limit, run.cancel).await?;
    let text = String::from_utf8_lossy(&printed.out.whole().unwrap_or_default()).into_owned();
    let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
    let test = |name: &str| {
        let (file, rest) = name.split_once(" - ").unwrap_or((name, ""));
        let line = rest.rsplit_once("(line ").and_then(|(_, line)| line.trim_end_matches(')').parse().ok());
        TestItem {
            id: format!("doc {name}"),
            name: Some(name.to_owned()),
            file: Some(run.project.folder.join(file).display().to_string()),
            line,
            class: "doc".into(),
            handle: TestHandle::new(CargoTest { program: None, name: name.to_owned(), panics: false }),
            ..TestItem::default()
        }
    };
    Ok(names.map(test).collect())
}

/// Runs tests of one program; all that match the filter if none is named. Under a debugger, tests that must
/// panic run separately, because the debugger would stop at the expected panics.
async fn run_program(
    run: &mut FrameworkRun<'_>,
    program: &TestExecutable,
    tests: &[TestItem],
    filter: Option<&str>,
) -> Result<(), Failure> {
    if !run.host.is_debugger() {
        return run_process(run, program, tests, filter).await;
    }
    let listed = match tests {
        [] => matching_tests(run, program, filter).await?,
        tests => tests.to_vec(),
    };
    let (panicking, others): (Vec<TestItem>, Vec<TestItem>) = listed.into_iter().partition(is_to_panic);
    if panicking.is_empty() {
        return run_process(run, program, tests, filter).await;
    }
    for part in [others, panicking].iter().filter(|part| !part.is_empty()) {
        run_process(run, program, part, None).await?;
    }
    Ok(())
}

/// The tests that a filter means, and what arguments for the program say besides.
async fn matching_tests(
    run: &FrameworkRun<'_>,
    program: &TestExecutable,
    filter: Option<&str>,
) -> Result<Vec<TestItem>, Failure> {
    let (_, own) = arguments(run);
    let more: Vec<&str> = filter.into_iter().chain(own.iter().map(String::as_str)).collect();
    let mut sources = CrateSources::of(&program.source);
    let test = |name: String| TestItem {
        id: format!("{} {name}", program.name),
        handle: handle(program, &name, sources.find(&name).is_some_and(|place| place.panics)),
        name: Some(name),
        ..TestItem::default()
    };
    Ok(names(run, program, &more).await?.into_iter().map(test).collect())
}

/// Whether a test passes when it panics.
fn is_to_panic(test: &TestItem) -> bool {
    test.handle.get::<CargoTest>().is_some_and(|handle| handle.panics)
}

/// Runs tests of one program in one process.
async fn run_process(
    run: &mut FrameworkRun<'_>,
    program: &TestExecutable,
    tests: &[TestItem],
    filter: Option<&str>,
) -> Result<(), Failure> {
    let (_, own) = arguments(run);
    let debugs = run.host.is_debugger();
    let names = tests.iter().filter_map(name_of);
    let mut command = program.command(run).args(filter);
    if !tests.is_empty() {
        command = command.arg("--exact").args(names);
        // A test that is named alone runs even if it is marked `#[ignore]`.
        if tests.len() == 1 && tests.iter().all(|test| test.skipped.is_some()) {
            command = command.arg("--include-ignored");
        }
    }
    // Of tests side by side libtest does not say which have begun.
    let alone = debugs || run.options.test_limit.is_some() || tests.len() == 1;
    if debugs {
        command = command.arg("--nocapture");
    }
    if alone && !own.iter().any(|word| word.starts_with("--test-threads")) {
        command = command.arg("--test-threads=1");
    }
    let command = command.args(own);
    let mut launch = ProcessLaunch::new(command, "lldb");
    launch.stops = stops(!tests.is_empty() && tests.iter().all(is_to_panic), run.options.known.is_some());
    let shown = match (filter, tests) {
        (Some(filter), _) => format!("cargo test {filter}"),
        (None, []) => "cargo test".to_owned(),
        (None, [one]) => format!("cargo test {}", one.name.as_deref().unwrap_or(&one.id)),
        (None, several) => format!("cargo test ({} tests)", several.len()),
    };
    let mut reader = Libtest::new(&program.name);
    let host = run.host;
    let ended = run.process(host, launch, &shown, &mut reader, &mut NoResultSource).await?;
    if (ended.code >= 128 || reader.is_cut()) && !debugs {
        rerun_after_crash(run, program, tests, filter, ended).await?;
    }
    Ok(())
}

/// Runs the tests without a result one at a time, after the test program crashed or a test ended it.
async fn rerun_after_crash(
    run: &mut FrameworkRun<'_>,
    program: &TestExecutable,
    tests: &[TestItem],
    filter: Option<&str>,
    ended: ProcessExit,
) -> Result<(), Failure> {
    let mut left: Vec<TestItem> = tests.to_vec();
    if left.is_empty() {
        let ignored = names(run, program, &["--ignored"]).await?;
        let all = names(run, program, &[]).await?;
        let meant = all
            .iter()
            .filter(|name| filter.is_none_or(|filter| name.contains(filter)) && !ignored.contains(name));
        left = meant
            .map(|name| TestItem {
                id: format!("{} {name}", program.name),
                name: Some(name.clone()),
                handle: handle(program, name, false),
                ..TestItem::default()
            })
            .collect();
    }
    for _ in 0..MAX_CRASHES {
        left.retain(|test| !run.results.has_result(test));
        if left.is_empty() {
            return Ok(());
        }
        let names = left.iter().filter_map(name_of);
        let command = program.command(run).arg("--exact").args(names).arg("--test-threads=1");
        let mut reader = Libtest::new(&program.name);
        let launch = ProcessLaunch::new(command, "lldb");
        let again = run
            .process(
                &DirectLauncher,
                launch,
                "cargo test -- --test-threads=1",
                &mut reader,
                &mut NoResultSource,
            )
            .await?;
        if again.code < 128 && !reader.is_cut() {
            break;
        }
    }
    left.retain(|test| !run.results.has_result(test));
    run.fail_crashed_test(&left, ended, |test| test.id.clone());
    run.status.code = ended.code;
    Ok(())
}

async fn run_documentation(
    run: &mut FrameworkRun<'_>,
    tests: &[TestItem],
    filter: Option<&str>,
) -> Result<(), Failure> {
    if run.host.is_debugger() {
        return Err(Failure::new(
            tandem_wire::ErrorCode::Unsupported,
            "tests in documentation cannot be debugged",
        )
        .hint("rustdoc builds and runs them by itself; put the code into a test of the crate"));
    }
    let (own, more) = arguments(run);
    let mut command = cargo(run).arg("--doc").args(own).arg("--").args(filter);
    // rustdoc splits arguments at spaces: select by the item's name, and ignore other tests that match it.
    command = command.args(tests.iter().filter_map(|test| item_of(name_of(test)?)));
    let launch = ProcessLaunch::new(command.args(more), "lldb");
    let names = tests.iter().filter_map(|test| name_of(test).map(str::to_owned));
    let mut reader = Libtest::new("doc").restrict_to(names.collect());
    run.process(&DirectLauncher, launch, "cargo test --doc", &mut reader, &mut NoResultSource).await.map(drop)
}

/// `total` of `src/lib.rs - total (line 5)`; the file of what belongs to no item.
fn item_of(name: &str) -> Option<&str> {
    let (file, rest) = name.split_once(" - ")?;
    rest.split(' ').next().filter(|item| !item.starts_with('(')).or(Some(file))
}

impl TestFramework for Cargo {
    fn name(&self) -> &'static str {
        "cargo"
    }

    fn kind(&self) -> BuildTool {
        BuildTool::Cargo
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
        Box::pin(async move {
            let filter = match chosen {
                ChosenTests::Tests(tests) => return run_tests(run, tests).await,
                ChosenTests::Filter(filter) => Some(filter.as_str()),
                ChosenTests::Everything => None,
            };
            let programs = programs(run).await?;
            for program in &programs {
                run_program(run, program, &[], filter).await?;
            }
            let examples = run
                .project
                .file
                .as_ref()
                .is_none_or(|file| file.extension().is_none_or(|ending| ending != "rs"));
            if examples && !run.host.is_debugger() && !run.status.broken && has_documentation(&programs) {
                run_documentation(run, &[], filter).await?;
            }
            Ok(())
        })
    }

    fn is_id(&self, text: &str) -> bool {
        text.contains(' ')
    }
}

/// Runs tests of the list, program by program.
async fn run_tests(run: &mut FrameworkRun<'_>, tests: &[TestItem]) -> Result<(), Failure> {
    let mut programs: Vec<TestExecutable> = Vec::new();
    for program in tests.iter().filter_map(program_of) {
        if !programs.contains(program) {
            programs.push(program.clone());
        }
    }
    for program in programs {
        let own: Vec<TestItem> =
            tests.iter().filter(|test| program_of(test) == Some(&program)).cloned().collect();
        run_program(run, &program, &own, None).await?;
    }
    let documented: Vec<TestItem> = tests.iter().filter(|test| is_documentation(test)).cloned().collect();
    if !documented.is_empty() {
        run_documentation(run, &documented, None).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_package_is_named_by_its_id_of_any_form() {
        let folder = Path::new("/w/calc");
        for id in [
            "path+file:///w/calc#0.1.0",
            "path+file:///w/other#calc@0.1.0",
            "calc 0.1.0 (path+file:///w/calc)",
        ] {
            assert_eq!(package(id, folder), "calc", "{id}");
        }
    }

    #[test]
    fn a_program_of_tests_is_named_by_package_and_kind() {
        let executable = |artifact: Value| TestExecutable::of(serde_json::from_value(artifact).unwrap());
        let artifact = |kind: &str, name: &str| {
            json!({ "profile": { "test": true }, "manifest_path": "/w/calc/Cargo.toml",
                "package_id": "path+file:///w/calc#0.1.0",
                "target": { "kind": [kind], "name": name, "src_path": "/w/calc/x.rs" },
                "executable": "/w/target/debug/deps/x" })
        };
        for (kind, name, expected) in
            [("lib", "calc", "calc"), ("test", "it", "calc::it"), ("bin", "calc", "calc::bin/calc")]
        {
            assert_eq!(executable(artifact(kind, name)).unwrap().name, expected);
        }
        assert_eq!(executable(json!({ "profile": { "test": false } })), None);
    }
}
