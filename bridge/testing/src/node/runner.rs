//! Node's own runner, `node --test`: each test file is a program, which runs with Tandem's replacement of
//! `node:test`. So tests are listed without running and selected by exact ids in every version.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;
use tandem_wire::{ErrorCode, Failure};
use tandem_workspace::bounded;
use tandem_workspace::build::project::{BuildTool, Project};
use tandem_workspace::build::report::BuildDiagnostic;
use tandem_workspace::process::{ProcessCommand, ProcessExit};

use super::{HELPERS, Manifest, files, launch, scope, test_from_id, text, with_environment};
use crate::framework::{ChosenTests, TestFramework};
use crate::host::BoxFuture;
use crate::model::TestItem;
use crate::run::output::NullReader;
use crate::run::{FrameworkRun, ProcessPurpose};

/// Files of tests of one project.
const MAX_FILES: usize = 5000;
/// Folders that are looked through.
const MAX_FOLDERS: usize = 20_000;
/// Larger sources are skipped.
const MAX_SOURCE: u64 = 4 << 20;
/// Extensions of source files.
const ENDINGS: [&str; 6] = ["js", "mjs", "cjs", "ts", "mts", "cts"];

/// `file:///w/a.test.mjs:3`, `/w/a.test.cjs:3`: where a source cannot be read.
static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^(?:file://)?(?P<file>/.+?\.[cm]?[jt]s):(?P<line>\d+)$")
        .expect("the pattern is a constant, and tested")
});
static ERROR: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^(?:\w*Error\b.*|\[?\w+Error.*)$").expect("the pattern is a constant, and tested")
});

/// The runner of Node.js itself: `node --test`.
pub(crate) struct NodeTest;

/// The options of node in the script: `node --import tsx --test test/` has one, and its value.
fn options(script: &str) -> Vec<String> {
    let words = script.split_whitespace().skip_while(|word| *word != "node").skip(1);
    let mut kept = Vec::new();
    let mut takes_value = false;
    for word in words {
        if takes_value {
            kept.push(word.to_owned());
            takes_value = false;
        } else if !word.starts_with('-') {
            break;
        } else if word != "--test" && word != "--watch" && !word.starts_with("--test-") {
            takes_value =
                matches!(word, "--import" | "--require" | "-r" | "--loader" | "--experimental-loader" | "-C");
            kept.push(word.to_owned());
        }
    }
    kept
}

/// Whether Node takes a file for one of tests, by its name and folder.
fn is_test(file: &Path) -> bool {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let Some((stem, ending)) = name.rsplit_once('.') else { return false };
    let named = stem == "test"
        || stem.starts_with("test-")
        || [".test", "-test", "_test", ".spec"].iter().any(|end| stem.ends_with(end));
    let inside =
        file.parent().is_some_and(|folder| folder.iter().any(|part| part == "test" || part == "tests"));
    ENDINGS.contains(&ending) && !name.ends_with(".d.ts") && (named || inside)
}

fn imports_it(file: &Path) -> bool {
    bounded::read(file, MAX_SOURCE).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains("node:test"))
}

