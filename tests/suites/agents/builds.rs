//! Builds and tests of real projects by an agent, with their real tools.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

/// An agent whose root is the folder, and whose tools are those of set-up.
async fn agent(folder: &Path, tools: &[PathBuf], flags: &[&str]) -> anyhow::Result<Agent> {
    let mut command = tokio::process::Command::new(fixture::binary("tandem-mcp"));
    let path = fixture::path();
    let tools = tools.iter().filter_map(|tool| tool.parent().map(Path::to_owned));
    let path = std::env::join_paths(tools.chain(std::env::split_paths(&path)))?;
    command.args(flags).current_dir(folder).env("PATH", path);
    Agent::spawn("agent", command, &Transcript::default()).await
}

/// Calls a tool until it is done: on a busy machine a build may outlast a call.
async fn finished(agent: &mut Agent, tool: &str, arguments: Value) -> anyhow::Result<Value> {
    loop {
        let answer = agent.call(tool, arguments.clone()).await?;
        if answer["pending"] != true {
            return Ok(answer);
        }
    }
}

/// The line (from 1) of a file that says `fails here`.
fn failing(file: &Path) -> u64 {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().zip(1..).find(|(line, _)| line.contains("fails here")).map_or(0, |(_, number)| number)
}

/// One good, one bad, one that is not run; the bad one's message and place.
fn one_of_three_failed(answer: &Value, name: &str, file: &Path, says: &str) {
    let tests = &answer["tests"];
    let counts = ["total", "passed", "failed", "skipped"].map(|key| tests[key].as_u64());
    assert_eq!(counts, [Some(3), Some(1), Some(1), Some(1)], "{answer:#}");
    assert_eq!(
        (&answer["success"], &answer["error"]["code"]),
        (&json!(false), &json!("TESTS_FAILED")),
        "{answer:#}"
    );
    let failed = &tests["failures"][0];
    assert_eq!(failed["name"], name, "{answer:#}");
    assert_eq!(failed["line"].as_u64(), Some(failing(file)), "{answer:#}");
    assert!(failed["file"].as_str().is_some_and(|found| file.ends_with(found)), "{answer:#}");
    assert!(failed["message"].as_str().is_some_and(|message| message.contains(says)), "{answer:#}");
}

/// A filter selects so many tests that pass; one that matches none is an error.
async fn filters(agent: &mut Agent, filter: &str, passed: u64) -> anyhow::Result<()> {
    let some = finished(agent, "run_tests", json!({ "filter": filter })).await?;
    let tests = &some["tests"];
    let counts = (tests["passed"].as_u64(), tests["failed"].as_u64());
    assert_eq!((&some["success"], counts), (&json!(true), (Some(passed), Some(0))), "{some:#}");
    let none = finished(agent, "run_tests", json!({ "filter": "no_such_test" })).await?;
    assert_eq!((&none["success"], &none["error"]["code"]), (&json!(false), &json!("NOT_FOUND")), "{none:#}");
    Ok(())
}

#[tokio::test]
async fn cargo_projects_are_built_tested_and_checked() -> anyhow::Result<()> {
    let project = fixture::project("cargo")?;
    let mut agent = agent(project.path(), &[], &[]).await?;
    let built = finished(&mut agent, "build", json!({})).await?;
    assert_eq!(
        (&built["success"], &built["exitCode"], &built["tool"]),
        (&json!(true), &json!(0), &json!("cargo"))
    );
    assert_eq!((&built["errors"], &built["warnings"]), (&json!(0), &json!(1)), "{built:#}");
    let found = &built["diagnostics"]["src/lib.rs"][0];
    assert_eq!((&found["code"], &found["severity"]), (&json!("unused_variables"), &json!(2)));
    assert_eq!(found["range"]["start"], json!({ "line": 3, "character": 8 }));
    let tested = finished(&mut agent, "run_tests", json!({})).await?;
    one_of_three_failed(&tested, "tests::bad", &project.path().join("src/lib.rs"), "left: 3");
    filters(&mut agent, "tests::good", 1).await?;
    let args = json!({ "filter": "good", "args": ["--", "--exact"] });
    let none = finished(&mut agent, "run_tests", args).await?;
    assert_eq!(none["error"]["code"], "NOT_FOUND", "{none:#}");
    let source = std::fs::read_to_string(project.path().join("src/lib.rs"))?;
    agent
        .call(
            "write_file",
            json!({ "path": "src/lib.rs", "content": source.replace("left + right", "missing") }),
        )
        .await?;
    let checked = finished(&mut agent, "get_diagnostics", json!({})).await?;
    assert_eq!((&checked["success"], &checked["errors"]), (&json!(true), &json!(1)), "{checked:#}");
    let codes = |answer: &Value| {
        answer["diagnostics"]["src/lib.rs"].as_array().map(|all| all.iter().any(|one| one["code"] == "E0425"))
    };
    assert_eq!(codes(&checked), Some(true), "{checked:#}");
    let built = finished(&mut agent, "build", json!({ "projectPath": "Cargo.toml" })).await?;
    assert_eq!((&built["success"], &built["error"]["code"]), (&json!(false), &json!("BUILD_FAILED")));
    assert_eq!((&built["exitCode"], codes(&built)), (&json!(101), Some(true)));
    let restored = finished(&mut agent, "restore", json!({})).await?;
    assert_eq!(restored["success"], true, "{restored:#}");
    agent.finish().await
}

