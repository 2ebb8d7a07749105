//! `threads`: the program's threads and their names. A name is read from the program's `Thread` object, never
//! by running code.
//!
//! Not here: running one thread alone (`active_step`), and the state of threads
//! ([`super::managed_threads`]).

use std::collections::BTreeMap;

use cordebug::thread::Thread;
use serde_json::Value;
use tandem_wire::{Failure, types};

use super::cor;
use super::session::ClrSession;
use crate::debuggee::ClrDebuggee;
use crate::types::ClrTypeSystem;

/// The runtime's names of its own threads begin with this.
const RUNTIME: &str = ".NET ";
/// The kernel stores 15 characters of a name, and this thread's is nowhere else.
const TIERED: [&str; 2] = [".NET Tiered Com", ".NET Tiered Compilation Worker"];

/// A thread as it is listed.
struct ListedThread {
    name: String,
    /// `Thread.ManagedThreadId`; `None` before the thread has a `Thread` object.
    managed: Option<u32>,
}

impl ClrSession {
    pub(super) fn list_threads(&mut self) -> Result<Value, Failure> {
        if let Some(list) = &self.program.debuggee.threads.listed {
            return Ok(list.clone());
        }
        // Callbacks that arrive in the meantime are handled afterwards, and drop the list.
        self.while_stopped(|session| {
            let threads = session.program.debuggee.process()?.threads().map_err(cor("list the threads"))?;
            let named = threads.iter().filter_map(|thread| {
                Some((thread.id().ok()?, session.program.types.named(&session.program.debuggee, thread)))
            });
            // The runtime's own order varies from stop to stop.
            let threads = rows(&named.collect(), session.program.debuggee.pid);
            let list =
                types::body(&types::ThreadsResponseBody { threads, ..types::ThreadsResponseBody::default() });
            session.program.debuggee.threads.listed = Some(list.clone());
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
fn rows(threads: &BTreeMap<u32, ListedThread>, process: Option<u32>) -> Vec<types::DapThread> {
    let shared = |name: &str| threads.values().filter(|thread| thread.name == name).count() > 1;
    let row = |(id, thread): (&u32, &ListedThread)| {
        let is_ambiguous = thread.name.starts_with(RUNTIME) || shared(&thread.name);
        let name = match thread.managed.filter(|_| is_ambiguous) {
            Some(managed) => format!("{} #{managed}", thread.name),
            None => thread.name.clone(),
        };
        types::DapThread { id: i64::from(*id), name, ..types::DapThread::default() }
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
        let ids = |process| -> Vec<i64> {
            rows(&threads.iter().map(|(id, one)| (*id, named(&one.name))).collect(), process)
                .into_iter()
                .map(|row| row.id)
                .collect()
        };
        assert_eq!(ids(Some(32_760)), [32_760, 301, 32_767]);
        assert_eq!(ids(None), [301, 32_760, 32_767]);
    }
}
