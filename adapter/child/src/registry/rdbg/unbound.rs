//! Breakpoints that rdbg reports as verified, although no line of a file can be meant.
//!
//! Not here: comments and empty lines. rdbg uses the next line that has code.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

use tandem_wire::types::Breakpoint;

/// How much of a source is read, bytes. Lines of a larger one are not checked.
const MAX_SOURCE_LEN: u64 = 16 * 1024 * 1024;

/// Marks the breakpoints that cannot be hit; `lines` has the line of each.
pub(super) fn mark(source: &Path, lines: &[i64], breakpoints: &mut [Breakpoint]) {
    let Some(count) = line_count(source) else { return };
    for (breakpoint, line) in breakpoints.iter_mut().zip(lines) {
        let reason = match &count {
            Err(reason) => reason.clone(),
            Ok(count) if line > count => format!("`{}` ends at line {count}", source.display()),
            Ok(_) => continue,
        };
        let id = breakpoint.id;
        *breakpoint = Breakpoint { id, line: Some(*line), ..Breakpoint::refused(reason) };
    }
}

/// The number of lines of a source, or the reason why it has none; `None` if neither is known.
fn line_count(source: &Path) -> Option<Result<i64, String>> {
    let found = match std::fs::metadata(source) {
        Ok(found) => found,
        Err(error) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()) => {
            return Some(Err(format!("there is no file `{}`", source.display())));
        }
        Err(_) => return None,
    };
    if found.is_dir() {
        return Some(Err(format!("`{}` is a folder", source.display())));
    }
    if !found.is_file() || found.len() > MAX_SOURCE_LEN {
        return None;
    }
    // A line break at the end of the file begins no further line.
    let lines = BufReader::new(File::open(source).ok()?.take(MAX_SOURCE_LEN)).split(b'\n');
    Some(Ok(i64::try_from(lines.take_while(Result::is_ok).count()).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(source: &Path) -> Vec<Option<String>> {
        let mut breakpoints = vec![Breakpoint { verified: true, ..Breakpoint::default() }; 3];
        mark(source, &[1, 2, 3], &mut breakpoints);
        breakpoints.iter().for_each(|one| assert_eq!(one.verified, one.message.is_none()));
        breakpoints.into_iter().map(|one| one.message).collect()
    }

    #[test]
    fn only_lines_of_a_file_stay_verified() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.rb");
        for (text, unbound) in
            [("", 3), ("1", 2), ("1\n", 2), ("1\n2", 1), ("1\n\n3", 0), ("1\n2\n3\n4\n", 0)]
        {
            std::fs::write(&file, text).unwrap();
            assert_eq!(messages(&file).iter().flatten().count(), unbound, "{text:?}");
        }
        for (source, words) in [
            (folder.path().join("absent.rb"), "there is no file"),
            (file.join("inside.rb"), "there is no file"),
            (folder.path().to_path_buf(), "is a folder"),
        ] {
            let all = messages(&source);
            assert!(all.iter().all(|one| one.as_ref().is_some_and(|one| one.contains(words))), "{all:?}");
        }
        assert_eq!(messages(Path::new("/dev/null")), [None, None, None]);
    }
}
