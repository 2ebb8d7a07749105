//! Processes with tests: a process for each program, tests one at a time after a crash, and rustdoc's.
//!
//! Not here: which tests there are ([`super::listing`]), the output of the processes ([`super::libtest`]).

use std::time::Instant;

use tandem_wire::{ErrorCode, Failure};
use tandem_workspace::process::{ProcessCommand, ProcessExit};

use super::arguments::CargoArguments;
use super::command::{cargo, named_source};
use super::executable::{TestExecutable, programs};
use super::libtest::Libtest;
use super::listing::{
    documented_packages, has_documentation, is_documentation, is_only_test, is_to_panic, lists_no_tests,
    locator, matching_tests, matching_tests_to_run, name_of, only_test, program_of,
};
use crate::host::{ProcessLaunch, Stops};
use crate::model::{TestItem, TestResult};
use crate::run::source::NoResultSource;
use crate::run::{FrameworkRun, ProcessPurpose};

/// The debug adapter of such programs.
const ENGINE: &str = "lldb";

/// Processes that may crash in one program of tests before the rest is given up.
const MAX_CRASHES: usize = 20;

/// Beginnings of libtest's lines before a test, and of Rust's after a panic.
const PREAMBLE: &[&str] = &["running ", "test ", "note: run with `RUST_BACKTRACE"];

/// Runs the tests of all programs; those that match the filter if there is one.
pub(super) async fn run_all(run: &mut FrameworkRun<'_>, filter: Option<&str>) -> Result<(), Failure> {
    let programs = programs(run).await?;
    for program in &programs {
        run_program(run, program, &[], filter).await?;
    }
    let arguments = CargoArguments::of(run);
    let are_examples_meant =
        arguments.is_documentation_only || named_source(run.project).is_none() && !run.host.is_debugger();
    if are_examples_meant && !run.status.broken && has_documentation(&arguments, &programs) {
        run_documentation(run, &[], filter, &programs).await?;
    }
    Ok(())
}

/// Runs tests of the list, program by program.
pub(super) async fn run_tests(run: &mut FrameworkRun<'_>, tests: &[TestItem]) -> Result<(), Failure> {
    let filter = CargoArguments::of(run).filter.unwrap_or_default();
    let tests: Vec<&TestItem> =
        tests.iter().filter(|test| name_of(test).is_none_or(|name| name.contains(&filter))).collect();
    let mut programs: Vec<TestExecutable> = Vec::new();
    for program in tests.iter().filter_map(|test| program_of(test)) {
        if !programs.contains(program) {
            programs.push(program.clone());
        }
    }
    for program in programs {
        let own: Vec<TestItem> =
            tests.iter().filter(|test| program_of(test) == Some(&program)).copied().cloned().collect();
        run_program(run, &program, &own, None).await?;
    }
    let documented: Vec<TestItem> =
        tests.into_iter().filter(|test| is_documentation(test)).cloned().collect();
    if !documented.is_empty() {
        run_documentation(run, &documented, None, &[]).await?;
    }
    Ok(())
}

