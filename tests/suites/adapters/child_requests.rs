//! Requests that an adapter has not announced or does not know: they are refused, and the session continues.

use std::collections::HashMap;
use std::time::Instant;

use serde_json::{Value, json};
use tandem_harness::child::Subject;
use tandem_harness::client::DapClient;
use tandem_harness::deadline::deadline;
use tandem_harness::transcript::Transcript;

fn editor() -> anyhow::Result<DapClient> {
    DapClient::start_in("editor", HashMap::new(), &Transcript::default())
}

/// lldb-dap 19 aborts at an unknown request, and an editor may send one before it receives the capabilities.
#[tokio::test]
async fn a_request_the_adapter_has_not_announced_does_not_reach_it() -> anyhow::Result<()> {
    let (source, mut editor) = (Subject::Lldb.source(), editor()?);
    editor.ok("initialize", json!({ "clientID": "test" })).await?;
    let launch = editor.send("launch", Subject::Lldb.launch()).await?;
    editor.event("initialized").await?;
    let arguments = json!({ "source": { "path": source }, "line": 1 });
    assert_eq!(editor.refused("breakpointLocations", arguments).await?, "UNSUPPORTED");
    assert_eq!(editor.refused("loadedSources", json!({})).await?, "UNSUPPORTED");
    let set = editor.break_on(&source, &[Subject::Lldb.line("handle")]).await?;
    assert_eq!(set["breakpoints"][0]["verified"], true);
    editor.ok("configurationDone", Value::Null).await?;
    anyhow::ensure!(editor.response(launch).await?.success);
    editor.ok("processWriteInput", json!({ "data": "x\n" })).await?;
    assert_eq!(editor.event("stopped").await?["reason"], "breakpoint");
    editor.finish().await
}

/// gdb answered requests right after a resume only when the program stopped again.
#[tokio::test]
async fn a_request_right_after_a_resume_is_answered_while_the_program_runs() -> anyhow::Result<()> {
    let (source, mut editor) = (Subject::Gdb.source(), editor()?);
    editor.ok("initialize", json!({ "clientID": "test" })).await?;
    let launch = editor.send("launch", Subject::Gdb.launch()).await?;
    editor.initialized(launch).await?;
    editor.break_on(&source, &[Subject::Gdb.line("handle")]).await?;
    let configured = editor.send("configurationDone", Value::Null).await?;
    let threads = editor.send("threads", Value::Null).await?;
    for request in [configured, threads, launch] {
        anyhow::ensure!(editor.response(request).await?.success);
    }
    for _ in 0..10 {
        editor.ok("processWriteInput", json!({ "data": "x\n" })).await?;
        let thread = editor.event("stopped").await?["threadId"].clone();
        let go_on = editor.send("continue", json!({ "threadId": thread })).await?;
        let threads = editor.send("threads", Value::Null).await?;
        for request in [go_on, threads] {
            anyhow::ensure!(editor.response(request).await?.success);
        }
    }
    editor.ok("disconnect", json!({ "terminateDebuggee": true })).await?;
    editor.wait_until_ended().await
}

/// lldb-dap 19 never answers again after a data breakpoint whose `dataId` has no size.
#[tokio::test]
async fn a_data_breakpoint_the_adapter_would_not_survive_is_refused_alone() -> anyhow::Result<()> {
    let (source, mut editor) = (Subject::Lldb.source(), editor()?);
    editor.launch_child(with_own_prefix(), &source, &[Subject::Lldb.line("handle")]).await?;
    editor.ok("processWriteInput", json!({ "data": "x\n" })).await?;
    let (thread, frame) = editor.stop().await?;
    let scopes = editor.ok("scopes", json!({ "frameId": frame["id"] })).await?;
    let locals = scopes["scopes"][0]["variablesReference"].clone();
    let rows = editor.ok("variables", json!({ "variablesReference": locals })).await?;
    let info = json!({ "variablesReference": locals, "name": rows["variables"][0]["name"] });
    let id = editor.ok("dataBreakpointInfo", info).await?["dataId"].clone();
    let requests =
        json!({ "breakpoints": [{ "dataId": "no such" }, { "dataId": &id, "accessType": "write" }] });
    let body = editor.ok("setDataBreakpoints", requests).await?;
    assert_eq!(body["breakpoints"][0]["verified"], false, "{body}");
    assert!(body["breakpoints"][0]["message"].as_str().is_some_and(|why| why.contains("no such")), "{body}");
    assert_eq!(body["breakpoints"][1]["verified"], true, "{body}");
    // By name, and where a line's breakpoint has the same number of lldb's: the program does not resume.
    let frame_id = &frame["id"];
    let info = editor.ok("dataBreakpointInfo", json!({ "frameId": frame_id, "name": "total" })).await?;
    assert!(info["description"].as_str().is_some_and(|text| text.ends_with(" total")), "{info}");
    // lldb names none of several by itself.
    let both = [&id, &info["dataId"]].map(|id| json!({ "dataId": id, "accessType": "write" }));
    let watched =
        editor.ok("setDataBreakpoints", json!({ "breakpoints": both })).await?["breakpoints"][1].clone();
    let line = json!([{ "line": Subject::Lldb.line("handle"), "hitCondition": "9" }]);
    editor.ok("setBreakpoints", json!({ "source": { "path": source }, "breakpoints": line })).await?;
    editor.ok("continue", json!({ "threadId": thread })).await?;
    let stop = editor.event("stopped").await?;
    assert_eq!(stop["reason"], "data breakpoint", "{stop}");
    assert_eq!(stop["hitBreakpointIds"], json!([watched["id"]]), "{stop}");
    editor.finish().await
}

