//! The program's state, as the engine's events reported it: a client that joins later receives it.
//!
//! Not here: the program's output, which the broker keeps (`io`).

use std::collections::{BTreeSet, VecDeque};

use serde_json::Value;
use tandem_wire::types::{
    self, ChildProgram, DapModule, ModuleEventBody, ProgressEndEventBody, ThreadEventBody,
    ThreadRequestArguments,
};

/// Maximum number of child sessions that are remembered: a pool of workers may start thousands.
const MAX_CHILDREN: usize = 64;
/// Maximum number of operations in progress that are remembered, so that they end for clients
/// when their engine does.
const MAX_PROGRESS: usize = 64;

/// The program as its events reported it.
#[derive(Debug, Default)]
pub struct ReplayState {
    /// Body of the `process` event.
    pub process: Option<Value>,
    threads: BTreeSet<i64>,
    modules: Vec<DapModule>,
    /// `progressId`s of the operations in progress that clients know.
    progress: BTreeSet<String>,
    /// The newest sessions of child processes: `{session, name}`.
    children: VecDeque<Value>,
}

impl ReplayState {
    /// Records an event before it is passed on.
    pub fn record(&mut self, event: &str, body: &Value) {
        match event {
            "process" => self.process = Some(body.clone()),
            "thread" => {
                let ThreadRequestArguments { thread_id: Some(id) } = types::read(body) else { return };
                match types::read::<ThreadEventBody>(body).reason.as_str() {
                    "exited" => drop(self.threads.remove(&id)),
                    _ => drop(self.threads.insert(id)),
                }
            }
            "module" => {
                let ModuleEventBody { reason, module, .. } = types::read(body);
                self.modules.retain(|known| known.id != module.id);
                if reason != "removed" {
                    self.modules.push(module);
                }
            }
            "progressStart" if self.progress.len() < MAX_PROGRESS => {
                let ProgressEndEventBody { progress_id, .. } = types::read(body);
                self.progress.extend(Some(progress_id).filter(|id| !id.is_empty()));
            }
            "progressEnd" => {
                self.progress.remove(&types::read::<ProgressEndEventBody>(body).progress_id);
            }
            _ => {}
        }
    }

    /// Whether this operation is in progress.
    pub fn is_in_progress(&self, progress_id: &str) -> bool {
        self.progress.contains(progress_id)
    }

    /// Ends all that is in progress; returns the bodies of `progressEnd`.
    pub fn end_progress(&mut self) -> Vec<Value> {
        let ended = std::mem::take(&mut self.progress).into_iter();
        let body = |progress_id| ProgressEndEventBody { progress_id, ..ProgressEndEventBody::default() };
        ended.map(|id| types::body(&body(id))).collect()
    }

    /// Records the session of a child process.
    pub fn record_child(&mut self, child: &ChildProgram) {
        self.children.push_back(types::body(child));
        if self.children.len() > MAX_CHILDREN {
            self.children.pop_front();
        }
    }

    /// The newest sessions of child processes, oldest first; some may have ended.
    pub fn children(&self) -> impl Iterator<Item = &Value> {
        self.children.iter()
    }

    /// Events that take back what clients know of a program that is replaced by another.
    pub fn retraction_events(&self) -> Vec<(&'static str, Value)> {
        let modules = self.module_events("removed");
        self.thread_events("exited").chain(modules).collect()
    }

    /// Events that bring a client to where the others are, in the order DAP clients expect.
    pub fn replay(&self) -> Vec<(&'static str, Value)> {
        let process = self.process.iter().map(|body| ("process", body.clone()));
        process.chain(self.thread_events("started")).chain(self.module_events("new")).collect()
    }

    fn thread_events(&self, reason: &str) -> impl Iterator<Item = (&'static str, Value)> {
        self.threads.iter().map(move |id| {
            let (reason, thread_id) = (reason.to_owned(), *id);
            ("thread", types::body(&ThreadEventBody { reason, thread_id, ..ThreadEventBody::default() }))
        })
    }

    fn module_events(&self, reason: &str) -> impl Iterator<Item = (&'static str, Value)> {
        self.modules.iter().map(move |module| {
            let (reason, module) = (reason.to_owned(), module.clone());
            ("module", types::body(&ModuleEventBody { reason, module, ..ModuleEventBody::default() }))
        })
    }
}
