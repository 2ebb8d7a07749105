//! Attaching to programs of other languages: by process id, and to a debugger that listens. The program's
//! stdio stay whose they are, and it runs on when the session ends.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tandem_harness::child::{self, Subject};
use tandem_harness::client::DapClient;
use tandem_harness::deadline::deadline;
use tandem_harness::port::Port;
use tandem_harness::transcript::Transcript;

use super::child_ruby::{RubyStop, counting};

/// A program that runs without us; it ends with the test.
struct RunningProgram(Child);

impl RunningProgram {
    fn start(program: &str, args: &[&str]) -> anyhow::Result<Self> {
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self(command.spawn().with_context(|| program.to_owned())?))
    }

    /// Whether it is running and no debugger holds it.
    fn is_free(&mut self) -> anyhow::Result<bool> {
        ensure!(self.0.try_wait()?.is_none(), "it has ended");
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id()))?;
        let stopped =
            status.lines().any(|line| line.starts_with("State:\tT") || line.starts_with("State:\tt"));
        Ok(!stopped && status.contains("TracerPid:\t0"))
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        self.0.kill().unwrap_or_default();
        self.0.wait().map(drop).unwrap_or_default();
    }
}

fn editor() -> anyhow::Result<DapClient> {
    DapClient::start_in("editor", HashMap::new(), &Transcript::default())
}

/// One visit: a breakpoint, a value, a step, no stdio, and gone. Gives how far the program had counted.
async fn attach_and_detach(attach: &Value, source: &PathBuf) -> anyhow::Result<i64> {
    let line = child::line(source, "spin");
    let mut editor = editor()?;
    editor.attach_child(attach.clone(), source, &[line]).await?;
    let (mut thread, mut frame) = editor.stop().await?;
    if frame["line"] != line {
        // gdb, and Ruby's gem before 1.6, are stopped where they attached to the program.
        editor.ok("continue", json!({ "threadId": thread })).await?;
        (thread, frame) = editor.stop().await?;
    }
    assert_eq!((&frame["line"], &frame["source"]["path"]), (&json!(line), &json!(source)));
    let arguments = json!({ "expression": "total", "frameId": frame["id"], "context": "watch" });
    let total = editor.ok("evaluate", arguments).await?;
    editor.ok("next", json!({ "threadId": thread })).await?;
    let (_, frame) = editor.stop().await?;
    assert_ne!(frame["line"], line);
    for command in ["processWriteInput", "processReadOutput"] {
        assert_eq!(editor.refused(command, json!({ "data": "x" })).await?, "IO_NOT_OWNED");
    }
    editor.finish().await?;
    total["result"].as_str().context("no result")?.parse().with_context(|| total.to_string())
}

