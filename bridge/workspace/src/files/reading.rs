//! `read_file`: text by lines, bounded, with a cursor to continue; a file that is not text is refused with
//! the reason.

use std::io::{self, Read};

use base64::Engine;
use cap_std::fs::{OpenOptions, OpenOptionsExt};
use serde::Serialize;
use serde_json::json;
use tandem_error::{ErrorCode, Failure};

use crate::roots::Roots;

/// Larger files are rejected.
pub const MAX_FILE_BYTES: u64 = 64 << 20;
/// Default size of the text in an answer, bytes.
pub const DEFAULT_ANSWER_BYTES: usize = 64 << 10;
/// Maximum size of the text in an answer, bytes.
pub const MAX_ANSWER_BYTES: usize = 4 << 20;

/// The part of a file to read.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// First line, 1-based, or a cursor of an earlier answer (`LINE` or `LINE:BYTE`).
    pub start: Option<String>,
    /// Maximum number of lines.
    pub count: Option<usize>,
    /// Maximum number of bytes.
    pub max_bytes: usize,
    /// `base64` for any file; else it must be UTF-8 text.
    pub base64: bool,
}

/// The answer of `read_file`.
#[derive(Debug, Serialize)]
pub struct ReadFileResult {
    /// The text of the file, with its line ends.
    pub content: String,
    /// Bytes of the whole file.
    pub size: u64,
    /// Lines of the whole file; absent for `base64`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<usize>,
    /// `start` of the next part; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Reads a text, or part of it.
///
/// # Errors
/// `PATH_NOT_ALLOWED`, `NOT_FOUND`, `UNSUPPORTED` for a file that is too large or not text,
/// `INVALID_PARAMETER` for a folder.
pub fn read(roots: &Roots, path: &str, selection: &ReadOptions) -> Result<ReadFileResult, Failure> {
    let cursor = Cursor::parse(selection.start.as_deref())?;
    let bytes = whole(roots, path)?;
    let size = bytes.len() as u64;
    let limit = selection.max_bytes.clamp(1, MAX_ANSWER_BYTES);
    if selection.base64 {
        let from = cursor.byte.min(bytes.len());
        // A multiple of three bytes, so that the base64 parts can be concatenated.
        let end = from.saturating_add((limit / 4 * 3).max(3)).min(bytes.len());
        let part = bytes.get(from..end).unwrap_or_default();
        return Ok(ReadFileResult {
            content: base64::engine::general_purpose::STANDARD.encode(part),
            size,
            lines: None,
            next: (end < bytes.len()).then(|| format!("1:{end}")),
        });
    }
    let text = decode(path, &bytes)?;
    let (content, lines, next) = part(text, cursor, selection.count.unwrap_or(usize::MAX), limit);
    Ok(ReadFileResult { content: content.to_owned(), size, lines: Some(lines), next })
}

/// A whole file; a pipe or a device is not waited for.
fn whole(roots: &Roots, path: &str) -> Result<Vec<u8>, Failure> {
    let place = roots.place(path)?;
    let file = roots.at(&place, "read", true, |dir, path| {
        let mut options = OpenOptions::new();
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        options.read(true).custom_flags(flags.bits().cast_signed());
        dir.open_with(path, &options)
    })?;
    let metadata = file.metadata().map_err(|error| place.access_failure("read", &error))?;
    if metadata.is_dir() {
        return Err(Failure::invalid(format!("`{path}` is a folder")).hint("list_directory lists it"));
    }
    if !metadata.is_file() {
        return Err(Failure::invalid(format!("`{path}` is a pipe, socket or device, not a file")));
    }
    if metadata.len() > MAX_FILE_BYTES {
        return Err(too_large(path, metadata.len()));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default());
    let read = file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error: io::Error| place.access_failure("read", &error))?;
    // It grew while it was read.
    if bytes.len() as u64 > MAX_FILE_BYTES { Err(too_large(path, bytes.len() as u64)) } else { Ok(bytes) }
}

fn too_large(path: &str, size: u64) -> Failure {
    let message =
        format!("`{path}` has {size} bytes; files of more than {MAX_FILE_BYTES} bytes are not read");
    Failure::new(ErrorCode::Unsupported, message).data(json!({ "size": size, "limit": MAX_FILE_BYTES }))
}

