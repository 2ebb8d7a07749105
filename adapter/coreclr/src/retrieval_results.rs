//! Results of work in the background, on the engine's thread: modules get their symbols, breakpoints bind in
//! them, and waiting requests for sources are answered. Not here: that work ([`super::retrieval`]).

use std::path::PathBuf;
use std::rc::Rc;

use clr_metadata::pdb::Pdb;
use serde_json::Value;
use tandem_wire::Failure;
use tandem_wire::types::{InvalidatedEventBody, LoadedSourceEventBody};

use super::inbox::{Document, RetrievalResult};
use super::retrieval::source_link_options::SourceLinkOptions;
use super::retrieval::{PendingSourceRequest, text_body};
use crate::debuggee::RunState;
use crate::modules::{LoadedModule, SymbolOrigin};
use crate::session::ClrSession;

impl ClrSession {
    /// Handles the result of a download, a search for symbols or a decompilation.
    pub(crate) fn on_retrieved(&mut self, what: RetrievalResult) {
        match what {
            RetrievalResult::Source { document, text } => {
                self.sources.retrieval.keep_text(document, text);
                self.sources.locator.add_fetched(document);
            }
            RetrievalResult::Symbols { module, found } => self.on_symbols_found(module, found),
            RetrievalResult::Decompiled { module, made } => self.on_decompiled(module, made),
            RetrievalResult::GivenUp { module } => {
                self.sources.retrieval.decompilation.reply_to_cancelled(module)
            }
        }
    }

    fn on_symbols_found(&mut self, module: usize, found: Result<Pdb, String>) {
        let Some(loaded) = self.program.types.modules.by_id(module) else { return };
        match found {
            // Other symbols were faster.
            Ok(_) if loaded.pdb.is_ok() && !loaded.is_decompiled() => {}
            Ok(pdb) => {
                self.apply_symbols(&loaded, pdb, SymbolOrigin::Builder);
            }
            Err(reason) => {
                loaded.record_server_results(Some(reason).filter(|reason| !reason.is_empty()));
                self.hub.outbox.send(&loaded.event("changed"));
                if loaded.problem().is_some() && !loaded.is_library() {
                    self.breakpoints.report_pending_reason(
                        &self.program.types,
                        &self.sources.locator,
                        &self.hub.outbox,
                    );
                }
            }
        }
    }

    fn on_decompiled(&mut self, module: usize, made: Result<Pdb, Failure>) {
        let loaded = self.program.types.modules.by_id(module);
        let (made, failure) = match made {
            Ok(pdb) => {
                (loaded.and_then(|loaded| self.apply_symbols(&loaded, pdb, SymbolOrigin::Decompiler)), None)
            }
            Err(failure) => (None, Some(failure)),
        };
        if let Some(failure) = &failure {
            self.hub.outbox.note(&failure.to_string());
        }
        for PendingSourceRequest { method, reply, .. } in
            self.sources.retrieval.decompilation.take(module, failure.map_or(Ok(()), Err))
        {
            let gone = || Failure::invalid("the module was unloaded while it was decompiled");
            let text = made.as_ref().ok_or_else(gone).and_then(|loaded| loaded.decompiled_text(method));
            reply.send(text.map(Into::into));
        }
    }

