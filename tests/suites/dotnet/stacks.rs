//! Stacks: async callers, the code between frames, pages, and which frames are the user's code.

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    async_callers_are_on_the_stack,
    a_method_its_caller_still_waits_for_on_the_stack_has_no_async_callers,
    variables_of_an_async_caller_are_seen_set_and_used,
    a_long_chain_of_callers_is_cut_and_comes_in_pages,
    transitions_between_frames_are_marked,
    frames_outside_user_code_are_subtle,
    a_stop_in_a_library_without_its_source_leads_to_the_users_code,
    a_handler_and_its_method_are_one_frame,
}

net8_tests! {
    async_callers_are_on_the_stack,
    variables_of_an_async_caller_are_seen_set_and_used,
    transitions_between_frames_are_marked,
    a_handler_and_its_method_are_one_frame,
}

/// Frames of libraries also have names as in their source.
#[test]
fn a_state_machine_leads_to_its_method_without_symbols_as_with_them() -> anyhow::Result<()> {
    let mut compared = 0;
    for program in ["asyncs", "asyncstatements", "statements", "steps", "waits"] {
        let path = std::path::PathBuf::from(fixture::program(program));
        let image = clr_metadata::image::PeImage::open(&path)?;
        let pdb = clr_metadata::pdb::Pdb::open_for(&image, &[])
            .map_err(|why| anyhow::anyhow!("{program}: {why:?}"))?;
        for method in image.metadata.all_methods() {
            let found = image.metadata.kickoff(method);
            assert_eq!(found, pdb.kickoff(method), "{program}: 0x{method:x}");
            compared += usize::from(found.is_some());
        }
    }
    assert!(compared > 50, "only {compared} state machines");
    Ok(())
}

/// Runs `waits` to a marker of one of its scenarios.
async fn at(runtime: Runtime, scenario: &str, marker: &str) -> anyhow::Result<(DapClient, i64)> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("waits", &[marker], json!({ "args": [scenario] })).await?;
    let (thread, frame) = editor.stop().await?;
    assert_eq!(frame["line"], fixture::line("waits", marker));
    Ok((editor, thread))
}

async fn frames(editor: &mut DapClient, thread: i64) -> anyhow::Result<Vec<Value>> {
    let stack = editor.ok("stackTrace", json!({ "threadId": thread })).await?;
    let frames = stack["stackFrames"].as_array().context("no frames")?.clone();
    assert_eq!(stack["totalFrames"], frames.len());
    Ok(frames)
}

fn name(frame: &Value) -> &str {
    frame["name"].as_str().unwrap_or_default()
}

/// A frame with the line of the source it is at.
fn row(frame: &Value) -> String {
    let text = std::fs::read_to_string(fixture::source("waits")).unwrap_or_default();
    let line = usize::try_from(frame["line"].as_u64().unwrap_or(0)).unwrap_or(0);
    let source = text.lines().nth(line.wrapping_sub(1)).unwrap_or_default();
    match source.split("// BP ").nth(1) {
        Some(marker) => format!("{} at {marker}", name(frame)),
        None => name(frame).to_owned(),
    }
}

async fn async_callers_are_on_the_stack(runtime: Runtime) -> anyhow::Result<()> {
    let mut lines = Vec::new();
    for (scenario, marker) in [
        ("value", "leaf"),
        ("reader", "generic"),
        ("all", "leaf"),
        ("any", "leaf"),
        ("posted", "plain"),
        ("started", "leaf"),
        ("local", "leaf"),
        ("stream", "leaf"),
        ("stream", "item"),
        ("continued", "leaf"),
        ("shared", "leaf"),
        ("forgotten", "leaf"),
        ("unreached", "leaf"),
    ] {
        let (mut editor, thread) = at(runtime, scenario, marker).await?;
        lines.push(format!("{scenario}:"));
        let frames = frames(&mut editor, thread).await?;
        // The framework's frames in between differ between versions.
        let shown = frames.iter().filter(|frame| frame["presentationHint"] != "subtle");
        lines.extend(shown.map(|frame| format!("    {}", row(frame))));
        let first =
            frames.iter().position(|frame| name(frame) == "[Async Call Stack]").context("no callers")?;
        for caller in frames.iter().skip(first + 1) {
            anyhow::ensure!(caller["source"]["path"] == fixture::source("waits"), "{caller}");
        }
        editor.finish().await?;
    }
    insta::assert_snapshot!("async_callers_are_on_the_stack", lines.join("\n"));
    Ok(())
}

