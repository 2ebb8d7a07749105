//! Counts of calls to the debugging library and of messages between it and the runtime. Another thread sees
//! from them when nothing happens any more; the caller decides what that means.

use std::cell::Cell;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

thread_local! {
    /// Number of calls under way on this thread.
    static HERE: Cell<usize> = const { Cell::new(0) };
}

static BEGUN: AtomicU64 = AtomicU64::new(0);
static ENDED: AtomicU64 = AtomicU64::new(0);
/// Number of messages exchanged with the runtime.
static MESSAGES: AtomicU64 = AtomicU64::new(0);
/// The method that was called last.
static LATEST: AtomicPtr<&'static str> = AtomicPtr::new(std::ptr::null_mut());

/// The counts at one moment, to be compared with later ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Activity {
    begun: u64,
    ended: u64,
    messages: u64,
}

impl Activity {
    /// Reads the current counts of all threads.
    pub fn now() -> Self {
        // In this order, so that a call which ends in between does not count as under way.
        let begun = BEGUN.load(Ordering::SeqCst);
        Self { begun, ended: ENDED.load(Ordering::SeqCst), messages: messages() }
    }

    /// Whether a call of the library was under way.
    pub fn is_inside(self) -> bool {
        self.begun > self.ended
    }
}

/// The method of the library that was called last, on any thread: `ICorDebugController::Continue`.
pub fn latest_call() -> Option<&'static str> {
    // SAFETY: null, or what [`LibraryCall::begin`] has stored, which lives forever.
    unsafe { LATEST.load(Ordering::SeqCst).as_ref() }.copied()
}

/// Whether a call is under way on the current thread.
pub(crate) fn is_inside_call() -> bool {
    HERE.get() > 0
}

/// Number of messages exchanged with the runtime so far.
pub(crate) fn messages() -> u64 {
    MESSAGES.load(Ordering::SeqCst)
}

/// Counts one message to or from the runtime.
pub(crate) fn count_message() {
    MESSAGES.fetch_add(1, Ordering::SeqCst);
}

/// A call of the library, which is under way while this exists.
pub(crate) struct LibraryCall(());

impl LibraryCall {
    pub(crate) fn begin(method: &'static &'static str) -> Self {
        LATEST.store(std::ptr::from_ref(method).cast_mut(), Ordering::SeqCst);
        BEGUN.fetch_add(1, Ordering::SeqCst);
        HERE.set(HERE.get() + 1);
        Self(())
    }
}

impl Drop for LibraryCall {
    fn drop(&mut self) {
        HERE.set(HERE.get().saturating_sub(1));
        ENDED.fetch_add(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_under_way_until_it_ends_and_a_word_changes_the_picture() {
        let before = Activity::now();
        let call = LibraryCall::begin(&"ICorDebug::Initialize");
        assert!(Activity::now().is_inside() && is_inside_call());
        assert!(!std::thread::spawn(is_inside_call).join().unwrap());
        assert!(latest_call().is_some());
        assert_ne!(Activity::now(), before);
        drop(call);
        assert!(!is_inside_call());
        let after = Activity::now();
        count_message();
        assert_ne!(Activity::now(), after);
    }
}
