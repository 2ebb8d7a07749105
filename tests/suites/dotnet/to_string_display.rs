//! Rows with the `ToString` of objects (`allowToString`): only if the launch allows it, and no
//! longer than a row may take.

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    rows_show_to_string_where_the_launch_allows_it,
    an_agent_may_allow_it_too,
    rows_run_no_code_where_that_is_switched_off,
    an_object_that_does_not_answer_is_not_asked_again,
    a_field_whose_class_is_not_loaded_yet_is_null,
}

net8_tests! { rows_show_to_string_where_the_launch_allows_it }

/// Stops at a marker; returns the frame's id.
async fn launch_to_stop(runtime: Runtime, marker: &str, more: Value) -> anyhow::Result<(DapClient, Value)> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("texts", &[marker], more).await?;
    let (_, frame) = editor.stop().await?;
    Ok((editor, frame["id"].clone()))
}

fn allowed() -> Value {
    json!({ "expressionEvaluationOptions": { "allowToString": true } })
}

async fn inside(editor: &mut DapClient, reference: &Value) -> anyhow::Result<Vec<String>> {
    let body = editor.ok("variables", json!({ "variablesReference": reference })).await?;
    let rows = body["variables"].as_array().context("no variables")?;
    let shown = |row: &Value| format!("{}: {}", row["name"], row["value"]).replace('"', "");
    Ok(rows.iter().map(shown).collect())
}

async fn locals(editor: &mut DapClient, frame: &Value) -> anyhow::Result<Vec<String>> {
    let scopes = editor.ok("scopes", json!({ "frameId": frame })).await?;
    let reference = scopes["scopes"][0]["variablesReference"].clone();
    inside(editor, &reference).await
}

async fn evaluate_expression(
    editor: &mut DapClient,
    frame: &Value,
    expression: &str,
    context: &str,
) -> anyhow::Result<Value> {
    let arguments = json!({ "expression": expression, "frameId": frame, "context": context });
    editor.ok("evaluate", arguments).await
}

async fn rows_show_to_string_where_the_launch_allows_it(runtime: Runtime) -> anyhow::Result<()> {
    let (mut editor, frame) = launch_to_stop(runtime, "here", allowed()).await?;
    let rows = locals(&mut editor, &frame).await?;
    for row in [
        "person: {person Ann}",
        "worker: {person Ann}",
        "silent: {Silent}",
        "money: {12.5 EUR}",
        "maybe: {12.5 EUR}",
        "boxed: {12.5 EUR}",
        "quiet: {Quiet}",
        "song: {Song { Title = Home, Year = 1999 }}",
        "box: {box of person Ann}",
        "format: {OnlyWithFormat}",
        "displayed: displayed",
        "thrower: {Thrower}",
        "nothing: {Nothing}",
        "none: null",
        "version: {1.2}",
        "people: Count = 2",
        "pair: {Money[1]}",
        "error: {System.InvalidOperationException: broken}",
    ] {
        assert!(rows.iter().any(|shown| shown == row), "{row} is not among {rows:#?}");
    }
    let people =
        evaluate_expression(&mut editor, &frame, "people", "repl").await?["variablesReference"].clone();
    assert_eq!(inside(&mut editor, &people).await?.get(1).map(String::as_str), Some("[1]: {person Ann}"));
    // A property that runs shows the same as a field.
    let holder =
        evaluate_expression(&mut editor, &frame, "holder", "repl").await?["variablesReference"].clone();
    let body = editor.ok("variables", json!({ "variablesReference": holder })).await?;
    let rows = body["variables"].as_array().context("no variables")?;
    for (name, value) in [("Made", "Made: displayed"), ("Other", "Other: {person Ann}")] {
        let row = rows.iter().find(|row| row["name"] == name).context("no such property")?;
        let lazy = row["variablesReference"].clone();
        assert_eq!(inside(&mut editor, &lazy).await?, [value]);
    }
    assert_eq!(evaluate_expression(&mut editor, &frame, "song", "watch").await?["type"], "Song");
    assert_eq!(evaluate_expression(&mut editor, &frame, "worker", "repl").await?["result"], "{person Ann}");
    // A hover runs nothing, even if the launch allows it; neither does a row that is requested raw.
    assert_eq!(evaluate_expression(&mut editor, &frame, "worker", "hover").await?["result"], "{Worker}");
    assert_eq!(evaluate_expression(&mut editor, &frame, "worker,raw", "repl").await?["result"], "{Worker}");
    editor.finish().await
}

