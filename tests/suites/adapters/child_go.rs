//! Go beyond a program and its package ([`super::child_programs`]): the tests of a package, and exit codes
//! that Delve loses.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::ensure;
use serde_json::{Value, json};
use tandem_harness::child::{self, Subject};
use tandem_harness::client::DapClient;
use tandem_harness::fixture;
use tandem_harness::transcript::Transcript;

use tandem_harness::child::with_tools;

const TESTED: &str = "package p\n\nfunc double(n int) int {\n\treturn 2 * n\n}\n";
const TESTS: &str = r#"package p

import (
	"os"
	"testing"
)

func TestDouble(t *testing.T) {
	folder, _ := os.Getwd()
	println(folder)
	if doubled := double(21); doubled != 42 {
		t.Fatal(doubled)
	}
}

func TestOther(t *testing.T) {
	t.Fatal("not asked for")
}
"#;

/// The file alone would lack the code that it tests: the whole package is built, and the console names the
/// run as `go test` does.
#[tokio::test]
async fn a_go_test_file_runs_the_tests_of_its_package() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("go.mod"), "module p\n\ngo 1.20\n")?;
    std::fs::write(path("p.go"), TESTED)?;
    std::fs::write(path("p_test.go"), TESTS)?;
    let args = ["-test.run", "TestDouble$"];
    let given = Subject::Delve.with(json!({ "program": path("p_test.go"), "args": args }));
    let ways = [
        (path("p_test.go"), json!(null)),
        (path("p_test.go"), json!("auto")),
        (path("p_test.go"), json!("test")),
        (path("p.go"), json!("test")),
        (folder.path().to_owned(), json!("test")),
    ];
    for (program, mode) in ways {
        let mut launch = with_tools(given.clone())?;
        launch["program"] = json!(program);
        launch["mode"] = mode;
        let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
        editor.launch_child(launch, &path("p.go"), &[4]).await?;
        let (thread, frame) = editor.stop().await?;
        let arguments = json!({ "expression": "n", "frameId": frame["id"], "context": "watch" });
        assert_eq!(editor.ok("evaluate", arguments).await?["result"], "21");
        editor.ok("continue", json!({ "threadId": thread })).await?;
        assert_eq!(editor.event("exited").await?["exitCode"], 0);
        editor.event("terminated").await?;
        assert_eq!(editor.output[0], "PASS\n");
        assert_eq!(editor.output[1].trim_end(), folder.path().canonicalize()?.display().to_string());
        editor.finish().await?;
    }

    std::fs::write(path("p_test.go"), TESTS.replace("t.Fatal(doubled)", "t.Fatal(nothing)"))?;
    let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let mut launch = with_tools(given)?;
    launch["mode"] = json!("test");
    let refused = editor.ask("launch", launch).await?;
    let error = &refused.body["error"];
    assert_eq!(error["variables"]["code"], "BUILD_FAILED", "{error}");
    let first = &error["data"]["diagnostics"][0];
    assert_eq!((&first["file"], &first["line"]), (&json!(path("p_test.go")), &json!(12)), "{error}");
    editor.finish().await
}

const REPLACED: &str = r#"package main

import (
	"fmt"
	"os"
	"syscall"
)

func main() {
	if len(os.Args) > 1 {
		fmt.Println("second") // BP second
		os.Exit(4)
	}
	syscall.Exec("/proc/self/exe", []string{os.Args[0], "again"}, os.Environ())
}
"#;

