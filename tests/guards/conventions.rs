//! Conventions of the sources that a test can check: headers, names, widths of lines, dependencies of
//! crates.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::sources::{root, sources, text};

#[test]
fn every_file_says_what_it_is_for() {
    let silent: Vec<PathBuf> = sources().into_iter().filter(|path| !text(path).starts_with("//! ")).collect();
    assert!(silent.is_empty(), "these do not open with `//!`: {silent:?}");
}

#[test]
fn no_test_file_is_forgotten() {
    let suites = root().join("tests/suites");
    let is_suite = |folder: &std::path::Path| folder.parent() == Some(suites.as_path());
    for path in sources() {
        let Some(folder) = path.parent().filter(|folder| is_suite(folder)) else { continue };
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let main = text(&folder.join("main.rs"));
        assert!(
            name == "main" || main.contains(&format!("mod {name};")),
            "{} is not in its suite's main.rs",
            path.display()
        );
    }
}

/// `./check` leaves these to `./check --all`; a renamed test would silently come back.
#[test]
fn every_slow_test_exists() {
    let script = text(&root().join("scripts/lib/checks/rust_tests.py"));
    let list = script
        .split_once("SLOW_TESTS = [")
        .and_then(|(_, rest)| rest.split_once("\n]"))
        .map(|(list, _)| list);
    let names: Vec<&str> = list.unwrap_or_default().split('"').skip(1).step_by(2).collect();
    assert!(!names.is_empty(), "rust_tests.py has no list SLOW_TESTS");
    let tests: String = sources().iter().map(|path| text(path)).collect();
    for name in names {
        let own = name.rsplit("::").next().unwrap_or(name);
        assert!(tests.contains(own), "SLOW_TESTS names `{name}`, which is not a test");
    }
}

/// On an old interpreter the other modules fail with an error that does not name it.
#[test]
fn scripts_check_the_interpreter_before_they_import_their_modules() {
    let mut checked = 0;
    for entry in std::fs::read_dir(root().join("scripts")).unwrap() {
        let path = entry.unwrap().path();
        let script = if path.is_file() { text(&path) } else { continue };
        let is_own = |line: &&str| {
            ["from setup", "from release", "from tools"].iter().any(|own| line.starts_with(own))
        };
        let Some(first) = script.lines().find(is_own) else { continue };
        let checks = ["require_python(", "check_python("].iter().any(|check| script.contains(check));
        assert!(checks && first.contains("require"), "{} checks it too late: {first}", path.display());
        checked += 1;
    }
    assert!(checked > 0);
}

/// Columns of a line, as in rustfmt.toml. rustfmt does not wrap comments and strings.
const MAX_WIDTH: usize = 110;
/// Characters of a doc comment that can only repeat the name of its item.
const MAX_STUB_LEN: usize = 20;

/// Lists each place that breaks a rule of docs/contributing/style.md.
#[test]
fn names_lines_and_doc_comments_keep_the_rules() {
    let mut owners: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let (mut wide, mut stubs, mut limits) = (Vec::new(), Vec::new(), Vec::new());
    // A program that reads the metadata of Windows writes this file.
    for path in sources().iter().filter(|path| !path.ends_with("cordebug/src/raw.rs")) {
        let text = text(path);
        let place = |line: usize| format!("{}:{line}", path.display());
        stubs.extend(stub_docs(&text).into_iter().map(place));
        for (line, number) in text.lines().zip(1..) {
            if line.chars().count() > MAX_WIDTH {
                wide.push(place(number));
            }
            if names_a_limit_otherwise(line) {
                limits.push(place(number));
            }
            if let Some(name) = declared_type(line) {
                owners.entry(name.to_owned()).or_default().push(place(number));
            }
        }
    }
    let shared: Vec<_> = owners.iter().filter(|(_, places)| places.len() > 1).collect();
    assert!(shared.is_empty(), "a name belongs to one type: {shared:#?}");
    assert!(stubs.is_empty(), "a doc comment says more than the name, or goes: {stubs:#?}");
    assert!(limits.is_empty(), "a constant for a limit begins with MAX_ or MIN_: {limits:#?}");
    assert!(wide.is_empty(), "a line has at most {MAX_WIDTH} characters: {wide:#?}");
}

fn declared_type(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let rest = line.strip_prefix("pub").unwrap_or(line);
    let rest = rest
        .strip_prefix('(')
        .and_then(|rest| rest.split_once(')'))
        .map_or(rest, |(_, rest)| rest)
        .trim_start();
    let name =
        ["struct ", "enum ", "trait ", "union "].iter().find_map(|keyword| rest.strip_prefix(keyword))?;
    let end =
        name.find(|character: char| !character.is_alphanumeric() && character != '_').unwrap_or(name.len());
    name.get(..end).filter(|name| name.starts_with(|first: char| first.is_ascii_uppercase()))
}

