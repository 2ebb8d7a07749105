//! What passes between us, the debugging library and the runtime, counted: so that another thread can see
//! when nothing does any more. Only counts; the caller decides what a silence means.

use std::cell::Cell;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

thread_local! {
    /// Calls under way on this thread.
    static HERE: Cell<usize> = const { Cell::new(0) };
}

static BEGUN: AtomicU64 = AtomicU64::new(0);
static ENDED: AtomicU64 = AtomicU64::new(0);
/// Number of messages exchanged with the runtime.
static MESSAGES: AtomicU64 = AtomicU64::new(0);
/// The method that was called last.
static LATEST: AtomicPtr<&'static str> = AtomicPtr::new(std::ptr::null_mut());

/// The counts at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Activity {
    begun: u64,
    ended: u64,
    words: u64,
}

impl Activity {
    /// The current counts.
    pub fn now() -> Self {
        // In this order, so that a call which ends meanwhile is none under way.
        let begun = BEGUN.load(Ordering::SeqCst);
        Self { begun, ended: ENDED.load(Ordering::SeqCst), words: words() }
    }

    /// Whether a call of the library had begun and not ended.
    pub fn is_inside(self) -> bool {
        self.begun > self.ended
    }
}

/// The method of the library that was called last, on any thread: `ICorDebugController::Continue`.
pub fn latest() -> Option<&'static str> {
    // SAFETY: null, or what [`LibraryCall::begin`] has stored, which lives forever.
    unsafe { LATEST.load(Ordering::SeqCst).as_ref() }.copied()
}

/// Whether a call is under way on this very thread.
pub(crate) fn calls_here() -> bool {
    HERE.get() > 0
}

/// How many words were exchanged with the runtime so far.
pub(crate) fn words() -> u64 {
    MESSAGES.load(Ordering::SeqCst)
}

/// A word was exchanged.
pub(crate) fn word() {
    MESSAGES.fetch_add(1, Ordering::SeqCst);
}

/// A call of the library, under way while it lives.
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
        assert!(Activity::now().is_inside() && calls_here());
        assert!(!std::thread::spawn(calls_here).join().unwrap());
        assert!(latest().is_some());
        assert_ne!(Activity::now(), before);
        drop(call);
        assert!(!calls_here());
        let after = Activity::now();
        word();
        assert_ne!(Activity::now(), after);
    }
}
