//! `run_command`: any program, run as the user who started the bridge, in a root. Only when that person
//! allowed it.
//!
//! Not here: splitting a command line ([`crate::command_line`]), and running a process
//! ([`crate::process`]).

use std::time::Duration;

use serde::Serialize;
use serde_json::json;
use tandem_error::{ErrorCode, Failure};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::answer_error::AnswerError;
use crate::build::RUN_TIMEOUT;
use crate::jobs::ProgressSink;
use crate::process::output::CapturedOutput;
use crate::process::{OutputStream, ProcessCommand, Sink};

/// The answer of `run_command`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandResult {
    command: String,
    /// The exit code of the program.
    pub exit_code: i32,
    duration_ms: u64,
    /// The end of what it printed to stdout.
    pub stdout: String,
    /// The end of what it printed to stderr.
    pub stderr: String,
    /// Bytes of both that are not in the answer.
    #[serde(skip_serializing_if = "is_zero")]
    omitted: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<AnswerError>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Runs a command to its end. An exit code other than 0 is an answer with `error` in it.
///
/// # Errors
/// `COMMAND_FAILED` when it cannot be started, `TIMEOUT`, `CANCELLED`.
pub async fn run(
    command: ProcessCommand,
    output_bytes: usize,
    cancel: CancellationToken,
    say: ProgressSink,
) -> Result<CommandResult, Failure> {
    let began = Instant::now();
    let mut sink =
        CommandSink { kept: CapturedOutput::new(output_bytes, output_bytes), say: &say, last: began };
    let ended = command.run(&mut sink, RUN_TIMEOUT, &cancel).await.map_err(|failure| match failure.code {
        ErrorCode::Timeout => {
            failure.data(json!({ "stdout": sink.kept.out.text(), "stderr": sink.kept.err.text() }))
        }
        _ => failure,
    })?;
    let error = (!ended.success()).then(|| {
        let message = format!("`{}` ended with {ended}", command.program.to_string_lossy());
        AnswerError::from(Failure::new(ErrorCode::CommandFailed, message))
    });
    Ok(CommandResult {
        command: command.line(),
        exit_code: ended.code,
        duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        stdout: sink.kept.out.text(),
        stderr: sink.kept.err.text(),
        omitted: sink.kept.out.dropped_bytes() + sink.kept.err.dropped_bytes(),
        error,
    })
}

/// Keeps the output, and reports its last line at intervals.
struct CommandSink<'a> {
    kept: CapturedOutput,
    say: &'a ProgressSink,
    last: Instant,
}

impl Sink for CommandSink<'_> {
    fn take(&mut self, stream: OutputStream, bytes: &[u8]) {
        self.kept.take(stream, bytes);
        if self.last.elapsed() >= Duration::from_millis(500) {
            self.last = Instant::now();
            let text =
                String::from_utf8_lossy(bytes.get(bytes.len().saturating_sub(400)..).unwrap_or_default());
            let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
            (self.say)(line.trim());
        }
    }
}
