//! Needs of programs in other languages besides a debugger: a terminal, a build, the choice of an engine,
//! subprocesses.

use std::collections::HashMap;
use std::path::Path;

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::child::{self, Subject, with_tools};
use tandem_harness::client::DapClient;
use tandem_harness::fixture;
use tandem_harness::transcript::Transcript;

fn editor() -> anyhow::Result<DapClient> {
    DapClient::start_in("editor", HashMap::new(), &Transcript::default())
}

/// With `pty` a program runs in a terminal of the host, with every engine: one stream,
/// no buffering, and an EOF.
async fn has_a_terminal(subject: Subject) -> anyhow::Result<()> {
    let mut editor = editor()?;
    let mut launch = subject.launch();
    (launch["pty"], launch["args"]) = (json!(true), json!(["on a terminal"]));
    editor.launch_child(launch, &subject.source(), &[]).await?;
    let printed = editor.read_stdout("on a terminal").await?;
    assert!(printed.contains("to stderr\nready"), "{printed:?}");
    editor.ok("processWriteInput", json!({ "data": "half", "closeAfter": true })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 7);
    editor.event("terminated").await?;
    assert!(editor.output[0].ends_with("got 4: half\neof 4\n"), "{:?}", editor.output);
    assert_eq!(editor.output[1], "");
    editor.finish().await
}

/// A terminal shows typed text, unless the program has turned that off to read a password.
async fn shows_what_is_typed(subject: Subject) -> anyhow::Result<()> {
    for (attribute, typed) in [(json!(true), "\nword\n"), (json!(false), "\n")] {
        let mut editor = editor()?;
        let mut launch = subject.launch();
        (launch["pty"], launch["__ptyEcho"], launch["args"]) = (json!(true), attribute, json!(["here"]));
        editor.launch_child(launch, &subject.source(), &[]).await?;
        // The terminal shows typed text at once, also in the middle of a line that the program is writing.
        let end_of_line = if subject == Subject::Python { "here']\n" } else { "here\n" };
        editor.read_stdout(end_of_line).await?;
        editor.ok("processWriteInput", json!({ "data": "word\r", "closeAfter": true })).await?;
        editor.event("exited").await?;
        editor.event("terminated").await?;
        let stdout = editor.output[0].as_str();
        let (before, after) = stdout.split_once("here").context("not ready")?;
        // Its line ends with the arguments.
        let after = after.trim_start_matches(['\'', ']']);
        assert!(
            before.starts_with("to stderr\n") && after == format!("{typed}got 4: word\neof 4\n"),
            "{stdout:?}"
        );
        editor.finish().await?;
    }
    Ok(())
}

parameterized_tests! {
    a_native_program_shows_what_is_typed: shows_what_is_typed(Subject::Lldb),
    a_native_program_under_gdb_shows_what_is_typed: shows_what_is_typed(Subject::Gdb),
    a_python_program_shows_what_is_typed: shows_what_is_typed(Subject::Python),
    a_python_program_has_a_terminal: has_a_terminal(Subject::Python),
    a_native_program_has_a_terminal_under_lldb: has_a_terminal(Subject::Lldb),
    a_native_program_has_a_terminal_under_gdb: has_a_terminal(Subject::Gdb),
}

/// These adapters start the program themselves, with the pipes that they get.
#[tokio::test]
async fn a_client_s_terminal_is_refused_where_the_adapter_starts_the_program() -> anyhow::Result<()> {
    for subject in [Subject::Gdb, Subject::Delve, Subject::Rdbg] {
        let mut launch = subject.launch();
        launch["console"] = json!("integratedTerminal");
        let mut editor = editor()?;
        editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
        assert_eq!(editor.refused("launch", launch).await?, "UNSUPPORTED", "{subject:?}");
        editor.finish().await?;
    }
    Ok(())
}

/// Launches without `engine` and returns the engine that was chosen; the program waits for input.
async fn find_engine(launch: Value, source: &Path) -> anyhow::Result<String> {
    let mut editor = editor()?;
    editor.launch_child(launch, source, &[]).await?;
    let info = editor.ok("sessionInfo", json!({})).await?;
    editor.finish().await?;
    Ok(info["engine"].as_str().context("no engine")?.to_owned())
}

#[tokio::test]
async fn engine_is_selected_by_the_kind_of_program() -> anyhow::Result<()> {
    for (subject, engine) in [(Subject::Python, "debugpy"), (Subject::Lldb, "lldb"), (Subject::Bash, "bash")]
    {
        let mut launch = subject.launch();
        launch.as_object_mut().context("no attributes")?.shift_remove("engine");
        assert_eq!(find_engine(launch, &subject.source()).await?, engine);
    }
    Ok(())
}

