//! `evaluateName` of every row, in programs with values of many kinds, two levels deep: the expression
//! has the value that the row shows.
//!
//! Not here: rows of static members, whose class an expression initialises and a row does not.

use std::collections::HashSet;
use std::path::PathBuf;

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

/// Maximum number of rows that are inspected in one stop.
const MAX_ROWS: usize = 250;
/// Maximum number of rows of one object.
const MAX_PAGE: usize = 20;

/// Declares a test for each program: where it is, and its name.
macro_rules! programs {
    ($($test:ident: $of:ident $name:literal),* $(,)?) => {
        net10_tests! { $($test),* }
        $(async fn $test(runtime: Runtime) -> anyhow::Result<()> {
            check_evaluate_names(runtime, $of($name)).await
        })*
    };
}

programs! {
    rows_of_values_lead_back: older "values",
    rows_of_scopes_lead_back: older "scopes",
    rows_of_framework_values_lead_back: older "glance",
    rows_of_groups_lead_back: older "groups",
    rows_of_collections_lead_back: older "collections",
    rows_of_made_code_lead_back: older "made",
    rows_of_async_methods_lead_back: older "asyncs",
    rows_of_captured_variables_lead_back: older "compiled",
    rows_of_newer_captured_variables_lead_back: newer "compiled",
    rows_of_newer_framework_values_lead_back: newer "glance",
    rows_of_inline_arrays_lead_back: newer "inline",
    rows_of_twin_assemblies_lead_back: newer "twins",
}

struct FixtureProgram {
    path: String,
    folder: PathBuf,
}

fn older(name: &str) -> FixtureProgram {
    FixtureProgram {
        path: fixture::program(name),
        folder: fixture::root().join("fixtures/programs/dotnet").join(name),
    }
}

fn newer(name: &str) -> FixtureProgram {
    FixtureProgram {
        path: fixture::modern_program(name),
        folder: fixture::root().join("fixtures/programs/modern").join(name),
    }
}

impl FixtureProgram {
    /// Its sources, with the lines that have markers.
    fn places(&self) -> anyhow::Result<Vec<(PathBuf, Vec<usize>)>> {
        let (mut folders, mut found) = (vec![self.folder.clone()], Vec::new());
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "cs") {
                    let text = std::fs::read_to_string(&path)?;
                    let marked = text.lines().enumerate().filter(|(_, line)| line.contains("// BP "));
                    found.push((path, marked.map(|(at, _)| at + 1).collect()));
                }
            }
        }
        Ok(found)
    }
}

/// A row that has an expression, and where it was found.
struct NamedRow {
    place: String,
    expression: String,
    value: String,
}

async fn check_evaluate_names(runtime: Runtime, program: FixtureProgram) -> anyhow::Result<()> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    // Of a long list, rows call only some of the objects' `ToString`.
    let options = json!({ "allowToString": false });
    let launch = editor
        .send("launch", json!({ "program": program.path, "expressionEvaluationOptions": options }))
        .await?;
    editor.initialized(launch).await?;
    for (path, lines) in program.places()? {
        let breakpoints: Vec<_> = lines.iter().map(|line| json!({ "line": line })).collect();
        let place = json!({ "source": { "path": path }, "breakpoints": breakpoints });
        editor.ok("setBreakpoints", place).await?;
    }
    editor.ok("configurationDone", json!({})).await?;
    editor.response(launch).await?;
    let (mut wrong, mut count, mut seen) = (Vec::new(), 0, HashSet::new());
    loop {
        let (name, stopped) = editor.any_event(&["stopped", "terminated"]).await?;
        if name == "terminated" {
            break;
        }
        let thread = stopped["threadId"].clone();
        let stack = editor.ok("stackTrace", json!({ "threadId": thread, "levels": 1 })).await?;
        let frame = &stack["stackFrames"][0];
        if seen.insert(frame["line"].to_string() + &frame["source"]["path"].to_string()) {
            let rows = rows(&mut editor, frame).await?;
            count += rows.len();
            wrong.extend(differing(&mut editor, frame, rows).await?);
        }
        editor.ok("continue", json!({ "threadId": thread })).await?;
    }
    editor.finish().await?;
    anyhow::ensure!(count > 10, "only {count} rows were evaluated");
    anyhow::ensure!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

/// The rows of a frame and of what is in them.
async fn rows(editor: &mut DapClient, frame: &Value) -> anyhow::Result<Vec<NamedRow>> {
    let scopes = editor.ok("scopes", json!({ "frameId": frame["id"] })).await?;
    let scopes = scopes["scopes"].as_array().context("no scopes")?;
    let scope = |scope: &Value| (scope["variablesReference"].clone(), String::new(), 0);
    let mut left: std::collections::VecDeque<_> = scopes.iter().map(scope).collect();
    let (mut found, mut known) = (Vec::new(), HashSet::new());
    while let Some((reference, place, depth)) = left.pop_front() {
        let page = json!({ "variablesReference": reference, "start": 0, "count": MAX_PAGE });
        let answer = editor.ask("variables", page).await?;
        for row in answer.body["variables"].as_array().into_iter().flatten() {
            let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
            let place = format!("{place}/{}", text("name"));
            let hint = &row["presentationHint"];
            // The getters of one object are called: each returns an object of a more derived type.
            if hint["lazy"] == true && !place.starts_with("/gallery") || text("name") == "Static members" {
                continue;
            }
            let deepest = if place.starts_with("/gallery") { 4 } else { 2 };
            if row["variablesReference"] != 0 && depth < deepest {
                left.push_back((row["variablesReference"].clone(), place.clone(), depth + 1));
            }
            let expression = text("evaluateName");
            let is_value = hint["kind"] != "virtual" && hint["lazy"] != true;
            if expression.is_empty() || !is_value || !known.insert(expression.clone()) {
                continue;
            }
            found.push(NamedRow { place, expression, value: text("value") });
            if found.len() == MAX_ROWS {
                return Ok(found);
            }
        }
    }
    Ok(found)
}

/// Rows whose expressions do not return the value that they show.
async fn differing(
    editor: &mut DapClient,
    frame: &Value,
    rows: Vec<NamedRow>,
) -> anyhow::Result<Vec<String>> {
    let mut seqs = Vec::new();
    for row in &rows {
        let ask = json!({ "expression": row.expression, "frameId": frame["id"], "context": "watch" });
        seqs.push(editor.send("evaluate", ask).await?);
    }
    let mut wrong = Vec::new();
    for (row, seq) in rows.iter().zip(seqs) {
        let answer = editor.response(seq).await?;
        let message = &answer.body["error"]["variables"]["message"];
        let got = answer.body["result"].as_str().map_or_else(|| format!("! {message}"), str::to_owned);
        if got != row.value {
            let NamedRow { place, expression, value } = row;
            wrong.push(format!(
                "{}{place}: {expression}: the row shows {value}, evaluated {got}",
                frame["line"]
            ));
        }
    }
    Ok(wrong)
}