/// Lines (from 1) of doc comments that have one short line. The last line of a longer comment may be short.
fn stub_docs(text: &str) -> Vec<usize> {
    let doc = |line: &str| line.trim_start().strip_prefix("///").map(|text| text.trim().chars().count());
    let mut found = Vec::new();
    let mut before = None;
    let mut lines = text.lines().map(doc).zip(1..).peekable();
    while let Some((length, number)) = lines.next() {
        let alone = before.is_none() && lines.peek().is_none_or(|(next, _)| next.is_none());
        if alone && length.is_some_and(|length| (1..=MAX_STUB_LEN).contains(&length)) {
            found.push(number);
        }
        before = length;
    }
    found
}

fn names_a_limit_otherwise(line: &str) -> bool {
    let named =
        ["const ", "static "].iter().find_map(|keyword| line.split_once(keyword)).map(|(_, name)| name);
    let superlatives = ["MOST", "LONGEST", "DEEPEST", "LARGEST", "FEWEST", "SHORTEST"];
    named.is_some_and(|name| superlatives.iter().any(|word| name.starts_with(word)))
}

/// Crates of the workspace, by the name of the package, with their folders.
fn own_crates() -> BTreeMap<String, String> {
    let manifest = text(&root().join("Cargo.toml"));
    let members = manifest.split_once("members = [").and_then(|(_, rest)| rest.split_once(']'));
    let folders = members.map(|(list, _)| list.split('"').skip(1).step_by(2)).into_iter().flatten();
    let name = |folder: &str| {
        let manifest = text(&root().join(folder).join("Cargo.toml"));
        let line = manifest.lines().find_map(|line| line.strip_prefix("name = \"")).unwrap_or_default();
        line.trim_end_matches('"').to_owned()
    };
    folders.map(|folder| (name(folder), folder.to_owned())).collect()
}

/// The crates that a crate names in a part of its manifest, such as `[dependencies]`.
fn dependencies(folder: &str, part: &str) -> Vec<String> {
    let manifest = text(&root().join(folder).join("Cargo.toml"));
    let listed = manifest.split_once(&format!("\n{part}\n")).map(|(_, rest)| rest).unwrap_or_default();
    let lines = listed.lines().take_while(|line| !line.starts_with('['));
    lines.filter_map(|line| line.split(['.', ' ', '=']).next()).map(str::to_owned).collect()
}

/// The table in ARCHITECTURE.md is the list of arrows that are allowed.
#[test]
fn crates_use_the_crates_that_the_architecture_names() {
    let page = text(&root().join("ARCHITECTURE.md"));
    let table = page.split_once("## Crates\n").and_then(|(_, rest)| rest.split_once("\n## "));
    let rows = table.map(|(table, _)| table).unwrap_or_default().lines();
    let names =
        |cell: &str| -> Vec<String> { cell.split('`').skip(1).step_by(2).map(str::to_owned).collect() };
    let allowed: BTreeMap<String, Vec<String>> = rows
        .filter(|row| row.starts_with("| `"))
        .filter_map(|row| {
            let cells: Vec<&str> = row.split('|').collect();
            let mut used = names(cells.get(3)?);
            used.sort();
            Some((names(cells.get(1)?).first()?.clone(), used))
        })
        .collect();
    let own = own_crates();
    let found: BTreeMap<String, Vec<String>> = own
        .values()
        .map(|folder| {
            let used = dependencies(folder, "[dependencies]");
            let mut used: Vec<String> = used.iter().filter_map(|name| own.get(name).cloned()).collect();
            used.sort();
            (folder.clone(), used)
        })
        .collect();
    assert_eq!(found, allowed, "the manifests, and the table of crates in ARCHITECTURE.md");
}

/// A filter of the log names a program, and means each of its crates.
#[test]
fn filters_of_the_log_know_every_crate() {
    let known = text(&root().join("adapter/log/src/lib.rs"));
    for (name, folder) in own_crates() {
        let manifest = text(&root().join(&folder).join("Cargo.toml"));
        let library = manifest.split_once("[lib]\nname = \"").and_then(|(_, rest)| rest.split('"').next());
        let target = library.map_or_else(|| name.replace('-', "_"), str::to_owned);
        let is_of_a_program = ["adapter", "bridge"].iter().any(|program| folder.starts_with(program));
        assert!(!is_of_a_program || known.contains(&format!("\"{target}\"")), "{target}: PROGRAM_TARGETS");
    }
}

