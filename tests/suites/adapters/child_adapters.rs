//! Other languages through their own adapters: one scenario, run with each real adapter.

use std::collections::HashMap;

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::child::{self, Subject};
use tandem_harness::client::DapClient;
use tandem_harness::deadline::deadline;
use tandem_harness::transcript::Transcript;

/// Declares the tests for each adapter that is set up.
macro_rules! with_each_adapter {
    ($($adapter:ident: $subject:ident),* $(,)?) => {
        $(mod $adapter {
            use super::Subject;
            const SUBJECT: Subject = Subject::$subject;

            #[tokio::test]
            async fn from_launch_to_exit_with_input_shared() -> anyhow::Result<()> {
                super::from_launch_to_exit(SUBJECT).await
            }

            #[tokio::test]
            async fn restarted_program_stops_at_the_same_breakpoint() -> anyhow::Result<()> {
                super::check_restarts(SUBJECT).await
            }

            #[tokio::test]
            async fn a_killed_session_leaves_nothing() -> anyhow::Result<()> {
                super::check_kill(SUBJECT).await
            }
        })*
    };
}

with_each_adapter! {
    debugpy: Python,
    debugpy_through_its_adapter: PythonAdapter,
    lldb: Lldb,
    gdb: Gdb,
    bash: Bash,
    delve: Delve,
    rdbg: Rdbg,
    rdbg_1_9_2: Rdbg192,
    js: Js,
    perl: Perl,
}

fn editor(transcript: &Transcript) -> anyhow::Result<DapClient> {
    DapClient::start_in("editor", HashMap::new(), transcript)
}

/// Breakpoint, stack, variables, evaluate, step, input by another client, both streams apart, EOF, exit code.
async fn from_launch_to_exit(subject: Subject) -> anyhow::Result<()> {
    let transcript = Transcript::default();
    let mut editor = editor(&transcript)?;
    let mut launch = subject.launch();
    launch["args"] = json!(["a b"]);
    editor.launch_child(launch, &subject.source(), &[subject.line("handle")]).await?;
    let ready = editor.read_stdout("a b").await?;
    assert!(ready.starts_with("ready "), "{ready}");

    // Another client types; the first sees the stop.
    let mut agent = DapClient::connect("agent", &editor.socket().await?, &transcript).await?;
    agent.join(json!({ "clientID": "other", "adapterID": "tandem" })).await?;
    agent.ok("processWriteInput", json!({ "data": "hello\n" })).await?;
    let (thread, frame) = editor.stop().await?;
    assert_eq!(frame["line"], subject.line("handle"));
    assert_eq!(frame["source"]["path"], json!(subject.source()));
    let scopes = editor.ok("scopes", json!({ "frameId": frame["id"] })).await?;
    let mut names = Vec::new();
    for scope in scopes["scopes"].as_array().context("no scopes")?.iter().take(2) {
        let arguments = json!({ "variablesReference": scope["variablesReference"] });
        let body = editor.ok("variables", arguments).await?;
        let list = body["variables"].as_array().cloned().unwrap_or_default();
        names.extend(list.into_iter().filter_map(|variable| {
            let value = variable["value"].as_str()?.to_owned();
            (variable["name"] == subject.variable("length", false)).then_some(value)
        }));
    }
    assert_eq!(names, ["5"]);
    let expression = match subject {
        Subject::Bash => "$length",
        Subject::Perl => "$length + 1",
        _ => "length + 1",
    };
    let evaluated = editor
        .ok("evaluate", json!({ "expression": expression, "frameId": frame["id"], "context": "watch" }))
        .await?;
    assert_eq!(evaluated["result"], if subject == Subject::Bash { "5" } else { "6" });
    let code = editor
        .refused(
            "evaluate",
            json!({ "expression": "no_such_thing(", "frameId": frame["id"], "context": "watch" }),
        )
        .await;
    match subject {
        // Both respond in any case, Ruby with the error as a value.
        Subject::Bash | Subject::Rdbg | Subject::Rdbg192 => {}
        _ => assert_eq!(code?, "EVALUATION_FAILED"),
    }
    editor.ok("next", json!({ "threadId": thread })).await?;
    let (_, frame) = editor.stop().await?;
    assert_eq!(frame["line"], subject.line("handle") + 1);
    agent.event("stopped").await?;
    agent.next_stop_of_another().await?;
    assert_eq!(editor.refused("next", json!({ "threadId": 4711 })).await?, "INVALID_PARAMETER");
    assert_eq!(editor.refused("completions", json!([])).await?, "INVALID_PARAMETER");
    // js-debug does not answer unknown requests.
    if subject != Subject::Js {
        editor.refused("noSuchRequest", json!({ "a": 1 })).await?;
    }

    editor.break_on(&subject.source(), &[]).await?;
    agent.ok("continue", json!({ "threadId": thread })).await?;
    editor.event("continued").await?;
    assert!(editor.read_stdout("got 5: hello\n").await?.ends_with("got 5: hello\n"));
    editor.ok("processWriteInput", json!({ "data": "x\n", "closeAfter": true })).await?;
    let (event, body) = editor.any_event(&["stopped", "exited"]).await?;
    assert_eq!(body["exitCode"], 7, "{event}: {body}");
    assert_eq!(agent.event("exited").await?["exitCode"], 7);
    for client in [&mut editor, &mut agent] {
        client.event("terminated").await?;
        let [stdout, stderr, _] = &client.output;
        assert!(stdout.ends_with("got 5: hello\ngot 1: x\neof 6\n"), "{stdout:?}");
        // Node says there that it is being debugged.
        let lines: Vec<&str> =
            stderr.lines().filter(|line| !line.contains("debugger") && !line.contains("Debugger")).collect();
        assert_eq!(lines, ["to stderr"]);
    }
    agent.finish().await?;
    editor.finish().await
}

