//! Runs of tests that go wrong, and what is passed on to their runners: switches, names that no longer exist,
//! floods of output, processes that are killed.

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tandem_harness::child::Subject;
use tandem_harness::deadline::deadline;
use tandem_harness::fixture;
use tandem_harness::process_tracking::ProcessTracker;

use super::frameworks::{agent, finished};

/// A project of unittest with these tests.
fn project(tests: &str) -> anyhow::Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    std::fs::write(
        folder.path().join("test_own.py"),
        format!("import unittest, os, sys, signal, time\n\n\n{tests}"),
    )?;
    Ok(folder)
}

#[tokio::test]
async fn switches_of_the_runner_such_as_those_for_coverage_are_passed_through() -> anyhow::Result<()> {
    let project = fixture::test_project("pytest")?;
    let packages = fixture::python_packages().display().to_string();
    let mut agent = agent(project.path(), &[("PYTHONPATH", packages)]).await?;
    let arguments = json!({ "tests": ["tests/test_cart.py::test_adds"], "args": ["--junitxml=report.xml"] });
    let passed = finished(&mut agent, "run_tests", arguments).await?;
    ensure!(passed["tests"]["passed"] == 1, "{passed:#}");
    let report =
        std::fs::read_to_string(project.path().join("report.xml")).context("no report was written")?;
    ensure!(report.contains("test_adds") && !report.contains("test_fails"), "{report}");
    // Ids begin at the folder of pytest's configuration, which may be above the project.
    let name = project.path().file_name().context("no name")?.to_string_lossy();
    let id = format!("{name}/tests/test_cart.py::test_adds");
    let arguments = json!({ "tests": [id], "args": ["--rootdir=.."] });
    let passed = finished(&mut agent, "run_tests", arguments).await?;
    ensure!(passed["tests"]["passed"] == 1, "{passed:#}");
    agent.finish().await
}

/// RSpec describes an example without a description by its expectation, once it has run.
#[tokio::test]
async fn examples_of_rspec_are_chosen_by_the_ids_that_their_results_have() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    std::fs::create_dir(folder.path().join("spec"))?;
    let spec = "RSpec.describe \"Cart\" do\n  it { expect(1).to eq(1) }\n  it { expect(1).to eq(2) }\nend\n";
    std::fs::write(folder.path().join("spec/cart_spec.rb"), spec)?;
    // Examples of one name, which are written in another file than the one that runs them.
    let shared =
        "RSpec.shared_examples \"one\" do |number|\n  it(\"is one\") { expect(number).to eq(1) }\nend\n";
    std::fs::write(folder.path().join("spec/shared.rb"), shared)?;
    let spec = "require_relative \"shared\"\nRSpec.describe \"Shared\" do\n  include_examples \"one\", 1\n  \
        include_examples \"one\", 2\nend\n";
    std::fs::write(folder.path().join("spec/shared_spec.rb"), spec)?;
    let mut agent = agent(folder.path(), &[]).await?;
    let all = finished(&mut agent, "run_tests", json!({})).await?;
    ensure!(all["tests"]["passed"] == 2 && all["tests"]["failed"] == 2, "{all:#}");
    let shared = json!({ "tests": ["spec/shared_spec.rb::Shared is one"] });
    let ran = finished(&mut agent, "run_tests", shared).await?;
    ensure!(ran["tests"]["passed"] == 1 && ran["tests"]["failed"] == 1, "{ran:#}");
    let listed = finished(&mut agent, "list_tests", json!({})).await?;
    let first = json!({ "tests": [listed["tests"][0]["id"]] });
    let ran = finished(&mut agent, "run_tests", first).await?;
    ensure!(ran["tests"]["passed"] == 1 && ran["tests"]["total"] == 1, "{ran:#}");
    let failed = json!({ "filter": all["tests"]["failures"][0]["id"] });
    let ran = finished(&mut agent, "run_tests", failed).await?;
    ensure!(ran["tests"]["failed"] == 1 && ran["tests"]["total"] == 1, "{ran:#}");
    agent.finish().await
}

