//! Types of Rust and of C++'s library as lldb and gdb show them, each with the exact text: the table of
//! docs/languages/native.md.

use std::collections::HashMap;

use anyhow::Context;
use serde_json::json;
use tandem_harness::child::Subject;
use tandem_harness::client::DapClient;
use tandem_harness::fixture;
use tandem_harness::transcript::Transcript;

use crate::native_values::{compiled, line_of, values_at};

/// Maximum characters of a value with parts.
const MAX_TEXT_CHARS: usize = 80;

const RUST: &str = r#"#![allow(unused_variables, dead_code)]
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
enum Shape { Circle(f64), Rect { w: i32, h: i32 }, Empty }
enum Grade { Low, High }
struct Point { x: i32, y: i32 }
struct Meters(f64);
struct Account { name: String, balance: i64, history: Vec<i32>, at: Point, best: Option<i32> }
struct Chain { next: Option<Rc<RefCell<Chain>>>, number: i32 }
fn main() {
    let text = "a \"b\"";
    let owned = String::from("owned");
    let list = vec![1, 2, 3];
    let names: Vec<String> = (0..100).map(|number| format!("number {number}")).collect();
    let deque = VecDeque::from([1, 2]);
    let map = HashMap::from([("a", 1)]);
    let set = HashSet::from([7]);
    let tree: BTreeMap<&str, i32> = BTreeMap::from([("a", 1), ("b", 2)]);
    let sorted: BTreeSet<i32> = (0..1000).collect();
    let some = Some("x");
    let none: Option<String> = None;
    let inner = Some(Some(String::new()));
    let fine: Result<i32, String> = Ok(3);
    let failed: Result<i32, String> = Err("bad".into());
    let (rect, circle, empty) = (Shape::Rect { w: 1, h: 2 }, Shape::Circle(1.5), Shape::Empty);
    let level = Grade::High;
    let path = PathBuf::from("/tmp/x");
    let os = OsString::from("os");
    let counted = Rc::new(Point { x: 3, y: 4 });
    let shared = Arc::new(Mutex::new(1));
    let cell = Cell::new(4);
    let borrowed = RefCell::new(vec![1]);
    let boxed = Box::new(Point { x: 5, y: 6 });
    let slice = &list[1..];
    let array = [1u8, 2, 3];
    let tuple = (1, "two");
    let number = NonZeroU32::new(9).unwrap();
    let letter = 'a';
    let meters = Meters(2.5);
    let account = Account {
        name: "ann".into(),
        balance: 70,
        history: vec![30, 5],
        at: Point { x: 1, y: 2 },
        best: Some(3),
    };
    let chain = Rc::new(RefCell::new(Chain { next: None, number: 1 }));
    chain.borrow_mut().next = Some(chain.clone());
    println!("{}", sorted.len()); // BP here
}
"#;

const CPP: &str = r#"#include <array>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stack>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>
struct Coord { int x, y; };
enum class Color { Red, Green };
struct Base { virtual ~Base() = default; int id = 1; };
struct Deposit : Base {
    std::string name = "ann";
    long balance = 70;
    std::vector<int> history{30, 5};
    Coord at{1, 2};
};
struct Ring { Ring *next; int number; };
int main() {
    std::string text = "ann";
    std::string_view view = text;
    std::vector<int> list{1, 2, 3};
    std::vector<int> many(1000, 7);
    std::vector<Coord> points{{1, 2}};
    std::deque<int> deque{1, 2};
    std::list<int> linked{1, 2};
    std::map<std::string, int> map{{"a", 1}};
    std::unordered_map<int, std::string> hash{{1, "a"}};
    std::set<int> set{1, 2};
    std::unordered_set<int> seen{7};
    std::array<int, 3> array{1, 2, 3};
    std::pair<int, std::string> pair{1, "two"};
    std::tuple<int, std::string> tuple{1, "two"};
    std::optional<int> some = 5, none;
    std::variant<int, std::string> variant = "v";
    std::unique_ptr<int> unique = std::make_unique<int>(6), null;
    std::shared_ptr<Coord> shared(new Coord{3, 4});
    std::stack<int> stack;
    stack.push(1);
    std::filesystem::path path = "/tmp/x";
    Color color = Color::Green;
    Coord point{3, 4};
    Coord *pointer = &point;
    int numbers[3] = {1, 2, 3};
    Deposit account;
    Ring ring{&ring, 1};
    std::printf("%s %d\n", text.c_str(), many[0] + numbers[0] + (color == Color::Green)); // BP here
}
"#;

