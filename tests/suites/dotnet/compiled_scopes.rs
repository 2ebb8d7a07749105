//! The names that an expression can use at each kind of place: lambdas, local functions, generic methods,
//! iterators, spans, files.
//!
//! Not here: expressions elsewhere that the compiler of an SDK evaluates ([`super::compiled`]).

use anyhow::Context;
use serde_json::json;
use tandem_harness::client::DapClient;
use tandem_harness::compiled::modern;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

use super::compiled::Expected;

net10_tests! {
    every_scope_offers_its_names,
    every_scope_offers_its_names_without_a_compiler_too,
    parameters_of_a_primary_constructor_are_names,
}

async fn every_scope_offers_its_names(runtime: Runtime) -> anyhow::Result<()> {
    let scenes: [(&str, &str, Expected); 9] = [
        (
            "Program.cs",
            "handler",
            // The directives of the file and the namespace, in an async lambda.
            &[
                ("JsonSerializer.Serialize(new Lists { number, Abs(-3) }.Select(n => n + 1))", "\"[4,4]\""),
                ("JsonSerializer.Serialize(text)", "\"\\\"[3,2]\\\"\""),
            ],
        ),
        (
            "Program.cs",
            "service",
            &[
                ("limit + name.Length", "12"),
                ("Add(1, own) + Captured(2)", "17"),
                // A static method has its class in front, with `global::`.
                ("$\"{ Add(1, own) :D2}|{ Captured(2) + name.Count(c => true),3}\"", "\"06| 14\""),
                ("Enumerable.Range(0, 3).Select(Captured).Sum()", "30"),
                ("lambda(1) + new[] { given }.Sum(x => x + own)", "28"),
                ("own = new[] { limit }.Sum(x => x + 1)", "10"),
                ("this.own + name.Count(c => c == 's')", "11"),
                ("ToString() + name.Count(c => true)", "\"Scenes.Service3\""),
                ("nameof(own) + nameof(limit) + name.Count(c => true)", "\"ownlimit3\""),
                ("new { limit }.limit + (limit, 1).limit + name.Count(c => true)", "21"),
                // Names that the expression declares hide those of the frame.
                ("from own in new[] { 1, 2 } select own + limit", "Count = 2"),
                ("new[] { 1, 2 }.Select(given => given + limit).Sum()", "21"),
                ("name.Sum(c => base.ToString().Length)", "42"),
            ],
        ),
        (
            "Program.cs",
            "generic",
            &[
                ("(anonymous with { Value = other }).ToString()", "\"{ Value = 4, Other = 4 }\""),
                ("value.CompareTo(other) + list.Where(x => x is U).Count()", "0"),
                ("new Holder<T>(other).value.CompareTo(value) + list.Count(x => true)", "2"),
                ("typeof(T).Name + typeof(U).Name + list.Count(x => true)", "\"Int32String1\""),
            ],
        ),
        (
            "Program.cs",
            "struct",
            &[
                ("Step() + new[] { 1 }.Sum(n => n)", "3"),
                ("count", "2"),
                ("count = new[] { 5, 5 }.Sum(n => n)", "10"),
                ("count", "10"),
            ],
        ),
        (
            "Program.cs",
            "async",
            // Other threads run while an evaluation awaits their result.
            &[
                ("await Later(after)", "8"),
                ("before = await Later(1) + after", "6"),
                ("before", "6"),
                ("Later(5).Result", "10"),
            ],
        ),
        (
            "Program.cs",
            "iterator",
            &[
                ("square + new[] { i, count }.Sum(x => x)", "3"),
                ("square = new[] { 7 }.Max(x => x)", "7"),
                ("square", "7"),
            ],
        ),
        (
            "Program.cs",
            "spans",
            &[
                ("span.ToArray().Select(n => n * 2).Sum()", "10"),
                ("letters.ToString().Count(c => c > 'l')", "4"),
                ("third = numbers.Sum(x => x)", "6"),
                ("numbers[2]", "6"),
                ("System.Runtime.InteropServices.MemoryMarshal.CreateSpan(ref numbers[2], 1)[0]", "6"),
                ("span[0] = numbers.Count(x => x > 1)", "2"),
                ("span = numbers.AsSpan(numbers.Count(x => x > 1))", "{int[1]}"),
                ("span.Length", "1"),
                ("numbers.Any(n => n == letters.Length)", "! CS9108"),
                ("new RefStruct()", "! CS0246"),
                ("letters is \"letters\"", "true"),
                ("letters is \"other\"", "false"),
            ],
        ),
        (
            "Program.cs",
            "local",
            &[
                ("one + kept + sum + new[] { 1 }.Sum(x => x + kept)", "17"),
                ("kept = new[] { 7 }.Sum(x => x)", "7"),
                ("kept", "7"),
                ("nameof(Inside) + nameof(kept)", "\"Insidekept\""),
            ],
        ),
        (
            "Types.cs",
            "file",
            &[
                ("hidden.Value + new[] { 1 }.Sum(x => x + Hidden.Answer)", "103"),
                ("new Hidden { Value = 8 }.Value + new[] { hidden }.Count(h => h.Value == 3)", "9"),
                ("nameof(Hidden)", "\"Hidden\""),
            ],
        ),
    ];
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let program = fixture::modern_program("compiled");
    let mut stop = editor.launch_to(&program, (modern("Program.cs"), "handler"), json!({})).await?;
    for (file, marker, expected) in scenes {
        if marker != "handler" {
            editor.continue_to(&mut stop, (modern(file), marker)).await?;
        }
        editor.check_results(&stop.frame, expected).await.with_context(|| format!("at {marker}"))?;
    }
    editor.finish().await
}

