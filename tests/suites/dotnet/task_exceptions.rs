//! Exceptions and steps that leave async methods of the user for a library that awaits them. Exceptions: a
//! stop with `userUnhandled` when the library catches them, none when the user's code does. Steps: an end in
//! the user's code, or a message that there is none.

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    an_exception_that_a_task_carries_out_of_user_code_stops_where_a_library_catches_it,
    a_program_whose_tasks_fail_all_the_time_keeps_running_when_its_debugger_leaves,
    all_inner_exceptions_are_reported,
    an_agent_learns_what_catches_it_and_what_it_carries,
    an_agents_program_stops_at_what_no_user_code_catches_until_the_agent_turns_it_off,
    an_exception_of_an_async_void_method_shows_where_it_was_thrown,
    a_step_out_of_a_call_that_a_library_awaits_ends_in_user_code_or_reports_that_it_ends_nowhere,
}

net8_tests! {
    an_exception_that_a_task_carries_out_of_user_code_stops_where_a_library_catches_it,
    a_program_whose_tasks_fail_all_the_time_keeps_running_when_its_debugger_leaves,
    a_step_out_of_a_call_that_a_library_awaits_ends_in_user_code_or_reports_that_it_ends_nowhere,
}

net10_tests! {
    a_failing_page_and_a_failing_service_stop_once,
    a_library_may_say_which_exceptions_concern_the_user,
}

/// Runs a program to its end; of each stop the mode, the message and the line of the user's that has thrown.
async fn stops(
    editor: &mut DapClient,
    program: String,
    source: &str,
    arguments: &[&str],
) -> anyhow::Result<Vec<String>> {
    editor.ok("initialize", json!({ "clientID": "test" })).await?;
    let launch = editor.send("launch", json!({ "program": program, "args": arguments })).await?;
    editor.event("initialized").await?;
    editor.ok("setExceptionBreakpoints", json!({ "filters": ["userUnhandled"] })).await?;
    editor.ok("configurationDone", Value::Null).await?;
    anyhow::ensure!(editor.response(launch).await?.success);
    let text = std::fs::read_to_string(source)?;
    let mut lines = Vec::new();
    loop {
        let (event, body) = editor.any_event(&["stopped", "exited"]).await?;
        if event == "exited" {
            return Ok(lines);
        }
        let thread = body["threadId"].clone();
        let info = editor.ok("exceptionInfo", json!({ "threadId": thread })).await?;
        let stack = editor.ok("stackTrace", json!({ "threadId": thread })).await?;
        // The place where it was thrown is reported, and is a frame of the stack, or follows the frames.
        let trace = info["details"]["stackTrace"].as_str().unwrap_or_default();
        let place = format!("{source}:line ");
        let thrown = trace.lines().find_map(|line| {
            let (method, line) = line.split_once(&place)?;
            Some((method.trim().strip_prefix("at ")?.strip_suffix(" in")?, line.parse::<usize>().ok()?))
        });
        let (method, thrown) = thrown.with_context(|| format!("no place of the user's: {trace}"))?;
        // A method that only keeps the exception for its task is shown where it has thrown, not at its last
        // line.
        let frames = stack["stackFrames"].as_array().into_iter().flatten();
        let lines_of_method: Vec<_> =
            frames.filter(|frame| frame["name"] == method).map(|frame| &frame["line"]).collect();
        assert!(!lines_of_method.is_empty(), "{method} is not in {stack}");
        assert!(
            lines_of_method.iter().all(|line| **line == thrown),
            "{method} at {lines_of_method:?}, not {thrown}"
        );
        let marker = text.lines().nth(thrown.saturating_sub(1)).unwrap_or_default();
        let marker = marker.rsplit_once("// BP ").map_or(marker, |(_, marker)| marker).trim();
        let question = json!({ "expression": "$exception", "frameId": stack["stackFrames"][0]["id"] });
        let value = editor.ok("evaluate", question).await?;
        assert_eq!(value["type"], info["exceptionId"], "{value}");
        let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
        lines.push(format!("{} {}: {marker}", word(&info["breakMode"]), word(&info["description"])));
        editor.ok("continue", json!({ "threadId": thread })).await?;
    }
}

async fn an_exception_that_a_task_carries_out_of_user_code_stops_where_a_library_catches_it(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let seen = stops(&mut editor, fixture::program("carried"), &fixture::source("carried"), &[]).await?;
    assert_eq!(
        seen,
        [
            "userUnhandled 7: late",
            "userUnhandled 8: early",
            "userUnhandled 9: callee",
            "userUnhandled 10: late",
            "userUnhandled 12: sync",
            "userUnhandled 13: sync",
            "userUnhandled 11: late",
        ]
    );
    editor.finish().await
}

async fn a_program_whose_tasks_fail_all_the_time_keeps_running_when_its_debugger_leaves(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let (process, _lines) =
        tandem_harness::plain_programs::running_with(runtime, "carried", &["forever"]).await?;
    let process = process.id().context("it has ended")?;
    for _ in 0..4 {
        let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
        editor.ok("initialize", json!({ "clientID": "test" })).await?;
        editor.ok("attach", json!({ "processId": process })).await?;
        editor.event("initialized").await?;
        editor.ok("setExceptionBreakpoints", json!({ "filters": ["userUnhandled"] })).await?;
        editor.ok("configurationDone", Value::Null).await?;
        // By now the debugger receives the exceptions that tasks carry.
        editor.break_at("carried", &["late"]).await?;
        for _ in 0..3 {
            let (thread, _) = editor.stop().await?;
            editor.ok("continue", json!({ "threadId": thread })).await?;
        }
        editor.event("stopped").await?;
        editor.finish().await?;
        super::many_exceptions::wait_until_busy(process).await?;
    }
    Ok(())
}

