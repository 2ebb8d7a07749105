//! `threads`: the program's threads and their names. A name is read from the program's `Thread` object, never
//! by running code.
//!
//! Not here: running one thread alone (`stepping::single_thread`).

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use cordebug::frame::Frame;
use cordebug::thread::Thread;
use cordebug::value::{Handle, Value as ClrValue};
use dap_wire::{Failure, types};
use serde_json::{Value, json};

use super::cor;
use super::session::ClrSession;
use crate::debuggee::ClrDebuggee;
use crate::types::ClrTypeSystem;

/// The runtime's names of its own threads begin with this.
const RUNTIME: &str = ".NET ";
/// The kernel stores 15 characters of a name, and this thread's is nowhere else.
const TIERED: [&str; 2] = [".NET Tiered Com", ".NET Tiered Compilation Worker"];

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
    listed: Option<Value>,
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

/// A thread as it is listed.
struct ListedThread {
    name: String,
    /// `Thread.ManagedThreadId`; `None` before the thread has a `Thread` object.
    managed: Option<u32>,
}

impl ClrSession {
    pub(super) fn list_threads(&mut self) -> Result<Value, Failure> {
        if let Some(list) = &self.debuggee.threads.listed {
            return Ok(list.clone());
        }
        // Callbacks that arrive in the meantime are handled afterwards, and drop the list.
        self.while_stopped(|session| {
            let threads = session.debuggee.process()?.threads().map_err(cor("list the threads"))?;
            let named = threads.iter().filter_map(|thread| {
                Some((thread.id().ok()?, session.types.named(&session.debuggee, thread)))
            });
            // The runtime's own order varies from stop to stop.
            let list = json!({ "threads": rows(&named.collect(), session.debuggee.pid) });
            session.debuggee.threads.listed = Some(list.clone());
            Ok(list)
        })
    }
}

impl ClrTypeSystem {
    fn named(&self, debuggee: &ClrDebuggee, thread: &Thread) -> ListedThread {
        let id = thread.id().unwrap_or(0);
        let object = thread.object().ok();
        let managed = object.as_ref().and_then(|object| self.number_field(object, "_managedThreadId"));
        let given = object.and_then(|object| self.text_field(&object, "_name"));
        let name = given.filter(|name| !name.trim().is_empty()).unwrap_or_else(|| {
            // The operating system's name, if the runtime has set one.
            let comm = debuggee
                .pid
                .and_then(|pid| std::fs::read_to_string(format!("/proc/{pid}/task/{id}/comm")).ok());
            match comm.as_deref().map(str::trim) {
                _ if debuggee.pid == Some(id) => "Main Thread".into(),
                Some(comm) if comm == TIERED[0] => TIERED[1].into(),
                Some(comm) if comm.starts_with(RUNTIME) => comm.to_owned(),
                _ => match managed {
                    Some(managed) => format!("Thread #{managed}"),
                    // Only the operating system's number is known.
                    None => format!("OS thread {id}"),
                },
            }
        });
        ListedThread { name, managed }
    }
}

/// DAP `Thread[]`: the main thread, whose number is that of the process, then the others by number. The
/// kernel's numbers wrap around, so the main thread's is not always the lowest. Threads with the same name
/// get their number appended.
fn rows(threads: &BTreeMap<u32, ListedThread>, process: Option<u32>) -> Vec<Value> {
    let shared = |name: &str| threads.values().filter(|thread| thread.name == name).count() > 1;
    let row = |(id, thread): (&u32, &ListedThread)| {
        let is_ambiguous = thread.name.starts_with(RUNTIME) || shared(&thread.name);
        let name = match thread.managed.filter(|_| is_ambiguous) {
            Some(managed) => format!("{} #{managed}", thread.name),
            None => thread.name.clone(),
        };
        types::body(&types::Thread { id: i64::from(*id), name })
    };
    let (main, others): (Vec<_>, Vec<_>) = threads.iter().partition(|(id, _)| process == Some(**id));
    main.into_iter().chain(others).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn main_thread_is_first_regardless_of_its_number() {
        let named = |name: &str| ListedThread { name: name.into(), managed: None };
        let threads =
            [(301, named(".NET Finalizer")), (32_760, named("Main Thread")), (32_767, named("worker"))];
        let ids = |process| -> Vec<Value> {
            rows(&threads.iter().map(|(id, one)| (*id, named(&one.name))).collect(), process)
                .into_iter()
                .map(|row| row["id"].clone())
                .collect()
        };
        assert_eq!(ids(Some(32_760)), [32_760, 301, 32_767]);
        assert_eq!(ids(None), [301, 32_760, 32_767]);
    }

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
