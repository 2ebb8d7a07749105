//! Exceptions that stop the program, and the details that are reported about them.

use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    exceptions_stop_by_filter_and_type,
    an_exception_is_reported_with_its_cause_and_its_places,
    an_unusable_filter_is_reported,
    an_exception_nobody_catches_stops_before_its_handlers_run_and_once,
    an_exception_that_is_thrown_again_shows_where_it_was_thrown,
}

net8_tests! {
    exceptions_stop_by_filter_and_type,
    an_exception_is_reported_with_its_cause_and_its_places,
    an_exception_nobody_catches_stops_before_its_handlers_run_and_once,
    an_exception_that_is_thrown_again_shows_where_it_was_thrown,
}

async fn exceptions_stop_by_filter_and_type(runtime: Runtime) -> anyhow::Result<()> {
    let option = |filter: &str, condition: &str| json!({ "filterId": filter, "condition": condition });
    let mut lines = Vec::new();
    for (filters, options, just_my_code) in [
        (json!([]), json!([]), true),
        (json!(["all"]), json!([]), true),
        (json!(["userUnhandled"]), json!([]), true),
        (json!(["unhandled"]), json!([]), true),
        (json!([]), json!([option("all", "System.IO.*")]), true),
        (json!([]), json!([option("all", "System.IO.IOException")]), true),
        (
            json!([]),
            json!([option(
                "all",
                "!System.OperationCanceledException, !System.IO.IOException, !Failure`1[System.String]"
            )]),
            true,
        ),
        (
            json!([]),
            json!([option("all", "ArgumentException, Failure<int>"), option("unhandled", "OwnException")]),
            true,
        ),
        (json!(["all"]), json!([]), false),
    ] {
        lines.push(format!("filters {filters} {options}{}", if just_my_code { "" } else { " all code" }));
        let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
        editor.ok("initialize", json!({ "clientID": "test" })).await?;
        let arguments = json!({ "program": fixture::program("filters"), "justMyCode": just_my_code });
        let launch = editor.send("launch", arguments).await?;
        editor.event("initialized").await?;
        editor.ok("setExceptionBreakpoints", json!({ "filters": filters, "filterOptions": options })).await?;
        editor.ok("configurationDone", Value::Null).await?;
        anyhow::ensure!(editor.response(launch).await?.success);
        loop {
            let (event, body) = editor.any_event(&["stopped", "exited"]).await?;
            if event == "exited" {
                break;
            }
            let thread = body["threadId"].clone();
            let info = editor.ok("exceptionInfo", json!({ "threadId": thread })).await?;
            let stack = editor.ok("stackTrace", json!({ "threadId": thread })).await?;
            let own = stack["stackFrames"].as_array().into_iter().flatten().find(|frame| frame["line"] != 0);
            let line = own.and_then(|frame| frame["line"].as_u64()).unwrap_or(0);
            let text = std::fs::read_to_string(fixture::source("filters"))?;
            let source =
                text.lines().nth(usize::try_from(line)?.saturating_sub(1)).unwrap_or_default().trim();
            let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
            lines.push(format!("    {} {}: {source}", word(&info["breakMode"]), word(&info["exceptionId"])));
            editor.ok("continue", json!({ "threadId": thread })).await?;
        }
        editor.finish().await?;
    }
    insta::assert_snapshot!("exceptions_stop_by_filter_and_type", lines.join("\n"));
    Ok(())
}

async fn an_exception_is_reported_with_its_cause_and_its_places(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("filters", &[], json!({})).await?;
    let (thread, frame) = editor.stop().await?;
    assert_eq!(frame["line"], fixture::line("filters", "own"));
    let info = editor.ok("exceptionInfo", json!({ "threadId": thread })).await?;
    assert_eq!((&info["exceptionId"], &info["description"]), (&json!("OwnException"), &json!("own")));
    let source = fixture::source("filters");
    let at = |marker: &str| format!("at Program.Own() in {source}:line {}", fixture::line("filters", marker));
    let stack = info["details"]["stackTrace"].as_str().unwrap_or_default();
    assert!(stack.contains(&at("own")), "{stack}");
    let inner = &info["details"]["innerException"][0];
    assert_eq!(
        (&inner["fullTypeName"], &inner["message"]),
        (&json!("System.ArgumentException"), &json!("the cause"))
    );
    let stack = inner["stackTrace"].as_str().unwrap_or_default();
    assert!(stack.contains(&at("cause")), "{inner}");
    editor.finish().await
}

async fn an_unusable_filter_is_reported(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("messages", &[], json!({})).await?;
    editor.event("stopped").await?;
    let requests = json!({ "filters": ["all", "nope"],
        "filterOptions": [{ "filterId": "unhandled", "condition": "two words" }] });
    let body = editor.ok("setExceptionBreakpoints", requests).await?;
    let verified: Vec<&Value> =
        body["breakpoints"].as_array().into_iter().flatten().map(|answer| &answer["verified"]).collect();
    assert_eq!(verified, [true, false, false]);
    editor.finish().await
}

