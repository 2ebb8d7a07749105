//! The error with which Node ends before any test, because it cannot load a source: message and place out of
//! what it prints.
//!
//! Not here: errors that a runner reports itself (the helpers of each).

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;
use tandem_workspace::build::report::BuildDiagnostic;
use tandem_workspace::process::ProcessExit;

use crate::installed::is_in_package;
use crate::run::FrameworkRun;

/// `file:///w/a.test.mjs:3`, `/w/a.test.cjs:3`: where a source cannot be parsed.
static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^(?: Exception during run: )?(?:file://)?(?P<file>/.+?\.[cm]?[jt]s):(?P<line>\d+)$")
        .expect("the pattern is a constant, and tested")
});
/// `    at load (/w/a.test.js:3:1)`, `- /w/a.test.js` below `Require stack:`, `imported from /w/a.test.mjs`.
static CALL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?m)(?:\(|at |^- | imported from )(?:file://)?(?P<file>/[^:\n]+\.[cm]?[jt]sx?)(?::(?P<line>\d+))?",
    )
    .expect("the pattern is a constant, and tested")
});
static ERROR: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^(?: Exception during run: )?(?P<error>\w*Error\b.*|\[?\w+Error.*)$")
        .expect("the pattern is a constant, and tested")
});

/// An error of a source.
#[derive(Debug, PartialEq)]
pub(super) struct PrintedError<'p> {
    message: Option<&'p str>,
    file: Option<&'p str>,
    line: Option<u32>,
}

impl<'p> PrintedError<'p> {
    /// Whether an output has one.
    pub(super) fn is_in(printed: &str) -> bool {
        ERROR.is_match(printed)
    }

    /// Reads an output. The innermost source of the project in this folder has the error.
    fn find(printed: &'p str, folder: &Path) -> Self {
        let is_own = |file: &str| Path::new(file).starts_with(folder) && !is_in_package(file);
        let call = CALL.captures_iter(printed).find(|found| is_own(&found["file"]));
        let place = PLACE.captures_iter(printed).find(|found| is_own(&found["file"])).or(call);
        let part = |name: &str| place.as_ref()?.name(name).map(|part| part.as_str());
        Self {
            message: ERROR.captures(printed).and_then(|found| found.name("error")).map(|part| part.as_str()),
            file: part("file"),
            line: part("line").and_then(|line| line.parse().ok()),
        }
    }

    /// Reports the error in the output of a run whose process ended before any test. `source` is what it
    /// loaded.
    pub(super) fn report(run: &mut FrameworkRun<'_>, (runner, source): (&str, &str), ended: ProcessExit) {
        run.status.broken = true;
        let printed = run.report.output.text();
        let found = PrintedError::find(&printed, &run.project.folder);
        let ended = format!("it ended with {ended} before a test ran");
        run.report.add_diagnostic(&BuildDiagnostic {
            file: found.file.unwrap_or(source),
            line: found.line.unwrap_or(0),
            error: true,
            message: found.message.unwrap_or(&ended),
            source: runner,
            ..BuildDiagnostic::default()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_an_error_is_found() {
        for (printed, message, file, line) in [
            (
                "file:///w/a.test.mjs:3\nconst a = ;\n          ^\n\nSyntaxError: Unexpected token ';'\n    \
                    at x (node:internal:1)\n",
                "SyntaxError: Unexpected token ';'",
                "/w/a.test.mjs",
                Some(3),
            ),
            (
                "\n Exception during run: /w/a.test.js:2\nconst = ;\n      ^\n\nSyntaxError: no '='\n",
                "SyntaxError: no '='",
                "/w/a.test.js",
                Some(2),
            ),
            (
                "\n Exception during run: Error: Cannot find module './x'\nRequire stack:\n- /w/a.spec.ts\n- \
                    /w/node_modules/mocha/lib/a.cjs\n",
                "Error: Cannot find module './x'",
                "/w/a.spec.ts",
                None,
            ),
            (
                "Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/w/x.js' imported from /w/a.test.mjs\n",
                "Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/w/x.js' imported from /w/a.test.mjs",
                "/w/a.test.mjs",
                None,
            ),
            (
                "file:///w/node_modules/a.mjs:3\n    throw new Error(text);\n    ^\n\nError: no config\n    \
                    at file:///w/node_modules/a.mjs:3:11\n",
                "Error: no config",
                "",
                None,
            ),
            (
                "TypeError: no\n    at run (/w/node_modules/b.js:1:1)\n    at file:///w/a.test.mjs:7:5\n",
                "TypeError: no",
                "/w/a.test.mjs",
                Some(7),
            ),
        ] {
            let found = PrintedError::find(printed, Path::new("/w"));
            let file = Some(file).filter(|file| !file.is_empty());
            assert_eq!(found, PrintedError { message: Some(message), file, line }, "{printed}");
        }
        let silent = PrintedError { message: None, file: None, line: None };
        assert_eq!(PrintedError::find("no tests\n", Path::new("/w")), silent);
    }
}
