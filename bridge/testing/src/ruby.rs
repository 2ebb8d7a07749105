//! Tests of Ruby: minitest and RSpec, each with a reporter that Tandem adds. test-unit has other commands
//! (`run_tests`). Not here: the parser of reports ([`crate::reports`]).

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;
use tandem_wire::{ErrorCode, Failure, types};
use tandem_workspace::bounded;
use tandem_workspace::build::project::{BuildTool, Project};
use tandem_workspace::build::report::BuildDiagnostic;
use tandem_workspace::process::ProcessCommand;

use crate::framework::{ChosenTests, TestFramework};
use crate::host::{BoxFuture, DirectLauncher, ProcessLaunch, Stops};
use crate::model::TestItem;
use crate::reports::{ReportPipe, VARIABLE};
use crate::run::FrameworkRun;
use crate::run::options::KnownException;
use crate::run::output::NullReader;

/// Maximum number and size of the sources that are read to distinguish the frameworks.
const MAX_SOURCES: usize = 100;
const MAX_SOURCE: u64 = 1 << 20;
/// Names and contents of Tandem's helper scripts.
const HELPERS: [(&str, &str); 3] = [
    ("tandem_reports.rb", include_str!("ruby/tandem_reports.rb")),
    ("tandem_minitest.rb", include_str!("ruby/tandem_minitest.rb")),
    ("tandem_rspec.rb", include_str!("ruby/tandem_rspec.rb")),
];
/// Loads these files of tests; minitest runs them when Ruby ends, with the arguments that are left.
const LOADER: &str = include_str!("ruby/load.rb");

static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?P<file>[^\s:<>'`]+\.rb):(?P<line>\d+):").expect("the pattern is a constant, and tested")
});

/// Holds where minitest raises a failed assertion: the exception itself is not known to a condition.
const MINITEST_FAILS: &str =
    "defined?(Minitest::Assertions) && Minitest::Assertions === self && __method__ == :assert";
/// Holds in the block in which RSpec raises a failed expectation.
const RSPEC_FAILS: &str = "binding.local_variable_defined?(:failure) && defined?(RSpec::Expectations) && \
    RSpec::Expectations::ExpectationNotMetError === failure";
/// Beginnings of minitest's lines before a test.
const PREAMBLE: &[&str] = &["Run options: ", "# Running:"];

/// The test framework minitest.
pub struct Minitest;

/// The test framework RSpec.
pub struct Rspec;

/// The file of Ruby that was named.
fn named_file(project: &Project) -> Option<&PathBuf> {
    project.file.as_ref().filter(|file| file.extension().is_some_and(|ending| ending == "rb"))
}