    /// Adds symbols to a module. The program is stopped while breakpoints bind in it; if none
    /// can, it keeps running.
    fn apply_symbols(
        &mut self,
        loaded: &LoadedModule,
        pdb: Pdb,
        origin: SymbolOrigin,
    ) -> Option<Rc<LoadedModule>> {
        if matches!(self.program.debuggee.run, RunState::Over | RunState::None) {
            return None;
        }
        let id = loaded.id;
        let is_others = loaded.is_library() || loaded.is_framework();
        if self.program.debuggee.run == RunState::Running
            && self.options.just_my_code
            && is_others
            && !self.breakpoints.has_pending()
        {
            let taken = self.program.types.modules.attach_symbols(id, pdb, origin)?;
            self.sources.locator.forget_module(id);
            self.hub.outbox.send(&taken.event("changed"));
            return Some(taken);
        }
        let taken = self.while_stopped(|session| {
            let Some(loaded) = session.program.types.modules.attach_symbols(id, pdb, origin) else {
                return Ok(None);
            };
            session.sources.locator.forget_module(id);
            session.add_symbols(&loaded);
            Ok(Some(loaded))
        });
        let taken = taken.unwrap_or_else(|failure| {
            tracing::debug!(%failure, "symbols came too late");
            None
        });
        if taken.is_some() && matches!(self.program.debuggee.run, RunState::Stopped { .. }) {
            // Its frames have lines now.
            let areas = Some(vec!["stacks".to_owned()]);
            self.hub.outbox.send(&InvalidatedEventBody { areas, ..InvalidatedEventBody::default() });
        }
        taken
    }

    /// Has a module decompiled, for a waiting request or because the program is stopped in it.
    pub(crate) fn decompile(&mut self, loaded: &LoadedModule, waiting: Option<PendingSourceRequest>) {
        let mut folders: Vec<PathBuf> = self
            .program
            .types
            .modules
            .all()
            .iter()
            .filter_map(|other| Some(other.path.parent()?.to_path_buf()))
            .collect();
        folders.sort();
        folders.dedup();
        if self.sources.retrieval.decompile(loaded, folders, waiting) {
            self.hub.outbox.note(&format!("`{}` is being decompiled.", loaded.name()));
        }
    }

    /// `setSourceLinkOptions`: sources that may be fetched from now on. Editors repeat the
    /// requests that were refused.
    pub(crate) fn set_source_link_options(&mut self, arguments: &Value) -> Result<Value, Failure> {
        self.sources.retrieval.source_link.extend(SourceLinkOptions::parse(&arguments["sourceLinkOptions"])?);
        let refused: Vec<Document> = self.sources.retrieval.refused.borrow_mut().drain().collect();
        for (module, document) in refused {
            let Some(loaded) = self.program.types.modules.by_id(module) else { continue };
            let Some(source) = self.sources.source_body(&loaded, document) else { continue };
            let reason = "changed".to_owned();
            self.hub.outbox.send(&LoadedSourceEventBody {
                reason,
                source,
                ..LoadedSourceEventBody::default()
            });
        }
        Ok(Value::Null)
    }

    /// If the program is stopped in a library without a source, and clients are to see
    /// libraries, decompiles it.
    pub(crate) fn decompile_top_frame(&mut self, thread: u32) {
        if self.options.just_my_code || self.sources.retrieval.decompilation.is_off() {
            return;
        }
        let module = || {
            self.program.debuggee.thread(thread).ok()?.frames(1).ok()?.first()?.function().ok()?.module().ok()
        };
        let Some(loaded) = module().and_then(|module| self.program.types.modules.of(&module)) else { return };
        if loaded.pdb.is_err() && self.sources.retrieval.decompilation.is_possible(&loaded) {
            self.decompile(&loaded, None);
        }
    }
}

impl LoadedModule {
    /// The decompiled text of the type with a method.
    pub(crate) fn decompiled_text(&self, method: u32) -> Result<Value, Failure> {
        let text = || {
            let pdb = self.pdb.as_ref().ok()?;
            let own = pdb.points(method).iter().find(|point| !point.is_hidden()).map(|point| point.document);
            // A method without statements is in the text of its type's other methods.
            let beside = || {
                let metadata = &self.image()?.metadata;
                let owner = metadata.owner_of(method);
                let siblings = metadata.all_methods().filter(|other| metadata.owner_of(*other) == owner);
                siblings
                    .filter_map(|other| pdb.points(other).first().copied())
                    .map(|point| point.document)
                    .next()
            };
            pdb.embedded_source(own.or_else(beside)?)
        };
        let none =
            || Failure::invalid(format!("the decompiler made no text for this code of `{}`", self.name()));
        text().map(|text| text_body(&text)).ok_or_else(none)
    }
}
