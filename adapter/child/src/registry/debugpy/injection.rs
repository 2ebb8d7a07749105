//! The gdb with which debugpy attaches to a running Python process: its `PATH`, and versions that would
//! end the program.
//!
//! Does not attach: debugpy starts that gdb.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use tandem_wire::{ErrorCode, Failure};

use super::super::gdb;
use crate::find;
use tandem_engine::builds::command;

/// The first gdb that can write back all registers of a processor with AMX. An older one leaves the program
/// with spoiled registers after the first call it makes there, and the program ends.
const MIN_GDB_WITH_AMX: u32 = 14;
/// The first Python that lets itself be entered without gdb (PEP 768).
const NEEDS_NONE: (u32, u32) = (3, 14);

/// `PATH` for debugpy, so that the gdb beside its interpreter (a virtual environment's own) comes first; none
/// where it is to stay as it is.
///
/// # Errors
/// `ENGINE_NOT_FOUND` when the gdb that would be taken is known to end the program on this processor.
pub(super) fn path(interpreter: &Path) -> Result<Option<String>, Failure> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own = interpreter.parent().map(|folder| folder.join("gdb")).filter(|gdb| find::is_executable(gdb));
    let on_path =
        || std::env::split_paths(&path).map(|folder| folder.join("gdb")).find(|gdb| find::is_executable(gdb));
    let Some(gdb) = own.clone().or_else(on_path) else { return Ok(None) };
    if has_amx()
        && gdb::version(&gdb).is_some_and(|version| version < MIN_GDB_WITH_AMX)
        && needs_gdb(interpreter)
    {
        return Err(refusal(&gdb));
    }
    let Some(folder) = own.as_deref().and_then(Path::parent) else { return Ok(None) };
    let folders = [folder.to_path_buf()].into_iter().chain(std::env::split_paths(&path));
    Ok(std::env::join_paths::<_, PathBuf>(folders).ok().map(OsString::into_string).and_then(Result::ok))
}

fn refusal(gdb: &Path) -> Failure {
    let gdb = gdb.display();
    Failure::new(
        ErrorCode::EngineNotFound,
        format!(
            "`{gdb}` is too old to attach to a Python on this processor: it would end the program (it \
            cannot write its AMX registers)"
        ),
    )
    .hint(format!(
        "put gdb {MIN_GDB_WITH_AMX} or later on PATH or beside the interpreter, or start the program \
        through Tandem"
    ))
}

fn has_amx() -> bool {
    let cpu_info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = cpu_info.lines().find_map(|line| line.strip_prefix("flags"));
    flags.is_some_and(|flags| flags.split_ascii_whitespace().any(|flag| flag == "amx_tile"))
}

/// Whether debugpy can be injected into a Python of this version only with gdb. The program's own Python is
/// assumed to have the same version.
fn needs_gdb(interpreter: &Path) -> bool {
    let mut version_query = Command::new(interpreter);
    version_query.arg("--version");
    let version_line = command::first_line(version_query).unwrap_or_default();
    version(&version_line).is_none_or(|version| version < NEEDS_NONE)
}

/// Parses the output of `python --version`, such as `Python 3.11.7`, into major and minor version.
fn version(version_line: &str) -> Option<(u32, u32)> {
    let mut parts = version_line.trim().strip_prefix("Python ")?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_python_from_314_on_needs_no_gdb() {
        assert_eq!(version("Python 3.11.7\n"), Some((3, 11)));
        assert!(version("Python 3.14.0").is_some_and(|version| version >= NEEDS_NONE));
        assert_eq!(version("PyPy"), None);
    }
}
