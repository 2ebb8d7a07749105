//! Expressions that the compiler of an SDK evaluates: those that only it supports have the value that
//! the compiled program prints.

use std::time::Duration;

use anyhow::Context;
use serde_json::json;
use tandem_harness::client::DapClient;
use tandem_harness::compiled::{Stop, any_compiler, modern, older};
use tandem_harness::deadline::scaled;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

/// Expressions and what they give.
pub(crate) type Expected = &'static [(&'static str, &'static str)];

dotnet_tests! {
    lambdas_queries_and_the_rest_of_csharp_are_compiled,
    code_in_a_load_context_is_bound_to_its_own_assemblies,
    an_expression_is_compiled_once_and_costs_a_call_afterwards,
    a_condition_and_a_log_message_are_compiled_once,
}

// The old SDK's compiler is used; only the target of the compilation matters.
older_dotnet_tests! {
    the_compiler_of_an_old_sdk_evaluates_expressions,
}

net8_tests! {
    lambdas_queries_and_the_rest_of_csharp_are_compiled,
    code_in_a_load_context_is_bound_to_its_own_assemblies,
}

net10_tests! {
    todays_csharp_has_the_values_that_the_program_prints,
    private_members_can_be_used,
    an_await_that_does_not_end_is_given_up,
    evaluate_returns_the_compilers_error,
    an_error_in_a_value_to_set_has_its_number_and_column,
    compiler_is_not_used_where_no_code_may_run,
    without_a_compiler_the_answer_says_what_it_needs,
    ten_thousand_elements_are_counted_in_the_program,
}

async fn lambdas_queries_and_the_rest_of_csharp_are_compiled(runtime: Runtime) -> anyhow::Result<()> {
    let scenes: [(&str, Expected); 4] = [
        (
            "main",
            &[
                ("orders.Where(o => o.Total > number && o.secret == 42).Sum(o => o.Total)", "49994994"),
                ("order.Twice(x => x + captured)", "98"),
                (
                    "(from o in orders where o.Total < 3 select new { o.Total, Name = o.ToString() \
                        }).Last().Name",
                    "\"order 2\"",
                ),
                ("await Later(21)", "42"),
                ("await Task.Delay(1)", ""),
                ("anything.Length + orders.Count(o => o.Total > 9998)", "8"),
                ("number += orders.Count(o => o.Total > 9996)", "6"),
                ("number", "6"),
                ("tuple.Count + tuple.Name.Length + orders.Take(2).Count(o => true)", "4"),
                ("captured = orders.Count(o => o.Total < 5)", "5"),
                ("closure(1)", "6"),
                ("made.ToString() + orders.Take(1).Count(o => true)", "\"Thing1\""),
                ("orders.AsQueryable().Where(o => o.Total > captured).Count()", "9994"),
                ("new { number, order }.number + orders.Take(1).Count(o => true)", "7"),
                ("((Func<int, int>)(x => { int Up(int y) => y + 1; return Up(x); }))(5)", "6"),
            ],
        ),
        (
            "generic",
            &[
                ("value.CompareTo(other) + list.Where(x => x != null).Count()", "0"),
                ("list.Select(x => x + typeof(T).Name + typeof(U).Name).First()", "\"firstInt32String\""),
                ("anonymous.Other.CompareTo(value) + list.Count(x => true)", "2"),
                ("Compared(other) + list.Count(x => true)", "1"),
                ("inner.Deep.CompareTo(value) + list.Count(x => true)", "1"),
                ("other = list.Select(x => value).First()", "3"),
                ("other", "3"),
            ],
        ),
        ("struct", &[("Step() + new[] { 1 }.Sum(x => x)", "3"), ("count", "2")]),
        (
            "async",
            &[
                ("before + after + new[] { given }.Sum(x => x)", "7"),
                ("await Later(after)", "8"),
                ("after = await Later(1) + await Later(2)", "6"),
                ("after", "6"),
            ],
        ),
    ];
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let program = fixture::program("compiled");
    let mut stop = editor.launch_to(&program, (older(), "main"), with_compiler()).await?;
    for (marker, expected) in scenes {
        if marker != "main" {
            editor.continue_to(&mut stop, (older(), marker)).await?;
        }
        editor.check_results(&stop.frame, expected).await.with_context(|| format!("at {marker}"))?;
    }
    // The method that awaits this one is on no thread's stack.
    let stack = editor.ok("stackTrace", json!({ "threadId": stop.thread })).await?;
    let frames = stack["stackFrames"].as_array().context("no frames")?;
    let outer =
        |frame: &&serde_json::Value| frame["name"].as_str().is_some_and(|name| name.contains("Outer"));
    let outer = frames.iter().find(outer).context("no caller")?;
    editor.check_results(outer, &[("outside + new[] { 1 }.Sum(x => x)", "8")]).await?;
    // The program continues normally, and no client sees modules that are not the program's.
    let modules = editor.ok("modules", json!({})).await?;
    assert!(!modules.to_string().contains("TandemExpression"), "{modules}");
    let place = json!({ "source": { "path": older() }, "breakpoints": [] });
    editor.ok("setBreakpoints", place).await?;
    editor.ok("continue", json!({ "threadId": stop.thread })).await?;
    assert_eq!(editor.event("exited").await?["exitCode"], 0, "{:?}", editor.output);
    editor.finish().await
}

