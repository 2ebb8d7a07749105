//! Tests of Go: `go test -json` runs them. A debugger gets the test program of one package, as `go test -c`
//! builds it.
//!
//! Not here: the output of `go test` ([`events`]), its arguments ([`arguments`]), and the tests that sources
//! declare ([`declarations`]).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tandem_wire::{ErrorCode, Failure};
use tandem_workspace::build::project::{BuildTool, Project};
use tandem_workspace::build::readers::OutputParser;
use tandem_workspace::build::steps::{BuildStep, GoModules, go_command, go_packages};
use tandem_workspace::process::output::CapturedOutput;
use tandem_workspace::process::{ProcessCommand, ProcessExit};

use crate::framework::{ChosenTests, TestFramework};
use crate::host::{BoxFuture, ProcessLaunch, Stops};
use crate::model::{TestHandle, TestItem};
use crate::run::source::NoResultSource;
use crate::run::{FrameworkRun, ProcessPurpose};
use arguments::GoTestArguments;
use declarations::{declared_test, source_text};
use events::GoTestEvents;
use messages::ListedPackage;

mod arguments;
mod crash;
mod declarations;
mod events;
mod messages;

/// Maximum length of a list of packages, in bytes.
const MAX_LIST: usize = 64 << 20;
/// Packages that are built for a debugger.
const MAX_DEBUGGED: usize = 20;
/// Function through which every failed check of a test passes (`t.Error`, `t.Fatal` and the others). It calls
/// itself for the test's parents, up to the root of all tests, which has no name, or of all benchmarks. To
/// compare the parents, Delve would read them whole, and hang at the maps of a fuzz test that it cannot read.
const FAIL: (&str, Option<&str>) = ("testing.(*common).Fail", Some(r#"c.name == "" || c.name == "Main""#));

/// The debug adapter of such programs.
const ENGINE: &str = "delve";

/// The test framework of Go: `go test`.
pub(crate) struct Go;

/// A package with tests.
#[derive(Debug, Clone, Default)]
struct Package {
    path: String,
    folder: PathBuf,
    files: Vec<PathBuf>,
}

/// The handle of a test: how to run it later.
struct GoTest {
    package: String,
    /// The folder of the package.
    folder: PathBuf,
    /// The name of the test in its package.
    name: String,
}

impl Package {
    fn of(listed: ListedPackage) -> Option<Self> {
        let folder = PathBuf::from(listed.dir?);
        let files = listed.test_go_files.iter().chain(&listed.x_test_go_files);
        let files = files.map(|name| folder.join(name)).collect();
        Some(Self { path: listed.import_path?, folder, files })
    }

    /// Its tests, by what its sources declare.
    fn tests(&self) -> Vec<TestItem> {
        let mut tests = Vec::new();
        for file in &self.files {
            let text = source_text(file);
            let lines: Vec<&str> = text.lines().collect();
            for (at, line) in lines.iter().enumerate() {
                let Some(name) = declared_test(line, lines.get(at..).unwrap_or_default()) else { continue };
                tests.push(TestItem {
                    id: format!("{} {name}", self.path),
                    name: Some(name.to_owned()),
                    file: Some(file.display().to_string()),
                    line: u32::try_from(at + 1).ok(),
                    class: self.path.clone(),
                    handle: TestHandle::new(GoTest {
                        package: self.path.clone(),
                        folder: self.folder.clone(),
                        name: name.to_owned(),
                    }),
                    ..TestItem::default()
                });
            }
        }
        tests
    }
}

fn go(run: &FrameworkRun<'_>) -> ProcessCommand {
    go_command(run.project, run.scratch).envs(&run.options.env)
}

/// Which packages were named: those of a folder, or that of a file; all of them without a name.
fn patterns(run: &FrameworkRun<'_>) -> Vec<String> {
    let below = |path: &Path| match path.strip_prefix(&run.project.folder) {
        Ok(rest) if rest.as_os_str().is_empty() => ".".to_owned(),
        Ok(rest) => format!("./{}", rest.display()),
        Err(_) => path.display().to_string(),
    };
    match &run.project.file {
        Some(folder) if folder.is_dir() => vec![format!("{}/...", below(folder))],
        Some(file) if file.extension().is_some_and(|ending| ending == "go") => {
            vec![below(file.parent().unwrap_or(&run.project.folder))]
        }
        _ => go_packages(&run.project.folder),
    }
}

/// A source of tests that was named: only its tests are meant.
fn test_file(project: &Project) -> Option<&PathBuf> {
    let is_source = |file: &&PathBuf| file.to_string_lossy().ends_with("_test.go") && file.is_file();
    project.file.as_ref().filter(is_source)
}

async fn packages(run: &FrameworkRun<'_>) -> Result<Vec<Package>, Failure> {
    // Flags such as `-tags` decide which files a package has.
    let flags = GoTestArguments::read(&run.options.arguments).build;
    let command = go(run).args(["list", "-e", "-json=ImportPath,Dir,TestGoFiles,XTestGoFiles"]);
    let command = command.args(flags).args(patterns(run));
    let mut printed = CapturedOutput::new(MAX_LIST, 8 << 10);
    let ended = command.run(&mut printed, run.options.run_limit, run.cancel).await?;
    let errors = printed.err.text();
    let text = printed.out.whole().unwrap_or_default();
    let listed = serde_json::Deserializer::from_slice(&text).into_iter::<ListedPackage>();
    let packages: Vec<Package> = listed.map_while(Result::ok).filter_map(Package::of).collect();
    if packages.is_empty() && !ended.success() {
        return Err(Failure::new(ErrorCode::CommandFailed, format!("`go list` failed: {}", errors.trim())));
    }
    Ok(packages)
}

async fn list_tests(run: &mut FrameworkRun<'_>) -> Result<Vec<TestItem>, Failure> {
    let mut tests: Vec<TestItem> = packages(run).await?.iter().flat_map(Package::tests).collect();
    if let Some(file) = test_file(run.project) {
        tests.retain(|test| test.file.as_deref().is_some_and(|own| Path::new(own) == file));
    }
    Ok(tests)
}

/// One level of a name in `-run`.
fn exact_pattern<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<String> = names.map(regex::escape).collect();
    format!("^({})$", names.join("|"))
}

/// Patterns that select these tests of one package: one for each group of tests with the same parent.
fn expressions(names: &[&str]) -> Vec<String> {
    let mut groups: BTreeMap<Vec<&str>, Vec<&str>> = BTreeMap::new();
    for name in names {
        let mut parts: Vec<&str> = name.split('/').collect();
        let last = parts.pop().unwrap_or_default();
        groups.entry(parts).or_default().push(last);
    }
    let whole = |(parents, last): (Vec<&str>, Vec<&str>)| {
        let above = parents.iter().map(|parent| exact_pattern([*parent].into_iter()));
        above.chain([exact_pattern(last.into_iter())]).collect::<Vec<_>>().join("/")
    };
    groups.into_iter().map(whole).collect()
}

async fn test(run: &mut FrameworkRun<'_>, packages: &[String], filter: Option<&str>) -> Result<(), Failure> {
    let command = go(run).args(["test", "-json"]).args(filter.map(|filter| format!("-run={filter}")));
    let command = command.args(packages).args(&run.options.arguments);
    let packages = packages.join(" ");
    let shown = match filter {
        Some(filter) => format!("go test -run={filter} {packages}"),
        None => format!("go test {packages}"),
    };
    let mut events = GoTestEvents::new(&run.project.folder);
    let before = run.results.counts().total();
    let ended = run
        .process(
            ProcessPurpose::RunDirectly,
            ProcessLaunch::new(command, ENGINE),
            &shown,
            &mut events,
            &mut NoResultSource,
        )
        .await?;
    note_refusal(run, before, ended);
    run.status.broken |= events.broken;
    Ok(())
}

/// The tests of each package, by its path.
fn by_package(tests: &[TestItem]) -> BTreeMap<&str, Vec<&GoTest>> {
    let mut packages: BTreeMap<&str, Vec<&GoTest>> = BTreeMap::new();
    for test in tests.iter().filter_map(|test| test.handle.get::<GoTest>()) {
        packages.entry(&test.package).or_default().push(test);
    }
    packages
}

/// Builds the test program of a package and has a debugger start it.
async fn debug(
    run: &mut FrameworkRun<'_>,
    path: &str,
    folder: &Path,
    filter: Option<&str>,
) -> Result<(), Failure> {
    let program = run.scratch.join(format!("{}.test", path.rsplit('/').next().unwrap_or("package")));
    let arguments = GoTestArguments::read(&run.options.arguments);
    let command = go(run).args(["test", "-c", "-gcflags=all=-N -l", "-o"]).arg(&program);
    let command = command.args(&arguments.build).arg(path);
    let step = BuildStep { command, reader: OutputParser::compiler("go") };
    if !run.build(step, &format!("go test -c {path}")).await? {
        return Ok(());
    }
    // A package without tests has no program.
    if !program.is_file() {
        return Ok(());
    }
    let command = ProcessCommand::new(&program, folder)
        .arg("-test.v")
        .args(filter.map(|filter| format!("-test.run={filter}")))
        .args(&arguments.program)
        .envs(&run.options.env);
    let mut launch = ProcessLaunch::new(command, ENGINE);
    launch.set_attribute("mode", "exec");
    launch.stops = Stops { functions: vec![FAIL], own_frames: true, ..Stops::default() };
    let mut events = GoTestEvents::of_program(&run.project.folder, path, folder);
    let before = run.results.counts().total();
    let ended = run.process(ProcessPurpose::Run, launch, "go test", &mut events, &mut NoResultSource).await?;
    note_refusal(run, before, ended);
    Ok(())
}

/// Go ends with 0 when no test matches. Another code, without a result, means that the program or `go test`
/// itself refused to run: it is not that the tests do not exist.
fn note_refusal(run: &mut FrameworkRun<'_>, before: u64, ended: ProcessExit) {
    run.status.broken |= !ended.success() && run.results.counts().total() == before;
}

async fn debug_all(run: &mut FrameworkRun<'_>, chosen: &ChosenTests) -> Result<(), Failure> {
    match chosen {
        ChosenTests::Tests(tests) => {
            for (path, own) in by_package(tests) {
                let folder = own.first().map_or(&run.project.folder, |test| &test.folder).clone();
                let names: Vec<&str> = own.iter().map(|test| test.name.as_str()).collect();
                for filter in expressions(&names) {
                    debug(run, path, &folder, Some(&filter)).await?;
                }
            }
        }
        ChosenTests::Everything | ChosenTests::Filter(_) => {
            let filter = if let ChosenTests::Filter(filter) = chosen { Some(filter.as_str()) } else { None };
            let first = filter.and_then(|filter| regex::Regex::new(filter.split('/').next()?).ok());
            let meant = |package: &Package| {
                let tests = package.tests();
                !tests.is_empty()
                    && first.as_ref().is_none_or(|first| {
                        tests.iter().any(|test| test.name.as_ref().is_some_and(|name| first.is_match(name)))
                    })
            };
            for package in packages(run).await?.iter().filter(|package| meant(package)).take(MAX_DEBUGGED) {
                debug(run, &package.path, &package.folder, filter).await?;
            }
        }
    }
    Ok(())
}

impl TestFramework for Go {
    fn name(&self) -> &'static str {
        "go"
    }

    fn kind(&self) -> BuildTool {
        BuildTool::Go
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
            let named = match test_file(run.project).filter(|_| *chosen == ChosenTests::Everything) {
                Some(_) => list_tests(run).await?,
                None => Vec::new(),
            };
            let named = ChosenTests::Tests(named);
            // A file without tests, or one that the build leaves out.
            let chosen = if named.tests().is_empty() { chosen } else { &named };
            if run.host.is_debugger() {
                return debug_all(run, chosen).await;
            }
            let everywhere = patterns(run);
            match chosen {
                ChosenTests::Everything => test(run, &everywhere, None).await,
                ChosenTests::Filter(filter) => test(run, &everywhere, Some(filter)).await,
                ChosenTests::Tests(tests) => {
                    for (path, own) in by_package(tests) {
                        let names: Vec<&str> = own.iter().map(|test| test.name.as_str()).collect();
                        for filter in expressions(&names) {
                            test(run, &[path.to_owned()], Some(&filter)).await?;
                        }
                    }
                    Ok(())
                }
            }
        })
    }

    /// `example.com/shop/cart TestAdds/a_row`: the package, and the test as Go writes it.
    fn test_from_id(&self, project: &Project, text: &str) -> Option<TestItem> {
        let (package, name) =
            text.split_once(' ').filter(|(package, name)| !package.is_empty() && !name.is_empty())?;
        let folder = GoModules::of(&project.folder).folder_of(package);
        let (package, name) = (package.to_owned(), name.to_owned());
        let handle = TestHandle::new(GoTest { package, folder, name: name.clone() });
        Some(TestItem { id: text.to_owned(), name: Some(name), handle, ..TestItem::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_exact_on_every_level() {
        assert_eq!(expressions(&["TestA", "TestB"]), ["^(TestA|TestB)$"]);
        assert_eq!(
            expressions(&["TestA/a_(x)", "TestA/b", "TestC"]),
            ["^(TestC)$", r"^(TestA)$/^(a_\(x\)|b)$"]
        );
    }
}
