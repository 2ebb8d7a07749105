//! Async methods that the runtime itself suspends. Up to .NET 10 its debugging part does not know them, and a breakpoint there would
//! end the program.

use serde_json::json;
use tests::client::DapClient;
use tests::fixture::{self, Runtime};
use tests::transcript::Transcript;

modern_stories! {
    what_the_runtime_suspends_is_not_stopped_in_and_the_rest_is,
}

async fn what_the_runtime_suspends_is_not_stopped_in_and_the_rest_is(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    // .NET 10 has to be asked to run such code.
    let launch =
        json!({ "program": fixture::modern_program("suspended"), "env": { "DOTNET_RuntimeAsync": "1" } });
    let launch = editor.send("launch", launch).await?;
    editor.initialized(launch).await?;
    let line = |marker| fixture::modern_line("suspended", marker);
    let asked = json!([{ "line": line("suspended") }, { "line": line("plain") }]);
    let place = json!({ "path": fixture::modern_source("suspended") });
    editor.ok("setBreakpoints", json!({ "source": place, "breakpoints": asked })).await?;
    editor.ok("configurationDone", json!({})).await?;
    anyhow::ensure!(editor.response(launch).await?.success, "the launch failed");
    let (thread, frame) = editor.stop().await?;
    assert_eq!(frame["line"], line("plain"));
    let told = editor.ok("setBreakpoints", json!({ "source": place, "breakpoints": asked })).await?;
    let refused = &told["breakpoints"][0];
    assert_eq!((&refused["verified"], &told["breakpoints"][1]["verified"]), (&json!(false), &json!(true)));
    assert!(refused["message"].as_str().is_some_and(|text| text.contains("runtime-async=on")), "{refused}");
    let named = json!({ "breakpoints": [{ "name": "Program.Add" }] });
    let told = editor.ok("setFunctionBreakpoints", named).await?;
    assert_eq!(told["breakpoints"][0]["verified"], false, "{told}");
    // A step goes over what it cannot go into.
    editor.ok("stepIn", json!({ "threadId": thread })).await?;
    let (thread, frame) = editor.stop().await?;
    assert_eq!(frame["line"], line("after"));
    editor.ok("continue", json!({ "threadId": thread })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 5);
    editor.event("terminated").await?;
    assert!(
        editor.output[2].contains("has 1 async methods that the runtime itself suspends"),
        "{:?}",
        editor.output
    );
    assert_eq!(editor.output[0], "4\n");
    editor.finish().await
}
