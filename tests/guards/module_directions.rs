//! Directions between modules: those of one folder do not import each other in a circle.
//!
//! Read are `use` declarations and paths of the sources, not of their tests. A module counts with all that is
//! below it, and may use what its parent declares. Directions between crates are the compiler's, and
//! [`super::conventions`]'.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::sources::{code_of, pattern, root};

/// Circles that are known, with the reason: the folder, and its modules.
const KNOWN: &[(&str, &[&str], &str)] = &[
    (
        "adapter/cordebug",
        &[
            "callback",
            "code",
            "debugger",
            "eval",
            "frame",
            "long_strings",
            "module",
            "thread",
            "types",
            "value",
        ],
        "the objects of ICorDebug return each other",
    ),
    ("adapter/cordebug", &["com", "raw"], "a table of functions begins with the one that it inherits"),
    (
        "adapter/csharp",
        &["bind", "eval", "linq"],
        "an operator of LINQ is one row: its signature, which is bound, beside its code, which is run",
    ),
    (
        "adapter/csharp/bind",
        &["binder", "completions"],
        "what may follow a text is found by the binder of the text",
    ),
    ("adapter/csharp/bind", &["system", "typed"], "a method of the type system takes typed arguments"),
    ("adapter/csharp/syntax", &["lexer", "strings"], "a string has interpolations, which hold expressions"),
    (
        "adapter/child",
        &["find", "target", "test_files"],
        "a test file is a target, and its runner is found as one",
    ),
    (
        "adapter/child/session",
        &["launch", "subprocesses"],
        "a process that joins is introduced as the first one was",
    ),
];

/// A module by the names on the way to it from the crate's root.
type Module = Vec<String>;

/// The modules of one crate: their sources, and what each re-exports with `pub use`.
struct Crate {
    texts: BTreeMap<Module, String>,
    handed_on: BTreeMap<(Module, String), (Module, Vec<String>)>,
}

impl Crate {
    fn read(sources: &Path) -> Self {
        let mut texts = BTreeMap::new();
        let mut folders = vec![sources.to_owned()];
        while let Some(folder) = folders.pop() {
            for file in std::fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.path()) {
                if file.is_dir() {
                    folders.push(file);
                    continue;
                }
                let below = file.strip_prefix(sources).unwrap_or(&file).with_extension("");
                let mut module: Module =
                    below.iter().map(|part| part.to_string_lossy().into_owned()).collect();
                let is_program = module.first().is_some_and(|first| first == "main" || first == "bin");
                let is_test = module.last().is_some_and(|last| last == "tests" || last == "fake");
                if is_program || is_test || file.extension().is_none_or(|ending| ending != "rs") {
                    continue;
                }
                module.retain(|part| part != "lib");
                texts.insert(module, code_of(&std::fs::read_to_string(&file).unwrap_or_default()));
            }
        }
        let mut read = Self { texts, handed_on: BTreeMap::new() };
        let public = pattern(r"\bpub(?:\([^)]*\))?\s+use\s+([^;]+);");
        let mut handed_on = BTreeMap::new();
        for (module, text) in &read.texts {
            for path in public.captures_iter(text).flat_map(|found| paths_of(&found[1])) {
                let name = path.rsplit([' ', ':']).next().unwrap_or_default().to_owned();
                if let Some(found) = read.resolve(module, &path) {
                    handed_on.insert((module.clone(), name), found);
                }
            }
        }
        read.handed_on = handed_on;
        read
    }

    /// The module that a path refers to from another, and the rest of the path; `None` for other
    /// crates and for names in scope.
    fn resolve(&self, from: &Module, path: &str) -> Option<(Module, Vec<String>)> {
        let path = path.split(" as ").next().unwrap_or_default();
        let mut parts: Vec<String> = path.split("::").map(|part| part.trim().to_owned()).collect();
        let mut at = match parts.first()?.as_str() {
            "crate" => Module::new(),
            "self" => from.clone(),
            "super" => {
                let above = parts.iter().take_while(|part| *part == "super").count();
                parts.drain(..above.saturating_sub(1));
                from.get(..from.len().checked_sub(above)?)?.to_vec()
            }
            first => {
                let child: Module = from.iter().cloned().chain([first.to_owned()]).collect();
                self.texts.get(&child)?;
                parts.insert(0, "self".into());
                from.clone()
            }
        };
        parts.remove(0);
        while let Some(next) = parts.first() {
            let child: Module = at.iter().cloned().chain([next.clone()]).collect();
            if !self.texts.contains_key(&child) {
                break;
            }
            at = child;
            parts.remove(0);
        }
        Some((at, parts))
    }

    /// The modules that one uses, each where it is declared, not where it is handed on.
    fn uses(&self, module: &Module, text: &str) -> BTreeSet<Module> {
        let used = pattern(r"(pub(?:\([^)]*\))?\s+)?\buse\s+([^;]+);");
        let inline = pattern(r"(?:\w+::)+\w+");
        let private = used.captures_iter(text).filter(|found| found.get(1).is_none());
        let mut paths: Vec<String> = private.flat_map(|found| paths_of(&found[2])).collect();
        let rest = used.replace_all(text, "");
        paths.extend(inline.find_iter(&rest).map(|found| found.as_str().to_owned()));
        let declared = |path: &String| {
            let (mut at, mut left) = self.resolve(module, path)?;
            for _ in 0..8 {
                let Some(next) = left.first() else { break };
                let Some((there, more)) = self.handed_on.get(&(at.clone(), next.clone())) else { break };
                let rest = more.iter().cloned().chain(left.iter().skip(1).cloned()).collect();
                (at, left) = (there.clone(), rest);
            }
            Some(at)
        };
        paths.iter().filter_map(declared).filter(|at| at != module).collect()
    }

    /// For each folder, the modules that each of its modules uses.
    fn directions(&self) -> BTreeMap<Module, BTreeMap<String, BTreeSet<String>>> {
        let mut folders: BTreeMap<Module, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
        for (module, text) in &self.texts {
            for used in self.uses(module, text) {
                let shared = module.iter().zip(&used).take_while(|(one, other)| one == other).count();
                // One of them is the other's parent.
                let (Some(one), Some(other)) = (module.get(shared), used.get(shared)) else { continue };
                let folder = module.iter().take(shared).cloned().collect();
                folders.entry(folder).or_default().entry(one.clone()).or_default().insert(other.clone());
            }
        }
        folders
    }
}

