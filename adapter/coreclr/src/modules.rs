//! Loaded modules: whether they are user code, their metadata and their symbols. [`super::load_events`]
//! handles loading and unloading. Fetches no symbols ([`super::retrieval`]).

mod framework;
pub(super) mod injected;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::OnceLock;

use clr_metadata::image::PeImage;
use clr_metadata::pdb::{Pdb, PdbError};
use cordebug::module::Module;
use cordebug::runtime::ClrRuntime;
use dap_wire::Failure;
use dap_wire::types::{self, DapModulesArguments, ModuleEventBody, ModulesResponseBody};
use serde_json::Value;

use super::retrieval::Retrieval;
use super::retrieval::symbol_files::PdbIdentity;
use super::retrieval::symbol_options::SymbolSearchScope;
use super::runtime_async;
use framework::FrameworkLocation;
use injected::is_injected;

/// Origin of the symbols of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SymbolOrigin {
    /// The build of the module.
    Builder,
    Decompiler,
}

/// A module of the program, with its symbols.
pub(super) struct LoadedModule {
    pub(super) id: usize,
    pub(super) module: Module,
    /// Path of its file; the name of a module from memory.
    pub(super) path: PathBuf,
    is_in_memory: bool,
    /// Generated at run time: it may grow.
    is_dynamic: bool,
    /// Opened on first use, or ahead of time by another thread.
    image: Arc<OnceLock<Option<PeImage>>>,
    pub(super) pdb: Result<Pdb, PdbError>,
    origin: SymbolOrigin,
    /// Results of symbol servers, or a note that they are being asked.
    servers: RefCell<Option<String>>,
    pub(super) is_user_code: bool,
    pub(super) is_optimized: bool,
    pub(super) is_framework: bool,
    /// The runtime knows that steps may end in it.
    pub(super) is_marked: Cell<bool>,
    /// Methods that attributes exclude from the user's code.
    hidden: OnceCell<HashSet<u32>>,
    /// Methods in which nothing stops.
    unseen: OnceCell<Vec<u32>>,
}

/// Attributes that exclude a method from just-my-code. Breakpoints still work with `DebuggerStepThrough`.
const HIDING: [&str; 3] =
    ["DebuggerHiddenAttribute", "DebuggerNonUserCodeAttribute", "DebuggerStepThroughAttribute"];

/// Attributes that prevent breakpoints in a method.
const UNSEEN: [&str; 1] = ["DebuggerHiddenAttribute"];

impl LoadedModule {
    /// Its metadata, read on first use.
    pub(super) fn image(&self) -> Option<&PeImage> {
        let open = || {
            if self.is_dynamic {
                return PeImage::from_metadata(&self.path, self.module.metadata().ok()?).ok();
            }
            if self.is_in_memory { None } else { PeImage::open(&self.path).ok() }
        };
        self.image.get_or_init(open).as_ref()
    }

    /// Whether it is the core library, which declares the primitives.
    pub(super) fn is_core(&self) -> bool {
        self.is_framework && self.path.ends_with("System.Private.CoreLib.dll")
    }

    /// Whether it may grow while the program runs.
    pub(super) fn is_dynamic(&self) -> bool {
        self.is_dynamic
    }

    /// Whether it belongs to the runtime.
    pub(super) fn is_framework(&self) -> bool {
        self.is_framework
    }

    /// Methods that are not the user's code, though their module is.
    pub(super) fn hidden_methods(&self) -> &HashSet<u32> {
        self.hidden.get_or_init(|| {
            let image = self.image();
            image
                .map(|image| image.metadata.methods_with_attribute(&HIDING))
                .unwrap_or_default()
                .into_iter()
                .collect()
        })
    }

    /// Whether no breakpoint stops in a method, or in its source method: it is `DebuggerHidden`.
    pub(super) fn never_stops_in(&self, method: u32) -> bool {
        let find = || self.image().map(|image| image.metadata.methods_with_attribute(&UNSEEN));
        let unseen = self.unseen.get_or_init(|| find().unwrap_or_default());
        let written = self.pdb.as_ref().ok().and_then(|pdb| pdb.kickoff(method)).unwrap_or(method);
        unseen.binary_search(&written).is_ok()
    }

    /// Why it cannot be debugged, for people.
    pub(super) fn problem(&self) -> Option<String> {
        let problem = self.pdb.as_ref().err().filter(|_| !self.is_framework)?;
        if self.is_dynamic || self.is_in_memory && self.image().is_none() {
            // Generated at run time, without a source.
            return None;
        }
        Some(format!("`{}` has no symbols: {problem}{}", self.name(), self.by_servers()))
    }

