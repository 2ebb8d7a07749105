//! The expression evaluator against the C# compiler: a program prints the values of its own expressions, and each is
//! evaluated in the debugger too.

use anyhow::Context;
use serde_json::json;
use tests::client::DapClient;
use tests::fixture::{self, Runtime};
use tests::transcript::Transcript;

stories! {
    expressions_have_the_values_the_compiler_gives_them,
}

/// What stands between `Check(` and `);` in the program, in order.
fn expressions() -> anyhow::Result<Vec<String>> {
    let source = std::fs::read_to_string(fixture::source("expressions"))?;
    let of = |line: &str| Some(line.trim().strip_prefix("Check(")?.strip_suffix(");")?.to_owned());
    Ok(source.lines().filter_map(of).collect())
}

async fn expressions_have_the_values_the_compiler_gives_them(runtime: Runtime) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("expressions", &["here"], json!({})).await?;
    let (_, frame) = editor.stop().await?;
    let printed = editor.ok("processReadOutput", json!({ "stream": "stdout" })).await?;
    let printed = printed["stdout"].as_str().context("no output")?.to_owned();
    let expressions = expressions()?;
    anyhow::ensure!(expressions.len() > 400, "the table has only {} rows", expressions.len());
    anyhow::ensure!(printed.lines().count() == expressions.len(), "the program did not print the table");
    let mut wrong = Vec::new();
    for (expression, expected) in expressions.iter().zip(printed.lines()) {
        let asked = json!({ "expression": expression, "frameId": frame["id"], "context": "repl" });
        let told = editor.ask("evaluate", asked).await?;
        let got = match told.success {
            true => format!(
                "{}\t{}",
                told.body["type"].as_str().unwrap_or_default(),
                told.body["result"].as_str().unwrap_or_default()
            ),
            false => format!("! {}", told.body["error"]["variables"]["message"]),
        };
        // Null has no type of its own where nothing was looked at, as behind `?.`.
        let is_null = expected.ends_with("\tnull") && got.ends_with("\tnull");
        if got != expected && !is_null {
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
