//! Parts of answers that say which session they are about.

use serde::Serialize;
use serde_json::{Value, json};

use crate::session::AgentSession;

/// One session of this agent's in a line.
#[derive(Serialize)]
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

/// Adds which session it is, its process and the breakpoints in it.
pub(super) fn describe(answer: &mut Value, session: &AgentSession) {
    answer["session"] = json!(session.id);
    answer["pid"] = json!(session.snapshot().process_id());
    // Those of a program hold in every program that it starts.
    let mut set = session.root().with_requested(|requested| requested.bodies());
    set.iter_mut().for_each(|one| session.name_files(one));
    if !set.is_empty() {
        answer["breakpoints"] = json!(set);
    }
    drop_null(answer, "pid");
}

/// Fields with a type in the output schema are absent rather than null.
pub(super) fn drop_null(answer: &mut Value, key: &str) {
    if let Some(answer) = answer.as_object_mut()
        && answer.get(key).is_some_and(Value::is_null)
    {
        answer.shift_remove(key);
    }
}
