//! The output of `cargo --message-format=json`: compiler messages become diagnostics, other lines stay text.
//!
//! Not here: the form of the messages (`tandem-cargo-messages`), and the output of test programs, which the
//! crate `tandem-testing` reads.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use tandem_cargo_messages::{CargoDiagnostic, CargoMessage};

use crate::build::report::{BuildDiagnostic, BuildReport};

/// Reads one run of cargo.
#[derive(Debug)]
pub struct CargoParser {
    folder: PathBuf,
    /// The folders of manifests' files, which a workspace determines.
    bases: HashMap<String, PathBuf>,
}

impl CargoParser {
    /// A parser for a project in this folder.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), bases: HashMap::new() }
    }

    /// Reads a line of the output.
    pub fn line(&mut self, line: &str, report: &mut BuildReport) {
        match tandem_cargo_messages::read_line(line) {
            None => report.say(line),
            Some(CargoMessage::Diagnostic(found)) => self.message(&found, report),
            Some(CargoMessage::Artifact(artifact)) if artifact.executable.is_some() => {
                report.artifacts.push(artifact);
            }
            Some(CargoMessage::Artifact(_) | CargoMessage::Other) => {}
        }
    }

    fn message(&mut self, found: &CargoDiagnostic, report: &mut BuildReport) {
        let message = &found.message;
        if let Some(rendered) = &message.rendered {
            rendered.trim_end().lines().for_each(|line| report.say(line));
        }
        let (true, Some(span)) = (message.is_error() || message.is_warning(), message.primary_span()) else {
            return;
        };
        let notes = message.children.iter().map(|child| &child.message);
        let texts = [&message.message].into_iter().chain(&span.label).chain(notes);
        let text = texts.map(String::as_str).collect::<Vec<_>>().join("\n");
        let file = self.resolve(&found.manifest_path, &span.file_name);
        report.add_diagnostic(&BuildDiagnostic {
            file: &file,
            line: span.line_start,
            column: span.column_start,
            end_line: span.line_end,
            end_column: span.column_end,
            error: message.is_error(),
            code: message.code.as_ref().map(|code| code.code.as_str()).unwrap_or_default(),
            message: &text,
            source: "rustc",
        });
    }

    /// Files are named relative to the workspace, which may lie above the package.
    fn resolve(&mut self, manifest: &str, file: &str) -> String {
        if Path::new(file).is_absolute() {
            return file.to_owned();
        }
        let folder = &self.folder;
        let base = self.bases.entry(manifest.to_owned()).or_insert_with(|| {
            let above = Path::new(manifest).ancestors().skip(1);
            let mut above = above.filter(|base| base.join(file).is_file());
            above.next().map_or_else(|| folder.clone(), Path::to_owned)
        });
        base.join(file).display().to_string()
    }
}
