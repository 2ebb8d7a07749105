//! Signals that a program gets from its terminal or from another process: its own handler runs, and a
//! program without a handler ends by the signal. The rule is one for all languages.
//!
//! Not here: C and Rust, whose debuggers hold the program ([`super::child_input`], `dotnet/user_reports.rs`);
//! the end that a client requests (`dotnet/terminate.rs`, [`super::child_terminate`]).

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tandem_harness::child::Subject;
use tandem_harness::client::DapClient;
use tandem_harness::fixture::Runtime;
use tandem_harness::transcript::Transcript;

use tandem_harness::child::with_tools;

dotnet_tests! {
    ctrl_c_cancels_as_the_program_says,
}
parameterized_tests! {
    python_handles_its_signals: handles_signals(Subject::Python, PYTHON),
    javascript_handles_its_signals: handles_signals(Subject::Js, JAVASCRIPT),
    ruby_handles_its_signals: handles_signals(Subject::Rdbg, RUBY),
    bash_handles_its_signals: handles_signals(Subject::Bash, BASH),
    perl_handles_its_signals: handles_signals(Subject::Perl, PERL),
    go_handles_its_signals: handles_signals(Subject::Delve, GO),
}

/// A source's file name and text. Its program prints `ready`. With an argument it handles SIGINT: it prints
/// `saving` and ends with exit code 5.
type Source = (&'static str, &'static str);

const PYTHON: Source = (
    "waits.py",
    "import signal, sys, time\n\
     def save(number, frame):\n    print('saving', flush=True)\n    sys.exit(5)\n\
     if len(sys.argv) > 1:\n    signal.signal(signal.SIGINT, save)\n\
     print('ready', flush=True)\nfor _ in range(3000):\n    time.sleep(0.02)\n",
);
const JAVASCRIPT: Source = (
    "waits.js",
    "if (process.argv.length > 2)\n  process.on('SIGINT', () => {\n    console.log('saving');\n    \
     process.exit(5);\n  });\nconsole.log('ready');\nsetTimeout(() => {}, 60000);\n",
);
const RUBY: Source = (
    "waits.rb",
    "$stdout.sync = true\ntrap('INT') { puts 'saving'; exit 5 } if ARGV.any?\nputs 'ready'\n\
     3000.times { sleep 0.02 }\n",
);
/// It waits without a child: bash ignores a signal if the child that it waits for ends by itself.
const BASH: Source = (
    "waits.sh",
    "exec 3<> <(:)\nif [ $# -gt 0 ]; then trap 'echo saving; exit 5' INT; fi\necho ready\n\
     for ((i = 0; i < 600; i++)); do read -r -t 0.1 -u 3; done\n",
);
const PERL: Source = (
    "waits.pl",
    "$| = 1;\n$SIG{INT} = sub { print \"saving\\n\"; exit 5 } if @ARGV;\nprint \"ready\\n\";\n\
     select undef, undef, undef, 0.02 for 1 .. 3000;\n",
);
const GO: Source = (
    "main.go",
    "package main\nimport (\n\t\"fmt\"\n\t\"os\"\n\t\"os/signal\"\n\t\"time\"\n)\nfunc main() {\n\tif \
     len(os.Args) > 1 {\n\t\tcaught := make(chan os.Signal, 1)\n\t\tsignal.Notify(caught, \
     os.Interrupt)\n\t\tgo func() {\n\t\t\t<-caught\n\t\t\tfmt.Println(\"saving\")\n\t\t\tos.Exit(5)\n\t\t}()\
     \n\t}\n\tfmt.Println(\"ready\")\n\ttime.Sleep(time.Minute)\n}\n",
);

/// A program that runs, and may handle SIGINT.
async fn launch_program(subject: Subject, source: Source, handles: bool) -> anyhow::Result<(DapClient, Pid)> {
    let folder = tempfile::tempdir()?;
    let program = folder.path().join(source.0);
    std::fs::write(&program, source.1)?;
    let args: &[&str] = if handles { &["handle"] } else { &[] };
    let mut attributes = subject.with(json!({ "program": program, "pty": true, "args": args }));
    if subject == Subject::Delve {
        attributes = with_tools(attributes)?;
    }
    let mut editor = DapClient::start_in("editor", Default::default(), &Transcript::default())?;
    editor.launch_child(attributes, &program, &[]).await?;
    let pid = editor.event("process").await?["systemProcessId"].as_i64().unwrap_or_default();
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    editor.take_stdout("ready").await?;
    Ok((editor, pid.ok_or_else(|| anyhow::anyhow!("no process"))?))
}

/// Checks the exit code, whether the handler ran, and that nothing stopped the program on its way.
async fn expect_end(mut editor: DapClient, code: i64, handled: bool) -> anyhow::Result<()> {
    let (event, body) = editor.any_event(&["stopped", "exited"]).await?;
    assert_eq!((event.as_str(), &body["exitCode"]), ("exited", &json!(code)), "{body}");
    assert_eq!(editor.output[0].contains("saving"), handled, "{:?}", editor.output);
    editor.finish().await
}

async fn handles_signals(subject: Subject, source: Source) -> anyhow::Result<()> {
    let terminal = async {
        let (mut editor, _) = launch_program(subject, source, true).await?;
        editor.ok("processWriteInput", json!({ "data": "\u{3}" })).await?;
        expect_end(editor, 5, true).await
    };
    let process = async {
        let (editor, pid) = launch_program(subject, source, true).await?;
        kill_process(pid, Signal::INT)?;
        expect_end(editor, 5, true).await
    };
    let unhandled = async {
        let (mut editor, _) = launch_program(subject, source, false).await?;
        editor.ok("processWriteInput", json!({ "data": "\u{3}" })).await?;
        expect_end(editor, 130, false).await
    };
    let ended = async {
        let (editor, pid) = launch_program(subject, source, false).await?;
        kill_process(pid, Signal::TERM)?;
        expect_end(editor, 143, false).await
    };
    tokio::try_join!(terminal, process, unhandled, ended)?;
    Ok(())
}

async fn ctrl_c_cancels_as_the_program_says(runtime: Runtime) -> anyhow::Result<()> {
    for (args, code, handled) in [(&["cancel"][..], 5, true), (&[], 130, false)] {
        let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
        editor.launch("shutdowns", &[], json!({ "pty": true, "args": args })).await?;
        editor.take_stdout("ready").await?;
        editor.ok("processWriteInput", json!({ "data": "\u{3}" })).await?;
        let (event, body) = editor.any_event(&["stopped", "exited"]).await?;
        assert_eq!((event.as_str(), &body["exitCode"]), ("exited", &json!(code)), "{body}");
        assert_eq!(editor.output[0].contains("cancelled"), handled, "{:?}", editor.output);
        editor.finish().await?;
    }
    Ok(())
}
