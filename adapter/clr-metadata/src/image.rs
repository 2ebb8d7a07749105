//! The file of an assembly: the PE headers around its metadata (ECMA-335 II.25), and the location of its
//! symbols. Interprets neither: [`crate::metadata`] and [`crate::pdb`] do.

use std::io::Read;
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
        let bytes = std::fs::read(path).map_err(|reason| FileError::Io { path: path.into(), reason })?;
        Self::parse(path, &bytes)
    }

    /// Reads an assembly from its bytes.
    ///
    /// # Errors
    /// When the bytes are not a .NET assembly.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self, FileError> {
        let malformed = |reason| FileError::Malformed { what: "a .NET assembly", reason };
        if bytes.get(..2) != Some(b"MZ") {
            return Err(malformed(
                "it does not begin like a Windows executable, as assemblies do on every system",
            ));
        }
        // Either the bytes of the file, or its image in memory, where each section is at its own address.
        Self::sections(path, bytes, false)
            .or_else(|| Self::sections(path, bytes, true))
            .ok_or_else(|| malformed("it has no valid .NET header"))
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

    fn sections(path: &Path, bytes: &[u8], is_mapped: bool) -> Option<Self> {
        let header = u32_at(bytes, 0x3c)? as usize;
        let section_count = u16_at(bytes, header.checked_add(6)?)?;
        let optional = header + 24;
        let sections_at = optional + u16_at(bytes, header + 20)? as usize;
        // PE32+ has longer fields before its directories.
        let directories = optional + if u16_at(bytes, optional)? == 0x20b { 112 } else { 96 };
        let sections: Vec<(u32, u32, u32)> = (0..usize::from(section_count))
            .filter_map(|index| {
                let at = sections_at + index * 40;
                Some((u32_at(bytes, at + 12)?, u32_at(bytes, at + 16)?, u32_at(bytes, at + 20)?))
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
        let cli = file_offset(u32_at(bytes, directories + 14 * 8)?)?;
        let metadata_at = file_offset(u32_at(bytes, cli + 8)?)?;
        let metadata_size = u32_at(bytes, cli + 12)? as usize;
        let metadata = bytes.get(metadata_at..metadata_at.checked_add(metadata_size)?)?;
        let mut image = Self {
            path: path.into(),
            metadata: Metadata::new(Tables::parse(metadata.to_vec())?),
            entry_point: u32_at(bytes, cli + 20)?,
            code_view: None,
            pdb_checksums: Vec::new(),
            embedded_pdb: None,
        };
        if let Some(debug) = file_offset(u32_at(bytes, directories + 6 * 8)?) {
            let count = u32_at(bytes, directories + 6 * 8 + 4)? as usize / 28;
            for index in 0..count.min(64) {
                image.debug_entry(bytes, debug + index * 28, is_mapped);
            }
        }
        Some(image)
    }

    fn debug_entry(&mut self, bytes: &[u8], at: usize, is_mapped: bool) -> Option<()> {
        let (kind, size) = (u32_at(bytes, at + 12)?, u32_at(bytes, at + 16)? as usize);
        // IMAGE_DEBUG_DIRECTORY: AddressOfRawData, PointerToRawData.
        let start = u32_at(bytes, at + if is_mapped { 20 } else { 24 })? as usize;
        let data = bytes.get(start..start.checked_add(size)?)?;
        if kind == CODE_VIEW && data.starts_with(b"RSDS") {
            let path = data.get(24..)?.split(|byte| *byte == 0).next()?;
            let id = data.get(4..20)?.try_into().ok()?;
            // Another entry may be for a Windows PDB.
            let is_portable = u16_at(bytes, at + 10)? == PORTABLE;
            if self.code_view.is_some() && !is_portable {
                return Some(());
            }
            self.code_view = Some((String::from_utf8_lossy(path).into_owned(), id));
        } else if kind == PDB_CHECKSUM && self.pdb_checksums.len() < MAX_CHECKSUMS {
            let end = data.iter().take(MAX_ALGORITHM_LEN).position(|byte| *byte == 0)?;
            let algorithm = String::from_utf8_lossy(data.get(..end)?).into_owned();
            self.pdb_checksums.push(PdbChecksum { algorithm, hash: data.get(end + 1..)?.to_vec() });
        } else if kind == EMBEDDED && data.starts_with(b"MPDB") {
            let length = u32_at(data, 4)?.min(MAX_PDB_LEN);
            let mut unpacked = Vec::new();
            let unpack = flate2::read::DeflateDecoder::new(data.get(8..)?);
            unpack.take(u64::from(length)).read_to_end(&mut unpacked).ok()?;
            self.embedded_pdb = Some(unpacked);
        }
        Some(())
    }
}
