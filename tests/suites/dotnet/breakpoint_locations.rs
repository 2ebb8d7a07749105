//! Breakpoints at every kind of line: overloads, generics, lambdas, local functions, iterators, columns; hit
//! counts and log messages.

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    lines_of_every_kind_stop_as_often_as_they_run,
    a_column_chooses_among_the_statements_of_a_line,
    hit_counts_compare_as_they_say,
    log_messages_show_what_they_name,
}

net8_tests! {
    lines_of_every_kind_stop_as_often_as_they_run,
    a_column_chooses_among_the_statements_of_a_line,
    log_messages_show_what_they_name,
}

/// Launches `places` with these breakpoints; returns the answer about them.
async fn launch(editor: &mut DapClient, requests: Value) -> anyhow::Result<Value> {
    editor.ok("initialize", json!({ "clientID": "test" })).await?;
    let launch = editor.send("launch", json!({ "program": fixture::program("places") })).await?;
    editor.event("initialized").await?;
    let place = json!({ "source": { "path": fixture::source("places") }, "breakpoints": requests });
    let set = editor.ok("setBreakpoints", place).await?;
    editor.ok("configurationDone", Value::Null).await?;
    anyhow::ensure!(editor.response(launch).await?.success);
    Ok(set)
}

/// Lets the program run to its end; returns the frames it stopped at.
async fn stops(editor: &mut DapClient) -> anyhow::Result<Vec<Value>> {
    let mut frames = Vec::new();
    loop {
        let (event, body) = editor.any_event(&["stopped", "exited"]).await?;
        if event == "exited" {
            return Ok(frames);
        }
        let thread = body["threadId"].clone();
        let stack = editor.ok("stackTrace", json!({ "threadId": thread, "levels": 1 })).await?;
        frames.push(stack["stackFrames"][0].clone());
        editor.ok("continue", json!({ "threadId": thread })).await?;
    }
}

async fn lines_of_every_kind_stop_as_often_as_they_run(runtime: Runtime) -> anyhow::Result<()> {
    let mut lines = Vec::new();
    for marker in [
        "fields",
        "one line",
        "three statements",
        "generic",
        "yield",
        "async",
        "loop end",
        "local function",
        "lambda",
        "lambda body",
        "comment",
        "middle of a statement",
        "end",
    ] {
        let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
        launch(&mut editor, json!([{ "line": fixture::line("places", marker) }])).await?;
        lines.push(marker.to_owned());
        for frame in stops(&mut editor).await? {
            let moved = frame["line"].as_i64().unwrap_or(0) - fixture::line("places", marker);
            let moved = if moved == 0 { String::new() } else { format!(" ({moved:+} lines)") };
            lines.push(format!("    {}{moved}", frame["name"].as_str().unwrap_or_default()));
        }
        editor.finish().await?;
    }
    insta::assert_snapshot!("lines_of_every_kind_stop_as_often_as_they_run", lines.join("\n"));
    Ok(())
}

async fn a_column_chooses_among_the_statements_of_a_line(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    launch(&mut editor, json!([{ "line": fixture::line("places", "local function") }])).await?;
    let (thread, _) = editor.stop().await?;
    let source = json!({ "path": fixture::source("places") });
    let mut lines = Vec::new();
    for marker in ["three statements", "lambda", "comment"] {
        let line = fixture::line("places", marker);
        let body = editor.ok("breakpointLocations", json!({ "source": source, "line": line })).await?;
        let list = body["breakpoints"].as_array().context("no list")?;
        let columns: Vec<String> =
            list.iter().map(|at| format!("{}-{}", at["column"], at["endColumn"])).collect();
        lines.push(format!("{marker}: {}", columns.join(" ")));
    }
    insta::assert_snapshot!("a_column_chooses_among_the_statements_of_a_line", lines.join("\n"));
    // The last place on the line of the lambda is the lambda's.
    let line = fixture::line("places", "lambda");
    let body = editor.ok("breakpointLocations", json!({ "source": source, "line": line })).await?;
    let inner =
        body["breakpoints"].as_array().and_then(|list| list.last()).context("no place")?["column"].clone();
    let request = json!({ "source": source, "breakpoints": [{ "line": line, "column": inner }] });
    let set = editor.ok("setBreakpoints", request).await?;
    assert_eq!(
        (&set["breakpoints"][0]["verified"], &set["breakpoints"][0]["column"]),
        (&json!(true), &inner)
    );
    editor.ok("continue", json!({ "threadId": thread })).await?;
    let frames = stops(&mut editor).await?;
    let names: Vec<&str> = frames.iter().filter_map(|frame| frame["name"].as_str()).collect();
    assert_eq!(names, ["Program.Main.<lambda>(int n)"; 3]);
    editor.finish().await
}

async fn hit_counts_compare_as_they_say(runtime: Runtime) -> anyhow::Result<()> {
    // The line runs ten times.
    for (condition, hits) in [
        ("3", 1),
        ("= 3", 1),
        ("== 3", 1),
        ("> 7", 3),
        (">= 7", 4),
        ("< 3", 2),
        ("<= 3", 3),
        ("% 4", 2),
        ("99", 0),
    ] {
        let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
        let request = json!([{ "line": fixture::line("places", "loop"), "hitCondition": condition }]);
        launch(&mut editor, request).await?;
        assert_eq!(stops(&mut editor).await?.len(), hits, "{condition}");
        editor.finish().await?;
    }
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let request = json!([{ "line": fixture::line("places", "loop"), "hitCondition": "often" }]);
    let set = launch(&mut editor, request).await?;
    let message = set["breakpoints"][0]["message"].as_str().unwrap_or_default();
    assert!(message.contains("`often` is not understood"), "{set}");
    assert_eq!(stops(&mut editor).await?.len(), 0);
    editor.finish().await
}

async fn log_messages_show_what_they_name(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let line = fixture::line("places", "loop");
    let requests = json!([
        { "line": line, "logMessage": "{i}: {sum + i} {{kept}} {\"}\"} {nope}", "hitCondition": "2" },
        { "line": line, "condition": "i == 9", "logMessage": "last" },
        { "line": line, "hitCondition": "3",
          "logMessage": "{i:D3}|{sum,5}|{sum,-4:X2}|{(i > 1 ? \"a\" : \"b\"),3}|{i > 1 ? 7 : \
              8}|{i,h}|{i:Q9}" },
    ]);
    launch(&mut editor, requests).await?;
    assert_eq!(stops(&mut editor).await?.len(), 0);
    let lines: Vec<&str> = editor.output[2].lines().collect();
    let first =
        lines.iter().find(|line| line.starts_with("1: 1 {kept}")).context(editor.output[2].clone())?;
    assert!(first.contains("nope"), "{first}");
    assert!(lines.contains(&"last"), "{lines:?}");
    let formatted =
        lines.iter().find(|line| line.starts_with("002|")).with_context(|| format!("{lines:?}"))?;
    assert!(formatted.starts_with("002|    1|01  |  a|7|0x00000002|{i:Q9: "), "{formatted}");
    assert!(formatted.contains("FormatException"), "{formatted}");
    editor.finish().await
}
