//! Tests of JavaScript and TypeScript: jest, vitest, mocha and Node's own runner, each with a helper of
//! Tandem that reports results. Others run by their script (`run_tests`).
//!
//! Not here: each framework's arguments ([`jest`], [`vitest`], [`mocha`], [`runner`]), its process
//! ([`process`]), the script ([`script`]).

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde::Deserialize;
use serde_json::{Map, Value};
use tandem_wire::{ErrorCode, Failure, types};
use tandem_workspace::bounded;
use tandem_workspace::build::project::Project;

use crate::framework::ChosenTests;
use crate::model::TestItem;

mod files;
pub(crate) mod jest;
pub(crate) mod mocha;
mod printed_error;
mod process;
pub(crate) mod runner;
mod script;
pub(crate) mod vitest;

/// Scripts that run each other by name are followed to this depth.
const MAX_NESTED_SCRIPTS: usize = 3;
/// A manifest larger than this is not read.
const MAX_MANIFEST: u64 = 4 << 20;
/// Separator between the file and the titles in an id.
const BETWEEN: &str = " > ";
static NAMED_SCRIPT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b(?:npm|pnpm|yarn)(?:\s+(?:run|-s|--silent))*\s+(?P<name>[\w:.@/-]+)")
        .expect("the pattern is a constant, and tested")
});

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

/// The program of a package that is installed in the project, or in a folder above it: the first of these
/// files.
fn installed(project: &Project, package: &str, files: &[&str]) -> Result<PathBuf, Failure> {
    let find = |file: &&str| {
        let folders = project.folder.ancestors();
        folders.map(|folder| folder.join("node_modules").join(file)).find(|file| file.is_file())
    };
    files.iter().find_map(find).ok_or_else(|| {
        let message = format!("{package} is not installed for `{}`", project.folder.display());
        let hint =
            "install the packages of package.json: npm install (or the package manager of its lock file)";
        Failure::new(ErrorCode::CommandFailed, message).hint(hint)
    })
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

/// The file that an error without a place belongs to: the one that was named, otherwise the manifest.
fn source(project: &Project) -> String {
    scope(project).unwrap_or_else(|| text(&project.folder.join("package.json")))
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
}
