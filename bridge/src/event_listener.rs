//! The listener for the events of a session: keeps a snapshot of the program's state and an event log. To
//! wait is to watch the snapshot change. Not here: which changes end a wait (`tools::waiting`).

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use dap_wire::peer::{Incoming, Peer};
use dap_wire::{ErrorCode, Event, Failure};
use serde_json::{Map, Value, json};
use tokio::sync::{broadcast, mpsc, watch};

use crate::event_log::EventLog;
use crate::logpoints::LogpointBuffer;

/// Events that are kept for a slow receiver, which learns how many it missed.
const MAX_BACKLOG: usize = 4096;
/// Maximum characters of a console message that are kept.
const MAX_CONSOLE_CHARS: usize = 400;

/// The state of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProgramState {
    /// No program was started.
    #[default]
    Idle,
    /// The program is running.
    Running,
    /// The program is stopped.
    Stopped,
    /// The program has ended, or the session is gone.
    Exited,
}

impl ProgramState {
    /// Spelling of the state in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Running => "running",
            Self::Stopped => "stopped",
            Self::Exited => "exited",
        }
    }
}

/// The state of the program as its events report it.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// State of the program.
    pub state: ProgramState,
    /// Counts stops and ends: a change means something happened.
    pub news: u64,
    /// Number of restarts that replaced the program.
    pub restarts: u64,
    /// `news` at the last restart: anything newer belongs to the current program.
    pub restarted_at: u64,
    /// `initialized` has come: breakpoints may be set.
    pub initialized: bool,
    /// Body of the last `stopped`.
    pub stop: Value,
    /// Body of the `process` event, or null.
    pub process: Value,
    /// Exit code from the event `exited`.
    pub exit_code: Option<i64>,
    /// The signal that ended the program, from the event `exited`.
    pub end_signal: Option<String>,
    /// The connection ended without `terminated`.
    pub lost: bool,
    /// The client that resumed the program last, if it was another one.
    pub resumed_by: Option<String>,
    /// The last event of each breakpoint that changed since it was set, by the session's id.
    pub breakpoints: HashMap<i64, Value>,
    /// The engine's last message on the debug console since the last stop or restart, cut at
    /// [`MAX_CONSOLE_CHARS`].
    pub console: String,
    /// The session's advice about why the program stopped or ended, since it last ran.
    pub hint: Option<String>,
    /// The `news` of the stop from which a step ends nowhere.
    pub step_lost: Option<u64>,
    /// Capabilities that the engine has announced since `initialize`.
    pub capabilities: Map<String, Value>,
    /// The session's ids of this agent's breakpoints that another client removed.
    pub removed: HashSet<i64>,
    /// The newest programs that this one has started, as `sessionChanged` reports them, and the total number.
    pub started: (Vec<Value>, u64),
}

/// Keeps what the events of a session report.
#[derive(Debug)]
pub struct EventListener {
    /// The state of the program, to read, to watch, and to correct where no event reports a change.
    pub snapshot: watch::Sender<Snapshot>,
    event_log: Mutex<EventLog>,
    logged: Mutex<LogpointBuffer>,
    events: broadcast::Sender<Arc<Event>>,
}

impl Default for EventListener {
    fn default() -> Self {
        Self {
            snapshot: watch::Sender::new(Snapshot::default()),
            event_log: Mutex::default(),
            logged: Mutex::default(),
            events: broadcast::Sender::new(MAX_BACKLOG),
        }
    }
}

