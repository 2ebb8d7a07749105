//! Counts of what the structure of the code still has too much of. Each has a ceiling that only goes down.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::sources::{
    code_of, is_test_file, pattern, root, sources_below, text, without_comments, without_tests,
};

/// Maximum number of lines of a file, with its tests.
const MAX_LINES: usize = 400;
/// Maximum number of fields of a struct.
const MAX_FIELDS: usize = 12;
/// Maximum number of files with inherent `impl`s of one type.
const MAX_IMPL_FILES: usize = 3;

/// Variables that hold a match of a regex: a key there is the name of a group.
const MATCH_VARIABLES: [&str; 3] = ["found", "compared", "place"];

/// How far a count may be below its ceiling before the ceiling must be lowered.
const MAX_SLACK: usize = 10;

/// Counts of one crate: uses of `json!` and of `["key"]`, and files over [`MAX_LINES`].
#[derive(Debug, Default)]
struct CrateCounts {
    json_macros: usize,
    string_keys: usize,
    long_files: usize,
}

impl CrateCounts {
    /// Whether each count is at its ceiling, or little below.
    fn fits(&self, ceiling: &Self) -> bool {
        [
            (self.json_macros, ceiling.json_macros),
            (self.string_keys, ceiling.string_keys),
            (self.long_files, ceiling.long_files),
        ]
        .iter()
        .all(|(count, ceiling)| count <= ceiling && count + MAX_SLACK >= *ceiling)
    }
}

/// Ceilings of each crate: `json!`, `["key"]`, long files.
const CEILINGS: [(&str, [usize; 3]); 23] = [
    ("adapter", [0, 15, 0]),
    ("adapter/cargo-messages", [0, 0, 0]),
    ("adapter/child", [17, 39, 0]),
    ("adapter/clr-metadata", [0, 0, 0]),
    ("adapter/cordebug", [0, 0, 0]),
    ("adapter/coreclr", [1, 18, 0]),
    ("adapter/csharp", [0, 0, 0]),
    ("adapter/download", [0, 0, 0]),
    ("adapter/dotnet-launch", [0, 5, 0]),
    ("adapter/engine", [0, 5, 0]),
    ("adapter/error", [5, 14, 0]),
    ("adapter/hub", [3, 17, 0]),
    ("adapter/log", [0, 0, 0]),
    ("adapter/pages", [0, 0, 0]),
    ("adapter/peers", [0, 0, 0]),
    ("adapter/process", [0, 0, 0]),
    ("adapter/process-tree", [0, 0, 0]),
    ("adapter/registry", [0, 0, 0]),
    ("adapter/session", [0, 1, 0]),
    ("adapter/wire", [0, 2, 0]),
    ("bridge", [32, 16, 0]),
    ("bridge/testing", [1, 3, 0]),
    ("bridge/workspace", [4, 3, 0]),
];

/// Structs over [`MAX_FIELDS`], with the number of their fields.
const LARGE_STRUCTS: &[(&str, usize)] = &[];

/// Types that are implemented in more than [`MAX_IMPL_FILES`] files, with the number of these.
const SPREAD_TYPES: &[(&str, usize)] = &[
    ("AdapterSession", 20),
    ("Binder", 24),
    ("Breakpoints", 5),
    ("ClrDebuggee", 10),
    ("ClrSession", 46),
    ("ClrTypeSystem", 49),
    ("Evaluator", 13),
    ("Exceptions", 5),
    ("Metadata", 5),
    ("Parser", 8),
    ("Pdb", 6),
    ("SourceLocator", 4),
    ("State", 15),
    ("StopContext", 24),
    ("ValueStore", 8),
];

/// How often a crate names a debug adapter outside the adapter's profile, where there is any.
const ADAPTER_NAMES: &[(&str, usize)] = &[
    // Child processes of .NET programs.
    ("adapter/coreclr", 2),
    // Configurations of other debuggers; commands of interpreters (two).
    ("adapter/engine", 14),
    ("bridge", 4),
    // A framework's tests are debugged by one engine.
    ("bridge/testing", 6),
];

