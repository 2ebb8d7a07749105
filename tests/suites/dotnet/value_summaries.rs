//! Summaries of values in collapsed rows: of the framework's types, records and tuples. Most are read from
//! fields, which hovers show as well; displays that run code are shown in rows only.

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::Runtime;
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    numbers_and_times_are_read,
    summaries_of_framework_objects_are_read,
    types_and_members_are_read,
    pairs_and_tuples_show_what_is_in_them,
    displays_of_the_framework_are_shown,
    collections_open_to_what_is_in_them,
    spans_and_fixed_buffers_open_to_their_elements,
    a_page_of_bits_is_a_page,
}

net8_tests! {
    numbers_and_times_are_read,
    summaries_of_framework_objects_are_read,
    types_and_members_are_read,
    pairs_and_tuples_show_what_is_in_them,
    displays_of_the_framework_are_shown,
    collections_open_to_what_is_in_them,
    spans_and_fixed_buffers_open_to_their_elements,
}

net10_tests! {
    records_are_shown_as_they_print_themselves,
    types_newer_than_dotnet_core_3_are_shown,
    inline_arrays_open_to_their_elements,
}

async fn rows(editor: &mut DapClient, frame: &Value) -> anyhow::Result<Vec<Value>> {
    let scopes = editor.ok("scopes", json!({ "frameId": frame })).await?;
    let arguments = json!({ "variablesReference": scopes["scopes"][0]["variablesReference"] });
    let body = editor.ok("variables", arguments).await?;
    body["variables"].as_array().cloned().context("no variables")
}

/// Stops at a marker; returns the top frame's id.
async fn launch_to_marker(runtime: Runtime, marker: &str) -> anyhow::Result<(DapClient, Value)> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("glance", &[marker], json!({})).await?;
    let (_, frame) = editor.stop().await?;
    Ok((editor, frame["id"].clone()))
}

async fn stopped_in_modern(runtime: Runtime) -> anyhow::Result<(DapClient, Value)> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let (_, frame) = editor.stopped_in_modern("glance", "here").await?;
    Ok((editor, frame["id"].clone()))
}

/// Checks the texts of rows and hovers, which run nothing. A value that has to run
/// code is checked in rows only.
async fn shows(
    (mut editor, frame): (DapClient, Value),
    read: &[(&str, &str)],
    run: &[(&str, &str)],
) -> anyhow::Result<()> {
    let rows = rows(&mut editor, &frame).await?;
    let mut wrong = Vec::new();
    for (name, text) in read.iter().chain(run) {
        let row = rows.iter().find(|row| row["name"] == *name).with_context(|| format!("no {name}"))?;
        if row["value"] != *text {
            wrong.push(format!("{name}: {} is not {text}", row["value"]));
        }
    }
    for (name, text) in read {
        let arguments = json!({ "expression": name, "frameId": frame, "context": "hover" });
        let body = editor.ok("evaluate", arguments).await?;
        if body["result"] != *text {
            wrong.push(format!("{name}: hovering shows {}, not {text}", body["result"]));
        }
    }
    anyhow::ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    editor.finish().await
}

async fn numbers_and_times_are_read(runtime: Runtime) -> anyhow::Result<()> {
    // .NET Core 3.1 has no such types, and the program no such values.
    let since = |text| if runtime == Runtime::Net31 { "null" } else { text };
    let read = [
        ("wide", since("-170141183460469231731687303715884105728")),
        ("wideUnsigned", since("340282366920938463463374607431768211455")),
        ("half", since("-3.14")),
        ("small", "-42"),
        ("big", "10000000000000000000000000000000000000007"),
        ("negative", "-10000000000000000000000000000000000000007"),
        ("huge", "about 9.137E+16901"),
        ("maybe", "10000000000000000000000000000000000000007"),
        ("day", since("2024-02-29")),
        ("hour", since("13:14:15.25")),
        ("first", "3"),
        ("last", "^1"),
        ("middle", "1..^2"),
        ("all", "0..^0"),
        ("complex", "<1.5; -2>"),
        ("rune", "U+1F600 '😀'"),
    ];
    shows(launch_to_marker(runtime, "numbers").await?, &read, &[]).await
}

