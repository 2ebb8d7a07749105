//! Loaded modules: whose code they are, their metadata and their symbols.

use std::cell::{Cell, OnceCell};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::OnceLock;

use clr_metadata::image::Image;
use clr_metadata::pdb::{Pdb, PdbProblem};
use cordebug::module::Module;
use dap_wire::Failure;
use serde_json::{Value, json};

use super::session::Session;

/// One module.
pub(super) struct Loaded {
    pub(super) id: usize,
    pub(super) module: Module,
    pub(super) path: PathBuf,
    /// Opened when first needed, or ahead of time by another thread.
    image: Arc<OnceLock<Option<Image>>>,
    pub(super) pdb: Result<Pdb, PdbProblem>,
    pub(super) is_user_code: bool,
    pub(super) is_optimized: bool,
    pub(super) is_framework: bool,
    /// The runtime knows it as a place where steps may end.
    pub(super) is_marked: Cell<bool>,
    /// Methods the user's own attributes take out of the user's code.
    hidden: OnceCell<HashSet<u32>>,
}

/// Attributes that take a method out of just-my-code. `DebuggerStepThrough` leaves it breakpoints.
const HIDING: [&str; 3] =
    ["DebuggerHiddenAttribute", "DebuggerNonUserCodeAttribute", "DebuggerStepThroughAttribute"];
/// Those of them that steps pass over in any case.
const STEP_THROUGH: [&str; 2] = ["DebuggerHiddenAttribute", "DebuggerStepThroughAttribute"];

impl Loaded {
    /// Its metadata; none for modules without a file.
    pub(super) fn image(&self) -> Option<&Image> {
        self.image.get_or_init(|| Image::open(&self.path).ok()).as_ref()
    }

    /// Whether it is the core library, where the primitives are.
    pub(super) fn is_core(&self) -> bool {
        self.is_framework && self.path.ends_with("System.Private.CoreLib.dll")
    }

    /// Whether it belongs to the runtime.
    pub(super) fn is_framework(&self) -> bool {
        self.is_framework
    }

    /// Methods that are not the user's code, though their module is.
    pub(super) fn hidden(&self) -> &HashSet<u32> {
        self.hidden.get_or_init(|| {
            let image = self.image();
            image
                .map(|image| image.metadata.methods_with_attribute(&HIDING))
                .unwrap_or_default()
                .into_iter()
                .collect()
        })
    }

    /// Why nothing can be seen in it, for people.
    pub(super) fn problem(&self) -> Option<String> {
        let problem = self.pdb.as_ref().err().filter(|_| !self.is_framework)?;
        Some(format!("`{}` has no symbols: {problem}", self.name()))
    }

    pub(super) fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    fn body(&self) -> Value {
        let status = match &self.pdb {
            Ok(_) if self.is_optimized => "Symbols loaded; the code is optimised".to_owned(),
            Ok(_) => "Symbols loaded".to_owned(),
            Err(_) if self.is_framework => "Framework code, no symbols needed".to_owned(),
            Err(problem) => format!("No symbols: {problem}"),
        };
        let mut body = json!({ "id": self.id, "name": self.name(), "path": self.path,
            "isUserCode": self.is_user_code, "isOptimized": self.is_optimized, "symbolStatus": status });
        if let Some(path) = self.pdb.as_ref().ok().and_then(|pdb| pdb.path.as_ref()) {
            body["symbolFilePath"] = json!(path);
        }
        body
    }

    /// As `modules` answers it: with what takes a look into the file or the process.
    fn full_body(&self) -> Value {
        let mut body = self.body();
        if let Some(version) = self.image().and_then(|image| image.metadata.assembly_version()) {
            body["version"] = json!(version);
        }
        if let (Ok(start), Ok(size)) = (self.module.base_address(), self.module.size())
            && start > 0
        {
            body["addressRange"] = json!(format!("0x{start:x}-0x{:x}", start + u64::from(size)));
        }
        body
    }
}

/// All modules.
#[derive(Default)]
pub(super) struct Modules {
    list: Vec<Rc<Loaded>>,
    next: usize,
    runtime: PathBuf,
    /// Folders where PDBs are looked for, too.
    symbol_paths: Vec<PathBuf>,
}

impl Modules {
    /// Where the framework's own modules are.
    pub(super) fn set_runtime(&mut self, folder: &Path) {
        self.runtime = folder.to_path_buf();
    }

    /// The attribute `symbolPaths`.
    ///
    /// # Errors
    /// When it is no list of strings.
    pub(super) fn set_symbol_paths(&mut self, attribute: &Value) -> Result<(), Failure> {
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
        Ok(())
    }

    /// Why modules that are not the framework's have no symbols.
    pub(super) fn problems(&self) -> Vec<String> {
        self.list.iter().filter_map(|loaded| loaded.problem()).collect()
    }

    /// The module behind a handle.
    pub(super) fn of(&self, module: &Module) -> Option<Rc<Loaded>> {
        self.list.iter().find(|loaded| loaded.module.is(module)).cloned()
    }

    /// The module with this id.
    pub(super) fn by_id(&self, id: usize) -> Option<Rc<Loaded>> {
        self.list.iter().find(|loaded| loaded.id == id).cloned()
    }

    /// All of them.
    pub(super) fn all(&self) -> &[Rc<Loaded>] {
        &self.list
    }

    /// How many there ever were: grows when one comes.
    pub(super) fn count(&self) -> usize {
        self.next
    }

