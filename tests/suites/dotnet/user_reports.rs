//! Programs of users' reports against other debuggers, each driven as its report did
//! (`fixtures/programs/cases`).
//!
//! Not here: structs of odd sizes and members of constraints ([`super::struct_passing`]), whose
//! program has the types of those reports.

use std::path::{Path, PathBuf};

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::child::{Subject, tool};
use tandem_harness::deadline::deadline_ms;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

use super::dotnet_subprocesses::until;

net10_tests! {
    a_rules_file_behind_line_spans_is_debugged_in_its_own_lines,
    a_program_asks_its_terminal_where_the_cursor_is,
}

/// An agent in a copy of a case, whose build output is next to the source.
struct CaseAgent {
    agent: Agent,
    folder: tempfile::TempDir,
}

impl CaseAgent {
    async fn new(name: &str) -> anyhow::Result<Self> {
        Self::named(name, "case").await
    }

    async fn named(name: &str, folder_name: &str) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let target = folder.path().join(folder_name);
        copy(&fixture::root().join("fixtures/programs/cases").join(name), &target)?;
        let agent = Agent::in_folder("agent", &target, &[], &Transcript::default()).await?;
        Ok(Self { agent, folder })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Launches and runs; `breakpoints` is a list of DAP-like requests.
    async fn launch(&mut self, subject: Subject, program: &Path, more: Value) -> anyhow::Result<Value> {
        let mut launch =
            subject.with(json!({ "program": program, "run": true, "timeoutMs": deadline_ms(20) }));
        if let (Some(launch), Value::Object(more)) = (launch.as_object_mut(), more) {
            launch.extend(more);
        }
        self.call("debug_launch", launch).await
    }

    async fn call(&mut self, tool: &str, arguments: Value) -> anyhow::Result<Value> {
        self.agent.call(tool, arguments).await
    }

    async fn proceed(&mut self) -> anyhow::Result<Value> {
        self.call("debug_continue", json!({ "timeoutMs": deadline_ms(20) })).await
    }

    /// Types, and waits for the next event.
    async fn types(&mut self, data: &str) -> anyhow::Result<Value> {
        self.call("process_write_input", json!({ "data": data })).await?;
        self.call("debug_wait", json!({ "timeoutMs": deadline_ms(20) })).await
    }

    async fn value(&mut self, expression: &str) -> anyhow::Result<String> {
        let result = self.call("debug_evaluate", json!({ "expression": expression })).await?;
        Ok(result["result"].as_str().with_context(|| format!("{expression}: {result}"))?.to_owned())
    }