/// Two visits: the program ran on in between.
async fn attach_twice(mut program: RunningProgram, attach: Value, source: PathBuf) -> anyhow::Result<()> {
    let first = attach_and_detach(&attach, &source).await?;
    let freed = async {
        while !program.is_free()? {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(deadline(10), freed).await.context("it is held")??;
    let second = attach_and_detach(&attach, &source).await?;
    ensure!(second > first, "it made no progress since {first}");
    Ok(())
}

/// Waits until a program has reached its own code.
async fn wait_until_running(program: &RunningProgram) -> anyhow::Result<()> {
    let stat = format!("/proc/{}/stat", program.0.id());
    let waiting = async {
        loop {
            let text = std::fs::read_to_string(&stat)?;
            // It sleeps between two counts.
            if text.rsplit_once(')').is_some_and(|(_, rest)| rest.starts_with(" S")) {
                return anyhow::Ok(());
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(deadline(10), waiting).await?
}

async fn listens(port: u16) -> anyhow::Result<()> {
    let row = format!("0100007F:{port:04X} 00000000:0000 0A");
    let waiting = async {
        while !std::fs::read_to_string("/proc/net/tcp")?.contains(&row) {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(deadline(20), waiting).await.context("no debugger listens")?
}

async fn by_process_id(subject: Subject, program: &str, args: &[&str], source: &str) -> anyhow::Result<()> {
    let running = RunningProgram::start(program, args)?;
    wait_until_running(&running).await?;
    let attach = subject.with(json!({ "processId": running.0.id() }));
    attach_twice(running, attach, child::source(source)).await
}

#[tokio::test]
async fn a_native_program_by_process_id_with_lldb() -> anyhow::Result<()> {
    by_process_id(Subject::Lldb, &child::built("spin"), &[], "spin.c").await
}

#[tokio::test]
async fn a_native_program_by_process_id_with_gdb() -> anyhow::Result<()> {
    by_process_id(Subject::Gdb, &child::built("spin"), &[], "spin.c").await
}

#[tokio::test]
async fn a_go_program_by_process_id() -> anyhow::Result<()> {
    by_process_id(Subject::Delve, &child::built("go-spin"), &[], "go-spin/main.go").await
}

#[tokio::test]
async fn a_python_program_by_process_id() -> anyhow::Result<()> {
    let source = child::source("spin.py").display().to_string();
    by_process_id(Subject::Python, &child::interpreter("python"), &[&source], "spin.py").await
}

#[tokio::test]
async fn a_python_program_whose_debugger_listens() -> anyhow::Result<()> {
    let (kept, source) = (Port::take()?, child::source("spin.py"));
    let port = kept.number()?;
    let (listen, path) = (format!("127.0.0.1:{port}"), source.display().to_string());
    let args = ["-Xfrozen_modules=off", "-m", "debugpy", "--listen", &listen, "--wait-for-client", &path];
    let running = RunningProgram::start(&child::interpreter("python"), &args)?;
    listens(port).await?;
    // Also without `engine`: `connect` is an attribute of Python's debugger.
    attach_twice(running, json!({ "connect": { "host": "127.0.0.1", "port": port } }), source).await
}

#[tokio::test]
async fn a_node_program_by_the_port_it_inspects_on() -> anyhow::Result<()> {
    let (kept, source) = (Port::take()?, child::source("spin.js"));
    let port = kept.number()?;
    let inspect = format!("--inspect=127.0.0.1:{port}");
    let running =
        RunningProgram::start(&child::interpreter("node"), &[&inspect, &source.display().to_string()])?;
    listens(port).await?;
    attach_twice(running, Subject::Js.with(json!({ "port": port })), source).await
}

/// Waits until a port is closed.
async fn is_closed(port: u16) -> anyhow::Result<()> {
    let row = format!("0100007F:{port:04X} 00000000:0000 0A");
    let waiting = async {
        while std::fs::read_to_string("/proc/net/tcp")?.contains(&row) {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(deadline(20), waiting).await.context("it stays open")?
}

/// Anyone who can connect to the port can run anything in the program.
#[tokio::test]
async fn a_port_that_node_opened_for_us_is_closed_again() -> anyhow::Result<()> {
    let (kept, source) = (Port::take()?, child::source("spin.js"));
    let port = kept.number()?;
    let inspect = format!("--inspect-port=127.0.0.1:{port}");
    let node = child::interpreter("node");
    let mut running = RunningProgram::start(&node, &[&inspect, &source.display().to_string()])?;
    wait_until_running(&running).await?;
    let attach = Subject::Js.with(json!({ "processId": running.0.id() }));
    for _ in 0..2 {
        attach_and_detach(&attach, &source).await?;
        is_closed(port).await?;
    }
    // An adapter that fails, one that is killed during the request, and a client that cancels.
    let folder = tempfile::tempdir()?;
    let failing = folder.path().join("dapDebugServer.js");
    for adapter in ["process.exit(3)", "process.kill(process.pid, 'SIGKILL')"] {
        std::fs::write(&failing, adapter)?;
        let mut attach = attach.clone();
        attach["enginePath"] = json!(failing);
        let mut editor = editor()?;
        editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
        assert_eq!(editor.refused("attach", attach).await?, "ENGINE_FAILED");
        is_closed(port).await?;
        editor.finish().await?;
    }
    let mut editor = editor()?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let seq = editor.send("attach", attach).await?;
    listens(port).await?;
    editor.ok("cancel", json!({ "requestId": seq })).await?;
    let refused = editor.response(seq).await?;
    assert_eq!(refused.body["error"]["variables"]["code"], "CANCELLED");
    is_closed(port).await?;
    editor.finish().await?;
    ensure!(running.is_free()?, "it is held");
    Ok(())
}

/// A failed attempt to attach does not end a program that another process started.
async fn survives_a_cancelled_attach(subject: Subject, program: &str, args: &[&str]) -> anyhow::Result<()> {
    let mut running = RunningProgram::start(program, args)?;
    wait_until_running(&running).await?;
    // Some adapters answer before they are configured, and then there is nothing to cancel.
    for delay in [0, 100, 300, 1000] {
        let mut editor = editor()?;
        editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
        let seq = editor.send("attach", subject.with(json!({ "processId": running.0.id() }))).await?;
        tokio::time::sleep(std::time::Duration::from_millis(delay)).await;
        let cancelled = editor.ask("cancel", json!({ "requestId": seq })).await?;
        let answer = editor.response(seq).await?;
        ensure!(!answer.success || delay > 0, "neither cancelled nor refused: {cancelled:?}");
        editor.finish().await?;
    }
    let freed = async {
        while !running.is_free()? {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(deadline(10), freed).await.context("it is held")?
}

#[tokio::test]
async fn a_native_program_survives_a_cancelled_attach() -> anyhow::Result<()> {
    for subject in [Subject::Lldb, Subject::Gdb] {
        survives_a_cancelled_attach(subject, &child::built("spin"), &[]).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_go_program_survives_a_cancelled_attach() -> anyhow::Result<()> {
    survives_a_cancelled_attach(Subject::Delve, &child::built("go-spin"), &[]).await
}

#[tokio::test]
async fn a_python_program_survives_a_cancelled_attach() -> anyhow::Result<()> {
    let source = child::source("spin.py").display().to_string();
    survives_a_cancelled_attach(Subject::Python, &child::interpreter("python"), &[&source]).await
}

/// A Ruby program that does not wait for a client but listens on this socket, as this gem does it.
fn start_listening_ruby(
    subject: Subject,
    way: (&str, &str),
    source: &Path,
) -> anyhow::Result<RunningProgram> {
    let mut command = Command::new(child::interpreter("ruby"));
    command.arg("-rdebug/open_nonstop").arg(source).env(way.0, way.1).envs(subject.gem_variables());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(RunningProgram(command.spawn()?))
}

/// Whether a process listens on a socket, whose file is there a moment earlier (`/proc/net/unix`, the flag
/// `__SO_ACCEPTCON`).
fn is_listened_on(socket: &Path) -> bool {
    let all = std::fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let path = socket.to_string_lossy();
    all.lines().any(|line| line.ends_with(&*path) && line.split_whitespace().nth(3) == Some("00010000"))
}

/// Attaches to a Ruby program through a socket, once it listens there.
async fn ruby_on_a_socket(
    subject: Subject,
    folder: &Path,
    source: &Path,
) -> anyhow::Result<(RunningProgram, Value)> {
    let socket = folder.join("rdbg");
    let running =
        start_listening_ruby(subject, ("RUBY_DEBUG_SOCK_PATH", &socket.display().to_string()), source)?;
    let there = async {
        while !is_listened_on(&socket) {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(deadline(20), there).await.context("no socket")?;
    Ok((running, json!({ "engine": "rdbg", "connect": { "socket": socket } })))
}

/// Attaches to a Ruby program, and pauses it if the gem does not; returns the thread that is stopped.
async fn attach_to_ruby(editor: &mut DapClient, subject: Subject, attach: Value) -> anyhow::Result<i64> {
    editor.attach_child(attach, &child::source("spin.rb"), &[]).await?;
    if !subject.stops_at_attach() {
        editor.ok("pause", json!({ "threadId": 1 })).await?;
    }
    let stopped = editor.event("stopped").await?;
    assert_eq!(stopped["reason"], "pause", "{stopped}");
    stopped["threadId"].as_i64().context("no thread")
}

/// The program's counter, read at a stop.
async fn counted_by_ruby(editor: &mut DapClient, thread: i64) -> anyhow::Result<i64> {
    let stack = editor.ok("stackTrace", json!({ "threadId": thread })).await?;
    // The outermost: a frame of C code cannot evaluate.
    let frame = stack["stackFrames"].as_array().and_then(|frames| frames.last()).context("no stack")?;
    let arguments = json!({ "expression": "total", "frameId": frame["id"], "context": "watch" });
    let body = editor.ok("evaluate", arguments).await?;
    body["result"].as_str().context("no result")?.parse().with_context(|| body.to_string())
}

/// Ends the program with the session.
async fn end_with_session(editor: DapClient, mut running: RunningProgram) -> anyhow::Result<()> {
    let mut editor = editor;
    editor.ok("disconnect", json!({ "terminateDebuggee": true })).await?;
    editor.wait_until_ended().await?;
    let ended = async {
        while running.0.try_wait()?.is_none() {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(deadline(20), ended).await.context("it has not ended")?
}

async fn ruby_on_a_port(subject: Subject) -> anyhow::Result<()> {
    let kept = Port::take()?;
    let port = kept.number()?;
    let running =
        start_listening_ruby(subject, ("RUBY_DEBUG_PORT", &port.to_string()), &child::source("spin.rb"))?;
    listens(port).await?;
    wait_until_running(&running).await?;
    let mut editor = editor()?;
    let attach = json!({ "engine": "rdbg", "connect": { "port": port } });
    let thread = attach_to_ruby(&mut editor, subject, attach).await?;
    ensure!(counted_by_ruby(&mut editor, thread).await? > 0, "it has not counted");
    assert_eq!(editor.refused("processWriteInput", json!({ "data": "x" })).await?, "IO_NOT_OWNED");
    end_with_session(editor, running).await
}

/// One stop at most, which is shown once; then the program runs until it is paused.
async fn ruby_stops_once(subject: Subject) -> anyhow::Result<()> {
    let (folder, source) = (tempfile::tempdir()?, child::source("spin.rb"));
    let (running, attach) = ruby_on_a_socket(subject, folder.path(), &source).await?;
    wait_until_running(&running).await?;
    let mut editor = editor()?;
    let thread = attach_to_ruby(&mut editor, subject, attach).await?;
    let first = counted_by_ruby(&mut editor, thread).await?;
    editor.ok("continue", json!({ "threadId": thread })).await?;
    editor.break_on(&source, &[child::line(&source, "spin")]).await?;
    // A stop that is left from attaching would be a pause.
    let stopped = editor.event("stopped").await?;
    assert_eq!(stopped["reason"], "breakpoint", "{stopped}");
    ensure!(counted_by_ruby(&mut editor, thread).await? >= first, "it counts backwards");
    editor.break_on(&source, &[]).await?;
    editor.ok("continue", json!({ "threadId": thread })).await?;
    editor.ok("pause", json!({ "threadId": thread })).await?;
    let stopped = editor.event("stopped").await?;
    assert_eq!(stopped["reason"], "pause", "{stopped}");
    end_with_session(editor, running).await
}

/// Breakpoints after attaching, twice.
///
/// Only with the gem before 1.6: a newer one may report a breakpoint that is hit during
/// configuration as a second stop.
async fn ruby_is_visited_twice(subject: Subject) -> anyhow::Result<()> {
    let (folder, source) = (tempfile::tempdir()?, child::source("spin.rb"));
    let (running, attach) = ruby_on_a_socket(subject, folder.path(), &source).await?;
    wait_until_running(&running).await?;
    attach_twice(running, attach, source).await
}

async fn ruby_is_changed_after_attaching(subject: Subject) -> anyhow::Result<()> {
    let (folder, source) = counting()?;
    let (running, attach) = ruby_on_a_socket(subject, folder.path(), &source).await?;
    wait_until_running(&running).await?;
    let mut editor = editor()?;
    let thread = attach_to_ruby(&mut editor, subject, attach).await?;
    RubyStop { editor: &mut editor, source: &source, thread }.changes_what_is_set().await?;
    end_with_session(editor, running).await
}

parameterized_tests! {
    a_ruby_program_that_listens_on_a_port: ruby_on_a_port(Subject::Rdbg),
    a_ruby_program_that_listens_on_a_port_with_debug_1_9_2: ruby_on_a_port(Subject::Rdbg192),
    a_ruby_program_stops_once_and_runs: ruby_stops_once(Subject::Rdbg),
    a_ruby_program_stops_once_and_runs_with_debug_1_9_2: ruby_stops_once(Subject::Rdbg192),
    a_ruby_program_is_left_and_attached_to_again: ruby_is_visited_twice(Subject::Rdbg),
    what_is_removed_or_changed_in_a_ruby_program_has_its_effect:
        ruby_is_changed_after_attaching(Subject::Rdbg),
    what_is_removed_or_changed_in_a_ruby_program_has_its_effect_with_debug_1_9_2:
        ruby_is_changed_after_attaching(Subject::Rdbg192),
}

#[tokio::test]
async fn impossible_attach_requests_are_refused_with_the_reason() -> anyhow::Result<()> {
    let kept = Port::take()?;
    let port = kept.number()?;
    let asleep = RunningProgram::start("sleep", &["1000"])?;
    for (attach, code, part) in [
        (json!({ "engine": "debugpy", "connect": { "port": port } }), "PROCESS_NOT_FOUND", "refused"),
        (json!({ "engine": "debugpy", "connect": { "host": "x" } }), "INVALID_PARAMETER", "connect"),
        (json!({ "engine": "debugpy", "processId": 999_999_999 }), "PROCESS_NOT_FOUND", "999999999"),
        (Subject::Lldb.with(json!({})), "INVALID_PARAMETER", "processId"),
        (Subject::Js.with(json!({ "processId": asleep.0.id() })), "NOT_DEBUGGABLE", "JavaScript"),
        (json!({ "engine": "bash", "processId": asleep.0.id() }), "UNSUPPORTED", "attach"),
        (json!({ "engine": "rdbg", "processId": asleep.0.id() }), "INVALID_PARAMETER", "connect"),
        (json!({ "engine": "rdbg", "connect": { "socket": "/nowhere" } }), "PROCESS_NOT_FOUND", "/nowhere"),
    ] {
        let mut editor = editor()?;
        editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
        let refused = editor.ask("attach", attach.clone()).await?;
        let error = &refused.body["error"]["variables"];
        assert_eq!(error["code"], code, "{attach}: {error}");
        assert!(error["message"].as_str().context("no message")?.contains(part), "{attach}: {error}");
        editor.finish().await?;
    }
    Ok(())
}

/// The processes below another.
fn descendants_of(pid: u64) -> Vec<u64> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists =
        threads.map(|thread| std::fs::read_to_string(thread.path().join("children")).unwrap_or_default());
    let children: Vec<u64> = lists
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect();
    children.into_iter().flat_map(|child| std::iter::once(child).chain(descendants_of(child))).collect()
}

/// The program belongs to another process: when the host is killed, it is released without a
/// breakpoint that would kill it.
async fn survives_a_killed_host(subject: Subject) -> anyhow::Result<()> {
    let mut running = RunningProgram::start(&child::built("spin"), &[])?;
    wait_until_running(&running).await?;
    let (source, attach) = (child::source("spin.c"), subject.with(json!({ "processId": running.0.id() })));
    let line = child::line(&source, "spin");
    let mut editor = editor()?;
    editor.attach_child(attach.clone(), &source, &[line]).await?;
    let (thread, frame) = editor.stop().await?;
    if frame["line"] != line {
        editor.ok("continue", json!({ "threadId": thread })).await?;
        editor.stop().await?;
    }
    let entry = std::fs::read_to_string(editor.socket().await?.with_extension("json"))?;
    let host = serde_json::from_str::<Value>(&entry)?["pid"].as_u64().context("no pid")?;
    let adapters = descendants_of(host);
    ensure!(!adapters.is_empty(), "no adapter");
    ensure!(Command::new("kill").args(["-9", &host.to_string()]).status()?.success());
    let ended = async {
        while adapters.iter().any(|pid| std::path::Path::new(&format!("/proc/{pid}")).exists())
            || !running.is_free()?
        {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(deadline(20), ended).await.context("an adapter is left")??;
    // It continues past the place.
    attach_twice(running, attach, source).await
}

#[tokio::test]
async fn a_program_that_lldb_is_attached_to_survives_a_killed_host() -> anyhow::Result<()> {
    survives_a_killed_host(Subject::Lldb).await
}

#[tokio::test]
async fn a_program_that_gdb_is_attached_to_survives_a_killed_host() -> anyhow::Result<()> {
    survives_a_killed_host(Subject::Gdb).await
}

/// The adapter ignores the end of its input and SIGTERM, so it would outlive a killed host:
/// no other signal tells it.
#[tokio::test]
async fn an_adapter_that_ignores_its_end_does_not_outlive_a_killed_host() -> anyhow::Result<()> {
    let (folder, running) = (tempfile::tempdir()?, RunningProgram::start("sleep", &["1000"])?);
    let path = |name: &str| folder.path().join(name);
    let message = |direction: &str, message: Value| json!({ "dir": direction, "m": message });
    let arguments = |command: &str, seq: i64| {
        message("out", json!({ "type": "request", "command": command, "seq": seq }))
    };
    let answered = |command: &str, seq: i64| {
        message(
            "in",
            json!({ "type": "response", "command": command, "request_seq": seq, "seq": 0, "success": true,
            "body": { "supportsConfigurationDoneRequest": true } }),
        )
    };
    let script = [
        arguments("initialize", 1),
        answered("initialize", 1),
        arguments("attach", 2),
        message("in", json!({ "type": "event", "event": "initialized", "seq": 0 })),
        arguments("configurationDone", 3),
        answered("configurationDone", 3),
        answered("attach", 2),
        json!({ "do": "hang" }),
    ];
    std::fs::write(path("script"), script.map(|step| step.to_string()).join("\n"))?;
    let ignores_signals = format!(
        "#!/bin/sh\ntrap '' TERM\nexec '{}' '{}'\n",
        tandem_harness::fixture::binary("fake_adapter").display(),
        path("script").display()
    );
    std::fs::write(path("lldb-dap"), ignores_signals)?;
    std::fs::set_permissions(path("lldb-dap"), std::os::unix::fs::PermissionsExt::from_mode(0o700))?;

    let mut editor = editor()?;
    let attach = json!({ "engine": "lldb", "enginePath": path("lldb-dap"), "processId": running.0.id() });
    editor.attach_child(attach, &path("source"), &[]).await?;
    editor.event("process").await?;
    let entry = std::fs::read_to_string(editor.socket().await?.with_extension("json"))?;
    let host = serde_json::from_str::<Value>(&entry)?["pid"].as_u64().context("no pid")?;
    let below = descendants_of(host);
    ensure!(below.len() == 2, "not an adapter and its watchdog: {below:?}");
    ensure!(Command::new("kill").args(["-9", &host.to_string()]).status()?.success());
    let ended = async {
        while below.iter().any(|pid| is_running(*pid)) {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(deadline(60), ended).await.context("a process is left")?;
    Ok(())
}

/// Whether a process exists and is not a zombie.
fn is_running(pid: u64) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}