/// A package with a program that stops at line 2 of its example.
fn package(folder: &Path, example: &str) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder.join("examples"))?;
    std::fs::create_dir_all(folder.join("src"))?;
    std::fs::write(
        folder.join("Cargo.toml"),
        "[package]\nname = \"p\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n",
    )?;
    std::fs::write(folder.join("src/lib.rs"), "")?;
    Ok(std::fs::write(folder.join("examples/shown.rs"), example)?)
}

#[tokio::test]
async fn a_cargo_example_is_built_and_debugged() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    package(folder.path(), "fn main() {\n    let answer = 42;\n    println!(\"{answer}\");\n}\n")?;
    let source = folder.path().join("examples/shown.rs");
    let mut editor = editor()?;
    let engine = Subject::Lldb.launch()["enginePath"].clone();
    editor.launch_child(json!({ "program": source, "enginePath": engine }), &source, &[3]).await?;
    let (thread, frame) = editor.stop().await?;
    assert_eq!(frame["line"], 3);
    let answer = editor
        .ok("evaluate", json!({ "expression": "answer", "frameId": frame["id"], "context": "watch" }))
        .await?;
    assert_eq!(answer["result"], "42");
    // The line may have several places in the code.
    editor.break_on(&source, &[]).await?;
    editor.ok("continue", json!({ "threadId": thread })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 0);
    editor.event("terminated").await?;
    assert_eq!(editor.output[0], "42\n");
    editor.finish().await
}

#[tokio::test]
async fn errors_of_a_build_are_places() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    package(folder.path(), "fn main() {\n    let answer: u8 = \"x\";\n}\n")?;
    let broken = folder.path().join("broken.c");
    std::fs::write(&broken, "int main(void) {\n    return nothing;\n}\n")?;
    let engine = Subject::Lldb.launch()["enginePath"].clone();
    for (program, line) in [(folder.path().join("examples/shown.rs"), 2), (broken, 2)] {
        let mut editor = editor()?;
        editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
        let refused = editor.ask("launch", json!({ "program": program, "enginePath": engine })).await?;
        let error = &refused.body["error"];
        assert_eq!(error["variables"]["code"], "BUILD_FAILED", "{error}");
        let found = error["data"]["diagnostics"].as_array().context("no diagnostics")?;
        let first = found.iter().find(|found| found["severity"] == "error").context("no error")?;
        assert_eq!((&first["file"], &first["line"]), (&json!(program), &json!(line)));
        editor.finish().await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_go_package_is_built_and_debugged_and_its_errors_are_places() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let source = folder.path().join("main.go");
    std::fs::write(folder.path().join("go.mod"), "module p\n\ngo 1.20\n")?;
    std::fs::write(&source, "package main\n\nfunc main() {\n\tanswer := 42\n\tprintln(answer)\n}\n")?;
    let launch = with_tools(Subject::Delve.with(json!({ "program": folder.path() })))?;
    let mut debugging = editor()?;
    debugging.launch_child(launch.clone(), &source, &[5]).await?;
    let (thread, frame) = debugging.stop().await?;
    let arguments = json!({ "expression": "answer", "frameId": frame["id"], "context": "watch" });
    assert_eq!(debugging.ok("evaluate", arguments).await?["result"], "42");
    debugging.ok("continue", json!({ "threadId": thread })).await?;
    assert_eq!(debugging.event("exited").await?["exitCode"], 0);
    debugging.event("terminated").await?;
    assert_eq!(debugging.output[1], "42\n");
    debugging.finish().await?;

    std::fs::write(&source, "package main\n\nfunc main() {\n\tprintln(nothing)\n}\n")?;
    let mut editor = editor()?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let refused = editor.ask("launch", launch).await?;
    let error = &refused.body["error"];
    assert_eq!(error["variables"]["code"], "BUILD_FAILED", "{error}");
    let first = &error["data"]["diagnostics"][0];
    assert_eq!((&first["file"], &first["line"]), (&json!(source), &json!(4)), "{error}");
    editor.finish().await
}

#[tokio::test]
async fn a_cmake_project_is_built_and_its_only_program_debugged() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let source = folder.path().join("main.c");
    let lists = "cmake_minimum_required(VERSION 3.10)\nproject(p C)\nadd_executable(shown main.c)\n";
    std::fs::write(folder.path().join("CMakeLists.txt"), lists)?;
    std::fs::write(&source, "int main(void) {\n    int answer = 42;\n    return answer - 40;\n}\n")?;
    let mut editor = editor()?;
    let launch = with_tools(Subject::Lldb.with(json!({ "program": folder.path() })))?;
    editor.launch_child(launch, &source, &[3]).await?;
    let (thread, frame) = editor.stop().await?;
    let arguments = json!({ "expression": "answer", "frameId": frame["id"], "context": "watch" });
    assert_eq!(editor.ok("evaluate", arguments).await?["result"], "42");
    editor.ok("continue", json!({ "threadId": thread })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 2);
    editor.event("terminated").await?;
    editor.finish().await
}

