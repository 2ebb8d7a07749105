//! The last bytes of one stream, addressed by their absolute offset since the program started.
//!
//! Not here: bytes as text ([`super::text`]).

use std::collections::VecDeque;

/// A bounded byte buffer. Writing never fails and never waits: the oldest bytes go.
#[derive(Debug)]
pub struct RingBuffer {
    bytes: VecDeque<u8>,
    capacity: usize,
    end: u64,
}

/// Bytes read from a ring, and their position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RingSlice {
    pub bytes: Vec<u8>,
    /// Absolute offset behind the last byte.
    pub end: u64,
    /// Requested bytes that are no longer kept.
    pub dropped: u64,
}

impl RingBuffer {
    /// Keeps at most `capacity` bytes (at least one).
    pub fn new(capacity: usize) -> Self {
        Self { bytes: VecDeque::new(), capacity: capacity.max(1), end: 0 }
    }

    /// Absolute offset behind the newest byte: how much was ever written.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Absolute offset of the oldest byte still kept.
    pub fn start(&self) -> u64 {
        self.end - self.bytes.len() as u64
    }

    /// Adds bytes, dropping the oldest over the capacity.
    pub fn push(&mut self, bytes: &[u8]) {
        self.end += bytes.len() as u64;
        let kept = bytes.get(bytes.len().saturating_sub(self.capacity)..).unwrap_or_default();
        let excess = (self.bytes.len() + kept.len()).saturating_sub(self.capacity);
        self.bytes.drain(..excess);
        self.bytes.extend(kept);
    }

    /// At most `limit` bytes from `offset` on. An offset in the future reads nothing.
    pub fn read(&self, offset: u64, limit: usize) -> RingSlice {
        let start = self.start();
        let from = offset.clamp(start, self.end);
        let skip = (from - start) as usize;
        let length = (self.bytes.len() - skip).min(limit);
        let (front, back) = self.bytes.as_slices();
        let mut bytes = Vec::with_capacity(length);
        for part in [
            front.get(skip..).unwrap_or_default(),
            back.get(skip.saturating_sub(front.len())..).unwrap_or_default(),
        ] {
            let room = length - bytes.len();
            bytes.extend_from_slice(part.get(..room.min(part.len())).unwrap_or_default());
        }
        RingSlice { bytes, end: from + length as u64, dropped: start.saturating_sub(offset) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_ring_reads_what_an_endless_buffer_would_or_says_what_is_gone(
            capacity in 1usize..50,
            writes in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..20),
            offset in 0u64..400, limit in 0usize..60,
        ) {
            let mut ring = RingBuffer::new(capacity);
            let mut all = Vec::new();
            for write in &writes {
                ring.push(write);
                all.extend_from_slice(write);
            }
            let start = all.len().saturating_sub(capacity);
            let slice = ring.read(offset, limit);
            let from = (offset as usize).clamp(start, all.len());
            let to = (from + limit).min(all.len());
            prop_assert_eq!(&slice.bytes, &all[from..to]);
            prop_assert_eq!(slice.end, to as u64);
            prop_assert_eq!(slice.dropped, (start as u64).saturating_sub(offset));
            prop_assert_eq!(ring.end(), all.len() as u64);
        }
    }
}