async fn summaries_of_framework_objects_are_read(runtime: Runtime) -> anyhow::Result<()> {
    let read = [
        ("uri", "{https://example.com/a?b=c}"),
        ("relative", "{a/b}"),
        ("version", "{1.2}"),
        ("full", "{1.2.3.4}"),
        ("v4", "{127.0.0.1}"),
        ("v6", "{fe80::1%3}"),
        ("any", "{::}"),
        ("end", "{127.0.0.1:80}"),
        ("end6", "{[::1]:443}"),
        ("element", "{<item id=\"1\" kind=\"k\">text</item>}"),
        ("empty", "{<none />}"),
        ("nested", "{<list>…</list>}"),
        ("attribute", "{id=\"1\"}"),
        ("regex", "{a+b}"),
        ("match", "{aab}"),
        ("file", "{/tmp/a.txt}"),
        ("space", "\"a\\u202fb\""),
    ];
    // The invariant culture has no name.
    shows(launch_to_marker(runtime, "texts").await?, &read, &[("culture", "{}")]).await
}

async fn types_and_members_are_read(runtime: Runtime) -> anyhow::Result<()> {
    let read = [
        ("plain", "typeof(Widget)"),
        ("number", "typeof(int)"),
        (
            "generic",
            "typeof(System.Collections.Generic.Dictionary<string, System.Collections.Generic.List<Widget>>)",
        ),
        ("lid", "typeof(Box<int>.Lid)"),
        ("maybe", "typeof(int?)"),
        ("none", "null"),
        ("method", "{Widget.Turn(int by)}"),
        ("overloaded", "{Widget.Stop()}"),
        ("constructor", "{Widget.Widget()}"),
        ("property", "{Widget.Size}"),
        ("field", "{Widget.Name}"),
    ];
    // Types unknown to the debugging library describe themselves.
    let array = if runtime == Runtime::Net31 { "{System.Int32[][,]}" } else { "typeof(int[,][])" };
    let run =
        [("open", "{Box`1[T]}"), ("pointer", "{System.Int32*}"), ("parameter", "{T}"), ("array", array)];
    shows(launch_to_marker(runtime, "reflection").await?, &read, &run).await
}

async fn pairs_and_tuples_show_what_is_in_them(runtime: Runtime) -> anyhow::Result<()> {
    let read = [
        ("pair", "[5, {Widget}]"),
        ("shownPair", "[5, widget bolt]"),
        ("entry", "[\"k\", 1]"),
        ("tuple", "(1, \"a\")"),
        ("shownTuple", "(1, widget bolt)"),
        ("nine", "(1, 2, 3, 4, 5, 6, 7, 8, 9)"),
        ("deep", "((1, (2, (3, 4))), \"x\")"),
        ("classes", "(1, 2, 3, 4, 5, 6, 7, 8)"),
    ];
    shows(launch_to_marker(runtime, "composed").await?, &read, &[]).await
}

async fn displays_of_the_framework_are_shown(runtime: Runtime) -> anyhow::Result<()> {
    let old = runtime == Runtime::Net31;
    let read = [
        ("done", "Status = RanToCompletion, Result = 5"),
        ("ended", "Status = RanToCompletion"),
        ("waiting", "Status = WaitingForActivation"),
        ("broken", "Status = Faulted"),
        ("canceled", "Status = Canceled"),
        ("created", "Status = Created"),
        ("list", "Count = 3"),
        ("map", "Count = 1"),
        ("table", "Count = 1"),
    ];
    let lazy = match old {
        true => {
            "ThreadSafetyMode=ExecutionAndPublication, IsValueCreated=false, IsValueFaulted=false, Value=0"
        }
        false => {
            "ThreadSafetyMode = ExecutionAndPublication, IsValueCreated = false, IsValueFaulted = false, \
                Value = 0"
        }
    };
    let run = [
        ("token", "IsCancellationRequested = true"),
        ("lazy", lazy),
        ("set", "Count = 2"),
        ("stack", if old { "IsEmpty = false; Top = 2" } else { "IsEmpty = false, Top = 2" }),
        ("queue", "Count = 2"),
        ("bag", "Count = 1"),
        ("readOnly", "Count = 1"),
        ("memory", "Length = 2"),
        ("letters", "\"ett\""),
        ("json", "ValueKind = Object : \"{\"a\": [1, \"x\"]}\""),
    ];
    shows(launch_to_marker(runtime, "displayed").await?, &read, &run).await
}

