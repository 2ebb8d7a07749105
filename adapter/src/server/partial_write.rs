//! The rest of the message that a host has begun to write, in case the host is killed. With it the relay can
//! finish that message and tell the editor what happened, in frames the editor can read.
//!
//! The rest lies in memory that both have (memfd_create(2)). A write of up to `PIPE_BUF` bytes happens whole
//! or not at all (pipe(7); a socket takes as much in one piece), so only longer messages, and what is left of
//! one, are noted. A host that is killed between a write and the note after it leaves a mark that says that
//! this is unknown; then the relay writes nothing.

use std::io::{Error, Result};
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::MemfdFlags;
use rustix::io::{pread, pwrite};

/// `PIPE_BUF` (limits.h): written whole or not at all.
const ATOMIC_WRITE_LEN: usize = 4096;
/// A longer rest is not kept; the relay fills it up with spaces.
const MAX_KEPT_REST: usize = 1 << 20;
/// A mark and two numbers before the bytes.
const HEADER_LEN: usize = 24;

/// A write is under way.
const WRITING: u64 = 1;

/// Memory for the rest of a message.
///
/// # Errors
/// When the kernel has none.
pub(super) fn memory() -> Result<OwnedFd> {
    Ok(rustix::fs::memfd_create("tandem-unfinished", MemfdFlags::CLOEXEC)?)
}

/// The host's end: notes each write.
#[derive(Debug)]
pub(super) struct PartialWriteLog {
    memory: OwnedFd,
    /// Length of the rest according to the note; 0 if there is nothing to finish.
    left: usize,
    /// How much of it was left when its bytes were noted.
    noted: usize,
}

impl PartialWriteLog {
    pub(super) fn new(memory: OwnedFd) -> Self {
        Self { memory, left: 0, noted: 0 }
    }

    /// These bytes are about to be written: what was left of the last write, or new messages.
    pub(super) fn begin_write(&mut self, bytes: &[u8]) {
        if self.left > 0 || bytes.len() > ATOMIC_WRITE_LEN {
            self.header(WRITING, 0, 0);
        }
    }

    /// So many of them were.
    pub(super) fn finish_write(&mut self, bytes: &[u8], written: usize) {
        let begun = self.left > 0 || written > 0;
        let left = if begun { bytes.len().saturating_sub(written) } else { 0 };
        let marked = self.left > 0 || bytes.len() > ATOMIC_WRITE_LEN;
        if left > 0 && bytes.len() != self.left {
            // The first part of a message has gone out: its rest is noted once.
            self.noted = left;
            let rest = bytes.get(written..).filter(|rest| rest.len() <= MAX_KEPT_REST).unwrap_or_default();
            pwrite(&self.memory, rest, HEADER_LEN as u64).unwrap_or_default();
        }
        if left > 0 || marked {
            self.header(0, self.noted.saturating_sub(left) as u64, left as u64);
        }
        if left == 0 && self.left > 0 {
            // If truncation fails, the data only uses memory.
            rustix::fs::ftruncate(&self.memory, HEADER_LEN as u64).unwrap_or_default();
        }
        self.left = left;
    }

    fn header(&self, mark: u64, skip: u64, left: u64) {
        let mut bytes = [0; HEADER_LEN];
        for (place, number) in bytes.chunks_exact_mut(8).zip([mark, skip, left]) {
            place.copy_from_slice(&number.to_ne_bytes());
        }
        // It only matters to a relay that outlives us; without it the relay is silent.
        if let Err(error) = pwrite(&self.memory, &bytes, 0) {
            tracing::debug!(%error, "an unfinished message is not noted");
        }
    }
}

