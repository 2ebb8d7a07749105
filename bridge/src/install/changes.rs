//! The files that an installation writes and removes: all are prepared before the first one changes, so a
//! full disk or a read-only folder leaves every file as it was. Knows no format.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use tempfile::NamedTempFile;

/// Planned changes of files; [`FileChanges::apply`] makes them.
#[derive(Debug, Default)]
pub(super) struct FileChanges {
    /// The new text of each file; `None` removes it.
    planned: BTreeMap<PathBuf, Option<String>>,
    /// Folders to remove if they are empty afterwards, in this order.
    emptied: Vec<PathBuf>,
}

impl FileChanges {
    /// The text of a file after the changes so far; `None` if there is no such file.
    ///
    /// # Errors
    /// When the file exists and is not readable text.
    pub(super) fn read(&self, file: &Path) -> anyhow::Result<Option<String>> {
        if let Some(planned) = self.planned.get(file) {
            return Ok(planned.clone());
        }
        match std::fs::read_to_string(file) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("cannot read `{}`", file.display())),
        }
    }

    /// Plans the new text of a file.
    pub(super) fn write(&mut self, file: PathBuf, text: String) {
        self.planned.insert(file, Some(text));
    }

    /// Plans the removal of a file.
    pub(super) fn remove(&mut self, file: PathBuf) {
        self.planned.insert(file, None);
    }

    /// Plans the removal of a folder if it is empty then.
    pub(super) fn remove_if_empty(&mut self, folder: PathBuf) {
        self.emptied.push(folder);
    }

    /// Writes all new texts beside their files, then replaces the files.
    ///
    /// # Errors
    /// When a folder or file cannot be written. If the message says so, nothing was changed.
    pub(super) fn apply(self) -> anyhow::Result<()> {
        let mut staged = StagedFiles::default();
        for (file, text) in &self.planned {
            let Some(text) = text else { continue };
            staged
                .add(file, text)
                .with_context(|| format!("cannot write `{}`; nothing was changed", file.display()))?;
        }
        staged.made.clear();
        for (new, file) in staged.files.drain(..) {
            new.persist(&file).with_context(|| format!("cannot replace `{}`", file.display()))?;
        }
        for file in self.planned.into_iter().filter_map(|(file, text)| text.is_none().then_some(file)) {
            match std::fs::remove_file(&file) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(error).with_context(|| format!("cannot remove `{}`", file.display()));
                }
                _ => {}
            }
        }
        for folder in &self.emptied {
            // The folder stays if it has another file.
            drop(std::fs::remove_dir(folder));
        }
        Ok(())
    }
}

/// New files beside those that they will replace. Dropping it removes them, and the folders made for them.
#[derive(Debug, Default)]
struct StagedFiles {
    files: Vec<(NamedTempFile, PathBuf)>,
    /// Each after the folder that it is in.
    made: Vec<PathBuf>,
}

impl StagedFiles {
    /// Writes the text beside the file, with the file's permissions. A new file is readable by its user
    /// alone, because it may later hold secrets of other servers.
    fn add(&mut self, file: &Path, text: &str) -> anyhow::Result<()> {
        let folder = file.parent().context("it is in no folder")?;
        let missing: Vec<&Path> = folder.ancestors().take_while(|folder| !folder.exists()).collect();
        for folder in missing.into_iter().rev() {
            std::fs::create_dir(folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
            self.made.push(folder.to_path_buf());
        }
        let mut new = NamedTempFile::new_in(folder)?;
        new.write_all(text.as_bytes())?;
        new.as_file().sync_data()?;
        if let Ok(old) = std::fs::metadata(file) {
            new.as_file().set_permissions(old.permissions())?;
        }
        self.files.push((new, file.to_path_buf()));
        Ok(())
    }
}

impl Drop for StagedFiles {
    fn drop(&mut self) {
        self.files.clear();
        for folder in self.made.iter().rev() {
            drop(std::fs::remove_dir(folder));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_change_together_or_not_at_all() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("old"), "1").expect("written");
        std::fs::write(at("gone"), "2").expect("written");
        let plan = |more: &str| {
            let mut changes = FileChanges::default();
            changes.write(at("old"), "3".into());
            changes.write(at("new/deep/file"), "4".into());
            changes.write(at(more), "5".into());
            changes.remove(at("gone"));
            assert_eq!(changes.read(&at("old")).expect("planned").as_deref(), Some("3"));
            assert_eq!(changes.read(&at("gone")).expect("planned"), None);
            changes
        };
        // A file cannot be in a file.
        let refused = plan("old/inside").apply().expect_err("it is in no folder");
        assert!(format!("{refused:#}").contains("nothing was changed: "), "{refused:#}");
        let mut left: Vec<_> = std::fs::read_dir(folder.path())
            .expect("it is there")
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        left.sort();
        assert_eq!(left, ["gone", "old"]);
        assert_eq!(std::fs::read_to_string(at("old")).expect("it is there"), "1");
        plan("other").apply().expect("all of it can be written");
        assert_eq!(std::fs::read_to_string(at("new/deep/file")).expect("it is there"), "4");
        assert!(!at("gone").exists());
    }
}