/// Runs tests of one program; all that match the filter if none is named. Under a debugger, tests that must
/// panic run separately, because the debugger would stop at the expected panics.
async fn run_program(
    run: &mut FrameworkRun<'_>,
    program: &TestExecutable,
    tests: &[TestItem],
    filter: Option<&str>,
) -> Result<(), Failure> {
    let debugs = run.host.is_debugger();
    if program.has_own_harness && tests.is_empty() && (debugs || filter.is_some()) {
        // Such a program may reject the filter, and what libtest takes.
        if lists_no_tests(run, program).await? {
            let test = only_test(program);
            return match filter.is_none_or(|filter| test.id.contains(filter)) {
                true => run_process(run, program, &[test], None).await,
                false => Ok(()),
            };
        }
    }
    if !debugs {
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

/// Runs tests of one program in one process.
async fn run_process(
    run: &mut FrameworkRun<'_>,
    program: &TestExecutable,
    tests: &[TestItem],
    filter: Option<&str>,
) -> Result<(), Failure> {
    let debugs = run.host.is_debugger();
    // Of tests side by side libtest does not say which have begun.
    let is_alone = debugs || run.options.test_limit.is_some() || tests.len() == 1;
    let command = test_command(run, program, (tests, filter), is_alone);
    run.results.locate_with(locator(Some(program), &run.project.folder));
    let mut launch = ProcessLaunch::new(command, ENGINE);
    launch.stops = stops(!tests.is_empty() && tests.iter().all(is_to_panic), run.options.known.is_some());
    let shown = match (filter, tests) {
        (Some(filter), _) => format!("cargo test {filter}"),
        (None, []) => "cargo test".to_owned(),
        (None, [one]) => format!("cargo test {}", one.name.as_deref().unwrap_or(&one.id)),
        (None, several) => format!("cargo test ({} tests)", several.len()),
    };
    let mut reader = Libtest::new(&program.name).with_sources_of(program.folder());
    if !debugs {
        reader = reader.before_another_run();
    }
    let (purpose, begun) = (ProcessPurpose::Run, Instant::now());
    let ended = run.process(purpose, launch, &shown, &mut reader, &mut NoResultSource).await?;
    if program.has_own_harness
        && let Some(result) = reader.result_of_program(ended)
    {
        let duration_ms = u64::try_from(begun.elapsed().as_millis()).ok();
        run.results.finish_test(TestResult { duration_ms, ..result });
        return Ok(());
    }
    let mut unexplained = reader.take_unexplained();
    if (ended.code >= 128 || reader.is_cut()) && !debugs {
        rerun_after_crash(run, program, (tests, filter), ended, &mut unexplained).await?;
    }
    // A test that has passed in another run has failed nevertheless.
    for result in unexplained {
        let message = "it failed, and its output was lost, because another test ended the process".to_owned();
        run.results.finish_test(TestResult { message, ..result });
    }
    Ok(())
}

/// The command that runs tests of a program, one at a time if `is_alone`; all that match the filter and the
/// arguments of the call if no test is named.
fn test_command(
    run: &FrameworkRun<'_>,
    program: &TestExecutable,
    (tests, filter): (&[TestItem], Option<&str>),
    is_alone: bool,
) -> ProcessCommand {
    let arguments = CargoArguments::of(run);
    let mut command = program.command(run);
    if tests.iter().any(is_only_test) {
        return command.args(arguments.program);
    }
    // libtest refuses a switch that it gets twice.
    let mut added = Vec::new();
    if tests.is_empty() {
        command = command.args(filter).args(&arguments.filter);
    } else {
        added.push("--exact");
        command = command.args(tests.iter().filter_map(name_of));
        // A test that is named alone runs even if it is marked `#[ignore]`.
        if tests.len() == 1 && tests.iter().all(|test| test.skipped.is_some()) {
            added.extend(["--include-ignored", "--ignored"]);
        }
    }
    if run.host.is_debugger() {
        added.push("--nocapture");
    }
    if is_alone && !arguments.program_has("--test-threads") {
        added.push("--test-threads=1");
    }
    let own = arguments.program_without(&added);
    command.args(added.iter().filter(|switch| **switch != "--ignored")).args(own)
}

/// Runs the tests without a result one at a time, after the test program crashed or a test ended it.
async fn rerun_after_crash(
    run: &mut FrameworkRun<'_>,
    program: &TestExecutable,
    (tests, filter): (&[TestItem], Option<&str>),
    ended: ProcessExit,
    unexplained: &mut Vec<TestResult>,
) -> Result<(), Failure> {
    let mut left: Vec<TestItem> = tests.to_vec();
    if left.is_empty() {
        left = matching_tests_to_run(run, program, filter).await?;
    }
    for _ in 0..MAX_CRASHES {
        left.retain(|test| !run.results.has_result(test));
        if left.is_empty() {
            return Ok(());
        }
        let command = test_command(run, program, (&left, None), true);
        let mut reader = Libtest::new(&program.name).with_sources_of(program.folder()).before_another_run();
        let launch = ProcessLaunch::new(command, ENGINE);
        let again = run
            .process(
                ProcessPurpose::RunDirectly,
                launch,
                "cargo test -- --test-threads=1",
                &mut reader,
                &mut NoResultSource,
            )
            .await?;
        unexplained.extend(reader.take_unexplained());
        if again.code < 128 && !reader.is_cut() {
            break;
        }
    }
    left.retain(|test| !run.results.has_result(test));
    run.fail_crashed_test(&left, Some(ended), |test| test.id.clone());
    run.status.code = ended.code;
    Ok(())
}

async fn run_documentation(
    run: &mut FrameworkRun<'_>,
    tests: &[TestItem],
    filter: Option<&str>,
    programs: &[TestExecutable],
) -> Result<(), Failure> {
    if run.host.is_debugger() {
        return Err(Failure::new(ErrorCode::Unsupported, "tests in documentation cannot be debugged")
            .hint("rustdoc builds and runs them by itself; put the code into a test of the crate"));
    }
    let arguments = CargoArguments::of(run);
    let filter = filter.or(arguments.filter.as_deref());
    let packages = documented_packages(&arguments, programs);
    let mut command = cargo(run).arg("--doc").args(&arguments.build).args(packages).arg("--").args(filter);
    // rustdoc splits arguments at spaces: select by the item's name, and ignore other tests that match it.
    command = command.args(tests.iter().filter_map(|test| item_of(name_of(test)?)));
    let launch = ProcessLaunch::new(command.args(&arguments.program), ENGINE);
    run.results.locate_with(locator(None, &run.project.folder));
    let names = tests.iter().filter_map(|test| name_of(test).map(str::to_owned));
    let mut reader = Libtest::new("doc").with_sources_of(&run.project.folder).restrict_to(names.collect());
    let purpose = ProcessPurpose::RunDirectly;
    run.process(purpose, launch, "cargo test --doc", &mut reader, &mut NoResultSource).await.map(drop)
}

/// `total` of `src/lib.rs - total (line 5)`; the file of what belongs to no item.
fn item_of(name: &str) -> Option<&str> {
    let (file, rest) = name.split_once(" - ")?;
    rest.split(' ').next().filter(|item| !item.starts_with('(')).or(Some(file))
}

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
