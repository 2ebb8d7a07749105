//! Locations of code: function breakpoints, symbols elsewhere or missing, sources, modules; and the messages
//! that a program sends its debugger.

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    functions_are_found_by_name_and_signature,
    a_program_without_symbols_says_so_and_still_stops_at_a_function,
    an_optimised_program_says_so,
    an_embedded_source_is_shown_and_mapped,
    symbols_are_found_in_symbol_paths,
    a_changed_source_is_reported,
    modules_and_sources_are_listed,
    a_program_speaks_to_its_debugger_and_breaks,
    a_failed_assertion_stops_where_it_is_written,
    a_program_that_fails_fast_stops_and_ends,
    the_entry_stop_is_before_the_first_line,
}

net10_tests! {
    messages_of_a_breakpoint_name_its_module,
}

net8_tests! {
    a_program_without_symbols_says_so_and_still_stops_at_a_function,
    an_embedded_source_is_shown_and_mapped,
    modules_and_sources_are_listed,
    a_program_speaks_to_its_debugger_and_breaks,
    a_failed_assertion_stops_where_it_is_written,
    a_program_that_fails_fast_stops_and_ends,
    the_entry_stop_is_before_the_first_line,
}

/// Starts a program up to `initialized`; the answer to `launch` is awaited by `go`.
async fn launch(editor: &mut DapClient, arguments: Value) -> anyhow::Result<i64> {
    editor.ok("initialize", json!({ "clientID": "test" })).await?;
    let launch = editor.send("launch", arguments).await?;
    editor.event("initialized").await?;
    Ok(launch)
}

async fn go(editor: &mut DapClient, launch: i64) -> anyhow::Result<()> {
    editor.ok("configurationDone", Value::Null).await?;
    let launched = editor.response(launch).await?;
    anyhow::ensure!(launched.success, "{}", launched.body);
    Ok(())
}

/// The source line of a frame.
fn source_line(program: &str, frame: &Value) -> String {
    let text = std::fs::read_to_string(fixture::source(program)).unwrap_or_default();
    let line = usize::try_from(frame["line"].as_i64().unwrap_or(0)).unwrap_or(0);
    text.lines().nth(line.saturating_sub(1)).unwrap_or_default().trim().to_owned()
}

async fn functions_are_found_by_name_and_signature(runtime: Runtime) -> anyhow::Result<()> {
    let mut lines = Vec::new();
    for name in [
        "Pay",
        "Till.Pay",
        "Shop.Goods.Till.Pay",
        "Back.Till.Pay",
        "Till.Pay(int)",
        "Till.Pay(string)",
        "Till.Pay(System.Int32)",
        "Till.Pay(int, ref string)",
        "Till.Pay(double)",
        "functions.dll!Till.Pay(int)",
        "other!Till.Pay(int)",
        "Box<T>.Pack<U>",
        "Box.Pack(U, List<T>)",
        "Box.Box",
        "Box..ctor",
        "Box.Size",
        "Box.get_Size",
        "Box.op_Addition",
        "Box.operator +",
        "Box.operator -(Box<T>)",
        "Box.operator -(Box<T>, Box<T>)",
        "Box.explicit operator int",
        "explicit operator System.Boolean",
        "Box.this[]",
        "Box.set_Item",
        "Box.Item(int)",
        "Box.Opened",
        "Box.add_Opened",
        "Till.operator *",
        "Till.Later",
        "Till.Coins",
        "Program.Total.Sum",
        "Program.Main.<lambda>",
        "Nobody",
        "two words",
    ] {
        let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
        let launch = launch(&mut editor, json!({ "program": fixture::program("functions") })).await?;
        let set = editor.ok("setFunctionBreakpoints", json!({ "breakpoints": [{ "name": name }] })).await?;
        let id = set["breakpoints"][0]["id"].clone();
        go(&mut editor, launch).await?;
        let mut stops = Vec::new();
        let mut breakpoint = set["breakpoints"][0].clone();
        loop {
            let event = editor.any_event(&["stopped", "exited", "breakpoint"]).await?;
            match event.0.as_str() {
                "exited" => break,
                "breakpoint" => breakpoint = event.1["breakpoint"].clone(),
                _ => {
                    assert_eq!(event.1["hitBreakpointIds"], json!([id]));
                    let thread = event.1["threadId"].clone();
                    let stack = editor.ok("stackTrace", json!({ "threadId": thread, "levels": 1 })).await?;
                    let frame = &stack["stackFrames"][0];
                    let name = frame["name"].as_str().unwrap_or_default();
                    stops.push(format!("    {name}: {}", source_line("functions", frame)));
                    editor.ok("continue", json!({ "threadId": thread })).await?;
                }
            }
        }
        let message = breakpoint["message"].as_str().unwrap_or_default();
        lines.push(format!("{name}: verified {} {message}", breakpoint["verified"]));
        lines.extend(stops);
        editor.finish().await?;
    }
    insta::assert_snapshot!("functions_are_found_by_name_and_signature", lines.join("\n"));
    Ok(())
}

