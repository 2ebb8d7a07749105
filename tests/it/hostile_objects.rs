//! Objects that throw, hang, deadlock or kill when they are looked at: the session lives, and says what happened.

use anyhow::Context;
use serde_json::{Value, json};
use tests::client::DapClient;
use tests::fixture::Runtime;
use tests::transcript::Transcript;

stories! {
    evaluations_that_throw_say_what_was_thrown,
    an_evaluation_that_ends_the_program_ends_the_session_in_order,
    hovering_runs_no_code_of_the_program,
}

async fn started(runtime: Runtime) -> anyhow::Result<(DapClient, i64, Value)> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("hostile", &["here", "after"], json!({})).await?;
    let (thread, frame) = editor.stop().await?;
    Ok((editor, thread, frame["id"].clone()))
}

async fn message(
    editor: &mut DapClient,
    frame: &Value,
    expression: &str,
) -> anyhow::Result<(String, String)> {
    let told = editor.ask("evaluate", json!({ "expression": expression, "frameId": frame })).await?;
    anyhow::ensure!(!told.success, "{expression} gave {}", told.body);
    let of = |key: &str| told.body["error"]["variables"][key].as_str().unwrap_or_default().to_owned();
    Ok((of("code"), of("message")))
}

async fn evaluations_that_throw_say_what_was_thrown(runtime: Runtime) -> anyhow::Result<()> {
    let (mut editor, thread, frame) = started(runtime).await?;
    for (expression, said) in [
        ("thrower.Bad", "`thrower.Bad` threw System.InvalidOperationException: from a getter"),
        ("\"\" + thrower", "`thrower.ToString()` threw System.InvalidOperationException: from ToString"),
        ("int.Parse(\"x\")", "threw System.FormatException"),
    ] {
        let (code, told) = message(&mut editor, &frame, expression).await?;
        assert!(code == "EVALUATION_FAILED" && told.contains(said), "{expression}: {code} {told}");
    }
    // The row of a lazy property shows the same.
    let told = editor.ok("evaluate", json!({ "expression": "thrower", "frameId": frame })).await?;
    let inside = editor.ok("variables", json!({ "variablesReference": told["variablesReference"] })).await?;
    let bad = inside["variables"].as_array().into_iter().flatten().find(|row| row["name"] == "Bad");
    let lazy = bad.context("no row `Bad`")?["variablesReference"].clone();
    let row = editor.ok("variables", json!({ "variablesReference": lazy })).await?["variables"][0].clone();
    assert!(row["value"].as_str().is_some_and(|text| text.contains("from a getter")), "{row}");
    editor.ok("continue", json!({ "threadId": thread })).await?;
    editor.stop().await?;
    editor.finish().await
}

async fn an_evaluation_that_ends_the_program_ends_the_session_in_order(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let (mut editor, _, frame) = started(runtime).await?;
    let (code, told) = message(&mut editor, &frame, "killer.Deadly").await?;
    assert!(matches!(code.as_str(), "EVALUATION_FAILED" | "NO_SESSION" | "NOT_STOPPED"), "{code} {told}");
    assert_eq!(editor.event("exited").await?["exitCode"], 7);
    editor.event("terminated").await?;
    editor.finish().await
}

async fn hovering_runs_no_code_of_the_program(runtime: Runtime) -> anyhow::Result<()> {
    let (mut editor, _, frame) = started(runtime).await?;
    let hover = |expression: &str| json!({ "expression": expression, "frameId": frame, "context": "hover" });
    assert_eq!(editor.ok("evaluate", hover("thrower.Fine + 1")).await?["result"], "2");
    for expression in
        ["thrower.Bad", "thrower.ToString()", "watched = 2", "watched++", "new Ring()", "killer.Deadly"]
    {
        assert_eq!(editor.refused("evaluate", hover(expression)).await?, "EVALUATION_FAILED", "{expression}");
    }
    assert_eq!(editor.ok("evaluate", hover("watched")).await?["result"], "1");
    editor.finish().await
}
