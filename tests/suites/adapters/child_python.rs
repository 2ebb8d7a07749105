//! Features for Python, over the direct connection to the debugged process.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::child::{self, Subject};
use tandem_harness::client::DapClient;
use tandem_harness::deadline::deadline;
use tandem_harness::process_tracking::ProcessTracker;
use tandem_harness::transcript::Transcript;

fn editor() -> anyhow::Result<DapClient> {
    DapClient::start_in("editor", HashMap::new(), &Transcript::default())
}

/// A program that only one test uses.
struct PythonScript {
    folder: tempfile::TempDir,
    source: &'static str,
    program: &'static str,
}

impl PythonScript {
    fn new(text: &str) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("main.py"), text)?;
        Ok(Self { folder, source: "main.py", program: "main.py" })
    }

    /// Makes it the main module of an archive, beside its source, in a folder that pydevd takes for one.
    fn pack(&mut self) -> anyhow::Result<()> {
        let main = self.path();
        (self.source, self.program) = ("old.eggs/app/__main__.py", "old.eggs/app.pyz");
        std::fs::create_dir_all(self.folder.path().join("old.eggs/app"))?;
        std::fs::rename(main, self.path())?;
        let mut pack = std::process::Command::new(child::interpreter("python"));
        pack.args(["-m", "zipapp", "old.eggs/app"]).current_dir(self.folder.path());
        anyhow::ensure!(pack.status()?.success(), "no archive");
        Ok(())
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join(self.source)
    }

    fn launch(&self, more: Value) -> Value {
        let program = self.folder.path().join(self.program);
        let mut launch = Subject::Python.with(json!({ "program": program }));
        if let (Some(launch), Value::Object(more)) = (launch.as_object_mut(), more) {
            launch.extend(more);
        }
        launch
    }
}

async fn value(editor: &mut DapClient, expression: &str, frame: &Value) -> anyhow::Result<Value> {
    let arguments = json!({ "expression": expression, "frameId": frame["id"], "context": "watch" });
    Ok(editor.ok("evaluate", arguments).await?["result"].clone())
}

async fn run_to_end(editor: &mut DapClient, thread: i64) -> anyhow::Result<Value> {
    editor.ok("continue", json!({ "threadId": thread })).await?;
    let exited = editor.event("exited").await?;
    editor.event("terminated").await?;
    Ok(exited["exitCode"].clone())
}

/// `sys.exit` is how programs end, whatever the exit code. Python's variable disables `breakpoint()`.
#[tokio::test]
async fn an_exit_is_not_an_exception_unless_the_launch_says_so() -> anyhow::Result<()> {
    let cases = [
        ("sys.exit(3)", json!({}), Some(3)),
        ("sys.exit(3)", json!({ "engineOptions": { "throughAdapter": true } }), Some(3)),
        ("sys.exit(3)", json!({ "engineOptions": { "breakOnSystemExit": [3] } }), None),
        ("breakpoint()\nsys.exit(3)", json!({ "env": { "PYTHONBREAKPOINT": "0" } }), Some(3)),
    ];
    let ends = cases.map(|(end, more, code)| async move {
        let script = PythonScript::new(&format!("import sys\n{end}\n"))?;
        let mut editor = editor()?;
        editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
        let launch = editor.send("launch", script.launch(more.clone())).await?;
        editor.initialized(launch).await?;
        editor.ok("setExceptionBreakpoints", json!({ "filters": ["uncaught"] })).await?;
        editor.ok("configurationDone", Value::Null).await?;
        anyhow::ensure!(editor.response(launch).await?.success, "{end} is not launched");
        let (event, body) = editor.any_event(&["stopped", "exited"]).await?;
        match code {
            Some(code) => assert_eq!((event.as_str(), &body["exitCode"]), ("exited", &json!(code)), "{end}"),
            None => assert_eq!((event.as_str(), &body["reason"]), ("stopped", &json!("exception")), "{more}"),
        }
        editor.finish().await
    });
    for end in futures::future::join_all(ends).await {
        end?;
    }
    Ok(())
}

