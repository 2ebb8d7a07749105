//! Readers of what tools print. Where a tool has a format for machines, that is read; else the lines that compilers agree on.
//!
//! In the children: [`compiler`] (MSBuild, tsc, gcc, clang, go, make), [`cmake`], [`cargo`] (its JSON), [`tap`], [`minitest`], [`python`] (tracebacks), [`results`] (files that test runners leave).

pub mod cargo;
pub mod cmake;
pub mod compiler;
pub mod minitest;
pub mod python;
pub mod results;
pub mod tap;

use std::path::Path;

pub use results::Results;

use super::report::Report;

/// Reads one step's output, line by line.
#[derive(Debug)]
pub struct Reader {
    format: Format,
    results: Option<Results>,
}

#[derive(Debug)]
enum Format {
    Compiler(&'static str),
    Cmake(cmake::Cmake),
    Cargo(Box<cargo::Cargo>),
    Tap(Box<tap::Tap>),
    Python(python::Python),
    Minitest(minitest::Minitest),
}

impl Reader {
    /// Lines of a compiler; `source` is who is named as the source of findings.
    pub fn compiler(source: &'static str) -> Self {
        Self { format: Format::Compiler(source), results: None }
    }

    /// CMake's own findings, among lines of a compiler.
    pub fn cmake() -> Self {
        Self { format: Format::Cmake(cmake::Cmake::default()), results: None }
    }

    /// `cargo --message-format=json`.
    pub fn cargo(folder: &Path) -> Self {
        Self { format: Format::Cargo(Box::new(cargo::Cargo::new(folder))), results: None }
    }

    /// TAP, among lines of a compiler.
    pub fn tap() -> Self {
        Self { format: Format::Tap(Box::default()), results: None }
    }

    /// Syntax errors of Python.
    pub fn python() -> Self {
        Self { format: Format::Python(python::Python::default()), results: None }
    }

    /// Output of minitest and test-unit.
    pub fn minitest() -> Self {
        Self { format: Format::Minitest(minitest::Minitest::default()), results: None }
    }

    /// Also reads what a test runner leaves.
    #[must_use]
    pub fn with(mut self, results: Results) -> Self {
        self.results = Some(results);
        self
    }

    /// One line, without its end.
    pub fn line(&mut self, line: &str, report: &mut Report) {
        match &mut self.format {
            Format::Compiler(source) => {
                report.say(line);
                compiler::line(line, source, report);
            }
            Format::Cmake(cmake) => cmake.line(line, report),
            Format::Cargo(cargo) => cargo.line(line, report),
            Format::Tap(tap) => tap.line(line, report),
            Format::Python(python) => python.line(line, report),
            Format::Minitest(minitest) => minitest.line(line, report),
        }
    }

    /// Completes the report when the step has ended.
    pub fn end(&mut self, report: &mut Report) {
        match &mut self.format {
            Format::Cmake(cmake) => cmake.end(report),
            Format::Tap(tap) => tap.end(report),
            Format::Minitest(minitest) => minitest.finish(report),
            Format::Compiler(_) | Format::Cargo(_) | Format::Python(_) => {}
        }
        if let Some(results) = &self.results {
            results.read(report);
        }
    }
}

#[cfg(test)]
mod tests;
