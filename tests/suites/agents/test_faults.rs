//! Tests that cannot be built or do not end, with every framework: the first have diagnostics with locations,
//! and the second leave no process.
//!
//! Not here: frameworks that are missing ([`super::test_runs`]).

use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tandem_harness::child::Subject;
use tandem_harness::deadline::deadline;
use tandem_harness::fixture;

use super::frameworks::{agent, finished, go_environment};

/// Time limit for every step, even on a busy machine, s.
const TIMEOUT_SECS: u64 = 60;

/// A project of `fixtures/tests`, and how its tests are debugged.
struct Framework {
    subject: Subject,
    /// A test that waits for ever, one that ends its process, and what both need.
    hangs: &'static str,
    crashes: &'static str,
    more: Value,
}

fn framework(name: &'static str) -> anyhow::Result<Framework> {
    let (subject, hangs, crashes) = match name {
        "pytest" => (Subject::Python, "tests/test_bad.py::test_hangs", "tests/test_bad.py::test_crashes"),
        "unittest" => {
            let ids = ["tests.test_bad.BadTests.test_hangs", "tests.test_bad.BadTests.test_crashes"];
            (Subject::Python, ids[0], ids[1])
        }
        "cargo" => (Subject::Lldb, "cart::bad hangs", "cart::bad crashes"),
        "go" => (Subject::Delve, "example.com/shop TestHangs", "example.com/shop TestCrashes"),
        "googletest" => (Subject::Lldb, "cart BadTest.Hangs", "cart BadTest.Crashes"),
        "minitest" => (Subject::Rdbg, "BadTest#test_hangs", "BadTest#test_crashes"),
        "rspec" => (Subject::Rdbg, "spec/bad_spec.rb::Bad hangs", "spec/bad_spec.rb::Bad crashes"),
        "jest" => (Subject::Js, "test/bad.test.js > Bad > hangs", "test/bad.test.js > Bad > crashes"),
        "mocha" => (Subject::Js, "test/bad.test.js > Bad > hangs", "test/bad.test.js > Bad > crashes"),
        "vitest" => (Subject::Js, "test/bad.test.ts > Bad > hangs", "test/bad.test.ts > Bad > crashes"),
        "node" => (Subject::Js, "test/bad.test.cjs > Bad > hangs", "test/bad.test.cjs > Bad > crashes"),
        other => anyhow::bail!("`{other}` is not a framework of these tests"),
    };
    let more = if name == "go" { json!({ "env": { "HANG": "1", "CRASH": "1" } }) } else { json!({}) };
    Ok(Framework { subject, hangs, crashes, more })
}

fn copy(name: &str) -> anyhow::Result<tempfile::TempDir> {
    match name {
        "jest" | "mocha" | "vitest" => fixture::node_test_project(name),
        _ => fixture::test_project(name),
    }
}

/// Environment variables that a framework's tools need.
fn environment(name: &str) -> anyhow::Result<Vec<(&'static str, String)>> {
    Ok(match name {
        "pytest" => vec![("PYTHONPATH", fixture::python_packages().display().to_string())],
        "go" => go_environment()?.to_vec(),
        "googletest" => {
            let cmake = fixture::tool("cmake");
            let folder = cmake.parent().context("no folder")?.display();
            vec![("PATH", format!("{folder}:{}", std::env::var("PATH")?))]
        }
        _ => Vec::new(),
    })
}

/// Replaces words of a source and checks that an error is reported at that line, with `says` in its message.
async fn check_locations(
    name: &'static str,
    file: &str,
    (before, after): (&str, &str),
    says: &str,
) -> anyhow::Result<()> {
    let project = copy(name)?;
    let path = project.path().join(file);
    let text = std::fs::read_to_string(&path)?;
    let line = text.lines().position(|line| line.contains(before)).context("no such line")?;
    std::fs::write(&path, text.replacen(before, after, 1))?;
    let subject = framework(name)?.subject;
    let mut agent = agent(project.path(), &environment(name)?).await?;
    // Of Python's sources each is read by itself.
    let scope = file.ends_with(".py").then_some(file);
    for tool in ["list_tests", "run_tests", "debug_launch_test"] {
        // Go lists what its sources declare.
        if name == "go" && tool == "list_tests" {
            continue;
        }
        let arguments = json!({ "projectPath": ".", "file": scope });
        let arguments = if tool == "debug_launch_test" { subject.with(arguments) } else { arguments };
        let result = finished(&mut agent, tool, arguments).await?;
        let answer = if result["event"]["error"].is_null() { &result } else { &result["event"] };
        ensure!(answer["error"]["code"] == "BUILD_FAILED", "{tool}: {result:#}");
        let found = answer["diagnostics"][file].as_array().into_iter().flatten();
        let mut found = found.filter(|one| one["range"]["start"]["line"] == line);
        ensure!(
            found.any(|one| one["message"].as_str().is_some_and(|text| text.contains(says))),
            "{tool}: not at line {line} of {file}: {result:#}"
        );
    }
    agent.finish().await
}

macro_rules! errors_are_placed {
    ($($test:ident $name:literal $file:literal $change:expr, $says:literal)*) => { $(
        #[tokio::test]
        async fn $test() -> anyhow::Result<()> {
            check_locations($name, $file, $change, $says).await
        }
    )* };
}

