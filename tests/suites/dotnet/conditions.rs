//! Conditions that are not valid: if the text alone shows it, the breakpoint is refused with the reason;
//! where only the program can tell, it stops there and says why. No engine passes one over in silence.

use std::collections::HashMap;

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::child::Subject;
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! { a_csharp_condition_that_means_nothing_is_refused_and_one_that_fails_stops }

net10_tests! { cancels_and_pauses_leave_conditions_alone }

net8_tests! { a_csharp_condition_that_means_nothing_is_refused_and_one_that_fails_stops }

/// Launches with one breakpoint and returns the answer for it; the program has three lines to read.
async fn launch_program(editor: &mut DapClient, subject: Subject, request: Value) -> anyhow::Result<Value> {
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let launch = editor.send("launch", subject.launch()).await?;
    editor.initialized(launch).await?;
    let mut request = request;
    request["line"] = json!(subject.line("handle"));
    let arguments = json!({ "source": { "path": subject.source() }, "breakpoints": [request] });
    let breakpoint = editor.ok("setBreakpoints", arguments).await?["breakpoints"][0].clone();
    editor.ok("configurationDone", Value::Null).await?;
    anyhow::ensure!(editor.response(launch).await?.success, "not launched");
    editor.ok("processWriteInput", json!({ "data": "a\nbb\nccc\n", "closeAfter": true })).await?;
    Ok(breakpoint)
}

async fn check_refused(subject: Subject) -> anyhow::Result<()> {
    let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
    let breakpoint = launch_program(&mut editor, subject, json!({ "condition": "length == 2 &&" })).await?;
    assert_eq!(breakpoint["verified"], false, "{subject:?}: {breakpoint}");
    assert!(breakpoint["message"].as_str().is_some_and(|why| why.len() > 10), "{subject:?}: {breakpoint}");
    let (event, body) = editor.any_event(&["stopped", "exited"]).await?;
    assert_eq!(event, "exited", "{subject:?}: {body}");
    editor.event("terminated").await?;
    editor.finish().await
}

/// An invalid condition stops at the first line with the reason, even with a hit condition or a log message.
async fn stops(subject: Subject, condition: &str) -> anyhow::Result<()> {
    for more in [json!({}), json!({ "hitCondition": ">= 3" }), json!({ "logMessage": "never {length}" })] {
        let mut request = more.clone();
        request["condition"] = json!(condition);
        let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
        launch_program(&mut editor, subject, request).await?;
        let (event, body) = editor.any_event(&["stopped", "exited"]).await?;
        assert_eq!(event, "stopped", "{subject:?} {more}: {body}");
        assert_eq!(body["reason"], "breakpoint", "{subject:?} {more}: {body}");
        let text = body["text"].as_str().unwrap_or_default();
        assert!(
            text.contains(condition) && text.contains("cannot be evaluated"),
            "{subject:?} {more}: {body}"
        );
        assert!(!text.contains("tandem"), "{subject:?}: {body}");
        let stack = editor.ok("stackTrace", json!({ "threadId": body["threadId"] })).await?;
        let length = subject.variable("length", false);
        let arguments =
            json!({ "expression": length, "frameId": stack["stackFrames"][0]["id"], "context": "watch" });
        assert_eq!(editor.ok("evaluate", arguments).await?["result"], "1", "{subject:?} {more}");
        editor.finish().await?;
    }
    Ok(())
}

parameterized_tests! {
    bash_refuses_a_condition_that_is_none: check_refused(Subject::Bash),
    debugpy_refuses_a_condition_that_is_none: check_refused(Subject::Python),
    delve_refuses_a_condition_that_is_none: check_refused(Subject::Delve),
    gdb_refuses_a_condition_that_is_none: check_refused(Subject::Gdb),
    js_refuses_a_condition_that_is_none: check_refused(Subject::Js),
    rdbg_refuses_a_condition_that_is_none: check_refused(Subject::Rdbg),
    rdbg_1_9_2_refuses_a_condition_that_is_none: check_refused(Subject::Rdbg192),
    debugpy_stops_where_a_condition_fails: stops(Subject::Python, "nope == 3"),
    debugpys_adapter_stops_where_a_condition_fails: stops(Subject::PythonAdapter, "nope == 3"),
    delve_stops_where_a_condition_fails: stops(Subject::Delve, "nope == 3"),
    gdb_stops_where_a_condition_fails: stops(Subject::Gdb, "*(int*)0 == 3"),
    js_stops_where_a_condition_fails: stops(Subject::Js, "nope == 3"),
    lldb_stops_where_a_condition_fails: stops(Subject::Lldb, "length == 2 &&"),
    rdbg_stops_where_a_condition_fails: stops(Subject::Rdbg, "nope == 3"),
    rdbg_1_9_2_stops_where_a_condition_fails: stops(Subject::Rdbg192, "nope == 3"),
    perl_refuses_a_condition_that_is_none: check_refused(Subject::Perl),
    perl_stops_where_a_condition_fails: stops(Subject::Perl, "nope() == 3"),
}

