//! Parts of answers that say which session they are about.

use serde_json::{Value, json};

use crate::session::AgentSession;

/// Another session of this agent's in a line.
pub(super) fn brief(session: &AgentSession) -> Value {
    let state = session.snapshot().state.as_str();
    let mut row = json!({ "session": session.id, "program": session.relation.title, "state": state });
    if let Some(parent) = &session.relation.parent {
        row["parent"] = json!(parent);
    }
    row
}

/// Adds which session it is, its process and the breakpoints in it.
pub(super) fn describe(answer: &mut Value, session: &AgentSession) {
    answer["session"] = json!(session.id);
    answer["pid"] = session.snapshot().process["systemProcessId"].clone();
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