/// Fields and attributes that no protocol defines, by their names, with the reason for each.
const OWN_KEYS: &[(&str, &str)] = &[
    ("__configurationType", "VS Code: the `type` of a configuration of another debugger"),
    ("__failureStops", "a launched test: where it stops when it fails"),
    ("__ptyEcho", "editors: whether the program's terminal shows what is typed"),
    ("__workspaceFolder", "editors: the folder that is open"),
    ("tandemAccess", "`initialize`: what the client may do at most"),
    ("tandemChild", "`attach`: the session is a child session"),
    ("tandemHeld", "`attach` of a child session: its runtime is held"),
    ("tandemKind", "`initialize`: the client is an agent"),
    ("tandemProgram", "`attach` of a child session: the program of the process"),
];

/// Names of the same form that are not fields: sections and members of programs.
const NOT_KEYS: [&str; 3] = ["__managedcode", "__tandemClosure", "__tandemLate"];

/// The sources of a crate that are not generated, without its tests.
fn product_sources(package: &str) -> Vec<PathBuf> {
    let sources = root().join(package).join("src");
    let mut found = sources_below(&sources);
    found.retain(|path| {
        let inside = path.strip_prefix(&sources).unwrap_or(path);
        let is_generated =
            path.ends_with("cordebug/src/raw.rs") || path.ends_with("wire/src/types/generated.rs");
        !is_test_file(inside) && !is_generated
    });
    found
}