async fn a_method_its_caller_still_waits_for_on_the_stack_has_no_async_callers(
    runtime: Runtime,
) -> anyhow::Result<()> {
    // Nothing has waited yet: all of them are called by each other.
    let (mut editor, thread) = at(runtime, "value", "value await").await?;
    let frames = frames(&mut editor, thread).await?;
    anyhow::ensure!(frames.iter().all(|frame| frame["presentationHint"] != "label"), "{frames:?}");
    let own: Vec<&str> =
        frames.iter().filter(|frame| frame["presentationHint"].is_null()).map(name).collect();
    assert_eq!(own, ["Program.Value(int number)", "Program.Main(string[] args)"]);
    editor.finish().await
}

async fn variables_of_an_async_caller_are_seen_set_and_used(runtime: Runtime) -> anyhow::Result<()> {
    let (mut editor, thread) = at(runtime, "reader", "look").await?;
    let list = frames(&mut editor, thread).await?;
    // The top method does not wait; its caller does.
    assert_eq!(name(&list[1]), "Store<string>.Read<int>(string key, Func<string, int> take)");
    let reader = list.iter().find(|frame| name(frame).contains("Reader")).context("no caller")?["id"].clone();
    let scopes = editor.ok("scopes", json!({ "frameId": reader })).await?;
    let reference = scopes["scopes"][0]["variablesReference"].clone();
    let body = editor.ok("variables", json!({ "variablesReference": reference })).await?;
    let names: Vec<&str> =
        body["variables"].as_array().into_iter().flatten().filter_map(|row| row["name"].as_str()).collect();
    assert_eq!(names, ["store", "key", "found", "Static members"]);
    for (expression, result) in [
        ("key", "\"some key\""),
        ("key.Length + store.GetHashCode() * 0", "8"),
        ("store.kept", "\"text\""),
        ("Store<string>.Reads", "1"),
        ("Leaf(1).GetType().Name.Length > 0", "true"),
    ] {
        let arguments = json!({ "expression": expression, "frameId": reader, "context": "watch" });
        assert_eq!(editor.ok("evaluate", arguments).await?["result"], result, "{expression}");
    }
    let set = json!({ "variablesReference": reference, "name": "key", "value": "\"other\"" });
    assert_eq!(editor.ok("setVariable", set).await?["value"], "\"other\"");
    // The method continues with the value that was set.
    editor.break_at("waits", &["reader return"]).await?;
    editor.ok("continue", json!({ "threadId": thread })).await?;
    let (_, frame) = editor.stop().await?;
    let arguments = json!({ "expression": "key + found", "frameId": frame["id"] });
    assert_eq!(editor.ok("evaluate", arguments).await?["result"], "\"other4\"");
    // A caller of before is stale.
    assert_eq!(editor.refused("scopes", json!({ "frameId": reader })).await?, "NOT_STOPPED");
    editor.finish().await
}

async fn a_long_chain_of_callers_is_cut_and_comes_in_pages(runtime: Runtime) -> anyhow::Result<()> {
    let (mut editor, thread) = at(runtime, "deep", "leaf").await?;
    // Before a client has requested the callers, it is only known that there are more.
    let page = json!({ "threadId": thread, "startFrame": 0, "levels": 1 });
    let first = editor.ok("stackTrace", page).await?;
    anyhow::ensure!(first["totalFrames"].as_u64() > Some(1), "{first}");
    assert_eq!(first["stackFrames"].as_array().map(Vec::len), Some(1));
    let all = frames(&mut editor, thread).await?;
    assert_eq!(all.iter().filter(|frame| name(frame) == "Program.Deep(int depth)").count(), 200);
    let last = all.last().context("no frames")?;
    assert_eq!((name(last), &last["presentationHint"]), ("[More Async Callers]", &json!("label")));
    let scopes = editor.ok("scopes", json!({ "frameId": last["id"] })).await?;
    assert_eq!(scopes["scopes"], json!([]));
    let mut paged = Vec::new();
    while paged.len() < all.len() {
        let page = json!({ "threadId": thread, "startFrame": paged.len(), "levels": 7 });
        let body = editor.ok("stackTrace", page).await?;
        let frames = body["stackFrames"].as_array().filter(|frames| !frames.is_empty()).context("no page")?;
        paged.extend(frames.iter().cloned());
    }
    assert_eq!(paged, all);
    let beyond = json!({ "threadId": thread, "startFrame": 5000, "levels": 7 });
    assert_eq!(editor.ok("stackTrace", beyond).await?["stackFrames"], json!([]));
    editor.finish().await
}