/// A launch whose user marks commands in the console in another way: Tandem's own are marked so, too.
fn with_own_prefix() -> Value {
    let mut launch = Subject::Lldb.launch();
    launch["commandEscapePrefix"] = json!(":");
    launch
}

/// lldb-dap 19 found data in frames only, and stepped a line for an instruction.
#[tokio::test]
async fn a_global_is_watched_without_a_frame_and_a_step_is_of_one_instruction() -> anyhow::Result<()> {
    let (source, mut editor) = (Subject::Lldb.source(), editor()?);
    editor.launch_child(with_own_prefix(), &source, &[Subject::Lldb.line("handle")]).await?;
    editor.ok("processWriteInput", json!({ "data": "x\n" })).await?;
    let (thread, frame) = editor.stop().await?;
    let local = editor.ok("dataBreakpointInfo", json!({ "name": "length" })).await?;
    assert_eq!(local["dataId"], Value::Null, "{local}");
    let info = editor.ok("dataBreakpointInfo", json!({ "name": "total" })).await?;
    let named = json!({ "name": "total", "frameId": frame["id"] });
    assert_eq!(editor.ok("dataBreakpointInfo", named).await?["dataId"], info["dataId"]);
    let next = addresses(&mut editor, &frame["instructionPointerReference"], 1, 1).await?.remove(0);
    editor.ok("next", json!({ "threadId": thread, "granularity": "instruction" })).await?;
    assert_eq!(editor.event("stopped").await?["reason"], "step");
    let stack = editor.ok("stackTrace", json!({ "threadId": thread, "levels": 1 })).await?;
    let at = stack["stackFrames"][0]["instructionPointerReference"].as_str().unwrap_or_default();
    assert!(at.eq_ignore_ascii_case(&next), "{at} is not {next}");
    // The id is of another stop.
    let watch = json!({ "breakpoints": [{ "dataId": info["dataId"], "accessType": "write" }] });
    let watched = editor.ok("setDataBreakpoints", watch).await?["breakpoints"][0].clone();
    assert_eq!(watched["verified"], true, "{watched}");
    editor.ok("continue", json!({ "threadId": thread })).await?;
    assert_eq!(editor.event("stopped").await?["reason"], "data breakpoint");
    editor.finish().await
}

/// lldb keeps a step that a breakpoint has interrupted, and stopped where it ends after the next `continue`.
#[tokio::test]
async fn a_step_that_a_breakpoint_has_interrupted_under_lldb_ends_with_a_continue() -> anyhow::Result<()> {
    let (source, mut editor) = (Subject::Lldb.source(), editor()?);
    editor.launch_child(Subject::Lldb.launch(), &source, &[Subject::Lldb.line("handle")]).await?;
    editor.ok("processWriteInput", json!({ "data": "x\nyy\n", "closeAfter": true })).await?;
    let (thread, _) = editor.stop().await?;
    editor.ok("stepOut", json!({ "threadId": thread })).await?;
    let mut steps = 0;
    // Over the lines of the loop, to the breakpoint in the function that it calls.
    while editor.event("stopped").await?["reason"] == "step" {
        anyhow::ensure!(steps < 9, "no step reached the breakpoint");
        steps += 1;
        editor.ok("next", json!({ "threadId": thread })).await?;
    }
    editor.break_on(&source, &[]).await?;
    editor.ok("continue", json!({ "threadId": thread })).await?;
    let (event, body) = editor.any_event(&["stopped", "exited"]).await?;
    assert_eq!((event.as_str(), &body["exitCode"]), ("exited", &json!(7)), "{body}");
    editor.finish().await
}