    /// Results of the symbol servers, to continue a sentence.
    fn by_servers(&self) -> String {
        self.servers.borrow().as_ref().map(|results| format!("; {results}")).unwrap_or_default()
    }

    /// Results of the symbol servers, if they were asked.
    pub(super) fn server_results(&self) -> Option<String> {
        self.servers.borrow().clone()
    }

    /// Records the results of symbol servers.
    pub(super) fn record_server_results(&self, results: Option<String>) {
        *self.servers.borrow_mut() = results;
    }

    /// Whether a decompiler has made its symbols.
    pub(super) fn is_decompiled(&self) -> bool {
        self.pdb.is_ok() && self.origin == SymbolOrigin::Decompiler
    }

    /// The identity of its PDB; `None` for a module whose file was not opened yet, or that has none.
    pub(super) fn identity(&self) -> Option<PdbIdentity> {
        self.image.get()?.as_ref().and_then(PdbIdentity::of)
    }

    /// The same, but opens its file if necessary.
    pub(super) fn identity_of_file(&self) -> Option<PdbIdentity> {
        self.image().and_then(PdbIdentity::of)
    }

    /// Whether it is optimised code that the program uses, as in packages: not the
    /// framework's, hardly the user's.
    pub(super) fn is_library(&self) -> bool {
        self.is_optimized && !self.is_framework && !self.path.with_extension("runtimeconfig.json").exists()
    }

    pub(super) fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The same module with other symbols, as if it was just loaded: neither the user's nor
    /// known to the runtime.
    fn with_other_symbols(
        &self,
        image: Arc<OnceLock<Option<PeImage>>>,
        pdb: Result<Pdb, PdbError>,
        origin: SymbolOrigin,
    ) -> Self {
        Self {
            id: self.id,
            module: self.module.clone(),
            path: self.path.clone(),
            is_in_memory: self.is_in_memory,
            is_dynamic: self.is_dynamic,
            image,
            pdb,
            origin,
            servers: RefCell::new(None),
            is_user_code: false,
            is_optimized: true,
            is_framework: self.is_framework,
            is_marked: Cell::new(false),
            hidden: OnceCell::new(),
            unseen: OnceCell::new(),
        }
    }

    /// DAP event `module`: it was loaded or unloaded, or its symbols have changed.
    pub(super) fn event(&self, reason: &str) -> ModuleEventBody {
        let (reason, module) = (reason.to_owned(), self.body());
        ModuleEventBody { reason, module, ..ModuleEventBody::default() }
    }

    /// DAP `Module`, with facts that are known without opening the file.
    fn body(&self) -> types::DapModule {
        let status = match &self.pdb {
            Ok(_) if self.is_decompiled() => "Symbols made by a decompiler".to_owned(),
            Ok(_) if self.is_optimized => "Symbols loaded; the code is optimised".to_owned(),
            Ok(_) => "Symbols loaded".to_owned(),
            Err(_) if self.is_framework && self.servers.borrow().is_none() => {
                "Framework code, no symbols needed".to_owned()
            }
            Err(_) if self.is_framework => format!("No symbols{}", self.by_servers()),
            Err(_) if self.is_dynamic => "Made at run time, without symbols".to_owned(),
            Err(problem) => format!("No symbols: {problem}{}", self.by_servers()),
        };
        let symbol_file = self.pdb.as_ref().ok().and_then(|pdb| pdb.path.as_ref());
        let is_file = !self.is_in_memory || self.path.is_absolute();
        types::DapModule {
            id: self.id.into(),
            name: self.name(),
            path: is_file.then(|| self.path.to_string_lossy().into_owned()),
            is_user_code: Some(self.is_user_code),
            is_optimized: Some(self.is_optimized),
            symbol_status: Some(match self.is_in_memory {
                true => format!("{status}; loaded from memory"),
                false => status,
            }),
            symbol_file_path: symbol_file.map(|path| path.to_string_lossy().into_owned()),
            ..types::DapModule::default()
        }
    }

