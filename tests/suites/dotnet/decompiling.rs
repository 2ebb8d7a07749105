//! Libraries without symbols or sources, decompiled by a program that the user has: lines to stop and step
//! at, and the message if the user has no decompiler. A program of the tests replaces `ilspycmd`
//! (`tests/harness/src/decompiler.rs`).

use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::deadline::deadline;
use tandem_harness::decompiler::Decompiler;
use tandem_harness::distant::{self, DistantSources, is_below};
use tandem_harness::fixture::{Runtime, is_running};

dotnet_tests! {
    a_library_is_decompiled_where_the_program_is_stopped,
}

net10_tests! {
    a_source_is_decompiled_when_it_is_opened,
    a_library_with_symbols_and_no_source_is_decompiled_when_fetching_is_forbidden,
    a_decompiler_that_fails_says_why,
    a_decompiler_is_not_left_behind,
    without_a_decompiler_the_error_says_how_to_get_a_source,
}

/// Commands of a decompiler that writes the PDB.
const GOOD: &str = "cp \"$made\" \"$out/$name.pdb\"";

/// Copies of the program with a library without symbols, and a decompiler on `PATH` that does this.
fn with_decompiler(runtime: Runtime, does: &str) -> anyhow::Result<(DistantSources, Decompiler)> {
    let mut distant = DistantSources::new(runtime)?;
    let own = distant.take_pdb()?;
    let decompiler = Decompiler::new(&distant, &own, does)?;
    distant.environment.insert("PATH".into(), decompiler.path());
    Ok((distant, decompiler))
}

/// Continues from a stop in the user's code to one in a function of the library.
async fn run_to(editor: &mut DapClient, function: &str) -> anyhow::Result<(i64, Value)> {
    let (thread, _) = editor.stop().await?;
    let expected = json!({ "breakpoints": [{ "name": function }] });
    // Older runtimes load the library with the call.
    editor.ok("setFunctionBreakpoints", expected).await?;
    editor.ok("continue", json!({ "threadId": thread })).await?;
    editor.stop().await
}

async fn top(editor: &mut DapClient, thread: i64) -> anyhow::Result<Value> {
    Ok(editor.ok("stackTrace", json!({ "threadId": thread, "levels": 1 })).await?["stackFrames"][0].clone())
}

/// Waits until the library's symbols are those of the decompiler.
async fn wait_for_decompiler(editor: &mut DapClient) -> anyhow::Result<()> {
    loop {
        let event = editor.event("module").await?;
        if event["module"]["symbolStatus"] == "Symbols made by a decompiler" {
            assert_eq!(event["module"]["isUserCode"], false);
            return Ok(());
        }
    }
}

