//! Async methods that the runtime itself suspends. Up to .NET 10 its debugging library crashes when one is on a stack.

use serde_json::json;
use tests::client::DapClient;
use tests::fixture::{self, Runtime};
use tests::transcript::Transcript;

modern_stories! {
    what_the_runtime_itself_suspends_is_refused_and_runs_undebugged,
}

async fn what_the_runtime_itself_suspends_is_refused_and_runs_undebugged(
    runtime: Runtime,
) -> anyhow::Result<()> {
    // .NET 10 has to be asked to run such code.
    let launch =
        json!({ "program": fixture::modern_program("suspended"), "env": { "DOTNET_RuntimeAsync": "1" } });
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let refused = editor.ask("launch", launch.clone()).await?;
    let error = &refused.body["error"];
    assert_eq!(error["variables"]["code"], "NOT_DEBUGGABLE", "{error}");
    assert!(
        error["variables"]["message"].as_str().is_some_and(|text| text.contains("runtime-async=on")),
        "{error}"
    );
    editor.finish().await?;

    let mut launch = launch;
    launch["noDebug"] = json!(true);
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let launch = editor.send("launch", launch).await?;
    editor.initialized(launch).await?;
    editor.ok("configurationDone", json!({})).await?;
    anyhow::ensure!(editor.response(launch).await?.success, "the launch failed");
    assert_eq!(editor.event("exited").await?["exitCode"], 5);
    editor.event("terminated").await?;
    assert_eq!(editor.output[0], "4\n");
    editor.finish().await
}
