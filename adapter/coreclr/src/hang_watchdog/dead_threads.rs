//! Ends the runtime's wait for a thread that has already ended.
//!
//! A runtime that stops its threads for the debugger counts the threads that it still waits for. Until the
//! spring of 2025, a thread that ended during the wait stayed in the count (dotnet/runtime, issue 112747),
//! and the stop was never complete. Tandem corrects the count in the program's memory, as the end of a thread
//! does in fixed versions. No symbol names the count, so it is found by its properties: a word of the
//! runtime's data that is -1 while nothing is waited for, and in the file; a small number now; and
//! incremented and decremented by locked instructions. Unless exactly one word matches, nothing is written.

use std::collections::BTreeSet;
use std::os::unix::fs::FileExt;
use std::path::Path;

use cordebug::runtime::ClrRuntime;
use iced_x86::{Decoder, DecoderOptions, Instruction, MemorySize, OpKind, Register};

/// Highest plausible count; a larger number is something else.
const MAX_THREADS: i32 = 10_000;
/// How many instructions after the one that loads the count's address the counting one may be.
const MAX_INSTRUCTIONS_BETWEEN: usize = 4;
/// Larger files are not a runtime, bytes.
const MAX_RUNTIME_BYTES: u64 = 256 * 1024 * 1024;

/// Ends the wait; returns whether it was such a wait. Only for a program whose threads are all stopped.
pub(super) fn end_wait(pid: u32, runtime: &ClrRuntime) -> std::io::Result<bool> {
    if runtime.inside {
        // Its folder is that of its debugging libraries; its code is in the executable, among other code.
        return Ok(false);
    }
    let path = runtime.folder.join("libcoreclr.so");
    if std::fs::metadata(&path)?.len() > MAX_RUNTIME_BYTES {
        return Ok(false);
    }
    let Some(image) = ElfImage::parse(std::fs::read(&path)?) else { return Ok(false) };
    let process = Path::new("/proc").join(pid.to_string()).join("mem");
    let memory = std::fs::File::options().read(true).write(true).open(process)?;
    let waits = |address: &u64| {
        let mut word = [0; 4];
        let read = memory.read_exact_at(&mut word, runtime.base.saturating_add(*address));
        read.is_ok() && (0..MAX_THREADS).contains(&i32::from_le_bytes(word))
    };
    // The initial data of the file leaves few words to search for in its code.
    let waiting: BTreeSet<u64> = image.words_of_ones().filter(waits).collect();
    let counts = image.find_counters(&waiting);
    tracing::debug!(?counts, "words that may count the threads that are waited for");
    let (Some(count), 1) = (counts.first(), counts.len()) else { return Ok(false) };
    memory.write_all_at(&(-1_i32).to_le_bytes(), runtime.base.saturating_add(*count))?;
    Ok(true)
}

/// A loaded part of an ELF file.
struct ElfSegment {
    address: u64,
    start: usize,
    end: usize,
}

/// The needed parts of an ELF file for x86-64.
struct ElfImage {
    bytes: Vec<u8>,
    code: Vec<ElfSegment>,
    data: Vec<ElfSegment>,
}

impl ElfImage {
    /// System V ABI: `Elf64_Ehdr`, `Elf64_Phdr`; `PT_LOAD` is 1, `PF_X` 1, `PF_W` 2.
    fn parse(bytes: Vec<u8>) -> Option<Self> {
        bytes.starts_with(b"\x7fELF\x02\x01").then_some(())?;
        let (table, size, count) = (number(&bytes, 32, 8)?, number(&bytes, 54, 2)?, number(&bytes, 56, 2)?);
        let (mut code, mut data) = (Vec::new(), Vec::new());
        for index in 0..count {
            let at = usize::try_from(table.checked_add(index * size)?).ok()?;
            let field = |offset: usize, length| number(&bytes, at.checked_add(offset)?, length);
            let start = usize::try_from(field(8, 8)?).ok()?;
            let end = start.checked_add(usize::try_from(field(32, 8)?).ok()?)?;
            let part = ElfSegment { address: field(16, 8)?, start, end };
            match (field(0, 4)?, field(4, 4)?) {
                (1, flags) if flags & 1 != 0 => code.push(part),
                (1, flags) if flags & 2 != 0 => data.push(part),
                _ => {}
            }
        }
        Some(Self { bytes, code, data })
    }

    fn of(&self, part: &ElfSegment) -> &[u8] {
        self.bytes.get(part.start..part.end).unwrap_or_default()
    }

    /// Addresses of words of its data whose initial value is -1.
    fn words_of_ones(&self) -> impl Iterator<Item = u64> {
        self.data.iter().flat_map(|part| {
            let words = self.of(part).chunks_exact(4).enumerate();
            words
                .filter(|(_, word)| **word == [0xff; 4])
                .map(|(index, _)| part.address.wrapping_add(4 * index as u64))
        })
    }

