//! Requests that an adapter has not announced or does not know: they are refused, and the session continues.

use std::collections::HashMap;
use std::time::Instant;

use serde_json::{Value, json};
use tandem_harness::child::Subject;
use tandem_harness::client::DapClient;
use tandem_harness::deadline::deadline;
use tandem_harness::transcript::Transcript;

fn editor() -> anyhow::Result<DapClient> {
    DapClient::start_in("editor", HashMap::new(), &Transcript::default())
}

/// lldb-dap 19 aborts at an unknown request, and an editor may send one before it receives the capabilities.
#[tokio::test]
async fn a_request_the_adapter_has_not_announced_does_not_reach_it() -> anyhow::Result<()> {
    let (source, mut editor) = (Subject::Lldb.source(), editor()?);
    editor.ok("initialize", json!({ "clientID": "test" })).await?;
    let launch = editor.send("launch", Subject::Lldb.launch()).await?;
    editor.event("initialized").await?;
    let arguments = json!({ "source": { "path": source }, "line": 1 });
    assert_eq!(editor.refused("breakpointLocations", arguments).await?, "UNSUPPORTED");
    assert_eq!(editor.refused("loadedSources", json!({})).await?, "UNSUPPORTED");
    let set = editor.break_on(&source, &[Subject::Lldb.line("handle")]).await?;
    assert_eq!(set["breakpoints"][0]["verified"], true);
    editor.ok("configurationDone", Value::Null).await?;
    anyhow::ensure!(editor.response(launch).await?.success);
    editor.ok("processWriteInput", json!({ "data": "x\n" })).await?;
    assert_eq!(editor.event("stopped").await?["reason"], "breakpoint");
    editor.finish().await
}

/// gdb answered requests right after a resume only when the program stopped again.
#[tokio::test]
async fn a_request_right_after_a_resume_is_answered_while_the_program_runs() -> anyhow::Result<()> {
    let (source, mut editor) = (Subject::Gdb.source(), editor()?);
    editor.ok("initialize", json!({ "clientID": "test" })).await?;
    let launch = editor.send("launch", Subject::Gdb.launch()).await?;
    editor.initialized(launch).await?;
    editor.break_on(&source, &[Subject::Gdb.line("handle")]).await?;
    let configured = editor.send("configurationDone", Value::Null).await?;
    let threads = editor.send("threads", Value::Null).await?;
    for request in [configured, threads, launch] {
        anyhow::ensure!(editor.response(request).await?.success);
    }
    for _ in 0..10 {
        editor.ok("processWriteInput", json!({ "data": "x\n" })).await?;
        let thread = editor.event("stopped").await?["threadId"].clone();
        let go_on = editor.send("continue", json!({ "threadId": thread })).await?;
        let threads = editor.send("threads", Value::Null).await?;
        for request in [go_on, threads] {
            anyhow::ensure!(editor.response(request).await?.success);
        }
    }
    editor.ok("disconnect", json!({ "terminateDebuggee": true })).await?;
    editor.wait_until_ended().await
}

/// lldb-dap 19 never answers again after a data breakpoint whose `dataId` has no size.
#[tokio::test]
async fn a_data_breakpoint_the_adapter_would_not_survive_is_refused_alone() -> anyhow::Result<()> {
    let (source, mut editor) = (Subject::Lldb.source(), editor()?);
    editor.launch_child(Subject::Lldb.launch(), &source, &[Subject::Lldb.line("handle")]).await?;
    editor.ok("processWriteInput", json!({ "data": "x\n" })).await?;
    let (_, frame) = editor.stop().await?;
    let scopes = editor.ok("scopes", json!({ "frameId": frame["id"] })).await?;
    let locals = scopes["scopes"][0]["variablesReference"].clone();
    let rows = editor.ok("variables", json!({ "variablesReference": locals })).await?;
    let info = json!({ "variablesReference": locals, "name": rows["variables"][0]["name"] });
    let id = editor.ok("dataBreakpointInfo", info).await?["dataId"].clone();
    let requests =
        json!({ "breakpoints": [{ "dataId": "no such" }, { "dataId": id, "accessType": "write" }] });
    let body = editor.ok("setDataBreakpoints", requests).await?;
    assert_eq!(body["breakpoints"][0]["verified"], false, "{body}");
    assert!(body["breakpoints"][0]["message"].as_str().is_some_and(|why| why.contains("no such")), "{body}");
    assert_eq!(body["breakpoints"][1]["verified"], true, "{body}");
    editor.ok("threads", json!({})).await?;
    editor.finish().await
}

/// js-debug never answers an unknown request and reports it on stderr. It does answer the custom requests
/// that VS Code's extension sends.
#[tokio::test]
async fn requests_unknown_to_js_debug_are_refused_at_once_and_its_own_reach_it() -> anyhow::Result<()> {
    let (source, mut editor) = (Subject::Js.source(), editor()?);
    editor.launch_child(Subject::Js.launch(), &source, &[Subject::Js.line("handle")]).await?;
    editor.ok("processWriteInput", json!({ "data": "x\n" })).await?;
    editor.stop().await?;
    let start = Instant::now();
    for command in ["inventedRequest", "inventedRequest", "another"] {
        assert_eq!(editor.refused(command, json!({})).await?, "UNSUPPORTED");
    }
    assert!(start.elapsed() < deadline(10), "{:?}", start.elapsed());
    editor.ok("setExcludedCallers", json!({ "callers": [] })).await?;
    editor.ok("threads", json!({})).await?;
    editor.finish().await
}
