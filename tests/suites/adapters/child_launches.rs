//! Launches through the child adapters: variables, folders, no debugger, what is named wrongly; and how
//! programs end. Not what is debugged then ([`super::child_adapters`]).

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::child::{self, Subject};
use tandem_harness::client::DapClient;
use tandem_harness::deadline::deadline;
use tandem_harness::fixture;
use tandem_harness::transcript::Transcript;

fn editor() -> anyhow::Result<DapClient> {
    DapClient::start_in("editor", HashMap::new(), &Transcript::default())
}

parameterized_tests! {
    lldb_gives_a_program_our_variables: has_our_variables(Subject::Lldb),
    gdb_gives_a_program_our_variables: has_our_variables(Subject::Gdb),
    bash_runs_in_a_relative_folder: runs_in_a_relative_folder(Subject::Bash),
    debugpy_runs_in_a_relative_folder: runs_in_a_relative_folder(Subject::Python),
    delve_runs_in_a_relative_folder: runs_in_a_relative_folder(Subject::Delve),
    gdb_runs_in_a_relative_folder: runs_in_a_relative_folder(Subject::Gdb),
    js_runs_in_a_relative_folder: runs_in_a_relative_folder(Subject::Js),
    lldb_runs_in_a_relative_folder: runs_in_a_relative_folder(Subject::Lldb),
    rdbg_runs_in_a_relative_folder: runs_in_a_relative_folder(Subject::Rdbg),
    rdbg_1_9_2_runs_in_a_relative_folder: runs_in_a_relative_folder(Subject::Rdbg192),
    perl_runs_in_a_relative_folder: runs_in_a_relative_folder(Subject::Perl),
    bash_runs_without_a_debugger: runs_without_a_debugger(Subject::Bash),
    debugpy_runs_without_a_debugger: runs_without_a_debugger(Subject::Python),
    delve_runs_without_a_debugger: runs_without_a_debugger(Subject::Delve),
    gdb_runs_without_a_debugger: runs_without_a_debugger(Subject::Gdb),
    js_runs_without_a_debugger: runs_without_a_debugger(Subject::Js),
    lldb_runs_without_a_debugger: runs_without_a_debugger(Subject::Lldb),
    rdbg_runs_without_a_debugger: runs_without_a_debugger(Subject::Rdbg),
    rdbg_1_9_2_runs_without_a_debugger: runs_without_a_debugger(Subject::Rdbg192),
    perl_runs_without_a_debugger: runs_without_a_debugger(Subject::Perl),
    gdb_tells_a_signal_from_success: check_signal(Subject::Gdb),
    lldb_tells_a_signal_from_success: check_signal(Subject::Lldb),
    delve_tells_a_signal_from_success: reports_a_signal_of_go(Subject::Delve),
}

/// The attributes of one C file, which is built first.
fn c_program(subject: Subject, folder: &Path, text: &str) -> anyhow::Result<Value> {
    let source = folder.join("shown.c");
    std::fs::write(&source, text)?;
    Ok(subject.with(json!({ "program": source })))
}

/// Runs it to its end, without a stop: its exit code.
async fn run_to_end(editor: &mut DapClient) -> anyhow::Result<Value> {
    Ok(read_end(editor).await?["exitCode"].take())
}

/// Body of the `exited` event with which the program ends.
async fn read_end(editor: &mut DapClient) -> anyhow::Result<Value> {
    let (event, body) = editor.any_event(&["stopped", "exited"]).await?;
    anyhow::ensure!(event == "exited", "it stopped: {body}");
    editor.event("terminated").await?;
    Ok(body)
}

