//! What one client of a rehearsal can know: what it is shown, which ids it was told, where it thinks the program is.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::FILES;
use crate::hub::event::ClientId;

/// What one client can know.
#[derive(Default)]
pub(super) struct View {
    pub(super) here: bool,
    /// Breakpoints moved onto each other, or it lost one of its own: who sees what is not checked.
    pub(super) blurred: bool,
    pub(super) introduced: bool,
    pub(super) ready: bool,
    pub(super) stopped: bool,
    /// It took a step, and may be told that every thread runs.
    pub(super) stepped: bool,
    pub(super) exited: bool,
    pub(super) terminated: bool,
    /// Sends back what it is shown.
    pub(super) reflects: bool,
    /// What its user wants, by file.
    pub(super) own: BTreeMap<usize, Vec<Value>>,
    /// It sends the line it was shown first, as VS Code does, or the latest, as nvim-dap does.
    pub(super) latest: bool,
    /// Others' breakpoints it shows, by id.
    pub(super) shown: BTreeMap<i64, Dot>,
    /// Ids it was ever told.
    pub(super) known: BTreeSet<i64>,
    /// A list of its was refused: it wants things whose ids it was not told.
    pub(super) refused: bool,
}

/// A breakpoint of somebody else in an editor's margin.
#[derive(Debug)]
pub(super) struct Dot {
    pub(super) path: String,
    /// Where it was at first.
    pub(super) first: i64,
    /// Where it is.
    pub(super) now: i64,
}

pub(super) fn breakpoint_told(client: ClientId, view: &mut View, body: &Value) {
    let breakpoint = &body["breakpoint"];
    let id = breakpoint["id"].as_i64().expect("a breakpoint without an id");
    match body["reason"].as_str() {
        Some("new") => {
            let path = breakpoint["source"]["path"].as_str().expect("Helix needs a path").to_owned();
            let line = breakpoint["line"].as_i64().expect("Helix needs a line");
            let twice = view.shown.values().any(|dot| dot.path == path && dot.now == line);
            let again = view.shown.contains_key(&id);
            // A user's own breakpoint may have moved onto the line and hidden the dot meanwhile.
            let file = FILES.iter().position(|file| *file == path).unwrap_or(0);
            let own = view.own.contains_key(&file);
            assert!(own || view.blurred || !twice, "{client} is shown two on line {line} of {path}");
            assert!(own || view.blurred || !again, "{client} is shown {id} twice");
            view.known.insert(id);
            view.shown.insert(id, Dot { path, first: line, now: line });
        }
        Some("removed") => {
            assert!(view.refused || view.known.contains(&id), "{client} never knew {id}");
            // Its own, removed by somebody else: which it was is more than this player remembers.
            view.blurred |= view.shown.remove(&id).is_none();
        }
        reason => {
            assert_eq!(reason, Some("changed"));
            if let (Some(dot), Some(line)) = (view.shown.get_mut(&id), breakpoint["line"].as_i64()) {
                dot.now = line;
            }
        }
    }
}
