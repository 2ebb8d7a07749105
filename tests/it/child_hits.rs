//! Hit counts and assignments mean the same whatever adapter there is. Not conditions and log messages, which are each adapter's.

use std::collections::HashMap;

use anyhow::Context;
use serde_json::{Value, json};
use tests::child::Subject;
use tests::client::DapClient;
use tests::transcript::Transcript;

/// Hands it lines to handle and says at which it stopped, by their number.
async fn stops(subject: Subject, hit_condition: &str) -> anyhow::Result<Vec<i64>> {
    let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let launched = editor.send("launch", subject.launch()).await?;
    editor.initialized(launched).await?;
    let wish = json!({ "line": subject.line("handle"), "hitCondition": hit_condition });
    let asked = json!({ "source": { "path": subject.source() }, "breakpoints": [wish] });
    editor.ok("setBreakpoints", asked).await?;
    editor.ok("configurationDone", Value::Null).await?;
    anyhow::ensure!(editor.response(launched).await?.success, "not launched");
    // The nth line has n characters.
    let lines: String = (1..=6).map(|number| "x".repeat(number) + "\n").collect();
    editor.ok("processWriteInput", json!({ "data": lines, "closeAfter": true })).await?;
    let mut seen = Vec::new();
    loop {
        let (event, body) = editor.any_event(&["stopped", "exited"]).await?;
        if event == "exited" {
            assert_eq!(body["exitCode"], 7);
            editor.event("terminated").await?;
            editor.finish().await?;
            return Ok(seen);
        }
        let thread = body["threadId"].as_i64().context("no thread")?;
        let stack = editor.ok("stackTrace", json!({ "threadId": thread })).await?;
        let frame = &stack["stackFrames"][0]["id"];
        let expression = if subject == Subject::Bash { "$length" } else { "length" };
        let asked = json!({ "expression": expression, "frameId": frame, "context": "watch" });
        let length = editor.ok("evaluate", asked).await?["result"].clone();
        seen.push(length.as_str().context("no length")?.parse()?);
        editor.ok("continue", json!({ "threadId": thread })).await?;
    }
}

async fn counts(subject: Subject) -> anyhow::Result<()> {
    for (hit_condition, expected) in
        [("3", vec![3]), (">= 5", vec![5, 6]), ("> 5", vec![6]), ("% 2", vec![2, 4, 6])]
    {
        assert_eq!(stops(subject, hit_condition).await?, expected, "`{hit_condition}`");
    }
    Ok(())
}

/// Declares the story for each adapter that is set up.
macro_rules! told_with {
    ($($name:ident: $subject:ident),* $(,)?) => {
        $(#[tokio::test]
        async fn $name() -> anyhow::Result<()> {
            if Subject::$subject.is_set_up() { counts(Subject::$subject).await } else { Ok(()) }
        })*
    };
}

told_with! {
    bash_counts_hits: Bash,
    debugpy_counts_hits: Python,
    delve_counts_hits: Delve,
    gdb_counts_hits: Gdb,
    js_counts_hits: Js,
    lldb_counts_hits: Lldb,
}

/// lldb-dap 19 calls it `result`, which no editor looks at.
#[tokio::test]
async fn an_assignment_is_answered_with_the_new_value() -> anyhow::Result<()> {
    for subject in [Subject::Gdb, Subject::Js, Subject::Lldb, Subject::Python] {
        if !subject.is_set_up() {
            continue;
        }
        let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
        editor.launch_child(subject.launch(), &subject.source(), &[subject.line("handle")]).await?;
        editor.ok("processWriteInput", json!({ "data": "hello\n" })).await?;
        let (_, frame) = editor.stop().await?;
        let scopes = editor.ok("scopes", json!({ "frameId": frame["id"] })).await?;
        let mut holder = None;
        for scope in scopes["scopes"].as_array().context("no scopes")? {
            let reference = &scope["variablesReference"];
            let told = editor.ok("variables", json!({ "variablesReference": reference })).await?;
            let rows = told["variables"].as_array().into_iter().flatten();
            if rows.into_iter().any(|row| row["name"] == "length") {
                holder = Some(reference.clone());
                break;
            }
        }
        let asked = json!({ "variablesReference": holder, "name": "length", "value": "42" });
        assert_eq!(editor.ok("setVariable", asked).await?["value"], "42", "{subject:?}");
        editor.finish().await?;
    }
    Ok(())
}
