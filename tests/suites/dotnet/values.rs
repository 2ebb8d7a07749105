//! Every kind of value in the variables view, and the operations on its rows.
//!
//! Not here: summaries in collapsed rows ([`super::value_summaries`]), and groups of members
//! ([`super::member_groups`]).

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::Runtime;
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    every_kind_of_value_is_shown,
    expressions_of_rows_evaluate_to_their_values,
    variables_of_every_kind_are_set,
    items_of_collections_are_set_in_place,
    a_page_of_a_million_items_is_a_page,
    completions_offer_what_may_follow,
    members_are_offered_behind_members_and_indexers,
    types_and_extension_methods_of_the_users_are_offered,
    privates_of_the_framework_are_not_offered,
    memory_is_read_where_values_are,
    a_display_names_rows_and_types,
}

net8_tests! {
    every_kind_of_value_is_shown,
    variables_of_every_kind_are_set,
    completions_offer_what_may_follow,
    a_display_names_rows_and_types,
    memory_is_read_where_values_are,
}

const MARKERS: [&str; 8] =
    ["simple", "objects", "collections", "closure", "local function", "iterator", "async", "generic"];

async fn rows(editor: &mut DapClient, reference: &Value) -> anyhow::Result<Vec<Value>> {
    let body = editor.ok("variables", json!({ "variablesReference": reference })).await?;
    body["variables"].as_array().cloned().context("no variables")
}

async fn locals(editor: &mut DapClient, frame: &Value) -> anyhow::Result<(Value, Vec<Value>)> {
    let scopes = editor.ok("scopes", json!({ "frameId": frame })).await?;
    let reference = scopes["scopes"][0]["variablesReference"].clone();
    let rows = rows(editor, &reference).await?;
    Ok((reference, rows))
}

/// Stops at a marker; returns the top frame's id.
async fn launch_to_marker(editor: &mut DapClient, marker: &str) -> anyhow::Result<Value> {
    // Errors have the debugger's own messages.
    editor.launch("values", &[marker], json!({ "expressionCompiler": "off" })).await?;
    let (_, frame) = editor.stop().await?;
    Ok(frame["id"].clone())
}

fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row[key].as_str().unwrap_or("-")
}

/// Rows as text, one level deeper for those that open; addresses and hash codes differ from run to run.
async fn listed(editor: &mut DapClient, rows_: &[Value], indent: usize) -> anyhow::Result<Vec<String>> {
    let mut lines = Vec::new();
    for row in rows_ {
        let lazy = row["presentationHint"]["lazy"] == true;
        let is_address = text(row, "value").starts_with("0x") || text(row, "name").starts_with("_methodPtr");
        let value = if is_address { "[ADDRESS]" } else { text(row, "value") };
        let value: String = value.chars().take(90).collect();
        let mark = if lazy { " (lazy)" } else { "" };
        lines.push(format!("{:indent$}{}: {value} [{}]{mark}", "", text(row, "name"), text(row, "type")));
        if row["variablesReference"] != 0 && indent < 4 && !lazy {
            let page = json!({ "variablesReference": row["variablesReference"], "count": 6 });
            let inside = editor.ok("variables", page).await?["variables"].clone();
            let inside = inside.as_array().cloned().context("no variables")?;
            let some = inside.get(..inside.len().min(12)).unwrap_or_default();
            let mut deeper = Box::pin(listed(editor, some, indent + 4)).await?;
            // Hashes of strings differ in each run, and so does the position of this one.
            if text(row, "type").contains("ConcurrentDictionary") {
                deeper.sort();
            }
            lines.extend(deeper);
        }
    }
    Ok(lines)
}

async fn every_kind_of_value_is_shown(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("values", &MARKERS, json!({})).await?;
    let mut lines = Vec::new();
    // The iterator is hit twice.
    for _ in 0..=MARKERS.len() {
        let (thread, frame) = editor.stop().await?;
        lines.push(format!("{}:", text(&frame, "name")));
        let rows = locals(&mut editor, &frame["id"]).await?.1;
        lines.extend(listed(&mut editor, &rows, 2).await?);
        editor.ok("continue", json!({ "threadId": thread })).await?;
    }
    assert_eq!(editor.event("exited").await?["exitCode"], 0);
    editor.finish().await?;
    insta::assert_snapshot!(format!("every_kind_of_value_is_shown_{}", runtime.name()), lines.join("\n"));
    Ok(())
}

