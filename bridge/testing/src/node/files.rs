//! The files of Node's own test runner: those that the script `test` names, or those that Node takes by their
//! names and folders.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;
use tandem_workspace::bounded;
use tandem_workspace::build::project::Project;

use super::script::ScriptCommand;
use super::{Manifest, scope};
use crate::run::ProcessPurpose;

/// Files of tests of one project.
const MAX_FILES: usize = 5000;
/// Folders that are looked through.
const MAX_FOLDERS: usize = 20_000;
/// Larger sources are skipped.
const MAX_SOURCE: u64 = 4 << 20;
/// Modules of the project that are read to find the one that imports the runner.
const MAX_MODULES: usize = 50;
/// Extensions of source files.
const ENDINGS: [&str; 6] = ["js", "mjs", "cjs", "ts", "mts", "cts"];

/// `from "./helper.js"`, `require("../helper")`, `import "./helper.mjs"`.
static RELATIVE_IMPORT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire\s*\(\s*)['"](?P<path>\.[^'"\n]*)['"]"#)
        .expect("the pattern is a constant, and tested")
});

/// Whether Node takes a file for one of tests, by its name and folder.
fn is_test(file: &Path) -> bool {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let Some((stem, ending)) = name.rsplit_once('.') else { return false };
    let named = stem == "test"
        || stem.starts_with("test-")
        || [".test", "-test", "_test", ".spec"].iter().any(|end| stem.ends_with(end));
    let inside =
        file.parent().is_some_and(|folder| folder.iter().any(|part| part == "test" || part == "tests"));
    ENDINGS.contains(&ending) && !name.ends_with(".d.ts") && (named || inside)
}

/// Whether a file imports the runner, or a module of the project does for it.
pub(super) fn imports_runner(file: &Path) -> bool {
    let (mut left, mut known) = (vec![file.to_owned()], HashSet::new());
    while let Some(file) = left.pop() {
        if known.len() >= MAX_MODULES || !known.insert(file.clone()) {
            continue;
        }
        let bytes = bounded::read(&file, MAX_SOURCE).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        if text.contains("node:test") {
            return true;
        }
        let folder = file.parent().unwrap_or(Path::new("/"));
        left.extend(RELATIVE_IMPORT.captures_iter(&text).filter_map(|found| module(folder, &found["path"])));
    }
    false
}

/// The file of a module that a file in this folder imports. TypeScript imports `a.ts` as `a.js`.
fn module(folder: &Path, path: &str) -> Option<PathBuf> {
    let mut named = folder.to_owned();
    for part in Path::new(path).components() {
        match part {
            Component::ParentDir => drop(named.pop()),
            Component::Normal(name) => named.push(name),
            _ => {}
        }
    }
    let written = named.with_extension("");
    let same = std::iter::once(named.clone());
    let longer = ENDINGS.iter().map(|ending| PathBuf::from(format!("{}.{ending}", named.display())));
    let other = ENDINGS.iter().map(|ending| written.with_extension(ending));
    let index = ENDINGS.iter().map(|ending| named.join("index").with_extension(ending));
    same.chain(longer).chain(other).chain(index).find(|file| file.is_file())
}

/// A pattern of files, as Node and shells read it, as a regular expression.
fn expression(pattern: &str) -> Option<Regex> {
    let mut written = String::from("^");
    let mut rest = pattern.trim_start_matches("./");
    let mut depth = 0_usize;
    while let Some(letter) = rest.chars().next() {
        let (part, length) = match letter {
            '*' if rest.starts_with("**/") => ("(?:.*/)?".to_owned(), 3),
            '*' if rest.starts_with("**") => (".*".to_owned(), 2),
            '*' => ("[^/]*".to_owned(), 1),
            '?' => ("[^/]".to_owned(), 1),
            '{' => {
                depth += 1;
                ("(?:".to_owned(), 1)
            }
            '}' if depth > 0 => {
                depth -= 1;
                (")".to_owned(), 1)
            }
            ',' if depth > 0 => ("|".to_owned(), 1),
            letter => (regex::escape(&letter.to_string()), letter.len_utf8()),
        };
        written.push_str(&part);
        rest = rest.get(length..)?;
    }
    Regex::new(&format!("{written}$")).ok()
}

/// Which files the words of a script mean.
struct NamedFiles {
    folders: Vec<PathBuf>,
    patterns: Vec<Regex>,
}