/// The program gets Tandem's environment with the launch's changes, even if the user's shell is not a shell.
async fn has_our_variables(subject: Subject) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let text = r#"#include <stdio.h>
        #include <stdlib.h>
        static void show(const char *name) {
            const char *value = getenv(name);
            printf("%s=%s\n", name, value ? value : "(unset)");
        }
        int main(void) { show("KEPT"); show("CHANGED"); show("TAKEN"); show("NEW"); show("SHELL"); return 0; }
    "#;
    let cache = folder.path().join("cache").display().to_string();
    let outer = [("KEPT", "é \"1\""), ("CHANGED", "old"), ("TAKEN", "x"), ("SHELL", "/bin/false")];
    let outer = outer.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let given = [json!({ "CHANGED": "new", "TAKEN": null, "NEW": "a b" }), json!({})];
    let seen = [["new", "(unset)", "a b"], ["old", "x", "(unset)"]];
    // A relative one is invalid, and would be below the folder in which the adapter runs.
    let caches = [cache, "relative".to_owned()];
    for ((env, [changed, taken, new]), cache) in given.into_iter().zip(seen).zip(caches) {
        let mut launch = c_program(subject, folder.path(), text)?;
        (launch["env"], launch["cwd"]) = (env, json!(folder.path()));
        let mut outer = HashMap::from(outer.clone());
        outer.insert("XDG_CACHE_HOME".to_owned(), cache);
        let mut editor = DapClient::start_in("editor", outer, &Transcript::default())?;
        editor.launch_child(launch, folder.path(), &[]).await?;
        assert_eq!(run_to_end(&mut editor).await?, 0);
        let expected =
            format!("KEPT=é \"1\"\nCHANGED={changed}\nTAKEN={taken}\nNEW={new}\nSHELL=/bin/false\n");
        assert_eq!(editor.output[0], expected);
        editor.finish().await?;
    }
    if matches!(subject, Subject::Lldb) {
        // The libraries are not indexed again in the next session.
        assert!(std::fs::read_dir(folder.path().join("cache/lldb/IndexCache"))?.count() > 1);
        assert!(!folder.path().join("relative").exists());
    }
    Ok(())
}

/// The way to a folder from where the tests and so their adapters run.
fn relative(folder: &Path) -> anyhow::Result<PathBuf> {
    let here = std::path::absolute(".")?;
    let up = here.components().filter(|part| matches!(part, Component::Normal(_))).map(|_| "..");
    Ok(up.collect::<PathBuf>().join(folder.strip_prefix("/")?))
}

async fn runs_in_a_relative_folder(subject: Subject) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut launch = subject.launch();
    (launch["cwd"], launch["args"]) = (json!(relative(folder.path())?), json!(["a b"]));
    let mut editor = editor()?;
    editor.launch_child(launch, &subject.source(), &[]).await?;
    assert!(editor.read_stdout("a b").await?.starts_with("ready "));
    let pid = editor.event("process").await?["systemProcessId"].as_u64().context("no process id")?;
    assert_eq!(std::fs::read_link(format!("/proc/{pid}/cwd"))?, folder.path().canonicalize()?);
    editor.ok("processWriteInput", json!({ "data": "", "closeAfter": true })).await?;
    assert_eq!(run_to_end(&mut editor).await?, 7);
    editor.finish().await
}

/// No breakpoint and no entry stop stops it; everything else works as with a debugger.
async fn runs_without_a_debugger(subject: Subject) -> anyhow::Result<()> {
    let mut editor = editor()?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let mut launch = subject.launch();
    (launch["noDebug"], launch["stopOnEntry"], launch["args"]) = (json!(true), json!(true), json!(["a b"]));
    let launched = editor.send("launch", launch).await?;
    editor.initialized(launched).await?;
    let breakpoints = editor.break_on(&subject.source(), &[subject.line("handle")]).await?;
    editor.ok("configurationDone", Value::Null).await?;
    anyhow::ensure!(editor.response(launched).await?.success, "not launched");
    let breakpoint = &breakpoints["breakpoints"][0];
    assert_eq!(breakpoint["verified"], false, "{breakpoints}");
    assert!(breakpoint["message"].as_str().context("no message")?.contains("noDebug"), "{breakpoints}");
    editor.read_stdout("a b").await?;
    editor.ok("processWriteInput", json!({ "data": "hello\n", "closeAfter": true })).await?;
    assert_eq!(run_to_end(&mut editor).await?, 7);
    assert!(editor.output[0].ends_with("got 5: hello\neof 5\n"), "{:?}", editor.output);
    editor.finish().await
}

