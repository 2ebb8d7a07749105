//! State of the program's threads: the last list, calls that stay on them, and the one at an exception.
//!
//! Not here: the list itself ([`super::threads`]).

use std::cell::RefCell;
use std::collections::HashMap;

use cordebug::frame::Frame;
use cordebug::thread::Thread;
use cordebug::value::{Handle, Value as ClrValue};
use serde_json::Value;

/// Lowest and highest address of a frame.
pub(super) type StackRange = (u64, u64);

/// State of a thread that stopped at an exception.
struct ExceptionStop {
    thread: u32,
    /// The exception of the stop if the thread throws none: the program has caught it already.
    given: Option<Handle>,
    /// The frame that threw, if the runtime is about to call handlers: frames above it are not the program's.
    below: Option<StackRange>,
}

/// State of the program's threads.
#[derive(Default)]
pub(super) struct ManagedThreads {
    /// Threads that were requested, until they end: listing them all costs the runtime
    /// milliseconds at every stop.
    pub(super) known: RefCell<HashMap<u32, Thread>>,
    /// The last list. Each list needs a short stop of a running program, which takes the runtime up to 20 ms,
    /// so it serves all clients until something may have changed it.
    pub(super) listed: Option<Value>,
    /// By thread, the frame below a call that could not be ended.
    left: HashMap<u32, StackRange>,
    at_exception: Option<ExceptionStop>,
}

impl ManagedThreads {
    /// A request begins. Any other than `threads` may change the list, because it resumes the
    /// program or runs its code.
    pub(super) fn begin(&mut self, command: &str) {
        if command != "threads" {
            self.forget_list();
        }
    }

    /// Drops the list: threads start, end, and change their names with callbacks.
    pub(super) fn forget_list(&mut self) {
        self.listed = None;
    }

    /// A call stays on a thread, above this frame.
    pub(super) fn leave_call(&mut self, thread: u32, below: StackRange) {
        self.left.insert(thread, below);
    }

    /// The call that stayed on a thread has ended.
    pub(super) fn forget_call(&mut self, thread: u32) {
        self.left.remove(&thread);
    }

    /// A thread stops at an exception; `given`: the exception, if the thread throws none.
    pub(super) fn stop_at_exception(&mut self, thread: u32, given: Option<Handle>) {
        self.forget_exception();
        self.at_exception = Some(ExceptionStop { thread, given, below: None });
    }

    /// The thread at the exception is about to call handlers of it; this frame has thrown.
    pub(super) fn exception_thrown_below(&mut self, below: StackRange) {
        if let Some(at) = &mut self.at_exception {
            at.below = Some(below);
        }
    }

    /// The program resumes: no thread is at an exception stop.
    pub(super) fn forget_exception(&mut self) {
        if let Some(given) = self.at_exception.take().and_then(|at| at.given) {
            given.dispose().unwrap_or_default();
        }
    }

    /// The first frame of a thread's own stack, if there are others above it.
    pub(super) fn own_top(&self, thread: u32) -> Option<StackRange> {
        let at_exception = self.at_exception.as_ref().filter(|at| at.thread == thread);
        self.left.get(&thread).copied().or_else(|| at_exception?.below)
    }

    /// Frames of a call that could not be ended are not the program's own: they are left out. So are those of
    /// a runtime that is about to call handlers of an exception.
    pub(super) fn without_abandoned_calls(&self, thread: u32, frames: Vec<Frame>) -> Vec<Frame> {
        let Some(top) = self.own_top(thread) else { return frames };
        match frames.iter().position(|frame| frame.stack_range() == Ok(top)) {
            Some(at) => frames.into_iter().skip(at).collect(),
            None => frames,
        }
    }

    /// The exception a thread throws, or has stopped at.
    pub(super) fn exception_of(&self, thread: &Thread) -> cordebug::Result<ClrValue> {
        let at = self.at_exception.as_ref().filter(|at| thread.id() == Ok(at.thread));
        match at.and_then(|at| at.given.as_ref()) {
            Some(given) => given.value(),
            None => thread.current_exception(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn thread_list_is_reused_until_something_may_have_changed_it() {
        let mut threads = ManagedThreads::default();
        let list = json!({ "threads": [] });
        threads.listed = Some(list.clone());
        threads.begin("threads");
        assert_eq!(threads.listed, Some(list.clone()));
        threads.begin("continue");
        assert_eq!(threads.listed, None, "the program ran in between");
        threads.listed = Some(list);
        threads.forget_list();
        assert_eq!(threads.listed, None);
    }
}
