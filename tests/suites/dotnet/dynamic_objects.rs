//! Values whose members are known only when they are used (`dynamic`): of a package (Newtonsoft.Json), of the
//! framework, of the program's own. They are read, called, set and shown.

use std::path::PathBuf;

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::compiled::Stop;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

net10_tests! {
    members_of_dynamic_values_are_read_and_called,
    members_of_dynamic_values_are_set,
    members_of_dynamic_values_are_shown,
    hovers_and_sessions_without_a_compiler_read_dynamic_values_without_running_code,
}

async fn launch_to_stop(runtime: Runtime, more: Value) -> anyhow::Result<(DapClient, Stop)> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let source = PathBuf::from(fixture::modern_source("loose"));
    let stop = editor.launch_to(&fixture::modern_program("loose"), (source, "here"), more).await?;
    Ok((editor, stop))
}

async fn members_of_dynamic_values_are_read_and_called(runtime: Runtime) -> anyhow::Result<()> {
    let (mut editor, stop) = launch_to_stop(runtime, json!({})).await?;
    let expected = [
        ("parsed.name", "{tea}"),
        ("(string)parsed.name + \"s\"", "\"teas\""),
        ("parsed.price.net + 1", "{3.5}"),
        ("(int)parsed.price.vat[1] * 2", "38"),
        ("parsed.tags.Count", "2"),
        ("parsed[\"name\"]", "{tea}"),
        ("parsed.missing", "null"),
        // Members of the data, where the dynamic object itself has a member of that name.
        ("(string)parsed.Type", "\"drink\""),
        ("typed.Type", "Object"),
        ("((dynamic)typed).price.net", "{2.5}"),
        ("bag.Title", "\"first\""),
        ("bag.Count + 1", "4"),
        ("bag.Twice(4)", "8"),
        ("bag.missing", "! EVALUATION_FAILED"),
        ("own.Colour", "\"red\""),
        ("own.Paint(1, 2)", "\"Paint2\""),
        ("own.missing", "! EVALUATION_FAILED"),
        ("number + 1", "42"),
        ("boxed.Inner.Value", "5"),
        ("boxed.missing", "! EVALUATION_FAILED"),
        ("nothing.x", "! EVALUATION_FAILED"),
        ("parsed.price.vat.Count > 1 ? \"many\" : \"one\"", "\"many\""),
    ];
    editor.check_results(&stop.frame, &expected).await?;
    editor.finish().await?;

    // Variables of a state machine, of which the compiler does not record that they are `dynamic`.
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let source = PathBuf::from(fixture::modern_source("loose"));
    let stop = editor.launch_to(&fixture::modern_program("loose"), (source, "later"), json!({})).await?;
    let expected = [
        ("parsed.price.net + 1", "{3.5}"),
        ("own.Colour", "\"red\""),
        ("own.Paint(1, 2)", "\"Paint2\""),
        ("own.missing", "! EVALUATION_FAILED"),
        // An `object` beside them is not `dynamic`.
        ("Kind(typed)", "\"object\""),
        ("Kind(bound)", "\"string\""),
        ("Kind(plain)", "\"object\""),
        ("Kind(loose)", "\"string\""),
        ("Both(typed, bound)", "\"object and string\""),
        ("new[] { typed }.Select(one => Kind(one)).First()", "\"object\""),
    ];
    editor.check_results(&stop.frame, &expected).await?;
    editor.ok("continue", json!({ "threadId": stop.thread })).await?;
    editor.event("exited").await?;
    let printed = editor.output[0].lines().last().unwrap_or_default();
    assert_eq!(printed, "object string object string string object and string objectbound");
    editor.finish().await
}

async fn members_of_dynamic_values_are_set(runtime: Runtime) -> anyhow::Result<()> {
    let (mut editor, stop) = launch_to_stop(runtime, json!({})).await?;
    for (expression, value) in [
        ("parsed.name", "\"coffee\""),
        ("parsed.price.net", "3.5"),
        ("bag.Count", "7"),
        ("bag.Title", "\"second\""),
        ("own.Colour", "own.Colour + \"dish\""),
        ("number", "5"),
        ("boxed.Inner.Value", "6"),
    ] {
        let arguments = json!({ "expression": expression, "value": value, "frameId": stop.frame["id"] });
        editor.ok("setExpression", arguments).await.with_context(|| format!("{expression} = {value}"))?;
    }
    editor
        .check_results(&stop.frame, &[("parsed.name", "{coffee}"), ("bag.Count", "7"), ("number", "5")])
        .await?;
    editor.ok("continue", json!({ "threadId": stop.thread })).await?;
    editor.event("exited").await?;
    let lines: Vec<&str> = editor.output[0].lines().collect();
    assert_eq!(lines[1], "coffee 7 reddish 5 6 second 3.5");
    editor.finish().await
}

