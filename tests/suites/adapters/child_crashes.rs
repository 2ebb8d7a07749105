//! Real adapters that are killed or crash: which client is notified when, and what is left. Scripted ones:
//! [`super::child_faults`].

use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tandem_harness::child::{self, Subject};
use tandem_harness::client::DapClient;
use tandem_harness::deadline::deadline;
use tandem_harness::fixture;
use tandem_harness::process_tracking::{self, ProcessTracker};
use tandem_harness::transcript::Transcript;

parameterized_tests! {
    lldb_that_dies_before_anybody_configured_is_reported: check_early_crash(Subject::Lldb),
    gdb_that_dies_before_anybody_configured_is_reported: check_early_crash(Subject::Gdb),
    delve_that_dies_before_anybody_configured_is_reported: check_early_crash(Subject::Delve),
    js_debug_that_dies_before_anybody_configured_is_reported: check_early_crash(Subject::Js),
    bash_dap_that_dies_before_anybody_configured_is_reported: check_early_crash(Subject::Bash),
    debugpy_that_dies_before_anybody_configured_is_reported: check_early_crash(Subject::PythonAdapter),
}

/// An editor with a session whose processes and files can be found.
struct WatchedSession {
    editor: DapClient,
    place: ProcessTracker,
    _aside: tempfile::TempDir,
}

