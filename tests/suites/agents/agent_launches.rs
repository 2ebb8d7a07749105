//! The ways into a session as an agent has them: modules and commands, waiting for output, several programs,
//! debuggers that listen already, core files, tests.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::child::{self, Subject};
use tandem_harness::deadline::deadline;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::port::Port;
use tandem_harness::process_tracking::ProcessTracker;
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    a_breakpoint_binds_in_the_assembly_that_is_named_alone,
    an_attached_process_is_reported_by_its_name_and_runtime,
    a_breakpoint_right_after_an_attach_is_verified,
    a_dotnet_launch_that_is_cancelled_early_leaves_no_process,
}

net8_tests! { an_attached_process_is_reported_by_its_name_and_runtime }

async fn agent(folder: &Path) -> anyhow::Result<Agent> {
    Agent::in_folder("agent", folder, &[], &Transcript::default()).await
}

fn script(folder: &Path, name: &str, text: &str) -> anyhow::Result<PathBuf> {
    let path = folder.join(name);
    std::fs::write(&path, text)?;
    Ok(path)
}

#[tokio::test]
async fn a_launch_that_is_cancelled_while_it_waits_leaves_nothing_running() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut agent = agent(folder.path()).await?;
    let text = "import os, time\nopen('started', 'w').write(str(os.getpid()) + '.')\ntime.sleep(600)\n";
    let program = script(folder.path(), "sleeper.py", text)?;
    let launch = Subject::Python.with(json!({ "program": program, "run": true, "timeoutMs": 600_000 }));
    let launching = agent.start_call("debug_launch", launch).await?;
    let started = folder.path().join("started");
    let pid = async {
        loop {
            // It is written whole when it has its full stop.
            let text = std::fs::read_to_string(&started).unwrap_or_default();
            if let Some(pid) = text.strip_suffix('.') {
                return pid.to_owned();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let pid = tokio::time::timeout(deadline(30), pid).await.context("it does not start")?;
    agent.notify("notifications/cancelled", json!({ "requestId": launching, "reason": "enough" })).await?;
    let process = Path::new("/proc").join(&pid);
    let gone = async {
        while process.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(deadline(10), gone).await.with_context(|| format!("{pid} runs on"))?;
    let status = agent.call("debug_status", json!({})).await?;
    assert_eq!(status["state"], "idle", "{status}");
    agent.finish().await
}

async fn a_dotnet_launch_that_is_cancelled_early_leaves_no_process(runtime: Runtime) -> anyhow::Result<()> {
    let launch = json!({ "program": fixture::program("spin"), "run": true });
    leaves_no_process(Some(runtime), launch).await
}

#[tokio::test]
async fn a_python_launch_that_is_cancelled_early_leaves_no_process() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let program = script(folder.path(), "sleeper.py", "import time\ntime.sleep(600)\n")?;
    leaves_no_process(None, Subject::Python.with(json!({ "program": program, "run": true }))).await
}

/// Cancels the launch of a program that does not end, at moments before and after the program starts.
async fn leaves_no_process(runtime: Option<Runtime>, launch: Value) -> anyhow::Result<()> {
    let mut tracker = ProcessTracker::new(0)?;
    let mut command = tokio::process::Command::new(fixture::binary("tandem-mcp"));
    command.envs(runtime.and_then(Runtime::environment).unwrap_or_default()).envs(tracker.environment());
    let mut agent = Agent::spawn("agent", command, &Transcript::default()).await?;
    for delay in [0, 5, 15, 25, 35, 50] {
        let launching = agent.start_call("debug_launch", launch.clone()).await?;
        tokio::time::sleep(Duration::from_millis(delay)).await;
        agent.notify("notifications/cancelled", json!({ "requestId": launching })).await?;
    }
    // By its answer, the last launch has begun.
    agent.call("debug_status", json!({})).await?;
    let end = Instant::now() + deadline(20);
    loop {
        let mut left = tracker.processes();
        left.retain(|(_, part)| part != "bridge");
        let files = tracker.files();
        if left.is_empty() && files.is_empty() {
            break;
        }
        anyhow::ensure!(Instant::now() < end, "left: {left:?}, {files:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(!tracker.seen.is_empty(), "the marks of processes are not read");
    let status = agent.call("debug_status", json!({})).await?;
    assert_eq!(status["state"], "idle", "{status}");
    agent.finish().await
}

const SERVER: &str =
    "import sys\nprint('listening on 4711', flush=True)\nfor line in sys.stdin:\n    print('got', line)\n";

#[tokio::test]
async fn a_launch_waits_for_what_the_program_prints() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut agent = agent(folder.path()).await?;
    let text = "import time\nprint('listening on 4711', flush=True)\nwhile True:\n    time.sleep(1)\n";
    let program = script(folder.path(), "server.py", text)?;
    let arguments = |more: Value| Subject::Python.with(json!({ "program": program, "waitFor": more }));
    let up = agent.call("debug_launch", arguments(json!("listening on \\d+"))).await?;
    assert_eq!(
        (&up["state"], &up["event"]["type"], &up["event"]["matched"]),
        (&json!("running"), &json!("output"), &json!("listening on 4711")),
        "{up}"
    );
    let wrong = agent.call("debug_launch", arguments(json!("("))).await?;
    assert_eq!(wrong["error"]["code"], "INVALID_PARAMETER", "{wrong}");
    agent.finish().await
}

#[tokio::test]
async fn a_second_launch_says_that_the_first_program_runs_on() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut agent = agent(folder.path()).await?;
    let arguments =
        Subject::Python.with(json!({ "program": script(folder.path(), "server.py", SERVER)?, "run": true }));
    let first = agent.call("debug_launch", arguments.clone()).await?;
    let second = agent.call("debug_launch", arguments).await?;
    assert_eq!(second["others"][0]["session"], first["session"], "{second}");
    assert_eq!(second["others"][0]["state"], "running", "{second}");
    // The remaining session becomes the current one, and both answers report it.
    let left = agent.call("debug_disconnect", json!({})).await?;
    assert_eq!((&left["state"], &left["session"]), (&json!("running"), &first["session"]), "{left}");
    let status = agent.call("debug_status", json!({})).await?;
    assert_eq!((&status["state"], &status["session"]), (&json!("running"), &first["session"]), "{status}");
    let left = agent.call("debug_disconnect", json!({})).await?;
    assert_eq!(left["state"], "idle", "{left}");
    agent.finish().await
}

#[tokio::test]
async fn arguments_of_cargo_choose_one_of_two_programs() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    std::fs::create_dir_all(folder.path().join("src/bin"))?;
    let manifest = script(
        folder.path(),
        "Cargo.toml",
        "[package]\nname = \"p\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n",
    )?;
    for name in ["first", "second"] {
        let text = format!("fn main() {{\n    let name = \"{name}\";\n    println!(\"{{name}}\");\n}}\n");
        std::fs::write(folder.path().join("src/bin").join(name).with_extension("rs"), text)?;
    }
    let mut agent = agent(folder.path()).await?;
    let launch = |more: Value| {
        let mut launch = Subject::Lldb.with(json!({ "program": manifest }));
        if let (Some(launch), Some(more)) = (launch.as_object_mut(), more.as_object()) {
            launch.extend(more.clone());
        }
        launch
    };
    // Without a choice the error names both, and how to choose.
    let open = agent.call("debug_launch", launch(json!({}))).await?;
    let (text, hint) = (open["error"]["message"].to_string(), open["error"]["hint"].to_string());
    assert!(text.contains("first") && text.contains("second"), "{open}");
    assert!(hint.contains("--bin"), "{open}");
    let chosen = json!({
        "cargo": { "args": ["build", "--bin", "second"] },
        "breakpoints": [{ "file": folder.path().join("src/bin/second.rs"), "line": 3 }],
        "run": true,
    });
    let stop = agent.call("debug_launch", launch(chosen)).await?;
    assert_eq!((&stop["state"], &stop["event"]["line"]), (&json!("stopped"), &json!(3)), "{stop}");
    // The line may have several places in the code.
    agent.call("debug_remove_breakpoint", json!({ "all": true })).await?;
    let end = agent.call("debug_continue", json!({})).await?;
    assert_eq!((&end["state"], &end["event"]["exitCode"]), (&json!("exited"), &json!(0)), "{end}");
    let output = agent.call("process_read_output", json!({})).await?;
    assert!(output.to_string().contains("second"), "{output}");
    agent.finish().await
}

#[tokio::test]
async fn a_python_module_runs_where_the_agent_works() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let package = folder.path().join("tool");
    std::fs::create_dir(&package)?;
    let main =
        script(&package, "__main__.py", "import os, sys\nwhere = os.getcwd()\nprint(where, sys.argv[1:])\n")?;
    let mut agent = agent(folder.path()).await?;
    let mut arguments = Subject::Python.with(json!({ "module": "tool", "args": ["x"], "run": true }));
    arguments["breakpoints"] = json!([{ "sourceFile": main, "line": 3 }]);
    let hit = agent.call("debug_launch", arguments.clone()).await?;
    let here = folder.path().canonicalize()?;
    assert_eq!(hit["event"]["type"], "breakpointHit", "{hit}");
    assert!(hit["event"]["locals"].to_string().contains(&here.display().to_string()), "{hit}");
    let ended = agent.call("debug_continue", json!({})).await?;
    assert_eq!(ended["event"]["exitCode"], 0, "{ended}");
    arguments["program"] = json!(main);
    let both = agent.call("debug_launch", arguments).await?;
    assert_eq!(both["error"]["code"], "INVALID_PARAMETER", "{both}");
    let nothing = agent.call("debug_launch", json!({ "engine": "debugpy" })).await?;
    assert!(nothing["error"]["hint"].as_str().is_some_and(|hint| hint.contains("`module`")), "{nothing}");
    agent.finish().await
}

