//! Launches that are repeated until they fail or stop: tests and programs, debugged and not.

use std::path::Path;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::child::Subject;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

use super::frameworks::{agent, finished, line};

older_dotnet_tests! {
    a_dotnet_program_that_succeeds_runs_the_requested_number_of_times,
}

net10_tests! {
    a_flaky_test_of_xunit_is_repeated_until_it_fails_and_stops_there,
}

/// Calls, then waits by `debug_wait` alone.
async fn call_and_wait(agent: &mut Agent, tool: &str, arguments: Value) -> anyhow::Result<Value> {
    let mut answer = agent.call(tool, arguments).await?;
    while answer["pending"] == true {
        answer = agent.call("debug_wait", json!({})).await?;
    }
    Ok(answer)
}

/// The third run has failed, and is stopped where it failed.
async fn expect_stop_in_the_third_run(
    agent: &mut Agent,
    stop: &Value,
    file: &Path,
    variable: &str,
) -> anyhow::Result<()> {
    ensure!(stop["state"] == "stopped" && stop["runs"] == 3, "{stop:#}");
    ensure!(stop["event"]["line"].as_u64() == Some(line(file, "flaky")?), "{stop:#}");
    let count = agent.call("debug_evaluate", json!({ "expression": variable })).await?;
    ensure!(count["result"] == "3", "{count}");
    let sessions = agent.call("debug_sessions", json!({})).await?;
    let own = sessions["sessions"].as_array().into_iter().flatten().filter(|one| one["joined"] == true);
    ensure!(own.count() <= 2, "sessions of runs that have ended are left: {sessions:#}");
    agent.call("debug_disconnect", json!({})).await.map(drop)
}

/// Python that counts its runs in a file, and fails in the third.
const FLAKY_PYTHON: &str = "import pathlib

file = pathlib.Path(__file__).with_name(\"count\")
count = int(file.read_text()) + 1 if file.exists() else 1
file.write_text(str(count))
if count == 3:
    raise ValueError(\"the third\")  # BP flaky
";

#[tokio::test]
async fn a_program_of_python_is_repeated_until_it_fails_and_stops_there() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("flaky.py");
    std::fs::write(&file, FLAKY_PYTHON)?;
    let mut agent = agent(folder.path(), &[]).await?;
    // A wait that ended early continues in whichever run is then in progress.
    let arguments = Subject::Python.with(json!({ "program": file, "repeat": 9, "timeoutMs": 100 }));
    let stop = call_and_wait(&mut agent, "debug_launch", arguments).await?;
    expect_stop_in_the_third_run(&mut agent, &stop, &file, "count").await?;
    // A breakpoint does not end the repetition, and neither does a user who continues from there.
    std::fs::remove_file(folder.path().join("count"))?;
    let place = json!({ "sourceFile": file, "line": 4 });
    let arguments = Subject::Python.with(json!({ "program": file, "repeat": 9, "breakpoints": [place] }));
    let stop = call_and_wait(&mut agent, "debug_launch", arguments).await?;
    ensure!(stop["event"]["type"] == "breakpointHit" && stop["runs"] == 1, "{stop:#}");
    let next = call_and_wait(&mut agent, "debug_continue", json!({})).await?;
    ensure!(next["event"]["type"] == "breakpointHit" && next["runs"] == 2, "{next:#}");
    agent.call("debug_disconnect", json!({})).await?;
    for wrong in [json!({ "repeat": 0 }), json!({ "repeat": 100_000 }), json!({ "until": "never" })] {
        let mut arguments = Subject::Python.with(json!({ "program": file }));
        for (name, value) in wrong.as_object().into_iter().flatten() {
            arguments[name] = value.clone();
        }
        let refused = agent.call("debug_launch", arguments).await?;
        ensure!(refused["error"]["code"] == "INVALID_PARAMETER", "{refused}");
    }
    agent.finish().await
}

#[tokio::test]
async fn a_program_that_fails_is_run_on_until_it_stops_where_that_is_wanted() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("ends.py");
    let text = FLAKY_PYTHON.replace("raise ValueError(\"the third\")", "print(\"the third\")");
    std::fs::write(&file, format!("{text}import os\nos._exit(count)\n"))?;
    let mut agent = agent(folder.path(), &[]).await?;
    let place = json!({ "sourceFile": file, "text": "the third" });
    let until = json!({ "program": file, "until": "stops", "breakpoints": [place] });
    let stop = call_and_wait(&mut agent, "debug_launch", Subject::Python.with(until)).await?;
    ensure!(
        stop["event"]["type"] == "breakpointHit" && stop["runs"] == 3 && stop["failedRuns"] == 2,
        "{stop:#}"
    );
    // The repetition has reached its condition: it ends, and the program is not run again.
    let end = call_and_wait(&mut agent, "debug_continue", json!({})).await?;
    ensure!(end["event"]["exitCode"] == 3, "{end:#}");
    // Started again, it is repeated again.
    std::fs::remove_file(folder.path().join("count"))?;
    let again = call_and_wait(&mut agent, "debug_restart", json!({})).await?;
    ensure!(again["event"]["type"] == "breakpointHit" && again["runs"] == 3, "{again:#}");
    agent.finish().await
}

