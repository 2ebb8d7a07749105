//! The Rust sources of the workspace, and their code without comments, texts and tests.

use std::path::{Path, PathBuf};

use regex::Regex;

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Paths of all Rust sources.
pub(crate) fn sources() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in ["adapter", "bridge", "tests"] {
        found.extend(sources_below(&root().join(folder)));
    }
    found.sort();
    found
}

/// Paths of the Rust sources in a folder and below.
pub(crate) fn sources_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for file in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = file.path();
            if path.is_dir() && path.file_name().is_some_and(|name| name != "target" && name != "snapshots") {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push(path);
            }
        }
    }
    found
}

/// A file's text; empty if it cannot be read.
pub(crate) fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Whether a file holds only tests, or fakes for them.
pub(crate) fn is_test_file(path: &Path) -> bool {
    let is_test = |part: &str| matches!(part, "tests" | "fake" | "races" | "simulation");
    path.with_extension("").iter().any(|part| is_test(&part.to_string_lossy()))
}

/// A source without the tests at its end.
pub(crate) fn without_tests(source: &str) -> &str {
    source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default()
}

/// A source without comments; its texts stay.
pub(crate) fn without_comments(source: &str) -> String {
    let noise = pattern(r#"(?m)("(?:\\(?s:.)|[^"\\])*")|//.*$"#);
    noise.replace_all(source, "$1").into_owned()
}

/// A source without comments, texts and the tests at its end.
pub(crate) fn code_of(source: &str) -> String {
    let noise = pattern(r#"(?m)//.*$|"(?:\\(?s:.)|[^"\\])*""#);
    noise.replace_all(without_tests(source), "").into_owned()
}

pub(crate) fn pattern(text: &str) -> Regex {
    Regex::new(text).unwrap()
}
