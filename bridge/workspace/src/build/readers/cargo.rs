//! `cargo --message-format=json`: compiler messages as JSON, everything else as people read it; and libtest's output, which
//! has no stable format for machines.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::build::report::{Failed, Finding, Report};

/// Lines kept of one failed test.
const MOST_LINES: usize = 60;

static PANIC: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"panicked at (?P<file>[^:]+):(?P<line>\d+):\d+:?$")
        .expect("the pattern is a constant, and tested")
});

/// Reads one run of cargo.
#[derive(Debug)]
pub struct Cargo {
    folder: PathBuf,
    /// Where the files of a manifest are found, which a workspace decides.
    bases: HashMap<String, PathBuf>,
    /// A failed test whose output is being printed.
    failing: Option<(String, Vec<String>)>,
    /// Failed tests whose output has not come.
    silent: Vec<String>,
}

impl Cargo {
    /// For a project in this folder.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), bases: HashMap::new(), failing: None, silent: Vec::new() }
    }

    /// One line.
    pub fn line(&mut self, line: &str, report: &mut Report) {
        if line.starts_with("{\"reason\":")
            && let Ok(message) = serde_json::from_str::<Value>(line)
        {
            if message["reason"] == "compiler-message" {
                self.message(&message, report);
            }
            return;
        }
        report.say(line);
        self.test_line(line, report);
    }

    fn message(&mut self, told: &Value, report: &mut Report) {
        let message = &told["message"];
        if let Some(rendered) = message["rendered"].as_str() {
            rendered.trim_end().lines().for_each(|line| report.say(line));
        }
        let level = message["level"].as_str().unwrap_or_default();
        let spans = message["spans"].as_array().map(Vec::as_slice).unwrap_or_default();
        let primary = spans.iter().find(|span| span["is_primary"] == true);
        // `aborting due to 2 previous errors` and the like have no place.
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
        let file = self.resolve(&told["manifest_path"], span["file_name"].as_str().unwrap_or_default());
        report.find(&Finding {
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

    fn test_line(&mut self, line: &str, report: &mut Report) {
        if let Some(counts) = line.strip_prefix("test result: ") {
            return self.counts(counts, report);
        }
        if let Some(name) = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----")) {
            self.flush(report);
            self.failing = Some((name.to_owned(), Vec::new()));
        } else if line == "failures:" {
            self.flush(report);
        } else if let Some((_, lines)) = &mut self.failing {
            if lines.len() < MOST_LINES {
                lines.push(line.to_owned());
            }
        } else if let Some(name) =
            line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED"))
        {
            self.silent.push(name.to_owned());
        }
    }

    /// `FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; …`.
    fn counts(&mut self, counts: &str, report: &mut Report) {
        self.end(report);
        let tests = report.tests();
        for part in counts.split(['.', ';']) {
            let Some((number, word)) = part.trim().split_once(' ') else { continue };
            let Ok(number) = number.parse::<u64>() else { continue };
            match word {
                "passed" => tests.passed += number,
                "failed" => tests.failed += number,
                "ignored" => tests.skipped += number,
                _ => continue,
            }
            tests.total += number;
        }
    }

    /// A failed test's output has ended.
    fn flush(&mut self, report: &mut Report) {
        let Some((name, lines)) = self.failing.take() else { return };
        self.silent.retain(|other| *other != name);
        let at = lines.iter().find_map(|line| PANIC.captures(line));
        let place = |part: &str| Some(at.as_ref()?.name(part)?.as_str().to_owned());
        let noise = |line: &&String| {
            !(line.starts_with("note: run with `RUST_BACKTRACE")
                || line.starts_with("thread '") && PANIC.is_match(line))
        };
        let message = lines.iter().filter(noise).map(String::as_str).collect::<Vec<_>>().join("\n");
        let (file, line) = (place("file"), place("line").and_then(|line| line.parse().ok()));
        report.fail(Failed { name, message, file, line });
    }

    /// The run, or one of its test programs, has ended.
    pub fn end(&mut self, report: &mut Report) {
        self.flush(report);
        for name in self.silent.drain(..) {
            report.fail(Failed { name, ..Failed::default() });
        }
    }
}
