//! Events of a session to a picture of where the program stands, and to its journal. Waiting is watching the picture
//! change.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use dap_wire::peer::{Incoming, Peer};
use dap_wire::{ErrorCode, Event, Failure};
use serde_json::{Map, Value, json};
use tokio::sync::{broadcast, mpsc, watch};

use crate::journal::Journal;

/// Events kept for whoever listens but is slow; it is told what it missed.
const BACKLOG: usize = 4096;
/// Longest remark that is kept, in characters.
const SAID: usize = 400;

/// Where the program stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum State {
    /// Nothing started.
    #[default]
    Idle,
    /// It runs.
    Running,
    /// It stands.
    Stopped,
    /// It has ended, or the session is gone.
    Exited,
}

impl State {
    /// As the tools spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Running => "running",
            Self::Stopped => "stopped",
            Self::Exited => "exited",
        }
    }
}

/// The picture.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// Where the program stands.
    pub state: State,
    /// Counts stops and ends: a change means something happened.
    pub news: u64,
    /// How often another program took the place of the one before.
    pub restarts: u64,
    /// `news` when that happened last: what is newer is of the program that runs now.
    pub restarted_at: u64,
    /// `initialized` came: breakpoints may be set.
    pub initialized: bool,
    /// Body of the last `stopped`.
    pub stop: Value,
    /// Body of `process`.
    pub process: Value,
    /// From `exited`.
    pub exit_code: Option<i64>,
    /// The connection ended without the session saying so.
    pub lost: bool,
    /// Who let the program run last, if it was somebody else.
    pub resumed_by: Option<String>,
    /// The last word on each breakpoint that changed since it was set, by the session's id.
    pub breakpoints: HashMap<i64, Value>,
    /// The engine's last words on the debug console since the last stop or restart, cut at [`SAID`].
    pub said: String,
    /// What the engine said it can do, since `initialize`.
    pub capabilities: Map<String, Value>,
    /// The session's ids of this agent's breakpoints that somebody else removed.
    pub removed: HashSet<i64>,
}

/// What is seen of a session.
#[derive(Debug)]
pub struct Observed {
    /// To look at, wait on, and paint what no event tells.
    pub picture: watch::Sender<Snapshot>,
    journal: Mutex<Journal>,
    events: broadcast::Sender<Arc<Event>>,
}

impl Default for Observed {
    fn default() -> Self {
        Self {
            picture: watch::Sender::new(Snapshot::default()),
            journal: Mutex::default(),
            events: broadcast::Sender::new(BACKLOG),
        }
    }
}

