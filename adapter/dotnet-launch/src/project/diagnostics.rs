//! Output of a .NET build, parsed: errors, warnings, and the assemblies that it names. Not here: reporting
//! them to clients ([`tandem_engine::builds`]).

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;
use tandem_engine::builds::CompilerDiagnostic;

/// Longer lines are not diagnostics, bytes.
const MAX_LINE_LEN: usize = 16 << 10;

/// MSBuild's canonical form, `origin(line,column): error CODE: message [project]`, where the location
/// and, in a task's message, the code may be absent. Learn, "MSBuild and Visual Studio format for
/// diagnostic messages".
static CANONICAL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"^\s*(?:\d+>)?(?P<origin>[^(]*?)(?:\((?P<line>\d+)(?:[,-](?P<column>\d+))?[\d,-]*\))?",
        r"\s*:? ?(?:[\w.]+ )?\b(?P<severity>error|warning)(?: (?P<code>[A-Za-z]+\d+))?",
        r"\s*: (?P<message>.*?)(?:\s+\[(?P<project>[^\[\]]*proj)(?:::[^\[\]]*)?\])?$",
    ))
    .expect("the pattern is a constant, and tested")
});

/// An assembly that a build has reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Output {
    /// The name of its project, without folder and extension.
    pub(super) project: String,
    pub(super) assembly: PathBuf,
}

/// MSBuild's line for an output: `  app -> /src/app/bin/Debug/net9.0/app.dll`.
pub(super) fn output(line: &str) -> Option<Output> {
    let (project, path) = line.trim().split_once(" -> ")?;
    let path = Path::new(path);
    let is_assembly = path.extension().is_some_and(|ending| ending == "dll" || ending == "exe");
    (is_assembly && path.is_absolute())
        .then(|| Output { project: project.to_owned(), assembly: path.to_path_buf() })
}

/// An error or a warning of a line. A diagnostic without a location is at the beginning of its project, or
/// of `target`. `folder`: base of relative file names.
pub(super) fn diagnostic(text: &str, target: &Path, folder: &Path) -> Option<CompilerDiagnostic> {
    if text.len() > MAX_LINE_LEN || !(text.contains("error") || text.contains("warning")) {
        return None;
    }
    let found = CANONICAL.captures(text)?;
    let part = |name: &str| found.name(name).map_or("", |part| part.as_str());
    let number = |name: &str| part(name).parse::<u32>().ok().filter(|number| *number > 0).unwrap_or(1);
    let (origin, project) = (part("origin").trim(), part("project"));
    let is_file = !part("line").is_empty() || folder.join(origin).is_file();
    if part("code").is_empty() && !is_file && !origin.is_empty() {
        // Output of a program, for example of a test: `my error: none`.
        return None;
    }
    let file = match (is_file && !origin.is_empty(), project.is_empty()) {
        (true, _) => folder.join(origin),
        (false, false) => PathBuf::from(project),
        (false, true) => target.to_path_buf(),
    };
    Some(CompilerDiagnostic {
        file: file.display().to_string(),
        line: number("line"),
        column: number("column"),
        severity: part("severity").into(),
        code: part("code").into(),
        message: part("message").into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_output_names_the_assembly() {
        let made = output("  app -> /p/bin/Debug/net9.0/other name.dll").unwrap();
        let assembly = PathBuf::from("/p/bin/Debug/net9.0/other name.dll");
        assert_eq!(made, Output { project: "app".into(), assembly });
        for other in ["  app -> app.dll", "  app -> /p/publish/", "Build succeeded.", "a -> b"] {
            assert_eq!(output(other), None, "{other}");
        }
    }

    fn read(line: &str) -> Option<String> {
        let found = diagnostic(line, Path::new("/p/shop.csproj"), Path::new("/p"))?;
        let CompilerDiagnostic { file, line, column, severity, code, message } = found;
        Some(format!("{file}:{line}:{column} {severity} {code} {message}"))
    }

    #[test]
    fn errors_of_every_form_parse_with_their_location() {
        for (line, expected) in [
            (
                "/p/Program.cs(8,22): error CS0029: Cannot convert: 'string' to 'int' [/p/broken.csproj]",
                "/p/Program.cs:8:22 error CS0029 Cannot convert: 'string' to 'int'",
            ),
            (
                "/p/lib.csproj : error NU1101: Unable to find package Nowhere. No packages exist \
                    [/p/shop.sln]",
                "/p/shop.csproj:1:1 error NU1101 Unable to find package Nowhere. No packages exist \
                    [/p/shop.sln]",
            ),
            (
                "/p/app.csproj : warning NU1603: app depends on X (>= 1.0.1) but was not found \
                    [/p/app.csproj]",
                "/p/app.csproj:1:1 warning NU1603 app depends on X (>= 1.0.1) but was not found",
            ),
            (
                "MSBUILD : error MSB1009: Project file does not exist.",
                "/p/shop.csproj:1:1 error MSB1009 Project file does not exist.",
            ),
            (
                "CSC : error CS5001: Program does not contain a static 'Main' method \
                    [/p/app.csproj::TargetFramework=net10.0]",
                "/p/app.csproj:1:1 error CS5001 Program does not contain a static 'Main' method",
            ),
            (
                "/sdk/Sdk.targets(266,5): error NETSDK1005: Assets file has no target [/p/app.csproj]",
                "/sdk/Sdk.targets:266:5 error NETSDK1005 Assets file has no target",
            ),
            (
                "/p/app.csproj(9,4): error MSB4025: The project file could not be loaded.",
                "/p/app.csproj:9:4 error MSB4025 The project file could not be loaded.",
            ),
            (
                "/p/app.csproj(9,4): error : the task's own text [/p/app.csproj]",
                "/p/app.csproj:9:4 error  the task's own text",
            ),
            (
                "error NU1605: Detected package downgrade",
                "/p/shop.csproj:1:1 error NU1605 Detected package downgrade",
            ),
        ] {
            assert_eq!(read(line).as_deref(), Some(expected), "{line}");
        }
    }

    #[test]
    fn other_lines_are_not_findings() {
        for line in [
            "  Restore completed in 20 ms",
            "    0 Error(s)",
            "Build FAILED.",
            "my own error: none",
            "  0 Warning(s)",
        ] {
            assert_eq!(read(line), None, "{line}");
        }
    }
}