    /// The module in the `modules` response, with details that need the file or the process.
    fn full_body(&self) -> types::DapModule {
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

/// The modules of the program.
#[derive(Default)]
pub(super) struct Modules {
    list: Vec<Rc<LoadedModule>>,
    next: usize,
    framework: FrameworkLocation,
    /// Further folders that are searched for PDBs.
    symbol_paths: Vec<PathBuf>,
    /// The runtime's debugging library supports methods that the runtime suspends itself.
    knows_runtime_async: bool,
}

impl Modules {
    /// Sets the runtime's folder and capabilities.
    pub(super) fn set_runtime(&mut self, runtime: &ClrRuntime) {
        self.knows_runtime_async = runtime_async::is_known_to(runtime);
        self.framework =
            if runtime.inside { FrameworkLocation::Inside } else { FrameworkLocation::of(&runtime.folder) };
    }

    /// The folder of a program with its own executable: modules bundled into it have their symbols there.
    pub(super) fn set_program_folder(&mut self, folder: &Path) {
        self.symbol_paths.push(folder.to_path_buf());
    }

    /// The configured folders, and the folder of a program with its own executable.
    pub(super) fn symbol_paths(&self) -> &[PathBuf] {
        &self.symbol_paths
    }

    /// The attribute `symbolPaths`, and more folders.
    ///
    /// # Errors
    /// When it is not an array of strings.
    pub(super) fn set_symbol_paths(&mut self, attribute: &Value, more: Vec<PathBuf>) -> Result<(), Failure> {
        let wrong =
            || Failure::invalid(format!("`symbolPaths` must be an array of folders, not {attribute}"));
        self.symbol_paths = match attribute {
            Value::Null => Vec::new(),
            Value::Array(list) => list
                .iter()
                .map(|item| item.as_str().map(PathBuf::from).ok_or_else(wrong))
                .collect::<Result<_, _>>()?,
            _ => return Err(wrong()),
        };
        self.symbol_paths.extend(more);
        Ok(())
    }

    /// Why modules that may be the user's have no symbols; and one sentence with the number
    /// of libraries without.
    pub(super) fn problems(&self) -> Vec<String> {
        let lacking = self.list.iter().filter_map(|loaded| Some((loaded, loaded.problem()?)));
        let (own, libraries): (Vec<_>, Vec<_>) = lacking.partition(|(loaded, _)| !loaded.is_library());
        let mut problems: Vec<String> = own.into_iter().map(|(_, problem)| problem).collect();
        match libraries.len() {
            0 => {}
            1 => problems.push("a library has no symbols".into()),
            many => problems.push(format!("{many} libraries have no symbols")),
        }
        problems
    }

    /// Whether the debugging library crashes if a method of a module is on a stack.
    pub(super) fn crashes_on(&self, loaded: &LoadedModule) -> bool {
        !self.knows_runtime_async && loaded.image().is_some_and(runtime_async::is_in)
    }

    /// The module of a handle.
    pub(super) fn of(&self, module: &Module) -> Option<Rc<LoadedModule>> {
        let found = self.list.iter().find(|loaded| loaded.module.is(module));
        // Before .NET 10 a type that was found by its handle has different module objects, with the same
        // addresses as the others.
        let lying_there = || {
            let base = module.base_address().ok().filter(|base| *base != 0)?;
            self.list.iter().find(|loaded| loaded.module.base_address().ok() == Some(base))
        };
        found.or_else(lying_there).cloned()
    }

    /// The module with this id.
    pub(super) fn by_id(&self, id: usize) -> Option<Rc<LoadedModule>> {
        self.list.iter().find(|loaded| loaded.id == id).cloned()
    }

    /// All modules, in the order of loading.
    pub(super) fn all(&self) -> &[Rc<LoadedModule>] {
        &self.list
    }

    /// How many modules were ever loaded.
    pub(super) fn count(&self) -> usize {
        self.next
    }

    /// Modules with symbols.
    pub(super) fn with_symbols(&self) -> Vec<Rc<LoadedModule>> {
        self.list.iter().filter(|loaded| loaded.pdb.is_ok()).cloned().collect()
    }

    /// `modules`, one page of them if requested.
    pub(super) fn list(&self, arguments: &Value) -> Value {
        let DapModulesArguments { start_module, module_count, .. } = types::read(arguments);
        let count = types::unsigned(module_count).filter(|count| *count > 0).unwrap_or(usize::MAX);
        let shown = || self.list.iter().filter(|loaded| !is_injected(&loaded.path));
        let page = shown().skip(types::unsigned(start_module).unwrap_or(0)).take(count);
        types::body(&ModulesResponseBody {
            modules: page.map(|loaded| loaded.full_body()).collect(),
            total_modules: Some(types::integer(shown().count())),
            ..ModulesResponseBody::default()
        })
    }

    /// Adds symbols that the program supplied for a module without; `None` if it is not loaded, or they
    /// belong to another build.
    pub(super) fn give_symbols(&mut self, module: &Module, pdb: Pdb) -> Option<Rc<LoadedModule>> {
        let entry = self.list.iter().find(|loaded| loaded.module.is(module))?;
        let is_its = entry.image()?.code_view.as_ref().is_none_or(|(_, id)| pdb.matches_id(id));
        let id = entry.id;
        is_its.then(|| self.attach_symbols(id, pdb, SymbolOrigin::Builder)).flatten()
    }

    /// Adds symbols to a loaded module.
    pub(super) fn attach_symbols(
        &mut self,
        id: usize,
        pdb: Pdb,
        origin: SymbolOrigin,
    ) -> Option<Rc<LoadedModule>> {
        let entry = self.list.iter_mut().find(|loaded| loaded.id == id)?;
        let is_optimized = entry.image()?.metadata.is_optimized();
        let loaded = Rc::new(LoadedModule {
            is_user_code: !is_optimized && !entry.is_framework && origin == SymbolOrigin::Builder,
            is_optimized,
            ..entry.with_other_symbols(entry.image.clone(), Ok(pdb), origin)
        });
        *entry = loaded.clone();
        Some(loaded)
    }

    /// The program resumes: dynamic modules may have grown at the next stop.
    pub(super) fn forget_dynamic(&mut self) {
        for entry in self.list.iter_mut().filter(|entry| entry.is_dynamic && entry.image.get().is_some()) {
            *entry = Rc::new(entry.with_other_symbols(
                Arc::default(),
                Err(symbols_not_searched()),
                SymbolOrigin::Builder,
            ));
        }
    }

    pub(super) fn remove(&mut self, module: &Module) -> Option<Rc<LoadedModule>> {
        let at = self.list.iter().position(|loaded| loaded.module.is(module))?;
        Some(self.list.remove(at))
    }

    /// `in_memory`: the assembly, if it has no file.
    pub(super) fn load(
        &mut self,
        module: Module,
        in_memory: Option<PeImage>,
        retrieval: &Retrieval,
    ) -> Rc<LoadedModule> {
        self.next += 1;
        let path = PathBuf::from(module.name().unwrap_or_default());
        let is_in_memory = in_memory.is_some() || !path.is_absolute();
        let is_dynamic = in_memory.is_none() && module.is_dynamic() == Ok(true);
        let image = Arc::new(in_memory.map_or_else(OnceLock::new, |image| OnceLock::from(Some(image))));
        let is_framework = self.framework.has(&path);
        let mut loaded = LoadedModule {
            id: self.next,
            module,
            path: path.clone(),
            is_in_memory,
            is_dynamic,
            image: image.clone(),
            // Framework modules have no symbols; searching for them would slow each start down.
            pdb: Err(symbols_not_searched()),
            origin: SymbolOrigin::Builder,
            servers: RefCell::new(None),
            is_user_code: false,
            is_optimized: true,
            is_framework,
            is_marked: Cell::new(false),
            hidden: OnceCell::new(),
            unseen: OnceCell::new(),
        };
        if is_framework {
            if path.ends_with("System.Private.CoreLib.dll") {
                // Every stop needs it, and it is large: another thread reads it while the program starts.
                let ahead = move || {
                    image.get_or_init(|| PeImage::open(&path).ok());
                };
                drop(std::thread::Builder::new().name("open-corelib".into()).spawn(ahead));
            }
        } else if !is_dynamic && let Some(image) = loaded.image() {
            let (pdb, is_optimized) =
                (self.local_symbols(image, &loaded.name(), retrieval), image.metadata.is_optimized());
            (loaded.pdb, loaded.is_optimized) = (pdb, is_optimized);
            if retrieval.scope_of(&loaded.name()) == SymbolSearchScope::Nowhere {
                loaded.record_server_results(Some("`symbolOptions.moduleFilter` leaves it out".into()));
            }
            loaded.is_user_code = loaded.pdb.is_ok() && !loaded.is_optimized;
        }
        if loaded.pdb.is_err()
            && let Some(identity) = loaded.identity()
            && let Some(pdb) = retrieval.open_decompiled(&identity)
        {
            (loaded.pdb, loaded.origin) = (Ok(pdb), SymbolOrigin::Decompiler);
        }
        let loaded = Rc::new(loaded);
        self.list.push(loaded.clone());
        loaded
    }

    /// The symbols of an assembly on this machine.
    fn local_symbols(&self, image: &PeImage, name: &str, retrieval: &Retrieval) -> Result<Pdb, PdbError> {
        match retrieval.scope_of(name) {
            SymbolSearchScope::Everywhere => Pdb::open_for(image, &self.symbol_paths),
            SymbolSearchScope::Beside => Pdb::open_for(image, &[]),
            SymbolSearchScope::Nowhere => Err(symbols_not_searched()),
        }
    }
}

fn symbols_not_searched() -> PdbError {
    PdbError::NotFound { looked: Vec::new() }
}