/// The relay's end: what finishes the message that a host had begun. Nothing when it had not begun any.
///
/// # Errors
/// It is unknown how much of it was written.
pub(super) fn rest(memory: impl AsFd) -> Result<Vec<u8>> {
    let mut bytes = [0; HEADER_LEN];
    if pread(&memory, &mut bytes, 0)? < HEADER_LEN {
        return Ok(Vec::new());
    }
    let mut numbers =
        bytes.chunks_exact(8).map(|place| u64::from_ne_bytes(place.try_into().unwrap_or_default()));
    let (mark, skip, left) = (numbers.next(), numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if mark != Some(0) {
        return Err(Error::other("it was killed while it wrote a message"));
    }
    let left = usize::try_from(left).map_err(Error::other)?;
    // Spaces are not valid JSON, but complete the frame.
    let mut rest = vec![b' '; left];
    let mut at = 0;
    while let Some(room) = rest.get_mut(at..).filter(|room| !room.is_empty()) {
        match pread(&memory, room, HEADER_LEN as u64 + skip + at as u64)? {
            0 => break,
            count => at += count,
        }
    }
    Ok(rest)
}

/// The position in a stream of frames, for a relay that copies them.
#[derive(Debug)]
pub(super) enum FramePosition {
    /// In a header, of which this has come.
    Header(Vec<u8>),
    /// In a body, of which so much is to come.
    Body(usize),
}

impl FramePosition {
    /// So much more was copied.
    pub(super) fn pass(&mut self, mut bytes: &[u8]) {
        while let Some((first, rest)) = bytes.split_first() {
            match self {
                Self::Body(left) => {
                    let count = bytes.len().min(*left);
                    *left -= count;
                    bytes = bytes.get(count..).unwrap_or_default();
                    if *left == 0 {
                        *self = Self::Header(Vec::new());
                    }
                }
                Self::Header(header) => {
                    header.push(*first);
                    bytes = rest;
                    if header.ends_with(b"\r\n\r\n") {
                        let text = String::from_utf8_lossy(header);
                        let length = text.split(':').nth(1).and_then(|length| length.trim().parse().ok());
                        *self = match length.unwrap_or(0) {
                            0 => Self::Header(Vec::new()),
                            length => Self::Body(length),
                        };
                    }
                }
            }
        }
    }

    /// The bytes that complete the message.
    ///
    /// # Errors
    /// When its length is not known.
    pub(super) fn rest(&self) -> Result<Vec<u8>> {
        match self {
            Self::Body(left) => Ok(vec![b' '; *left]),
            Self::Header(header) if header.is_empty() => Ok(Vec::new()),
            Self::Header(_) => Err(Error::other("it was killed while it wrote a header")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rest after writes of so many bytes each.
    fn left_after(message: &[u8], writes: &[usize]) -> Vec<u8> {
        let memory = memory().unwrap();
        let mut log = PartialWriteLog::new(memory.try_clone().unwrap());
        let mut bytes = message;
        for count in writes {
            log.begin_write(bytes);
            log.finish_write(bytes, *count);
            bytes = &bytes[*count..];
        }
        rest(&memory).unwrap()
    }

    #[test]
    fn the_rest_of_a_message_is_known_after_each_write() {
        let message: Vec<u8> = (0..20_000u32).map(|number| number as u8).collect();
        for (writes, rest) in [
            (&[][..], 20_000..20_000),
            (&[20_000], 20_000..20_000),
            (&[0], 20_000..20_000),
            (&[0, 5000], 5000..20_000),
            (&[5000, 0, 7], 5007..20_000),
            (&[5000, 10_000, 4999], 19_999..20_000),
            (&[5000, 10_000, 5000], 20_000..20_000),
        ] {
            assert_eq!(left_after(&message, writes), message[rest], "{writes:?}");
        }
        // A short message is written whole or not; the next one starts from the beginning.
        assert_eq!(left_after(&message[..4000], &[0]), b"");
        assert_eq!(left_after(&message[..4000], &[4000]), b"");
    }

    #[test]
    fn second_message_is_not_mistaken_for_the_first() {
        let memory = memory().unwrap();
        let mut log = PartialWriteLog::new(memory.try_clone().unwrap());
        for (message, first) in [(vec![b'a'; 9000], 100), (vec![b'b'; 9000], 4000), (vec![b'c'; 9000], 1)] {
            log.begin_write(&message);
            log.finish_write(&message, first);
            assert_eq!(rest(&memory).unwrap(), message[first..]);
            log.begin_write(&message[first..]);
            assert!(rest(&memory).is_err(), "a write is under way");
            log.finish_write(&message[first..], message.len() - first);
            assert_eq!(rest(&memory).unwrap(), b"");
        }
    }

    #[test]
    fn a_giant_is_filled_up() {
        let message = vec![b'x'; 3 << 20];
        let rest = left_after(&message, &[100, 1000]);
        assert_eq!(rest.len(), message.len() - 1100);
        assert!(rest.iter().all(|byte| *byte == b' '));
    }

    #[test]
    fn a_copied_stream_is_finished_where_it_was_cut() {
        let stream = b"Content-Length: 5\r\n\r\nhelloContent-Length: 2\r\n\r\n{}";
        for cut in 0..=stream.len() {
            let mut position = FramePosition::Header(Vec::new());
            for byte in &stream[..cut] {
                position.pass(&[*byte]);
            }
            let mut whole = FramePosition::Header(Vec::new());
            whole.pass(&stream[..cut]);
            let rest = position.rest().ok();
            assert_eq!(rest, whole.rest().ok());
            let expected = match cut {
                0 | 26 | 49 => Some(0),
                21..26 => Some(26 - cut),
                47..49 => Some(49 - cut),
                _ => None,
            };
            assert_eq!(rest.map(|rest| rest.len()), expected, "{cut}");
        }
    }
}
