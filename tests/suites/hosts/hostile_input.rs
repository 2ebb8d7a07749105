//! Bad input: each message gets its answer with a stable code, and the session continues if it can.

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    requests_that_make_no_sense_are_answered_and_the_session_continues,
    launches_that_cannot_work_say_why,
    invalid_frames_do_not_affect_other_messages,
}

async fn requests_that_make_no_sense_are_answered_and_the_session_continues(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    assert_eq!(editor.refused("threads", json!({})).await?, "INVALID_PARAMETER");
    editor.launch("tour", &["loop"], json!({})).await?;
    assert_eq!(editor.refused("initialize", json!({})).await?, "INVALID_PARAMETER");
    assert_eq!(editor.refused("configurationDone", json!({})).await?, "INVALID_PARAMETER");
    assert_eq!(editor.refused("evaluate", json!({ "expression": "1" })).await?, "NOT_STOPPED");
    editor.ok("processWriteInput", json!({ "data": "bob\n" })).await?;
    let (thread, frame) = editor.stop().await?;
    for (command, arguments, code) in [
        ("danceWithMe", json!({ "x": 1 }), "UNSUPPORTED"),
        ("stackTrace", json!({ "threadId": "one" }), "INVALID_PARAMETER"),
        ("stackTrace", json!({ "threadId": 99_999_999 }), "INVALID_PARAMETER"),
        ("scopes", json!({}), "INVALID_PARAMETER"),
        ("scopes", json!({ "frameId": 123_456 }), "INVALID_PARAMETER"),
        ("variables", json!({ "variablesReference": frame["id"] }), "INVALID_PARAMETER"),
        ("variables", json!({ "variablesReference": -1 }), "INVALID_PARAMETER"),
        ("evaluate", json!({ "expression": 5, "frameId": frame["id"] }), "INVALID_PARAMETER"),
        ("setBreakpoints", json!({}), "INVALID_PARAMETER"),
        (
            "setBreakpoints",
            json!({ "source": { "path": "/x.cs" }, "breakpoints": [{ "line": "one" }] }),
            "INVALID_PARAMETER",
        ),
        (
            "setBreakpoints",
            json!({ "source": { "path": "/x.cs" }, "breakpoints": "all" }),
            "INVALID_PARAMETER",
        ),
        ("setExceptionBreakpoints", json!({}), "INVALID_PARAMETER"),
        ("exceptionInfo", json!({ "threadId": thread }), "INVALID_PARAMETER"),
        ("processReadOutput", json!({ "stream": "x" }), "INVALID_PARAMETER"),
        ("processReadOutput", json!({ "waitFor": "(" }), "INVALID_PARAMETER"),
        ("processReadOutput", json!({ "since": "yesterday" }), "INVALID_PARAMETER"),
        ("processWriteInput", json!({}), "INVALID_PARAMETER"),
        ("processWriteInput", json!({ "data": "?", "encoding": "base64" }), "INVALID_PARAMETER"),
        ("sessionControl", json!({ "agentAccess": "some" }), "INVALID_PARAMETER"),
    ] {
        assert_eq!(editor.refused(command, arguments.clone()).await?, code, "{command} {arguments}");
    }
    // A file that does not exist is not an error; the answer reports it.
    let nowhere = json!({ "source": { "path": "/no/such/file.cs" }, "breakpoints": [{ "line": 3 }] });
    let body = editor.ok("setBreakpoints", nowhere).await?;
    assert_eq!(body["breakpoints"][0]["message"], "there is no file `/no/such/file.cs`");
    editor.ok("next", json!({ "threadId": thread })).await?;
    editor.stop().await?;
    editor.finish().await
}

async fn launches_that_cannot_work_say_why(runtime: Runtime) -> anyhow::Result<()> {
    let tour = fixture::program("tour");
    let dotnet = Runtime::Net31.dotnet().context("set-up has no .NET Core 3.1")?;
    let library = dotnet.with_file_name("shared/Microsoft.NETCore.App/3.1.2/System.Console.dll");
    anyhow::ensure!(library.is_file(), "{library:?} is missing");
    for (arguments, code) in [
        (json!({}), "INVALID_PARAMETER"),
        (json!({ "program": 5 }), "INVALID_PARAMETER"),
        (json!({ "program": tour, "args": "x" }), "INVALID_PARAMETER"),
        (json!({ "program": tour, "env": { "A": [1] } }), "INVALID_PARAMETER"),
        (json!({ "program": tour, "engine": "abacus" }), "INVALID_PARAMETER"),
        (json!({ "program": tour, "agentAccess": "some" }), "INVALID_PARAMETER"),
        (json!({ "program": tour, "outputBufferBytes": 1 }), "INVALID_PARAMETER"),
        (json!({ "program": tour, "engine": "lldb", "enginePath": "/no/such" }), "ENGINE_NOT_FOUND"),
        (json!({ "program": tour, "console": "integratedTerminal" }), "UNSUPPORTED"),
        (json!({ "program": "/no/such/program.dll" }), "LAUNCH_FAILED"),
        (json!({ "program": tour, "cwd": "/no/such/folder" }), "LAUNCH_FAILED"),
        (json!({ "program": library }), "LAUNCH_FAILED"),
        (json!({ "program": "/bin/true" }), "NOT_DEBUGGABLE"),
        // A command.
        (json!({ "program": "false" }), "NOT_DEBUGGABLE"),
        (json!({ "program": tour, "env": { "DOTNET_EnableDiagnostics": "0" } }), "NOT_DEBUGGABLE"),
        (
            json!({ "program": tour, "env": { "DOTNET_ROOT": null, "PATH": "/nowhere", "HOME": null } }),
            "ENGINE_NOT_FOUND",
        ),
    ] {
        let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
        editor.ok("initialize", json!({ "clientID": "test" })).await?;
        assert_eq!(editor.refused("launch", arguments.clone()).await?, code, "{arguments}");
        editor.finish().await?;
    }
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test" })).await?;
    assert_eq!(editor.refused("attach", json!({})).await?, "NO_SESSION");
    assert_eq!(editor.refused("attach", json!({ "processId": 999_999_999 })).await?, "PROCESS_NOT_FOUND");
    assert_eq!(
        editor.refused("attach", json!({ "processId": std::process::id(), "engine": "coreclr" })).await?,
        "NOT_DEBUGGABLE"
    );
    // The same client may still launch properly.
    let launch = editor.send("launch", json!({ "program": tour })).await?;
    editor.event("initialized").await?;
    editor.ok("configurationDone", Value::Null).await?;
    anyhow::ensure!(editor.response(launch).await?.success);
    editor.finish().await
}

async fn invalid_frames_do_not_affect_other_messages(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.send_raw(b"Content-Length: 3\r\n\r\n{x}").await?;
    editor.send_raw(b"Content-Length: 40\r\n\r\n{\"seq\":77,\"type\":\"request\",\"commando\":1}").await?;
    let answer = editor.response(77).await?;
    assert_eq!(answer.body["error"]["variables"]["code"], "INVALID_PARAMETER");
    editor.ok("initialize", json!({ "clientID": "test" })).await?;
    // A giant message ends the connection, and with it the session, which had no program yet.
    editor.send_raw(b"Content-Length: 99999999999\r\n\r\n").await?;
    assert!(editor.ask("threads", json!({})).await.is_err());
    Ok(())
}
