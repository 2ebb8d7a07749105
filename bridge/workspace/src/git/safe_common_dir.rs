//! The folder that git is given in place of a repository's shared one: a configuration made of what counts,
//! and links to everything else that git needs there. It has no hooks, and goes when the call ends.
//!
//! Git takes it as `GIT_COMMON_DIR`. What git writes goes to the real places: references and the index are
//! found through `GIT_DIR`, objects through `GIT_OBJECT_DIRECTORY`, the rest through the links.

use std::os::unix::fs::symlink;
use std::path::Path;

use tandem_error::{ErrorCode, Failure};
use tempfile::TempDir;

use super::layout::RepositoryLayout;
use super::settings::Settings;

/// Entries of the shared folder that git uses, except the configuration and the hooks.
const LINKED: [&str; 10] = [
    "objects",
    "refs",
    "packed-refs",
    "reftable",
    "logs",
    "info",
    "shallow",
    "worktrees",
    "rr-cache",
    // Git LFS, which a person's own configuration may name.
    "lfs",
];

/// The temporary folder, removed on drop.
#[derive(Debug)]
pub struct SafeCommonDir(TempDir);

impl SafeCommonDir {
    /// Creates the folder with its configuration and links.
    ///
    /// # Errors
    /// `IO_FAILED` when the temporary folder cannot be written to.
    pub fn make(layout: &RepositoryLayout, settings: &Settings) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| {
            let message = format!("cannot create git's temporary folder: {error}");
            Failure::new(ErrorCode::IoFailed, message).hint("make the folder for temporary files writable")
        };
        let folder = tempfile::Builder::new().prefix("tandem-git-").tempdir().map_err(failed)?;
        std::fs::write(folder.path().join("config"), settings.copy()).map_err(failed)?;
        for name in LINKED {
            let real = layout.common_dir.join(name);
            if real.exists() {
                symlink(real, folder.path().join(name)).map_err(failed)?;
            }
        }
        Ok(Self(folder))
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}
