//! Programs in their published forms and in other languages, on .NET 10: built in advance, because not every
//! SDK has their compilers. Their symbols name sources under `/src`.
//!
//! `TANDEM_DOTNET_FORMS` names the folder they are in; `check` leaves these tests out without it.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::Runtime;
use tandem_harness::transcript::Transcript;

use crate::jit_optimizations::variables;

parameterized_tests! {
    a_single_file_is_debugged: counts_words("onefile", "onefile"),
    a_ready_to_run_program_is_debugged: counts_words("r2r", "r2r.dll"),
    a_trimmed_program_is_debugged: counts_words("trimmed", "trimmed"),
    an_fsharp_program_is_debugged: calls("fs", "Program.fs", (5, 10), ("r", "1"), "total 7.93\n"),
    a_visual_basic_program_is_debugged: calls("vb", "Program.vb", (6, 12), ("result + side", "2"),
        "total 14\n"),
}

/// The folder of a form.
fn folder(form: &str) -> anyhow::Result<PathBuf> {
    let forms = std::env::var_os("TANDEM_DOTNET_FORMS").context("TANDEM_DOTNET_FORMS is not set")?;
    Ok(Path::new(&forms).join(form))
}

/// A client of a form that has this source, with breakpoints on these lines (from 1).
async fn launch_program(form: &str, program: &str, source: &str, lines: &[i64]) -> anyhow::Result<DapClient> {
    let runtime = Runtime::Net10.ensure_installed()?;
    let folder = folder(form)?;
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test" })).await?;
    // They are Release builds.
    let arguments = json!({ "program": folder.join(program), "justMyCode": false,
        "sourceFileMap": { format!("/src/{form}"): folder } });
    let launch = editor.send("launch", arguments).await?;
    editor.initialized(launch).await?;
    let expected: Vec<Value> = lines.iter().map(|line| json!({ "line": line })).collect();
    let place = json!({ "path": folder.join(source) });
    editor.ok("setBreakpoints", json!({ "source": place, "breakpoints": expected })).await?;
    editor.ok("configurationDone", Value::Null).await?;
    let launched = editor.response(launch).await?;
    anyhow::ensure!(launched.success, "launch failed: {}", launched.body);
    Ok(editor)
}

/// Removes the breakpoints and continues.
async fn resume(editor: &mut DapClient, form: &str, source: &str, thread: i64) -> anyhow::Result<()> {
    let place = json!({ "path": folder(form)?.join(source) });
    editor.ok("setBreakpoints", json!({ "source": place, "breakpoints": [] })).await?;
    editor.ok("continue", json!({ "threadId": thread })).await?;
    Ok(())
}

async fn value_of(editor: &mut DapClient, expression: &str, frame: &Value) -> anyhow::Result<Value> {
    let arguments = json!({ "expression": expression, "frameId": frame["id"] });
    Ok(editor.ok("evaluate", arguments).await?["result"].clone())
}

/// A loop over words with top-level statements, which reads a line in the end.
async fn counts_words(form: &str, program: &str) -> anyhow::Result<()> {
    let mut editor = launch_program(form, program, "Program.cs", &[5]).await?;
    let (thread, frame) = editor.stop().await?;
    assert_eq!(frame["line"], 5);
    assert_eq!(frame["source"]["path"], json!(folder(form)?.join("Program.cs")));
    assert_eq!(value_of(&mut editor, "word", &frame).await?, "\"one\"");
    assert_eq!(value_of(&mut editor, "word.Length + total", &frame).await?, "3");
    let compiled = match form {
        // Nothing can be loaded into it any more.
        "trimmed" => "! `Assembly.Load(byte[])` was trimmed away",
        _ => "4",
    };
    editor
        .check_results(&frame, &[("await Task.FromResult(word.Count(c => c != 'x') + total + 1)", compiled)])
        .await?;
    editor
        .ok("setExpression", json!({ "expression": "total", "value": "40", "frameId": frame["id"] }))
        .await?;
    editor.ok("next", json!({ "threadId": thread })).await?;
    let (_, frame) = editor.stop().await?;
    assert_eq!(frame["line"], 6);
    assert_eq!(value_of(&mut editor, "total", &frame).await?, "43");
    resume(&mut editor, form, "Program.cs", thread).await?;
    editor.ok("processWriteInput", json!({ "data": "typed\n" })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 0);
    assert_eq!(editor.output[0], "one 43\ntwo 46\nthree 51\nread: typed\n");
    editor.event("terminated").await?;
    editor.finish().await
}

