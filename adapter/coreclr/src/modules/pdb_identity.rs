//! Identity of a module's PDB, and the files that have it. Finds none ([`crate::retrieval`]).

use clr_metadata::image::{PdbChecksum, PeImage};
use clr_metadata::pdb::{Pdb, symbol_key};

use crate::checksums;

/// Identity of a module's PDB.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PdbIdentity {
    /// The path that the compiler wrote.
    written: String,
    id: [u8; 16],
    checksums: Vec<PdbChecksum>,
}

impl PdbIdentity {
    /// Identity of an assembly's PDB; `None` if it has no PDB.
    pub(crate) fn of(image: &PeImage) -> Option<Self> {
        let (written, id) = image.code_view.clone()?;
        Some(Self { written, id, checksums: image.pdb_checksums.clone() })
    }

    /// Its key on symbol servers and in their caches.
    pub(crate) fn key(&self) -> Option<String> {
        Some(symbol_key(&self.written, &self.id)?.to_lowercase())
    }

    /// Reads a PDB that another program has generated for the module: it has the id, and never the checksum.
    pub(crate) fn read_unchecked(&self, file: &[u8]) -> Option<Pdb> {
        Pdb::parse(file.to_vec()).filter(|pdb| pdb.matches_id(&self.id))
    }

    /// Reads a PDB that must be the module's.
    ///
    /// # Errors
    /// A description of the file, if it is not the module's PDB.
    pub(crate) fn read(&self, file: &[u8]) -> Result<Pdb, &'static str> {
        if file.starts_with(b"Microsoft C/C++ MSF") {
            return Err("a Windows PDB, which cannot be read here");
        }
        let pdb = Pdb::parse(file.to_vec()).ok_or("no valid portable PDB")?;
        if !pdb.matches_id(&self.id) {
            return Err("the PDB of another build");
        }
        if !checksums::is_of(&self.checksums, &pdb, file) {
            return Err("a PDB whose checksum differs from the module's");
        }
        Ok(pdb)
    }

    /// The header by which a symbol server sends only a PDB with the module's checksums.
    pub(crate) fn checksum_header(&self) -> String {
        checksums::header(&self.checksums)
    }
}
