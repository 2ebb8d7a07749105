//! The events of a session so far, in one order.
//!
//! Not here: the record of the events ([`crate::event_log`]).

use dap_wire::Failure;
use serde_json::{Value, json};

use crate::bounds::Budget;
use crate::call::ToolCall;
use crate::session::AgentSession;
use crate::tool::{Tool, ToolEffect, ToolGroup, run};

/// Entries in one answer by default.
const DEFAULT_COUNT: u64 = 100;
/// Maximum number of entries in one answer.
const MAX_COUNT: u64 = 1000;

/// The tools for the timeline.
pub const GROUP: ToolGroup = ToolGroup {
    name: "timeline",
    tools: &[Tool {
        name: "debug_timeline",
        core: false,
        effect: ToolEffect::ReadOnly,
        description: "Stops, output and each client's actions (resume, input, set, join, refusal), in order. \
                Pass next as since for more.",
        input: &["since:i", "kinds:as", "count:i=100", "maxTokens:i"],
        output: &["entries:a", "next:i"],
        run: run!(timeline),
    }],
};

async fn timeline(call: &ToolCall) -> Result<Value, Failure> {
    let session = call.bridge.session(&call.arguments).await?;
    let since = call.arguments.number("since")?.unwrap_or(1);
    let count = call.arguments.number("count")?.unwrap_or(DEFAULT_COUNT).clamp(1, MAX_COUNT);
    let kinds = call.arguments.texts("kinds")?;
    Ok(read(&session, since, &kinds, count, Budget::of(&call.arguments)?))
}

/// Reads entries in the form of `debug_timeline`.
pub fn read(session: &AgentSession, since: u64, kinds: &[String], count: u64, budget: Budget) -> Value {
    let (mut entries, mut next, dropped) = session
        .listener
        .event_log(|event_log| event_log.read(since, kinds, usize::try_from(count).unwrap_or(usize::MAX)));
    let fits = budget.rows(&entries);
    if fits < entries.len() {
        entries.truncate(fits);
        next = entries.last().and_then(|entry| entry["n"].as_u64()).map_or(next, |last| last + 1);
    }
    json!({ "entries": entries, "next": next, "dropped": dropped })
}
