//! Loading and unloading of modules: settings that the runtime gets for them, and breakpoints that bind in
//! them. Not here: the data of a loaded module ([`super::modules`]).

use std::path::Path;
use std::rc::Rc;

use clr_metadata::image::PeImage;
use clr_metadata::pdb::Pdb;
use cordebug::module::Module;
use cordebug::stream::ComStream;

use crate::children::is_of_sdk;
use crate::debuggee::ClrDebuggee;
use crate::modules::LoadedModule;
use crate::modules::injected::is_injected;
use crate::options::SessionOptions;
use crate::runtime_async::MIN_RUNTIME;
use crate::session::ClrSession;

/// Largest assembly that is read from the program's memory, bytes.
const MAX_IMAGE_BYTES: u32 = 256 * 1024 * 1024;
/// Attributes whose methods steps always pass over.
const STEP_THROUGH: [&str; 2] = ["DebuggerHiddenAttribute", "DebuggerStepThroughAttribute"];

impl ClrSession {
    /// A module was loaded: determines whether it is user code, and binds pending breakpoints in it.
    pub(crate) fn on_module_loaded(&mut self, module: Module) {
        let in_memory = self.program.debuggee.image_in_memory(&module);
        let mut loaded = self.program.types.modules.open(module, in_memory);
        self.sources.retrieval.find_local_symbols(&mut loaded, self.program.types.modules.symbol_paths());
        let loaded = self.program.types.modules.add(loaded);
        tracing::debug!(path = %loaded.path.display(), "a module is read");
        if is_injected(&loaded.path) {
            return;
        }
        prepare_for_debugging(&loaded, &self.options);
        if loaded.is_user_code {
            self.exceptions.watch_for_requested_stops(&self.program.types, &mut self.breakpoints);
            self.report_runtime_async(&loaded);
        }
        if loaded.pdb.is_err() && !loaded.is_dynamic() && self.sources.retrieval.find_symbols(&loaded) {
            loaded.record_server_results(Some("they are being requested from symbol servers".into()));
        }
        let event = loaded.event("new");
        if self.options.logging.module_load {
            self.hub.outbox.note(&format!(
                "Loaded `{}`. {}.",
                loaded.path.display(),
                event.module.symbol_status.as_deref().unwrap_or_default()
            ));
        }
        self.hub.outbox.send(&event);
        // Of a module in a single-file program only the name is known.
        let is_entry =
            self.program.debuggee.entry_module.as_deref().is_some_and(|entry| loaded.path.ends_with(entry));
        if is_entry {
            self.on_program_assembly(&loaded);
        }
        self.breakpoints.bind_in(
            &self.program.types,
            &self.sources.locator,
            &self.options,
            &self.hub.outbox,
            &loaded,
        );
        if loaded.problem().is_some() && !loaded.is_library() {
            self.breakpoints.report_pending_reason(
                &self.program.types,
                &self.sources.locator,
                &self.hub.outbox,
            );
        }
    }

    /// The program supplied symbols for a module from bytes, after it was loaded.
    pub(crate) fn on_symbols_updated(&mut self, module: &Module, symbols: &ComStream) {
        let read = symbols.read().map_err(|error| error.to_string());
        let parsed = read.and_then(|bytes| Pdb::parse(bytes).ok_or_else(|| "no valid portable PDB".into()));
        let loaded = match parsed {
            Ok(pdb) => self.program.types.modules.give_symbols(module, pdb),
            Err(problem) => return tracing::debug!(problem, "symbols from memory are not used"),
        };
        // Otherwise symbols of another build, or an unloaded module.
        if let Some(loaded) = loaded {
            self.add_symbols(&loaded);
        }
    }

    /// A module that was loaded without symbols has some now; the program is stopped.
    pub(crate) fn add_symbols(&mut self, loaded: &Rc<LoadedModule>) {
        prepare_for_debugging(loaded, &self.options);
        if loaded.is_user_code {
            self.exceptions.watch_for_requested_stops(&self.program.types, &mut self.breakpoints);
        }
        self.hub.outbox.send(&loaded.event("changed"));
        self.breakpoints.bind_in(
            &self.program.types,
            &self.sources.locator,
            &self.options,
            &self.hub.outbox,
            loaded,
        );
    }

