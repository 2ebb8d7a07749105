//! Values of any size, read by a client that requests all of them: it gets a part, and the way to the rest;
//! the host stays small.

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::Runtime;
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    pages_far_into_a_collection_are_those_that_were_asked_for,
    long_texts_are_cut_and_their_length_is_given,
}

// It takes 12 s and is about the host's memory; the two above read the same values.
older_dotnet_tests! {
    huge_values_are_returned_in_parts_whatever_is_requested,
}

/// Maximum memory that the host may have used, KiB: its base use, and room for the answers.
const MAX_MEMORY: u64 = 512 * 1024;

async fn start_program(runtime: Runtime) -> anyhow::Result<(DapClient, i64, Value)> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("giants", &["here"], json!({ "expressionCompiler": "off" })).await?;
    let (thread, frame) = editor.stop().await?;
    Ok((editor, thread, frame["id"].clone()))
}

fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row[key].as_str().unwrap_or("-")
}

async fn rows(editor: &mut DapClient, arguments: Value) -> anyhow::Result<Vec<Value>> {
    let body = editor.ok("variables", arguments).await?;
    body["variables"].as_array().cloned().context("no variables")
}

/// The locals' rows by their names.
async fn locals(editor: &mut DapClient, frame: &Value) -> anyhow::Result<Vec<Value>> {
    let scopes = editor.ok("scopes", json!({ "frameId": frame })).await?;
    rows(editor, json!({ "variablesReference": scopes["scopes"][0]["variablesReference"] })).await
}

fn named<'a>(rows: &'a [Value], name: &str) -> anyhow::Result<&'a Value> {
    rows.iter().find(|row| row["name"] == name).with_context(|| format!("no `{name}` in {rows:?}"))
}