async fn the_compiler_of_an_old_sdk_evaluates_expressions(runtime: Runtime) -> anyhow::Result<()> {
    let old = Runtime::Net31.dotnet().context("no SDK of .NET Core 3.1")?;
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let sdk = old.parent().context("no folder")?.to_owned();
    let libraries = runtime.environment().context("no runtime")?["LD_LIBRARY_PATH"].clone();
    let more = json!({ "expressionCompiler": sdk, "env": { "LD_LIBRARY_PATH": libraries } });
    let stop = editor.launch_to(&fixture::program("compiled"), (older(), "main"), more).await?;
    let expected = [
        ("orders.Where(o => o.Total > number && o.secret == 42).Sum(o => o.Total)", "49994994"),
        ("await Later(21)", "42"),
        ("anything.Length + orders.Count(o => o.Total > 9998)", "8"),
        ("orders.AsQueryable().Where(o => o.Total > captured).Count()", "9992"),
        ("\"abc\"u8", "! CS1073"),
    ];
    editor.check_results(&stop.frame, &expected).await?;
    editor.finish().await
}

async fn code_in_a_load_context_is_bound_to_its_own_assemblies(runtime: Runtime) -> anyhow::Result<()> {
    for context in ["file", "memory", "collectible", "bytes"] {
        let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
        let more = json!({ "args": [context], "expressionCompiler": any_compiler() });
        let stop = editor.launch_to(&fixture::program("compiled"), (older(), "inside"), more).await?;
        let expected = [
            ("orders.Count(o => o.secret == 42)", "1"),
            ("own.Twice(x => x + orders.Count(o => true))", "86"),
            ("orders.All(o => o.GetType() == typeof(Order))", "true"),
        ];
        editor.check_results(&stop.frame, &expected).await.with_context(|| format!("from {context}"))?;
        editor.ok("continue", json!({ "threadId": stop.thread })).await?;
        assert_eq!(editor.event("exited").await?["exitCode"], 0, "{context}: {:?}", editor.output);
        editor.finish().await?;
    }
    Ok(())
}

async fn an_expression_is_compiled_once_and_costs_a_call_afterwards(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let stop = editor.launch_to(&fixture::program("compiled"), (older(), "loop"), with_compiler()).await?;
    let expression = "numbers.Where(n => n > round).Count()";
    editor.check_results(&stop.frame, &[(expression, "3")]).await?;
    // The process that compiled it has ended and is not needed.
    kill_compiler(&stop)?;
    let mut thread = stop.thread;
    for (expected, other) in [("2", "! CS0103"), ("1", "4")] {
        editor.ok("continue", json!({ "threadId": thread })).await?;
        let (stopped, frame) = editor.stop().await?;
        thread = stopped;
        editor.check_results(&frame, &[(expression, expected)]).await?;
        // Another one starts it again.
        let text = if other == "4" { "numbers.Sum(n => n) - round" } else { "numbers.Sum(n => m)" };
        editor.check_results(&frame, &[(text, other)]).await?;
    }
    editor.finish().await
}

