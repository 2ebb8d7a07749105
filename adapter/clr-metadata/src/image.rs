//! The file of an assembly: the PE headers around its metadata (ECMA-335 II.25), and the location of its
//! symbols. Interprets neither: [`crate::metadata`] and [`crate::pdb`] do.

use std::fs::File;
use std::io::{Cursor, Error, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::FileError;
use crate::bytes::{u16_at, u32_at};
use crate::metadata::Metadata;
use crate::tables::Tables;

/// IMAGE_DEBUG_TYPE_CODEVIEW.
const CODE_VIEW: u32 = 2;
/// IMAGE_DEBUG_TYPE_EMBEDDED_PORTABLE_PDB.
const EMBEDDED: u32 = 17;
/// IMAGE_DEBUG_TYPE_PDBCHECKSUM.
const PDB_CHECKSUM: u32 = 19;
/// Maximum number of checksums of one assembly, and maximum length of the name of an algorithm, in bytes.
const MAX_CHECKSUMS: usize = 8;
const MAX_ALGORITHM_LEN: usize = 32;
/// MinorVersion of a code view entry for a portable PDB.
const PORTABLE: u16 = 0x504d;
/// Maximum size of an unpacked embedded PDB, in bytes.
const MAX_PDB_LEN: u32 = 256 * 1024 * 1024;

/// Offset of the optional header from the signature, after the file header (II.25.2.2).
const OPTIONAL_HEADER: usize = 24;
/// Length of the optional header of PE32+ with all of its directories.
const MAX_OPTIONAL_LEN: usize = 240;
/// Length of a section's header.
const SECTION_LEN: usize = 40;
/// Length of the CLI header's fields up to the entry point.
const CLI_HEADER_LEN: usize = 24;
/// Length of an entry of the debug directory, and maximum number of entries.
const DEBUG_ENTRY_LEN: usize = 28;
const MAX_DEBUG_ENTRIES: usize = 64;

/// A checksum of an assembly's PDB, as the compiler wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PdbChecksum {
    /// For example `SHA256`.
    pub algorithm: String,
    /// The bytes of the hash.
    pub hash: Vec<u8>,
}

/// An assembly's metadata and its debug directory.
#[derive(Debug)]
pub struct PeImage {
    /// The path from which the assembly was read.
    pub path: PathBuf,
    /// The types and methods of the assembly.
    pub metadata: Metadata,
    /// Token of the entry point; 0 for a library.
    pub entry_point: u32,
    /// Path and id (a GUID of 16 bytes) of the PDB, as the compiler wrote them.
    pub code_view: Option<(String, [u8; 16])>,
    /// Checksums of its PDB (see [`Pdb::parts_around_id`](crate::pdb::Pdb::parts_around_id)).
    pub pdb_checksums: Vec<PdbChecksum>,
    /// The embedded PDB, unpacked; `None` if the assembly has none.
    pub embedded_pdb: Option<Vec<u8>>,
}