/// A variable, its type as its language writes it, and what gdb and lldb show; an address is `0x…`.
type Row = (&'static str, &'static str, &'static str, &'static str);

/// A row that both debuggers show in the same way.
const fn both(name: &'static str, kind: &'static str, shown: &'static str) -> Row {
    (name, kind, shown, shown)
}

const RUST_ROWS: &[Row] = &[
    both("text", "&str", r#""a \"b\"""#),
    both("owned", "String", r#""owned""#),
    both("list", "Vec<i32>", "Vec(size=3) {1, 2, 3}"),
    both(
        "names",
        "Vec<String>",
        r#"Vec(size=100) {"number 0", "number 1", "number 2", "number 3", "number 4", …}"#,
    ),
    both("deque", "VecDeque<i32>", "VecDeque(size=2) {1, 2}"),
    both("map", "HashMap<&str, i32>", r#"HashMap(size=1) {"a": 1}"#),
    both("set", "HashSet<i32>", "HashSet(size=1) {7}"),
    both("tree", "BTreeMap<&str, i32>", r#"BTreeMap(size=2) {"a": 1, "b": 2}"#),
    both(
        "sorted",
        "BTreeSet<i32>",
        "BTreeSet(size=1000) {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, …}",
    ),
    both("some", "Option<&str>", r#"Some("x")"#),
    both("none", "Option<String>", "None"),
    both("inner", "Option<Option<String>>", r#"Some(Some(""))"#),
    both("fine", "Result<i32, String>", "Ok(3)"),
    both("failed", "Result<i32, String>", r#"Err("bad")"#),
    both("rect", "enum Shape", "Rect {w: 1, h: 2}"),
    both("circle", "enum Shape", "Circle(1.5)"),
    both("empty", "enum Shape", "Empty"),
    both("level", "enum Grade", "High"),
    both("path", "PathBuf", r#""/tmp/x""#),
    both("os", "OsString", r#""os""#),
    both("counted", "Rc<Point>", "Rc(strong=1, weak=0) {Point {x: 3, y: 4}}"),
    both("shared", "Arc<Mutex<i32>>", "Arc(strong=1, weak=0) {Mutex {1}}"),
    both("cell", "Cell<i32>", "Cell {4}"),
    both("borrowed", "RefCell<Vec<i32>>", "RefCell(borrow=0) {Vec(size=1) {1}}"),
    both("boxed", "Box<Point>", "0x… Point {x: 5, y: 6}"),
    both("slice", "&[i32]", "&[i32](size=2) {2, 3}"),
    both("array", "[u8; 3]", "[1, 2, 3]"),
    both("tuple", "(i32, &str)", r#"(1, "two")"#),
    both("number", "NonZeroU32", "9"),
    ("letter", "char", "'a'", "U+0x00000061 'a'"),
    both("meters", "struct Meters(f64)", "Meters(2.5)"),
    both(
        "account",
        "struct Account",
        r#"Account {name: "ann", balance: 70, history: Vec(size=2) {30, 5}, …}"#,
    ),
];

const CPP_ROWS: &[Row] = &[
    both("text", "std::string", r#""ann""#),
    both("view", "std::string_view", r#""ann""#),
    both("list", "std::vector<int>", "vector(size=3) {1, 2, 3}"),
    both(
        "many",
        "std::vector<int>",
        "vector(size=1000) {7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, …}",
    ),
    both("points", "std::vector<Coord>", "vector(size=1) {{x = 1, y = 2}}"),
    both("deque", "std::deque<int>", "deque(size=2) {1, 2}"),
    both("linked", "std::list<int>", "list(size=2) {1, 2}"),
    both("map", "std::map<std::string, int>", r#"map(size=1) {"a": 1}"#),
    both("hash", "std::unordered_map<int, std::string>", r#"unordered_map(size=1) {1: "a"}"#),
    both("set", "std::set<int>", "set(size=2) {1, 2}"),
    both("seen", "std::unordered_set<int>", "unordered_set(size=1) {7}"),
    both("array", "std::array<int, 3>", "array(size=3) {1, 2, 3}"),
    both("pair", "std::pair<int, std::string>", r#"(1, "two")"#),
    both("tuple", "std::tuple<int, std::string>", r#"(1, "two")"#),
    both("some", "std::optional<int>", "optional(5)"),
    both("none", "std::optional<int>", "nullopt"),
    both("variant", "std::variant<int, std::string>", r#"variant("v")"#),
    both("unique", "std::unique_ptr<int>", "unique_ptr(6)"),
    both("null", "std::unique_ptr<int>", "unique_ptr(nullptr)"),
    both("shared", "std::shared_ptr<Coord>", "shared_ptr({x = 3, y = 4})"),
    both("stack", "std::stack<int>", "stack(size=1) {1}"),
    both("path", "std::filesystem::path", r#""/tmp/x""#),
    both("color", "enum class Color", "Green"),
    both("point", "struct Coord", "{x = 3, y = 4}"),
    both("pointer", "Coord *", "0x… {x = 3, y = 4}"),
    both("numbers", "int[3]", "{1, 2, 3}"),
    both(
        "account",
        "struct Deposit : Base",
        r#"{id = 1, name = "ann", balance = 70, history = vector(size=2) {30, 5}, at = {…}}"#,
    ),
    both("ring", "struct Ring", "{next = 0x… {next = 0x…, number = 1}, number = 1}"),
];

/// A text with its addresses as `0x…`.
fn without_addresses(text: &str) -> String {
    let mut parts = text.split("0x");
    let mut shortened = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let behind = part.trim_start_matches(|digit: char| digit.is_ascii_hexdigit());
        // Of a character it is part of the name.
        let number = part.get(..part.len() - behind.len()).unwrap_or_default();
        let shown = if shortened.ends_with("U+") { number } else { "…" };
        shortened.push_str(&format!("0x{shown}{behind}"));
    }
    shortened
}

/// The differences from the expected rows, one line for each.
async fn wrong(subject: Subject, name: &str, text: &str, rows: &[Row]) -> anyhow::Result<Vec<String>> {
    let folder = tempfile::tempdir()?;
    let files = compiled(folder.path(), name, text)?;
    let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
    let values = values_at(&mut editor, subject, &files, line_of(text, "BP here")?).await?;
    let mut wrong = Vec::new();
    for (name, kind, gdb, lldb) in rows {
        let expected = if subject == Subject::Gdb { gdb } else { lldb };
        let shown =
            values.get(*name).map(|row| row["value"].as_str().unwrap_or_default()).unwrap_or_default();
        if without_addresses(shown) != *expected || shown.chars().count() > MAX_TEXT_CHARS {
            wrong.push(format!("{subject:?}: {name}: {kind} is {shown}"));
        }
    }
    editor.finish().await?;
    Ok(wrong)
}

#[tokio::test]
async fn types_of_rust_are_shown_as_their_users_write_them() -> anyhow::Result<()> {
    for subject in [Subject::Gdb, Subject::Lldb] {
        assert_eq!(wrong(subject, "main.rs", RUST, RUST_ROWS).await?, Vec::<String>::new());
    }
    Ok(())
}

#[tokio::test]
async fn types_of_cpps_library_are_shown_as_their_users_write_them() -> anyhow::Result<()> {
    for subject in [Subject::Gdb, Subject::Lldb] {
        assert_eq!(wrong(subject, "main.cpp", CPP, CPP_ROWS).await?, Vec::<String>::new());
    }
    Ok(())
}

/// Text with parts that lead back to itself ends.
#[tokio::test]
async fn a_recursive_value_is_truncated() -> anyhow::Result<()> {
    for subject in [Subject::Gdb, Subject::Lldb] {
        let folder = tempfile::tempdir()?;
        let files = compiled(folder.path(), "main.rs", RUST)?;
        let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
        let values = values_at(&mut editor, subject, &files, line_of(RUST, "BP here")?).await?;
        let chain = values["chain"]["value"].as_str().context("no text")?;
        let expected = "Rc(strong=2, weak=0) {RefCell(borrow=0) {Chain {next: Some({…}), number: 1}}}";
        assert_eq!(chain, expected, "{subject:?}");
        editor.finish().await?;
    }
    Ok(())
}

/// Types of which lldb itself shows nothing can be expanded, too.
#[tokio::test]
async fn a_hash_table_of_cpps_library_opens() -> anyhow::Result<()> {
    for subject in [Subject::Gdb, Subject::Lldb] {
        let folder = tempfile::tempdir()?;
        let files = compiled(folder.path(), "main.cpp", CPP)?;
        let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
        let values = values_at(&mut editor, subject, &files, line_of(CPP, "BP here")?).await?;
        let inside = json!({ "variablesReference": values["seen"]["variablesReference"] });
        let rows = editor.ok("variables", inside).await?;
        assert_eq!(rows["variables"][0]["value"], "7", "{subject:?}: {rows}");
        editor.finish().await?;
    }
    Ok(())
}

#[tokio::test]
async fn functions_of_rust_have_no_hashes() -> anyhow::Result<()> {
    for subject in [Subject::Gdb, Subject::Lldb] {
        let folder = tempfile::tempdir()?;
        let (source, program) = compiled(folder.path(), "main.rs", RUST)?;
        let mut editor = DapClient::start_in("editor", HashMap::new(), &Transcript::default())?;
        let line = i64::try_from(line_of(RUST, "BP here")?)?;
        editor.launch_child(subject.with(json!({ "program": program })), &source, &[line]).await?;
        let (thread, frame) = editor.stop().await?;
        assert_eq!(frame["name"], "main::main", "{subject:?}");
        let arguments = json!({ "threadId": thread });
        let stack = editor.ok("stackTrace", arguments).await?;
        let names: Vec<&str> = stack["stackFrames"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|frame| frame["name"].as_str())
            .collect();
        assert!(
            !names.iter().any(|name| name.contains("::h") || name.contains('$')),
            "{subject:?}: {names:?}"
        );
        editor.finish().await?;
    }
    Ok(())
}

/// The table of the documentation is the one that the tests above check.
#[test]
fn documentation_contains_the_table_of_types() -> anyhow::Result<()> {
    let text = std::fs::read_to_string(fixture::root().join("docs/languages/native.md"))?;
    let cell = |text: &str| format!("`{}`", text.replace('|', "\\|"));
    for (_, kind, gdb, lldb) in RUST_ROWS.iter().chain(CPP_ROWS) {
        let shown =
            if gdb == lldb { cell(gdb) } else { format!("{} (gdb), {} (lldb)", cell(gdb), cell(lldb)) };
        let row = format!("| {} | {shown} |", cell(kind));
        assert!(text.contains(&row), "docs/languages/native.md has no row {row}");
    }
    Ok(())
}

#[test]
fn an_address_is_left_out_and_a_character_is_not() {
    assert_eq!(without_addresses("0x00ff {x = 1, y = 0x1}"), "0x… {x = 1, y = 0x…}");
    assert_eq!(without_addresses("U+0x00000061 'a'"), "U+0x00000061 'a'");
}
