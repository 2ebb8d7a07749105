//! Files of a run in its scratch folder: helper scripts that a framework loads, and data that they read.
//!
//! Not here: what the helpers report ([`crate::reports`]).

use std::path::PathBuf;

use serde::Serialize;
use tandem_wire::{ErrorCode, Failure, types};

use super::FrameworkRun;
use crate::reports::ReportPipe;

impl FrameworkRun<'_> {
    /// Writes helper scripts, each a name and its text, and opens the pipe for their reports. Returns the
    /// folder of the helpers and the pipe.
    ///
    /// # Errors
    /// `IO_FAILED` when a file cannot be written or the pipe cannot be created.
    pub fn prepare_helpers(&self, helpers: &[(&str, &str)]) -> Result<(PathBuf, ReportPipe), Failure> {
        for (name, text) in helpers {
            self.write_file(&format!("helpers/{name}"), text)?;
        }
        Ok((self.scratch.join("helpers"), ReportPipe::open(self.scratch)?))
    }

    /// Writes data as JSON. Returns the path of the file.
    ///
    /// # Errors
    /// `IO_FAILED` when it cannot be written.
    pub fn write_json(&self, name: &str, data: &impl Serialize) -> Result<PathBuf, Failure> {
        self.write_file(name, &types::body(data).to_string())
    }

    /// Writes a file, and creates its folder. Returns its path.
    ///
    /// # Errors
    /// `IO_FAILED` when it cannot be written.
    pub fn write_file(&self, name: &str, text: &str) -> Result<PathBuf, Failure> {
        let file = self.scratch.join(name);
        let folder = file.parent().unwrap_or(self.scratch);
        std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&file, text)).map_err(|error| {
            let message = format!("cannot write `{}`: {error}", file.display());
            Failure::new(ErrorCode::IoFailed, message)
                .hint("check the space and permissions of the folder for temporary files")
        })?;
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use tandem_workspace::build::project::{BuildTool, Project};
    use tandem_workspace::jobs::ProgressSink;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::host::DirectLauncher;
    use crate::results::TestResults;
    use crate::run::options::TestRunOptions;

    fn with_run<T>(scratch: &Path, work: impl FnOnce(&FrameworkRun<'_>) -> T) -> T {
        let project = Project { kind: BuildTool::Ruby, folder: scratch.to_owned(), file: None };
        let (options, cancel) = (TestRunOptions::default(), CancellationToken::new());
        let say: ProgressSink = Arc::new(|_| {});
        let (progress, output) = ((&cancel, &say), (TestResults::default(), 100));
        work(&FrameworkRun::new((&project, &options), scratch, &DirectLauncher, progress, output))
    }

    #[tokio::test]
    async fn helpers_are_written_to_a_folder_of_their_own() {
        let scratch = tempfile::tempdir().unwrap();
        let prepared = with_run(scratch.path(), |run| run.prepare_helpers(&[("a.rb", "puts 1")]));
        let (folder, reports) = prepared.unwrap();
        assert_eq!(std::fs::read_to_string(folder.join("a.rb")).unwrap(), "puts 1");
        assert!(reports.path().exists() && reports.path().parent() == Some(scratch.path()));
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named() {
        let scratch = tempfile::tempdir().unwrap();
        let inside = scratch.path().join("file");
        std::fs::write(&inside, "").unwrap();
        let failure = with_run(&inside, |run| run.write_json("ids.json", &["a"])).unwrap_err();
        assert_eq!(failure.code, ErrorCode::IoFailed);
        assert!(failure.message.contains("file/ids.json"), "{}", failure.message);
    }
}
