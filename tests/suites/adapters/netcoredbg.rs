//! The engine `netcoredbg`. No registry has the adapter: here a scripted one starts the program as it does,
//! and the program's pipes, words and end are real. Recorded sessions of the real one are replayed in
//! `child_replays`; the tests at the end run with it where `TANDEM_NETCOREDBG` names one.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::deadline::{deadline, deadline_ms};
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

/// A scripted netcoredbg that starts the given program in a temporary folder.
struct ScriptedNetcoredbg(tempfile::TempDir);

impl ScriptedNetcoredbg {
    /// Performs the handshake and the launch, then these steps.
    fn new(then: &[Value]) -> anyhow::Result<Self> {
        let fake = Self(tempfile::tempdir()?);
        let handshake = [
            recorded_request("initialize", 1),
            recorded_response("initialize", 1),
            recorded_event("initialized", json!({})),
            recorded_request("launch", 2),
            recorded_response("launch", 2),
            recorded_request("configurationDone", 3),
        ];
        let script: Vec<String> = handshake.iter().chain(then).map(Value::to_string).collect();
        std::fs::write(fake.path("script"), script.join("\n"))?;
        // The program gets an end of the adapter's own pipe, as netcoredbg's does.
        let adapter = format!(
            "#!/bin/sh\n[ \"$1 $2\" = '--interpreter=vscode --' ] || exit 9\nshift 2\n\"$@\" 9>&1 &\n\
                exec '{}' '{}' '{}'\n",
            fixture::binary("fake_adapter").display(),
            fake.path("script").display(),
            fake.path("log").display()
        );
        std::fs::write(fake.path("netcoredbg"), adapter)?;
        executable(&fake.path("netcoredbg"))?;
        Ok(fake)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The attributes that launch a shell with these words.
    fn launch(&self, words: &[&str]) -> Value {
        json!({ "engine": "netcoredbg", "enginePath": self.path("netcoredbg"), "program": "/bin/sh",
            "args": words,
            "cwd": self.0.path() })
    }
}

fn executable(file: &std::path::Path) -> anyhow::Result<()> {
    Ok(std::fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o700))?)
}

fn recorded_request(command: &str, seq: i64) -> Value {
    json!({ "dir": "out", "m": { "type": "request", "command": command, "seq": seq } })
}

fn recorded_response(command: &str, seq: i64) -> Value {
    json!({ "dir": "in", "m": { "type": "response", "command": command, "request_seq": seq, "seq": "1",
        "success": true,
        "body": { "supportsConfigurationDoneRequest": true } } })
}

fn recorded_event(event: &str, body: Value) -> Value {
    json!({ "dir": "in", "m": { "type": "event", "event": event, "seq": "1", "body": body } })
}

/// The steps of an adapter whose program is running.
fn runs() -> [Value; 2] {
    [
        recorded_event("process", json!({ "name": "tandem-dap", "startMethod": "launch" })),
        recorded_response("configurationDone", 3),
    ]
}

fn editor() -> anyhow::Result<DapClient> {
    DapClient::start_in("editor", HashMap::new(), &Transcript::default())
}

/// Sends a launch that is refused; returns the error.
async fn refusal(launch: Value) -> anyhow::Result<Value> {
    let mut editor = editor()?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let launch = editor.send("launch", launch).await?;
    editor.event("initialized").await?;
    editor.ok("configurationDone", Value::Null).await?;
    let refused = editor.response(launch).await?;
    ensure!(!refused.success, "it was launched");
    editor.finish().await?;
    Ok(refused.body["error"]["variables"].clone())
}

/// Processes of which the command line has this word.
fn processes_with(word: &str) -> Vec<u64> {
    let folders = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = folders.filter_map(|folder| folder.file_name().to_str()?.parse().ok());
    pids.filter(|pid| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).contains(word)
    })
    .collect()
}