async fn an_agent_may_allow_it_too(runtime: Runtime) -> anyhow::Result<()> {
    let mut agent = Agent::start("agent", runtime, &Transcript::default()).await?;
    let mut launch = allowed();
    launch["program"] = json!(fixture::program("texts"));
    launch["args"] = json!(["here"]);
    launch["run"] = json!(true);
    launch["breakpoints"] =
        json!([{ "file": fixture::source("texts"), "line": fixture::line("texts", "here") }]);
    let stopped = agent.call("debug_launch", launch).await?;
    anyhow::ensure!(stopped["state"] == "stopped" && stopped["ignored"].is_null(), "{stopped}");
    let shown = agent.call("debug_variables", json!({})).await?;
    assert!(shown.to_string().contains("{person Ann}"), "{shown}");
    agent.finish().await
}

async fn rows_run_no_code_where_that_is_switched_off(runtime: Runtime) -> anyhow::Result<()> {
    let off = json!({ "expressionEvaluationOptions": { "allowToString": false } });
    let (mut editor, frame) = launch_to_stop(runtime, "here", off).await?;
    let rows = locals(&mut editor, &frame).await?;
    for row in ["person: {Person}", "worker: {Worker}", "money: {Money}", "version: {1.2}"] {
        assert!(rows.iter().any(|shown| shown == row), "{row} is not among {rows:#?}");
    }
    editor.finish().await?;
    // An unknown option is refused before anything starts.
    for wrong in [json!(true), json!({ "allowToString": "yes" })] {
        let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
        editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
        let launch = json!({ "program": fixture::program("texts"), "expressionEvaluationOptions": wrong });
        assert_eq!(editor.refused("launch", launch).await?, "INVALID_PARAMETER");
        editor.finish().await?;
    }
    Ok(())
}

async fn an_object_that_does_not_answer_is_not_asked_again(runtime: Runtime) -> anyhow::Result<()> {
    let (mut editor, frame) = launch_to_stop(runtime, "waits", allowed()).await?;
    for _ in 0..2 {
        let rows = locals(&mut editor, &frame).await?;
        assert!(rows.contains(&"sleeper: {Sleeper}".to_owned()), "{rows:#?}");
    }
    // Fields are still read.
    assert_eq!(evaluate_expression(&mut editor, &frame, "person.Name", "repl").await?["result"], "\"Ann\"");
    let notes =
        editor.output[2].matches("`Sleeper.ToString()` took too long and is not evaluated again").count();
    assert_eq!(notes, 1, "{}", editor.output[2]);
    editor.finish().await
}

async fn a_field_whose_class_is_not_loaded_yet_is_null(runtime: Runtime) -> anyhow::Result<()> {
    let (mut editor, frame) = launch_to_stop(runtime, "here", json!({})).await?;
    let holder =
        evaluate_expression(&mut editor, &frame, "holder", "repl").await?["variablesReference"].clone();
    let rows = inside(&mut editor, &holder).await?;
    assert_eq!(rows.get(..2), Some(&["Rare: null".to_owned(), "Person: {person Ann}".to_owned()][..]));
    for (expression, result) in [
        ("holder.Rare", "null"),
        ("holder.Rare == null", "true"),
        ("holder.Rare is null", "true"),
        ("holder.Rare?.Size", "null"),
        ("holder.Rare = null", "null"),
        ("(holder.Rare = new Rare()).Size", "3"),
        ("holder.Rare.Size", "3"),
    ] {
        let value = evaluate_expression(&mut editor, &frame, expression, "repl").await?;
        assert_eq!(value["result"], result, "{expression}");
    }
    editor.finish().await
}
