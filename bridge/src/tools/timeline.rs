//! The events of a session so far, in one order.
//!
//! Not here: the record of the events ([`crate::event_log`]).

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tandem_wire::Failure;

use crate::arguments::schema::ArgumentSchema;
use crate::bounds::Budget;
use crate::call::ToolCall;
use crate::session::AgentSession;
use crate::tool::{AnswerField, StopUse, Tool, ToolEffect, ToolGroup, run};

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
        stop: StopUse::Independent,
        description: "Stops, output and each client's actions (resume, input, set, join, refusal), in order. \
                Pass next as since for more.",
        input: ArgumentSchema::of::<TimelineArguments>,
        output: &[AnswerField::list("entries"), AnswerField::integer("next")],
        run: run!(timeline),
    }],
};

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TimelineArguments {
    since: Option<u64>,
    #[serde(default)]
    kinds: Vec<String>,
    #[schemars(extend("default" = DEFAULT_COUNT))]
    count: Option<u64>,
    max_tokens: Option<u64>,
}

async fn timeline(call: &ToolCall, arguments: TimelineArguments) -> Result<Value, Failure> {
    let session = call.session().await?;
    let since = arguments.since.unwrap_or(1);
    let count = arguments.count.unwrap_or(DEFAULT_COUNT).clamp(1, MAX_COUNT);
    Ok(read(&session, since, &arguments.kinds, count, Budget::of(arguments.max_tokens)))
}

/// Reads entries in the form of `debug_timeline`.
pub fn read(session: &AgentSession, since: u64, kinds: &[String], count: u64, budget: Budget) -> Value {
    let (mut entries, mut next, dropped) = session
        .listener
        .event_log(|event_log| event_log.read(since, kinds, usize::try_from(count).unwrap_or(usize::MAX)));
    let fits = budget.rows(&entries);
    if fits < entries.len() {
        entries.truncate(fits);
        next = entries.last().map_or(next, |last| last.number + 1);
    }
    json!({ "entries": entries, "next": next, "dropped": dropped })
}