async fn all_inner_exceptions_are_reported(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("carried", &[], json!({ "args": ["several"] })).await?;
    let (thread, _) = editor.stop().await?;
    let info = editor.ok("exceptionInfo", json!({ "threadId": thread })).await?;
    let inner = info["details"]["innerException"].as_array().context("no inner exceptions")?;
    let messages: Vec<&Value> = inner.iter().map(|inner| &inner["message"]).collect();
    assert_eq!(messages, ["one", "two"], "{info}");
    editor.finish().await
}

async fn an_agent_learns_what_catches_it_and_what_it_carries(runtime: Runtime) -> anyhow::Result<()> {
    for (arguments, caught, messages) in
        [(json!([]), true, vec![]), (json!(["several"]), false, vec!["one", "two"])]
    {
        let mut agent = Agent::start("agent", runtime, &Transcript::default()).await?;
        let filters = json!({ "filters": ["unhandled", "userUnhandled"] });
        agent.call("debug_set_exception_breakpoints", filters).await?;
        let launch = json!({ "program": fixture::program("carried"), "args": arguments, "run": true });
        let event = agent.call("debug_launch", launch).await?["event"].clone();
        let stages = (event["isUserUnhandled"] == true, event["isUnhandled"] == true);
        assert_eq!(stages, (caught, !caught), "{event}");
        let causes = event["causes"].as_array().into_iter().flatten();
        assert_eq!(causes.map(|cause| &cause["message"]).collect::<Vec<_>>(), messages, "{event}");
        agent.finish().await?;
    }
    Ok(())
}

/// Off stays off: for a restart, and for the launches after the program's end and after a disconnect.
async fn an_agents_program_stops_at_what_no_user_code_catches_until_the_agent_turns_it_off(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let mut agent = Agent::start("agent", runtime, &Transcript::default()).await?;
    let launch = json!({ "program": fixture::program("carried"), "run": true });
    let stop = agent.call("debug_launch", launch.clone()).await?;
    assert_eq!(stop["event"]["isUserUnhandled"], true, "{stop}");
    let set = agent.call("debug_list_breakpoints", json!({})).await?;
    assert_eq!(set["exceptions"], json!(["userUnhandled", "unhandled"]), "{set}");
    agent.call("debug_set_exception_breakpoints", json!({ "filters": [] })).await?;
    let restarted = agent.call("debug_restart", json!({ "run": true })).await?;
    assert_eq!(restarted["how"], "restart", "{restarted}");
    assert_eq!(restarted["event"]["type"], "exited", "{restarted}");
    let again = agent.call("debug_launch", launch.clone()).await?;
    assert_eq!(again["event"]["type"], "exited", "{again}");
    agent.call("debug_disconnect", json!({})).await?;
    let again = agent.call("debug_launch", launch).await?;
    assert_eq!(again["event"]["type"], "exited", "{again}");
    let set = agent.call("debug_list_breakpoints", json!({})).await?;
    assert_eq!(set["exceptions"], json!([]), "{set}");
    agent.finish().await
}

async fn an_exception_of_an_async_void_method_shows_where_it_was_thrown(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("carried", &[], json!({ "args": ["void"] })).await?;
    let stopped = editor.event("stopped").await?;
    assert_eq!(stopped["description"], "Unhandled exception: System.InvalidOperationException");
    let at = format!("{}:line {}", fixture::source("carried"), fixture::line("carried", "late"));
    let text = stopped["text"].as_str().unwrap_or_default();
    assert!(text.contains(&format!("at Program.Late(string text) in {at}")), "{text}");
    editor.finish().await
}

async fn a_step_out_of_a_call_that_a_library_awaits_ends_in_user_code_or_reports_that_it_ends_nowhere(
    runtime: Runtime,
) -> anyhow::Result<()> {
    for step in ["next", "stepOut"] {
        let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
        editor.launch("carried", &["last"], json!({ "args": ["steps"] })).await?;
        let (thread, frame) = editor.stop().await?;
        assert_eq!(frame["line"], fixture::line("carried", "last"));
        editor.ok(step, json!({ "threadId": thread })).await?;
        let (thread, frame) = editor.stop().await?;
        assert_eq!(frame["line"], fixture::line("carried", "waits"), "{step}");
        editor.ok("continue", json!({ "threadId": thread })).await?;
        let (thread, frame) = editor.stop().await?;
        assert_eq!(frame["line"], fixture::line("carried", "last"), "{step}");
        editor.ok(step, json!({ "threadId": thread })).await?;
        let event = editor.event("output").await?;
        let text = event["output"].as_str().unwrap_or_default();
        assert!(text.contains("ends nowhere: none of your code awaits it"), "{step}: {event}");
        editor.event("exited").await?;
        editor.finish().await?;
    }
    Ok(())
}

async fn a_failing_page_and_a_failing_service_stop_once(runtime: Runtime) -> anyhow::Result<()> {
    for (way, line) in [
        ("page", "userUnhandled the page fails: page"),
        ("plain", "userUnhandled the page fails: page"),
        ("sync", "userUnhandled the page fails at once: sync"),
        ("service", "userUnhandled the service fails: service"),
    ] {
        let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
        let source = fixture::modern_source("unhandled");
        let seen = stops(&mut editor, fixture::modern_program("unhandled"), &source, &[way]).await?;
        assert_eq!(seen, [line], "{way}");
        editor.finish().await?;
    }
    Ok(())
}

async fn a_library_may_say_which_exceptions_concern_the_user(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let source = fixture::modern_source("unhandled");
    let seen = stops(&mut editor, fixture::modern_program("unhandled"), &source, &["marked"]).await?;
    assert_eq!(seen, ["userUnhandled asked for: late"]);
    editor.finish().await
}