async fn every_scope_offers_its_names_without_a_compiler_too(runtime: Runtime) -> anyhow::Result<()> {
    let scenes: [(&str, Expected); 9] = [
        (
            "handler",
            &[
                ("Abs(-3) + number", "6"),
                ("JsonSerializer.Serialize(number)", "\"3\""),
                ("typeof(Lists).Name", "\"List`1\""),
            ],
        ),
        (
            "service",
            &[
                ("limit + name.Length + own + given", "21"),
                ("this.own", "5"),
                ("(limit = 10) + own++", "15"),
                ("limit * own", "60"),
                ("nameof(limit)", "\"limit\""),
                ("lambda", "{System.Func<int, int>: Scenes.Service.Run.<lambda>(int number)}"),
                ("limt", "! CS0103: The name 'limt' does not exist"),
                ("Add(1, own)", "! the local function `Add` needs the C# compiler of a .NET SDK"),
            ],
        ),
        (
            "closure",
            &[
                ("value.CompareTo(other)", "-1"),
                ("anonymous.Other + list.Count", "5"),
                ("typeof(U).Name", "\"String\""),
            ],
        ),
        (
            "struct",
            &[
                ("Step() + count", "4"),
                ("this.count", "2"),
                // `List<T>` returns a copy of an item, which the method changes.
                ("new List<Meter> { this } is var all && all[0].Step() == all[0].count + 1", "true"),
                ("this.count", "2"),
            ],
        ),
        ("async", &[("before + after + given", "7"), ("(before += 1) * 2", "6")]),
        ("inner", &[("1 + 1", "2")]),
        ("iterator", &[("square + i + count", "3")]),
        (
            "spans",
            &[
                ("span[0] + span[^1] + third", "8"),
                ("span[0] - numbers[1]", "0"),
                ("span[0] = 9", "9"),
                ("numbers[1] + span.Length + letters.Length", "18"),
                ("letters[0]", "108 'l'"),
                ("third = 7", "7"),
                ("numbers[2]", "7"),
                ("span = numbers.AsSpan(2)", "Length = 1"),
                ("span[0]", "7"),
                ("numbers[1]", "9"),
                ("letters is \"letters\"", "! needs the C# compiler"),
                (
                    "System.Runtime.InteropServices.MemoryMarshal.CreateSpan(ref third, 1)[0]",
                    "! a call whose result may refer to an argument needs the C# compiler",
                ),
            ],
        ),
        ("local", &[("one + kept + sum", "12"), ("kept = 5", "5"), ("kept + one", "7")]),
    ];
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let program = fixture::modern_program("compiled");
    let off = json!({ "expressionCompiler": "off" });
    let mut stop = editor.launch_to(&program, (modern("Program.cs"), "handler"), off).await?;
    for (marker, expected) in scenes {
        if marker != "handler" {
            editor.continue_to(&mut stop, (modern("Program.cs"), marker)).await?;
        }
        editor.check_results(&stop.frame, expected).await.with_context(|| format!("at {marker}"))?;
    }
    editor.continue_to(&mut stop, (modern("Types.cs"), "file")).await?;
    let of_the_file = [
        ("Hidden.Answer + hidden.Value", "102"),
        ("new Hidden { Value = 8 }.Value", "8"),
        ("\"a\".Shouted.Shouted", "\"A!!\""),
        ("new[] { hidden }.None", "false"),
        ("\"a\".Shouted = \"b\"", "! CS0131"),
    ];
    editor.check_results(&stop.frame, &of_the_file).await.context("at file")?;
    for (expression, value) in [("\"a\".Shouted", "\"A!\""), ("Hidden.Answer", "99")] {
        let hover = json!({ "expression": expression, "frameId": stop.frame["id"], "context": "hover" });
        assert_eq!(editor.ok("evaluate", hover).await?["result"], value, "{expression}");
    }
    editor.continue_to(&mut stop, (modern("Types.cs"), "hidden")).await?;
    assert_eq!(stop.frame["name"], "Shapes.Hidden.Next(int number)");
    let own = [("step + number", "5"), ("this", "{Shapes.Hidden}")];
    editor.check_results(&stop.frame, &own).await.context("at hidden")?;
    editor.finish().await
}

