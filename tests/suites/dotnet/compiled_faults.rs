//! Faults during expressions that the compiler evaluates: in its process, its SDK, its cache,
//! or the expression itself. There is an answer in bounded time, the session continues, and
//! no process or file is left.

use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::json;
use tandem_harness::client::DapClient;
use tandem_harness::compiled::{Stop, compilers_of, modern};
use tandem_harness::deadline::deadline;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

net10_tests! {
    a_compiler_that_does_not_work_is_reported_and_leaves_nothing,
    a_compiler_that_hangs_is_given_up_and_can_be_cancelled,
    an_expression_that_is_too_much_has_an_answer,
    an_unwritable_cache_is_not_used,
    two_sessions_make_the_compilers_process_at_once,
    a_killed_host_takes_its_compiler_along,
    a_cancelled_expression_ends_in_the_program,
}

/// An SDK whose `dotnet` is a script: it compiles nothing and runs `acts` as the compiler's process.
fn fake_sdk(root: &Path, acts: &str) -> anyhow::Result<()> {
    let compiler = root.join("sdk/99.0.100/Roslyn/bincore");
    std::fs::create_dir_all(&compiler)?;
    std::fs::create_dir_all(root.join("shared/Microsoft.NETCore.App/99.0.0"))?;
    std::fs::write(compiler.join("csc.dll"), "")?;
    let settings = json!({ "runtimeOptions": { "framework": { "version": "99.0.0" } } });
    std::fs::write(compiler.join("csc.runtimeconfig.json"), settings.to_string())?;
    let script = format!(
        "#!/bin/sh\ncase \"$2\" in\n*csc.dll) : > \"$(sed -n 's/^-out:\"\\(.*\\)\"$/\\1/p' \"${{3#@}}\")\"; \
            exit 0;;\nesac\n{acts}\n"
    );
    std::fs::write(root.join("dotnet"), script)?;
    std::fs::set_permissions(root.join("dotnet"), std::fs::Permissions::from_mode(0o755))?;
    Ok(())
}

/// The first message of the compiler's process: the version of the protocol, and a text.
const HELLO: &str = "printf '\\011\\000\\000\\000\\001\\000\\000\\000\\001\\000\\000\\000x'";

async fn launch_to_stop(editor: &mut DapClient, more: serde_json::Value) -> anyhow::Result<Stop> {
    let program = fixture::modern_program("compiled");
    editor.launch_to(&program, (modern("Program.cs"), "service"), more).await
}

/// Processes with this folder in their command lines.
fn processes_of(folder: &Path) -> anyhow::Result<Vec<String>> {
    let folder = folder.display().to_string();
    let lines = std::fs::read_dir("/proc")?.flatten();
    let lines = lines.filter_map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).ok());
    Ok(lines.filter(|line| line.contains(&folder)).collect())
}