async fn collections_open_to_what_is_in_them(runtime: Runtime) -> anyhow::Result<()> {
    let (mut editor, frame) = launch_to_marker(runtime, "collections").await?;
    let all = rows(&mut editor, &frame).await?;
    for (of, text, items) in [
        (
            "lookup",
            "Count = 2",
            &[("[97 'a']", "Key = 97 'a', Count = 2"), ("[98 'b']", "Key = 98 'b', Count = 1")][..],
        ),
        ("groups", "Count = 2", &[("[0]", "Key = 97 'a', Count = 2"), ("[1]", "Key = 98 'b', Count = 1")]),
        ("bits", "Count = 3", &[("[0]", "true"), ("[1]", "false"), ("[2]", "true")]),
        ("none", "Count = 0", &[]),
        ("names", "Count = 2", &[("[\"a\"]", "\"1,2\""), ("[\"b\"]", "null")]),
        ("query", "Count = 2", &[("[\"q\"]", "\"1,2\""), ("[\"page\"]", "\"3\"")]),
        ("expando", "Count = 2", &[("Name", "\"x\""), ("Count", "2")]),
        ("asObject", "Count = 2", &[("Name", "\"x\""), ("Count", "2")]),
        ("part", "Count = 2", &[("[0]", "2"), ("[1]", "3")]),
        (
            "nine",
            "(1, 2, 3, 4, 5, 6, 7, (8, 8), 9)",
            &[
                ("Item1", "1"),
                ("Item2", "2"),
                ("Item3", "3"),
                ("Item4", "4"),
                ("Item5", "5"),
                ("Item6", "6"),
                ("Item7", "7"),
                ("Item8", "(8, 8)"),
                ("nine", "9"),
            ],
        ),
    ] {
        opens(&mut editor, &frame, (of, text), items).await?;
    }
    let nine = all.iter().find(|row| row["name"] == "nine").context("no nine")?;
    assert_eq!(nine["type"], "(int, int, int, int, int, int, int, (int, int), int)");
    editor.finish().await
}

/// Whether a variable shows this text and opens to these rows, each of which leads back to what it shows.
async fn opens(
    editor: &mut DapClient,
    frame: &Value,
    (of, text): (&str, &str),
    items: &[(&str, &str)],
) -> anyhow::Result<()> {
    let body = editor.ok("evaluate", json!({ "expression": of, "frameId": frame })).await?;
    assert_eq!(body["result"], text, "{of}");
    let arguments = json!({ "variablesReference": body["variablesReference"] });
    let variables = editor.ok("variables", arguments).await?["variables"].clone();
    let inside: Vec<&Value> =
        variables.as_array().context("no rows")?.iter().filter(|row| row["name"] != "Raw View").collect();
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or("-").to_owned();
    let shown: Vec<(String, String)> =
        inside.iter().map(|row| (text(row, "name"), text(row, "value"))).collect();
    let expected: Vec<(String, String)> =
        items.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    assert_eq!(shown, expected, "{of}");
    for row in inside {
        let arguments = json!({ "expression": row["evaluateName"], "frameId": frame });
        assert_eq!(editor.ok("evaluate", arguments).await?["result"], row["value"], "{of}: {row}");
    }
    Ok(())
}

async fn spans_and_fixed_buffers_open_to_their_elements(runtime: Runtime) -> anyhow::Result<()> {
    let (mut editor, frame) = launch_to_marker(runtime, "memory").await?;
    for (of, text, items) in [
        ("texts", "Length = 3", &[("[0]", "\"a\""), ("[1]", "null"), ("[2]", "\"c\"")][..]),
        ("colors", "Length = 3", &[("[0]", "Green"), ("[1]", "Red"), ("[2]", "9")]),
        ("letters", "Length = 3", &[("[0]", "101 'e'"), ("[1]", "116 't'"), ("[2]", "116 't'")]),
        ("widgets", "Length = 2", &[("[0]", "{Widget}"), ("[1]", "null")]),
        ("arrays", "Length = 1", &[("[0]", "{int[2]}")]),
        ("places", "Length = 2", &[("[0]", "{Spot}"), ("[1]", "{Spot}")]),
        ("stack", "Length = 2", &[("[0]", "1"), ("[1]", "-2")]),
        ("empty", "Length = 0", &[]),
        ("buffered.Numbers", "Length = 4", &[("[0]", "0"), ("[1]", "0"), ("[2]", "7"), ("[3]", "0")]),
        ("buffered.Letters", "Length = 3", &[("[0]", "120 'x'"), ("[1]", "0 '\\0'"), ("[2]", "0 '\\0'")]),
        ("buffered.None", "Length = 1", &[("[0]", "false")]),
        ("(&buffered)->Letters", "Length = 3", &[("[0]", "120 'x'"), ("[1]", "0 '\\0'"), ("[2]", "0 '\\0'")]),
        ("*spot", "{Point}", &[("X", "8"), ("Y", "0")]),
    ] {
        opens(&mut editor, &frame, (of, text), items).await?;
    }
    for outside in ["buffered.Numbers[4]", "(&buffered)->Numbers[4]", "(&buffered)->Numbers[-1]"] {
        let arguments = json!({ "expression": outside, "frameId": frame });
        assert_eq!(editor.refused("evaluate", arguments).await?, "EVALUATION_FAILED");
    }
    for (expression, expected) in
        [("(&buffered)->Numbers[2]", "7"), ("(&buffered)->Numbers[1] = 5", "5"), ("buffered.Numbers[1]", "5")]
    {
        let arguments = json!({ "expression": expression, "frameId": frame });
        assert_eq!(editor.ok("evaluate", arguments).await?["result"], expected, "{expression}");
    }
    editor.finish().await
}

