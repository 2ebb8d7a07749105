//! Lists of tests: the names that programs and rustdoc print, their places in the sources, and the handle
//! with which each is run later.
//!
//! Not here: running them ([`super::execution`]).

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tandem_wire::Failure;
use tandem_workspace::process::ProcessCommand;
use tandem_workspace::process::output::CapturedOutput;

use super::arguments::CargoArguments;
use super::command::{cargo, named_source};
use super::executable::{TestExecutable, programs};
use super::own_harness::ONLY_TEST;
use super::sources::{self, CrateSources};
use crate::model::{TestHandle, TestItem};
use crate::results::Locator;
use crate::run::FrameworkRun;

/// Maximum length of a list of tests, in bytes.
const MAX_LIST: usize = 16 << 20;
/// Length of the errors beside a list that is kept, in bytes.
const MAX_ERRORS: usize = 8 << 10;
/// Arguments with which a program lists its tests.
const LIST: [&str; 3] = ["--list", "--format", "terse"];

/// The tests of all programs, and those in documentation.
pub(super) async fn list_tests(run: &mut FrameworkRun<'_>) -> Result<Vec<TestItem>, Failure> {
    let mut tests = Vec::new();
    let programs = programs(run).await?;
    for program in &programs {
        let names_of_all = names(run, program, &[]).await?;
        if names_of_all.is_empty() && program.has_own_harness {
            tests.push(only_test(program));
            continue;
        }
        let ignored = names(run, program, &["--ignored"]).await?;
        let mut sources = CrateSources::of(&program.source);
        for name in names_of_all {
            let place = sources.find(&name);
            let why =
                || place.as_ref().and_then(|place| place.ignored.clone()).unwrap_or_else(|| "ignored".into());
            tests.push(TestItem {
                file: place.as_ref().map(|place| place.file.display().to_string()),
                line: place.as_ref().map(|place| place.line),
                skipped: ignored.contains(&name).then(why),
                class: class_of(program, &name),
                ..test_in(program, name, place.is_some_and(|place| place.panics))
            });
        }
    }
    if let Some(file) = named_source(run.project) {
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

/// A test in a program; without its place.
fn test_in(program: &TestExecutable, name: String, panics: bool) -> TestItem {
    let handle = CargoTest { program: Some(program.clone()), name: name.clone(), panics };
    TestItem {
        id: format!("{} {name}", program.name),
        handle: TestHandle::new(handle),
        name: Some(name),
        ..TestItem::default()
    }
}

/// The test that a program with another harness than libtest's is, if it lists none.
pub(super) fn only_test(program: &TestExecutable) -> TestItem {
    let place = CrateSources::of(&program.source).find(ONLY_TEST);
    TestItem {
        file: place.as_ref().map(|place| place.file.display().to_string()),
        line: place.map(|place| place.line),
        class: program.name.clone(),
        ..test_in(program, ONLY_TEST.to_owned(), false)
    }
}

/// Whether a test is a program that lists none.
pub(super) fn is_only_test(test: &TestItem) -> bool {
    program_of(test).is_some_and(|program| program.has_own_harness) && name_of(test) == Some(ONLY_TEST)
}

/// Whether a program with another harness than libtest's has no tests but itself.
pub(super) async fn lists_no_tests(
    run: &FrameworkRun<'_>,
    program: &TestExecutable,
) -> Result<bool, Failure> {
    Ok(names(run, program, &[]).await?.is_empty())
}

/// A test in documentation: `src/lib.rs - add (line 5)`.
fn test_in_documentation(folder: &Path, name: String) -> TestItem {
    let (file, rest) = name.split_once(" - ").unwrap_or((&name, ""));
    let line = rest.rsplit_once("(line ").and_then(|(_, line)| line.trim_end_matches(')').parse().ok());
    TestItem {
        id: format!("doc {name}"),
        file: Some(folder.join(file).display().to_string()),
        line,
        class: "doc".into(),
        handle: TestHandle::new(CargoTest { program: None, name: name.clone(), panics: false }),
        name: Some(name),
        ..TestItem::default()
    }
}

/// The source and line of a test in a program, or of one in documentation, by its id.
pub(super) fn locator(program: Option<&TestExecutable>, folder: &Path) -> Locator {
    let (sources, folder) = (program.map(|program| CrateSources::of(&program.source)), folder.to_owned());
    let (name, sources) = (program.map_or("doc", |program| &program.name).to_owned(), Mutex::new(sources));
    Arc::new(move |id: &str| {
        let test = id.strip_prefix(&name)?.strip_prefix(' ')?;
        match sources.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            Some(sources) => sources.find(test).map(|found| (found.file.display().to_string(), found.line)),
            None => {
                let TestItem { file, line, .. } = test_in_documentation(&folder, test.to_owned());
                file.zip(line)
            }
        }
    })
}

/// The program of a test; a test in documentation has none.
pub(super) fn program_of(test: &TestItem) -> Option<&TestExecutable> {
    test.handle.get::<CargoTest>()?.program.as_ref()
}

/// The name of a test in its program.
pub(super) fn name_of(test: &TestItem) -> Option<&str> {
    test.handle.get::<CargoTest>().map(|handle| handle.name.as_str())
}

/// Whether a test is an example in documentation, which rustdoc runs.
pub(super) fn is_documentation(test: &TestItem) -> bool {
    test.handle.get::<CargoTest>().is_some_and(|handle| handle.program.is_none())
}

/// Whether a test passes when it panics.
pub(super) fn is_to_panic(test: &TestItem) -> bool {
    test.handle.get::<CargoTest>().is_some_and(|handle| handle.panics)
}

/// Whether rustdoc has tests to run: a library has examples in its documentation, and the arguments choose no
/// other targets.
pub(super) fn has_documentation(arguments: &CargoArguments, programs: &[TestExecutable]) -> bool {
    let mut libraries = programs.iter().filter(|program| program.tests_documentation());
    arguments.is_documentation_only
        || !arguments.has_targets && libraries.any(|library| sources::has_examples(&library.source))
}

/// The arguments of `cargo test --doc` that leave out the packages whose documentation `cargo test` does not
/// test: `--doc` alone would not.
pub(super) fn documented_packages(arguments: &CargoArguments, programs: &[TestExecutable]) -> Vec<String> {
    let are_chosen = arguments.build.iter().any(|word| {
        let name = word.split('=').next().unwrap_or_default();
        ["-p", "--package", "--workspace", "--all", "--exclude"].contains(&name)
    });
    let all_are_tested =
        programs.iter().all(|program| !program.is_library() || program.tests_documentation());
    if arguments.is_documentation_only || are_chosen || all_are_tested {
        return Vec::new();
    }
    let tested = programs.iter().filter(|program| program.tests_documentation());
    tested.flat_map(|program| ["--package".to_owned(), program.name.clone()]).collect()
}

/// Runs a command that lists tests in the terse format, and returns their names.
async fn listed_names(run: &FrameworkRun<'_>, command: ProcessCommand) -> Result<Vec<String>, Failure> {
    let mut printed = CapturedOutput::new(MAX_LIST, MAX_ERRORS);
    command.run(&mut printed, run.options.run_limit, run.cancel).await?;
    let text = String::from_utf8_lossy(&printed.out.whole().unwrap_or_default()).into_owned();
    Ok(text.lines().filter_map(|line| line.strip_suffix(": test").map(str::to_owned)).collect())
}

/// The names of the tests in a program.
async fn names(
    run: &FrameworkRun<'_>,
    program: &TestExecutable,
    more: &[&str],
) -> Result<Vec<String>, Failure> {
    listed_names(run, program.command(run).args(LIST).args(more)).await
}

/// The tests in documentation.
async fn documentation(
    run: &FrameworkRun<'_>,
    programs: &[TestExecutable],
) -> Result<Vec<TestItem>, Failure> {
    let arguments = CargoArguments::of(run);
    if run.status.broken || !has_documentation(&arguments, programs) {
        return Ok(Vec::new());
    }
    let packages = documented_packages(&arguments, programs);
    let command = cargo(run).arg("--doc").args(&arguments.build).args(packages).arg("--").args(LIST);
    let names = listed_names(run, command).await?;
    Ok(names.into_iter().map(|name| test_in_documentation(&run.project.folder, name)).collect())
}

/// The tests that a filter and the arguments for the program mean; all of these without a filter. A list has
/// ignored tests, too.
pub(super) async fn matching_tests(
    run: &FrameworkRun<'_>,
    program: &TestExecutable,
    filter: Option<&str>,
) -> Result<Vec<TestItem>, Failure> {
    let arguments = CargoArguments::of(run);
    let own = arguments.program.iter().map(String::as_str);
    let more: Vec<&str> = filter.into_iter().chain(arguments.filter.as_deref()).chain(own).collect();
    let mut sources = CrateSources::of(&program.source);
    let test = |name: String| {
        let panics = sources.find(&name).is_some_and(|place| place.panics);
        test_in(program, name, panics)
    };
    Ok(names(run, program, &more).await?.into_iter().map(test).collect())
}

/// The tests that [`matching_tests`] finds and that run, since they are not ignored or the arguments include
/// ignored ones.
pub(super) async fn matching_tests_to_run(
    run: &FrameworkRun<'_>,
    program: &TestExecutable,
    filter: Option<&str>,
) -> Result<Vec<TestItem>, Failure> {
    let mut tests = matching_tests(run, program, filter).await?;
    let arguments = CargoArguments::of(run);
    if !arguments.program_has("--ignored") && !arguments.program_has("--include-ignored") {
        let ignored = names(run, program, &["--ignored"]).await?;
        tests.retain(|test| name_of(test).is_none_or(|name| !ignored.iter().any(|one| one == name)));
    }
    Ok(tests)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_in_documentation_has_the_place_that_its_name_says() {
        let test = |name: &str| test_in_documentation(Path::new("/w"), name.to_owned());
        let named = test("src/lib.rs - add (line 5)");
        assert_eq!((named.file.as_deref(), named.line), (Some("/w/src/lib.rs"), Some(5)));
        assert_eq!((named.id.as_str(), is_documentation(&named)), ("doc src/lib.rs - add (line 5)", true));
        assert_eq!(test("src/lib.rs").line, None);
    }
}
