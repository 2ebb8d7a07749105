//! The program's stdin, stdout and stderr, and a flood that must not grow our memory.

use serde_json::json;
use tandem_harness::client::DapClient;
use tandem_harness::deadline::deadline_ms;
use tandem_harness::fixture::Runtime;
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    input_is_echoed_waited_for_and_ended,
    clearing_is_each_clients_own,
    a_flood_is_bounded_and_counted,
    a_line_in_the_debug_console_goes_to_stdin,
}

net8_tests! {
    input_is_echoed_waited_for_and_ended,
    a_flood_is_bounded_and_counted,
    a_line_in_the_debug_console_goes_to_stdin,
}

async fn input_is_echoed_waited_for_and_ended(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("echo", &[], json!({})).await?;
    // It waits for input: a wait for text that does not come ends with that.
    let read = editor.ok("processReadOutput", json!({ "waitFor": "no such text" })).await?;
    assert_eq!((&read["waitingForInput"], &read["matched"]), (&json!(true), &json!(null)));
    editor.ok("processWriteInput", json!({ "data": "aMO8Cg==", "encoding": "base64" })).await?;
    let read = editor
        .ok("processReadOutput", json!({ "waitFor": "echo: h.", "timeoutMs": deadline_ms(20) }))
        .await?;
    assert_eq!((&read["matched"], &read["stdout"]), (&json!("echo: hü"), &json!("echo: hü\n")));
    assert_eq!(read["stdoutBytes"], 10);
    let closed = editor.ok("processWriteInput", json!({ "data": "last", "closeAfter": true })).await?;
    assert_eq!(closed["stdinClosed"], true);
    assert_eq!(editor.refused("processWriteInput", json!({ "data": "x" })).await?, "STDIN_CLOSED");
    assert_eq!(editor.event("exited").await?["exitCode"], 0);
    let rest = editor.ok("processReadOutput", json!({ "since": read["cursor"], "stream": "stdout" })).await?;
    assert_eq!((&rest["stdout"], &rest["exited"]), (&json!("echo: last\neof\n"), &json!(true)));
    assert!(rest.get("stderr").is_none());
    assert_eq!(editor.output[0], "echo: hü\necho: last\neof\n");
    editor.finish().await
}

async fn clearing_is_each_clients_own(runtime: Runtime) -> anyhow::Result<()> {
    let transcript = Transcript::default();
    let mut first = DapClient::start("first", runtime, &transcript)?;
    first.launch("echo", &[], json!({})).await?;
    let mut second = DapClient::connect("second", &first.socket().await?, &transcript).await?;
    second.join(json!({ "clientID": "other" })).await?;
    second.ok("processWriteInput", json!({ "data": "one\n" })).await?;
    let read = first.ok("processReadOutput", json!({ "waitFor": "one\n", "clear": true })).await?;
    assert_eq!(read["stdout"], "echo: one\n");
    assert_eq!(first.ok("processReadOutput", json!({})).await?["stdout"], "");
    assert_eq!(second.ok("processReadOutput", json!({})).await?["stdout"], "echo: one\n");
    second.finish().await?;
    first.finish().await
}

async fn a_flood_is_bounded_and_counted(runtime: Runtime) -> anyhow::Result<()> {
    const MEBIBYTES: u64 = 200;
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let more = json!({ "args": [MEBIBYTES.to_string()], "outputBufferBytes": 1024 * 1024 });
    editor.launch("flood", &[], more).await?;
    let process = editor.event("process").await?;
    let host = parent_of(process["systemProcessId"].as_u64().unwrap_or(0))?;
    assert_eq!(editor.event("exited").await?["exitCode"], 0);
    let read = editor.ok("processReadOutput", json!({ "stream": "stdout" })).await?;
    let total = MEBIBYTES * 1024 * 1024 + "the last line\n".len() as u64;
    let (kept, dropped) = (read["stdoutBytes"].as_u64().unwrap_or(0), read["dropped"].as_u64().unwrap_or(0));
    assert_eq!(kept, 1024 * 1024);
    assert_eq!(kept + dropped, total);
    let text = read["stdout"].as_str().unwrap_or_default();
    assert!(text.ends_with("the last line\n"));
    // The end of the output is kept without gaps: its numbered lines follow one another.
    let numbers: Vec<u64> = text.lines().filter_map(|line| line.get(..12)?.parse().ok()).collect();
    assert!(numbers.len() > 16_000 && numbers.windows(2).all(|pair| pair[1] == pair[0] + 1));
    // The editor learns how much output it missed.
    let shown = editor.output[0].len() as u64;
    let missed: u64 = editor.output[2]
        .lines()
        .filter_map(|line| line.strip_prefix('[')?.split(' ').next()?.parse::<u64>().ok())
        .sum();
    assert_eq!(shown + missed, total);
    let status = std::fs::read_to_string(format!("/proc/{host}/status"))?;
    let peak: u64 = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:")?.trim().split(' ').next()?.parse().ok())
        .unwrap_or(u64::MAX);
    assert!(peak < 160 * 1024, "the host grew to {peak} KiB");
    editor.finish().await
}

fn parent_of(pid: u64) -> anyhow::Result<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let behind = stat.rsplit(')').next().unwrap_or_default();
    Ok(behind.split_ascii_whitespace().nth(1).unwrap_or_default().parse()?)
}

async fn a_line_in_the_debug_console_goes_to_stdin(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("echo", &[], json!({})).await?;
    editor.ok("evaluate", json!({ "expression": ">typed", "context": "repl" })).await?;
    editor.ok("processReadOutput", json!({ "waitFor": "echo: typed" })).await?;
    editor.ok("evaluate", json!({ "expression": ">>", "context": "repl" })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 0);
    assert_eq!(editor.output[0], "echo: typed\neof\n");
    editor.finish().await
}
