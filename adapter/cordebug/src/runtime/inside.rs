//! A runtime that is linked into the executable: a self-contained program in one file, .NET 6 and later. It
//! comes without a debugging library. The one that fits is known by its build id, which the executable has in
//! the symbol `DotNetRuntimeInfo` (dotnet/diagnostics, `src/shared/debug/inc/runtimeinfo.h`), and may lie in
//! an installed runtime of that very build.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// How the description begins: its name, as a C string in 18 bytes.
const SIGNATURE: &[u8] = b"DotNetRuntimeInfo\0";
/// Where its three build ids begin, bytes from its start: the runtime's, the data access library's, the
/// debugging library's.
const IDS: usize = 24;
/// How long each is: a byte that counts, and what is counted.
const ID: usize = 24;
/// The number of versions there may be: a text that looks like it has another word there.
const VERSIONS: std::ops::Range<u32> = 1..100;
/// Most data of an executable that is looked at, bytes: the runtime's own is a fourth of a megabyte.
const MAX_DATA_LEN: u64 = 64 * 1024 * 1024;
/// Largest notes that are looked at, bytes.
const MAX_NOTES_LEN: u64 = 64 * 1024;
/// Type of the note that is a build id, NT_GNU_BUILD_ID.
const BUILD_ID: u32 = 3;
/// Types of program headers: what is loaded (PT_LOAD), and where notes are (PT_NOTE); and a flag: it can be
/// written (PF_W).
const LOADED_SEGMENT: u32 = 1;
const NOTE_SEGMENT: u32 = 4;
const WRITABLE: u32 = 2;

/// The libraries that debug a runtime, by their build ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DebuggingLibraries {
    data_access: Vec<u8>,
    debugging: Vec<u8>,
}

impl DebuggingLibraries {
    /// The needs of the runtime in an executable; `None` when there is none in it. The description is a
    /// variable, so only the data is read: code, and files bundled after it, may be large.
    pub fn of(executable: &Path) -> Option<Self> {
        let file = File::open(executable).ok()?;
        let data = segments(&file)?.into_iter();
        let data = data.filter(|segment| segment.kind == LOADED_SEGMENT && segment.flags & WRITABLE != 0);
        let mut room = MAX_DATA_LEN;
        for segment in data {
            room = room.checked_sub(segment.length)?;
            let mut bytes = vec![0; usize::try_from(segment.length).ok()?];
            file.read_exact_at(&mut bytes, segment.start).ok()?;
            if let Some(needs) = Self::described_in(&bytes) {
                return Some(needs);
            }
        }
        None
    }

    fn described_in(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        loop {
            let at = memchr::memmem::find(rest, SIGNATURE)?;
            rest = rest.get(at..)?;
            if let Some(needs) = Self::parse(rest) {
                return Some(needs);
            }
            rest = rest.get(SIGNATURE.len()..)?;
        }
    }

    fn parse(info: &[u8]) -> Option<Self> {
        let version = u32::from_le_bytes(info.get(20..24)?.try_into().ok()?);
        let id = |number: usize| {
            let (count, id) = info.get(IDS + number * ID..IDS + (number + 1) * ID)?.split_first()?;
            id.get(..usize::from(*count)).filter(|id| !id.is_empty()).map(<[u8]>::to_vec)
        };
        VERSIONS.contains(&version).then_some(())?;
        Some(Self { data_access: id(1)?, debugging: id(2)? })
    }

    /// Whether a folder has both.
    pub fn are_in(&self, folder: &Path) -> bool {
        let has = |name: &str, id: &[u8]| build_id(&folder.join(name)).is_some_and(|found| found == id);
        has("libmscordbi.so", &self.debugging) && has("libmscordaccore.so", &self.data_access)
    }
}

