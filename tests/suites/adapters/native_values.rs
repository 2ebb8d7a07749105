//! Values of machine code in lldb and gdb: Rust's own types and its panics, C++'s containers, structs, null
//! pointers, cores, stacks and arrays too large to show whole. Programs are compiled here, so that they are
//! what a user's would be.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::child::Subject;
use tandem_harness::client::DapClient;
use tandem_harness::transcript::Transcript;

const ENGINES: [Subject; 2] = [Subject::Lldb, Subject::Gdb];

/// A program of one source, compiled with symbols.
pub(crate) fn compiled(folder: &Path, name: &str, text: &str) -> anyhow::Result<(PathBuf, PathBuf)> {
    let (source, program) = (folder.join(name), folder.join("program"));
    std::fs::write(&source, text)?;
    let compiler = match source.extension().and_then(std::ffi::OsStr::to_str) {
        Some("rs") => "rustc",
        Some("cpp") => "g++",
        _ => "gcc",
    };
    let done = Command::new(compiler).arg("-g").arg(&source).arg("-o").arg(&program).output()?;
    anyhow::ensure!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Ok((source, program))
}

pub(crate) fn line_of(text: &str, marker: &str) -> anyhow::Result<usize> {
    Ok(text.lines().position(|line| line.contains(marker)).context("no marker")? + 1)
}

/// Stops at the marker; returns the values of the frame by name.
pub(crate) async fn values_at(
    editor: &mut DapClient,
    subject: Subject,
    (source, program): &(PathBuf, PathBuf),
    line: usize,
) -> anyhow::Result<HashMap<String, Value>> {
    let launch = subject.with(json!({ "program": program }));
    editor.launch_child(launch, source, &[i64::try_from(line)?]).await?;
    let (_, frame) = editor.stop().await?;
    let scopes = editor.ok("scopes", json!({ "frameId": frame["id"] })).await?;
    let arguments = json!({ "variablesReference": scopes["scopes"][0]["variablesReference"] });
    let body = editor.ok("variables", arguments).await?;
    let rows = body["variables"].as_array().context("no rows")?;
    Ok(rows.iter().map(|row| (row["name"].as_str().unwrap_or_default().to_owned(), row.clone())).collect())
}

#[tokio::test]
async fn a_call_of_a_function_of_the_program_is_not_a_run() -> anyhow::Result<()> {
    // lldb has a location in each of the two blocks of the last line.
    let text = "int count(int *calls) { return ++*calls; }\n\
                int twice(int n) {\nreturn 2 * n; /* IN */ }\nint main(void) { int calls = 0;\n\
                if (calls >= 0) { int result = twice(calls); return result; } return 9; /* BP */ }\n";
    for subject in ENGINES {
        let folder = tempfile::tempdir()?;
        let (source, program) = compiled(folder.path(), "calls.c", text)?;
        let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
        let launch = subject.with(json!({ "program": program }));
        editor.launch_child(launch, &source, &[i64::try_from(line_of(text, "BP")?)?]).await?;
        let (thread, frame) = editor.stop().await?;
        let scopes = editor.ok("scopes", json!({ "frameId": frame["id"] })).await?;
        let rows = json!({ "variablesReference": scopes["scopes"][0]["variablesReference"] });
        for calls in ["0", "1", "2"] {
            // References of this stop remain valid, and show what the call has changed.
            let body = editor.ok("variables", rows.clone()).await?;
            assert_eq!(body["variables"][0]["value"], calls, "{subject:?}");
            let call = json!({ "expression": "count(&calls)", "frameId": frame["id"], "context": "watch" });
            editor.ok("evaluate", call).await?;
        }
        // A breakpoint inside the function does not stop the call, not even that of its own condition.
        for condition in [Value::Null, json!("twice(1) == 2 && n == 3")] {
            let inside = json!([{ "line": line_of(text, "IN")?, "condition": condition }]);
            let arguments = json!({ "source": { "path": source }, "breakpoints": inside });
            editor.ok("setBreakpoints", arguments).await?;
            let call = json!({ "expression": "twice(5)", "frameId": frame["id"], "context": "watch" });
            assert_eq!(editor.ok("evaluate", call).await?["result"], "10", "{subject:?}");
        }
        editor.ok("continue", json!({ "threadId": thread })).await?;
        let (thread, frame) = editor.stop().await?;
        assert_eq!(frame["line"], json!(line_of(text, "IN")?), "{subject:?}: {frame}");
        editor.ok("continue", json!({ "threadId": thread })).await?;
        assert_eq!(editor.event("exited").await?["exitCode"], 6, "{subject:?}");
        editor.event("terminated").await?;
        editor.finish().await?;
    }
    Ok(())
}