    async fn printed(&mut self) -> anyhow::Result<String> {
        let read = self.call("process_read_output", json!({ "since": "o0.e0" })).await?;
        Ok(read["stdout"].as_str().unwrap_or_default().to_owned())
    }
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

#[track_caller]
fn is(answer: &Value, kind: &str) {
    assert_eq!(answer["event"]["type"], kind, "{answer}");
}

/// A breakpoint at the line with this text.
fn at(file: &Path, text: &str) -> Value {
    json!([{ "sourceFile": file, "text": text }])
}

async fn a_rules_file_behind_line_spans_is_debugged_in_its_own_lines(runtime: Runtime) -> anyhow::Result<()> {
    let mut agent = Agent::start("agent", runtime, &Transcript::default()).await?;
    let rules = Path::new(&fixture::modern_source("rules")).with_file_name("shop.rules");
    let launch = json!({ "program": fixture::modern_program("rules"), "run": true,
        "breakpoints": at(&rules, "total = price"), "timeoutMs": deadline_ms(20) });
    let mut stop = agent.call("debug_launch", launch).await?;
    for rate in ["10", "20"] {
        assert_eq!((&stop["event"]["file"], &stop["event"]["line"]), (&json!(rules), &json!(3)), "{stop}");
        let result = agent.call("debug_evaluate", json!({ "expression": "rate" })).await?;
        assert_eq!(result["result"], rate, "{result}");
        let stepped = agent.call("debug_step_over", json!({})).await?;
        assert_eq!(
            (&stepped["event"]["file"], &stepped["event"]["line"]),
            (&json!(rules), &json!(4)),
            "{stepped}"
        );
        assert_eq!(stepped["event"]["source"], "give total");
        stop = agent.call("debug_continue", json!({})).await?;
    }
    is(&stop, "exited");
    assert_eq!(stop["event"]["output"]["stdout"], "134\n", "{stop}");
    agent.finish().await
}

async fn a_program_asks_its_terminal_where_the_cursor_is(runtime: Runtime) -> anyhow::Result<()> {
    let mut agent = Agent::start("agent", runtime, &Transcript::default()).await?;
    let program = fixture::modern_program("cursor");
    let launch = json!({ "program": program, "pty": true, "run": true, "timeoutMs": deadline_ms(20) });
    let asks = agent.call("debug_launch", launch).await?;
    is(&asks, "waitingForInput");
    assert!(
        asks["event"]["output"]["stdout"].as_str().is_some_and(|text| text.contains("Hello[5]")),
        "{asks}"
    );
    agent.call("process_write_input", json!({ "data": "\u{1b}[A" })).await?;
    let ended = agent.call("debug_wait", json!({ "timeoutMs": deadline_ms(20) })).await?;
    assert_eq!(ended["event"]["exitCode"], 5, "{ended}");
    let read = agent.call("process_read_output", json!({ "since": "o0.e0" })).await?;
    let printed = read["stdout"].as_str().unwrap_or_default();
    assert!(printed.contains("UpArrow") && printed.contains("TERM xterm"), "{read}");
    assert!(!printed.contains("row 0,") && !printed.contains("[A"), "{read}");
    agent.finish().await
}

#[tokio::test]
async fn a_password_is_typed_into_the_terminal_and_not_shown() -> anyhow::Result<()> {
    for echo in [false, true] {
        let mut case = CaseAgent::new("getpass").await?;
        let program = case.path("case/login.py");
        let more = json!({ "pty": true, "__ptyEcho": echo, "breakpoints": at(&program, "length = ") });
        let mut asks = case.launch(Subject::Python, &program, more).await?;
        for (prompt, line) in [("User: ", "ann\n"), ("Password: ", "pa ss\n"), ("Again: ", "pa ss\n")] {
            is(&asks, "waitingForInput");
            let printed = asks["event"]["output"]["stdout"].as_str().unwrap_or_default();
            assert!(printed.ends_with(prompt), "{prompt}: {asks}");
            asks = case.types(line).await?;
        }
        is(&asks, "breakpointHit");
        assert_eq!(case.value("secret").await?, "'pa ss'");
        let ended = case.proceed().await?;
        assert_eq!(ended["event"]["exitCode"], 0, "{ended}");
        let printed = case.printed().await?;
        assert!(printed.trim_end().ends_with("welcome ann 5"), "{printed}");
        assert!(!printed.contains("pa ss"), "{printed}");
        case.agent.finish().await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_python_program_that_replaces_itself_is_debugged_on() -> anyhow::Result<()> {
    let mut case = CaseAgent::new("exec").await?;
    let program = case.path("case/again.py");
    let breakpoints =
        json!([{ "sourceFile": program, "text": "total += number", "condition": "number == 3" }]);
    let stop = case.launch(Subject::Python, &program, json!({ "breakpoints": breakpoints })).await?;
    is(&stop, "breakpointHit");
    assert_eq!(case.value("total").await?, "3");
    let asks = case.proceed().await?;
    is(&asks, "waitingForInput");
    // The session of the new program ends before that of the launch, and while the call is under way.
    let session = stop["session"].as_str().context("no session")?;
    let host = tandem_registry::find(session).context("no such session")?.pid;
    let host = Pid::from_raw(i32::try_from(host)?).context("no host")?;
    let program = stop["pid"].as_u64().context("no program")?;
    case.call("process_write_input", json!({ "data": "bob\n" })).await?;
    kill_process(host, Signal::STOP)?;
    let gone = until("the end of the program", || !fixture::is_running(program)).await;
    let wait = case.agent.start_call("debug_wait", json!({ "timeoutMs": deadline_ms(20) })).await;
    // Whatever failed: a suspended host would outlive the test.
    kill_process(host, Signal::CONT)?;
    gone?;
    let ended = case.agent.result(wait?).await?["structuredContent"].clone();
    is(&ended, "exited");
    assert_eq!(ended["event"]["exitCode"], 7, "{ended}");
    assert_eq!(case.printed().await?, "first\nsecond 6 bob\n");
    case.agent.finish().await
}

#[tokio::test]
async fn ctrl_c_runs_the_handler_of_a_rust_program_under_lldb() -> anyhow::Result<()> {
    interrupts(Subject::Lldb).await
}

#[tokio::test]
async fn ctrl_c_runs_the_handler_of_a_rust_program_under_gdb() -> anyhow::Result<()> {
    interrupts(Subject::Gdb).await
}

async fn interrupts(subject: Subject) -> anyhow::Result<()> {
    let mut case = CaseAgent::new("interrupt").await?;
    let program = case.path("case/waiter.rs");
    let more = json!({ "pty": true, "waitFor": "ready", "breakpoints": at(&program, "interrupted, saving") });
    case.launch(subject, &program, more).await?;
    let mut stop = case.types("\u{3}").await?;
    if stop["event"]["signal"] == "SIGINT" {
        stop = case.proceed().await?;
    }
    is(&stop, "breakpointHit");
    let ended = case.proceed().await?;
    assert_eq!(ended["event"]["exitCode"], 3, "{ended}");
    assert_eq!(case.printed().await?, "ready\ninterrupted, saving\n");
    case.agent.finish().await
}

#[tokio::test]
async fn bytes_that_are_not_text_are_shown_under_lldb() -> anyhow::Result<()> {
    bytes(Subject::Lldb).await
}

#[tokio::test]
async fn bytes_that_are_not_text_are_shown_under_gdb() -> anyhow::Result<()> {
    bytes(Subject::Gdb).await
}

async fn bytes(subject: Subject) -> anyhow::Result<()> {
    let mut case = CaseAgent::new("bytes").await?;
    let program = case.path("case/bytes.cpp");
    let stop = case.launch(subject, &program, json!({ "breakpoints": at(&program, "// BP") })).await?;
    is(&stop, "breakpointHit");
    assert!(case.value("name").await?.contains("caf"));
    assert!(case.value("half").await?.contains("price"));
    assert_eq!(case.value("length").await?, "20");
    let shown = case.call("debug_snapshot", json!({})).await?.to_string();
    assert!(!shown.contains("\\u001b"), "{shown}");
    let ended = case.proceed().await?;
    assert_eq!(ended["event"]["exitCode"], 1, "{ended}");
    case.agent.finish().await
}

#[tokio::test]
async fn a_condition_on_a_variable_of_a_go_closure_is_never_ignored() -> anyhow::Result<()> {
    let mut case = CaseAgent::new("go-closure").await?;
    let (folder, source) = (case.path("case"), case.path("case/main.go"));
    let go = tool("go")?;
    let path = format!("{}:{}", go.parent().context("no folder")?.display(), std::env::var("PATH")?);
    let breakpoints =
        json!([{ "sourceFile": source, "text": "BP body", "condition": "test.desc == \"mid\" && n == 2" }]);
    let more = json!({ "breakpoints": breakpoints,
        "env": { "PATH": path, "GOEXPERIMENT": "nodwarf5", "GOFLAGS": "-buildvcs=false",
            "GOTOOLCHAIN": "local" } });
    let stop = case.launch(Subject::Delve, &folder, more).await?;
    is(&stop, "breakpointHit");
    for (expression, expected) in [("test.limit", "1"), ("enough", "true"), ("n", "2")] {
        assert_eq!(case.value(expression).await?, expected, "{expression}");
    }
    let ended = case.proceed().await?;
    is(&ended, "exited");
    assert_eq!(case.printed().await?, "low 3\nmid 2\nhigh 1\ntotal 6\n");
    case.agent.finish().await
}

#[tokio::test]
async fn a_node_program_that_asks_by_readline_waits_for_input() -> anyhow::Result<()> {
    for pty in [false, true] {
        let mut case = CaseAgent::new("asks").await?;
        let program = case.path("case/ask.js");
        let more = json!({ "pty": pty, "breakpoints": at(&program, "const greeting") });
        let asks = case.launch(Subject::Js, &program, more).await?;
        is(&asks, "waitingForInput");
        assert!(
            asks["event"]["output"]["stdout"].as_str().is_some_and(|text| text.contains("name? ")),
            "{asks}"
        );
        is(&case.types("bob\n").await?, "waitingForInput");
        let answer = json!({ "data": "41\n", "closeAfter": !pty });
        case.call("process_write_input", answer).await?;
        let stop = case.call("debug_wait", json!({ "timeoutMs": deadline_ms(20) })).await?;
        is(&stop, "breakpointHit");
        assert_eq!(case.value("name").await?, "'bob'");
        let ended = case.proceed().await?;
        assert_eq!(ended["event"]["exitCode"], 6, "{ended}");
        assert!(case.printed().await?.contains("hello bob, 42 soon"));
        case.agent.finish().await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_python_program_that_selects_waits_for_input() -> anyhow::Result<()> {
    let mut case = CaseAgent::new("asks").await?;
    let program = case.path("case/poll.py");
    is(&case.launch(Subject::Python, &program, json!({})).await?, "waitingForInput");
    let ended = case.types("go\n").await?;
    assert_eq!(ended["event"]["exitCode"], 0, "{ended}");
    assert_eq!(case.printed().await?, "command? got go\n");
    case.agent.finish().await
}

#[tokio::test]
async fn a_folder_may_have_a_hash_a_percent_sign_and_blanks_in_its_name() -> anyhow::Result<()> {
    const NAME: &str = "my #1 app 100%";
    let mut case = CaseAgent::named("hash", NAME).await?;
    let plain = case.path(NAME).join("plain.js");
    let stop = case.launch(Subject::Js, &plain, json!({ "breakpoints": at(&plain, "// BP") })).await?;
    assert_eq!((&stop["event"]["file"], &stop["event"]["line"]), (&json!(plain), &json!(2)), "{stop}");
    assert_eq!(case.value("words.length").await?, "2");
    is(&case.proceed().await?, "exited");
    let source = case.path(NAME).join("src/total.ts");
    let breakpoints = json!([{ "sourceFile": "total.ts", "text": "sum += part", "condition": "part > 6" }]);
    let stop = case.launch(Subject::Js, &source, json!({ "breakpoints": breakpoints })).await?;
    assert_eq!((&stop["event"]["file"], &stop["event"]["line"]), (&json!(source), &json!(7)), "{stop}");
    assert_eq!(case.value("line.name").await?, "'cup'");
    let ended = case.proceed().await?;
    is(&ended, "exited");
    assert_eq!(case.printed().await?, "total 15\n");
    case.agent.finish().await
}

#[tokio::test]
async fn a_breakpoint_stops_each_forked_ruby_worker_and_names_its_process() -> anyhow::Result<()> {
    let mut case = CaseAgent::new("workers").await?;
    let program = case.path("case/workers.rb");
    let mut stop =
        case.launch(Subject::Rdbg, &program, json!({ "breakpoints": at(&program, "# BP") })).await?;
    let launched = stop["pid"].clone();
    let mut seen = Vec::new();
    for _ in 0..2 {
        is(&stop, "breakpointHit");
        let pid = stop["event"]["pid"].as_u64().with_context(|| format!("no process: {stop}"))?;
        assert!(launched != pid && seen.iter().all(|(other, _)| *other != pid), "{stop}");
        seen.push((pid, (case.value("number").await?, case.value("square").await?)));
        stop = case.proceed().await?;
    }
    seen.sort_by(|one, other| one.1.cmp(&other.1));
    let values: Vec<_> =
        seen.iter().map(|(_, (number, square))| (number.as_str(), square.as_str())).collect();
    assert_eq!(values, [("2", "4"), ("3", "9")]);
    assert_eq!(stop["event"]["exitCode"], 0, "{stop}");
    assert!(case.printed().await?.ends_with("parent [2, 3]\n"));
    case.agent.finish().await
}

#[tokio::test]
async fn arguments_of_tools_are_accepted_as_models_write_them() -> anyhow::Result<()> {
    let mut case = CaseAgent::new("count").await?;
    let program = case.path("case/count.py");
    let more = json!({ "args": [7, "b", true], "cwd": null, "env": null, "module": null, "stopAtEntry": null,
        "waitFor": null, "timeoutMs": 20000.0, "breakpoints": [{ "sourceFile": program, "line": 5.0,
            "text": null,
        "function": null, "condition": null, "hitCondition": null, "logMessage": null }] });
    let stop = case.launch(Subject::Python, &program, more).await?;
    is(&stop, "breakpointHit");
    let result = case
        .call("debug_evaluate", json!({ "expression": "number", "expressions": null, "frameId": null }))
        .await?;
    assert_eq!(result["result"], "1", "{result}");
    let arguments = json!({ "frameId": null, "path": "", "start": null, "count": "2" });
    let variables = case.call("debug_variables", arguments).await?;
    assert_eq!(variables["variables"].as_array().map(Vec::len), Some(2), "{variables}");
    let fourth =
        json!({ "sourceFile": program, "line": "5", "condition": "", "hitCondition": 4, "logMessage": "" });
    let set = case.call("debug_set_breakpoint", fourth).await?;
    assert_eq!((&set["verified"], &set["line"]), (&json!(true), &json!(5)), "{set}");
    let listed = case.call("debug_list_breakpoints", json!({})).await?;
    for one in listed["breakpoints"].as_array().context("no breakpoints")?.clone() {
        let id = one["id"].to_string();
        case.call("debug_remove_breakpoint", json!({ "breakpointId": id })).await?;
    }
    is(&case.proceed().await?, "waitingForInput");
    let written = case.call("process_write_input", json!({ "data": 42, "closeAfter": null })).await?;
    assert_eq!(written["bytesWritten"], 2, "{written}");
    case.call("process_write_input", json!({ "data": "\n", "closeAfter": "true" })).await?;
    let ended = case.call("debug_wait", json!({ "timeoutMs": null })).await?;
    assert_eq!(ended["event"]["exitCode"], 0, "{ended}");
    let printed = case.printed().await?;
    assert!(printed.contains("total 15 ['7', 'b', ") && printed.ends_with("typed 42\n"), "{printed}");
    case.agent.finish().await
}
