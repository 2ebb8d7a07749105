//! What is known of the program, in the words of the engine's own events: what a late joiner is told.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Value, json};

/// Sessions of programs that were started that are remembered: a pool of workers may start thousands.
const CHILDREN: usize = 64;
/// Progress that is remembered, so that it ends for clients when its engine does.
const PROGRESS: usize = 64;

/// The program as its events told it.
#[derive(Debug, Default)]
pub struct Facts {
    /// Body of `process`.
    pub process: Option<Value>,
    threads: BTreeMap<i64, ()>,
    modules: Vec<Value>,
    /// What goes on and has told clients so, by its `progressId`.
    progress: BTreeSet<String>,
    /// The newest sessions of the programs that it started: `{session, name}`.
    children: VecDeque<Value>,
}

impl Facts {
    /// Learns from an event before it is passed on.
    pub fn learn(&mut self, event: &str, body: &Value) {
        match event {
            "process" => self.process = Some(body.clone()),
            "thread" => {
                let Some(id) = body["threadId"].as_i64() else { return };
                match body["reason"].as_str() {
                    Some("exited") => drop(self.threads.remove(&id)),
                    _ => drop(self.threads.insert(id, ())),
                }
            }
            "module" => {
                let id = &body["module"]["id"];
                self.modules.retain(|known| &known["id"] != id);
                if body["reason"] != "removed" {
                    self.modules.push(body["module"].clone());
                }
            }
            "progressStart" if self.progress.len() < PROGRESS => {
                self.progress.extend(body["progressId"].as_str().map(str::to_owned));
            }
            "progressEnd" => drop(body["progressId"].as_str().map(|id| self.progress.remove(id))),
            _ => {}
        }
    }

    /// Whether this goes on.
    pub fn goes_on(&self, progress: &str) -> bool {
        self.progress.contains(progress)
    }

    /// Bodies of `progressEnd` for all that goes on; from now on nothing does.
    pub fn end_progress(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.progress).into_iter().map(|id| json!({ "progressId": id })).collect()
    }

    /// The program started another, which is debugged in a session of its own.
    pub fn note_child(&mut self, child: Value) {
        self.children.push_back(child);
        if self.children.len() > CHILDREN {
            self.children.pop_front();
        }
    }

    /// The newest sessions of the programs that it started, oldest first; some may have ended.
    pub fn children(&self) -> impl Iterator<Item = &Value> {
        self.children.iter()
    }

    /// Events that take back what clients were told of a program that is replaced by another.
    pub fn farewell(&self) -> Vec<(&'static str, Value)> {
        let threads = self.threads.keys().map(|id| ("thread", json!({ "reason": "exited", "threadId": id })));
        let modules =
            self.modules.iter().map(|module| ("module", json!({ "reason": "removed", "module": module })));
        threads.chain(modules).collect()
    }

    /// Events that bring a late joiner to where the others are, in the order DAP clients expect.
    pub fn replay(&self) -> Vec<(&'static str, Value)> {
        let process = self.process.iter().map(|body| ("process", body.clone()));
        let threads =
            self.threads.keys().map(|id| ("thread", json!({ "reason": "started", "threadId": id })));
        let modules =
            self.modules.iter().map(|module| ("module", json!({ "reason": "new", "module": module })));
        process.chain(threads).chain(modules).collect()
    }
}
