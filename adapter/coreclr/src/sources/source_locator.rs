//! Local paths of source files, and whether the files match the compiled ones. Not here: sources without a
//! file ([`super::Sources`]).

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use clr_metadata::pdb::Pdb;
use clr_metadata::pdb::documents::common_parts;
use percent_encoding::percent_decode_str;
use serde_json::Value;
use tandem_download::Cache;
use tandem_wire::Failure;
use tandem_wire::types::Source;

use super::reference;
use crate::checksums;
use crate::inbox::Document;
use crate::retrieval::source_files;
use crate::types::ClrTypeSystem;
use tandem_dotnet_launch::Attributes;
use tandem_engine::path_map;

/// Locations of sources, and a cache of results.
#[derive(Default)]
pub(crate) struct SourceLocator {
    /// `sourceFileMap`: compiled path prefixes and their local replacements. Longest first.
    map: Vec<(String, String)>,
    /// The same for the addresses of Source Link; a `*` stands for one path segment.
    addresses: Vec<(String, String)>,
    /// `requireExactSource`: a file that differs from the compiled one counts as absent.
    is_exact: bool,
    /// The cache of fetched sources.
    pub(super) cache: Option<Arc<Cache>>,
    /// Folders or files that clients reach through links: the compiler's path, and the clients' spelling.
    links: RefCell<Vec<(String, String)>>,
    /// Files that a client spells as the compiler did: all clients get that spelling.
    plain: RefCell<Vec<String>>,
    pub(super) bodies: RefCell<HashMap<Document, Source>>,
}

impl SourceLocator {
    /// The path of the source with this reference.
    pub(crate) fn path_of_reference(&self, types: &ClrTypeSystem, number: i64) -> Option<String> {
        types.modules.with_symbols().iter().find_map(|loaded| {
            let pdb = loaded.pdb.as_ref().ok()?;
            let (row, _) = pdb.documents().find(|(row, _)| reference(loaded, *row) == number)?;
            Some(self.path_of(pdb, row))
        })
    }

