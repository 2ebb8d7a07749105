//! Continuing at another statement than the one where the program is stopped, by `gotoTargets` and
//! `goto`. Which statement is the next one is read from the text of the source: the engines say which
//! lines have one, not in which order they run.

use std::time::Duration;

use tandem_wire::types::{GotoTargetsArguments, Source, StackFrame};
use tandem_wire::{ErrorCode, Failure};

use super::SkipTarget;
use crate::session::AgentSession;
use crate::session::requests::GotoArguments;
use crate::source::SourceText;
use crate::tools::shown_frame::path_of;

/// Number of lines below a statement that are searched for the next one.
const MAX_LINES_BELOW: u64 = 40;
/// Time limit for the stop at the other statement.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// Moves a thread that is stopped in this frame.
///
/// # Errors
/// `UNSUPPORTED` when there is no such statement, or the engine refuses it.
pub(super) async fn skip(
    session: &AgentSession,
    thread: i64,
    frame: &StackFrame,
    skip: SkipTarget,
) -> Result<(), Failure> {
    let (Some(path), Ok(line)) = (path_of(frame), u64::try_from(frame.line)) else {
        return Err(Failure::new(ErrorCode::Unsupported, "cannot skip a statement without a source"));
    };
    let lines = match skip {
        SkipTarget::Nothing => return Ok(()),
        SkipTarget::To(line) => vec![line],
        SkipTarget::Statement => {
            let text =
                SourceText::read(path).map(|source| source.lines(line, MAX_LINES_BELOW)).unwrap_or_default();
            let end = end_line(session, path, line).await;
            next_lines(&text, line, end)
        }
    };
    let cannot = |why: &str| {
        Failure::new(ErrorCode::Unsupported, format!("cannot skip line {line}: {why}"))
            .hint("set `skipTo` to the line to continue at")
    };
    for line in lines {
        let targets = session.send(&targets_at(path, line)).await?.targets;
        if let Some(target) = targets.first() {
            let went = jump_to(session, thread, target.id).await;
            return went.map_err(|failure| cannot(&failure.message));
        }
    }
    Err(cannot("no statement of its block follows, so its text does not show which one runs next"))
}

/// The last line of the statement that begins there, if the engine reports it.
async fn end_line(session: &AgentSession, path: &str, line: u64) -> u64 {
    let body = session.send(&targets_at(path, line)).await.unwrap_or_default();
    let end = body.targets.first().and_then(|target| u64::try_from(target.end_line?).ok());
    end.unwrap_or(line).max(line)
}

/// The request for the statements at a line to which a thread can move.
fn targets_at(path: &str, line: u64) -> GotoTargetsArguments {
    GotoTargetsArguments {
        source: Source { path: Some(path.to_owned()), ..Source::default() },
        line: i64::try_from(line).unwrap_or(i64::MAX),
        ..GotoTargetsArguments::default()
    }
}

async fn jump_to(session: &AgentSession, thread: i64, target: i64) -> Result<(), Failure> {
    let seen = session.snapshot().news;
    session.send(&GotoArguments { thread_id: thread, target_id: target }).await?;
    let mut snapshot = session.watch_snapshot();
    let stopped = snapshot.wait_for(|snapshot| snapshot.news > seen);
    match tokio::time::timeout(STOP_TIMEOUT, stopped).await {
        Ok(_) => Ok(()),
        Err(_) => Err(Failure::new(ErrorCode::Timeout, "the engine did not move there")),
    }
}

/// Words that begin what runs instead of the statement before.
const BRANCH_KEYWORDS: [&str; 6] = ["else", "elif", "except", "catch", "finally", "case"];

/// Candidates for the next statement: the lines of the same block below `end`, up to its end.
fn next_lines(text: &[String], line: u64, end: u64) -> Vec<u64> {
    let depth = |text: &str| text.len() - text.trim_start().len();
    let own = text.first().map(|text| depth(text)).unwrap_or_default();
    let mut found = Vec::new();
    for (at, text) in (line..).zip(text).skip_while(|(at, _)| *at <= end) {
        let bare = text.trim();
        let is_comment = ["//", "#", "/*", "*"].iter().any(|start| bare.starts_with(start));
        // The end of a statement of several lines.
        let ends = bare.starts_with([')', ']']);
        if bare.is_empty() || is_comment || ends || depth(text) > own {
            continue;
        }
        let word: String =
            bare.trim_start_matches(['}', ' ']).chars().take_while(|one| one.is_alphanumeric()).collect();
        if BRANCH_KEYWORDS.contains(&word.as_str()) {
            // Only one of the branches at this level runs.
            if depth(text) < own {
                break;
            }
            continue;
        }
        let closes = bare.starts_with('}');
        if depth(text) == own {
            // `{` alone begins what the statement's head belongs to.
            if bare != "{" && !closes {
                found.push(at);
            }
            continue;
        }
        // In some languages (C#) the end of a block is a statement, and the code after it
        // may not be what runs next.
        if closes {
            found.push(at);
        }
        break;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(text: &str, line: u64) -> Vec<u64> {
        let lines: Vec<String> = text.lines().skip(line as usize - 1).map(str::to_owned).collect();
        next_lines(&lines, line, line)
    }

    #[test]
    fn the_next_statement_is_in_the_same_block() {
        let python = "def f(x):\n    a = 1\n    if x:\n        a = 2\n    else:\n        a = 3\n\
            \n    # says it\n    return a\nf(1)\n";
        assert_eq!(next(python, 2), [3, 9]);
        assert_eq!(next(python, 3), [9]);
        assert!(next(python, 4).is_empty(), "what runs after a block is not the line behind it");
        assert!(next(python, 9).is_empty());
        let csharp = "void F() {\n    A();\n    if (x)\n    {\n        B();\n    }\n    else\n    \
            {\n        C();\n    }\n    D();\n}\n";
        assert_eq!(next(csharp, 2), [3, 11, 12]);
        assert_eq!(next(csharp, 3), [11, 12]);
        assert_eq!(next(csharp, 5), [6]);
    }
}
