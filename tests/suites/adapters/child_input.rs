//! Programs of each language and their input: they wait for it on a pipe and on a terminal, get Ctrl+C, and
//! replace themselves.
//!
//! Not here: which system calls wait for input (`adapter/process/src/input_wait.rs`), what a terminal answers
//! (`terminal_answers.rs`).

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tandem_harness::child::Subject;
use tandem_harness::client::DapClient;
use tandem_harness::deadline::{deadline, deadline_ms};
use tandem_harness::transcript::Transcript;

/// Declares the cases for each adapter that is set up.
macro_rules! matrix {
    ($($adapter:ident: $subject:ident),* $(,)?) => {
        $(mod $adapter {
            use super::Subject;

            #[tokio::test]
            async fn program_waits_for_each_line_of_a_pipe() -> anyhow::Result<()> {
                super::check_waits_for_input(Subject::$subject, false).await
            }

            #[tokio::test]
            async fn program_waits_for_each_line_of_a_terminal() -> anyhow::Result<()> {
                super::check_waits_for_input(Subject::$subject, true).await
            }
        })*
    };
}

matrix! {
    debugpy: Python,
    lldb: Lldb,
    gdb: Gdb,
    bash: Bash,
    delve: Delve,
    rdbg: Rdbg,
    js: Js,
    perl: Perl,
}

async fn launch_program(attributes: Value, source: &Path, lines: &[i64]) -> anyhow::Result<DapClient> {
    let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
    editor.launch_child(attributes, source, lines).await?;
    Ok(editor)
}

/// Waits until it asks for input; returns the text that it printed to stdout since the last time.
async fn asks(editor: &mut DapClient) -> anyhow::Result<String> {
    let until = json!({ "waitFor": "no such text", "timeoutMs": deadline_ms(20), "clear": true });
    let read = editor.ok("processReadOutput", until).await?;
    anyhow::ensure!(read["waitingForInput"] == true, "{read}");
    anyhow::ensure!(read["waitId"].is_string(), "{read}");
    Ok(read["stdout"].as_str().unwrap_or_default().to_owned())
}

async fn check_waits_for_input(subject: Subject, pty: bool) -> anyhow::Result<()> {
    let mut attributes = subject.launch();
    attributes["pty"] = json!(pty);
    let mut editor = launch_program(attributes, &subject.source(), &[]).await?;
    let printed = asks(&mut editor).await?;
    assert!(printed.contains("ready"), "{printed:?}");
    for line in ["one", "three"] {
        editor.ok("processWriteInput", json!({ "data": format!("{line}\n") })).await?;
        let printed = asks(&mut editor).await?;
        assert!(printed.contains(&format!("got {}: {line}", line.len())), "{printed:?}");
    }
    editor.ok("processWriteInput", json!({ "data": "", "closeAfter": true })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 7);
    editor.finish().await
}

/// Has its terminal open only while it asks, as `ssh` in a script with redirected streams.
const ASKS_AT_ITS_TERMINAL: &str = "import os
streams = os.open('/dev/null', os.O_RDWR)
for number in range(3): os.dup2(streams, number)
with open('/dev/tty', 'r+b', buffering=0) as terminal:
    terminal.write(b'ready? ')
    terminal.write(b'got %d\\n' % len(terminal.readline()))
";

/// A signal suspends a thread when the thread would run next: until then its debugger can answer.
async fn all_threads_are_suspended(pid: Pid) {
    let is_suspended = |stat: &str| stat.rsplit(')').next().is_some_and(|rest| rest.trim().starts_with('T'));
    let stats = || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero()));
        tasks.into_iter().flatten().flatten().map(|task| std::fs::read_to_string(task.path().join("stat")))
    };
    while !stats().all(|stat| stat.is_ok_and(|stat| is_suspended(&stat))) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_program_that_opens_only_its_terminal_is_heard_and_loses_no_input() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let source = folder.path().join("asks.py");
    std::fs::write(&source, ASKS_AT_ITS_TERMINAL)?;
    let attributes = Subject::Python.with(json!({ "program": source, "pty": true }));
    let mut editor = launch_program(attributes, &source, &[]).await?;
    assert_eq!(asks(&mut editor).await?, "ready? ");
    // Its debugger answers nothing while it is suspended.
    let pid = editor.event("process").await?["systemProcessId"].as_i64().unwrap_or_default();
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("the id of the process");
    kill_process(pid, Signal::STOP)?;
    tokio::time::timeout(deadline(10), all_threads_are_suspended(pid)).await?;
    let threads = editor.send("threads", json!({})).await?;
    // Nor does it print what is waited for.
    let wait = json!({ "waitFor": "never", "timeoutMs": deadline_ms(30) });
    let wait = editor.send("processReadOutput", wait).await?;
    let refusal = editor.response(threads).await?.body.to_string();
    assert!(refusal.contains(&format!("kill -CONT {}", pid.as_raw_nonzero())), "{refusal}");
    let waited = editor.response(wait).await?.body;
    assert_eq!(waited["suspendedProcess"], pid.as_raw_nonzero().get(), "{waited}");
    kill_process(pid, Signal::CONT)?;
    // A terminal keeps 4,095 bytes of a line that it has not passed on.
    let data = "x".repeat(50_000) + "\n";
    editor.ok("processWriteInput", json!({ "data": data })).await?;
    assert!(editor.take_stdout("got").await?.ends_with("got 50001\n"));
    assert_eq!(editor.event("exited").await?["exitCode"], 0);
    assert_eq!(editor.refused("processWriteInput", json!({ "data": "late\n" })).await?, "STDIN_CLOSED");
    editor.finish().await
}

