//! Frames other than the top one of the thread that stopped, and the values read in them, at this stop: for
//! an adapter that assigns in the top frame, whatever frame a variable was read in. Not here: the assignment
//! (`session/assigning.rs`).

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::Value;
use tandem_wire::types::{self, StackTraceResponseBody, StoppedEventBody};

/// Maximum number of frames and references that are remembered.
const MAX_REMEMBERED: usize = 50_000;

/// The ids of such frames, and references of their values.
#[derive(Debug, Default)]
pub(in super::super) struct LowerFrames {
    stopped_thread: Option<i64>,
    frames: HashSet<i64>,
    /// References of their scopes and values.
    references: HashSet<i64>,
}

/// The frame or value that a request is about.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RequestedPlace {
    thread_id: Option<i64>,
    start_frame: Option<i64>,
    frame_id: Option<i64>,
    variables_reference: Option<i64>,
}

/// The references in an answer to `scopes`, `variables` or `evaluate`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct AnsweredReferences {
    scopes: Vec<AnsweredReferences>,
    variables: Vec<AnsweredReferences>,
    variables_reference: i64,
}

impl LowerFrames {
    /// The program has stopped once more: ids and references are used again.
    pub(in super::super) fn stop(&mut self, body: &Value) {
        let stop: StoppedEventBody = types::read(body);
        *self = Self { stopped_thread: stop.thread_id, ..Self::default() };
    }

    /// Learns from the answer to a request with these arguments.
    pub(in super::super) fn learn(&mut self, command: &str, arguments: &Value, answer: &Value) {
        if self.stopped_thread.is_none() || self.is_full() {
            return;
        }
        let place: RequestedPlace = types::read(arguments);
        match command {
            "stackTrace" => {
                let has_top = place.thread_id == self.stopped_thread && place.start_frame.unwrap_or(0) == 0;
                let stack: StackTraceResponseBody = types::read(answer);
                let ids = stack.stack_frames.into_iter().map(|frame| frame.id);
                self.frames.extend(ids.skip(usize::from(has_top)));
            }
            "scopes" | "evaluate" | "variables" if self.has(&place) => {
                let AnsweredReferences { scopes, variables, variables_reference } = types::read(answer);
                let listed = scopes.into_iter().chain(variables).map(|row| row.variables_reference);
                self.references
                    .extend(listed.chain([variables_reference]).filter(|reference| *reference != 0));
            }
            _ => {}
        }
    }

    /// Whether a request is about such a frame, or a value of one. Once there are too many to remember, every
    /// request counts: a refused assignment does less harm than one to another variable.
    pub(in super::super) fn have(&self, arguments: &Value) -> bool {
        self.is_full() || self.has(&types::read(arguments))
    }

    fn is_full(&self) -> bool {
        self.frames.len() + self.references.len() >= MAX_REMEMBERED
    }

    fn has(&self, place: &RequestedPlace) -> bool {
        place.frame_id.is_some_and(|frame| self.frames.contains(&frame))
            || place.variables_reference.is_some_and(|reference| self.references.contains(&reference))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_belong_to_the_frame_in_which_they_were_read() {
        let mut lower = LowerFrames::default();
        let stack = json!({ "stackFrames": [{ "id": 1 }, { "id": 2 }] });
        let scopes = json!({ "scopes": [{ "variablesReference": 7 }] });
        lower.stop(&json!({ "threadId": 4 }));
        lower.learn("stackTrace", &json!({ "threadId": 4 }), &stack);
        lower.learn("scopes", &json!({ "frameId": 1 }), &json!({ "scopes": [{ "variablesReference": 5 }] }));
        lower.learn("scopes", &json!({ "frameId": 2 }), &scopes);
        let rows = json!({ "variables": [{ "variablesReference": 8 }, { "variablesReference": 0 }] });
        lower.learn("variables", &json!({ "variablesReference": 7 }), &rows);
        lower.learn("evaluate", &json!({ "frameId": 2 }), &json!({ "result": "x", "variablesReference": 9 }));
        for (arguments, is_lower) in [
            (json!({ "frameId": 1 }), false),
            (json!({ "frameId": 2 }), true),
            (json!({ "variablesReference": 5 }), false),
            (json!({ "variablesReference": 7 }), true),
            (json!({ "variablesReference": 8 }), true),
            (json!({ "variablesReference": 9 }), true),
            (json!({ "variablesReference": 0 }), false),
            (json!({}), false),
        ] {
            assert_eq!(lower.have(&arguments), is_lower, "{arguments}");
        }
        // The top frames of other threads count, too, as do frames of a later page.
        lower.stop(&json!({ "threadId": 4 }));
        lower.learn("stackTrace", &json!({ "threadId": 5, "startFrame": 0 }), &stack);
        assert!(lower.have(&json!({ "frameId": 1 })) && !lower.have(&json!({ "variablesReference": 7 })));
        lower.stop(&json!({ "threadId": 4 }));
        lower.learn("stackTrace", &json!({ "threadId": 4, "startFrame": 1 }), &stack);
        assert!(lower.have(&json!({ "frameId": 1 })));
        let rows: Vec<Value> =
            (10..10 + MAX_REMEMBERED).map(|reference| json!({ "variablesReference": reference })).collect();
        lower.learn("variables", &json!({ "frameId": 1 }), &json!({ "variables": rows }));
        assert!(lower.have(&json!({ "variablesReference": 5 })), "nothing is known to be of the top frame");
    }
}
