//! Reports to clients about a build that a launch waits for: its output in the debug console, DAP's progress
//! events for clients that show them, and a sentence when it fails. Not here: running commands ([`command`]),
//! and parsing their output (the engines).

pub mod command;

use std::cell::Cell;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::Value;
use tandem_wire::types::{
    self, EventBody, OutputEventBody, ProgressEndEventBody, ProgressStartEventBody, ProgressUpdateEventBody,
};
use tandem_wire::{ErrorCode, Failure};

/// Takes a DAP event: its name and its body.
pub type EventSink<'a> = &'a dyn Fn(&str, Value);

/// A compiler may say hundreds of lines a second; a notification that changes more often
/// than this cannot be read.
const UPDATE_INTERVAL: Duration = Duration::from_millis(200);
/// How many characters of a line a progress event has.
const MAX_MESSAGE_LEN: usize = 120;
/// Lines from the end of a build's output that its failure has, and characters of each.
const MAX_TAIL_LINES: usize = 30;
const MAX_TAIL_LINE_LEN: usize = 200;

/// Numbers of builds: a progress id is given out once.
static BUILDS: AtomicU64 = AtomicU64::new(1);

/// How the ids of builds' progress begin: cancelling it cancels the launch.
pub const PROGRESS: &str = "build-";

/// A line of the debug console.
pub fn print_line(send_event: EventSink<'_>, line: &str) {
    report(send_event, &OutputEventBody::console_line(line));
}

fn report<T: EventBody>(send_event: EventSink<'_>, body: &T) {
    send_event(T::EVENT, types::body(body));
}

/// The build that runs; its progress ends when it is dropped.
pub struct BuildProgress<'a> {
    send_event: EventSink<'a>,
    progress: String,
    updated: Cell<Instant>,
}

impl<'a> BuildProgress<'a> {
    /// A build of this begins.
    pub fn begin(send_event: EventSink<'a>, what: &Path) -> Self {
        let progress = format!("{PROGRESS}{}", BUILDS.fetch_add(1, Ordering::Relaxed));
        let name =
            what.file_name().map_or_else(|| what.display().to_string(), |name| name.to_string_lossy().into());
        let start = ProgressStartEventBody {
            progress_id: progress.clone(),
            title: format!("Building {name}"),
            cancellable: Some(true),
            ..ProgressStartEventBody::default()
        };
        report(send_event, &start);
        Self { send_event, progress, updated: Cell::new(Instant::now()) }
    }

    /// The build printed output that users read.
    pub fn line(&self, line: &str) {
        print_line(self.send_event, line);
        if line.trim().is_empty() || self.updated.get().elapsed() < UPDATE_INTERVAL {
            return;
        }
        self.updated.set(Instant::now());
        let message: String = line.trim().chars().take(MAX_MESSAGE_LEN).collect();
        let update = ProgressUpdateEventBody {
            progress_id: self.progress.clone(),
            message: Some(message),
            ..ProgressUpdateEventBody::default()
        };
        report(self.send_event, &update);
    }
}

impl Drop for BuildProgress<'_> {
    fn drop(&mut self) {
        let progress_id = std::mem::take(&mut self.progress);
        report(self.send_event, &ProgressEndEventBody { progress_id, ..ProgressEndEventBody::default() });
    }
}

/// An error or a warning of a build.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CompilerDiagnostic {
    /// The path of the file.
    pub file: String,
    /// The line in the file, from 1.
    pub line: u32,
    /// The column in the line, from 1.
    pub column: u32,
    /// `error` or `warning`.
    pub severity: String,
    /// The code of the compiler, such as `CS0029`; empty if it has none.
    pub code: String,
    /// The text of the compiler.
    pub message: String,
}

/// `data` of a failed build.
#[derive(Debug, Serialize)]
struct BuildFailureData<'a> {
    diagnostics: &'a [CompilerDiagnostic],
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
}

/// The end of a build's output, for a failure of which no error was recognised.
#[derive(Debug, Default)]
pub struct OutputTail {
    lines: VecDeque<String>,
    /// The first line that begins with `error`, or else the last one, unless a reader knows better.
    reason: String,
    is_reason_set: bool,
}

impl OutputTail {
    /// Adds text that the build printed.
    pub fn push(&mut self, text: &str) {
        for line in text.lines().map(str::trim_end).filter(|line| !line.is_empty()) {
            if self.lines.len() == MAX_TAIL_LINES {
                self.lines.pop_front();
            }
            let line: String = line.chars().take(MAX_TAIL_LINE_LEN).collect();
            // Compilers end with a count of errors.
            if !self.is_reason_set && !self.reason.starts_with("error") {
                line.trim().clone_into(&mut self.reason);
            }
            self.lines.push_back(line);
        }
    }

    /// Sets the line that says why the build failed.
    pub fn set_reason(&mut self, reason: &str) {
        self.reason = reason.trim().chars().take(MAX_TAIL_LINE_LEN).collect();
        self.is_reason_set = true;
    }

