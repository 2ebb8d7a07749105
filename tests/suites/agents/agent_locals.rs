//! Variables that an agent gets at a stop, if the adapter divides them into scopes.

use anyhow::{Context, ensure};
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

const ELEMENTS: [(Subject, &str, &str); 3] = [
    (
        Subject::Python,
        "elements.py",
        "names = {(\"a\", 1), (\"b\", 2)}\n\
         table = {\"it's \\\"x\\\"\": [1, 2], (1, 2): {\"k\": [3]}, 4: {5}}\n\
         print(len(names) + len(table))\n",
    ),
    (
        Subject::Js,
        "elements.js",
        "const table = new Map([[\"a b\", { x: [1] }], [{ y: 2 }, [3]]]);\n\
         const names = new Set([{ z: [4] }, [5]]);\n\
         console.log(table.size + names.size);\n",
    ),
    (
        Subject::Rdbg,
        "elements.rb",
        "names = [[1, 2], { a: [3] }]\n\
         table = { \"a b\" => [4], sym: { x: [5] } }\n\
         puts names.size + table.size\n",
    ),
];

/// Reads the rows of the value at a path; a value without rows is a failure.
async fn rows_at(agent: &mut Agent, path: &str) -> anyhow::Result<Vec<Value>> {
    let answer = agent.call("debug_variables", json!({ "path": path })).await?;
    let rows = answer["variables"].as_array().with_context(|| format!("{path}: {answer}"))?;
    ensure!(!rows.is_empty(), "{path}: {answer}");
    Ok(rows.clone())
}

/// The path of a row: its own, else what the path of its parent and its name suggest.
fn path_of(parent: &str, row: &Value) -> String {
    let name = row["name"].as_str().unwrap_or_default();
    match row["path"].as_str() {
        Some(path) => path.to_owned(),
        None if name.starts_with('[') => format!("{parent}{name}"),
        None if name.bytes().all(|byte| byte.is_ascii_digit()) => format!("{parent}[{name}]"),
        None => format!("{parent}.{name}"),
    }
}

/// An element of a set has no expression, and the key of a map may need quotes.
#[tokio::test]
async fn every_element_is_expanded_by_its_path() -> anyhow::Result<()> {
    for (subject, file, code) in ELEMENTS {
        let folder = tempfile::tempdir()?;
        let script = folder.path().join(file);
        std::fs::write(&script, code)?;
        let mut agent = Agent::in_folder("agent", folder.path(), &[], &Transcript::default()).await?;
        let mut arguments = subject.with(json!({ "program": script, "run": true }));
        arguments["breakpoints"] = json!([{ "sourceFile": script, "line": 3 }]);
        let hit = agent.call("debug_launch", arguments).await?;
        ensure!(hit["state"] == "stopped", "{hit}");
        let mut expanded = 0;
        let mut waiting = vec!["names".to_owned(), "table".to_owned()];
        while let Some(parent) = waiting.pop() {
            for row in rows_at(&mut agent, &parent).await? {
                // Groups, prototypes and Ruby's `#class` have hundreds of rows, and lead in circles.
                let name = row["name"].as_str().unwrap_or_default();
                let others = ["variables", "[[Prototype]]", "#class"];
                let is_element = !others.iter().any(|other| name.contains(other));
                if row["expandable"] == true && is_element && parent.len() < 60 {
                    waiting.push(path_of(&parent, &row));
                    expanded += 1;
                }
            }
        }
        ensure!(expanded >= 4, "{file}: {expanded}");
        agent.finish().await?;
    }
    Ok(())
}

/// The elements of a sparse array are not next to each other: an answer with few rows may be one of many.
#[tokio::test]
async fn a_sparse_array_continues_behind_its_gaps() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let script = folder.path().join("sparse.js");
    std::fs::write(&script, "const sparse = [1];\nsparse[500] = { z: 3 };\nconsole.log(sparse.length);\n")?;
    let mut agent = Agent::in_folder("agent", folder.path(), &[], &Transcript::default()).await?;
    let mut arguments = Subject::Js.with(json!({ "program": script, "run": true }));
    arguments["breakpoints"] = json!([{ "sourceFile": script, "line": 3 }]);
    agent.call("debug_launch", arguments).await?;
    let (mut names, mut start) = (Vec::new(), json!(0));
    while !start.is_null() {
        let arguments = json!({ "path": "sparse", "start": start, "count": 200 });
        let answer = agent.call("debug_variables", arguments).await?;
        let rows = answer["variables"].as_array().context("no rows")?;
        names.extend(rows.iter().map(|row| row["name"].clone()));
        start = answer["next"].clone();
    }
    ensure!(names.contains(&json!("0")) && names.contains(&json!("500")), "{names:?}");
    ensure!(names.contains(&json!("length")), "{names:?}");
    agent.finish().await
}