/// gdb did not return how many bytes it wrote, and a write that reached the end of memory failed after its
/// first part.
async fn write_total(editor: &mut DapClient, frame: &Value) -> anyhow::Result<()> {
    let watch = |expression: &str| json!({ "expression": expression, "frameId": frame, "context": "watch" });
    let at = editor.ok("evaluate", watch("(long)&total")).await?["result"].clone();
    let nine = json!({ "memoryReference": at, "data": "CQAAAA==" });
    assert_eq!(editor.ok("writeMemory", nine).await?["bytesWritten"], 4);
    assert_eq!(editor.ok("evaluate", watch("total")).await?["result"], "9");
    let nowhere = json!({ "memoryReference": "0x0", "data": "CQAAAA==", "allowPartial": true });
    assert_eq!(editor.ok("writeMemory", nowhere).await?["bytesWritten"], 0);
    for refused in [
        json!({ "memoryReference": "0x0", "data": "CQAAAA==" }),
        json!({ "memoryReference": at, "data": "@@@@" }),
    ] {
        assert_eq!(editor.refused("writeMemory", refused).await?, "ENGINE_FAILED");
    }
    Ok(())
}

/// The addresses of so many instructions, from this one on, counted from an address.
async fn addresses(
    editor: &mut DapClient,
    address: &Value,
    first: i64,
    count: usize,
) -> anyhow::Result<Vec<String>> {
    let arguments =
        json!({ "memoryReference": address, "instructionOffset": first, "instructionCount": count });
    let answer = editor.ok("disassemble", arguments).await?;
    let rows = answer["instructions"].as_array().into_iter().flatten();
    let addresses: Vec<_> = rows.filter_map(|row| row["address"].as_str().map(str::to_owned)).collect();
    anyhow::ensure!(addresses.len() == count, "{answer}");
    Ok(addresses)
}

/// lldb-dap took the number of instructions to go back for bytes, gdb for the end of the list. gdb could not
/// resume a program with a breakpoint where no memory is.
#[tokio::test]
async fn machine_code_before_an_address_is_that_before_it() -> anyhow::Result<()> {
    for subject in [Subject::Lldb, Subject::Gdb] {
        let mut editor = editor()?;
        editor.launch_child(subject.launch(), &subject.source(), &[subject.line("handle")]).await?;
        editor.ok("processWriteInput", json!({ "data": "x\n" })).await?;
        let (thread, frame) = editor.stop().await?;
        let here = &frame["instructionPointerReference"];
        let around = addresses(&mut editor, here, -3, 6).await?;
        let ahead = addresses(&mut editor, here, 0, 3).await?;
        assert_eq!(around[3..], ahead, "{subject:?}: {around:?}");
        // An instruction leads to the next one, also from the first on.
        let first = json!(around[0]);
        assert_eq!(addresses(&mut editor, &first, 0, 6).await?, around, "{subject:?}");
        assert_eq!(addresses(&mut editor, here, -3, 2).await?, around[..2], "{subject:?}");
        if subject == Subject::Gdb {
            let nowhere = json!({ "breakpoints": [{ "instructionReference": "0x1" }] });
            let answer = editor.ok("setInstructionBreakpoints", nowhere).await?;
            assert_eq!(answer["breakpoints"][0]["verified"], false, "{answer}");
            let end = json!({ "memoryReference": "0x0", "count": 4 });
            assert_eq!(editor.ok("readMemory", end).await?["unreadableBytes"], 4);
            write_total(&mut editor, &frame["id"]).await?;
        }
        editor.ok("processWriteInput", json!({ "data": "yy\n" })).await?;
        editor.ok("continue", json!({ "threadId": thread })).await?;
        editor.stop().await?;
        editor.finish().await?;
    }
    Ok(())
}

