//! Compares the expression evaluator with the C# compiler: a program prints the values of its expressions,
//! and the debugger evaluates each.
//!
//! Not here: random expressions ([`super::random_expressions`]).

use anyhow::Context;
use serde_json::json;
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    expressions_have_the_values_of_the_compiler,
    expressions_have_these_values_without_a_compiler_too,
    newer_csharp_syntax_is_evaluated_too,
    assignments_that_would_change_nothing_are_refused,
    unsupported_expressions_are_refused_by_name,
    expressions_that_the_compiler_refuses_are_refused,
    showing_statics_does_not_spoil_their_values,
    an_overridden_property_is_shown_as_it_is_now,
    ref_and_out_arguments_are_the_programs_variables,
    calls_have_the_receivers_of_csharp,
}

net8_tests! {
    newer_csharp_syntax_is_evaluated_too,
    an_overridden_property_is_shown_as_it_is_now,
    ref_and_out_arguments_are_the_programs_variables,
}

/// Launch attributes for expressions that the debugger evaluates without a compiler.
fn without_compiler() -> serde_json::Value {
    json!({ "expressionCompiler": "off" })
}

/// The expressions between `Check(` and `);` in the program, in order.
fn expressions() -> anyhow::Result<Vec<String>> {
    let source = std::fs::read_to_string(fixture::source("expressions"))?;
    let of = |line: &str| Some(line.trim().strip_prefix("Check(")?.strip_suffix(");")?.to_owned());
    Ok(source.lines().filter_map(of).collect())
}

/// Launches a program up to a marker, and evaluates expressions there, each with its result.
async fn evaluate_at(
    runtime: Runtime,
    (program, marker): (&str, &str),
    attributes: serde_json::Value,
    all: &[(&str, &str)],
) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch(program, &[marker], attributes).await?;
    let (_, frame) = editor.stop().await?;
    for (expression, result) in all {
        let arguments = json!({ "expression": expression, "frameId": frame["id"], "context": "repl" });
        assert_eq!(editor.ok("evaluate", arguments).await?["result"], *result, "{expression}");
    }
    editor.finish().await
}

async fn expressions_have_the_values_of_the_compiler(runtime: Runtime) -> anyhow::Result<()> {
    have_their_values(runtime, json!({})).await
}

async fn expressions_have_these_values_without_a_compiler_too(runtime: Runtime) -> anyhow::Result<()> {
    have_their_values(runtime, without_compiler()).await
}

async fn have_their_values(runtime: Runtime, attributes: serde_json::Value) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("expressions", &["here"], attributes).await?;
    let (_, frame) = editor.stop().await?;
    let printed = editor.ok("processReadOutput", json!({ "stream": "stdout" })).await?;
    let printed = printed["stdout"].as_str().context("no output")?.to_owned();
    let expressions = expressions()?;
    anyhow::ensure!(expressions.len() > 800, "the table has only {} rows", expressions.len());
    anyhow::ensure!(printed.lines().count() == expressions.len(), "the program did not print the table");
    let mut wrong = Vec::new();
    for (expression, expected) in expressions.iter().zip(printed.lines()) {
        let arguments = json!({ "expression": expression, "frameId": frame["id"], "context": "repl" });
        let response = editor.ask("evaluate", arguments).await?;
        let got = match response.success {
            true => format!(
                "{}\t{}",
                response.body["type"].as_str().unwrap_or_default(),
                response.body["result"].as_str().unwrap_or_default()
            ),
            false => format!("! {}", response.body["error"]["variables"]["message"]),
        };
        if got != expected {
            wrong.push(format!("{expression}\n    compiled:  {expected}\n    debugger:  {got}"));
        }
    }
    editor.finish().await?;
    anyhow::ensure!(
        wrong.is_empty(),
        "{} of {} differ:\n{}",
        wrong.len(),
        expressions.len(),
        wrong.join("\n")
    );
    Ok(())
}

