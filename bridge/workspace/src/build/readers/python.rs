//! Parser for Python's syntax errors: `File "…", line N`, the source with a mark under the place, and the
//! error.
//!
//! Not here: failed tests, which the crate `tandem-testing` reports.

use crate::build::report::{BuildDiagnostic, BuildReport};

/// Parser for the output of one run.
#[derive(Debug, Default)]
pub struct PythonParser {
    place: Option<(String, u32)>,
}

impl PythonParser {
    /// Reads a line of the output.
    pub fn line(&mut self, line: &str, report: &mut BuildReport) {
        report.say(line);
        let trimmed = line.strip_prefix("E ").unwrap_or(line).trim_start();
        if let Some((file, rest)) =
            trimmed.strip_prefix("File \"").and_then(|rest| rest.split_once("\", line "))
        {
            let number =
                rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0);
            self.place = Some((file.to_owned(), number));
            return;
        }
        let Some((kind, text)) = trimmed.split_once(": ") else { return };
        if matches!(kind, "SyntaxError" | "IndentationError" | "TabError")
            && let Some((file, line)) = self.place.take()
        {
            report.add_diagnostic(&BuildDiagnostic {
                file: &file,
                line,
                error: true,
                code: kind,
                message: text,
                source: "python",
                ..BuildDiagnostic::default()
            });
        }
    }
}
