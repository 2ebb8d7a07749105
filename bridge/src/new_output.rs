//! New output of a program in an answer: what it printed and what breakpoints logged since the agent last saw
//! it.
//!
//! Not here: the output as a tool reads it (`tools::program_io`), the lines of log messages
//! ([`crate::logpoints`]).

use serde::Serialize;
use tandem_wire::types::ReadOutputBody;

use crate::logpoints::LogpointBuffer;
use crate::session::AgentSession;
use crate::session::requests::ReadOutputArguments;

/// Output that the agent has not seen before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NewOutput {
    /// The text of stdout, without escape codes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
    /// The text of stderr, without escape codes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// How to read on, where a stream has more than fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    more: Option<&'static str>,
    /// The cursor with which a read continues then: it is after the returned part.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
    /// Bytes that were dropped before anyone read them.
    #[serde(skip_serializing_if = "Option::is_none")]
    dropped: Option<u64>,
    /// Lines of log messages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    logged: Vec<String>,
    /// Older lines of log messages that were dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    logged_dropped: Option<u64>,
    /// Faults of the program's input and output.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl NewOutput {
    /// Takes the output of the program and of log breakpoints that the agent has not read; at most `limit`
    /// bytes of each stream.
    pub async fn take(session: &AgentSession, limit: usize) -> Self {
        // A program that another one started has its pipes.
        let root = session.root();
        let since = root.agent_view.cursor();
        let request =
            ReadOutputArguments { since, max_bytes: limit as u64, ..ReadOutputArguments::default() };
        let mut output = match root.send(&request).await {
            Ok(read) => {
                if !read.cursor.is_empty() {
                    root.agent_view.set_cursor(&read.cursor);
                }
                Self::of(read, limit)
            }
            // Its output is not readable here.
            Err(_) => Self::default(),
        };
        output.warnings = root.listener.take_warnings();
        if let Some((lines, dropped)) = session.listener.with_logpoints(LogpointBuffer::take) {
            output.add_logged(lines, dropped);
        }
        output
    }

    /// The output of a read that was limited to so many bytes of each stream.
    fn of(read: ReadOutputBody, limit: usize) -> Self {
        let [stdout, stderr] = [read.stdout, read.stderr].map(|text| text.filter(|text| !text.is_empty()));
        // A character may not have fitted any more.
        let is_full = [&stdout, &stderr].into_iter().flatten().any(|text| text.len() + 4 > limit);
        let strip = |text: String| anstream::adapter::strip_str(&text).to_string();
        Self {
            stdout: stdout.map(strip),
            stderr: stderr.map(strip),
            more: is_full.then_some("process_read_output {since: cursor} continues"),
            cursor: is_full.then_some(read.cursor),
            dropped: Some(read.dropped).filter(|dropped| *dropped > 0),
            ..Self::default()
        }
    }

    /// Adds lines of log messages, and the number of older ones that were dropped.
    fn add_logged(&mut self, lines: Vec<String>, dropped: u64) {
        self.logged = lines;
        self.logged_dropped = Some(dropped).filter(|dropped| *dropped > 0);
    }

    /// The output, unless there is none.
    pub fn some(self) -> Option<Self> {
        Some(self).filter(|output| *output != Self::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_that_does_not_fit_says_how_to_read_on() {
        let read = ReadOutputBody {
            cursor: "o9.e2".into(),
            stdout: Some("\u{1b}[1m12345".into()),
            stderr: Some(String::new()),
            ..ReadOutputBody::default()
        };
        let text = |limit| serde_json::to_string(&NewOutput::of(read.clone(), limit)).unwrap();
        assert_eq!(text(100), r#"{"stdout":"12345"}"#);
        let more = r#""more":"process_read_output {since: cursor} continues","cursor":"o9.e2""#;
        assert_eq!(text(10), format!(r#"{{"stdout":"12345",{more}}}"#));
        assert_eq!(NewOutput::of(ReadOutputBody::default(), 10).some(), None);
    }
}
