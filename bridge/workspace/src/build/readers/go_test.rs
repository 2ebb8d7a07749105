//! `go test -json`: one event a line, with the test's own output inside.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::compiler;
use crate::bounded;
use crate::build::report::{Failed, Report};

/// A larger module file is not read.
const LARGEST: u64 = 4 << 20;
/// Bytes kept of one test's output.
const MOST: usize = 8 << 10;
/// Tests whose output is kept at once.
const MOST_TESTS: usize = 10_000;

static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s+(?P<file>[^\s:]+\.go):(?P<line>\d+): ").expect("the pattern is a constant, and tested")
});

/// Reads one run.
#[derive(Debug)]
pub struct GoTest {
    folder: PathBuf,
    module: String,
    output: HashMap<(String, String), String>,
}

impl GoTest {
    /// For a module in this folder.
    pub fn new(folder: &Path) -> Self {
        let manifest = bounded::read(&folder.join("go.mod"), LARGEST).unwrap_or_default();
        let manifest = String::from_utf8_lossy(&manifest);
        let module = manifest
            .lines()
            .find_map(|line| line.strip_prefix("module "))
            .unwrap_or_default()
            .trim()
            .to_owned();
        Self { folder: folder.to_owned(), module, output: HashMap::new() }
    }

    /// One line.
    pub fn line(&mut self, line: &str, report: &mut Report) {
        let event = serde_json::from_str::<Value>(line).ok().filter(|event| event["Action"].is_string());
        let Some(event) = event else {
            report.say(line);
            return compiler::line(line, "go", report);
        };
        let text = |name: &str| event[name].as_str().unwrap_or_default();
        let (package, test) = (text("Package").to_owned(), text("Test").to_owned());
        match text("Action") {
            "output" | "build-output" => {
                let said = text("Output").trim_end_matches('\n');
                report.say(said);
                if test.is_empty() {
                    return compiler::line(said, "go", report);
                }
                if self.output.len() < MOST_TESTS {
                    let kept = self.output.entry((package, test)).or_default();
                    if kept.len() + said.len() < MOST {
                        kept.push_str(said);
                        kept.push('\n');
                    }
                }
            }
            action @ ("pass" | "fail" | "skip") if !test.is_empty() => {
                let tests = report.tests();
                tests.total += 1;
                *(match action {
                    "pass" => &mut tests.passed,
                    "fail" => &mut tests.failed,
                    _ => &mut tests.skipped,
                }) += 1;
                let output = self.output.remove(&(package.clone(), test.clone())).unwrap_or_default();
                if action == "fail" {
                    report.fail(self.failed(&package, test, &output));
                }
            }
            _ => {}
        }
    }

    fn failed(&self, package: &str, name: String, output: &str) -> Failed {
        let at = output.lines().find_map(|line| PLACE.captures(line));
        // Files are named without their folder, which the package's path gives.
        let below = package.strip_prefix(&self.module).unwrap_or_default().trim_start_matches('/');
        let file = at
            .as_ref()
            .and_then(|at| at.name("file"))
            .map(|file| self.folder.join(below).join(file.as_str()).display().to_string());
        let line = at.as_ref().and_then(|at| at.name("line")?.as_str().parse().ok());
        let noise = |line: &&str| !line.starts_with("=== ") && !line.trim_start().starts_with("--- ");
        let message = output.lines().filter(noise).map(str::trim).collect::<Vec<_>>().join("\n");
        Failed { name, message, file, line }
    }
}
