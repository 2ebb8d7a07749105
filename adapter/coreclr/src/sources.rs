//! Sources of the program's code: files here, and those that are embedded in a PDB, fetched or decompiled.
//! Not here: requests for their texts ([`super::source_requests`]).

mod source_locator;

use std::path::Path;
use std::sync::mpsc::Sender;

use serde_json::Value;
use tandem_wire::types::{self, DapChecksum, LoadedSourcesResponseBody, Source, SourceAvailability};

use super::checksums;
use super::inbox::EngineInput;
use super::modules::LoadedModule;
use super::retrieval::Retrieval;
use super::types::ClrTypeSystem;
pub(super) use source_locator::SourceLocator;

/// In the engine's source reference: flag of a method whose source is unknown; followed by the module's id
/// and the method's row.
const OF_METHOD: i64 = 1 << 48;
/// Flag of a decompiled source.
const DECOMPILED: i64 = 1 << 47;

/// Where sources are, and what was retrieved of those that are missing.
pub(super) struct Sources {
    pub(super) locator: SourceLocator,
    pub(super) retrieval: Retrieval,
}

impl Sources {
    /// Without attributes: nothing is mapped or fetched. `inbox` receives what is retrieved.
    pub(super) fn new(inbox: Sender<EngineInput>) -> Self {
        Self { locator: SourceLocator::default(), retrieval: Retrieval::new(inbox) }
    }

    /// DAP `Source` of a document: stable as long as the module has the same symbols.
    /// `None` for a module without symbols.
    pub(super) fn source_body(&self, loaded: &LoadedModule, document: u32) -> Option<Source> {
        let key = (loaded.id, document);
        if let Some(body) = self.locator.bodies.borrow().get(&key) {
            return Some(body.clone());
        }
        let pdb = loaded.pdb.as_ref().ok()?;
        let path = self.locator.path_of(pdb, document);
        let mut body = Source {
            name: path.rsplit(['/', '\\']).next().map(str::to_owned),
            path: Some(path.clone()),
            ..Source::default()
        };
        let reference = || Some(reference(loaded, document));
        let is_here = self.locator.is_there(pdb, document, &path);
        let is_kept =
            self.locator.cache.as_deref().is_some_and(|cache| Path::new(&path).starts_with(cache.folder()));
        let url = || pdb.source_link()?.url(pdb.document(document));
        match url() {
            _ if loaded.is_decompiled() => {
                body.origin = Some("decompiled".into());
                body.source_reference = if is_here { None } else { reference() };
            }
            Some(url) if is_here && is_kept => body.origin = Some(format!("fetched from {url}")),
            _ if is_here => {}
            _ if pdb.has_embedded_source(document) => {
                body.source_reference = reference();
                body.origin = Some("embedded in the PDB".into());
            }
            Some(url) => {
                body.source_reference = reference();
                body.origin = Some(format!("at {url}"));
                if !self.retrieval.is_fetched(key) {
                    body.adapter_data = not_here();
                }
            }
            None if self.retrieval.decompilation.is_possible(loaded) => {
                body.source_reference = reference();
                body.origin = Some("not found here; decompiled when it is opened".into());
                body.adapter_data = not_here();
            }
            None if Path::new(&path).exists() => {
                body.origin = Some("the file here is not what was compiled (`requireExactSource`)".into());
                body.adapter_data = not_here();
            }
            None => body.origin = Some("not found here; `sourceFileMap` can map it".into()),
        }
        if let Some(checksum) = pdb.checksum(document) {
            let (algorithm, checksum) = checksums::spell_checksum(&checksum);
            let algorithm = algorithm.to_owned();
            body.checksums = Some(vec![DapChecksum { algorithm, checksum, ..DapChecksum::default() }]);
        }
        self.locator.bodies.borrow_mut().insert(key, body.clone());
        Some(body)
    }

    /// `loadedSources`: every document of the user's modules.
    pub(super) fn loaded_sources(&self, types: &ClrTypeSystem) -> Value {
        let mut sources = Vec::new();
        for loaded in types.modules.with_symbols() {
            let Ok(pdb) = &loaded.pdb else { continue };
            sources.extend(pdb.documents().filter_map(|(row, _)| self.source_body(&loaded, row)));
        }
        types::body(&LoadedSourcesResponseBody { sources, ..LoadedSourcesResponseBody::default() })
    }
}

/// Whether the text of a `Source` from [`Sources::source_body`] is available immediately: its file
/// exists, or its PDB contains it.
pub(super) fn is_text_available(source: &Source) -> bool {
    let is_file = || source.path.as_ref().is_some_and(|path| Path::new(path).exists());
    let SourceAvailability { not_here } = source.adapter_data.as_ref().map(types::read).unwrap_or_default();
    not_here != Some(true) && (source.origin.is_none() || source.source_reference.is_some() || is_file())
}

/// `adapterData` of a source whose text must be fetched or decompiled first.
pub(super) fn not_here() -> Option<Value> {
    Some(types::body(&SourceAvailability { not_here: Some(true) }))
}

/// The engine's source reference of a document without a local file.
pub(super) fn reference(loaded: &LoadedModule, document: u32) -> i64 {
    let number = loaded.id as i64 * 0x10_0000 + i64::from(document);
    if loaded.is_decompiled() { number | DECOMPILED } else { number }
}

/// The engine's source reference of a method without symbols.
pub(super) fn reference_of_method(module: usize, method: u32) -> i64 {
    OF_METHOD | (module as i64) << 24 | i64::from(method & 0x00ff_ffff)
}

/// The module and the MethodDef token of such a reference.
pub(super) fn method_of(reference: i64) -> Option<(usize, u32)> {
    let rest = reference.checked_sub(OF_METHOD).filter(|rest| *rest >= 0)?;
    Some((
        usize::try_from(rest >> 24).ok()?,
        clr_metadata::metadata::method_token(u32::try_from(rest & 0x00ff_ffff).ok()?),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_of_methods_are_distinguished_from_those_of_documents() {
        assert_eq!(method_of(reference_of_method(7, 0x0600_0123)), Some((7, 0x0600_0123)));
        assert_eq!(method_of(7 * 0x10_0000 + 12), None);
        assert_eq!(method_of(DECOMPILED | (7 * 0x10_0000 + 12)), None);
        assert_eq!(method_of(-1), None);
    }
}
