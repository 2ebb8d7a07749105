//! `suppressJITOptimizations`: variables of optimised libraries. Of code that was compiled ahead of time:
//! [`super::published_programs`].

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::distant::{self, COMPILED, DistantSources};
use tandem_harness::fixture::Runtime;

dotnet_tests! {
    variables_of_an_optimised_library_are_seen,
}

/// The rows of a frame's variables: names and values.
pub(crate) async fn variables(
    editor: &mut DapClient,
    frame: &Value,
) -> anyhow::Result<Vec<(String, String)>> {
    let scopes = editor.ok("scopes", json!({ "frameId": frame["id"] })).await?;
    let reference = &scopes["scopes"][0]["variablesReference"];
    let rows = editor.ok("variables", json!({ "variablesReference": reference })).await?;
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let rows = rows["variables"].as_array().into_iter().flatten();
    Ok(rows.map(|row| (text(row, "name"), text(row, "value"))).collect())
}

async fn variables_of_an_optimised_library_are_seen(runtime: Runtime) -> anyhow::Result<()> {
    let distant = DistantSources::new(runtime)?;
    for suppressed in [false, true] {
        let mut editor = distant
            .launch(&["calls"], json!({ "justMyCode": true, "suppressJITOptimizations": suppressed }))
            .await?;
        let (thread, _) = editor.stop().await?;
        let expected =
            json!({ "source": { "path": COMPILED }, "breakpoints": [{ "line": distant::line("seen") }] });
        editor.ok("setBreakpoints", expected).await?;
        editor.ok("continue", json!({ "threadId": thread })).await?;
        let (thread, _) = editor.stop().await?;
        let stack = editor.ok("stackTrace", json!({ "threadId": thread })).await?;
        let frame = &stack["stackFrames"][1];
        assert!(frame["name"].as_str().is_some_and(|name| name.contains("Counter.Weigh")), "{stack}");
        if suppressed {
            assert_eq!(frame["line"], distant::line("weighs"), "a caller is in the statement that calls");
        }
        let rows = variables(&mut editor, frame).await?;
        for (name, value) in [("weights", "{int[2]}"), ("factor", "3"), ("total", "12"), ("index", "0")] {
            let row = rows.iter().find(|(own, _)| own == name).with_context(|| format!("no {name}"))?;
            assert!(!suppressed || row.1 == value, "{row:?}");
        }
        let missing = rows.iter().filter(|(_, value)| value.contains("the code is optimised")).count();
        assert_eq!(missing == 0, suppressed, "{rows:?}");
        // `weight` cannot be read here, and other variables can, also `weights`.
        let inside =
            json!({ "source": { "path": COMPILED }, "breakpoints": [{ "line": distant::line("weighs") }] });
        editor.ok("setBreakpoints", inside).await?;
        editor.ok("continue", json!({ "threadId": thread })).await?;
        let (_, frame) = editor.stop().await?;
        let rows = variables(&mut editor, &frame).await?;
        for (name, value) in rows.iter().filter(|(_, value)| !value.contains("the code is optimised")) {
            let ask = json!({ "expression": name, "frameId": frame["id"], "context": "watch" });
            assert_eq!(editor.ok("evaluate", ask).await?["result"], *value, "{name}");
        }
        anyhow::ensure!(rows.iter().any(|(name, _)| name == "weight"), "{rows:?}");
        editor.finish().await?;
    }
    Ok(())
}
