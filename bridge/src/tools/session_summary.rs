//! A session of an agent in one line. Not here: the answer about its program ([`super::run_answer`]).

use serde::Serialize;

use crate::session::AgentSession;

/// One session of this agent's in a line.
#[derive(Debug, Serialize)]
pub(super) struct SessionSummary {
    /// Its id, which other calls take as `session`.
    pub(super) session: String,
    program: String,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
}

impl SessionSummary {
    pub(super) fn of(session: &AgentSession) -> Self {
        Self {
            session: session.id.clone(),
            program: session.relation.title.clone(),
            state: session.snapshot().state.as_str(),
            parent: session.relation.parent.clone(),
        }
    }
}