/// Files of tests below the project's folders, or the one that was named.
fn sources(project: &Project) -> Vec<PathBuf> {
    if let Some(file) = named_file(project) {
        return vec![file.clone()];
    }
    let within = project.file.as_ref().filter(|folder| folder.is_dir()).cloned();
    let mut folders = match within {
        Some(folder) => vec![folder],
        None => ["test", "tests", "spec"].map(|name| project.folder.join(name)).to_vec(),
    };
    let mut found: Vec<PathBuf> = files_of(&project.folder).filter(|path| is_test(path)).collect();
    while let Some(folder) = folders.pop() {
        for path in files_of(&folder) {
            if path.is_dir() {
                folders.push(path);
            } else if is_test(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

fn files_of(folder: &Path) -> impl Iterator<Item = PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn is_test(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.ends_with("_test.rb")
        || name.ends_with("_spec.rb")
        || name.starts_with("test_") && name.ends_with(".rb")
}

fn is_spec(path: &Path) -> bool {
    path.to_string_lossy().ends_with("_spec.rb")
}

fn file_contains(file: &Path, text: &str) -> bool {
    bounded::read(file, MAX_SOURCE).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(text))
}

/// Whether the project's specs are RSpec's; minitest has some, too.
fn is_rspec(project: &Project) -> bool {
    let specs: Vec<PathBuf> = sources(project).into_iter().filter(|path| is_spec(path)).collect();
    let minitest = specs.iter().take(MAX_SOURCES).any(|file| file_contains(file, "minitest/"));
    let only = sources(project).iter().all(|path| is_spec(path));
    !specs.is_empty()
        && !minitest
        && (only || project.folder.join(".rspec").is_file() || project.folder.join("spec").is_dir())
}

/// Puts our helpers into the scratch folder, and a pipe for their reports.
fn prepare(run: &FrameworkRun<'_>) -> Result<(PathBuf, ReportPipe), Failure> {
    let folder = run.scratch.join("helpers");
    let written = std::fs::create_dir_all(&folder)
        .and_then(|()| HELPERS.iter().try_for_each(|(name, text)| std::fs::write(folder.join(name), text)))
        .and_then(|()| std::fs::write(folder.join("load.rb"), LOADER));
    written.map_err(|error| unwritable(&folder, &error))?;
    Ok((folder, ReportPipe::open(run.scratch)?))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(ErrorCode::IoFailed, format!("cannot write to `{}`: {error}", path.display()))
}

fn write(run: &FrameworkRun<'_>, name: &str, value: &Value) -> Result<PathBuf, Failure> {
    let file = run.scratch.join(name);
    std::fs::write(&file, value.to_string()).map_err(|error| unwritable(&file, &error))?;
    Ok(file)
}

/// Adds the path of the pipe and the environment of the call.
fn with_environment(
    mut command: ProcessCommand,
    run: &FrameworkRun<'_>,
    reports: &ReportPipe,
) -> ProcessCommand {
    command = command.env(VARIABLE, reports.path());
    for (name, value) in &run.options.env {
        command.environment.push((name.into(), value.as_ref().map(Into::into)));
    }
    command
}

/// Stops where an assertion fails. Any other exception that ends a test is known only by its message: once
/// that is known, every exception stops, and the client continues past the others.
fn stops(assertion: &str, known: Option<&KnownException>) -> Stops {
    let condition = known.is_none().then(|| assertion.to_owned());
    Stops {
        filters: vec![("any", condition)],
        retries: true,
        own_frames: true,
        preamble: PREAMBLE,
        ..Stops::default()
    }
}

impl Minitest {
    async fn minitest(
        run: &mut FrameworkRun<'_>,
        files: Vec<PathBuf>,
        only: Option<String>,
        lists: bool,
    ) -> Result<Vec<TestItem>, Failure> {
        let (helpers, mut reports) = prepare(run)?;
        let own = ["lib", "test"].map(|name| run.project.folder.join(name).display().to_string());
        let bundled = run.project.folder.join("Gemfile.lock").is_file();
        let load = helpers.join("load.rb");
        let mut command = match bundled && !run.host.is_debugger() {
            true => ProcessCommand::new("bundle", &run.project.folder).args(["exec", "ruby"]),
            false => ProcessCommand::new("ruby", &run.project.folder),
        };
        command =
            command.arg(&load).args(only.map(|names| format!("--name={names}"))).args(&run.options.arguments);
        let mut options = format!("-r{}", helpers.join("tandem_minitest.rb").display());
        if bundled && run.host.is_debugger() {
            options = format!("-rbundler/setup {options}");
        }
        command = command.env("RUBYLIB", own.join(":")).env("RUBYOPT", options);
        command = command.env("TANDEM_TEST_FILES", write(run, "files.json", &types::body(&files))?);
        if lists {
            command = command.env("TANDEM_TEST_LIST", "1");
        }
        let command = with_environment(command, run, &reports);
        let mut launch = ProcessLaunch::new(command, "rdbg");
        launch.set_attribute("program", &load);
        let arguments: Vec<String> =
            launch.command.arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let own: Vec<&String> =
            arguments.iter().skip_while(|word| !word.ends_with("load.rb")).skip(1).collect();
        launch.set_attribute("args", &own);
        launch.stops = stops(MINITEST_FAILS, run.options.known.as_ref());
        let host = if lists { &DirectLauncher } else { run.host };
        let shown = if lists { "" } else { "ruby -Ilib -Itest (minitest)" };
        let ended = run.process(host, launch, shown, &mut NullReader, &mut reports).await?;
        let tests = run.collect(&mut reports, "ruby");
        let printed = run.report.output.text();
        if printed.contains("cannot load such file -- minitest (LoadError)") {
            return Err(Failure::new(ErrorCode::CommandFailed, "minitest is not installed for `ruby`")
                .hint("install it: gem install minitest"));
        }
        // A file that cannot be loaded ends Ruby before any test.
        if ended.code != 0 && tests.is_empty() && run.results.counts().total() == 0 {
            report_load_error(run, &printed);
        }
        Ok(tests)
    }
}

/// Reports why Ruby has ended before any test, and where:
/// `/w/a_test.rb:3: syntax error, unexpected … (SyntaxError)`, possibly after the location of the `require`,
/// or ``…:in `require': cannot load such file -- x (LoadError)`` with the calls below it.
fn report_load_error(run: &mut FrameworkRun<'_>, printed: &str) {
    run.status.broken = true;
    let lines: Vec<&str> = printed.lines().skip_while(|line| !is_error(line)).collect();
    let first_line = lines.first().copied().unwrap_or_default();
    let folder = &run.project.folder;
    let mut places = lines.iter().flat_map(|line| PLACE.captures_iter(line));
    let Some(own) = places.find(|found| is_within(folder, &found["file"])) else { return };
    // The message follows the name of the call.
    let message = first_line.rsplit_once("': ").map_or(first_line, |(_, message)| message);
    let message = PLACE.replace(message, "");
    run.report.add_diagnostic(&BuildDiagnostic {
        file: &own["file"],
        line: own["line"].parse().unwrap_or(0),
        error: true,
        message: message.trim(),
        source: "ruby",
        ..BuildDiagnostic::default()
    });
}

/// Whether a line ends with the class of an exception, as the first line of one does.
fn is_error(line: &str) -> bool {
    line.trim_end().ends_with("Error)")
}

fn is_within(folder: &Path, file: &str) -> bool {
    let file = folder.join(file);
    file.starts_with(folder) && file.is_file()
}

/// A pattern that names these and no others, as Ruby writes it.
fn exact_pattern(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| regex::escape(name).replace('/', "\\/")).collect();
    format!("/^({})$/", names.join("|"))
}

impl TestFramework for Minitest {
    fn name(&self) -> &'static str {
        "minitest"
    }

    fn kind(&self) -> BuildTool {
        BuildTool::Ruby
    }

    fn detects(&self, project: &Project) -> bool {
        let sources = sources(project);
        let looked_at = || sources.iter().take(MAX_SOURCES);
        !sources.is_empty() && !is_rspec(project) && !looked_at().any(|file| file_contains(file, "test/unit"))
    }

    fn list<'a>(&'a self, run: &'a mut FrameworkRun<'_>) -> BoxFuture<'a, Result<Vec<TestItem>, Failure>> {
        Box::pin(Self::minitest(run, sources(run.project), None, true))
    }

    fn run<'a>(
        &'a self,
        run: &'a mut FrameworkRun<'_>,
        chosen: &'a ChosenTests,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            let (files, only) = match chosen {
                ChosenTests::Everything => (sources(run.project), None),
                ChosenTests::Filter(filter) => {
                    (sources(run.project), Some(format!("/{}/", filter.replace('/', "\\/"))))
                }
                ChosenTests::Tests(tests) => {
                    let mut files: Vec<PathBuf> =
                        tests.iter().filter_map(|test| test.file.as_ref().map(PathBuf::from)).collect();
                    files.sort();
                    files.dedup();
                    let names: Vec<&str> = tests.iter().map(|test| test.id.as_str()).collect();
                    (if files.is_empty() { sources(run.project) } else { files }, Some(exact_pattern(&names)))
                }
            };
            Self::minitest(run, files, only, false).await.map(drop)
        })
    }

    fn plans(&self) -> bool {
        true
    }

    fn is_id(&self, text: &str) -> bool {
        text.contains('#')
    }
}