async fn a_condition_and_a_log_message_are_compiled_once(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let stop = editor.launch_to(&fixture::program("compiled"), (older(), "loop"), with_compiler()).await?;
    let line = stop.frame["line"].clone();
    let source = json!({ "path": older() });
    let logged = json!({ "line": line, "condition": "numbers.Count(n => n > 0) == 3 && round % 20 == 10",
        "logMessage": "round {round}: {string.Join(\"+\", numbers.Select(n => n * round))}" });
    editor.ok("setBreakpoints", json!({ "source": source, "breakpoints": [logged] })).await?;
    editor.ok("continue", json!({ "threadId": stop.thread })).await?;
    for round in [10, 30] {
        let text = format!("round {round}: {}+{}+{}\n", round, 2 * round, 3 * round);
        loop {
            let output = editor.event("output").await?["output"].clone();
            if output.as_str().is_some_and(|output| output.starts_with("round")) {
                assert_eq!(output, text);
                break;
            }
        }
    }
    assert_eq!(editor.event("exited").await?["exitCode"], 0);
    editor.finish().await
}

fn with_compiler() -> serde_json::Value {
    json!({ "expressionCompiler": any_compiler() })
}

/// Kills the process of the compiler that serves a session.
fn kill_compiler(stop: &Stop) -> anyhow::Result<()> {
    let processes = stop.compilers()?;
    anyhow::ensure!(processes.len() == 1, "{processes:?}");
    for process in processes {
        let killed = std::process::Command::new("kill").arg("-9").arg(process.to_string()).status()?;
        anyhow::ensure!(killed.success(), "process {process} was not killed");
    }
    Ok(())
}

/// The expressions between `Check(` and `);` in the program, in order.
fn table() -> anyhow::Result<Vec<String>> {
    let source = std::fs::read_to_string(modern("Table.cs"))?;
    let of = |line: &str| Some(line.trim().strip_prefix("Check(")?.strip_suffix(");")?.to_owned());
    Ok(source.lines().filter_map(of).collect())
}

async fn todays_csharp_has_the_values_that_the_program_prints(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let program = fixture::modern_program("compiled");
    let more = json!({ "args": ["table"] });
    let stop = editor.launch_to(&program, (modern("Table.cs"), "table"), more).await?;
    let printed = editor.ok("processReadOutput", json!({ "stream": "stdout" })).await?;
    let printed = printed["stdout"].as_str().context("no output")?.to_owned();
    let expressions = table()?;
    anyhow::ensure!(expressions.len() >= 150, "the table has only {} rows", expressions.len());
    anyhow::ensure!(printed.lines().count() == expressions.len(), "the program did not print the table");
    let expected: Vec<(&str, &str)> = expressions.iter().map(String::as_str).zip(printed.lines()).collect();
    editor.check_results(&stop.frame, &expected).await?;
    editor.finish().await
}

async fn private_members_can_be_used(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let program = fixture::modern_program("compiled");
    let more = json!({ "args": ["many"] });
    let stop = editor.launch_to(&program, (modern("Program.cs"), "many"), more).await?;
    let expected = [
        ("many[1].secret + many.Sum(o => o.secret)", "420042"),
        ("many[0].Twice(n => n + 1)", "86"),
        ("Order.Made(many.Count(o => true))", "10007"),
        ("new Order.Inner { Deep = 3 }.Deep + many.Count(o => o.inner.Deep == 9)", "10003"),
        ("many._size + many.Count(o => o.Number < 1)", "10001"),
    ];
    editor.check_results(&stop.frame, &expected).await?;
    editor.finish().await
}

async fn an_await_that_does_not_end_is_given_up(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let program = fixture::modern_program("compiled");
    let stop = editor.launch_to(&program, (modern("Program.cs"), "locked"), json!({})).await?;
    // The thread is free again.
    let expected =
        [("await other", "! EVALUATION_TIMEOUT"), ("gate != null", "true"), ("await Later(3)", "6")];
    editor.check_results(&stop.frame, &expected).await?;
    editor.finish().await
}