errors_are_placed! {
    an_error_of_cargo_has_its_place "cargo" "src/lib.rs" ("let mut sum = 0;", "let mut sum = missing;"),
    "cannot find value"
    an_error_of_go_has_its_place "go" "cart.go" ("sum := 0", "sum := missing"), "undefined: missing"
    an_error_of_go_s_syntax_has_its_place "go" "cart_test.go" ("func TestAdds(", "func TestAdds)("),
    "expected"
    an_error_of_c_plus_plus_has_its_place "googletest" "cart_test.cc" ("int sum = left + right;",
        "int sum = missing;"), "missing"
    an_error_of_cmake_has_its_place "googletest" "CMakeLists.txt" ("enable_testing()", "enable_nothing()"),
    "enable_nothing"
    an_error_of_minitest_has_its_place "minitest" "test/cart_test.rb" ("def test_adds", "def test_adds)"),
    "syntax error"
    an_error_of_what_minitest_tests_has_its_place "minitest" "lib/cart.rb" ("sum = 0", "sum = )"),
    "syntax error"
    what_ruby_does_not_find_has_its_place "minitest" "test/cart_test.rb" ("require \"cart\"",
        "require \"melon\""), "cannot load such file -- melon"
    an_error_of_rspec_has_its_place "rspec" "spec/cart_spec.rb" ("it \"adds\" do", "it \"adds\" do)"),
    "syntax error"
    an_error_of_pytest_has_its_place "pytest" "tests/test_cart.py" ("def test_adds():",
        "def test_adds() !:"), "SyntaxError"
    an_error_of_unittest_has_its_place "unittest" "tests/test_cart.py" ("def test_adds(self):",
        "def test_adds(self) !:"), "SyntaxError"
}

/// The processes that have this word in their environment, except the bridge.
fn marked(word: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let has = |bytes: &[u8]| bytes.windows(word.len()).any(|part| part == word.as_bytes());
    let marked = entries.filter(|entry| {
        std::fs::read(entry.path().join("environ")).is_ok_and(|environment| has(&environment))
    });
    let command = |entry: std::fs::DirEntry| {
        let bytes = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let pid = entry.file_name().to_string_lossy().into_owned();
        format!("{pid}: {}", String::from_utf8_lossy(&bytes).replace('\0', " "))
    };
    marked.map(command).filter(|line| !line.contains("tandem-mcp")).collect()
}

/// Waits until no process that the agent has started is left.
async fn is_quiet(word: &str, what: &str) -> anyhow::Result<()> {
    let until = tokio::time::Instant::now() + deadline(TIMEOUT_SECS);
    loop {
        let left = marked(word);
        if left.is_empty() {
            return Ok(());
        }
        ensure!(tokio::time::Instant::now() < until, "{what} leaves {left:#?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// No process is left after a test that hangs or ends its process, with a limit for each test or for
/// the run, run and debugged.
async fn leaves_nothing(name: &'static str) -> anyhow::Result<()> {
    let Framework { subject, hangs, crashes, more } = framework(name)?;
    let project = copy(name)?;
    let own = project.path().display().to_string();
    let word = format!("TANDEM_STORY={own}");
    let mut env = environment(name)?;
    env.push(("TANDEM_STORY", own));
    let mut agent = agent(project.path(), &env).await?;
    let arguments = |test: &str, limit: &str, time: u64| {
        let mut arguments = more.clone();
        arguments["projectPath"] = json!(".");
        arguments["tests"] = json!([test]);
        arguments[limit] = json!(time);
        arguments
    };
    // The first run shows how long building and starting the test take on this machine.
    let mut run_limit_ms = 0;
    for (what, test, limit, time) in [
        ("a test's time limit", hangs, "testTimeoutMs", Some(2000)),
        ("the run's time limit", hangs, "runTimeoutMs", None),
        ("a crash", crashes, "testTimeoutMs", Some(30_000)),
    ] {
        let started = std::time::Instant::now();
        let arguments = arguments(test, limit, time.unwrap_or(run_limit_ms));
        let ended = finished(&mut agent, "run_tests", arguments).await?;
        ensure!(ended["tests"]["failed"] == 1, "{what}: {ended:#}");
        is_quiet(&word, what).await?;
        run_limit_ms = 2 * u64::try_from(started.elapsed().as_millis())?;
    }
    let debugged = subject.with(arguments(hangs, "timeoutMs", 1000));
    let until = tokio::time::Instant::now() + deadline(TIMEOUT_SECS);
    let mut runs = agent.call("debug_launch_test", debugged.clone()).await?;
    while runs["pending"] == true && runs["state"] != "running" && tokio::time::Instant::now() < until {
        runs = match runs["session"].is_string() {
            true => agent.call("debug_wait", json!({ "timeoutMs": 1000 })).await?,
            false => agent.call("debug_launch_test", debugged.clone()).await?,
        };
    }
    ensure!(runs["state"] == "running", "{runs:#}");
    ensure!(!marked(&word).is_empty(), "no process has the word");
    agent.call("debug_disconnect", json!({})).await?;
    is_quiet(&word, "a debugged test").await?;
    agent.finish().await
}

macro_rules! nothing_is_left {
    ($($test:ident $name:literal)*) => { $(
        #[tokio::test]
        async fn $test() -> anyhow::Result<()> {
            leaves_nothing($name).await
        }
    )* };
}

nothing_is_left! {
    nothing_is_left_of_pytest "pytest"
    nothing_is_left_of_unittest "unittest"
    nothing_is_left_of_go "go"
    nothing_is_left_of_googletest "googletest"
    nothing_is_left_of_minitest "minitest"
    nothing_is_left_of_rspec "rspec"
    nothing_is_left_of_jest "jest"
    nothing_is_left_of_mocha "mocha"
    nothing_is_left_of_vitest "vitest"
    nothing_is_left_of_node_s_own_runner "node"
}