const COUNTS: &str = "total = 0\nfor i in range(10):\n    total += i\nprint('sum', total)\n";

#[tokio::test]
async fn a_stop_on_entry_is_before_the_first_line() -> anyhow::Result<()> {
    let script = PythonScript::new(COUNTS)?;
    let mut editor = editor()?;
    editor.launch_child(script.launch(json!({ "stopOnEntry": true })), &script.path(), &[]).await?;
    let stopped = editor.event("stopped").await?;
    assert_eq!(stopped["reason"], "entry");
    let thread = stopped["threadId"].as_i64().context("no thread")?;
    let stack = editor.ok("stackTrace", json!({ "threadId": thread })).await?;
    assert_eq!(
        (&stack["stackFrames"][0]["line"], &stack["stackFrames"][0]["name"]),
        (&json!(1), &json!("<module>"))
    );
    assert_eq!(run_to_end(&mut editor, thread).await?, 0);
    assert_eq!(editor.output[0], "sum 45\n");
    editor.finish().await
}

async fn breakpoint(editor: &mut DapClient, script: &PythonScript, request: Value) -> anyhow::Result<()> {
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let launched = editor.send("launch", script.launch(json!({}))).await?;
    editor.event("initialized").await?;
    editor
        .ok("setBreakpoints", json!({ "source": { "path": script.path() }, "breakpoints": [request] }))
        .await?;
    editor.ok("configurationDone", Value::Null).await?;
    anyhow::ensure!(editor.response(launched).await?.success, "not launched");
    Ok(())
}

#[tokio::test]
async fn conditions_hit_counts_and_log_messages_hold() -> anyhow::Result<()> {
    let script = PythonScript::new(COUNTS)?;
    for (request, expected) in
        [(json!({ "line": 3, "condition": "i == 7" }), "7"), (json!({ "line": 3, "hitCondition": "3" }), "2")]
    {
        let mut editor = editor()?;
        breakpoint(&mut editor, &script, request).await?;
        let (thread, frame) = editor.stop().await?;
        assert_eq!(value(&mut editor, "i", &frame).await?, expected);
        assert_eq!(run_to_end(&mut editor, thread).await?, 0);
        editor.finish().await?;
    }
    let mut editor = editor()?;
    breakpoint(&mut editor, &script, json!({ "line": 3, "logMessage": "{i} of {total}" })).await?;
    editor.event("exited").await?;
    editor.event("terminated").await?;
    // Only the program's own output appears on its stdout.
    assert_eq!(editor.output[0], "sum 45\n");
    assert!(editor.output[2].contains("3 of 3\n4 of 6\n"), "{:?}", editor.output);
    editor.finish().await
}

#[tokio::test]
async fn a_scope_inside_a_condition_has_the_functions_names() -> anyhow::Result<()> {
    let text = "def over(xs, limit):\n    return len(xs)\nfor i in range(6):\n    over([i], 3)\nprint(i)\n";
    let mut script = PythonScript::new(text)?;
    script.pack()?;
    let mut editor = editor()?;
    breakpoint(&mut editor, &script, json!({ "line": 2, "condition": "any(x > limit for x in xs)" })).await?;
    let (thread, frame) = editor.stop().await?;
    assert_eq!(frame["source"]["path"], json!(script.path()));
    assert_eq!(value(&mut editor, "xs", &frame).await?, "[4]");
    let set = json!([{ "line": 2, "condition": "any(x > limits for x in xs)" }]);
    editor.ok("setBreakpoints", json!({ "source": { "path": script.path() }, "breakpoints": set })).await?;
    editor.ok("continue", json!({ "threadId": thread })).await?;
    let stopped = editor.event("stopped").await?;
    let text = stopped["text"].as_str().context("no text")?;
    assert!(text.contains("`any(x > limits for x in xs)`") && text.contains("NameError"), "{text}");
    assert_eq!(run_to_end(&mut editor, thread).await?, 0);
    editor.finish().await
}