impl PeImage {
    /// Reads an assembly from a file.
    ///
    /// # Errors
    /// When it cannot be read or is not a .NET assembly.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let file = File::open(path).map_err(|reason| FileError::Io { path: path.into(), reason })?;
        Self::read(path, file)
    }

    /// Reads an assembly from its bytes.
    ///
    /// # Errors
    /// When the bytes are not a .NET assembly.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self, FileError> {
        Self::read(path, Cursor::new(bytes))
    }

    fn read(path: &Path, source: impl Read + Seek) -> Result<Self, FileError> {
        let malformed = |reason| FileError::Malformed { what: "a .NET assembly", reason };
        let mut parts = PartReader { source, error: None };
        let is_executable = parts.up_to(0, 2) == b"MZ";
        // Either the bytes of the file, or its image in memory, where each section is at its own address.
        let image = is_executable.then(|| {
            Self::sections(path, &mut parts, false).or_else(|| Self::sections(path, &mut parts, true))
        });
        match (parts.error, image) {
            (Some(reason), _) => Err(FileError::Io { path: path.into(), reason }),
            (None, Some(image)) => image.ok_or_else(|| malformed("it has no valid .NET header")),
            (None, None) => Err(malformed(
                "it does not begin like a Windows executable, as assemblies do on every system",
            )),
        }
    }

    /// Reads bare metadata (II.24) of an assembly that is created at run time and has no file.
    ///
    /// # Errors
    /// When the metadata is not valid.
    pub fn from_metadata(path: &Path, metadata: Vec<u8>) -> Result<Self, FileError> {
        let malformed = FileError::Malformed { what: "metadata of .NET", reason: "it has no valid tables" };
        let metadata = Metadata::new(Tables::parse(metadata).ok_or(malformed)?);
        Ok(Self {
            path: path.into(),
            metadata,
            entry_point: 0,
            code_view: None,
            pdb_checksums: Vec::new(),
            embedded_pdb: None,
        })
    }

    fn sections(path: &Path, parts: &mut PartReader<impl Read + Seek>, is_mapped: bool) -> Option<Self> {
        let start = u32_at(&parts.up_to(0x3c, 4), 0)? as usize;
        let file_header = parts.up_to(start, OPTIONAL_HEADER);
        let section_count = usize::from(u16_at(&file_header, 6)?);
        let sections_at = OPTIONAL_HEADER + usize::from(u16_at(&file_header, 20)?);
        let end = sections_at.max(OPTIONAL_HEADER + MAX_OPTIONAL_LEN) + section_count * SECTION_LEN;
        let headers = parts.up_to(start, end);
        // PE32+ has longer fields before its directories.
        let directories =
            OPTIONAL_HEADER + if u16_at(&headers, OPTIONAL_HEADER)? == 0x20b { 112 } else { 96 };
        let sections: Vec<(u32, u32, u32)> = (0..section_count)
            .filter_map(|index| {
                let at = sections_at + index * SECTION_LEN;
                Some((u32_at(&headers, at + 12)?, u32_at(&headers, at + 16)?, u32_at(&headers, at + 20)?))
            })
            .collect();
        let file_offset = |address: u32| {
            if is_mapped {
                return Some(address as usize);
            }
            let (start, _, raw) =
                sections.iter().find(|(start, size, _)| address >= *start && address - start < *size)?;
            Some((address - start).checked_add(*raw)? as usize)
        };
        let cli = parts.up_to(file_offset(u32_at(&headers, directories + 14 * 8)?)?, CLI_HEADER_LEN);
        let metadata_at = file_offset(u32_at(&cli, 8)?)?;
        let metadata = parts.exactly(metadata_at, u32_at(&cli, 12)? as usize)?;
        let mut image = Self {
            path: path.into(),
            metadata: Metadata::new(Tables::parse(metadata)?),
            entry_point: u32_at(&cli, 20)?,
            code_view: None,
            pdb_checksums: Vec::new(),
            embedded_pdb: None,
        };
        if let Some(debug) = file_offset(u32_at(&headers, directories + 6 * 8)?) {
            let len = u32_at(&headers, directories + 6 * 8 + 4)? as usize;
            let entries = parts.up_to(debug, len.min(MAX_DEBUG_ENTRIES * DEBUG_ENTRY_LEN));
            for entry in entries.chunks_exact(DEBUG_ENTRY_LEN) {
                image.debug_entry(parts, entry, is_mapped);
            }
        }
        Some(image)
    }

    fn debug_entry(
        &mut self,
        parts: &mut PartReader<impl Read + Seek>,
        entry: &[u8],
        is_mapped: bool,
    ) -> Option<()> {
        let (kind, size) = (u32_at(entry, 12)?, u32_at(entry, 16)? as usize);
        if ![CODE_VIEW, EMBEDDED, PDB_CHECKSUM].contains(&kind) {
            return Some(());
        }
        // IMAGE_DEBUG_DIRECTORY: AddressOfRawData, PointerToRawData.
        let start = u32_at(entry, if is_mapped { 20 } else { 24 })? as usize;
        let data = parts.exactly(start, size)?;
        if kind == CODE_VIEW && data.starts_with(b"RSDS") {
            let path = data.get(24..)?.split(|byte| *byte == 0).next()?;
            let id = data.get(4..20)?.try_into().ok()?;
            // Another entry may be for a Windows PDB.
            let is_portable = u16_at(entry, 10)? == PORTABLE;
            if self.code_view.is_some() && !is_portable {
                return Some(());
            }
            self.code_view = Some((String::from_utf8_lossy(path).into_owned(), id));
        } else if kind == PDB_CHECKSUM && self.pdb_checksums.len() < MAX_CHECKSUMS {
            let end = data.iter().take(MAX_ALGORITHM_LEN).position(|byte| *byte == 0)?;
            let algorithm = String::from_utf8_lossy(data.get(..end)?).into_owned();
            self.pdb_checksums.push(PdbChecksum { algorithm, hash: data.get(end + 1..)?.to_vec() });
        } else if kind == EMBEDDED && data.starts_with(b"MPDB") {
            let length = u32_at(&data, 4)?.min(MAX_PDB_LEN);
            let mut unpacked = Vec::new();
            let unpack = flate2::read::DeflateDecoder::new(data.get(8..)?);
            unpack.take(u64::from(length)).read_to_end(&mut unpacked).ok()?;
            self.embedded_pdb = Some(unpacked);
        }
        Some(())
    }
}

