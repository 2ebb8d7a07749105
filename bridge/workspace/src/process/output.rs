//! The kept parts of an output: its beginning and its end, and how much is missing between them; and its
//! lines, for readers that need them at once.
//!
//! Reads no pipe: [`super`] does. Not here: the meaning of lines ([`crate::build::readers`]).

use std::borrow::Cow;
use std::collections::VecDeque;

use super::{OutputStream, Sink};

/// The beginning and the end of an output of any length.
#[derive(Debug)]
pub struct BoundedOutput {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_limit: usize,
    tail_limit: usize,
    total: u64,
}

impl BoundedOutput {
    /// Keeps at most `limit` bytes: a quarter from the beginning, the rest from the end.
    pub fn new(limit: usize) -> Self {
        let head_limit = limit / 4;
        Self { head: Vec::new(), tail: VecDeque::new(), head_limit, tail_limit: limit - head_limit, total: 0 }
    }

    /// Appends bytes to the output.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = self.head_limit.saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        let rest = rest.get(rest.len().saturating_sub(self.tail_limit)..).unwrap_or_default();
        let over = (self.tail.len() + rest.len()).saturating_sub(self.tail_limit);
        self.tail.drain(..over.min(self.tail.len()));
        self.tail.extend(rest);
    }

    /// Bytes in all, also those not kept.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Number of bytes that are missing.
    pub fn dropped_bytes(&self) -> u64 {
        self.total - (self.head.len() + self.tail.len()) as u64
    }

    /// The output as text, with a note where bytes are missing.
    pub fn text(&self) -> String {
        let mut bytes = self.head.clone();
        if self.dropped_bytes() > 0 {
            bytes.extend_from_slice(format!("\n[… {} bytes left out …]\n", self.dropped_bytes()).as_bytes());
        }
        bytes.extend(&self.tail);
        strip_escapes(&String::from_utf8_lossy(&bytes)).into_owned()
    }

    /// All bytes, unless some are missing.
    pub fn whole(mut self) -> Option<Vec<u8>> {
        if self.dropped_bytes() > 0 {
            return None;
        }
        self.head.extend(&self.tail);
        Some(self.head)
    }
}

/// The output of both pipes, separately.
#[derive(Debug)]
pub struct CapturedOutput {
    /// Bytes that the program wrote to stdout.
    pub out: BoundedOutput,
    /// Bytes that the program wrote to stderr.
    pub err: BoundedOutput,
}

impl CapturedOutput {
    /// Keeps at most so many bytes of each.
    pub fn new(out: usize, err: usize) -> Self {
        Self { out: BoundedOutput::new(out), err: BoundedOutput::new(err) }
    }
}

impl Sink for CapturedOutput {
    fn take(&mut self, stream: OutputStream, bytes: &[u8]) {
        match stream {
            OutputStream::Out => self.out.push(bytes),
            OutputStream::Err => self.err.push(bytes),
        }
    }
}

/// Maximum length of a line for line readers, bytes; longer lines are cut.
const MAX_LINE_BYTES: usize = 1 << 20;

/// Cuts a stream of bytes into lines.
#[derive(Debug, Default)]
pub struct LineSplitter(Vec<u8>);

impl LineSplitter {
    /// More bytes; calls `each` for every line that is whole now, without its end.
    pub fn push(&mut self, mut bytes: &[u8], mut each: impl FnMut(&str)) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(end + 1);
            bytes = rest;
            if self.0.is_empty() {
                pass_line(line.get(..MAX_LINE_BYTES).unwrap_or(line), &mut each);
            } else {
                self.keep(line);
                self.flush(&mut each);
            }
        }
        self.keep(bytes);
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = MAX_LINE_BYTES.saturating_sub(self.0.len()).min(bytes.len());
        self.0.extend_from_slice(bytes.get(..room).unwrap_or_default());
    }

    /// The beginning of a line that has no end yet.
    pub fn rest(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }

    /// The last line, if it has no end.
    pub fn end(&mut self, mut each: impl FnMut(&str)) {
        if !self.0.is_empty() {
            self.flush(&mut each);
        }
    }

    fn flush(&mut self, each: &mut impl FnMut(&str)) {
        pass_line(&self.0, each);
        self.0.clear();
    }
}

fn pass_line(line: &[u8], each: &mut impl FnMut(&str)) {
    each(&strip_escapes(String::from_utf8_lossy(line).trim_end_matches(['\n', '\r'])));
}

/// Without the sequences that colour a terminal.
fn strip_escapes(text: &str) -> Cow<'_, str> {
    if memchr::memchr(0x1b, text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(one) = rest.next() {
        if one != '\u{1b}' {
            plain.push(one);
        } else if rest.next_if_eq(&'[').is_some() {
            // CSI: parameters and intermediates, then one final byte.
            while rest.next().is_some_and(|one| !('@'..='~').contains(&one)) {}
        }
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn beginning_and_end_are_kept_however_it_comes(bytes in proptest::collection::vec(any::<u8>(),
            0..200),
            limit in 0_usize..64, cut in 1_usize..50) {
            let mut kept = BoundedOutput::new(limit);
            for part in bytes.chunks(cut) {
                kept.push(part);
            }
            prop_assert_eq!(kept.total(), bytes.len() as u64);
            prop_assert_eq!(kept.dropped_bytes(), bytes.len().saturating_sub(limit) as u64);
            prop_assert!(bytes.starts_with(&kept.head));
            prop_assert!(bytes.ends_with(&kept.tail.iter().copied().collect::<Vec<_>>()));
            prop_assert_eq!(kept.whole(), (bytes.len() <= limit).then_some(bytes));
        }

        #[test]
        fn lines_do_not_depend_on_how_bytes_come(text in "[ab\nä]{0,60}", cut in 1_usize..9) {
            let mut found = Vec::new();
            let mut lines = LineSplitter::default();
            for part in text.as_bytes().chunks(cut) {
                lines.push(part, |line| found.push(line.to_owned()));
            }
            lines.end(|line| found.push(line.to_owned()));
            prop_assert_eq!(found, text.lines().collect::<Vec<_>>());
        }
    }

    #[test]
    fn colours_are_taken_out() {
        assert_eq!(strip_escapes("a\u{1b}[1;31mb\u{1b}[0m\u{1b}c\u{1b}["), "abc");
    }
}