const RUST: &str = r#"use std::collections::HashMap;
#[derive(Debug)]
enum Figure { Circle(f64), Rect { w: i32, h: i32 } }
#[derive(Debug)]
struct Pixel { x: i32, y: i32 }
fn main() {
    let text = "a \"b\"";
    let owned = String::from("owned");
    let list = vec![1, 2, 3];
    let map = HashMap::from([("a", 1)]);
    let (rect, circle) = (Figure::Rect { w: 1, h: 2 }, Figure::Circle(1.5));
    let none: Option<i32> = std::env::args().nth(1).map(|_| 1);
    let point = Pixel { x: 3, y: 4 };
    let letter = 'a';
    println!("{text} {owned} {list:?} {map:?} {rect:?} {circle:?} {none:?} {point:?} {letter}"); // BP here
    none.expect("nothing is given");
}
"#;

#[tokio::test]
async fn rusts_own_types_are_shown_as_what_they_are() -> anyhow::Result<()> {
    for subject in ENGINES {
        let folder = tempfile::tempdir()?;
        let files = compiled(folder.path(), "main.rs", RUST)?;
        let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
        let rows = values_at(&mut editor, subject, &files, line_of(RUST, "BP here")?).await?;
        for (name, part) in [
            ("text", "\"a "),
            ("owned", "\"owned\""),
            ("list", "size=3"),
            ("map", "size=1"),
            ("rect", "Rect"),
            ("circle", "Circle"),
            ("none", "None"),
            ("letter", "'a'"),
        ] {
            let value = rows[name]["value"].as_str().unwrap_or_default();
            assert!(value.contains(part), "{subject:?}: {name} is {value}");
        }
        let point = rows["point"]["value"].as_str().unwrap_or_default();
        // lldb-dap leaves out what takes it too long.
        assert!(point.contains('3'), "{subject:?}: {point}");
        let inner = json!({ "variablesReference": rows["list"]["variablesReference"] });
        let items = editor.ok("variables", inner).await?;
        assert_eq!(items["variables"][2]["value"], "3", "{subject:?}: {items}");
        if subject == Subject::Lldb {
            refuses_copies(&mut editor, &rows).await?;
        }
        editor.finish().await?;
    }
    Ok(())
}

/// rustc's formatters make some rows from copied bytes: what is assigned to them would not reach the program.
async fn refuses_copies(editor: &mut DapClient, rows: &HashMap<String, Value>) -> anyhow::Result<()> {
    let inner = json!({ "variablesReference": rows["map"]["variablesReference"] });
    let pair = editor.ok("variables", inner).await?["variables"][0].clone();
    for (parent, name) in [(&pair, "1"), (&rows["circle"], "0")] {
        let assignment =
            json!({ "variablesReference": parent["variablesReference"], "name": name, "value": "9" });
        editor.ok("variables", assignment.clone()).await?;
        assert_eq!(editor.refused("setVariable", assignment).await?, "EVALUATION_FAILED", "{parent}");
    }
    let point =
        json!({ "variablesReference": rows["point"]["variablesReference"], "name": "x", "value": "9" });
    assert_eq!(editor.ok("setVariable", point).await?["value"], "9");
    Ok(())
}

const CHANGES: &str = "struct Account { int balance; int limit; };\n\
    int main(void) {\n    struct Account account = {70, 100};\n    \
                       int other = 1;\n    account.balance = 30; /* BP here */\n    return account.balance \
                       + other - 31;\n}\n";

/// A field that a step changed changes the summary of its struct, which is what an agent compares.
#[tokio::test]
async fn a_step_that_changes_a_field_says_so_of_its_struct() -> anyhow::Result<()> {
    for subject in ENGINES {
        let folder = tempfile::tempdir()?;
        let (source, program) = compiled(folder.path(), "main.c", CHANGES)?;
        let mut agent = Agent::in_folder("agent", folder.path(), &[], &Transcript::default()).await?;
        let mut launch = subject.with(json!({ "program": program }));
        launch["breakpoints"] = json!([{ "file": source, "line": line_of(CHANGES, "BP here")? }]);
        launch["run"] = json!(true);
        let stop = agent.call("debug_launch", launch).await?;
        assert_eq!(stop["state"], "stopped", "{subject:?}: {stop}");
        let stepped = agent.call("debug_step_over", json!({})).await?;
        let changed = stepped["event"]["changed"].as_array().with_context(|| stepped.to_string())?;
        let names: Vec<&Value> = changed.iter().map(|row| &row["name"]).collect();
        assert_eq!(names, ["account"], "{subject:?}: {stepped}");
        let value = changed[0]["value"].as_str().unwrap_or_default();
        assert!(value.contains("30") && value.contains("100"), "{subject:?}: {stepped}");
        agent.finish().await?;
    }
    Ok(())
}