/// Reads parts of a file. Most of an assembly is machine code, 12 MB of the core library's 16 MB: it is not
/// read. The file is not mapped either: a mapped file that a build truncates ends the process.
struct PartReader<S> {
    source: S,
    /// The first error of the file system.
    error: Option<Error>,
}

impl<S: Read + Seek> PartReader<S> {
    /// The bytes at an offset, fewer where the file ends.
    fn up_to(&mut self, at: usize, len: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut read = || {
            self.source.seek(SeekFrom::Start(at as u64))?;
            self.source.by_ref().take(len as u64).read_to_end(&mut bytes)
        };
        if let Err(error) = read() {
            self.error.get_or_insert(error);
        }
        bytes
    }

    /// The bytes at an offset; `None` where the file ends before.
    fn exactly(&mut self, at: usize, len: usize) -> Option<Vec<u8>> {
        Some(self.up_to(at, len)).filter(|bytes| bytes.len() == len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that counts the bytes that are read of it.
    struct Counted<'a>(Cursor<&'a [u8]>, &'a mut usize);

    impl Read for Counted<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            self.0.read(buffer).inspect(|count| *self.1 += count)
        }
    }

    impl Seek for Counted<'_> {
        fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
            self.0.seek(to)
        }
    }

    fn sample() -> Vec<u8> {
        std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/Sample.dll")).unwrap()
    }

    #[test]
    fn code_and_resources_are_not_read() {
        let mut bytes = sample();
        let len = bytes.len();
        bytes.resize(len + (4 << 20), 0);
        let mut count = 0;
        let image = PeImage::read(Path::new("x.dll"), Counted(Cursor::new(&bytes), &mut count)).unwrap();
        assert!(image.metadata.find_type("Sample.Shape").is_some() && image.code_view.is_some());
        // Headers twice, because their length is in the first of them.
        assert!(count < len + 1024, "{count} bytes of {len}");
    }

    #[test]
    fn a_folder_is_reported_as_the_system_does() {
        let error = PeImage::open(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap_err();
        assert!(matches!(error, FileError::Io { .. }), "{error}");
    }

    #[test]
    fn a_file_that_is_cut_off_anywhere_is_rejected_or_read() {
        let bytes = sample();
        for end in (0..bytes.len()).step_by(7) {
            let cut = PeImage::parse(Path::new("x.dll"), &bytes[..end]);
            assert!(!matches!(cut, Err(FileError::Io { .. })), "{end}");
        }
    }
}