#[tokio::test]
async fn a_program_of_javascript_is_repeated_until_it_fails_and_stops_there() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().canonicalize()?.join("flaky.js");
    let text = r#"const fs = require("node:fs");
const file = __dirname + "/count";
const count = fs.existsSync(file) ? Number(fs.readFileSync(file)) + 1 : 1;
fs.writeFileSync(file, String(count));
if (count === 3) throw new Error("the third"); // BP flaky
"#;
    std::fs::write(&file, text)?;
    let mut agent = agent(folder.path(), &[]).await?;
    let arguments = Subject::Js.with(json!({ "program": file, "repeat": 9 }));
    let stop = call_and_wait(&mut agent, "debug_launch", arguments).await?;
    expect_stop_in_the_third_run(&mut agent, &stop, &file, "count").await?;
    agent.finish().await
}

async fn a_dotnet_program_that_succeeds_runs_the_requested_number_of_times(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let mut agent = Agent::start("agent", runtime, &Transcript::default()).await?;
    let arguments = json!({ "program": fixture::program("groups"), "repeat": 3 });
    let end = call_and_wait(&mut agent, "debug_launch", arguments).await?;
    ensure!(end["event"]["exitCode"] == 0 && end["runs"] == 3, "{end:#}");
    agent.finish().await
}

/// Counts its runs in the file that `COUNT` names, and fails in the third.
const FLAKY_XUNIT: &str = r#"using Xunit;

public class FlakyTests
{
    [Fact]
    public void Counts()
    {
        string file = Environment.GetEnvironmentVariable("COUNT")!;
        int count = File.Exists(file) ? int.Parse(File.ReadAllText(file)) + 1 : 1;
        File.WriteAllText(file, count.ToString());
        Assert.NotEqual(3, count); // BP flaky
    }
}
"#;

async fn a_flaky_test_of_xunit_is_repeated_until_it_fails_and_stops_there(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let projects = tempfile::tempdir()?;
    let project = projects.path().join("xunit3");
    std::fs::create_dir(&project)?;
    let built = fixture::dotnet_test_projects();
    for name in ["Cart.cs", "Directory.Build.props", "nuget.config", "xunit3/xunit3.csproj"] {
        std::fs::copy(built.join(name), projects.path().join(name))?;
    }
    let file = project.join("Flaky.cs");
    std::fs::write(&file, FLAKY_XUNIT)?;
    let mut command = tokio::process::Command::new(fixture::binary("tandem-mcp"));
    command.current_dir(projects.path());
    command.envs(runtime.environment().context("no runtime")?);
    let mut agent = Agent::spawn("agent", command, &Transcript::default()).await?;
    let arguments = json!({ "projectPath": "xunit3", "filter": "FlakyTests.Counts", "repeat": 9,
        "env": { "COUNT": projects.path().join("count") } });
    let stop = finished(&mut agent, "debug_launch_test", arguments).await?;
    expect_stop_in_the_third_run(&mut agent, &stop, &file, "count").await?;
    agent.finish().await
}

/// Counts its runs in a file, and panics in the third.
const FLAKY_RUST: &str = r#"
fn counted() -> i32 {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/count");
    let count = std::fs::read_to_string(file).map_or(1, |text| text.parse::<i32>().unwrap() + 1);
    std::fs::write(file, count.to_string()).unwrap();
    count
}

#[test]
fn flaky() {
    let count = counted();
    assert_ne!(count, 3); // BP flaky
}
"#;

