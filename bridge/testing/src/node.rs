//! Tests of JavaScript and TypeScript: jest, vitest, mocha and Node's own runner, each with a helper of
//! Tandem that reports results. Others run by their script (`run_tests`).
//!
//! Not here: each framework's arguments and helper ([`jest`], [`vitest`], [`mocha`], [`runner`]), the script
//! ([`script`]).

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde::Deserialize;
use serde_json::{Map, Value};
use tandem_wire::{ErrorCode, Failure, types};
use tandem_workspace::bounded;
use tandem_workspace::build::project::Project;
use tandem_workspace::process::ProcessCommand;

use crate::framework::ChosenTests;
use crate::host::{ProcessLaunch, Stops};
use crate::model::TestItem;
use crate::reports::{ReportPipe, VARIABLE};
use crate::run::options::KnownException;
use crate::run::{FrameworkRun, ProcessPurpose};
use script::ScriptCommand;

mod files;
pub(crate) mod jest;
pub(crate) mod mocha;
mod printed_error;
pub(crate) mod runner;
mod script;
pub(crate) mod vitest;

/// Scripts that run each other by name are followed to this depth.
const MAX_NESTED_SCRIPTS: usize = 3;
/// A manifest larger than this is not read.
const MAX_MANIFEST: u64 = 4 << 20;
/// Separator between the file and the titles in an id.
const BETWEEN: &str = " > ";
/// Names and contents of Tandem's helper scripts.
const HELPERS: [(&str, &str); 10] = [
    ("tandem_reports.cjs", include_str!("node/tandem_reports.cjs")),
    ("tandem_jest.cjs", include_str!("node/tandem_jest.cjs")),
    ("tandem_mocha.cjs", include_str!("node/tandem_mocha.cjs")),
    ("tandem_vitest.mjs", include_str!("node/tandem_vitest.mjs")),
    ("tandem_vitest_list.mjs", include_str!("node/tandem_vitest_list.mjs")),
    ("tandem_node.mjs", include_str!("node/tandem_node.mjs")),
    ("tandem_node_hooks.mjs", include_str!("node/tandem_node_hooks.mjs")),
    ("tandem_node_import.mjs", include_str!("node/tandem_node_import.mjs")),
    ("tandem_node_reporter.mjs", include_str!("node/tandem_node_reporter.mjs")),
    ("tandem_node_test.cjs", include_str!("node/tandem_node_test.cjs")),
];
/// Holds where an assertion of jest, of chai and vitest, or of `node:assert` is thrown.
const FAILS: &str = "(error.matcherResult !== undefined || error.name === 'AssertionError' || error.code \
    === 'ERR_ASSERTION')";

static NAMED_SCRIPT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b(?:npm|pnpm|yarn)(?:\s+(?:run|-s|--silent))*\s+(?P<name>[\w:.@/-]+)")
        .expect("the pattern is a constant, and tested")
});

/// Beginnings of the lines that Node and the runners print before a test.
const PREAMBLE: &[&str] = &[
    "Debugger attached.",
    "Waiting for the debugger to disconnect",
    "Determining test suites to run",
    "RUNS ",
    "RUN  v",
];

/// The fields of a `package.json` that say how it is tested. A field of another type counts as absent.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PackageJson {
    #[serde(deserialize_with = "types::required")]
    scripts: Map<String, Value>,
    #[serde(deserialize_with = "types::required")]
    dev_dependencies: Map<String, Value>,
    #[serde(deserialize_with = "types::required")]
    dependencies: Map<String, Value>,
}

/// The test settings of a `package.json`.
#[derive(Debug, Default, PartialEq)]
struct Manifest {
    script: String,
    /// The packages it needs.
    needs: Vec<String>,
}

impl Manifest {
    fn of(project: &Project) -> Self {
        let bytes = bounded::read(&project.folder.join("package.json"), MAX_MANIFEST).unwrap_or_default();
        let PackageJson { scripts, dev_dependencies, dependencies } =
            serde_json::from_slice(&bytes).unwrap_or_default();
        let mut script = scripts.get("test").and_then(Value::as_str).unwrap_or_default().to_owned();
        for _ in 0..MAX_NESTED_SCRIPTS {
            script = with_named_scripts(&script, &scripts);
        }
        let needs = dev_dependencies.into_iter().chain(dependencies).map(|(name, _)| name);
        Self { script, needs: needs.collect() }
    }

    /// The words of the script's commands.
    fn words(&self) -> impl Iterator<Item = &str> {
        self.script.split([' ', '/', '&', ';']).filter(|word| !word.is_empty())
    }

    fn runs(&self, name: &str) -> bool {
        self.words().any(|word| word == name)
    }

