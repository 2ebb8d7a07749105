//! Decodes x86-64 instructions. Knows no methods and no program.

use iced_x86::{Decoder, DecoderOptions, Formatter, IntelFormatter};

/// Longest instruction, bytes (Intel SDM, volume 2, 2.3.11).
pub(super) const MAX_INSTRUCTION_LEN: u64 = 15;

/// A decoded machine instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Instruction {
    /// Address of its first byte.
    pub(super) address: u64,
    pub(super) bytes: Vec<u8>,
    /// Text in Intel syntax.
    pub(super) text: String,
    /// Whether the bytes are a valid instruction.
    pub(super) is_valid: bool,
}

impl Instruction {
    /// The address after it.
    pub(super) fn end(&self) -> u64 {
        self.address.wrapping_add(self.bytes.len() as u64)
    }

    pub(super) fn bytes_text(&self) -> String {
        let bytes: Vec<String> = self.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        bytes.join(" ")
    }
}

/// All consecutive instructions of a piece of memory.
pub(super) fn decode(bytes: &[u8], address: u64) -> Vec<Instruction> {
    let mut formatter = IntelFormatter::new();
    let options = formatter.options_mut();
    options.set_hex_prefix("0x");
    options.set_hex_suffix("");
    options.set_uppercase_hex(false);
    options.set_space_after_operand_separator(true);
    options.set_branch_leading_zeros(false);
    options.set_rip_relative_addresses(false);
    let mut decoder = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE);
    let mut list = Vec::new();
    while decoder.can_decode() {
        let start = decoder.position();
        let decoded = decoder.decode();
        let mut text = String::new();
        formatter.format(&decoded, &mut text);
        list.push(Instruction {
            address: decoded.ip(),
            bytes: bytes.get(start..decoder.position()).unwrap_or_default().to_vec(),
            text,
            is_valid: !decoded.is_invalid(),
        });
    }
    list
}

/// The instructions of memory in which one is known to begin at `known`: the part before is decoded from a
/// start that leads there. x86 code cannot be read backwards, so this is a guess, though decoding usually
/// synchronises after a few instructions.
pub(super) fn decode_around(bytes: &[u8], address: u64, known: u64) -> Vec<Instruction> {
    let split = usize::try_from(known.saturating_sub(address)).unwrap_or(usize::MAX).min(bytes.len());
    let (before, after) = bytes.split_at(split);
    let leads = |skip: &usize| {
        let list = decode(before.get(*skip..)?, address.wrapping_add(*skip as u64));
        let ends_there = list.last().is_none_or(|last| last.is_valid && last.end() == known);
        ends_there.then_some(list)
    };
    let most = (MAX_INSTRUCTION_LEN as usize).min(before.len());
    let mut list = (0..most).find_map(|skip| leads(&skip)).unwrap_or_default();
    list.extend(decode(after, known));
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    /// push rbp; mov rbp, rsp; lea rdi, [rip + 0x10]; call 0x1020; ret
    const CODE: [u8; 17] =
        [0x55, 0x48, 0x89, 0xe5, 0x48, 0x8d, 0x3d, 0x10, 0, 0, 0, 0xe8, 0x10, 0, 0, 0, 0xc3];

    #[test]
    fn instructions_are_shown_in_intel_syntax_with_their_bytes() {
        let list = decode(&CODE, 0x1000);
        let texts: Vec<&str> = list.iter().map(|at| at.text.as_str()).collect();
        assert_eq!(texts, ["push rbp", "mov rbp, rsp", "lea rdi, [0x101b]", "call 0x1020", "ret"]);
        assert_eq!(
            (list[3].address, list[3].end(), list[3].bytes_text()),
            (0x100b, 0x1010, "e8 10 00 00 00".into())
        );
        // Cut off in its middle.
        let list = decode(&CODE[..6], 0x1000);
        assert_eq!(list.iter().map(|at| at.is_valid).collect::<Vec<_>>(), [true, true, false]);
    }

    #[test]
    fn instructions_before_an_address_are_found_from_a_misaligned_start() {
        // Begins in the middle of an instruction.
        let list = decode_around(&CODE[2..], 0x1002, 0x100b);
        let known = list.iter().position(|at| at.address == 0x100b).unwrap();
        assert_eq!(list[known].text, "call 0x1020");
        assert_eq!(list[known - 1].end(), 0x100b);
        assert!(decode_around(&[], 0x1000, 0x1000).is_empty());
    }
}
