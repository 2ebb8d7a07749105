//! The place where a step ended, from the frames of the stack: engines renumber frames at each stop, so
//! function, source and caller identify a frame; if a function calls itself, the number of frames does.
//!
//! Not here: which request follows from it ([`super`]).

use tandem_wire::types::StackFrame;

use super::FollowedFrame;

/// The caller of a frame: function, path and line.
pub(super) type Caller = (String, Option<String>, i64);

/// The kind of place where a step ended, relative to the frame before it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum StepEnd {
    /// Nothing was followed before.
    Start,
    /// In the innermost call that is followed.
    Same,
    /// In a function that it calls.
    Called,
    /// In this level: the calls below it have returned.
    Back { to: usize },
    /// In the caller of the call that is followed.
    Caller,
    /// In a library below the call.
    Library,
    /// In none of these: the program has left the followed call.
    Gone,
}

/// The path of a frame's source.
pub(super) fn path(frame: &StackFrame) -> Option<String> {
    frame.source.as_ref()?.path.clone()
}

/// Parts of paths that only sources of libraries and runtimes have.
const LIBRARIES: [&str; 10] = [
    "/site-packages/",
    "/dist-packages/",
    "/node_modules/",
    "<node_internals>",
    "/rustc/",
    "/.cargo/registry/",
    "/go/src/",
    "/pkg/mod/",
    "/lib/python",
    "/lib/ruby/",
];

/// Whether a frame is of the user's code: it has a source that is not marked as a library's.
pub(super) fn is_users(frame: &StackFrame) -> bool {
    let hint = frame.presentation_hint.as_deref();
    let of_library = |path: &str| {
        path.starts_with("/usr/") || path.starts_with('<') || LIBRARIES.iter().any(|part| path.contains(part))
    };
    !matches!(hint, Some("subtle" | "label"))
        && frame.source.as_ref().is_some_and(|source| {
            source.presentation_hint.as_deref() != Some("deemphasize")
                && source.path.as_deref().is_some_and(|path| !path.is_empty() && !of_library(path))
        })
}

pub(super) fn is(frame: &StackFrame, level: &FollowedFrame) -> bool {
    frame.name == level.name && path(frame) == level.path
}

pub(super) fn as_caller(frame: &StackFrame) -> Caller {
    (frame.name.clone(), path(frame), frame.line)
}

/// Whether a frame, or the absence of one, is the caller of a level.
fn calls(frame: Option<&StackFrame>, level: &FollowedFrame) -> bool {
    frame.map(as_caller) == level.caller
}

/// Whether a frame is a block of the function below, and not a separate function: Ruby's
/// loops consist of blocks.
pub(super) fn is_block(frame: &StackFrame) -> bool {
    frame.name.starts_with("block ")
}

/// The place of the top of this stack, relative to the followed frames.
pub(super) fn locate(levels: &[FollowedFrame], frames: &[StackFrame], recursive: bool) -> StepEnd {
    let (Some(top), Some(level)) = (frames.first(), levels.last()) else { return StepEnd::Start };
    if recursive {
        return by_height(levels, frames);
    }
    if is(top, level) && calls(frames.get(1), level) {
        return StepEnd::Same;
    }
    if frames.get(1).is_some_and(|second| is(second, level)) && calls(frames.get(2), level) {
        return StepEnd::Called;
    }
    let back = levels.iter().enumerate().rev().skip(1);
    for (to, outer) in back {
        if is(top, outer) && calls(frames.get(1), outer) {
            return StepEnd::Back { to };
        }
    }
    if let Some(first) = levels.first()
        && first.caller.as_ref().is_some_and(|(name, source, _)| *name == top.name && *source == path(top))
    {
        return StepEnd::Caller;
    }
    // Below frames of a library: a callback.
    let deeper = (1..frames.len()).any(|at| {
        let below = frames.get(at).is_some_and(|frame| is(frame, level));
        below && calls(frames.get(at + 1), level)
    });
    match deeper {
        true if is_users(top) => StepEnd::Called,
        true => StepEnd::Library,
        // A method that awaits is resumed by another caller than its first.
        false if is(top, level) && frames.len() >= 2 => StepEnd::Same,
        false => StepEnd::Gone,
    }
}

fn by_height(levels: &[FollowedFrame], frames: &[StackFrame]) -> StepEnd {
    let (Some(top), Some(last)) = (frames.first(), levels.last()) else { return StepEnd::Start };
    let height = frames.len();
    if height > last.height {
        return if is_users(top) { StepEnd::Called } else { StepEnd::Library };
    }
    let found = levels.iter().enumerate().rev().find(|(_, level)| level.height == height && is(top, level));
    match found {
        Some((at, _)) if at + 1 == levels.len() => StepEnd::Same,
        Some((to, _)) => StepEnd::Back { to },
        None if levels.first().is_some_and(|first| height < first.height) => StepEnd::Caller,
        None => StepEnd::Gone,
    }
}
