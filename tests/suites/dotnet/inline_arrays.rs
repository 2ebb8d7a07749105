//! Assignments to elements of inline arrays and spans: numbers and enums, references and structs, on the
//! stack and in objects.

use std::path::PathBuf;

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

net10_tests! {
    elements_of_inline_arrays_are_set,
    elements_of_spans_are_set,
    elements_that_are_not_there_are_not_written,
    without_a_compiler_an_element_that_it_would_take_is_refused,
}

struct InlineStop {
    editor: DapClient,
    thread: i64,
    frame: Value,
}

impl InlineStop {
    async fn at(runtime: Runtime, more: Value) -> anyhow::Result<Self> {
        let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
        let source = PathBuf::from(fixture::modern_source("inline"));
        let stop = editor.launch_to(&fixture::modern_program("inline"), (source, "here"), more).await?;
        Ok(Self { editor, thread: stop.thread, frame: stop.frame })
    }

    /// Sends `setExpression`.
    async fn set(&mut self, expression: &str, value: &str) -> anyhow::Result<()> {
        let arguments = json!({ "expression": expression, "value": value, "frameId": self.frame["id"] });
        let body = self
            .editor
            .ok("setExpression", arguments)
            .await
            .with_context(|| format!("{expression} = {value}"))?;
        let now = self.value(expression).await?;
        anyhow::ensure!(body["value"] == now, "{expression} = {value}: {body}, then {now}");
        Ok(())
    }

    /// `setVariable` of a row inside another.
    async fn set_inside(&mut self, of: &str, name: &str, value: &str) -> anyhow::Result<()> {
        let arguments = json!({ "expression": of, "frameId": self.frame["id"] });
        let opened = self.editor.ok("evaluate", arguments).await?;
        let arguments =
            json!({ "variablesReference": opened["variablesReference"], "name": name, "value": value });
        self.editor.ok("setVariable", arguments).await.with_context(|| format!("{of}: {name} = {value}"))?;
        Ok(())
    }

    async fn value(&mut self, expression: &str) -> anyhow::Result<Value> {
        let arguments = json!({ "expression": expression, "frameId": self.frame["id"] });
        Ok(self.editor.ok("evaluate", arguments).await?["result"].clone())
    }

    /// Why neither way of writing is taken.
    async fn refuses(&mut self, of: &str, index: &str, value: &str) -> anyhow::Result<String> {
        let arguments =
            json!({ "expression": format!("{of}[{index}]"), "value": value, "frameId": self.frame["id"] });
        let refused = self.editor.ask("setExpression", arguments).await?;
        anyhow::ensure!(!refused.success, "{of}[{index}] = {value} is written: {}", refused.body);
        let arguments = json!({ "expression": of, "frameId": self.frame["id"] });
        let opened = self.editor.ok("evaluate", arguments).await?;
        let name = format!("[{index}]");
        let arguments =
            json!({ "variablesReference": opened["variablesReference"], "name": name, "value": value });
        anyhow::ensure!(
            !self.editor.ask("setVariable", arguments).await?.success,
            "{of}: [{index}] = {value}"
        );
        Ok(refused.body["error"]["variables"]["message"].as_str().unwrap_or_default().to_owned())
    }

    /// Resumes; returns what the program itself prints about them in its next round, after a collection.
    async fn resume(mut self) -> anyhow::Result<Vec<String>> {
        self.editor.ok("continue", json!({ "threadId": self.thread })).await?;
        self.editor.stop().await?;
        self.editor.ok("continue", json!({ "threadId": self.thread })).await?;
        self.editor.event("exited").await?;
        let lines = self.editor.output[0].lines().map(str::to_owned).collect();
        self.editor.finish().await?;
        Ok(lines)
    }
}

async fn elements_of_inline_arrays_are_set(runtime: Runtime) -> anyhow::Result<()> {
    let mut stopped = InlineStop::at(runtime, json!({})).await?;
    for (expression, value) in [
        ("numbers[2]", "5"),
        ("numbers[^1]", "numbers[2] + 1"),
        ("days[1]", "DayOfWeek.Friday"),
        ("names[0]", "\"zero\""),
        ("names[1]", "names[0] + \"!\""),
        ("spots[2]", "new Spot(7, 8)"),
        ("spots[0].X", "6"),
        ("holder.Numbers[1]", "4"),
        ("holder.Names[2]", "\"kept\""),
        ("holder.Spots[1]", "new(1, 9)"),
    ] {
        stopped.set(expression, value).await?;
    }
    for (of, name, value) in [
        ("numbers", "[0]", "1"),
        ("names", "[1]", "\"one\""),
        ("names", "[3]", "\"three\""),
        ("holder.Names", "[0]", "\"new\""),
    ] {
        stopped.set_inside(of, name, value).await?;
    }
    // Elements that exist already.
    stopped.set_inside("names", "[3]", "null").await?;
    stopped.set_inside("names", "[3]", "\"last\"").await?;
    assert_eq!(stopped.value("numbers[1] = 3").await?, "3");
    assert_eq!(stopped.value("numbers[1] += 8").await?, "11");
    let lines = stopped.resume().await?;
    assert_eq!(lines[0], "1 11 5 6, Friday, zero one last, 6 7 8");
    assert_eq!(lines[1], "4 new kept 9");
    Ok(())
}