async fn evaluate_returns_the_compilers_error(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let program = fixture::modern_program("compiled");
    let stop = editor.launch_to(&program, (modern("Program.cs"), "service"), json!({})).await?;
    for (expression, code, column, end) in [
        ("name.Select(c => c) + typo", "CS0103", 23, 27),
        ("name.Where(c => c.Typo)", "CS1061", 19, 23),
        ("name.Where(c => 5)", "CS0029", 17, 18),
        ("name.Select(c => limit + own.Typo)", "CS1061", 30, 34),
        ("name.Aggregate((a, b) => a + b", "CS1026", 31, 31),
        ("await name", "CS1061", 1, 11),
        ("[1, 2]", "CS9176", 1, 7),
        ("own = name.Select(c => \"x\").First()", "CS0029", 7, 36),
    ] {
        let arguments = json!({ "expression": expression, "frameId": stop.frame["id"], "context": "repl" });
        let response = editor.ask("evaluate", arguments).await?;
        let error = &response.body["error"];
        let message = error["variables"]["message"].as_str().unwrap_or_default();
        assert!(
            !response.success && message.starts_with(&format!("{code}: ")),
            "{expression}: {}",
            response.body
        );
        let place = (&error["data"]["column"], &error["data"]["endColumn"]);
        assert_eq!(place, (&json!(column), &json!(end)), "{expression}: {message}");
        assert_eq!(error["data"]["diagnostics"][0]["code"], code, "{expression}");
    }
    // An expression that does not compile runs no code.
    editor
        .check_results(
            &stop.frame,
            &[("own", "5"), ("(own = 6) + name.Count(c => c.Typo)", "! CS1061"), ("own", "5")],
        )
        .await?;
    editor.finish().await
}

async fn an_error_in_a_value_to_set_has_its_number_and_column(runtime: Runtime) -> anyhow::Result<()> {
    for compiler in ["auto", "off"] {
        let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
        let program = fixture::modern_program("compiled");
        let more = json!({ "expressionCompiler": compiler });
        let stop = editor.launch_to(&program, (modern("Program.cs"), "service"), more).await?;
        let scopes = editor.ok("scopes", json!({ "frameId": stop.frame["id"] })).await?;
        let locals = scopes["scopes"][0]["variablesReference"].clone();
        for (value, code, column, end) in [
            ("1 + typo", "CS0103", 5, 9),
            ("given.Typo", "CS1061", 7, 11),
            ("\"text\"", "CS0029", 1, 7),
            ("(1 + given", "CS1026", 11, 11),
        ] {
            let variable = json!({ "variablesReference": locals, "name": "sum", "value": value });
            let expression = json!({ "frameId": stop.frame["id"], "expression": "this.own", "value": value });
            for (command, arguments) in [("setVariable", variable), ("setExpression", expression)] {
                let response = editor.ask(command, arguments).await?;
                let error = &response.body["error"];
                let message = error["variables"]["message"].as_str().unwrap_or_default();
                assert!(
                    !response.success && message.starts_with(code),
                    "{command} {value}: {}",
                    response.body
                );
                let place = (&error["data"]["column"], &error["data"]["endColumn"]);
                assert_eq!(place, (&json!(column), &json!(end)), "{command} {value}, {compiler}: {message}");
            }
        }
        // Columns of an error in the target of an assignment are those of the target.
        let arguments = json!({ "frameId": stop.frame["id"], "expression": "this.typo", "value": "1" });
        let response = editor.ask("setExpression", arguments).await?;
        assert_eq!(response.body["error"]["data"]["column"], 6, "{}", response.body);
        editor.check_results(&stop.frame, &[("own", "5")]).await?;
        editor.finish().await?;
    }
    Ok(())
}

