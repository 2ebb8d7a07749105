//! Loaded modules: the list of them, and the folders of their files. [`super::load_events`] handles loading
//! and unloading. Fetches no symbols ([`super::retrieval`]).

mod excluded_methods;
mod framework;
pub(super) mod injected;
mod loaded_module;
mod pdb_identity;

use std::path::{Path, PathBuf};
use std::rc::Rc;

use clr_metadata::image::PeImage;
use clr_metadata::pdb::Pdb;
use cordebug::frame::Frame;
use cordebug::module::Module;
use cordebug::runtime::ClrRuntime;
use cordebug::thread::Thread;
use serde_json::Value;
use tandem_wire::Failure;
use tandem_wire::types::{self, DapModulesArguments, ModulesResponseBody};

use super::runtime_async;
use framework::FrameworkLocation;
use injected::is_injected;
pub(super) use loaded_module::{LoadedModule, SymbolOrigin};
pub(super) use pdb_identity::PdbIdentity;

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
        let loaded = Rc::new(entry.with_symbols(pdb, origin)?);
        *entry = loaded.clone();
        Some(loaded)
    }

    /// The program resumes: dynamic modules may have grown at the next stop.
    pub(super) fn forget_dynamic(&mut self) {
        for entry in self.list.iter_mut().filter(|entry| entry.may_have_grown()) {
            *entry = Rc::new(entry.unread());
        }
    }

    pub(super) fn remove(&mut self, module: &Module) -> Option<Rc<LoadedModule>> {
        let at = self.list.iter().position(|loaded| loaded.module.is(module))?;
        Some(self.list.remove(at))
    }

    /// A module that was just loaded, without symbols; [`Self::add`] follows. `in_memory`: the assembly, if
    /// it has no file.
    pub(super) fn open(&mut self, module: Module, in_memory: Option<PeImage>) -> LoadedModule {
        self.next += 1;
        let path = PathBuf::from(module.name().unwrap_or_default());
        let is_framework = self.framework.has(&path);
        let loaded = LoadedModule::new(self.next, module, path, in_memory, is_framework);
        if loaded.is_core() {
            // Every stop needs it, and it is large: another thread reads it while the program starts.
            loaded.open_ahead();
        }
        loaded
    }

    pub(super) fn add(&mut self, loaded: LoadedModule) -> Rc<LoadedModule> {
        let loaded = Rc::new(loaded);
        self.list.push(loaded.clone());
        loaded
    }

    /// Whether a method is the user's own code.
    pub(super) fn is_users(&self, loaded: &LoadedModule, method: u32) -> bool {
        loaded.is_user_code && !loaded.hidden_methods().contains(&method)
    }

    /// Whether a frame is in the user's own code; `None` if that is unknown.
    pub(super) fn is_user_frame(&self, frame: &Frame) -> Option<bool> {
        let function = frame.function().ok()?;
        let loaded = self.of(&function.module().ok()?)?;
        Some(self.is_users(&loaded, function.token().ok()?))
    }

    /// Whether a thread has user code on its stack; with `is_written`, only code that the build has not
    /// generated.
    pub(super) fn has_user_code(&self, thread: &Thread, is_written: bool) -> bool {
        thread.frames(64).unwrap_or_default().iter().any(|frame| {
            let Ok(function) = frame.function() else { return false };
            let loaded = function.module().ok().and_then(|module| self.of(&module));
            let is_of_build = |loaded: &LoadedModule| {
                is_written && function.token().is_ok_and(|method| is_generated(loaded, method))
            };
            loaded.is_some_and(|loaded| loaded.is_user_code && !is_of_build(&loaded))
        })
    }
}

/// Whether the build has generated the source of a method, such as the entry point of a test project.
fn is_generated(loaded: &LoadedModule, method: u32) -> bool {
    let Ok(pdb) = &loaded.pdb else { return false };
    let statement = pdb.points(method).iter().find(|point| !point.is_hidden()).copied();
    statement.is_some_and(|statement| is_in_output(pdb.document(statement.document)))
}

/// Whether a source is below `obj`, the folder for files of the build.
fn is_in_output(source: &str) -> bool {
    source.split(['/', '\\']).any(|part| part == "obj")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_below_obj_is_of_the_build() {
        for (source, expected) in [
            ("/w/tests/obj/Debug/net10.0/XunitAutoGeneratedEntryPoint.cs", true),
            (r"C:\w\obj\Debug\Program.g.cs", true),
            ("/w/object/Program.cs", false),
        ] {
            assert_eq!(is_in_output(source), expected, "{source}");
        }
    }
}
