//! An agent and the file, git and build tools, over MCP on stdio.

use serde_json::{Value, json};
use tests::agent::Agent;
use tests::transcript::Transcript;

fn silent() -> Transcript {
    Transcript::default()
}

#[tokio::test]
async fn an_agent_reads_writes_and_lists_files_inside_its_root() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut agent = Agent::in_folder("agent", folder.path(), &[], &silent()).await?;
    let made = agent.call("create_directory", json!({ "path": "src/deep" })).await?;
    assert_eq!((&made["success"], &made["created"]), (&json!(true), &json!(true)));
    let content = "one\ntwo\nthree\n";
    let written = agent.call("write_file", json!({ "path": "src/a.txt", "content": content })).await?;
    assert_eq!(written["path"], json!(folder.path().canonicalize()?.join("src/a.txt")));
    assert_eq!((&written["bytesWritten"], &written["created"]), (&json!(14), &json!(true)));
    let read = agent.call("read_file", json!({ "path": folder.path().join("src/a.txt") })).await?;
    assert_eq!(read, json!({ "content": content, "size": 14, "lines": 3, "success": true }));
    let part = agent.call("read_file", json!({ "path": "src/a.txt", "start": 2, "count": 1 })).await?;
    assert_eq!((&part["content"], &part["next"]), (&json!("two\n"), &json!("3")));
    let part = agent.call("read_file", json!({ "path": "src/a.txt", "start": part["next"] })).await?;
    assert_eq!((&part["content"], &part["next"]), (&json!("three\n"), &Value::Null));
    let listed = agent.call("list_directory", json!({ "path": "src" })).await?;
    assert_eq!(
        listed,
        json!({ "entries": ["a.txt", "deep"], "directories": ["deep"], "total": 2, "success": true })
    );
    let there = agent.call("file_exists", json!({ "path": "src/a.txt" })).await?;
    assert_eq!(there, json!({ "exists": true, "size": 14, "success": true }));
    let there = agent.call("directory_exists", json!({ "path": "src/a.txt" })).await?;
    assert_eq!(there, json!({ "exists": false, "instead": "file", "success": true }));
    let deleted = agent.call("delete_file", json!({ "path": "src/a.txt" })).await?;
    assert_eq!(deleted["success"], true);
    let gone = agent.call("read_file", json!({ "path": "src/a.txt" })).await?;
    assert_eq!((&gone["success"], &gone["error"]["code"]), (&json!(false), &json!("NOT_FOUND")));
    let outside = agent.call("read_file", json!({ "path": "/etc/passwd" })).await?;
    assert_eq!(outside["error"]["code"], "PATH_NOT_ALLOWED");
    agent.finish().await
}

#[tokio::test]
async fn read_only_refuses_every_tool_that_writes_and_lists_none() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut agent =
        Agent::in_folder("agent", folder.path(), &["--read-only", "--allow-commands"], &silent()).await?;
    let listed = agent.rpc("tools/list", json!({})).await?;
    let tools: Vec<&Value> = listed["tools"].as_array().into_iter().flatten().collect();
    assert!(tools.iter().any(|tool| tool["name"] == "read_file"));
    assert!(tools.iter().all(|tool| tool["annotations"]["readOnlyHint"] == true), "{listed}");
    for (tool, arguments) in [
        ("write_file", json!({ "path": "a", "content": "" })),
        ("delete_file", json!({ "path": "a" })),
        ("create_directory", json!({ "path": "a" })),
    ] {
        let refused = agent.call(tool, arguments).await?;
        assert_eq!(refused["error"]["code"], "ACCESS_DENIED", "{tool}");
    }
    assert_eq!(std::fs::read_dir(folder.path())?.count(), 0);
    agent.finish().await
}

#[tokio::test]
async fn several_roots_can_be_allowed_and_relative_paths_begin_at_the_first() -> anyhow::Result<()> {
    let (one, two) = (tempfile::tempdir()?, tempfile::tempdir()?);
    std::fs::write(two.path().join("there.txt"), "there")?;
    let roots = [one.path().display().to_string(), two.path().display().to_string()];
    let flags = ["--root", &roots[0], "--root", &roots[1]];
    let elsewhere = tempfile::tempdir()?;
    let mut agent = Agent::in_folder("agent", elsewhere.path(), &flags, &silent()).await?;
    agent.call("write_file", json!({ "path": "here.txt", "content": "here" })).await?;
    assert_eq!(std::fs::read_to_string(one.path().join("here.txt"))?, "here");
    let read = agent.call("read_file", json!({ "path": two.path().join("there.txt") })).await?;
    assert_eq!(read["content"], "there");
    let outside =
        agent.call("write_file", json!({ "path": elsewhere.path().join("x"), "content": "" })).await?;
    assert_eq!(outside["error"]["code"], "PATH_NOT_ALLOWED");
    agent.finish().await
}