impl NamedFiles {
    fn of(project: &Project, words: &[String]) -> Self {
        let (folders, patterns): (Vec<&String>, Vec<&String>) =
            words.iter().partition(|word| project.folder.join(word).is_dir());
        let folders = folders.into_iter().map(|word| word.trim_start_matches("./").trim_end_matches('/'));
        Self {
            folders: folders.map(PathBuf::from).collect(),
            patterns: patterns.into_iter().filter_map(|word| expression(word)).collect(),
        }
    }

    /// Whether a file below the project is meant. In a named folder, its name decides, as without words.
    fn contains(&self, file: &Path) -> bool {
        let is_below = |folder: &PathBuf| folder.as_os_str() == "." || file.starts_with(folder);
        let is_in_folder = || self.folders.iter().any(is_below) && is_test(file);
        let is_unlimited = || self.folders.is_empty() && self.patterns.is_empty() && is_test(file);
        let name = file.to_string_lossy();
        self.patterns.iter().any(|pattern| pattern.is_match(&name)) || is_in_folder() || is_unlimited()
    }
}

/// The files of tests, in order. Node runs also those that do not import the runner, and that fail with their
/// process. To list tests, they do not run.
pub(super) fn sources(project: &Project, purpose: ProcessPurpose) -> Vec<PathBuf> {
    let all = purpose != ProcessPurpose::List;
    let named = scope(project).map(PathBuf::from);
    if let Some(file) = named.as_ref().filter(|named| named.is_file()) {
        return vec![file.clone()];
    }
    let script = ScriptCommand::of(&Manifest::of(project).script, "--test");
    let meant = NamedFiles::of(project, script.arguments());
    let mut folders = vec![named.unwrap_or_else(|| project.folder.clone())];
    let (mut found, mut looked) = (Vec::new(), 0);
    while let Some(folder) = folders.pop() {
        looked += 1;
        if looked > MAX_FOLDERS || found.len() >= MAX_FILES {
            break;
        }
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if name != "node_modules" && !name.to_string_lossy().starts_with('.') {
                    folders.push(path);
                }
            } else if path.strip_prefix(&project.folder).is_ok_and(|file| meant.contains(file))
                && (all || imports_runner(&path))
            {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use tandem_workspace::build::project::BuildTool;

    use super::*;

    #[test]
    fn files_of_tests_are_those_that_node_takes() {
        for (file, expected) in [
            ("cart.test.mjs", true),
            ("test-cart.js", true),
            ("test.cjs", true),
            ("test/deep/helper.js", true),
            ("src/cart.js", false),
            ("test/data.json", false),
            ("src/types.test.d.ts", false),
        ] {
            assert_eq!(is_test(Path::new(file)), expected, "{file}");
        }
    }

    #[test]
    fn patterns_mean_what_node_and_shells_read_in_them() {
        for (pattern, file, expected) in [
            ("src/**/*.check.ts", "src/own.check.ts", true),
            ("./src/**/*.{check,spec}.ts", "src/a/b/own.spec.ts", true),
            ("src/*.ts", "src/a/own.ts", false),
            ("test/a(b).js", "test/a(b).js", true),
            ("**", "a/b.js", true),
            ("a?.js", "a/.js", false),
        ] {
            assert_eq!(expression(pattern).unwrap().is_match(file), expected, "{pattern} {file}");
        }
    }

    #[test]
    fn a_run_takes_the_files_of_the_script_and_a_list_those_that_reach_the_runner() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let file = folder.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        };
        write("a.test.js", "require('node:test')");
        write("b.test.js", "require('./nowhere')");
        write("src/c.test.js", "import { test } from '../lib/tests.js';\nimport './c.test.js';");
        write("src/d.check.js", "const { test } = require(\"../lib/tests\")");
        write("lib/tests.ts", "export { test } from 'node:test';");
        let project = Project { kind: BuildTool::Npm, folder: folder.path().to_owned(), file: None };
        let names = |purpose| {
            let names = sources(&project, purpose).into_iter();
            names.map(|file| file.file_name().unwrap().to_string_lossy()[..1].to_owned()).collect::<String>()
        };
        assert_eq!((names(ProcessPurpose::List), names(ProcessPurpose::Run)), ("ac".into(), "abc".into()));
        write("package.json", r#"{"scripts":{"test":"node --test 'src/**/*.check.js' src"}}"#);
        assert_eq!((names(ProcessPurpose::List), names(ProcessPurpose::Run)), ("cd".into(), "cd".into()));
    }
}