fn decode<'a>(path: &str, bytes: &'a [u8]) -> Result<&'a str, Failure> {
    let refuse = |reason: String| {
        Failure::new(ErrorCode::Unsupported, format!("`{path}` is not UTF-8 text: {reason}"))
            .hint("encoding: \"base64\" reads any file")
            .data(json!({ "size": bytes.len() }))
    };
    match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => return Err(refuse("it begins as UTF-16".into())),
        _ => {}
    }
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        return Err(refuse(format!("it is binary (a zero byte at offset {at})")));
    }
    std::str::from_utf8(bytes)
        .map_err(|error| refuse(format!("there is an invalid byte at offset {}", error.valid_up_to())))
}

/// Position at which an answer begins.
#[derive(Debug, Clone, Copy)]
struct Cursor {
    line: usize,
    /// Within the line, or within the file for `base64`.
    byte: usize,
}

impl Cursor {
    fn parse(text: Option<&str>) -> Result<Self, Failure> {
        let Some(text) = text else { return Ok(Self { line: 1, byte: 0 }) };
        let (line, byte) = text.split_once(':').unwrap_or((text, "0"));
        match (line.trim().parse(), byte.trim().parse()) {
            (Ok(line), Ok(byte)) if line > 0 => Ok(Self { line, byte }),
            _ => Err(Failure::invalid(format!(
                "`start` must be a line (at least 1), or `next` of an answer, not `{text}`"
            ))),
        }
    }
}

/// The part of a text that one answer holds, how many lines there are in all, and where the next part begins.
fn part(text: &str, start: Cursor, count: usize, limit: usize) -> (&str, usize, Option<String>) {
    let mut from = None;
    let mut end = 0;
    let mut next = None;
    let mut lines = 0;
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        lines += 1;
        let skipped = if lines == start.line { floor(line, start.byte) } else { 0 };
        let begin = offset + skipped;
        offset += line.len();
        if lines < start.line || next.is_some() {
            continue;
        }
        let first = *from.get_or_insert(begin);
        if lines - start.line >= count {
            next = Some(lines.to_string());
        } else if offset - first <= limit {
            end = offset;
        } else if begin == first {
            // For a line longer than an answer, return at least one character, so that the cursor moves.
            let whole = text.get(first..offset).unwrap_or_default();
            let cut = floor(whole, limit).max(whole.chars().next().map_or(0, char::len_utf8));
            end = first + cut;
            next = Some(format!("{lines}:{}", skipped + cut));
        } else {
            next = Some(lines.to_string());
        }
    }
    let content = from.and_then(|from| text.get(from..end.max(from))).unwrap_or_default();
    (content, lines, next)
}

/// The last character border at or before `byte`.
fn floor(text: &str, byte: usize) -> usize {
    text.floor_char_boundary(byte)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_parts_of_a_text_are_the_text(text in "([a-zä€\r\n]|😀){0,200}", limit in 1_usize..40,
            count in 1_usize..9) {
            let mut whole = String::new();
            let mut cursor = Cursor { line: 1, byte: 0 };
            loop {
                let (content, _, next) = part(&text, cursor, count, limit);
                prop_assert!(content.len() <= limit.max(4));
                whole.push_str(content);
                let Some(next) = next else { break };
                prop_assert!(!content.is_empty());
                cursor = Cursor::parse(Some(&next)).unwrap();
            }
            prop_assert_eq!(whole, text);
        }
    }

    #[test]
    fn a_cursor_behind_the_end_reads_nothing() {
        assert_eq!(part("a\nb\n", Cursor { line: 9, byte: 0 }, 1, 10), ("", 2, None));
        assert_eq!(part("a\nb\n", Cursor { line: 2, byte: 99 }, 1, 10), ("", 2, None));
        assert_eq!(part("", Cursor { line: 1, byte: 0 }, 1, 10), ("", 0, None));
        assert!(Cursor::parse(Some("0")).is_err());
        assert!(Cursor::parse(Some("-1:2")).is_err());
    }
}
