//! Machine code beside its source, and steps of one instruction.

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    a_methods_code_is_shown_with_its_source,
    variables_returns_the_requested_number_of_rows,
    a_step_of_one_instruction_ends_at_the_next_or_in_the_call,
    a_breakpoint_at_an_instruction_stops_there,
    a_breakpoint_at_no_instruction_says_why,
    invalid_disassembly_requests_are_refused_with_the_reason,
}

net8_tests! {
    a_methods_code_is_shown_with_its_source,
    a_step_of_one_instruction_ends_at_the_next_or_in_the_call,
    a_breakpoint_at_an_instruction_stops_there,
}

fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row[key].as_str().unwrap_or_default()
}

async fn stopped_in_outer(runtime: Runtime) -> anyhow::Result<(DapClient, i64, String)> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("steps", &["outer"], json!({})).await?;
    let (thread, frame) = editor.stop().await?;
    let place = text(&frame, "instructionPointerReference").to_owned();
    anyhow::ensure!(place.starts_with("0x"), "{frame}");
    Ok((editor, thread, place))
}

async fn rows(editor: &mut DapClient, place: &str, first: i64, count: i64) -> anyhow::Result<Vec<Value>> {
    let arguments = json!({ "memoryReference": place, "instructionOffset": first, "instructionCount": count,
        "resolveSymbols": true });
    let body = editor.ok("disassemble", arguments).await?;
    Ok(body["instructions"].as_array().context("no instructions")?.clone())
}

/// The rows of the method around a place.
async fn method(editor: &mut DapClient, place: &str) -> anyhow::Result<Vec<Value>> {
    let mut all = rows(editor, place, -200, 600).await?;
    all.retain(|row| row["presentationHint"] != "invalid");
    Ok(all)
}

async fn a_methods_code_is_shown_with_its_source(runtime: Runtime) -> anyhow::Result<()> {
    let (mut editor, _, place) = stopped_in_outer(runtime).await?;
    let code = method(&mut editor, &place).await?;
    assert_eq!(text(&code[0], "symbol"), "Program.Outer(int x)");
    assert_eq!((text(&code[0], "instruction"), text(&code[0], "instructionBytes")), ("push rbp", "55"));
    // Said once, where it is known first.
    let named: Vec<&Value> = code.iter().filter(|row| row["location"].is_object()).collect();
    assert_eq!(named.len(), 1, "{named:?}");
    assert_eq!(text(&named[0]["location"], "path"), fixture::source("steps"));
    let line = fixture::line("steps", "outer");
    let of = |line: i64| code.iter().filter(move |row| row["line"] == line).collect::<Vec<_>>();
    let (here, next) = (of(line), of(line + 1));
    assert_eq!(text(here[0], "address"), place, "the statement begins where the thread is stopped");
    assert!(here.iter().any(|row| text(row, "instruction").starts_with("call")), "{here:?}");
    assert!(!next.is_empty());
    // The breakpoint is not in the way.
    assert!(code.iter().all(|row| !text(row, "instruction").contains("int3")), "{code:?}");
    // Each begins where the one before ends.
    for pair in code.windows(2) {
        let address = |row: &Value| u64::from_str_radix(text(row, "address").trim_start_matches("0x"), 16);
        let size = text(&pair[0], "instructionBytes").split(' ').count() as u64;
        assert_eq!(address(&pair[0])? + size, address(&pair[1])?, "{pair:?}");
    }
    editor.finish().await
}

async fn variables_returns_the_requested_number_of_rows(runtime: Runtime) -> anyhow::Result<()> {
    let (mut editor, _, place) = stopped_in_outer(runtime).await?;
    let whole = method(&mut editor, &place).await?;
    for (first, count) in [(-100, 40), (-3, 5), (0, 1), (0, 300), (5, 0)] {
        let some = rows(&mut editor, &place, first, count).await?;
        assert_eq!(some.len() as i64, count);
        // Editors know rows by their addresses.
        let mut addresses: Vec<&str> = some.iter().map(|row| text(row, "address")).collect();
        addresses.dedup();
        assert_eq!(addresses.len() as i64, count);
    }
    // An offset in bytes leads into the instruction before.
    let at = whole.iter().position(|row| row["address"] == place.as_str()).context("not there")?;
    let arguments = json!({ "memoryReference": place, "offset": -1, "instructionCount": 1 });
    let body = editor.ok("disassemble", arguments).await?;
    assert_eq!(body["instructions"][0]["address"], whole[at - 1]["address"]);
    // Code that does not belong to a method, as far as it can be read.
    let call = whole.iter().map(|row| text(row, "instruction")).find_map(|row| row.strip_prefix("call 0x"));
    let target = format!("0x{}", call.context("no call of a fixed address")?);
    let helper = rows(&mut editor, &target, -2, 6).await?;
    assert_eq!((helper.len(), text(&helper[2], "address")), (6, target.as_str()));
    assert!(helper[2]["presentationHint"].is_null() && helper[2]["line"].is_null(), "{helper:?}");
    let nowhere = rows(&mut editor, "0x10", -1, 3).await?;
    assert!(nowhere.iter().all(|row| row["presentationHint"] == "invalid"), "{nowhere:?}");
    editor.finish().await
}