async fn newer_csharp_syntax_is_evaluated_too(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("expressions", &["here"], without_compiler()).await?;
    let (_, frame) = editor.stop().await?;
    for (expression, result) in [
        ("seven is > 5 and < 10", "true"),
        ("seven is not (1 or 7)", "false"),
        ("letter is >= 'a' and <= 'z'", "true"),
        ("boxed is int and > 50", "true"),
        ("seven switch { < 5 => \"few\", >= 5 and < 10 => \"some\", _ => \"many\" }", "\"some\""),
        ("(seven, two) is (> 6, not 3)", "true"),
        ("dog is { Friend.Name: \"Rex\" }", "true"),
        ("dog is { Friend.Name.Length: > 5 }", "false"),
        ("dog.Friend is { Friend.Name: _ }", "false"),
        ("array is [10, _, 30]", "true"),
        ("array is [10]", "false"),
        ("array is [var first, ..] && first == 10", "true"),
        ("array is [.., > 20 and var last] && last == 30", "true"),
        ("array is [_, .. var rest] && rest.Length == 2", "true"),
        ("array is [_, _, _, ..] all && all.Length == 3", "true"),
        ("names is [\"ann\", .., { Length: 3 }]", "true"),
        ("text is ['h', .., 'o']", "true"),
        ("text switch { [] => 0, [var one9] => 1, [.., 'o'] => 2, _ => 3 }", "2"),
        ("((Point)new()).X", "0"),
        ("new Dog { Friend = new() { Name = \"new\" } }.Friend.Name", "\"new\""),
        ("new Point[] { new(1, 2), default }[0].Y", "2"),
        ("(dog.Friend = new() { Name = \"other\" }).Name + dog.Friend.Name", "\"otherother\""),
        ("(textScratch = new('a', 3)).Length", "3"),
        ("list.DistinctBy(x => x % 2).Count() + people.MinBy(p => p.age).age", "6"),
        ("$\"\"\"raw {seven}\"\"\"", "\"raw 7\""),
        ("people.GroupBy(p => new { p.name, Old = p.age > 10 }).First().Key.Old", "true"),
        ("people.ToLookup(p => p.age > 10)[true].First().name", "\"ann\""),
        ("people.ToDictionary(p => p.name, p => new { p.age })[\"bob\"].age", "4"),
        ("Enumerable.Range(0, 5000).Select(x => \"n\" + x).OrderBy(n => n).First()", "\"n0\""),
        ("Enumerable.Range(0, 500).Select(x => x % 2 == 0 ? null : \"n\" + x).Count(n => n == null)", "250"),
        ("new { one, Twice = two * 2 }", "{ one = 1, Twice = 4 }"),
        ("new int[0].Sum(x => x * 2.5)", "0"),
        ("names.Where(n => n == null).Max(n => n)", "null"),
        ("Enumerable.Range(0, 10000).Select(x => \"n\" + x).OrderByDescending(n => n).First()", "\"n9999\""),
        ("object.ReferenceEquals(names.OrderByDescending(n => n).Last(), names[0])", "true"),
    ] {
        let arguments = json!({ "expression": expression, "frameId": frame["id"], "context": "repl" });
        let response = editor.ask("evaluate", arguments).await?;
        assert!(response.success && response.body["result"] == result, "{expression}: {}", response.body);
    }
    // Lambdas that do something, too.
    for expression in [
        "names.ForEach(n => builder.Append(n))",
        "list.ForEach(x => { var y = x + 1; builder.Append(y); })",
        "list.Sort((a, b) => b - a)",
        "list.ForEach(x => builder.Append(x))",
        "Array.Sort(array, (a, b) => b.CompareTo(a))",
    ] {
        let arguments = json!({ "expression": expression, "frameId": frame["id"], "context": "repl" });
        assert_eq!(editor.ok("evaluate", arguments).await?["type"], "void", "{expression}");
    }
    let arguments = json!({ "expression": "builder.ToString()", "frameId": frame["id"], "context": "repl" });
    assert_eq!(editor.ok("evaluate", arguments).await?["result"], "\"builtannbobcyd423321\"");
    editor.finish().await
}

async fn assignments_that_would_change_nothing_are_refused(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("expressions", &["here"], without_compiler()).await?;
    let (_, frame) = editor.stop().await?;
    let mut wrong = Vec::new();
    for (expression, named) in [
        ("new Point(1, 2).X = 5", "in a copy"),
        ("(a: 1, b: 2).b = 3", "in a copy"),
        ("(point + other).X++", "in a copy"),
        ("(one, two) = (1, 2, 3)", "CS8132"),
        ("(one, var x) = (1, 2)", "declares a variable"),
        ("names.ThenBy(n => n)", "in the same expression"),
        ("list.Contains(text.ToUpper)", "CS1503"),
    ] {
        let arguments = json!({ "expression": expression, "frameId": frame["id"], "context": "repl" });
        let response = editor.ask("evaluate", arguments).await?;
        let message = response.body["error"]["variables"]["message"].as_str().unwrap_or_default();
        if response.success || !message.contains(named) {
            wrong.push(format!("{expression}: {}", response.body));
        }
    }
    anyhow::ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    editor.finish().await
}

