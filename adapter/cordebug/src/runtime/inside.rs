//! A runtime that is linked into the executable: a self-contained program in one file, .NET 6 and later. It comes without a
//! debugging library. The one that fits is known by its build id, which the executable tells by the symbol `DotNetRuntimeInfo`
//! (dotnet/diagnostics, `src/shared/debug/inc/runtimeinfo.h`), and may lie in an installed runtime of that very build.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// How the description begins: its name, as a C string in 18 bytes.
const SIGNATURE: &[u8] = b"DotNetRuntimeInfo\0";
/// Where its three build ids begin, bytes from its start: the runtime's, the data access library's, the debugging library's.
const IDS: usize = 24;
/// How long each is: a byte that counts, and what is counted.
const ID: usize = 24;
/// The number of versions there may be: a text that looks like it has another word there.
const VERSIONS: std::ops::Range<u32> = 1..100;
/// Largest executable that is looked at, bytes.
const LARGEST: u64 = 1024 * 1024 * 1024;
/// Largest notes that are looked at, bytes.
const NOTES: u64 = 64 * 1024;
/// Type of the note that is a build id, NT_GNU_BUILD_ID.
const BUILD_ID: u32 = 3;
/// Type of a program header that says where notes are, PT_NOTE.
const NOTE_SEGMENT: u32 = 4;

/// The libraries that debug a runtime, by their build ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needs {
    data_access: Vec<u8>,
    debugging: Vec<u8>,
}

impl Needs {
    /// What the runtime in an executable needs; `None` when there is none in it.
    pub fn of(executable: &Path) -> Option<Self> {
        let mut bytes = Vec::new();
        File::open(executable).ok()?.take(LARGEST).read_to_end(&mut bytes).ok()?;
        let mut rest = bytes.as_slice();
        loop {
            let at = rest.windows(SIGNATURE.len()).position(|found| found == SIGNATURE)?;
            rest = rest.get(at..)?;
            if let Some(needs) = Self::described(rest) {
                return Some(needs);
            }
            rest = rest.get(SIGNATURE.len()..)?;
        }
    }

    fn described(info: &[u8]) -> Option<Self> {
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

/// The build id of a 64-bit little-endian ELF file (ELF-64 Object File Format 1.5, "Program header table", and elf(5) on
/// notes).
fn build_id(file: &Path) -> Option<Vec<u8>> {
    let file = File::open(file).ok()?;
    let mut header = [0; 64];
    file.read_exact_at(&mut header, 0).ok()?;
    if !header.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let half = |bytes: &[u8], at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let word = |bytes: &[u8], at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let long = |bytes: &[u8], at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let (first, size) = (long(&header, 32)?, u64::from(half(&header, 54)?));
    for number in 0..u64::from(half(&header, 56)?) {
        let mut segment = [0; 56];
        file.read_exact_at(&mut segment, first.checked_add(number * size)?).ok()?;
        let length = long(&segment, 32)?;
        if word(&segment, 0)? != NOTE_SEGMENT || length > NOTES {
            continue;
        }
        let mut notes = vec![0; usize::try_from(length).ok()?];
        file.read_exact_at(&mut notes, long(&segment, 8)?).ok()?;
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

    #[test]
    fn the_description_is_told_from_words_that_look_like_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("program");
        std::fs::write(&file, [b"say ", SIGNATURE, b" and more of it", &info(2), b"rest"].concat()).unwrap();
        let expected = Needs { data_access: vec![2, 2], debugging: vec![3, 3] };
        assert_eq!(Needs::of(&file), Some(expected.clone()));
        std::fs::write(&file, [SIGNATURE, &info(0x7478_6574)].concat()).unwrap();
        assert_eq!(Needs::of(&file), None);
        assert!(!expected.are_in(folder.path()));
    }

    #[test]
    fn a_build_id_is_read_from_the_notes_of_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("library.so");
        let mut bytes = b"\x7fELF\x02\x01".to_vec();
        bytes.resize(64, 0);
        bytes[32..40].copy_from_slice(&64u64.to_le_bytes());
        bytes[54..56].copy_from_slice(&56u16.to_le_bytes());
        bytes[56..58].copy_from_slice(&1u16.to_le_bytes());
        let notes: Vec<u8> = [
            [4u32, 3, 1].map(u32::to_le_bytes).concat(),
            b"GNU\0abc\0".to_vec(),
            [4u32, 2, BUILD_ID].map(u32::to_le_bytes).concat(),
            b"GNU\0\x07\x08\0\0".to_vec(),
        ]
        .concat();
        let mut segment = NOTE_SEGMENT.to_le_bytes().to_vec();
        segment.resize(56, 0);
        segment[8..16].copy_from_slice(&120u64.to_le_bytes());
        segment[32..40].copy_from_slice(&(notes.len() as u64).to_le_bytes());
        bytes.extend(segment);
        bytes.extend(notes);
        std::fs::write(&file, &bytes).unwrap();
        assert_eq!(build_id(&file), Some(vec![7, 8]));
        std::fs::write(&file, &bytes[..100]).unwrap();
        assert_eq!(build_id(&file), None);
    }
}