async fn a_step_of_one_instruction_ends_at_the_next_or_in_the_call(runtime: Runtime) -> anyhow::Result<()> {
    let (mut editor, thread, place) = stopped_in_outer(runtime).await?;
    let code = method(&mut editor, &place).await?;
    let mut at = code.iter().position(|row| row["address"] == place.as_str()).context("not there")?;
    let one = json!({ "threadId": thread, "granularity": "instruction" });
    while !text(&code[at], "instruction").starts_with("call") {
        editor.ok("next", one.clone()).await?;
        let (_, frame) = editor.stop().await?;
        at += 1;
        assert_eq!(frame["instructionPointerReference"], code[at]["address"]);
    }
    editor.ok("stepIn", one.clone()).await?;
    let (_, frame) = editor.stop().await?;
    assert_eq!(text(&frame, "name"), "Program.Inner(int x)");
    // Out of it, and over the rest of the statement.
    editor.ok("stepOut", one.clone()).await?;
    let (_, frame) = editor.stop().await?;
    assert_eq!(frame["instructionPointerReference"], code[at + 1]["address"]);
    editor.ok("next", json!({ "threadId": thread })).await?;
    let (_, frame) = editor.stop().await?;
    assert_eq!(frame["line"], fixture::line("steps", "outer") + 1);
    editor.finish().await
}

async fn breaks(editor: &mut DapClient, requests: Value) -> anyhow::Result<Vec<Value>> {
    let body = editor.ok("setInstructionBreakpoints", json!({ "breakpoints": requests })).await?;
    Ok(body["breakpoints"].as_array().context("no breakpoints")?.clone())
}

async fn a_breakpoint_at_an_instruction_stops_there(runtime: Runtime) -> anyhow::Result<()> {
    let (mut editor, _, place) = stopped_in_outer(runtime).await?;
    let code = method(&mut editor, &place).await?;
    let last = code.iter().rfind(|row| text(row, "instruction") == "ret").context("no ret")?;
    let line = fixture::line("steps", "outer");
    let second = code.iter().find(|row| row["line"] == line + 1).context("no second statement")?;
    let requests = json!([
        { "instructionReference": second["address"] },
        { "instructionReference": code[0]["address"],
          "offset": u64::from_str_radix(&text(last, "address")[2..], 16)? as i64
              - u64::from_str_radix(&text(&code[0], "address")[2..], 16)? as i64,
          "condition": "1 + 1 == 2" },
    ]);
    let set = breaks(&mut editor, requests).await?;
    assert!(set.iter().all(|breakpoint| breakpoint["verified"] == true), "{set:?}");
    assert_eq!((&set[0]["line"], text(&set[0]["source"], "name")), (&json!(line + 1), "Program.cs"));
    // One on its line as well: one stop for both.
    let source = json!({ "path": fixture::source("steps") });
    let lines = json!([{ "line": line + 1 }]);
    editor.ok("setBreakpoints", json!({ "source": source, "breakpoints": lines })).await?;
    editor.ok("continue", json!({})).await?;
    let stopped = editor.event("stopped").await?;
    assert_eq!(stopped["hitBreakpointIds"].as_array().map(Vec::len), Some(2), "{stopped}");
    editor.ok("continue", json!({})).await?;
    let (_, frame) = editor.stop().await?;
    assert_eq!(frame["instructionPointerReference"], last["address"]);
    // Out of the program again.
    breaks(&mut editor, json!([])).await?;
    editor.ok("setBreakpoints", json!({ "source": source, "breakpoints": [] })).await?;
    editor.ok("continue", json!({})).await?;
    editor.event("exited").await?;
    editor.finish().await
}

async fn a_breakpoint_at_no_instruction_says_why(runtime: Runtime) -> anyhow::Result<()> {
    let (mut editor, _, place) = stopped_in_outer(runtime).await?;
    let requests = json!([
        { "instructionReference": place, "offset": 1 },
        { "instructionReference": "0x10" },
        { "instructionReference": "Main" },
        { "instructionReference": place, "hitCondition": "often" },
    ]);
    let set = breaks(&mut editor, requests).await?;
    let expected = [
        "no instruction begins at 0x",
        "no known method has code at 0x10",
        "not a memory reference",
        "often",
    ];
    for (breakpoint, expected) in set.iter().zip(expected) {
        assert_eq!(breakpoint["verified"], false, "{breakpoint}");
        assert!(text(breakpoint, "message").contains(expected), "{breakpoint}");
    }
    editor.finish().await
}

async fn invalid_disassembly_requests_are_refused_with_the_reason(runtime: Runtime) -> anyhow::Result<()> {
    let (mut editor, _, place) = stopped_in_outer(runtime).await?;
    for arguments in [
        json!({ "memoryReference": "here", "instructionCount": 1 }),
        json!({ "memoryReference": place }),
        json!({ "memoryReference": place, "instructionCount": -1 }),
        json!({ "memoryReference": place, "instructionCount": 1_000_000 }),
        json!({ "memoryReference": place, "instructionCount": 1, "instructionOffset": i64::MIN }),
        json!({ "memoryReference": "0x1", "offset": -2, "instructionCount": 1 }),
    ] {
        assert_eq!(
            editor.refused("disassemble", arguments.clone()).await?,
            "INVALID_PARAMETER",
            "{arguments}"
        );
    }
    editor.finish().await?;
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("spin", &[], json!({})).await?;
    let arguments = json!({ "memoryReference": "0x1000", "instructionCount": 1 });
    assert_eq!(editor.refused("disassemble", arguments).await?, "NOT_STOPPED");
    editor.finish().await
}
