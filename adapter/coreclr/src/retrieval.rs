//! Missing sources and symbols: fetched through Source Link and from symbol servers, or decompiled. Slow work
//! runs on a [`background`] thread; its results reach the engine's thread through its inbox
//! ([`super::retrieval_results`]).
//!
//! [`source_link_options`] and [`symbol_options`] decide which sources and symbols may be fetched;
//! [`source_files`], [`symbol_files`] and [`decompiler`] fetch them, the last for a [`decompilation`];
//! [`missing_source`] explains a source that is missing. Not here: local source files ([`super::sources`]).

mod background;
mod decompilation;
pub(super) mod decompiler;
pub(super) mod missing_source;
pub(super) mod source_files;
pub(super) mod source_link_options;
pub(super) mod symbol_files;
pub(super) mod symbol_options;

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;

use clr_metadata::pdb::{Pdb, PdbError};
use serde_json::Value;
use tandem_download::{Cache, DownloadClient};
use tandem_wire::types::{self, SourceResponseBody};
use tandem_wire::{ErrorCode, Failure};
use tokio_util::sync::CancellationToken;

use super::inbox::{Document, EngineInput, RetrievalResult};
use super::modules::LoadedModule;
use background::RetrievalThread;
use decompilation::Decompilation;
pub(super) use decompilation::PendingSourceRequest;
use decompiler::Assembly;
use source_files::RemoteSource;
use source_link_options::SourceLinkOptions;
use symbol_files::{SymbolServers, SymbolTarget};
use symbol_options::{SymbolOptions, SymbolSearchScope};
use tandem_engine::ReplyHandle;

/// Most bytes of fetched sources that are kept in memory because the cache cannot be written to.
const MAX_IN_MEMORY: usize = 64 * 1024 * 1024;

/// Owner of all work of this module.
pub(super) struct Retrieval {
    inbox: Sender<EngineInput>,
    pub(super) source_link: SourceLinkOptions,
    servers: Arc<SymbolServers>,
    filter: SymbolOptions,
    cache: Option<Arc<Cache>>,
    client: Arc<DownloadClient>,
    background: OnceCell<Option<RetrievalThread>>,
    /// Sources that were fetched in this session; their texts if the cache does not have them.
    fetched: RefCell<HashMap<Document, Option<String>>>,
    /// Requested sources whose download was not allowed.
    pub(super) refused: RefCell<HashSet<Document>>,
    pub(super) decompilation: Decompilation,
}

impl Retrieval {
    /// Without attributes: nothing is fetched.
    pub(super) fn new(inbox: Sender<EngineInput>) -> Self {
        Self {
            inbox,
            source_link: SourceLinkOptions::default(),
            servers: Arc::new(SymbolServers::new(SymbolOptions::default())),
            filter: SymbolOptions::default(),
            cache: Cache::of_user().map(Arc::new),
            client: Arc::default(),
            background: OnceCell::new(),
            fetched: RefCell::default(),
            refused: RefCell::default(),
            decompilation: Decompilation::default(),
        }
    }

    /// Reads `sourceLinkOptions`, `symbolOptions` and `decompiler`. `ignored` receives unknown names in them.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`, naming the invalid part.
    pub(super) fn configure(&mut self, attributes: &Value, ignored: &mut Vec<String>) -> Result<(), Failure> {
        self.source_link = SourceLinkOptions::parse(&attributes["sourceLinkOptions"])?;
        self.decompilation = Decompilation::parse(&attributes["decompiler"])?;
        let options = SymbolOptions::parse(&attributes["symbolOptions"], ignored)?;
        self.filter = options.clone();
        self.servers = Arc::new(SymbolServers::new(options));
        Ok(())
    }

    /// Folders that are searched for symbols, `cachePath` among them.
    pub(super) fn symbol_folders(&self) -> Vec<PathBuf> {
        self.filter.folders.iter().chain(&self.filter.cache).cloned().collect()
    }

