//! The tools as agents of all kinds use them: through the official Python client, by the requirements' own
//! examples, with a bridge that only looks, and with a test host.

use anyhow::Context;
use serde_json::json;
use tandem_harness::agent::Agent;
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    examples_of_the_requirements_pass,
    a_bridge_that_only_looks_changes_nothing,
    an_unmet_wait_is_pending_and_the_same_call_continues_it,
    an_exception_is_reported_with_its_causes,
    an_exception_of_async_main_is_reported_with_its_place,
}

// It tests the client and takes 7 s.
older_dotnet_tests! {
    official_client_debugs_a_whole_session,
}

net8_tests! {
    examples_of_the_requirements_pass,
    an_exception_is_reported_with_its_causes,
    an_exception_of_async_main_is_reported_with_its_place,
}

async fn official_client_debugs_a_whole_session(runtime: Runtime) -> anyhow::Result<()> {
    let project = fixture::root().join("fixtures/programs/dotnet/tour");
    let mut command = tokio::process::Command::new(tandem_harness::child::interpreter("python"));
    command
        .arg(fixture::root().join("tests/python/debug_scenario.py"))
        .arg(fixture::binary("tandem-mcp"))
        .args([fixture::program("tour"), fixture::source("tour")])
        .arg(project)
        .envs(runtime.environment().context("no runtime")?)
        .env("PYTHONPATH", fixture::python_packages())
        .env("PYTHONPYCACHEPREFIX", fixture::cache().join("pycache"))
        .env_remove("PYTHONDONTWRITEBYTECODE")
        .kill_on_drop(true);
    let done = command.output().await?;
    let (text, failed) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    anyhow::ensure!(done.status.success(), "{text}\n{failed}");
    Ok(())
}

async fn examples_of_the_requirements_pass(runtime: Runtime) -> anyhow::Result<()> {
    let mut agent = Agent::start("agent", runtime, &Transcript::default()).await?;
    // Before a session: the errors the documents list.
    let refused = agent.call("process_write_input", json!({ "data": "x" })).await?;
    assert_eq!(refused["error"]["code"], "NO_SESSION");
    assert_eq!(agent.call("debug_status", json!({})).await?["state"], "idle");
    let folder = fixture::root().join("fixtures/programs/dotnet/tour");
    // Both the project and the built program are named, as in the documents; the program alone would do.
    let launched = agent.call("debug_launch", json!({ "appDllPath": fixture::program("tour") })).await?;
    assert_eq!((&launched["success"], &launched["state"]), (&json!(true), &json!("stopped")));
    // A breakpoint by the name of the file, as the program's symbols know it.
    let line = fixture::line("tour", "loop");
    let set =
        json!({ "dllPath": fixture::program("tour"), "sourceFile": folder.join("Program.cs"), "line": line });
    let set = agent.call("debug_set_breakpoint", set).await?;
    assert_eq!((&set["success"], &set["line"]), (&json!(true), &json!(line)));
    agent.call("process_write_input", json!({ "data": "user input here\n", "close_after": true })).await?;
    let hit = agent.call("debug_continue", json!({})).await?;
    assert_eq!((&hit["state"], &hit["event"]["type"]), (&json!("stopped"), &json!("breakpointHit")));
    assert_eq!(
        (&hit["event"]["breakpointId"], &hit["event"]["topFrame"]["line"]),
        (&set["id"], &json!(line))
    );
    assert!(hit["event"]["threadId"].is_i64());
    let over = agent.call("debug_step_over", json!({})).await?;
    assert_eq!((&over["event"]["type"], &over["event"]["reason"]), (&json!("stopped"), &json!("step")));
    let removed = agent.call("debug_remove_breakpoint", json!({ "breakpointId": set["id"] })).await?;
    assert_eq!(removed, json!({ "id": set["id"], "success": true }));
    let closed = agent.call("process_write_input", json!({ "data": "again\n" })).await?;
    assert_eq!(closed["error"]["code"], "STDIN_CLOSED");
    let exited = agent.call("debug_continue", json!({})).await?;
    assert_eq!((&exited["state"], &exited["event"]["type"]), (&json!("exited"), &json!("exited")));
    // Only the requested stream; bytes are counted in UTF-8.
    let read = agent.call("process_read_output", json!({ "stream": "stderr" })).await?;
    assert_eq!((&read["stderr"], &read["stderrBytes"]), (&json!("done\n"), &json!(5)));
    assert!(read.get("stdout").is_none() && read.get("stdoutBytes").is_none(), "{read}");
    let wrong = agent.call("process_read_output", json!({ "stream": "stdin" })).await?;
    assert_eq!(wrong["error"]["code"], "INVALID_PARAMETER");
    assert!(
        wrong["error"]["message"]
            .as_str()
            .unwrap_or_default()
            .contains("Must be 'stdout', 'stderr', or 'both'")
    );
    // `clear` hides what was read from this reader; nothing is lost in between.
    agent.call("process_read_output", json!({ "clear": true })).await?;
    let empty = agent.call("process_read_output", json!({})).await?;
    assert_eq!((&empty["stdout"], &empty["stdoutBytes"]), (&json!(""), &json!(0)));
    let left = agent.call("debug_disconnect", json!({ "terminateProcess": true })).await?;
    assert_eq!(left, json!({ "state": "idle", "success": true }));
    agent.finish().await
}

