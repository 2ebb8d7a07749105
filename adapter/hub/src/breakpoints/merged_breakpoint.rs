//! A breakpoint of the union: equal requests of one or several clients, and what the engine reported of it.
//!
//! Not here: the merging ([`super::scope_breakpoints`]), the evaluation of a hit ([`crate::state`]).

use std::collections::BTreeSet;

use serde_json::Value;
use tandem_wire::types::{self, Breakpoint, BreakpointRequest, Source};

use crate::event::ClientId;

/// The engine's id in its report of a breakpoint.
pub(super) fn engine_id(reported: &Value) -> Option<i64> {
    types::read::<Breakpoint>(reported).id
}

/// The side that decides whether a hit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Evaluation {
    /// The engine: it has the whole request.
    #[default]
    Engine,
    /// The engine evaluates the condition, the hub the rest: the engine stops only where the condition holds.
    EngineCondition,
    /// The hub: the engine stops each time.
    Hub,
}

/// A breakpoint of the union.
#[derive(Debug)]
pub struct MergedBreakpoint {
    /// The session's id for it.
    pub id: i64,
    pub request: BreakpointRequest,
    /// The clients that requested it.
    pub owners: BTreeSet<ClientId>,
    /// The engine's id, once it knows the breakpoint; several may share one.
    pub(super) engine_id: Option<i64>,
    /// The latest report of the engine, without its id.
    pub(super) reported: Option<Breakpoint>,
    /// The side that decides whether a hit counts.
    pub(super) evaluation: Evaluation,
    /// The engine has the condition now and did not before: a stop from before may be on its way, so the
    /// hub evaluates it again.
    pub(super) recheck: bool,
    /// The number of hits, if the hub counts them.
    pub(super) hits: u64,
}

impl MergedBreakpoint {
    /// A new breakpoint without owners.
    pub(super) fn new(id: i64, request: BreakpointRequest) -> Self {
        Self {
            id,
            request,
            owners: BTreeSet::new(),
            engine_id: None,
            reported: None,
            evaluation: Evaluation::default(),
            recheck: false,
            hits: 0,
        }
    }

    /// The line that the engine reported, else the line that its owners want.
    pub fn line(&self) -> Option<i64> {
        self.reported.as_ref().and_then(|reported| reported.line).or(self.request.line)
    }

    /// The path of the source in which the engine put it, if it reported one.
    pub(super) fn reported_path(&self) -> Option<&str> {
        self.reported.as_ref()?.source.as_ref()?.path.as_deref()
    }

    /// Whether a stop alone does not show that it was hit.
    pub(super) fn needs_hub(&self) -> bool {
        self.evaluation != Evaluation::Engine || self.recheck
    }

    /// The part of the request that the hub evaluates at a stop.
    pub(super) fn left_to_hub(&self) -> BreakpointRequest {
        let condition = self.request.condition.clone();
        match self.evaluation {
            Evaluation::Engine if self.recheck => {
                BreakpointRequest { condition, ..BreakpointRequest::default() }
            }
            Evaluation::EngineCondition if !self.recheck => {
                BreakpointRequest { condition: None, ..self.request.clone() }
            }
            Evaluation::Engine | Evaluation::EngineCondition | Evaluation::Hub => self.request.clone(),
        }
    }

    /// Sets the side that decides from now on.
    pub(super) fn set_evaluation(&mut self, evaluation: Evaluation) {
        let has_condition = self.request.condition.is_some();
        let evaluation = match evaluation {
            Evaluation::EngineCondition if !has_condition => Evaluation::Hub,
            other => other,
        };
        self.recheck |= self.evaluation == Evaluation::Hub && evaluation != Evaluation::Hub && has_condition;
        self.evaluation = evaluation;
    }

    /// Stores the engine's report (DAP `Breakpoint`); returns whether anything changed.
    pub(super) fn update(&mut self, reported: &Value) -> bool {
        let new = reported.is_object().then(|| {
            let mut new = Breakpoint { id: None, ..types::read(reported) };
            // An event may name only what is new.
            if let Some(old) = &mut self.reported {
                new.line = new.line.or(old.line);
                new.column = new.column.or(old.column);
                new.end_line = new.end_line.or(old.end_line);
                new.end_column = new.end_column.or(old.end_column);
                new.source = new.source.or_else(|| old.source.clone());
                new.instruction_reference =
                    new.instruction_reference.or_else(|| old.instruction_reference.clone());
                new.offset = new.offset.or(old.offset);
            }
            new
        });
        let changed = new != self.reported;
        self.reported = new;
        changed
    }

    /// DAP `Breakpoint` for a client that spells the source so.
    pub(super) fn body(&self, source: Option<&Source>) -> Breakpoint {
        let mut body = self.reported.clone().unwrap_or_else(|| Breakpoint {
            message: Some("pending: no program runs yet".into()),
            reason: Some("pending".into()),
            ..Breakpoint::default()
        });
        body.id = Some(self.id);
        // Some editors rely on both being there.
        body.line = body.line.or(self.request.line);
        if let Some(source) = source {
            body.source = Some(source.clone());
        }
        let names_code = self.request.line.is_some() || self.request.target.name.is_some();
        if names_code && !body.verified && !body.is_explained() {
            body.message = Some(types::UNBOUND.to_owned());
        }
        body
    }

    /// Its owners, by these names, and its conditions: DAP has no fields for them, but editors show a
    /// message.
    pub fn describe(&self, owners: &[String]) -> String {
        let mut text = format!("set by {}", owners.join(", "));
        let request = &self.request;
        for (what, word) in
            [(&request.condition, "when"), (&request.hit_condition, "hits"), (&request.log_message, "logs")]
        {
            if let Some(what) = what {
                text.push_str(&format!("; {word} `{what}`"));
            }
        }
        let traced = request.trace.iter().flat_map(|trace| &trace.expressions);
        let traced: Vec<String> = traced.map(|what| format!("`{what}`")).collect();
        if !traced.is_empty() {
            text.push_str(&format!("; traces {}", traced.join(", ")));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_breakpoint_in_code_that_did_not_bind_says_why() {
        let message = |request: BreakpointRequest, reported: Value| {
            let mut breakpoint = MergedBreakpoint::new(1, request);
            breakpoint.update(&reported);
            breakpoint.body(None).message
        };
        let unbound = Some(types::UNBOUND.to_owned());
        for request in [BreakpointRequest::at_line(3), BreakpointRequest::at_function("f")] {
            assert_eq!(message(request.clone(), json!({ "verified": false })), unbound);
            assert_eq!(message(request.clone(), json!({ "verified": false, "message": "" })), unbound);
            let reason = json!({ "verified": false, "message": "no file" });
            assert_eq!(message(request.clone(), reason).as_deref(), Some("no file"));
            assert_eq!(message(request, json!({ "verified": true })), None);
        }
        let filter = BreakpointRequest::filter("raised");
        assert_eq!(message(filter, json!({ "verified": false })), None);
    }
}