impl EventListener {
    /// Reads or writes the event log.
    pub fn event_log<T>(&self, work: impl FnOnce(&mut EventLog) -> T) -> T {
        work(&mut self.event_log.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads or takes what the log messages of breakpoints wrote.
    pub fn with_logpoints<T>(&self, work: impl FnOnce(&mut LogpointBuffer) -> T) -> T {
        work(&mut self.logged.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns a receiver of every event from now on.
    pub fn events(&self) -> broadcast::Receiver<Arc<Event>> {
        self.events.subscribe()
    }

    fn take(&self, event: Event) {
        self.event_log(|event_log| record_event(event_log, &event));
        if event.event == "output" && event.body["from"] == "logMessage" {
            self.with_logpoints(|logged| logged.push(event.body["output"].as_str().unwrap_or_default()));
        }
        self.snapshot.send_if_modified(|snapshot| update_snapshot(snapshot, &event));
        self.publish(event);
    }

    /// Passes an event to the receivers, if there are any.
    pub fn publish(&self, event: Event) {
        drop(self.events.send(Arc::new(event)));
    }

    fn handle_disconnect(&self) {
        let mut ended = false;
        self.snapshot.send_modify(|snapshot| {
            if snapshot.state != ProgramState::Exited {
                snapshot.state = ProgramState::Exited;
                snapshot.lost = true;
                snapshot.news += 1;
                ended = true;
            }
        });
        if ended {
            self.event_log(|event_log| event_log.add("lost", json!({ "text": "the debug adapter is gone" })));
            self.publish(Event::new("terminated", Value::Null));
        }
    }
}

/// Starts listening to a session, until its connection ends.
pub fn listen(mut incoming: mpsc::UnboundedReceiver<Incoming>, peer: Peer) -> Arc<EventListener> {
    let listener = Arc::new(EventListener::default());
    let watching = listener.clone();
    tokio::spawn(async move {
        while let Some(message) = incoming.recv().await {
            match message {
                // It goes straight to its waiter.
                Incoming::Response(_) => {}
                Incoming::Event(event) => listener.take(event),
                Incoming::Request(request) => {
                    let failure =
                        Failure::new(ErrorCode::Unsupported, "the MCP bridge runs nothing for a session");
                    peer.respond(&request, Err(failure));
                }
            }
        }
        listener.handle_disconnect();
    });
    watching
}

/// Returns whether anything changed.
fn update_snapshot(snapshot: &mut Snapshot, event: &Event) -> bool {
    match event.event.as_str() {
        "initialized" => snapshot.initialized = true,
        "process" => {
            snapshot.process = event.body.clone();
            // Messages of the build do not explain events of the program.
            snapshot.console.clear();
            if snapshot.state == ProgramState::Idle {
                snapshot.state = ProgramState::Running;
            }
        }
        "stopped" => {
            snapshot.state = ProgramState::Stopped;
            snapshot.stop = event.body.clone();
            snapshot.console.clear();
            snapshot.step_lost = None;
            snapshot.news += 1;
        }
        // Output of the program or of a breakpoint is not a message of the engine.
        "output" if event.body["category"] == "console" && event.body["from"].is_null() => {
            let text = event.body["output"].as_str().unwrap_or_default().trim();
            snapshot.console = text.chars().take(MAX_CONSOLE_CHARS).collect();
            if let Some(hint) = event.body["hint"].as_str() {
                snapshot.hint = Some(hint.to_owned());
            }
            if event.body["stepEndsNowhere"] != true {
                return false;
            }
            snapshot.step_lost = Some(snapshot.news);
        }
        "continued" => {
            snapshot.state = ProgramState::Running;
            snapshot.hint = None;
        }
        "sessionChanged" if event.body["change"] == "child" => {
            let (newest, count) = &mut snapshot.started;
            newest.push(event.body["child"].clone());
            newest.drain(..newest.len().saturating_sub(MAX_STARTED));
            *count += 1;
            return false;
        }
        "sessionChanged" if event.body["change"] == "resumed" => {
            snapshot.resumed_by = event.body["client"].as_str().map(str::to_owned);
        }
        "sessionChanged" if event.body["change"] == "restarted" => {
            snapshot.state = ProgramState::Running;
            snapshot.stop = Value::Null;
            snapshot.console.clear();
            snapshot.hint = None;
            snapshot.restarts += 1;
            snapshot.restarted_at = snapshot.news;
        }
        "breakpoint" if event.body["reason"] == "changed" => {
            let breakpoint = &event.body["breakpoint"];
            if let Some(id) = breakpoint["id"].as_i64() {
                snapshot.breakpoints.insert(id, breakpoint.clone());
            }
        }
        "breakpoint" if event.body["reason"] == "removed" => {
            snapshot.removed.extend(event.body["breakpoint"]["id"].as_i64());
        }
        "capabilities" => {
            snapshot.capabilities.extend(event.body["capabilities"].as_object().cloned().unwrap_or_default());
        }
        "exited" => {
            snapshot.state = ProgramState::Exited;
            snapshot.exit_code = event.body["exitCode"].as_i64();
            snapshot.end_signal = event.body["signal"].as_str().map(str::to_owned);
            snapshot.news += 1;
        }
        "terminated" if snapshot.state != ProgramState::Exited => {
            snapshot.state = ProgramState::Exited;
            snapshot.news += 1;
        }
        _ => return false,
    }
    true
}

/// Programs that were started that are kept.
const MAX_STARTED: usize = 64;

/// Keys of a `sessionChanged` event that describe the action of a client.
const ACTION_KEYS: [&str; 12] = [
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

fn rename_key(mut details: Value, from: &str, to: &str) -> Value {
    if let Some(details) = details.as_object_mut()
        && let Some(value) = details.shift_remove(from)
    {
        details.insert(to.into(), value);
    }
    details
}

fn record_event(event_log: &mut EventLog, event: &Event) {
    let body = &event.body;
    match event.event.as_str() {
        "process" => {
            event_log.add("started", json!({ "program": body["name"], "pid": body["systemProcessId"] }))
        }
        "stopped" => {
            let kind = if body["reason"] == "exception" { "exception" } else { "stopped" };
            let details =
                json!({ "reason": body["reason"], "threadId": body["threadId"], "text": body["text"] });
            event_log.add(kind, details);
        }
        "sessionChanged" => match body["change"].as_str() {
            Some("resumed") => {
                event_log.add("resumed", json!({ "by": body["client"], "how": body["command"] }))
            }
            Some("agentAccess") => {
                event_log.add("access", json!({ "by": body["client"], "agentAccess": body["agentAccess"] }));
            }
            Some("child") => event_log.add("child", body["child"].clone()),
            Some(change @ ("joined" | "left" | "owner")) => {
                let details = json!({ "who": body["client"], "kind": body["kind"], "access": body["access"],
                    "reason": body["reason"] });
                // An entry's own kind is the change.
                event_log.add(change, rename_key(details, "kind", "is"));
            }
            // Input, values set, evaluations, breakpoints, refusals: whose, and what.
            Some(change) => {
                let mut details = json!({ "by": body["client"] });
                for key in ACTION_KEYS {
                    details[key] = body[key].clone();
                }
                event_log.add(change, details);
            }
            None => {}
        },
        "inputClosed" => event_log.add("inputClosed", json!({ "by": body["client"] })),
        // `sessionChanged` reports which client set or removed one, and where.
        "breakpoint" if body["reason"] == "changed" => {
            let breakpoint = &body["breakpoint"];
            let details = json!({ "change": body["reason"], "file": breakpoint["source"]["path"],
                "line": breakpoint["line"],
                "verified": breakpoint["verified"] });
            event_log.add("breakpoint", details);
        }
        "output" => {
            let stream = body["category"].as_str().unwrap_or("console");
            if stream != "telemetry" {
                event_log.output(stream, body["output"].as_str().unwrap_or_default());
            }
        }
        "exited" => {
            let mut end = json!({ "exitCode": body["exitCode"] });
            if let Some(signal) = body["signal"].as_str() {
                end["signal"] = json!(signal);
            }
            event_log.add("exited", end);
        }
        "terminated" => event_log.add("terminated", Value::Null),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_snapshot_follows_the_events_and_an_end_is_reported_once() {
        let listener = EventListener::default();
        for (event, body) in [
            ("initialized", json!(null)),
            ("process", json!({"systemProcessId": 5})),
            ("stopped", json!({"reason": "entry"})),
            ("continued", json!({})),
            ("sessionChanged", json!({"change": "resumed", "client": "ann", "command": "next"})),
            ("exited", json!({"exitCode": 3})),
            ("terminated", json!(null)),
        ] {
            listener.take(Event::new(event, body));
        }
        listener.handle_disconnect();
        let snapshot = listener.snapshot.borrow().clone();
        assert_eq!((snapshot.state, snapshot.news, snapshot.exit_code), (ProgramState::Exited, 2, Some(3)));
        assert!(!snapshot.lost);
        let kinds: Vec<Value> = listener
            .event_log(|event_log| event_log.read(0, &[], 99).0)
            .into_iter()
            .map(|entry| entry["kind"].clone())
            .collect();
        assert_eq!(json!(kinds), json!(["started", "stopped", "resumed", "exited", "terminated"]));
    }

    #[test]
    fn only_the_engine_itself_has_words_for_a_wait_in_vain() {
        let listener = EventListener::default();
        for body in [
            json!({ "category": "console", "output": "the step waits for a call to end\n" }),
            json!({ "category": "console", "output": "Shop: Information: sold\n", "from": "program" }),
            json!({ "category": "console", "output": "i = 3\n", "from": "logMessage" }),
            json!({ "category": "stdout", "output": "hello\n" }),
        ] {
            listener.take(Event::new("output", body));
        }
        assert_eq!(listener.snapshot.borrow().console, "the step waits for a call to end");
        assert_eq!(listener.with_logpoints(LogpointBuffer::take), Some((json!(["i = 3"]), 0)));
    }

    #[test]
    fn the_timeline_lists_actions_of_others_with_their_names() {
        let listener = EventListener::default();
        for body in [
            json!({ "change": "joined", "client": "ann", "clientId": 3, "kind": "editor", "access": "full" }),
            json!({ "change": "input", "client": "robot", "kind": "agent", "text": "1\n", "bytes": 2,
                "closed": false }),
            json!({ "change": "valueSet", "client": "ann", "kind": "editor", "name": "i", "value": "7" }),
            json!({ "change": "breakpoints", "client": "ann", "kind": "editor",
                "removed": [{ "file": "/a.py", "line": 3, "owner": "robot" }] }),
            json!({ "change": "refused", "client": "robot", "kind": "agent", "command": "next",
                "access": "readOnly" }),
        ] {
            listener.take(Event::new("sessionChanged", body));
        }
        listener.take(Event::new("breakpoint", json!({ "reason": "removed", "breakpoint": { "id": 4 } })));
        let (entries, ..) = listener.event_log(|event_log| event_log.read(0, &[], 99));
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
                { "kind": "breakpoints", "by": "ann", "removed": [{ "file": "/a.py", "line": 3,
                    "owner": "robot" }] },
                { "kind": "refused", "by": "robot", "command": "next", "access": "readOnly" },
            ])
        );
    }
}