    /// Those of the words that locked instructions count, as four-byte numbers.
    fn find_counters(&self, words: &BTreeSet<u64>) -> BTreeSet<u64> {
        let mut found = BTreeSet::new();
        for part in self.code.iter().filter(|_| !words.is_empty()) {
            let code = self.of(part);
            for at in 0..code.len() {
                let rest = code.get(at..).unwrap_or_default();
                let address = part.address.wrapping_add(at as u64);
                let counted = match rest {
                    // lock …
                    [0xf0, ..] => locked_at(rest, address),
                    // lea register, [rip + distance]
                    [0x48 | 0x4c, 0x8d, operands, ..] if operands & 0xc7 == 0x05 => {
                        locked_behind(rest, address, words)
                    }
                    _ => None,
                };
                found.extend(counted.filter(|word| words.contains(word)));
            }
        }
        found
    }
}

/// A little-endian number of a file.
fn number(bytes: &[u8], at: usize, length: usize) -> Option<u64> {
    let part = bytes.get(at..at.checked_add(length)?)?;
    Some(part.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// Whether an instruction atomically increments or decrements a four-byte number in memory.
fn is_counter(instruction: &Instruction) -> bool {
    instruction.has_lock_prefix()
        && instruction.op0_kind() == OpKind::Memory
        && matches!(instruction.memory_size(), MemorySize::UInt32 | MemorySize::Int32)
}

/// The address that the instruction here increments or decrements atomically, if it is relative to
/// the instruction pointer.
fn locked_at(code: &[u8], address: u64) -> Option<u64> {
    let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    let instruction = decoder.decode();
    (is_counter(&instruction) && instruction.is_ip_rel_memory_operand())
        .then(|| instruction.ip_rel_memory_address())
}

/// The same for an instruction soon after this one, which loads the address.
fn locked_behind(code: &[u8], address: u64, words: &BTreeSet<u64>) -> Option<u64> {
    let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    let place = decoder.decode();
    let word = Some(place.ip_rel_memory_address()).filter(|word| words.contains(word))?;
    let counts_there = |instruction: Instruction| {
        let plain = instruction.memory_index() == Register::None && instruction.memory_displacement64() == 0;
        is_counter(&instruction) && plain && instruction.memory_base() == place.op0_register()
    };
    decoder.iter().take(MAX_INSTRUCTIONS_BETWEEN).any(counts_there).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Code at 0x1000, data at 0x2000 that is -1 six times.
    fn image(code: &[u8]) -> ElfImage {
        let mut bytes = code.to_vec();
        let start = bytes.len();
        bytes.extend([0xff; 24]);
        let (code, data) = (
            ElfSegment { address: 0x1000, start: 0, end: start },
            ElfSegment { address: 0x2000, start, end: start + 24 },
        );
        ElfImage { bytes, code: vec![code], data: vec![data] }
    }

    #[test]
    fn only_words_with_locked_four_byte_instructions_are_counters() {
        #[rustfmt::skip]
        let code = [
            0xf0, 0xff, 0x05, 0xf9, 0x0f, 0x00, 0x00,              // lock inc dword [0x2000]
            0xff, 0x05, 0xf7, 0x0f, 0x00, 0x00,                    // inc dword [0x2004]
            0xf0, 0x48, 0xff, 0x05, 0xf3, 0x0f, 0x00, 0x00,        // lock inc qword [0x2008]
            0x48, 0x8d, 0x05, 0xf0, 0x0f, 0x00, 0x00,              // lea rax, [0x200c]
            0x31, 0xc9, 0xf0, 0xff, 0x08,                          // xor ecx, ecx; lock dec dword [rax]
            0x48, 0x8d, 0x0d, 0xe8, 0x0f, 0x00, 0x00,              // lea rcx, [0x2010]
            0xf0, 0xff, 0x00,                                      // lock inc dword [rax]
        ];
        let image = image(&code);
        let words: BTreeSet<u64> = image.words_of_ones().collect();
        assert_eq!(
            words.iter().copied().collect::<Vec<_>>(),
            [0x2000, 0x2004, 0x2008, 0x200c, 0x2010, 0x2014]
        );
        assert_eq!(image.find_counters(&words).into_iter().collect::<Vec<_>>(), [0x2000, 0x200c]);
        assert!(image.find_counters(&BTreeSet::from([0x2004])).is_empty());
    }

    #[test]
    fn own_executable_parses_and_other_bytes_are_refused() {
        let own = ElfImage::parse(std::fs::read("/proc/self/exe").unwrap()).unwrap();
        assert!(!own.code.is_empty() && !own.data.is_empty());
        assert!(own.code.iter().chain(&own.data).all(|part| part.end <= own.bytes.len()));
        assert!(ElfImage::parse(b"\x7fELF\x02\x01 and no more".to_vec()).is_none());
        assert!(ElfImage::parse(Vec::new()).is_none());
    }
}
