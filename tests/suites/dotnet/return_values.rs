//! Return values of calls, after a step over or out of them.

use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

use crate::stepping::place;

dotnet_tests! {
    a_step_shows_what_the_calls_of_its_statement_returned,
    a_step_out_shows_what_the_method_returned,
    a_returned_value_can_be_expanded_and_is_gone_at_the_next_resume,
    a_breakpoint_inside_a_call_gives_up_what_would_be_shown,
    values_returned_by_other_threads_and_deeper_calls_are_not_shown,
    calls_of_async_methods_are_shown_too,
    an_agent_learns_what_calls_returned,
}

net8_tests! {
    a_step_shows_what_the_calls_of_its_statement_returned,
    a_step_out_shows_what_the_method_returned,
    a_returned_value_can_be_expanded_and_is_gone_at_the_next_resume,
    a_breakpoint_inside_a_call_gives_up_what_would_be_shown,
    values_returned_by_other_threads_and_deeper_calls_are_not_shown,
    calls_of_async_methods_are_shown_too,
    an_agent_learns_what_calls_returned,
}

/// The rows of a variables reference.
async fn rows(editor: &mut DapClient, reference: &Value) -> anyhow::Result<Vec<Value>> {
    let body = editor.ok("variables", json!({ "variablesReference": reference })).await?;
    Ok(body["variables"].as_array().cloned().unwrap_or_default())
}

/// The rows of a frame that say what was returned.
async fn returned_rows(editor: &mut DapClient, frame: &Value) -> anyhow::Result<Vec<Value>> {
    let scopes = editor.ok("scopes", json!({ "frameId": frame["id"] })).await?;
    let mut all = rows(editor, &scopes["scopes"][0]["variablesReference"]).await?;
    let is_returned = |row: &Value| row["name"].as_str().is_some_and(|name| name.ends_with(" returned"));
    let count = all.iter().filter(|row| is_returned(row)).count();
    assert!(all.iter().take(count).all(is_returned), "they come before the locals: {all:?}");
    all.truncate(count);
    for row in &all {
        let hint = &row["presentationHint"];
        assert_eq!((&hint["kind"], &hint["attributes"][0]), (&json!("data"), &json!("readOnly")), "{row}");
        assert!(row["evaluateName"].is_null(), "{row}");
    }
    Ok(all)
}

/// Steps; returns the frame at its end, and the values that it shows as returned.
async fn step(editor: &mut DapClient, thread: &mut i64, command: &str) -> anyhow::Result<(Value, String)> {
    editor.ok(command, json!({ "threadId": *thread })).await?;
    let (now, frame) = editor.stop().await?;
    *thread = now;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let rows = returned_rows(editor, &frame).await?;
    let texts: Vec<String> = rows
        .iter()
        .map(|row| match text(&row["name"]) {
            // The task may be done, or not.
            name if name.starts_with("Later") => name,
            name => format!("{name} {} {}", text(&row["type"]), text(&row["value"])),
        })
        .collect();
    Ok((frame, texts.join("; ")))
}

/// Steps, each with the source where it began and what it shows.
async fn table(editor: &mut DapClient, commands: &[&str]) -> anyhow::Result<String> {
    let (mut thread, mut frame) = editor.stop().await?;
    editor.break_at("returns", &[]).await?;
    let mut lines = Vec::new();
    for command in commands {
        let from = place("returns", &frame);
        let (now, returned) = step(editor, &mut thread, command).await?;
        lines.push(format!("{command} {from} => {returned}").trim_end().to_owned());
        frame = now;
    }
    Ok(lines.join("\n"))
}

async fn launch_program(runtime: Runtime, markers: &[&str]) -> anyhow::Result<DapClient> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("returns", markers, json!({})).await?;
    Ok(editor)
}

async fn a_step_shows_what_the_calls_of_its_statement_returned(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = launch_program(runtime, &["begin"]).await?;
    let rows = table(&mut editor, &["next"; 29]).await?;
    insta::assert_snapshot!("a_step_shows_what_the_calls_of_its_statement_returned", rows);
    editor.finish().await
}

async fn a_step_out_shows_what_the_method_returned(runtime: Runtime) -> anyhow::Result<()> {
    let mut tables = Vec::new();
    for (marker, commands) in [
        ("total", &["stepOut", "stepIn", "stepOut", "next"][..]),
        ("inside", &["stepOut", "stepOut", "next"]),
        ("inside", &["next", "next", "next", "next"]),
    ] {
        let mut editor = launch_program(runtime, &[marker]).await?;
        tables.push(table(&mut editor, commands).await?);
        editor.finish().await?;
    }
    insta::assert_snapshot!("a_step_out_shows_what_the_method_returned", tables.join("\n\n"));
    Ok(())
}