#[tokio::test]
async fn a_flaky_test_of_cargo_is_repeated_until_it_fails_and_is_built_again_by_a_restart()
-> anyhow::Result<()> {
    let project = fixture::test_project("cargo")?;
    let file = project.path().join("tests/flaky.rs");
    std::fs::write(&file, FLAKY_RUST)?;
    let mut agent = agent(project.path(), &[]).await?;
    let arguments =
        Subject::Lldb.with(json!({ "projectPath": ".", "filter": "cart::flaky flaky", "repeat": 9 }));
    let stop = finished(&mut agent, "debug_launch_test", arguments).await?;
    expect_stop_in_the_third_run(&mut agent, &stop, &file, "count").await?;
    // Without a debugger: the count is reset, so it fails again in the third run.
    std::fs::remove_file(project.path().join("count"))?;
    let run = json!({ "tests": ["cart::flaky flaky"], "repeat": 9 });
    let failed = finished(&mut agent, "run_tests", run).await?;
    ensure!(failed["runs"] == 3 && failed["tests"]["failed"] == 1, "{failed:#}");
    let passed = json!({ "tests": ["cart tests::adds"], "repeat": 5, "parallel": 3 });
    let passed = finished(&mut agent, "run_tests", passed).await?;
    ensure!(passed["runs"] == 5 && passed["tests"]["passed"] == 1, "{passed:#}");
    // After a fix it passes: a restart builds.
    let arguments = Subject::Lldb.with(json!({ "projectPath": ".", "filter": "cart tests::fails" }));
    let stop = finished(&mut agent, "debug_launch_test", arguments).await?;
    ensure!(stop["state"] == "stopped" && stop["runs"].is_null(), "{stop:#}");
    let source = project.path().join("src/lib.rs");
    let text = std::fs::read_to_string(&source)?.replace("assert_eq!(sum, 4)", "assert_eq!(sum, 3)");
    std::fs::write(&source, text)?;
    let fixed = finished(&mut agent, "debug_restart", json!({ "run": true })).await?;
    ensure!(fixed["event"]["outcome"] == "passed", "{fixed:#}");
    agent.finish().await
}

#[tokio::test]
async fn a_flaky_test_of_node_is_repeated_until_it_fails_and_stops_there() -> anyhow::Result<()> {
    let project = fixture::test_project("node")?;
    let folder = project.path().canonicalize()?;
    let file = folder.join("test/flaky.test.mjs");
    let text = r#"import assert from "node:assert";
import fs from "node:fs";
import { test } from "node:test";

test("counts", () => {
  const file = "count";
  const count = fs.existsSync(file) ? Number(fs.readFileSync(file)) + 1 : 1;
  fs.writeFileSync(file, String(count));
  assert.notStrictEqual(count, 3); // BP flaky
});
"#;
    std::fs::write(&file, text)?;
    let mut agent = agent(&folder, &[]).await?;
    let arguments = Subject::Js
        .with(json!({ "projectPath": ".", "filter": "test/flaky.test.mjs > counts", "repeat": 9 }));
    let stop = finished(&mut agent, "debug_launch_test", arguments).await?;
    expect_stop_in_the_third_run(&mut agent, &stop, &file, "count").await?;
    agent.finish().await
}

/// A test that fails two seconds after it began, with an exception that vitest catches.
const SLOW: &str = r#"import { test } from "vitest";
import { price } from "../src/cart";

test("is slow", async () => {
  const name = "melon";
  await new Promise((done) => setTimeout(done, 4000));
  price(name);
});
"#;

#[tokio::test]
async fn a_test_that_must_run_twice_to_stop_does_so_when_it_is_waited_for() -> anyhow::Result<()> {
    let project = fixture::node_test_project("vitest")?;
    let folder = project.path().canonicalize()?;
    std::fs::write(folder.join("test/slow.test.ts"), SLOW)?;
    let mut agent = agent(&folder, &[]).await?;
    let arguments = Subject::Js
        .with(json!({ "projectPath": ".", "filter": "test/slow.test.ts > is slow", "timeoutMs": 500 }));
    let mut answer = agent.call("debug_launch_test", arguments.clone()).await?;
    while answer["pending"] == true && answer["session"].is_null() {
        answer = agent.call("debug_launch_test", arguments.clone()).await?;
    }
    ensure!(answer["pending"] == true, "it has taken its time: {answer:#}");
    let first = answer["session"].as_str().context("no session")?.to_owned();
    while answer["pending"] == true {
        answer = agent.call("debug_wait", json!({})).await?;
    }
    let cart = folder.join("src/cart.ts");
    ensure!(answer["state"] == "stopped" && answer["event"]["file"].as_str() == cart.to_str(), "{answer:#}");
    ensure!(answer["event"]["line"].as_u64() == Some(line(&cart, "throws")?), "{answer:#}");
    ensure!(answer["message"].as_str().is_some_and(|text| text.contains("run twice")), "{answer:#}");
    ensure!(answer["session"].as_str().is_some_and(|session| session != first), "{answer:#}");
    let end = agent.call("debug_continue", json!({})).await?;
    ensure!(end["event"]["outcome"] == "failed", "{end:#}");
    agent.finish().await
}