impl Observed {
    /// Reads or writes the journal.
    pub fn journal<T>(&self, work: impl FnOnce(&mut Journal) -> T) -> T {
        work(&mut self.journal.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Every event from now on.
    pub fn events(&self) -> broadcast::Receiver<Arc<Event>> {
        self.events.subscribe()
    }

    fn take(&self, event: Event) {
        self.journal(|journal| note(journal, &event));
        self.picture.send_if_modified(|snapshot| learn(snapshot, &event));
        self.tell(event);
    }

    /// Tells whoever listens; nobody needs to.
    pub fn tell(&self, event: Event) {
        drop(self.events.send(Arc::new(event)));
    }

    fn lost(&self) {
        let mut ended = false;
        self.picture.send_modify(|snapshot| {
            if snapshot.state != State::Exited {
                snapshot.state = State::Exited;
                snapshot.lost = true;
                snapshot.news += 1;
                ended = true;
            }
        });
        if ended {
            self.journal(|journal| journal.add("lost", json!({ "text": "the debug adapter is gone" })));
            self.tell(Event::new("terminated", Value::Null));
        }
    }
}

/// Watches a session until its connection ends.
pub fn observe(mut incoming: mpsc::UnboundedReceiver<Incoming>, peer: Peer) -> Arc<Observed> {
    let observed = Arc::new(Observed::default());
    let watching = observed.clone();
    tokio::spawn(async move {
        while let Some(message) = incoming.recv().await {
            match message {
                Incoming::Event(event) => observed.take(event),
                Incoming::Request(request) => {
                    let failure =
                        Failure::new(ErrorCode::Unsupported, "the MCP bridge runs nothing for a session");
                    peer.answer(&request, Err(failure));
                }
            }
        }
        observed.lost();
    });
    watching
}

/// Gives whether anything changed.
fn learn(snapshot: &mut Snapshot, event: &Event) -> bool {
    match event.event.as_str() {
        "initialized" => snapshot.initialized = true,
        "process" => {
            snapshot.process = event.body.clone();
            // What was said of its build explains nothing that it does.
            snapshot.said.clear();
            if snapshot.state == State::Idle {
                snapshot.state = State::Running;
            }
        }
        "stopped" => {
            snapshot.state = State::Stopped;
            snapshot.stop = event.body.clone();
            snapshot.said.clear();
            snapshot.news += 1;
        }
        "output" if event.body["category"] == "console" => {
            let text = event.body["output"].as_str().unwrap_or_default().trim();
            snapshot.said = text.chars().take(SAID).collect();
            return false;
        }
        "continued" => snapshot.state = State::Running,
        "sessionChanged" if event.body["change"] == "resumed" => {
            snapshot.resumed_by = event.body["client"].as_str().map(str::to_owned);
        }
        "sessionChanged" if event.body["change"] == "restarted" => {
            snapshot.state = State::Running;
            snapshot.stop = Value::Null;
            snapshot.said.clear();
            snapshot.restarts += 1;
            snapshot.restarted_at = snapshot.news;
        }
        "breakpoint" if event.body["reason"] == "changed" => {
            let told = &event.body["breakpoint"];
            if let Some(id) = told["id"].as_i64() {
                snapshot.breakpoints.insert(id, told.clone());
            }
        }
        "breakpoint" if event.body["reason"] == "removed" => {
            snapshot.removed.extend(event.body["breakpoint"]["id"].as_i64());
        }
        "capabilities" => {
            snapshot.capabilities.extend(event.body["capabilities"].as_object().cloned().unwrap_or_default());
        }
        "exited" => {
            snapshot.state = State::Exited;
            snapshot.exit_code = event.body["exitCode"].as_i64();
            snapshot.news += 1;
        }
        "terminated" if snapshot.state != State::Exited => {
            snapshot.state = State::Exited;
            snapshot.news += 1;
        }
        _ => return false,
    }
    true
}

/// What a `sessionChanged` event may say of what a client did.
const DEEDS: [&str; 12] = [
    "text",
    "bytes",
    "closed",
    "name",
    "value",
    "expression",
    "command",
    "access",
    "added",
    "addedMore",
    "removed",
    "removedMore",
];

fn renamed(mut details: Value, from: &str, to: &str) -> Value {
    if let Some(details) = details.as_object_mut()
        && let Some(value) = details.shift_remove(from)
    {
        details.insert(to.into(), value);
    }
    details
}

fn note(journal: &mut Journal, event: &Event) {
    let body = &event.body;
    match event.event.as_str() {
        "process" => {
            journal.add("started", json!({ "program": body["name"], "pid": body["systemProcessId"] }))
        }
        "stopped" => {
            let kind = if body["reason"] == "exception" { "exception" } else { "stopped" };
            let details =
                json!({ "reason": body["reason"], "threadId": body["threadId"], "text": body["text"] });
            journal.add(kind, details);
        }
        "sessionChanged" => match body["change"].as_str() {
            Some("resumed") => {
                journal.add("resumed", json!({ "by": body["client"], "how": body["command"] }))
            }
            Some("agentAccess") => {
                journal.add("access", json!({ "by": body["client"], "agentAccess": body["agentAccess"] }));
            }
            Some("child") => journal.add("child", body["child"].clone()),
            Some(change @ ("joined" | "left" | "owner")) => {
                let details = json!({ "who": body["client"], "kind": body["kind"], "access": body["access"],
                    "reason": body["reason"] });
                // An entry's own kind is the change.
                journal.add(change, renamed(details, "kind", "is"));
            }
            // Input, values set, evaluations, breakpoints, refusals: whose, and what.
            Some(change) => {
                let mut details = json!({ "by": body["client"] });
                for key in DEEDS {
                    details[key] = body[key].clone();
                }
                journal.add(change, details);
            }
            None => {}
        },
        "inputClosed" => journal.add("inputClosed", json!({ "by": body["client"] })),
        // Who set or removed one, and where, is told by `sessionChanged`.
        "breakpoint" if body["reason"] == "changed" => {
            let told = &body["breakpoint"];
            let details = json!({ "change": body["reason"], "file": told["source"]["path"], "line": told["line"],
                "verified": told["verified"] });
            journal.add("breakpoint", details);
        }
        "output" => {
            let stream = body["category"].as_str().unwrap_or("console");
            if stream != "telemetry" {
                journal.output(stream, body["output"].as_str().unwrap_or_default());
            }
        }
        "exited" => journal.add("exited", json!({ "exitCode": body["exitCode"] })),
        "terminated" => journal.add("terminated", Value::Null),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_follows_the_events_and_an_end_is_told_once() {
        let observed = Observed::default();
        for (event, body) in [
            ("initialized", json!(null)),
            ("process", json!({"systemProcessId": 5})),
            ("stopped", json!({"reason": "entry"})),
            ("continued", json!({})),
            ("sessionChanged", json!({"change": "resumed", "client": "ann", "command": "next"})),
            ("exited", json!({"exitCode": 3})),
            ("terminated", json!(null)),
        ] {
            observed.take(Event::new(event, body));
        }
        observed.lost();
        let snapshot = observed.picture.borrow().clone();
        assert_eq!((snapshot.state, snapshot.news, snapshot.exit_code), (State::Exited, 2, Some(3)));
        assert!(!snapshot.lost);
        let kinds: Vec<Value> = observed
            .journal(|journal| journal.read(0, &[], 99).0)
            .into_iter()
            .map(|entry| entry["kind"].clone())
            .collect();
        assert_eq!(json!(kinds), json!(["started", "stopped", "resumed", "exited", "terminated"]));
    }

    #[test]
    fn what_others_did_is_in_the_timeline_with_their_names() {
        let observed = Observed::default();
        for body in [
            json!({ "change": "joined", "client": "ann", "clientId": 3, "kind": "editor", "access": "full" }),
            json!({ "change": "input", "client": "robot", "kind": "agent", "text": "1\n", "bytes": 2, "closed": false }),
            json!({ "change": "valueSet", "client": "ann", "kind": "editor", "name": "i", "value": "7" }),
            json!({ "change": "breakpoints", "client": "ann", "kind": "editor",
                "removed": [{ "file": "/a.py", "line": 3, "owner": "robot" }] }),
            json!({ "change": "refused", "client": "robot", "kind": "agent", "command": "next", "access": "readOnly" }),
        ] {
            observed.take(Event::new("sessionChanged", body));
        }
        observed.take(Event::new("breakpoint", json!({ "reason": "removed", "breakpoint": { "id": 4 } })));
        let (entries, ..) = observed.journal(|journal| journal.read(0, &[], 99));
        let entries: Vec<Value> = entries
            .into_iter()
            .map(|mut entry| {
                entry.as_object_mut().unwrap().retain(|key, _| key != "ms" && key != "n");
                entry
            })
            .collect();
        assert_eq!(
            json!(entries),
            json!([
                { "kind": "joined", "who": "ann", "access": "full", "is": "editor" },
                { "kind": "input", "by": "robot", "text": "1\n", "bytes": 2, "closed": false },
                { "kind": "valueSet", "by": "ann", "name": "i", "value": "7" },
                { "kind": "breakpoints", "by": "ann", "removed": [{ "file": "/a.py", "line": 3, "owner": "robot" }] },
                { "kind": "refused", "by": "robot", "command": "next", "access": "readOnly" },
            ])
        );
    }
}
