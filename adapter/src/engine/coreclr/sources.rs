//! Source files: where they are here, whether they are what was compiled, and their text when only the PDB has it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;

use clr_metadata::pdb::Pdb;
use clr_metadata::pdb::documents::Checksum;
use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};
use sha1::Digest;

use super::modules::Loaded;
use super::session::Session;
use crate::engine::path_map;

/// A document of a module: its id and the document's row.
type Key = (usize, u32);

/// Where sources are, and what was found out about them.
#[derive(Default)]
pub(super) struct Sources {
    /// `sourceFileMap`: what compiled paths begin with, and what stands there here. Longest first.
    map: Vec<(String, String)>,
    /// Folders or files that clients reach by links: where the compiler saw them, and how the clients spell them.
    links: RefCell<Vec<(String, String)>>,
    /// Files that a client spells as the compiler did: that spelling is everybody's then.
    plain: RefCell<Vec<String>>,
    bodies: RefCell<HashMap<Key, Value>>,
}

impl Sources {
    /// Reads `sourceFileMap` and its other spellings.
    ///
    /// # Errors
    /// When it is no object of strings.
    pub(super) fn parse(attributes: &Value) -> Result<Self, Failure> {
        let trimmed = |path: String| path.trim_end_matches(['/', '\\']).to_owned();
        let map = path_map::read(attributes)?.into_iter();
        let mut map: Vec<_> = map.map(|(from, to)| (trimmed(from), trimmed(to))).collect();
        map.sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));
        Ok(Self { map, ..Self::default() })
    }

    /// Where a compiled path is here, as the clients spell it.
    pub(super) fn local(&self, compiled: &str) -> String {
        let here = self.mapped(compiled);
        let links = self.links.borrow();
        links.iter().find_map(|(from, to)| replaced(&here, from, to)).unwrap_or(here)
    }

    /// Where `sourceFileMap` says a compiled path is.
    fn mapped(&self, compiled: &str) -> String {
        let found = self.map.iter().find_map(|(from, to)| replaced(compiled, from, to));
        found.unwrap_or_else(|| compiled.to_owned())
    }

    /// The document of a PDB that a path here means: the very path, else the same file by another way, else the one that
    /// ends alike in most parts, when it is not known to be another file.
    pub(super) fn find(&self, pdb: &Pdb, path: &str) -> Option<u32> {
        self.find_or_guess(pdb, path).map(|(row, _)| row)
    }

    /// The same, and whether it is a guess: nothing is at the path, and a document's path ends alike. A name alone is too
    /// little for that, when the document is here: every program has a `Program.cs`.
    pub(super) fn find_or_guess(&self, pdb: &Pdb, path: &str) -> Option<(u32, bool)> {
        let exact = pdb.documents().find(|(_, document)| *document == path || self.mapped(document) == path);
        if let Some((row, document)) = exact {
            self.keep_plain(self.mapped(document));
            return Some((row, false));
        }
        let given = Path::new(path);
        let here = given.canonicalize().ok();
        let linked = here.as_ref().and_then(|here| {
            pdb.documents().find_map(|(row, document)| {
                let compiled = self.mapped(document);
                // Names are compared first: following every document's links takes time.
                let may_be = Path::new(&compiled).file_name() == here.file_name()
                    || Path::new(&compiled).file_name() == given.file_name();
                let same = may_be && Path::new(&compiled).canonicalize().is_ok_and(|file| file == *here);
                same.then_some((row, compiled))
            })
        });
        if let Some((row, compiled)) = linked {
            self.learn_link(&compiled, path);
            return Some((row, false));
        }
        let parts = |path: &str| path.split(['/', '\\']).rev().map(str::to_owned).collect::<Vec<_>>();
        let wanted = parts(path);
        let alike = |document: &str| {
            parts(document).iter().zip(&wanted).take_while(|(have, wanted)| have == wanted).count()
        };
        let (row, document) = pdb
            .documents()
            .filter(|(_, document)| alike(document) > 0)
            .max_by_key(|(row, document)| (alike(document), std::cmp::Reverse(*row)))?;
        // Two files of one name: the one that exists where it was compiled is another one.
        let (is_here, is_given) = (Path::new(&self.mapped(document)).exists(), given.exists());
        let is_another = is_here && (is_given || alike(document) < 2 && given.is_absolute());
        (!is_another).then_some((row, !is_given))
    }

    /// A client reaches a file by links: what is shown from the same folder is spelled its way.
    fn learn_link(&self, compiled: &str, path: &str) {
        let (mut from, mut to) = (Path::new(compiled), Path::new(path));
        // Up to where the two ways part.
        while let (Some(one), Some(other)) = (from.parent(), to.parent())
            && from.file_name() == to.file_name()
            && one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
        {
            (from, to) = (one, other);
        }
        let link = (from.display().to_string(), to.display().to_string());
        if self.plain.borrow().iter().any(|file| replaced(file, &link.0, &link.1).is_some()) {
            return;
        }
        let mut links = self.links.borrow_mut();
        if from != Path::new("/") && !links.iter().any(|(known, _)| *known == link.0) {
            links.push(link);
            self.bodies.borrow_mut().clear();
        }
    }

    /// A client spells a file as the compiler did.
    fn keep_plain(&self, compiled: String) {
        if self.plain.borrow().contains(&compiled) {
            return;
        }
        let mut links = self.links.borrow_mut();
        let before = links.len();
        links.retain(|(from, to)| replaced(&compiled, from, to).is_none());
        if links.len() != before {
            self.bodies.borrow_mut().clear();
        }
        self.plain.borrow_mut().push(compiled);
    }

    /// Whether the file here is another than what was compiled; line ends alone do not count.
    pub(super) fn differs(pdb: &Pdb, document: u32, path: &str) -> bool {
        let Some(wanted) = pdb.checksum(document) else { return false };
        let Ok(text) = std::fs::read(path) else { return false };
        let hash = |text: &[u8]| match &wanted {
            Checksum::Sha1(hash) => sha1::Sha1::digest(text).as_slice() == hash.as_slice(),
            Checksum::Sha256(hash) => sha2::Sha256::digest(text).as_slice() == hash.as_slice(),
        };
        if hash(&text) {
            return false;
        }
        let mut unix = Vec::with_capacity(text.len());
        for (at, byte) in text.iter().enumerate() {
            if !(*byte == b'\r' && text.get(at + 1) == Some(&b'\n')) {
                unix.push(*byte);
            }
        }
        let mut dos = Vec::with_capacity(text.len());
        for byte in &unix {
            if *byte == b'\n' {
                dos.push(b'\r');
            }
            dos.push(*byte);
        }
        !(hash(&unix) || hash(&dos))
    }
}