#[test]
fn crates_leave_libraries_to_others() {
    for (folder, forbidden) in [
        ("adapter", &["rmcp", "lsp-types"][..]),
        ("adapter/error", &["tokio", "serde", "dap"]),
        ("adapter/download", &["serde"]),
        ("adapter/cargo-messages", &["tokio", "dap", "lsp-types"]),
        ("adapter/process", &["dap"]),
        // Its `clippy.toml` names what it must not use of the standard library.
        (
            "adapter/hub",
            &["rmcp", "cordebug", "tokio", "tokio-util", "futures", "rustix", "libc", "tempfile"],
        ),
        ("adapter/registry", &["tokio"]),
        ("adapter/cordebug", &["tokio", "serde"]),
        ("adapter/clr-metadata", &["tokio", "serde"]),
        ("adapter/csharp", &["tokio", "serde"]),
        ("bridge/workspace", &["rmcp", "dap"]),
        ("bridge/testing", &["rmcp", "dap"]),
    ] {
        let used = dependencies(folder, "[dependencies]");
        for library in forbidden {
            assert!(!used.iter().any(|name| name == library), "{folder} must not depend on {library}");
        }
    }
}

#[test]
fn unsafe_code_is_in_one_crate() {
    let block = ["unsafe", " {"].concat();
    for path in sources().iter().filter(|path| !path.starts_with(root().join("adapter/cordebug"))) {
        assert!(!text(path).contains(&block), "{} has unsafe code", path.display());
    }
}

#[test]
fn owners_of_the_net_engine_do_not_use_the_engine() {
    let engine = root().join("adapter/coreclr/src");
    for owner in [
        "active_step",
        "active_step/await_breakpoints",
        "active_step/callbacks",
        "active_step/return_values",
        "active_step/targets",
        "stop_context",
        "breakpoints",
        "breakpoints/binding",
        "breakpoints/functions",
        "breakpoints/instructions",
        "breakpoints/locations",
        "breakpoints/operators",
        "calls",
        "calls/abort_safety",
        "calls/phase",
        "calls/wait_detection",
        "checksums",
        "code_position",
        "compiled/encoded_types",
        "compiled/frame",
        "compiler",
        "compiler/connection",
        "compiler/diagnostics",
        "compiler/expressions",
        "compiler/outcome",
        "compiler/process",
        "compiler/program",
        "compiler/sdk",
        "compiler/wire",
        "current_request",
        "debuggee",
        "disassembly",
        "disassembly/instructions",
        "disassembly/methods",
        "evaluator/getters",
        "evaluator/memory",
        "evaluator/scope",
        "exceptions",
        "exceptions/filters",
        "exceptions/suppression",
        "exceptions/task_exceptions",
        "exceptions/throw_site",
        "exceptions/unhandled",
        "expression_binding",
        "fields",
        "frame_numbers",
        "func_eval",
        "func_eval/first_calls",
        "func_eval/stuck_calls",
        "hub_link",
        "inbox",
        "inspected_program",
        "lightweight_methods",
        "logging",
        "methods",
        "modules",
        "modules/excluded_methods",
        "modules/loaded_module",
        "modules/pdb_identity",
        "names",
        "options",
        "outbox",
        "retrieval",
        "retrieval/decompilation",
        "sources",
        "sources/source_locator",
        "stack/async_callers",
        "stack/transitions",
        "types",
        "types/library",
        "types/lookup",
        "types/members",
        "types/relations",
        "types/runtime",
        "types/ty",
        "typed_value",
        "value_path",
        "value_store",
        "value_store/references",
        "values",
        "values/bulk_read",
        "values/constants",
        "values/current_values",
        "values/formatted_value",
        "values/framework",
        "values/hoisted_variables",
        "values/inline_elements",
        "values/item_layout",
        "values/items",
        "values/linked_nodes",
        "values/locals",
        "values/numbers",
        "values/path_resolution",
        "values/primitive",
        "values/reflection",
        "values/rows",
        "values/tuples",
    ] {
        let path = engine.join(format!("{owner}.rs"));
        assert!(path.is_file(), "{owner} is gone: correct this list");
        assert!(!text(&path).contains("session::"), "{owner} must not use the engine's session");
    }
}

#[test]
fn decisions_about_child_adapters_do_no_io() {
    let child = root().join("adapter/child/src");
    let decisions = sources()
        .into_iter()
        .filter(|path| *path == child.join("state.rs") || path.starts_with(child.join("state")));
    let decisions: Vec<PathBuf> = decisions.collect();
    assert!(decisions.len() > 1, "the state of child adapters is elsewhere: correct this test");
    for path in decisions {
        let text = text(&path);
        for io in
            ["tokio", "async fn", "Mutex", "std::fs", "std::process", "std::thread", "std::time", "session::"]
        {
            assert!(!text.contains(io), "{} uses `{io}`", path.display());
        }
    }
}

#[test]
fn only_a_doc_comment_of_one_short_line_is_a_stub() {
    let text =
        "/// Short.\nfn a() {}\n/// A longer one that wraps\n/// at the end.\nfn b() {}\n    /// Short.\n";
    assert_eq!(stub_docs(text), [1, 6]);
    assert!(stub_docs("// Short.\n/// Says more than the name.\n").is_empty());
}
