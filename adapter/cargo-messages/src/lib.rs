//! The JSON lines of Cargo (The Cargo Book, "External tools") and of rustc itself (The rustc book, "JSON
//! output"). Both programs read the output of builds with it.
//!
//! Not here: running a build, text that is not JSON, and what becomes of a diagnostic (the callers).

use serde::Deserialize;
use serde_json::Value;

/// Fields that every diagnostic of the compiler has.
const RUSTC_FIELDS: [&str; 4] = ["level", "message", "rendered", "spans"];

/// One line of the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CargoMessage {
    /// The compiler reports something.
    Diagnostic(CargoDiagnostic),
    /// A target of a package is built.
    Artifact(CargoArtifact),
    /// Anything else that is for programs, such as `build-finished`.
    Other,
}

/// A diagnostic of the compiler, and the package that it is in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CargoDiagnostic {
    /// Path of the package's manifest; empty if rustc was run without Cargo.
    pub manifest_path: String,
    /// The diagnostic itself.
    pub message: RustcDiagnostic,
}

/// A diagnostic of the compiler.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RustcDiagnostic {
    /// The text without places.
    pub message: String,
    /// `error`, `error: internal compiler error`, `warning`, `note`, `help` or `failure-note`.
    pub level: String,
    /// The code, such as `E0308`.
    pub code: Option<RustcCode>,
    /// The places that the message is about.
    pub spans: Vec<RustcSpan>,
    /// Notes and suggestions.
    pub children: Vec<RustcNote>,
    /// The message as the compiler prints it.
    pub rendered: Option<String>,
}

/// The code of a diagnostic.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RustcCode {
    /// The code, such as `E0308`, or the name of a lint.
    pub code: String,
}

/// A place of a diagnostic. Lines and columns begin at 1.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RustcSpan {
    /// The file, relative to the workspace.
    pub file_name: String,
    /// The line in which it begins.
    pub line_start: u32,
    /// The line in which it ends.
    pub line_end: u32,
    /// The first character in the first line.
    pub column_start: u32,
    /// The character after the place, in the last line.
    pub column_end: u32,
    /// Whether the diagnostic is about this place; the others explain it.
    pub is_primary: bool,
    /// The text at the place.
    pub label: Option<String>,
}

/// A note or a suggestion below a diagnostic.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RustcNote {
    /// The text of the note or suggestion.
    pub message: String,
}

/// A target that Cargo built, as it describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CargoArtifact {
    /// Path of the package's manifest.
    pub manifest_path: String,
    /// Id of the package, in one of several forms.
    pub package_id: String,
    /// The target of the package.
    pub target: CargoTarget,
    /// How the target was built.
    pub profile: CargoProfile,
    /// Path of the program, if it is one.
    pub executable: Option<String>,
}

/// A target of a package.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CargoTarget {
    /// Its name, which a test of a package may share with the package.
    pub name: String,
    /// The kinds, such as `lib` or `test`.
    pub kind: Vec<String>,
    /// Path of its root module.
    pub src_path: String,
    /// Whether its documentation is tested; older versions of Cargo do not say it.
    pub doctest: Option<bool>,
}

/// How a target was built.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CargoProfile {
    /// Whether it has the tests.
    pub test: bool,
}

impl RustcDiagnostic {
    /// Whether the code cannot be compiled, which includes a crash of the compiler.
    pub fn is_error(&self) -> bool {
        self.level.starts_with("error")
    }

    /// Whether it is a warning.
    pub fn is_warning(&self) -> bool {
        self.level == "warning"
    }

    /// The place that it is about. Summaries such as `aborting due to 2 previous errors` have none.
    pub fn primary_span(&self) -> Option<&RustcSpan> {
        self.spans.iter().find(|span| span.is_primary)
    }
}

