//! Child adapters that crash, hang, talk nonsense or answer twice: every waiter is answered, the session ends
//! in order, and the program does not survive. A scripted adapter does what real ones cannot be made to do.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::deadline::deadline;
use tandem_harness::fixture;
use tandem_harness::transcript::Transcript;

/// An adapter that plays these steps, as the attributes of a launch.
struct ScriptedAdapter {
    folder: tempfile::TempDir,
}

impl ScriptedAdapter {
    fn new(steps: &[Value]) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let script: Vec<String> = steps.iter().map(Value::to_string).collect();
        std::fs::write(folder.path().join("script"), script.join("\n"))?;
        Ok(Self { folder })
    }

    fn launch(&self) -> Value {
        let path = |name: &str| self.folder.path().join(name).display().to_string();
        json!({ "program": path("program"), "unheardOf": { "deep": [null, 1.5] }, "engine": {
            "command": fixture::binary("fake_adapter"), "args": [path("script"), path("log")] } })
    }

    /// The arguments of the first request of this command that the adapter received.
    fn was_sent(&self, command: &str) -> anyhow::Result<Value> {
        let log = std::fs::read_to_string(self.folder.path().join("log"))?;
        let messages = log.lines().map(serde_json::from_str::<Value>).collect::<Result<Vec<_>, _>>()?;
        let found = messages.into_iter().find(|message| message["command"] == command);
        Ok(found.with_context(|| format!("no `{command}`"))?["arguments"].clone())
    }
}

fn wait_for(command: &str, seq: i64) -> Value {
    json!({ "dir": "out", "m": { "type": "request", "command": command, "seq": seq } })
}

fn answer(command: &str, seq: i64, body: &Value) -> Value {
    json!({ "dir": "in", "m": { "type": "response", "command": command, "request_seq": seq, "seq": 0,
        "success": true, "body": body } })
}

fn event(event: &str, body: &Value) -> Value {
    json!({ "dir": "in", "m": { "type": "event", "event": event, "seq": 0, "body": body } })
}

/// A handshake up to a program that runs; `runInTerminal` starts one that would never end.
fn running() -> Vec<Value> {
    vec![
        wait_for("initialize", 1),
        answer(
            "initialize",
            1,
            &json!({ "supportsConfigurationDoneRequest": true, "supportsOddThings": true }),
        ),
        wait_for("launch", 2),
        json!({ "dir": "in", "m": { "type": "request", "command": "runInTerminal", "seq": 1,
            "arguments": { "args": ["sleep", "1000"], "cwd": "/" } } }),
        json!({ "dir": "out", "m": { "type": "response", "command": "runInTerminal", "seq": 3 } }),
        event("initialized", &Value::Null),
        wait_for("configurationDone", 4),
        answer("configurationDone", 4, &Value::Null),
        answer("launch", 2, &Value::Null),
    ]
}

async fn start(fake: &ScriptedAdapter) -> anyhow::Result<(DapClient, Value)> {
    let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
    editor.launch_child(fake.launch(), &fake.folder.path().join("source"), &[]).await?;
    let process = editor.event("process").await?;
    anyhow::ensure!(process["systemProcessId"].is_u64(), "no pid in {process}");
    Ok((editor, process["systemProcessId"].clone()))
}