/// An ambiguous launch is refused before any of the programs is built, because a build may take long.
#[tokio::test]
async fn a_cmake_project_with_several_programs_is_refused_before_it_is_built() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let lists = "cmake_minimum_required(VERSION 3.10)\nproject(p C)\nadd_executable(one main.c)\n\
        add_executable(two main.c)\n";
    std::fs::write(folder.path().join("CMakeLists.txt"), lists)?;
    std::fs::write(folder.path().join("main.c"), "#error it is built\n")?;
    let mut editor = editor()?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let launch = with_tools(Subject::Lldb.with(json!({ "program": folder.path() })))?;
    let refused = editor.ask("launch", launch).await?;
    let error = &refused.body["error"]["variables"];
    assert_eq!(error["code"], "LAUNCH_FAILED", "{error}");
    assert!(
        error["message"].as_str().context("no message")?.ends_with("has several programs: one, two"),
        "{error}"
    );
    editor.finish().await
}

#[tokio::test]
async fn a_subprocess_is_a_session_with_a_parent() -> anyhow::Result<()> {
    let transcript = Transcript::default();
    let (parent, program) = (child::source("parent.py"), child::source("echo.py"));
    let mut editor = DapClient::start_in("editor", HashMap::new(), &transcript)?;
    editor
        .ok(
            "initialize",
            json!({ "clientID": "test", "adapterID": "tandem", "supportsStartDebuggingRequest": true }),
        )
        .await?;
    let launch = editor.send("launch", child::python("parent.py")).await?;
    editor.event("initialized").await?;
    editor.break_on(&program, &[Subject::Python.line("handle")]).await?;
    editor.break_on(&parent, &[child::line(&parent, "done")]).await?;
    editor.ok("configurationDone", Value::Null).await?;
    editor.response(launch).await?;
    // The editor is requested to open it, like any attach to a session.
    let request = editor.request("startDebugging").await?;
    assert_eq!(request["configuration"]["type"], "tandem");
    let name = request["configuration"]["name"].as_str().context("no name")?;
    assert!(name.starts_with("echo.py ["), "{name}");
    let id = request["configuration"]["session"].as_str().context("no session")?.to_owned();
    let socket = editor.socket().await?.with_file_name(format!("{id}.sock"));
    let listed =
        std::process::Command::new(fixture::binary("tandem-dap")).args(["sessions", "--json"]).output()?;
    let listed: Vec<Value> = serde_json::from_slice(&listed.stdout)?;
    let own = editor.ok("sessionInfo", json!({})).await?["id"].clone();
    let entry = listed.iter().find(|entry| entry["id"] == id.as_str()).context("not listed")?;
    assert_eq!(entry["parent"], own);
    assert!(name.starts_with(entry["title"].as_str().context("no title")?), "{entry}");

    let mut other = DapClient::connect("other", &socket, &transcript).await?;
    other.join(json!({ "clientID": "other", "adapterID": "tandem" })).await?;
    // Its stdin is the parent's.
    assert_eq!(other.refused("processWriteInput", json!({ "data": "x\n" })).await?, "IO_NOT_OWNED");
    editor.ok("processWriteInput", json!({ "data": "abc\n", "closeAfter": true })).await?;
    // The parent's breakpoints hold in the child.
    let (thread, frame) = other.stop().await?;
    assert_eq!(frame["name"], "handle");
    let length = other
        .ok("evaluate", json!({ "expression": "length", "frameId": frame["id"], "context": "watch" }))
        .await?;
    assert_eq!(length["result"], "3");
    other.ok("continue", json!({ "threadId": thread })).await?;
    other.event("terminated").await?;
    other.finish().await?;
    let (thread, frame) = editor.stop().await?;
    assert_eq!(frame["name"], "<module>");
    editor.ok("continue", json!({ "threadId": thread })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 0);
    assert!(editor.output[0].contains("got 3: abc\neof 3\nchild ended with 7\n"), "{:?}", editor.output);
    editor.finish().await
}

/// debugpy sends `terminated` before the interpreter has run the program's exit
/// handlers. Tandem lets them finish.
#[tokio::test]
async fn a_program_that_ends_slowly_is_waited_for() -> anyhow::Result<()> {
    let mut editor = editor()?;
    let source = child::source("slow_end.py");
    editor.launch_child(child::python("slow_end.py"), &source, &[]).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 5);
    editor.event("terminated").await?;
    assert_eq!(editor.output[0], "done\nflushed\n");
    editor.finish().await
}
