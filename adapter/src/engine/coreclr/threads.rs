//! `threads`: which there are, what they are called. A name is read from the program's `Thread` object, never asked for by running code.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use cordebug::thread::Thread;
use dap_wire::{Failure, types};
use serde_json::{Value, json};

use super::cor;
use super::session::Session;

/// What the runtime calls its own threads begins like that.
const RUNTIME: &str = ".NET ";
/// The kernel keeps 15 letters of a name, and this thread has it nowhere else.
const TIERED: [&str; 2] = [".NET Tiered Com", ".NET Tiered Compilation Worker"];

/// What is known of the program's threads.
#[derive(Default)]
pub(super) struct Threads {
    /// Those that were asked for, until they end: listing them all costs the runtime milliseconds at every stop.
    pub(super) known: RefCell<HashMap<u32, Thread>>,
    /// The last list. A running program is held for each, which takes the runtime up to 20 ms, so it serves all who ask until
    /// something may have changed it.
    listed: Option<Value>,
}

impl Threads {
    /// A request is answered now. Any other than `threads` may change what there is to list: it resumes the program, or runs its code.
    pub(super) fn begin(&mut self, command: &str) {
        if command != "threads" {
            self.forget_list();
        }
    }

    /// Something happened in the program: threads begin and end, and get another name, by callbacks.
    pub(super) fn forget_list(&mut self) {
        self.listed = None;
    }
}

/// A thread as it is listed.
struct Named {
    name: String,
    /// `Thread.ManagedThreadId`; none before the thread has a `Thread` object.
    managed: Option<u32>,
}

impl Session {
    pub(super) fn list_threads(&mut self) -> Result<Value, Failure> {
        if let Some(list) = &self.threads.listed {
            return Ok(list.clone());
        }
        // Callbacks that came meanwhile are dealt with afterwards, and forget the list.
        self.while_standing(|session| {
            let threads = session.process()?.threads().map_err(cor("list the threads"))?;
            let named = threads.iter().filter_map(|thread| Some((thread.id().ok()?, session.named(thread))));
            // In the order they were made, the main thread first: the runtime's own order changes from stop to stop.
            let list = json!({ "threads": rows(&named.collect()) });
            session.threads.listed = Some(list.clone());
            Ok(list)
        })
    }

    fn named(&self, thread: &Thread) -> Named {
        let id = thread.id().unwrap_or(0);
        let object = thread.object().ok();
        let managed = object.as_ref().and_then(|object| self.number_field(object, "_managedThreadId"));
        let given = object.and_then(|object| self.text_field(&object, "_name"));
        let name = given.filter(|name| !name.trim().is_empty()).unwrap_or_else(|| {
            // The operating system's name, where the runtime gave it one.
            let comm =
                self.pid.and_then(|pid| std::fs::read_to_string(format!("/proc/{pid}/task/{id}/comm")).ok());
            match comm.as_deref().map(str::trim) {
                _ if self.pid == Some(id) => "Main Thread".into(),
                Some(comm) if comm == TIERED[0] => TIERED[1].into(),
                Some(comm) if comm.starts_with(RUNTIME) => comm.to_owned(),
                _ => match managed {
                    Some(managed) => format!("Thread #{managed}"),
                    // Only the operating system has a number for it.
                    None => format!("OS thread {id}"),
                },
            }
        });
        Named { name, managed }
    }
}

/// DAP `Thread[]`; threads that share a name get their number behind it.
fn rows(threads: &BTreeMap<u32, Named>) -> Vec<Value> {
    let shared = |name: &str| threads.values().filter(|thread| thread.name == name).count() > 1;
    let row = |(id, thread): (&u32, &Named)| {
        let is_ambiguous = thread.name.starts_with(RUNTIME) || shared(&thread.name);
        let name = match thread.managed.filter(|_| is_ambiguous) {
            Some(managed) => format!("{} #{managed}", thread.name),
            None => thread.name.clone(),
        };
        types::body(&types::Thread { id: i64::from(*id), name })
    };
    threads.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_shared_until_something_may_have_changed_it() {
        let mut threads = Threads::default();
        let list = json!({ "threads": [] });
        threads.listed = Some(list.clone());
        threads.begin("threads");
        assert_eq!(threads.listed, Some(list.clone()));
        threads.begin("continue");
        assert_eq!(threads.listed, None, "the program went on in between");
        threads.listed = Some(list);
        threads.forget_list();
        assert_eq!(threads.listed, None);
    }
}
