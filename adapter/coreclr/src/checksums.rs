//! Checksums in PDBs and assemblies: of source files, with any line ends, and of PDBs. Reads no file:
//! [`super::sources`] and [`super::retrieval`] do.

use std::borrow::Cow;

use clr_metadata::image::PdbChecksum;
use clr_metadata::pdb::Pdb;
use clr_metadata::pdb::documents::Checksum;
use sha1::Digest;

/// A checksum's algorithm, in DAP's spelling, and its digits.
pub(super) fn spell_checksum(checksum: &Checksum) -> (&'static str, String) {
    match checksum {
        Checksum::Sha1(hash) => ("SHA1", digits(hash)),
        Checksum::Sha256(hash) => ("SHA256", digits(hash)),
    }
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The compiled text, if `text` is the same except for line ends, which a checkout or a server may change.
/// `None` if it is another text.
pub(super) fn as_compiled<'a>(checksum: &Checksum, text: &'a [u8]) -> Option<Cow<'a, [u8]>> {
    let fits = |text: &[u8]| match checksum {
        Checksum::Sha1(hash) => sha1::Sha1::digest(text).as_slice() == hash.as_slice(),
        Checksum::Sha256(hash) => sha2::Sha256::digest(text).as_slice() == hash.as_slice(),
    };
    if fits(text) {
        return Some(Cow::Borrowed(text));
    }
    let mut unix = Vec::with_capacity(text.len());
    for (at, byte) in text.iter().enumerate() {
        if !(*byte == b'\r' && text.get(at + 1) == Some(&b'\n')) {
            unix.push(*byte);
        }
    }
    if fits(&unix) {
        return Some(Cow::Owned(unix));
    }
    let mut dos = Vec::with_capacity(text.len());
    for byte in &unix {
        if *byte == b'\n' {
            dos.push(b'\r');
        }
        dos.push(*byte);
    }
    fits(&dos).then_some(Cow::Owned(dos))
}

/// Whether a PDB's file belongs to the assembly with these checksums; `true` if it has none of a known kind.
/// `pdb` was parsed from `file`.
pub(super) fn is_of(checksums: &[PdbChecksum], pdb: &Pdb, file: &[u8]) -> bool {
    let Some((before, after)) = pdb.parts_around_id(file) else { return false };
    checksums.iter().all(|checksum| match checksum.algorithm.as_str() {
        "SHA256" => hash_around::<sha2::Sha256>(before, after) == checksum.hash,
        "SHA384" => hash_around::<sha2::Sha384>(before, after) == checksum.hash,
        "SHA512" => hash_around::<sha2::Sha512>(before, after) == checksum.hash,
        "SHA1" => hash_around::<sha1::Sha1>(before, after) == checksum.hash,
        _ => true,
    })
}

/// The hash of a PDB with zeros for its id.
fn hash_around<D: Digest>(before: &[u8], after: &[u8]) -> Vec<u8> {
    let id = [0u8; 20];
    D::new().chain_update(before).chain_update(id).chain_update(after).finalize().to_vec()
}

/// The checksums in the format of the header `SymbolChecksum` for symbol servers.
pub(super) fn header(checksums: &[PdbChecksum]) -> String {
    let each = checksums.iter().map(|checksum| format!("{}:{}", checksum.algorithm, digits(&checksum.hash)));
    each.collect::<Vec<_>>().join(";")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_are_ignored_and_other_changes_are_not() {
        let of = |text: &[u8]| Checksum::Sha256(sha2::Sha256::digest(text).to_vec());
        for (compiled, found, fits) in [
            ("a\nb\n", "a\nb\n", true),
            ("a\nb\n", "a\r\nb\r\n", true),
            ("a\r\nb\r\n", "a\nb\n", true),
            ("a\r\nb\r\n", "a\r\nb\n", true),
            ("a\nb\n", "a\nb", false),
            ("a\n", "b\n", false),
        ] {
            let form = as_compiled(&of(compiled.as_bytes()), found.as_bytes());
            assert_eq!(form.as_deref(), fits.then_some(compiled.as_bytes()), "{compiled:?} {found:?}");
        }
    }
}