/// The exit code is that of shells: 128 plus the signal, which is named.
async fn check_signal(subject: Subject) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut editor = editor()?;
    let text = "#include <signal.h>\nint main(void) { return raise(SIGKILL); }\n";
    editor.launch_child(c_program(subject, folder.path(), text)?, folder.path(), &[]).await?;
    let end = read_end(&mut editor).await?;
    assert_eq!((&end["exitCode"], &end["signal"]), (&json!(137), &json!("SIGKILL")), "{end}");
    editor.finish().await?;
    // Without a debugger it stops neither at the signal nor where it becomes another program.
    let text = "#include <signal.h>\n#include <unistd.h>\nint main(int count, char **words) {\n    if (count \
                == 1) execl(\"/proc/self/exe\", words[0], \"again\", (char *)0);\n    return \
                raise(SIGABRT);\n}\n";
    let mut launch = c_program(subject, folder.path(), text)?;
    launch["noDebug"] = json!(true);
    let mut editor = self::editor()?;
    editor.launch_child(launch, folder.path(), &[]).await?;
    let end = read_end(&mut editor).await?;
    assert_eq!((&end["exitCode"], &end["signal"]), (&json!(134), &json!("SIGABRT")), "{end}");
    editor.finish().await
}

/// Delve hands no signal on by itself: the program is killed from outside.
async fn reports_a_signal_of_go(subject: Subject) -> anyhow::Result<()> {
    let marker = format!("killed-{}", std::process::id());
    let mut launch = subject.launch();
    launch["args"] = json!([marker]);
    let mut editor = editor()?;
    editor.launch_child(launch, &subject.source(), &[]).await?;
    editor.read_stdout(&marker).await?;
    let folders = std::fs::read_dir("/proc")?.flatten();
    let ours = folders.filter(|folder| {
        let words = std::fs::read(folder.path().join("cmdline")).unwrap_or_default();
        words.ends_with(format!("{marker}\0").as_bytes())
    });
    let pids: Vec<i32> = ours.filter_map(|folder| folder.file_name().to_str()?.parse().ok()).collect();
    let [pid] = pids.as_slice() else { anyhow::bail!("not one program: {pids:?}") };
    let pid = rustix::process::Pid::from_raw(*pid).context("no process")?;
    rustix::process::kill_process(pid, rustix::process::Signal::KILL)?;
    let end = read_end(&mut editor).await?;
    assert_eq!((&end["exitCode"], &end["signal"]), (&json!(137), &json!("SIGKILL")), "{end}");
    editor.finish().await
}