async fn a_library_is_decompiled_where_the_program_is_stopped(runtime: Runtime) -> anyhow::Result<()> {
    let (distant, decompiler) = with_decompiler(runtime, GOOD)?;
    // It is compiled before its symbols come: without this an older runtime stops at some of its lines only.
    let suppressed = json!({ "suppressJITOptimizations": true });
    let mut editor = distant.launch(&["calls"], suppressed.clone()).await?;
    let (thread, _) = run_to(&mut editor, "Distant.Counter.Count").await?;
    wait_for_decompiler(&mut editor).await?;
    assert_eq!(editor.event("invalidated").await?["areas"], json!(["stacks"]));
    let frame = top(&mut editor, thread).await?;
    let path = frame["source"]["path"].clone();
    assert!(is_below(&path, &distant.path("cache/tandem/decompiled")), "{frame}");
    assert_eq!(
        (&frame["line"], &frame["source"]["origin"]),
        (&json!(distant::line("first")), &json!("decompiled"))
    );
    let calls = decompiler.calls();
    assert_eq!((calls.len(), calls[0].as_str()), (2, "--help"));
    for option in [
        "--generate-pdb",
        "--outputdir ",
        "--nested-directories",
        "--disable-updatecheck",
        "/bin/distantlib.dll",
    ] {
        assert!(calls[1].contains(option), "{calls:?}");
    }
    let inner = json!({ "source": frame["source"], "breakpoints": [{ "line": distant::line("inner") }] });
    let set = editor.ok("setBreakpoints", inner.clone()).await?;
    assert_eq!(set["breakpoints"][0]["verified"], true, "{set}");
    editor.ok("continue", json!({ "threadId": thread })).await?;
    let (thread, frame) = editor.stop().await?;
    assert_eq!((&frame["line"], &frame["source"]["path"]), (&json!(distant::line("inner")), &path));
    editor.ok("setBreakpoints", json!({ "source": frame["source"], "breakpoints": [] })).await?;
    let mut lines = vec![frame["line"].clone()];
    while lines.len() < 30 && lines.last() != Some(&json!(distant::line("last"))) {
        editor.ok("next", json!({ "threadId": thread })).await?;
        let (_, frame) = editor.stop().await?;
        assert_eq!(frame["source"]["path"], path);
        lines.push(frame["line"].clone());
    }
    assert_eq!(lines.last(), Some(&json!(distant::line("last"))), "{lines:?}");
    editor.finish().await?;

    // It is kept: breakpoints hold from the start, and nothing is decompiled again.
    let mut editor = distant.launch(&["calls"], json!({})).await?;
    editor
        .ok("setBreakpoints", json!({ "source": { "path": path }, "breakpoints": inner["breakpoints"] }))
        .await?;
    let (thread, _) = editor.stop().await?;
    editor.ok("continue", json!({ "threadId": thread })).await?;
    let (_, frame) = editor.stop().await?;
    assert_eq!((&frame["line"], &frame["source"]["path"]), (&json!(distant::line("inner")), &path));
    editor.finish().await?;
    assert_eq!(decompiler.calls().len(), 2);
    assert!(
        distant.cached_files().iter().all(|path| path.starts_with(distant.path("cache/tandem/decompiled")))
    );
    Ok(())
}

/// Stops at the exception that the library throws, with just-my-code, and returns the stack.
async fn stop_at_library_exception(
    distant: &DistantSources,
    more: Value,
) -> anyhow::Result<(DapClient, i64, Vec<Value>)> {
    let mut attributes = json!({ "justMyCode": true });
    if let (Some(attributes), Some(more)) = (attributes.as_object_mut(), more.as_object()) {
        attributes.extend(more.clone());
    }
    let mut editor = distant.launch(&["checks"], attributes).await?;
    let (thread, _) = editor.stop().await?;
    editor.ok("setExceptionBreakpoints", json!({ "filters": ["all"] })).await?;
    editor.ok("continue", json!({ "threadId": thread })).await?;
    let (thread, _) = editor.stop().await?;
    let stack = editor.ok("stackTrace", json!({ "threadId": thread })).await?;
    let frames = stack["stackFrames"].as_array().cloned().unwrap_or_default();
    assert!(frames[0]["name"].as_str().is_some_and(|name| name.contains("Counter.Check")), "{stack}");
    Ok((editor, thread, frames))
}

fn of(frame: &Value) -> Value {
    json!({ "source": frame["source"], "sourceReference": frame["source"]["sourceReference"],
        "moduleId": frame["moduleId"] })
}

async fn a_source_is_decompiled_when_it_is_opened(runtime: Runtime) -> anyhow::Result<()> {
    let (distant, decompiler) = with_decompiler(runtime, GOOD)?;
    let (mut editor, thread, frames) = stop_at_library_exception(&distant, json!({})).await?;
    let library = &frames[0];
    assert_eq!(library["source"]["origin"], "decompiled when it is opened");
    assert_eq!(
        (&library["line"], &library["source"]["presentationHint"]),
        (&json!(0), &json!("deemphasize"))
    );
    assert_eq!(decompiler.calls().len(), 0, "no source was opened");
    let text = editor.ok("source", of(library)).await?["content"].clone();
    assert_eq!(text, json!(distant::text()));
    editor.event("invalidated").await?;
    let frame = top(&mut editor, thread).await?;
    assert_eq!(
        (&frame["line"], &frame["source"]["origin"]),
        (&json!(distant::line("throws")), &json!("decompiled"))
    );
    assert_eq!(frame["presentationHint"], "subtle");
    // A client that kept the earlier reference is answered, too.
    assert_eq!(editor.ok("source", of(library)).await?["content"], text);
    assert_eq!(decompiler.calls().len(), 2);
    editor.finish().await
}

