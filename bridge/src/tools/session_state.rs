//! The state of a session as `debug_status` answers it.
//!
//! Declares no tool: [`super::sessions`] does.

use serde::Serialize;
use serde_json::Value;
use tandem_wire::types::{
    self, ProcessEventBody, ProgramExit, SessionClient, SessionInfoArguments, SessionInfoBody,
};

use super::session_summary::SessionSummary;
use super::shown_frame::shown_frame;
use crate::session::AgentSession;
use crate::snapshot::ProgramState;
use crate::source::ShownPlace;

/// The answer of `debug_status`.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionState {
    state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(flatten)]
    exit: ProgramExit,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread_id: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_access: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    engine: Option<String>,
    /// Where the stop is shown, not where the thread is in a library.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) place: Option<ShownPlace>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clients: Option<Vec<ClientRow>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parent: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) related: Vec<SessionSummary>,
}

/// A client of a session, as `debug_status` lists it.
#[derive(Serialize)]
struct ClientRow {
    name: String,
    kind: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    launched: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    you: bool,
}

impl SessionState {
    /// The state of an agent without a session.
    pub(super) fn idle() -> Self {
        Self { state: ProgramState::Idle.as_str().to_owned(), ..Self::default() }
    }
}

impl From<SessionClient> for ClientRow {
    fn from(client: SessionClient) -> Self {
        let SessionClient { name, kind, launched, you, .. } = client;
        Self { name, kind, launched, you }
    }
}

/// The state of a session, and the number of stops and ends up to then. The snapshot is read after the
/// session's own report, so it has every event that came before.
pub(super) async fn query_state(session: &AgentSession) -> (SessionState, u64) {
    let info = session.send(&SessionInfoArguments::default()).await;
    let snapshot = session.snapshot();
    let mut state = SessionState {
        state: snapshot.state.as_str().to_owned(),
        session: Some(session.id.clone()),
        exit: ProgramExit { exit_code: snapshot.end.exit_code, signal: snapshot.end.signal },
        ..SessionState::default()
    };
    if snapshot.state == ProgramState::Stopped {
        (state.reason, state.thread_id) = (Some(snapshot.stop.reason), snapshot.stop.thread_id);
    }
    if let Ok(info) = info {
        state.add_info(session, info).await;
    }
    (state, snapshot.news)
}

impl SessionState {
    /// Adds what the session reports of itself.
    async fn add_info(&mut self, session: &AgentSession, info: SessionInfoBody) {
        let exit: ProgramExit = types::read(&Value::Object(info.end));
        self.exit = ProgramExit {
            exit_code: exit.exit_code.or(self.exit.exit_code),
            signal: exit.signal.or(self.exit.signal.take()),
        };
        if !info.state.is_empty() {
            self.state = info.state;
        }
        // A session without a stop has no reason.
        if let Some(stop) = info.stop.filter(|stop| !stop.reason.is_empty()) {
            self.reason = Some(stop.reason);
            self.thread_id = stop.thread_id.or(self.thread_id);
            if let Some(place) = stop.place {
                let shown = shown_frame(session, stop.thread_id.unwrap_or_default()).await.ok().flatten();
                let reported = || ShownPlace::new(&place.name, place.source.as_ref(), place.line);
                self.place = Some(shown.map_or_else(reported, |(_, shown)| ShownPlace::from(&shown)));
            }
        }
        (self.agent_access, self.engine) = (Some(info.agent_access), info.engine);
        let process: Option<ProcessEventBody> = info.process.as_ref().map(types::read);
        self.pid = process.and_then(|process| process.system_process_id);
        self.clients = Some(info.clients.into_iter().flatten().map(ClientRow::from).collect());
    }
}
