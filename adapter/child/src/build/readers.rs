//! Compiler output as diagnostics with locations: Cargo's JSON, the lines of C and C++ compilers and of Go's.
//! Reads one line at a time and returns the text that the user sees. Runs no compiler ([`super`]);
//! [`tandem_engine::builds`] makes a failure of the diagnostics.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// Bytes of a message, after which no line is added to it.
const MAX_MESSAGE_LEN: usize = 1 << 10;

/// Diagnostics and paths read from a compiler's output.
#[derive(Default)]
pub(super) struct CompilerOutput {
    /// Errors and warnings with their places.
    pub(super) diagnostics: Vec<Value>,
    /// Programs that were built: name and path.
    pub(super) executables: Vec<(String, PathBuf)>,
    /// The last diagnostic is CMake's, and its message continues on the next line.
    continues: bool,
}

/// Reads a line, and returns the text for the user.
pub(super) type Reader = fn(&str, &Path, &mut CompilerOutput) -> Option<String>;

/// JSON messages of Cargo (The Cargo Book, "External tools") or of rustc itself (The rustc book, "JSON
/// output"); returns the text for the user.
pub(super) fn rustc(line: &str, folder: &Path, compiler_output: &mut CompilerOutput) -> Option<String> {
    let Ok(message) = serde_json::from_str::<Value>(line) else { return Some(line.to_owned()) };
    match message["reason"].as_str() {
        // Old compilers do not say what kind of message it is.
        None if message["rendered"].is_string() => rustc_diagnostic(&message, folder, compiler_output),
        Some("compiler-artifact") => {
            if let Some(executable) = message["executable"].as_str() {
                let name = message["target"]["name"].as_str().unwrap_or_default().to_owned();
                compiler_output.executables.push((name, executable.into()));
            }
            None
        }
        Some("compiler-message") => rustc_diagnostic(&message["message"], folder, compiler_output),
        _ => None,
    }
}

fn rustc_diagnostic(found: &Value, folder: &Path, compiler_output: &mut CompilerOutput) -> Option<String> {
    let mut spans = found["spans"].as_array().into_iter().flatten();
    let severity = found["level"].as_str().unwrap_or_default();
    if let Some(span) = spans.find(|span| span["is_primary"] == true)
        && matches!(severity, "error" | "warning")
    {
        compiler_output.diagnostics.push(json!({
            "file": folder.join(span["file_name"].as_str().unwrap_or_default()),
            "line": span["line_start"], "column": span["column_start"], "severity": severity,
            "code": found["code"]["code"].as_str().unwrap_or_default(), "message": found["message"],
        }));
    }
    found["rendered"].as_str().map(str::to_owned)
}

/// `file:line:column: error: message`, as compilers of C and C++ print it.
pub(super) fn gnu(line: &str, folder: &Path, compiler_output: &mut CompilerOutput) -> Option<String> {
    if let Some(found) = gnu_diagnostic(line, folder)
        && !compiler_output.diagnostics.contains(&found)
    {
        compiler_output.diagnostics.push(found);
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
            let message = last["message"].as_str().unwrap_or_default();
            let between = if message.contains(": ") { " " } else { ": " };
            if message.len() < MAX_MESSAGE_LEN {
                last["message"] = json!(format!("{message}{between}{}", line.trim()));
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
        let message = format!("{}\n{more}", last["message"].as_str().unwrap_or_default());
        last["message"] = json!(message);
    }
    Some(line.to_owned())
}

fn cmake_diagnostic(line: &str, folder: &Path) -> Option<Value> {
    let (severity, rest) = line.strip_prefix("CMake ")?.split_once(" at ")?;
    let severity = if severity.starts_with("Error") { "error" } else { "warning" };
    let (place, command) = rest.strip_suffix("):")?.split_once(" (")?;
    let (file, line) = place.rsplit_once(':')?;
    let line: u32 = line.parse().ok()?;
    Some(json!({ "file": folder.join(file), "line": line, "column": 1, "severity": severity, "code": "",
        "message": command }))
}

fn go_diagnostic(line: &str, folder: &Path) -> Option<Value> {
    let (file, rest) = line.split_once(".go:")?;
    let (place, message) = rest.split_once(": ")?;
    let (line, column) = place.split_once(':').unwrap_or((place, "1"));
    let (line, column): (u32, u32) = (line.parse().ok()?, column.parse().ok()?);
    let file = folder.join(format!("{}.go", file.strip_prefix("./").unwrap_or(file)));
    Some(json!({ "file": file, "line": line, "column": column, "severity": "error", "code": "",
            "message": message }))
}

fn gnu_diagnostic(line: &str, folder: &Path) -> Option<Value> {
    let (place, rest) = line.split_once(": ")?;
    let (severity, message) = rest.split_once(": ")?;
    let severity = severity.trim_start_matches("fatal ");
    if !matches!(severity, "error" | "warning") {
        return None;
    }
    let mut parts = place.rsplitn(3, ':');
    let (column, line, file) = (parts.next()?, parts.next()?, parts.next()?);
    let (line, column): (u32, u32) = (line.parse().ok()?, column.parse().ok()?);
    Some(json!({ "file": folder.join(file), "line": line, "column": column, "severity": severity, "code": "",
        "message": message }))
}

#[cfg(test)]
mod tests {
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
        assert_eq!(
            compiler_output.diagnostics[0],
            json!({ "file": "/p/CMakeLists.txt", "line": 1, "column": 1, "severity": "error", "code": "",
                "message": message })
        );
    }

    #[test]
    fn errors_of_compilers_become_places() {
        let found = gnu_diagnostic("src/a.c:3:5: error: unknown type name 'x'", Path::new("/p")).unwrap();
        assert_eq!(
            found,
            json!({ "file": "/p/src/a.c", "line": 3, "column": 5, "severity": "error", "code": "",
            "message": "unknown type name 'x'" })
        );
        assert_eq!(
            gnu_diagnostic("/a.h:1:1: fatal error: no such file", Path::new("/p")).unwrap()["severity"],
            "error"
        );
        for line in ["a.c: In function 'main':", "ld: cannot find -lx", "", "a:b:c: error: d"] {
            assert_eq!(gnu_diagnostic(line, Path::new("/p")), None, "{line}");
        }
        assert_eq!(
            go_diagnostic("./main.go:5:2: undefined: x", Path::new("/p")),
            Some(json!({ "file": "/p/main.go", "line": 5, "column": 2, "severity": "error", "code": "",
                "message": "undefined: x" }))
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
        assert_eq!(compiler_output.diagnostics[0]["file"], "/p/src/main.rs");
        assert_eq!(compiler_output.diagnostics[0]["code"], "E0308");
        // rustc itself, without Cargo.
        let line = json!({ "$message_type": "diagnostic", "level": "error", "message": "no such name",
            "rendered": "error: no such name\n",
            "spans": [{ "is_primary": true, "file_name": "/q/one.rs", "line_start": 3,
                "column_start": 1 }] });
        assert_eq!(
            rustc(&line.to_string(), Path::new("/p"), &mut compiler_output).as_deref(),
            Some("error: no such name\n")
        );
        assert_eq!(compiler_output.diagnostics[1]["file"], "/q/one.rs");
        assert_eq!(
            rustc("   Compiling x", Path::new("/p"), &mut compiler_output).as_deref(),
            Some("   Compiling x")
        );
    }
}