/// Ends what it holds when it goes.
struct KillOnDrop(std::process::Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[tokio::test]
async fn a_debugger_that_listens_is_attached_to() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let program = script(folder.path(), "app.py", "total = 3\nprint(total)\n")?;
    let port = Port::take()?;
    let number = port.number()?;
    let mut command = std::process::Command::new(child::interpreter("python"));
    command.args([
        "-Xfrozen_modules=off",
        "-m",
        "debugpy",
        "--listen",
        &number.to_string(),
        "--wait-for-client",
    ]);
    let started =
        command.arg(&program).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let _running = KillOnDrop(started);
    let mut agent = agent(folder.path()).await?;
    let breakpoints = json!([{ "sourceFile": program, "line": 2 }]);
    let arguments = json!({ "port": number, "breakpoints": breakpoints });
    let attached = loop {
        let attached = agent.call("debug_attach", arguments.clone()).await?;
        // It may not listen yet.
        if attached["success"] == true || !attached["error"].to_string().contains("refused") {
            break attached;
        }
    };
    assert_eq!(attached["success"], true, "{attached}");
    let stop = agent.call("debug_wait", json!({})).await?;
    assert_eq!(
        (&stop["event"]["line"], &stop["event"]["locals"][0]["value"]),
        (&json!(2), &json!("3")),
        "{stop}"
    );
    agent.call("debug_disconnect", json!({})).await?;
    let nothing = agent.call("debug_attach", json!({})).await?;
    assert!(nothing["error"]["hint"].as_str().is_some_and(|hint| hint.contains("coreFile")), "{nothing}");
    agent.finish().await
}

