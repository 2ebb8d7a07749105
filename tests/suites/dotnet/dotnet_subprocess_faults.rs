//! Child processes of a .NET program that are hard to follow, and parts that die: no child process waits
//! forever, and none outlives a session that ends it.

use std::time::Duration;

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime, is_running};

use crate::dotnet_subprocesses::{
    child_of, editor, launched, processes_with_word, run_to_end, unique_number, until,
};

dotnet_tests! {
    a_killed_host_leaves_no_child,
    a_child_ends_when_its_debugger_dies,
    a_child_keeps_running_when_its_parent_is_killed,
    a_child_that_suspends_itself_ends_with_the_session,
    children_are_ended_by_a_terminate_that_the_program_ignores,
}
older_dotnet_tests! {
    a_child_on_another_runtime_is_followed,
    a_child_with_its_runtime_inside_is_followed,
    a_child_of_another_user_is_reported,
}

/// Ends a process that hosts a session.
fn kill_host(id: &str) -> anyhow::Result<()> {
    let host = tandem_registry::find(id).context("no session")?.pid;
    let host = Pid::from_raw(i32::try_from(host)?).context("no host")?;
    Ok(kill_process(host, Signal::KILL)?)
}

async fn id_of(editor: &mut DapClient) -> anyhow::Result<String> {
    Ok(editor.ok("sessionInfo", json!({})).await?["id"].as_str().context("no id")?.to_owned())
}

async fn a_killed_host_leaves_no_child(runtime: Runtime) -> anyhow::Result<()> {
    let word = unique_number();
    // At moments when child processes are about to be held, are held, are attached to, and run.
    for pause in [0, 15, 60, 400] {
        let mut editor = launched(runtime, &["start", "6", "wait", &word], &[]).await?;
        let id = id_of(&mut editor).await?;
        editor.wait_for_console("is debugged in a child session").await?;
        tokio::time::sleep(Duration::from_millis(pause)).await;
        kill_host(&id)?;
        until("the end of its children", || processes_with_word(&word).is_empty()).await?;
        // A debugging library that is attaching notices after some seconds that the debugger is gone.
        until("the end of their hosts and of the watchdog", || processes_with_word(&id).is_empty()).await?;
        drop(editor);
    }
    Ok(())
}

async fn a_child_ends_when_its_debugger_dies(runtime: Runtime) -> anyhow::Result<()> {
    let word = unique_number();
    let mut editor = launched(runtime, &["start", "1", "wait", &word], &[]).await?;
    let (child, pid, id) = child_of(&mut editor).await?;
    kill_host(&id)?;
    // Without its debugger it would stop at its next event, forever.
    until("its end", || !is_running(pid)).await?;
    drop(child);
    assert_eq!(editor.event("exited").await?["exitCode"], 0);
    editor.event("terminated").await?;
    assert!(editor.output[0].ends_with("sum 137\n"), "{}", editor.output[0]);
    assert!(editor.output[2].contains("the process that debugged it died"), "{}", editor.output[2]);
    editor.finish().await
}

async fn a_child_keeps_running_when_its_parent_is_killed(runtime: Runtime) -> anyhow::Result<()> {
    let word = unique_number();
    let mut editor = launched(runtime, &["start", "1", "child", &word], &["child"]).await?;
    let program = editor.event("process").await?["systemProcessId"].as_i64().context("no process")?;
    editor.wait_for_console("is debugged in a child session").await?;
    kill_process(Pid::from_raw(i32::try_from(program)?).context("no process")?, Signal::KILL)?;
    let (mut child, pid, _) = child_of(&mut editor).await?;
    let (thread, frame) = child.stop().await?;
    assert_eq!(frame["line"], fixture::line("kin", "child"));
    assert!(is_running(pid));
    run_to_end(child, thread).await?;
    editor.event("terminated").await?;
    editor.finish().await
}

async fn a_child_that_suspends_itself_ends_with_the_session(runtime: Runtime) -> anyhow::Result<()> {
    let word = unique_number();
    let dotnet = runtime.dotnet().context("no runtime")?.display().to_string();
    let program = fixture::program("kin");
    // One before its runtime starts, one while it is debugged.
    let script = format!(
        "'{dotnet}' '{program}' suspend {word} & kill -STOP $$; exec '{dotnet}' '{program}' wait {word}"
    );
    let mut editor = launched(runtime, &["run", "sh", "-c", &script], &[]).await?;
    let (mut child, pid, _) = child_of(&mut editor).await?;
    let is_suspended = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(')').next().is_some_and(|rest| rest.trim().starts_with('T'))
    };
    until("its suspension", is_suspended).await?;
    editor.ok("disconnect", Value::Null).await?;
    until("the end of all", || processes_with_word(&word).is_empty()).await?;
    child.event("terminated").await?;
    child.finish().await
}