/// RSpec collects such failures, and raises them when no frame of the example is left.
#[tokio::test]
async fn collected_failures_of_rspec_stop_at_each_expectation() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    std::fs::create_dir(folder.path().join("spec"))?;
    let spec = "RSpec.describe \"Cart\", :aggregate_failures do\n  it \"adds\" do\n    sum = 3\n    \
        expect(sum).to eq(4)\n    expect(sum).to eq(3)\n    expect(sum).to eq(5)\n  end\nend\n";
    std::fs::write(folder.path().join("spec/cart_spec.rb"), spec)?;
    let mut agent = agent(folder.path(), &[]).await?;
    let arguments = Subject::Rdbg.with(json!({ "projectPath": ".", "filter": "Cart adds" }));
    let mut stop = finished(&mut agent, "debug_launch_test", arguments).await?;
    for line in [4, 6] {
        ensure!(stop["event"]["type"] == "exception" && stop["event"]["line"] == line, "{stop:#}");
        stop = finished(&mut agent, "debug_continue", json!({})).await?;
    }
    ensure!(stop["event"]["tests"]["failed"] == 1, "{stop:#}");
    agent.finish().await
}

const SUBTESTS: &str = "import assert from 'node:assert';
import { test } from 'node:test';
test('cart', async (t) => {
  t.plan(2);
  await t.test('adds', () => {});
  await t.test('rows', async (t) => {
    await t.test('row 1', () => {});
    await t.test('row 2', () => assert.equal(1, 2));
  });
});
test('outside', () => test('inside', () => {}));
test('outside', () => {});
";

#[tokio::test]
async fn subtests_of_node_s_runner_are_chosen_by_their_ids() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("a.test.mjs"), SUBTESTS)?;
    std::fs::write(folder.path().join("package.json"), r#"{ "scripts": { "test": "node --test" } }"#)?;
    let mut agent = agent(folder.path(), &[]).await?;
    // Two tests have one name.
    for (id, [passed, failed]) in [
        ("cart > adds", [1, 0]),
        ("cart > rows > row 2", [0, 1]),
        ("cart > rows", [1, 2]),
        ("outside > inside", [1, 0]),
        ("outside", [3, 0]),
    ] {
        let arguments = json!({ "tests": [format!("a.test.mjs > {id}")] });
        let tests = &finished(&mut agent, "run_tests", arguments).await?["tests"];
        ensure!(tests["passed"] == passed && tests["failed"] == failed, "{id}: {tests:#}");
    }
    let unknown = json!({ "tests": ["a.test.mjs > cart > subtracts"] });
    let unknown = finished(&mut agent, "run_tests", unknown).await?;
    ensure!(unknown["error"]["code"] == "NOT_FOUND", "{unknown:#}");
    agent.finish().await
}

/// Tests of one id, subtests that are skipped or fail, an unexpected success, and a documentation test.
const COUNTED: &str = "import doctest


class Row(unittest.TestCase):
    number = 0

    def test_row(self):
        self.assertLess(self.number, 2)

    def test_subtests(self):
        for number in range(3):
            with self.subTest(number=number):
                self.assertNotEqual(number, 1)

    def test_skips(self):
        with self.subTest(number=1):
            self.skipTest('later')

    @unittest.expectedFailure
    def test_unexpected(self):
        pass


def adds():
    '''
    >>> 1 + 1
    3
    '''


def load_tests(loader, tests, pattern):
    for number in range(3):
        row = Row('test_row')
        row.number = number
        tests.addTest(row)
    tests.addTest(doctest.DocTestSuite())
    return tests
";