/// A loop that calls a method with a breakpoint on `lines.0`, and is at `lines.1` after it; `expression` has
/// the value `value` there.
async fn calls(
    form: &str,
    source: &str,
    lines: (i64, i64),
    (expression, value): (&str, &str),
    prints: &str,
) -> anyhow::Result<()> {
    let mut editor = launch_program(form, &format!("{form}.dll"), source, &[lines.0]).await?;
    let (thread, frame) = editor.stop().await?;
    assert_eq!(frame["line"], lines.0);
    assert_eq!(value_of(&mut editor, expression, &frame).await?, value);
    editor.ok("stepOut", json!({ "threadId": thread })).await?;
    let (_, frame) = editor.stop().await?;
    assert_eq!(frame["line"], lines.1);
    resume(&mut editor, form, source, thread).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 0);
    assert!(editor.output[0].starts_with(prints), "{:?}", editor.output);
    editor.event("terminated").await?;
    editor.finish().await
}

/// The program has no runtime, so a native debugger debugs it, and the console names the reason.
#[tokio::test]
async fn a_program_compiled_ahead_of_time_is_given_to_a_native_debugger() -> anyhow::Result<()> {
    let program = folder("aot")?.join("aot");
    let mut editor = DapClient::start("editor", Runtime::Net10.ensure_installed()?, &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test" })).await?;
    let refused = editor.refused("launch", json!({ "program": program, "engine": "coreclr" })).await?;
    assert_eq!(refused, "NOT_DEBUGGABLE");
    let launch = editor.send("launch", json!({ "program": program })).await?;
    editor.initialized(launch).await?;
    editor.ok("configurationDone", Value::Null).await?;
    anyhow::ensure!(editor.response(launch).await?.success);
    editor.ok("processWriteInput", json!({ "data": "typed\n" })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 0);
    assert_eq!(editor.output[0], "aot 0\naot 1\naot 2\nread: typed\n");
    assert!(editor.output[2].contains("aot was compiled ahead of time (NativeAOT)"), "{:?}", editor.output);
    editor.event("terminated").await?;
    editor.finish().await
}

/// A program that was compiled ahead of time, and the framework, which always was.
#[tokio::test]
async fn variables_of_code_that_was_compiled_ahead_of_time_are_seen() -> anyhow::Result<()> {
    let runtime = Runtime::Net10.ensure_installed()?;
    let folder = folder("r2r")?;
    for suppressed in [false, true] {
        let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
        editor.ok("initialize", json!({ "clientID": "test" })).await?;
        let launch = editor
            .send(
                "launch",
                json!({ "program": folder.join("r2r.dll"), "suppressJITOptimizations": suppressed,
                "sourceFileMap": { "/src/r2r": folder } }),
            )
            .await?;
        editor.initialized(launch).await?;
        let expected = json!({ "breakpoints": [{ "name": "System.Console.WriteLine(string)" }] });
        editor.ok("setFunctionBreakpoints", expected).await?;
        editor.ok("configurationDone", Value::Null).await?;
        anyhow::ensure!(editor.response(launch).await?.success);
        let (thread, top) = editor.stop().await?;
        let stack = editor.ok("stackTrace", json!({ "threadId": thread })).await?;
        assert_eq!(top["name"], "System.Console.WriteLine(string value)");
        let rows = variables(&mut editor, &stack["stackFrames"][1]).await?;
        let is_read =
            |name: &str| rows.iter().any(|(own, value)| own == name && !value.starts_with("<cannot read"));
        let all = ["args", "total"].iter().all(|name| is_read(name));
        assert_eq!(all, suppressed, "{rows:?}");
        editor.finish().await?;
    }
    Ok(())
}
