//! A source of tests as the program of a launch, in languages where a runner runs it: the runner takes its
//! place, and the console says so. Choosing tests is left to the runner's own arguments. Not what compilers
//! make into programs of tests ([`super::build`]).

use std::io::Read;
use std::path::{Path, PathBuf};

use super::find;
use super::target::Target;
use tandem_engine::builds::{self, EventSink};

/// A larger source is not read.
const MAX_SOURCE: u64 = 4 << 20;
/// Files that mark a Python project's folder.
const PYTHON_ROOTS: [&str; 6] =
    ["pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini", "conftest.py"];
/// Files and folders that mark a Ruby project's folder.
const RUBY_ROOTS: [&str; 4] = ["Gemfile", "Rakefile", ".rspec", "lib"];
/// Folders of tests, whose project is the folder above.
const TEST_FOLDERS: [&str; 3] = ["test", "tests", "spec"];
/// Tests run in the debugged process, and a test that is being inspected never times out.
const JEST: [&str; 4] = ["--runInBand", "--testTimeout", "86400000", "--runTestsByPath"];
/// vitest runs tests in a separate process, which is debugged as well.
const VITEST: [&str; 5] =
    ["run", "--no-file-parallelism", "--pool=forks", "--testTimeout=0", "--hookTimeout=0"];

/// How `args` choose tests, where they are the runner's own.
const BY_ARGS: &str = "`args` are its arguments";
/// A file that runs by itself gets `args`; Node gets its own options.
const BY_RUNTIME_ARGS: &str =
    "`runtimeArgs` choose among them (`--test-name-pattern=…`), `args` are the file's own";

/// A test runner and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Runner {
    /// The runner's name for users.
    pub(super) name: &'static str,
    /// How tests are chosen, for people.
    pub(super) chosen: &'static str,
    /// The module or program to run.
    pub(super) run: RunnerEntry,
    /// Before the arguments of the launch.
    pub(super) args: Vec<String>,
    /// The folder to run in, unless the launch sets one.
    pub(super) cwd: PathBuf,
    /// Variables that those of the launch override.
    pub(super) env: Vec<(String, Option<String>)>,
}

/// A test runner's module or program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RunnerEntry {
    Module(&'static str),
    Program(PathBuf),
}

/// The target with the runner of its tests, which the user is informed of; unchanged if it needs none.
pub(super) fn with_runner(target: &Target, runner: Option<Runner>, tell: EventSink<'_>) -> Target {
    let Some(runner) = runner else { return target.clone() };
    builds::print_line(tell, &announcement(&target.program, &runner));
    target.clone().with_runner(runner)
}

/// The message for the user before the runner starts.
fn announcement(source: &Path, runner: &Runner) -> String {
    let name = source.file_name().unwrap_or_default().to_string_lossy();
    format!("{name} is a file of tests: debugging them with {}; {}", runner.name, runner.chosen)
}

fn name_of(target: &Target) -> Option<&str> {
    target.program.file_name()?.to_str().filter(|_| target.program.is_file())
}

fn text_of(target: &Target) -> String {
    let mut bytes = Vec::new();
    let read =
        std::fs::File::open(&target.program).and_then(|file| file.take(MAX_SOURCE).read_to_end(&mut bytes));
    read.map_or_else(|_| String::new(), |_| String::from_utf8_lossy(&bytes).into_owned())
}

/// The nearest folder above a source that has one of these; else the one that its folder of tests lies in.
fn root(source: &Path, names: &[&str]) -> PathBuf {
    let own = source.parent().unwrap_or(Path::new("/"));
    let has = |folder: &&Path| names.iter().any(|name| folder.join(name).exists());
    let above = own.parent().filter(|_| TEST_FOLDERS.iter().any(|name| own.ends_with(name)));
    own.ancestors().find(has).or(above).unwrap_or(own).to_owned()
}

