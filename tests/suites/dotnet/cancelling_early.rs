//! Evaluations that are cancelled before their method has begun, while the runtime still runs static
//! constructors for it: the program continues and ends as it would have. Cancelling what has begun is in
//! `agents/cancelling.rs`.

use std::time::Duration;

use serde_json::json;
use tandem_harness::client::DapClient;
use tandem_harness::fixture::Runtime;
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    calls_that_are_cancelled_before_they_begin_leave_the_program_whole,
    a_call_that_does_not_begin_for_long_is_left_behind_and_the_program_ends_as_it_would,
    a_static_constructor_that_a_call_needs_is_not_torn_up,
}

/// Each creates a separate class whose static constructor has not run.
const TYPES: [&str; 6] = ["int", "long", "string", "char", "object", "double"];

async fn launch_program(runtime: Runtime) -> anyhow::Result<(DapClient, i64, i64)> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("begins", &["here"], json!({})).await?;
    let (thread, frame) = editor.stop().await?;
    let frame = frame["id"].as_i64().unwrap_or_default();
    Ok((editor, thread, frame))
}

/// Cancels an evaluation some time after it was sent; returns the code it is answered with, empty when it was
/// over before, and the text.
async fn cancel_evaluation(
    editor: &mut DapClient,
    frame: i64,
    expression: &str,
    after: Duration,
) -> anyhow::Result<(String, String)> {
    let seq = editor.send("evaluate", json!({ "expression": expression, "frameId": frame })).await?;
    tokio::time::sleep(after).await;
    editor.ok("cancel", json!({ "requestId": seq })).await?;
    let response = editor.response(seq).await?;
    let error = &response.body["error"]["variables"];
    let text = |key: &str| error[key].as_str().unwrap_or_default().to_owned();
    Ok((text("code"), text("message")))
}

async fn expect_usual_end(mut editor: DapClient, thread: i64, frame: i64) -> anyhow::Result<()> {
    // A request that runs no code is answered.
    let number = editor.ok("evaluate", json!({ "expression": "number", "frameId": frame })).await?;
    assert_eq!(number["result"], "1");
    // The program's own classes need not take long.
    editor.ok("evaluate", json!({ "expression": "Log.Lasts = 1", "frameId": frame })).await?;
    editor.ok("continue", json!({ "threadId": thread })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 42);
    assert_eq!(editor.output[0], "1\n2\n");
    editor.finish().await
}

async fn calls_that_are_cancelled_before_they_begin_leave_the_program_whole(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let (mut editor, thread, frame) = launch_program(runtime).await?;
    // A call initializes its class, and a call that is still in progress would block it.
    editor.ok("evaluate", json!({ "expression": "Log.Lasts", "frameId": frame })).await?;
    for (round, ty) in (0..).zip(TYPES) {
        let class = if round % 2 == 0 { "Spins" } else { "Polls" };
        let after = Duration::from_millis(20 + 15 * round);
        let call = format!("{class}<{ty}>.Late()");
        let (code, text) = cancel_evaluation(&mut editor, frame, &call, after).await?;
        anyhow::ensure!(["", "CANCELLED"].contains(&code.as_str()), "{code} {text}");
        if text.contains("and still runs") {
            // Nothing else is called there before the program continues: a slow machine.
            break;
        }
    }
    expect_usual_end(editor, thread, frame).await
}

async fn a_call_that_does_not_begin_for_long_is_left_behind_and_the_program_ends_as_it_would(
    runtime: Runtime,
) -> anyhow::Result<()> {
    for class in ["Spins", "Polls"] {
        let (mut editor, thread, frame) = launch_program(runtime).await?;
        editor.ok("evaluate", json!({ "expression": "Log.Lasts = 3000", "frameId": frame })).await?;
        let call = format!("{class}<int>.Late()");
        let (code, text) = cancel_evaluation(&mut editor, frame, &call, Duration::from_millis(100)).await?;
        assert_eq!(code, "CANCELLED", "{text}");
        if runtime != Runtime::Net31 {
            anyhow::ensure!(text.contains("its method has not started"), "{text}");
        }
        expect_usual_end(editor, thread, frame).await?;
    }
    Ok(())
}

async fn a_static_constructor_that_a_call_needs_is_not_torn_up(runtime: Runtime) -> anyhow::Result<()> {
    for class in ["Spins", "Polls"] {
        let (mut editor, thread, frame) = launch_program(runtime).await?;
        editor.ok("evaluate", json!({ "expression": "Log.Lasts = 4000", "frameId": frame })).await?;
        let call = format!("Through{class}()");
        let (code, text) = cancel_evaluation(&mut editor, frame, &call, Duration::from_millis(100)).await?;
        assert_eq!(code, "CANCELLED", "{text}");
        // The program needs it too.
        expect_usual_end(editor, thread, frame).await?;
    }
    Ok(())
}