async fn compiler_is_not_used_where_no_code_may_run(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let program = fixture::modern_program("compiled");
    let stop = editor.launch_to(&program, (modern("Program.cs"), "service"), json!({})).await?;
    let hover = |expression: &str| {
        json!({ "expression": expression, "frameId": stop.frame["id"],
        "context": "hover" })
    };
    let quiet = |expression: &str| {
        json!({ "expression": expression, "frameId": stop.frame["id"], "context": "repl",
            "allowSideEffects": false })
    };
    for expression in ["await Task.FromResult(1)", "(Func<int>)(() => own)", "name with { }"] {
        for arguments in [hover(expression), quiet(expression)] {
            let response = editor.ask("evaluate", arguments).await?;
            let message = response.body["error"]["variables"]["message"].as_str().unwrap_or_default();
            assert!(
                !response.success && message.contains("needs the C# compiler"),
                "{expression}: {}",
                response.body
            );
        }
    }
    // The debugger evaluates a lambda over objects in memory itself.
    assert_eq!(editor.ok("evaluate", hover("name.Count(c => c == 's')")).await?["result"], "1");
    assert_eq!(stop.compilers()?, [0u64; 0], "no evaluation needed it");
    editor.check_results(&stop.frame, &[("name.Count(c => c == 's')", "1")]).await?;
    assert_eq!(stop.compilers()?.len(), 1);
    editor.finish().await
}

async fn without_a_compiler_the_answer_says_what_it_needs(runtime: Runtime) -> anyhow::Result<()> {
    let empty = tempfile::tempdir()?;
    // An SDK that has no compiler of C#.
    let bare = tempfile::tempdir()?;
    std::fs::create_dir_all(bare.path().join("sdk/10.0.100"))?;
    std::fs::create_dir_all(bare.path().join("shared/Microsoft.NETCore.App/10.0.0"))?;
    std::fs::write(bare.path().join("dotnet"), "")?;
    for (choice, why) in [
        (json!("off"), "`expressionCompiler` is \"off\"".to_owned()),
        (json!(empty.path()), empty.path().display().to_string()),
        (
            json!(bare.path()),
            format!("no .NET SDK with a C# compiler was found in `{}`", bare.path().display()),
        ),
    ] {
        let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
        let program = fixture::modern_program("compiled");
        let more = json!({ "expressionCompiler": choice });
        let stop = editor.launch_to(&program, (modern("Program.cs"), "service"), more).await?;
        for expression in [
            "await Task.FromResult(1)",
            "(Func<int>)(() => own)",
            "[1, 2, .. name]",
            "name.AsQueryable().Where(c => true)",
        ] {
            let arguments =
                json!({ "expression": expression, "frameId": stop.frame["id"], "context": "repl" });
            let response = editor.ask("evaluate", arguments).await?;
            let error = response.body["error"].to_string();
            assert!(
                !response.success && error.contains("needs the C# compiler of a .NET SDK"),
                "{expression}: {error}"
            );
            let message = response.body["error"]["variables"]["message"].as_str().unwrap_or_default();
            assert!(message.contains(&why), "{expression}: {message}");
        }
        // Expressions that do not need one still work.
        editor
            .check_results(
                &stop.frame,
                &[("given.ToString().Count(c => c == '4')", "1"), ("own + given", "9")],
            )
            .await?;
        editor.finish().await?;
    }
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let arguments = json!({ "program": fixture::modern_program("compiled"), "expressionCompiler": "on" });
    assert_eq!(editor.refused("launch", arguments).await?, "INVALID_PARAMETER");
    editor.finish().await
}

async fn ten_thousand_elements_are_counted_in_the_program(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let program = fixture::modern_program("compiled");
    let more = json!({ "args": ["many"] });
    let stop = editor.launch_to(&program, (modern("Program.cs"), "many"), more).await?;
    let sum = "many.Where(o => o.Total > 3 && o.Name.Length > 1).Sum(o => o.Total)";
    editor.check_results(&stop.frame, &[(sum, "49994994")]).await?;
    let mut fastest = Duration::MAX;
    for _ in 0..10 {
        let start = std::time::Instant::now();
        editor.check_results(&stop.frame, &[(sum, "49994994")]).await?;
        fastest = fastest.min(start.elapsed());
    }
    // It takes some milliseconds; item by item in the debugger it takes seconds.
    assert!(fastest < scaled(Duration::from_millis(150)), "{fastest:?}");
    editor.finish().await
}