/// Waits until something holds.
async fn wait_until(what: &str, holds: impl Fn() -> anyhow::Result<bool>) -> anyhow::Result<()> {
    let end = Instant::now() + deadline(20);
    while !holds()? {
        anyhow::ensure!(Instant::now() < end, "{what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

async fn a_compiler_that_does_not_work_is_reported_and_leaves_nothing(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let rubbish = format!("{HELLO}; printf '\\003\\000\\000\\000abc'; sleep 1000");
    let endless = "yes rubbish";
    let dies = format!("{HELLO}; sleep 0.2; echo no more >&2; exit 7");
    for (acts, answer, other) in [
        ("echo I will not >&2; exit 1", "ended as soon as it was started", "1"),
        (endless, "ended as soon as it was started", "1"),
        (&rubbish, "its answer cannot be read", "cannot query the C# compiler"),
        (&dies, "its process ended: no more", "cannot query the C# compiler"),
    ] {
        let folder = tempfile::tempdir()?;
        fake_sdk(folder.path(), acts)?;
        let mut environment = runtime.environment().context("no runtime")?;
        environment.insert("XDG_CACHE_HOME".into(), folder.path().join("cache").display().to_string());
        let mut editor = DapClient::start_in("editor", environment, &Transcript::default())?;
        let stop = launch_to_stop(&mut editor, json!({ "expressionCompiler": folder.path() })).await?;
        let value = editor.evaluate_text("await Task.FromResult(1)", &stop.frame).await?;
        assert!(value.starts_with('!') && value.contains(answer), "{acts}: {value}");
        // The debugger evaluates expressions that need no compiler.
        let value = editor.evaluate_text("given.ToString().Count(c => c == '4')", &stop.frame).await?;
        assert!(value.contains(other), "{acts}: {value}");
        editor.check_results(&stop.frame, &[("own + given", "9")]).await?;
        editor.finish().await?;
        wait_until("a process is left", || Ok(processes_of(folder.path())?.is_empty())).await?;
    }
    Ok(())
}

async fn a_compiler_that_hangs_is_given_up_and_can_be_cancelled(runtime: Runtime) -> anyhow::Result<()> {
    let silent = format!("{HELLO}; sleep 1000 < /dev/null");
    for (acts, answer) in [("sleep 1000", "did not start within"), (&silent, "did not answer within")] {
        let folder = tempfile::tempdir()?;
        fake_sdk(folder.path(), acts)?;
        let mut environment = runtime.environment().context("no runtime")?;
        environment.insert("XDG_CACHE_HOME".into(), folder.path().join("cache").display().to_string());
        let mut editor = DapClient::start_in("editor", environment, &Transcript::default())?;
        let stop = launch_to_stop(&mut editor, json!({ "expressionCompiler": folder.path() })).await?;
        let arguments = json!({ "expression": "await Task.FromResult(1)", "frameId": stop.frame["id"] });
        let begun = Instant::now();
        let evaluate = editor.send("evaluate", arguments).await?;
        wait_until("no compiler", || Ok(!processes_of(folder.path())?.is_empty())).await?;
        editor.ok("cancel", json!({ "requestId": evaluate })).await?;
        let response = editor.response(evaluate).await?;
        assert_eq!(response.body["error"]["variables"]["code"], "CANCELLED", "{}", response.body);
        assert!(begun.elapsed() < deadline(15), "it was not cancelled");
        let value = editor.evaluate_text("await Task.FromResult(1)", &stop.frame).await?;
        assert!(value.starts_with('!') && value.contains(answer), "{value}");
        editor.check_results(&stop.frame, &[("own + given", "9")]).await?;
        editor.finish().await?;
        wait_until("a process is left", || Ok(processes_of(folder.path())?.is_empty())).await?;
    }
    Ok(())
}

async fn an_expression_that_is_too_much_has_an_answer(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let stop = launch_to_stop(&mut editor, json!({})).await?;
    // A megabyte; deep nesting; an expression for which the compiler tries more ways than there is time for.
    let long = format!("new[] {{ {} }}.Sum(n => n)", "1, ".repeat(350_000));
    let nested = |depth| format!("{}own{}", "(".repeat(depth), ")".repeat(depth));
    let (deep, deeper) = (nested(2_000), nested(10_000));
    let chained = format!("{}own.ToString().Count(c => true)", "-".repeat(10_000).replace('-', "- "));
    let lambdas = format!("{}1{}", "new[] { 1 }.Sum(x => ".repeat(2_500), ")".repeat(2_500));
    let mut ways = "own".to_owned();
    for at in 0..14 {
        ways = format!("new[] {{ 1 }}.Sum(a{at} => {ways})");
    }
    // How deep the compiler reads depends on its stack.
    for (expression, answers) in [
        (long, ["!", "!"]),
        (deep, ["5", "5"]),
        (deeper, ["5", "!"]),
        (chained, ["1", "!"]),
        (lambdas, ["1", "!"]),
        (ways, ["! EVALUATION_TIMEOUT"; 2]),
    ] {
        let begun = Instant::now();
        let value = editor.evaluate_text(&expression, &stop.frame).await?;
        assert!(answers.iter().any(|answer| value.starts_with(answer)), "{:.100}: {value}", expression);
        assert!(begun.elapsed() < deadline(40), "{:?}: {value}", begun.elapsed());
        editor
            .check_results(&stop.frame, &[("given.ToString().Count(c => c == '4')", "1"), ("own", "5")])
            .await?;
    }
    editor.finish().await
}

async fn an_unwritable_cache_is_not_used(runtime: Runtime) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("file");
    std::fs::write(&file, "")?;
    let sessions = folder.path().join("run");
    std::fs::create_dir(&sessions)?;
    let mut environment = runtime.environment().context("no runtime")?;
    environment.insert("XDG_CACHE_HOME".into(), file.join("cache").display().to_string());
    environment.insert("XDG_RUNTIME_DIR".into(), sessions.display().to_string());
    let mut editor = DapClient::start_in("editor", environment, &Transcript::default())?;
    let stop = launch_to_stop(&mut editor, json!({})).await?;
    editor.check_results(&stop.frame, &[("name.Count(c => c == 's')", "1")]).await?;
    editor.finish().await?;
    let left = || -> anyhow::Result<bool> {
        let all = std::fs::read_dir(sessions.join("tandem"))?.flatten();
        Ok(all.filter(|entry| entry.path().is_dir()).count() == 0)
    };
    wait_until("a folder of the session is left", left).await
}

async fn two_sessions_make_the_compilers_process_at_once(runtime: Runtime) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut environment: HashMap<String, String> = runtime.environment().context("no runtime")?;
    environment.insert("XDG_CACHE_HOME".into(), folder.path().display().to_string());
    let evaluated = async |name: &'static str| -> anyhow::Result<()> {
        let mut editor = DapClient::start_in(name, environment.clone(), &Transcript::default())?;
        let stop = launch_to_stop(&mut editor, json!({})).await?;
        editor.check_results(&stop.frame, &[("name.Count(c => c == 's')", "1")]).await?;
        editor.finish().await
    };
    let (one, other) = tokio::join!(evaluated("one"), evaluated("other"));
    one.and(other)?;
    let made = std::fs::read_dir(folder.path().join("tandem/csharp-compiler"))?.flatten();
    let names: Vec<String> = made.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    assert!(names.len() == 1 && !names[0].starts_with("unfinished"), "{names:?}");
    Ok(())
}

