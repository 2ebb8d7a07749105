//! A process of node that lists or runs tests: the options and the environment of the script, Tandem's
//! helpers and their reports, the stops of a debugger.
//!
//! Not here: the arguments of each runner.

use std::path::{Path, PathBuf};

use tandem_wire::{Failure, types};
use tandem_workspace::process::{ProcessCommand, ProcessExit};

use super::printed_error::PrintedError;
use super::script::ScriptCommand;
use super::{Manifest, text};
use crate::host::{ProcessLaunch, Stops};
use crate::model::TestItem;
use crate::reports::{ReportPipe, VARIABLE};
use crate::run::options::KnownException;
use crate::run::output::NullReader;
use crate::run::{FrameworkRun, ProcessPurpose};

/// Names and contents of Tandem's helper scripts.
const HELPERS: [(&str, &str); 10] = [
    ("tandem_reports.cjs", include_str!("tandem_reports.cjs")),
    ("tandem_jest.cjs", include_str!("tandem_jest.cjs")),
    ("tandem_mocha.cjs", include_str!("tandem_mocha.cjs")),
    ("tandem_vitest.mjs", include_str!("tandem_vitest.mjs")),
    ("tandem_vitest_list.mjs", include_str!("tandem_vitest_list.mjs")),
    ("tandem_node.mjs", include_str!("tandem_node.mjs")),
    ("tandem_node_hooks.mjs", include_str!("tandem_node_hooks.mjs")),
    ("tandem_node_import.mjs", include_str!("tandem_node_import.mjs")),
    ("tandem_node_reporter.mjs", include_str!("tandem_node_reporter.mjs")),
    ("tandem_node_test.cjs", include_str!("tandem_node_test.cjs")),
];
/// Holds where an assertion of jest, of chai and vitest, or of `node:assert` is thrown.
const FAILS: &str = "(error.matcherResult !== undefined || error.name === 'AssertionError' || error.code \
    === 'ERR_ASSERTION')";
/// Beginnings of the lines that Node and the runners print before a test.
const PREAMBLE: &[&str] = &[
    "Debugger attached.",
    "Waiting for the debugger to disconnect",
    "Determining test suites to run",
    "RUNS ",
    "RUN  v",
];

/// The names of a runner.
#[derive(Clone, Copy)]
pub(super) struct NodeRunner {
    /// Name of the framework in answers.
    pub name: &'static str,
    /// The word of a script that starts it.
    pub word: &'static str,
    /// Its command, as a user would type it.
    pub shown: &'static str,
}

/// A process of node that has not started.
pub(super) struct NodeProcess<'t> {
    /// The command of the script `test` that starts the runner.
    pub script: ScriptCommand,
    /// Options of node itself: those of the script, and more.
    pub node: Vec<String>,
    runner: NodeRunner,
    purpose: ProcessPurpose,
    selected: Option<&'t [TestItem]>,
    helpers: PathBuf,
    reports: ReportPipe,
    environment: Vec<(&'static str, String)>,
}

/// How a process of node ended.
pub(super) struct NodeEnd {
    pub tests: Vec<TestItem>,
    pub exit: ProcessExit,
    /// Whether it listed no test and reported no result.
    pub is_silent: bool,
}

impl NodeEnd {
    /// Reports the error with which the process failed before any test. `source` is what it loaded.
    pub(super) fn report_error(&self, run: &mut FrameworkRun<'_>, runner: NodeRunner, source: &str) {
        if self.exit.code != 0 && self.is_silent && !run.status.broken {
            PrintedError::report(run, (runner.name, source), self.exit);
        }
    }
}

impl<'t> NodeProcess<'t> {
    /// Reads the script and writes the helpers.
    pub(super) fn prepare(
        run: &FrameworkRun<'_>,
        runner: NodeRunner,
        selected: Option<&'t [TestItem]>,
        purpose: ProcessPurpose,
    ) -> Result<Self, Failure> {
        let (helpers, reports) = run.prepare_helpers(&HELPERS)?;
        let script = ScriptCommand::of(&Manifest::of(run.project).script, runner.word);
        let node = script.node.clone();
        Ok(Self { script, node, runner, purpose, selected, helpers, reports, environment: Vec::new() })
    }

    /// The path of a helper script.
    pub(super) fn helper(&self, name: &str) -> String {
        text(&self.helpers.join(name))
    }