/// The program is known only as a descendant of its adapter: it is found, and does not outlive the adapter.
#[tokio::test]
async fn a_go_program_does_not_outlive_a_killed_delve() -> anyhow::Result<()> {
    let mut editor = editor()?;
    let launch = Subject::Delve.with(json!({ "program": child::native("go-spin") }));
    editor.launch_child(launch, Path::new("/"), &[]).await?;
    let pid = editor.event("process").await?["systemProcessId"].as_i64().context("no process id")?;
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let (_, rest) = stat.rsplit_once(')').context("no name")?;
    let delve: i32 = rest.split_ascii_whitespace().nth(1).context("no parent")?.parse()?;
    let name = std::fs::read_to_string(format!("/proc/{delve}/comm"))?;
    anyhow::ensure!(name.trim() == "dlv", "the parent is {name}");
    let delve = rustix::process::Pid::from_raw(delve).context("no process")?;
    rustix::process::kill_process(delve, rustix::process::Signal::KILL)?;
    editor.event("terminated").await?;
    let gone = async {
        // A zombie process has no program any more.
        while std::fs::read_link(format!("/proc/{pid}/exe")).is_ok() {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    let in_time = tokio::time::timeout(deadline(5), gone).await;
    in_time.with_context(|| format!("{pid} survives"))?;
    editor.finish().await
}

/// The code, message and hint that a launch is refused with.
async fn launch_error(launch: Value) -> anyhow::Result<[String; 3]> {
    let mut editor = editor()?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let refused = editor.ask("launch", launch).await?;
    let error = refused.body["error"]["variables"].clone();
    editor.finish().await?;
    Ok(["code", "message", "hint"].map(|key| error[key].as_str().unwrap_or_default().to_owned()))
}

/// An adapter needs the interpreter of the language that it is written in.
#[tokio::test]
async fn an_adapter_without_its_interpreter_is_refused_with_how_to_install_that() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    let program = path("program");
    std::fs::write(&program, "")?;
    for (engine, adapter, line, interpreter, install) in [
        ("rdbg", "rdbg", "#!/usr/bin/env ruby", "`ruby`", "apt-get install ruby"),
        ("js", "dapDebugServer.js", "", "`node`", "apt-get install nodejs"),
        ("js", "js-debug-adapter", "#!/usr/bin/env node", "`node`", "apt-get install nodejs"),
        ("bash", "bash-dap", "#!/usr/bin/env python3", "`python3`", "apt-get install python3"),
        (
            "bash",
            "bash-dap",
            "#!/no/such/venv/bin/python",
            "`/no/such/venv/bin/python`",
            "reinstall the adapter",
        ),
        ("debugpy", "", "", "a Python", "apt-get install python3"),
    ] {
        let environment = HashMap::from([("PATH".to_owned(), path("empty").display().to_string())]);
        let mut editor = DapClient::start_in("editor", environment, &Transcript::default())?;
        editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
        let mut launch = json!({ "engine": engine, "program": program });
        if !adapter.is_empty() {
            std::fs::write(path(adapter), format!("{line}\n"))?;
            std::fs::set_permissions(path(adapter), std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
            launch["enginePath"] = json!(path(adapter));
        }
        let refused = editor.ask("launch", launch).await?;
        let error = &refused.body["error"]["variables"];
        assert_eq!(error["code"], "ENGINE_NOT_FOUND", "{adapter}: {error}");
        assert!(error["message"].as_str().context("no message")?.contains(interpreter), "{adapter}: {error}");
        assert!(error["hint"].as_str().context("no hint")?.contains(install), "{adapter}: {error}");
        editor.finish().await?;
    }
    Ok(())
}

#[tokio::test]
async fn an_engine_path_that_is_a_folder_is_named() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let program = folder.path().join("shown");
    std::fs::write(&program, "")?;
    let listed =
        std::process::Command::new(fixture::binary("tandem-dap")).args(["engines", "--json"]).output()?;
    let listed: Vec<Value> = serde_json::from_slice(&listed.stdout)?;
    let adapters =
        listed.iter().filter_map(|one| one["engine"].as_str()).filter(|engine| *engine != "coreclr");
    for engine in adapters {
        // With this mode Delve builds by itself, which is what a Go source would need first.
        let launch =
            json!({ "engine": engine, "program": program, "enginePath": folder.path(), "mode": "test" });
        let [code, message, hint] = launch_error(launch).await?;
        assert_eq!(code, "ENGINE_NOT_FOUND", "{engine}: {message}");
        assert!(message.contains(&folder.path().display().to_string()), "{engine}: {message}");
        assert!(hint.contains("enginePath"), "{engine}: {hint}");
    }
    Ok(())
}

/// Its Python was removed: another one would lack the packages of the project.
#[tokio::test]
async fn a_broken_virtual_environment_is_named() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let environment = folder.path().join(".venv");
    std::fs::create_dir_all(environment.join("bin"))?;
    std::fs::write(environment.join("pyvenv.cfg"), "home = /no/such\n")?;
    std::os::unix::fs::symlink("/no/such/python3", environment.join("bin/python"))?;
    let program = folder.path().join("main.py");
    std::fs::write(&program, "print('never')\n")?;
    let [code, message, hint] = launch_error(json!({ "program": program })).await?;
    assert_eq!(code, "ENGINE_NOT_FOUND", "{message}");
    assert!(message.contains("/no/such/python3"), "{message}");
    assert!(hint.contains(&format!("python3 -m venv --clear {}", environment.display())), "{hint}");
    // A launch that names a Python gets it.
    let mut editor = editor()?;
    let launch = json!({ "program": program, "python": child::interpreter("python") });
    editor.launch_child(launch, &program, &[]).await?;
    assert_eq!(run_to_end(&mut editor).await?, 0);
    editor.finish().await
}
