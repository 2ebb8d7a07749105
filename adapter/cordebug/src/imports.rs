//! Replacements for system functions that the debugging library and its data access library import, where
//! ours are faster or safer. [`blocks`] keeps memory that they would otherwise map again at each stop.
//! [`memory`] gathers their reads of the program's memory. [`process_exit`] reports the program's end to them
//! correctly. [`waits`] makes them check for it, and holds them while their next action would crash calls
//! under way. [`pipes`] closes the pipes of their transport when the program ends.
//!
//! Only the import tables of these two libraries are changed, so only their calls arrive here.

mod blocks;
pub mod memory;
mod pipes;
pub(crate) mod process_exit;
mod waits;

use core::ffi::c_void;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use plthook::ObjectFile;

/// The data access library, in a runtime's folder.
const DATA_ACCESS: &str = "libmscordaccore.so";

/// Handles of the libraries that were changed, and whether all needed functions could be replaced.
static DONE: Mutex<BTreeMap<usize, bool>> = Mutex::new(BTreeMap::new());

/// Changes the imports of the libraries in a runtime's folder. Later calls for the same folder do nothing.
///
/// A library that lacks one of the imports works as before, without the gain.
///
/// # Safety
/// No code of the libraries may run yet, unless this was called before.
pub(crate) unsafe fn replace(folder: &Path) {
    let data_access = [
        ("mmap", blocks::mmap as *const c_void),
        ("mmap64", blocks::mmap as *const c_void),
        ("munmap", blocks::munmap as *const c_void),
        ("pread64", memory::pread as *const c_void),
    ];
    let end =
        [("kill", process_exit::kill as *const c_void), ("waitpid", process_exit::waitpid as *const c_void)];
    let pipes = [
        ("open", pipes::open as *const c_void),
        ("open64", pipes::open as *const c_void),
        ("unlink", pipes::unlink as *const c_void),
    ];
    let messages = [("read", memory::read as *const c_void), ("write", memory::write as *const c_void)];
    // Without counted messages, nothing shows when a page that was read is out of date.
    // SAFETY: the caller's promise; the functions have the types of those they replace, and exist as long as
    // the process.
    unsafe {
        let library = Library::open(Some(folder.join(DATA_ACCESS)), RTLD_NOW | RTLD_LOCAL).ok();
        let waits = library.and_then(|library| waits::replacements(&library)).into_iter().flatten();
        let debugging: Vec<_> = messages.into_iter().chain(pipes).chain(waits).collect();
        let gathered = replace_in(&folder.join("libmscordbi.so"), &debugging, &["read", "write"]);
        let functions: Vec<_> = data_access.into_iter().filter(|_| gathered).chain(end).collect();
        replace_in(&folder.join(DATA_ACCESS), &functions, &[]);
    }
}

/// Replaces functions of a library. Returns whether all that are `needed` were replaced.
///
/// # Safety
/// As for [`replace`]. Each function must have the type of the one with its name.
unsafe fn replace_in(path: &Path, functions: &[(&str, *const c_void)], needed: &[&str]) -> bool {
    let mut done = DONE.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the libraries of the runtime; one that is loaded already is only found.
    let Ok(library) = (unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }) else { return false };
    // The library stays loaded: a changed one must not be unmapped while it is in use.
    let handle = library.into_raw();
    if let Some(outcome) = done.get(&(handle as usize)) {
        return *outcome;
    }
    let mut replaced = Vec::new();
    // SAFETY: a handle that the loader returned.
    if let Ok(object) = unsafe { ObjectFile::open_by_handle(handle) } {
        for (name, function) in functions {
            // SAFETY: the caller's promise.
            if let Ok(mut replacement) = unsafe { object.replace(name, *function) } {
                replacement.discard();
                replaced.push(*name);
            }
        }
    }
    let outcome = needed.iter().all(|name| replaced.contains(name));
    done.insert(handle as usize, outcome);
    outcome
}