async fn a_returned_value_can_be_expanded_and_is_gone_at_the_next_resume(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let mut editor = launch_program(runtime, &["begin"]).await?;
    let (mut thread, _) = editor.stop().await?;
    let mut frame = Value::Null;
    for _ in 0..4 {
        (frame, _) = step(&mut editor, &mut thread, "next").await?;
    }
    // An evaluation runs code of the program in between.
    editor.ok("evaluate", json!({ "expression": "order.Total(8)", "frameId": frame["id"] })).await?;
    let returned = returned_rows(&mut editor, &frame).await?;
    let inside = rows(&mut editor, &returned[0]["variablesReference"]).await?;
    let price = inside.iter().find(|row| row["name"] == "price").cloned().unwrap_or_default();
    assert_eq!((&price["value"], &price["evaluateName"]), (&json!("4"), &Value::Null));
    let arguments = json!({ "frameId": frame["id"] });
    let scopes = editor.ok("scopes", arguments).await?;
    let refused = json!({ "variablesReference": scopes["scopes"][0]["variablesReference"],
        "name": "Next returned", "value": "null" });
    assert_eq!(editor.refused("setVariable", refused).await?, "INVALID_PARAMETER");
    let set =
        json!({ "variablesReference": returned[0]["variablesReference"], "name": "price", "value": "4" });
    assert_eq!(editor.ok("setVariable", set).await?["value"], "4");
    let (_, returned) = step(&mut editor, &mut thread, "next").await?;
    assert_eq!(returned, "Price.get returned int 4");
    editor.break_at("returns", &["around"]).await?;
    editor.ok("continue", json!({})).await?;
    let (_, frame) = editor.stop().await?;
    assert_eq!(returned_rows(&mut editor, &frame).await?, [json!(null); 0]);
    editor.finish().await
}

async fn a_breakpoint_inside_a_call_gives_up_what_would_be_shown(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = launch_program(runtime, &["around", "inside"]).await?;
    let (mut thread, _) = editor.stop().await?;
    let (frame, returned) = step(&mut editor, &mut thread, "next").await?;
    assert_eq!((&frame["line"], returned.as_str()), (&json!(fixture::line("returns", "inside")), ""));
    // The step is abandoned: its stop does not appear later.
    editor.break_at("returns", &["mine"]).await?;
    editor.ok("continue", json!({})).await?;
    let (_, frame) = editor.stop().await?;
    assert_eq!(frame["line"], fixture::line("returns", "mine"));
    assert_eq!(returned_rows(&mut editor, &frame).await?, [json!(null); 0]);
    editor.finish().await
}

async fn values_returned_by_other_threads_and_deeper_calls_are_not_shown(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let mut editor = launch_program(runtime, &["factorial"]).await?;
    let rows = table(&mut editor, &["next"]).await?;
    assert_eq!(
        rows,
        "next Program.Factorial(int n): int rest = Factorial(n - 1); // BP factorial => Factorial returned \
            int 2"
    );
    // A statement that calls its own method thousands of times is stepped over as well, without values.
    editor.break_at("returns", &["fibonacci"]).await?;
    editor.ok("continue", json!({})).await?;
    let rows = table(&mut editor, &["next"]).await?;
    assert!(rows.ends_with("// BP fibonacci =>"), "{rows}");
    editor.break_at("returns", &["mine"]).await?;
    editor.ok("continue", json!({})).await?;
    let (mut thread, _) = editor.stop().await?;
    // The others go through the very statement that is stepped over, all the time.
    let (_, returned) = step(&mut editor, &mut thread, "stepIn").await?;
    assert_eq!(returned, "");
    let mut returned = String::new();
    for _ in 0..2 {
        (_, returned) = step(&mut editor, &mut thread, "next").await?;
    }
    assert!(matches!(returned.as_str(), "" | "Same returned int 2"), "{returned}");
    editor.finish().await
}

async fn calls_of_async_methods_are_shown_too(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = launch_program(runtime, &["async"]).await?;
    let rows = table(&mut editor, &["next"; 4]).await?;
    insta::assert_snapshot!("calls_of_async_methods_are_shown_too", rows);
    editor.finish().await
}

async fn an_agent_learns_what_calls_returned(runtime: Runtime) -> anyhow::Result<()> {
    let mut agent = Agent::start("agent", runtime, &Transcript::default()).await?;
    let line = fixture::line("returns", "begin");
    let arguments = json!({ "program": fixture::program("returns"), "run": true,
        "breakpoints": [{ "sourceFile": fixture::source("returns"), "line": line }] });
    let hit = agent.call("debug_launch", arguments).await?;
    assert_eq!((&hit["event"]["line"], &hit["event"]["returned"]), (&json!(line), &Value::Null), "{hit}");
    agent.call("debug_step_over", json!({})).await?;
    let stepped = agent.call("debug_step_over", json!({})).await?;
    let total = |value: &str| json!({ "name": "Total", "value": value, "type": "int" });
    assert_eq!(stepped["event"]["returned"], json!([total("6"), total("12")]), "{stepped}");
    assert_eq!(
        stepped["event"]["changed"],
        json!([{ "name": "sum", "value": "18", "was": "0" }]),
        "{stepped}"
    );
    agent.finish().await
}