    /// Sets a variable for the helpers.
    pub(super) fn set_variable(&mut self, name: &'static str, value: String) {
        self.environment.push((name, value));
    }

    /// Runs this program with these arguments to its end, and collects what the helpers reported.
    pub(super) async fn run(
        mut self,
        run: &mut FrameworkRun<'_>,
        program: &Path,
        arguments: Vec<String>,
    ) -> Result<NodeEnd, Failure> {
        let command = ProcessCommand::new("node", &run.project.folder).args(&self.node).arg(program);
        let command = self.with_environment(command.args(arguments), run)?;
        let launch = launch(command, self.node.len(), run.options.known.as_ref());
        let before = run.results.counts().total();
        let Self { runner, purpose, reports, .. } = &mut self;
        let exit = run.process(*purpose, launch, runner.shown, &mut NullReader, reports).await?;
        let tests = run.collect(reports, runner.name);
        let is_silent = tests.is_empty() && run.results.counts().total() == before;
        Ok(NodeEnd { tests, exit, is_silent })
    }

    /// Adds the variables that the helpers read, the ids of the selected tests, and the environment of the
    /// call.
    fn with_environment(
        &self,
        command: ProcessCommand,
        run: &FrameworkRun<'_>,
    ) -> Result<ProcessCommand, Failure> {
        let mut command = command.envs(&self.script.environment);
        command = command.env(VARIABLE, self.reports.path()).env("TANDEM_TEST_FOLDER", &run.project.folder);
        command = command.env("FORCE_COLOR", "0");
        for (name, value) in &self.environment {
            command = command.env(name, value);
        }
        if self.purpose == ProcessPurpose::List {
            command = command.env("TANDEM_TEST_LIST", "1");
        }
        if run.host.is_debugger() {
            command = command.env("TANDEM_TEST_DEBUG", "1");
        }
        if let Some(tests) = self.selected {
            let ids: Vec<&str> = tests.iter().map(|test| test.id.as_str()).collect();
            command = command.env("TANDEM_TEST_IDS", run.write_json("ids.json", &ids)?);
        }
        Ok(command.envs(&run.options.env))
    }
}

/// A process of `node`, of whose arguments these many belong to node itself.
fn launch(command: ProcessCommand, own: usize, known: Option<&KnownException>) -> ProcessLaunch {
    let words: Vec<String> =
        command.arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let (runtime, rest) = words.split_at(own.min(words.len()));
    let mut launch = ProcessLaunch::new(command, "js");
    launch.set_attribute("program", &rest.first());
    launch.set_attribute("args", rest.get(1..).unwrap_or_default());
    launch.set_attribute("runtimeArgs", &runtime);
    // Exceptions of code that is skipped are, too, and `node:assert` is such code.
    launch.set_attribute("skipFiles", &[""; 0]);
    let condition = condition(known);
    launch.stops = Stops {
        // The condition of one does not hold for uncaught exceptions, that of the other only for these.
        filters: vec![("all", Some(condition.clone())), ("uncaught", Some(condition))],
        retries: true,
        own_frames: true,
        preamble: PREAMBLE,
        ..Stops::default()
    };
    launch
}

/// Every runner catches what a test throws, so a stop is decided by what is thrown: an assertion, or what the
/// run before failed with.
fn condition(known: Option<&KnownException>) -> String {
    let condition = match known {
        None => FAILS.to_owned(),
        Some(known) => {
            let message = types::body(&known.message.trim().lines().next().unwrap_or_default());
            format!(
                "(line => !!line && {message}.includes(line))(('' + (error.message ?? \
                    error)).split('\\n')[0].trim())"
            )
        }
    };
    // Code that catches an error and rethrows it is skipped. In jest's contexts not even `Object` has its
    // name.
    let first = "!error.__tandem && !!({}).constructor.defineProperty(error, '__tandem', { value: true })";
    format!("error && {condition} && (typeof error !== 'object' || {first})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_is_known_by_the_first_line_of_its_message() {
        let known = KnownException { kind: String::new(), message: "TypeError: no \"x\"\nmore".into() };
        let expected = r#"error && (line => !!line && "TypeError: no \"x\"".includes(line))("#;
        assert!(condition(Some(&known)).starts_with(expected), "{}", condition(Some(&known)));
    }
}
