//! Sources behind symbolic links: breakpoints bind by every path to a file, and each client sees the file
//! with the path that it uses.

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    a_source_reached_by_a_link_binds_and_is_shown_as_the_client_spells_it,
    a_source_compiled_through_a_link_is_found_by_another_way,
    a_spelling_that_every_client_can_use_wins,
}

/// A folder with a link to the fixture programs.
fn create_linked_folder() -> anyhow::Result<(tempfile::TempDir, String)> {
    let folder = tempfile::tempdir()?;
    let link = folder.path().join("mine");
    std::os::unix::fs::symlink(programs(), &link)?;
    Ok((folder, link.display().to_string()))
}

fn programs() -> std::path::PathBuf {
    fixture::root().join("fixtures/programs/dotnet")
}

fn request(path: &str, program: &str, marker: &str) -> Value {
    json!({ "source": { "path": path }, "breakpoints": [{ "line": fixture::line(program, marker) }] })
}

async fn launch(editor: &mut DapClient, more: Value, requests: &[Value]) -> anyhow::Result<Vec<Value>> {
    editor.ok("initialize", json!({ "clientID": "test" })).await?;
    let mut arguments = json!({ "program": fixture::program("values") });
    if let (Some(arguments), Some(more)) = (arguments.as_object_mut(), more.as_object()) {
        arguments.extend(more.clone());
    }
    let launch = editor.send("launch", arguments).await?;
    editor.event("initialized").await?;
    for request in requests {
        editor.ok("setBreakpoints", request.clone()).await?;
    }
    editor.ok("configurationDone", Value::Null).await?;
    let launched = editor.response(launch).await?;
    anyhow::ensure!(launched.success, "{}", launched.body);
    let bound = editor.breakpoint("changed").await?;
    anyhow::ensure!(bound["breakpoint"]["verified"] == true, "{bound}");
    let stopped = editor.event("stopped").await?;
    let stack = editor.ok("stackTrace", json!({ "threadId": stopped["threadId"] })).await?;
    let frames = stack["stackFrames"].as_array().cloned().context("no stack")?;
    Ok(frames)
}

async fn a_source_reached_by_a_link_binds_and_is_shown_as_the_client_spells_it(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let (_folder, link) = create_linked_folder()?;
    let mine = format!("{link}/values/Program.cs");
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let frames = launch(&mut editor, json!({}), &[request(&mine, "values", "simple")]).await?;
    assert_eq!(frames[0]["source"]["path"], json!(mine), "{frames:?}");
    assert_eq!(frames[0]["source"]["name"], "Program.cs");
    let sources = editor.ok("loadedSources", json!({})).await?["sources"].clone();
    let listed = sources.as_array().into_iter().flatten().any(|source| source["path"] == json!(mine));
    assert!(listed, "{sources}");
    let text = editor.ok("source", json!({ "source": { "path": mine }, "sourceReference": 0 })).await;
    assert!(text.is_ok_and(|text| text["content"].as_str().is_some_and(|text| text.contains("Main"))));
    editor.finish().await
}

async fn a_source_compiled_through_a_link_is_found_by_another_way(runtime: Runtime) -> anyhow::Result<()> {
    let (_folder, link) = create_linked_folder()?;
    // As if the compiler had gone through the link.
    let map = json!({ "sourceFileMap": { programs().display().to_string(): link } });
    let (_other, other) = create_linked_folder()?;
    let mine = format!("{other}/values/Program.cs");
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let frames = launch(&mut editor, map, &[request(&mine, "values", "simple")]).await?;
    assert_eq!(frames[0]["source"]["path"], json!(mine), "{frames:?}");
    editor.finish().await
}

async fn a_spelling_that_every_client_can_use_wins(runtime: Runtime) -> anyhow::Result<()> {
    let (_folder, link) = create_linked_folder()?;
    let mine = format!("{link}/values/Program.cs");
    let real = fixture::source("values");
    let requests = [request(&mine, "values", "simple"), request(&real, "values", "simple")];
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let frames = launch(&mut editor, json!({}), &requests).await?;
    assert_eq!(frames[0]["source"]["path"], json!(real), "{frames:?}");
    // And stays: the other spelling still binds, and changes nothing.
    let set = editor.ok("setBreakpoints", request(&mine, "values", "simple")).await?;
    assert_eq!(set["breakpoints"][0]["verified"], true, "{set}");
    let thread = thread(&mut editor).await?;
    let stack = editor.ok("stackTrace", json!({ "threadId": thread })).await?;
    assert_eq!(stack["stackFrames"][0]["source"]["path"], json!(real), "{stack}");
    editor.finish().await
}

async fn thread(editor: &mut DapClient) -> anyhow::Result<Value> {
    Ok(editor.ok("threads", json!({})).await?["threads"][0]["id"].clone())
}