async fn a_bridge_that_only_looks_changes_nothing(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("tour", &["main"], json!({})).await?;
    editor.stop().await?;
    let id = editor.ok("sessionInfo", json!({})).await?["id"].clone();
    let mut command = tokio::process::Command::new(fixture::binary("tandem-mcp"));
    command.arg("--read-only").envs(runtime.environment().context("no runtime")?);
    let mut agent = Agent::spawn("watcher", command, &Transcript::default()).await?;
    let listed = agent.rpc("tools/list", json!({})).await?;
    let tools = listed["tools"].as_array().context("no tools")?;
    let acting: Vec<_> = tools.iter().filter(|tool| tool["annotations"]["readOnlyHint"] != true).collect();
    assert!(acting.is_empty() && tools.len() > 10, "{acting:?}");
    agent.call("debug_sessions", json!({ "select": id })).await?;
    let seen = agent.call("debug_snapshot", json!({})).await?;
    assert_eq!(seen["event"]["line"], fixture::line("tour", "main"), "{seen}");
    let calls = [
        ("debug_launch", json!({ "program": fixture::program("tour") })),
        ("debug_continue", json!({})),
        ("debug_evaluate", json!({ "expression": "1" })),
        ("debug_set_variable", json!({ "name": "total", "value": "1" })),
        ("process_write_input", json!({ "data": "x" })),
        ("debug_set_breakpoint", json!({ "file": fixture::source("tour"), "line": 1 })),
        ("debug_disconnect", json!({ "terminate": true })),
    ];
    for (tool, arguments) in calls {
        let refused = agent.call(tool, arguments).await?;
        assert_eq!(refused["error"]["code"], "ACCESS_DENIED", "{tool}: {refused}");
    }
    agent.finish().await?;
    // The watcher has left; the editor's session has not noticed.
    editor.ok("threads", json!({})).await?;
    editor.finish().await
}

async fn an_unmet_wait_is_pending_and_the_same_call_continues_it(runtime: Runtime) -> anyhow::Result<()> {
    let mut agent = Agent::start("agent", runtime, &Transcript::default()).await?;
    agent.call("debug_launch", json!({ "program": fixture::program("spin") })).await?;
    // One of its threads reads stdin, but another one works: the program does not wait for input.
    let pending = agent.call("debug_continue", json!({ "timeoutMs": 200 })).await?;
    assert_eq!((&pending["state"], &pending["pending"]), (&json!("running"), &json!(true)), "{pending}");
    let again = agent.call("debug_continue", json!({ "timeoutMs": 0 })).await?;
    assert_eq!(again["pending"], true, "{again}");
    let at = json!({ "file": fixture::source("spin"), "line": fixture::line("spin", "beat") });
    let set = agent.call("debug_set_breakpoint", at).await?;
    // Whether it is hit before or after this call: the stop is reported, and the program is not resumed from
    // it.
    let hit = agent.call("debug_continue", json!({})).await?;
    assert_eq!(hit["event"]["breakpointId"], set["id"], "{hit}");
    // Now it runs on.
    let next = agent.call("debug_continue", json!({})).await?;
    assert_eq!(next["event"]["type"], "breakpointHit", "{next}");
    agent.finish().await
}

async fn an_exception_of_async_main_is_reported_with_its_place(runtime: Runtime) -> anyhow::Result<()> {
    let mut agent = Agent::start("agent", runtime, &Transcript::default()).await?;
    let stop =
        agent.call("debug_launch", json!({ "program": fixture::program("rethrows"), "run": true })).await?;
    let event = &stop["event"];
    assert_eq!(
        (&event["type"], &event["function"], &event["file"], &event["line"], &event["hasEnded"]),
        (
            &json!("exception"),
            &json!("Program.Inner()"),
            &json!(fixture::source("rethrows")),
            &json!(fixture::line("rethrows", "throw")),
            &json!(true)
        ),
        "{stop}"
    );
    assert!(event["lines"].to_string().contains("throw new"), "{stop}");
    let value = agent.call("debug_evaluate", json!({ "expression": "$exception._message" })).await?;
    assert_eq!(value["result"], "\"nobody catches this 1\"", "{value}");
    agent.finish().await
}

async fn an_exception_is_reported_with_its_causes(runtime: Runtime) -> anyhow::Result<()> {
    let mut agent = Agent::start("agent", runtime, &Transcript::default()).await?;
    let refused = agent.call("debug_set_exception_breakpoints", json!({})).await?;
    assert_eq!(refused["error"]["code"], "INVALID_PARAMETER");
    agent.call("debug_set_exception_breakpoints", json!({ "filters": ["all"] })).await?;
    let first =
        agent.call("debug_launch", json!({ "program": fixture::program("throws"), "run": true })).await?;
    let event = &first["event"];
    assert_eq!((&event["type"], &event["message"]), (&json!("exception"), &json!("caught")), "{first}");
    assert_eq!(event["exceptionType"], "System.InvalidOperationException");
    assert_eq!(event["isUnhandled"], false);
    assert_eq!(event["causes"][0]["message"], "the cause");
    assert_eq!(event["line"], fixture::line("throws", "throw"));
    let unknown = agent.call("debug_set_exception_breakpoints", json!({ "filters": ["some"] })).await?;
    assert!(unknown["error"]["hint"].as_str().unwrap_or_default().contains("unhandled"), "{unknown}");
    agent.call("debug_set_exception_breakpoints", json!({ "filters": ["unhandled"] })).await?;
    let second = agent.call("debug_continue", json!({})).await?;
    assert_eq!(
        (&second["event"]["message"], &second["event"]["isUnhandled"]),
        (&json!("not caught"), &json!(true))
    );
    let seen = agent.call("debug_snapshot", json!({})).await?;
    assert_eq!(seen["exception"]["description"], "not caught", "{seen}");
    agent.finish().await
}