async fn a_program_without_symbols_says_so_and_still_stops_at_a_function(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let launch = launch(&mut editor, json!({ "program": fixture::program("nopdb") })).await?;
    editor.break_at("nopdb", &["here"]).await?;
    editor.ok("setFunctionBreakpoints", json!({ "breakpoints": [{ "name": "Program.Main" }] })).await?;
    go(&mut editor, launch).await?;
    let (thread, frame) = editor.stop().await?;
    assert_eq!(frame["name"], "Program.Main()");
    // The line waits, and says why.
    let mut message = String::new();
    while !message.contains("nopdb.dll") {
        let event = editor.event("breakpoint").await?;
        message = event["breakpoint"]["message"].as_str().unwrap_or_default().to_owned();
        assert!(message.is_empty() || event["breakpoint"]["verified"] == false, "{event}");
    }
    assert!(message.contains("`nopdb.dll` has no symbols: no PDB found; looked for"), "{message}");
    editor.ok("continue", json!({ "threadId": thread })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 0);
    assert!(editor.output[2].contains("has no symbols, so no breakpoint can bind"), "{}", editor.output[2]);
    editor.finish().await
}

async fn an_optimised_program_says_so(runtime: Runtime) -> anyhow::Result<()> {
    for just_my_code in [true, false] {
        let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
        let program = json!({ "program": fixture::program("optimized"), "justMyCode": just_my_code });
        let launch = launch(&mut editor, program).await?;
        editor.break_at("optimized", &["here"]).await?;
        go(&mut editor, launch).await?;
        let (thread, frame) = editor.stop().await?;
        assert_eq!(frame["line"], fixture::line("optimized", "here"));
        // With `justMyCode: false` the user's code is all that has symbols.
        assert_eq!(frame["presentationHint"] == "subtle", just_my_code, "{frame}");
        assert_eq!(frame["source"]["presentationHint"], Value::Null);
        let breakpoint = editor.breakpoint("changed").await?;
        let message = breakpoint["breakpoint"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("`optimized.dll` is optimised"), "{message}");
        editor.ok("continue", json!({ "threadId": thread })).await?;
        editor.event("exited").await?;
        assert!(editor.output[2].contains("is optimised: variables may be missing"), "{}", editor.output[2]);
        editor.finish().await?;
    }
    Ok(())
}