async fn inline_arrays_open_to_their_elements(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let (_, frame) = editor.stopped_in_modern("glance", "inline").await?;
    let frame = frame["id"].clone();
    let numbers = [("[0]", "0"), ("[1]", "7"), ("[2]", "0"), ("[3]", "0")];
    let names = [("[0]", "\"first\""), ("[1]", "null"), ("[2]", "\"last\"")];
    for (of, text, items) in [
        ("numbers", "Length = 4", &numbers[..]),
        ("holder.Numbers", "Length = 4", &numbers),
        ("days", "Length = 4", &[("[0]", "Sunday"), ("[1]", "Sunday"), ("[2]", "Sunday"), ("[3]", "Friday")]),
        ("names", "Length = 3", &names),
        ("holder.Names", "Length = 3", &names),
        ("spots[0]", "{Inline.Spot}", &[("X", "5"), ("Y", "0")]),
    ] {
        opens(&mut editor, &frame, (of, text), items).await?;
    }
    for (expression, expected) in [("spots[0].X", "5"), ("spots[2].Y", "6"), ("spots[1].Y + spots[2].X", "0")]
    {
        let body = editor.ok("evaluate", json!({ "expression": expression, "frameId": frame })).await?;
        assert_eq!(body["result"], expected, "{expression}");
    }
    let function = editor.ok("evaluate", json!({ "expression": "add", "frameId": frame })).await?;
    assert_eq!(function["type"], "delegate*<int, int, long>", "{function}");
    let address = function["result"].as_str().and_then(|text| text.strip_prefix("0x"));
    let address = address.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    assert!(address.is_some_and(|address| address != 0), "{function}");
    editor.finish().await
}

async fn a_page_of_bits_is_a_page(runtime: Runtime) -> anyhow::Result<()> {
    let (mut editor, frame) = launch_to_marker(runtime, "collections").await?;
    let all = rows(&mut editor, &frame).await?;
    let many = all.iter().find(|row| row["name"] == "many").context("no many")?;
    assert_eq!(many["indexedVariables"], 100);
    let arguments = json!({ "variablesReference": many["variablesReference"], "filter": "indexed",
        "start": 97, "count": 9 });
    let body = editor.ok("variables", arguments).await?;
    let names: Vec<&str> = body["variables"]
        .as_array()
        .context("no rows")?
        .iter()
        .filter_map(|row| row["name"].as_str())
        .collect();
    assert_eq!(names, ["[97]", "[98]", "[99]"]);
    editor.finish().await
}

async fn records_are_shown_as_they_print_themselves(runtime: Runtime) -> anyhow::Result<()> {
    let circle =
        "{Circle { Name = c, Tag = t, Center = Point { X = 1, Y = 2 }, Radius = 1.5, Twice = …, Field = 3 }}";
    let read = [
        ("point", "{Point { X = 1, Y = 2 }}"),
        ("circle", circle),
        ("asShape", circle),
        ("pair", "{Pair { A = 1, B = 2 }}"),
        ("place", "{Place { X = 1, Y = 2, Sum = 3, Random = … }}"),
        ("empty", "{Empty { }}"),
        ("nested", "{Outer { Inner = Point { X = 1, Y = 2 }, None = null, Points = Count = 1 }}"),
        ("derived", "{Derived { Value = 2, Given = 5 }}"),
    ];
    // These types override `ToString`.
    let run = [("own", "{own}"), ("printed", "{Printed { printed }}")];
    shows(stopped_in_modern(runtime).await?, &read, &run).await
}

async fn types_newer_than_dotnet_core_3_are_shown(runtime: Runtime) -> anyhow::Result<()> {
    let read = [
        ("wide", "-1"),
        ("unsigned", "340282366920938463463374607431768211455"),
        ("maybe", "7"),
        ("half", "0.1"),
        ("day", "2024-02-29"),
        ("hour", "13:14:15"),
        ("number", "5"),
        ("text", "\"five\""),
        ("queue", "Count = 1"),
        ("ordered", "Count = 1"),
    ];
    let run =
        [("node", "JsonObject[2]"), ("array", "JsonArray[2]"), ("frozen", "Count = 2"), ("set", "Count = 3")];
    shows(stopped_in_modern(runtime).await?, &read, &run).await
}
