//! Numbers of the rows of a stack: which rows are frames of the thread, async callers, labels, and methods
//! that have ended. Walks no stack ([`super::stack`]).

use tandem_wire::Failure;

/// Deepest stack that is walked.
pub(super) const MAX_DEPTH: usize = 10_000;
/// Numbers of frames from here on belong to async callers; those of the thread's own frames count from 0.
pub(super) const FIRST_AWAITING_FRAME: usize = 1 << 20;
/// Numbers from here on belong to rows that are not frames.
pub(super) const FIRST_LABEL_FRAME: usize = 2 << 20;
/// Numbers from here on belong to methods that have thrown and ended.
pub(super) const FIRST_ENDED_FRAME: usize = 3 << 20;

/// Refuses a frame whose method has ended.
pub(super) fn is_alive(frame: usize) -> Result<(), Failure> {
    if frame < FIRST_ENDED_FRAME {
        return Ok(());
    }
    let text = "this method has thrown the exception and ended: it has no variables any more";
    Err(Failure::invalid(text).hint("read `$exception` in the top frame of the thread").quiet())
}
