//! One editor and a program: breakpoints, steps, values, exceptions, pause, attach.

use std::process::Stdio;

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    a_session_from_launch_to_exit,
    every_kind_of_local_is_shown,
    expressions_are_evaluated_or_refused_with_a_reason,
    conditions_hit_counts_and_log_messages_do_what_they_say,
    steps_go_over_into_and_out_of_calls,
    large_values_come_in_pages,
    an_unhandled_exception_stops_where_it_was_thrown,
    a_busy_program_is_paused_and_resumes,
    a_running_process_is_attached_to_and_left_running,
    a_killed_program_ends_the_session_in_order,
}

net8_tests! {
    a_session_from_launch_to_exit,
    every_kind_of_local_is_shown,
    expressions_are_evaluated_or_refused_with_a_reason,
    conditions_hit_counts_and_log_messages_do_what_they_say,
    steps_go_over_into_and_out_of_calls,
    large_values_come_in_pages,
    an_unhandled_exception_stops_where_it_was_thrown,
    a_busy_program_is_paused_and_resumes,
    a_running_process_is_attached_to_and_left_running,
}

async fn a_session_from_launch_to_exit(runtime: Runtime) -> anyhow::Result<()> {
    let transcript = Transcript::default();
    let mut editor = DapClient::start("editor", runtime, &transcript)?;
    editor.launch("tour", &["loop"], json!({})).await?;
    editor.ok("processWriteInput", json!({ "data": "bob\n" })).await?;
    let (thread, _) = editor.stop().await?;
    editor.ok("next", json!({ "threadId": thread })).await?;
    editor.stop().await?;
    editor.break_at("tour", &[]).await?;
    editor.ok("continue", json!({ "threadId": thread })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 3);
    editor.event("terminated").await?;
    assert_eq!(editor.output[0], "welcome\nname? hello bob: 6\n");
    assert_eq!(editor.output[1], "done\n");
    editor.finish().await?;
    insta::assert_snapshot!("a_session_from_launch_to_exit", transcript.text());
    Ok(())
}

/// Stops `tour` in its loop; returns the thread and the top frame's id.
async fn stop_in_loop(editor: &mut DapClient) -> anyhow::Result<(i64, Value)> {
    // Errors have the debugger's own messages.
    editor.launch("tour", &["loop"], json!({ "expressionCompiler": "off" })).await?;
    editor.ok("processWriteInput", json!({ "data": "bob\n" })).await?;
    let (thread, frame) = editor.stop().await?;
    Ok((thread, frame["id"].clone()))
}

async fn locals(editor: &mut DapClient, frame: &Value) -> anyhow::Result<(Value, Vec<Value>)> {
    let scopes = editor.ok("scopes", json!({ "frameId": frame })).await?;
    let reference = scopes["scopes"][0]["variablesReference"].clone();
    let body = editor.ok("variables", json!({ "variablesReference": reference })).await?;
    Ok((reference, body["variables"].as_array().cloned().context("no variables")?))
}

async fn every_kind_of_local_is_shown(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let (_, frame) = stop_in_loop(&mut editor).await?;
    let (_, rows) = locals(&mut editor, &frame).await?;
    let mut lines = Vec::new();
    for row in rows {
        let text = |row: &Value, key: &str| row[key].as_str().unwrap_or("-").to_owned();
        lines.push(format!("{}: {} = {}", text(&row, "name"), text(&row, "type"), text(&row, "value")));
        if row["variablesReference"] != 0 {
            let inside =
                editor.ok("variables", json!({ "variablesReference": row["variablesReference"] })).await?;
            for row in inside["variables"].as_array().into_iter().flatten() {
                lines.push(format!(
                    "    {}: {} = {}",
                    text(row, "name"),
                    text(row, "type"),
                    text(row, "value")
                ));
            }
        }
    }
    editor.finish().await?;
    insta::assert_snapshot!("every_kind_of_local_is_shown", lines.join("\n"));
    Ok(())
}

