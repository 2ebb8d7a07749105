//! .NET programs that a .NET program starts: each is debugged in a child session from its first statement on,
//! or is reported.
//!
//! Not here: child processes that are hard to follow, and parts that crash
//! ([`super::dotnet_subprocess_faults`]).

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::deadline::deadline;
use tandem_harness::fixture::{self, Runtime, is_running};
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    a_child_stops_in_its_main_and_has_the_breakpoints_of_its_parent,
    children_that_end_at_once_are_followed_and_leave_nothing,
    a_child_that_outlives_its_parent_is_debugged_to_its_end,
    session_end_ends_all_child_processes,
    children_are_found_behind_other_programs_and_elsewhere,
    a_restart_ends_the_old_children_and_follows_the_new,
    a_child_that_is_not_followed_is_reported,
    detaching_leaves_children_running,
    children_have_the_environment_of_the_program,
    a_value_that_is_not_a_boolean_is_refused,
}
net8_tests! {
    a_child_stops_in_its_main_and_has_the_breakpoints_of_its_parent,
    session_end_ends_all_child_processes,
}

/// The longest that something may take that is waited for here, s.
pub(crate) const TIMEOUT_SECS: u64 = 60;

fn kin_attributes(args: &[&str]) -> Value {
    json!({ "args": args, "followChildren": true })
}

pub(crate) async fn editor(runtime: Runtime) -> anyhow::Result<DapClient> {
    DapClient::start("editor", runtime, &Transcript::default())
}

/// Starts `kin` with these arguments; children stop at their first statement, and where they work.
pub(crate) async fn launched(runtime: Runtime, args: &[&str], markers: &[&str]) -> anyhow::Result<DapClient> {
    let mut editor = editor(runtime).await?;
    editor
        .ok(
            "initialize",
            json!({ "clientID": "test", "adapterID": "tandem", "supportsStartDebuggingRequest": true }),
        )
        .await?;
    let mut arguments = kin_attributes(args);
    arguments["program"] = json!(fixture::program("kin"));
    let launch = editor.send("launch", arguments).await?;
    editor.initialized(launch).await?;
    if !markers.is_empty() {
        editor.break_at("kin", markers).await?;
    }
    editor.ok("configurationDone", Value::Null).await?;
    let launched = editor.response(launch).await?;
    anyhow::ensure!(launched.success, "launch failed: {}", launched.body);
    Ok(editor)
}