/// No client has set exception filters: a panic stops the program where it happens, and is reported.
#[tokio::test]
async fn a_program_of_rust_stops_at_a_panic() -> anyhow::Result<()> {
    for subject in ENGINES {
        let folder = tempfile::tempdir()?;
        let (source, program) = compiled(folder.path(), "main.rs", RUST)?;
        let mut agent = Agent::in_folder("agent", folder.path(), &[], &Transcript::default()).await?;
        let mut launch = subject.with(json!({ "program": program }));
        launch["run"] = json!(true);
        let stop = agent.call("debug_launch", launch).await?;
        assert_eq!(stop["event"]["type"], "exception", "{subject:?}: {stop}");
        let message = stop["event"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("nothing is given"), "{subject:?}: {stop}");
        assert_eq!(stop["event"]["line"], line_of(RUST, "none.expect")?, "{subject:?}: {stop}");
        assert_eq!(stop["event"]["file"], json!(source), "{subject:?}: {stop}");
        let over = agent.call("debug_continue", json!({})).await?;
        assert_eq!(over["event"]["exitCode"], 101, "{subject:?}: {over}");
        agent.finish().await?;
        // A client that disables it, and has a function breakpoint, gets only that.
        let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
        editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
        let launch = editor.send("launch", subject.with(json!({ "program": program }))).await?;
        editor.initialized(launch).await?;
        let named = json!({ "breakpoints": [{ "name": "main" }] });
        let answer = editor.ok("setFunctionBreakpoints", named).await?;
        assert_eq!(answer["breakpoints"].as_array().map(Vec::len), Some(1), "{subject:?}: {answer}");
        editor.ok("setExceptionBreakpoints", json!({ "filters": [] })).await?;
        editor.ok("configurationDone", Value::Null).await?;
        anyhow::ensure!(editor.response(launch).await?.success, "not launched");
        let (event, body) = editor.any_event(&["stopped", "exited"]).await?;
        assert_eq!(event, "stopped", "{subject:?}: {body}");
        editor.ok("setFunctionBreakpoints", json!({ "breakpoints": [] })).await?;
        editor.ok("continue", json!({ "threadId": body["threadId"] })).await?;
        let (event, body) = editor.any_event(&["stopped", "exited"]).await?;
        assert_eq!((event.as_str(), &body["exitCode"]), ("exited", &json!(101)), "{subject:?}");
        editor.event("terminated").await?;
        editor.finish().await?;
    }
    Ok(())
}

const CPP: &str = r#"#include <cstdio>
#include <map>
#include <string>
#include <vector>
struct Delta { int x, y; };
int main() {
    std::string name = "ann";
    std::vector<int> list{1, 2, 3};
    std::map<std::string, int> map{{"a", 1}};
    std::map<int, int> scores{{1, 10}, {2, 20}};
    std::map<int, std::vector<int>> lists{{7, {4, 5}}};
    Delta point{3, 4};
    Delta *none = nullptr;
    static int many[100000000];
    many[7] = 7;
    printf("%s %d %d %d %p %d\n", name.c_str(), list[1], map["a"], point.x, (void *)none, many[7]); // BP here
}
"#;

#[tokio::test]
async fn cpps_containers_and_structs_are_summed_up_and_a_null_pointer_does_not_open() -> anyhow::Result<()> {
    for subject in ENGINES {
        let folder = tempfile::tempdir()?;
        let files = compiled(folder.path(), "main.cpp", CPP)?;
        let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
        let rows = values_at(&mut editor, subject, &files, line_of(CPP, "BP here")?).await?;
        let value = |name: &str| rows[name]["value"].as_str().unwrap_or_default();
        assert!(value("name").contains("\"ann\""), "{subject:?}: {rows:?}");
        assert!(value("list").contains('3'), "{subject:?}: {rows:?}");
        assert!(value("map").contains('1'), "{subject:?}: {rows:?}");
        assert!(value("point").contains('3'), "{subject:?}: {rows:?}");
        assert_eq!(rows["none"]["variablesReference"], 0, "{subject:?}: {rows:?}");
        editor.finish().await?;
    }
    Ok(())
}

