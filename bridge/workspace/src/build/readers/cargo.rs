//! `cargo --message-format=json`: compiler messages as JSON, everything else as text.
//!
//! Not here: the output of test programs, which the crate `tandem-testing` reads.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::build::report::{BuildDiagnostic, BuildReport, CargoArtifact};

/// A message of Cargo: one line.
#[derive(Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
enum CargoMessage {
    CompilerMessage {
        #[serde(default)]
        manifest_path: String,
        message: RustcMessage,
    },
    CompilerArtifact(CargoArtifact),
    #[serde(other)]
    Other,
}

/// A message of the compiler.
#[derive(Default, Deserialize)]
#[serde(default)]
struct RustcMessage {
    message: String,
    level: String,
    code: Option<RustcCode>,
    spans: Vec<RustcSpan>,
    children: Vec<RustcNote>,
    /// The message as the compiler prints it.
    rendered: Option<String>,
}

/// The id of a kind of message.
#[derive(Default, Deserialize)]
#[serde(default)]
struct RustcCode {
    code: String,
}

/// A place of a message.
#[derive(Default, Deserialize)]
#[serde(default)]
struct RustcSpan {
    file_name: String,
    line_start: u32,
    line_end: u32,
    column_start: u32,
    column_end: u32,
    is_primary: bool,
    label: Option<String>,
}

/// A note or a suggestion below a message.
#[derive(Default, Deserialize)]
#[serde(default)]
struct RustcNote {
    message: String,
}

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
        if line.starts_with("{\"reason\":")
            && let Ok(message) = serde_json::from_str::<CargoMessage>(line)
        {
            match message {
                CargoMessage::CompilerMessage { manifest_path, message } => {
                    self.message(&manifest_path, message, report);
                }
                CargoMessage::CompilerArtifact(artifact) if artifact.executable.is_some() => {
                    report.artifacts.push(artifact);
                }
                CargoMessage::CompilerArtifact(_) | CargoMessage::Other => {}
            }
            return;
        }
        report.say(line);
    }

    fn message(&mut self, manifest: &str, message: RustcMessage, report: &mut BuildReport) {
        if let Some(rendered) = &message.rendered {
            rendered.trim_end().lines().for_each(|line| report.say(line));
        }
        let level = message.level.as_str();
        let primary = message.spans.iter().find(|span| span.is_primary);
        // Summaries such as `aborting due to 2 previous errors` have no location.
        let (true, Some(span)) = (level.starts_with("error") || level == "warning", primary) else { return };
        let notes = message.children.iter().map(|child| &child.message);
        let texts = [&message.message].into_iter().chain(&span.label).chain(notes);
        let text = texts.map(String::as_str).collect::<Vec<_>>().join("\n");
        let file = self.resolve(manifest, &span.file_name);
        report.add_diagnostic(&BuildDiagnostic {
            file: &file,
            line: span.line_start,
            column: span.column_start,
            end_line: span.line_end,
            end_column: span.column_end,
            error: level != "warning",
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