#[tokio::test]
async fn tests_of_unittest_count_as_it_counts_them() -> anyhow::Result<()> {
    let folder = project(COUNTED)?;
    let mut agent = agent(folder.path(), &[]).await?;
    let ran = finished(&mut agent, "run_tests", json!({ "projectPath": "." })).await?;
    let tests = &ran["tests"];
    let counts = ["total", "passed", "failed", "skipped"].map(|name| tests[name].as_u64().unwrap_or(0));
    ensure!(counts == [8, 3, 4, 1], "{ran:#}");
    let failures = tests["failures"].as_array().context("no failures")?;
    ensure!(failures.iter().all(|one| one["line"].is_u64()), "{failures:#?}");
    ensure!(ran.to_string().contains("(number=1): AssertionError"), "{ran:#}");
    for (args, counts) in [(vec!["-k", "test_s"], [2, 0]), (vec!["-f", "test_own.Row.test_row"], [4, 3])] {
        let ran = finished(&mut agent, "run_tests", json!({ "projectPath": ".", "args": args })).await?;
        let tests = &ran["tests"];
        ensure!(tests["total"] == counts[0] && tests["passed"] == counts[1], "{args:?}: {ran:#}");
    }
    let refused = json!({ "projectPath": ".", "tests": ["test_own.Row.test_row"], "args": ["--nothing"] });
    let refused = finished(&mut agent, "run_tests", refused).await?;
    ensure!(refused["error"]["code"] == "INVALID_PARAMETER", "{refused:#}");
    agent.finish().await
}

/// A module whose second example fails, in line 5.
const EXAMPLES: &str = "def double(n):
    \"\"\"
    >>> double(2)
    4
    >>> double(3)
    7
    \"\"\"
    return n * 2
";

#[tokio::test]
async fn pytest_says_why_it_lists_no_tests_and_which_example_fails() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text);
    write("shop.py", EXAMPLES)?;
    write("conftest.py", "import os\nimport nowhere\n")?;
    let packages = fixture::python_packages().display().to_string();
    let mut agent = agent(folder.path(), &[("PYTHONPATH", packages)]).await?;
    for tool in ["list_tests", "run_tests"] {
        let broken = finished(&mut agent, tool, json!({ "projectPath": "." })).await?;
        ensure!(broken["error"]["code"] == "BUILD_FAILED", "{broken:#}");
        let found = &broken["diagnostics"]["conftest.py"][0];
        ensure!(found["range"]["start"]["line"] == 1, "{broken:#}");
        ensure!(found["message"].to_string().contains("No module named 'nowhere'"), "{broken:#}");
    }
    write("conftest.py", "")?;
    let examples = json!({ "projectPath": ".", "args": ["--doctest-modules"] });
    let ran = finished(&mut agent, "run_tests", examples).await?;
    let failed = &ran["tests"]["failures"][0];
    ensure!(failed["file"] == "shop.py" && failed["line"] == 5, "{ran:#}");
    ensure!(failed["message"].to_string().contains("double(3)"), "{ran:#}");
    write("pytest.ini", "[pytest]\naddopts = -p no_such_plugin\n")?;
    let refused = finished(&mut agent, "list_tests", json!({ "projectPath": "." })).await?;
    ensure!(refused["error"]["code"] == "INVALID_PARAMETER", "{refused:#}");
    ensure!(refused["error"]["message"].to_string().contains("no_such_plugin"), "{refused:#}");
    agent.finish().await
}

/// A test of JavaScript whose failure has no stack.
const THROWN: &str = "test('string', () => {
  throw 'no price';
});
";

/// Tests of pytest that fail without a call of the project: the last one ends the process.
const FRAMELESS: &str = "import os, pytest, sys

sys.path.insert(0, os.getcwd() + '-library')

@pytest.mark.xfail(strict=True, reason='no price')
def test_strict():
    pass


def test_fixture(no_price):
    pass


def test_library():
    import prices
    prices.find()


def test_ends():
    os._exit(3)
";

