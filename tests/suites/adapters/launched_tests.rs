//! A test source, or a project with nothing but tests, launched as any client does with F5: its tests are
//! debugged, and the console reports that. `dotnet/projects.rs` tests projects of .NET.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tandem_harness::child::{self, Subject};
use tandem_harness::client::DapClient;
use tandem_harness::fixture;
use tandem_harness::transcript::Transcript;

use tandem_harness::child::with_tools;

/// Stops at the line of a source with this marker, after the console has named the debugged tests.
async fn stops(launch: Value, (source, marker): (&Path, &str), says: &str) -> anyhow::Result<()> {
    let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
    let line = child::line(source, marker);
    editor.launch_child(launch, source, &[line]).await?;
    let (_, frame) = editor.stop().await?;
    ensure!(frame["line"] == line, "{frame:#}");
    ensure!(editor.output[2].contains(says), "{:?} lacks `{says}`", editor.output);
    editor.finish().await
}

#[tokio::test]
async fn a_file_of_pytest_is_run_by_pytest() -> anyhow::Result<()> {
    let project = fixture::test_project("pytest")?;
    let source = project.path().join("tests/test_cart.py");
    let env = json!({ "PYTHONPATH": fixture::python_packages() });
    let launch = json!({ "program": source, "args": ["-k", "test_fails"], "env": env });
    let says = "test_cart.py is a file of tests: debugging them with pytest";
    stops(Subject::Python.with(launch), (&source, "fails"), says).await
}

#[tokio::test]
async fn a_file_of_unittest_is_run_by_unittest_where_there_is_no_pytest() -> anyhow::Result<()> {
    let project = fixture::test_project("unittest")?;
    let source = project.path().join("tests/test_cart.py");
    let launch = json!({ "program": source, "args": ["-k", "test_fails"] });
    let says = "test_cart.py is a file of tests: debugging them with unittest";
    stops(Subject::Python.with(launch), (&source, "fails"), says).await
}

#[tokio::test]
async fn a_file_of_jest_is_run_by_jest() -> anyhow::Result<()> {
    let project = fixture::node_test_project("jest")?;
    let source = project.path().canonicalize()?.join("test/cart.test.js");
    let launch = json!({ "program": source, "args": ["-t", "fails"] });
    let says = "cart.test.js is a file of tests: debugging them with jest";
    stops(Subject::Js.with(launch), (&source, "fails"), says).await
}

/// vitest runs tests in a process that it starts: a separate session, with the breakpoints of the launch.
#[tokio::test]
async fn a_file_of_vitest_is_run_by_vitest() -> anyhow::Result<()> {
    let project = fixture::node_test_project("vitest")?;
    let source = project.path().canonicalize()?.join("test/cart.test.ts");
    let (transcript, line) = (Transcript::default(), child::line(&source, "fails"));
    let mut editor = DapClient::start_in("editor", HashMap::new(), &transcript)?;
    let hello = json!({ "clientID": "test", "adapterID": "tandem", "supportsStartDebuggingRequest": true });
    editor.ok("initialize", hello).await?;
    let launch = Subject::Js.with(json!({ "program": source, "args": ["-t", "Cart fails"] }));
    let launched = editor.send("launch", launch).await?;
    editor.initialized(launched).await?;
    editor.break_on(&source, &[line]).await?;
    editor.ok("configurationDone", Value::Null).await?;
    ensure!(editor.response(launched).await?.success, "not launched");
    let request = editor.request("startDebugging").await?;
    let id = request["configuration"]["session"].as_str().context("no session")?.to_owned();
    let socket = editor.socket().await?.with_file_name(format!("{id}.sock"));
    let mut worker = DapClient::connect("worker", &socket, &transcript).await?;
    worker.join(json!({ "clientID": "other", "adapterID": "tandem" })).await?;
    let (thread, frame) = worker.stop().await?;
    ensure!(frame["line"] == line, "{frame:#}");
    worker.ok("continue", json!({ "threadId": thread })).await?;
    worker.event("terminated").await?;
    worker.finish().await?;
    ensure!(editor.event("exited").await?["exitCode"] == 1, "a test has failed");
    // A further program that vitest needs.
    while editor.unclaimed_messages().contains(&"startDebugging".to_owned()) {
        editor.request("startDebugging").await?;
    }
    let says = "cart.test.ts is a file of tests: debugging them with vitest";
    ensure!(editor.output[2].contains(says), "{:?} lacks `{says}`", editor.output);
    editor.finish().await
}

#[tokio::test]
async fn a_file_for_node_s_own_runner_runs_by_itself() -> anyhow::Result<()> {
    let project = fixture::test_project("node")?;
    let source = project.path().canonicalize()?.join("test/cart.test.mjs");
    let launch = json!({ "program": source, "runtimeArgs": ["--test-name-pattern=^fails$"] });
    let says = "cart.test.mjs is a file of tests: debugging them with node:test";
    stops(Subject::Js.with(launch), (&source, "fails"), says).await
}

#[tokio::test]
async fn a_file_of_rspec_is_run_by_rspec() -> anyhow::Result<()> {
    let project = fixture::test_project("rspec")?;
    let source = project.path().join("spec/cart_spec.rb");
    let launch = json!({ "program": source, "args": ["-e", "fails"] });
    let says = "cart_spec.rb is a file of tests: debugging them with RSpec";
    for subject in [Subject::Rdbg, Subject::Rdbg192] {
        stops(subject.with(launch.clone()), (&source, "fails"), says).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_file_of_minitest_finds_what_it_tests() -> anyhow::Result<()> {
    let project = fixture::test_project("minitest")?;
    let source = project.path().join("test/cart_test.rb");
    let launch = json!({ "program": source, "args": ["-n", "test_fails"] });
    let says = "cart_test.rb is a file of tests: debugging them with minitest";
    for subject in [Subject::Rdbg, Subject::Rdbg192] {
        stops(subject.with(launch.clone()), (&source, "fails"), says).await?;
    }
    Ok(())
}

#[tokio::test]
async fn launched_library_of_rust_runs_its_tests() -> anyhow::Result<()> {
    let project = fixture::test_project("cargo")?;
    let source = project.path().join("src/lib.rs");
    for program in [project.path().join("Cargo.toml"), source.clone()] {
        let launch = json!({ "program": program, "args": ["--exact", "tests::fails"] });
        stops(Subject::Lldb.with(launch), (&source, "fails"), "Cargo.toml: debugging its tests").await?;
    }
    Ok(())
}

#[tokio::test]
async fn launched_go_test_file_runs_the_tests_of_the_package() -> anyhow::Result<()> {
    let project = fixture::test_project("go")?;
    let source = project.path().join("cart_test.go");
    let launch = json!({ "program": source, "args": ["-test.run=TestFails"] });
    let launch = with_tools(Subject::Delve.with(launch))?;
    stops(launch, (&source, "fails"), "cart_test.go: debugging its tests").await
}