impl Rspec {
    async fn rspec(
        run: &mut FrameworkRun<'_>,
        files: Vec<PathBuf>,
        more: Vec<String>,
        names: Option<Vec<&str>>,
        lists: bool,
    ) -> Result<Vec<TestItem>, Failure> {
        let (helpers, mut reports) = prepare(run)?;
        let bundled = run.project.folder.join("Gemfile.lock").is_file();
        let mut command = match bundled && !run.host.is_debugger() {
            true => ProcessCommand::new("bundle", &run.project.folder).args(["exec", "rspec"]),
            false => ProcessCommand::new(program(), &run.project.folder),
        };
        command = command.arg("--no-color").arg("--require").arg(helpers.join("tandem_rspec.rb"));
        if !lists {
            command = command.args(["--format", "progress"]);
        }
        command = command.args(["--format", "TandemFormatter", "--out", "/dev/null"]);
        if lists {
            command = command.arg("--dry-run");
        }
        command = command.args(more).args(&run.options.arguments).args(files);
        if let Some(names) = names {
            command = command.env("TANDEM_TEST_NAMES", write(run, "names.json", &types::body(&names))?);
        }
        if bundled && run.host.is_debugger() {
            command = command.env("RUBYOPT", "-rbundler/setup");
        }
        let command = with_environment(command, run, &reports);
        let mut launch = ProcessLaunch::new(command, "rdbg");
        launch.stops = stops(RSPEC_FAILS, run.options.known.as_ref());
        let host = if lists { &DirectLauncher } else { run.host };
        let outcome =
            run.process(host, launch, if lists { "" } else { "rspec" }, &mut NullReader, &mut reports).await;
        outcome.map_err(|failure| match failure.code {
            ErrorCode::CommandFailed => failure.hint("install it: gem install rspec, or bundle install"),
            _ => failure,
        })?;
        Ok(run.collect(&mut reports, "rspec"))
    }
}