/// Waits until a process is gone.
async fn wait_until_gone(pid: &Value) -> anyhow::Result<()> {
    let folder = std::path::PathBuf::from(format!("/proc/{pid}"));
    let going = async {
        while folder.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(deadline(10), going).await.with_context(|| format!("{pid} survives"))
}

fn message(failure: &Value) -> &str {
    failure["error"]["variables"]["message"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn a_refused_launch_is_shown_to_the_person_with_what_the_adapter_printed() -> anyhow::Result<()> {
    // Delve's way: the reason is printed, and the answer is marked as not worth showing.
    let refusal = json!({ "dir": "in", "m": { "type": "response", "command": "launch", "request_seq": 2,
        "seq": 0,
        "success": false, "message": "Failed to launch",
        "body": { "error": { "id": 3000, "format": "Build error.", "showUser": false } } } });
    let fake = ScriptedAdapter::new(&[
        wait_for("initialize", 1),
        answer("initialize", 1, &json!({})),
        wait_for("launch", 2),
        event("output", &json!({ "category": "telemetry", "output": "noise" })),
        event("output", &json!({ "category": "stderr", "output": "undefined: greeting\n", "source": {} })),
        refusal,
    ])?;
    let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let refused = editor.ask("launch", fake.launch()).await?;
    let error = &refused.body["error"];
    assert_eq!(error["variables"]["code"], "LAUNCH_FAILED");
    assert_eq!(error["variables"]["message"], "Build error; it said: undefined: greeting");
    assert_eq!(error["showUser"], true);
    editor.finish().await
}

#[tokio::test]
async fn a_program_that_ends_as_it_resumes_is_not_a_refusal() -> anyhow::Result<()> {
    let mut steps = running();
    steps.push(event("stopped", &json!({ "reason": "pause", "threadId": 1 })));
    steps.push(wait_for("next", 5));
    steps
        .push(json!({ "dir": "in", "m": { "type": "response", "command": "next", "request_seq": 5, "seq": 0,
        "success": false, "message": "Unable to step next" } }));
    steps.push(event("exited", &json!({ "exitCode": 134 })));
    steps.push(event("terminated", &Value::Null));
    let fake = ScriptedAdapter::new(&steps)?;
    let (mut editor, pid) = start(&fake).await?;
    editor.event("stopped").await?;
    editor.ok("next", json!({ "threadId": 1 })).await?;
    editor.event("exited").await?;
    editor.event("terminated").await?;
    wait_until_gone(&pid).await?;
    editor.finish().await
}

#[tokio::test]
async fn every_waiting_request_is_answered_with_the_stderr_tail_of_a_crashed_adapter() -> anyhow::Result<()> {
    let mut steps = running();
    steps.push(event("stopped", &json!({ "reason": "pause", "threadId": 1 })));
    steps.push(wait_for("threads", 5));
    steps.push(wait_for("evaluate", 6));
    steps.push(json!({ "do": "stderr", "text": "assertion failed: the moon is full" }));
    steps.push(json!({ "do": "exit", "code": 9 }));
    let fake = ScriptedAdapter::new(&steps)?;
    let (mut editor, pid) = start(&fake).await?;
    editor.event("stopped").await?;
    let request = [
        editor.send("threads", Value::Null).await?,
        editor.send("evaluate", json!({ "expression": "1" })).await?,
    ];
    for seq in request {
        let refused = editor.response(seq).await?;
        assert!(!refused.success);
        let reason = message(&refused.body);
        assert!(reason.contains("the moon is full") && reason.contains("ended with exit code 9"), "{reason}");
    }
    editor.event("terminated").await?;
    assert!(editor.output[2].contains("the moon is full"), "{:?}", editor.output);
    wait_until_gone(&pid).await?;
    editor.finish().await
}

#[tokio::test]
async fn an_adapter_that_talks_nonsense_ends_the_session_with_the_reason() -> anyhow::Result<()> {
    let mut steps = running();
    steps.push(wait_for("threads", 5));
    steps.push(json!({ "do": "raw", "text": "Segmentation fault (core dumped)\r\n\r\n" }));
    steps.push(json!({ "do": "hang" }));
    let fake = ScriptedAdapter::new(&steps)?;
    let (mut editor, pid) = start(&fake).await?;
    let refused = editor.ask("threads", Value::Null).await?;
    assert!(message(&refused.body).contains("Segmentation fault"), "{}", refused.body);
    editor.event("terminated").await?;
    wait_until_gone(&pid).await?;
    editor.finish().await
}

#[tokio::test]
async fn an_adapter_that_hangs_does_not_keep_anybody() -> anyhow::Result<()> {
    let mut steps = running();
    steps.push(json!({ "do": "hang" }));
    let fake = ScriptedAdapter::new(&steps)?;
    let (mut editor, pid) = start(&fake).await?;
    // Cancelled, not answered.
    let seq = editor.send("threads", Value::Null).await?;
    editor.ok("cancel", json!({ "requestId": seq })).await?;
    let cancelled = editor.response(seq).await?;
    assert_eq!(cancelled.body["error"]["variables"]["code"], "CANCELLED");
    editor.finish().await?;
    wait_until_gone(&pid).await
}

/// An adapter in a container names its program by a number that means another process here.
#[tokio::test]
async fn a_process_that_the_adapter_did_not_start_survives_the_session() -> anyhow::Result<()> {
    let mut stranger = tokio::process::Command::new("sleep").arg("1000").kill_on_drop(true).spawn()?;
    let mut steps = running();
    steps.retain(|step| step["m"]["command"] != "runInTerminal");
    let reported = json!({ "name": "app", "systemProcessId": stranger.id(), "isLocalProcess": true });
    steps.push(event("process", &reported));
    steps.push(json!({ "do": "hang" }));
    let fake = ScriptedAdapter::new(&steps)?;
    let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
    editor.launch_child(fake.launch(), &fake.folder.path().join("source"), &[]).await?;
    let process = editor.event("process").await?;
    assert_eq!(
        (&process["systemProcessId"], &process["isLocalProcess"]),
        (&json!(stranger.id()), &json!(false))
    );
    editor.finish().await?;
    anyhow::ensure!(stranger.try_wait()?.is_none(), "the session ended a process that was not its own");
    stranger.kill().await?;
    Ok(())
}

/// gdb reports a call that it gave up as an unknown command.
#[tokio::test]
async fn a_cancelled_evaluation_that_the_adapter_fails_is_cancelled() -> anyhow::Result<()> {
    let mut steps = running();
    steps[1]["m"]["body"]["supportsCancelRequest"] = json!(true);
    steps.push(event("stopped", &json!({ "reason": "pause", "threadId": 1 })));
    steps.push(wait_for("evaluate", 5));
    steps.push(wait_for("cancel", 6));
    let mut failure = answer("evaluate", 5, &Value::Null);
    (failure["m"]["success"], failure["m"]["message"]) = (json!(false), json!("Undefined command"));
    steps.extend([failure, json!({ "do": "hang" })]);
    let fake = ScriptedAdapter::new(&steps)?;
    let (mut editor, pid) = start(&fake).await?;
    editor.event("stopped").await?;
    let evaluation = editor.send("evaluate", json!({ "expression": "slow()" })).await?;
    editor.ok("cancel", json!({ "requestId": evaluation })).await?;
    let cancelled = editor.response(evaluation).await?;
    assert_eq!(cancelled.body["error"]["variables"]["code"], "CANCELLED", "{}", cancelled.body);
    editor.finish().await?;
    wait_until_gone(&pid).await
}

#[tokio::test]
async fn an_adapter_that_does_not_even_start_says_why() -> anyhow::Result<()> {
    let steps = [
        wait_for("initialize", 1),
        json!({ "do": "stderr", "text": "cannot open shared object file" }),
        json!({ "do": "exit", "code": 127 }),
    ];
    let fake = ScriptedAdapter::new(&steps)?;
    let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let refused = editor.ask("launch", fake.launch()).await?;
    assert!(message(&refused.body).contains("cannot open shared object file"), "{}", refused.body);
    // Nothing runs: the same session takes another launch.
    let again = ScriptedAdapter::new(&running())?;
    let launch = editor.send("launch", again.launch()).await?;
    editor.event("initialized").await?;
    editor.ok("configurationDone", Value::Null).await?;
    anyhow::ensure!(editor.response(launch).await?.success);
    let process = editor.event("process").await?;
    editor.finish().await?;
    wait_until_gone(&process["systemProcessId"]).await
}

/// A client that received `initialized` is notified of the end immediately; otherwise the launch fails,
/// whether it was answered or not.
#[tokio::test]
async fn an_adapter_that_crashes_before_it_is_configured_is_reported_at_once() -> anyhow::Result<()> {
    let (launched, ready) = (answer("launch", 2, &Value::Null), event("initialized", &Value::Null));
    for order in [vec![&ready, &launched], vec![&launched], vec![&ready], vec![]] {
        let mut steps =
            vec![wait_for("initialize", 1), answer("initialize", 1, &json!({})), wait_for("launch", 2)];
        let (requested, answered) = (order.contains(&&ready), order.contains(&&launched));
        steps.extend(order.into_iter().cloned());
        steps.push(json!({ "do": "stderr", "text": "assertion failed: the moon is full" }));
        steps.push(json!({ "do": "exit", "code": 9 }));
        let fake = ScriptedAdapter::new(&steps)?;
        let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
        editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
        let start = std::time::Instant::now();
        let answer = editor.ask("launch", fake.launch()).await?;
        assert_eq!(answer.success, requested && answered, "{}", answer.body);
        let event = if answer.success {
            editor.event("terminated").await?;
            editor.output[2].clone()
        } else {
            message(&answer.body).to_owned()
        };
        assert!(event.contains("the moon is full") && event.contains("ended with exit code 9"), "{event}");
        assert!(start.elapsed() < deadline(5), "{:?}", start.elapsed());
        editor.finish().await?;
    }
    Ok(())
}

#[tokio::test]
async fn messages_outside_the_schema_pass_both_ways_and_a_second_answer_is_dropped() -> anyhow::Result<()> {
    let odd = json!({ "threads": [{ "id": 1, "name": "t", "mood": { "today": null } }], "extra": [[]] });
    let mut steps = running();
    steps.push(wait_for("threads", 5));
    steps.push(answer("threads", 5, &odd));
    steps.push(answer("threads", 5, &json!({ "threads": [] })));
    steps.push(event("initialized", &Value::Null));
    steps.push(event("unheardOf", &json!({ "a": [1, { "b": null }] })));
    steps.push(wait_for("inventedRequest", 6));
    steps.push(answer("inventedRequest", 6, &json!({ "x": 1e300 })));
    let mut answered = answer("inventedRequest", 7, &json!({ "x": 1 }));
    answered["m"]["beside"] = json!([1, null]);
    steps.push(wait_for("inventedRequest", 7));
    steps.push(answered);
    let error = json!({ "id": 4711, "format": "no {what}", "variables": { "what": "way" }, "showUser": false,
        "url": "https://example.com/why", "urlLabel": "why" });
    let mut refusal = answer("inventedRequest", 8, &json!({ "error": error, "more": true }));
    (refusal["m"]["success"], refusal["m"]["message"]) = (json!(false), json!("noWay"));
    steps.push(wait_for("inventedRequest", 8));
    steps.push(refusal);
    let mut terminated = event("terminated", &json!({ "restart": { "odd": 1 } }));
    terminated["m"]["statistics"] = json!({ "memory": 1 });
    steps.push(terminated);
    steps.push(event("terminated", &Value::Null));
    let fake = ScriptedAdapter::new(&steps)?;
    let (mut editor, pid) = start(&fake).await?;
    assert_eq!(editor.ok("threads", Value::Null).await?, odd);
    assert_eq!(editor.event("unheardOf").await?, json!({ "a": [1, { "b": null }] }));
    let arguments = json!({ "anything": [true, { "deep": "é" }] });
    assert_eq!(editor.ok("inventedRequest", arguments.clone()).await?, json!({ "x": 1e300 }));
    assert_eq!(fake.was_sent("inventedRequest")?, arguments);
    assert_eq!(fake.was_sent("launch")?["unheardOf"], json!({ "deep": [null, 1.5] }));
    assert_eq!(fake.was_sent("launch")?.as_object().map(serde_json::Map::len), Some(2));
    assert_eq!(fake.was_sent("initialize")?["supportsRunInTerminalRequest"], true);
    let beside = |body: &Value| body[tandem_wire::EXTRA_FIELDS].clone();
    assert_eq!(beside(&editor.ok("inventedRequest", json!({})).await?), json!({ "beside": [1, null] }));
    let refused = editor.ask("inventedRequest", json!({})).await?;
    assert_eq!(refused.message.as_deref(), Some("noWay"));
    let mut expected = json!({ "error": error, "more": true });
    expected["error"]["variables"] = json!({ "what": "way", "code": "ENGINE_FAILED", "message": "no way" });
    assert_eq!(refused.body, expected);
    let terminated = editor.event("terminated").await?;
    assert_eq!(
        (&terminated["restart"], beside(&terminated)),
        (&json!({ "odd": 1 }), json!({ "statistics": { "memory": 1 } }))
    );
    wait_until_gone(&pid).await?;
    editor.finish().await
}

#[tokio::test]
async fn a_program_that_ends_while_its_adapter_keeps_silent_ends_the_session() -> anyhow::Result<()> {
    let mut steps = running();
    for step in &mut steps {
        if step["m"]["command"] == "runInTerminal" && step["dir"] == "in" {
            step["m"]["arguments"]["args"] =
                json!(["sh", "-c", "read line; echo got $line; echo bad >&2; exit 4"]);
        }
    }
    steps.push(json!({ "do": "hang" }));
    let fake = ScriptedAdapter::new(&steps)?;
    let (mut editor, _) = start(&fake).await?;
    editor.ok("processWriteInput", json!({ "data": "it\n" })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 4);
    editor.event("terminated").await?;
    assert_eq!((editor.output[0].as_str(), editor.output[1].as_str()), ("got it\n", "bad\n"));
    editor.finish().await
}
