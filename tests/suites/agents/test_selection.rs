//! The choice of the tests of a run: by class, file, trait, changes in git, and again until one fails; and
//! the answer if there is nothing to run.

use anyhow::{Context, ensure};
use serde_json::json;
use tandem_harness::child::Subject;
use tandem_harness::fixture;

use super::frameworks::{agent, finished, line};

/// A project of unittest in a git repository, whose test fails at its third run.
fn flaky() -> anyhow::Result<tempfile::TempDir> {
    let project = tempfile::tempdir()?;
    let test = "import pathlib\nimport unittest\n\n\nclass Flaky(unittest.TestCase):\n    def \
        test_counts(self):\n        \
        file = pathlib.Path(__file__).with_name(\"count\")\n        count = int(file.read_text()) + 1 if \
        file.exists() else 1\n        \
        file.write_text(str(count))\n        self.assertNotEqual(count, 3)  # BP flaky\n";
    std::fs::write(project.path().join("test_flaky.py"), test)?;
    let other =
        "import unittest\n\n\nclass Other(unittest.TestCase):\n    def test_nothing(self):\n        pass\n";
    std::fs::write(project.path().join("test_other.py"), other)?;
    for arguments in [&["init", "-q"][..], &["add", "."], &["commit", "-q", "-m", "all"]] {
        let git = std::process::Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@b"])
            .args(arguments)
            .current_dir(project.path())
            .status()?;
        ensure!(git.success(), "git {arguments:?}");
    }
    Ok(project)
}

#[tokio::test]
async fn a_flaky_test_is_repeated_until_it_fails_and_stops_there() -> anyhow::Result<()> {
    let project = flaky()?;
    let mut agent = agent(project.path(), &[]).await?;
    let arguments = Subject::Python
        .with(json!({ "projectPath": ".", "filter": "test_flaky.Flaky.test_counts", "repeat": 9 }));
    let stop = finished(&mut agent, "debug_launch_test", arguments).await?;
    ensure!(stop["state"] == "stopped" && stop["runs"] == 3, "{stop:#}");
    ensure!(
        stop["event"]["line"].as_u64() == Some(line(&project.path().join("test_flaky.py"), "flaky")?),
        "{stop:#}"
    );
    let count = agent.call("debug_evaluate", json!({ "expression": "count" })).await?;
    ensure!(count["result"] == "3", "{count}");
    agent.call("debug_disconnect", json!({})).await?;
    let passes = Subject::Python
        .with(json!({ "projectPath": ".", "filter": "test_other.Other.test_nothing", "repeat": 2 }));
    let passed = finished(&mut agent, "debug_launch_test", passes).await?;
    ensure!(passed["event"]["outcome"] == "passed" && passed["runs"] == 2, "{passed:#}");
    agent.finish().await
}

#[tokio::test]
async fn tests_are_chosen_by_what_git_says_has_changed() -> anyhow::Result<()> {
    let project = flaky()?;
    let mut agent = agent(project.path(), &[]).await?;
    let none = finished(&mut agent, "run_tests", json!({ "changedSince": "HEAD" })).await?;
    ensure!(none["error"]["code"] == "NOT_FOUND", "{none:#}");
    let file = project.path().join("test_other.py");
    std::fs::write(&file, format!("{}\n", std::fs::read_to_string(&file)?))?;
    let some = finished(&mut agent, "run_tests", json!({ "changedSince": "HEAD" })).await?;
    ensure!(
        some["tests"]["passes"][0]["name"] == "test_other.Other.test_nothing" && some["tests"]["total"] == 1,
        "{some:#}"
    );
    let wrong = agent.call("run_tests", json!({ "changedSince": "no-such" })).await?;
    ensure!(wrong["error"]["code"] == "INVALID_PARAMETER", "{wrong:#}");
    agent.finish().await
}

#[tokio::test]
async fn tests_are_chosen_by_class_file_and_trait_and_a_run_has_its_limits() -> anyhow::Result<()> {
    let project = fixture::test_project("pytest")?;
    let packages = fixture::python_packages().display().to_string();
    let mut agent = agent(project.path(), &[("PYTHONPATH", packages)]).await?;
    for (chosen, total) in [
        (json!({ "trait": "slow" }), 2),
        (json!({ "file": "tests/test_cart.py", "filter": "tests/test_cart.py::test_adds" }), 1),
        (json!({ "class": "tests/test_cart.py", "trait": ["slow"] }), 2),
    ] {
        let some = finished(&mut agent, "run_tests", chosen.clone()).await?;
        ensure!(some["tests"]["total"] == total, "{chosen}: {some:#}");
    }
    let none = finished(&mut agent, "run_tests", json!({ "trait": "slwo" })).await?;
    ensure!(none["error"]["code"] == "NOT_FOUND", "{none:#}");
    let limited = json!({ "tests": ["tests/test_bad.py::test_hangs"], "runTimeoutMs": 15000 });
    let hung = finished(&mut agent, "run_tests", limited).await?;
    let failure = &hung["tests"]["failures"][0];
    ensure!(failure["name"] == "tests/test_bad.py::test_hangs", "{hung:#}");
    ensure!(
        failure["message"].as_str().is_some_and(|text| text.contains("time limit of the run (15 s)")),
        "{hung:#}"
    );
    agent.finish().await
}

