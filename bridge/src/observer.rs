//! Events of a session to a picture of where the program stands. Waiting is watching this picture change.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use dap_wire::peer::{Incoming, Peer};
use dap_wire::{ErrorCode, Event, Failure};
use serde_json::Value;
use tokio::sync::{mpsc, watch};

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
    /// `initialized` came: breakpoints may be set.
    pub initialized: bool,
    /// Body of the last `stopped`.
    pub stop: Value,
    /// Body of `process`.
    pub process: Value,
    /// From `exited`.
    pub exit_code: Option<i64>,
    /// The last word on each breakpoint that changed since it was set, by the session's id.
    pub breakpoints: HashMap<i64, Value>,
    /// The session's ids of this agent's breakpoints that somebody else removed.
    pub removed: HashSet<i64>,
}

/// The picture, to look at, wait on, and paint what no event tells.
pub type Picture = Arc<watch::Sender<Snapshot>>;

/// Watches a session until its connection ends.
pub fn observe(mut incoming: mpsc::UnboundedReceiver<Incoming>, peer: Peer) -> Picture {
    let picture = Arc::new(watch::Sender::new(Snapshot::default()));
    let watching = picture.clone();
    tokio::spawn(async move {
        while let Some(message) = incoming.recv().await {
            match message {
                Incoming::Event(event) => {
                    picture.send_modify(|snapshot| learn(snapshot, &event));
                }
                Incoming::Request(request) => {
                    let failure =
                        Failure::new(ErrorCode::Unsupported, "the MCP bridge runs nothing for a session");
                    peer.answer(&request, Err(failure));
                }
            }
        }
        picture.send_modify(|snapshot| {
            if snapshot.state != State::Exited {
                snapshot.state = State::Exited;
                snapshot.news += 1;
            }
        });
    });
    watching
}

fn learn(snapshot: &mut Snapshot, event: &Event) {
    match event.event.as_str() {
        "initialized" => snapshot.initialized = true,
        "process" => {
            snapshot.process = event.body.clone();
            if snapshot.state == State::Idle {
                snapshot.state = State::Running;
            }
        }
        "stopped" => {
            snapshot.state = State::Stopped;
            snapshot.stop = event.body.clone();
            snapshot.news += 1;
        }
        "continued" => snapshot.state = State::Running,
        "breakpoint" if event.body["reason"] == "changed" => {
            let told = &event.body["breakpoint"];
            if let Some(id) = told["id"].as_i64() {
                snapshot.breakpoints.insert(id, told.clone());
            }
        }
        "breakpoint" if event.body["reason"] == "removed" => {
            snapshot.removed.extend(event.body["breakpoint"]["id"].as_i64());
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
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_picture_follows_the_events_and_an_end_is_told_once() {
        let mut snapshot = Snapshot::default();
        for (event, body) in [
            ("initialized", json!(null)),
            ("process", json!({"systemProcessId": 5})),
            ("stopped", json!({"reason": "entry"})),
            ("continued", json!({})),
            ("exited", json!({"exitCode": 3})),
            ("terminated", json!(null)),
        ] {
            learn(&mut snapshot, &Event::new(event, body));
        }
        assert_eq!((snapshot.state, snapshot.news, snapshot.exit_code), (State::Exited, 2, Some(3)));
    }
}
