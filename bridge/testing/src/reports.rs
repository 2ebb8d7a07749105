//! Reads the lines that Tandem's helpers inside a framework (a pytest plug-in, a jest reporter) write into a
//! named pipe: one JSON object each. They do not use the program's output, because it belongs to the tests.
//!
//! `started` has a test and its place, `paused` one that may run again, `finished` its result, `planned` how
//! many results will follow, `test` a test that is listed, `broken` a source that cannot be loaded, `part` a
//! piece of a long line.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde::Deserialize;
use tandem_wire::{ErrorCode, Failure, types};
use tandem_workspace::process::output::LineSplitter;
use tokio::net::unix::pipe::{OpenOptions, Receiver};

use crate::model::{TestItem, TestResult};
use crate::results::TestResults;

/// The variable that names the pipe for our helpers.
pub(crate) const VARIABLE: &str = "TANDEM_TEST_REPORTS";
/// Tests that one list may hold.
const MAX_TESTS: usize = 200_000;
/// Sources that cannot be loaded, of which is reported.
const MAX_BROKEN: usize = 100;
/// Lines that come in parts at the same time, and bytes of one.
const MAX_PARTED: usize = 256;
const MAX_PARTS: usize = 1 << 20;

/// A source that its framework cannot load.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct LoadError {
    /// Path of the source, as the framework reports it.
    pub file: String,
    /// Line from 1; 0 if it is unknown.
    pub line: u32,
    /// Why it cannot be loaded.
    pub message: String,
}

/// A report of a helper: one line.
#[derive(Deserialize)]
#[serde(tag = "event", rename_all = "camelCase")]
enum HelperReport {
    Started {
        #[serde(default, deserialize_with = "types::required")]
        id: String,
        #[serde(default, deserialize_with = "types::required")]
        file: Option<String>,
        #[serde(default, deserialize_with = "types::required")]
        line: Option<u32>,
    },
    Finished(Box<TestResult>),
    Paused {
        #[serde(default, deserialize_with = "types::required")]
        id: String,
    },
    Planned {
        #[serde(default, deserialize_with = "types::required")]
        count: u64,
    },
    Test(Box<TestItem>),
    Broken(LoadError),
}

/// A piece of a long line.
#[derive(Deserialize)]
struct LinePart {
    /// The line that it belongs to.
    of: String,
    text: String,
    /// Whether further parts follow.
    #[serde(default, deserialize_with = "types::required")]
    more: bool,
}

/// Reports of helpers other than results.
#[derive(Debug, Default)]
pub struct CollectedReports {
    /// The tests that helpers have listed.
    pub tests: Vec<TestItem>,
    /// Sources that cannot be loaded.
    pub broken: Vec<LoadError>,
}

/// The reading end of a pipe for our helpers.
#[derive(Debug)]
pub struct ReportPipe {
    path: PathBuf,
    receiver: Receiver,
    lines: LineSplitter,
    collected: CollectedReports,
    parts: HashMap<String, String>,
}

impl ReportPipe {
    /// Creates the pipe in the folder for this run's files.
    ///
    /// # Errors
    /// `IO_FAILED` when the pipe cannot be created.
    pub fn open(scratch: &Path) -> Result<Self, Failure> {
        let path = scratch.join("reports");
        let failed = |error: std::io::Error| {
            let message = format!("cannot make the pipe `{}` for reports of tests: {error}", path.display());
            Failure::new(ErrorCode::IoFailed, message)
        };
        if !path.exists() {
            mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
                .map_err(|error| failed(error.into()))?;
        }
        // Keep a writing end open, so that the pipe stays open between helpers.
        let receiver = OpenOptions::new().read_write(true).open_receiver(&path).map_err(failed)?;
        Ok(Self {
            path,
            receiver,
            lines: LineSplitter::default(),
            collected: CollectedReports::default(),
            parts: HashMap::new(),
        })
    }