async fn expressions_are_evaluated_or_refused_with_a_reason(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let (_, frame) = stop_in_loop(&mut editor).await?;
    let mut lines = Vec::new();
    for expression in [
        "i",
        "person.Name",
        "person.Age + 1",
        "person.Doubled",
        "words[1]",
        "ages[\"k\"]",
        "numbers[2]",
        "numbers[3]",
        "numbers.Length",
        "text.Length",
        "text[1]",
        "i < 3 && flag",
        "!flag",
        "ratio * 2",
        "maybe + 1",
        "color",
        "words.Contains(\"a\")",
        "words.Count == 2",
        "-5 % 3",
        "0x10 + 1",
        "'a'",
        "\"a\" + 1",
        "1 / 0",
        "nope",
        "person.Nope",
        "1 +",
        "new object()",
        "",
    ] {
        let response = editor.ask("evaluate", json!({ "expression": expression, "frameId": frame })).await?;
        lines.push(match response.success {
            true => format!("{expression} = {} ({})", response.body["result"], response.body["type"]),
            false => format!("{expression} ! {}", response.body["error"]["variables"]["message"]),
        });
    }
    let (reference, _) = locals(&mut editor, &frame).await?;
    for (name, value) in [("total", "41 + 1"), ("text", "\"new\""), ("flag", "false"), ("total", "\"x\"")] {
        let set = json!({ "variablesReference": reference, "name": name, "value": value });
        let response = editor.ask("setVariable", set).await?;
        lines.push(match response.success {
            true => format!("{name} := {value} -> {}", response.body["value"]),
            false => format!("{name} := {value} ! {}", response.body["error"]["variables"]["message"]),
        });
    }
    editor.finish().await?;
    insta::assert_snapshot!("expressions_are_evaluated_or_refused_with_a_reason", lines.join("\n"));
    Ok(())
}

async fn conditions_hit_counts_and_log_messages_do_what_they_say(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test" })).await?;
    let launch = editor.send("launch", json!({ "program": fixture::program("tour") })).await?;
    editor.event("initialized").await?;
    let at = |marker| fixture::line("tour", marker);
    let requests = json!([
        { "line": at("loop"), "condition": "i == 2" },
        { "line": at("loop"), "hitCondition": "4" },
        { "line": at("add"), "logMessage": "adding {left} and {right}" },
    ]);
    editor
        .ok(
            "setBreakpoints",
            json!({ "source": { "path": fixture::source("tour") }, "breakpoints": requests }),
        )
        .await?;
    editor.ok("configurationDone", Value::Null).await?;
    editor.response(launch).await?;
    editor.ok("processWriteInput", json!({ "data": "x\n" })).await?;
    for expected in ["2", "3"] {
        let (thread, frame) = editor.stop().await?;
        let body = editor.ok("evaluate", json!({ "expression": "i", "frameId": frame["id"] })).await?;
        assert_eq!(body["result"], expected);
        editor.ok("continue", json!({ "threadId": thread })).await?;
    }
    editor.event("exited").await?;
    assert_eq!(editor.output[2], "adding 0 and 0\nadding 0 and 1\nadding 1 and 2\nadding 3 and 3\n");
    editor.finish().await
}

async fn steps_go_over_into_and_out_of_calls(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("steps", &["call"], json!({ "enableStepFiltering": false })).await?;
    let (mut thread, _) = editor.stop().await?;
    let mut lines = Vec::new();
    for step in [
        "stepIn", "next", "stepIn", "next", "stepOut", "stepOut", "next", "next", "stepIn", "stepOut",
        "next", "next", "next",
    ] {
        editor.ok(step, json!({ "threadId": thread })).await?;
        let (now, frame) = editor.stop().await?;
        thread = now;
        let line = usize::try_from(frame["line"].as_i64().unwrap_or(0))?;
        let text = std::fs::read_to_string(fixture::source("steps"))?;
        let source = text.lines().nth(line.saturating_sub(1)).unwrap_or_default().trim().to_owned();
        lines.push(format!("{step:8} {}: {source}", frame["name"].as_str().unwrap_or_default()));
    }
    editor.finish().await?;
    insta::assert_snapshot!("steps_go_over_into_and_out_of_calls", lines.join("\n"));
    Ok(())
}

async fn large_values_come_in_pages(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("collections", &["here"], json!({})).await?;
    let (_, frame) = editor.stop().await?;
    let (_, rows) = locals(&mut editor, &frame["id"]).await?;
    let find = |name: &str| rows.iter().find(|row| row["name"] == name).cloned().unwrap_or_default();
    assert_eq!(find("many")["indexedVariables"], 10_000);
    for (name, start, first, value) in [
        ("many", 9_998, "[9998]", "9998"),
        ("list", 998, "[998]", "\"item 998\""),
        ("map", 498, "[\"key 498\"]", "248004"),
    ] {
        let page = json!({ "variablesReference": find(name)["variablesReference"], "filter": "indexed",
            "start": start, "count": 5 });
        let body = editor.ok("variables", page).await?;
        let variables = body["variables"].as_array().cloned().unwrap_or_default();
        assert_eq!(
            (variables.len(), &variables[0]["name"], &variables[0]["value"]),
            (2, &json!(first), &json!(value))
        );
    }
    let grid = editor.ok("evaluate", json!({ "expression": "grid[1, 2]", "frameId": frame["id"] })).await?;
    assert_eq!(grid["result"], "6");
    editor.finish().await
}