/// `rspec` on the PATH, by its path: a debugger is to start the script.
fn program() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join("rspec")).find(|file| file.is_file());
    found.unwrap_or_else(|| PathBuf::from("rspec"))
}

impl TestFramework for Rspec {
    fn name(&self) -> &'static str {
        "rspec"
    }

    fn kind(&self) -> BuildTool {
        BuildTool::Ruby
    }

    fn detects(&self, project: &Project) -> bool {
        is_rspec(project)
    }

    fn list<'a>(&'a self, run: &'a mut FrameworkRun<'_>) -> BoxFuture<'a, Result<Vec<TestItem>, Failure>> {
        Box::pin(async move {
            let files = named_file(run.project).cloned().into_iter().collect();
            Self::rspec(run, files, Vec::new(), None, true).await
        })
    }

    fn run<'a>(
        &'a self,
        run: &'a mut FrameworkRun<'_>,
        chosen: &'a ChosenTests,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            let named: Vec<PathBuf> = named_file(run.project).cloned().into_iter().collect();
            match chosen {
                ChosenTests::Everything => Self::rspec(run, named, Vec::new(), None, false).await?,
                ChosenTests::Filter(filter) => {
                    Self::rspec(run, named, vec!["--example".into(), filter.clone()], None, false).await?
                }
                ChosenTests::Tests(tests) => {
                    let mut files: Vec<PathBuf> =
                        tests.iter().filter_map(|test| test.file.as_ref().map(PathBuf::from)).collect();
                    files.sort();
                    files.dedup();
                    let names = tests.iter().map(|test| test.name.as_deref().unwrap_or(&test.id)).collect();
                    Self::rspec(run, files, Vec::new(), Some(names), false).await?
                }
            };
            Ok(())
        })
    }

    fn plans(&self) -> bool {
        true
    }

    fn is_id(&self, text: &str) -> bool {
        text.contains("::")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(files: &[(&str, &str)]) -> (tempfile::TempDir, Project) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let project = Project { kind: BuildTool::Ruby, folder: folder.path().to_owned(), file: None };
        (folder, project)
    }

    #[test]
    fn frameworks_of_ruby_are_distinguished_by_their_sources() {
        for (files, minitest, rspec) in [
            (vec![("test/a_test.rb", "require 'minitest/autorun'")], true, false),
            (vec![("spec/a_spec.rb", "RSpec.describe Cart do")], false, true),
            (vec![("spec/a_spec.rb", "require 'minitest/spec'")], true, false),
            (vec![("test/test_a.rb", "require 'test/unit'")], false, false),
            (vec![("lib/a.rb", "")], false, false),
        ] {
            let (_folder, project) = project(&files);
            assert_eq!((Minitest.detects(&project), Rspec.detects(&project)), (minitest, rspec), "{files:?}");
        }
    }

    #[test]
    fn names_become_patterns() {
        assert_eq!(exact_pattern(&["A#test_x", "B#test_a/b?"]), r"/^(A\#test_x|B\#test_a\/b\?)$/");
    }
}
