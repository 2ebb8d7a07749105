//! Expressions of Rust under lldb, which compiles C++: elements, references, methods of the library, texts
//! and enumerations, in the console, in assignments, conditions and log messages. Not here: how values are
//! shown (`native_types`).

use std::collections::HashMap;

use anyhow::Context;
use serde_json::{Value, json};
use tandem_harness::child::Subject;
use tandem_harness::client::DapClient;
use tandem_harness::transcript::Transcript;

use super::native_values::{compiled, line_of};

const SHOP: &str = r#"use std::collections::{BTreeMap, HashMap, VecDeque};
use std::rc::Rc;
#[derive(Debug, Clone, Copy, PartialEq)]
enum Color { Red, Green }
struct Item { price: i32, name: String, tags: Vec<u8>, color: Color, place: (i32, f64) }
struct Shop { items: Vec<Item>, grid: [[i32; 2]; 2], debts: HashMap<u32, i64>, stock: BTreeMap<String, i32> }
impl Shop {
    fn total(&self, extra: &mut Vec<i32>) -> i32 {
        let mut sum = 0;
        for at in 0..self.items.len() {
            sum += self.items[at].price; // LOOP
        }
        extra[0] += 1;
        sum + extra[0] // TOTAL
    }
}
fn item(price: i32) -> Item {
    let color = if price > 2 { Color::Green } else { Color::Red };
    Item { price, name: format!("n{price}"), tags: vec![price as u8, 9], color, place: (price, 0.5) }
}
fn main() {
    let shop = Shop {
        items: vec![item(1), item(3), item(5)],
        grid: [[1, 2], [3, 4]],
        debts: HashMap::from([(7, -70)]),
        stock: BTreeMap::from([("k".to_string(), 11)]),
    };
    let boxed = Box::new(item(8));
    let shared = Rc::new(vec![1u16, 2]);
    let maybe: Option<Vec<i32>> = Some(vec![6, 7]);
    let ring = VecDeque::from([1.5, 2.5]);
    let (text, pair, letters) = ("h\u{e9}", (3, "x"), vec!['a', '\u{e9}']);
    let part = &shop.items[1..];
    let mut extra = vec![10, 20];
    let total = shop.total(&mut extra);
    let tags = boxed.tags.len() + boxed.place.0 as usize + shared.len() + ring.len();
    std::process::exit(total + tags as i32 + maybe.map_or(0, |list| list[0]) // MAIN
        + (text.len() + part.len() + letters.len()) as i32 + pair.0 + shop.grid[0][0]
        + (shop.debts.len() + shop.stock.len() + part[0].name.len() + shop.items[0].color as usize) as i32);
}
"#;

