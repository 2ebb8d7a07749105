//! Variables in scope at a location: those in state machines and closures, constants, and those of code
//! made at run time.

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::Runtime;
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    variables_are_seen_where_they_are_in_scope,
    closures_around_a_lambda_are_seen_from_inside_it,
    a_variable_hides_a_captured_one_of_the_same_name,
    local_constants_are_seen_and_used,
    code_made_at_run_time_is_named_and_its_objects_are_seen,
}

net8_tests! {
    variables_are_seen_where_they_are_in_scope,
    closures_around_a_lambda_are_seen_from_inside_it,
}

/// Names and values of a frame's rows, without groups.
async fn rows(editor: &mut DapClient, frame: &Value) -> anyhow::Result<Vec<String>> {
    let scopes = editor.ok("scopes", json!({ "frameId": frame })).await?;
    let Some(reference) = scopes["scopes"][0]["variablesReference"].as_i64() else { return Ok(Vec::new()) };
    let body = editor.ok("variables", json!({ "variablesReference": reference })).await?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let rows = body["variables"].as_array().context("no variables")?.iter();
    let rows = rows.map(|row| (text(&row["name"]), text(&row["value"])));
    Ok(rows
        .filter(|(name, _)| !["Static members", "Type variables"].contains(&name.as_str()))
        .map(|(name, value)| format!("{name} = {value}"))
        .collect())
}

/// Runs `scopes` from marker to marker; returns the rows at each.
async fn collect_scopes(runtime: Runtime, markers: &[&str]) -> anyhow::Result<Vec<Vec<String>>> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let mut seen = Vec::new();
    for (position, marker) in markers.iter().enumerate() {
        let thread = match position {
            0 => {
                editor.launch("scopes", &[marker], json!({})).await?;
                None
            }
            _ => editor.break_at("scopes", &[marker]).await.map(Some)?,
        };
        if thread.is_some() {
            editor.ok("continue", json!({ "threadId": 0 })).await?;
        }
        let (_, frame) = editor.stop().await?;
        assert_eq!(frame["line"], tandem_harness::fixture::line("scopes", marker));
        seen.push(rows(&mut editor, &frame["id"]).await?);
    }
    editor.finish().await?;
    Ok(seen)
}

async fn variables_are_seen_where_they_are_in_scope(runtime: Runtime) -> anyhow::Result<()> {
    let markers = ["first loop", "second loop", "caught", "behind", "captured", "item", "word", "finally"];
    let seen = collect_scopes(runtime, &markers).await?;
    let this = "this = {Machine<string>}";
    let expected: [&[&str]; 8] = [
        &[this, "value = \"v\"", "count = 3", "sum = 3", "i = 0"],
        // The other `i`.
        &[this, "value = \"v\"", "count = 3", "sum = 4", "i = 7", "inner = \"i7\""],
        &[
            this,
            "value = \"v\"",
            "count = 3",
            "sum = 6",
            "problem = {System.InvalidOperationException: expected}",
        ],
        &[this, "value = \"v\"", "count = 3", "sum = 14"],
        // Captured by a lambda: in a closure that the state machine keeps.
        &[this, "start = 4", "sum = {System.Func<int>: Machine<T>.Captures.<lambda>()}", "kept = 5"],
        &[this, "count = 1", "sum = 0", "i = 0"],
        &[this, "count = 1", "sum = 0", "word = \"a\""],
        // A separate method, without information about its scopes.
        &[this, "count = 1", "sum = 0", "i = 1", "word = null"],
    ];
    for ((marker, seen), expected) in markers.iter().zip(&seen).zip(expected) {
        assert_eq!(seen, expected, "{marker}");
    }
    Ok(())
}

async fn closures_around_a_lambda_are_seen_from_inside_it(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("scopes", &["outer", "inner", "innermost"], json!({})).await?;
    let (_, frame) = editor.stop().await?;
    let outer = rows(&mut editor, &frame["id"]).await?;
    assert_eq!(
        outer,
        ["list = Count = 1", "i = 0", "mine = 0", "j = 0", "deep = 5"],
        "where they are declared"
    );
    editor.break_at("scopes", &["inner", "innermost"]).await?;
    editor.ok("continue", json!({ "threadId": 0 })).await?;
    let (_, frame) = editor.stop().await?;
    let inner = rows(&mut editor, &frame["id"]).await?;
    assert_eq!(
        inner,
        [
            "deep = 5",
            "mine = 0",
            "i = 2",
            "own = 5",
            "nest = {System.Func<int, int>: Program.Nested.<lambda>(int more)}"
        ]
    );
    editor.ok("continue", json!({ "threadId": 0 })).await?;
    let (_, frame) = editor.stop().await?;
    let innermost = rows(&mut editor, &frame["id"]).await?;
    assert_eq!(innermost, ["own = 5", "deep = 5", "mine = 0", "i = 2", "more = 1"]);
    for (expression, result) in
        [("more + own + deep + mine + i", "13"), ("mine = 100", "100"), ("mine + i", "102")]
    {
        let arguments = json!({ "expression": expression, "frameId": frame["id"], "context": "repl" });
        assert_eq!(editor.ok("evaluate", arguments).await?["result"], result, "{expression}");
    }
    editor.finish().await
}