fn count(package: &str) -> CrateCounts {
    let (macros, keys) = (pattern(r"\bjson!\s*[(\[{]"), pattern(r#"(\w+|[)\]?])\["[^"\\\]]+"\]"#));
    let is_group = |variable: &str| MATCH_VARIABLES.contains(&variable);
    let mut counts = CrateCounts::default();
    for path in product_sources(package) {
        let text = text(&path);
        counts.json_macros += macros.find_iter(&code_of(&text)).count();
        let code = without_comments(without_tests(&text));
        counts.string_keys += keys.captures_iter(&code).filter(|found| !is_group(&found[1])).count();
        counts.long_files += usize::from(text.lines().count() > MAX_LINES);
    }
    counts
}

#[test]
fn json_string_keys_and_long_files_become_fewer() {
    let mut wrong = Vec::new();
    for (package, [json_macros, string_keys, long_files]) in CEILINGS {
        let (found, ceiling) = (count(package), CrateCounts { json_macros, string_keys, long_files });
        if !found.fits(&ceiling) {
            wrong.push(format!("{package}: {found:?} instead of {ceiling:?}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "write typed code and divide long files; lower a ceiling when the count is lower: {wrong:#?}"
    );
}

/// The structs of a source that rustfmt has formatted, with the number of their fields.
fn structs(source: &str) -> Vec<(String, usize)> {
    let (head, field) = (
        pattern(r"^( *)(?:pub(?:\([^)]*\))? )?struct (\w+)[^;({]*\{$"),
        pattern(r"^ *(?:pub(?:\([^)]*\))? )?(?:r#)?\w+: "),
    );
    let mut found: Vec<(String, usize)> = Vec::new();
    let mut inside: Option<usize> = None;
    for line in source.lines() {
        let indent = line.len() - line.trim_start().len();
        match inside {
            Some(outer) if line.trim_end() == format!("{}}}", " ".repeat(outer)) => inside = None,
            Some(outer) if indent == outer + 4 && field.is_match(line) => {
                found.last_mut().unwrap().1 += 1;
            }
            Some(_) => {}
            None => {
                if let Some(parts) = head.captures(line) {
                    inside = Some(parts[1].len());
                    found.push((parts[2].to_owned(), 0));
                }
            }
        }
    }
    found
}

#[test]
fn large_structs_become_fewer_and_smaller() {
    let mut found = BTreeMap::new();
    for (package, _) in CEILINGS {
        for path in product_sources(package) {
            let source = text(&path);
            let large =
                structs(without_tests(&source)).into_iter().filter(|(_, fields)| *fields > MAX_FIELDS);
            found.extend(large);
        }
    }
    let known: BTreeMap<String, usize> =
        LARGE_STRUCTS.iter().map(|(name, fields)| ((*name).to_owned(), *fields)).collect();
    assert_eq!(found, known, "divide a struct over {MAX_FIELDS} fields; correct the list when it is smaller");
}

#[test]
fn types_are_implemented_where_they_are_declared() {
    let head = pattern(r"(?m)^ *impl(?:<[^{\n]*?>)? (?:\w+::)*(\w+)(?:<[^{\n]*>)? \{");
    let mut files: BTreeMap<(String, String), BTreeSet<PathBuf>> = BTreeMap::new();
    for (package, _) in CEILINGS {
        for path in product_sources(package) {
            for found in head.captures_iter(&code_of(&text(&path))) {
                files.entry((package.to_owned(), found[1].to_owned())).or_default().insert(path.clone());
            }
        }
    }
    let found: BTreeMap<String, usize> = files
        .into_iter()
        .filter(|(_, files)| files.len() > MAX_IMPL_FILES)
        .map(|((_, name), files)| (name, files.len()))
        .collect();
    let known: BTreeMap<String, usize> =
        SPREAD_TYPES.iter().map(|(name, files)| ((*name).to_owned(), *files)).collect();
    assert_eq!(
        found, known,
        "methods are in the file of their type; correct the list when they are in fewer files"
    );
}

#[test]
fn only_profiles_name_debug_adapters() {
    let registry = root().join("adapter/child/src/registry");
    let built_in = root().join("adapter/coreclr/src/lib.rs");
    let files = sources_below(&registry);
    let names: BTreeSet<&str> = files
        .iter()
        .filter(|file| file.parent() == Some(&registry))
        .filter_map(|file| file.file_stem()?.to_str())
        .chain(["coreclr"])
        // Also the ending of a file of JavaScript.
        .filter(|name| *name != "js")
        .collect();
    assert!(names.contains("debugpy"), "the profiles are elsewhere: correct this test");
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    let quoted = pattern(&quoted.join("|"));
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    for (package, _) in CEILINGS {
        for path in product_sources(package) {
            let is_profile = path.starts_with(&registry) || path == built_in;
            let count = quoted.find_iter(&without_comments(without_tests(&text(&path)))).count();
            if !is_profile && count > 0 {
                *found.entry(package).or_default() += count;
            }
        }
    }
    let known: BTreeMap<&str, usize> = ADAPTER_NAMES.iter().copied().collect();
    assert_eq!(
        found, known,
        "facts about an adapter are in its profile; correct the list when there are fewer"
    );
}

#[test]
fn fields_that_no_protocol_defines_are_listed() {
    let own = pattern(r#""(__[a-z][A-Za-z]+|tandem[A-Z][A-Za-z]+)""#);
    let mut found = BTreeSet::new();
    for (package, _) in CEILINGS {
        for path in product_sources(package) {
            let source = text(&path);
            let code = without_comments(without_tests(&source));
            found.extend(own.captures_iter(&code).map(|name| name[1].to_owned()));
        }
    }
    found.retain(|name| !NOT_KEYS.contains(&name.as_str()));
    let known: BTreeSet<String> = OWN_KEYS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(found, known, "a field of our own needs a type, or a reason in this list");
}

#[test]
fn fields_of_structs_are_counted() {
    let source = "\
/// A doc comment with one word: and a colon.
pub(crate) struct One<'a> {
    /// Another doc comment that has one: a colon.
    pub(super) a: u8,
    r#type: Vec<
        u8,
    >,
}
struct Two;
struct Three(u8);
mod inner {
    struct Four {
        a: u8,
    }
}
";
    let expected = [("One", 2), ("Four", 1)].map(|(name, fields)| (name.to_owned(), fields));
    assert_eq!(structs(source), expected);
}
