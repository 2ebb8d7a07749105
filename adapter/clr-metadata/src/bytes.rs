//! Checked little-endian reads, and the compressed integers of ECMA-335 II.23.2. Knows no table
//! ([`crate::tables`]) and no signature ([`crate::signature`]).

/// A position in a byte slice. Every read is checked; a failed read returns `None` and does not move it.
#[derive(Debug, Clone, Copy)]
pub struct ByteReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> ByteReader<'a> {
    /// A reader at the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Whether no byte is left to read.
    pub fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// Offset of the next byte.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The next `count` bytes.
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(taken)
    }

    /// Reads one byte, as an unsigned number.
    pub fn u8(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    /// Reads two bytes, little-endian.
    pub fn u16(&mut self) -> Option<u16> {
        self.take(2)?.try_into().ok().map(u16::from_le_bytes)
    }

    /// Reads four bytes, little-endian.
    pub fn u32(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_le_bytes)
    }

    /// Reads eight bytes, little-endian.
    pub fn u64(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }

    /// Reads an unsigned compressed integer of one, two or four bytes.
    pub fn compressed(&mut self) -> Option<u32> {
        let first = u32::from(self.u8()?);
        if first & 0x80 == 0 {
            return Some(first);
        }
        let second = u32::from(self.u8()?);
        if first & 0x40 == 0 {
            return Some((first & 0x3f) << 8 | second);
        }
        let rest = u32::from(self.u8()?) << 8 | u32::from(self.u8()?);
        Some((first & 0x1f) << 24 | second << 16 | rest)
    }

    /// Reads a signed compressed integer, whose sign bit is rotated to the lowest bit.
    pub fn compressed_signed(&mut self) -> Option<i32> {
        let start = self.at;
        let raw = self.compressed()?;
        let bits = match self.at - start {
            1 => 6,
            2 => 13,
            _ => 28,
        };
        let magnitude = (raw >> 1) as i32;
        Some(if raw & 1 == 0 { magnitude } else { magnitude - (1 << bits) })
    }
}

/// Reads a little-endian `u32` at an offset.
pub fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    let mut reader = ByteReader::new(bytes.get(offset..)?);
    reader.u32()
}

/// Reads a little-endian `u16` at an offset.
pub fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    let mut reader = ByteReader::new(bytes.get(offset..)?);
    reader.u16()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressed_integers_are_those_of_the_standard() {
        // ECMA-335 II.23.2, the examples.
        for (bytes, value) in [
            (&[0x03][..], 3),
            (&[0x7f], 0x7f),
            (&[0x80, 0x80], 0x80),
            (&[0xae, 0x57], 0x2e57),
            (&[0xbf, 0xff], 0x3fff),
            (&[0xc0, 0x00, 0x40, 0x00], 0x4000),
            (&[0xdf, 0xff, 0xff, 0xff], 0x1fff_ffff),
        ] {
            assert_eq!(ByteReader::new(bytes).compressed(), Some(value));
        }
        for (bytes, value) in [
            (&[0x06][..], 3),
            (&[0x7b], -3),
            (&[0x80, 0x80], 64),
            (&[0x01], -64),
            (&[0xc0, 0x00, 0x40, 0x00], 8192),
            (&[0x80, 0x01], -8192),
            (&[0xdf, 0xff, 0xff, 0xfe], 268_435_455),
            (&[0xc0, 0x00, 0x00, 0x01], -268_435_456),
        ] {
            assert_eq!(ByteReader::new(bytes).compressed_signed(), Some(value));
        }
        assert_eq!(ByteReader::new(&[0x80]).compressed(), None);
    }
}