/// `a::{b, c::{d, e}}` as three paths.
fn paths_of(tree: &str) -> Vec<String> {
    let Some((before, rest)) = tree.split_once('{') else { return vec![tree.trim().to_owned()] };
    let inner = rest.rsplit_once('}').map_or(rest, |(inner, _)| inner);
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, letter) in inner.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&inner[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inner[start..]);
    let parts = parts.into_iter().filter(|part| !part.trim().is_empty());
    parts.flat_map(paths_of).map(|path| format!("{}{}", before.trim(), path.trim())).collect()
}

/// The modules that reach themselves, in groups that reach each other.
fn circles(uses: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<Vec<String>> {
    let reached = |from: &String| {
        let (mut all, mut ahead) = (BTreeSet::new(), vec![from]);
        while let Some(next) = ahead.pop() {
            ahead.extend(uses.get(next).into_iter().flatten().filter(|one| all.insert((*one).clone())));
        }
        all
    };
    let reach: BTreeMap<&String, BTreeSet<String>> = uses.keys().map(|one| (one, reached(one))).collect();
    let group = |one: &String| -> Vec<String> {
        let mine = &reach[one];
        mine.iter().filter(|other| reach.get(other).is_some_and(|back| back.contains(one))).cloned().collect()
    };
    uses.keys().map(group).filter(|group| group.len() > 1).collect()
}

#[test]
fn modules_of_a_folder_do_not_import_each_other_in_a_circle() {
    let crates = [
        "adapter",
        "adapter/cargo-messages",
        "adapter/child",
        "adapter/clr-metadata",
        "adapter/cordebug",
        "adapter/coreclr",
        "adapter/csharp",
        "adapter/dotnet-launch",
        "adapter/download",
        "adapter/engine",
        "adapter/error",
        "adapter/hub",
        "adapter/log",
        "adapter/pages",
        "adapter/peers",
        "adapter/process",
        "adapter/process-tree",
        "adapter/registry",
        "adapter/session",
        "adapter/wire",
        "bridge",
        "bridge/testing",
        "bridge/workspace",
    ];
    let mut found = BTreeSet::new();
    for name in crates {
        let read = Crate::read(&root().join(name).join("src"));
        assert!(!read.texts.is_empty(), "no sources of {name}");
        for (folder, uses) in read.directions() {
            let folder = [name.to_owned()].into_iter().chain(folder).collect::<Vec<_>>().join("/");
            found.extend(circles(&uses).into_iter().map(|circle| (folder.clone(), circle)));
        }
    }
    let known: BTreeSet<(String, Vec<String>)> = KNOWN
        .iter()
        .map(|(folder, circle, _)| {
            ((*folder).to_owned(), circle.iter().map(|one| (*one).to_owned()).collect())
        })
        .collect();
    let new: Vec<_> = found.difference(&known).collect();
    assert!(new.is_empty(), "new circles: {new:#?}");
    let gone: Vec<_> = known.difference(&found).collect();
    assert!(gone.is_empty(), "these circles no longer exist, remove them from the list: {gone:#?}");
}

#[test]
fn circles_are_found_through_what_is_handed_on() {
    let folder = tempfile::tempdir().unwrap();
    for (file, text) in [
        ("lib.rs", "mod a;\nmod b;\nmod c;\npub use c::Deep;"),
        ("a.rs", "//! use crate::b::No;\nuse crate::{Deep, b::{One, Other}};"),
        ("b.rs", "fn f() { \"crate::a::No\"; }\n#[cfg(test)]\nmod tests { use crate::a::No; }"),
        ("c.rs", "mod below;\npub use below::Deep;\nfn g() { crate::a::f() }"),
        ("c/below.rs", "use super::super::b::One;\npub struct Deep;"),
    ] {
        let path = folder.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let directions = Crate::read(folder.path()).directions();
    let found: Vec<_> = directions.values().flat_map(circles).collect();
    assert_eq!(found, [["a", "c"]]);
}
