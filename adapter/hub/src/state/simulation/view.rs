//! One client's knowledge in a simulation: the breakpoints that it is shown, the ids that it received, and
//! the program's state as it was reported to it.
//!
//! Checks breakpoints only; [`super::rules`] checks all other messages.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::FILES;
use crate::event::ClientId;

/// One client's knowledge.
#[derive(Default)]
pub(super) struct View {
    pub(super) here: bool,
    /// Breakpoints moved onto each other, or the client lost its own: its view is not checked.
    pub(super) uncertain: bool,
    pub(super) initialized: bool,
    pub(super) ready: bool,
    pub(super) stopped: bool,
    /// It took a step, and may be notified that every thread runs.
    pub(super) stepped: bool,
    pub(super) exited: bool,
    pub(super) terminated: bool,
    /// Sends back what it is shown.
    pub(super) echoes_mirrors: bool,
    /// Its user's breakpoints, by file.
    pub(super) own: BTreeMap<usize, Vec<Value>>,
    /// It sends the line it was shown first, as VS Code does, or the latest, as nvim-dap does.
    pub(super) latest: bool,
    /// Others' breakpoints it shows, by id.
    pub(super) shown: BTreeMap<i64, ShownBreakpoint>,
    /// Ids it was ever reported.
    pub(super) known: BTreeSet<i64>,
    /// A list of its was refused: it wants things whose ids it was not reported.
    pub(super) refused: bool,
}

/// Another client's breakpoint in an editor's gutter.
#[derive(Debug)]
pub(super) struct ShownBreakpoint {
    pub(super) path: String,
    /// The line at which it was shown first.
    pub(super) first: i64,
    /// The line at which it is shown now.
    pub(super) now: i64,
}

pub(super) fn receive_breakpoint(client: ClientId, view: &mut View, body: &Value) {
    let breakpoint = &body["breakpoint"];
    let id = breakpoint["id"].as_i64().expect("a breakpoint without an id");
    match body["reason"].as_str() {
        Some("new") => {
            let path = breakpoint["source"]["path"].as_str().expect("Helix needs a path").to_owned();
            let line = breakpoint["line"].as_i64().expect("Helix needs a line");
            let twice = view.shown.values().any(|mirror| mirror.path == path && mirror.now == line);
            let again = view.shown.contains_key(&id);
            // A user's own breakpoint may have moved onto the line and hidden the mirror meanwhile.
            let file = FILES.iter().position(|file| *file == path).unwrap_or(0);
            let own = view.own.contains_key(&file);
            assert!(own || view.uncertain || !twice, "{client} is shown two on line {line} of {path}");
            assert!(own || view.uncertain || !again, "{client} is shown {id} twice");
            view.known.insert(id);
            view.shown.insert(id, ShownBreakpoint { path, first: line, now: line });
        }
        Some("removed") => {
            assert!(view.refused || view.known.contains(&id), "{client} never knew {id}");
            // Its own, removed by another client: the simulation does not track which one that was.
            view.uncertain |= view.shown.remove(&id).is_none();
        }
        reason => {
            assert_eq!(reason, Some("changed"));
            if let (Some(mirror), Some(line)) = (view.shown.get_mut(&id), breakpoint["line"].as_i64()) {
                mirror.now = line;
            }
        }
    }
}