/// Reads a line; `None` if it is text for the user, for example the output of a test.
pub fn read_line(line: &str) -> Option<CargoMessage> {
    if !line.starts_with('{') {
        return None;
    }
    let message: Value = serde_json::from_str(line).ok()?;
    // Cargo writes it first; a test may print an object that has it elsewhere.
    if let Some(reason) = message.as_object()?.iter().next().filter(|(name, _)| *name == "reason") {
        return match reason.1.as_str()? {
            "compiler-message" => CargoDiagnostic::deserialize(message).ok().map(CargoMessage::Diagnostic),
            "compiler-artifact" => CargoArtifact::deserialize(message).ok().map(CargoMessage::Artifact),
            _ => Some(CargoMessage::Other),
        };
    }
    let is_diagnostic = match message.get("$message_type") {
        Some(kind) => kind == "diagnostic",
        // Old compilers do not say what kind of message it is. A line of a log has other fields.
        None if RUSTC_FIELDS.iter().all(|name| message.get(name).is_some()) => true,
        None => return None,
    };
    if !is_diagnostic {
        return Some(CargoMessage::Other);
    }
    let message = RustcDiagnostic::deserialize(message).ok()?;
    Some(CargoMessage::Diagnostic(CargoDiagnostic { message, ..CargoDiagnostic::default() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diagnostic(line: &str) -> CargoDiagnostic {
        match read_line(line) {
            Some(CargoMessage::Diagnostic(diagnostic)) => diagnostic,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn a_crash_of_the_compiler_is_an_error() {
        let levels = [
            ("error", true, false),
            ("error: internal compiler error", true, false),
            ("warning", false, true),
            ("failure-note", false, false),
            ("note", false, false),
        ];
        for (level, is_error, is_warning) in levels {
            let one = RustcDiagnostic { level: level.into(), ..RustcDiagnostic::default() };
            assert_eq!((one.is_error(), one.is_warning()), (is_error, is_warning), "{level}");
        }
    }

    #[test]
    fn lines_of_cargo_and_of_rustc_are_read() {
        let found = diagnostic(concat!(
            r#"{"reason":"compiler-message","manifest_path":"/w/Cargo.toml","message":{"level":"error","#,
            r#""message":"mismatched types","code":null,"rendered":null,"spans":["#,
            r#"{"file_name":"b.rs","line_start":1,"is_primary":false,"label":null},"#,
            r#"{"file_name":"a.rs","line_start":2,"is_primary":true,"label":"x","text":[]}]}}"#,
        ));
        assert_eq!(found.manifest_path, "/w/Cargo.toml");
        assert_eq!(found.message.primary_span().map(|span| span.file_name.as_str()), Some("a.rs"));

        for line in [
            r#"{"$message_type":"diagnostic","message":"m","level":"warning","spans":[]}"#,
            r#"{"message":"m","code":null,"level":"warning","spans":[],"children":[],"rendered":"r"}"#,
        ] {
            let found = diagnostic(line);
            assert_eq!((found.message.message.as_str(), found.message.is_warning()), ("m", true));
            assert_eq!((found.manifest_path.as_str(), found.message.primary_span()), ("", None));
        }

        let line = concat!(
            r#"{"reason":"compiler-artifact","package_id":"p","target":{"name":"app","kind":["bin"]},"#,
            r#""profile":{"test":true,"opt_level":"0"},"executable":"/w/target/debug/app","fresh":true}"#,
        );
        let Some(CargoMessage::Artifact(artifact)) = read_line(line) else { panic!("{line}") };
        assert_eq!((artifact.target.name.as_str(), artifact.profile.test), ("app", true));
        assert_eq!(artifact.executable.as_deref(), Some("/w/target/debug/app"));
        for line in [
            r#"{"reason":"build-finished","success":false}"#,
            r#"{"$message_type":"artifact","artifact":"/w/a","emit":"link"}"#,
        ] {
            assert_eq!(read_line(line), Some(CargoMessage::Other), "{line}");
        }
    }

    #[test]
    fn other_lines_are_text() {
        for line in [
            "",
            "   Compiling app v0.1.0",
            "5",
            "[{\"reason\":\"build-finished\"}]",
            "{",
            "{}",
            r#"{"reason":5}"#,
            r#"{"test":"a","reason":"build-finished"}"#,
            r#"{"level":"error","message":"of a log","spans":[{"name":"request"}]}"#,
            r#"{"reason":"compiler-message","message":5}"#,
        ] {
            assert_eq!(read_line(line), None, "{line}");
        }
    }
}