#[tokio::test]
async fn exceptions_stop_by_filter() -> anyhow::Result<()> {
    let script =
        PythonScript::new("try:\n    int('a')\nexcept ValueError:\n    print('caught')\nint('b')\n")?;
    for (filters, line) in [(json!(["raised"]), 2), (json!(["uncaught"]), 5)] {
        let mut editor = editor()?;
        editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
        let launched = editor.send("launch", script.launch(json!({}))).await?;
        editor.event("initialized").await?;
        editor.ok("setExceptionBreakpoints", json!({ "filters": filters })).await?;
        editor.ok("configurationDone", Value::Null).await?;
        editor.response(launched).await?;
        let (thread, frame) = editor.stop().await?;
        assert_eq!(frame["line"], line);
        let body = editor.ok("exceptionInfo", json!({ "threadId": thread })).await?;
        assert_eq!(body["exceptionId"], "ValueError");
        if line == 2 {
            editor.ok("next", json!({ "threadId": thread })).await?;
            editor.event("stopped").await?;
            let refused = editor.refused("exceptionInfo", json!({ "threadId": thread })).await?;
            assert_eq!(refused, "INVALID_PARAMETER");
        }
        editor.finish().await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_forked_child_that_ends_at_once_answers_the_continue() -> anyhow::Result<()> {
    let text =
        "import os\npid = os.fork()\nif pid == 0:\n    os._exit(3)\nprint(os.waitpid(pid, 0)[1] >> 8)\n";
    let script = PythonScript::new(text)?;
    let transcript = Transcript::default();
    let mut editor = DapClient::start_in("editor", HashMap::new(), &transcript)?;
    let hello = json!({ "clientID": "test", "adapterID": "tandem", "supportsStartDebuggingRequest": true });
    editor.ok("initialize", hello).await?;
    let launched = editor.send("launch", script.launch(json!({}))).await?;
    editor.event("initialized").await?;
    editor.break_on(&script.path(), &[4]).await?;
    editor.ok("configurationDone", Value::Null).await?;
    editor.response(launched).await?;
    let request = editor.request("startDebugging").await?;
    let id = request["configuration"]["session"].as_str().context("no session")?.to_owned();
    let mut forked = DapClient::connect(
        "forked",
        &editor.socket().await?.with_file_name(format!("{id}.sock")),
        &transcript,
    )
    .await?;
    forked.join(json!({ "clientID": "other", "adapterID": "tandem" })).await?;
    let (thread, frame) = forked.stop().await?;
    assert_eq!(frame["line"], 4);
    forked.ok("continue", json!({ "threadId": thread })).await?;
    forked.event("terminated").await?;
    forked.finish().await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 0);
    assert_eq!(editor.output[0], "3\n");
    editor.finish().await
}

/// No client could resume a child that stops if none opens its session.
#[tokio::test]
async fn a_child_that_the_editor_cannot_open_continues_at_breakpoints() -> anyhow::Result<()> {
    for fork in ["os.fork()", "pty.fork()[0]"] {
        let text = format!(
            "import os, pty\npid = {fork}\nif pid == 0:\n    os._exit(3)\nprint(os.waitpid(pid, 0)[1] >> 8)\n"
        );
        let script = PythonScript::new(&text)?;
        let mut editor = editor()?;
        editor.launch_child(script.launch(json!({})), &script.path(), &[4]).await?;
        assert_eq!(editor.event("exited").await?["exitCode"], 0, "{fork}");
        assert_eq!(editor.output[0], "3\n", "{fork}");
        editor.finish().await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_daemon_that_is_debugged_ends_with_its_session() -> anyhow::Result<()> {
    let text = "import os, time\nif os.fork():\n    os._exit(0)\nos.setsid()\n\
                if os.fork():\n    os._exit(0)\nprint('daemon', os.getpid(), flush=True)\ntime.sleep(60)\n";
    let script = PythonScript::new(text)?;
    let mut place = ProcessTracker::new(0)?;
    let mut editor = DapClient::start_in("editor", place.environment(), &Transcript::default())?;
    editor.launch_child(script.launch(json!({})), &script.path(), &[]).await?;
    let printed = editor.take_stdout("\n").await?;
    let daemon: u64 = printed.trim().strip_prefix("daemon ").context("no pid")?.parse()?;
    assert!(place.processes().iter().any(|(pid, _)| *pid == daemon));
    editor.finish().await?;
    // The kernel may still be taking the killed process apart.
    place.wait_until_ended(deadline(20)).await
}

#[tokio::test]
async fn an_endless_loop_is_paused_and_ended() -> anyhow::Result<()> {
    let script = PythonScript::new("x = 0\nprint('on')\nwhile True:\n    x += 1\n")?;
    let mut editor = editor()?;
    editor.launch_child(script.launch(json!({})), &script.path(), &[]).await?;
    let pid = editor.event("process").await?["systemProcessId"].clone();
    editor.read_stdout("on").await?;
    editor.ok("pause", json!({ "threadId": 1 })).await?;
    let (thread, _) = editor.stop().await?;
    editor.ok("continue", json!({ "threadId": thread })).await?;
    editor.ok("terminate", json!({})).await?;
    editor.event("terminated").await?;
    assert!(!Path::new(&format!("/proc/{pid}")).exists(), "{pid} survives");
    editor.finish().await
}

#[tokio::test]
async fn environment_of_the_project_is_used() -> anyhow::Result<()> {
    let script = PythonScript::new("import sys\nprint(sys.prefix)\n")?;
    let python = PathBuf::from(child::interpreter("python"));
    let environment = python.parent().and_then(Path::parent).context("no environment")?;
    let own = script.folder.path().join(".venv");
    std::os::unix::fs::symlink(environment, &own)?;
    let mut editor = editor()?;
    editor.launch_child(json!({ "program": script.path() }), &script.path(), &[]).await?;
    editor.event("exited").await?;
    editor.event("terminated").await?;
    assert_eq!(editor.output[0].trim(), own.display().to_string());
    editor.finish().await
}

const DEADLOCK: &str = "\
import sys, threading, time
a, b, met = threading.Lock(), threading.Lock(), threading.Barrier(2)
def lock(first, second):
    with first:
        met.wait()
        with second:
            pass
threads = [threading.Thread(target=lock, args=args, name=name) for args, name in [((a, b), 'one'), ((b, a), \
'two')]]
for thread in threads: thread.start()
while any(sys._current_frames()[thread.ident].f_lineno != 6 for thread in threads): time.sleep(0.01)
print('on')
for thread in threads: thread.join()
";

/// No thread reaches another line, so debugpy never reports a stop; the test wants the line
/// at which each thread waits.
#[tokio::test]
async fn a_deadlock_is_paused_and_shows_where_each_thread_waits() -> anyhow::Result<()> {
    let script = PythonScript::new(DEADLOCK)?;
    for engine_options in [json!({}), json!({ "throughAdapter": true })] {
        let launch = script.launch(json!({ "engineOptions": engine_options }));
        let mut editor = editor()?;
        editor.launch_child(launch, &script.path(), &[]).await?;
        editor.read_stdout("on").await?;
        editor.ok("pause", json!({ "threadId": 0 })).await?;
        assert_eq!(editor.event("stopped").await?["reason"], "pause");
        let threads = editor.ok("threads", Value::Null).await?;
        for name in ["one", "two"] {
            let mut listed = threads["threads"].as_array().into_iter().flatten();
            let thread = listed.find(|thread| thread["name"] == name).context("a thread is missing")?;
            let stack = editor.ok("stackTrace", json!({ "threadId": thread["id"] })).await?;
            assert_eq!(
                (&stack["stackFrames"][0]["name"], &stack["stackFrames"][0]["line"]),
                (&json!("lock"), &json!(6))
            );
        }
        editor.ok("continue", json!({ "threadId": 1 })).await?;
        editor.ok("disconnect", json!({ "terminateDebuggee": true })).await?;
        editor.wait_until_ended().await?;
    }
    Ok(())
}

/// Completion triggers, which debugpy does not announce, and debugpy's private fields,
/// which clients must not get.
#[tokio::test]
async fn its_capabilities_say_what_it_completes_behind_and_nothing_of_its_own() -> anyhow::Result<()> {
    let script = PythonScript::new("words = ['a']\nprint(words)\n")?;
    let mut editor = editor()?;
    let initialize = editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    assert_eq!(initialize["completionTriggerCharacters"], json!(["."]));
    let launch = editor.send("launch", script.launch(json!({}))).await?;
    let event = editor.event("capabilities").await?;
    let capabilities = event["capabilities"].as_object().context("no capabilities")?;
    assert_eq!(capabilities.get("completionTriggerCharacters"), None, "as before");
    assert!(
        capabilities.keys().all(|name| name.starts_with("support")
            || name.starts_with("exception")
            || name.ends_with("Columns")
            || name.ends_with("Algorithms")),
        "{capabilities:?}"
    );
    editor.initialized(launch).await?;
    editor.ok("configurationDone", Value::Null).await?;
    editor.response(launch).await?;
    editor.event("exited").await?;
    editor.event("terminated").await?;
    editor.finish().await
}

const ROUNDS: &str = "hits = 0\nfor i in range(20000):\n    hits += 1\nprint('all', hits)\n";

/// debugpy keeps one breakpoint per line: it has to get both conditions, and neither may hide the other, even
/// with a syntax error or a comment.
#[tokio::test]
async fn conditions_on_one_line_stop_only_where_one_holds() -> anyhow::Result<()> {
    let script = PythonScript::new(ROUNDS)?;
    let mut editor = editor()?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let launched = editor.send("launch", script.launch(json!({}))).await?;
    editor.event("initialized").await?;
    let requests = json!([{ "line": 3, "condition": "i == 15000" },
        { "line": 3, "condition": "None.x if i == 9000 else False" },
        { "line": 3, "condition": "str(i) == \"19999\" # the last" }]);
    let arguments = json!({ "source": { "path": script.path() }, "breakpoints": requests });
    let set = editor.ok("setBreakpoints", arguments).await?["breakpoints"].clone();
    editor.ok("configurationDone", Value::Null).await?;
    anyhow::ensure!(editor.response(launched).await?.success, "not launched");
    for (at, round) in [(1, "9000"), (0, "15000"), (2, "19999")] {
        let stopped = editor.event("stopped").await?;
        assert_eq!(stopped["hitBreakpointIds"], json!([set[at]["id"]]), "{stopped}");
        let stack = editor.ok("stackTrace", json!({ "threadId": stopped["threadId"] })).await?;
        assert_eq!(value(&mut editor, "i", &stack["stackFrames"][0]).await?, round);
        editor.ok("continue", json!({ "threadId": stopped["threadId"] })).await?;
    }
    editor.event("exited").await?;
    editor.event("terminated").await?;
    assert_eq!(editor.output[0], "all 20000\n");
    editor.finish().await
}

/// A project with a virtual environment without debugpy, and a command in it.
fn create_project() -> anyhow::Result<(tempfile::TempDir, String)> {
    let folder = tempfile::tempdir()?;
    let python = child::interpreter("python");
    let made = std::process::Command::new(&python)
        .args(["-m", "venv", "--without-pip", ".venv"])
        .current_dir(folder.path())
        .status()?;
    anyhow::ensure!(made.success(), "no environment");
    let bin = folder.path().join(".venv/bin");
    let code = "import os, sys\nprint(sys.prefix, os.getcwd(), sys.path.count(os.getcwd()), *sys.argv[1:])\n";
    std::fs::write(folder.path().join("tool.py"), code)?;
    let command = bin.join("check-all");
    std::fs::write(&command, format!("#!{}\n{code}", bin.join("python").display()))?;
    std::fs::set_permissions(&command, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let others = Path::new(&python).parent().context("no folder")?.display().to_string();
    let path = format!("{others}:{}", std::env::var("PATH").unwrap_or_default());
    Ok((folder, path))
}

/// The project's Python runs it, with the debugpy of another Python.
#[tokio::test]
async fn commands_and_modules_run_in_the_environment_of_the_project() -> anyhow::Result<()> {
    let (folder, path) = create_project()?;
    let root = folder.path().canonicalize()?;
    for (what, own_folders) in [
        (json!({ "program": "check-all" }), 0),
        (json!({ "module": "tool", "engine": "debugpy" }), 0),
        (json!({ "program": "tool.py", "python": ".venv/bin/python" }), 1),
    ] {
        // Python itself adds the folder of a script only.
        let expected = format!("{} {} {own_folders} -v\n", root.join(".venv").display(), root.display());
        let mut launch = what.clone();
        launch["__workspaceFolder"] = json!(root);
        launch["args"] = json!(["-v"]);
        launch["env"] = json!({ "PATH": path, "VIRTUAL_ENV": null });
        let mut editor = editor()?;
        editor.launch_child(launch, Path::new(""), &[]).await?;
        editor.event("exited").await?;
        editor.event("terminated").await?;
        assert_eq!(editor.output[0], expected, "{what}: {:?}", editor.output);
        editor.finish().await?;
    }
    Ok(())
}

/// No part of the answer is about .NET.
#[tokio::test]
async fn a_command_that_is_not_there_is_refused_with_where_it_was_looked_for() -> anyhow::Result<()> {
    let mut editor = editor()?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let answer = editor.ask("launch", json!({ "program": "no-such-command" })).await?;
    let error = answer.body["error"].to_string();
    assert!(!answer.success, "{error}");
    assert!(
        error.contains("no-such-command") && error.contains("PATH") && !error.contains("csproj"),
        "{error}"
    );
    editor.finish().await
}

/// Two workers that share a lock, by the method that needs names for it.
const WORKERS: &str = "import multiprocessing as mp, time
def work(lock):
    while True:
        with lock: time.sleep(0.02)
if __name__ == '__main__':
    mp.set_start_method('spawn')
    lock = mp.Lock()
    workers = [mp.Process(target=work, args=(lock,)) for _ in range(2)]
    for worker in workers: worker.start()
    print('lock', lock._semlock.name, flush=True)
    for worker in workers: worker.join()
";

/// Python's own helper removes the semaphores of `multiprocessing` when all else of the program has gone;
/// killed with the rest, it would leave them.
#[tokio::test]
async fn no_semaphore_of_multiprocessing_outlives_its_session() -> anyhow::Result<()> {
    for (end, more) in [
        ("disconnect", json!({})),
        ("disconnect", json!({ "subProcess": false })),
        ("terminate", json!({ "subProcess": false })),
        ("kill", json!({ "subProcess": false })),
    ] {
        let script = PythonScript::new(WORKERS)?;
        let mut place = ProcessTracker::new(0)?;
        let mut editor = DapClient::start_in("editor", place.environment(), &Transcript::default())?;
        editor.launch_child(script.launch(more), &script.path(), &[]).await?;
        let text = editor.take_stdout("\n").await?;
        let name = text.trim().rsplit_once('/').context("no name")?.1.to_owned();
        let semaphore = std::path::Path::new("/dev/shm").join(format!("sem.{name}"));
        anyhow::ensure!(semaphore.exists(), "no {}", semaphore.display());
        match end {
            "kill" => editor.kill().await?,
            "terminate" => {
                editor.ok("terminate", json!({})).await?;
                editor.event("terminated").await?;
                editor.finish().await?;
            }
            _ => editor.finish().await?,
        }
        let removed = async {
            while semaphore.exists() {
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
        };
        let removed = tokio::time::timeout(deadline(20), removed).await;
        removed.with_context(|| format!("{end}: {} is left", semaphore.display()))?;
        place.wait_until_ended(deadline(20)).await.context(end)?;
    }
    Ok(())
}