    /// A module was unloaded.
    pub(crate) fn on_module_unloaded(&mut self, module: &Module) {
        if let Some(loaded) = self.program.types.modules.remove(module) {
            if is_injected(&loaded.path) {
                return;
            }
            self.hub.outbox.send(&loaded.event("removed"));
            self.breakpoints.unbind_in(
                &self.program.types,
                &self.sources.locator,
                &self.hub.outbox,
                loaded.id,
            );
        }
    }

    /// Warns about an assembly that was loaded too late to be refused.
    fn report_runtime_async(&self, loaded: &LoadedModule) {
        if self.program.types.modules.crashes_on(loaded) {
            self.hub.outbox.note(&format!(
                "`{}` has async methods that the runtime itself suspends (`runtime-async=on`). The \
                    debugging library of this \
                 runtime crashes when one of them is on a stack, and the session ends with it. Build the \
                 assembly without \
                 <Features>runtime-async=on</Features>, or run it on .NET {MIN_RUNTIME}.",
                loaded.path.display()
            ));
        }
    }

    /// Handles the program's own assembly: the entry stop, and notes about limits.
    fn on_program_assembly(&mut self, loaded: &Rc<LoadedModule>) {
        if is_of_sdk(&loaded.path) {
            // Users do not mean the program that starts theirs.
        } else if let Err(problem) = &loaded.pdb {
            self.hub.outbox.note(&format!(
                "`{}` has no symbols, so no breakpoint can bind in it and no source is shown: {problem}. \
                    Build it with \
                 <DebugType>portable</DebugType>.",
                loaded.path.display()
            ));
        } else if loaded.is_optimized {
            self.hub.outbox.note(&format!(
                "`{}` is optimised: variables may be missing and lines may be skipped. Build it in the Debug \
                 configuration; `justMyCode: false` steps into it anyway.",
                loaded.path.display()
            ));
        }
        if self.breakpoints.stop_on_entry {
            self.breakpoints.stop_on_entry = false;
            if let Err(failure) = self.breakpoints.set_entry_breakpoint(loaded) {
                self.hub.outbox.note(&format!("The program does not stop at its entry: {failure}"));
            }
        }
    }
}

impl ClrDebuggee {
    /// The assembly of a module that was loaded from bytes, not from a file.
    fn image_in_memory(&self, module: &Module) -> Option<PeImage> {
        let is_elsewhere = || module.name().is_ok_and(|name| !Path::new(&name).exists());
        // Its file may have been deleted, or may never have existed: bundled into the program's executable.
        if module.is_without_file() != Ok(true) && !is_elsewhere() {
            return None;
        }
        // A module generated at run time has metadata only in the runtime, and no address.
        let (address, size) = (module.base_address().ok()?, module.size().ok()?);
        let bytes = self.process.as_ref()?.read_memory(address, size.min(MAX_IMAGE_BYTES)).ok()?;
        PeImage::parse(Path::new(&module.name().ok()?), &bytes).ok()
    }
}

/// Prepares a module with symbols: code in which to stop and step is not optimised.
fn prepare_for_debugging(loaded: &LoadedModule, options: &SessionOptions) {
    let is_stepped_in = loaded.is_user_code || loaded.pdb.is_ok() && !options.just_my_code;
    if !is_stepped_in && !options.suppress_optimizations {
        return;
    }
    if let Err(error) = loaded.module.disable_optimization() {
        // After attaching, or when symbols arrive late, it is too late; a debug build is not optimised
        // anyway.
        tracing::debug!(%error, path = %loaded.path.display(), "the optimiser stays as it is");
    }
    if is_stepped_in {
        mark_for_steps(loaded, options);
    }
}

/// Marks a module in which steps may end.
fn mark_for_steps(loaded: &LoadedModule, options: &SessionOptions) {
    match loaded.module.set_user_code(true) {
        Ok(()) => loaded.is_marked.set(true),
        Err(error) => tracing::debug!(%error, path = %loaded.path.display(), "not marked as user code"),
    }
    let passed = match (options.just_my_code, loaded.image()) {
        (false, Some(image)) => image.metadata.methods_with_attribute(&STEP_THROUGH),
        _ => loaded.hidden_methods().iter().copied().collect(),
    };
    for method in passed {
        let set = || loaded.module.function(method)?.set_user_code(false);
        if let Err(error) = set() {
            tracing::debug!(%error, method, "still marked as user code");
        }
    }
}