const HANDLES_CTRL_C: &str = r#"#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static volatile int asked = 0;
static void on_interrupt(int number) { asked = number; }
int main(void) {
    signal(SIGINT, on_interrupt);
    puts(isatty(0) ? "ready" : "no terminal");
    fflush(stdout);
    for (int rounds = 0; !asked && rounds < 3000; rounds++) usleep(20000);
    puts("saving"); // BP saving
    return asked;
}
"#;

#[tokio::test]
async fn ctrl_c_runs_the_handler_of_a_program_under_lldb() -> anyhow::Result<()> {
    ctrl_c(Subject::Lldb).await
}

#[tokio::test]
async fn ctrl_c_runs_the_handler_of_a_program_under_gdb() -> anyhow::Result<()> {
    ctrl_c(Subject::Gdb).await
}

async fn ctrl_c(subject: Subject) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let source = folder.path().join("waiter.c");
    std::fs::write(&source, HANDLES_CTRL_C)?;
    let attributes = subject.with(json!({ "program": source, "pty": true }));
    let line = tandem_harness::child::line(&source, "saving");
    let mut editor = launch_program(attributes, &source, &[line]).await?;
    editor.take_stdout("ready").await?;
    // A pause is a signal of the debugger's, which the program never gets.
    editor.ok("pause", json!({ "threadId": 1 })).await?;
    let stopped = editor.event("stopped").await?;
    assert_eq!(stopped["reason"], "pause", "{stopped}");
    editor.ok("continue", json!({ "threadId": stopped["threadId"] })).await?;
    editor.ok("processWriteInput", json!({ "data": "\u{3}" })).await?;
    let mut stopped = editor.event("stopped").await?;
    if subject == Subject::Gdb {
        assert_eq!((&stopped["reason"], &stopped["text"]), (&json!("signal"), &json!("signal SIGINT")));
        assert_eq!(stopped["signal"], "SIGINT");
        editor.ok("continue", json!({ "threadId": stopped["threadId"] })).await?;
        stopped = editor.event("stopped").await?;
    }
    assert_eq!(stopped["reason"], "breakpoint", "{stopped}");
    editor.ok("continue", json!({ "threadId": stopped["threadId"] })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 2);
    editor.finish().await
}

#[tokio::test]
async fn a_python_program_that_replaces_itself_is_followed_to_its_end() -> anyhow::Result<()> {
    let again = "import os, sys\nif 'again' not in sys.argv:\n    print('first', flush=True)\n    \
                 os.execv(sys.executable, [sys.executable, __file__, 'again'])\n\
                 name = sys.stdin.readline().strip()\nprint('second', name)\nsys.exit(5)\n";
    replaces_itself(Subject::Python, "again.py", again).await
}

#[tokio::test]
async fn a_ruby_program_that_replaces_itself_is_followed_to_its_end() -> anyhow::Result<()> {
    let again = "require 'rbconfig'\n$stdout.sync = true\nunless ARGV.include?('again')\n  puts 'first'\n  \
                 exec(RbConfig.ruby, __FILE__, 'again')\nend\n\
                 name = $stdin.gets.strip\nputs \"second #{name}\"\nexit 5\n";
    replaces_itself(Subject::Rdbg, "again.rb", again).await
}

#[tokio::test]
async fn a_node_program_that_replaces_itself_is_followed_to_its_end() -> anyhow::Result<()> {
    let again = "const fs = require('fs');\nif (!process.argv.includes('again')) {\n  fs.writeSync(1, \
        'first\\n');\n  \
                 process.execve(process.execPath, [process.execPath, __filename, 'again'], process.env);\n}\n\
                 const bytes = Buffer.alloc(100);\nconst count = fs.readSync(0, bytes);\n\
                 console.log('second', bytes.toString('utf8', 0, count).trim());\nprocess.exitCode = 5;\n";
    replaces_itself(Subject::Js, "again.js", again).await
}