#[tokio::test]
async fn failures_without_a_call_have_the_place_of_their_test() -> anyhow::Result<()> {
    // A library beside the project, whose folder begins with the same name, is not part of it.
    let folders = tempfile::tempdir()?;
    let python = folders.path().join("shop");
    std::fs::create_dir_all(folders.path().join("shop-library"))?;
    std::fs::create_dir_all(&python)?;
    let library = folders.path().join("shop-library/prices.py");
    std::fs::write(library, "def find():\n    raise KeyError('melon')\n")?;
    std::fs::write(python.join("test_own.py"), FRAMELESS)?;
    let node = tempfile::tempdir()?;
    let scripts = r#"{ "scripts": { "test": "node --test" } }"#;
    std::fs::write(node.path().join("package.json"), scripts)?;
    let (jest, vitest) = (fixture::node_test_project("jest")?, fixture::node_test_project("vitest")?);
    let of_node = format!("const {{ test }} = require('node:test'); {THROWN}");
    let of_vitest = format!("import {{ test }} from 'vitest'; {THROWN}");
    std::fs::write(node.path().join("own.test.js"), of_node)?;
    let retried = "jest.retryTimes(1);\nlet runs = 0;\ntest('flaky', () => {\n  \
        if (++runs < 2) throw new Error('once');\n});\n";
    std::fs::write(jest.path().join("test/own.test.js"), format!("{THROWN}{retried}"))?;
    std::fs::write(vitest.path().join("test/own.test.ts"), of_vitest)?;
    for (folder, file, lines) in [
        (python.as_path(), "test_own.py", vec![5, 10, 16, 19]),
        (node.path(), "own.test.js", vec![1]),
        // A test that passes when it runs again has passed.
        (jest.path(), "test/own.test.js", vec![1]),
        (vitest.path(), "test/own.test.ts", vec![1]),
    ] {
        let packages = fixture::python_packages().display().to_string();
        let mut agent = agent(folder, &[("PYTHONPATH", packages)]).await?;
        let arguments = json!({ "projectPath": ".", "file": file });
        let ran = finished(&mut agent, "run_tests", arguments).await?;
        let failures =
            ran["tests"]["failures"].as_array().with_context(|| format!("no failures: {ran:#}"))?;
        let found: Vec<u64> = failures.iter().map(|one| one["line"].as_u64().unwrap_or(0)).collect();
        let passed = u64::from(folder == jest.path());
        ensure!(ran["tests"]["passed"] == passed, "{ran:#}");
        ensure!(found == lines && failures.iter().all(|one| one["file"] == file), "{ran:#}");
        ensure!(failures[0]["message"].to_string().contains("no price"), "{ran:#}");
        agent.finish().await?;
    }
    Ok(())
}

#[tokio::test]
async fn an_id_of_an_older_source_is_refused_with_what_is_near_it_now() -> anyhow::Result<()> {
    let folder = project("class Own(unittest.TestCase):\n    def test_total(self):\n        pass\n")?;
    let mut agent = agent(folder.path(), &[]).await?;
    let listed = finished(&mut agent, "list_tests", json!({ "projectPath": "." })).await?;
    let old = listed["tests"][0]["id"].as_str().context("no test")?.to_owned();
    let source = folder.path().join("test_own.py");
    std::fs::write(&source, std::fs::read_to_string(&source)?.replace("test_total", "test_totals"))?;
    for tool in ["run_tests", "debug_launch_test"] {
        let none = finished(&mut agent, tool, json!({ "projectPath": ".", "tests": [old] })).await?;
        ensure!(none["error"]["code"] == "NOT_FOUND", "{tool}: {none:#}");
        ensure!(
            none["error"]["hint"].as_str().is_some_and(|hint| hint.contains("test_totals")),
            "{tool}: {none:#}"
        );
    }
    agent.finish().await
}

/// A test that prints for as long as it may.
const FLOOD: &str = "class Own(unittest.TestCase):
    def test_floods(self):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            os.write(1, b'x' * 65535 + b'\\n')

    def test_is_killed(self):
        os.kill(os.getpid(), signal.SIGKILL)
";

