//! Finds the runtime in a process, and loads the debugging library that belongs to it.
//!
//! The library must be the one next to the process's `libcoreclr.so`: it depends on the data structures of
//! that build.

pub mod single_file;

use core::ffi::{CStr, c_void};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::com::{ComPtr, IUnknown};
use crate::debugger::Debugger;
use crate::hresult::CorError;
use crate::imports;
use crate::startup::temporary_folder;

/// The requested version of the interface. All runtimes since 3.1 support it.
const INTERFACE_VERSION: i32 = 4;
/// Time between two reads of the memory map of a starting process.
const PRELOAD_POLL_INTERVAL: Duration = Duration::from_millis(2);
/// DLL_PROCESS_ATTACH, the reason passed to `DllMain`.
const PROCESS_ATTACH: u32 = 1;

/// A runtime in a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClrRuntime {
    /// The folder of the runtime. For one inside the executable, the folder of the libraries that debug it.
    pub folder: PathBuf,
    /// Address of `libcoreclr.so`, or of the executable that contains it.
    pub base: u64,
    /// Whether the runtime is linked into the executable.
    pub inside: bool,
}

impl ClrRuntime {
    /// The name of the runtime's folder, which is the version in a usual installation. For a runtime inside
    /// the executable, the version in the path of its libraries; empty if the path has none.
    pub fn version(&self) -> String {
        if self.inside {
            let names = self.folder.iter().rev().map(|name| name.to_string_lossy());
            let mut versions = names.filter(|name| {
                name.starts_with(|letter: char| letter.is_ascii_digit()) && name.contains('.')
            });
            return versions.next().map(String::from).unwrap_or_default();
        }
        self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// The reason why no debugger could be created.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// The memory map of the process cannot be read.
    #[error("cannot read the memory map of process {pid}: {reason}")]
    Maps {
        /// Id of the process whose memory map was to be read.
        pid: u32,
        /// The error of the operating system.
        reason: std::io::Error,
    },
    /// A library could not be loaded.
    #[error("cannot load `{path}`: {reason}")]
    Library {
        /// Path of the library that was to be loaded.
        path: PathBuf,
        /// The error of the loader.
        reason: libloading::Error,
    },
    /// The library is loaded, but its initialisation failed.
    #[error("`{0}` refused to start")]
    Refused(PathBuf),
    /// An error of the debugging library.
    #[error(transparent)]
    Cor(#[from] CorError),
}

/// Finds the runtimes in a process. The list is empty if the process is not a .NET program, or its
/// runtime has not started.
///
/// # Errors
/// When the process has ended or belongs to another user.
pub fn find(pid: u32) -> Result<Vec<ClrRuntime>, RuntimeError> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps"));
    maps.map(|maps| runtimes_in(&maps)).map_err(|reason| RuntimeError::Maps { pid, reason })
}

/// The runtimes in a memory map. proc(5): `address-address perms offset device inode path`, ascending. The
/// first mapping of a file is its base.
fn runtimes_in(maps: &str) -> Vec<ClrRuntime> {
    let mut found: Vec<ClrRuntime> = Vec::new();
    for line in maps.lines() {
        let Some(path) = line.find('/').and_then(|start| line.get(start..)) else { continue };
        let Some(folder) = path.strip_suffix("/libcoreclr.so") else { continue };
        let base = line.split('-').next().and_then(|hex| u64::from_str_radix(hex, 16).ok());
        if let Some(base) = base
            && !found.iter().any(|runtime| runtime.folder == Path::new(folder))
        {
            found.push(ClrRuntime { folder: folder.into(), base, inside: false });
        }
    }
    found
}

/// Finds the runtime inside the executable of a process, to be debugged with the libraries in `folder`.
///
/// # Errors
/// When the process has ended or belongs to another user.
pub fn find_inside(pid: u32, folder: &Path) -> Result<Option<ClrRuntime>, RuntimeError> {
    let failed = |reason| RuntimeError::Maps { pid, reason };
    let executable = std::fs::read_link(format!("/proc/{pid}/exe")).map_err(failed)?;
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).map_err(failed)?;
    let base = base_of(&executable, &maps);
    Ok(base.map(|base| ClrRuntime { folder: folder.to_path_buf(), base, inside: true }))
}

/// The address of the first byte of a file in memory. Assemblies inside an executable are mapped from
/// it too, at any address.
fn base_of(file: &Path, maps: &str) -> Option<u64> {
    let first = maps.lines().find(|line| {
        let path = line.find('/').and_then(|start| line.get(start..));
        let offset = line.split_ascii_whitespace().nth(2).and_then(|hex| u64::from_str_radix(hex, 16).ok());
        offset == Some(0) && path.is_some_and(|path| file == Path::new(path))
    });
    u64::from_str_radix(first?.split('-').next()?, 16).ok()
}

