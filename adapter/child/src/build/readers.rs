//! Compiler output as diagnostics with locations: Cargo's messages, the lines of C and C++ compilers and of
//! Go's. Reads one line at a time and returns the text that the user sees. Runs no compiler ([`super`]);
//! [`tandem_engine::builds`] makes a failure of the diagnostics.

use std::path::{Path, PathBuf};

use tandem_cargo_messages::{CargoMessage, RustcDiagnostic};
use tandem_engine::builds::CompilerDiagnostic;

/// Bytes of a message, after which no line is added to it.
const MAX_MESSAGE_LEN: usize = 1 << 10;

/// Diagnostics and paths read from a compiler's output.
#[derive(Default)]
pub(super) struct CompilerOutput {
    /// Errors and warnings with their places.
    pub(super) diagnostics: Vec<CompilerDiagnostic>,
    /// Programs that were built: name and path.
    pub(super) executables: Vec<(String, PathBuf)>,
    /// The line that says why the build failed, where that is not the last one.
    pub(super) reason: Option<String>,
    /// The last diagnostic is CMake's, and its message continues on the next line.
    continues: bool,
}

/// Reads a line, and returns the text for the user.
pub(super) type Reader = fn(&str, &Path, &mut CompilerOutput) -> Option<String>;

/// JSON messages of Cargo or of rustc itself; returns the text for the user.
pub(super) fn rustc(line: &str, folder: &Path, compiler_output: &mut CompilerOutput) -> Option<String> {
    match tandem_cargo_messages::read_line(line) {
        None => Some(line.to_owned()),
        Some(CargoMessage::Diagnostic(found)) => rustc_diagnostic(found.message, folder, compiler_output),
        Some(CargoMessage::Artifact(built)) => {
            if let Some(executable) = built.executable {
                compiler_output.executables.push((built.target.name, executable.into()));
            }
            None
        }
        Some(CargoMessage::Other) => None,
    }
}

/// Keeps the place of a diagnostic; returns the text for the user.
fn rustc_diagnostic(
    found: RustcDiagnostic,
    folder: &Path,
    compiler_output: &mut CompilerOutput,
) -> Option<String> {
    if let Some(span) = found.primary_span()
        && (found.is_error() || found.is_warning())
    {
        compiler_output.diagnostics.push(CompilerDiagnostic {
            file: folder.join(&span.file_name).display().to_string(),
            line: span.line_start,
            column: span.column_start,
            severity: if found.is_error() { "error" } else { "warning" }.into(),
            code: found.code.unwrap_or_default().code,
            message: found.message,
        });
    }
    found.rendered
}

/// `file:line:column: error: message`, as compilers of C and C++ print it.
pub(super) fn gnu(line: &str, folder: &Path, compiler_output: &mut CompilerOutput) -> Option<String> {
    if let Some(found) = gnu_diagnostic(line, folder)
        && !compiler_output.diagnostics.contains(&found)
    {
        compiler_output.diagnostics.push(found);
    }
    // The errors of a linker have no place, and make ends with its own.
    let is_linker_error =
        ["undefined reference to ", "multiple definition of ", "ld: cannot find ", "ld.lld: error: "]
            .iter()
            .any(|part| line.contains(part));
    if is_linker_error && compiler_output.reason.is_none() {
        compiler_output.reason = Some(line.to_owned());
    }
    Some(line.to_owned())
}

/// `CMake Error at file:line (command):`, with the message in the indented lines behind it; else as [`gnu`].
pub(super) fn cmake(line: &str, folder: &Path, compiler_output: &mut CompilerOutput) -> Option<String> {
    if let Some(found) = cmake_diagnostic(line, folder) {
        compiler_output.diagnostics.push(found);
        compiler_output.continues = true;
    } else if compiler_output.continues && (line.is_empty() || line.starts_with("  ")) {
        if let Some(last) = compiler_output.diagnostics.last_mut().filter(|_| !line.is_empty()) {
            let between = if last.message.contains(": ") { " " } else { ": " };
            if last.message.len() < MAX_MESSAGE_LEN {
                last.message.push_str(between);
                last.message.push_str(line.trim());
            }
        }
    } else if !line.starts_with("-- ") {
        // Its progress output uses another pipe, and may interrupt a message.
        compiler_output.continues = false;
        return gnu(line, folder, compiler_output);
    }
    Some(line.to_owned())
}

