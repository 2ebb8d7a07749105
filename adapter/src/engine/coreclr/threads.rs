//! `threads`: which there are, what they are called. A name is read from the program's `Thread` object, never asked for by running code.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

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
    /// When the request came that is answered now.
    asked: Option<Instant>,
    /// The last list, and when it was begun: a running program is held for each, so those who asked before that share it.
    listed: Option<(Instant, Value)>,
}

impl Threads {
    /// A request is answered now, which came at this time. What another one does may make the list a lie for whoever sent both.
    pub(super) fn begin(&mut self, command: &str, asked: Instant) {
        self.asked = Some(asked);
        if command != "threads" {
            self.forget_list();
        }
    }

    /// Something happened in the program.
    pub(super) fn forget_list(&mut self) {
        self.listed = None;
    }

    /// The list, if it was made since it was asked for.
    fn list(&self) -> Option<Value> {
        let (begun, list) = self.listed.as_ref()?;
        self.asked.is_some_and(|asked| asked <= *begun).then(|| list.clone())
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
        if let Some(list) = self.threads.list() {
            return Ok(list);
        }
        let begun = Instant::now();
        let threads = self.while_standing(|session| {
            let threads = session.process()?.threads().map_err(cor("list the threads"))?;
            let named = threads.iter().filter_map(|thread| Some((thread.id().ok()?, session.named(thread))));
            // In the order they were made, the main thread first: the runtime's own order changes from stop to stop.
            Ok(named.collect::<BTreeMap<_, _>>())
        })?;
        let shared = |name: &str| threads.values().filter(|thread| thread.name == name).count() > 1;
        let list: Vec<Value> = threads
            .iter()
            .map(|(id, thread)| {
                let is_ambiguous = thread.name.starts_with(RUNTIME) || shared(&thread.name);
                let name = match thread.managed.filter(|_| is_ambiguous) {
                    Some(managed) => format!("{} #{managed}", thread.name),
                    None => thread.name.clone(),
                };
                types::body(&types::Thread { id: i64::from(*id), name })
            })
            .collect();
        let answer = json!({ "threads": list });
        self.threads.listed = Some((begun, answer.clone()));
        Ok(answer)
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
                    None => format!("Thread {id}"),
                },
            }
        });
        Named { name, managed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_list_is_shared_by_those_who_asked_before_it_was_begun() {
        let mut threads = Threads::default();
        let (before, begun) = (Instant::now(), Instant::now() + Duration::from_millis(1));
        let list = json!({ "threads": [] });
        threads.begin("threads", before);
        assert_eq!(threads.list(), None);
        threads.listed = Some((begun, list.clone()));
        threads.begin("threads", before);
        assert_eq!(threads.list(), Some(list.clone()));
        threads.begin("threads", begun + Duration::from_millis(1));
        assert_eq!(threads.list(), None, "what was asked later wants to know what is so later");
        threads.begin("continue", before);
        threads.begin("threads", before);
        assert_eq!(threads.list(), None, "the program went on in between");
        threads.listed = Some((begun, list));
        threads.forget_list();
        assert_eq!(threads.list(), None);
    }
}
