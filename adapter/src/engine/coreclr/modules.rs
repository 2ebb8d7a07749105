//! Loaded modules: whose code they are, their metadata and their symbols.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::OnceLock;

use clr_metadata::image::Image;
use clr_metadata::pdb::{Pdb, PdbProblem};
use cordebug::module::Module;
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
    is_optimized: bool,
    is_framework: bool,
}

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

    fn body(&self) -> Value {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let status = match &self.pdb {
            Ok(_) if self.is_optimized => "Symbols loaded; the code is optimised".to_owned(),
            Ok(_) => "Symbols loaded".to_owned(),
            Err(_) if self.is_framework => "Framework code, no symbols needed".to_owned(),
            Err(problem) => format!("No symbols: {problem}"),
        };
        json!({ "id": self.id, "name": name, "path": self.path, "isUserCode": self.is_user_code,
            "isOptimized": self.is_optimized, "symbolStatus": status })
    }
}

/// All modules.
#[derive(Default)]
pub(super) struct Modules {
    list: Vec<Rc<Loaded>>,
    next: usize,
    runtime: PathBuf,
}

impl Modules {
    /// Where the framework's own modules are.
    pub(super) fn set_runtime(&mut self, folder: &Path) {
        self.runtime = folder.to_path_buf();
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

    pub(super) fn list(&self) -> Value {
        let list: Vec<Value> = self.list.iter().map(|loaded| loaded.body()).collect();
        json!({ "modules": list, "totalModules": list.len() })
    }

    pub(super) fn unloaded(&mut self, module: &Module) -> Option<Value> {
        let at = self.list.iter().position(|loaded| loaded.module.is(module))?;
        let body = self.list.remove(at).body();
        Some(json!({ "reason": "removed", "module": body }))
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
            let (pdb, is_optimized) = (Pdb::open_for(image, &[]), image.metadata.is_optimized());
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
        if loaded.is_user_code
            && let Err(error) = loaded.module.disable_optimization()
        {
            // After attaching it is too late; a debug build is not optimised anyway.
            tracing::debug!(%error, path = %loaded.path.display(), "the optimiser stays as it is");
        }
        let is_ours = loaded.is_user_code || (loaded.pdb.is_ok() && !self.just_my_code);
        if is_ours && let Err(error) = loaded.module.set_user_code(true) {
            tracing::debug!(%error, path = %loaded.path.display(), "not marked as user code");
        }
        self.tell("module", json!({ "reason": "new", "module": loaded.body() }));
        let is_entry = self.entry_module.as_deref() == Some(loaded.path.as_path());
        if is_entry {
            self.about_the_program(&loaded);
        }
        if loaded.pdb.is_ok() {
            self.bind_in(&loaded);
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