    /// The locations that are searched for symbols of a module.
    pub(super) fn scope_of(&self, module: &str) -> SymbolSearchScope {
        self.filter.scope_of(module)
    }

    /// Adds the symbols on this machine to a module that was just loaded: those of its build, which are
    /// searched for in `folders` too, else those that a decompiler has made in an earlier session. Framework
    /// modules have none; searching for them would slow each start down.
    pub(super) fn find_local_symbols(&self, loaded: &mut LoadedModule, folders: &[PathBuf]) {
        if !loaded.is_framework
            && !loaded.is_dynamic()
            && let Some(image) = loaded.image()
        {
            let scope = self.scope_of(&loaded.name());
            let pdb = match scope {
                SymbolSearchScope::Everywhere => Pdb::open_for(image, folders),
                SymbolSearchScope::Beside => Pdb::open_for(image, &[]),
                SymbolSearchScope::Nowhere => Err(PdbError::NotFound { looked: Vec::new() }),
            };
            let is_optimized = image.metadata.is_optimized();
            loaded.set_local_symbols(pdb, is_optimized);
            if scope == SymbolSearchScope::Nowhere {
                loaded.record_server_results(Some("`symbolOptions.moduleFilter` leaves it out".into()));
            }
        }
        if loaded.pdb.is_err()
            && let Some(identity) = loaded.identity()
            && let Some(pdb) = self.decompilation.open_cached(self.cache.as_deref(), &identity)
        {
            loaded.set_decompiled_symbols(pdb);
        }
    }

    /// The user's cache; `None` if the user has none.
    pub(super) fn cache(&self) -> Option<&Arc<Cache>> {
        self.cache.as_ref()
    }

    /// Cancels all work in progress; waiting requests are answered that the engine has ended.
    pub(super) fn stop(&mut self) {
        self.decompilation.stop();
        drop(self.background.take());
    }

    fn background(&self) -> Option<&RetrievalThread> {
        let start = || {
            RetrievalThread::start().inspect_err(|error| tracing::error!(%error, "no background thread")).ok()
        };
        self.background.get_or_init(start).as_ref()
    }

    /// Searches servers for the symbols of a module that has none; [`RetrievalResult::Symbols`] follows.
    /// Returns whether the search began.
    pub(super) fn find_symbols(&self, loaded: &LoadedModule) -> bool {
        if self.filter.servers.is_empty() || self.scope_of(&loaded.name()) != SymbolSearchScope::Everywhere {
            return false;
        }
        // The framework has many modules, which are opened only when needed.
        let module = match loaded.identity() {
            Some(identity) => SymbolTarget::Known(identity),
            None if loaded.is_framework() && loaded.path.is_absolute() => {
                SymbolTarget::File(loaded.path.clone())
            }
            None => return false,
        };
        let (servers, client, inbox, id) =
            (self.servers.clone(), self.client.clone(), self.inbox.clone(), loaded.id);
        let Some(background) = self.background() else { return false };
        background.run(async move {
            let found = servers.find(&client, module).await;
            send_result(&inbox, RetrievalResult::Symbols { module: id, found });
        });
        true
    }

    /// Fetches a source and answers the request with it.
    pub(super) fn fetch_source(
        &self,
        document: Document,
        remote: RemoteSource,
        cancel: CancellationToken,
        reply: ReplyHandle,
    ) {
        let (client, cache, options, inbox) =
            (self.client.clone(), self.cache.clone(), self.source_link.clone(), self.inbox.clone());
        let Some(background) = self.background() else { return reply.send(Err(no_thread())) };
        background.run(async move {
            let fetching = source_files::fetch(&client, cache.as_deref(), &options, &remote);
            let fetched = tokio::select! {
                () = cancel.cancelled() => Err(Failure::cancelled()),
                fetched = fetching => fetched,
            };
            reply.send(fetched.map(|fetched| {
                let text = (!fetched.is_kept).then(|| fetched.text.clone());
                send_result(&inbox, RetrievalResult::Source { document, text });
                text_body(&fetched.text).into()
            }));
        });
    }