/// The guard code around a condition is invisible, and a condition that holds stops as
/// it would without a guard.
#[tokio::test]
async fn a_guarded_condition_holds_where_it_holds() -> anyhow::Result<()> {
    for subject in [Subject::Js, Subject::Rdbg, Subject::Rdbg192, Subject::Python, Subject::Perl] {
        let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
        let condition = format!("{} == 2", subject.variable("length", false));
        launch_program(&mut editor, subject, json!({ "condition": condition })).await?;
        let (event, body) = editor.any_event(&["stopped", "exited"]).await?;
        assert_eq!(event, "stopped", "{subject:?}: {body}");
        assert!(!body.to_string().contains("tandem"), "{subject:?}: {body}");
        let stack = editor.ok("stackTrace", json!({ "threadId": body["threadId"] })).await?;
        let length = subject.variable("length", false);
        let arguments =
            json!({ "expression": length, "frameId": stack["stackFrames"][0]["id"], "context": "watch" });
        assert_eq!(editor.ok("evaluate", arguments).await?["result"], "2", "{subject:?}");
        editor.ok("continue", json!({ "threadId": body["threadId"] })).await?;
        editor.event("exited").await?;
        editor.event("terminated").await?;
        editor.finish().await?;
    }
    Ok(())
}

async fn a_csharp_condition_that_means_nothing_is_refused_and_one_that_fails_stops(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let (source, program) = (fixture::source("cart"), fixture::program("cart"));
    let text = std::fs::read_to_string(&source)?;
    let line = text.lines().position(|line| line.contains("if (item.Stale)")).context("no line")? + 1;
    for (request, fails) in [
        (json!({ "condition": "i == 2 &&" }), false),
        (json!({ "condition": "nope == 3" }), true),
        (json!({ "condition": "nope == 3", "hitCondition": ">= 3" }), true),
        (json!({ "condition": "nope == 3", "logMessage": "never {i}" }), true),
    ] {
        let environment = runtime.environment().context("no runtime")?;
        let mut editor = DapClient::start_in("editor", environment, &Transcript::default())?;
        editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
        let launch = editor.send("launch", json!({ "program": program })).await?;
        editor.initialized(launch).await?;
        let mut arguments = request.clone();
        arguments["line"] = json!(line);
        let arguments = json!({ "source": { "path": source }, "breakpoints": [arguments] });
        let breakpoint = editor.ok("setBreakpoints", arguments).await?["breakpoints"][0].clone();
        assert!(fails || breakpoint["verified"] == false, "{breakpoint}");
        assert!(
            fails || breakpoint["message"].as_str().is_some_and(|why| why.contains("i == 2 &&")),
            "{breakpoint}"
        );
        editor.ok("configurationDone", Value::Null).await?;
        anyhow::ensure!(editor.response(launch).await?.success, "not launched");
        let (event, body) = editor.any_event(&["stopped", "exited"]).await?;
        assert_eq!(event, if fails { "stopped" } else { "exited" }, "{request}: {body}");
        if fails {
            assert!(
                body["text"].as_str().is_some_and(|text| text.contains("`nope == 3`")),
                "{request}: {body}"
            );
            // It stops again, and the reason is on the console once.
            editor.ok("continue", json!({ "threadId": body["threadId"] })).await?;
            assert_eq!(editor.any_event(&["stopped", "exited"]).await?.0, "stopped", "{request}");
            let console = &editor.output[2];
            assert_eq!(console.matches("`nope == 3` cannot be evaluated").count(), 1, "{request}: {console}");
        }
        editor.finish().await?;
    }
    Ok(())
}

/// A cancelled request does not cancel the conditions after it: they run as before, and stop nothing. A pause
/// among them finds a thread with a stack, which can step; a thread without one cannot.
async fn cancels_and_pauses_leave_conditions_alone(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("spin", &["beat"], json!({ "expressionCompiler": "off" })).await?;
    let (thread, _) = editor.stop().await?;
    let condition = "new[] { 1, 2 }.Any(n => n > 5)";
    let place = json!([{ "line": fixture::line("spin", "spin"), "condition": condition }]);
    let place = json!({ "source": { "path": fixture::source("spin") }, "breakpoints": place });
    assert_eq!(editor.ok("setBreakpoints", place).await?["breakpoints"][0]["verified"], true);
    editor.ok("continue", json!({ "threadId": thread })).await?;
    let mut cancelled = 0;
    for _ in 0..40 {
        let seq = editor.send("loadedSources", json!({})).await?;
        let cancel = editor.send("cancel", json!({ "requestId": seq })).await?;
        cancelled += usize::from(!editor.response(seq).await?.success);
        editor.response(cancel).await?;
    }
    let stopped = editor.unclaimed_messages().contains(&"stopped".to_owned());
    for _ in 0..20 {
        editor.ok("pause", json!({ "threadId": thread })).await?;
        assert_eq!(editor.event("stopped").await?["threadId"], thread);
        let stack = editor.ok("stackTrace", json!({ "threadId": thread })).await?;
        assert_ne!(stack["stackFrames"], json!([]));
        editor.ok("continue", json!({ "threadId": thread })).await?;
    }
    editor.ok("pause", json!({ "threadId": thread })).await?;
    editor.event("stopped").await?;
    let threads = editor.ok("threads", json!({})).await?["threads"].clone();
    let is_native =
        |thread: &&Value| thread["name"].as_str().is_some_and(|name| name.starts_with(".NET Finalizer"));
    let native = threads.as_array().into_iter().flatten().find(is_native);
    let native = native.with_context(|| format!("no finalizer thread: {threads}"))?["id"].clone();
    assert_eq!(editor.refused("next", json!({ "threadId": native })).await?, "INVALID_PARAMETER");
    let console = editor.output[2].clone();
    editor.finish().await?;
    anyhow::ensure!(
        !stopped && !console.contains("cannot be evaluated"),
        "after {cancelled} of 40: {console}"
    );
    Ok(())
}
