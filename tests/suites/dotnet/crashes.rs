//! Programs that end badly: each end is reported in order, with its reason and the exit code the program
//! really had.

use serde_json::json;
use tandem_harness::client::DapClient;
use tandem_harness::fixture::Runtime;
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    a_program_that_ends_itself_or_is_killed_is_reported_with_its_exit_code,
    a_program_nobody_can_save_stops_once_and_then_ends,
    a_stack_overflow_ends_the_program,
}

net8_tests! {
    a_program_that_ends_itself_or_is_killed_is_reported_with_its_exit_code,
    a_program_nobody_can_save_stops_once_and_then_ends,
    a_stack_overflow_ends_the_program,
}

async fn start_program(runtime: Runtime, way: &str) -> anyhow::Result<DapClient> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("crashes", &[], json!({ "args": [way] })).await?;
    Ok(editor)
}

async fn a_program_that_ends_itself_or_is_killed_is_reported_with_its_exit_code(
    runtime: Runtime,
) -> anyhow::Result<()> {
    for (way, code) in [("exit", 42), ("", 3), ("abort", 134), ("kill", 137)] {
        let mut editor = start_program(runtime, way).await?;
        assert_eq!(editor.event("exited").await?["exitCode"], code, "{way}");
        editor.event("terminated").await?;
        assert!(editor.output[0].starts_with("ends by"), "{way}: {:?}", editor.output);
        editor.finish().await?;
    }
    Ok(())
}

async fn a_program_nobody_can_save_stops_once_and_then_ends(runtime: Runtime) -> anyhow::Result<()> {
    for (way, name, words) in [
        ("throw", "System.InvalidOperationException", "nobody catches this"),
        ("null", "System.NullReferenceException", "Object reference"),
        ("segfault", "System.AccessViolationException", "protected memory"),
        ("failfast", "System.ExecutionEngineException", "the reactor is hot"),
    ] {
        let mut editor = start_program(runtime, way).await?;
        let stopped = editor.event("stopped").await?;
        assert_eq!(stopped["reason"], "exception", "{way}");
        let thread = json!({ "threadId": stopped["threadId"] });
        assert_eq!(editor.ok("exceptionInfo", thread.clone()).await?["exceptionId"], name, "{way}");
        let stack = editor.ok("stackTrace", thread.clone()).await?["stackFrames"].clone();
        let frames = stack.as_array().into_iter().flatten();
        let main = frames.into_iter().any(|frame| frame["name"] == "Program.Main(string[] args)");
        assert!(main, "{way}: {stack}");
        editor.ok("continue", thread).await?;
        assert_eq!(editor.event("exited").await?["exitCode"], 134, "{way}");
        editor.event("terminated").await?;
        assert!(editor.output[1].contains(words), "{way}: {:?}", editor.output);
        editor.finish().await?;
    }
    Ok(())
}

async fn a_stack_overflow_ends_the_program(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = start_program(runtime, "overflow").await?;
    if runtime.reports_stack_overflows() {
        let stopped = editor.event("stopped").await?;
        assert_eq!(stopped["description"], "Unhandled exception: System.StackOverflowException");
        let thread = json!({ "threadId": stopped["threadId"], "levels": 1 });
        let stack = editor.ok("stackTrace", thread.clone()).await?;
        assert_eq!(stack["stackFrames"][0]["name"], "Program.Deeper(int depth)");
        // Its stack is deeper than the limit, and the answer reports that.
        let arguments = json!({ "threadId": stopped["threadId"], "startFrame": 9_999, "levels": 100 });
        let bottom = editor.ok("stackTrace", arguments).await?;
        let last = bottom["stackFrames"].as_array().and_then(|rows| rows.last()).cloned().unwrap_or_default();
        assert_eq!((&last["name"], &last["presentationHint"]), (&json!("[More Frames]"), &json!("label")));
        editor.ok("continue", thread).await?;
    }
    // Under a debugger .NET 9 hangs when it should end.
    let code = if runtime == Runtime::Net9 { 137 } else { 134 };
    assert_eq!(editor.event("exited").await?["exitCode"], code);
    editor.event("terminated").await?;
    assert!(editor.output[1].contains("Stack overflow."), "{:?}", editor.output);
    editor.finish().await
}
