//! Which runtime a process has, and where the library is that debugs it: beside the runtime, or, when that is linked into the
//! executable, in an installed runtime of the very same build.

use std::path::{Path, PathBuf};

use cordebug::runtime::inside::Needs;
use cordebug::runtime::{self, Runtime, RuntimeError};
use dap_wire::{ErrorCode, Failure};

/// Where `dotnet` and its runtimes are as a rule.
const USUAL: [&str; 3] = ["/usr/share/dotnet", "/usr/lib/dotnet", "/usr/local/share/dotnet"];
/// The package with a runtime, below NuGet's folder: self-contained programs are published with it.
const PACKAGE: &str = "microsoft.netcore.app.runtime.linux-x64";

/// The one runtime of a process. `named` are folders that the user has named.
///
/// # Errors
/// `PROCESS_NOT_FOUND`, `NOT_DEBUGGABLE` when there is none, or several, or no library for it.
pub(super) fn only_runtime(pid: u32, named: &[PathBuf]) -> Result<Runtime, Failure> {
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
                format!("process {pid} has no .NET runtime loaded: it is no .NET program"),
            )
            .hint("if it is one, its runtime has not started yet: try again")
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
fn inside(pid: u32, named: &[PathBuf]) -> Result<Option<Runtime>, Failure> {
    let Some(needs) = Needs::of(&PathBuf::from(format!("/proc/{pid}/exe"))) else { return Ok(None) };
    let Some(folder) = folders(named).into_iter().find(|folder| needs.are_in(folder)) else {
        return Err(Failure::new(
            ErrorCode::NotDebuggable,
            format!(
                "process {pid} is a self-contained .NET program in one file: its runtime is inside the executable and comes \
                 without a debugging library, and no installed runtime is of the same build"
            ),
        )
        .hint(
            "install that version of the .NET runtime, or name a folder with its libmscordbi.so and libmscordaccore.so in \
             `symbolPaths`; or publish the program without `PublishSingleFile`",
        ));
    };
    runtime::inside(pid, &folder).map_err(|error| unseen(&error))
}

/// Folders that may have the libraries of a runtime.
fn folders(named: &[PathBuf]) -> Vec<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let home = variable("HOME");
    let path = std::env::var_os("PATH").unwrap_or_default();
    // A library is code: none from wherever we happen to be.
    let on_path = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    let roots = variable("DOTNET_ROOT")
        .into_iter()
        .chain(on_path)
        .chain(home.as_ref().map(|home| home.join(".dotnet")))
        .chain(USUAL.map(PathBuf::from));
    let packages = variable("NUGET_PACKAGES").or_else(|| home.map(|home| home.join(".nuget/packages")));
    let mut folders = named.to_vec();
    folders.extend(roots.flat_map(|root| below(&root.join("shared/Microsoft.NETCore.App"))));
    let packaged = packages.into_iter().flat_map(|packages| below(&packages.join(PACKAGE)));
    folders.extend(packaged.map(|version| version.join("runtimes/linux-x64/native")));
    folders
}

fn below(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}