async fn a_library_with_symbols_and_no_source_is_decompiled_when_fetching_is_forbidden(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let mut distant = DistantSources::new(runtime)?;
    let own = std::fs::read(distant.pdb())?;
    // If it cannot use the variables' names, it decompiles without them.
    let picky = format!("case \"$all\" in *--use-varnames*) exit 64;; esac\n{GOOD}");
    let decompiler = Decompiler::new(&distant, &own, &picky)?;
    distant.environment.insert("PATH".into(), decompiler.path());
    let mut editor =
        distant.launch(&["calls"], json!({ "sourceLinkOptions": { "*": { "enabled": false } } })).await?;
    let (thread, _) = editor.stop().await?;
    editor.ok("stepIn", json!({ "threadId": thread })).await?;
    let (thread, frame) = editor.stop().await?;
    assert_eq!(frame["source"]["path"], distant::COMPILED);
    assert_eq!(editor.ok("source", of(&frame)).await?["content"], json!(distant::text()));
    let frame = top(&mut editor, thread).await?;
    assert_eq!(
        (&frame["line"], &frame["source"]["origin"]),
        (&json!(distant::line("first")), &json!("decompiled"))
    );
    let names = format!("--use-varnames-from-pdb:{}", distant.pdb().display());
    let calls = decompiler.calls();
    let named: Vec<bool> = calls.iter().map(|call| call.contains(&names)).collect();
    assert_eq!(named, [false, true, false], "{calls:?}");
    editor.ok("next", json!({ "threadId": thread })).await?;
    let (_, next) = editor.stop().await?;
    assert_eq!(next["source"]["path"], frame["source"]["path"]);
    editor.finish().await
}

async fn a_decompiler_that_fails_says_why(runtime: Runtime) -> anyhow::Result<()> {
    for (does, expected) in [
        (
            "echo 'Cannot create PDB file, because it has no CodeView.' >&2; exit 65",
            "Cannot create PDB file, because it has no CodeView.",
        ),
        ("exit 70", "it ended with exit status: 70"),
        ("true", "it wrote no PDB"),
        ("echo nothing > \"$out/$name.pdb\"", "it wrote a PDB that is not this assembly's"),
        (
            "cp \"$(dirname \"$made\")/../made/distantlib.pdb\" \"$out/$name.pdb\"",
            "it wrote a PDB that is not this assembly's",
        ),
    ] {
        let (distant, decompiler) = with_decompiler(runtime, does)?;
        let (mut editor, _, frames) = stop_at_library_exception(&distant, json!({})).await?;
        let failed = editor.ask("source", of(&frames[0])).await?;
        let error = &failed.body["error"]["variables"];
        assert_eq!(error["code"], "COMMAND_FAILED", "{expected}");
        assert!(error["message"].as_str().is_some_and(|message| message.contains(expected)), "{error}");
        // It is not tried again.
        let again = editor.ask("source", of(&frames[0])).await?;
        assert_eq!(again.body["error"]["variables"]["code"], "NOT_FOUND");
        assert!(
            again.body["error"]["variables"]["hint"].as_str().is_some_and(|hint| hint.contains(expected)),
            "{}",
            again.body
        );
        assert_eq!(decompiler.calls().len(), 2);
        editor.finish().await?;
        assert_eq!(distant.cached_files(), [] as [std::path::PathBuf; 0]);
    }
    let mut distant = DistantSources::new(runtime)?;
    let own = distant.take_pdb()?;
    let old = Decompiler::with_help(&distant, &own, GOOD, "Usage: ilspycmd [options]\n  -p|--project")?;
    distant.environment.insert("PATH".into(), old.path());
    let (mut editor, _, frames) = stop_at_library_exception(&distant, json!({})).await?;
    assert_eq!(editor.refused("source", of(&frames[0])).await?, "UNSUPPORTED");
    editor.finish().await
}