/// The files of tests, in order. Node runs also those that do not import the runner, which may have their
/// tests from a module that does, and which fail with their process. To list tests, they do not run.
fn sources(project: &Project, purpose: ProcessPurpose) -> Vec<PathBuf> {
    let all = purpose != ProcessPurpose::List;
    let named = scope(project).map(PathBuf::from);
    if let Some(file) = named.as_ref().filter(|named| named.is_file()) {
        return vec![file.clone()];
    }
    let mut folders = vec![named.unwrap_or_else(|| project.folder.clone())];
    let (mut found, mut looked) = (Vec::new(), 0);
    while let Some(folder) = folders.pop() {
        looked += 1;
        if looked > MAX_FOLDERS || found.len() >= MAX_FILES {
            break;
        }
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if name != "node_modules" && !name.to_string_lossy().starts_with('.') {
                    folders.push(path);
                }
            } else if path.strip_prefix(&project.folder).is_ok_and(is_test) && (all || imports_it(&path)) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Runs the tests of one file.
async fn file(
    run: &mut FrameworkRun<'_>,
    file: &str,
    more: &[String],
    selected: Option<&[TestItem]>,
    purpose: ProcessPurpose,
) -> Result<Vec<TestItem>, Failure> {
    let (helpers, mut reports) = run.prepare_helpers(&HELPERS)?;
    let helper = |name: &str| text(&helpers.join(name));
    let mut own = options(&Manifest::of(run.project).script);
    own.push(format!("--import={}", helper("tandem_node.mjs")));
    if purpose == ProcessPurpose::Run {
        let reporter = helper("tandem_node_reporter.mjs");
        // It writes nothing. Node 22 and newer flush a file at the end, and fail on one like /dev/null.
        own.extend([format!("--test-reporter={reporter}"), "--test-reporter-destination=stdout".into()]);
    }
    own.extend(more.iter().chain(&run.options.arguments).cloned());
    let command = ProcessCommand::new("node", &run.project.folder).args(&own).arg(file);
    let command = with_environment(command, run, &reports, selected, purpose)?;
    let launch = launch(command, own.len(), run.options.known.as_ref());
    let before = run.results.counts().total();
    let ended = run.process(purpose, launch, "node --test", &mut NullReader, &mut reports).await?;
    let tests = run.collect(&mut reports, "node");
    let printed = run.report.output.text();
    if printed.contains("node: bad option") {
        let message = format!("`node` does not know an option: {}", printed.trim());
        return Err(Failure::new(ErrorCode::CommandFailed, message).hint("Node 20.16 or newer runs them"));
    }
    // Node 20 runs the hooks of a suite whose tests a pattern excludes: a failure there means nothing.
    let is_chosen = more.is_empty() || ERROR.is_match(&printed);
    if ended.code != 0 && is_chosen && tests.is_empty() && run.results.counts().total() == before {
        report_load_error(run, file, ended, &printed);
    }
    Ok(tests)
}

/// A source that cannot be loaded ends Node before any test.
fn report_load_error(run: &mut FrameworkRun<'_>, source: &str, ended: ProcessExit, printed: &str) {
    run.status.broken = true;
    let place = PLACE.captures(printed);
    let message = match ERROR.find(printed) {
        Some(found) => found.as_str().to_owned(),
        None => format!("it ended with {ended} before a test ran"),
    };
    run.report.add_diagnostic(&BuildDiagnostic {
        file: place.as_ref().map_or(source, |place| place.name("file").map_or(source, |file| file.as_str())),
        line: place.as_ref().and_then(|place| place["line"].parse().ok()).unwrap_or(0),
        error: true,
        message: &message,
        source: "node",
        ..BuildDiagnostic::default()
    });
}

impl TestFramework for NodeTest {
    fn name(&self) -> &'static str {
        "node"
    }

    fn kind(&self) -> BuildTool {
        BuildTool::Npm
    }

    fn detects(&self, project: &Project) -> bool {
        Manifest::of(project).runs("--test")
            || project.file.as_ref().is_some_and(|file| file.is_file() && imports_it(file))
    }

    fn list<'a>(&'a self, run: &'a mut FrameworkRun<'_>) -> BoxFuture<'a, Result<Vec<TestItem>, Failure>> {
        Box::pin(async move {
            let mut tests = Vec::new();
            for source in sources(run.project, ProcessPurpose::List) {
                tests.extend(file(run, &text(&source), &[], None, ProcessPurpose::List).await?);
            }
            Ok(tests)
        })
    }

    fn run<'a>(
        &'a self,
        run: &'a mut FrameworkRun<'_>,
        chosen: &'a ChosenTests,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            let sources =
                || sources(run.project, ProcessPurpose::Run).iter().map(|source| text(source)).collect();
            let (files, more, selected): (Vec<String>, _, _) = match chosen {
                ChosenTests::Everything => (sources(), Vec::new(), None),
                ChosenTests::Filter(filter) => {
                    (sources(), vec![format!("--test-name-pattern={filter}")], None)
                }
                ChosenTests::Tests(tests) => (files(tests), Vec::new(), Some(tests.as_slice())),
            };
            let mut worst = 0;
            for source in files {
                let before = run.results.counts().total();
                file(run, &source, &more, selected, ProcessPurpose::Run).await?;
                if more.is_empty() || run.status.broken || run.results.counts().total() > before {
                    worst = worst.max(run.status.code);
                }
            }
            (run.status.code, run.status.first_code) = (worst, Some(worst).filter(|code| *code != 0));
            Ok(())
        })
    }

    fn test_from_id(&self, project: &Project, text: &str) -> Option<TestItem> {
        test_from_id(project, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_tests_are_those_that_node_takes() {
        for (file, expected) in [
            ("cart.test.mjs", true),
            ("test-cart.js", true),
            ("test.cjs", true),
            ("test/deep/helper.js", true),
            ("src/cart.js", false),
            ("test/data.json", false),
            ("src/types.test.d.ts", false),
        ] {
            assert_eq!(is_test(Path::new(file)), expected, "{file}");
        }
    }

    #[test]
    fn a_run_takes_files_that_do_not_import_the_runner() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("a.test.js", "require('node:test')"), ("b.test.js", "require('./nowhere')")] {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let project = Project { kind: BuildTool::Npm, folder: folder.path().to_owned(), file: None };
        let count = |purpose| sources(&project, purpose).len();
        assert_eq!((count(ProcessPurpose::List), count(ProcessPurpose::Run)), (1, 2));
    }

    #[test]
    fn options_of_the_script_are_kept_without_its_files() {
        assert_eq!(options("node --import tsx --test --test-timeout=3 test/*.ts"), ["--import", "tsx"]);
        assert_eq!(options("c8 node --enable-source-maps --test"), ["--enable-source-maps"]);
        assert!(options("tsc && node --test test/").is_empty());
    }

    #[test]
    fn the_place_of_an_error_is_found() {
        let printed = "file:///w/a.test.mjs:3\nconst a = ;\n          ^\n\n\
            SyntaxError: Unexpected token ';'\n    at x (node:internal:1)\n";
        let place = PLACE.captures(printed).unwrap();
        assert_eq!((&place["file"], &place["line"]), ("/w/a.test.mjs", "3"));
        assert_eq!(ERROR.find(printed).unwrap().as_str(), "SyntaxError: Unexpected token ';'");
    }
}