/// Its packages are optimized and have no symbols, which is irrelevant to the user's lines.
async fn messages_of_a_breakpoint_name_its_module(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let launch = launch(&mut editor, json!({ "program": fixture::modern_program("packages") })).await?;
    let source = fixture::modern_source("packages");
    let line = |marker: &str| fixture::modern_line("packages", marker);
    let breakpoints = json!([{ "line": line("written") }, { "line": line("behind") }]);
    let arguments = json!({ "source": { "path": source }, "breakpoints": breakpoints });
    editor.ok("setBreakpoints", arguments.clone()).await?;
    go(&mut editor, launch).await?;
    let (thread, frame) = editor.stop().await?;
    assert_eq!(frame["line"], line("written"));
    // One result each: one is bound, and the other reports that there is no code.
    for (verified, message) in [(true, Value::Null), (false, json!("there is no code at or after this line"))]
    {
        let breakpoint = editor.breakpoint("changed").await?["breakpoint"].clone();
        assert_eq!(
            (&breakpoint["verified"], &breakpoint["message"]),
            (&json!(verified), &message),
            "{breakpoint}"
        );
    }
    assert!(
        !editor.unclaimed_messages().iter().any(|name| name == "breakpoint"),
        "{:?}",
        editor.unclaimed_messages()
    );
    let again = editor.ok("setBreakpoints", arguments).await?["breakpoints"].clone();
    assert_eq!(again[0]["message"], Value::Null, "{again}");
    // A file that no module has is pending, with a message of one sentence.
    let aside =
        json!({ "source": { "path": fixture::modern_source("refs") }, "breakpoints": [{ "line": 1 }] });
    let aside = editor.ok("setBreakpoints", aside).await?["breakpoints"][0]["message"].clone();
    assert_eq!(aside, "no loaded module has code for it yet; 2 libraries have no symbols");
    editor.ok("continue", json!({ "threadId": thread })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 0);
    editor.finish().await
}

async fn an_embedded_source_is_shown_and_mapped(runtime: Runtime) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(fixture::source("embedded"))?;
    // The location of the source is not known: its text comes from the symbols.
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let started = launch(&mut editor, json!({ "program": fixture::program("embedded") })).await?;
    let line = fixture::line("embedded", "here");
    let place = json!({ "source": { "path": "/_/embedded/Program.cs" }, "breakpoints": [{ "line": line }] });
    editor.ok("setBreakpoints", place).await?;
    go(&mut editor, started).await?;
    let (_, frame) = editor.stop().await?;
    let source = &frame["source"];
    assert_eq!((&frame["line"], &source["path"]), (&json!(line), &json!("/_/embedded/Program.cs")));
    assert!(source["sourceReference"].as_i64().is_some_and(|number| number > 0), "{source}");
    let reference = json!({ "source": source, "sourceReference": source["sourceReference"] });
    assert_eq!(editor.ok("source", reference).await?["content"], text);
    assert_eq!(editor.refused("source", json!({ "sourceReference": 999_999 })).await?, "INVALID_PARAMETER");
    editor.finish().await?;

    // With the mapping, the file itself is used in both directions.
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let folder = std::path::Path::new(&fixture::source("embedded")).parent().context("no folder")?.to_owned();
    let program =
        json!({ "program": fixture::program("embedded"), "sourceFileMap": { "/_/embedded": folder } });
    let started = launch(&mut editor, program).await?;
    editor.break_at("embedded", &["here"]).await?;
    go(&mut editor, started).await?;
    let (_, frame) = editor.stop().await?;
    assert_eq!(frame["source"]["path"], fixture::source("embedded"));
    assert_eq!(frame["source"]["sourceReference"], Value::Null);
    assert_eq!(frame["source"]["checksums"][0]["algorithm"], "SHA256");
    editor.finish().await?;

    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test" })).await?;
    let wrong = json!({ "program": fixture::program("embedded"), "sourceFileMap": "/_/" });
    assert_eq!(editor.refused("launch", wrong).await?, "INVALID_PARAMETER");
    editor.finish().await
}