async fn a_killed_host_takes_its_compiler_along(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let stop = launch_to_stop(&mut editor, json!({})).await?;
    editor.check_results(&stop.frame, &[("name.Count(c => c == 's')", "1")]).await?;
    let compilers = compilers_of(stop.host)?;
    anyhow::ensure!(compilers.len() == 1, "{compilers:?}");
    let killed = std::process::Command::new("kill").arg("-9").arg(stop.host.to_string()).status()?;
    anyhow::ensure!(killed.success(), "the host was not killed");
    let is_gone = || {
        let line = std::fs::read_to_string(format!("/proc/{}/cmdline", compilers[0])).unwrap_or_default();
        Ok(!line.contains("tandem-expressions.dll"))
    };
    wait_until("the compiler is left", is_gone).await
}

async fn a_cancelled_expression_ends_in_the_program(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let stop = launch_to_stop(&mut editor, json!({})).await?;
    editor.check_results(&stop.frame, &[("name.Count(c => c == 's')", "1")]).await?;
    for expression in ["((Func<int>)(() => { while (own > 0) { } return 1; }))()", "await Task.Delay(600000)"]
    {
        let arguments = json!({ "expression": expression, "frameId": stop.frame["id"] });
        let evaluate = editor.send("evaluate", arguments).await?;
        tokio::time::sleep(Duration::from_millis(1500)).await;
        let cancelled = Instant::now();
        editor.ok("cancel", json!({ "requestId": evaluate })).await?;
        let response = editor.response(evaluate).await?;
        assert_eq!(
            response.body["error"]["variables"]["code"], "CANCELLED",
            "{expression}: {}",
            response.body
        );
        assert!(cancelled.elapsed() < deadline(3), "{expression}");
        // The thread is free.
        editor.check_results(&stop.frame, &[("name.Count(c => c == 'v')", "1")]).await?;
    }
    editor.finish().await
}
