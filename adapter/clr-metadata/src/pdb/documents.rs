//! The source files of a PDB: their checksums, and their text if it is embedded.
//!
//! Not here: addresses of sources that are not embedded ([`super::source_link`]).

use std::io::Read;

use super::Pdb;
use crate::bytes::ByteReader;
use crate::tables::table;

/// Hash algorithm {FF1816EC-AA5E-4D10-87F7-6F4963833460}.
const SHA1: [u8; 16] =
    [0xec, 0x16, 0x18, 0xff, 0x5e, 0xaa, 0x10, 0x4d, 0x87, 0xf7, 0x6f, 0x49, 0x63, 0x83, 0x34, 0x60];
/// Hash algorithm {8829D00F-11B8-4213-878B-770E8597AC16}.
const SHA256: [u8; 16] =
    [0x0f, 0xd0, 0x29, 0x88, 0xb8, 0x11, 0x13, 0x42, 0x87, 0x8b, 0x77, 0x0e, 0x85, 0x97, 0xac, 0x16];
/// Kind of CustomDebugInformation with a source text: {0E8A571B-6926-466E-B4AD-8AB04611F5FE}.
const EMBEDDED_SOURCE: [u8; 16] =
    [0x1b, 0x57, 0x8a, 0x0e, 0x26, 0x69, 0x6e, 0x46, 0xb4, 0xad, 0x8a, 0xb0, 0x46, 0x11, 0xf5, 0xfe];
/// Maximum size of an unpacked source text, in bytes.
const MAX_SOURCE_LEN: u32 = 64 * 1024 * 1024;

/// The checksum of a source file when it was compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Checksum {
    /// A SHA-1 hash of 20 bytes.
    Sha1(Vec<u8>),
    /// A SHA-256 hash of 32 bytes.
    Sha256(Vec<u8>),
}

/// How many parts at the end of two paths are equal. One of them may come from Windows, where `\` separates
/// parts; in a path that begins with `/` it is a character of a name.
pub fn common_parts(one: &str, other: &str) -> usize {
    let parts = |path: &str| {
        let separators: &[char] = if path.starts_with('/') { &['/'] } else { &['/', '\\'] };
        path.rsplit(separators).map(str::to_owned).collect::<Vec<_>>()
    };
    parts(one).iter().zip(parts(other)).take_while(|(one, other)| *one == other).count()
}

impl Pdb {
    /// Every document's row and path, in order.
    pub fn documents(&self) -> impl Iterator<Item = (u32, &str)> {
        (0u32..).zip(self.documents.iter().map(String::as_str)).skip(1)
    }

    /// Puts a folder before relative document names, which PDBs of a decompiler have.
    pub fn place_documents(&mut self, folder: &str) {
        for document in self.documents.iter_mut().skip(1).filter(|document| !document.starts_with('/')) {
            *document = format!("{folder}/{document}");
        }
    }

    /// The checksum of a document; `None` if it has none, or one of another algorithm.
    pub fn checksum(&self, document: u32) -> Option<Checksum> {
        let cell = |column| self.tables.cell(table::DOCUMENT, document, column);
        let (kind, hash) = (self.tables.guid(cell(1)), self.tables.blob(cell(2)).to_vec());
        match hash.len() {
            20 if kind == SHA1 => Some(Checksum::Sha1(hash)),
            32 if kind == SHA256 => Some(Checksum::Sha256(hash)),
            _ => None,
        }
    }

    fn embedded_blob(&self, document: u32) -> Option<&[u8]> {
        // HasCustomDebugInformation: tag 22 is a document, in 5 bits.
        let parent = document << 5 | 22;
        let cell = |at, column| self.tables.cell(table::CUSTOM_DEBUG, at, column);
        (1..=self.tables.rows(table::CUSTOM_DEBUG))
            .find(|at| cell(*at, 0) == parent && self.tables.guid(cell(*at, 1)) == EMBEDDED_SOURCE)
            .map(|at| self.tables.blob(cell(at, 2)))
    }

    /// Whether a document's text is in the PDB.
    pub fn has_embedded_source(&self, document: u32) -> bool {
        self.embedded_blob(document).is_some()
    }

    /// The text of a document, if it is embedded in the PDB. The blob has 0 and the bytes, or the size
    /// and the deflated bytes.
    pub fn embedded_source(&self, document: u32) -> Option<String> {
        let blob = self.embedded_blob(document)?;
        let mut reader = ByteReader::new(blob);
        let length = reader.u32()?;
        let packed = blob.get(4..)?;
        let mut unpacked = Vec::new();
        if length == 0 {
            unpacked.extend_from_slice(packed);
        } else {
            let unpack = flate2::read::DeflateDecoder::new(packed);
            unpack.take(u64::from(length.min(MAX_SOURCE_LEN))).read_to_end(&mut unpacked).ok()?;
        }
        let text = String::from_utf8_lossy(&unpacked);
        Some(text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_both_systems_are_compared_from_their_ends() {
        for (one, other, count) in [
            ("/home/me/app/Program.cs", "/home/me/app/Program.cs", 5),
            (r"C:\src\app\Program.cs", "/home/me/app/Program.cs", 2),
            ("C:/src/app/Program.cs", r"D:\app\Program.cs", 2),
            ("/_/src/Program.cs", "/home/src/program.cs", 0),
            ("Program.cs", "/home/Program.cs", 1),
            // A file whose name has the separator of Windows.
            (r"/home/odd\Program.cs", r"C:\src\Program.cs", 0),
            (r"/home/odd\Program.cs", r"/mnt/odd\Program.cs", 1),
        ] {
            assert_eq!(common_parts(one, other), count, "{one} {other}");
            assert_eq!(common_parts(other, one), count, "{other} {one}");
        }
    }
}
