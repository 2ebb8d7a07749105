//! The runtime of a process and its debugging library: next to the runtime or, if that is linked into the
//! executable, in an installed runtime of the very same build. Loads no library ([`cordebug::runtime`]).

use std::path::{Path, PathBuf};

use cordebug::runtime::single_file::DebuggingLibraries;
use cordebug::runtime::{self, ClrRuntime, RuntimeError};
use tandem_wire::{ErrorCode, Failure};

/// Usual folders of `dotnet` and its runtimes.
const USUAL: [&str; 3] = ["/usr/share/dotnet", "/usr/lib/dotnet", "/usr/local/share/dotnet"];
/// The package with a runtime, below NuGet's folder: self-contained programs contain it.
const PACKAGE: &str = "microsoft.netcore.app.runtime.linux-x64";

/// The only runtime of a process. `named` are folders that the user has configured.
///
/// # Errors
/// `PROCESS_NOT_FOUND`; `NOT_DEBUGGABLE` if there is none, or several, or no library for it.
pub(super) fn only_runtime(pid: u32, named: &[PathBuf]) -> Result<ClrRuntime, Failure> {
    let mut found = runtime::find(pid).map_err(|error| unseen(&error))?;
    match (found.pop(), found.is_empty()) {
        (Some(runtime), true) => Ok(runtime),
        (Some(_), false) => Err(Failure::new(
            ErrorCode::NotDebuggable,
            format!("process {pid} has several .NET runtimes; only one can be debugged"),
        )),
        (None, _) => inside(pid, named)?.ok_or_else(|| {
            Failure::new(
                ErrorCode::NotDebuggable,
                format!("process {pid} has no .NET runtime loaded: it is not a .NET program"),
            )
            .hint("if it is a .NET program, its runtime has not started yet: try again")
        }),
    }
}

fn unseen(error: &RuntimeError) -> Failure {
    let code = match error {
        RuntimeError::Maps { reason, .. } if reason.kind() == std::io::ErrorKind::NotFound => {
            ErrorCode::ProcessNotFound
        }
        _ => ErrorCode::NotDebuggable,
    };
    Failure::new(code, error.to_string())
}

/// The runtime that is linked into the executable, if one is.
fn inside(pid: u32, named: &[PathBuf]) -> Result<Option<ClrRuntime>, Failure> {
    let Some(needs) = DebuggingLibraries::of(&PathBuf::from(format!("/proc/{pid}/exe"))) else {
        return Ok(None);
    };
    let Some(folder) = libraries_for(&needs, named) else {
        return Err(Failure::new(
            ErrorCode::NotDebuggable,
            format!(
                "process {pid} is a self-contained .NET program in one file: its runtime is inside the \
                    executable and comes \
                 without a debugging library, and no installed runtime is of the same build"
            ),
        )
        .hint(
            "install that version of the .NET runtime, or name a folder with its libmscordbi.so and \
                libmscordaccore.so in \
             `symbolPaths`; or publish the program without `PublishSingleFile`",
        ));
    };
    runtime::find_inside(pid, &folder).map_err(|error| unseen(&error))
}

/// The folder with the libraries that debug a runtime which is linked into an executable, if there is one.
pub(super) fn libraries_for(needs: &DebuggingLibraries, named: &[PathBuf]) -> Option<PathBuf> {
    folders(named).into_iter().find(|folder| needs.are_in(folder))
}

/// The folders of the runtimes that a user has installed, by version, each once.
pub fn installed_runtimes() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = shared_runtimes().filter_map(|folder| folder.canonicalize().ok()).collect();
    found.sort();
    found.dedup();
    found
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from)
}

/// Folders of installed runtimes, one for each version of each installation.
fn shared_runtimes() -> impl Iterator<Item = PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // A library is code: relative folders are not searched.
    let on_path: Vec<PathBuf> = std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect();
    variable("DOTNET_ROOT")
        .into_iter()
        // A `dotnet` on PATH is often a link into the installation.
        .chain(on_path.into_iter().flat_map(|folder| {
            let linked = folder.join("dotnet").canonicalize().ok();
            let linked = linked.and_then(|dotnet| dotnet.parent().map(PathBuf::from));
            std::iter::once(folder).chain(linked)
        }))
        .chain(variable("HOME").map(|home| home.join(".dotnet")))
        .chain(USUAL.map(PathBuf::from))
        .flat_map(|root| below(&root.join("shared/Microsoft.NETCore.App")))
}

/// Folders that may have the libraries of a runtime.
fn folders(named: &[PathBuf]) -> Vec<PathBuf> {
    let packages =
        variable("NUGET_PACKAGES").or_else(|| variable("HOME").map(|home| home.join(".nuget/packages")));
    let mut folders = named.to_vec();
    folders.extend(shared_runtimes());
    let packaged = packages.into_iter().flat_map(|packages| below(&packages.join(PACKAGE)));
    folders.extend(packaged.map(|version| version.join("runtimes/linux-x64/native")));
    folders
}

fn below(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}