    /// Whether a source was fetched in this session.
    pub(super) fn is_fetched(&self, document: Document) -> bool {
        self.fetched.borrow().contains_key(&document)
    }

    /// The text of a fetched source that the cache could not store.
    pub(super) fn text_of(&self, document: Document) -> Option<String> {
        self.fetched.borrow().get(&document).cloned().flatten()
    }

    pub(super) fn keep_text(&self, document: Document, text: Option<String>) {
        let mut fetched = self.fetched.borrow_mut();
        let held: usize = fetched.values().flatten().map(String::len).sum();
        if text.as_ref().is_some_and(|text| held + text.len() > MAX_IN_MEMORY) {
            // It is fetched again for the next request.
            return;
        }
        fetched.insert(document, text);
    }

    /// Decompiles a module, unless that is in progress already; [`RetrievalResult::Decompiled`] follows.
    /// `folders` contain the assemblies that it references. The work continues when no request waits any
    /// more, so that a later request finds the result. Returns whether it begins now.
    pub(super) fn decompile(
        &mut self,
        loaded: &LoadedModule,
        folders: Vec<PathBuf>,
        waiting: Option<PendingSourceRequest>,
    ) -> bool {
        if let (Some(waiting), Some(background)) = (&waiting, self.background()) {
            let (cancel, inbox, module) = (waiting.cancel.clone(), self.inbox.clone(), loaded.id);
            background.run(async move {
                cancel.cancelled().await;
                send_result(&inbox, RetrievalResult::GivenUp { module });
            });
        }
        if !self.decompilation.begin(loaded.id, waiting) {
            return false;
        }
        let started = self.start_decompiling(loaded, folders);
        if let Err(failure) = started {
            self.decompilation.take(loaded.id, Err(failure));
            return false;
        }
        true
    }

    fn start_decompiling(&self, loaded: &LoadedModule, folders: Vec<PathBuf>) -> Result<(), Failure> {
        let background = self.background().ok_or_else(no_thread)?;
        let no_id = || {
            let message = format!(
                "`{}` cannot be decompiled: it has no PDB id, by which a decompiler's PDB belongs to it",
                loaded.path.display()
            );
            Failure::new(ErrorCode::Unsupported, message)
        };
        let identity = loaded.identity_of_file().ok_or_else(no_id)?;
        let program = self.decompilation.program().map(std::path::Path::to_path_buf).ok_or_else(no_thread)?;
        let names = loaded.pdb.as_ref().ok().and_then(|pdb| pdb.path.clone());
        let assembly = Assembly { path: loaded.path.clone(), identity, names, folders };
        let (cache, inbox, module, over) =
            (self.cache.clone(), self.inbox.clone(), loaded.id, background.over.clone());
        background.run_blocking(move || {
            let give_up = || over.load(Ordering::Relaxed);
            let made = decompiler::decompile(&program, cache.as_deref(), &assembly, &give_up);
            send_result(&inbox, RetrievalResult::Decompiled { module, made });
        });
        Ok(())
    }
}

/// Sends a result to the engine's thread; a session that has ended ignores it.
fn send_result(inbox: &Sender<EngineInput>, what: RetrievalResult) {
    drop(inbox.send(EngineInput::Retrieved(Box::new(what))));
}

/// Body of an answer to `source`.
pub(super) fn text_body(text: &str) -> Value {
    let (content, mime_type) = (text.to_owned(), Some("text/x-csharp".to_owned()));
    types::body(&SourceResponseBody { content, mime_type, ..SourceResponseBody::default() })
}

fn no_thread() -> Failure {
    Failure::new(ErrorCode::EngineFailed, "no thread can be started for this work")
}
