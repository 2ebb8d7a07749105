//! Native programs: a C++ library's tests, built by CMake, a crate's own tests, and a program in Rust that
//! reads its input.

use std::path::PathBuf;

use serde_json::json;
use tandem_harness::agent::Agent;
use tandem_harness::child::Subject;
use tandem_harness::deadline::deadline_ms;
use tandem_harness::transcript::Transcript;

use super::{AgentRun, copy_fetched, fetched_path};

#[tokio::test]
#[ignore = "long: needs what scripts/real fetches; `./check --long` runs it"]
async fn long_a_crate_s_own_test_is_debugged_in_the_crate() -> anyhow::Result<()> {
    let folder = PathBuf::from(fetched_path("/crates/strsim")?);
    let mut agent = Agent::in_folder("agent", &folder, &[], &Transcript::default()).await?;
    let mut arguments = Subject::Lldb.with(json!({ "projectPath": folder, "filter": "hamming_numbers" }));
    arguments["timeoutMs"] = json!(deadline_ms(120));
    arguments["breakpoints"] = json!([{ "sourceFile": folder.join("src/lib.rs"), "text": "if x != y {" }]);
    let hit = agent.call("debug_launch_test", arguments).await?;
    assert_eq!(hit["event"]["type"], "breakpointHit", "{hit}");
    assert!(hit["event"]["function"].as_str().is_some_and(|name| name.contains("generic_hamming")), "{hit}");
    let value = agent.call("debug_evaluate", json!({ "expression": "count" })).await?;
    assert_eq!(value["result"], "0", "{value}");
    let removed =
        agent.call("debug_remove_breakpoint", json!({ "breakpointId": hit["breakpoints"][0]["id"] })).await?;
    assert_eq!(removed["success"], true, "{removed}");
    let ended = agent.call("debug_continue", json!({})).await?;
    assert_eq!((&ended["state"], &ended["event"]["exitCode"]), (&json!("exited"), &json!(0)), "{ended}");
    // The crate has a second program of tests, which runs none: the output is that of the last.
    let tests = &ended["event"]["tests"];
    assert_eq!((&tests["passed"], &tests["failed"]), (&json!(1), &json!(0)), "{ended}");
    agent.finish().await
}

/// The tests of tinyxml2 pass as CTest runs them; debugged, they read less of a file than there is.
async fn a_library_in_cpp(subject: Subject) -> anyhow::Result<()> {
    let folder = copy_fetched("/debian/tinyxml2")?;
    let source = folder.path().join("tinyxml2.cpp");
    let mut visit = AgentRun::begin(folder.path()).await?;
    visit.passes("cmake", json!({ "projectPath": folder.path() })).await?;
    let arguments = subject.with(json!({ "projectPath": folder.path(), "cwd": folder.path(), "run": true,
        "breakpoints": [{ "sourceFile": source, "text": "const size_t size = \
            static_cast<size_t>(filelength);" }] }));
    let hit = visit.launch("debug_launch", arguments).await?;
    visit.hits(&hit, "LoadFile")?;
    visit.check_values(&[("filelength", "145040"), ("this->_writeBOM", "false")]).await?;
    visit.sets("filelength", "100").await?;
    visit.steps_until("size", "100").await?;
    visit.ends(1, "[fail] Example_1").await
}

#[tokio::test]
#[ignore = "long: needs what scripts/real fetches; `./check --long` runs it"]
async fn long_a_library_in_cpp_is_built_by_cmake_and_debugged_by_lldb() -> anyhow::Result<()> {
    a_library_in_cpp(Subject::Lldb).await
}

#[tokio::test]
#[ignore = "long: needs what scripts/real fetches; `./check --long` runs it"]
async fn long_a_library_in_cpp_is_built_by_cmake_and_debugged_by_gdb() -> anyhow::Result<()> {
    a_library_in_cpp(Subject::Gdb).await
}

#[tokio::test]
#[ignore = "long: needs what scripts/real fetches; `./check --long` runs it"]
async fn long_hexyl_is_built_by_cargo_and_shows_what_the_agent_types() -> anyhow::Result<()> {
    let folder = PathBuf::from(fetched_path("/crates/hexyl")?);
    let arguments = Subject::Lldb.with(json!({ "projectPath": folder, "run": true,
        "args": ["--color", "never", "--border", "none"],
        "breakpoints": [{ "sourceFile": folder.join("src/lib.rs"), "text": "let mut leftover = n;" }] }));
    let mut visit = AgentRun::begin(&folder).await?;
    let asks = visit.launch("debug_launch", arguments).await?;
    assert_eq!(asks["event"]["type"], "waitingForInput", "{asks}");
    visit.call("process_write_input", json!({ "data": "hello\n", "closeAfter": true })).await?;
    visit.waits_for("print_all").await?;
    visit.check_values(&[("n", "6"), ("is_empty", "false")]).await?;
    visit.steps_until("leftover", "6").await?;
    visit.sets("leftover", "3").await?;
    visit.ends(0, "68 65 6c   ").await
}