async fn replaces_itself(subject: Subject, name: &str, text: &str) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let program = folder.path().join(name);
    std::fs::write(&program, text)?;
    let attributes = subject.with(json!({ "program": program }));
    let mut editor = launch_program(attributes, &program, &[]).await?;
    assert_eq!(asks(&mut editor).await?, "first\n");
    // Longer than any limit within which a program has to end after its debugger.
    tokio::time::sleep(std::time::Duration::from_millis(2500)).await;
    editor.ok("processWriteInput", json!({ "data": "bob\n" })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 5);
    assert_eq!(
        editor.ok("processReadOutput", json!({ "stream": "stdout" })).await?["stdout"],
        "second bob\n"
    );
    editor.finish().await
}

/// `cat` has no debugger, and holds the end of the program's output after the program itself.
#[tokio::test]
async fn breakpoints_of_a_program_that_becomes_another_do_not_stay_verified() -> anyhow::Result<()> {
    let text = "import os, subprocess\nsubprocess.Popen(['sleep', '60'], start_new_session=True)\n\
                os.execvp('cat', ['cat'])\nprint('never')\n";
    let folder = tempfile::tempdir()?;
    let program = folder.path().join("becomes.py");
    std::fs::write(&program, text)?;
    let attributes = Subject::Python.with(json!({ "program": program }));
    let mut editor = launch_program(attributes, &program, &[4]).await?;
    let lost = loop {
        let breakpoint = editor.event("breakpoint").await?["breakpoint"].clone();
        if breakpoint["verified"] == false {
            break breakpoint;
        }
    };
    assert!(lost["message"].as_str().is_some_and(|text| text.contains("(`exec`)")), "{lost}");
    editor.ok("processWriteInput", json!({ "data": "bob\n", "closeAfter": true })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 0);
    // A daemon that the program started keeps the pipes open.
    let until = json!({ "waitFor": "no such text", "timeoutMs": deadline_ms(50) });
    let read = editor.ok("processReadOutput", until).await?;
    assert_eq!((&read["stdout"], &read["exited"]), (&json!("bob\n"), &json!(true)));
    editor.finish().await
}

#[tokio::test]
async fn gdb_stops_in_a_program_that_a_shell_has_started_again() -> anyhow::Result<()> {
    let again = "#include <unistd.h>\nint main(int argc, char **argv) {\n    if (argc == 1)\n        \
                 return execl(\"/bin/sh\", \"sh\", \"-c\", \"exec \\\"$0\\\" again\", argv[0], 0L);\n    \
                 argc += 3; /* BP here */\n    return argc;\n}\n";
    let folder = tempfile::tempdir()?;
    let source = folder.path().join("again.c");
    std::fs::write(&source, again)?;
    let attributes = Subject::Gdb.with(json!({ "program": source }));
    let line = tandem_harness::child::line(&source, "here");
    let mut editor = launch_program(attributes, &source, &[line]).await?;
    let stopped = editor.event("stopped").await?;
    assert_eq!(stopped["reason"], "breakpoint", "{stopped}");
    editor.ok("continue", json!({ "threadId": stopped["threadId"] })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 5);
    editor.finish().await
}

#[tokio::test]
async fn a_program_that_dies_for_want_of_a_terminal_says_how_to_launch_it() -> anyhow::Result<()> {
    let raw = "import termios, sys\ntermios.tcgetattr(sys.stdin)\n";
    let keys = "require 'io/console'\n$stdin.getch\n";
    let programs = [
        (Subject::Js, "keys.js", "process.stdin.setRawMode(true);\n"),
        (Subject::Rdbg, "keys.rb", keys),
        (Subject::Python, "keys.py", raw),
    ];
    for (subject, name, text) in programs {
        let folder = tempfile::tempdir()?;
        let program = folder.path().join(name);
        std::fs::write(&program, text)?;
        let mut editor = launch_program(subject.with(json!({ "program": program })), &program, &[]).await?;
        let mut hints = 0;
        loop {
            let (event, body) = editor.any_event(&["output", "exited"]).await?;
            if event == "exited" {
                break;
            }
            if body["hint"].is_string() {
                assert_eq!(body["category"], "console", "{subject:?}: {body}");
                hints += 1;
            }
        }
        assert_eq!(hints, 1, "{subject:?}");
        editor.finish().await?;
    }
    Ok(())
}