    fn text(&self) -> String {
        self.lines.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

/// A build that could not be run, or not to its end.
pub fn failure(target: &Path, reason: impl std::fmt::Display) -> Failure {
    Failure::new(ErrorCode::BuildFailed, format!("cannot build `{}`: {reason}", target.display()))
}

/// A build that ran and failed: how many errors there are and where the first is. All of them are in
/// `data.diagnostics`. Where none was recognised, the message is one line of the output, and `data.output` is
/// its end.
pub fn build_failure(target: &Path, diagnostics: &[CompilerDiagnostic], printed: &OutputTail) -> Failure {
    let errors: Vec<_> = diagnostics.iter().filter(|found| found.severity == "error").collect();
    let Some(first) = errors.first() else {
        let reason = if printed.reason.is_empty() { "it does not say why" } else { &printed.reason };
        return failure(target, reason)
            .hint("read the build's complete output in the debug console")
            .data(types::body(&BuildFailureData { diagnostics, output: Some(printed.text()) }));
    };
    let folder = if target.is_dir() { target } else { target.parent().unwrap_or(target) };
    let file = Path::new(&first.file);
    let file = file.strip_prefix(folder).unwrap_or(file).display();
    let code = if first.code.is_empty() { String::new() } else { format!(" ({})", first.code) };
    let count = match errors.len() {
        1 => "1 error, at".to_owned(),
        many => format!("{many} errors, the first at"),
    };
    failure(target, format!("{count} {file}:{}: {}{code}", first.line, first.message))
        .hint("read the build's complete output in the debug console; VS Code lists the errors in Problems")
        .data(types::body(&BuildFailureData { diagnostics, output: None }))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn a_failed_build_says_how_many_errors_there_are_and_where_the_first_is() {
        let found = |severity: &str, line: u32| CompilerDiagnostic {
            file: "/p/src/Program.cs".into(),
            line,
            column: 1,
            severity: severity.into(),
            code: "CS0029".into(),
            message: "no".into(),
        };
        let mut printed = OutputTail::default();
        printed.push("first line\n\n  last line\n");
        let failure =
            |found: &[CompilerDiagnostic]| build_failure(Path::new("/p/shop.csproj"), found, &printed);
        let message = |found: &[CompilerDiagnostic]| failure(found).message;
        assert_eq!(
            message(&[found("warning", 1), found("error", 8), found("error", 9)]),
            "cannot build `/p/shop.csproj`: 2 errors, the first at src/Program.cs:8: no (CS0029)"
        );
        assert_eq!(
            message(&[found("error", 8)]),
            "cannot build `/p/shop.csproj`: 1 error, at src/Program.cs:8: no (CS0029)"
        );
        // A linker's errors have no place.
        let unknown = failure(&[found("warning", 1)]);
        assert_eq!(unknown.message, "cannot build `/p/shop.csproj`: last line");
        assert_eq!(unknown.data["output"], "first line\n  last line");
        assert_eq!(unknown.data["diagnostics"].as_array().map(Vec::len), Some(1));
    }

    #[test]
    fn a_builds_output_is_kept_from_its_end_with_its_first_error() {
        let mut printed = OutputTail::default();
        (0..100).for_each(|number| printed.push(&format!("line {number}")));
        printed.push("error: linking with `cc` failed\n  |\n");
        printed.push(&"x".repeat(1000));
        printed.push("error: could not compile");
        assert_eq!(printed.reason, "error: linking with `cc` failed");
        let text = printed.text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines.len(), lines[0]), (MAX_TAIL_LINES, "line 74"));
        assert_eq!(lines[lines.len() - 2].len(), MAX_TAIL_LINE_LEN);
        printed.set_reason(" no Go files in /p ");
        printed.push("error: another");
        assert_eq!(printed.reason, "no Go files in /p");
    }

    #[test]
    fn progress_begins_and_ends_with_the_build_and_changes_at_a_pace_that_can_be_read() {
        let reported = RefCell::new(Vec::new());
        let tell = |event: &str, body: Value| reported.borrow_mut().push((event.to_owned(), body));
        let build = BuildProgress::begin(&tell, Path::new("/p/shop.csproj"));
        (0..1000).for_each(|number| build.line(&format!("line {number}")));
        drop(build);
        let reported = reported.into_inner();
        let (first, last) = (reported.first().unwrap(), reported.last().unwrap());
        assert_eq!(
            (first.0.as_str(), &first.1["title"]),
            ("progressStart", &Value::from("Building shop.csproj"))
        );
        assert_eq!((last.0.as_str(), &last.1["progressId"]), ("progressEnd", &first.1["progressId"]));
        assert_eq!(reported.iter().filter(|(event, _)| event == "output").count(), 1000);
        assert!(reported.len() < 1000 + 100, "{}", reported.len());
    }
}