/// Maps the debugging library and its data access library as soon as the starting process has mapped its
/// runtime, which is long before the runtime can be debugged. Their loading then does not delay a launch.
/// Gives up when `is_needed` turns false. Returns whether the process has a runtime.
///
/// This only maps and relocates the libraries; none of their code is called.
/// [`create_debugger`] reports failures.
pub fn preload(pid: u32, is_needed: &AtomicBool) -> bool {
    while is_needed.load(Ordering::Relaxed) {
        let Ok(found) = find(pid) else { return false };
        if let [runtime] = found.as_slice() {
            for name in ["libmscordbi.so", "libmscordaccore.so"] {
                // SAFETY: as in `create_debugger`, which loads the same files a moment later.
                let loaded = unsafe { Library::open(Some(runtime.folder.join(name)), RTLD_NOW | RTLD_LOCAL) };
                drop(loaded.map(Library::into_raw));
            }
            return true;
        }
        std::thread::sleep(PRELOAD_POLL_INTERVAL);
    }
    false
}

/// Loads the runtime's debugging library and creates a debugger for this process.
///
/// The library stays loaded for the life of our process: its threads never end.
///
/// # Errors
/// When the library is missing, cannot be loaded, or does not start.
pub fn create_debugger(pid: u32, runtime: &ClrRuntime) -> Result<Debugger, RuntimeError> {
    temporary_folder::remember(pid);
    let path = runtime.folder.join("libmscordbi.so");
    let load = |reason| RuntimeError::Library { path: path.clone(), reason };
    // SAFETY: loading runs the library's initialisers; the library is part of the program's runtime.
    let library = unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_LOCAL) }.map_err(load)?;
    type DllMain = unsafe extern "C" fn(*mut c_void, u32, *mut c_void) -> i32;
    type CreateEx = unsafe extern "C" fn(i32, u32, *const u16, *mut c_void, *mut *mut IUnknown) -> i32;
    type Create3 =
        unsafe extern "C" fn(i32, u32, *const u16, *const u16, *mut c_void, *mut *mut IUnknown) -> i32;
    let symbol = |name: &'static CStr| name.to_bytes_with_nul();
    // SAFETY: the types are those of the exported functions (coreclr's dbgshim and mscordbi sources), the
    // arguments are valid for the calls, and a successful creation writes a reference that we own.
    let (created, is_core) = unsafe {
        imports::replace(&runtime.folder);
        // It must run before any other function: it starts the library's platform layer.
        let main = library.get::<DllMain>(symbol(c"DllMain")).map_err(load)?;
        let create3 = library.get::<Create3>(symbol(c"CoreCLRCreateCordbObject3")).map(|symbol| *symbol).ok();
        let create = library.get::<CreateEx>(symbol(c"CoreCLRCreateCordbObjectEx")).map(|symbol| *symbol);
        let main = *main;
        let handle = library.into_raw();
        if main(handle, PROCESS_ATTACH, core::ptr::null_mut()) == 0 {
            return Err(RuntimeError::Refused(path));
        }
        let (base, mut out) = (runtime.base as *mut c_void, core::ptr::null_mut());
        let none = core::ptr::null();
        // The library would look for it next to the executable.
        let data_access = runtime.folder.join("libmscordaccore.so");
        let words: Vec<u16> = data_access.to_string_lossy().encode_utf16().chain([0]).collect();
        let data_access = if runtime.inside { words.as_ptr() } else { none };
        let hresult = match create3 {
            Some(create) => create(INTERFACE_VERSION, pid, none, data_access, base, &raw mut out),
            None => create.map_err(load)?(INTERFACE_VERSION, pid, none, base, &raw mut out),
        };
        CorError::check("CoreCLRCreateCordbObject", hresult)?;
        (ComPtr::own("CoreCLRCreateCordbObject", out)?, create3.is_none())
    };
    Ok(Debugger(created.cast()?, is_core))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_mapping_of_each_runtime_is_its_base() {
        let maps = "7f00-7f10 r--p 0 08:01 5 \
            /usr/share/dotnet/shared/Microsoft.NETCore.App/9.0.1/libcoreclr.so\n\
            7f10-7f20 r-xp 0 08:01 5 /usr/share/dotnet/shared/Microsoft.NETCore.App/9.0.1/libcoreclr.so\n\
            7f20-7f30 r-xp 0 08:01 6 /usr/lib/libc.so.6\n\
            7f30-7f40 rw-p 0 00:00 0 [heap]\n";
        let found = runtimes_in(maps);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].base, found[0].version().as_str()), (0x7f00, "9.0.1"));
        assert!(runtimes_in("nonsense\n\n").is_empty());
    }

    #[test]
    fn an_executable_begins_where_its_first_byte_is() {
        let maps = "5500-5510 r--p 0729c000 fe:00 5 /opt/one file\n\
            5600-5610 r--p 00000000 fe:00 5 /opt/one file\n\
            7f00-7f10 r--p 00000000 fe:00 6 /usr/lib/libc.so.6\n";
        assert_eq!(base_of(Path::new("/opt/one file"), maps), Some(0x5600));
        assert_eq!(base_of(Path::new("/opt/other"), maps), None);
    }
}