#[tokio::test]
async fn a_core_file_is_looked_at() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let core = folder.path().join("core");
    let gdb = Subject::Gdb.with(json!({}))["enginePath"].as_str().context("no gdb")?.to_owned();
    let mut command = std::process::Command::new(gdb);
    command.args(["-q", "-nx", "-batch", "-ex", "break main", "-ex", "run", "-ex"]);
    let made =
        command.arg(format!("generate-core-file {}", core.display())).arg(child::built("echo")).output()?;
    anyhow::ensure!(core.is_file(), "no core: {}", String::from_utf8_lossy(&made.stderr));
    let mut agent = agent(folder.path()).await?;
    for subject in [Subject::Lldb, Subject::Gdb] {
        let arguments = subject.with(json!({ "coreFile": core, "program": child::built("echo") }));
        let opened = agent.call("debug_attach", arguments).await?;
        assert_eq!((&opened["success"], &opened["state"]), (&json!(true), &json!("stopped")), "{opened}");
        let stack = agent.call("debug_stacktrace", json!({})).await?;
        assert!(stack.to_string().contains("echo.c"), "{stack}");
        agent.call("debug_disconnect", json!({})).await?;
    }
    let missing = agent.call("debug_attach", json!({ "coreFile": "/no/core" })).await?;
    assert_eq!(missing["error"]["code"], "INVALID_PARAMETER", "{missing}");
    agent.finish().await
}