#[tokio::test]
async fn a_test_that_never_stops_printing_is_ended_in_time_with_a_bounded_answer() -> anyhow::Result<()> {
    let folder = project(FLOOD)?;
    let scratch = tempfile::tempdir()?;
    let mut agent = agent(folder.path(), &[("TMPDIR", scratch.path().display().to_string())]).await?;
    let arguments =
        json!({ "projectPath": ".", "tests": ["test_own.Own.test_floods"], "testTimeoutMs": 3000 });
    let ended = finished(&mut agent, "run_tests", arguments).await?;
    let failure = &ended["tests"]["failures"][0];
    ensure!(failure["message"].as_str().is_some_and(|text| text.contains("3000 ms")), "{failure}");
    ensure!(ended.to_string().len() < 20_000, "{} bytes are too many", ended.to_string().len());
    let killed = json!({ "projectPath": ".", "tests": ["test_own.Own.test_is_killed"] });
    let killed = finished(&mut agent, "run_tests", killed).await?;
    let failure: &Value = &killed["tests"]["failures"][0];
    ensure!(failure["name"] == "test_own.Own.test_is_killed", "{killed:#}");
    ensure!(failure["message"].as_str().is_some_and(|text| text.contains("SIGKILL")), "{killed:#}");
    agent.finish().await?;
    let left: Vec<_> = std::fs::read_dir(scratch.path())?.flatten().map(|entry| entry.file_name()).collect();
    ensure!(left.is_empty(), "{left:?} is left behind");
    Ok(())
}

#[tokio::test]
async fn missing_tools_are_named_with_how_to_install_them() -> anyhow::Result<()> {
    let nowhere = tempfile::tempdir()?;
    for (name, message, hint) in [
        ("jest", "jest is not installed for", "npm install"),
        ("vitest", "vitest is not installed for", "npm install"),
        ("node", "cannot start `node`: not found in PATH", "install `node` (https://nodejs.org)"),
        ("cargo", "cannot start `cargo`: not found in PATH", "install `cargo` (https://rustup.rs)"),
        ("go", "cannot start `go`: not found in PATH", "install `go` (https://go.dev/dl)"),
        ("googletest", "cannot start `cmake`: not found in PATH", "install `cmake` (apt-get install cmake)"),
        ("minitest", "cannot start `ruby`: not found in PATH", "install `ruby` (apt-get install ruby)"),
        ("rspec", "cannot start `rspec`: not found in PATH", "gem install rspec"),
        (
            "unittest",
            "cannot start `python3`: not found in PATH",
            "install `python3` (apt-get install python3)",
        ),
        (
            "dotnet/xunit3",
            "cannot start `dotnet`: not found in PATH",
            "https://dotnet.microsoft.com/download",
        ),
    ] {
        let project = fixture::test_project(name)?;
        let path = nowhere.path().display().to_string();
        let mut agent = agent(project.path(), &[("PATH", path), ("DOTNET_ROOT", String::new())]).await?;
        for tool in ["list_tests", "run_tests"] {
            let missing = finished(&mut agent, tool, json!({ "projectPath": "." })).await?;
            let text = |key: &str| missing["error"][key].as_str().unwrap_or_default().to_owned();
            ensure!(text("code") == "COMMAND_FAILED", "{name}, {tool}: {missing:#}");
            ensure!(text("message").contains(message), "{name}, {tool}: {missing:#}");
            ensure!(text("hint").contains(hint), "{name}, {tool}: {missing:#}");
        }
        agent.finish().await?;
    }
    Ok(())
}

/// One child is in the runner's group, and one has left it.
const STARTS_OTHERS: &str = "class Own(unittest.TestCase):
    def test_waits(self):
        import subprocess
        subprocess.Popen(['sleep', '1001'])
        subprocess.run(['sleep', '1002'], start_new_session=True)
";

#[tokio::test]
async fn a_killed_bridge_leaves_no_runner_and_no_process_below_it() -> anyhow::Result<()> {
    let folder = project(STARTS_OTHERS)?;
    let mut place = ProcessTracker::new(0)?;
    let environment = place.environment();
    let environment: Vec<_> =
        environment.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    let mut agent = agent(folder.path(), &environment).await?;
    agent.start_call("run_tests", json!({ "projectPath": "." })).await?;
    let until = std::time::Instant::now() + deadline(60);
    while place.processes().iter().filter(|(_, name)| name == "sleep").count() < 2 {
        ensure!(std::time::Instant::now() < until, "the test did not start: {:?}", place.seen);
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    agent.signal("KILL").await?;
    place.wait_until_ended(deadline(10)).await
}