async fn transitions_between_frames_are_marked(runtime: Runtime) -> anyhow::Result<()> {
    let (mut editor, thread) = at(runtime, "invoked", "called").await?;
    let list = frames(&mut editor, thread).await?;
    let main = list.iter().position(|frame| name(frame).starts_with("Program.Main")).context("no Main")?;
    let between = list.get(1..main).context("no frames between")?;
    // .NET Core 3.1 and .NET 8 call by way of native code, later ones by a method they make at run time.
    let mark = match runtime {
        Runtime::Net31 => ("[Native to Managed Transition]", "label"),
        Runtime::Net8 => ("[Internal Call]", "label"),
        _ => ("[Lightweight Function]", "subtle"),
    };
    let marks: Vec<(&str, &str)> = between
        .iter()
        .filter(|frame| name(frame).starts_with('['))
        .map(|frame| (name(frame), frame["presentationHint"].as_str().unwrap_or_default()))
        .collect();
    anyhow::ensure!(marks.contains(&mark), "{marks:?}");
    editor.break_at("waits", &["static constructor"]).await?;
    editor.ok("continue", json!({ "threadId": thread })).await?;
    let (thread, _) = editor.stop().await?;
    let list = frames(&mut editor, thread).await?;
    let names: Vec<&str> = list.iter().take(3).map(name).collect();
    // .NET 10 has a managed method for what the others do in native code; it calls out and is called back.
    let between = match runtime {
        Runtime::Net10 => [
            "[Managed to Native Transition]",
            "System.Runtime.CompilerServices.InitHelpers.InitClassSlow(MethodTable* mt)",
        ],
        _ => ["[Internal Call]", "Program.Main(string[] args)"],
    };
    assert_eq!(names, ["Once.static Once()", between[0], between[1]]);
    // A mark is not a place to look for variables, nor to evaluate.
    assert_eq!(editor.ok("scopes", json!({ "frameId": list[1]["id"] })).await?["scopes"], json!([]));
    let arguments = json!({ "expression": "1", "frameId": list[1]["id"] });
    assert_eq!(editor.refused("evaluate", arguments).await?, "INVALID_PARAMETER");
    editor.finish().await
}

async fn frames_outside_user_code_are_subtle(runtime: Runtime) -> anyhow::Result<()> {
    let (mut editor, thread) = at(runtime, "value", "leaf").await?;
    let list = frames(&mut editor, thread).await?;
    let framework = list.iter().filter(|frame| name(frame).starts_with("System."));
    let (mut count, mut unreadable) = (0, 0);
    for frame in framework {
        // Values that optimized code no longer has hide nothing else.
        let known = json!({ "expression": "Program", "frameId": frame["id"] });
        assert_eq!(editor.ok("evaluate", known).await?["type"], "System.Type", "{frame}");
        let this = json!({ "expression": "this", "frameId": frame["id"] });
        unreadable += usize::from(!editor.ask("evaluate", this).await?.success);
        // Editors fold these.
        assert_eq!(frame["presentationHint"], "subtle");
        let source = json!({ "name": "System.Private.CoreLib.dll", "presentationHint": "deemphasize",
            "origin": "external code" });
        assert_eq!(frame["source"], source);
        count += 1;
    }
    anyhow::ensure!(count > 3 && unreadable > 0, "{list:?}");
    editor.finish().await?;
    // Hidden by an attribute: subtle where it calls, but a stop in it shows where it is.
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("jmc", &["plain"], json!({})).await?;
    let (thread, _) = editor.stop().await?;
    let list = frames(&mut editor, thread).await?;
    let hidden = list.get(1).context("no caller")?;
    assert_eq!(
        (name(hidden), &hidden["presentationHint"]),
        ("Program.Through(int number)", &json!("subtle"))
    );
    assert_eq!(hidden["source"]["presentationHint"], "deemphasize");
    assert_eq!(hidden["source"]["path"], fixture::source("jmc"));
    editor.finish().await
}

