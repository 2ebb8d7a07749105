//! The command `cargo test`.
//!
//! Not here: the arguments of a call ([`super::arguments`]), the commands of the test programs
//! ([`super::executable`]).

use std::path::Path;

use tandem_workspace::build::project::Project;
use tandem_workspace::process::ProcessCommand;

use crate::run::FrameworkRun;

/// The source that was named; a project can also be named by its manifest.
pub(super) fn named_source(project: &Project) -> Option<&Path> {
    project.file.as_deref().filter(|file| file.extension().is_some_and(|ending| ending == "rs"))
}

/// The command `cargo test` for what was named.
pub(super) fn cargo(run: &FrameworkRun<'_>) -> ProcessCommand {
    let mut command = ProcessCommand::new("cargo", &run.project.folder).arg("test");
    match (named_source(run.project), &run.project.file) {
        (Some(source), _) if source.parent().is_some_and(|folder| folder.ends_with("tests")) => {
            command = command.arg("--test").arg(source.file_stem().unwrap_or_default());
        }
        (None, Some(manifest)) => command = command.arg("--manifest-path").arg(manifest),
        (Some(_), _) | (None, None) => {}
    }
    command.env("CARGO_TERM_COLOR", "never").env("CARGO_TERM_PROGRESS_WHEN", "never")
}
