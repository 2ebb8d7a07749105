//! Recorded sessions of real adapters, played again through the hub by a scripted adapter: nothing is lost on
//! the way, and nothing changes but ids. They replace the adapters that no registry has (netcoredbg, newer
//! versions of js-debug and Delve).

use std::collections::HashMap;
use std::path::PathBuf;

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture;
use tandem_harness::transcript::Transcript;

/// Events that the hub keeps, merges or repeats itself.
const NOT_COMPARED: [&str; 4] = ["initialized", "capabilities", "continued", "output"];
/// Events from before a client has configured, which it gets afterwards.
const REPEATED: [&str; 3] = ["process", "thread", "module"];

struct Step {
    to_adapter: bool,
    message: Value,
}

fn read_recording(name: &str) -> anyhow::Result<Vec<Step>> {
    let path = fixture::root().join(format!("fixtures/transcripts/{name}.jsonl"));
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let steps = text.lines().map(|line| {
        let step: Value = serde_json::from_str(line)?;
        Ok(Step { to_adapter: step["dir"] == "out", message: step["m"].clone() })
    });
    steps.collect()
}

/// A recording without reverse requests: Tandem answers `runInTerminal`, which the
/// recorded client did not support.
fn without_reverse_requests(steps: Vec<Step>) -> Vec<Step> {
    let reverse = |step: &Step| {
        step.message["command"] == "runInTerminal" || step.message["command"] == "startDebugging"
    };
    steps.into_iter().filter(|step| !reverse(step)).collect()
}

