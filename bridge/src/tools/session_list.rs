//! `debug_sessions`: the live sessions on this machine, who started them, and where they are stopped; and
//! joining one of them.
//!
//! Not here: the session of this agent ([`super::sessions`]), the files of the list (`tandem-registry`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tandem_registry::SessionRecord;
use tandem_wire::Failure;
use tandem_wire::types::{SessionInfoArguments, SessionInfoBody, SessionPlace};
use tokio::task::JoinSet;

use super::run_answer::RunEvent;
use super::session_summary::SessionSummary;
use super::{answer, stops};
use crate::call::ToolCall;
use crate::new_output::NewOutput;
use crate::session::AgentSession;
use crate::snapshot::ProgramState;

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
    let mut list: Vec<SessionRow> =
        live_sessions(call).await.into_iter().map(SessionRow::Published).collect();
    // A session whose program has ended may not be published any more, but its output is still readable.
    for session in call.bridge.joined_sessions() {
        if !list.iter().any(|row| row.id() == session.id) {
            list.push(SessionRow::Joined { summary: SessionSummary::of(&session), joined: true });
        }
    }
    let is_current = |row: &SessionRow| Some(row.id()) == current.as_deref();
    let list: Vec<ListedSession> =
        list.into_iter().map(|row| ListedSession { current: is_current(&row), row }).collect();
    let mut listing = SessionList { sessions: list, state: None, event: None, output: None };
    if select.is_some()
        && let Some(session) = call.bridge.current()
    {
        let report = stops::report(&session).await;
        (listing.state, listing.event, listing.output) = (report.state, report.event, report.output);
    }
    answer(&listing)
}

/// The answer of `debug_sessions`: the list, and the state of the session that was selected.
#[derive(Serialize)]
struct SessionList {
    sessions: Vec<ListedSession>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<ProgramState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<RunEvent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<NewOutput>,
}

/// A session in the list.
#[derive(Serialize)]
struct ListedSession {
    #[serde(flatten)]
    row: SessionRow,
    #[serde(skip_serializing_if = "is_false")]
    current: bool,
}

#[derive(Serialize)]
#[serde(untagged)]
enum SessionRow {
    Published(PublishedRow),
    /// A session of this agent that is not published any more.
    Joined {
        #[serde(flatten)]
        summary: SessionSummary,
        joined: bool,
    },
}

impl SessionRow {
    fn id(&self) -> &str {
        match self {
            Self::Published(published) => &published.session,
            Self::Joined { summary, .. } => &summary.session,
        }
    }
}

/// A session that is published: what its file says, and its own report.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PublishedRow {
    session: String,
    title: String,
    program: String,
    engine: String,
    launched_by: Option<String>,
    joined: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<StopPlace>,
}

/// The file and line of a stop.
#[derive(Serialize)]
struct StopPlace {
    file: String,
    line: i64,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// The live sessions, each with its state; they are queried concurrently.
async fn live_sessions(call: &ToolCall) -> Vec<PublishedRow> {
    let (joined, client) = (call.bridge.joined_sessions(), call.bridge.client());
    let mut asking = JoinSet::new();
    let entries = tandem_registry::all();
    let mut list: Vec<PublishedRow> = entries.iter().map(PublishedRow::of).collect();
    for (at, entry) in entries.into_iter().enumerate().take(MAX_QUERIED_SESSIONS) {
        let ours = joined.iter().find(|session| session.id == entry.id).cloned();
        if ours.is_some()
            && let Some(row) = list.get_mut(at)
        {
            row.joined = true;
        }
        let client = client.clone();
        asking.spawn(async move {
            let info = match ours {
                Some(session) => session.send(&SessionInfoArguments::default()).await.ok(),
                None => AgentSession::query_info(&entry, &client).await,
            };
            (at, info)
        });
    }
    while let Some(done) = asking.join_next().await {
        if let Ok((at, Some(info))) = done
            && let Some(row) = list.get_mut(at)
        {
            row.add_info(info);
        }
    }
    list
}

impl PublishedRow {
    /// The row of a session, from the file that it published.
    fn of(entry: &SessionRecord) -> Self {
        Self {
            session: entry.id.clone(),
            title: entry.title.clone(),
            program: entry.program.clone(),
            engine: entry.engine.clone(),
            launched_by: entry.launched_by.client.clone(),
            joined: false,
            parent: entry.parent.clone(),
            state: None,
            place: None,
        }
    }

    /// Adds its state, and which client launched it; a program that another one started has its `parent`.
    fn add_info(&mut self, info: SessionInfoBody) {
        self.state = Some(info.state);
        let place = info.stop.and_then(|stop| stop.place);
        self.place = place
            .and_then(|SessionPlace { source, line, .. }| source?.path.map(|file| StopPlace { file, line }));
        let owner = info.clients.into_iter().flatten().find(|client| client.launched);
        if self.parent.is_none()
            && let Some(owner) = owner
        {
            let name = || format!("{} ({})", owner.name, owner.kind);
            self.launched_by = Some(if owner.you { "you".to_owned() } else { name() });
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tandem_wire::types;

    use super::*;

    #[test]
    fn rows_have_the_fields_that_are_known() {
        let record = json!({ "id": "a1", "pid": 1, "title": "app", "program": "/app.py", "engine": "debugpy",
            "cwd": null, "started": 0, "socket": "/s", "client": "vim" });
        let record: SessionRecord = serde_json::from_value(record).unwrap();
        let mut row = PublishedRow::of(&record);
        let text = |row: &PublishedRow| serde_json::to_string(row).unwrap();
        let head = r#"{"session":"a1","title":"app","program":"/app.py","engine":"debugpy","launchedBy":"#;
        assert_eq!(text(&row), format!("{head}\"vim\",\"joined\":false}}"));
        row.add_info(types::read(&json!({ "id": "a1", "state": "stopped", "agentAccess": "full",
            "clients": [{ "name": "vim", "kind": "editor", "launched": true, "you": false }],
            "reason": "step", "threadId": 1,
            "place": { "name": "f", "source": { "path": "/app.py" }, "line": 3, "column": 1 } })));
        let place = r#""place":{"file":"/app.py","line":3}"#;
        let info = format!(r#""vim (editor)","joined":false,"state":"stopped",{place}}}"#);
        assert_eq!(text(&row), format!("{head}{info}"));
        let listed = ListedSession { row: SessionRow::Published(row), current: true };
        assert!(serde_json::to_string(&listed).unwrap().ends_with(r#"},"current":true}"#));
    }
}