async fn an_unhandled_exception_stops_where_it_was_thrown(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("throws", &[], json!({})).await?;
    let (thread, frame) = editor.stop().await?;
    assert_eq!(frame["line"], fixture::line("throws", "throw"));
    let info = editor.ok("exceptionInfo", json!({ "threadId": thread })).await?;
    assert_eq!(
        (&info["exceptionId"], &info["description"]),
        (&json!("System.InvalidOperationException"), &json!("not caught"))
    );
    assert_eq!(info["details"]["innerException"][0]["message"], "the cause");
    editor.ok("continue", json!({ "threadId": thread })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 134);
    editor.finish().await
}

async fn a_busy_program_is_paused_and_resumes(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("spin", &[], json!({})).await?;
    editor.ok("processReadOutput", json!({ "waitFor": "beat 1" })).await?;
    editor.ok("pause", json!({ "threadId": 0 })).await?;
    let (thread, _) = editor.stop().await?;
    let threads = editor.ok("threads", json!({})).await?;
    let names: Vec<&str> = threads["threads"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|thread| thread["name"].as_str())
        .collect();
    assert!(
        names.contains(&"worker") && names.contains(&"beat") && names.contains(&"Main Thread"),
        "{names:?}"
    );
    assert_eq!(editor.refused("pause", json!({ "threadId": 0 })).await?, "NOT_RUNNING");
    editor.ok("continue", json!({ "threadId": thread })).await?;
    assert_eq!(editor.refused("stackTrace", json!({ "threadId": thread })).await?, "NOT_STOPPED");
    editor.ok("processWriteInput", json!({ "data": "", "closeAfter": true })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 0);
    editor.finish().await
}

async fn a_running_process_is_attached_to_and_left_running(runtime: Runtime) -> anyhow::Result<()> {
    let mut command = tokio::process::Command::new(runtime.dotnet().context("no dotnet")?);
    command
        .arg(fixture::program("spin"))
        .envs(runtime.environment().context("no runtime")?)
        .kill_on_drop(true);
    let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut lines = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(
        process.stdout.take().context("no stdout")?,
    ));
    lines.next_line().await?;
    for _ in 0..2 {
        let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
        editor.ok("initialize", json!({ "clientID": "test" })).await?;
        let attach = editor.send("attach", json!({ "processId": process.id() })).await?;
        editor.event("initialized").await?;
        editor.break_at("spin", &["beat"]).await?;
        editor.ok("configurationDone", Value::Null).await?;
        assert!(editor.response(attach).await?.success);
        let (_, frame) = editor.stop().await?;
        assert_eq!(frame["line"], fixture::line("spin", "beat"));
        assert_eq!(editor.refused("processReadOutput", json!({})).await?, "IO_NOT_OWNED");
        editor.finish().await?;
    }
    // It is still running, and prints.
    while let Some(line) = lines.next_line().await? {
        if line.starts_with("beat") {
            break;
        }
    }
    drop(process.stdin.take());
    assert!(process.wait().await?.success());
    Ok(())
}

async fn a_killed_program_ends_the_session_in_order(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("spin", &[], json!({})).await?;
    let process = editor.event("process").await?;
    editor.ok("processReadOutput", json!({ "waitFor": "beat" })).await?;
    let killed =
        std::process::Command::new("kill").arg("-9").arg(process["systemProcessId"].to_string()).status()?;
    assert!(killed.success());
    assert_eq!(editor.event("exited").await?["exitCode"], 137);
    editor.event("terminated").await?;
    assert_eq!(editor.refused("continue", json!({ "threadId": 1 })).await?, "NO_SESSION");
    let read = editor.ok("processReadOutput", json!({})).await?;
    assert!(
        read["exited"] == true && read["stdout"].as_str().is_some_and(|text| text.starts_with("beat 0\n"))
    );
    editor.finish().await
}