/// The translation of ids: kind and recorded id to the client's.
#[derive(Default)]
struct IdTranslation(HashMap<(&'static str, i64), i64>);

impl IdTranslation {
    fn kind(key: &str, path: &str) -> Option<&'static str> {
        match key {
            "frameId" => Some("frame"),
            "variablesReference" => Some("variables"),
            "declarationLocationReference" | "valueLocationReference" => Some("location"),
            "sourceReference" => Some("source"),
            "id" if path.contains("stackFrames") => Some("frame"),
            "id" if path.contains("breakpoint") => Some("breakpoint"),
            _ => None,
        }
    }

    /// Recorded arguments with the client's ids.
    fn outward(&self, value: &Value) -> Value {
        match value {
            Value::Object(object) => object
                .iter()
                .map(|(key, inner)| {
                    let id = inner.as_i64().zip(Self::kind(key, ""));
                    let known = id.and_then(|(id, kind)| self.0.get(&(kind, id)));
                    (key.clone(), known.map_or_else(|| self.outward(inner), |id| json!(id)))
                })
                .collect(),
            Value::Array(list) => list.iter().map(|item| self.outward(item)).collect(),
            other => other.clone(),
        }
    }

    /// Whether what arrived is what was recorded, but for ids, which are learnt.
    fn same(&mut self, path: &str, recorded: &Value, arrived: &Value) -> anyhow::Result<()> {
        let key = path.rsplit('/').next().unwrap_or_default();
        match (recorded, arrived) {
            (Value::Number(one), Value::Number(other)) if Self::kind(key, path).is_some() => {
                let (one, other) = (one.as_i64().unwrap_or(0), other.as_i64().unwrap_or(0));
                // 0 means nothing, except for frames and breakpoints.
                if one == 0 && !key.eq("id") {
                    ensure!(other == 0, "{path}: {other} of nothing");
                } else {
                    self.0.insert((Self::kind(key, path).unwrap_or_default(), one), other);
                }
            }
            (Value::Array(one), Value::Array(other)) if key == "hitBreakpointIds" => {
                let known: Vec<Option<i64>> =
                    one.iter().map(|id| self.0.get(&("breakpoint", id.as_i64()?)).copied()).collect();
                let ids: Vec<Option<i64>> = other.iter().map(Value::as_i64).collect();
                ensure!(known == ids, "{path}: {ids:?}, not {known:?}");
            }
            (Value::Array(one), Value::Array(other)) => {
                ensure!(one.len() == other.len(), "{path}: {} items, not {}", other.len(), one.len());
                for (one, other) in one.iter().zip(other) {
                    self.same(&format!("{path}[]"), one, other)?;
                }
            }
            (Value::Object(one), Value::Object(other)) => {
                for (key, inner) in one {
                    let found =
                        other.get(key).with_context(|| format!("{path}/{key} was lost: {arrived}"))?;
                    self.same(&format!("{path}/{key}"), inner, found)?;
                }
                // Tandem adds a location to breakpoints without one, and `allThreadsContinued` to the
                // response of `continue`.
                let added: Vec<&String> = other.keys().filter(|key| !one.contains_key(*key)).collect();
                let ours =
                    path.contains("breakpoint") || added.iter().all(|key| *key == "allThreadsContinued");
                ensure!(ours, "{path}: {added:?} came from nowhere");
            }
            // The hub answers `configurationDone` itself.
            (Value::Object(one), Value::Null) if one.is_empty() => {}
            (one, other) => ensure!(one == other, "{path}: {other}, not {one}"),
        }
        Ok(())
    }
}

/// A body, and the fields next to it in its message.
fn split_fields(mut body: Value) -> (Value, Value) {
    let beside = body.as_object_mut().and_then(|body| body.shift_remove(tandem_wire::EXTRA_FIELDS));
    if body == json!({}) && beside.is_some() {
        body = Value::Null;
    }
    (body, beside.unwrap_or_else(|| json!({})))
}

/// The fields of a recorded message beside its body.
fn extra_fields(message: &Value) -> Value {
    const KNOWN: [&str; 9] =
        ["seq", "type", "event", "command", "request_seq", "success", "message", "body", "arguments"];
    let fields = message.as_object().into_iter().flatten();
    fields
        .filter(|(key, _)| !KNOWN.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

struct Replay {
    folder: tempfile::TempDir,
    launch: Value,
}

impl Replay {
    /// Writes the script and makes the attributes that launch it.
    fn new(steps: &[Step], engine: &Value) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let script: Vec<String> = steps
            .iter()
            .map(|step| {
                let direction = if step.to_adapter { "out" } else { "in" };
                json!({ "dir": direction, "m": step.message }).to_string()
            })
            .collect();
        std::fs::write(folder.path().join("script"), script.join("\n"))?;
        let recorded = steps.iter().find(|step| step.to_adapter && step.message["command"] == "launch");
        let mut launch = recorded.context("no launch")?.message["arguments"].clone();
        launch["cwd"] = json!(folder.path());
        launch["engine"] = engine.clone();
        if let Some(launch) = launch.as_object_mut() {
            launch.shift_remove("console");
        }
        Ok(Self { folder, launch })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// Sends the requests of the recorded session, and expects the recorded answers.
async fn replay(name: &str) -> anyhow::Result<()> {
    let mut steps = without_reverse_requests(read_recording(name)?);
    for step in &mut steps {
        // A program that was attached to by hand is launched here.
        if step.message["command"] == "attach" {
            step.message["command"] = json!("launch");
        }
    }
    // Output after the end of the session may get lost.
    if let Some(end) = steps.iter().position(|step| step.message["event"] == "terminated") {
        let after = steps.split_off(end);
        steps.extend(after.into_iter().filter(|step| step.message["event"] != "output"));
    }
    let mut replay = Replay::new(&steps, &Value::Null)?;
    replay.launch["engine"] = json!({ "command": fixture::binary("fake_adapter"),
        "args": [replay.path("script"), replay.path("log")] });
    let transcript = Transcript::default();
    let mut editor = DapClient::start_in("editor", HashMap::new(), &transcript)?;
    let (mut ids, mut numbers) = (IdTranslation::default(), HashMap::new());
    let (mut ready, mut configured, mut over) = (false, false, false);
    let mut early: Vec<(&str, &Value)> = Vec::new();
    let mut last_breakpoint: Option<&Value> = None;
    let mut printed = [String::new(), String::new()];
    for Step { to_adapter, message } in &steps {
        let command = message["command"].as_str().unwrap_or_default();
        let recorded_seq = message["seq"].as_i64().unwrap_or(0);
        if *to_adapter {
            if command == "disconnect" {
                break;
            }
            // Clients configure when they get `initialized`, whenever the adapter sent it.
            if command == "setBreakpoints" && !ready {
                editor.event("initialized").await?;
                ready = true;
            }
            let arguments = match command {
                "launch" => replay.launch.clone(),
                _ => ids.outward(&message["arguments"]),
            };
            numbers.insert(recorded_seq, editor.send(command, arguments).await?);
            continue;
        }
        match message["type"].as_str() {
            Some("response") => {
                let request_seq = message["request_seq"].as_i64().unwrap_or(0);
                let seq =
                    *numbers.get(&request_seq).with_context(|| format!("{name}: nobody asked {message}"))?;
                let answer = editor.response(seq).await?;
                ensure!(answer.success == (message["success"] == true), "{name}: {message}: {}", answer.body);
                // The hub itself answers with the capabilities and with the filters of all clients.
                let ours = command == "initialize" || command == "setExceptionBreakpoints";
                if answer.success && !ours {
                    ids.same(command, &message["body"], &answer.body).with_context(|| name.to_owned())?;
                }
                if command == "configurationDone" {
                    configured = true;
                    let mut arrived = Vec::new();
                    for (event, _) in &early {
                        arrived.push((*event, editor.event(event).await?));
                    }
                    for (event, body) in early.drain(..) {
                        // Modules come in the hub's own order.
                        let id = &body["module"]["id"];
                        let fits =
                            |(name, body): &(&str, Value)| *name == event && body["module"]["id"] == *id;
                        let at = arrived.iter().position(fits);
                        let at = at.with_context(|| format!("{name}: {event} {body} was lost"))?;
                        let mut arrived = arrived.remove(at).1;
                        if event == "module" {
                            // For a late client, every module is new.
                            arrived["reason"] = body["reason"].clone();
                        }
                        ids.same(event, body, &arrived).with_context(|| name.to_owned())?;
                    }
                }
            }
            Some("event") => {
                let event = message["event"].as_str().unwrap_or_default();
                let body = &message["body"];
                if event == "output" {
                    let stream = ["stdout", "stderr"].iter().position(|stream| body["category"] == *stream);
                    if let Some(printed) = stream.and_then(|at| printed.get_mut(at)) {
                        printed.push_str(body["output"].as_str().unwrap_or_default());
                    }
                }
                if NOT_COMPARED.contains(&event) || over {
                    continue;
                }
                if !configured {
                    if REPEATED.contains(&event) {
                        // The last event of a module counts.
                        let id = &body["module"]["id"];
                        early.retain(|(_, known)| id.is_null() || known["module"]["id"] != *id);
                        if body["reason"] != "removed" {
                            early.push((event, body));
                        }
                    }
                    continue;
                }
                over = event == "terminated";
                if event == "breakpoint" && last_breakpoint == Some(body) {
                    // An event that changes nothing is sent once.
                    continue;
                }
                last_breakpoint = (event == "breakpoint").then_some(body).or(last_breakpoint);
                let (arrived, stood_beside) = split_fields(editor.event(event).await?);
                ids.same(event, body, &arrived).with_context(|| name.to_owned())?;
                ensure!(
                    stood_beside == extra_fields(message),
                    "{name}: {event}: {stood_beside} beside the body"
                );
            }
            _ => bail!("{name}: {message}"),
        }
    }
    if over {
        assert_eq!(editor.output[..2], printed);
    }
    // The adapter got the client's own arguments.
    let log = std::fs::read_to_string(replay.path("log"))?;
    // The adapter may still be writing its last line.
    let lines = log.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let sent = lines.map(serde_json::from_str::<Value>).collect::<Result<Vec<_>, _>>()?;
    let launched = sent.iter().find(|message| message["command"] == "launch").context("never launched")?;
    if let Some(expected) = replay.launch.as_object_mut() {
        expected.shift_remove("engine");
    }
    assert_eq!(launched["arguments"], replay.launch);
    editor.finish().await?;
    // The snapshot has everything that the client saw: the comparison above skips messages that the hub
    // keeps, merges or repeats.
    let seen = transcript.text().replace(&replay.folder.path().display().to_string(), "[FOLDER]");
    insta::assert_snapshot!(format!("replay_{name}"), seen);
    Ok(())
}

parameterized_tests! {
    lldb_dap_19: replay("lldb19"),
    lldb_dap_22: replay("lldb22"),
    debugpys_adapter: replay("debugpy"),
    delve_127: replay("dlv127"),
    gdb_18: replay("gdb18"),
    rdbg: replay("rdbg"),
    bash_dap: replay("bash"),
    netcoredbg_312: replay("netcoredbg"),
}

/// A Delve that is too old for the installed Go: its refusal arrives unchanged.
#[tokio::test]
async fn refusal_by_delve_120_arrives_unchanged() -> anyhow::Result<()> {
    let steps = read_recording("dlv120")?;
    let refusal = steps.iter().find(|step| !step.to_adapter && step.message["command"] == "launch");
    let refusal = refusal.context("no refusal")?.message.clone();
    let mut replay = Replay::new(&steps, &Value::Null)?;
    replay.launch["engine"] = json!({ "command": fixture::binary("fake_adapter"),
        "args": [replay.path("script"), replay.path("log")] });
    let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let refused = editor.ask("launch", replay.launch).await?;
    assert_eq!(refused.message.as_deref(), refusal["message"].as_str());
    let (mut error, recorded) = (refused.body["error"].clone(), &refusal["body"]["error"]);
    let added = error.as_object_mut().and_then(|error| error.shift_remove("variables"));
    assert_eq!(&error, recorded);
    assert_eq!(added.context("no variables")?["code"], "LAUNCH_FAILED");
    editor.finish().await
}

/// debugpy's adapter requests a further connection for a subprocess: it becomes a separate session.
#[tokio::test]
async fn debugpys_adapter_with_a_subprocess() -> anyhow::Result<()> {
    let mut script = Vec::new();
    let mut connections = 0;
    // The parent's numbers continue, the child starts at 1 again.
    let mut last_seq = 0;
    for step in read_recording("debugpy_sub")? {
        let Step { to_adapter, mut message } = step;
        let command = message["command"].as_str().unwrap_or_default().to_owned();
        connections += i32::from(to_adapter && command == "initialize");
        if !to_adapter && command == "startDebugging" {
            // The port is any free one.
            if let Some(configuration) = message["arguments"]["configuration"].as_object_mut() {
                configuration.shift_remove("connect");
            }
        }
        if !to_adapter && command == "runInTerminal" {
            message["arguments"]["args"] = json!(["sh", "-c", "read line; echo got $line"]);
        }
        if to_adapter && command == "disconnect" {
            break;
        }
        let mut line = json!({ "dir": if to_adapter { "out" } else { "in" }, "m": message });
        if !to_adapter {
            let seq = line["m"]["seq"].as_i64().unwrap_or(0);
            if connections == 2 && seq == last_seq + 1 {
                line["on"] = json!(1);
            }
            if connections == 1 || line["on"] == 1 {
                last_seq = seq;
            }
        }
        script.push(line.to_string());
    }
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("script"), script.join("\n"))?;
    let transcript = Transcript::default();
    let mut editor = DapClient::start_in("editor", HashMap::new(), &transcript)?;
    let hello = json!({ "clientID": "test", "adapterID": "tandem", "supportsStartDebuggingRequest": true });
    editor.ok("initialize", hello).await?;
    let launch = json!({ "program": "/workspace/parent.py", "cwd": folder.path(), "engine": {
        "command": fixture::binary("fake_adapter"), "connection": "listen",
        "args": [folder.path().join("script"), folder.path().join("log"), "{port}"] } });
    let launched = editor.send("launch", launch).await?;
    editor.event("initialized").await?;
    editor.break_on("/workspace/child.py".as_ref(), &[5]).await?;
    editor.ok("configurationDone", Value::Null).await?;
    ensure!(editor.response(launched).await?.success, "not launched");
    let request = editor.request("startDebugging").await?;
    let id = request["configuration"]["session"].as_str().context("no session")?.to_owned();
    let socket = editor.socket().await?.with_file_name(format!("{id}.sock"));
    let mut child = DapClient::connect("child", &socket, &transcript).await?;
    child.join(json!({ "clientID": "other", "adapterID": "tandem" })).await?;
    let stopped = child.event("stopped").await?;
    assert_eq!((&stopped["reason"], &stopped["preserveFocusHint"]), (&json!("breakpoint"), &json!(false)));
    child.ok("continue", json!({ "threadId": 1 })).await?;
    child.event("terminated").await?;
    child.finish().await?;
    editor.ok("processWriteInput", json!({ "data": "it\n" })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 0);
    editor.event("terminated").await?;
    assert_eq!(editor.output[0], "got it\n");
    editor.finish().await
}

/// js-debug debugs everything in a child session on a separate connection: here it is the only session.
#[tokio::test]
async fn js_debugs_first_child_is_the_sessions_program() -> anyhow::Result<()> {
    let mut steps = read_recording("js")?;
    // We configure the parent without breakpoints: they belong to the child.
    let mut second = false;
    steps.retain(|step| {
        let (command, seq) = (&step.message["command"], step.message["request_seq"].as_i64());
        second |= command == "startDebugging";
        let parents = !second && command == "setBreakpoints" || command == "setExceptionBreakpoints";
        let last = second && command == "disconnect";
        !(parents
            || last
            || step.message["event"] == "loadedSource"
            || seq == Some(8) && command == "disconnect")
    });
    for step in &mut steps {
        if step.message["command"] == "runInTerminal" && !step.to_adapter {
            step.message["arguments"]["args"] = json!(["sh", "-c", "read line; echo got $line; exit 7"]);
        }
    }
    let mut replay = Replay::new(&steps, &Value::Null)?;
    let program = replay.path("echo.js");
    std::fs::write(&program, "")?;
    let command = format!(
        "#!/bin/sh\nexec '{}' '{}' '{}' \"$1\"\n",
        fixture::binary("fake_adapter").display(),
        replay.path("script").display(),
        replay.path("log").display()
    );
    let adapter = replay.path("js-debug");
    std::fs::write(&adapter, command)?;
    std::fs::set_permissions(&adapter, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    replay.launch = json!({ "program": program, "enginePath": adapter });
    let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
    editor.launch_child(replay.launch.clone(), "/workspace/echo.js".as_ref(), &[4]).await?;
    assert_eq!(editor.event("stopped").await?["threadId"], 0);
    editor.ok("threads", Value::Null).await?;
    let stack = editor.ok("stackTrace", json!({ "threadId": 0, "startFrame": 0, "levels": 2 })).await?;
    let frame = &stack["stackFrames"][0];
    assert_eq!(frame["name"], "Interface.handle");
    let total = editor
        .ok("evaluate", json!({ "expression": "total", "frameId": frame["id"], "context": "watch" }))
        .await?;
    assert_eq!(total["result"], "0");
    for _ in 0..2 {
        editor.ok("next", json!({ "threadId": 0 })).await?;
        editor.event("stopped").await?;
    }
    editor.ok("processWriteInput", json!({ "data": "it\n" })).await?;
    editor.break_on("/workspace/echo.js".as_ref(), &[]).await?;
    editor.ok("continue", json!({ "threadId": 0 })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 7);
    editor.event("terminated").await?;
    assert!(editor.output[0].contains("got it\n"), "{:?}", editor.output);
    editor.finish().await
}
