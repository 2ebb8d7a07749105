//! Marks between frames: where a thread left managed code and returned, and where the debugger runs an
//! evaluation. Runtime frames reveal no more.

use cordebug::frame::{Frame, InternalFrame};

use super::StackEntry;
use crate::debuggee::ClrDebuggee;
use crate::names::LIGHTWEIGHT;

/// Most runtime frames that are read.
const MAX_RUNTIME_FRAMES: u32 = 4096;

impl ClrDebuggee {
    /// The frames of a thread with marks between them. None above the top, because a stop is in code; none
    /// below the bottom, because every thread begins in the runtime.
    pub(super) fn insert_transitions(&self, thread: u32, frames: &[Frame]) -> Vec<StackEntry> {
        let internal =
            self.thread(thread).ok().and_then(|thread| thread.internal_frames(MAX_RUNTIME_FRAMES).ok());
        let mut placed: Vec<(usize, &'static str)> = Vec::new();
        for (kind, address) in internal.unwrap_or_default() {
            // Stacks grow down, and a frame's address is its lowest: this many begin below it.
            let below =
                frames.partition_point(|frame| frame.stack_range().is_ok_and(|(start, _)| start <= address));
            // The runtime's way into a handler is not a call of its method.
            let is_behind_handler =
                below.checked_sub(1).and_then(|at| frames.get(at)).is_some_and(Frame::is_handler);
            // A transition to native code lies in the frame of its caller, other ones between two frames.
            let at = below.saturating_sub(usize::from(kind == InternalFrame::ManagedToNative));
            let is_between = at > 0 && at < frames.len();
            // A lightweight function has its own frame.
            if is_between && !is_behind_handler && kind != InternalFrame::LightweightFunction {
                placed.push((at, name(kind)));
            }
        }
        placed.dedup();
        let mut placed = placed.into_iter().peekable();
        let mut rows = Vec::with_capacity(frames.len());
        for index in 0..frames.len() {
            while let Some((_, text)) = placed.next_if(|(at, _)| *at <= index) {
                rows.push(StackEntry::Mark(text));
            }
            rows.push(StackEntry::Own(index));
        }
        rows
    }
}

/// Display name of a runtime frame.
pub(super) fn name(kind: InternalFrame) -> &'static str {
    match kind {
        InternalFrame::ManagedToNative => "[Managed to Native Transition]",
        InternalFrame::NativeToManaged => "[Native to Managed Transition]",
        InternalFrame::LightweightFunction => LIGHTWEIGHT,
        InternalFrame::FunctionEvaluation => "[Function Evaluation]",
        InternalFrame::InternalCall => "[Internal Call]",
        InternalFrame::ClassInitialization => "[Class Initialization]",
        InternalFrame::Exception => "[Exception]",
        InternalFrame::Compilation => "[Compilation]",
        InternalFrame::Other(_) => "[Runtime]",
    }
}