async fn symbols_are_found_in_symbol_paths(runtime: Runtime) -> anyhow::Result<()> {
    let built = std::path::PathBuf::from(fixture::program("apart"));
    let (program, symbols) = (tempfile::tempdir()?, tempfile::tempdir()?);
    for file in std::fs::read_dir(built.parent().context("no folder")?)? {
        let file = file?;
        let is_pdb = file.path().extension().is_some_and(|ending| ending == "pdb");
        let folder = if is_pdb { symbols.path() } else { program.path() };
        std::fs::copy(file.path(), folder.join(file.file_name()))?;
    }
    let folder = std::path::Path::new(&fixture::source("apart")).parent().context("no folder")?.to_owned();
    for with_symbols in [true, false] {
        let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
        let mut arguments =
            json!({ "program": program.path().join("apart.dll"), "sourceFileMap": { "/_/apart": folder } });
        if with_symbols {
            arguments["symbolPaths"] = json!(["/nowhere", symbols.path()]);
        }
        let started = launch(&mut editor, arguments).await?;
        editor.break_at("apart", &["here"]).await?;
        go(&mut editor, started).await?;
        if with_symbols {
            let (thread, frame) = editor.stop().await?;
            assert_eq!(frame["source"]["path"], fixture::source("apart"));
            editor.ok("continue", json!({ "threadId": thread })).await?;
        }
        assert_eq!(editor.event("exited").await?["exitCode"], 0);
        editor.finish().await?;
    }
    Ok(())
}

async fn a_changed_source_is_reported(runtime: Runtime) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let changed = folder.path().join("Program.cs");
    let text = std::fs::read_to_string(fixture::source("embedded"))?;
    for (content, remark) in [
        (text.clone(), false),
        // Line ends that git converts on other systems are not a change.
        (text.replace('\n', "\r\n"), false),
        (text.replace("42", "43"), true),
    ] {
        std::fs::write(&changed, content)?;
        let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
        let arguments = json!({ "program": fixture::program("embedded"), "sourceFileMap": {
            "/_/embedded/": folder.path() } });
        let started = launch(&mut editor, arguments).await?;
        let line = fixture::line("embedded", "here");
        // One line too early: it moves, and the response reports it.
        let place =
            json!({ "source": { "path": changed }, "breakpoints": [{ "line": 1 }, { "line": line }] });
        editor.ok("setBreakpoints", place).await?;
        go(&mut editor, started).await?;
        let (_, _) = editor.stop().await?;
        let moved = editor.breakpoint("changed").await?["breakpoint"].clone();
        let exact = editor.breakpoint("changed").await?["breakpoint"].clone();
        let message = |body: &Value| body["message"].as_str().unwrap_or_default().to_owned();
        assert!(message(&moved).contains("no code on line 1: moved to line"), "{moved}");
        assert_eq!(message(&exact).contains("checksum differs"), remark, "{exact}");
        editor.finish().await?;
    }
    Ok(())
}

async fn modules_and_sources_are_listed(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("functions", &["back"], json!({})).await?;
    editor.stop().await?;
    let all = editor.ok("modules", json!({})).await?;
    let list = all["modules"].as_array().context("no modules")?;
    let own = list.iter().find(|module| module["name"] == "functions.dll").context("not listed")?;
    assert_eq!((&own["isUserCode"], &own["symbolStatus"]), (&json!(true), &json!("Symbols loaded")));
    assert!(own["symbolFilePath"].as_str().is_some_and(|path| path.ends_with("functions.pdb")), "{own}");
    assert_eq!(own["version"], "1.0.0.0");
    assert!(own["addressRange"].as_str().is_some_and(|range| range.starts_with("0x")), "{own}");
    let core =
        list.iter().find(|module| module["name"] == "System.Private.CoreLib.dll").context("no core")?;
    assert_eq!(core["isUserCode"], false);
    let page = editor.ok("modules", json!({ "startModule": 1, "moduleCount": 1 })).await?;
    assert_eq!((&page["modules"], &page["totalModules"]), (&json!([list[1]]), &all["totalModules"]));
    let sources = editor.ok("loadedSources", json!({})).await?;
    let paths: Vec<&str> = sources["sources"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|source| source["path"].as_str())
        .collect();
    assert!(paths.contains(&fixture::source("functions").as_str()), "{paths:?}");
    let path = json!({ "source": { "path": fixture::source("functions") } });
    let text = std::fs::read_to_string(fixture::source("functions"))?;
    assert_eq!(
        editor.ok("source", json!({ "source": path["source"], "sourceReference": 0 })).await?["content"],
        text
    );
    editor.finish().await
}