async fn members_of_dynamic_values_are_shown(runtime: Runtime) -> anyhow::Result<()> {
    let (mut editor, stop) = launch_to_stop(runtime, json!({})).await?;
    let frame = stop.frame["id"].clone();
    for (of, view, expected) in [
        ("parsed", Some("Dynamic View"), vec![("Type", "{drink}"), ("name", "{tea}")]),
        ("own", Some("Dynamic View"), vec![("Colour", "\"red\"")]),
        ("bag", None, vec![("Count", "3"), ("Title", "\"first\"")]),
        ("boxed", None, vec![("Value", "0")]),
    ] {
        let opened = editor.ok("evaluate", json!({ "expression": of, "frameId": frame })).await?;
        let mut inside = rows(&mut editor, &opened["variablesReference"]).await?;
        if let Some(view) = view {
            let view = inside.iter().find(|row| row["name"] == view).context("no view")?;
            let reference = view["variablesReference"].clone();
            inside = rows(&mut editor, &reference).await?;
        }
        for (name, value) in expected {
            let row =
                inside.iter().find(|row| row["name"] == name).with_context(|| format!("{of}.{name}"))?;
            assert_eq!(row["value"], value, "{row}");
            let arguments = json!({ "expression": row["evaluateName"], "frameId": frame });
            assert_eq!(editor.ok("evaluate", arguments).await?["result"], value, "{row}");
        }
    }
    // The object's own member leads back to itself, not to the one that it says it has.
    let scopes = editor.ok("scopes", json!({ "frameId": frame })).await?;
    let locals = rows(&mut editor, &scopes["scopes"][0]["variablesReference"]).await?;
    let parsed = locals.iter().find(|row| row["name"] == "parsed").context("no parsed")?;
    let own = rows(&mut editor, &parsed["variablesReference"]).await?;
    let kind = own.iter().find(|row| row["name"] == "Type").context("no Type")?;
    assert_eq!(kind["value"], "Object");
    let arguments = json!({ "expression": kind["evaluateName"], "frameId": frame });
    assert_eq!(editor.ok("evaluate", arguments).await?["result"], "Object", "{kind}");
    editor.finish().await
}

async fn rows(editor: &mut DapClient, reference: &Value) -> anyhow::Result<Vec<Value>> {
    let body = editor.ok("variables", json!({ "variablesReference": reference })).await?;
    Ok(body["variables"].as_array().context("no rows")?.clone())
}

/// Without a compiler or function calls, an `ExpandoObject` is read like the dictionary it is; other dynamic
/// values name what they require.
async fn hovers_and_sessions_without_a_compiler_read_dynamic_values_without_running_code(
    runtime: Runtime,
) -> anyhow::Result<()> {
    for (more, context) in [(json!({}), "hover"), (json!({ "expressionCompiler": "off" }), "repl")] {
        let (mut editor, stop) = launch_to_stop(runtime, more).await?;
        for (expression, result) in [
            ("bag.Title", "\"first\""),
            ("bag.Count", "3"),
            ("boxed.Inner.Value", "5"),
            ("typed.Type", "Object"),
        ] {
            let arguments =
                json!({ "expression": expression, "frameId": stop.frame["id"], "context": context });
            assert_eq!(editor.ok("evaluate", arguments).await?["result"], result, "{context}: {expression}");
        }
        for expression in ["parsed.name", "parsed.Type", "own.Colour"] {
            let arguments =
                json!({ "expression": expression, "frameId": stop.frame["id"], "context": context });
            let refused = editor.ask("evaluate", arguments).await?;
            let message =
                refused.body["error"]["variables"]["message"].as_str().unwrap_or_default().to_owned();
            anyhow::ensure!(
                !refused.success && message.contains("a member of a `dynamic` object"),
                "{expression}: {message}"
            );
        }
        editor.finish().await?;
    }
    Ok(())
}