#[tokio::test]
async fn dotnet_projects_are_built_and_checked() -> anyhow::Result<()> {
    let environment = Runtime::Net31.environment().context("no .NET Core 3.1")?;
    let project = fixture::broken_project()?;
    let mut command = tokio::process::Command::new(fixture::binary("tandem-mcp"));
    command.envs(environment).current_dir(project.path());
    let mut agent = Agent::spawn("agent", command, &Transcript::default()).await?;
    let built = finished(&mut agent, "build", json!({})).await?;
    assert_eq!(
        (&built["success"], &built["error"]["code"]),
        (&json!(false), &json!("BUILD_FAILED")),
        "{built:#}"
    );
    let places = |answer: &Value| -> Vec<(Value, u64)> {
        let found = answer["diagnostics"]["Program.cs"].as_array().cloned().unwrap_or_default();
        found
            .iter()
            .map(|one| (one["code"].clone(), one["range"]["start"]["line"].as_u64().unwrap_or(0) + 1))
            .collect()
    };
    let line = |marker| u64::try_from(fixture::line("broken", marker)).unwrap_or_default();
    let expected = [(json!("CS0029"), line("type")), (json!("CS0103"), line("name"))];
    assert_eq!((places(&built), &built["errors"]), (expected.to_vec(), &json!(2)), "{built:#}");
    let source = "static class Program { static void Main() { int unused; } }";
    agent.call("write_file", json!({ "path": "Program.cs", "content": source })).await?;
    std::fs::write(
        project.path().join("Directory.Build.props"),
        std::fs::read_to_string(project.path().join("Directory.Build.props"))?.replace("CS0168", ""),
    )?;
    let built = finished(&mut agent, "build", json!({ "projectPath": "broken.csproj" })).await?;
    assert_eq!((&built["success"], &built["exitCode"]), (&json!(true), &json!(0)), "{built:#}");
    // Nothing is compiled now, but the warning is still found; earlier build output stays unchanged.
    let built = written(project.path())?;
    assert!(built.iter().any(|(file, _)| file.ends_with("broken.dll")), "{built:?}");
    let cut = json!({ "timeoutMs": 1 });
    assert_eq!(agent.call("get_diagnostics", cut.clone()).await?["pending"], true);
    let id = agent.start_call("get_diagnostics", json!({})).await?;
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    agent.notify("notifications/cancelled", json!({ "requestId": id })).await?;
    let checked = finished(&mut agent, "get_diagnostics", json!({})).await?;
    assert_eq!(written(project.path())?, built);
    assert_eq!(
        (places(&checked), &checked["warnings"]),
        (vec![(json!("CS0168"), 1)], &json!(1)),
        "{checked:#}"
    );
    agent.finish().await
}

/// Every program and library below a folder, and when it was written.
fn written(top: &Path) -> anyhow::Result<Vec<(PathBuf, std::time::SystemTime)>> {
    let (mut folders, mut found) = (vec![top.to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "dll" || ending == "pdb") {
                let time = path.metadata()?.modified()?;
                found.push((path, time));
            }
        }
    }
    found.sort();
    Ok(found)
}

#[tokio::test]
async fn npm_scripts_are_run_and_their_output_read() -> anyhow::Result<()> {
    let project = fixture::project("npm")?;
    // Another file, without a test.
    std::fs::write(project.path().join("empty.test.js"), "// node:test\n")?;
    let mut agent = agent(project.path(), &[], &[]).await?;
    let built = finished(&mut agent, "build", json!({})).await?;
    assert_eq!(built["error"]["code"], "BUILD_FAILED", "{built:#}");
    assert_eq!(built["diagnostics"]["src/a.ts"][0]["code"], "TS2322", "{built:#}");
    let tested = finished(&mut agent, "run_tests", json!({})).await?;
    one_of_three_failed(&tested, "add.test.js > bad", &project.path().join("add.test.js"), "3 == 4");
    filters(&mut agent, "good", 1).await?;
    let none = agent.call("get_diagnostics", json!({})).await?;
    assert_eq!(none["error"]["code"], "UNSUPPORTED");
    agent.finish().await
}