/// Parameters of a primary constructor are names in its methods: in a condition, in the rows of
/// `this`, and when a row is set.
async fn parameters_of_a_primary_constructor_are_names(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let program = fixture::modern_program("compiled");
    let mut stop = editor.launch_to(&program, (modern("Program.cs"), "handler"), json!({})).await?;
    let line = fixture::modern_line("compiled", "service");
    let place = |condition: &str| {
        json!({ "source": { "path": modern("Program.cs") }, "breakpoints": [{
        "line": line, "condition": condition }] })
    };
    editor.ok("setBreakpoints", place("limit == 9 && name.Length == 3")).await?;
    editor.ok("continue", json!({ "threadId": stop.thread })).await?;
    (stop.thread, stop.frame) = editor.stop().await?;
    assert_eq!(stop.frame["line"], line);
    let whole = json!({ "expression": "this", "frameId": stop.frame["id"], "context": "watch" });
    let whole = editor.ok("evaluate", whole).await?;
    let rows = json!({ "variablesReference": whole["variablesReference"] });
    let rows = editor.ok("variables", rows).await?;
    for (name, value) in [("limit", "9"), ("name", "\"svc\"")] {
        let found = rows["variables"].as_array().into_iter().flatten();
        let row = found.clone().find(|row| row["name"] == name).with_context(|| rows.to_string())?;
        assert_eq!(row["value"], value);
        let expression = row["evaluateName"].as_str().with_context(|| row.to_string())?.to_owned();
        editor.check_results(&stop.frame, &[(&expression, value)]).await?;
    }
    let set =
        json!({ "variablesReference": whole["variablesReference"], "name": "limit", "value": "limit + 1" });
    assert_eq!(editor.ok("setVariable", set).await?["value"], "10");
    editor.check_results(&stop.frame, &[("limit", "10")]).await?;
    // In the scope, too, although it is a field there.
    let scopes = editor.ok("scopes", json!({ "frameId": stop.frame["id"] })).await?;
    let reference = &scopes["scopes"][0]["variablesReference"];
    let set = json!({ "variablesReference": reference, "name": "limit", "value": "limit + 1" });
    assert_eq!(editor.ok("setVariable", set).await?["value"], "11");
    editor.check_results(&stop.frame, &[("limit", "11")]).await?;
    let unknown = json!({ "variablesReference": reference, "name": "nowhere", "value": "1" });
    assert_eq!(editor.refused("setVariable", unknown).await?, "INVALID_PARAMETER");
    editor.finish().await
}