    /// Path of the pipe, for the helpers' environment.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads forever; to be raced against the end of the process.
    pub async fn follow(&mut self, results: &TestResults) {
        loop {
            if self.receiver.readable().await.is_err() {
                return std::future::pending().await;
            }
            self.take(results);
            tokio::task::yield_now().await;
        }
    }

    /// Reads the reports that have arrived, without waiting.
    pub fn take(&mut self, results: &TestResults) {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(count @ 1..) = self.receiver.try_read(&mut buffer) {
            let bytes = buffer.get(..count).unwrap_or_default();
            let (collected, parts) = (&mut self.collected, &mut self.parts);
            self.lines.push(bytes, |line| match whole(line, parts) {
                Some(whole) => line_of(&whole, results, collected),
                None => line_of(line, results, collected),
            });
        }
    }

    /// Returns the reports since the last call.
    pub fn take_collected(&mut self) -> CollectedReports {
        std::mem::take(&mut self.collected)
    }
}

/// Returns the line that this part completes. Helpers split long lines, because several processes write to
/// one pipe and only short writes are atomic.
fn whole(line: &str, parts: &mut HashMap<String, String>) -> Option<String> {
    let part = line.strip_prefix(r#"{"event":"part","#)?;
    let part: LinePart = serde_json::from_str(&format!("{{{part}")).ok()?;
    if parts.len() >= MAX_PARTED && !parts.contains_key(&part.of) {
        return None;
    }
    let text = parts.entry(part.of.clone()).or_default();
    if text.len() < MAX_PARTS {
        text.push_str(&part.text);
    }
    if part.more { None } else { parts.remove(&part.of) }
}

/// Parses a line; lines of other origin are ignored.
fn line_of(line: &str, results: &TestResults, collected: &mut CollectedReports) {
    match serde_json::from_str::<HelperReport>(line) {
        Ok(HelperReport::Started { id, file, line }) => results.start_test_at(&id, file.zip(line)),
        Ok(HelperReport::Finished(result)) => results.finish_test(*result),
        Ok(HelperReport::Paused { id }) => results.end_without_result(&id),
        Ok(HelperReport::Planned { count }) => results.plan(count),
        Ok(HelperReport::Test(test)) if collected.tests.len() < MAX_TESTS => collected.tests.push(*test),
        Ok(HelperReport::Broken(error)) if collected.broken.len() < MAX_BROKEN => {
            collected.broken.push(error);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::model::TestStatus;

    #[tokio::test]
    async fn reports_are_read_from_every_helper() {
        let folder = tempfile::tempdir().unwrap();
        let mut reports = ReportPipe::open(folder.path()).unwrap();
        let results = TestResults::default();
        for text in [
            r#"{"event":"started","id":"a"}"#,
            "no JSON",
            r#"{"event":"planned","count":2}"#,
            r#"{"event":"finished","id":"a","outcome":"failed","message":"é","line":3,"durationMs":7}"#,
            r#"{"event":"test","id":"b","class":"B","traits":["slow"],"new":1}"#,
            r#"{"event":"part","of":"1.1","text":"{\"event\":\"broken\",\"file\":\"c.py\",","more":true}"#,
            r#"{"event":"part","of":"2.1","text":"{}","more":false}"#,
            r#"{"event":"part","of":"1.1","text":"\"line\":2,\"message\":\"no\"}","more":false}"#,
        ] {
            let mut pipe = std::fs::OpenOptions::new().write(true).open(reports.path()).unwrap();
            writeln!(pipe, "{text}").unwrap();
        }
        tokio::select! {
            biased;
            () = reports.follow(&results) => unreachable!("it reads for ever"),
            () = tokio::time::sleep(std::time::Duration::from_millis(50)) => {}
        }
        let failed = &results.stored_results().failures[0];
        assert_eq!(
            (failed.outcome, failed.message.as_str(), failed.line),
            (TestStatus::Failed, "é", Some(3))
        );
        assert_eq!(results.missing_counts(), (1, 2));
        let collected = reports.take_collected();
        assert_eq!((collected.tests[0].class.as_str(), collected.tests[0].traits.len()), ("B", 1));
        assert_eq!(collected.broken[0].line, 2);
    }
}
