//! `stdio` of a launch: a file for the program's input and copies of its output, under every engine.

use std::collections::HashMap;

use serde_json::{Value, json};
use tandem_harness::child::Subject;
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    a_file_is_the_input_and_others_have_the_output,
    a_file_longer_than_a_pipe_waits_for_a_stopped_program,
    files_that_cannot_be_opened_start_nothing,
}

parameterized_tests! {
    bash_reads_a_file: reads_a_file(Subject::Bash),
    debugpy_reads_a_file: reads_a_file(Subject::Python),
    delve_reads_a_file: reads_a_file(Subject::Delve),
    gdb_reads_a_file: reads_a_file(Subject::Gdb),
    js_reads_a_file: reads_a_file(Subject::Js),
    lldb_reads_a_file: reads_a_file(Subject::Lldb),
    rdbg_reads_a_file: reads_a_file(Subject::Rdbg),
    rdbg_1_9_2_reads_a_file: reads_a_file(Subject::Rdbg192),
}

/// A restart reads and writes the files again.
async fn a_file_is_the_input_and_others_have_the_output(runtime: Runtime) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("in.txt"), "one\ntwo\n")?;
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let more = json!({ "stdio": ["in.txt", "out.txt"], "cwd": folder.path() });
    editor.launch("echo", &["line"], more).await?;
    for line in ["one", "two", "one", "two"] {
        let stop = editor.event("stopped").await?;
        if line == "two" && !folder.path().join("again").exists() {
            std::fs::write(folder.path().join("again"), "")?;
            editor.ok("restart", json!({})).await?;
            editor.event("continued").await?;
        } else {
            editor.ok("continue", json!({ "threadId": stop["threadId"] })).await?;
        }
    }
    assert_eq!(editor.event("exited").await?["exitCode"], 0);
    assert_eq!(std::fs::read_to_string(folder.path().join("out.txt"))?, "echo: one\necho: two\neof\n");
    assert!(editor.output[0].ends_with("echo: one\necho: two\neof\n"), "{:?}", editor.output);
    editor.finish().await
}

async fn a_file_longer_than_a_pipe_waits_for_a_stopped_program(runtime: Runtime) -> anyhow::Result<()> {
    const LINES: usize = 200_000;
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("in.txt"), "0123456789\n".repeat(LINES))?;
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let more = json!({ "stdio": { "stdin": "in.txt", "stdout": "out.txt" }, "cwd": folder.path() });
    editor.launch("echo", &["line"], more).await?;
    let stop = editor.event("stopped").await?;
    editor
        .ok("setBreakpoints", json!({ "source": { "path": fixture::source("echo") }, "breakpoints": [] }))
        .await?;
    editor.ok("continue", json!({ "threadId": stop["threadId"] })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 0);
    let written = std::fs::read_to_string(folder.path().join("out.txt"))?;
    assert_eq!((written.lines().count(), written.lines().last()), (LINES + 1, Some("eof")));
    editor.finish().await
}

async fn files_that_cannot_be_opened_start_nothing(runtime: Runtime) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status()?;
    anyhow::ensure!(made.success(), "no named pipe");
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let cases = [
        (json!(["missing.txt"]), "LAUNCH_FAILED"),
        (json!([null, "no/such/folder/out.txt"]), "LAUNCH_FAILED"),
        (json!([null, folder.path()]), "LAUNCH_FAILED"),
        (json!([pipe]), "LAUNCH_FAILED"),
        (json!([null, pipe]), "LAUNCH_FAILED"),
        (json!("in.txt"), "INVALID_PARAMETER"),
        (json!([1]), "INVALID_PARAMETER"),
    ];
    for (stdio, code) in cases {
        let launch = json!({ "program": fixture::program("echo"), "cwd": folder.path(), "stdio": stdio });
        assert_eq!(editor.refused("launch", launch).await?, code, "{stdio}");
    }
    editor.finish().await
}

async fn reads_a_file(subject: Subject) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let (input, output) = (folder.path().join("in.txt"), folder.path().join("out.txt"));
    std::fs::write(&input, "hello\n")?;
    let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
    let mut launch = subject.launch();
    launch["stdio"] = json!({ "stdin": input, "stdout": output });
    editor.launch_child(launch, &subject.source(), &[]).await?;
    let (event, body) = editor.any_event(&["stopped", "exited"]).await?;
    assert_eq!((event.as_str(), &body["exitCode"]), ("exited", &json!(7)), "{body}");
    editor.event("terminated").await?;
    let written = std::fs::read_to_string(&output)?;
    assert!(written.ends_with("got 5: hello\neof 5\n"), "{written}");
    assert_eq!(editor.output[0], written);
    editor.ok("disconnect", Value::Null).await?;
    Ok(())
}