async fn elements_of_spans_are_set(runtime: Runtime) -> anyhow::Result<()> {
    let mut stopped = InlineStop::at(runtime, json!({})).await?;
    stopped.set("stack[1]", "9").await?;
    stopped.set("texts[1]", "\"b\"").await?;
    stopped.set("between[1].Y", "5").await?;
    for (of, name, value) in [
        ("texts", "[0]", "\"A\""),
        ("texts", "[2]", "null"),
        ("some", "[1]", "DayOfWeek.Sunday"),
        ("between", "[0]", "new Spot(3, 4)"),
    ] {
        stopped.set_inside(of, name, value).await?;
    }
    // A member of an element.
    let opened = stopped
        .editor
        .ok("evaluate", json!({ "expression": "between", "frameId": stopped.frame["id"] }))
        .await?;
    let arguments = json!({ "variablesReference": opened["variablesReference"] });
    let rows = stopped.editor.ok("variables", arguments).await?;
    let rows = rows["variables"].as_array().context("no rows")?;
    let second = rows.iter().find(|row| row["name"] == "[1]").context("no second")?;
    let arguments = json!({ "variablesReference": second["variablesReference"], "name": "X", "value": "12" });
    assert_eq!(stopped.editor.ok("setVariable", arguments).await?["value"], "12");
    let lines = stopped.resume().await?;
    assert_eq!(lines[2], "A b , 3 12 5, Sunday, 9 7");
    Ok(())
}

async fn elements_that_are_not_there_are_not_written(runtime: Runtime) -> anyhow::Result<()> {
    let mut stopped = InlineStop::at(runtime, json!({})).await?;
    for (of, index, value) in [
        ("numbers", "4", "1"),
        ("numbers", "-1", "1"),
        ("days", "4", "DayOfWeek.Friday"),
        ("names", "4", "\"x\""),
        ("names", "-1", "\"x\""),
        ("spots", "4", "new Spot(1, 1)"),
        ("holder.Names", "4", "null"),
        ("stack", "2", "1"),
        ("texts", "3", "\"x\""),
        ("between", "2", "new Spot(1, 1)"),
        ("numbers", "0", "\"text\""),
        ("names", "0", "5"),
    ] {
        let why = stopped.refuses(of, index, value).await?;
        anyhow::ensure!(!why.is_empty(), "{of}[{index}] = {value}");
    }
    let lines = stopped.resume().await?;
    assert_eq!(lines[0], "0 0 0 0, Sunday,   , 0 0 0");
    assert_eq!(lines[2], "a  c, 1 2 2, Tuesday, 2 7");
    Ok(())
}

/// The element is never written in part, nor to a copy.
async fn without_a_compiler_an_element_that_it_would_take_is_refused(runtime: Runtime) -> anyhow::Result<()> {
    let mut stopped = InlineStop::at(runtime, json!({ "expressionCompiler": "off" })).await?;
    stopped.set("numbers[2]", "5").await?;
    for (of, index) in [("names", "1"), ("texts", "0"), ("holder.Names", "2")] {
        let why = stopped.refuses(of, index, "\"x\"").await?;
        anyhow::ensure!(why.contains("no place"), "{why}");
    }
    // Structs without references, and their members, need no compiler.
    for (expression, value) in [("spots[2].X", "6"), ("holder.Spots[1].Y", "9"), ("between[1].Y", "5")] {
        stopped.set(expression, value).await?;
    }
    assert_eq!(stopped.value("(spots[3] = new Spot(7, 8)).X + spots[3].Y").await?, "15");
    let lines = stopped.resume().await?;
    assert_eq!(lines[0], "0 0 5 0, Sunday,   , 0 6 0");
    assert_eq!(lines[1], "0   9");
    assert_eq!(lines[2], "a  c, 1 2 5, Tuesday, 2 7");
    Ok(())
}