/// Whether a line of Python, of no block, runs the file's tests or its program, so that
/// the file runs by itself.
fn calls_its_tests(line: &str) -> bool {
    let called = line.split_once('(').map_or("", |(called, _)| called);
    called.starts_with("test_") || ["main", "asyncio.run", "pytest.main", "unittest.main"].contains(&called)
}

/// pytest or unittest, for a file with tests that does nothing when it is run by itself. `has_module`:
/// whether the Python of the launch has a module.
pub(super) fn python(target: &Target, has_module: impl Fn(&str) -> bool) -> Option<Runner> {
    let name = name_of(target)?;
    if !(name.starts_with("test_") && name.ends_with(".py") || name.ends_with("_test.py")) {
        return None;
    }
    let text = text_of(target);
    if text.contains("__main__") || text.lines().any(calls_its_tests) {
        return None;
    }
    let begins = |word: &str| text.lines().any(|line| line.starts_with(word));
    let functions = begins("def test_") || begins("async def test_") || begins("class Test");
    let cases = text.contains("TestCase");
    let cwd = root(&target.program, &PYTHON_ROOTS);
    let runner = |name, args| {
        let (run, cwd) = (RunnerEntry::Module(name), cwd.clone());
        Some(Runner { name, chosen: BY_ARGS, run, args, cwd, env: Vec::new() })
    };
    let file = target.program.display().to_string();
    if (functions || cases) && has_module("pytest") {
        return runner("pytest", vec![file]);
    }
    let below = target.program.strip_prefix(&cwd).ok().filter(|_| cases);
    below.and_then(|below| runner("unittest", vec![below.display().to_string()]))
}

/// The runner of a JavaScript test source: jest or vitest, if its project has it. Files for Node's own
/// runner run by themselves.
pub(super) fn javascript(target: &Target) -> Option<Runner> {
    let name = name_of(target)?;
    let is_test = [".test.", ".spec."].iter().any(|part| name.contains(part))
        || target.program.components().any(|part| part.as_os_str() == "__tests__");
    let text = is_test.then(|| text_of(target))?;
    let imports =
        |module: &str| ['"', '\''].iter().any(|quote| text.contains(&format!("{quote}{module}{quote}")));
    let program = target.program.as_path();
    if imports("node:test") {
        return Some(Runner {
            name: "node:test",
            chosen: BY_RUNTIME_ARGS,
            run: RunnerEntry::Program(program.to_owned()),
            args: Vec::new(),
            cwd: target.cwd.clone(),
            env: Vec::new(),
        });
    }
    let cwd = program.ancestors().skip(1).find(|folder| folder.join("package.json").is_file())?;
    let installed = |file: &str| {
        let folders = program.ancestors().skip(1).map(|folder| folder.join("node_modules").join(file));
        folders.into_iter().find(|file| file.is_file())
    };
    let jest =
        || installed("jest/bin/jest.js").map(|file| ("jest", file, &JEST[..])).filter(|_| !imports("vitest"));
    let vitest = || installed("vitest/vitest.mjs").map(|file| ("vitest", file, &VITEST[..]));
    let (name, runner, args) = jest().or_else(vitest)?;
    let args = args.iter().map(|word| (*word).to_owned()).chain([program.display().to_string()]).collect();
    let (run, cwd) = (RunnerEntry::Program(runner), cwd.to_owned());
    Some(Runner { name, chosen: BY_ARGS, run, args, cwd, env: Vec::new() })
}

