//! `debug_sessions`: the live sessions on this machine, who started them, and where they are stopped; and
//! joining one of them.
//!
//! Not here: the session of this agent ([`super::sessions`]), the files of the list (`session-registry`).

use dap_wire::Failure;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use session_registry::SessionRecord;
use tokio::task::JoinSet;

use super::session_summary::{brief, drop_null};
use super::stops;
use crate::call::ToolCall;
use crate::session::AgentSession;

/// Maximum number of sessions that are queried for their state; others are listed from their files alone.
const MAX_QUERIED_SESSIONS: usize = 50;

#[derive(Deserialize, JsonSchema)]
pub(super) struct SessionsArguments {
    #[schemars(description = "id")]
    select: Option<String>,
}

pub(super) async fn sessions(call: &ToolCall, arguments: SessionsArguments) -> Result<Value, Failure> {
    let select = arguments.select;
    if let Some(id) = &select {
        if call.bridge.joined_sessions().iter().any(|session| session.id == *id) {
            call.bridge.select(id);
        } else {
            call.bridge.join(id).await?;
        }
    }
    let current = call.bridge.current().map(|session| session.id.clone());
    let mut list = live_sessions(call).await;
    // A session whose program has ended may not be published any more, but its output is still readable.
    for session in call.bridge.joined_sessions() {
        if !list.iter().any(|entry| entry["session"] == session.id.as_str()) {
            let mut entry = brief(&session);
            entry["joined"] = json!(true);
            list.push(entry);
        }
    }
    for entry in &mut list {
        if entry["session"].as_str() == current.as_deref() {
            entry["current"] = json!(true);
        }
    }
    let mut answer = json!({ "sessions": list });
    if select.is_some()
        && let Some(session) = call.bridge.current()
    {
        let report = stops::report(&session).await;
        for key in ["state", "event", "output"] {
            answer[key] = report[key].clone();
            drop_null(&mut answer, key);
        }
    }
    Ok(answer)
}

/// The live sessions, each with its state; they are queried concurrently.
async fn live_sessions(call: &ToolCall) -> Vec<Value> {
    let (joined, client) = (call.bridge.joined_sessions(), call.bridge.client());
    let mut asking = JoinSet::new();
    let entries = session_registry::all();
    let mut list: Vec<Value> = entries.iter().map(entry_of).collect();
    for (at, entry) in entries.into_iter().enumerate().take(MAX_QUERIED_SESSIONS) {
        let ours = joined.iter().find(|session| session.id == entry.id).cloned();
        if ours.is_some()
            && let Some(row) = list.get_mut(at)
        {
            row["joined"] = json!(true);
        }
        let client = client.clone();
        asking.spawn(async move {
            let info = match ours {
                Some(session) => session.ask("sessionInfo", json!({})).await.ok(),
                None => AgentSession::query_info(&entry, &client).await,
            };
            (at, info)
        });
    }
    while let Some(done) = asking.join_next().await {
        if let Ok((at, Some(info))) = done
            && let Some(row) = list.get_mut(at)
        {
            add_state(row, &info);
        }
    }
    list
}

/// The entry of a session, from the file that it published.
fn entry_of(entry: &SessionRecord) -> Value {
    let mut row = json!({ "session": entry.id, "title": entry.title, "program": entry.program,
        "engine": entry.engine, "launchedBy": entry.client, "joined": false });
    if let Some(parent) = &entry.parent {
        row["parent"] = json!(parent);
    }
    row
}

/// Its state, and which client launched it; for a program that another one started, its `parent`.
fn add_state(row: &mut Value, info: &Value) {
    row["state"] = info["state"].clone();
    let place = &info["place"];
    if let Some(file) = place["source"]["path"].as_str() {
        row["place"] = json!({ "file": file, "line": place["line"] });
    }
    let mut clients = info["clients"].as_array().into_iter().flatten();
    if row["parent"].is_null()
        && let Some(owner) = clients.find(|client| client["launched"] == true)
    {
        row["launchedBy"] = match owner["you"] == true {
            true => json!("you"),
            false => json!(format!(
                "{} ({})",
                owner["name"].as_str().unwrap_or_default(),
                owner["kind"].as_str().unwrap_or_default()
            )),
        };
    }
}