async fn until_gone(word: &str) -> anyhow::Result<()> {
    let gone = async {
        while !processes_with(word).is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let in_time = tokio::time::timeout(deadline(60), gone).await;
    in_time.with_context(|| format!("still there: {:?}", processes_with(word)))
}

#[tokio::test]
async fn program_receives_its_arguments_variables_and_our_pipes() -> anyhow::Result<()> {
    let mut script = runs().to_vec();
    script.extend([
        recorded_request("threads", 4),
        recorded_event("exited", json!({ "exitCode": 7 })),
        recorded_event("terminated", json!({})),
        recorded_response("threads", 4),
    ]);
    let fake = ScriptedNetcoredbg::new(&script)?;
    let words = ["back\\", "", "a b", "q\"x", "new\nline"];
    let script = "for word; do printf '<%s>' \"$word\"; done; printf '|%s|%s|' \"$GIVEN\" \"${HOME-unset}\"; \
        pwd -P; \
                read line; echo \"got $line\" >&2; read line || echo end >&2";
    let mut launch = fake.launch(&[&["-c", script, "sh"][..], &words].concat());
    launch["env"] = json!({ "GIVEN": "1 2", "HOME": null });
    let mut editor = editor()?;
    editor.launch_child(launch, &fake.path("none"), &[]).await?;
    assert_eq!(editor.event("process").await?["name"], "/bin/sh");
    let folder = fake.0.path().canonicalize()?;
    let expected = format!("<{}>|1 2|unset|{}\n", words.join("><"), folder.display());
    assert_eq!(editor.read_stdout("\\|.*\\|/.*\n").await?, expected);
    editor.ok("processWriteInput", json!({ "data": "it\n", "closeAfter": true })).await?;
    let wait = json!({ "stream": "stderr", "waitFor": "end\n", "timeoutMs": deadline_ms(20) });
    assert_eq!(editor.ok("processReadOutput", wait).await?["stderr"], "got it\nend\n");
    editor.ok("threads", Value::Null).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 7);
    editor.event("terminated").await?;
    assert_eq!(editor.output[..2], [expected, "got it\nend\n".to_owned()]);
    let log = std::fs::read_to_string(fake.path("log"))?;
    let requests: Vec<Value> = log.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let launched =
        requests.iter().find(|message| message["command"] == "launch").context("never launched")?;
    let arguments = &launched["arguments"];
    assert_eq!(
        (&arguments["args"], &arguments["env"]),
        (&json!([]), &json!({})),
        "the adapter would spoil them"
    );
    editor.finish().await
}

#[tokio::test]
async fn a_program_that_ends_before_its_runtime_starts_is_a_refused_launch() -> anyhow::Result<()> {
    let fake = ScriptedNetcoredbg::new(&[json!({ "do": "hang" })])?;
    let error = refusal(fake.launch(&["-c", "echo 'no such framework' >&2; exit 150"])).await?;
    assert_eq!(error["code"], "LAUNCH_FAILED");
    assert!(error["message"].as_str().context("no message")?.contains("no such framework"), "{error}");
    Ok(())
}

#[tokio::test]
async fn a_program_that_cannot_be_started_is_a_refused_launch() -> anyhow::Result<()> {
    let fake = ScriptedNetcoredbg::new(&[json!({ "do": "hang" })])?;
    std::fs::write(fake.path("plain"), "not a program")?;
    let mut launch = fake.launch(&[]);
    launch["program"] = json!(fake.path("plain"));
    let error = refusal(launch).await?;
    assert_eq!(error["code"], "LAUNCH_FAILED");
    let message = error["message"].as_str().context("no message")?;
    assert!(message.contains("plain") && message.contains("Permission denied"), "{error}");
    Ok(())
}

#[tokio::test]
async fn a_process_without_a_runtime_is_a_refused_launch_and_ends() -> anyhow::Result<()> {
    let mut refused = recorded_response("configurationDone", 3);
    (refused["m"]["success"], refused["m"]["message"]) =
        (json!(false), json!("Failed command 'configurationDone' : 0x80004005"));
    let fake = ScriptedNetcoredbg::new(&[refused])?;
    let marker = format!("tandem-test-native-{}", std::process::id());
    let error = refusal(fake.launch(&["-c", "read line", &marker])).await?;
    assert_eq!(error["code"], "LAUNCH_FAILED");
    assert!(error["message"].as_str().context("no message")?.contains("0x80004005"), "{error}");
    until_gone(&marker).await
}

#[tokio::test]
async fn a_client_s_terminal_is_refused() -> anyhow::Result<()> {
    let fake = ScriptedNetcoredbg::new(&[])?;
    let mut launch = fake.launch(&["-c", "exit"]);
    launch["console"] = json!("integratedTerminal");
    let mut editor = editor()?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    assert_eq!(editor.refused("launch", launch).await?, "UNSUPPORTED");
    editor.finish().await
}

