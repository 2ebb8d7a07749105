//! Ruby: the tests of minitest, run by itself.

use std::path::PathBuf;

use serde_json::json;
use tandem_harness::child::Subject;

use super::{AgentRun, fetched_path};

#[tokio::test]
#[ignore = "long: needs what scripts/real fetches; `./check --long` runs it"]
async fn long_minitest_s_own_test_fails_where_the_agent_sets_a_value() -> anyhow::Result<()> {
    let folder = PathBuf::from(fetched_path("/minitest")?);
    let path = format!("{0}/lib:{0}/test", folder.display());
    let arguments = Subject::Rdbg.with(json!({
        "program": folder.join("test/minitest/test_minitest_assertions.rb"), "cwd": folder, "run": true,
        "args": ["-n", "test_assert_equal_different_long", "--seed", "1"], "env": { "RUBYLIB": path },
        "breakpoints": [{ "sourceFile": folder.join("lib/minitest/assertions.rb"),
            "text": "expect, butwas = things_to_diff(exp, act)" }] }));
    let mut visit = AgentRun::begin(&folder).await?;
    let hit = visit.launch("debug_launch", arguments).await?;
    visit.hits(&hit, "Assertions#diff")?;
    visit
        .check_values(&[("exp", "\"hahahahahahahahahahahahahahahahahahahaha\""), ("act.size", "40")])
        .await?;
    let over = visit.call("debug_step_over", json!({})).await?;
    assert_eq!(over["event"]["changed"].as_array().map(Vec::len), Some(2), "{over}");
    // rdbg sets no variables; an assignment is an expression.
    visit.call("debug_evaluate", json!({ "expression": "butwas = 'set by the agent'" })).await?;
    // The exception contains the output of `diff`, which runs as a separate process.
    visit.call("debug_set_exception_breakpoints", json!({ "filters": ["any"] })).await?;
    let raised = visit.call("debug_continue", json!({})).await?;
    assert_eq!(raised["event"]["type"], "exception", "{raised}");
    assert!(
        raised["event"]["message"].as_str().is_some_and(|text| text.contains("+set by the agent")),
        "{raised}"
    );
    visit.call("debug_set_exception_breakpoints", json!({ "filters": [] })).await?;
    visit.ends(1, "1 runs, 3 assertions, 1 failures").await
}
