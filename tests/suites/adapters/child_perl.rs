//! Perl alone: the parts of its debugger that Tandem replaces, in real programs.
//!
//! Not what every adapter does ([`super::child_adapters`], [`super::child_matrix`]).

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::child::{self, Subject};
use tandem_harness::client::DapClient;
use tandem_harness::deadline::deadline_ms;
use tandem_harness::transcript::Transcript;

const PROGRAM: &str = r#"use strict;
use warnings;
use lib 'lib'; $SIG{__DIE__} = sub { exit 9 };
require Later; # BP first

sub inner {
    my ($number) = @_;
    my $double = $number * 2; # BP inner
    return $double;
}

{ local $SIG{__DIE__}; eval { die "kept\n" } }
my $sum = inner(21) + 1; # BP kept
my @list = map { { "it's" => $_, code => \&inner } } 0 .. 11; # BP outer
my $text = "h\xc3\xa9llo";
my $asked = <STDIN>; # BP asked
my $later = Later::twice(length $asked);
my $child = fork() // die;
if (!$child) {
    inner(1);
    exit 0;
}
waitpid $child, 0;
print "later $later $@";
kill 9, $$;
"#;

const MODULE: &str =
    "package Later;\nuse strict;\nsub twice {\n    my ($n) = @_;\n    return $n * 2; # BP module\n}\n1;\n";

/// The program, its module in a folder that it names by a relative path, and an editor that launches it.
async fn launch_program(folder: &Path, markers: &[&str]) -> anyhow::Result<(DapClient, PathBuf)> {
    std::fs::create_dir(folder.join("lib"))?;
    let (program, module) = (folder.join("main.pl"), folder.join("lib/Later.pm"));
    std::fs::write(&program, PROGRAM)?;
    std::fs::write(&module, MODULE)?;
    let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
    let lines: Vec<i64> = markers.iter().map(|marker| child::line(&program, marker)).collect();
    let launch = Subject::Perl.with(json!({ "program": program, "cwd": folder }));
    editor.launch_child(launch, &program, &lines).await?;
    Ok((editor, program))
}

#[tokio::test]
async fn a_step_out_leaves_a_function_that_was_not_stepped_into() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let (mut editor, program) = launch_program(folder.path(), &["first", "inner"]).await?;
    // The debugger waits for its client in the event of the first line, past the breakpoint there.
    let (thread, frame) = editor.stop().await?;
    assert_eq!(frame["line"], child::line(&program, "first"), "{frame}");
    editor.ok("continue", json!({ "threadId": thread })).await?;
    let (thread, frame) = editor.stop().await?;
    assert_eq!((&frame["name"], &frame["line"]), (&json!("inner"), &json!(child::line(&program, "inner"))));
    editor.ok("stepOut", json!({ "threadId": thread })).await?;
    let stopped = editor.event("stopped").await?;
    assert_eq!((&stopped["reason"], &stopped["threadId"]), (&json!("step"), &json!(thread)), "{stopped}");
    let stack = editor.ok("stackTrace", json!({ "threadId": thread })).await?;
    assert_eq!(stack["stackFrames"][0]["line"], child::line(&program, "outer"), "{stack}");
    editor.ok("disconnect", json!({ "terminateDebuggee": true })).await?;
    editor.wait_until_ended().await
}

#[tokio::test]
async fn program_accepts_breakpoints_while_it_waits_for_input() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let (mut editor, program) = launch_program(folder.path(), &[]).await?;
    let waits = json!({ "waitFor": "never", "timeoutMs": deadline_ms(20) });
    assert_eq!(editor.ok("processReadOutput", waits).await?["waitingForInput"], true);
    editor.ok("pause", json!({ "threadId": 0 })).await?;
    let stopped = editor.event("stopped").await?;
    assert_eq!(stopped["reason"], "pause", "{stopped}");
    let thread = stopped["threadId"].clone();
    let stack = editor.ok("stackTrace", json!({ "threadId": thread })).await?;
    let frames = stack["stackFrames"].as_array().context("no stack")?;
    assert_eq!((frames.len(), &frames[0]["line"]), (1, &json!(child::line(&program, "asked"))), "{stack}");
    let arguments = json!({ "expression": "$text", "frameId": frames[0]["id"], "context": "watch" });
    assert_eq!(editor.ok("evaluate", arguments).await?["result"], "'héllo'");
    // The program's handler would end it.
    let failing = json!({ "expression": "nowhere()", "frameId": frames[0]["id"], "context": "watch" });
    assert_eq!(editor.refused("evaluate", failing).await?, "EVALUATION_FAILED");
    // The step ends after the input, even though breakpoints are set in between.
    editor.ok("next", json!({ "threadId": thread })).await?;
    let module = folder.path().join("lib/Later.pm");
    let line = child::line(&module, "module");
    let breakpoints = editor.break_on(&module, &[line]).await?;
    assert_eq!(
        (&breakpoints["breakpoints"][0]["verified"], &breakpoints["breakpoints"][0]["line"]),
        (&json!(true), &json!(line))
    );
    editor.ok("processWriteInput", json!({ "data": "four\n" })).await?;
    let (_, frame) = editor.stop().await?;
    assert_eq!(frame["line"], child::line(&program, "asked") + 1, "{frame}");
    editor.ok("continue", json!({ "threadId": thread })).await?;
    let (_, frame) = editor.stop().await?;
    assert_eq!((&frame["line"], &frame["source"]["path"]), (&json!(line), &json!(module)), "{frame}");
    editor.ok("disconnect", json!({ "terminateDebuggee": true })).await?;
    editor.wait_until_ended().await
}

