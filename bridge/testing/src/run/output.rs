//! The output of a process with tests: the interface of its reader, and what passes each line to it and to
//! the report of the run.
//!
//! Not here: the readers themselves, which belong to their frameworks.

use tandem_workspace::build::report::BuildReport;
use tandem_workspace::jobs::ProgressSink;
use tandem_workspace::process::output::{BoundedOutput, LineSplitter};
use tandem_workspace::process::{OutputStream, Sink};

use crate::results::TestResults;

/// Length of the kept stderr and stdout of a process, in bytes, for a test during which it ended.
const MAX_TAIL: usize = 2 << 10;

/// Reads what a process with tests prints.
pub trait OutputReader: Send {
    /// One line, without its end. The report may contain lines that
    /// [`hides`](Self::hides) hides from the output.
    fn line(&mut self, stream: OutputStream, line: &str, report: &mut BuildReport, results: &TestResults);

    /// The beginning of a line, whose end may never come.
    fn partial_line(&mut self, _text: &str, _results: &TestResults) {}

    /// Whether the reader handles [`partial_line`](Self::partial_line).
    fn wants_partial_lines(&self) -> bool {
        false
    }

    /// The process has ended.
    fn end(&mut self, _results: &TestResults) {}

    /// Whether a line is the runner's own and no output worth keeping.
    fn hides(&self, _line: &str) -> bool {
        false
    }
}

/// Reads nothing: helpers, files or a protocol report the results.
pub(crate) struct NullReader;

impl OutputReader for NullReader {
    fn line(&mut self, _: OutputStream, _: &str, _: &mut BuildReport, _: &TestResults) {}
}

/// Passes the output of a process to its reader, and to the report of the run.
pub(super) struct OutputForwarder<'a> {
    reader: &'a mut dyn OutputReader,
    report: &'a mut BuildReport,
    results: &'a TestResults,
    say: &'a ProgressSink,
    lines: [LineSplitter; 2],
    last: BoundedOutput,
}

impl<'a> OutputForwarder<'a> {
    pub(super) fn new(
        reader: &'a mut dyn OutputReader,
        report: &'a mut BuildReport,
        results: &'a TestResults,
        say: &'a ProgressSink,
    ) -> Self {
        Self { reader, report, results, say, lines: Default::default(), last: BoundedOutput::new(MAX_TAIL) }
    }

    /// Reads the last lines; returns the beginning and the end of the output.
    pub(super) fn end(mut self) -> String {
        let Self { reader, report, results, lines: [out, err], last, .. } = &mut self;
        for (stream, lines) in [(OutputStream::Out, out), (OutputStream::Err, err)] {
            lines.end(|line| take_line(stream, line, *reader, report, results, last));
        }
        reader.end(results);
        self.last.text()
    }
}

impl Sink for OutputForwarder<'_> {
    fn take(&mut self, stream: OutputStream, bytes: &[u8]) {
        let Self { reader, report, results, say, lines: [out, err], last } = self;
        let lines = if stream == OutputStream::Out { out } else { err };
        lines.push(bytes, |line| take_line(stream, line, *reader, report, results, last));
        if stream == OutputStream::Out && reader.wants_partial_lines() {
            reader.partial_line(&lines.rest(), results);
        }
        // Of tests, the results say more.
        if let Some(line) = report.last_line().filter(|_| results.counts().total() == 0) {
            say(line);
        }
    }
}

fn take_line(
    stream: OutputStream,
    line: &str,
    reader: &mut dyn OutputReader,
    report: &mut BuildReport,
    results: &TestResults,
    last: &mut BoundedOutput,
) {
    reader.line(stream, line, report, results);
    if !reader.hides(line) {
        report.say(line);
        last.push(line.as_bytes());
        last.push(b"\n");
    }
}

/// The beginning and the end of what was printed.
pub(super) fn bounded_tail(printed: &str) -> String {
    let mut kept = BoundedOutput::new(MAX_TAIL);
    kept.push(printed.as_bytes());
    kept.text()
}