async fn an_attached_process_is_reported_by_its_name_and_runtime(runtime: Runtime) -> anyhow::Result<()> {
    let dotnet = runtime.dotnet().context("no runtime")?;
    let mut command = std::process::Command::new(dotnet);
    command.arg(fixture::program("spin")).envs(runtime.environment().context("no runtime")?);
    let started = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let running = KillOnDrop(started);
    let mut agent = Agent::start("agent", runtime, &Transcript::default()).await?;
    let attached = loop {
        let attached = agent.call("debug_attach", json!({ "processId": running.0.id() })).await?;
        // It may not have its runtime yet.
        if attached["error"]["code"] != "NOT_DEBUGGABLE" {
            break attached;
        }
    };
    assert_eq!(attached["processName"], "spin.dll", "{attached}");
    assert!(attached["runtimeVersion"].is_string(), "{attached}");
    agent.call("debug_disconnect", json!({})).await?;
    agent.finish().await
}

/// Whether the modules are there when `debug_attach` answers was a race, so it is tried several times.
async fn a_breakpoint_right_after_an_attach_is_verified(runtime: Runtime) -> anyhow::Result<()> {
    let (process, _lines) = tandem_harness::plain_programs::running_with(runtime, "spin", &[]).await?;
    let mut agent = Agent::start("agent", runtime, &Transcript::default()).await?;
    for round in 0..10 {
        let attached = agent.call("debug_attach", json!({ "processId": process.id() })).await?;
        assert_eq!(attached["state"], "running", "round {round}: {attached}");
        let place = json!({ "file": fixture::source("spin"), "line": fixture::line("spin", "spin") });
        let set = agent.call("debug_set_breakpoint", place).await?;
        assert_eq!(set["verified"], true, "round {round}: {set}");
        agent.call("debug_disconnect", json!({})).await?;
    }
    agent.finish().await
}

/// Both assemblies are compiled from a `Program.cs`; the second is loaded while the program is stopped.
async fn a_breakpoint_binds_in_the_assembly_that_is_named_alone(runtime: Runtime) -> anyhow::Result<()> {
    let mut agent = Agent::start("agent", runtime, &Transcript::default()).await?;
    for (line, assembly) in [
        (fixture::line("tour", "loop"), fixture::program("tour")),
        (fixture::line("jmc", "dog"), "jmc.dll".to_owned()),
    ] {
        let request = json!({ "sourceFile": "Program.cs", "line": line, "dllPath": assembly });
        agent.call("debug_set_breakpoint", request).await?;
    }
    agent.call("debug_launch", json!({ "program": fixture::program("tour") })).await?;
    let set = agent.call("debug_list_breakpoints", json!({})).await?;
    let (own, other) = (&set["breakpoints"][0], &set["breakpoints"][1]);
    assert_eq!((&own["verified"], &other["verified"]), (&json!(true), &json!(false)), "{set}");
    assert!(other["message"].as_str().is_some_and(|message| message.contains("jmc.dll")), "{set}");
    let load = format!("System.Reflection.Assembly.LoadFrom(\"{}\").FullName", fixture::program("jmc"));
    let loaded = agent.call("debug_evaluate", json!({ "expression": load })).await?;
    assert_eq!(loaded["success"], true, "{loaded}");
    let set = agent.call("debug_list_breakpoints", json!({})).await?;
    assert_eq!(set["breakpoints"][1]["verified"], true, "{set}");
    agent.finish().await
}

