//! A runtime that is linked into the executable: a self-contained program in one file, .NET 6 and later. It
//! has no debugging library. The executable contains the build id of the matching library in the symbol
//! `DotNetRuntimeInfo` (dotnet/diagnostics, `src/shared/debug/inc/runtimeinfo.h`). An installed runtime of
//! the same build may contain that library.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The first 18 bytes of the description: its name, as a C string.
const SIGNATURE: &[u8] = b"DotNetRuntimeInfo\0";
/// Offset of the three build ids in the description, in bytes: of the runtime, of the data access library and
/// of the debugging library.
const IDS_OFFSET: usize = 24;
/// Size of each build id, in bytes: one byte with its length, and room for the id.
const ID_LEN: usize = 24;
/// Accepted versions of the description. In a text that only contains its name, the bytes there
/// are out of this range.
const VERSIONS: std::ops::Range<u32> = 1..100;
/// Maximum size of the data of an executable that is read, in bytes. The runtime's data is a
/// quarter of a megabyte.
const MAX_DATA_LEN: u64 = 64 * 1024 * 1024;
/// Maximum size of notes that are read, in bytes.
const MAX_NOTES_LEN: u64 = 64 * 1024;
/// Type of a note with a build id, NT_GNU_BUILD_ID.
const BUILD_ID: u32 = 3;
/// Types of program headers: loaded segments (PT_LOAD) and notes (PT_NOTE); and the flag of a segment that
/// can be written (PF_W).
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
    /// The libraries for the runtime in an executable; `None` if it contains no runtime. The description is a
    /// variable, so only writable data is read: code, and files bundled after it, may be large.
    pub fn of(executable: &Path) -> Option<Self> {
        let file = File::open(executable).ok()?;
        let data = segments(&file)?.into_iter();
        let data = data.filter(|segment| segment.kind == LOADED_SEGMENT && segment.flags & WRITABLE != 0);
        let mut room = MAX_DATA_LEN;
        for segment in data {
            room = room.checked_sub(segment.length)?;
            let mut bytes = vec![0; usize::try_from(segment.length).ok()?];
            file.read_exact_at(&mut bytes, segment.start).ok()?;
            if let Some(needs) = Self::find_in(&bytes) {
                return Some(needs);
            }
        }
        None
    }

    fn find_in(bytes: &[u8]) -> Option<Self> {
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
            let (count, id) =
                info.get(IDS_OFFSET + number * ID_LEN..IDS_OFFSET + (number + 1) * ID_LEN)?.split_first()?;
            id.get(..usize::from(*count)).filter(|id| !id.is_empty()).map(<[u8]>::to_vec)
        };
        VERSIONS.contains(&version).then_some(())?;
        Some(Self { data_access: id(1)?, debugging: id(2)? })
    }

    /// Whether a folder contains both libraries.
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

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// The segments of a 64-bit little-endian ELF file (ELF-64 Object File Format 1.5, "Program header table").
fn segments(file: &File) -> Option<Vec<Segment>> {
    let mut header = [0; 64];
    file.read_exact_at(&mut header, 0).ok()?;
    if !header.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (first, size) = (u64_at(&header, 32)?, u64::from(u16_at(&header, 54)?));
    let numbers = 0..u64::from(u16_at(&header, 56)?);
    let read = |number: u64| {
        let mut bytes = [0; 56];
        file.read_exact_at(&mut bytes, first.checked_add(number * size)?).ok()?;
        let (kind, flags) = (u32_at(&bytes, 0)?, u32_at(&bytes, 4)?);
        Some(Segment { kind, flags, start: u64_at(&bytes, 8)?, length: u64_at(&bytes, 32)? })
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
        while let (Some(name), Some(content), Some(kind)) =
            (u32_at(rest, 0), u32_at(rest, 4), u32_at(rest, 8))
        {
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
            bytes.resize(ID_LEN, 0xee);
            info.extend(bytes);
        }
        info
    }

    /// A file with these segments: type, flags, content.
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