/// Whether the text of a `Source` that [`Session::source_body`] gives can be had: its file is here, or its PDB has it.
pub(super) fn is_here(source: &Value) -> bool {
    source["origin"].is_null() || !source["sourceReference"].is_null()
}

/// The engine's number of a document whose text is in its PDB.
fn reference((module, document): Key) -> i64 {
    module as i64 * 0x10_0000 + i64::from(document)
}

impl Session {
    /// DAP `Source` of a document.
    pub(super) fn source_body(&self, loaded: &Loaded, document: u32) -> Value {
        let key = (loaded.id, document);
        if let Some(body) = self.sources.bodies.borrow().get(&key) {
            return body.clone();
        }
        let Ok(pdb) = &loaded.pdb else { return Value::Null };
        let path = self.sources.local(pdb.document(document));
        let mut body = json!({ "name": path.rsplit(['/', '\\']).next(), "path": path });
        if !Path::new(&path).exists() {
            if pdb.has_embedded_source(document) {
                body["sourceReference"] = json!(reference(key));
                body["origin"] = json!("embedded in the PDB");
            } else {
                body["origin"] = json!("not found here; `sourceFileMap` can say where it is");
            }
        }
        if let Some(checksum) = pdb.checksum(document) {
            let (algorithm, bytes) = match checksum {
                Checksum::Sha1(bytes) => ("SHA1", bytes),
                Checksum::Sha256(bytes) => ("SHA256", bytes),
            };
            let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            body["checksums"] = json!([{ "algorithm": algorithm, "checksum": text }]);
        }
        self.sources.bodies.borrow_mut().insert(key, body.clone());
        body
    }

    /// `loadedSources`: every document of the user's modules.
    pub(super) fn loaded_sources(&self) -> Value {
        let mut list = Vec::new();
        for loaded in self.modules.with_symbols() {
            let Ok(pdb) = &loaded.pdb else { continue };
            for (row, _) in pdb.documents() {
                list.push(self.source_body(&loaded, row));
            }
        }
        json!({ "sources": list })
    }

    /// `source`: the text of a document that is embedded in its PDB, or of a file.
    pub(super) fn source(&self, arguments: &Value) -> Result<Value, Failure> {
        let asked = arguments["source"]["sourceReference"].as_i64().filter(|number| *number > 0);
        let asked = asked.or_else(|| arguments["sourceReference"].as_i64().filter(|number| *number > 0));
        let path = arguments["source"]["path"].as_str();
        for loaded in self.modules.with_symbols() {
            let Ok(pdb) = &loaded.pdb else { continue };
            let found = match (asked, path) {
                (Some(number), _) => pdb.documents().find(|(row, _)| reference((loaded.id, *row)) == number),
                (None, Some(path)) => pdb
                    .documents()
                    .find(|(_, document)| *document == path || self.sources.local(document) == path),
                (None, None) => {
                    return Err(Failure::invalid("`source` names neither a reference nor a path"));
                }
            };
            let Some((row, document)) = found else { continue };
            let text = std::fs::read_to_string(self.sources.local(document)).ok();
            if let Some(text) = text.or_else(|| pdb.embedded_source(row)) {
                return Ok(json!({ "content": text, "mimeType": "text/x-csharp" }));
            }
            return Err(Failure::new(
                ErrorCode::InvalidParameter,
                format!("there is no file `{document}` here, and its text is not in the PDB"),
            )
            .hint("`sourceFileMap` can say where it is; `<EmbedAllSources>` puts it into the PDB"));
        }
        Err(Failure::invalid(format!("no loaded module was compiled from {}", arguments["source"])))
    }
}

/// A path below another one, in the place of that.
fn replaced(path: &str, from: &str, to: &str) -> Option<String> {
    let rest = path.strip_prefix(from)?;
    let whole = rest.is_empty() || rest.starts_with(['/', '\\']);
    whole.then(|| format!("{to}{}", rest.replace('\\', "/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_mapping_wins_and_only_whole_folders_count() {
        let sources = Sources::parse(
            &json!({ "sourceFileMap": { "/src/": "/home/me", "/src/lib": "/lib/", "C:\\work": "/w" } }),
        )
        .unwrap();
        for (compiled, here) in [
            ("/src/a/b.cs", "/home/me/a/b.cs"),
            ("/src/lib/x.cs", "/lib/x.cs"),
            ("/src/library/x.cs", "/home/me/library/x.cs"),
            ("/srcs/x.cs", "/srcs/x.cs"),
            ("C:\\work\\a\\b.cs", "/w/a/b.cs"),
        ] {
            assert_eq!(sources.local(compiled), here);
        }
        assert!(Sources::parse(&json!({ "sourceFileMap": [1] })).is_err());
        assert!(Sources::parse(&json!({ "sourceFileMap": { "/a": 1 } })).is_err());
    }
}