async fn unsupported_expressions_are_refused_by_name(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("values", &["collections"], without_compiler()).await?;
    let (_, frame) = editor.stop().await?;
    let mut wrong = Vec::new();
    for (expression, named) in [
        ("int.TryParse(\"1\", out Missing m)", "CS0246"),
        ("list.TryParse(\"1\", out var x)", "CS1061"),
        ("Enumerable.Range(0, 50000).Count(x => x > 5)", "more than 10000 items"),
        ("list.Aggregate(1, 2, x => x)", "the C# compiler"),
        ("int.TryParse(\"1\", out 5)", "CS1510"),
        ("int.TryParse(\"1\", out map)", "CS1503: Argument 2"),
        ("list.Select(x => { using (null) { } return x; })", "using statement in a lambda"),
        ("list.BinarySearch((a, b) => a - b)", "CS1503: No overload of 'BinarySearch'"),
        ("1.CompareTo(x => x)", "CS1503: No overload of 'CompareTo'"),
        ("(Func<int, int>)(x => x)", "a lambda needs the C# compiler"),
        ("delegate(int x) { return x; }", "a lambda needs the C# compiler"),
        ("new int[2] { 1 }", "not as many items"),
        ("new int[,] { { 1, 2 }, { 3 } }", "equally long"),
        ("stackalloc int[3]", "stackalloc"),
        ("await Task.FromResult(1)", "`await` needs the C# compiler"),
        ("args ?? throw new Exception(\"no args\")", "CS0103: The name 'args'"),
        ("(string)null ?? throw new Exception(\"no text\")", "System.Exception: no text"),
        ("list.Sum(x => int.MaxValue)", "OverflowException"),
        ("list.Select(x => { throw new Exception(\"at \" + x); return x; })", "System.Exception: at a"),
        ("(int)Math.Pow(10, 10)", "does not define"),
        ("(decimal)(object)1", "InvalidCastException"),
        ("(int)(object)null", "NullReferenceException"),
        ("list with { }", "`with` expression"),
        ("list.Cnt", "CS1061"),
        ("int.MaxValue + 1", "CS0220"),
        ("1 / 0", "CS0020"),
        ("1 +", "CS1733"),
    ] {
        let arguments = json!({ "expression": expression, "frameId": frame["id"], "context": "repl" });
        let response = editor.ask("evaluate", arguments).await?;
        let of = |key: &str| response.body["error"]["variables"][key].as_str().unwrap_or_default().to_owned();
        let (code, message) = (of("code"), of("message"));
        if code != "EVALUATION_FAILED" || !message.contains(named) {
            wrong.push(format!("{expression}: {}", response.body));
        }
    }
    anyhow::ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    editor.finish().await
}

/// `this` of a `readonly` method, an `in` parameter, and the variables of `foreach` and `using`, also
/// captured ones, are copied for a call that may change them. `base` has the members of the base class,
/// although the object's class overrides them.
async fn calls_have_the_receivers_of_csharp(runtime: Runtime) -> anyhow::Result<()> {
    let in_readonly = [
        ("Open.Bump()", "21"),
        ("Open.Next", "21"),
        ("this.Open.Bump() + Open.N", "41"),
        ("given.Bump() - given.N", "1"),
        ("own.Bump() - own.N", "0"),
        ("each.Bump() - each.N", "1"),
        ("each.Next - each.N", "1"),
        ("held.Bump() + held.N", "61"),
    ];
    evaluate_at(runtime, ("expressions", "look"), without_compiler(), &in_readonly).await?;
    let in_lambda = [
        ("every.Bump() - every.N", "1"),
        ("every.Next - every.N", "1"),
        ("closed.Bump() + closed.N", "61"),
        ("free.Bump() - free.N", "0"),
        ("given", "2"),
    ];
    evaluate_at(runtime, ("expressions", "captured"), without_compiler(), &in_lambda).await?;
    let in_override = [
        ("base.Tell(\"a\", 2)", "\"rack a2\""),
        ("base[5]", "\"rack 5\""),
        ("base.Level == null", "true"),
        ("base.Level = \"set\"", "\"set\""),
        ("base.Level + kept", "\"setset\""),
        ("base.Keep(\"held\")", ""),
        ("kept", "\"held\""),
        ("base.ToString() == ToString()", "false"),
    ];
    evaluate_at(runtime, ("expressions", "base"), without_compiler(), &in_override).await
}

async fn ref_and_out_arguments_are_the_programs_variables(runtime: Runtime) -> anyhow::Result<()> {
    // Locals, references among them; elements of arrays.
    let rows = [
        ("int.TryParse(\"12\", out pool)", "true"),
        ("Interlocked.Increment(ref pool) + pool", "26"),
        ("Interlocked.Exchange(ref first, plain) == plain", "false"),
        ("first.Name", "\"named late\""),
        ("Interlocked.Exchange<System.Threading.Thread>(ref twin, null) == null", "false"),
        ("twin", "null"),
        ("Array.Resize(ref args, 3)", ""),
        ("args.Length", "3"),
        ("Interlocked.Exchange(ref args[1], \"new\")", "null"),
        ("args[1]", "\"new\""),
    ];
    evaluate_at(runtime, ("threads", "named"), json!({}), &rows).await?;
    // A local of an async method is a field of an object that the collector may move in between.
    let rows = [
        ("int.TryParse(\"40\", out number)", "true"),
        ("GC.Collect()", ""),
        ("Interlocked.Add(ref number, 2)", "42"),
        ("number", "42"),
    ];
    evaluate_at(runtime, ("waits", "leaf"), json!({ "args": ["value"] }), &rows).await
}

