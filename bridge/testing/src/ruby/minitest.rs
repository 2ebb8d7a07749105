//! minitest: Ruby loads the files of tests, and minitest runs them when Ruby ends, with Tandem's reporter.
//!
//! Not here: which files have tests ([`super::sources`]).

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;
use tandem_wire::{ErrorCode, Failure};
use tandem_workspace::build::project::{BuildTool, Project};
use tandem_workspace::build::report::BuildDiagnostic;
use tandem_workspace::process::ProcessCommand;

use super::sources::{is_minitest, sources};
use super::{ENGINE, HELPERS, stops, with_environment};
use crate::framework::{ChosenTests, TestFramework};
use crate::host::{BoxFuture, ProcessLaunch};
use crate::model::TestItem;
use crate::run::output::NullReader;
use crate::run::{FrameworkRun, ProcessPurpose};

static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?P<file>[^\s:<>'`]+\.rb):(?P<line>\d+):").expect("the pattern is a constant, and tested")
});

/// Holds where minitest raises a failed assertion: the exception itself is not known to a condition.
const FAILS: &str =
    "defined?(Minitest::Assertions) && Minitest::Assertions === self && __method__ == :assert";

/// The test framework minitest.
pub(crate) struct Minitest;

impl TestFramework for Minitest {
    fn name(&self) -> &'static str {
        "minitest"
    }

    fn kind(&self) -> BuildTool {
        BuildTool::Ruby
    }

    fn detects(&self, project: &Project) -> bool {
        is_minitest(project)
    }

    fn list<'a>(&'a self, run: &'a mut FrameworkRun<'_>) -> BoxFuture<'a, Result<Vec<TestItem>, Failure>> {
        Box::pin(Self::minitest(run, sources(run.project), None, ProcessPurpose::List))
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
            Self::minitest(run, files, only, ProcessPurpose::Run).await.map(drop)
        })
    }

    fn plans(&self) -> bool {
        true
    }

    fn is_id(&self, text: &str) -> bool {
        text.contains('#')
    }
}

impl Minitest {
    async fn minitest(
        run: &mut FrameworkRun<'_>,
        files: Vec<PathBuf>,
        only: Option<String>,
        purpose: ProcessPurpose,
    ) -> Result<Vec<TestItem>, Failure> {
        let (helpers, mut reports) = run.prepare_helpers(&HELPERS)?;
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
        command = command.env("TANDEM_TEST_FILES", run.write_json("files.json", &files)?);
        if purpose == ProcessPurpose::List {
            command = command.env("TANDEM_TEST_LIST", "1");
        }
        let command = with_environment(command, run, &reports);
        let mut launch = ProcessLaunch::new(command, ENGINE);
        launch.set_attribute("program", &load);
        let arguments: Vec<String> =
            launch.command.arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let own: Vec<&String> =
            arguments.iter().skip_while(|word| !word.ends_with("load.rb")).skip(1).collect();
        launch.set_attribute("args", &own);
        launch.stops = stops(FAILS, run.options.known.as_ref());
        let shown = "ruby -Ilib -Itest (minitest)";
        let ended = run.process(purpose, launch, shown, &mut NullReader, &mut reports).await?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_patterns() {
        assert_eq!(exact_pattern(&["A#test_x", "B#test_a/b?"]), r"/^(A\#test_x|B\#test_a\/b\?)$/");
    }
}
