//! Any other adapter, described by a launch: here a real one, gdb, which gets the paths of the program's
//! pipes in two ways.

use std::collections::HashMap;

use serde_json::{Value, json};
use tandem_harness::child::{self, Subject};
use tandem_harness::client::DapClient;
use tandem_harness::transcript::Transcript;

/// gdb as a user would describe it if Tandem did not know gdb; the shell that starts the
/// program passes it these pipes.
fn gdb_description(stdin: &str, stdout: &str, stderr: &str) -> Value {
    let wrapper =
        format!("set exec-wrapper sh -c 'exec \"$0\" \"$@\" <\"{stdin}\" >\"{stdout}\" 2>\"{stderr}\"'");
    let gdb = Subject::Gdb.launch()["enginePath"].clone();
    let args = ["-q", "-nx", "-i", "dap", "-iex", "set debuginfod enabled off", "-iex", &wrapper];
    json!({ "command": gdb, "args": args, "adapterID": "gdb" })
}

/// The host owns stdin, stdout and stderr as separate pipes, with a stop in between,
/// and receives the exit code.
async fn has_separate_pipes(mut launch: Value) -> anyhow::Result<()> {
    let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
    launch["program"] = json!(child::built("echo"));
    launch["args"] = json!(["first"]);
    let source = Subject::Gdb.source();
    editor.launch_child(launch, &source, &[Subject::Gdb.line("handle")]).await?;
    editor.read_stdout("ready first\n").await?;
    editor.ok("processWriteInput", json!({ "data": "abc\n", "closeAfter": true })).await?;
    let (thread, frame) = editor.stop().await?;
    assert_eq!((&frame["name"], &frame["line"]), (&json!("handle"), &json!(Subject::Gdb.line("handle"))));
    editor.ok("continue", json!({ "threadId": thread })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 7);
    editor.event("terminated").await?;
    let read = editor.ok("processReadOutput", json!({})).await?;
    assert_eq!(read["stdout"], "ready first\ngot 3: abc\neof 3\n");
    assert_eq!(read["stderr"], "to stderr\n");
    assert_eq!(editor.output[..2], ["ready first\ngot 3: abc\neof 3\n", "to stderr\n"]);
    editor.finish().await
}

#[tokio::test]
async fn an_adapter_gets_the_programs_pipes_in_its_arguments() -> anyhow::Result<()> {
    has_separate_pipes(json!({ "engine": gdb_description("{stdin}", "{stdout}", "{stderr}") })).await
}

#[tokio::test]
async fn an_adapter_gets_the_programs_pipes_in_launch_attributes() -> anyhow::Result<()> {
    let pipes = json!({ "IN": "{stdin}", "OUT": "{stdout}", "ERR": "{stderr}" });
    has_separate_pipes(
        json!({ "engine": gdb_description("$IN", "$OUT", "$ERR"), "engineOptions": { "env": pipes } }),
    )
    .await
}