/// RSpec; minitest runs by itself, but needs the folders that `rake test` names.
pub(super) fn ruby(target: &Target) -> Option<Runner> {
    let name = name_of(target)?;
    let cwd = root(&target.program, &RUBY_ROOTS);
    let file = target.program.display().to_string();
    if name.ends_with("_spec.rb") {
        let rspec = find::on_path(&target.variable("PATH").unwrap_or_default(), "rspec")?;
        return Some(Runner {
            name: "RSpec",
            chosen: BY_ARGS,
            run: RunnerEntry::Program(rspec),
            args: vec![file],
            cwd,
            env: Vec::new(),
        });
    }
    let is_test = name.ends_with("_test.rb") || name.starts_with("test_") && name.ends_with(".rb");
    if !is_test || !text_of(target).to_lowercase().contains("minitest") {
        return None;
    }
    let before = target.variable("RUBYLIB").filter(|folders| !folders.is_empty());
    let folders = ["lib", "test"].map(|name| cwd.join(name).display().to_string());
    let folders = folders.into_iter().chain(before).collect::<Vec<_>>().join(":");
    let env = vec![("RUBYLIB".to_owned(), Some(folders))];
    let run = RunnerEntry::Program(target.program.clone());
    Some(Runner { name: "minitest", chosen: BY_ARGS, run, args: Vec::new(), cwd, env })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn target(folder: &Path, name: &str, text: &str) -> Target {
        let file = folder.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        Target::parse(&json!({ "program": file, "args": ["-k", "one"] })).unwrap()
    }

    #[test]
    fn a_file_of_python_is_run_by_what_it_is_written_for() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        let name = |name: &str, text: &str, has: bool| {
            python(&target(at, name, text), |_| has).map(|runner| (runner.name, runner.args))
        };
        let file = |name: &str| vec![at.join(name).display().to_string()];
        let case = "import unittest\nclass A(unittest.TestCase):\n    pass\n";
        assert_eq!(name("test_a.py", "def test_a():\n    pass\n", true), Some(("pytest", file("test_a.py"))));
        assert_eq!(name("tests/test_a.py", case, false), Some(("unittest", vec!["tests/test_a.py".into()])));
        assert_eq!(name("test_b.py", "def test_a():\n    pass\n", false), None);
        assert_eq!(name("test_b.py", "print(1)\n", true), None);
        assert_eq!(
            name("test_b.py", &format!("{case}if __name__ == '__main__': unittest.main()\n"), true),
            None
        );
        assert_eq!(name("test_b.py", "def test_a():\n    pass\ntest_a()\n", true), None);
        assert_eq!(name("a.py", case, true), None);
        let run = target(at, "test_a.py", case);
        let run = run.clone().with_runner(python(&run, |_| true).unwrap());
        assert_eq!((run.text("program"), run.text("module")), (Ok(None), Ok(Some("pytest"))));
        assert_eq!(run.args[1..], ["-k", "one"]);
    }

    #[test]
    fn a_file_of_javascript_is_run_by_what_its_project_has() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().canonicalize().unwrap();
        std::fs::write(at.join("package.json"), "{}").unwrap();
        let name = |name: &str, text: &str| javascript(&target(&at, name, text)).map(|runner| runner.name);
        assert_eq!(name("test/a.test.js", "test()"), None);
        let jest = at.join("node_modules/jest/bin/jest.js");
        std::fs::create_dir_all(jest.parent().unwrap()).unwrap();
        std::fs::write(jest, "").unwrap();
        assert_eq!(name("test/a.test.js", "test()"), Some("jest"));
        let vitest = at.join("node_modules/vitest/vitest.mjs");
        let imports = "import { test } from 'vitest';";
        assert_eq!(name("test/a.test.ts", imports), None);
        std::fs::create_dir_all(vitest.parent().unwrap()).unwrap();
        std::fs::write(&vitest, "").unwrap();
        assert_eq!(name("test/a.test.ts", imports), Some("vitest"));
        assert_eq!(name("test/a.test.js", "test()"), Some("jest"));
        std::fs::remove_dir_all(at.join("node_modules/jest")).unwrap();
        // With vitest's `globals`, its files import nothing.
        assert_eq!(name("test/a.test.js", "test()"), Some("vitest"));
        assert_eq!(name("test/a.test.mjs", "import test from \"node:test\";"), Some("node:test"));
        assert_eq!(name("src/a.js", "test()"), None);
    }
}