async fn children_are_ended_by_a_terminate_that_the_program_ignores(runtime: Runtime) -> anyhow::Result<()> {
    let dotnet = runtime.dotnet().context("no runtime")?.display().to_string();
    let program = fixture::program("kin");
    for program_has_ended in [false, true] {
        let word = unique_number();
        let script = format!("trap '' TERM; setsid '{dotnet}' '{program}' wait {word}");
        let mut editor = launched(runtime, &["run", "sh", "-c", &script], &[]).await?;
        let (mut child, _, _) = child_of(&mut editor).await?;
        // The first request asks the program to end, the second one kills the rest.
        editor.ok("terminate", Value::Null).await?;
        if program_has_ended {
            editor.wait_for_console("A child process is still debugged").await?;
        }
        editor.ok("terminate", Value::Null).await?;
        editor.event("terminated").await?;
        child.event("terminated").await?;
        child.finish().await?;
        editor.finish().await?;
        until("the end of all", || processes_with_word(&word).is_empty()).await?;
    }
    Ok(())
}

async fn a_child_on_another_runtime_is_followed(runtime: Runtime) -> anyhow::Result<()> {
    let other = if runtime == Runtime::Net9 { Runtime::Net31 } else { Runtime::Net9 }.ensure_installed()?;
    let dotnet = other.dotnet().context("no runtime")?.display().to_string();
    let program = fixture::program("kin");
    let mut editor = launched(runtime, &["run", &dotnet, &program, "child", "6"], &["child"]).await?;
    let (mut child, _, _) = child_of(&mut editor).await?;
    let (thread, frame) = child.stop().await?;
    let version = json!({ "expression": "System.Environment.Version.Major", "frameId": frame["id"],
        "context": "watch" });
    let expected = if other == Runtime::Net9 { "9" } else { "3" };
    assert_eq!(child.ok("evaluate", version).await?["result"], expected);
    run_to_end(child, thread).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 12);
    editor.event("terminated").await?;
    editor.finish().await
}

async fn a_child_with_its_runtime_inside_is_followed(runtime: Runtime) -> anyhow::Result<()> {
    let (program, libraries) = fixture::one_file();
    let program = program.display().to_string();
    for found in [true, false] {
        let mut editor = editor(runtime).await?;
        let hello =
            json!({ "clientID": "test", "adapterID": "tandem", "supportsStartDebuggingRequest": true });
        editor.ok("initialize", hello).await?;
        let paths = if found { json!([libraries]) } else { json!([]) };
        let launch = json!({ "program": fixture::program("kin"), "args": ["run", program],
            "followChildren": true,
            "symbolPaths": paths });
        let launch = editor.send("launch", launch).await?;
        editor.initialized(launch).await?;
        editor.break_at("tour", &["add"]).await?;
        editor.ok("configurationDone", Value::Null).await?;
        editor.response(launch).await?;
        editor.ok("processWriteInput", json!({ "data": "Ann\n" })).await?;
        if found {
            let (mut child, _, _) = child_of(&mut editor).await?;
            let (thread, frame) = child.stop().await?;
            assert_eq!(frame["line"], fixture::line("tour", "add"));
            child.break_at("tour", &[]).await?;
            editor.break_at("tour", &[]).await?;
            run_to_end(child, thread).await?;
        }
        assert_eq!(editor.event("exited").await?["exitCode"], 3);
        editor.event("terminated").await?;
        let is_reported = editor.output[2].contains("cannot be debugged: its runtime comes without");
        assert_eq!(is_reported, !found, "{}", editor.output[2]);
        editor.finish().await?;
    }
    Ok(())
}

async fn a_child_of_another_user_is_reported(runtime: Runtime) -> anyhow::Result<()> {
    if !rustix::process::geteuid().is_root() {
        eprintln!("only root can start programs of other users");
        return Ok(());
    }
    let dotnet = runtime.dotnet().context("no runtime")?.display().to_string();
    let program = fixture::program("kin");
    let args = [
        "run",
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "sh",
        "-c",
        // Another program runs as that user before.
        "sleep 0.2; exec \"$@\"",
        "sh",
        &dotnet,
        &program,
        "child",
        "8",
    ];
    let mut editor = launched(runtime, &args, &[]).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 16);
    editor.event("terminated").await?;
    let output = &editor.output;
    assert!(output[2].contains("kin.dll runs as another user and is not debugged"), "{}", output[2]);
    editor.finish().await
}
