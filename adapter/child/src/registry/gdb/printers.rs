//! Printers of GCC's C++ library: the folder that has them, and the command that loads them.
//!
//! Not here: how gdb shows other values ([`crate::summaries`]).

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::find;
use crate::target::Target;

/// The folder of the printers of GCC's C++ library below `share`: Debian's name; others add a version.
const CPP_PRINTERS: &str = "gcc";
/// The printers in such a folder.
const PRINTERS: &str = "libstdcxx/v6/printers.py";

/// The folder with the printers of the C++ library: the system's, or that of the compiler on PATH.
pub(super) fn cpp_printers(target: &Target) -> Option<PathBuf> {
    let compiler = find::on_path(&target.variable("PATH").unwrap_or_default(), "g++");
    let own = compiler.and_then(|file| Some(file.canonicalize().ok()?.parent()?.parent()?.to_owned()));
    [PathBuf::from("/usr")].into_iter().chain(own).find_map(|prefix| printers_below(&prefix.join("share")))
}

/// The printers in `gcc/python`, else in the last `gcc-…/python`.
fn printers_below(share: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(share).ok()?.take(10_000).filter_map(Result::ok);
    let mut names: Vec<_> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| name == CPP_PRINTERS || name.starts_with("gcc-"));
    names.sort_unstable_by_key(|name| (name != CPP_PRINTERS, std::cmp::Reverse(name.clone())));
    let folders = names.into_iter().map(|name| share.join(name).join("python"));
    folders.into_iter().find(|folder| folder.join(PRINTERS).is_file())
}

/// Has gdb show the C++ library's strings and containers: one that does not come from where the library does
/// finds none by itself.
pub(super) fn load_cpp_printers(folder: &Path) -> String {
    format!(
        "python import sys; sys.path.insert(0, {}); \
         from libstdcxx.v6.printers import register_libstdcxx_printers; register_libstdcxx_printers(None)",
        json!(folder.display().to_string())
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printers_are_found_whatever_version_their_folder_names() {
        let share = tempfile::tempdir().unwrap();
        assert_eq!(printers_below(share.path()), None);
        let mut last = None;
        for name in ["other", "gcc-12", "gcc-13", "gcc"] {
            let folder = share.path().join(name).join("python");
            std::fs::create_dir_all(folder.join("libstdcxx/v6")).unwrap();
            std::fs::write(folder.join(PRINTERS), "").unwrap();
            last = (name != "other").then_some(folder);
            assert_eq!(printers_below(share.path()), last, "{name}");
        }
        assert!(last.is_some());
    }
}
