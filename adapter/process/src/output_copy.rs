//! A copy of one stream of the program in a file (`stdio` of a launch). It never affects the program or the
//! clients: a copy that fails ends, with one warning.
//!
//! Not here: opening the file ([`super::redirection`]).

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// The file that gets a copy of one stream.
#[derive(Debug)]
pub(super) struct OutputCopy {
    file: File,
    path: PathBuf,
    /// `stdout` or `stderr`.
    stream: &'static str,
}

impl OutputCopy {
    /// A copy of this stream in an open file.
    pub(super) fn new(file: File, path: PathBuf, stream: &'static str) -> Self {
        Self { file, path, stream }
    }

    /// Another copy in the same file, for the other stream.
    ///
    /// # Errors
    /// From duplicating the descriptor.
    pub(super) fn shared_by(&self, stream: &'static str) -> std::io::Result<Self> {
        Ok(Self { file: self.file.try_clone()?, path: self.path.clone(), stream })
    }

    /// Appends output.
    ///
    /// # Errors
    /// A warning for users: nothing more can be copied.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.file.write_all(bytes).map_err(|error| {
            format!(
                "cannot copy {} of the program to `{}`: {error}; the copy lacks the rest, which clients \
                receive; correct `stdio` or make room, then restart the program",
                self.stream,
                self.path.display()
            )
        })
    }

    /// A warning for users if the file is gone at the end of the stream.
    pub(super) fn finish(self) -> Option<String> {
        let is_gone = self.file.metadata().is_ok_and(|file| file.is_file() && file.nlink() == 0);
        is_gone.then(|| {
            format!(
                "the copy of {} in `{}` is lost: the file was removed while the program ran",
                self.stream,
                self.path.display()
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_that_is_lost_is_reported_with_its_file_and_the_reason() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut copy = OutputCopy::new(full, "/dev/full".into(), "stderr");
        let warning = copy.write(b"x").unwrap_err();
        assert!(
            warning.starts_with("cannot copy stderr of the program to `/dev/full`: No space"),
            "{warning}"
        );
        assert_eq!(copy.finish(), None);

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let copy = || OutputCopy::new(File::create(&path).unwrap(), path.clone(), "stdout");
        assert_eq!(copy().finish(), None);
        let mut removed = copy();
        drop(folder);
        removed.write(b"x").unwrap();
        assert!(removed.finish().unwrap().contains("was removed"));
    }
}
