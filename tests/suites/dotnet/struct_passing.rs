//! Value types of every size, passed in every way to calls that the debugger makes: each expression has the
//! value that the program prints for it.
//!
//! .NET 10 has the program in current C#, with every way. The other runtimes have one in older C#; the gate
//! runs them only in its longest form.

use std::path::PathBuf;

use anyhow::Context;
use serde_json::json;
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

/// Maximum number of calls in one expression: together they have the time limit of one evaluation.
const MAX_TOGETHER: usize = 9;

net10_tests! {
    value_types_of_every_size_reach_calls_unchanged,
}
tests_on! { on_net31, Net31: value_types_reach_calls_of_older_runtimes_unchanged }
tests_on! { on_net8, Net8: value_types_reach_calls_of_older_runtimes_unchanged }
tests_on! { on_net9, Net9: value_types_reach_calls_of_older_runtimes_unchanged }

/// A program that prints expressions and their values, and how many it has at least.
struct Printing {
    program: String,
    source: PathBuf,
    /// Lines that it stops at after a table, except the last.
    lines: Vec<i64>,
    /// Line behind the last table.
    last: i64,
    kinds: usize,
    expressions: usize,
}

async fn value_types_of_every_size_reach_calls_unchanged(runtime: Runtime) -> anyhow::Result<()> {
    let line = |marker| fixture::modern_line("shapes", marker);
    let shapes = Printing {
        program: fixture::modern_program("shapes"),
        source: fixture::modern_source("shapes").into(),
        lines: ["rows", "constraint"].map(line).into(),
        last: line("plain"),
        kinds: 25,
        expressions: 1200,
    };
    expect_printed_values(runtime, shapes).await
}

async fn value_types_reach_calls_of_older_runtimes_unchanged(runtime: Runtime) -> anyhow::Result<()> {
    let line = |marker| fixture::line("sizes", marker);
    let sizes = Printing {
        program: fixture::program("sizes"),
        source: fixture::source("sizes").into(),
        lines: vec![line("rows")],
        last: line("plain"),
        kinds: 21,
        expressions: 640,
    };
    expect_printed_values(runtime, sizes).await
}

/// The expression of a row: the row has it itself, or the number of its line in the source.
fn expression_at<'text>(place: &'text str, source: &'text str) -> &'text str {
    let line = place.parse::<usize>().ok().and_then(|number| source.lines().nth(number.checked_sub(1)?));
    let call = line.and_then(|line| line.trim().strip_prefix("Check(")?.strip_suffix(");"));
    call.unwrap_or(place)
}

async fn expect_printed_values(runtime: Runtime, printing: Printing) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let source = printing.source;
    let off = json!({ "expressionCompiler": "off" });
    let mut stop = editor.launch_to(&printing.program, (source.clone(), "rows"), off).await?;
    // A condition is a call like any other.
    let condition = "red.Beside(red) == \"200.10.7|200.10.7\"";
    let mut conditional: Vec<_> = printing.lines.iter().map(|line| json!({ "line": line })).collect();
    conditional.push(json!({ "line": printing.last, "condition": condition }));
    editor.ok("setBreakpoints", json!({ "source": { "path": source }, "breakpoints": conditional })).await?;
    let (mut wrong, mut kinds, mut count) = (Vec::new(), 0, 0);
    let mut read = json!({ "stream": "stdout" });
    let text = std::fs::read_to_string(&source)?;
    loop {
        let printed = editor.ok("processReadOutput", read.clone()).await?;
        read["since"] = printed["cursor"].clone();
        let printed = printed["stdout"].as_str().context("no output")?;
        let (kind, rows) =
            printed.rsplit_once("# ").and_then(|(_, last)| last.split_once('\n')).context("no table")?;
        let display = kind.contains('.').then_some(("one", "one.With(one)"));
        let rows: Vec<_> = rows.lines().filter_map(|row| row.split_once('\t')).collect();
        let rows: Vec<_> =
            rows.into_iter().map(|(place, value)| (expression_at(place, &text), value)).collect();
        anyhow::ensure!(!rows.is_empty(), "no rows for {kind}");
        // One expression has the values of several rows: each answer costs the client more than a call costs
        // the debugger.
        for rows in rows.chunks(MAX_TOGETHER) {
            let expressions: Vec<_> = rows.iter().map(|(expression, _)| *expression).collect();
            let whole = format!("new object[] {{ {} }}", expressions.join(", "));
            let ask = json!({ "expression": whole, "frameId": stop.frame["id"], "context": "repl" });
            let answer = editor.ask("evaluate", ask).await?;
            anyhow::ensure!(answer.success, "{kind}: {}", answer.body);
            let page = json!({ "variablesReference": answer.body["variablesReference"], "start": 0,
                "count": rows.len() });
            let page = editor.ok("variables", page).await?;
            let values = page["variables"].as_array().context("no values")?;
            anyhow::ensure!(
                values.len() == rows.len(),
                "{kind}: {} values of {} rows",
                values.len(),
                rows.len()
            );
            for ((expression, expected), value) in rows.iter().zip(values) {
                if value["value"] != *expected {
                    let got = &value["value"];
                    wrong.push(format!(
                        "{kind}: {expression}\n    compiled:  {expected}\n    debugger:  {got}"
                    ));
                }
            }
        }
        if let Some((value, display)) = display {
            let shown = editor.evaluate_text(value, &stop.frame).await?;
            let called = editor.evaluate_text(display, &stop.frame).await?;
            anyhow::ensure!(shown == called, "{kind}: the display is {shown}, its method returns {called}");
        }
        (kinds, count) = (kinds + 1, count + rows.len());
        if kind == "plain" {
            break;
        }
        editor.ok("continue", json!({ "threadId": stop.thread })).await?;
        (stop.thread, stop.frame) = editor.stop().await?;
    }
    editor.finish().await?;
    let enough = kinds == printing.kinds && count > printing.expressions;
    anyhow::ensure!(enough, "only {count} expressions of {kinds} types were evaluated");
    anyhow::ensure!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}