/// The next child session that the editor is requested to open, and the child's process.
pub(crate) async fn child_of(editor: &mut DapClient) -> anyhow::Result<(DapClient, u64, String)> {
    let request = editor.request("startDebugging").await?;
    let configuration = &request["configuration"];
    let id = configuration["session"].as_str().context("no session")?.to_owned();
    let name = configuration["name"].as_str().context("no name")?;
    let pid = name.split(['[', ']']).nth(1).and_then(|pid| pid.parse().ok()).context("no process")?;
    let mut child =
        DapClient::connect("child", &fixture::session_socket(&id), &Transcript::default()).await?;
    child.join(json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    Ok((child, pid, id))
}

/// Continues, and waits until the program of this session has ended.
pub(crate) async fn run_to_end(mut child: DapClient, thread: i64) -> anyhow::Result<()> {
    child.ok("continue", json!({ "threadId": thread })).await?;
    child.event("terminated").await?;
    child.finish().await
}

/// Waits until this holds.
pub(crate) async fn until(what: &str, holds: impl Fn() -> bool) -> anyhow::Result<()> {
    let end = Instant::now() + deadline(TIMEOUT_SECS);
    while !holds() {
        anyhow::ensure!(Instant::now() < end, "{what} took more than {} s", deadline(TIMEOUT_SECS).as_secs());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

/// Processes that were started with this word.
pub(crate) fn processes_with_word(word: &str) -> Vec<u64> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let has = |pid: &u64| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.split(|byte| *byte == 0).any(|found| found == word.as_bytes())
    };
    pids.filter(|pid| has(pid) && is_running(*pid)).collect()
}

/// A number that no other test gives to its programs; twice this number is unique as well.
pub(crate) fn unique_number() -> String {
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let next = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    (100_000_000 + std::process::id() * 10 + next).to_string()
}

async fn a_child_stops_in_its_main_and_has_the_breakpoints_of_its_parent(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let mut editor = editor(runtime).await?;
    editor
        .ok(
            "initialize",
            json!({ "clientID": "test", "adapterID": "tandem", "supportsStartDebuggingRequest": true }),
        )
        .await?;
    let mut arguments = kin_attributes(&["start", "1", "child", "21"]);
    arguments["program"] = json!(fixture::program("kin"));
    let launch = editor.send("launch", arguments).await?;
    editor.initialized(launch).await?;
    let (source, line) = (fixture::source("kin"), |marker| fixture::line("kin", marker));
    let main = json!({ "line": line("main"), "condition": "args[0] == \"child\"" });
    let at = |breakpoints: Value| json!({ "source": { "path": source }, "breakpoints": breakpoints });
    editor.ok("setBreakpoints", at(json!([main]))).await?;
    editor.ok("configurationDone", Value::Null).await?;
    anyhow::ensure!(editor.response(launch).await?.success, "not launched");

    let (mut child, pid, id) = child_of(&mut editor).await?;
    let (thread, frame) = child.stop().await?;
    assert_eq!(
        (&frame["line"], &frame["name"]),
        (&json!(line("main")), &json!("Program.Main(string[] args)"))
    );
    let info = child.ok("sessionInfo", json!({})).await?;
    assert_eq!(info["process"]["systemProcessId"], pid);
    assert!(info["process"]["name"].as_str().is_some_and(|name| name.ends_with("kin.dll")), "{info}");
    let listed = tandem_registry::find(&id).context("the session is not listed")?;
    let parent = editor.ok("sessionInfo", json!({})).await?["id"].as_str().map(str::to_owned);
    assert_eq!((listed.parent, listed.title), (parent, format!("kin.dll [{pid}]")));
    // Breakpoints that the parent's client sets while the child is stopped apply to the child.
    editor.ok("setBreakpoints", at(json!([main, { "line": line("child") }]))).await?;
    // One that the child learned of before may be reported first.
    while child.breakpoint("new").await?["breakpoint"]["line"] != line("child") {}
    child.ok("continue", json!({ "threadId": thread })).await?;
    let (thread, frame) = child.stop().await?;
    assert_eq!(frame["line"], line("child"));
    let number = json!({ "expression": "number", "frameId": frame["id"] });
    assert_eq!(child.ok("evaluate", number).await?["result"], "21");
    run_to_end(child, thread).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 0);
    editor.event("terminated").await?;
    assert_eq!(editor.output[0], "started 1\nchild 42\nsum 42\n");
    assert!(editor.output[2].contains("kin.dll is debugged in a child session"), "{}", editor.output[2]);
    editor.finish().await?;
    until("the session's end", || tandem_registry::find(&id).is_none()).await
}

async fn children_that_end_at_once_are_followed_and_leave_nothing(runtime: Runtime) -> anyhow::Result<()> {
    // On older runtimes, many children at once make no difference.
    let count = if runtime == Runtime::Net10 { 50 } else { 12 };
    let word = unique_number();
    let mut editor = editor(runtime).await?;
    editor.launch("kin", &[], kin_attributes(&["start", &count.to_string(), "quick", &word])).await?;
    editor.event("exited").await?;
    editor.event("terminated").await?;
    // How many could still be joined is a matter of time.
    while editor.unclaimed_messages().contains(&"startDebugging".to_owned()) {
        editor.request("startDebugging").await?;
    }
    // On a busy machine some end before their session can be joined, or before they are attached to.
    let lines = editor.output[2].lines();
    let pids: BTreeSet<u64> = lines
        .filter_map(|line| line.strip_prefix("Child process ")?.split(':').next()?.parse().ok())
        .collect();
    assert_eq!(pids.len(), count, "{}", editor.output[2]);
    assert!(editor.output[0].ends_with(&format!("sum {}\n", 3 * count)), "{}", editor.output[0]);
    editor.finish().await?;
    until("the end of what debugged them", || processes_with_word(&word).is_empty()).await?;
    let left = |pid: &u64| Path::new(&format!("/dev/shm/sem.clrco{pid:08x}")).exists();
    assert_eq!(pids.iter().filter(|pid| left(pid)).count(), 0);
    Ok(())
}

