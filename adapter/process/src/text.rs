//! Decoding of UTF-8 in chunks: a character that is incomplete at the end of a chunk waits for its rest.
//!
//! Stores nothing between chunks: the reader keeps its position before that character
//! ([`super::output_read`]).

/// How many bytes at the end are the beginning of a character whose rest may still come (0 to 3).
pub fn incomplete_tail(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let byte = bytes.get(bytes.len() - back).copied().unwrap_or_default();
        let width = match byte {
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            0x80..=0xBF => continue,
            _ => return 0,
        };
        return if width > back { back } else { 0 };
    }
    0
}

/// Decodes bytes; invalid ones become U+FFFD.
pub fn decode(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_split_of_a_text_decodes_alike(text in "\\PC{0,20}", at in 0usize..80) {
            let bytes = text.as_bytes();
            let cut = at.min(bytes.len());
            let first = &bytes[..cut];
            let whole = first.len() - incomplete_tail(first);
            let both = decode(bytes[..whole].to_vec()) + &decode(bytes[whole..].to_vec());
            prop_assert_eq!(both, text);
        }
    }

    #[test]
    fn bytes_that_can_become_nothing_do_not_wait() {
        assert_eq!(incomplete_tail(b"a\xff"), 0);
        assert_eq!(incomplete_tail(b"\x80\x80\x80"), 0);
        assert_eq!(decode(b"a\xffb".to_vec()), "a\u{fffd}b");
    }
}
