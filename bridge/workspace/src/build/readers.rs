//! Readers of the output of tools. Where a tool has a format for machines, that is read; else the lines that
//! compilers agree on.
//!
//! In the children: [`compiler`] (MSBuild, tsc, gcc, clang, go, make), [`cmake`], [`cargo`] (its JSON),
//! [`tap`], [`minitest`], [`python`] (syntax errors), [`results`] (files that test runners leave).
//!
//! Not here: the commands whose output this is ([`super::steps`]).

pub mod cargo;
pub mod cmake;
pub mod compiler;
pub mod minitest;
pub mod python;
pub mod results;
pub mod tap;
mod test_unit;

use std::path::Path;

pub use results::ResultFiles;

use super::report::BuildReport;

/// Reads one step's output, line by line.
#[derive(Debug)]
pub struct OutputParser {
    format: ParserKind,
    results: Option<ResultFiles>,
}

#[derive(Debug)]
enum ParserKind {
    Compiler(&'static str),
    Cmake(cmake::CmakeParser),
    Cargo(Box<cargo::CargoParser>),
    Tap(Box<tap::TapParser>),
    Python(python::PythonParser),
    Minitest(minitest::MinitestParser),
}

impl OutputParser {
    /// A parser of compiler messages; `source` names the tool in diagnostics.
    pub fn compiler(source: &'static str) -> Self {
        Self { format: ParserKind::Compiler(source), results: None }
    }

    /// CMake's own diagnostics, among lines of a compiler.
    pub fn cmake() -> Self {
        Self { format: ParserKind::Cmake(cmake::CmakeParser::default()), results: None }
    }

    /// `cargo --message-format=json`.
    pub fn cargo(folder: &Path) -> Self {
        Self { format: ParserKind::Cargo(Box::new(cargo::CargoParser::new(folder))), results: None }
    }

    /// TAP, among lines of a compiler.
    pub fn tap() -> Self {
        Self { format: ParserKind::Tap(Box::default()), results: None }
    }

    /// Syntax errors of Python.
    pub fn python() -> Self {
        Self { format: ParserKind::Python(python::PythonParser::default()), results: None }
    }

    /// Output of minitest and test-unit.
    pub fn minitest() -> Self {
        Self { format: ParserKind::Minitest(minitest::MinitestParser::default()), results: None }
    }

    /// Also reads the result files of a test runner.
    #[must_use]
    pub fn with(mut self, results: ResultFiles) -> Self {
        self.results = Some(results);
        self
    }

    /// One line, without its end.
    pub fn line(&mut self, line: &str, report: &mut BuildReport) {
        match &mut self.format {
            ParserKind::Compiler(source) => {
                report.say(line);
                compiler::line(line, source, report);
            }
            ParserKind::Cmake(cmake) => cmake.line(line, report),
            ParserKind::Cargo(cargo) => cargo.line(line, report),
            ParserKind::Tap(tap) => tap.line(line, report),
            ParserKind::Python(python) => python.line(line, report),
            ParserKind::Minitest(minitest) => minitest.line(line, report),
        }
    }

    /// Completes the report when the step has ended.
    pub fn end(&mut self, report: &mut BuildReport) {
        match &mut self.format {
            ParserKind::Cmake(cmake) => cmake.end(report),
            ParserKind::Tap(tap) => tap.end(report),
            ParserKind::Minitest(minitest) => minitest.finish(report),
            ParserKind::Compiler(_) | ParserKind::Cargo(_) | ParserKind::Python(_) => {}
        }
        if let Some(results) = &self.results {
            results.read(report);
        }
    }
}

#[cfg(test)]
mod tests;
