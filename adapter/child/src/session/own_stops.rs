//! Stops that the adapter makes for itself and by mistake reports, as if the program had a statement that
//! stops it there ([`statement_of_stop`](super::super::profile::Profile::statement_of_stop)), or although the
//! program runs without a debugger (`noDebug`): Tandem resumes them. Not here: stops that clients do not
//! want, which the hub handles.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::time::Duration;

use tandem_wire::types::{self, StackTraceResponseBody, StoppedEventBody};
use tokio_util::sync::CancellationToken;

use super::super::state::ChildState;
use super::AdapterSession;

/// How long the question where the program is stopped may take.
const STACK_TIMEOUT: Duration = Duration::from_secs(2);
/// How much of a source is read to find a line, bytes.
const MAX_SOURCE_LEN: u64 = 16 << 20;

/// Resumes the program if the adapter stopped it for itself; returns whether it did. `paused`: a client
/// requested the stop.
pub(super) async fn resume_own_stop(session: &AdapterSession, stop: &StoppedEventBody, paused: bool) -> bool {
    let never = CancellationToken::new();
    if !paused && session.has_no_debugger() && session.profile.is_native() && needs_debugger(stop) {
        return resume(session, stop, &never).await;
    }
    let Some(statement) = session.profile.statement_of_stop(stop) else { return false };
    // The adapter makes the mistake only where a program begins.
    if paused || session.state(ChildState::stops) > 0 {
        return false;
    }
    let stack = session.ask("stackTrace", types::top_frames(stop.thread_id, 1), &never);
    let Ok(Ok(stack)) = tokio::time::timeout(STACK_TIMEOUT, stack).await else { return false };
    let finding = tokio::task::spawn_blocking(move || top_line(&types::read(&stack)));
    let Some(line) = finding.await.ok().flatten() else { return false };
    if has_word(&line, statement) {
        return false;
    }
    tracing::debug!(line, "the adapter stopped the program for itself");
    resume(session, stop, &never).await
}

/// Whether a program that runs without a debugger would not stop there: where it becomes another program, or
/// at a signal.
fn needs_debugger(stop: &StoppedEventBody) -> bool {
    matches!(stop.reason.as_str(), "entry" | "exception" | "signal")
}

async fn resume(session: &AdapterSession, stop: &StoppedEventBody, never: &CancellationToken) -> bool {
    match session.ask("continue", types::of_thread(stop.thread_id), never).await {
        Ok(_) => true,
        Err(failure) => {
            tracing::debug!(%failure, "the program is not resumed");
            false
        }
    }
}

/// The line of the source at which the top frame is stopped, if a file has it.
fn top_line(stack: &StackTraceResponseBody) -> Option<String> {
    let frame = stack.stack_frames.first()?;
    let path = frame.source.as_ref()?.path.as_deref().map(Path::new)?;
    // Others could block.
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let before = usize::try_from(frame.line).ok()?.checked_sub(1)?;
    let text = BufReader::new(File::open(path).ok()?.take(MAX_SOURCE_LEN));
    text.split(b'\n').nth(before)?.ok().map(|line| String::from_utf8_lossy(&line).into_owned())
}

/// Whether the line has the word.
fn has_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '$').any(|part| part == word)
}

#[cfg(test)]
mod tests {
    use tandem_wire::types::{Source, StackFrame};

    use super::*;

    #[test]
    fn a_statement_is_a_word_of_its_line() {
        for line in ["debugger", "  debugger;", "if (x) { debugger }", "run();debugger;"] {
            assert!(has_word(line, "debugger"), "{line}");
        }
        for line in ["", "const { fork } = require('child_process');", "debuggers()", "$debugger = 1"] {
            assert!(!has_word(line, "debugger"), "{line}");
        }
    }

    #[test]
    fn the_line_of_a_stop_is_that_of_its_top_frame_in_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.js");
        std::fs::write(&file, b"one\ntwo \xff\n").unwrap();
        let at = |path: Option<&Path>, line| {
            let path = path.map(|path| path.display().to_string());
            let source = Some(Source { path, ..Source::default() });
            let stack_frames = vec![StackFrame { source, line, ..StackFrame::default() }];
            top_line(&StackTraceResponseBody { stack_frames, ..StackTraceResponseBody::default() })
        };
        assert_eq!(at(Some(&file), 1).as_deref(), Some("one"));
        assert_eq!(at(Some(&file), 2).as_deref(), Some("two \u{fffd}"));
        for none in [at(Some(&file), 0), at(Some(&file), 3), at(Some(folder.path()), 1), at(None, 1)] {
            assert_eq!(none, None);
        }
        assert_eq!(top_line(&StackTraceResponseBody::default()), None);
    }
}