async fn a_program_speaks_to_its_debugger_and_breaks(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("messages", &[], json!({})).await?;
    let stopped = editor.event("stopped").await?;
    assert_eq!(
        (&stopped["reason"], &stopped["description"]),
        (&json!("breakpoint"), &json!("Debugger.Break()"))
    );
    let thread = stopped["threadId"].clone();
    let stack = editor.ok("stackTrace", json!({ "threadId": thread })).await?;
    let frames = stack["stackFrames"].as_array().context("no frames")?;
    let own = frames.iter().find(|frame| frame["name"] == "Program.Main(string[] arguments)");
    assert_eq!(own.context("no Main")?["line"], fixture::line("messages", "break"));
    for line in ["shop: logged\n", "plain\n", "debug line"] {
        assert!(editor.output[2].contains(line), "{}", editor.output[2]);
    }
    loop {
        let event = editor.event("output").await?;
        if event["output"] == "plain\n" {
            assert_eq!(event["from"], "program", "{event}");
            break;
        }
    }
    editor.ok("next", json!({ "threadId": thread })).await?;
    let (_, frame) = editor.stop().await?;
    assert_eq!(frame["line"], fixture::line("messages", "after"));
    editor.finish().await
}

async fn a_program_that_fails_fast_stops_and_ends(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("messages", &[], json!({ "args": ["failfast"] })).await?;
    let stopped = editor.event("stopped").await?;
    assert_eq!(stopped["description"], "The program fails fast: System.ExecutionEngineException");
    let text = stopped["text"].as_str().unwrap_or_default();
    assert!(text.starts_with("System.ExecutionEngineException: told to"), "{stopped}");
    let thread = json!({ "threadId": stopped["threadId"] });
    assert_eq!(editor.ok("exceptionInfo", thread).await?["description"], "told to");
    let stack = editor.ok("stackTrace", json!({ "threadId": stopped["threadId"] })).await?;
    let frames = stack["stackFrames"].as_array().context("no frames")?;
    let own = frames.iter().find(|frame| frame["line"] != 0).context("no line")?;
    assert_eq!(own["line"], fixture::line("messages", "failfast"));
    editor.ok("continue", json!({ "threadId": stopped["threadId"] })).await?;
    // SIGABRT, as without a debugger.
    assert_eq!(editor.event("exited").await?["exitCode"], 134);
    editor.finish().await
}

async fn a_failed_assertion_stops_where_it_is_written(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("messages", &[], json!({ "args": ["assert"] })).await?;
    let stopped = editor.event("stopped").await?;
    assert_eq!(stopped["reason"], "breakpoint");
    let stack = editor.ok("stackTrace", json!({ "threadId": stopped["threadId"] })).await?;
    let frames = stack["stackFrames"].as_array().context("no frames")?;
    let own = frames.iter().find(|frame| frame["name"] == "Program.Main(string[] arguments)");
    assert_eq!(own.context("no Main")?["line"], fixture::line("messages", "assert"));
    assert!(editor.output[2].contains("told why"), "{}", editor.output[2]);
    editor.ok("next", json!({ "threadId": stopped["threadId"] })).await?;
    let (_, frame) = editor.stop().await?;
    assert_eq!(frame["name"], "Program.Main(string[] arguments)");
    editor.finish().await
}

async fn the_entry_stop_is_before_the_first_line(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("messages", &[], json!({ "stopOnEntry": true })).await?;
    let stopped = editor.event("stopped").await?;
    assert_eq!(stopped["reason"], "entry");
    let stack = editor.ok("stackTrace", json!({ "threadId": stopped["threadId"] })).await?;
    assert_eq!(stack["stackFrames"][0]["name"], "Program.Main(string[] arguments)");
    assert_eq!(stack["totalFrames"], 1);
    editor.finish().await
}