async fn a_child_that_outlives_its_parent_is_debugged_to_its_end(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = launched(runtime, &["leave"], &["child"]).await?;
    let (mut child, pid, _) = child_of(&mut editor).await?;
    let (thread, frame) = child.stop().await?;
    assert_eq!(frame["line"], fixture::line("kin", "child"));
    editor.wait_for_console("The program has ended with exit code 0.").await?;
    assert!(is_running(pid) && !editor.unclaimed_messages().contains(&"terminated".to_owned()));
    run_to_end(child, thread).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 0);
    editor.event("terminated").await?;
    assert_eq!(editor.output[0], "child 14\n");
    editor.finish().await
}

async fn session_end_ends_all_child_processes(runtime: Runtime) -> anyhow::Result<()> {
    let word = unique_number();
    let dotnet = runtime.dotnet().context("no runtime")?.display().to_string();
    let program = fixture::program("kin");
    // In a separate process group, which the end of the program's group does not reach, started by a shell.
    let script = format!("setsid '{dotnet}' '{program}' start 1 wait {word} & wait");
    let mut editor = launched(runtime, &["run", "sh", "-c", &script], &["started"]).await?;
    let mut both = [child_of(&mut editor).await?, child_of(&mut editor).await?];
    both.sort_by_key(|(_, pid, _)| {
        processes_with_word("wait").contains(pid) && !processes_with_word("start").contains(pid)
    });
    let [(mut starter, _, _), (waiter, waiting, _)] = both;
    starter.event("stopped").await?;
    editor.ok("disconnect", Value::Null).await?;
    until("the end of all", || processes_with_word(&word).is_empty() && !is_running(waiting)).await?;
    for mut child in [starter, waiter] {
        child.event("terminated").await?;
        child.finish().await?;
    }
    Ok(())
}

async fn children_are_found_behind_other_programs_and_elsewhere(runtime: Runtime) -> anyhow::Result<()> {
    let elsewhere = tempfile::tempdir()?;
    let folder = elsewhere.path().display().to_string();
    let mut editor = launched(runtime, &["elsewhere", &folder], &["child"]).await?;
    let (mut child, _, _) = child_of(&mut editor).await?;
    let (thread, _) = child.stop().await?;
    run_to_end(child, thread).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 10);
    editor.event("terminated").await?;
    editor.finish().await?;

    // A program that replaces its shell (`exec`), and one whose shell has ended when it starts.
    let dotnet = runtime.dotnet().context("no runtime")?.display().to_string();
    let program = fixture::program("kin");
    let script = format!("'{dotnet}' '{program}' child 3 & sleep 0.3; exec '{dotnet}' '{program}' child 4");
    let mut editor = launched(runtime, &["run", "sh", "-c", &script], &["child"]).await?;
    let mut numbers = Vec::new();
    for _ in 0..2 {
        let (mut child, _, _) = child_of(&mut editor).await?;
        let (thread, frame) = child.stop().await?;
        let number = json!({ "expression": "number", "frameId": frame["id"] });
        numbers.push(child.ok("evaluate", number).await?["result"].as_str().unwrap_or_default().to_owned());
        run_to_end(child, thread).await?;
    }
    numbers.sort();
    assert_eq!(numbers, ["3", "4"]);
    assert_eq!(editor.event("exited").await?["exitCode"], 8);
    editor.event("terminated").await?;
    assert!(editor.output[2].contains("is not a .NET program and is not debugged"), "{}", editor.output[2]);
    editor.finish().await
}

