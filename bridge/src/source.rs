//! Source files as users and agents see them: numbered lines, and lines found again by their text after an
//! edit.
//!
//! Not here: sources that only the engine can read (`tools::source_lines`), functions ([`crate::functions`]).

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::json;
use tandem_wire::Failure;
use tandem_wire::types::{Source, StackFrame};

/// Largest file that is read, bytes.
const MAX_SOURCE_BYTES: u64 = 16 * 1024 * 1024;
/// Maximum characters of a line that are shown.
const MAX_LINE_CHARS: usize = 200;

/// The text of one source file.
#[derive(Debug)]
pub struct SourceText(String);

impl SourceText {
    /// Reads a source; `None` if it is not a text file of a sensible size.
    pub fn read(path: &str) -> Option<Self> {
        let found = std::fs::metadata(path).ok()?;
        if !found.is_file() || found.len() > MAX_SOURCE_BYTES {
            return None;
        }
        Some(Self(String::from_utf8_lossy(&std::fs::read(path).ok()?).into_owned()))
    }

    /// Wraps a text from another source than a file.
    pub fn of(text: String) -> Self {
        Self(text)
    }

    /// One line, from 1, without its indentation.
    pub fn line(&self, line: u64) -> Option<String> {
        let index = usize::try_from(line.checked_sub(1)?).ok()?;
        self.0.lines().nth(index).map(|text| cut(text.trim()))
    }

    /// Returns `count` lines, starting at `first`, unchanged.
    pub fn lines(&self, first: u64, count: u64) -> Vec<String> {
        let skip = usize::try_from(first.max(1) - 1).unwrap_or(usize::MAX);
        let lines = self.0.lines().skip(skip).take(usize::try_from(count).unwrap_or(usize::MAX));
        lines.map(str::to_owned).collect()
    }

    /// Number of lines of the source.
    pub fn len(&self) -> u64 {
        self.0.lines().count() as u64
    }

    /// Whether the text has no lines.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `count` numbered lines from `first` on; `marked` has a `>` before it.
    pub fn numbered_lines(&self, first: u64, count: u64, marked: u64) -> Vec<String> {
        let skip = usize::try_from(first.max(1) - 1).unwrap_or(usize::MAX);
        let lines = self.0.lines().skip(skip).take(usize::try_from(count).unwrap_or(usize::MAX));
        (first.max(1)..)
            .zip(lines)
            .map(|(at, text)| format!("{}{at:>4} {}", if at == marked { '>' } else { ' ' }, cut(text)))
            .collect()
    }

    /// Numbered lines around one.
    pub fn around(&self, line: u64, each_side: u64) -> Vec<String> {
        let first = line.saturating_sub(each_side).max(1);
        self.numbered_lines(first, line + each_side + 1 - first, line)
    }

    /// Lines that equal this text, else lines that contain it.
    pub fn find(&self, text: &str) -> Vec<u64> {
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Vec::new();
        }
        let numbered = || (1..).zip(self.0.lines());
        let exact: Vec<u64> =
            numbered().filter(|(_, line)| line.trim() == trimmed).map(|(at, _)| at).collect();
        if !exact.is_empty() {
            return exact;
        }
        numbered().filter(|(_, line)| line.contains(trimmed)).map(|(at, _)| at).collect()
    }

    /// The line that `text` refers to, the nearest to `line` if that is given.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` when no line has it, or several do and nothing says which.
    pub fn anchor(&self, path: &str, text: &str, line: Option<u64>) -> Result<u64, Failure> {
        let found = self.find(text);
        match (found.as_slice(), line) {
            ([], _) => {
                let mut failure = Failure::invalid(format!("no line of `{path}` has the text `{text}`"));
                if let Some(line) = line.filter(|line| *line <= self.len()) {
                    failure = failure.data(json!({ "there": self.around(line, 2) }));
                }
                Err(failure.hint("copy the text of the line exactly from the file, or pass `line`"))
            }
            ([one], _) => Ok(*one),
            (several, Some(line)) => {
                Ok(several.iter().copied().min_by_key(|at| at.abs_diff(line)).unwrap_or(line))
            }
            (several, None) => {
                Err(Failure::invalid(format!("{} lines of `{path}` have the text `{text}`", several.len()))
                    .data(json!({ "lines": several.iter().take(20).collect::<Vec<_>>() }))
                    .hint("pass `line` to choose the nearest one"))
            }
        }
    }
}

