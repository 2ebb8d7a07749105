//! Objects, types and names made to break a debugger that shows them: every request is answered, the host
//! stays small, the program survives.

use std::collections::VecDeque;

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::Runtime;
use tandem_harness::transcript::Transcript;

// On .NET Core 3.1 a call that spins cannot be aborted: the thread evaluates nothing more, and the program
// cannot resume.
mod on_net9 {
    #[tokio::test]
    async fn everything_evil_can_be_evaluated() -> anyhow::Result<()> {
        super::everything_evil_can_be_evaluated(tandem_harness::fixture::Runtime::Net9).await
    }

    #[tokio::test]
    async fn everything_evil_can_be_opened() -> anyhow::Result<()> {
        super::everything_evil_can_be_opened(tandem_harness::fixture::Runtime::Net9).await
    }
}

/// Maximum memory that the host may have used, KiB.
const MAX_MEMORY: u64 = 400 * 1024;
/// Below 8,000 frames, on a separate thread; with `ToString` allowed.
async fn start_program(runtime: Runtime) -> anyhow::Result<(DapClient, i64, Value)> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    let more = json!({ "expressionEvaluationOptions": { "allowToString": true } });
    editor.launch("evil", &["here", "after"], more).await?;
    let (thread, frame) = editor.stop().await?;
    Ok((editor, thread, frame["id"].clone()))
}

async fn locals(editor: &mut DapClient, frame: &Value) -> anyhow::Result<Vec<Value>> {
    let scopes = editor.ok("scopes", json!({ "frameId": frame })).await?;
    let reference = scopes["scopes"][0]["variablesReference"].clone();
    let body = editor.ok("variables", json!({ "variablesReference": reference })).await?;
    body["variables"].as_array().cloned().context("no variables")
}

/// The most memory that the host has used, KiB.
fn used(process: &Value) -> anyhow::Result<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process["systemProcessId"]))?;
    let parent = stat.rsplit(')').next().and_then(|rest| rest.split_ascii_whitespace().nth(1));
    let status = std::fs::read_to_string(format!("/proc/{}/status", parent.context("no parent")?))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

async fn everything_evil_can_be_evaluated(runtime: Runtime) -> anyhow::Result<()> {
    let (mut editor, thread, frame) = start_program(runtime).await?;
    let process = editor.event("process").await?;
    let names: Vec<String> = locals(&mut editor, &frame)
        .await?
        .iter()
        .filter_map(|row| row["name"].as_str().map(str::to_owned))
        .collect();
    for name in &names {
        for (expression, context) in [
            (name.clone(), "watch"),
            (format!("{name},raw"), "repl"),
            (name.clone(), "hover"),
            (name.clone(), "clipboard"),
            (format!("{name}.GetType()"), "repl"),
            (format!("{name} == {name}"), "repl"),
            (format!("\"\" + {name}"), "repl"),
        ] {
            // It takes too long, throws an exception that cannot be shown, or returns a value: it is
            // answered.
            let arguments = json!({ "expression": expression, "frameId": frame, "context": context });
            let response = editor.ask("evaluate", arguments).await?;
            let text = response.body.to_string();
            assert!(text.len() < 3 << 20, "{expression}: {} bytes", text.len());
            let code = response.body["error"]["variables"]["code"].as_str().unwrap_or_default();
            assert!(response.success || code.starts_with("EVALUATION_"), "{expression}: {}", response.body);
        }
        let arguments = json!({ "frameId": frame, "text": format!("{name}."), "column": name.len() + 2 });
        editor.ok("completions", arguments).await?;
    }
    for (expression, result) in
        [("brokenText.Length", "28"), ("brokenText[5]", "55296 '\\ud800'"), ("chain.At", "99999")]
    {
        let arguments = json!({ "expression": expression, "frameId": frame });
        assert_eq!(editor.ok("evaluate", arguments).await?["result"], result, "{expression}");
    }
    let used = used(&process)?;
    assert!(used < MAX_MEMORY, "{used} KiB");
    editor.ok("continue", json!({ "threadId": thread })).await?;
    editor.stop().await?;
    editor.finish().await
}

/// Maximum number of rows that are expanded, and their depth.
const MAX_ROWS: usize = 150;
const MAX_DEPTH: usize = 3;

async fn everything_evil_can_be_opened(runtime: Runtime) -> anyhow::Result<()> {
    let (mut editor, thread, frame) = start_program(runtime).await?;
    let process = editor.event("process").await?;
    let rows = locals(&mut editor, &frame).await?;
    let reference = |row: &Value| row["variablesReference"].as_i64().filter(|reference| *reference > 0);
    let mut closed: VecDeque<(i64, usize, String)> = VecDeque::new();
    for row in &rows {
        let name = row["name"].as_str().unwrap_or_default();
        closed.extend(reference(row).map(|reference| (reference, 1, name.to_owned())));
    }
    let mut opened = 0;
    while let Some((parent, depth, path)) = closed.pop_front().filter(|_| opened < MAX_ROWS) {
        opened += 1;
        let response = editor.ask("variables", json!({ "variablesReference": parent })).await?;
        let code = response.body["error"]["variables"]["code"].as_str().unwrap_or_default();
        // An expanded row reports that its code failed; so does a row that is refused.
        assert!(
            response.success || !matches!(code, "" | "TIMEOUT" | "ENGINE_FAILED"),
            "{path}: {}",
            response.body
        );
        assert!(response.body.to_string().len() < 3 << 20, "{path} is too long");
        for row in response.body["variables"].as_array().into_iter().flatten().filter(|_| depth < MAX_DEPTH) {
            let name = row["name"].as_str().unwrap_or_default();
            closed.extend(reference(row).map(|below| (below, depth + 1, format!("{path} > {name}"))));
        }
    }
    assert!(opened > 50, "only {opened} rows could be opened");
    let used = used(&process)?;
    assert!(used < MAX_MEMORY, "{used} KiB");
    editor.ok("continue", json!({ "threadId": thread })).await?;
    editor.stop().await?;
    editor.finish().await
}
