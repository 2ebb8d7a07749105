//! Programs with async methods that the runtime itself suspends (`<Features>runtime-async=on</Features>`),
//! under a runtime whose debugging library cannot walk a stack with one of them: it crashes, and the host
//! with it. They are refused before the library is loaded.
//!
//! Not here: a library of this kind that is loaded later ([`super::modules`] warns of it).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clr_metadata::image::PeImage;
use cordebug::runtime::ClrRuntime;
use cordebug::startup::temporary_folder::variable_of;
use tandem_wire::{ErrorCode, Failure};

use tandem_dotnet_launch::services;

/// The first runtime whose debugging library supports such methods.
pub(super) const MIN_RUNTIME: u32 = 11;
/// .NET 10 loads types with such methods only when one of these is not 0.
const SWITCHES: [&str; 2] = ["DOTNET_RuntimeAsync", "COMPlus_RuntimeAsync"];
/// Most assemblies that are checked.
const MAX_ASSEMBLIES: usize = 1000;

/// Whether the debugging library of a runtime supports such methods.
pub(super) fn is_known_to(runtime: &ClrRuntime) -> bool {
    let version = runtime.version();
    let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
    major.is_some_and(|major| major >= MIN_RUNTIME)
}

/// Refuses a process that would crash the debugging library. `entry` is its first
/// assembly, if that is a file.
///
/// # Errors
/// `NOT_DEBUGGABLE`, with the assembly and how to build it.
pub(super) fn refuse(pid: u32, runtime: &ClrRuntime, entry: Option<&Path>) -> Result<(), Failure> {
    if is_known_to(runtime) {
        return Ok(());
    }
    let is_on = |name: &str| {
        let value = variable_of(pid, name)?;
        services::number(&value.to_string_lossy())
    };
    let Some(switch) = SWITCHES.into_iter().find(|name| is_on(name).is_some_and(|value| value != 0)) else {
        return Ok(());
    };
    let beside = entry.and_then(Path::parent).and_then(|folder| folder.read_dir().ok());
    let files = beside.into_iter().flatten().flatten().map(|file| file.path());
    let candidates = entry.map(Path::to_path_buf).into_iter().chain(files).chain(mapped_assemblies(pid));
    let is_assembly = |file: &PathBuf| file.extension().is_some_and(|ending| ending == "dll");
    let Some(found) = candidates
        .filter(is_assembly)
        .take(MAX_ASSEMBLIES)
        .find(|file| PeImage::open(file).is_ok_and(|image| is_in(&image)))
    else {
        return Ok(());
    };
    let message = format!(
        "cannot debug `{}` on .NET {}: it has async methods that the runtime itself suspends \
            (`runtime-async=on`), and this \
         runtime's debugging library crashes when such a method is on a stack",
        found.display(),
        runtime.version()
    );
    Err(Failure::new(ErrorCode::NotDebuggable, message).hint(format!(
        "build it without <Features>runtime-async=on</Features> and leave `{switch}` out, or run it on .NET \
         {MIN_RUNTIME}; `noDebug: true` runs it as it is"
    )))
}

/// The assemblies that a process has mapped.
fn mapped_assemblies(pid: u32) -> BTreeSet<PathBuf> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let files = maps.lines().filter_map(|line| Some(PathBuf::from(line.get(line.find('/')?..)?)));
    files.collect()
}

/// Whether an assembly has such methods.
pub(super) fn is_in(assembly: &PeImage) -> bool {
    assembly.metadata.all_methods().any(|method| assembly.metadata.is_runtime_async(method))
}