/// Restarted while it is stopped and while it runs; it has its arguments, breakpoints and pipes each time.
async fn check_restarts(subject: Subject) -> anyhow::Result<()> {
    let mut editor = editor(&Transcript::default())?;
    let mut launch = subject.launch();
    launch["args"] = json!(["a b"]);
    editor.launch_child(launch, &subject.source(), &[subject.line("handle")]).await?;
    let mut thread = Value::Null;
    for run in 0..3 {
        // Output of an earlier run does not count for this one.
        editor.take_stdout("a b").await.with_context(|| format!("run {run}"))?;
        editor.ok("processWriteInput", json!({ "data": "hello\n" })).await?;
        let (stopped, frame) = editor.stop().await.with_context(|| format!("run {run}"))?;
        assert_eq!(frame["line"], subject.line("handle"), "run {run}");
        thread = json!(stopped);
        match run {
            0 => {
                editor.ok("restart", json!({})).await?;
                editor.event("continued").await?;
            }
            1 => {
                editor.ok("continue", json!({ "threadId": thread })).await?;
                editor.take_stdout("got 5: hello\n").await?;
                editor.ok("restart", json!({})).await?;
            }
            _ => {}
        }
    }
    editor.ok("processWriteInput", json!({ "data": "", "closeAfter": true })).await?;
    editor.ok("continue", json!({ "threadId": thread })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 7);
    editor.event("terminated").await?;
    editor.finish().await
}

/// bash-dap is ready when its program is. Configured before, it would hold that forever.
#[tokio::test]
async fn a_script_that_is_slow_to_start_is_waited_for() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let slow = folder.path().join("slow");
    std::fs::write(&slow, "sleep 1\n")?;
    let mut editor = editor(&Transcript::default())?;
    let mut launch = Subject::Bash.launch();
    (launch["args"], launch["env"]) = (json!(["a b"]), json!({ "BASH_ENV": slow }));
    editor.launch_child(launch, &Subject::Bash.source(), &[Subject::Bash.line("handle")]).await?;
    editor.ok("processWriteInput", json!({ "data": "hello\n" })).await?;
    let (_, frame) = editor.stop().await?;
    assert_eq!(frame["line"], Subject::Bash.line("handle"));
    editor.finish().await
}

