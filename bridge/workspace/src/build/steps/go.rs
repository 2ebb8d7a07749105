//! Go: its commands, with their temporary files in the caller's folder. The go command removes them itself
//! only if it ends by itself.
//!
//! Not here: the tests of Go, which their framework runs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::super::project::Project;
use super::super::readers::OutputParser;
use super::{BuildStep, UntestedAction};
use crate::bounded;
use crate::process::ProcessCommand;

mod modules;

pub use modules::{GoModules, go_packages};

/// Names the folder for temporary files of the go command; the programs that it starts use others.
const TEMPORARY_FOLDER: &str = "GOTMPDIR";
/// A larger file with settings of Go is not read.
const MAX_SETTINGS_BYTES: u64 = 1 << 20;

/// `go` for a project. Its temporary files are in `scratch`, unless the user has chosen a folder for them.
pub fn go_command(project: &Project, scratch: &Path) -> ProcessCommand {
    let command = ProcessCommand::new("go", &project.folder);
    match has_own_folder(&|name| std::env::var_os(name)) {
        true => command,
        false => command.env(TEMPORARY_FOLDER, scratch),
    }
}

/// Whether the environment names a folder for temporary files, or the file that `go env -w` writes.
fn has_own_folder(variable: &dyn Fn(&str) -> Option<OsString>) -> bool {
    let path = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    // Go accepts no relative one, and then has no file.
    let configuration = path("XDG_CONFIG_HOME").or_else(|| Some(path("HOME")?.join(".config")));
    let configuration = configuration.filter(|folder| folder.is_absolute());
    let settings = path("GOENV").or_else(|| Some(configuration?.join("go/env")));
    let text = settings.and_then(|file| bounded::read(&file, MAX_SETTINGS_BYTES).ok()).unwrap_or_default();
    let prefix = format!("{TEMPORARY_FOLDER}=");
    path(TEMPORARY_FOLDER).is_some()
        || text.split(|byte| *byte == b'\n').any(|line| line.starts_with(prefix.as_bytes()))
}

pub(super) fn steps(project: &Project, action: UntestedAction, scratch: &Path) -> Vec<BuildStep> {
    let command = go_command(project, scratch);
    let packages = || go_packages(&project.folder);
    let command = match action {
        UntestedAction::Build => command.arg("build").args(packages()),
        UntestedAction::Check => command.arg("vet").args(packages()),
        UntestedAction::Restore => command.args(["mod", "download"]),
    };
    vec![BuildStep { command, reader: OutputParser::compiler("go") }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_for_temporary_files_is_the_users_if_there_is_one() {
        let home = tempfile::tempdir().unwrap();
        let settings = home.path().join(".config/go");
        std::fs::create_dir_all(&settings).unwrap();
        let has = |own: &[(&str, &Path)]| {
            has_own_folder(&|name| {
                own.iter().find(|(one, _)| *one == name).map(|(_, value)| value.as_os_str().to_owned())
            })
        };
        let (home, file) = (home.path(), settings.join("env"));
        assert!(!has(&[("HOME", home)]) && !has(&[]));
        assert!(has(&[("HOME", home), (TEMPORARY_FOLDER, home)]));
        std::fs::write(&file, "GOFLAGS=-mod=mod\nGOTMPDIR=/big\n").unwrap();
        assert!(has(&[("HOME", home)]));
        assert!(has(&[("XDG_CONFIG_HOME", &home.join(".config"))]) && has(&[("GOENV", &file)]));
        assert!(!has(&[("HOME", home), ("GOENV", Path::new("off"))]));
        assert!(!has(&[("HOME", home), ("XDG_CONFIG_HOME", Path::new(".config"))]));
        std::fs::write(&file, "GOFLAGS=-mod=mod\n#GOTMPDIR=/big\n").unwrap();
        assert!(!has(&[("HOME", home)]));
    }
}