#[tokio::test]
async fn expressions_of_rust_have_values_under_lldb() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let (source, program) = compiled(folder.path(), "main.rs", SHOP)?;
    let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
    editor.ok("initialize", json!({ "clientID": "test", "adapterID": "tandem" })).await?;
    let launch = editor.send("launch", Subject::Lldb.with(json!({ "program": program }))).await?;
    editor.initialized(launch).await?;
    let condition = "self.items[at].price == 3 && self.items[at].name == \"n3\"";
    let breakpoints = json!([
        { "line": line_of(SHOP, "LOOP")?, "condition": condition },
        { "line": line_of(SHOP, "TOTAL")?, "logMessage": "{sum} of {self.items.len()}, {extra[0]}" },
        { "line": line_of(SHOP, "MAIN")? },
    ]);
    editor.ok("setBreakpoints", json!({ "source": { "path": source }, "breakpoints": breakpoints })).await?;
    editor.ok("configurationDone", Value::Null).await?;
    anyhow::ensure!(editor.response(launch).await?.success, "not launched");

    // The condition is false at the first item.
    let (thread, frame) = editor.stop().await?;
    expect_values(
        &mut editor,
        &frame,
        &[
            ("at", "1"),
            ("self.items[at].price", "3"),
            ("self.items[at + 1].price * 2", "10"),
            ("self.items[self.items.len() - 1].price", "5"),
            ("extra[1]", "20"),
            ("extra[0] + extra[1]", "30"),
            ("extra.len()", "2"),
            ("self.grid[1][0]", "3"),
        ],
    )
    .await?;
    expect_refusals(
        &mut editor,
        &frame,
        &[
            ("extra[2]", "the index 2 is out of range: `extra` has 2 elements"),
            ("self.grid[2][0]", "the index 2 is out of range"),
        ],
    )
    .await?;
    editor.ok("continue", json!({ "threadId": thread })).await?;
    editor.wait_for_console("9 of 3, 11").await?;

    let (thread, frame) = editor.stop().await?;
    expect_values(
        &mut editor,
        &frame,
        &[
            ("shop.items[1].price + 1", "4"),
            ("shop.items[0].price + shop.items[2].price", "6"),
            ("shop.items[1].place.0 + 1", "4"),
            ("pair.0 + 1", "4"),
            ("shop.items[1].color == Color::Green", "true"),
            ("shop.items[0].color != Color::Red", "false"),
            ("shop.items[1].name == \"n3\"", "true"),
            ("text == \"x\"", "false"),
            ("letters[1] == '\u{e9}'", "true"),
            ("shop.debts[&7] - 1", "-71"),
            ("shop.stock[\"k\"] + 1", "12"),
            ("boxed.tags[1] == 9u8", "true"),
            ("shared[1]", "2"),
            ("ring[1] * 2", "5"),
            ("maybe.is_some() && maybe.unwrap()[1] == 7", "true"),
            ("part[0].price > 2", "true"),
            ("text.len()", "3"),
            ("shop.items.is_empty()", "false"),
            ("shop.items[shop.grid[0][0]].price", "3"),
        ],
    )
    .await?;
    expect_refusals(
        &mut editor,
        &frame,
        &[
            ("shop.items[3].price == 1", "the index 3 is out of range"),
            ("shop.stock[\"z\"]", "no element has the key \"z\""),
        ],
    )
    .await?;
    // An assignment changes the program, whose exit code has the first one.
    for assignment in ["shop.grid[0][0] = 40", "boxed.place.0 += 1"] {
        editor.ok("evaluate", watch(assignment, &frame)).await?;
    }
    expect_values(&mut editor, &frame, &[("shop.grid[0][0]", "40"), ("boxed.place.0", "9")]).await?;
    // The statement has several places on its first line.
    editor.ok("setBreakpoints", json!({ "source": { "path": source }, "breakpoints": [] })).await?;
    editor.ok("continue", json!({ "threadId": thread })).await?;
    let unchanged = 20 + (2 + 8 + 2 + 2) + 6 + (3 + 2 + 2) + 3 + 1 + 1 + (1 + 2);
    assert_eq!(editor.event("exited").await?["exitCode"], unchanged + 39);
    editor.event("terminated").await?;
    editor.finish().await
}

fn watch(expression: &str, frame: &Value) -> Value {
    json!({ "expression": expression, "frameId": frame["id"], "context": "watch" })
}

async fn expect_values(
    editor: &mut DapClient,
    frame: &Value,
    expected: &[(&str, &str)],
) -> anyhow::Result<()> {
    for (expression, value) in expected {
        let found = editor
            .ok("evaluate", watch(expression, frame))
            .await
            .with_context(|| (*expression).to_owned())?;
        assert_eq!(found["result"], *value, "{expression}");
    }
    Ok(())
}

async fn expect_refusals(
    editor: &mut DapClient,
    frame: &Value,
    expected: &[(&str, &str)],
) -> anyhow::Result<()> {
    for (expression, reason) in expected {
        let body = editor.ask("evaluate", watch(expression, frame)).await?.body;
        anyhow::ensure!(body.to_string().contains(&reason.replace('"', "\\\"")), "{expression}: {body}");
    }
    Ok(())
}