/// `file.go:line:column: message`, as the Go compiler prints it; indented lines belong to the one before.
pub(super) fn go(line: &str, folder: &Path, compiler_output: &mut CompilerOutput) -> Option<String> {
    if let Some(found) = go_diagnostic(line, folder) {
        compiler_output.diagnostics.push(found);
    } else if let (Some(more), Some(last)) = (line.strip_prefix('\t'), compiler_output.diagnostics.last_mut())
    {
        last.message.push('\n');
        last.message.push_str(more);
    }
    // The first line is the reason, apart from headings and downloads.
    if compiler_output.reason.is_none()
        && !line.trim().is_empty()
        && !["# ", "FAIL", "go: downloading ", "go: finding "].iter().any(|start| line.starts_with(start))
    {
        compiler_output.reason = Some(line.to_owned());
    }
    Some(line.to_owned())
}

/// A diagnostic without a code.
fn diagnostic(
    file: PathBuf,
    (line, column): (u32, u32),
    severity: &str,
    message: &str,
) -> CompilerDiagnostic {
    CompilerDiagnostic {
        file: file.display().to_string(),
        line,
        column,
        severity: severity.into(),
        code: String::new(),
        message: message.into(),
    }
}

fn cmake_diagnostic(line: &str, folder: &Path) -> Option<CompilerDiagnostic> {
    let (severity, rest) = line.strip_prefix("CMake ")?.split_once(" at ")?;
    let severity = if severity.starts_with("Error") { "error" } else { "warning" };
    let (place, command) = rest.strip_suffix("):")?.split_once(" (")?;
    let (file, line) = place.rsplit_once(':')?;
    Some(diagnostic(folder.join(file), (line.parse().ok()?, 1), severity, command))
}

fn go_diagnostic(line: &str, folder: &Path) -> Option<CompilerDiagnostic> {
    let (file, rest) = line.split_once(".go:")?;
    let (place, message) = rest.split_once(": ")?;
    let (line, column) = place.split_once(':').unwrap_or((place, "1"));
    let place = (line.parse().ok()?, column.parse().ok()?);
    let file = folder.join(format!("{}.go", file.strip_prefix("./").unwrap_or(file)));
    Some(diagnostic(file, place, "error", message))
}