    /// Whether the tests are written for this package: the script names it, or no script names another one.
    fn is_for(&self, name: &str) -> bool {
        let others = ["jest", "vitest", "mocha", "ava", "tap", "jasmine", "react-scripts", "ng", "--test"];
        let says_other = others.iter().any(|other| *other != name && self.runs(other));
        self.runs(name) || !says_other && self.needs.iter().any(|own| own == name)
    }
}

/// A script with the text of those that it runs by name: `npm run test:unit`.
fn with_named_scripts(script: &str, scripts: &Map<String, Value>) -> String {
    let named = |found: &Captures<'_>| match scripts.get(&found["name"]).and_then(Value::as_str) {
        Some(text) if &found["name"] != "test" => text.to_owned(),
        _ => found[0].to_owned(),
    };
    NAMED_SCRIPT.replace_all(script, named).into_owned()
}

/// A file of a package that is installed in the project, or in a folder above it.
fn find_installed(project: &Project, file: &str) -> Option<PathBuf> {
    project
        .folder
        .ancestors()
        .map(|folder| folder.join("node_modules").join(file))
        .find(|file| file.is_file())
}

fn not_installed_failure(package: &str, project: &Project) -> Failure {
    let message = format!("{package} is not installed for `{}`", project.folder.display());
    Failure::new(ErrorCode::CommandFailed, message)
        .hint("install the packages of package.json: npm install (or the package manager of its lock file)")
}

/// Adds the variables that the helpers read, the ids of the selected tests, and the environment of the call.
fn with_environment(
    mut command: ProcessCommand,
    run: &FrameworkRun<'_>,
    reports: &ReportPipe,
    selected: Option<&[TestItem]>,
    (script, purpose): (&ScriptCommand, ProcessPurpose),
) -> Result<ProcessCommand, Failure> {
    command = command.envs(&script.environment);
    command = command.env(VARIABLE, reports.path()).env("TANDEM_TEST_FOLDER", &run.project.folder);
    command = command.env("FORCE_COLOR", "0");
    if purpose == ProcessPurpose::List {
        command = command.env("TANDEM_TEST_LIST", "1");
    }
    if run.host.is_debugger() {
        command = command.env("TANDEM_TEST_DEBUG", "1");
    }
    if let Some(tests) = selected {
        let ids: Vec<&str> = tests.iter().map(|test| test.id.as_str()).collect();
        let file = run.write_json("ids.json", &ids)?;
        command = command.env("TANDEM_TEST_IDS", file);
    }
    Ok(command.envs(&run.options.env))
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

/// The files of these tests.
fn files(tests: &[TestItem]) -> Vec<String> {
    let mut files: Vec<String> = tests.iter().filter_map(|test| test.file.clone()).collect();
    files.sort();
    files.dedup();
    files
}

/// The arguments and the tests of a choice, for a runner that takes a filter by this option.
fn selection<'c>(chosen: &'c ChosenTests, option: &str) -> (Vec<String>, Option<&'c [TestItem]>) {
    match chosen {
        ChosenTests::Everything => (Vec::new(), None),
        ChosenTests::Filter(filter) => (vec![format!("{option}={filter}")], None),
        ChosenTests::Tests(tests) => (Vec::new(), Some(tests.as_slice())),
    }
}

/// The test of an id: `test/cart.test.js > Cart > adds`.
fn test_from_id(project: &Project, text: &str) -> Option<TestItem> {
    let (file, name) = text.split_once(BETWEEN)?;
    let path = project.folder.join(file);
    path.is_file().then(|| TestItem {
        id: text.to_owned(),
        name: Some(name.to_owned()),
        file: Some(path.display().to_string()),
        ..TestItem::default()
    })
}

/// The source or folder that was named, besides the manifest.
fn scope(project: &Project) -> Option<String> {
    let named = project.file.as_ref().filter(|file| !file.ends_with("package.json"));
    named.map(|file| file.display().to_string())
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_that_the_script_runs_by_name_are_followed() {
        let scripts =
            serde_json::json!({ "unit": "npm run unit:js -- --ci", "unit:js": "vitest run", "test": "x" });
        let scripts = scripts.as_object().unwrap();
        let once = with_named_scripts("npm run lint && npm run -s unit && yarn test", scripts);
        assert_eq!(once, "npm run lint && npm run unit:js -- --ci && yarn test");
        assert_eq!(with_named_scripts("pnpm unit:js", scripts), "vitest run");
    }

    #[test]
    fn an_exception_is_known_by_the_first_line_of_its_message() {
        let known = KnownException { kind: String::new(), message: "TypeError: no \"x\"\nmore".into() };
        let expected = r#"error && (line => !!line && "TypeError: no \"x\"".includes(line))("#;
        assert!(condition(Some(&known)).starts_with(expected), "{}", condition(Some(&known)));
    }
}
