//! One loaded module: whether it is user code, its metadata and its symbols. Searches for no symbols
//! ([`crate::retrieval`]).

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use clr_metadata::image::PeImage;
use clr_metadata::pdb::{Pdb, PdbError};
use cordebug::module::Module;
use tandem_wire::types::{self, ModuleEventBody};

use super::excluded_methods::ExcludedMethods;
use super::pdb_identity::PdbIdentity;

/// Origin of the symbols of a module.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SymbolOrigin {
    /// The build of the module.
    #[default]
    Builder,
    Decompiler,
}

/// A module of the program, with its symbols.
pub(crate) struct LoadedModule {
    pub(crate) id: usize,
    pub(crate) module: Module,
    /// Path of its file; the name of a module from memory.
    pub(crate) path: PathBuf,
    image: ModuleImage,
    pub(crate) pdb: Result<Pdb, PdbError>,
    search: SymbolSearch,
    pub(crate) is_user_code: bool,
    pub(crate) is_optimized: bool,
    pub(crate) is_framework: bool,
    /// The runtime knows that steps may end in it.
    pub(crate) is_marked: Cell<bool>,
    excluded: ExcludedMethods,
}

/// The assembly of a module.
#[derive(Clone)]
struct ModuleImage {
    is_in_memory: bool,
    /// Generated at run time: it may grow.
    is_dynamic: bool,
    /// Opened on first use, or ahead of time by another thread.
    content: Arc<OnceLock<Option<PeImage>>>,
}

impl ModuleImage {
    fn open(&self, path: &Path, module: &Module) -> Option<&PeImage> {
        let open = || {
            if self.is_dynamic {
                return PeImage::from_metadata(path, module.metadata().ok()?).ok();
            }
            if self.is_in_memory { None } else { PeImage::open(path).ok() }
        };
        self.content.get_or_init(open).as_ref()
    }
}

/// Where the symbols of a module come from, or why there are none.
#[derive(Default)]
struct SymbolSearch {
    origin: SymbolOrigin,
    /// Results of symbol servers, or a note that they are being asked.
    servers: RefCell<Option<String>>,
}

impl LoadedModule {
    /// A module that was just loaded, without symbols. `in_memory`: the assembly, if it has no file.
    pub(super) fn new(
        id: usize,
        module: Module,
        path: PathBuf,
        in_memory: Option<PeImage>,
        is_framework: bool,
    ) -> Self {
        let image = ModuleImage {
            is_in_memory: in_memory.is_some() || !path.is_absolute(),
            is_dynamic: in_memory.is_none() && module.is_dynamic() == Ok(true),
            content: Arc::new(in_memory.map_or_else(OnceLock::new, |image| OnceLock::from(Some(image)))),
        };
        Self::of(id, module, path, image, is_framework)
    }

    fn of(id: usize, module: Module, path: PathBuf, image: ModuleImage, is_framework: bool) -> Self {
        Self {
            id,
            module,
            path,
            image,
            pdb: Err(PdbError::NotFound { looked: Vec::new() }),
            search: SymbolSearch::default(),
            is_user_code: false,
            is_optimized: true,
            is_framework,
            is_marked: Cell::new(false),
            excluded: ExcludedMethods::default(),
        }
    }

    /// Its metadata, read on first use.
    pub(crate) fn image(&self) -> Option<&PeImage> {
        self.image.open(&self.path, &self.module)
    }

    /// Reads its file on another thread.
    pub(super) fn open_ahead(&self) {
        let (content, path) = (self.image.content.clone(), self.path.clone());
        let ahead = move || {
            content.get_or_init(|| PeImage::open(&path).ok());
        };
        drop(std::thread::Builder::new().name("open-corelib".into()).spawn(ahead));
    }

    /// Whether it was generated at run time and its metadata was read, which may be stale.
    pub(super) fn may_have_grown(&self) -> bool {
        self.image.is_dynamic && self.image.content.get().is_some()
    }

    /// Whether it is the core library, which declares the primitives.
    pub(crate) fn is_core(&self) -> bool {
        self.is_framework && self.path.ends_with("System.Private.CoreLib.dll")
    }

    /// Whether it may grow while the program runs.
    pub(crate) fn is_dynamic(&self) -> bool {
        self.image.is_dynamic
    }

    /// Whether it belongs to the runtime.
    pub(crate) fn is_framework(&self) -> bool {
        self.is_framework
    }

    /// Methods that are not the user's code, though their module is.
    pub(crate) fn hidden_methods(&self) -> &HashSet<u32> {
        self.excluded.hidden(|| self.image())
    }

    /// Whether no breakpoint stops in a method, or in its source method: it is `DebuggerHidden`.
    pub(crate) fn never_stops_in(&self, method: u32) -> bool {
        let written = self.pdb.as_ref().ok().and_then(|pdb| pdb.kickoff(method)).unwrap_or(method);
        self.excluded.is_unseen(written, || self.image())
    }

    /// Why it cannot be debugged, for people.
    pub(crate) fn problem(&self) -> Option<String> {
        let problem = self.pdb.as_ref().err().filter(|_| !self.is_framework)?;
        if self.image.is_dynamic || self.image.is_in_memory && self.image().is_none() {
            // Generated at run time, without a source.
            return None;
        }
        Some(format!("`{}` has no symbols: {problem}{}", self.name(), self.by_servers()))
    }

