//! The lines that compilers agree on: `file(line,column): error CODE: text` (MSBuild, Roslyn, tsc) and
//! `file:line:column: error: text` (gcc, clang, and with variations go and make).
//!
//! Not here: messages of several lines ([`super::cmake`], [`super::python`]).

use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::build::report::{BuildDiagnostic, BuildReport};

/// Longer lines are not diagnostics.
const MAX_LINE_LEN: usize = 16 << 10;

/// Compiles a constant pattern.
pub(super) fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is a constant, and tested")
}

static MSBUILD: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"^\s*(?:\d+>)?(?P<file>[^\s(:][^(]*?)",
        r"(?:\((?P<line>\d+)(?:[,-](?P<column>\d+))?(?:[,-](?P<end_line>\d+),(?P<end_column>\d+))?\))?",
        r"\s*: (?:[\w.]+ )?(?P<kind>error|warning) (?P<code>[A-Za-z]+\d+)\s*: (?P<text>.*?)",
        r"(?:\s+\[(?P<project>[^\[\]]*(?:proj|\.slnx?))(?:::[^\[\]]*)?\])?$",
    ))
});
static UNIX: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"^(?P<file>[^\s:][^:]*):(?P<line>\d+):(?:(?P<column>\d+):)? ",
        r"(?P<kind>fatal error|error|warning): (?P<text>.*?)(?: \[(?P<code>-W[^\]]+)\])?$",
    ))
});
static GO: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^(?:vet: )?(?P<file>[^\s:][^:]*\.go):(?P<line>\d+):(?:(?P<column>\d+):)? (?P<text>.+)$")
});
static MAKE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?P<file>[^\s:][^:]*):(?P<line>\d+): \*\*\* (?P<text>.*?)(?:\.  Stop\.)?$"));

/// A part of each line that one of these patterns matches. Most lines are not diagnostics, and there may be
/// millions: one search for all parts rejects them.
static HINT: LazyLock<Regex> = LazyLock::new(|| pattern(r"error|warning|\.go:|: \*\*\* "));

/// Parses a line and adds the diagnostic in it, if there is one, to the report.
pub fn line(line: &str, source: &str, report: &mut BuildReport) {
    if line.len() > MAX_LINE_LEN || !HINT.is_match(line) {
        return;
    }
    let patterns: [&LazyLock<Regex>; 4] = [&MSBUILD, &UNIX, &GO, &MAKE];
    let Some(found) = patterns.iter().find_map(|pattern| pattern.captures(line)) else { return };
    let text = |name: &str| found.name(name).map_or("", |part| part.as_str());
    let file = text("file").trim();
    // The compiler itself and MSBuild are not files: use the project as the location.
    let tool = matches!(file, "CSC" | "VBC" | "FSC" | "MSBUILD" | "NETSDK" | "LINK");
    report.add_diagnostic(&BuildDiagnostic {
        file: if tool { text("project") } else { file },
        line: number(&found, "line"),
        column: number(&found, "column"),
        end_line: number(&found, "end_line"),
        end_column: number(&found, "end_column"),
        error: !text("kind").eq_ignore_ascii_case("warning"),
        code: text("code"),
        message: text("text"),
        source,
    });
}

fn number(found: &Captures<'_>, name: &str) -> u32 {
    found.name(name).and_then(|part| part.as_str().parse().ok()).unwrap_or(0)
}