#[tokio::test]
async fn a_forked_child_runs_on_and_a_signal_is_reported_as_it_is() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let (mut editor, program) = launch_program(folder.path(), &["first"]).await?;
    let (thread, _) = editor.stop().await?;
    // A condition that does not hold changes nothing in the program.
    let breakpoints = json!([{ "line": child::line(&program, "kept"), "condition": "eval { die 1 }" }]);
    let arguments = json!({ "source": { "path": program }, "breakpoints": breakpoints });
    editor.ok("setBreakpoints", arguments).await?;
    editor.ok("processWriteInput", json!({ "data": "four\n" })).await?;
    editor.ok("continue", json!({ "threadId": thread })).await?;
    let (event, body) = editor.any_event(&["stopped", "exited"]).await?;
    assert_eq!((event.as_str(), &body["exitCode"]), ("exited", &json!(128 + 9)), "{body}");
    editor.event("terminated").await?;
    assert_eq!(editor.output[0], "later 10 kept\n", "{:?}", editor.output);
    editor.finish().await
}

#[tokio::test]
async fn a_module_that_is_loaded_later_has_its_breakpoint_bound_then() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let (mut editor, _) = launch_program(folder.path(), &[]).await?;
    editor.ok("disconnect", json!({ "terminateDebuggee": true })).await?;
    editor.wait_until_ended().await?;
    let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let program = folder.path().join("main.pl");
    let launch = Subject::Perl.with(json!({ "program": program, "cwd": folder.path(), "stopOnEntry": true }));
    let launch = editor.send("launch", launch).await?;
    editor.initialized(launch).await?;
    let module = folder.path().join("lib/Later.pm");
    let line = child::line(&module, "module");
    let breakpoints = editor.break_on(&module, &[line]).await?;
    assert_eq!(breakpoints["breakpoints"][0]["verified"], false, "{breakpoints}");
    editor.ok("configurationDone", Value::Null).await?;
    anyhow::ensure!(editor.response(launch).await?.success, "not launched");
    let stopped = editor.event("stopped").await?;
    assert_eq!(stopped["reason"], "entry", "{stopped}");
    editor.ok("processWriteInput", json!({ "data": "four\n" })).await?;
    editor.ok("continue", json!({ "threadId": stopped["threadId"] })).await?;
    let bound = editor.event("breakpoint").await?["breakpoint"].clone();
    assert_eq!((&bound["verified"], &bound["line"]), (&json!(true), &json!(line)), "{bound}");
    let (_, frame) = editor.stop().await?;
    assert_eq!(frame["line"], line, "{frame}");
    editor.ok("disconnect", json!({ "terminateDebuggee": true })).await?;
    editor.wait_until_ended().await
}

#[tokio::test]
async fn elements_come_in_order_and_keys_with_quotes_open() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let (mut editor, _) = launch_program(folder.path(), &["asked"]).await?;
    let (thread, frame) = editor.stop().await?;
    assert!(thread > 0);
    let scopes = editor.ok("scopes", json!({ "frameId": frame["id"] })).await?;
    let mut reference = scopes["scopes"][0]["variablesReference"].clone();
    let mut names = Vec::new();
    for expected in ["@list", "11"] {
        let body = editor.ok("variables", json!({ "variablesReference": reference })).await?;
        let rows = body["variables"].as_array().context("no variables")?;
        names = rows.iter().filter_map(|row| row["name"].as_str().map(str::to_owned)).collect();
        let row = rows
            .iter()
            .find(|row| row["name"] == expected)
            .with_context(|| format!("no {expected}: {body}"))?;
        reference = row["variablesReference"].clone();
    }
    let expected: Vec<String> = (0..12).map(|index| index.to_string()).collect();
    assert_eq!(names, expected);
    let body = editor.ok("variables", json!({ "variablesReference": reference })).await?;
    let rows = body["variables"].as_array().context("no variables")?;
    let row = |name: &str| rows.iter().find(|row| row["name"] == name).cloned().unwrap_or_default();
    assert_eq!(row("it's")["value"], "11", "{body}");
    assert!(row("code")["value"].as_str().is_some_and(|code| code.starts_with("CODE(")), "{body}");
    editor.ok("disconnect", json!({ "terminateDebuggee": true })).await?;
    editor.wait_until_ended().await
}

#[tokio::test]
async fn unsupported_requests_are_refused() -> anyhow::Result<()> {
    let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let attach = json!({ "engine": "perl", "processId": std::process::id() });
    let refused = editor.ask("attach", attach).await?;
    assert_eq!(refused.body["error"]["variables"]["code"], "UNSUPPORTED", "{}", refused.body);
    editor.finish().await
}
