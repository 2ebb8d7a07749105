//! Three programs with a real bug, each found through MCP alone, as an agent would: calls and characters are
//! counted, since those are what an agent pays. `docs/mcp-tools.md` has the counts (`cargo build --workspace
//! && cargo nextest run hunts --no-capture` prints them).

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::child::{self, Subject};
use tandem_harness::fixture::{self, Runtime};
use tandem_harness::transcript::Transcript;

dotnet_tests! { a_wrong_sum_is_found_in_a_csharp_program }

net8_tests! { a_wrong_sum_is_found_in_a_csharp_program }

/// Says what a hunt took, and holds it to what is promised.
#[allow(clippy::print_stdout, reason = "the counts are what a reader of the test wants")]
fn check_cost(agent: &Agent, hunt: &str, calls: usize, characters: usize) {
    println!("{hunt}: {} calls, {} characters", agent.calls, agent.characters);
    assert_eq!(agent.calls, calls, "{hunt}");
    assert!(agent.characters <= characters, "{hunt}: {} characters", agent.characters);
}

/// Items that are removed while they are counted off: the one after a removed one is skipped.
async fn a_wrong_sum_is_found_in_a_csharp_program(runtime: Runtime) -> anyhow::Result<()> {
    let mut agent = Agent::start("agent", runtime, &Transcript::default()).await?;
    let source = fixture::source("cart");
    // The symptom, and what the loop really looks at.
    agent.call("debug_launch", json!({ "program": fixture::program("cart") })).await?;
    let trace = json!({ "sourceFile": source, "text": "if (item.Stale)", "expressions": ["i", "item.Name",
        "items.Count"] });
    let table = agent.call("debug_trace", trace).await?;
    assert_eq!(table["ended"], "exited", "{table}");
    assert_eq!(table["event"]["output"]["stdout"], "to pay: 35\n", "{table}");
    let names: Vec<&Value> = table["rows"].as_array().context("no rows")?.iter().map(|row| &row[1]).collect();
    // "bread" follows "milk" and is skipped.
    assert_eq!(json!(names), json!(["\"apples\"", "\"milk\"", "\"rice\""]), "{table}");
    // The proof: with the index put back after a removal (the line is a test and a removal), the sum is
    // right.
    let again = json!({ "program": fixture::program("cart"), "run": true,
        "breakpoints": [{ "sourceFile": source, "text": "if (item.Stale)", "condition": "item.Stale" }] });
    let stop = agent.call("debug_launch", again).await?;
    assert_eq!(stop["event"]["type"], "breakpointHit", "{stop}");
    agent.call("debug_step_over", json!({ "count": 2 })).await?;
    agent.call("debug_set_variable", json!({ "name": "i", "value": "i - 1" })).await?;
    agent.call("debug_continue", json!({})).await?;
    agent.call("debug_step_over", json!({ "count": 2 })).await?;
    agent.call("debug_set_variable", json!({ "name": "i", "value": "i - 1" })).await?;
    let ended = agent.call("debug_continue", json!({})).await?;
    assert_eq!(ended["event"]["output"]["stdout"], "to pay: 30\n", "{ended}");
    check_cost(&agent, "C#, a wrong sum", 9, 6000);
    agent.finish().await
}

/// A list made once for all calls.
#[tokio::test]
async fn a_value_from_nowhere_is_found_in_a_python_program() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut agent = Agent::in_folder("agent", folder.path(), &[], &Transcript::default()).await?;
    let mut launch = child::python("guests.py");
    launch["run"] = json!(true);
    // The second order, before anything is put on its bill.
    launch["breakpoints"] = json!([{ "sourceFile": child::source("guests.py"), "text": "bill.append",
        "condition": "dish == 'tea'" }]);
    let stop = agent.call("debug_launch", launch).await?;
    let bill = json!({ "name": "bill", "value": "[('coffee', 3)]" });
    assert!(stop["event"]["locals"].as_array().context("no locals")?.contains(&bill), "{stop}");
    // Not an argument of the caller's: the default itself.
    let arguments = json!({ "expressions": ["order.__defaults__[0] is bill"] });
    let why = agent.call("debug_evaluate", arguments).await?;
    assert_eq!(why["results"][0]["result"], "True", "{why}");
    // The proof: with a separate bill the sum is right.
    agent.call("debug_set_variable", json!({ "name": "bill", "value": "[]" })).await?;
    let ended = agent.call("debug_continue", json!({})).await?;
    assert_eq!(ended["event"]["output"]["stdout"], "second table: 2\n", "{ended}");
    check_cost(&agent, "Python, a value from nowhere", 4, 3000);
    agent.finish().await
}

/// No entry is found, and its null pointer is called anyway.
#[tokio::test]
async fn a_crash_is_found_in_a_c_program() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut agent = Agent::in_folder("agent", folder.path(), &[], &Transcript::default()).await?;
    let mut launch = Subject::Lldb.launch();
    launch["program"] = json!(child::native("phones"));
    launch["run"] = json!(true);
    let crash = agent.call("debug_launch", launch).await?;
    let event = &crash["event"];
    assert_eq!((&event["type"], &event["function"]), (&json!("exception"), &json!("call")), "{crash}");
    let line = std::fs::read_to_string(child::source("phones.c"))?
        .lines()
        .position(|line| line.contains("calling"))
        .context("no such line")?;
    assert_eq!(event["line"], line + 1, "{crash}");
    // The argument of the call, and the elements of the list.
    let result = agent
        .call("debug_evaluate", json!({ "expressions": ["entry", "name", "first->next->name"] }))
        .await?;
    let results: Vec<String> = result["results"]
        .as_array()
        .context("no results")?
        .iter()
        .map(|row| row["result"].to_string())
        .collect();
    assert!(results[0].contains("0x0000000000000000") || results[0].contains("NULL"), "{result}");
    assert!(results[1].contains("bob") && results[2].contains("carol"), "{result}");
    check_cost(&agent, "C, a crash", 2, 3000);
    agent.finish().await
}
