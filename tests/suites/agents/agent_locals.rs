//! Variables that an agent gets at a stop, if the adapter divides them into scopes.

use serde_json::{Value, json};
use tandem_harness::agent::Agent;
use tandem_harness::child::{self, Subject};
use tandem_harness::transcript::Transcript;

const TOTAL: &str = "\
function total(prices) {
  let sum = 0;
  for (const price of prices) {
    const before = sum;
    sum += price;
    if (price > 0) {
      const sum = before;
      console.log(sum, price);
    }
  }
  return sum;
}
console.log(total([1, 2]));
";

/// The values of the rows with a name.
fn value<'a>(rows: &'a Value, name: &str) -> Vec<&'a str> {
    let named = rows.as_array().into_iter().flatten().filter(|row| row["name"] == name);
    named.filter_map(|row| row["value"].as_str()).collect()
}

/// Each block of JavaScript is a separate scope: an agent that read only the innermost
/// missed changes of a step.
#[tokio::test]
async fn variables_of_every_block_are_listed() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let script = folder.path().join("total.js");
    std::fs::write(&script, TOTAL)?;
    let mut agent = Agent::in_folder("agent", folder.path(), &[], &Transcript::default()).await?;
    let mut arguments = Subject::Js.with(json!({ "program": script, "run": true }));
    arguments["breakpoints"] = json!([{ "sourceFile": script, "line": 5 }]);
    let hit = agent.call("debug_launch", arguments).await?;
    let locals = &hit["event"]["locals"];
    assert_eq!((value(locals, "before"), value(locals, "sum")), (vec!["0"], vec!["0"]), "{hit}");
    let stepped = agent.call("debug_step_over", json!({})).await?;
    assert_eq!(value(&stepped["event"]["changed"], "sum"), ["1"], "{stepped}");
    // The inner `sum` hides the outer one.
    agent.call("debug_step_over", json!({})).await?;
    let inner = agent.call("debug_step_over", json!({})).await?;
    assert_eq!(inner["event"]["line"], 8, "{inner}");
    let result = agent.call("debug_variables", json!({})).await?;
    assert_eq!(
        (value(&result["variables"], "sum"), value(&result["variables"], "price")),
        (vec!["0"], vec!["1"]),
        "{result}"
    );
    let first = agent.call("debug_variables", json!({ "count": 1 })).await?;
    let rest = agent.call("debug_variables", json!({ "start": first["next"] })).await?;
    let count = |answer: &Value| answer["variables"].as_array().map(Vec::len);
    let sum = count(&first).zip(count(&rest)).map(|(one, other)| one + other);
    assert_eq!(sum, count(&result), "{first} {rest} {result}");
    // Each is set where it is: `before` in the loop, the inner `sum` where it hides the outer one.
    let set = agent.call("debug_set_variable", json!({ "name": "before", "value": "40" })).await?;
    assert_eq!(set["value"], "40", "{set}");
    let set = agent.call("debug_set_variable", json!({ "name": "sum", "value": "50" })).await?;
    assert_eq!(set["value"], "50", "{set}");
    let values = agent.call("debug_evaluate", json!({ "expression": "before + sum" })).await?;
    assert_eq!(values["result"], "90", "{values}");
    agent.finish().await
}

/// gdb keeps the arguments apart from the locals.
#[tokio::test]
async fn arguments_are_listed_beside_the_locals() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut agent = Agent::in_folder("agent", folder.path(), &[], &Transcript::default()).await?;
    let mut arguments = Subject::Gdb.with(json!({ "program": child::native("phones"), "run": true }));
    arguments["breakpoints"] =
        json!([{ "sourceFile": child::source("phones.c"), "text": "printf(\"calling" }]);
    let hit = agent.call("debug_launch", arguments).await?;
    let locals = &hit["event"]["locals"];
    assert_eq!((value(locals, "name").len(), value(locals, "entry").len()), (1, 1), "{hit}");
    agent.finish().await
}