/// A part of a file, as a program header describes it.
struct Segment {
    kind: u32,
    flags: u32,
    start: u64,
    length: u64,
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// The segments of a 64-bit little-endian ELF file (ELF-64 Object File Format 1.5, "Program header table").
fn segments(file: &File) -> Option<Vec<Segment>> {
    let mut header = [0; 64];
    file.read_exact_at(&mut header, 0).ok()?;
    if !header.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (first, size) = (long(&header, 32)?, u64::from(half(&header, 54)?));
    let numbers = 0..u64::from(half(&header, 56)?);
    let read = |number: u64| {
        let mut bytes = [0; 56];
        file.read_exact_at(&mut bytes, first.checked_add(number * size)?).ok()?;
        let (kind, flags) = (word(&bytes, 0)?, word(&bytes, 4)?);
        Some(Segment { kind, flags, start: long(&bytes, 8)?, length: long(&bytes, 32)? })
    };
    numbers.map(read).collect()
}

/// The build id of an ELF file (elf(5) on notes).
fn build_id(file: &Path) -> Option<Vec<u8>> {
    let file = File::open(file).ok()?;
    for segment in segments(&file)? {
        if segment.kind != NOTE_SEGMENT || segment.length > MAX_NOTES_LEN {
            continue;
        }
        let mut notes = vec![0; usize::try_from(segment.length).ok()?];
        file.read_exact_at(&mut notes, segment.start).ok()?;
        let mut rest = notes.as_slice();
        while let (Some(name), Some(content), Some(kind)) = (word(rest, 0), word(rest, 4), word(rest, 8)) {
            let padded = |length: u32| usize::try_from(length).ok()?.checked_next_multiple_of(4);
            let start = padded(name)?.checked_add(12)?;
            let end = start.checked_add(padded(content)?)?;
            let found = rest.get(start..)?.get(..usize::try_from(content).ok()?)?;
            if kind == BUILD_ID && rest.get(12..16)? == b"GNU\0" {
                return Some(found.to_vec());
            }
            rest = rest.get(end..)?;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(version: u32) -> Vec<u8> {
        let mut info = SIGNATURE.to_vec();
        info.resize(20, 0);
        info.extend(version.to_le_bytes());
        for id in 1..=3u8 {
            let mut bytes = vec![2, id, id];
            bytes.resize(ID, 0xee);
            info.extend(bytes);
        }
        info
    }

    /// A file of these segments: type, flags, what is in it.
    fn elf(segments: &[(u32, u32, &[u8])]) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02\x01".to_vec();
        bytes.resize(64, 0);
        bytes[32..40].copy_from_slice(&64u64.to_le_bytes());
        bytes[54..56].copy_from_slice(&56u16.to_le_bytes());
        bytes[56..58].copy_from_slice(&(segments.len() as u16).to_le_bytes());
        let mut start = 64 + 56 * segments.len();
        for (kind, flags, content) in segments {
            let mut header = [kind.to_le_bytes(), flags.to_le_bytes()].concat();
            header.resize(56, 0);
            header[8..16].copy_from_slice(&(start as u64).to_le_bytes());
            header[32..40].copy_from_slice(&(content.len() as u64).to_le_bytes());
            bytes.extend(header);
            start += content.len();
        }
        bytes.extend(segments.iter().flat_map(|(.., content)| content.iter()));
        bytes
    }

    #[test]
    fn the_description_is_distinguished_from_text_that_looks_like_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("program");
        let needs = |segments: &[(u32, u32, &[u8])]| {
            std::fs::write(&file, elf(segments)).unwrap();
            DebuggingLibraries::of(&file)
        };
        let data = [b"say ", SIGNATURE, b" and more of it", &info(2), b"rest"].concat();
        let expected = DebuggingLibraries { data_access: vec![2, 2], debugging: vec![3, 3] };
        assert_eq!(
            needs(&[(LOADED_SEGMENT, 5, b"code"), (LOADED_SEGMENT, 6, &data)]),
            Some(expected.clone())
        );
        assert_eq!(needs(&[(LOADED_SEGMENT, 6, &[SIGNATURE, &info(0x7478_6574)].concat())]), None);
        assert_eq!(needs(&[(LOADED_SEGMENT, 5, &data), (NOTE_SEGMENT, 6, &data)]), None, "no data");
        assert!(!expected.are_in(folder.path()));
    }

    #[test]
    fn an_executable_with_too_much_data_or_a_false_header_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("program");
        let mut bytes = elf(&[(LOADED_SEGMENT, 6, &info(2))]);
        for length in [MAX_DATA_LEN + 1, u64::MAX, 100_000] {
            bytes[96..104].copy_from_slice(&length.to_le_bytes());
            std::fs::write(&file, &bytes).unwrap();
            assert_eq!(DebuggingLibraries::of(&file), None, "{length}");
        }
        for length in [0, 6, 64, 100] {
            std::fs::write(&file, &bytes[..length]).unwrap();
            assert_eq!(DebuggingLibraries::of(&file), None, "cut to {length}");
        }
    }

    #[test]
    fn a_build_id_is_read_from_the_notes_of_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("library.so");
        let notes: Vec<u8> = [
            [4u32, 3, 1].map(u32::to_le_bytes).concat(),
            b"GNU\0abc\0".to_vec(),
            [4u32, 2, BUILD_ID].map(u32::to_le_bytes).concat(),
            b"GNU\0\x07\x08\0\0".to_vec(),
        ]
        .concat();
        let bytes = elf(&[(NOTE_SEGMENT, 4, &notes)]);
        std::fs::write(&file, &bytes).unwrap();
        assert_eq!(build_id(&file), Some(vec![7, 8]));
        std::fs::write(&file, &bytes[..100]).unwrap();
        assert_eq!(build_id(&file), None);
    }
}
