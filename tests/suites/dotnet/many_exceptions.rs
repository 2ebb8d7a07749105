//! Programs that throw and catch many exceptions: those that no filter stops at cost little, and a filter
//! that is set later still stops.

use std::time::Duration;

use anyhow::{Context, bail};
use cordebug::callback::{Callback, exception};
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::deadline::deadline;
use tandem_harness::fixture::Runtime;
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    an_exception_that_no_filter_stops_at_takes_few_reads,
    a_filter_that_is_set_late_stops_at_exceptions_that_no_user_code_sees,
    an_exception_that_nobody_catches_stops_after_many_that_no_filter_stops_at,
    a_detached_program_reports_all_exceptions_to_the_next_debugger,
    a_program_that_throws_all_the_time_keeps_running_when_its_debugger_leaves,
    a_debugger_that_asks_for_nothing_receives_all_exceptions_after_one_that_did_not_want_them,
}

net8_tests! {
    an_exception_that_no_filter_stops_at_takes_few_reads,
    a_filter_that_is_set_late_stops_at_exceptions_that_no_user_code_sees,
    a_program_that_throws_all_the_time_keeps_running_when_its_debugger_leaves,
    a_debugger_that_asks_for_nothing_receives_all_exceptions_after_one_that_did_not_want_them,
}

/// Time limit for a program, s.
const TIMEOUT_SECS: u64 = 20;
/// Number of exceptions that the program throws.
const COUNT: u64 = 100;
/// Limit for the host's reads per exception, of the program's memory and its pipes: an
/// inspection reads each page once.
const MAX_READS: u64 = 600;
/// The limit if no exception is reported: the host does other work at the same time.
const MAX_OTHERS: u64 = 10;

/// Reads that the engine's threads in the host have made so far. Other threads of the host read at intervals,
/// so that their count depends on the time that a program takes.
fn read_calls_of_engine(process: &Value) -> anyhow::Result<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process["systemProcessId"]))?;
    let parent = stat.rsplit(')').next().and_then(|rest| rest.split_ascii_whitespace().nth(1));
    let mut total = None;
    for thread in std::fs::read_dir(format!("/proc/{}/task", parent.context("no parent")?))? {
        let thread = thread?.path();
        if std::fs::read_to_string(thread.join("comm"))?.trim() != "coreclr-engine" {
            continue;
        }
        let counts = std::fs::read_to_string(thread.join("io"))?;
        let count = counts.lines().find_map(|line| line.strip_prefix("syscr: "));
        *total.get_or_insert(0) += count.context("no count of reads")?.parse::<u64>()?;
    }
    total.context("the host has no thread of the engine")
}

async fn launch_program(runtime: Runtime, way: &str, markers: &[&str]) -> anyhow::Result<DapClient> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let more = json!({ "args": [way, COUNT.to_string()], "justMyCode": false });
    editor.launch("catches", markers, more).await?;
    Ok(editor)
}

async fn an_exception_that_no_filter_stops_at_takes_few_reads(runtime: Runtime) -> anyhow::Result<()> {
    for (way, most) in [("own", MAX_READS), ("deep", MAX_READS), ("theirs", MAX_OTHERS)] {
        let mut editor = launch_program(runtime, way, &["half", "ends"]).await?;
        let process = editor.event("process").await?;
        let (thread, _) = editor.stop().await?;
        let before = read_calls_of_engine(&process)?;
        editor.ok("continue", json!({ "threadId": thread })).await?;
        editor.event("stopped").await?;
        let each = (read_calls_of_engine(&process)? - before) / (COUNT / 2);
        assert!(each <= most, "{way}: {each} reads for each");
        editor.finish().await?;
    }
    Ok(())
}

async fn a_filter_that_is_set_late_stops_at_exceptions_that_no_user_code_sees(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let mut editor = launch_program(runtime, "theirs", &["half", "ends"]).await?;
    let (thread, _) = editor.stop().await?;
    editor.ok("setExceptionBreakpoints", json!({ "filters": ["all"] })).await?;
    editor.ok("continue", json!({ "threadId": thread })).await?;
    let stopped = editor.event("stopped").await?;
    assert_eq!(stopped["description"], "Exception: System.OperationCanceledException");
    editor.ok("setExceptionBreakpoints", json!({ "filters": [] })).await?;
    editor.ok("continue", json!({ "threadId": thread })).await?;
    assert_eq!(editor.event("stopped").await?["reason"], "breakpoint");
    editor.finish().await
}

