//! `source`: texts that are here, embedded in a PDB, fetched or decompiled.
//!
//! Not here: where sources are ([`super::sources`]), and work that takes long ([`super::retrieval`]).

use serde_json::Value;
use tandem_wire::Failure;
use tandem_wire::types::{self, DapSourceArguments, SourceOfModule};

use super::modules::LoadedModule;
use super::retrieval::source_files::RemoteSource;
use super::retrieval::{PendingSourceRequest, missing_source, text_body};
use super::session::ClrSession;
use super::sources::{method_of, reference};

impl ClrSession {
    /// `source`: an available text, embedded in a PDB, fetched or decompiled. Slow sources are answered
    /// later, and other requests in the meantime. `moduleId` (of a frame) without a source requests the code
    /// of that module, or the reason why there is none.
    pub(super) fn source(&mut self, arguments: &Value) -> Result<Value, Failure> {
        let SourceOfModule { module_id } = types::read(arguments);
        let DapSourceArguments { source, source_reference, .. } = types::read(arguments);
        let unknown = || {
            let source = types::body(&source);
            Failure::invalid(format!("no loaded module was compiled from {source}"))
        };
        let in_source = source.as_ref().and_then(|source| source.source_reference);
        let mut references = [in_source, Some(source_reference)].into_iter().flatten();
        let requested = references.find(|number| *number > 0);
        let path = source.as_ref().and_then(|source| source.path.as_deref());
        if let Some((module, method)) = requested.and_then(method_of) {
            let loaded = self.program.types.modules.by_id(module).ok_or_else(unknown)?;
            return self.decompiled_source(&loaded, Some(method), None);
        }
        for loaded in self.program.types.modules.with_symbols() {
            let Ok(pdb) = &loaded.pdb else { continue };
            let found = match (requested, path) {
                (Some(number), _) => pdb.documents().find(|(row, _)| reference(&loaded, *row) == number),
                (None, Some(path)) => pdb
                    .documents()
                    .find(|(_, document)| *document == path || self.sources.locator.local(document) == path)
                    .or_else(|| self.sources.locator.find_kept(pdb, path)),
                (None, None) => None,
            };
            if let Some((row, _)) = found {
                return self.source_of(&loaded, row);
            }
        }
        match types::unsigned(module_id).and_then(|id| self.program.types.modules.by_id(id)) {
            Some(loaded) => Err(self.sources.retrieval.no_source(&loaded, None)),
            None if requested.is_none() && path.is_none() => {
                Err(Failure::invalid("`source` names neither a reference nor a path"))
            }
            None => Err(unknown()),
        }
    }

    fn source_of(&mut self, loaded: &LoadedModule, document: u32) -> Result<Value, Failure> {
        let (key, no_symbols) = ((loaded.id, document), || self.sources.retrieval.no_source(loaded, None));
        let pdb = loaded.pdb.as_ref().map_err(|_| no_symbols())?;
        let path = self.sources.locator.path_of(pdb, document);
        let is_there = self.sources.locator.is_there(pdb, document, &path);
        let text = is_there.then(|| std::fs::read_to_string(&path).ok()).flatten();
        let text =
            text.or_else(|| pdb.embedded_source(document)).or_else(|| self.sources.retrieval.text_of(key));
        if let Some(text) = text {
            return Ok(text_body(text.strip_prefix('\u{feff}').unwrap_or(&text)));
        }
        if let Some(remote) = RemoteSource::of(pdb, document) {
            match remote.allowed(&self.sources.retrieval.source_link) {
                Ok(_) => {
                    if let Some(reply) = self.hub.request.take_reply() {
                        self.sources.retrieval.fetch_source(
                            key,
                            remote,
                            self.hub.request.cancel.clone(),
                            reply,
                        );
                    }
                    return Ok(Value::Null);
                }
                // A user who forbids the download wants the alternatives.
                Err(_)
                    if self.sources.retrieval.source_link.forbids(&remote.url)
                        && self.sources.retrieval.decompilation.is_possible(loaded) => {}
                Err(failure) => {
                    self.sources.retrieval.refused.borrow_mut().insert(key);
                    return Err(missing_source::with_others(
                        failure,
                        &self.sources.retrieval.ways(loaded, Some(document)),
                    ));
                }
            }
        }
        let method = pdb.statements(document, 1..=u32::MAX).first().map(|first| first.method);
        self.decompiled_source(loaded, method, Some(document))
    }

    /// The text of the type with a method, in a module that is decompiled first.
    fn decompiled_source(
        &mut self,
        loaded: &LoadedModule,
        method: Option<u32>,
        document: Option<u32>,
    ) -> Result<Value, Failure> {
        let Some(method) = method
            .filter(|_| loaded.is_decompiled() || self.sources.retrieval.decompilation.is_possible(loaded))
        else {
            return Err(self.sources.retrieval.no_source(loaded, document));
        };
        if loaded.is_decompiled() {
            return loaded.decompiled_text(method);
        }
        if let Some(reply) = self.hub.request.take_reply() {
            let cancel = self.hub.request.cancel.clone();
            self.decompile(loaded, Some(PendingSourceRequest { method, cancel, reply }));
        }
        Ok(Value::Null)
    }
}