async fn a_restart_ends_the_old_children_and_follows_the_new(runtime: Runtime) -> anyhow::Result<()> {
    let word = unique_number();
    let mut editor = launched(runtime, &["start", "1", "wait", &word], &[]).await?;
    let (mut old, first, _) = child_of(&mut editor).await?;
    editor.ok("restart", json!({})).await?;
    old.event("terminated").await?;
    old.finish().await?;
    assert!(!is_running(first));
    let (mut new, second, _) = child_of(&mut editor).await?;
    assert!(is_running(second) && processes_with_word(&word).len() == 2, "{:?}", processes_with_word(&word));
    editor.ok("disconnect", Value::Null).await?;
    new.event("terminated").await?;
    new.finish().await?;
    until("the end of all", || processes_with_word(&word).is_empty()).await
}

async fn a_child_that_is_not_followed_is_reported(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = editor(runtime).await?;
    let args = json!({ "args": ["start", "2", "child", "N"] });
    editor.launch("kin", &["child"], args).await?;
    editor.ok("sessionInfo", json!({ "subscribe": true })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 0);
    editor.event("terminated").await?;
    assert!(editor.output[0].ends_with("sum 6\n"), "{}", editor.output[0]);
    let named: Vec<&str> =
        editor.output[2].lines().filter(|line| line.starts_with("Child process")).collect();
    assert_eq!(named.len(), 2, "{named:?}");
    assert!(named[0].contains("`followChildren: true`") && !named[1].contains("followChildren"), "{named:?}");
    editor.finish().await
}

async fn detaching_leaves_children_running(runtime: Runtime) -> anyhow::Result<()> {
    use tokio::io::AsyncWriteExt;
    let word = unique_number();
    let mut program = tokio::process::Command::new(runtime.dotnet().context("no runtime")?)
        .arg(fixture::program("kin"))
        .args(["later", "child", &word])
        .envs(runtime.environment().context("no runtime")?)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let pid = program.id().context("it has ended")?;
    until("its runtime", || cordebug::startup::has_pipes(pid)).await?;
    let mut editor = editor(runtime).await?;
    editor
        .ok(
            "initialize",
            json!({ "clientID": "test", "adapterID": "tandem", "supportsStartDebuggingRequest": true }),
        )
        .await?;
    let attach = json!({ "processId": pid, "followChildren": true });
    let attach = editor.send("attach", attach).await?;
    editor.initialized(attach).await?;
    editor.break_at("kin", &["child"]).await?;
    editor.ok("configurationDone", Value::Null).await?;
    editor.response(attach).await?;
    program.stdin.take().context("no stdin")?.write_all(b"go\n").await?;
    let (mut child, _, _) = child_of(&mut editor).await?;
    child.event("stopped").await?;
    editor.finish().await?;
    // Its session ends with its parent's, and it runs on.
    child.event("terminated").await?;
    child.finish().await?;
    let output = tokio::time::timeout(deadline(TIMEOUT_SECS), program.wait_with_output()).await??;
    let twice = 2 * word.parse::<u32>()?;
    // Of an exit code the kernel keeps eight bits.
    let expected = format!("started 1\nchild {twice}\nsum {}\n", twice & 0xff);
    assert_eq!(String::from_utf8(output.stdout)?, expected);
    Ok(())
}

async fn children_have_the_environment_of_the_program(runtime: Runtime) -> anyhow::Result<()> {
    let dotnet = runtime.dotnet().context("no runtime")?.display().to_string();
    let program = fixture::program("kin");
    let args = ["run", &dotnet, &program, "variables"];
    let mut printed = Vec::new();
    for follow in [true, false] {
        let mut editor = editor(runtime).await?;
        editor
            .launch("kin", &[], json!({ "args": args, "followChildren": follow, "noDebug": !follow }))
            .await?;
        editor.event("exited").await?;
        editor.event("terminated").await?;
        printed.push(std::mem::take(&mut editor.output[0]));
        editor.finish().await?;
    }
    assert!(printed[0].contains("\nPATH="), "{}", printed[0]);
    assert_eq!(printed[0], printed[1]);
    Ok(())
}

async fn a_value_that_is_not_a_boolean_is_refused(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = editor(runtime).await?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let launch = json!({ "program": fixture::program("kin"), "followChildren": "yes" });
    assert_eq!(editor.refused("launch", launch).await?, "INVALID_PARAMETER");
    editor.finish().await
}