/// lldb itself takes each subscript for a position, and C++ has no code for operators that nothing calls.
#[tokio::test]
async fn a_subscript_under_lldb_is_a_key_of_a_map_and_rows_have_expressions_of_their_own()
-> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let files = compiled(folder.path(), "main.cpp", CPP)?;
    let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
    let launch = Subject::Lldb.with(json!({ "program": files.1 }));
    editor.launch_child(launch, &files.0, &[i64::try_from(line_of(CPP, "BP here")?)?]).await?;
    let (_, frame) = editor.stop().await?;
    let watch =
        |expression: &str| json!({ "expression": expression, "frameId": frame["id"], "context": "watch" });
    for (expression, value) in [
        ("scores[1]", "10"),
        ("scores[list[1]]", "20"),
        ("map[\"a\"]", "1"),
        ("lists[7][1]", "5"),
        ("list[2]", "3"),
        ("many[7]", "7"),
        ("scores.[0].second", "10"),
        ("list[1] + scores[1]", "12"),
        ("name == \"ann\" && list[0] == 1", "true"),
    ] {
        assert_eq!(editor.ok("evaluate", watch(expression)).await?["result"], value, "{expression}");
    }
    for (expression, reason) in [
        ("scores[9]", "no element has the key 9"),
        ("list[3]", "the index 3 is out of range"),
        ("map[0]", "no viable"),
    ] {
        let body = editor.ask("evaluate", watch(expression)).await?.body;
        anyhow::ensure!(body.to_string().contains(reason), "{expression}: {body}");
    }
    for (expression, value) in [("scores[2]", "21"), ("list[0]", "9"), ("lists[7][0]", "8")] {
        let set = json!({ "expression": expression, "value": value, "frameId": frame["id"] });
        assert_eq!(editor.ok("setExpression", set).await?["value"], value);
        assert_eq!(editor.ok("evaluate", watch(expression)).await?["result"], value, "{expression}");
    }
    let mut expressions = Vec::new();
    for name in ["scores", "list"] {
        let of = editor.ok("evaluate", watch(name)).await?["variablesReference"].clone();
        let rows = editor.ok("variables", json!({ "variablesReference": of })).await?;
        let row = &rows["variables"][1];
        let expression = row["evaluateName"].as_str().context("no expression")?;
        assert_eq!(editor.ok("evaluate", watch(expression)).await?["result"], row["value"]);
        expressions.push(expression.to_owned());
    }
    assert_eq!(expressions, ["scores.[1]", "list[1]"]);
    editor.finish().await
}

/// An adapter makes all rows before it answers: a hundred million would be the end of it.
#[tokio::test]
async fn an_array_of_a_hundred_million_is_answered_in_part_and_can_be_paged() -> anyhow::Result<()> {
    for subject in ENGINES {
        let folder = tempfile::tempdir()?;
        let (source, program) = compiled(folder.path(), "main.cpp", CPP)?;
        let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
        let launch = subject.with(json!({ "program": program }));
        editor.launch_child(launch, &source, &[i64::try_from(line_of(CPP, "BP here")?)?]).await?;
        let (_, frame) = editor.stop().await?;
        let arguments = json!({ "expression": "many", "frameId": frame["id"], "context": "watch" });
        let many = editor.ok("evaluate", arguments).await?["variablesReference"].clone();
        let rows = editor.ok("variables", json!({ "variablesReference": many })).await?;
        let rows = rows["variables"].as_array().context("no rows")?;
        assert!(rows.len() <= 10_001, "{subject:?}: {}", rows.len());
        assert_eq!(rows[7]["value"], "7", "{subject:?}");
        let page = json!({ "variablesReference": many, "start": 99_999_990, "count": 10 });
        let page = editor.ok("variables", page).await?;
        assert_eq!(page["variables"].as_array().map(Vec::len), Some(10), "{subject:?}: {page}");
        editor.finish().await?;
    }
    Ok(())
}

const DEEP: &str = r#"#include <stdlib.h>
static int down(int level) {
    int here = level * 2;
    if (level == 8000) abort();
    return down(level + 1) + here;
}
int main(void) { return down(0); }
"#;

