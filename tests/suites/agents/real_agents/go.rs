//! Go: a module's own tests.

use std::path::PathBuf;

use serde_json::json;
use tandem_harness::child::Subject;

use super::{AgentRun, fetched_path};

#[tokio::test]
#[ignore = "long: needs what scripts/real fetches; `./check --long` runs it"]
async fn long_a_module_s_own_test_is_debugged_in_the_module() -> anyhow::Result<()> {
    let folder = PathBuf::from(fetched_path("/debian/errors")?);
    let mut visit = AgentRun::begin(&folder).await?;
    visit.passes("go", json!({ "projectPath": folder, "filter": "^TestWrap$" })).await?;
    let arguments = Subject::Delve.with(json!({ "projectPath": folder, "filter": "^TestWrap$",
        "breakpoints": [{ "sourceFile": folder.join("stack.go"), "text": "var st stack = pcs[0:n]" }] }));
    let hit = visit.launch("debug_launch_test", arguments).await?;
    visit.hits(&hit, "callers")?;
    visit.check_values(&[("len(pcs)", "32"), ("n > 1", "true")]).await?;
    visit.sets("n", "1").await?;
    visit.call("debug_step_over", json!({})).await?;
    visit.check_values(&[("n", "1"), ("len(st)", "1")]).await?;
    let out = visit.call("debug_step_out", json!({})).await?;
    assert_eq!(out["event"]["function"], "github.com/pkg/errors.Wrap", "{out}");
    visit.check_values(&[("message", "\"read error\"")]).await?;
    visit.ends(0, "--- PASS: TestWrap ").await
}