#[tokio::test]
async fn python_projects_are_checked_and_tested_with_pytest() -> anyhow::Result<()> {
    let project = fixture::project("python")?;
    let mut command = tokio::process::Command::new(fixture::binary("tandem-mcp"));
    let python = PathBuf::from(tandem_harness::child::interpreter("python"));
    let folders = python.parent().map(Path::to_owned).into_iter();
    let path = std::env::join_paths(folders.chain(std::env::split_paths(&fixture::path())))?;
    command.current_dir(project.path()).env("PYTHONPATH", fixture::python_packages()).env("PATH", path);
    let mut agent = Agent::spawn("agent", command, &Transcript::default()).await?;
    let checked = finished(&mut agent, "get_diagnostics", json!({})).await?;
    assert_eq!(checked["diagnostics"]["broken.py"][0]["code"], "SyntaxError", "{checked:#}");
    assert_eq!(checked["diagnostics"]["broken.py"][0]["range"]["start"]["line"], 0);
    let tested = finished(&mut agent, "run_tests", json!({})).await?;
    one_of_three_failed(
        &tested,
        "tests/test_add.py::test_bad",
        &project.path().join("tests/test_add.py"),
        "assert (1 + 2) == 4",
    );
    assert!(!project.path().join("__pycache__").exists());
    // As the results name it, as pytest's own id, and as an expression.
    for name in ["tests.test_add.test_good", "tests/test_add.py::test_good", "test_good and not bad"] {
        filters(&mut agent, name, 1).await?;
    }
    // From a folder below, the file above is still loaded, and the modules next to it are found.
    std::fs::write(project.path().join("conftest.py"), "")?;
    std::fs::write(project.path().join("calculation.py"), "def three():\n    return 3\n")?;
    std::fs::create_dir(project.path().join("cases"))?;
    let test = "from calculation import three\n\n\ndef test_three():\n    assert three() == 3\n";
    std::fs::write(project.path().join("cases/test_three.py"), test)?;
    let below = finished(&mut agent, "run_tests", json!({ "projectPath": "cases" })).await?;
    assert_eq!((&below["success"], &below["tests"]["total"]), (&json!(true), &json!(1)), "{below:#}");
    agent.finish().await
}

#[tokio::test]
async fn ruby_tests_are_run_with_minitest() -> anyhow::Result<()> {
    let project = tempfile::tempdir()?;
    let file = project.path().join("test/add_test.rb");
    std::fs::create_dir(project.path().join("test"))?;
    let source = "require 'minitest/autorun'\nclass AddTest < Minitest::Test\n  def test_good\n    \
        assert_equal 3, 1 + 2\n  \
        end\n  def test_bad\n    assert_equal 4, 1 + 2 # fails here\n  end\n  def test_off\n    skip \
        'no'\n  end\nend\n";
    std::fs::write(&file, source)?;
    std::fs::write(project.path().join("Rakefile"), "")?;
    let ruby = PathBuf::from(tandem_harness::child::interpreter("ruby"));
    let mut agent = agent(project.path(), &[ruby], &[]).await?;
    let tested = finished(&mut agent, "run_tests", json!({})).await?;
    one_of_three_failed(&tested, "AddTest#test_bad", &file, "Expected: 4");
    filters(&mut agent, "AddTest#test_good", 1).await?;
    agent.finish().await
}

#[tokio::test]
async fn makefiles_and_cmake_are_built_and_tested() -> anyhow::Result<()> {
    let project = fixture::project("make")?;
    let mut agent_of_make = agent(project.path(), &[], &[]).await?;
    let built = finished(&mut agent_of_make, "build", json!({})).await?;
    assert_eq!(
        (&built["error"]["code"], &built["errors"], &built["warnings"]),
        (&json!("BUILD_FAILED"), &json!(1), &json!(1)),
        "{built:#}"
    );
    let line = failing(&project.path().join("main.c"));
    let found = built["diagnostics"]["main.c"].as_array().cloned().unwrap_or_default();
    assert!(
        found.iter().any(|one| one["severity"] == 1 && one["range"]["start"]["line"] == line - 1),
        "{built:#}"
    );
    agent_of_make
        .call("write_file", json!({ "path": "main.c", "content": "int main(void) { return 0; }\n" }))
        .await?;
    let tested = finished(&mut agent_of_make, "run_tests", json!({})).await?;
    assert_eq!(
        (&tested["tests"]["passed"], &tested["tests"]["failed"]),
        (&json!(1), &json!(1)),
        "{tested:#}"
    );
    agent_of_make.finish().await?;

    let project = fixture::project("cmake")?;
    let mut agent_of_cmake = agent(project.path(), &[fixture::tool("cmake")], &[]).await?;
    let tested = finished(&mut agent_of_cmake, "run_tests", json!({})).await?;
    assert_eq!(
        (&tested["tests"]["passed"], &tested["tests"]["failed"]),
        (&json!(1), &json!(1)),
        "{tested:#}"
    );
    assert_eq!(tested["tests"]["failures"][0]["name"], "bad", "{tested:#}");
    filters(&mut agent_of_cmake, "^good$", 1).await?;
    // Of a build that succeeded they are counted; it lists them itself.
    assert_eq!(tested["warnings"], 1, "{tested:#}");
    agent_of_cmake.finish().await
}