async fn expressions_of_rows_evaluate_to_their_values(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let markers = [&MARKERS[..], &["keys"]].concat();
    editor.launch("values", &markers, json!({})).await?;
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for marker in markers {
        let (thread, frame) = editor.stop().await?;
        let frame = frame["id"].clone();
        let mut all = Vec::new();
        for row in locals(&mut editor, &frame).await?.1 {
            if row["variablesReference"] != 0 && !matches!(text(&row, "name"), "million" | "big") {
                all.extend(rows(&mut editor, &row["variablesReference"]).await?);
            }
            all.push(row);
        }
        for row in all {
            // Lazy rows run when they are expanded; groups have no value.
            let Some(way) = row["evaluateName"].as_str() else { continue };
            let hint = &row["presentationHint"];
            if hint["lazy"] == true || hint["kind"] == "virtual" {
                continue;
            }
            checked += 1;
            let arguments = json!({ "expression": way, "frameId": frame, "context": "watch" });
            let response = editor.ask("evaluate", arguments).await?;
            let got = response.body["result"].as_str().unwrap_or("refused");
            if !response.success || got != text(&row, "value") {
                let error = &response.body["error"]["variables"]["message"];
                wrong.push(format!("{marker}: {way}: row {}, evaluated {got} {error}", text(&row, "value")));
            }
        }
        editor.ok("continue", json!({ "threadId": thread })).await?;
    }
    editor.finish().await?;
    anyhow::ensure!(checked > 150, "only {checked} rows were checked");
    anyhow::ensure!(wrong.is_empty(), "{} of {checked} differ:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

async fn variables_of_every_kind_are_set(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let frame = launch_to_marker(&mut editor, "simple").await?;
    let (reference, all) = locals(&mut editor, &frame).await?;
    let mut lines = Vec::new();
    for (name, value) in [
        ("small", "7"),
        ("small", "256"),
        ("wide", "1"),
        ("real", "3"),
        ("money", "1.25m"),
        ("money", "-0.5"),
        ("access", "Read | Execute"),
        ("color", "Blue | Red"),
        ("letter", "'z'"),
        ("yes", "!yes"),
        ("text", "\"new \" + letter"),
        ("text", "null"),
        ("color", "Color.Red"),
        ("access", "Access.Write | Access.Read"),
        ("some", "null"),
        ("none", "5"),
        ("maybeDate", "null"),
        ("date", "new(2021, 3, 4)"),
        ("date", "default"),
        ("date", "new DateTime(2020, 2, 29).AddDays(1)"),
        ("point", "new Point { X = 8 }"),
        ("boxed", "\"anything\""),
        ("boxed", "5"),
        ("numbers", "new[] { 9 }"),
        ("tuple", "default"),
        ("tuple", "(\"ann\", 6)"),
        ("small", "\"text\""),
        ("nowhere", "1"),
    ] {
        let arguments = json!({ "variablesReference": reference, "name": name, "value": value });
        let response = editor.ask("setVariable", arguments).await?;
        let now = editor.ask("evaluate", json!({ "expression": name, "frameId": frame })).await?;
        lines.push(match response.success {
            true => {
                assert_eq!(response.body["value"], now.body["result"], "{name} := {value}");
                format!(
                    "{name} := {value} -> {}: {}",
                    text(&response.body, "value"),
                    text(&response.body, "type")
                )
            }
            false => format!("{name} := {value} ! {}", response.body["error"]["variables"]["message"]),
        });
    }
    let opened =
        |name: &str| all.iter().find(|row| row["name"] == name).map(|row| row["variablesReference"].clone());
    for (of, name, value) in [("grid", "[1, 2]", "60"), ("point", "Y", "44"), ("jagged", "[0]", "null")] {
        let reference = opened(of).context("no such row")?;
        let arguments = json!({ "variablesReference": reference, "name": name, "value": value });
        let body = editor.ok("setVariable", arguments).await?;
        lines.push(format!("{of}{name} := {value} -> {}", text(&body, "value")));
    }
    for (expression, value) in [
        ("grid[0, 0]", "grid[1, 2] + 1"),
        ("point.X", "-1"),
        ("numbers[0]", "numbers[0] * 2"),
        ("*pointer", "78"),
        ("1 + 1", "3"),
    ] {
        let arguments = json!({ "expression": expression, "value": value, "frameId": frame });
        let response = editor.ask("setExpression", arguments).await?;
        lines.push(match response.success {
            true => format!("{expression} := {value} -> {}", text(&response.body, "value")),
            false => format!("{expression} := {value} ! {}", response.body["error"]["variables"]["message"]),
        });
    }
    for expression in [
        "small += 1",
        "small++",
        "++small",
        "small",
        "text ??= \"was null\"",
        "numbers[0] <<= 2",
        "tuple.age -= 1",
    ] {
        let body = editor.ok("evaluate", json!({ "expression": expression, "frameId": frame })).await?;
        lines.push(format!("{expression} = {}", text(&body, "result")));
    }
    editor.finish().await?;
    insta::assert_snapshot!("variables_of_every_kind_are_set", lines.join("\n"));
    Ok(())
}

/// Collections at the marker `keys`, with the first item of each: its row, a new value for it, and an
/// expression for its value. `None` if it cannot be set.
const ITEMS: [(&str, &str, &str, Option<&str>); 22] = [
    ("queue", "[0]", "10", Some("queue.Peek()")),
    ("stack", "[0]", "10", Some("stack.Peek()")),
    ("linked", "[0]", "10", Some("linked.First.Value")),
    ("readOnly", "[0]", "10", Some("readOnly[0]")),
    ("map", "[\"k\"]", "10", Some("map[\"k\"]")),
    ("shared", "[\"k\"]", "10", Some("shared[\"k\"]")),
    ("byDate", "[0001-01-01 00:00:00]", "\"new\"", Some("byDate[DateTime.MinValue]")),
    ("keyed", "[1]", "\"new\"", Some("keyed[1]")),
    ("keyed", "[1L]", "\"newer\"", Some("keyed[1L]")),
    ("keyed", "[(byte)1]", "\"newest\"", Some("keyed[(byte)1]")),
    ("set", "[0]", "10", None),
    ("waiting", "[0]", "10", None),
    ("waitingStack", "[0]", "10", None),
    ("items", "[0]", "10", None),
    ("fixedList", "[0]", "10", None),
    ("fixedSet", "[0]", "10", None),
    ("ordered", "[0]", "10", None),
    ("fixedMap", "[\"k\"]", "10", None),
    ("sorted", "[\"k\"]", "10", None),
    ("sortedList", "[\"k\"]", "10", None),
    ("waiting,results", "[0]", "10", None),
    ("lazy,results", "[0]", "10", None),
];

async fn items_of_collections_are_set_in_place(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let frame = launch_to_marker(&mut editor, "keys").await?;
    let mut wrong = Vec::new();
    for (collection, name, value, expected) in ITEMS {
        let arguments = json!({ "expression": collection, "frameId": frame, "context": "watch" });
        let opened = editor.ok("evaluate", arguments).await?["variablesReference"].clone();
        let inside = rows(&mut editor, &opened).await?;
        // Older runtimes show pairs without their keys.
        let names = [name, if expected.is_none() { "[0]" } else { name }];
        let Some(before) = inside.iter().find(|row| names.contains(&text(row, "name"))).cloned() else {
            let names: Vec<&str> = inside.iter().map(|row| text(row, "name")).collect();
            wrong.push(format!("{collection}{name}: rows are {names:?}"));
            continue;
        };
        let name = text(&before, "name");
        let set = json!({ "variablesReference": opened, "name": name, "value": value });
        let response = editor.ask("setVariable", set).await?;
        let error = &response.body["error"]["variables"];
        let Some(expression) = expected else {
            let inside = rows(&mut editor, &opened).await?;
            let is_same = inside.iter().any(|row| row["name"] == name && row["value"] == before["value"]);
            if response.success || text(error, "code") != "INVALID_PARAMETER" || !is_same {
                wrong.push(format!("{collection}{name} was set: {}", response.body));
            }
            continue;
        };
        let arguments = json!({ "expression": expression, "frameId": frame });
        let now = editor.ok("evaluate", arguments).await?;
        if !response.success || text(&now, "result") != value {
            wrong.push(format!("{collection}{name} is {}: {}", now["result"], response.body));
        }
    }
    // Sorted collections have pages, although their items must run.
    let arguments = json!({ "expression": "ordered", "frameId": frame });
    let body = editor.ok("evaluate", arguments).await?;
    assert_eq!(body["indexedVariables"], 3);
    for (page, expected) in [
        (json!({ "filter": "indexed", "start": 1, "count": 5 }), &["[1]", "[2]"][..]),
        (json!({ "filter": "indexed", "start": 0, "count": 1 }), &["[0]"]),
        (json!({ "filter": "named" }), &["Raw View"]),
    ] {
        let mut page = page;
        page["variablesReference"] = body["variablesReference"].clone();
        let page = editor.ok("variables", page).await?["variables"].clone();
        let names: Vec<&str> = page.as_array().into_iter().flatten().map(|row| text(row, "name")).collect();
        assert_eq!(names, expected);
    }
    // A member of an item is not a copy.
    let arguments = json!({ "expression": "shelves", "frameId": frame });
    let opened = editor.ok("evaluate", arguments).await?["variablesReference"].clone();
    let shelf = rows(&mut editor, &opened).await?[0]["variablesReference"].clone();
    let set = json!({ "variablesReference": shelf, "name": "First", "value": "null" });
    editor.ok("setVariable", set).await?;
    let arguments = json!({ "expression": "shelves.First().First == null", "frameId": frame });
    assert_eq!(editor.ok("evaluate", arguments).await?["result"], "true");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    editor.finish().await
}

async fn a_page_of_a_million_items_is_a_page(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let frame = launch_to_marker(&mut editor, "collections").await?;
    let (_, all) = locals(&mut editor, &frame).await?;
    let million = all.iter().find(|row| row["name"] == "million").context("no list")?;
    assert_eq!(
        (text(million, "value"), &million["indexedVariables"]),
        ("Count = 1000000", &json!(1_000_000))
    );
    let arguments = json!({ "variablesReference": million["variablesReference"], "filter": "indexed",
        "start": 999_990, "count": 20 });
    let page = editor.ok("variables", arguments).await?;
    let page = page["variables"].as_array().context("no page")?;
    let shown: Vec<&str> = page.iter().map(|row| text(row, "value")).collect();
    assert_eq!(shown, (999_990..1_000_000).map(|at| at.to_string()).collect::<Vec<_>>());
    assert_eq!(page[0]["evaluateName"], "million[999990]");
    editor.finish().await
}

async fn completions_offer_what_may_follow(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let frame = launch_to_marker(&mut editor, "objects").await?;
    for (typed, expected, not) in [
        ("der", "derived", "bag"),
        ("derived.Au", "Auto", "Fixed"),
        ("derived.Pair.", "x", "Auto"),
        ("1 + derived.Pair.y.Sub", "Substring", "Length"),
        ("Derived.", "Made", "Auto"),
        ("System.Text.StringB", "StringBuilder", "Encoding"),
        ("derived.Parts.Wh", "Where", "Length"),
        ("Dictio", "Dictionary", "List"),
    ] {
        let arguments = json!({ "frameId": frame, "text": typed, "column": typed.len() + 1 });
        let body = editor.ok("completions", arguments).await?;
        let labels: Vec<&str> =
            body["targets"].as_array().into_iter().flatten().map(|target| text(target, "label")).collect();
        assert!(labels.contains(&expected) && !labels.contains(&not), "{typed}: {labels:?}");
    }
    editor.finish().await
}

/// Expressions on pointers with their values, in order.
const POINTERS: [(&str, &str); 53] = [
    ("*(byte*)pointer", "4"),
    ("((byte*)pointer)[1]", "3"),
    ("*(int*)untyped", "16909060"),
    ("*(byte*)(nint)pointer", "4"),
    ("*(short*)((ulong)pointer + 2)", "258"),
    ("*(int*)number", "16909060"),
    ("**twice", "16909060"),
    ("*(byte*)*twice", "4"),
    ("*twice[0]", "16909060"),
    ("((Pixel*)anyPixels)->Green", "2"),
    ("((Pixel*)anyPixels)->Weight", "1.5"),
    ("((Pixel*)anyPixels)->Next->Green", "-5"),
    ("((Pixel*)anyPixels)[1].Blue", "6"),
    ("((Pixel*)anyPixels)[1]", "{Pixel}"),
    ("((Pixel*)anyPixels)->Depth", "9"),
    ("((Pixel*)anyPixels)->Depth + 1", "10"),
    ("((Pixel*)anyPixels)[1].Depth == null", "true"),
    ("pixels[1].Blue", "6"),
    ("(pixels + 1)->Blue", "6"),
    ("&pixels[1] == pixels->Next", "true"),
    ("pixels->Next - pixels", "1"),
    ("(byte*)(pixels + 1) - (byte*)pixels == sizeof(Pixel)", "true"),
    ("*(pointer + 0)", "16909060"),
    ("*(range + 2)", "20"),
    ("(range + 3) - range", "3"),
    ("range < range + 1", "true"),
    ("Target(range + 1)", "10"),
    ("*Same(pointer)", "16909060"),
    ("Same(null) == null", "true"),
    ("*range++", "0"),
    ("*range", "10"),
    ("*(++range)", "20"),
    ("*--range", "10"),
    ("*(range -= 1)", "0"),
    ("(range += 3)[0]", "30"),
    ("*range += 5", "35"),
    ("*(range++) -= 5", "30"),
    ("range[-1]", "30"),
    ("*(byte*)pointer = 9", "9"),
    ("first", "16909065"),
    ("((Pixel*)anyPixels)->Green = 12", "12"),
    ("pixels->Green", "12"),
    ("((Pixel*)anyPixels)->Green += 1", "13"),
    ("((Pixel*)anyPixels)->Next = null", "null"),
    ("pixels->Next == null", "true"),
    ("*(pointer = &second)", "7"),
    ("(pointer = null) == null", "true"),
    ("pointer == null", "true"),
    ("*(pointer = other)", "7"),
    ("*(twice[0] = &first)", "16909065"),
    ("*pointer", "16909065"),
    ("(ulong)(int*)null", "0"),
    ("untyped == (byte*)pointer", "true"),
];

async fn memory_is_read_where_values_are(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let off = json!({ "expressionCompiler": "off" });
    editor.launch("values", &["simple", "pointers"], off).await?;
    let (thread, frame) = editor.stop().await?;
    let frame = frame["id"].clone();
    let body = editor.ok("evaluate", json!({ "expression": "&pointer[0]", "frameId": frame })).await;
    let address = match body {
        Ok(evaluated) => text(&evaluated, "result").to_owned(),
        Err(_) => {
            let body = editor.ok("evaluate", json!({ "expression": "pointer", "frameId": frame })).await?;
            text(&body, "result").to_owned()
        }
    };
    let read = editor.ok("readMemory", json!({ "memoryReference": address, "count": 4 })).await?;
    // 77, four bytes, little end first.
    assert_eq!(read["data"], "TQAAAA==");
    for (expression, expected) in [
        ("blank == null", "true"),
        ("blank != null", "false"),
        ("blank == (void*)null", "true"),
        ("pointer == null", "false"),
        ("pointer != null", "true"),
    ] {
        let body = editor.ok("evaluate", json!({ "expression": expression, "frameId": frame })).await?;
        assert_eq!(text(&body, "result"), expected, "{expression}");
    }
    let bad = json!({ "memoryReference": "here", "count": 4 });
    assert_eq!(editor.refused("readMemory", bad).await?, "INVALID_PARAMETER");
    let nothing = editor.ok("readMemory", json!({ "memoryReference": "0x10", "count": 4 })).await?;
    assert_eq!((&nothing["data"], &nothing["unreadableBytes"]), (&json!(""), &json!(4)));
    for count in [-1, 1 << 30] {
        let wrong = json!({ "memoryReference": address, "count": count });
        assert_eq!(editor.refused("readMemory", wrong).await?, "INVALID_PARAMETER", "{count}");
    }
    editor.ok("continue", json!({ "threadId": thread })).await?;
    let (_, frame) = editor.stop().await?;
    let mut wrong = Vec::new();
    for (expression, expected) in POINTERS {
        let arguments = json!({ "expression": expression, "frameId": frame["id"] });
        let response = editor.ask("evaluate", arguments).await?;
        let error = text(&response.body["error"]["variables"], "message");
        match response.body["result"].as_str() {
            Some(result) if result == expected => {}
            result => wrong.push(format!("{expression}: {}", result.unwrap_or(error))),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let (reference, _) = locals(&mut editor, &frame["id"]).await?;
    for (value, expected) in [("null", "0x0000000000000000"), ("&second", "0x")] {
        let set = json!({ "variablesReference": reference, "name": "pointer", "value": value });
        let body = editor.ok("setVariable", set).await?;
        assert!(text(&body, "value").starts_with(expected), "{value}: {body}");
    }
    editor.finish().await
}

async fn a_display_names_rows_and_types(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let frame = launch_to_marker(&mut editor, "displays").await?;
    let (_, variables) = locals(&mut editor, &frame).await?;
    let of =
        |row: &Value| [text(row, "name").to_owned(), text(row, "value").into(), text(row, "type").into()];
    // A variable keeps its name.
    assert_eq!(of(&variables[0]), ["tag", "3 EUR", "price"]);
    // A display means the members of the class that declares it.
    assert_eq!(of(&variables[2]), ["coupon", "3 EUR", "price"]);
    let missing = "1 <CS0103: The name 'Missing' does not exist in the current context> of 1";
    assert_eq!(of(&variables[3]), ["undisplayed", missing, "Undisplayed"]);
    assert_eq!(of(&variables[4]), ["unnamed", "{Unnamed}", "Unnamed"]);
    editor.wait_for_console("the display of `Unnamed` fails").await?;
    let shelf = &variables[1]["variablesReference"];
    let inside = rows(&mut editor, shelf).await?;
    assert_eq!(of(&inside[0]), ["price of tea", "3 EUR", "price"]);
    assert_eq!(inside[0]["evaluateName"], "shelf.First");
    assert_eq!(text(&inside[1], "name"), "Others");
    let others = &inside[1]["variablesReference"];
    let items: Vec<_> = rows(&mut editor, others).await?.iter().map(of).collect();
    assert_eq!(items, [["price of milk", "1 EUR", "price"], ["[1]", "null", "Tag"]]);
    // It is set under its displayed name, and under its plain one.
    for (reference, name, value) in
        [(shelf, "price of tea", "tag"), (others, "price of milk", "null"), (shelf, "First", "null")]
    {
        let set = json!({ "variablesReference": reference, "name": name, "value": value });
        editor.ok("setVariable", set).await?;
        let expression = if name == "price of milk" { "shelf.Others[0]" } else { "shelf.First" };
        let arguments = json!({ "expression": format!("{expression} == {value}"), "frameId": frame });
        assert_eq!(editor.ok("evaluate", arguments).await?["result"], "true", "{name}");
    }
    editor.finish().await
}

/// The typed text, completions that must be offered, and completions that must not.
type Case = (&'static str, &'static [&'static str], &'static [&'static str]);

async fn completions_of(editor: &mut DapClient, frame: &Value, typed: &str) -> anyhow::Result<Vec<String>> {
    let arguments = json!({ "frameId": frame, "text": typed, "column": typed.encode_utf16().count() + 1 });
    let body = editor.ok("completions", arguments).await?;
    let labels = body["targets"].as_array().into_iter().flatten().filter_map(|one| one["label"].as_str());
    Ok(labels.map(str::to_owned).collect())
}

/// Runs to a marker of a program and completes there.
async fn complete(runtime: Runtime, program: &str, marker: &str, cases: &[Case]) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch(program, &[marker], json!({})).await?;
    let (_, frame) = editor.stop().await?;
    for (typed, expected, not) in cases {
        let labels = completions_of(&mut editor, &frame["id"], typed).await?;
        let has = |label: &&str| labels.iter().any(|one| one == *label);
        let (missing, wrong): (Vec<_>, Vec<_>) = (
            expected.iter().filter(|label| !has(label)).collect(),
            not.iter().filter(|label| has(label)).collect(),
        );
        assert!(
            missing.is_empty() && wrong.is_empty(),
            "`{typed}`: missing {missing:?}, wrong {wrong:?}: {labels:?}"
        );
    }
    editor.finish().await
}

async fn members_are_offered_behind_members_and_indexers(runtime: Runtime) -> anyhow::Result<()> {
    let cases: [Case; 6] = [
        ("words.Items.", &["Add", "Count", "RemoveAt", "Where"], &["_items", "_size", "GrowIfNeeded"]),
        ("words.Items[0].", &["Length", "Substring"], &["Add", "_stringLength"]),
        ("dog.Friend.Na", &["Name"], &["Friend"]),
        ("names[0].Leng", &["Length"], &["Count"]),
        ("ages[\"ann\"].", &["CompareTo"], &["m_value"]),
        ("jagged[1][0].", &["CompareTo"], &["Length"]),
    ];
    complete(runtime, "expressions", "here", &cases).await?;
    // An element that does not exist yet still has a type.
    complete(runtime, "values", "simple", &[("empty[0].", &["Length", "Substring"], &["Rank"])]).await
}

async fn types_and_extension_methods_of_the_users_are_offered(runtime: Runtime) -> anyhow::Result<()> {
    let cases: [Case; 10] = [
        ("Ani", &["Animal"], &["Dog"]),
        ("new Do", &["Dog"], &["Animal"]),
        ("Progr", &["Program"], &[]),
        // Nothing has used it yet.
        ("Rar", &["Rare"], &[]),
        ("Shapes.", &["Animal", "Box", "Color", "Extensions"], &["Program"]),
        ("text.Tw", &["Twice"], &[]),
        ("seven.", &["TryHalf", "Same"], &["Twice", "Total"]),
        ("list.To", &["Total"], &["TryHalf"]),
        ("dog.", &["Name", "Friend", "Same"], &["Twice", "Total", "TryHalf"]),
        ("Extensions.", &["Twice", "Total", "TryHalf"], &[]),
    ];
    complete(runtime, "expressions", "here", &cases).await
}

async fn privates_of_the_framework_are_not_offered(runtime: Runtime) -> anyhow::Result<()> {
    let cases: [Case; 6] = [
        (
            "DateTime.",
            &["Now", "UtcNow", "Parse", "MinValue", "DaysInMonth"],
            &[
                "s_daysToMonth365",
                "DaysToMonth365",
                "TicksPerDay",
                "DaysPerYear",
                "DateToTicks",
                "TryCreate",
                "Year",
            ],
        ),
        ("date.", &["Year", "AddDays"], &["_dateData", "dateData", "InternalTicks", "InternalKind", "Now"]),
        ("String.", &["Join", "IsNullOrEmpty", "Empty"], &["FastAllocateString", "Ctor", "wstrcpy"]),
        ("builder.", &["Append", "Length"], &["m_ChunkChars", "m_ChunkLength", "ExpandByABlock"]),
        // Privates of the user's own are.
        ("this.", &["field", "Title", "Next", "rare"], &["counter"]),
        ("Program.", &["counter", "Greeting", "Slot"], &["field"]),
    ];
    complete(runtime, "expressions", "here", &cases).await
}