    /// Reads `sourceFileMap` and its aliases, and `requireExactSource`.
    ///
    /// # Errors
    /// When it is not an object of strings.
    pub(crate) fn parse(attributes: &Value, cache: Option<Arc<Cache>>) -> Result<Self, Failure> {
        let trimmed = |path: String| path.trim_end_matches(['/', '\\']).to_owned();
        let map = path_map::read(attributes)?.into_iter();
        let mut map: Vec<_> = map.map(|(from, to)| (trimmed(from), trimmed(to))).collect();
        map.sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));
        let (addresses, map) = map.into_iter().partition(|(from, _)| from.contains("://"));
        let is_exact = Attributes(attributes).flag("requireExactSource", false)?;
        Ok(Self { map, addresses, is_exact, cache, ..Self::default() })
    }

    /// The local path of a document in the clients' spelling: where `sourceFileMap` maps its path or its
    /// address, otherwise in the cache; otherwise the path where it would be.
    pub(crate) fn path_of(&self, pdb: &Pdb, document: u32) -> String {
        let compiled = pdb.document(document);
        let path = self.local(compiled);
        if self.is_there(pdb, document, &path) {
            return path;
        }
        if let Some(path) = self.by_address(pdb, compiled).filter(|path| self.is_there(pdb, document, path)) {
            return path;
        }
        let fetched = || source_files::cached(self.cache.as_deref()?, &pdb.checksum(document)?, compiled);
        fetched().map_or(path, |fetched| fetched.display().to_string())
    }

    /// Whether a file exists that counts as this source.
    pub(crate) fn is_there(&self, pdb: &Pdb, document: u32, path: &str) -> bool {
        Path::new(path).exists() && !(self.is_exact && Self::differs(pdb, document, path))
    }

    /// The path to which `sourceFileMap` maps the document's address.
    fn by_address(&self, pdb: &Pdb, compiled: &str) -> Option<String> {
        if self.addresses.is_empty() {
            return None;
        }
        let url = pdb.source_link()?.url(compiled)?;
        self.addresses.iter().find_map(|(from, to)| mapped_address(&url, from, to))
    }

    /// Whether a breakpoint does not bind because a file differs from the compiled one.
    pub(crate) fn is_refused(&self, pdb: &Pdb, document: u32, path: &str) -> bool {
        self.is_exact && Self::differs(pdb, document, path)
    }

    /// A source was fetched: it keeps its path, and can be read now.
    pub(crate) fn add_fetched(&self, document: Document) {
        if let Some(body) = self.bodies.borrow_mut().get_mut(&document) {
            body.adapter_data = None;
        }
    }

    /// The symbols of a module have changed.
    pub(crate) fn forget_module(&self, module: usize) {
        self.bodies.borrow_mut().retain(|(of, _), _| *of != module);
    }

    /// The local path of a compiled path, in the clients' spelling.
    pub(crate) fn local(&self, compiled: &str) -> String {
        let here = self.map_path(compiled);
        let links = self.links.borrow();
        links.iter().find_map(|(from, to)| replace_prefix(&here, from, to)).unwrap_or(here)
    }

    /// The path to which `sourceFileMap` maps a compiled path.
    fn map_path(&self, compiled: &str) -> String {
        let found = self.map.iter().find_map(|(from, to)| replace_prefix(compiled, from, to));
        found.unwrap_or_else(|| compiled.to_owned())
    }

    /// The document of a PDB that a local path means: the exact path, otherwise the same file by
    /// another path, otherwise the one whose path has the longest common end, unless that is
    /// known to be another file.
    pub(crate) fn find(&self, pdb: &Pdb, path: &str) -> Option<u32> {
        self.find_or_guess(pdb, path).map(|(row, _)| row)
    }

    /// The same, and whether it is a guess: no file is at the path, and a document's path has the same end.
    /// The file name alone is not sufficient if the document exists here: every program has a `Program.cs`.
    pub(crate) fn find_or_guess(&self, pdb: &Pdb, path: &str) -> Option<(u32, bool)> {
        let exact =
            pdb.documents().find(|(_, document)| *document == path || self.map_path(document) == path);
        let exact = exact.or_else(|| self.find_kept(pdb, path));
        if let Some((row, document)) = exact {
            self.keep_plain(self.map_path(document));
            return Some((row, false));
        }
        let given = Path::new(path);
        let here = given.canonicalize().ok();
        let linked = here.as_ref().and_then(|here| {
            pdb.documents().find_map(|(row, document)| {
                let compiled = self.map_path(document);
                // Names are compared first: resolving every document's links takes time.
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
        let alike = |document: &str| common_parts(document, path);
        let (row, document) = pdb
            .documents()
            .filter(|(_, document)| alike(document) > 0)
            .max_by_key(|(row, document)| (alike(document), std::cmp::Reverse(*row)))?;
        // Two files with the same name: the one that exists at the compiled path is another file.
        let (is_here, is_given) = (Path::new(&self.map_path(document)).exists(), given.exists());
        let is_another = is_here && (is_given || alike(document) < 2 && given.is_absolute());
        (!is_another).then_some((row, !is_given))
    }

    /// The document of a file in the cache, or of one in a clone of the repository that Source Link names.
    pub(crate) fn find_kept<'a>(&self, pdb: &'a Pdb, path: &str) -> Option<(u32, &'a str)> {
        if let Some(digest) = self.cache.as_deref().and_then(|cache| source_files::checksum_in(cache, path)) {
            let has = |row: u32| {
                pdb.checksum(row).is_some_and(|checksum| checksums::spell_checksum(&checksum).1 == digest)
            };
            return pdb.documents().find(|(row, _)| has(*row));
        }
        pdb.documents().find(|(_, document)| self.by_address(pdb, document).is_some_and(|here| here == path))
    }

    /// A client reaches a file through links: other files of the same folder are shown in its spelling.
    fn learn_link(&self, compiled: &str, path: &str) {
        let (mut from, mut to) = (Path::new(compiled), Path::new(path));
        // Up to the point where the two paths differ.
        while let (Some(one), Some(other)) = (from.parent(), to.parent())
            && from.file_name() == to.file_name()
            && one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
        {
            (from, to) = (one, other);
        }
        let link = (from.display().to_string(), to.display().to_string());
        if self.plain.borrow().iter().any(|file| replace_prefix(file, &link.0, &link.1).is_some()) {
            return;
        }
        let mut links = self.links.borrow_mut();
        if from != Path::new("/") && !links.iter().any(|(known, _)| *known == link.0) {
            links.push(link);
            self.bodies.borrow_mut().clear();
        }
    }

    /// A client spells a file as the compiler does.
    fn keep_plain(&self, compiled: String) {
        if self.plain.borrow().contains(&compiled) {
            return;
        }
        let mut links = self.links.borrow_mut();
        let before = links.len();
        links.retain(|(from, to)| replace_prefix(&compiled, from, to).is_none());
        if links.len() != before {
            self.bodies.borrow_mut().clear();
        }
        self.plain.borrow_mut().push(compiled);
    }

    /// Whether the local file differs from the compiled one; line ends alone do not count.
    pub(crate) fn differs(pdb: &Pdb, document: u32, path: &str) -> bool {
        let Some(checksum) = pdb.checksum(document) else { return false };
        std::fs::read(path).is_ok_and(|text| checksums::as_compiled(&checksum, &text).is_none())
    }
}

/// An address below another one, moved to the replacement; `*` in `from` stands for one name.
fn mapped_address(url: &str, from: &str, to: &str) -> Option<String> {
    let (mut names, mut path) = (url.split('/'), to.to_owned());
    for expected in from.split('/') {
        let name = names.next()?;
        (expected == "*" || expected == name).then_some(())?;
    }
    for name in names {
        let name = percent_decode_str(name.split('?').next().unwrap_or_default()).decode_utf8().ok()?;
        let is_plain = !matches!(&*name, "." | "..") && !name.contains(['/', '\0']);
        is_plain.then_some(())?;
        path = format!("{path}/{name}");
    }
    Some(path)
}

/// A path below another one, moved to the replacement.
fn replace_prefix(path: &str, from: &str, to: &str) -> Option<String> {
    let rest = path.strip_prefix(from)?;
    let whole = rest.is_empty() || rest.starts_with(['/', '\\']);
    whole.then(|| format!("{to}{}", rest.replace('\\', "/")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn longest_mapping_wins_and_only_whole_folders_match() {
        let map = json!({ "sourceFileMap": { "/src/": "/home/me", "/src/lib": "/lib/", "C:\\work": "/w" } });
        let sources = SourceLocator::parse(&map, None).unwrap();
        for (compiled, here) in [
            ("/src/a/b.cs", "/home/me/a/b.cs"),
            ("/src/lib/x.cs", "/lib/x.cs"),
            ("/src/library/x.cs", "/home/me/library/x.cs"),
            ("/srcs/x.cs", "/srcs/x.cs"),
            ("C:\\work\\a\\b.cs", "/w/a/b.cs"),
        ] {
            assert_eq!(sources.local(compiled), here);
        }
        assert!(SourceLocator::parse(&json!({ "sourceFileMap": [1] }), None).is_err());
        assert!(SourceLocator::parse(&json!({ "sourceFileMap": { "/a": 1 } }), None).is_err());
        assert!(SourceLocator::parse(&json!({ "requireExactSource": 1 }), None).is_err());
    }

    #[test]
    fn address_maps_to_a_clone_for_any_commit() {
        let url = "https://raw.example/me/it/0123abcd/src/a%20b.cs?x=1";
        for (from, here) in [
            ("https://raw.example/me/it/0123abcd", Some("/clone/src/a b.cs")),
            ("https://raw.example/me/it/*", Some("/clone/src/a b.cs")),
            ("https://raw.example/*/*/*", Some("/clone/src/a b.cs")),
            ("https://raw.example/me/i", None),
            ("https://raw.example/you/it/*", None),
        ] {
            assert_eq!(mapped_address(url, from, "/clone").as_deref(), here, "{from}");
        }
        for hostile in
            ["https://raw.example/%2e%2e/x", "https://raw.example/../x", "https://raw.example/a%2fb"]
        {
            assert_eq!(mapped_address(hostile, "https://raw.example", "/clone"), None, "{hostile}");
        }
    }
}