/// Delve keeps the addresses of the old program: a breakpoint that it sets or clears there afterwards would
/// change the code of the new one.
#[tokio::test]
async fn breakpoints_of_a_go_program_that_replaces_itself_are_not_verified_any_more() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let source = folder.path().join("main.go");
    std::fs::write(&source, REPLACED)?;
    let line = child::line(&source, "second");
    let launch = with_tools(Subject::Delve.with(json!({ "program": source })))?;
    let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
    editor.launch_child(launch, &source, &[line]).await?;
    let lost = editor.breakpoint("changed").await?["breakpoint"].clone();
    assert_eq!(lost["verified"], false, "{lost}");
    assert!(lost["message"].as_str().is_some_and(|text| text.contains("launch that program")), "{lost}");
    let stopped = editor.event("stopped").await?;
    assert_eq!(stopped["reason"], "exec", "{stopped}");
    let set = editor.break_on(&source, &[line]).await?;
    assert_eq!(set["breakpoints"][0]["verified"], false, "{set}");
    editor.break_on(&source, &[]).await?;
    editor.ok("continue", json!({ "threadId": stopped["threadId"] })).await?;
    let (event, body) = editor.any_event(&["stopped", "exited"]).await?;
    assert_eq!((event.as_str(), &body["exitCode"]), ("exited", &json!(4)), "{body}");
    assert_eq!(editor.output[0], "second\n");
    editor.finish().await
}

/// A Delve that does not reap the program that it has started, here a shell. It says the first `words` before
/// it answers `threads`, and the others before it answers `disconnect`: pairs of an event and its body.
fn delve_that_does_not_reap(folder: &Path, words: [&[(&str, Value)]; 2]) -> anyhow::Result<PathBuf> {
    let arguments = |command: &str| {
        json!({ "dir": "out", "m": { "type": "request", "command": command,
        "seq": command.len() } })
    };
    let answered = |command: &str| {
        json!({ "dir": "in", "m": { "type": "response", "command": command, "request_seq": command.len(),
            "seq": 1,
            "success": true, "body": { "supportsConfigurationDoneRequest": true } } })
    };
    let event = |(event, body): &(&str, Value)| {
        json!({ "dir": "in", "m": { "type": "event", "event": event,
        "seq": 1, "body": body } })
    };
    let mut script =
        vec![arguments("initialize"), answered("initialize"), arguments("launch"), answered("launch")];
    script.extend([
        event(&("initialized", json!({}))),
        arguments("configurationDone"),
        answered("configurationDone"),
    ]);
    script.push(arguments("threads"));
    script.extend(words[0].iter().map(event));
    script.extend([answered("threads"), arguments("disconnect")]);
    script.extend(words[1].iter().map(event));
    script.push(answered("disconnect"));
    let script: Vec<String> = script.iter().map(Value::to_string).collect();
    std::fs::write(folder.join("script"), script.join("\n"))?;
    let adapter = format!(
        "#!/bin/bash\nexec 3<>\"/dev/tcp/127.0.0.1/${{2##*:}}\"\nsh -c 'read line; exit 7' <&0 3>&- &\n\
            exec '{}' '{}' <&3 >&3\n",
        fixture::binary("fake_adapter").display(),
        folder.join("script").display(),
    );
    let path = folder.join("dlv");
    std::fs::write(&path, adapter)?;
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    Ok(path)
}

/// Delve loses the exit code of a program that exits on one thread while its first thread is stopped at a
/// signal. It then says -1, or since 1.22 0.
#[tokio::test]
async fn a_go_program_has_its_exit_code_when_delve_has_lost_it() -> anyhow::Result<()> {
    let ended = || ("terminated", json!({}));
    let console =
        ("output", json!({ "category": "console", "output": "Process 1 has exited with status -1\n" }));
    let exited = ("exited", json!({ "exitCode": 0 }));
    let (old, new) = ([vec![ended()], vec![console, ended()]], [vec![exited, ended()], vec![ended()]]);
    for [first, last] in [old, new] {
        let folder = tempfile::tempdir()?;
        let adapter = delve_that_does_not_reap(folder.path(), [&first, &last])?;
        let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
        editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
        let launch =
            json!({ "engine": "delve", "mode": "exec", "program": "/bin/sh", "enginePath": adapter });
        let launched = editor.send("launch", launch).await?;
        editor.event("initialized").await?;
        editor.ok("configurationDone", Value::Null).await?;
        ensure!(editor.response(launched).await?.success, "it was not launched");
        editor.event("process").await?;
        editor.ok("processWriteInput", json!({ "data": "\n" })).await?;
        editor.ok("threads", Value::Null).await?;
        assert_eq!(editor.event("exited").await?["exitCode"], 7);
        editor.event("terminated").await?;
        editor.finish().await?;
    }
    Ok(())
}
