//! JavaScript and TypeScript beyond what every language has ([`super::child_adapters`]).

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::child::{self, Subject};
use tandem_harness::client::DapClient;
use tandem_harness::transcript::Transcript;

fn editor() -> anyhow::Result<DapClient> {
    DapClient::start_in("editor", HashMap::new(), &Transcript::default())
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<PathBuf> {
    std::fs::create_dir_all(to.parent().context("no folder")?)?;
    std::fs::copy(from, to)?;
    Ok(to.to_path_buf())
}

async fn check_stop_in_total(launch: Value, source: &Path) -> anyhow::Result<()> {
    let mut editor = editor()?;
    let line = child::line(source, "add");
    editor.launch_child(launch, source, &[line]).await?;
    let (thread, frame) = editor.stop().await?;
    assert_eq!((&frame["line"], &frame["source"]["path"]), (&json!(line), &json!(source)));
    let arguments = json!({ "expression": "item.name", "frameId": frame["id"], "context": "watch" });
    assert_eq!(editor.ok("evaluate", arguments).await?["result"], "'apple'");
    editor.break_on(source, &[]).await?;
    editor.ok("continue", json!({ "threadId": thread })).await?;
    editor.event("terminated").await?;
    assert_eq!(editor.output[0], "total 7\n");
    editor.finish().await
}

#[tokio::test]
async fn breakpoints_in_typescript_bind_through_its_source_map() -> anyhow::Result<()> {
    let source = child::source("ts/src/shop.ts");
    check_stop_in_total(Subject::Js.with(json!({ "program": source })), &source).await?;
    // The compiled file as the program, and a working directory that is not the project's.
    let compiled = child::source("ts/dist/shop.js");
    check_stop_in_total(Subject::Js.with(json!({ "program": compiled, "cwd": "/" })), &source).await
}

#[tokio::test]
async fn a_source_that_nobody_compiled_runs_where_node_can_and_is_refused_where_not() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let folder = folder.path().canonicalize()?;
    let source = copy(&child::source("ts/src/shop.ts"), &folder.join("shop.ts"))?;
    // A Node of any age that says it is an old one.
    let old = folder.join("bin/node");
    std::fs::create_dir_all(folder.join("bin"))?;
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && echo v20.1.0 && exit\nexec {} \"$@\"\n",
        child::interpreter("node")
    );
    std::fs::write(&old, script)?;
    std::fs::set_permissions(&old, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let mut editor = editor()?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let launch = Subject::Js.with(json!({ "program": source, "runtimeExecutable": old }));
    let refused = editor.ask("launch", launch).await?;
    let error = &refused.body["error"]["variables"];
    assert_eq!(error["code"], "LAUNCH_FAILED", "{error}");
    let message = error["message"].as_str().unwrap_or_default();
    assert!(
        message.contains("shop.ts") && message.contains("Node 20.1") && message.contains("outDir"),
        "{message}"
    );
    editor.finish().await
}

/// Node stops at its next JavaScript, of which there may be none for hours.
#[tokio::test]
async fn a_pause_of_a_program_that_waits_for_ever_says_that_it_pends() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let program = folder.path().join("waits.js");
    std::fs::write(
        &program,
        "console.log('on');\nprocess.stdin.on('data', (data) => {\n  console.log(`got ${data}`);\n});\n",
    )?;
    let mut editor = editor()?;
    editor.launch_child(Subject::Js.with(json!({ "program": program })), &program, &[]).await?;
    editor.read_stdout("on").await?;
    // A pause is sometimes lost while Node's own code still runs after the program's; this one
    // is sent when Node is idle.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let refused = editor.ask("pause", json!({ "threadId": 0 })).await?;
    let error = &refused.body["error"]["variables"];
    assert_eq!(error["code"], "TIMEOUT", "{error}");
    editor.ok("processWriteInput", json!({ "data": "x\n" })).await?;
    // The pause holds.
    assert_eq!(editor.event("stopped").await?["reason"], "pause");
    editor.ok("disconnect", json!({ "terminateDebuggee": true })).await?;
    editor.wait_until_ended().await
}

/// Node keeps one breakpoint per location: it has to get both conditions, and to stop only if one holds. With
/// a stop in each round this would take minutes.
#[tokio::test]
async fn conditions_on_one_line_of_javascript_stop_only_where_one_holds() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let script = folder.path().canonicalize()?.join("rounds.js");
    let rounds =
        "let hits = 0;\nfor (let i = 0; i < 20000; i++) {\n  hits += 1;\n}\nconsole.log('all', hits);\n";
    std::fs::write(&script, rounds)?;
    let mut editor = editor()?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let launched = editor.send("launch", Subject::Js.with(json!({ "program": script }))).await?;
    editor.initialized(launched).await?;
    let requests = json!([{ "line": 3, "condition": "i === 15000" },
        { "line": 3, "condition": "i === 9000 && nowhere" },
        { "line": 3, "condition": "String(i) === '19999' // the last" }]);
    let arguments = json!({ "source": { "path": script }, "breakpoints": requests });
    let set = editor.ok("setBreakpoints", arguments).await?["breakpoints"].clone();
    editor.ok("configurationDone", Value::Null).await?;
    anyhow::ensure!(editor.response(launched).await?.success, "not launched");
    let mut thread = Value::Null;
    for (at, round) in [(1, "9000"), (0, "15000"), (2, "19999")] {
        let stopped = editor.event("stopped").await?;
        assert_eq!(stopped["hitBreakpointIds"], json!([set[at]["id"]]), "{stopped}");
        let stack = editor.ok("stackTrace", json!({ "threadId": stopped["threadId"] })).await?;
        let frame = &stack["stackFrames"][0]["id"];
        let arguments = json!({ "expression": "i", "frameId": frame, "context": "watch" });
        assert_eq!(editor.ok("evaluate", arguments).await?["result"], round);
        thread = stopped["threadId"].clone();
        if at < 2 {
            editor.ok("continue", json!({ "threadId": thread })).await?;
        }
    }
    // js-debug numbers breakpoints from the start once the program runs: a new one needs another id.
    let last = json!({ "source": { "path": script }, "breakpoints": [{ "line": 3, "condition": "false" },
        { "line": 5 }] });
    let set = editor.ok("setBreakpoints", last).await?["breakpoints"].clone();
    editor.ok("continue", json!({ "threadId": thread })).await?;
    let stopped = editor.event("stopped").await?;
    assert_eq!(stopped["hitBreakpointIds"], json!([set[1]["id"]]), "{stopped} {set}");
    editor.ok("continue", json!({ "threadId": thread })).await?;
    editor.event("terminated").await?;
    assert_eq!(editor.output[0], "all 20000\n");
    editor.finish().await
}
