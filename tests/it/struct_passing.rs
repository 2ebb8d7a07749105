//! Value types of every size, passed in every way to calls that the debugger makes: each expression has the
//! value that the program prints for it.

use anyhow::Context;
use serde_json::json;
use tandem_tests::client::DapClient;
use tandem_tests::fixture::{self, Runtime};
use tandem_tests::transcript::Transcript;

/// Maximum number of calls in one expression: together they have the time limit of one evaluation.
const MAX_TOGETHER: usize = 9;

net10_tests! {
    value_types_of_every_size_reach_calls_unchanged,
}

async fn value_types_of_every_size_reach_calls_unchanged(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let source = std::path::PathBuf::from(fixture::modern_source("shapes"));
    let program = fixture::modern_program("shapes");
    let off = json!({ "expressionCompiler": "off" });
    let mut stop = editor.launch_to(&program, (source.clone(), "rows"), off).await?;
    // A condition is a call like any other.
    let conditional = json!([
        { "line": fixture::modern_line("shapes", "rows") },
        { "line": fixture::modern_line("shapes", "constraint") },
        { "line": fixture::modern_line("shapes", "plain"), "condition": "red.Beside(red) == \
            \"200.10.7|200.10.7\"" },
    ]);
    editor.ok("setBreakpoints", json!({ "source": { "path": source }, "breakpoints": conditional })).await?;
    let (mut wrong, mut kinds, mut count) = (Vec::new(), 0, 0);
    let mut read = json!({ "stream": "stdout" });
    loop {
        let printed = editor.ok("processReadOutput", read.clone()).await?;
        read["since"] = printed["cursor"].clone();
        let printed = printed["stdout"].as_str().context("no output")?;
        let (kind, rows) =
            printed.rsplit_once("# ").and_then(|(_, last)| last.split_once('\n')).context("no table")?;
        let display = kind.contains('.').then_some(("one", "one.With(one)"));
        let rows: Vec<_> = rows.lines().filter_map(|row| row.split_once('\t')).collect();
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
    anyhow::ensure!(kinds == 25 && count > 1200, "only {count} expressions of {kinds} types were evaluated");
    anyhow::ensure!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}