fn gnu_diagnostic(line: &str, folder: &Path) -> Option<CompilerDiagnostic> {
    let (place, rest) = line.split_once(": ")?;
    let (severity, message) = rest.split_once(": ")?;
    let severity = severity.trim_start_matches("fatal ");
    if !matches!(severity, "error" | "warning") {
        return None;
    }
    let mut parts = place.rsplitn(3, ':');
    let (column, line, file) = (parts.next()?, parts.next()?, parts.next()?);
    Some(diagnostic(folder.join(file), (line.parse().ok()?, column.parse().ok()?), severity, message))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_error_of_cmake_follows_its_place() {
        let mut compiler_output = CompilerOutput::default();
        for line in [
            "CMake Error at CMakeLists.txt:1 (cmake_minimum_required):",
            "-- Configuring incomplete, errors occurred!",
            "  Compatibility with CMake < 3.5 has been",
            "  removed from CMake.",
            "",
            "  Update it.",
            "make: stopped",
            "  elsewhere",
        ] {
            assert_eq!(cmake(line, Path::new("/p"), &mut compiler_output).as_deref(), Some(line));
        }
        let message =
            "cmake_minimum_required: Compatibility with CMake < 3.5 has been removed from CMake. Update it.";
        let expected = diagnostic("/p/CMakeLists.txt".into(), (1, 1), "error", message);
        assert_eq!(compiler_output.diagnostics, [expected]);
    }

    #[test]
    fn the_linkers_error_is_the_reason_and_not_that_of_make() {
        let mut compiler_output = CompilerOutput::default();
        let error = "main.c:(.text+0xd): undefined reference to `nosuch'";
        for line in ["/usr/bin/ld: a.o: in function `twice':", error, "gmake: *** [Makefile:91: all] Error 2"]
        {
            drop(cmake(line, Path::new("/p"), &mut compiler_output));
        }
        assert_eq!(compiler_output.reason.as_deref(), Some(error));
    }

    #[test]
    fn the_first_line_of_go_is_the_reason() {
        let reason = |text: &str| {
            let mut compiler_output = CompilerOutput::default();
            text.lines().for_each(|line| drop(go(line, Path::new("/p"), &mut compiler_output)));
            compiler_output.reason
        };
        let expected = Some("no Go files in /p".to_owned());
        assert_eq!(reason("FAIL\t. [setup failed]\n# .\nno Go files in /p\nFAIL\n"), expected);
        let flags = "invalid value \"x\" for flag -tags\nusage: go test\nRun 'go help test' for details.";
        assert_eq!(reason(flags).as_deref(), flags.lines().next());
        assert_eq!(reason("go: downloading x v1\n"), None);
    }

    #[test]
    fn errors_of_compilers_become_places() {
        let found = gnu_diagnostic("src/a.c:3:5: error: unknown type name 'x'", Path::new("/p")).unwrap();
        assert_eq!(found, diagnostic("/p/src/a.c".into(), (3, 5), "error", "unknown type name 'x'"));
        let fatal = gnu_diagnostic("/a.h:1:1: fatal error: no such file", Path::new("/p"));
        assert_eq!(fatal, Some(diagnostic("/a.h".into(), (1, 1), "error", "no such file")));
        for line in ["a.c: In function 'main':", "ld: cannot find -lx", "", "a:b:c: error: d"] {
            assert_eq!(gnu_diagnostic(line, Path::new("/p")), None, "{line}");
        }
        assert_eq!(
            go_diagnostic("./main.go:5:2: undefined: x", Path::new("/p")),
            Some(diagnostic("/p/main.go".into(), (5, 2), "error", "undefined: x"))
        );
        for line in ["# example.com/p", "note: module requires Go 1.99", "\thave (int)", "go: no main.go: x"]
        {
            assert_eq!(go_diagnostic(line, Path::new("/p")), None, "{line}");
        }
        let mut compiler_output = CompilerOutput::default();
        let line = json!({ "reason": "compiler-message", "message": { "level": "error",
            "message": "mismatched types",
            "rendered": "error[E0308]…\n", "code": { "code": "E0308" },
            "spans": [{ "is_primary": true, "file_name": "src/main.rs", "line_start": 2,
                "column_start": 9 }] } });
        assert_eq!(
            rustc(&line.to_string(), Path::new("/p"), &mut compiler_output).as_deref(),
            Some("error[E0308]…\n")
        );
        let mismatch = diagnostic("/p/src/main.rs".into(), (2, 9), "error", "mismatched types");
        assert_eq!(compiler_output.diagnostics[0], CompilerDiagnostic { code: "E0308".into(), ..mismatch });
        // rustc itself, without Cargo, which crashes.
        let line = json!({ "$message_type": "diagnostic", "level": "error: internal compiler error",
            "message": "no such name",
            "rendered": "error: no such name\n",
            "spans": [{ "is_primary": true, "file_name": "/q/one.rs", "line_start": 3,
                "column_start": 1 }] });
        assert_eq!(
            rustc(&line.to_string(), Path::new("/p"), &mut compiler_output).as_deref(),
            Some("error: no such name\n")
        );
        let crash = diagnostic("/q/one.rs".into(), (3, 1), "error", "no such name");
        assert_eq!(compiler_output.diagnostics[1], crash);
        assert_eq!(
            rustc("   Compiling x", Path::new("/p"), &mut compiler_output).as_deref(),
            Some("   Compiling x")
        );
    }
}