    /// Modules with symbols.
    pub(super) fn with_symbols(&self) -> Vec<Rc<Loaded>> {
        self.list.iter().filter(|loaded| loaded.pdb.is_ok()).cloned().collect()
    }

    /// `modules`, a page of it if so asked.
    pub(super) fn list(&self, arguments: &Value) -> Value {
        let number = |key: &str| arguments[key].as_u64().and_then(|number| usize::try_from(number).ok());
        let count = number("moduleCount").filter(|count| *count > 0).unwrap_or(usize::MAX);
        let page = self.list.iter().skip(number("startModule").unwrap_or(0)).take(count);
        let list: Vec<Value> = page.map(|loaded| loaded.full_body()).collect();
        json!({ "modules": list, "totalModules": self.list.len() })
    }

    fn remove(&mut self, module: &Module) -> Option<Rc<Loaded>> {
        let at = self.list.iter().position(|loaded| loaded.module.is(module))?;
        Some(self.list.remove(at))
    }

    fn load(&mut self, module: Module) -> Rc<Loaded> {
        self.next += 1;
        let path = PathBuf::from(module.name().unwrap_or_default());
        let image = Arc::new(OnceLock::new());
        let is_framework = !self.runtime.as_os_str().is_empty() && path.starts_with(&self.runtime);
        let mut loaded = Loaded {
            id: self.next,
            module,
            path: path.clone(),
            image: image.clone(),
            // Framework modules come without symbols; looking for them would cost each start.
            pdb: Err(PdbProblem::NotFound { looked: Vec::new() }),
            is_user_code: false,
            is_optimized: true,
            is_framework,
            is_marked: Cell::new(false),
            hidden: OnceCell::new(),
        };
        if is_framework {
            if path.ends_with("System.Private.CoreLib.dll") {
                // Every stop needs it, and it is large: another thread reads it while the program starts.
                let ahead = move || {
                    image.get_or_init(|| Image::open(&path).ok());
                };
                drop(std::thread::Builder::new().name("open-corelib".into()).spawn(ahead));
            }
        } else if let Some(image) = loaded.image() {
            let (pdb, is_optimized) =
                (Pdb::open_for(image, &self.symbol_paths), image.metadata.is_optimized());
            (loaded.pdb, loaded.is_optimized) = (pdb, is_optimized);
            loaded.is_user_code = loaded.pdb.is_ok() && !loaded.is_optimized;
        }
        let loaded = Rc::new(loaded);
        self.list.push(loaded.clone());
        loaded
    }
}

impl Session {
    /// A module came: its code is the user's or not, and pending breakpoints may bind in it.
    pub(super) fn module_loaded(&mut self, module: Module) {
        let loaded = self.modules.load(module);
        tracing::debug!(path = %loaded.path.display(), "a module is read");
        if (loaded.is_user_code || (loaded.pdb.is_ok() && !self.just_my_code))
            && let Err(error) = loaded.module.disable_optimization()
        {
            // After attaching it is too late; a debug build is not optimised anyway.
            tracing::debug!(%error, path = %loaded.path.display(), "the optimiser stays as it is");
        }
        if loaded.is_user_code || (loaded.pdb.is_ok() && !self.just_my_code) {
            self.mark_for_steps(&loaded);
        }
        self.tell("module", json!({ "reason": "new", "module": loaded.body() }));
        let is_entry = self.entry_module.as_deref() == Some(loaded.path.as_path());
        if is_entry {
            self.about_the_program(&loaded);
        }
        self.bind_in(&loaded);
        if loaded.problem().is_some() {
            self.tell_why_pending();
        }
    }

    /// Tells the runtime where steps may end.
    fn mark_for_steps(&self, loaded: &Loaded) {
        match loaded.module.set_user_code(true) {
            Ok(()) => loaded.is_marked.set(true),
            Err(error) => tracing::debug!(%error, path = %loaded.path.display(), "not marked as user code"),
        }
        let passed = match (self.just_my_code, loaded.image()) {
            (false, Some(image)) => image.metadata.methods_with_attribute(&STEP_THROUGH),
            _ => loaded.hidden().iter().copied().collect(),
        };
        for method in passed {
            let set = || loaded.module.function(method)?.set_user_code(false);
            if let Err(error) = set() {
                tracing::debug!(%error, method, "still marked as user code");
            }
        }
    }

    /// A module went.
    pub(super) fn module_unloaded(&mut self, module: &Module) {
        if let Some(loaded) = self.modules.remove(module) {
            self.tell("module", json!({ "reason": "removed", "module": loaded.body() }));
            self.unbind_in(loaded.id);
        }
    }

    /// The program's own assembly: the entry stop, and notes about what will not work in it.
    fn about_the_program(&mut self, loaded: &Rc<Loaded>) {
        if let Err(problem) = &loaded.pdb {
            self.note(&format!(
                "`{}` has no symbols, so no breakpoint can bind in it and no source is shown: {problem}. Build it with \
                 <DebugType>portable</DebugType>.",
                loaded.path.display()
            ));
        } else if loaded.is_optimized {
            self.note(&format!(
                "`{}` is optimised: variables may be missing and lines may be skipped. Build it in the Debug \
                 configuration; `justMyCode: false` steps into it all the same.",
                loaded.path.display()
            ));
        }
        if self.stop_on_entry {
            self.stop_on_entry = false;
            if let Err(failure) = self.set_entry_breakpoint(loaded) {
                self.note(&format!("The program does not stop at its entry: {failure}"));
            }
        }
    }
}