/// bash-dap compared the path by which the script names a file, took values for errors, and the reverse.
#[tokio::test]
async fn a_sourced_file_has_its_whole_path_however_the_script_names_it() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?;
    std::fs::create_dir(root.join("bin"))?;
    let main = root.join("bin/main.sh");
    let script = "msg='not found'\nuni=$'h\\xc3\\xa9'\n. \"${0%/*}/../inner.sh\"\ncd \"${0%/*}\"\n\
        . ../outer.sh\ncd /\ninner\nouter\n";
    std::fs::write(&main, script)?;
    for name in ["inner", "outer"] {
        std::fs::write(root.join(name).with_extension("sh"), format!("{name}() {{\n  echo {name}\n}}\n"))?;
    }
    let mut editor = editor()?;
    let launch = Subject::Bash.with(json!({ "program": main, "env": { "LC_ALL": "C" } }));
    editor.launch_child(launch, &root.join("inner.sh"), &[2]).await?;
    let (thread, frame) = editor.stop().await?;
    assert_eq!(frame["source"]["path"], json!(root.join("inner.sh")));
    let evaluation = |expression: &str| json!({ "expression": expression, "frameId": frame["id"] });
    for (expression, value) in [("msg", "not found"), ("uni", "hé"), ("$uni", "hé")] {
        assert_eq!(editor.ok("evaluate", evaluation(expression)).await?["result"], value);
    }
    for expression in ["nowhere", "${msg", "$msg\nrun"] {
        assert_eq!(editor.refused("evaluate", evaluation(expression)).await?, "EVALUATION_FAILED");
    }
    editor.break_on(&root.join("outer.sh"), &[2]).await?;
    editor.ok("continue", json!({ "threadId": thread })).await?;
    let (_, frame) = editor.stop().await?;
    assert_eq!(frame["source"]["path"], json!(root.join("outer.sh")));
    editor.finish().await
}

/// Options of the script changed how its debugger read commands, and the debugger what the script did.
#[tokio::test]
async fn a_script_and_its_debugger_do_not_share_their_settings() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let script = folder.path().join("strict.sh");
    let lines = [
        "#!/bin/bash -eC",
        "IFS=, PATH=/nowhere word='a,b' list=(1 2)",
        "shopt -s nocasematch",
        "rm() { echo removed; }; trap 'echo failed' ERR",
        "inner() { false; true; }; (set +e; inner)",
        "[[ key=value =~ =(.*) ]]",
        "set -x",
        "word+=c",
        "set +x",
        "(return 0) 2>&- && echo sourced",
        ": one two",
        "echo \"$word ${BASH_REMATCH[1]} ${#BASH_SOURCE[@]} $_\"",
        "false",
        "echo not reached",
    ];
    std::fs::write(&script, lines.join("\n"))?;
    let mut editor = editor()?;
    editor
        .launch_child(Subject::Bash.with(json!({ "program": script, "args": ["x"] })), &script, &[7])
        .await?;
    let (thread, frame) = editor.stop().await?;
    for (expression, value) in
        [("$word", "a,b"), ("word", "a,b"), ("${list[*]}", "1,2"), ("${#IFS}", "1"), ("$1-$#", "x-1")]
    {
        let evaluation = json!({ "expression": expression, "frameId": frame["id"] });
        assert_eq!(editor.ok("evaluate", evaluation).await?["result"], value, "{expression}");
    }
    for line in [8, 9] {
        editor.ok("next", json!({ "threadId": thread })).await?;
        assert_eq!(editor.stop().await?.1["line"], line);
    }
    editor.ok("continue", json!({ "threadId": thread })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 1);
    let output = editor.ok("processReadOutput", json!({ "since": "o0.e0" })).await?;
    assert_eq!(output["stdout"], "a,bc value 1 two\nfailed\n");
    assert_eq!(output["stderr"], "+ word+=c\n+ set +x\n");
    editor.finish().await
}

/// js-debug never answers an unknown request and reports it on stderr. It does answer the custom requests
/// that VS Code's extension sends.
#[tokio::test]
async fn requests_unknown_to_js_debug_are_refused_at_once_and_its_own_reach_it() -> anyhow::Result<()> {
    let (source, mut editor) = (Subject::Js.source(), editor()?);
    editor.launch_child(Subject::Js.launch(), &source, &[Subject::Js.line("handle")]).await?;
    editor.ok("processWriteInput", json!({ "data": "x\n" })).await?;
    editor.stop().await?;
    let start = Instant::now();
    for command in ["inventedRequest", "inventedRequest", "another"] {
        assert_eq!(editor.refused(command, json!({})).await?, "UNSUPPORTED");
    }
    assert!(start.elapsed() < deadline(10), "{:?}", start.elapsed());
    editor.ok("setExcludedCallers", json!({ "callers": [] })).await?;
    editor.ok("threads", json!({})).await?;
    editor.finish().await
}