/// A text of at most [`MAX_LINE_CHARS`] characters; a longer one ends in `…`.
fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_LINE_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The place of a frame, as tools answer it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ShownPlace {
    /// The name of the function.
    pub function: Option<String>,
    /// The source, if it has a path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line in that source, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<i64>,
    /// The text of the line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

impl ShownPlace {
    /// The place of a function and a line in a source.
    pub fn new(function: &str, source: Option<&Source>, line: i64) -> Self {
        let file = source.and_then(|source| source.path.clone());
        let text = file.as_deref().and_then(|file| SourceText::read(file)?.line(u64::try_from(line).ok()?));
        let line = file.as_ref().map(|_| line);
        Self { function: Some(function.to_owned()), file, line, source: text }
    }
}

impl From<&StackFrame> for ShownPlace {
    fn from(frame: &StackFrame) -> Self {
        Self::new(&frame.name, frame.source.as_ref(), frame.line)
    }
}

/// Relative paths mean the bridge's folder, not the adapter's.
pub fn absolute(path: &str) -> String {
    std::path::absolute(Path::new(path)).map_or_else(|_| path.to_owned(), |path| path.display().to_string())
}

/// The file that a relative path means in the first of these folders that has it.
pub fn in_folders(named: &str, folders: impl Iterator<Item = PathBuf>) -> Option<String> {
    let relative = Path::new(named).is_relative() && !named.is_empty();
    let mut found = folders.filter(|_| relative).map(|folder| folder.join(named.trim_start_matches("./")));
    found.find(|file| file.is_file()).map(|file| file.display().to_string())
}

/// Folders that hold no sources of the user's.
const SKIPPED_FOLDERS: [&str; 8] =
    [".git", "node_modules", "target", "bin", "obj", ".venv", "venv", "__pycache__"];
/// Maximum number of entries that are inspected.
const MAX_SEARCHED: usize = 20_000;

/// The files below these folders whose paths end so, at most three; a folder of dependencies or of what was
/// built is passed over.
pub fn below<'a>(named: &str, roots: impl Iterator<Item = &'a Path>) -> Vec<String> {
    let end = format!("/{}", named.trim_start_matches("./"));
    let mut open: Vec<PathBuf> = roots.map(Path::to_path_buf).collect();
    // The first root first: a later one may be so large that the search ends in it.
    open.reverse();
    let (mut found, mut looked_at) = (Vec::new(), 0);
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            looked_at += 1;
            if looked_at > MAX_SEARCHED || found.len() == 3 {
                return found;
            }
            let name = entry.file_name();
            // A link may lead in a circle.
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let path = entry.path().display().to_string();
            if is_folder && !SKIPPED_FOLDERS.iter().any(|passed| name == *passed) {
                open.push(entry.path());
            } else if !is_folder && path.ends_with(&end) && !found.contains(&path) {
                found.push(path);
            }
        }
    }
    found
}

/// The path of a source as the agent named it. If it is only the end of a path, it stays as it is: engines
/// find the source by its end.
pub fn source_path(named: &str) -> String {
    let full = absolute(named);
    if Path::new(&full).exists() { full } else { named.trim_start_matches("./").to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "one\n  two(x);\nthree\n  two(x);\nlast";

    #[test]
    fn a_line_is_found_by_its_text_even_after_an_edit() {
        let source = SourceText::of(TEXT.into());
        assert_eq!(source.anchor("f", "three", None).unwrap(), 3);
        assert_eq!(source.anchor("f", "two(x);", Some(5)).unwrap(), 4);
        assert_eq!(source.anchor("f", "thr", Some(1)).unwrap(), 3);
        let several = source.anchor("f", "two(x);", None).unwrap_err();
        assert_eq!(several.data["lines"], json!([2, 4]));
        let none = source.anchor("f", "four", Some(3)).unwrap_err();
        assert_eq!(none.data["there"][2], ">   3 three");
        assert!(SourceText::of("one\n\nthree".into()).anchor("f", " ", Some(2)).is_err());
    }

    #[test]
    fn files_of_the_first_root_are_found_before_those_of_others() {
        let folder = tempfile::tempdir().unwrap();
        let roots = ["program", "rest"].map(|name| folder.path().join(name));
        for path in ["program/deep/er/util.c", "rest/a/util.c", "rest/b/util.c", "rest/c/util.c"] {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let found = below("util.c", roots.iter().map(PathBuf::as_path));
        assert_eq!(found.len(), 3);
        assert!(found[0].ends_with("program/deep/er/util.c"), "{found:?}");
    }

    #[test]
    fn lines_are_numbered_from_one_and_end_with_the_file() {
        let source = SourceText::of(TEXT.into());
        assert_eq!(source.around(1, 1), [">   1 one", "    2   two(x);"]);
        assert_eq!(source.around(5, 1), ["    4   two(x);", ">   5 last"]);
        assert_eq!(source.around(99, 1), Vec::<String>::new());
        assert_eq!((source.line(0), source.line(2)), (None, Some("two(x);".into())));
    }
}
