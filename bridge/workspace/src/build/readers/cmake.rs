//! Parser for CMake's errors and warnings when it configures a project: a line with the place and the
//! command, then the message, indented.
//!
//! Not here: messages of the compilers that a build runs ([`super::compiler`]).

use std::sync::LazyLock;

use regex::Regex;

use super::compiler;
use crate::build::report::{BuildDiagnostic, BuildReport};

/// Lines of one message that are kept.
const MAX_LINES: usize = 30;

static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    compiler::pattern(
        r"^CMake (?P<kind>Error|Warning)(?: \(dev\))? at (?P<file>[^:]+):(?P<line>\d+) \((?P<command>.*)\):$",
    )
});

/// Parser for the output of one run.
#[derive(Debug, Default)]
pub struct CmakeParser {
    begun: Option<PendingDiagnostic>,
}

/// A diagnostic whose message may continue.
#[derive(Debug)]
struct PendingDiagnostic {
    file: String,
    line: u32,
    error: bool,
    /// The command that found it.
    command: String,
    /// Lines of the message; an empty one is between paragraphs.
    message_lines: Vec<String>,
}

impl CmakeParser {
    /// One line: CMake's own, or a compiler's when it builds.
    pub fn line(&mut self, line: &str, report: &mut BuildReport) {
        report.say(line);
        if let Some(begun) = &mut self.begun
            && (line.is_empty() || line.starts_with("  "))
        {
            if begun.message_lines.len() < MAX_LINES {
                begun.message_lines.push(line.trim().to_owned());
            }
            return;
        }
        // Progress lines appear in the middle of a message.
        if line.starts_with("-- ") {
            return;
        }
        self.end(report);
        let Some(found) = PLACE.captures(line) else { return compiler::line(line, "cmake", report) };
        let text = |name: &str| found.name(name).map_or("", |part| part.as_str()).to_owned();
        self.begun = Some(PendingDiagnostic {
            file: text("file"),
            line: text("line").parse().unwrap_or(0),
            error: text("kind") == "Error",
            command: text("command"),
            message_lines: Vec::new(),
        });
    }

    /// Completes the diagnostic that has begun.
    pub fn end(&mut self, report: &mut BuildReport) {
        let Some(begun) = self.begun.take() else { return };
        // CMake breaks the lines of a paragraph where it likes.
        let paragraphs: Vec<String> = begun
            .message_lines
            .split(String::is_empty)
            .filter(|lines| !lines.is_empty())
            .map(|lines| lines.join(" "))
            .collect();
        let message = match paragraphs.is_empty() {
            true => begun.command,
            false => format!("{}: {}", begun.command, paragraphs.join("\n")),
        };
        report.add_diagnostic(&BuildDiagnostic {
            file: &begun.file,
            line: begun.line,
            error: begun.error,
            message: &message,
            source: "cmake",
            ..BuildDiagnostic::default()
        });
    }
}
