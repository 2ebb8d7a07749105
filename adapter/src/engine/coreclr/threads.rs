//! `threads`: what they are called. A name is read from the program's `Thread` object, never asked for by running code.

use std::collections::BTreeMap;

use cordebug::thread::Thread;
use dap_wire::{Failure, types};
use serde_json::{Value, json};

use super::cor;
use super::session::Session;

/// What the runtime calls its own threads begins like that.
const RUNTIME: &str = ".NET ";
/// The kernel keeps 15 letters of a name, and this thread has it nowhere else.
const TIERED: [&str; 2] = [".NET Tiered Com", ".NET Tiered Compilation Worker"];

/// A thread as it is listed.
struct Named {
    name: String,
    /// `Thread.ManagedThreadId`; none before the thread has a `Thread` object.
    managed: Option<u32>,
}

impl Session {
    pub(super) fn threads(&mut self) -> Result<Value, Failure> {
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
        Ok(json!({ "threads": list }))
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