async fn expressions_that_the_compiler_refuses_are_refused(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("expressions", &["here"], without_compiler()).await?;
    let (_, frame) = editor.stop().await?;
    let mut wrong = Vec::new();
    for (expression, named) in [
        ("ages[5]", "CS1503"),
        ("ages[null]", "ArgumentNullException"),
        ("list[\"a\"]", "CS1503"),
        ("list[wide]", "CS1503"),
        ("list.Contains(\"a\")", "CS1503: Argument 1"),
        ("ages[5] = 1", "CS1503"),
        ("yes || no_such_name", "CS0103: The name 'no_such_name'"),
        ("no && one > no_such_name", "CS0103: The name 'no_such_name'"),
        ("yes || list.Contains(no_such_name)", "CS0103: The name 'no_such_name'"),
        ("seven == 7 ? 1 : no_such_name", "CS0103: The name 'no_such_name'"),
        ("some ?? no_such_name", "CS0103: The name 'no_such_name'"),
        ("seven ?? 1", "never null"),
        ("+color", "CS0023"),
        ("-access", "CS0023"),
        ("sizeof(string)", "no size"),
        ("sizeof(Dog)", "no size"),
        ("num + point", "CS0019"),
        ("query.Where(x => x > 1)", "which is an expression tree"),
        ("from x in query select x", "which is an expression tree"),
    ] {
        let arguments = json!({ "expression": expression, "frameId": frame["id"], "context": "repl" });
        let response = editor.ask("evaluate", arguments).await?;
        let message = response.body["error"]["variables"]["message"].as_str().unwrap_or_default();
        if response.success || !message.contains(named) {
            wrong.push(format!("{expression}: {}", response.body));
        }
    }
    anyhow::ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    for (expression, result) in [
        ("sizeof(Point)", "8"),
        ("sizeof(DateTime)", "8"),
        ("sizeof(Color)", "4"),
        ("query.AsEnumerable().Where(x => x > 1).Count()", "2"),
    ] {
        let arguments = json!({ "expression": expression, "frameId": frame["id"], "context": "repl" });
        let response = editor.ask("evaluate", arguments).await?;
        assert!(response.success && response.body["result"] == result, "{expression}: {}", response.body);
    }
    editor.finish().await
}

/// The names and values of the rows that an expression opens to.
async fn expand_rows(
    editor: &mut DapClient,
    expression: &str,
    frame: &serde_json::Value,
) -> anyhow::Result<Vec<serde_json::Value>> {
    let body = editor.ok("evaluate", json!({ "expression": expression, "frameId": frame })).await?;
    let rows = editor.ok("variables", json!({ "variablesReference": body["variablesReference"] })).await?;
    rows["variables"].as_array().cloned().context("no rows")
}

async fn showing_statics_does_not_spoil_their_values(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("expressions", &["here"], json!({})).await?;
    let (_, frame) = editor.stop().await?;
    let inside = expand_rows(&mut editor, "counted", &frame["id"]).await?;
    let statics = inside.iter().find(|row| row["name"] == "Static members").context("no statics")?;
    editor.ok("variables", json!({ "variablesReference": statics["variablesReference"] })).await?;
    expand_rows(&mut editor, "Late", &frame["id"]).await?;
    for (expression, result) in
        [("Counted.Zero", "0"), ("Counted.Made", "4"), ("Late.Name", "\"late 17\""), ("Late.Number", "17")]
    {
        let hover = json!({ "expression": expression, "frameId": frame["id"], "context": "hover" });
        editor.ask("evaluate", hover).await?;
        let arguments = json!({ "expression": expression, "frameId": frame["id"], "context": "repl" });
        assert_eq!(editor.ok("evaluate", arguments).await?["result"], result, "{expression}");
    }
    editor.finish().await
}

async fn an_overridden_property_is_shown_as_it_is_now(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("expressions", &["here"], json!({})).await?;
    let (_, frame) = editor.stop().await?;
    let rows = expand_rows(&mut editor, "gauge", &frame["id"]).await?;
    let readings: Vec<_> = rows.iter().filter(|row| row["name"] == "Reading").collect();
    assert!(readings.len() == 1 && readings[0]["presentationHint"]["lazy"] == true, "{rows:?}");
    let lazy = json!({ "variablesReference": readings[0]["variablesReference"] });
    assert_eq!(editor.ok("variables", lazy).await?["variables"][0]["value"], "50");
    editor.finish().await
}
