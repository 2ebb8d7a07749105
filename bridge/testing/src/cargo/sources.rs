//! Source locations of Rust tests, which libtest does not report. The modules in a test's name lead to
//! the file, as rustc finds it; its function is searched there by name.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use tandem_workspace::bounded;

/// A larger source is not read.
const MAX_SOURCE: u64 = 8 << 20;
/// Lines above a function that may be its attributes.
const MAX_ATTRIBUTES: usize = 12;

/// Location and attributes of a test function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TestDeclaration {
    /// Source file with the module.
    pub(super) file: PathBuf,
    /// The line of the function, from 1.
    pub(super) line: u32,
    /// The reason of `#[ignore = "…"]`.
    pub(super) ignored: Option<String>,
    /// Whether it passes when it panics.
    pub(super) panics: bool,
}

/// The sources of a program.
pub(super) struct CrateSources {
    root: PathBuf,
    texts: HashMap<PathBuf, String>,
}

impl CrateSources {
    /// Reads the sources of the program with this root module.
    pub(super) fn of(root: &Path) -> Self {
        Self { root: root.to_owned(), texts: HashMap::new() }
    }

    fn text(&mut self, file: &Path) -> &str {
        self.texts.entry(file.to_owned()).or_insert_with(|| {
            let bytes = bounded::read(file, MAX_SOURCE).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        })
    }

    /// The test of this name: `module::tests::name`.
    pub(super) fn find(&mut self, name: &str) -> Option<TestDeclaration> {
        let parts: Vec<&str> = name.split("::").collect();
        let (function, modules) = parts.split_last()?;
        let folder = self.root.parent()?.to_owned();
        let mut files = vec![(self.root.clone(), 0)];
        let mut below = folder.clone();
        // A root that is not `lib.rs`, `main.rs` or `mod.rs` still has its modules in its folder.
        for (depth, module) in modules.iter().enumerate() {
            files.push((below.join(format!("{module}.rs")), depth + 1));
            files.push((below.join(module).join("mod.rs"), depth + 1));
            below.push(module);
        }
        for (file, depth) in files.into_iter().rev() {
            let inline = modules.get(depth..).unwrap_or_default().to_vec();
            let found = function_in(self.text(&file), &inline, function);
            if let Some((line, ignored, panics)) = found {
                return Some(TestDeclaration { file, line, ignored, panics });
            }
        }
        None
    }
}

/// The line of a function in the modules of a text, and what its attributes say.
fn function_in(text: &str, modules: &[&str], function: &str) -> Option<(u32, Option<String>, bool)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut from = 0;
    for module in modules {
        let is_module = |line: &&str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words
                .windows(2)
                .any(|pair| matches!(pair, ["mod", name] if name.trim_end_matches('{') == *module))
        };
        from += lines.get(from..)?.iter().position(is_module)?;
    }
    let is_function = |line: &&str| {
        line.find(&format!("fn {function}")).is_some_and(|at| {
            let rest = line.get(at + 3 + function.len()..).unwrap_or_default();
            rest.starts_with(['(', '<', ' '])
        })
    };
    let at = from + lines.get(from..)?.iter().position(is_function)?;
    let above = lines.get(at.saturating_sub(MAX_ATTRIBUTES)..at).unwrap_or_default();
    let attributes: Vec<&str> = above
        .iter()
        .rev()
        .map(|line| line.trim())
        .take_while(|line| line.starts_with("#[") || line.starts_with("//"))
        .collect();
    let ignored = attributes.iter().find_map(|line| {
        let reason = line.strip_prefix("#[ignore")?.trim_start_matches([' ', '=']);
        Some(reason.trim_end_matches(']').trim().trim_matches('"').to_owned())
            .filter(|reason| !reason.is_empty())
    });
    let panics = attributes.iter().any(|line| line.starts_with("#[should_panic"));
    Some((u32::try_from(at + 1).ok()?, ignored, panics))
}

/// Whether the documentation of a library may have examples; looks at the sources beside its root.
pub(super) fn has_examples(root: &Path) -> bool {
    let mut folders: Vec<PathBuf> = root.parent().map(Path::to_owned).into_iter().collect();
    let mut looked_at = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            looked_at += 1;
            if looked_at > 5_000 {
                return true;
            }
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let bytes = bounded::read(&path, MAX_SOURCE).unwrap_or_default();
                let text = String::from_utf8_lossy(&bytes).into_owned();
                if text.lines().any(|line| begins_example(line.trim_start())) {
                    return true;
                }
            }
        }
    }
    false
}

/// Whether a line of documentation begins an example, or includes a file that may have some.
fn begins_example(line: &str) -> bool {
    let is_fence = line.contains("```") || line.contains("~~~");
    let is_comment = ["///", "//!", "/**", "/*!", "*", "```", "~~~", "#![doc", "#[doc"]
        .iter()
        .any(|start| line.starts_with(start));
    is_fence && is_comment || line.contains("doc") && line.contains("include_str!")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_is_found_in_every_form_of_documentation() {
        for (line, expected) in [
            ("/// ```", true),
            ("//! ~~~", true),
            ("* ```", true),
            ("```", true),
            ("#![doc = include_str!(\"../README.md\")]", true),
            ("let text = \"```\";", false),
            ("// ```", false),
            ("/// adds", false),
        ] {
            assert_eq!(begins_example(line), expected, "{line}");
        }
    }

    #[test]
    fn a_test_is_found_in_its_module_s_file() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            path
        };
        let root = write(
            "lib.rs",
            "mod a;\nfn adds() {}\nmod tests {\n    #[test]\n    #[should_panic]\n    fn adds() {}\n}\n",
        );
        let inner = write(
            "a/b.rs",
            "mod tests {\n    #[test]\n    #[ignore = \"not yet\"]\n    async fn adds() {}\n}\n",
        );
        let mut sources = CrateSources::of(&root);
        let found = sources.find("tests::adds").unwrap();
        assert_eq!((found.file, found.line, found.panics), (root.clone(), 6, true));
        let found = sources.find("a::b::tests::adds").unwrap();
        assert_eq!((found.file, found.line, found.ignored.as_deref()), (inner, 4, Some("not yet")));
        assert_eq!(sources.find("tests::add"), None);
        assert!(!has_examples(&root));
    }
}