impl WatchedSession {
    fn start() -> anyhow::Result<Self> {
        let (place, aside) = (ProcessTracker::new(0)?, tempfile::tempdir()?);
        // It never finishes, so that a crashing lldb-dap is killed while it symbolizes its stack.
        let symbolizer = aside.path().join("llvm-symbolizer");
        std::fs::write(&symbolizer, "#!/bin/sh\nsleep 60\n")?;
        std::fs::set_permissions(&symbolizer, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
        let mut environment = place.environment();
        environment.insert("LLVM_SYMBOLIZER_PATH".into(), symbolizer.display().to_string());
        let editor = DapClient::start_in("editor", environment, &Transcript::default())?;
        Ok(Self { editor, place, _aside: aside })
    }

    /// The adapter's process, by a word of what it was started with.
    ///
    /// # Errors
    /// If there is no such process.
    fn adapter(&mut self, subject: Subject) -> anyhow::Result<Pid> {
        let word = match subject {
            Subject::Lldb => "lldb-dap",
            Subject::Gdb => "gdb",
            Subject::Delve => "dlv",
            Subject::Js => "DebugServer",
            Subject::Bash => "bash_dap",
            _ => "debugpy.adapter",
        };
        let is_adapter = |pid: &u64| {
            let words = process_tracking::command_line(*pid).join(" ");
            let helps = ["exec-held", "--launch-target", "watchdog"].iter().any(|one| words.contains(one));
            words.contains(word) && !helps
        };
        let all = self.place.processes();
        let found = all.iter().map(|(pid, _)| *pid).filter(is_adapter).min();
        let first = found.with_context(|| format!("no {word} in {all:?}"))?;
        Pid::from_raw(i32::try_from(first)?).context("no process")
    }
}

/// Otherwise its editor would wait for the answer to a request that it has not sent yet.
async fn check_early_crash(subject: Subject) -> anyhow::Result<()> {
    let mut session = WatchedSession::start()?;
    session.editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let launch = session.editor.send("launch", subject.launch()).await?;
    session.editor.initialized(launch).await?;
    let start = Instant::now();
    kill_process(session.adapter(subject)?, Signal::KILL)?;
    let answer = session.editor.response(launch).await?;
    let event = if answer.success {
        session.editor.event("terminated").await?;
        session.editor.output[2].clone()
    } else {
        answer.body["error"]["variables"]["message"].as_str().unwrap_or_default().to_owned()
    };
    assert!(start.elapsed() < deadline(8), "{:?}", start.elapsed());
    assert!(event.contains("ended with exit code 137 (SIGKILL)"), "{event}");
    let WatchedSession { editor, mut place, _aside } = session;
    editor.finish().await?;
    place.wait_until_ended(deadline(5)).await
}

/// debugpy's adapter learns the program's pid only from the program itself; until then
/// it knows only the launcher.
#[tokio::test]
async fn a_launcher_that_is_killed_leaves_no_program() -> anyhow::Result<()> {
    for _ in 0..5 {
        let mut session = WatchedSession::start()?;
        session.editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
        let launch = session.editor.send("launch", Subject::PythonAdapter.launch()).await?;
        let end = Instant::now() + deadline(20);
        let launcher = loop {
            let all = session.place.processes();
            let is_launcher = |pid: &u64| {
                let words = process_tracking::command_line(*pid).join(" ");
                words.contains("debugpy/launcher") && !words.contains("exec-held")
            };
            let found: Vec<u64> = all.iter().map(|(pid, _)| *pid).filter(is_launcher).collect();
            let parent = |pid: &u64| {
                let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
                let line = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap_or_default();
                line.trim().parse::<u64>().ok()
            };
            let has_child = |pid: &&u64| all.iter().any(|(other, _)| parent(other) == Some(**pid));
            if let Some(launcher) = found.iter().find(has_child) {
                break *launcher;
            }
            anyhow::ensure!(Instant::now() < end, "no launcher with a program in {all:?}");
        };
        kill_process(Pid::from_raw(i32::try_from(launcher)?).context("no process")?, Signal::KILL)?;
        if session.editor.response(launch).await?.success {
            session.editor.event("terminated").await?;
        }
        let WatchedSession { editor, mut place, _aside } = session;
        editor.finish().await?;
        place.wait_until_ended(deadline(5)).await?;
    }
    Ok(())
}

/// A program that reads no input does not notice the end of it.
#[tokio::test]
async fn a_host_that_is_killed_leaves_no_python_program() -> anyhow::Result<()> {
    for through_adapter in [false, true] {
        let mut session = WatchedSession::start()?;
        let mut launch = Subject::Python.with(json!({ "program": child::source("spin.py") }));
        launch["engineOptions"] = json!({ "throughAdapter": through_adapter });
        session.editor.launch_child(launch, &child::source("spin.py"), &[]).await?;
        session.editor.event("process").await?;
        let all = session.place.processes();
        let is_host =
            |pid: &u64| process_tracking::command_line(*pid).get(1).is_some_and(|word| word == "host");
        let host =
            all.iter().map(|(pid, _)| *pid).find(is_host).with_context(|| format!("no host in {all:?}"))?;
        kill_process(Pid::from_raw(i32::try_from(host)?).context("no process")?, Signal::KILL)?;
        // A separate test covers the relay's message.
        let WatchedSession { editor, mut place, _aside } = session;
        drop(editor);
        place.wait_until_ended(deadline(15)).await?;
    }
    Ok(())
}

/// lldb's crash handler runs a symbolizer that reads and writes files for seconds, in a folder that the
/// program's environment does not name.
#[tokio::test]
async fn lldb_that_crashes_leaves_no_files() -> anyhow::Result<()> {
    let subject = Subject::Lldb;
    let mut session = WatchedSession::start()?;
    session.editor.launch_child(subject.launch(), &subject.source(), &[subject.line("handle")]).await?;
    let pid = session.editor.event("process").await?["systemProcessId"].as_u64().context("no process id")?;
    let environment = std::fs::read(format!("/proc/{pid}/environ"))?;
    let own = format!("TMPDIR={}", session.place.environment()["TMPDIR"]);
    assert!(environment.split(|byte| *byte == 0).any(|variable| variable == own.as_bytes()), "not {own}");
    session.editor.ok("processWriteInput", json!({ "data": "x\n" })).await?;
    session.editor.stop().await?;
    // The signal from outside does not end it, but runs its crash handler. It is killed while the handler
    // runs.
    let adapter = session.adapter(subject)?;
    kill_process(adapter, Signal::ABORT)?;
    let crashes = async {
        while !session.place.files().iter().any(|file| file.display().to_string().contains("symbolizer")) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let in_time = tokio::time::timeout(deadline(10), crashes).await;
    in_time.context("its crash handler writes no files")?;
    kill_process(adapter, Signal::KILL)?;
    session.editor.event("terminated").await?;
    let WatchedSession { editor, mut place, _aside } = session;
    editor.finish().await?;
    // The host has sent its last message, and removes its files as its last step.
    place.wait_until_ended(deadline(15)).await?;
    assert_eq!(place.files(), Vec::<std::path::PathBuf>::new());
    Ok(())
}

/// Session id and terminal of a process, from `/proc/PID/stat`.
fn session_and_terminal(stat: &str) -> Option<(u32, u32)> {
    let mut fields = stat.rsplit_once(") ")?.1.split(' ').skip(3);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// Otherwise they could write to the terminal that an editor or an agent runs in, and would be suspended when
/// they read from it.
#[tokio::test]
async fn programs_and_tools_lead_sessions_without_a_terminal() -> anyhow::Result<()> {
    let piped = std::process::Stdio::piped;
    let mut stub = std::process::Command::new(fixture::binary("tandem-dap"))
        .args(["exec-held", "--", "cat", "/proc/self/stat"])
        .stdin(piped())
        .stdout(piped())
        .spawn()?;
    let program = stub.id();
    std::io::Write::write_all(&mut stub.stdin.take().context("no stdin")?, b"g")?;
    let stat = String::from_utf8(stub.wait_with_output()?.stdout)?;
    assert_eq!(session_and_terminal(&stat), Some((program, 0)), "{stat}");

    let mut bridge =
        std::process::Command::new(fixture::binary("tandem-mcp")).stdin(piped()).stdout(piped()).spawn()?;
    let client = json!({ "name": "a", "version": "1" });
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello });
    let mut stdin = bridge.stdin.take().context("no stdin")?;
    std::io::Write::write_all(&mut stdin, format!("{hello}\n").as_bytes())?;
    let mut answer = String::new();
    let stdout = bridge.stdout.take().context("no stdout")?;
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut answer)?;
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", bridge.id()))?;
    assert_eq!(session_and_terminal(&stat), Some((bridge.id(), 0)), "{answer}{stat}");
    drop(stdin);
    assert!(bridge.wait()?.success());
    Ok(())
}

/// The host opens the gate as soon as it can. If it is killed before that, the stub must not start a program.
#[tokio::test]
async fn a_stub_whose_host_has_gone_starts_nothing() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    for (parent, code, starts) in [(1, 127, false), (std::process::id(), 0, true)] {
        let file = folder.path().join(parent.to_string());
        let mut stub = std::process::Command::new(fixture::binary("tandem-dap"))
            .args(["exec-held", "--parent", &parent.to_string(), "--", "touch"])
            .arg(&file)
            .stdin(std::process::Stdio::piped())
            .spawn()?;
        let written = std::io::Write::write_all(&mut stub.stdin.take().context("no stdin")?, b"g");
        // A stub that starts nothing need not read: its pipe may be closed by now.
        assert!(written.is_ok() || !starts, "{written:?}");
        assert_eq!((stub.wait()?.code(), file.exists()), (Some(code), starts), "{parent}");
    }
    Ok(())
}
