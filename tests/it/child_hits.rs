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

/// Of breakpoints on one line with these conditions: at which of six lines the program stopped, which of them it says were
/// hit, and what it says of conditions that failed.
async fn stops_of_several(
    subject: Subject,
    conditions: &[&str],
) -> anyhow::Result<Vec<(i64, Vec<usize>, String)>> {
    let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let launched = editor.send("launch", subject.launch()).await?;
    editor.initialized(launched).await?;
    let line = subject.line("handle");
    let wishes: Vec<Value> =
        conditions.iter().map(|condition| json!({ "line": line, "condition": condition })).collect();
    let asked = json!({ "source": { "path": subject.source() }, "breakpoints": wishes });
    let set = editor.ok("setBreakpoints", asked).await?["breakpoints"].clone();
    let ids: Vec<Value> =
        set.as_array().into_iter().flatten().map(|breakpoint| breakpoint["id"].clone()).collect();
    editor.ok("configurationDone", Value::Null).await?;
    anyhow::ensure!(editor.response(launched).await?.success, "not launched");
    let lines: String = (1..=6).map(|number| "x".repeat(number) + "\n").collect();
    editor.ok("processWriteInput", json!({ "data": lines, "closeAfter": true })).await?;
    let mut seen = Vec::new();
    loop {
        let (event, body) = editor.any_event(&["stopped", "exited"]).await?;
        if event == "exited" {
            editor.event("terminated").await?;
            editor.finish().await?;
            return Ok(seen);
        }
        let thread = body["threadId"].as_i64().context("no thread")?;
        let stack = editor.ok("stackTrace", json!({ "threadId": thread })).await?;
        let frame = &stack["stackFrames"][0]["id"];
        let asked = json!({ "expression": "length", "frameId": frame, "context": "watch" });
        let length = editor.ok("evaluate", asked).await?["result"].clone();
        let hit = body["hitBreakpointIds"].as_array().into_iter().flatten();
        let hit = hit.filter_map(|hit| ids.iter().position(|id| id == hit)).collect();
        let text = body["text"].as_str().unwrap_or_default().to_owned();
        seen.push((length.as_str().context("no length")?.parse()?, hit, text));
        editor.ok("continue", json!({ "threadId": thread })).await?;
    }
}

/// Whatever the engine is sent for all of them, each owner gets what it asked for.
#[tokio::test]
async fn conditions_on_one_line_hold_each_for_itself_under_every_adapter() -> anyhow::Result<()> {
    for subject in [Subject::Delve, Subject::Gdb, Subject::Js, Subject::Lldb, Subject::Python, Subject::Rdbg]
    {
        if !subject.is_set_up() {
            continue;
        }
        let seen = stops_of_several(subject, &["length == 2", "length == 5"]).await?;
        let hits: Vec<_> = seen.iter().map(|(length, hit, _)| (*length, hit.clone())).collect();
        assert_eq!(hits, [(2, vec![0]), (5, vec![1])], "{subject:?}: {seen:?}");
        // One that is no expression stops the program each time, says so, and does not speak for the other.
        let seen = stops_of_several(subject, &["length == 2", "length =="]).await?;
        let hits: Vec<_> = seen.iter().map(|(length, hit, _)| (*length, hit.clone())).collect();
        let each = |length| if length == 2 { vec![0, 1] } else { vec![1] };
        assert_eq!(hits, (1..=6).map(|length| (length, each(length))).collect::<Vec<_>>(), "{subject:?}");
        // rdbg answers with the error as a value, which is nothing that fails.
        let says_why = subject != Subject::Rdbg;
        for (_, _, text) in seen {
            anyhow::ensure!(text.contains("`length ==`") || !says_why, "{subject:?}: {text}");
        }
        // As does one that fails at a hit, whose name nobody knows.
        let seen = stops_of_several(subject, &["length == 2", "nowhere == 1"]).await?;
        anyhow::ensure!(seen.len() == 6, "{subject:?}: {seen:?}");
        for (length, hit, text) in seen {
            assert_eq!(hit, each(length), "{subject:?}");
            anyhow::ensure!(text.contains("`nowhere == 1`") || !says_why, "{subject:?}: {text}");
        }
    }
    Ok(())
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

/// Delve keeps what it has refused: the next breakpoint there had no line and was never hit.
#[tokio::test]
async fn a_condition_that_was_refused_can_be_put_right() -> anyhow::Result<()> {
    for subject in [Subject::Delve, Subject::Gdb] {
        if !subject.is_set_up() {
            continue;
        }
        let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
        let line = subject.line("handle");
        editor.launch_child(subject.launch(), &subject.source(), &[]).await?;
        let set = |condition: &str| {
            let wish = json!({ "line": line, "condition": condition });
            json!({ "source": { "path": subject.source() }, "breakpoints": [wish] })
        };
        let (wrong, right) = (set("length =="), set("length == 5"));
        let told = editor.ok("setBreakpoints", wrong).await?;
        assert_eq!(told["breakpoints"][0]["verified"], false, "{subject:?}: {told}");
        let told = editor.ok("setBreakpoints", right).await?;
        let told = &told["breakpoints"][0];
        assert_eq!((&told["verified"], &told["line"]), (&json!(true), &json!(line)), "{subject:?}");
        editor.ok("processWriteInput", json!({ "data": "hello\n" })).await?;
        editor.stop().await?;
        editor.finish().await?;
    }
    Ok(())
}