async fn an_exception_that_nobody_catches_stops_after_many_that_no_filter_stops_at(
    runtime: Runtime,
) -> anyhow::Result<()> {
    for way in ["own", "theirs"] {
        let mut editor = launch_program(runtime, way, &[]).await?;
        let stopped = editor.event("stopped").await?;
        assert_eq!(stopped["description"], "Unhandled exception: System.ApplicationException", "{way}");
        editor.finish().await?;
    }
    Ok(())
}

async fn a_detached_program_reports_all_exceptions_to_the_next_debugger(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let (process, _lines) =
        tandem_harness::plain_programs::running_with(runtime, "catches", &["theirs", "1000000000"]).await?;
    for _ in 0..2 {
        let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
        editor.ok("initialize", json!({ "clientID": "test" })).await?;
        editor.ok("attach", json!({ "processId": process.id(), "justMyCode": false })).await?;
        editor.event("initialized").await?;
        editor.ok("setExceptionBreakpoints", json!({ "filters": ["all"] })).await?;
        editor.ok("configurationDone", Value::Null).await?;
        let stopped = editor.event("stopped").await?;
        assert_eq!(stopped["description"], "Exception: System.OperationCanceledException");
        // From here on, no client asks for them.
        editor.ok("setExceptionBreakpoints", json!({ "filters": ["unhandled"] })).await?;
        editor.break_at("catches", &["theirs"]).await?;
        for _ in 0..3 {
            editor.ok("continue", json!({ "threadId": stopped["threadId"] })).await?;
            assert_eq!(editor.event("stopped").await?["reason"], "breakpoint");
        }
        editor.finish().await?;
    }
    Ok(())
}

/// Ticks of processor time a process has used.
fn ticks(process: u32) -> anyhow::Result<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    // After the name in parentheses, field 3 is the first; 14 and 15 are the times (proc_pid_stat(5)).
    let fields: Vec<_> = stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace().collect();
    fields.get(11..13).context("no times")?.iter().map(|time| Ok(time.parse::<u64>()?)).sum()
}

/// Waits until a process uses the processor.
pub(super) async fn wait_until_busy(process: u32) -> anyhow::Result<()> {
    let left = ticks(process)?;
    let works = async {
        while ticks(process)? < left + 10 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(deadline(TIMEOUT_SECS), works).await.context("the program does not continue")?
}

async fn a_program_that_throws_all_the_time_keeps_running_when_its_debugger_leaves(
    runtime: Runtime,
) -> anyhow::Result<()> {
    // Exceptions that are reported all the time: those that no user code sees, those that it throws, and both
    // with the place where each is caught.
    for (way, just_my_code, filter) in
        [("theirs", false, "unhandled"), ("own", true, "unhandled"), ("own", true, "user-unhandled")]
    {
        let (process, _lines) =
            tandem_harness::plain_programs::running_with(runtime, "catches", &[way, "1000000000"]).await?;
        let process = process.id().context("it has ended")?;
        for _ in 0..4 {
            let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
            editor.ok("initialize", json!({ "clientID": "test" })).await?;
            editor.ok("attach", json!({ "processId": process, "justMyCode": just_my_code })).await?;
            editor.event("initialized").await?;
            editor.ok("setExceptionBreakpoints", json!({ "filters": [filter] })).await?;
            editor.ok("configurationDone", Value::Null).await?;
            editor.finish().await?;
            wait_until_busy(process).await.with_context(|| format!("after {way}"))?;
        }
    }
    Ok(())
}

async fn a_debugger_that_asks_for_nothing_receives_all_exceptions_after_one_that_did_not_want_them(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let (program, _lines) =
        tandem_harness::plain_programs::running_with(runtime, "catches", &["theirs", "1000000000"]).await?;
    let pid = program.id().context("it has ended")?;
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test" })).await?;
    editor.ok("attach", json!({ "processId": pid, "justMyCode": false })).await?;
    editor.event("initialized").await?;
    editor.ok("setExceptionBreakpoints", json!({ "filters": ["unhandled"] })).await?;
    editor.ok("configurationDone", Value::Null).await?;
    editor.finish().await?;

    // The next one uses the runtime's unchanged library.
    let found = cordebug::runtime::find(pid)?;
    let debugger = cordebug::runtime::create_debugger(pid, found.first().context("no runtime")?)?;
    let (sender, callbacks) = std::sync::mpsc::channel();
    debugger.start(move |callback| sender.send(callback).unwrap_or_default())?;
    let process = debugger.attach(pid)?;
    loop {
        match callbacks.recv_timeout(deadline(TIMEOUT_SECS)).context("no exception is reported")? {
            Callback::ExitProcess => bail!("the program has ended"),
            Callback::Exception { kind: exception::FIRST_CHANCE, .. } => break,
            _ => process.resume()?,
        }
    }
    // It is stopped, and the one thread that throws has reported its exception.
    Ok(process.detach()?)
}