/// The program was given an end of the adapter's own pipes: the end of the adapter is still noticed.
#[tokio::test]
async fn an_adapter_that_breaks_takes_the_program_along() -> anyhow::Result<()> {
    let mut script = runs().to_vec();
    script.extend([recorded_request("threads", 4), json!({ "do": "exit", "code": 3 })]);
    let fake = ScriptedNetcoredbg::new(&script)?;
    let marker = format!("tandem-test-adapter-{}", std::process::id());
    let mut editor = editor()?;
    editor
        .launch_child(fake.launch(&["-c", "echo there; read line", &marker]), &fake.path("none"), &[])
        .await?;
    editor.read_stdout("there\n").await?;
    ensure!(!processes_with(&marker).is_empty(), "the program is not running");
    assert_eq!(editor.refused("threads", Value::Null).await?, "ENGINE_FAILED");
    editor.event("terminated").await?;
    until_gone(&marker).await?;
    editor.finish().await
}

/// The program is not a child of the host, and the adapter may be too late to end it: a watchdog does.
#[tokio::test]
async fn a_killed_host_leaves_no_program() -> anyhow::Result<()> {
    let fake = ScriptedNetcoredbg::new(&runs())?;
    let marker = format!("tandem-test-host-{}", std::process::id());
    let mut editor = editor()?;
    editor
        .launch_child(fake.launch(&["-c", "echo there; sleep 1000", &marker]), &fake.path("none"), &[])
        .await?;
    editor.read_stdout("there\n").await?;
    let entry = std::fs::read_to_string(editor.socket().await?.with_extension("json"))?;
    let host = serde_json::from_str::<Value>(&entry)?["pid"].as_u64().context("no pid")?;
    ensure!(!processes_with(&marker).is_empty(), "the program is not running");
    ensure!(Command::new("kill").args(["-9", &host.to_string()]).status()?.success());
    until_gone(&marker).await
}

/// Breakpoint, stack, variables, evaluate, steps, input, both streams, exit code.
async fn debug_with_installed_adapter(runtime: Runtime) -> anyhow::Result<()> {
    let adapter = std::env::var("TANDEM_NETCOREDBG").context("TANDEM_NETCOREDBG names no netcoredbg")?;
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let engine = json!({ "engine": "netcoredbg", "enginePath": adapter });
    editor.launch("tour", &["add"], engine).await?;
    editor.read_stdout("name\\? ").await?;
    editor.ok("processWriteInput", json!({ "data": "Ann\n" })).await?;
    let (thread, frame) = editor.stop().await?;
    assert_eq!(frame["line"], fixture::line("tour", "add"));
    let scopes = editor.ok("scopes", json!({ "frameId": frame["id"] })).await?;
    let arguments = json!({ "variablesReference": scopes["scopes"][0]["variablesReference"] });
    let body = editor.ok("variables", arguments).await?;
    let names =
        body["variables"].as_array().context("no variables")?.iter().map(|variable| &variable["name"]);
    assert_eq!(names.collect::<Vec<_>>(), ["left", "right", "sum"]);
    let sum = json!({ "expression": "left + right", "frameId": frame["id"], "context": "watch" });
    assert_eq!(editor.ok("evaluate", sum).await?["result"], "0");
    editor.ok("next", json!({ "threadId": thread })).await?;
    let (_, frame) = editor.stop().await?;
    assert_eq!(frame["line"], fixture::line("tour", "add") + 1);
    editor.break_at("tour", &[]).await?;
    editor.ok("continue", json!({ "threadId": thread })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 3);
    editor.event("terminated").await?;
    assert_eq!(editor.output[..2], ["welcome\nname? hello Ann: 6\n", "done\n"]);
    editor.finish().await
}

#[tokio::test]
#[ignore = "no registry has netcoredbg; TANDEM_NETCOREDBG names one"]
async fn installed_netcoredbg_debugs_net_core_31() -> anyhow::Result<()> {
    debug_with_installed_adapter(Runtime::Net31).await
}

#[tokio::test]
#[ignore = "no registry has netcoredbg; TANDEM_NETCOREDBG names one"]
async fn installed_netcoredbg_debugs_net_9() -> anyhow::Result<()> {
    debug_with_installed_adapter(Runtime::Net9).await
}