/// The editor and its adapter are killed: the program and the child adapter end with them.
async fn check_kill(subject: Subject) -> anyhow::Result<()> {
    let (temporary, sessions) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let variable =
        |name: &str, folder: &tempfile::TempDir| (name.to_owned(), folder.path().display().to_string());
    let environment = HashMap::from([variable("TMPDIR", &temporary), variable("XDG_RUNTIME_DIR", &sessions)]);
    let mut editor = DapClient::start_in("editor", environment, &Transcript::default())?;
    let marker = format!("tandem-test-{}-{subject:?}", std::process::id());
    let mut launch = subject.launch();
    launch["args"] = json!([marker]);
    editor.launch_child(launch, &subject.source(), &[subject.line("handle")]).await?;
    editor.read_stdout(&marker).await?;
    editor.ok("processWriteInput", json!({ "data": "hello\n" })).await?;
    editor.stop().await?;
    assert!(!processes_with(&marker).is_empty(), "the program is not running");
    editor.kill().await?;
    let ended = async {
        while !processes_with(&marker).is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(deadline(10), ended)
        .await
        .with_context(|| format!("still there: {:?}", processes_with(&marker)))?;
    let left = || {
        [temporary.path().to_owned(), sessions.path().join("tandem")]
            .iter()
            .flat_map(files_in)
            .collect::<Vec<_>>()
    };
    let removed = async {
        while !left().is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let in_time = tokio::time::timeout(deadline(10), removed).await;
    in_time.with_context(|| format!("left behind: {:?}", left()))
}

fn files_in(folder: &std::path::PathBuf) -> Vec<std::path::PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// Command lines of all processes that were started with this argument.
fn processes_with(marker: &str) -> Vec<String> {
    let folders = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let command = |folder: std::fs::DirEntry| std::fs::read(folder.path().join("cmdline")).ok();
    folders
        .filter_map(command)
        .map(|bytes| String::from_utf8_lossy(&bytes).replace('\0', " "))
        .filter(|line| line.contains(marker))
        .collect()
}

#[tokio::test]
async fn a_python_without_debugpy_is_refused_with_how_to_install_it() -> anyhow::Result<()> {
    let empty = tempfile::tempdir()?;
    let made = std::process::Command::new(child::interpreter("python"))
        .args(["-m", "venv", "--without-pip"])
        .arg(empty.path().join(".venv"))
        .status()?;
    anyhow::ensure!(made.success(), "no virtual environment");
    std::fs::write(empty.path().join("main.py"), "print('never')\n")?;
    let home = HashMap::from([("HOME".to_owned(), empty.path().display().to_string())]);
    let mut editor = DapClient::start_in("editor", home, &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let launch = json!({ "engine": "debugpy", "program": empty.path().join("main.py") });
    let refused = editor.ask("launch", launch).await?;
    let error = &refused.body["error"]["variables"];
    assert_eq!(error["code"], "ENGINE_NOT_FOUND");
    let interpreter = empty.path().join(".venv/bin/python").display().to_string();
    assert!(error["message"].as_str().context("no message")?.contains(&interpreter), "{error}");
    let hint = error["hint"].as_str().context("no hint")?;
    assert!(hint.contains(&format!("{interpreter} -m pip install debugpy")), "{error}");
    // The same client may launch again with better arguments.
    let refused = editor.ask("launch", json!({ "engine": "debugpy", "program": "/no/such.py" })).await?;
    assert_eq!(refused.body["error"]["variables"]["code"], Value::from("LAUNCH_FAILED"));
    editor.finish().await
}

#[tokio::test]
async fn a_python_that_ends_at_once_says_why() -> anyhow::Result<()> {
    let mut editor = editor(&Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let mut launch = child::python("echo.py");
    launch["pythonArgs"] = json!(["--no-such-switch"]);
    let refused = editor.ask("launch", launch).await?;
    let error = &refused.body["error"]["variables"];
    assert_eq!(error["code"], "ENGINE_FAILED");
    assert!(error["message"].as_str().context("no message")?.contains("no-such-switch"), "{error}");
    editor.finish().await
}