async fn an_exception_nobody_catches_stops_before_its_handlers_run_and_once(
    runtime: Runtime,
) -> anyhow::Result<()> {
    for (way, code) in [("return", 134), ("exit", 42), ("throw", 134), ("sleep", 137), ("return there", 134)]
    {
        let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
        editor.launch("lastwords", &[], json!({ "args": [way] })).await?;
        let stopped = editor.event("stopped").await?;
        assert_eq!(stopped["description"], "Unhandled exception: System.InvalidOperationException", "{way}");
        let thread = stopped["threadId"].clone();
        let info = editor.ok("exceptionInfo", json!({ "threadId": thread })).await?;
        assert_eq!(
            (&info["breakMode"], &info["description"]),
            (&json!("unhandled"), &json!("nobody catches this"))
        );
        let place = format!("Program.cs:line {}", fixture::line("lastwords", "fail"));
        let stack = info["details"]["stackTrace"].as_str().unwrap_or_default();
        assert!(stack.contains(&place), "{way}: {stack}");
        // .NET Core 3.1 throws it again at the bottom of a thread that is not the main one.
        if way != "return there" || runtime != Runtime::Net31 {
            let stack = editor.ok("stackTrace", json!({ "threadId": thread })).await?;
            let top = &stack["stackFrames"][0];
            assert_eq!(top["name"], "Program.Fail()", "{way}");
            let arguments = json!({ "expression": "$exception._message", "frameId": top["id"] });
            assert_eq!(editor.ok("evaluate", arguments).await?["result"], "\"nobody catches this\"", "{way}");
            let arguments = json!({ "expression": "$exception.Message", "frameId": top["id"] });
            match runtime {
                Runtime::Net10 => {
                    let result = editor.ok("evaluate", arguments).await?["result"].clone();
                    assert_eq!(result, "\"nobody catches this\"", "{way}");
                }
                // The thread is in optimised code of the runtime.
                _ => assert_eq!(editor.refused("evaluate", arguments).await?, "EVALUATION_FAILED", "{way}"),
            }
        }
        assert!(!editor.output[0].contains("heard"), "{way}: a handler has run");
        editor.break_at("lastwords", &["heard", "sleep"]).await?;
        let resumed = json!({ "threadId": thread });
        editor.ok("continue", resumed.clone()).await?;
        for marker in ["heard", "sleep"] {
            let (_, frame) = editor.stop().await?;
            assert_eq!(frame["line"], fixture::line("lastwords", marker), "{way}");
            editor.ok("continue", resumed.clone()).await?;
        }
        let left = match way {
            // It would never end.
            "sleep" => Some(editor.send("disconnect", Value::Null).await?),
            _ => None,
        };
        let (event, body) = editor.any_event(&["stopped", "exited"]).await?;
        assert_eq!((event.as_str(), &body["exitCode"]), ("exited", &json!(code)), "{way}: {body}");
        assert!(editor.output[0].starts_with("received InvalidOperationException"), "{way}");
        match left {
            Some(left) => {
                anyhow::ensure!(editor.response(left).await?.success, "{way}");
                editor.wait_until_ended().await?;
            }
            None => editor.finish().await?,
        }
    }
    Ok(())
}

/// `async Main` throws what its task kept: no frame of the thread has a source.
async fn an_exception_that_is_thrown_again_shows_where_it_was_thrown(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("rethrows", &[], json!({})).await?;
    let stopped = editor.event("stopped").await?;
    let place = format!("{}:line {}", fixture::source("rethrows"), fixture::line("rethrows", "throw"));
    let text = stopped["text"].as_str().unwrap_or_default();
    assert!(text.contains("nobody catches this 1\n") && text.contains(&place), "{stopped}");
    let thread = stopped["threadId"].clone();
    let first = editor.ok("stackTrace", json!({ "threadId": thread, "levels": 1 })).await?;
    assert!(first["totalFrames"].as_u64() > Some(1), "{first}");
    let stack = editor.ok("stackTrace", json!({ "threadId": thread })).await?;
    let frames = stack["stackFrames"].as_array().cloned().unwrap_or_default();
    let label = frames.iter().position(|frame| frame["name"] == "[Exception Thrown At]");
    let label = label.unwrap_or_else(|| panic!("no label: {stack}"));
    assert!(frames.iter().take(label).all(|frame| frame["source"]["path"].is_null()), "{stack}");
    let shown = |frame: &Value| {
        json!([
            frame["name"],
            frame["source"]["path"],
            frame["line"],
            frame["presentationHint"],
            frame["hasEnded"]
        ])
    };
    let ended: Vec<Value> = frames.iter().skip(label + 1).map(shown).collect();
    let source = fixture::source("rethrows");
    assert_eq!(
        ended,
        [
            json!(["Program.Inner()", source, fixture::line("rethrows", "throw"), null, true]),
            json!(["Program.Main()", source, fixture::line("rethrows", "await"), null, true]),
        ]
    );
    let id = frames[label + 1]["id"].clone();
    assert_eq!(editor.refused("scopes", json!({ "frameId": id })).await?, "INVALID_PARAMETER");
    let arguments = json!({ "expression": "thrown", "frameId": id });
    assert_eq!(editor.refused("evaluate", arguments).await?, "INVALID_PARAMETER");
    let arguments = json!({ "expression": "$exception._message", "frameId": frames[0]["id"] });
    assert_eq!(editor.ok("evaluate", arguments).await?["result"], "\"nobody catches this 1\"");
    editor.ok("continue", json!({ "threadId": thread })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 134);
    editor.finish().await
}