/// Peak memory of the host, KiB.
async fn used(editor: &mut DapClient) -> anyhow::Result<u64> {
    let pid = editor.event("process").await?["systemProcessId"].clone();
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let parent = stat.rsplit(')').next().and_then(|rest| rest.split_ascii_whitespace().nth(1));
    let status = std::fs::read_to_string(format!("/proc/{}/status", parent.context("no parent")?))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

async fn huge_values_are_returned_in_parts_whatever_is_requested(runtime: Runtime) -> anyhow::Result<()> {
    let (mut editor, thread, frame) = start_program(runtime).await?;
    let all = locals(&mut editor, &frame).await?;
    for (name, count) in [
        ("array", 100_000_000),
        ("cube", 20_000_000),
        ("list", 1_000_000),
        ("whole", 100_000),
        ("holes", 999_000),
        ("linked", 200_000),
        ("concurrent", 100_000),
        ("span", 99_999_995),
        ("texts", 2000),
    ] {
        let row = named(&all, name)?;
        assert_eq!(row["indexedVariables"], count, "{row}");
        // All of it is requested, and another request is sent before the answer.
        let arguments = json!({ "variablesReference": row["variablesReference"] });
        let everything = editor.send("variables", arguments).await?;
        editor.ok("threads", json!({})).await?;
        let given = editor.response(everything).await?.body["variables"].clone();
        let given = given.as_array().context("no rows")?;
        assert!(given.len() <= 1002, "{name}: {} rows", given.len());
        // A row contains the rest.
        let more =
            given.iter().find(|row| text(row, "name").ends_with("…]")).context("no row for the rest")?;
        let first = text(more, "name").replace('…', "");
        let next = json!({ "variablesReference": more["variablesReference"], "count": 2 });
        let next = rows(&mut editor, next).await?;
        if !matches!(name, "holes" | "whole" | "concurrent" | "cube") {
            assert_eq!((text(&next[0], "name"), next.len()), (first.as_str(), 2), "{name}: {next:?}");
        }
        let arguments =
            json!({ "variablesReference": row["variablesReference"], "start": 0, "count": 2_000_000_000 });
        let given = rows(&mut editor, arguments).await?;
        assert!(given.len() <= 10_002, "{name}: {} rows", given.len());
    }
    let endless = named(&all, "endless")?["variablesReference"].clone();
    let inside = rows(&mut editor, json!({ "variablesReference": endless })).await?;
    let results = named(&inside, "Results View")?["variablesReference"].clone();
    let results = rows(&mut editor, json!({ "variablesReference": results })).await?;
    assert!(
        results.len() <= 1001 && text(results.last().context("none")?, "name") == "…",
        "{}",
        results.len()
    );
    let stack = json!({ "threadId": thread, "startFrame": 0, "levels": i64::MAX });
    editor.ok("stackTrace", stack).await?;
    let used = used(&mut editor).await?;
    assert!(used < MAX_MEMORY, "{used} KiB");
    editor.finish().await
}

async fn pages_far_into_a_collection_are_those_that_were_asked_for(runtime: Runtime) -> anyhow::Result<()> {
    let (mut editor, _, frame) = start_program(runtime).await?;
    let all = locals(&mut editor, &frame).await?;
    for (name, start, first, value) in [
        ("array", 99_999_998, "[99999998]", "0"),
        ("cube", 19_999_998, "[999, 999, 18]", "0"),
        ("list", 999_998, "[999998]", "999998"),
        ("whole", 99_998, "[99998]", "\"v99998\""),
        ("holes", 998_998, "[999998]", "1999996"),
        // The keys that are multiples of ten were removed: a thousand of them up to here.
        ("holes", 8999, "[9999]", "19998"),
        ("holes", 0, "[1]", "2"),
        ("linked", 199_998, "[199998]", "199998"),
        ("linked", 0, "[0]", "0"),
        ("span", 99_999_993, "[99999993]", "0"),
    ] {
        let reference = named(&all, name)?["variablesReference"].clone();
        let arguments =
            json!({ "variablesReference": reference, "filter": "indexed", "start": start, "count": 2 });
        let page = rows(&mut editor, arguments).await?;
        assert_eq!(page.len(), 2, "{name}: {page:?}");
        assert_eq!((text(&page[0], "name"), text(&page[0], "value")), (first, value), "{name} from {start}");
        let way = json!({ "expression": page[1]["evaluateName"], "frameId": frame });
        if name != "linked" && name != "span" {
            assert_eq!(editor.ok("evaluate", way).await?["result"], page[1]["value"], "{name}: {}", page[1]);
        }
    }
    let reference = named(&all, "concurrent")?["variablesReference"].clone();
    let mut found = std::collections::HashSet::new();
    for start in [0, 33_333, 66_666, 99_900] {
        let arguments =
            json!({ "variablesReference": reference, "filter": "indexed", "start": start, "count": 100 });
        found.extend(rows(&mut editor, arguments).await?.iter().map(|row| text(row, "value").to_owned()));
    }
    assert_eq!(found.len(), 400, "{found:?}");
    editor.finish().await
}

async fn long_texts_are_cut_and_their_length_is_given(runtime: Runtime) -> anyhow::Result<()> {
    let (mut editor, _, frame) = start_program(runtime).await?;
    let all = locals(&mut editor, &frame).await?;
    for name in ["text", "boxedText"] {
        let row = named(&all, name)?;
        assert!(text(row, "value").ends_with("g\" … (100000003 characters)"), "{name}");
        assert_eq!(
            (row["value"].as_str().map(|text| text.chars().count() < 4200), &row["type"]),
            (Some(true), &json!("string"))
        );
    }
    assert!(
        text(named(&all, "builder")?, "value").starts_with("\"01234567890"),
        "{:?}",
        named(&all, "builder")
    );
    assert!(text(named(&all, "builder")?, "value").ends_with(" … (3000000 characters)"));
    assert_eq!(text(named(&all, "shortBuilder")?, "value"), "\"short\"");
    assert!(text(named(&all, "exception")?, "value").len() < 5000);
    let evaluate = |expression: &str, context: &str| {
        json!({ "expression": expression, "frameId": frame,
        "context": context })
    };
    for (expression, result) in [
        ("text.Length", "100000003"),
        ("text[100000002]", "100 'd'"),
        ("text.EndsWith(\"end\")", "true"),
        ("text == (string)boxedText", "true"),
        ("text.Substring(99999998)", "\"ggend\""),
        ("texts[3] + \"!\" == texts[3]", "false"),
        ("texts[3].Length", "20000"),
        ("boxedText is string", "true"),
    ] {
        assert_eq!(
            editor.ok("evaluate", evaluate(expression, "repl")).await?["result"],
            result,
            "{expression}"
        );
    }
    // A string that is too long for an evaluation is an error, and is not cut.
    assert_eq!(editor.refused("evaluate", evaluate("text + \"!\"", "repl")).await?, "EVALUATION_FAILED");
    let copied = editor.ok("evaluate", evaluate("text", "clipboard")).await?;
    let copied = text(&copied, "result");
    assert!(copied.len() > 1 << 20 && copied.ends_with("(100000003 characters)"), "{}", copied.len());
    let copied = editor.ok("evaluate", evaluate("texts[0]", "clipboard")).await?;
    assert_eq!(text(&copied, "result"), format!("\"{}\"", "a".repeat(20_000)));
    let used = used(&mut editor).await?;
    assert!(used < MAX_MEMORY, "{used} KiB");
    editor.finish().await
}