async fn a_decompiler_is_not_left_behind(runtime: Runtime) -> anyhow::Result<()> {
    let (distant, decompiler) = with_decompiler(runtime, "sleep 1000 & wait")?;
    let (mut editor, thread, frames) = stop_at_library_exception(&distant, json!({})).await?;
    let seq = editor.send("source", of(&frames[0])).await?;
    let until = |holds: &dyn Fn() -> bool| {
        let end = Instant::now() + deadline(30);
        while !holds() {
            anyhow::ensure!(Instant::now() < end, "{:?}", decompiler.calls());
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    };
    until(&|| decompiler.calls().len() == 2)?;
    // Other requests are answered at the same time, and the request can be cancelled.
    editor.ok("scopes", json!({ "frameId": frames[1]["id"] })).await?;
    editor.ok("cancel", json!({ "requestId": seq })).await?;
    assert_eq!(editor.response(seq).await?.body["error"]["variables"]["code"], "CANCELLED");
    editor.ok("next", json!({ "threadId": thread })).await?;
    editor.stop().await?;
    editor.finish().await?;
    until(&|| decompiler.processes().iter().all(|pid| !is_running(*pid)))?;
    assert_eq!(distant.cached_files(), [] as [std::path::PathBuf; 0]);
    Ok(())
}

async fn without_a_decompiler_the_error_says_how_to_get_a_source(runtime: Runtime) -> anyhow::Result<()> {
    let (distant, decompiler) = with_decompiler(runtime, GOOD)?;
    let mut absent = DistantSources::new(runtime)?;
    absent.take_pdb()?;
    absent.environment.insert("PATH".into(), "/usr/bin:/bin".into());
    for (distant, more, expected) in [
        (&distant, json!({ "decompiler": "off" }), "it is not"),
        (&absent, json!({}), "`dotnet tool install --global ilspycmd`"),
    ] {
        let (mut editor, _, frames) = stop_at_library_exception(distant, more).await?;
        assert_eq!(frames[0]["source"]["origin"], "external code");
        assert!(frames[0]["source"]["sourceReference"].is_null());
        let refused = editor.ask("source", of(&frames[0])).await?;
        let error = &refused.body["error"]["variables"];
        assert_eq!(error["code"], "NOT_FOUND", "{}", refused.body);
        let hint = error["hint"].as_str().context("a hint")?;
        assert!(hint.contains("`symbolOptions: {\"searchNuGetOrgSymbolServer\":true}`"), "{hint}");
        assert!(expected == "it is not" || hint.contains(expected), "{hint}");
        editor.finish().await?;
    }
    assert_eq!(decompiler.calls().len(), 0);
    // A configured decompiler is used even if none is on PATH.
    let own = std::fs::read(distant.path("tools/made.pdb"))?;
    let named = Decompiler::new(&absent, &own, GOOD)?;
    let (mut editor, _, frames) =
        stop_at_library_exception(&absent, json!({ "decompiler": named.program() })).await?;
    assert_eq!(editor.ok("source", of(&frames[0])).await?["content"], json!(distant::text()));
    editor.finish().await?;
    let mut editor = absent.client()?;
    editor.ok("initialize", json!({ "clientID": "test" })).await?;
    for wrong in [json!("/nowhere/ilspycmd"), json!(true)] {
        let launch = absent.arguments(json!({ "decompiler": wrong }));
        assert_eq!(editor.refused("launch", launch).await?, "INVALID_PARAMETER");
    }
    editor.finish().await
}