    /// Results of the symbol servers, to continue a sentence.
    fn by_servers(&self) -> String {
        self.search.servers.borrow().as_ref().map(|results| format!("; {results}")).unwrap_or_default()
    }

    /// Results of the symbol servers, if they were asked.
    pub(crate) fn server_results(&self) -> Option<String> {
        self.search.servers.borrow().clone()
    }

    /// Records the results of symbol servers.
    pub(crate) fn record_server_results(&self, results: Option<String>) {
        *self.search.servers.borrow_mut() = results;
    }

    /// Whether a decompiler has made its symbols.
    pub(crate) fn is_decompiled(&self) -> bool {
        self.pdb.is_ok() && self.search.origin == SymbolOrigin::Decompiler
    }

    /// The identity of its PDB; `None` for a module whose file was not opened yet, or that has none.
    pub(crate) fn identity(&self) -> Option<PdbIdentity> {
        self.image.content.get()?.as_ref().and_then(PdbIdentity::of)
    }

    /// The same, but opens its file if necessary.
    pub(crate) fn identity_of_file(&self) -> Option<PdbIdentity> {
        self.image().and_then(PdbIdentity::of)
    }

    /// Whether it is optimised code that the program uses, as in packages: not the
    /// framework's, hardly the user's.
    pub(crate) fn is_library(&self) -> bool {
        self.is_optimized && !self.is_framework && !self.path.with_extension("runtimeconfig.json").exists()
    }

    pub(crate) fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Takes the symbols of its build, or the reason why there are none.
    pub(crate) fn set_local_symbols(&mut self, pdb: Result<Pdb, PdbError>, is_optimized: bool) {
        self.is_user_code = pdb.is_ok() && !is_optimized;
        (self.pdb, self.is_optimized) = (pdb, is_optimized);
    }

    /// Takes symbols that a decompiler has made.
    pub(crate) fn set_decompiled_symbols(&mut self, pdb: Pdb) {
        (self.pdb, self.search.origin) = (Ok(pdb), SymbolOrigin::Decompiler);
    }

    /// The same module with other symbols, as if it was just loaded: not known to the runtime.
    pub(super) fn with_symbols(&self, pdb: Pdb, origin: SymbolOrigin) -> Option<Self> {
        let is_optimized = self.image()?.metadata.is_optimized();
        Some(Self {
            pdb: Ok(pdb),
            search: SymbolSearch { origin, ..SymbolSearch::default() },
            is_user_code: !is_optimized && !self.is_framework && origin == SymbolOrigin::Builder,
            is_optimized,
            ..self.as_just_loaded(self.image.clone())
        })
    }

    /// The same module without symbols, whose metadata is read again.
    pub(super) fn unread(&self) -> Self {
        self.as_just_loaded(ModuleImage { content: Arc::default(), ..self.image.clone() })
    }

    fn as_just_loaded(&self, image: ModuleImage) -> Self {
        Self::of(self.id, self.module.clone(), self.path.clone(), image, self.is_framework)
    }

    /// DAP event `module`: it was loaded or unloaded, or its symbols have changed.
    pub(crate) fn event(&self, reason: &str) -> ModuleEventBody {
        let (reason, module) = (reason.to_owned(), self.body());
        ModuleEventBody { reason, module, ..ModuleEventBody::default() }
    }

    /// DAP `Module`, with facts that are known without opening the file.
    fn body(&self) -> types::DapModule {
        let status = match &self.pdb {
            Ok(_) if self.is_decompiled() => "Symbols made by a decompiler".to_owned(),
            Ok(_) if self.is_optimized => "Symbols loaded; the code is optimised".to_owned(),
            Ok(_) => "Symbols loaded".to_owned(),
            Err(_) if self.is_framework && self.search.servers.borrow().is_none() => {
                "Framework code, no symbols needed".to_owned()
            }
            Err(_) if self.is_framework => format!("No symbols{}", self.by_servers()),
            Err(_) if self.image.is_dynamic => "Made at run time, without symbols".to_owned(),
            Err(problem) => format!("No symbols: {problem}{}", self.by_servers()),
        };
        let symbol_file = self.pdb.as_ref().ok().and_then(|pdb| pdb.path.as_ref());
        let is_file = !self.image.is_in_memory || self.path.is_absolute();
        types::DapModule {
            id: self.id.into(),
            name: self.name(),
            path: is_file.then(|| self.path.to_string_lossy().into_owned()),
            is_user_code: Some(self.is_user_code),
            is_optimized: Some(self.is_optimized),
            symbol_status: Some(match self.image.is_in_memory {
                true => format!("{status}; loaded from memory"),
                false => status,
            }),
            symbol_file_path: symbol_file.map(|path| path.to_string_lossy().into_owned()),
            ..types::DapModule::default()
        }
    }

    /// The module in the `modules` response, with details that need the file or the process.
    pub(super) fn full_body(&self) -> types::DapModule {
        let mut body = self.body();
        body.version = self.image().and_then(|image| image.metadata.assembly_version());
        if let (Ok(start), Ok(size)) = (self.module.base_address(), self.module.size())
            && start > 0
        {
            body.address_range = Some(format!("0x{start:x}-0x{:x}", start + u64::from(size)));
        }
        body
    }
}