#[tokio::test]
async fn go_modules_are_built_and_tested() -> anyhow::Result<()> {
    let project = fixture::project("go")?;
    let home = tempfile::tempdir()?;
    let mut command = tokio::process::Command::new(fixture::binary("tandem-mcp"));
    let go = fixture::tool("go");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(
        go.parent().map(Path::to_owned).into_iter().chain(std::env::split_paths(&path)),
    )?;
    command.current_dir(project.path()).env("PATH", path);
    // The one cache of all runs: go compiles its standard library into it.
    command.env("GOCACHE", fixture::cache().join("go-build")).env("GOPATH", home.path());
    command.env("GOTOOLCHAIN", "local").env("GOFLAGS", "-mod=mod").env("GOPROXY", "off");
    let mut agent = Agent::spawn("agent", command, &Transcript::default()).await?;
    let tested = finished(&mut agent, "run_tests", json!({})).await?;
    one_of_three_failed(&tested, "TestBad", &project.path().join("add_test.go"), "got 3, want 4");
    filters(&mut agent, "^TestGood$", 1).await?;
    agent
        .call(
            "write_file",
            json!({ "path": "add.go", "content": "package fixture\n\nfunc Add() int { return missing }\n" }),
        )
        .await?;
    let built = finished(&mut agent, "build", json!({})).await?;
    assert_eq!(built["error"]["code"], "BUILD_FAILED", "{built:#}");
    assert_eq!(built["diagnostics"]["add.go"][0]["message"], "undefined: missing", "{built:#}");
    agent.finish().await
}

#[tokio::test]
async fn projects_that_cannot_be_built_are_refused_with_the_reason() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    for name in ["a.csproj", "b.csproj", "Makefile"] {
        std::fs::write(folder.path().join(name), "")?;
    }
    std::fs::create_dir(folder.path().join("empty"))?;
    let mut agent = agent(folder.path(), &[], &[]).await?;
    for (arguments, code) in [
        (json!({ "projectPath": "empty" }), "NOT_FOUND"),
        (json!({ "projectPath": "none" }), "NOT_FOUND"),
        (json!({ "projectPath": ".." }), "PATH_NOT_ALLOWED"),
        (json!({}), "INVALID_PARAMETER"),
        (json!({ "tool": "ant" }), "INVALID_PARAMETER"),
    ] {
        let refused = agent.call("build", arguments.clone()).await?;
        assert_eq!(refused["error"]["code"], code, "{arguments}");
    }
    let unsupported = agent.call("restore", json!({ "tool": "make" })).await?;
    assert_eq!(unsupported["error"]["code"], "UNSUPPORTED");
    agent.finish().await
}

#[tokio::test]
async fn a_flood_of_output_is_read_and_mostly_forgotten() -> anyhow::Result<()> {
    let project = tempfile::tempdir()?;
    let line = "x".repeat(4000);
    let makefile = format!(
        "all:\n\t@echo main.c:1:2: error: first\n\t@yes {line} | head -c 300000000\n\t@echo\n\
            \t@echo main.c:3:4: error: last\n\t@false\n"
    );
    std::fs::write(project.path().join("Makefile"), makefile)?;
    let mut agent = agent(project.path(), &[], &[]).await?;
    let built = finished(&mut agent, "build", json!({})).await?;
    let output = built["output"].as_str().unwrap_or_default();
    assert!(output.len() < 20_000 && output.starts_with("main.c:1:2: error: first\n"), "{}", output.len());
    assert!(output.contains("bytes left out"));
    let messages = built["diagnostics"]["main.c"].as_array().cloned().unwrap_or_default();
    let messages: Vec<&Value> = messages.iter().map(|one| &one["message"]).collect();
    assert_eq!(messages, [&json!("first"), &json!("last")]);
    assert!(agent.peak_memory()? < 100_000, "{} KiB", agent.peak_memory()?);
    agent.finish().await
}
