//! `cargo --message-format=json`: compiler messages as JSON, everything else as text.
//!
//! Not here: the output of test programs, which the crate `test-frameworks` reads.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

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
        if line.starts_with("{\"reason\":")
            && let Ok(message) = serde_json::from_str::<Value>(line)
        {
            if message["reason"] == "compiler-message" {
                self.message(&message, report);
            } else if message["reason"] == "compiler-artifact" && message["executable"].is_string() {
                report.artifacts.push(message);
            }
            return;
        }
        report.say(line);
    }

    fn message(&mut self, record: &Value, report: &mut BuildReport) {
        let message = &record["message"];
        if let Some(rendered) = message["rendered"].as_str() {
            rendered.trim_end().lines().for_each(|line| report.say(line));
        }
        let level = message["level"].as_str().unwrap_or_default();
        let spans = message["spans"].as_array().map(Vec::as_slice).unwrap_or_default();
        let primary = spans.iter().find(|span| span["is_primary"] == true);
        // Summaries such as `aborting due to 2 previous errors` have no location.
        let (true, Some(span)) = (level.starts_with("error") || level == "warning", primary) else { return };
        let number =
            |name: &str| span[name].as_u64().and_then(|number| u32::try_from(number).ok()).unwrap_or(0);
        let mut text = message["message"].as_str().unwrap_or_default().to_owned();
        let label = span["label"].as_str().into_iter();
        let notes = message["children"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|child| child["message"].as_str());
        for more in label.chain(notes) {
            text.push('\n');
            text.push_str(more);
        }
        let file = self.resolve(&record["manifest_path"], span["file_name"].as_str().unwrap_or_default());
        report.add_diagnostic(&BuildDiagnostic {
            file: &file,
            line: number("line_start"),
            column: number("column_start"),
            end_line: number("line_end"),
            end_column: number("column_end"),
            error: level != "warning",
            code: message["code"]["code"].as_str().unwrap_or_default(),
            message: &text,
            source: "rustc",
        });
    }

    /// Files are named relative to the workspace, which may lie above the package.
    fn resolve(&mut self, manifest: &Value, file: &str) -> String {
        if Path::new(file).is_absolute() {
            return file.to_owned();
        }
        let manifest = manifest.as_str().unwrap_or_default();
        let folder = &self.folder;
        let base = self.bases.entry(manifest.to_owned()).or_insert_with(|| {
            let above = Path::new(manifest).ancestors().skip(1);
            let mut above = above.filter(|base| base.join(file).is_file());
            above.next().map_or_else(|| folder.clone(), Path::to_owned)
        });
        base.join(file).display().to_string()
    }
}