#[tokio::test]
async fn a_project_that_does_not_build_has_diagnostics() -> anyhow::Result<()> {
    let project = fixture::test_project("cargo")?;
    let source = project.path().join("src/lib.rs");
    std::fs::write(
        &source,
        std::fs::read_to_string(&source)?.replace("let mut sum = 0;", "let mut sum = missing;"),
    )?;
    let mut first = agent(project.path(), &[]).await?;
    for tool in ["list_tests", "run_tests", "debug_launch_test"] {
        let broken = finished(&mut first, tool, json!({ "projectPath": "." })).await?;
        ensure!(broken["error"]["code"] == "BUILD_FAILED", "{tool}: {broken:#}");
        ensure!(broken["diagnostics"]["src/lib.rs"][0]["range"]["start"]["line"] == 8, "{tool}: {broken:#}");
    }
    first.finish().await
}

#[tokio::test]
async fn a_python_without_pytest_is_named_with_how_to_install_it() -> anyhow::Result<()> {
    let project = fixture::test_project("pytest")?;
    let made = std::process::Command::new(tandem_harness::child::interpreter("python"))
        .args(["-m", "venv", "--without-pip", ".venv"])
        .current_dir(project.path())
        .status()?;
    ensure!(made.success(), "there is no environment");
    let mut agent = agent(project.path(), &[("PYTHONPATH", String::new())]).await?;
    let python = project.path().canonicalize()?.join(".venv/bin/python");
    let chosen = Subject::Python.with(json!({ "filter": "tests/test_cart.py::test_adds" }));
    let other = chosen["python"].as_str().map(std::path::PathBuf::from).context("no Python")?;
    for (tool, arguments, python) in [
        ("list_tests", json!({}), &python),
        ("run_tests", json!({ "filter": "tests/test_cart.py::test_adds" }), &python),
        ("run_tests", chosen.clone(), &other),
        ("debug_launch_test", chosen, &other),
    ] {
        let missing = finished(&mut agent, tool, arguments).await?;
        // A debugged run has begun already.
        let is_debugged = tool == "debug_launch_test";
        let error = if is_debugged { &missing["event"]["error"] } else { &missing["error"] };
        ensure!(error["code"] == "COMMAND_FAILED", "{tool}: {missing:#}");
        let message = format!("pytest is not installed for `{}`", python.display());
        ensure!(error["message"] == message, "{tool}: {missing:#}");
        // Packages are installed from outside into an environment without pip.
        let hint = match python.with_file_name("pip").exists() {
            true => format!("{} -m pip install pytest", python.display()),
            false => format!("uv pip install --python {} pytest", python.display()),
        };
        ensure!(error["hint"].as_str().is_some_and(|text| text.contains(&hint)), "{tool}: {missing:#}");
        ensure!(!is_debugged || missing["event"]["outcome"] == "notRun", "{missing:#}");
    }
    agent.finish().await
}

/// A test that passes in the first run. In the others of a row it waits for all of them; then one fails, and
/// the others wait for long.
const TOGETHER: &str = "import os
import pathlib
import time
import unittest

HERE = pathlib.Path(__file__).parent


def claimed():
    for number in range(9):
        try:
            os.close(os.open(HERE / f'run-{number}', os.O_CREAT | os.O_EXCL))
            return number
        except FileExistsError:
            pass


class Together(unittest.TestCase):
    def test_waits(self):
        number = claimed()
        (HERE / f'pid-{number}').write_text(str(os.getpid()))
        if number == 0:
            return
        deadline = time.monotonic() + 50
        while not all((HERE / f'pid-{each}').exists() for each in (1, 2, 3)) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertNotEqual(number, 1)
        time.sleep(600)
        (HERE / f'survived-{number}').touch()
";

#[tokio::test]
async fn concurrent_runs_end_when_one_fails() -> anyhow::Result<()> {
    let project = tempfile::tempdir()?;
    std::fs::write(project.path().join("test_together.py"), TOGETHER)?;
    let scratch = tempfile::tempdir()?;
    let mut agent = agent(project.path(), &[("TMPDIR", scratch.path().display().to_string())]).await?;
    let arguments = json!({ "projectPath": ".", "repeat": 9, "parallel": 3 });
    let failed = finished(&mut agent, "run_tests", arguments).await?;
    ensure!(failed["error"]["code"] == "TESTS_FAILED" && failed["runs"] == 2, "{failed:#}");
    let message = failed["tests"]["failures"][0]["message"].as_str().unwrap_or_default();
    ensure!(message.contains("1 == 1"), "{failed:#}");
    let names = ["pid-0", "pid-1", "pid-2", "pid-3"];
    for name in names {
        let pid = std::fs::read_to_string(project.path().join(name))?.parse()?;
        ensure!(!fixture::is_running(pid), "the process of {name} is left");
    }
    let others = ["pid-4", "survived-2", "survived-3"].map(|name| project.path().join(name).exists());
    ensure!(others == [false; 3], "{others:?}");
    let left: Vec<_> = std::fs::read_dir(scratch.path())?.flatten().map(|entry| entry.file_name()).collect();
    ensure!(left.is_empty(), "{left:?} is left behind");
    agent.finish().await
}