async fn a_variable_hides_a_captured_one_of_the_same_name(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("scopes", &["hiding", "copied"], json!({})).await?;
    let (_, frame) = editor.stop().await?;
    let seen = rows(&mut editor, &frame["id"]).await?;
    let both = "both = {System.Func<int>: Program.Hidden.<lambda>()}";
    // The lambda increments the variable in the closure, not the parameter that was copied to it.
    assert_eq!(seen, ["x = 11", "z = \"inner\"", "given = 4", both]);
    for (expression, result) in [("x + 1", "12"), ("z.Length", "5"), ("x = 20", "20"), ("both()", "21")] {
        let arguments = json!({ "expression": expression, "frameId": frame["id"], "context": "repl" });
        assert_eq!(editor.ok("evaluate", arguments).await?["result"], result, "{expression}");
    }
    editor.ok("continue", json!({ "threadId": 0 })).await?;
    let (_, frame) = editor.stop().await?;
    let more = "more = {System.Action: Program.Copied.<lambda>()}";
    assert_eq!(rows(&mut editor, &frame["id"]).await?, ["given = 5", more]);
    editor.finish().await
}

async fn local_constants_are_seen_and_used(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("scopes", &["constants", "behind the block"], json!({})).await?;
    let (thread, frame) = editor.stop().await?;
    let seen = rows(&mut editor, &frame["id"]).await?;
    let whole = [
        "limit = 99",
        "text = \"constant ä\"",
        "nothing = null",
        "size = Large",
        "price = -12.50",
        "real = 2.5",
        "yes = true",
        "letter = 120 'x'",
    ];
    assert_eq!(seen, [&["variable = 99"], whole.as_slice(), &["wide = 1099511627776"]].concat());
    for (expression, result, kind) in [
        ("limit + variable", "198", "int"),
        ("text.Length", "10", "int"),
        ("size", "Large", "Size"),
        ("size == Size.Large", "true", "bool"),
        ("price * 2", "-25.00", "decimal"),
        ("wide >> 38", "4", "long"),
        ("nothing ?? \"none\"", "\"none\"", "string"),
    ] {
        let arguments = json!({ "expression": expression, "frameId": frame["id"] });
        let body = editor.ok("evaluate", arguments).await?;
        assert_eq!((&body["result"], &body["type"]), (&json!(result), &json!(kind)), "{expression}");
    }
    let arguments = json!({ "expression": "limit = 5", "frameId": frame["id"], "context": "repl" });
    assert_eq!(editor.refused("evaluate", arguments).await?, "EVALUATION_FAILED");
    editor.ok("continue", json!({ "threadId": thread })).await?;
    let (_, frame) = editor.stop().await?;
    assert_eq!(rows(&mut editor, &frame["id"]).await?, [&["variable = 100"], whole.as_slice()].concat());
    editor.finish().await
}

async fn code_made_at_run_time_is_named_and_its_objects_are_seen(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("made", &["called", "end"], json!({})).await?;
    let mut callers = Vec::new();
    for _ in 0..4 {
        let (thread, frame) = editor.stop().await?;
        let stack = editor.ok("stackTrace", json!({ "threadId": thread })).await?;
        let caller = stack["stackFrames"][1].clone();
        callers.push(caller["name"].as_str().unwrap_or_default().to_owned());
        assert_eq!(caller["presentationHint"], "subtle", "{caller}");
        if callers.len() > 2 {
            assert_eq!(rows(&mut editor, &caller["id"]).await?[1], format!("number = {}", callers.len()));
        }
        for (expression, result) in
            [("given.kept", "77"), ("given.list[1]", "2"), ("given.Inherited", "5"), ("given.Twice(4)", "8")]
        {
            let arguments = json!({ "expression": expression, "frameId": frame["id"] });
            let response = editor.ask("evaluate", arguments).await?;
            assert_eq!(
                response.body["result"] == result,
                callers.len() > 2,
                "{expression}: {}",
                response.body
            );
        }
        editor.ok("continue", json!({ "threadId": thread })).await?;
    }
    assert_eq!(
        callers,
        [
            "[Lightweight Function]",
            "[Lightweight Function]",
            "Made.SecondA.Run3(int number)",
            "Made.SecondB.Run11(int number)"
        ]
    );
    let (_, frame) = editor.stop().await?;
    let seen = rows(&mut editor, &frame["id"]).await?;
    for row in [
        "one = {Made.SecondA}",
        "two = {Made.SecondB}",
        "run = {System.Func<object, int, int>: Light(object, int)}",
    ] {
        anyhow::ensure!(seen.iter().any(|seen| seen == row), "{row}: {seen:?}");
    }
    let arguments = json!({ "expression": "two", "frameId": frame["id"] });
    let body = editor.ok("evaluate", arguments).await?;
    let inside = editor.ok("variables", json!({ "variablesReference": body["variablesReference"] })).await?;
    let names: Vec<&str> =
        inside["variables"].as_array().into_iter().flatten().filter_map(|row| row["name"].as_str()).collect();
    assert_eq!(names, ["kept", "list", "Inherited", "Name"]);
    let modules = editor.ok("modules", json!({})).await?;
    let made =
        modules["modules"].as_array().into_iter().flatten().find(|module| module["name"] == "MadeAssembly");
    let status = &made.context("no module")?["symbolStatus"];
    assert_eq!(status, "Made at run time, without symbols; loaded from memory");
    editor.finish().await
}
