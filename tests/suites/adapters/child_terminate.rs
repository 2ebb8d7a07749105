//! `terminate` of programs that child adapters debug. For .NET programs: `dotnet/terminate.rs`.

use std::time::Duration;

use serde_json::{Value, json};
use tandem_harness::child::{self, Subject};
use tandem_harness::client::DapClient;
use tandem_harness::deadline::deadline;
use tandem_harness::transcript::Transcript;

parameterized_tests! {
    python_that_stands_is_resumed_to_end: is_resumed(Subject::Python),
    python_behind_its_adapter_that_stands_is_resumed_to_end: is_resumed(Subject::PythonAdapter),
    c_under_lldb_that_stands_is_resumed_to_end: is_resumed(Subject::Lldb),
    c_under_gdb_that_stands_is_resumed_to_end: is_resumed(Subject::Gdb),
    go_that_stands_is_resumed_to_end: is_resumed(Subject::Delve),
    javascript_that_stands_is_resumed_to_end: is_resumed(Subject::Js),
    bash_that_stands_is_resumed_to_end: check_end_from_a_stop(Subject::Bash),
    ruby_that_stands_is_resumed_to_end: is_resumed(Subject::Rdbg),
    ruby_with_debug_1_9_2_is_resumed_to_end: is_resumed(Subject::Rdbg192),
    perl_that_stands_is_resumed_to_end: is_resumed(Subject::Perl),
    python_that_runs_is_asked_to_end: runs(Subject::Python),
    python_behind_its_adapter_that_runs_is_asked_to_end: runs(Subject::PythonAdapter),
    c_under_lldb_that_runs_is_asked_to_end: runs(Subject::Lldb),
    c_under_gdb_that_runs_is_asked_to_end: runs(Subject::Gdb),
    go_that_runs_is_asked_to_end: runs(Subject::Delve),
    javascript_that_runs_is_asked_to_end: runs(Subject::Js),
    bash_that_runs_is_asked_to_end: runs(Subject::Bash),
    ruby_that_runs_is_asked_to_end: runs(Subject::Rdbg),
    ruby_with_debug_1_9_2_that_runs_is_asked_to_end: runs(Subject::Rdbg192),
    perl_that_runs_is_asked_to_end: runs(Subject::Perl),
    python_that_does_not_listen_is_ended_by_force: does_not_listen(Subject::Python),
    python_behind_its_adapter_that_does_not_listen_is_ended_by_force: does_not_listen(Subject::PythonAdapter),
    c_under_lldb_that_does_not_listen_is_ended_by_force: does_not_listen(Subject::Lldb),
    c_under_gdb_that_does_not_listen_is_ended_by_force: does_not_listen(Subject::Gdb),
    go_that_does_not_listen_is_ended_by_force: does_not_listen(Subject::Delve),
    javascript_that_does_not_listen_is_ended_by_force: does_not_listen(Subject::Js),
    bash_that_does_not_listen_is_ended_by_force: does_not_listen(Subject::Bash),
    ruby_that_does_not_listen_is_ended_by_force: does_not_listen(Subject::Rdbg),
    ruby_with_debug_1_9_2_that_does_not_listen_is_ended_by_force: does_not_listen(Subject::Rdbg192),
    perl_that_does_not_listen_is_ended_by_force: does_not_listen(Subject::Perl),
}

/// The source of its program that can be asked to end.
fn source(subject: Subject) -> std::path::PathBuf {
    child::source(match subject {
        Subject::Python | Subject::PythonAdapter => "shutdown.py",
        Subject::Lldb | Subject::Gdb => "shutdown.c",
        Subject::Bash => "shutdown.sh",
        Subject::Delve => "go-shutdown/main.go",
        Subject::Rdbg => "shutdown.rb",
        Subject::Rdbg192 => return source(Subject::Rdbg),
        Subject::Js => "shutdown.js",
        Subject::Perl => "shutdown.pl",
    })
}

/// An editor with that program, up to where it runs.
async fn launch_program(subject: Subject, more: Value, markers: &[&str]) -> anyhow::Result<DapClient> {
    let mut editor = DapClient::start_in("editor", Default::default(), &Transcript::default())?;
    let mut launch = subject.launch();
    launch["program"] = match subject {
        Subject::Lldb | Subject::Gdb => json!(child::built("shutdown")),
        Subject::Delve => json!(child::built("go-shutdown")),
        _ => json!(source(subject)),
    };
    if let (Some(launch), Value::Object(more)) = (launch.as_object_mut(), more) {
        launch.extend(more);
    }
    let lines: Vec<i64> = markers.iter().map(|marker| child::line(&source(subject), marker)).collect();
    editor.launch_child(launch, &source(subject), &lines).await?;
    Ok(editor)
}

/// Checks that the program ends with its exit code, after it has cleaned up.
async fn expect_orderly_end(mut editor: DapClient) -> anyhow::Result<()> {
    assert_eq!(editor.event("exited").await?["exitCode"], 7, "{:?}", editor.output);
    editor.event("terminated").await?;
    assert!(editor.output[0].ends_with("saving\nsaved\n"), "{:?}", editor.output);
    assert!(!editor.output[2].contains("killed"), "{:?}", editor.output);
    editor.finish().await
}

async fn is_resumed(subject: Subject) -> anyhow::Result<()> {
    let limit = deadline(3);
    let more = json!({ "terminateTimeout": limit.as_millis() });
    let mut editor = launch_program(subject, more, &["working"]).await?;
    editor.stop().await?;
    let saved = child::line(&source(subject), "saved");
    editor.break_on(&source(subject), &[saved]).await?;
    editor.ok("terminate", json!({})).await?;
    editor.event("continued").await?;
    let (thread, frame) = editor.stop().await?;
    assert_eq!(frame["line"], saved, "{frame}");
    tokio::time::sleep(limit + Duration::from_millis(500)).await;
    editor.ok("continue", json!({ "threadId": thread })).await?;
    expect_orderly_end(editor).await
}

/// Bash stops in no handler of signals.
async fn check_end_from_a_stop(subject: Subject) -> anyhow::Result<()> {
    let mut editor = launch_program(subject, json!({}), &["working"]).await?;
    editor.stop().await?;
    editor.break_on(&source(subject), &[]).await?;
    editor.ok("terminate", json!({})).await?;
    editor.event("continued").await?;
    expect_orderly_end(editor).await
}

async fn runs(subject: Subject) -> anyhow::Result<()> {
    let mut editor = launch_program(subject, json!({}), &[]).await?;
    editor.read_stdout("ready").await?;
    editor.ok("terminate", json!({})).await?;
    expect_orderly_end(editor).await
}

async fn does_not_listen(subject: Subject) -> anyhow::Result<()> {
    let more = json!({ "args": ["ignore"], "terminateTimeout": 1000 });
    let mut editor = launch_program(subject, more, &[]).await?;
    let pid = editor.event("process").await?["systemProcessId"].clone();
    editor.read_stdout("ready").await?;
    editor.ok("terminate", json!({})).await?;
    editor.event("terminated").await?;
    let console = &editor.output[2];
    assert!(console.contains("has not ended within 1 s of being asked to (`terminateTimeout`)"), "{console}");
    assert_eq!(editor.output[0], "ready\n");
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "{pid} survives");
    // Not every adapter reports the exit code of a program that it had to kill.
    if editor.unclaimed_messages().iter().any(|name| name == "exited") {
        editor.event("exited").await?;
    }
    editor.finish().await
}
