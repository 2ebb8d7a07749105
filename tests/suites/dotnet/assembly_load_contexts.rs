//! Assemblies that come and go, come twice, or come from bytes: breakpoints bind in each, and the list of
//! modules is right.

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::client::DapClient;
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! {
    a_breakpoint_binds_in_each_context_and_the_list_follows_what_is_unloaded,
    two_copies_of_an_assembly_have_their_own_statics,
    an_assembly_from_bytes_finds_its_symbols_where_the_compiler_put_them,
    symbols_given_as_bytes_are_used,
    code_made_at_run_time_is_passed_through,
}

net8_tests! {
    a_breakpoint_binds_in_each_context_and_the_list_follows_what_is_unloaded,
    two_copies_of_an_assembly_have_their_own_statics,
}

/// A stop in `Called`: its module, its argument, and the static of its class.
type Stop = (i64, String, String);

struct ScenarioRun {
    stops: Vec<Stop>,
    /// `new 2`, `changed 12`, `removed 12`: of the modules that are copies of the program's assembly.
    modules: Vec<String>,
    /// Modules that `modules` listed at the last stop.
    list: Vec<Value>,
    frames: Vec<String>,
}

/// Runs one of the program's scenarios to its end.
async fn run(runtime: Runtime, scenario: &str) -> anyhow::Result<ScenarioRun> {
    let mut editor = DapClient::start("editor", runtime, &Transcript::default())?;
    editor.launch("contexts", &["called"], json!({ "args": [scenario] })).await?;
    let is_copy = |module: &Value| module["name"].as_str().is_some_and(|name| name.starts_with("contexts"));
    let mut seen =
        ScenarioRun { stops: Vec::new(), modules: Vec::new(), list: Vec::new(), frames: Vec::new() };
    loop {
        let (event, body) = editor.any_event(&["stopped", "module", "exited"]).await?;
        match event.as_str() {
            "exited" => {
                anyhow::ensure!(body["exitCode"] == 0, "{body}");
                break;
            }
            "module" if is_copy(&body["module"]) => {
                let reason = body["reason"].as_str().unwrap_or_default();
                seen.modules.push(format!("{reason} {}", body["module"]["id"]));
            }
            "module" => {}
            _ => {
                let thread = body["threadId"].clone();
                let stack = editor.ok("stackTrace", json!({ "threadId": thread })).await?;
                let frames = stack["stackFrames"].as_array().context("no frames")?;
                assert_eq!(frames[0]["line"], fixture::line("contexts", "called"));
                seen.frames =
                    frames.iter().map(|frame| frame["name"].as_str().unwrap_or_default().into()).collect();
                let mut values = Vec::new();
                for expression in ["number", "count"] {
                    let arguments = json!({ "expression": expression, "frameId": frames[0]["id"] });
                    let body = editor.ok("evaluate", arguments).await?;
                    values.push(body["result"].as_str().unwrap_or_default().to_owned());
                }
                let count = values.pop().unwrap_or_default();
                let module = frames[0]["moduleId"].as_i64().context("no module")?;
                seen.stops.push((module, values.pop().unwrap_or_default(), count));
                let body = editor.ok("modules", json!({})).await?;
                let list = body["modules"].as_array().context("no modules")?;
                seen.list = list.iter().filter(|module| is_copy(module)).cloned().collect();
                // However many modules have it, a place is one.
                let line = fixture::line("contexts", "called");
                let arguments = json!({ "source": { "path": fixture::source("contexts") }, "line": line });
                let places = editor.ok("breakpointLocations", arguments).await?;
                assert_eq!(places["breakpoints"].as_array().map(Vec::len), Some(1), "{places}");
                editor.ok("continue", json!({ "threadId": thread })).await?;
            }
        }
    }
    editor.finish().await?;
    Ok(seen)
}

fn numbers(seen: &ScenarioRun) -> Vec<(&str, &str)> {
    seen.stops.iter().map(|(_, number, count)| (number.as_str(), count.as_str())).collect()
}

async fn a_breakpoint_binds_in_each_context_and_the_list_follows_what_is_unloaded(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let seen = run(runtime, "unloaded").await?;
    assert_eq!(numbers(&seen), [("0", "0"), ("1", "0")]);
    let (first, second) = (seen.stops[0].0, seen.stops[1].0);
    let own = seen.list[0]["id"].as_i64().unwrap_or(0);
    let mut expected = vec![
        format!("new {own}"),
        format!("new {first}"),
        format!("removed {first}"),
        format!("new {second}"),
    ];
    // At the end of the program the last one may stay.
    if seen.modules.len() > expected.len() {
        expected.push(format!("removed {second}"));
    }
    assert_eq!(seen.modules, expected);
    let ids: Vec<&Value> = seen.list.iter().map(|module| &module["id"]).collect();
    assert_eq!(ids, [&json!(own), &json!(second)]);
    Ok(())
}

async fn two_copies_of_an_assembly_have_their_own_statics(runtime: Runtime) -> anyhow::Result<()> {
    let seen = run(runtime, "together").await?;
    assert_eq!(numbers(&seen), [("0", "0"), ("1", "0"), ("2", "1"), ("3", "1"), ("4", "0")]);
    let of: Vec<i64> = seen.stops.iter().map(|(module, ..)| *module).collect();
    assert_eq!((of[0], of[1]), (of[2], of[3]));
    anyhow::ensure!(of[0] != of[1] && of[4] != of[0] && of[4] != of[1], "{of:?}");
    assert_eq!(seen.list.len(), 3);
    for module in &seen.list {
        assert_eq!(module["path"], fixture::program("contexts"));
    }
    Ok(())
}

async fn an_assembly_from_bytes_finds_its_symbols_where_the_compiler_put_them(
    runtime: Runtime,
) -> anyhow::Result<()> {
    let seen = run(runtime, "bytes").await?;
    assert_eq!(numbers(&seen), [("10", "0")]);
    let module = seen.list.last().context("no module")?;
    assert_eq!((&module["name"], &module["path"]), (&json!("contexts"), &Value::Null));
    assert_eq!(module["symbolStatus"], "Symbols loaded; loaded from memory");
    assert_eq!(module["version"], "1.0.0.0");
    Ok(())
}

async fn symbols_given_as_bytes_are_used(runtime: Runtime) -> anyhow::Result<()> {
    let seen = run(runtime, "symbols").await?;
    // The third copy was loaded without symbols.
    assert_eq!(numbers(&seen), [("20", "0"), ("21", "0")]);
    let [first, second] = [seen.stops[0].0, seen.stops[1].0];
    let modules: Vec<&str> = seen.modules.iter().skip(1).take(4).map(String::as_str).collect();
    assert_eq!(
        modules,
        [
            format!("new {first}"),
            format!("changed {first}"),
            format!("new {second}"),
            format!("changed {second}")
        ]
    );
    assert_eq!(seen.modules.len(), 6);
    let module = seen.list.last().context("no module")?;
    assert_eq!(module["symbolStatus"], "Symbols loaded; loaded from memory");
    assert_eq!(module["symbolFilePath"], Value::Null);
    Ok(())
}

async fn code_made_at_run_time_is_passed_through(runtime: Runtime) -> anyhow::Result<()> {
    let seen = run(runtime, "made").await?;
    assert_eq!(numbers(&seen), [("30", "0")]);
    assert_eq!(
        seen.frames,
        ["Program.Called(int number)", "[Lightweight Function]", "Program.Main(string[] args)"]
    );
    Ok(())
}
