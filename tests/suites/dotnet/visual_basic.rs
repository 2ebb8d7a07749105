//! Visual Basic: the variables that its compiler keeps in closures, in state machines and from call to call
//! have their names.

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::Runtime;
use tandem_harness::transcript::Transcript;

net10_tests! {
    variables_of_lambdas_have_their_names,
    variables_of_async_methods_and_iterators_have_their_names,
    static_locals_are_seen_and_set,
}

/// Stops at a marker; returns the frame on top.
async fn launch_to_stop(runtime: Runtime, marker: &str) -> anyhow::Result<(DapClient, Value)> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let (_, frame) = editor.stopped_in_modern("basic", marker).await?;
    Ok((editor, frame))
}

/// Names and values of a frame's variables.
async fn variables(editor: &mut DapClient, frame: &Value) -> anyhow::Result<Vec<String>> {
    let scopes = editor.ok("scopes", json!({ "frameId": frame["id"] })).await?;
    let arguments = json!({ "variablesReference": scopes["scopes"][0]["variablesReference"] });
    let body = editor.ok("variables", arguments).await?;
    let rows = body["variables"].as_array().context("no variables")?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Ok(rows.iter().map(|row| format!("{} = {}", text(&row["name"]), text(&row["value"]))).collect())
}

async fn evaluate_expression(
    editor: &mut DapClient,
    frame: &Value,
    expression: &str,
) -> anyhow::Result<Value> {
    let arguments = json!({ "expression": expression, "frameId": frame["id"] });
    Ok(editor.ok("evaluate", arguments).await?["result"].clone())
}

async fn variables_of_lambdas_have_their_names(runtime: Runtime) -> anyhow::Result<()> {
    let (mut editor, frame) = launch_to_stop(runtime, "lambda").await?;
    assert_eq!(frame["name"], "basic.Counter.<lambda>(int x)");
    let seen = variables(&mut editor, &frame).await?;
    assert_eq!(seen, ["this = {basic.Counter}", "by = 2", "x = 1", "own = 13"]);
    assert_eq!(evaluate_expression(&mut editor, &frame, "total + by").await?, "12");
    // The namespaces that people expect are imported: the error is about what follows.
    let nope = "! CS1061: 'string' does not contain a definition for 'Nope'";
    editor.check_results(&frame, &[("new[] { \"a\" }.First().Nope", nope)]).await?;
    let wrong = json!({ "expression": "total Is Nothing", "frameId": frame["id"] });
    let refused = editor.ask("evaluate", wrong).await?;
    let hint = &refused.body["error"]["variables"]["hint"];
    assert_eq!(*hint, "write the expression in C#, also in Visual Basic code", "{}", refused.body);
    editor.finish().await?;
    let (mut editor, frame) = launch_to_stop(runtime, "nested").await?;
    let seen = variables(&mut editor, &frame).await?;
    for variable in ["outer = 1", "n = 2", "inner = 3"] {
        assert!(seen.iter().any(|row| row == variable), "{variable} is not among {seen:?}");
    }
    assert!(!seen.iter().any(|row| row.contains('$')), "{seen:?}");
    editor.finish().await
}

async fn variables_of_async_methods_and_iterators_have_their_names(runtime: Runtime) -> anyhow::Result<()> {
    for (marker, rows) in [
        ("async", ["this = {basic.Counter}", "n = 1", "before = 2", "after = 12"]),
        ("iterator", ["this = {basic.Counter}", "n = 1", "i = 1", "squared = 1"]),
    ] {
        let (mut editor, frame) = launch_to_stop(runtime, marker).await?;
        let seen = variables(&mut editor, &frame).await?;
        let own: Vec<&String> = seen.iter().filter(|row| !row.starts_with("Static members")).collect();
        assert_eq!(own, rows.iter().collect::<Vec<_>>(), "{marker}");
        editor.finish().await?;
    }
    Ok(())
}

async fn static_locals_are_seen_and_set(runtime: Runtime) -> anyhow::Result<()> {
    for (marker, rows, name, set) in [
        ("static locals", &["calls = 1", "label = \"first\""][..], "calls", "7"),
        ("overload", &["calls = \"other\""], "calls", "\"set\""),
        ("shared", &["seen = 4"], "seen", "5"),
    ] {
        let (mut editor, frame) = launch_to_stop(runtime, marker).await?;
        let seen = variables(&mut editor, &frame).await?;
        let kept =
            seen.iter().filter(|row| ["calls", "label", "seen"].iter().any(|name| row.starts_with(name)));
        assert_eq!(kept.collect::<Vec<_>>(), rows.iter().collect::<Vec<_>>(), "{marker}");
        let arguments = json!({ "expression": name, "value": set, "frameId": frame["id"] });
        assert_eq!(editor.ok("setExpression", arguments).await?["value"], set, "{marker}");
        assert_eq!(evaluate_expression(&mut editor, &frame, name).await?, set, "{marker}");
        editor.finish().await?;
    }
    Ok(())
}
