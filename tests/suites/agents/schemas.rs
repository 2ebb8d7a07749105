//! The exact contents of `tools/list`, and the check of answers against it.

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::schema::Schemas;
use tandem_harness::transcript::Transcript;

/// Everything that a client gets about the tools, and pays for in each conversation.
#[tokio::test]
async fn list_of_tools_matches_its_snapshot() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut agent =
        Agent::in_folder("agent", folder.path(), &["--allow-commands"], &Transcript::default()).await?;
    let listed = agent.rpc("tools/list", json!({})).await?;
    let tools = listed["tools"].as_array().context("no tools")?;
    let mut text = String::new();
    for tool in tools {
        let of = |key: &str| tool[key].to_string();
        text += &format!("{} {}\n", tool["name"].as_str().unwrap_or_default(), of("annotations"));
        text += &format!("  {}\n  takes {}\n", of("description"), of("inputSchema"));
        text += &format!("  gives {}\n", of("outputSchema"));
        for (name, schema) in tool["outputSchema"]["properties"].as_object().context("no fields")? {
            assert!(schema["type"].is_string(), "{}: `{name}` has no type", tool["name"]);
        }
    }
    agent.finish().await?;
    insta::assert_snapshot!("tools_list", text);
    Ok(())
}

#[test]
fn an_answer_of_another_shape_is_found() -> anyhow::Result<()> {
    let schema = json!({ "type": "object", "properties": { "id": { "type": "integer" }, "rows": {
        "type": "array" } } });
    let schemas = Schemas::of(&json!({ "tools": [{ "name": "t", "outputSchema": schema }] }))?;
    let checked = |answer: Value| {
        let error = answer["success"] == false;
        let text = answer.to_string();
        let result = json!({ "structuredContent": answer, "content": [{ "text": text }], "isError": error });
        schemas.check("t", &result)
    };
    checked(json!({ "success": true, "id": 7, "rows": [], "more": null }))?;
    checked(json!({ "success": false, "error": { "code": "X", "message": "why" } }))?;
    assert!(checked(json!({ "success": true, "id": "7" })).is_err());
    assert!(checked(json!({ "success": true, "id": null })).is_err());
    assert!(checked(json!({ "success": true, "rows": {} })).is_err());
    assert!(checked(json!({ "success": false })).is_err());
    assert!(checked(json!({ "id": 7 })).is_err());
    Ok(())
}
