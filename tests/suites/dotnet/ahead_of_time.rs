//! Programs that were compiled ahead of time (NativeAOT), with the symbols that `dotnet publish` leaves
//! beside them: a native debugger finds the lines of the `.cs` file and the variables. Their compiler is not
//! available: a C++ program replaces them, which has the section with managed code, lines of a `.cs` file,
//! and its symbols in a `.dbg` file that a link names, as theirs has.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use serde_json::json;
use tandem_harness::agent::Agent;
use tandem_harness::child::Subject;
use tandem_harness::client::DapClient;
use tandem_harness::transcript::Transcript;

/// The lines in the C++ code are those of this.
const SOURCE: &str = "// What the program was made of.
static int Total(Order order, int factor)
{
    int sum = order.Count * factor;
    Console.WriteLine(sum); // BP total
    return sum;
}
static void Main()
{
    Total(new Order(), 3);
}
";

const CPP_PROGRAM: &str = r##"#include <cstdio>
#define MANAGED __attribute__((section("__managedcode"), noinline))
struct Order { int Count = 2; double Price = 2.5; };
#line 2 "SOURCE"
MANAGED static int Total(Order *order, int factor)
{
    int sum = order->Count * factor;
    std::printf("%d\n", sum);
    return sum;
}
MANAGED int main()
{
    Order made; return Total(&made, 3) == 6 ? 0 : 1;
}
"##;

fn run(command: &mut Command) -> anyhow::Result<()> {
    let done = command.output()?;
    anyhow::ensure!(done.status.success(), "{command:?}: {}", String::from_utf8_lossy(&done.stderr));
    Ok(())
}

/// The program, its source, and its symbols next to it if requested.
fn publish_program(folder: &Path, with_symbols: bool) -> anyhow::Result<(PathBuf, PathBuf)> {
    let (source, code) = (folder.join("Program.cs"), folder.join("code.cpp"));
    let (program, symbols) = (folder.join("shop"), folder.join("shop.dbg"));
    std::fs::write(&source, SOURCE)?;
    std::fs::write(&code, CPP_PROGRAM.replace("SOURCE", &source.display().to_string()))?;
    run(Command::new("g++").arg("-g").arg(&code).arg("-o").arg(&program))?;
    run(Command::new("objcopy").arg("--only-keep-debug").arg(&program).arg(&symbols))?;
    run(Command::new("strip").arg(&program))?;
    // The link has no folder.
    run(Command::new("objcopy").arg("--add-gnu-debuglink=shop.dbg").arg("shop").current_dir(folder))?;
    std::fs::remove_file(code)?;
    if !with_symbols {
        std::fs::remove_file(symbols)?;
    }
    Ok((source, program))
}

#[tokio::test]
async fn a_program_compiled_ahead_of_time_is_debugged_by_the_lines_of_its_source() -> anyhow::Result<()> {
    for subject in [Subject::Lldb, Subject::Gdb] {
        let folder = tempfile::tempdir()?;
        let (source, program) = publish_program(folder.path(), true)?;
        let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
        let launch = subject.with(json!({ "program": program }));
        editor.launch_child(launch, &source, &[5]).await?;
        let (thread, frame) = editor.stop().await?;
        assert_eq!((&frame["line"], &frame["source"]["path"]), (&json!(5), &json!(source)), "{subject:?}");
        let console = &editor.output[2];
        assert!(console.contains("shop was compiled ahead of time (NativeAOT)"), "{subject:?}: {console}");
        assert!(!console.contains("no symbols"), "{subject:?}: {console}");
        let scopes = editor.ok("scopes", json!({ "frameId": frame["id"] })).await?;
        let mut values = HashMap::new();
        for scope in scopes["scopes"].as_array().context("no scopes")?.iter().take(2) {
            let arguments = json!({ "variablesReference": scope["variablesReference"] });
            for row in editor.ok("variables", arguments).await?["variables"].as_array().into_iter().flatten()
            {
                values.insert(row["name"].as_str().unwrap_or_default().to_owned(), row["value"].clone());
            }
        }
        assert_eq!((&values["sum"], &values["factor"]), (&json!("6"), &json!("3")), "{subject:?}");
        let arguments =
            json!({ "expression": "order->Count + 1", "frameId": frame["id"], "context": "watch" });
        assert_eq!(editor.ok("evaluate", arguments).await?["result"], "3", "{subject:?}");
        editor.ok("next", json!({ "threadId": thread })).await?;
        let (thread, frame) = editor.stop().await?;
        assert_eq!(frame["line"], 6, "{subject:?}");
        editor.ok("continue", json!({ "threadId": thread })).await?;
        assert_eq!(editor.event("exited").await?["exitCode"], 0, "{subject:?}");
        assert_eq!(editor.output[0], "6\n", "{subject:?}");
        editor.finish().await?;
    }
    Ok(())
}

#[tokio::test]
async fn an_agent_debugs_a_program_compiled_ahead_of_time_by_the_lines_of_its_source() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let (source, program) = publish_program(folder.path(), true)?;
    let mut agent = Agent::in_folder("agent", folder.path(), &[], &Transcript::default()).await?;
    let launch = json!({ "program": program, "run": true, "breakpoints": [{ "file": source, "line": 5 }] });
    let mut stop = agent.call("debug_launch", launch).await?;
    // A busy machine takes its time to start a debugger.
    for _ in 0..10 {
        if stop["state"] != "running" {
            break;
        }
        stop = agent.call("debug_wait", json!({})).await?;
    }
    assert_eq!((&stop["state"], &stop["event"]["line"]), (&json!("stopped"), &json!(5)), "{stop}");
    let value = agent.call("debug_evaluate", json!({ "expression": "sum * factor" })).await?;
    assert_eq!(value["result"], "18", "{value}");
    agent.finish().await
}

#[tokio::test]
async fn symbols_that_were_not_kept_beside_the_program_are_asked_for() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let (source, program) = publish_program(folder.path(), false)?;
    let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
    editor.launch_child(Subject::Gdb.with(json!({ "program": program })), &source, &[5]).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 0);
    let console = &editor.output[2];
    assert!(console.contains("keep `shop.dbg`, which `dotnet publish` makes, beside it"), "{console}");
    editor.finish().await
}