async fn a_stop_in_a_library_without_its_source_leads_to_the_users_code(
    runtime: Runtime,
) -> anyhow::Result<()> {
    for just_my_code in [true, false] {
        let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
        editor.ok("initialize", json!({ "clientID": "test" })).await?;
        let launch = json!({ "program": fixture::program("unsourced"), "justMyCode": just_my_code });
        let launch = editor.send("launch", launch).await?;
        editor.event("initialized").await?;
        editor.ok("setExceptionBreakpoints", json!({ "filters": ["unhandled"] })).await?;
        editor.ok("configurationDone", Value::Null).await?;
        anyhow::ensure!(editor.response(launch).await?.success);
        let (thread, top) = editor.stop().await?;
        // An editor requests only the top frame first; it shows a frame whose source is not `deemphasize`d.
        assert_eq!(top["source"]["path"], "/_/src/Library.cs");
        assert_eq!(top["line"], 154);
        assert_eq!(top["source"]["presentationHint"], "deemphasize");
        let list = frames(&mut editor, thread).await?;
        let is_gone_to = |frame: &&Value| frame["source"]["presentationHint"] != "deemphasize";
        let shown = list.iter().find(is_gone_to).context("no frame to go to")?;
        assert_eq!(shown["source"]["path"], fixture::source("unsourced"));
        assert_eq!(shown["line"], fixture::line("unsourced", "calls"));
        assert_eq!(shown["presentationHint"], Value::Null);
        editor.finish().await?;
    }
    Ok(())
}

async fn a_handler_and_its_method_are_one_frame(runtime: Runtime) -> anyhow::Result<()> {
    let (mut editor, thread) = at(runtime, "handled", "filter").await?;
    let markers = ["catch handler", "finally handler", "behind handlers"];
    editor.break_at("waits", &markers).await?;
    let mut stacks = Vec::new();
    for marker in [&["filter"], markers.as_slice()].concat() {
        if marker != "filter" {
            editor.ok("continue", json!({ "threadId": thread })).await?;
            let (_, frame) = editor.stop().await?;
            assert_eq!(frame["line"], fixture::line("waits", marker));
        }
        let list = frames(&mut editor, thread).await?;
        let own = list.iter().filter(|frame| frame["presentationHint"].is_null());
        stacks.push(own.map(|frame| name(frame).to_owned()).collect::<Vec<_>>());
        // Variables of the method, under a name that must be written with care.
        let handled = list.iter().find(|frame| name(frame).contains("Handled")).context("no frame")?;
        let scopes = editor.ok("scopes", json!({ "frameId": handled["id"] })).await?;
        let locals = json!({ "variablesReference": scopes["scopes"][0]["variablesReference"] });
        let rows = editor.ok("variables", locals).await?["variables"].clone();
        assert_eq!((&rows[0]["name"], &rows[0]["evaluateName"]), (&json!("class"), &json!("@class")));
        let arguments = json!({ "expression": rows[0]["evaluateName"], "frameId": handled["id"] });
        assert_eq!(editor.ok("evaluate", arguments).await?["result"], "5");
    }
    let (handled, main) = ("Program.Handled(int class)", "Program.Main(string[] args)");
    // While a filter selects the handler, the frames that have thrown still exist.
    assert_eq!(stacks[0], ["Program.Wanted(Exception error)", handled, "Program.Throw()", handled, main]);
    for stack in &stacks[1..] {
        assert_eq!(*stack, [handled, main], "{stacks:?}");
    }
    editor.finish().await
}