#[tokio::test]
async fn output_is_read_from_its_end_and_a_write_says_how_far_it_came() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let text = "import time\nfor n in range(5000):\n    print('line', n, 'é')\nprint('up', flush=True)\n\
        time.sleep(600)\n";
    let program = script(folder.path(), "much.py", text)?;
    let mut agent = agent(folder.path()).await?;
    let arguments = Subject::Python.with(json!({ "program": program, "waitFor": "up" }));
    agent.call("debug_launch", arguments).await?;
    // Repeated reads return the newest output in whole characters, and the size of the output before it.
    for _ in 0..2 {
        let read = agent.call("process_read_output", json!({ "maxBytes": 4096 })).await?;
        let shown = read["stdout"].as_str().context("no output")?;
        assert!(shown.ends_with("line 4999 é\nup\n") && !shown.contains('\u{fffd}'), "{read}");
        assert!(read["skipped"].as_u64().is_some_and(|skipped| skipped > 50_000), "{read}");
    }
    let start = agent.call("process_read_output", json!({ "since": "o0.e0", "maxBytes": 4096 })).await?;
    assert!(start["stdout"].as_str().is_some_and(|text| text.starts_with("line 0 é\n")), "{start}");
    let next = json!({ "since": start["cursor"], "maxBytes": 20 });
    let next = agent.call("process_read_output", next).await?;
    assert!(!next["stdout"].as_str().context("no output")?.starts_with("line 0 "), "{next}");
    // A pipe holds 64 KiB; the program reads none of it.
    let much = agent.call("process_write_input", json!({ "data": "x".repeat(100_000) })).await?;
    assert_eq!(
        (&much["error"]["code"], &much["error"]["bytesWritten"]),
        (&json!("TIMEOUT"), &json!(65536)),
        "{much}"
    );
    agent.finish().await
}

#[tokio::test]
async fn a_python_test_is_debugged() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    // pytest itself, as far as a launch sees it.
    let package = folder.path().join("pytest");
    std::fs::create_dir(&package)?;
    let main =
        "import runpy, sys\nprint('asked', sys.argv[1:])\nrunpy.run_path('test_add.py')['test_add']()\n";
    script(&package, "__main__.py", main)?;
    let test =
        script(folder.path(), "test_add.py", "def test_add():\n    total = 1 + 2\n    assert total == 3\n")?;
    let mut agent = agent(folder.path()).await?;
    let mut arguments = Subject::Python.with(json!({ "projectPath": folder.path(), "filter": "add" }));
    arguments["breakpoints"] = json!([{ "sourceFile": test, "text": "assert total" }]);
    let hit = agent.call("debug_launch_test", arguments).await?;
    assert_eq!((&hit["event"]["type"], &hit["event"]["line"]), (&json!("breakpointHit"), &json!(3)), "{hit}");
    let printed = hit["event"]["output"]["stdout"].as_str().unwrap_or_default();
    assert!(printed.contains("'-k', 'add'"), "{hit}");
    let ended = agent.call("debug_continue", json!({})).await?;
    assert_eq!(ended["event"]["exitCode"], 0, "{ended}");
    let nothing = tempfile::tempdir()?;
    std::fs::write(nothing.path().join("package.json"), "{}")?;
    let unknown = agent.call("debug_launch_test", json!({ "projectPath": nothing.path() })).await?;
    assert_eq!(unknown["error"]["code"], "UNSUPPORTED", "{unknown}");
    agent.finish().await
}

/// Perl's debugger is not ready to be configured before the program is compiled.
#[tokio::test]
async fn launch_of_a_program_with_a_syntax_error_reports_its_end() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let program = script(folder.path(), "main.pl", "sub {\n")?;
    let mut agent = agent(folder.path()).await?;
    let launch = Subject::Perl.with(json!({ "program": program, "run": true }));
    let end = agent.call("debug_launch", launch).await?;
    assert_eq!((&end["state"], &end["event"]["exitCode"]), (&json!("exited"), &json!(255)), "{end}");
    let stderr = end["event"]["output"]["stderr"].as_str().unwrap_or_default();
    assert!(stderr.contains("syntax error"), "{end}");
    agent.finish().await
}

#[tokio::test]
async fn text_of_a_line_is_found_in_a_file_named_by_the_end_of_its_path() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    std::fs::create_dir_all(folder.path().join("src/deep"))?;
    let program = script(&folder.path().join("src/deep"), "main.py", "total = 1\nprint(total)\n")?;
    let mut agent = agent(folder.path()).await?;
    let request = json!({ "sourceFile": "deep/main.py", "text": "print(total)" });
    let early = agent.call("debug_set_breakpoint", request).await?;
    assert_eq!((&early["line"], &early["file"]), (&json!(2), &json!(program.canonicalize()?)), "{early}");
    let hit =
        agent.call("debug_launch", Subject::Python.with(json!({ "program": program, "run": true }))).await?;
    assert_eq!(hit["event"]["breakpointId"], early["id"], "{hit}");
    agent.finish().await
}