/// The program's own frame is shown, not the C library's that raises the signal.
#[tokio::test]
async fn an_abort_is_shown_where_the_program_called_it_8000_calls_deep() -> anyhow::Result<()> {
    for subject in ENGINES {
        let folder = tempfile::tempdir()?;
        let (_, program) = compiled(folder.path(), "deep.c", DEEP)?;
        let mut agent = Agent::in_folder("agent", folder.path(), &[], &Transcript::default()).await?;
        let mut launch = subject.with(json!({ "program": program }));
        launch["run"] = json!(true);
        let stop = agent.call("debug_launch", launch).await?;
        assert_eq!(stop["event"]["line"], line_of(DEEP, "abort()")?, "{subject:?}: {stop}");
        for (key, value) in [("type", "exception"), ("signal", "SIGABRT"), ("exceptionType", "SIGABRT")] {
            assert_eq!(stop["event"][key], value, "{subject:?}: {stop}");
        }
        let locals = stop["event"]["locals"].as_array().context("no locals")?;
        assert!(
            locals.iter().any(|row| row["name"] == "here" && row["value"] == "16000"),
            "{subject:?}: {stop}"
        );
        let page = agent.call("debug_stacktrace", json!({ "start": 7000, "count": 5 })).await?;
        let frames = page["frames"].as_array().context("no frames")?;
        assert_eq!(frames.len(), 5, "{subject:?}: {page}");
        assert!(
            frames.iter().all(|frame| frame["function"].as_str().is_some_and(|name| name.contains("down")))
        );
        agent.finish().await?;
    }
    Ok(())
}

/// A core has a stop, a stack and values, and does not run.
#[tokio::test]
async fn a_core_is_attached_to() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let (_, program) = compiled(folder.path(), "deep.c", &DEEP.replace("8000", "3"))?;
    let core = folder.path().join("core");
    let gdb = Subject::Gdb.launch()["enginePath"].as_str().context("no gdb")?.to_owned();
    let save = format!("generate-core-file {}", core.display());
    let steps = ["-ex", "set debuginfod enabled off", "-ex", "run", "-ex", &save];
    let done = Command::new(gdb).args(["-q", "-nx", "-batch"]).args(steps).arg(&program).output()?;
    anyhow::ensure!(core.exists(), "{}", String::from_utf8_lossy(&done.stderr));
    for subject in ENGINES {
        let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
        let mut attach = subject.with(json!({ "program": program, "coreFile": core }));
        if let (Subject::Lldb, Some(attributes)) = (subject, attach.as_object_mut()) {
            // It is the engine for cores if none is named.
            attributes.shift_remove("engine");
        }
        editor.attach_child(attach, Path::new("/none"), &[]).await?;
        let stop = editor.event("stopped").await?;
        assert_eq!(stop["signal"], "SIGABRT", "{subject:?}: {stop}");
        let threads = editor.ok("threads", Value::Null).await?;
        let thread = &threads["threads"][0]["id"];
        let stack = editor.ok("stackTrace", json!({ "threadId": thread })).await?;
        let frames = stack["stackFrames"].as_array().context("no frames")?;
        let own =
            frames.iter().find(|frame| frame["name"].as_str().is_some_and(|name| name.contains("down")));
        let own =
            own.with_context(|| format!("{subject:?}: no frame of the program after {stop}: {stack}"))?;
        let arguments = json!({ "expression": "here", "frameId": own["id"], "context": "watch" });
        assert_eq!(editor.ok("evaluate", arguments).await?["result"], "6", "{subject:?}");
        let refused = editor.refused("continue", json!({ "threadId": thread })).await?;
        assert_eq!(refused, "UNSUPPORTED", "{subject:?}");
        editor.finish().await?;
    }
    Ok(())
}

/// A file name without a folder matches each source of that name, and the answer reports it.
#[tokio::test]
async fn an_ambiguous_file_name_lists_all_sources() -> anyhow::Result<()> {
    for subject in ENGINES {
        let folder = tempfile::tempdir()?;
        for name in ["a", "b"] {
            std::fs::create_dir(folder.path().join(name))?;
            let text = format!("int {name}_value(int n) {{\n    int more = n * 2;\n    return more;\n}}\n");
            std::fs::write(folder.path().join(name).join("util.c"), text)?;
        }
        let main = "#include \"a/util.c\"\n#include \"b/util.c\"\n\
            int main(void) { return a_value(2) + b_value(3); }\n";
        let (_, program) = compiled(folder.path(), "main.c", main)?;
        let mut agent = Agent::in_folder("agent", folder.path(), &[], &Transcript::default()).await?;
        let mut launch = subject.with(json!({ "program": program, "run": true }));
        launch["breakpoints"] = json!([{ "sourceFile": "util.c", "line": 2 }]);
        let stop = agent.call("debug_launch", launch).await?;
        let set = &stop["breakpoints"][0];
        assert_eq!(set["files"].as_array().map(Vec::len), Some(2), "{subject:?}: {stop}");
        assert!(set["message"].as_str().is_some_and(|message| message.contains("each source")), "{stop}");
        let second = agent.call("debug_continue", json!({})).await?;
        assert!(
            stop["event"]["file"].is_string() && stop["event"]["file"] != second["event"]["file"],
            "{second}"
        );
        agent.finish().await?;
    }
    Ok(())
}
