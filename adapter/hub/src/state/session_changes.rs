//! Reports of what a client did: `sessionChanged` for subscribers, and a line of the debug console for users
//! whose editor does not subscribe, where an agent is concerned.
//!
//! Not here: what the program does, and the handshake of a client that joins.

use serde::Serialize;
use serde_json::Value;
use tandem_wire::extensions;
use tandem_wire::types::{self, SessionChangedBody};

use super::{State, output_line};
use crate::access::AgentAccess;
use crate::breakpoints::BreakpointChanges;
use crate::clients::{Author, Client, ClientKind, HandshakeStage};
use crate::event::{ClientId, ClientRequest};
use crate::pending::ClientInput;

/// Maximum length of a text in a report, characters.
const MAX_TEXT: usize = 500;
/// Maximum number of breakpoints in one event.
const MAX_BREAKPOINTS: usize = 50;
/// Maximum number of commands whose refusal is remembered for a client, so that it is reported once.
const MAX_REFUSED: usize = 32;

/// The beginning of a long text.
pub(super) fn excerpt(text: &str) -> String {
    let mut letters = text.chars();
    let start: String = letters.by_ref().take(MAX_TEXT).collect();
    if letters.next().is_some() { format!("{start}…") } else { start }
}

/// Input that a client sends, with the part of its text that others see.
pub(super) fn client_input(by: &Client, data: &[u8], closes: bool) -> ClientInput {
    let text = excerpt(&String::from_utf8_lossy(data));
    ClientInput { author: Author::of(by), text, size: data.len(), closes }
}

/// The body of a `sessionChanged` event about a client.
pub(super) fn change<T: Serialize>(session: &str, change: &str, by: &Client, details: &T) -> Value {
    change_of(session, change, &Author::of(by), details)
}

/// The same about a client that may have left.
fn change_of<T: Serialize>(session: &str, change: &str, by: &Author, details: &T) -> Value {
    debug_assert!(extensions::find_change(change).is_some(), "undocumented change `{change}`");
    types::body(&SessionChangedBody {
        session: Some(session.to_owned()),
        change: change.to_owned(),
        client: Some(by.name.clone()),
        client_id: Some(by.id.0),
        kind: Some(by.kind.as_str().to_owned()),
        rest: types::fields(details),
        ..SessionChangedBody::default()
    })
}

/// The field of `resumed`.
#[derive(Debug, Serialize)]
pub(super) struct ResumedBy<'a> {
    command: &'a str,
}

impl<'a> ResumedBy<'a> {
    /// A request has resumed the program.
    pub(super) fn of(request: &'a ClientRequest) -> Self {
        Self { command: &request.command }
    }
}

/// The field of `agentAccess`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AgentAccessSet {
    pub(super) agent_access: &'static str,
}

/// The fields of `valueSet`.
#[derive(Debug, Serialize)]
pub(super) struct ValueSet {
    pub(super) name: Option<String>,
    pub(super) value: Option<String>,
}

/// The fields of `valueSet` for memory.
#[derive(Debug, Serialize)]
pub(super) struct MemoryWritten {
    pub(super) name: String,
    pub(super) bytes: i64,
}

/// The field of `evaluated`.
#[derive(Debug, Serialize)]
pub(super) struct EvaluationReport {
    pub(super) expression: Option<String>,
}

/// The fields of `input`.
#[derive(Debug, Serialize)]
struct InputWritten<'a> {
    bytes: usize,
    closed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
}

/// The fields of `breakpoints`: the first of each list, and how many more there are.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct BreakpointsChanged {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    added: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    added_more: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    removed: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    removed_more: Option<usize>,
}

/// The field of `joined`.
#[derive(Debug, Serialize)]
struct ClientJoined {
    access: &'static str,
}

/// The fields of `refused`.
#[derive(Debug, Serialize)]
struct CommandRefused<'a> {
    command: &'a str,
    access: &'static str,
}

impl State {
    /// Reports to subscribers what a client did.
    pub(super) fn report_change<T: Serialize>(&mut self, by: ClientId, what: &str, details: &T) {
        let Some(client) = self.clients.get(by) else { return };
        let body = change(&self.session, what, client, details);
        self.broadcast("sessionChanged", &body);
    }

    /// Reports the part of a client's input that the program's stdin took. A person's input may be a
    /// password: agents learn only its length.
    pub(super) fn report_input(&mut self, input: &ClientInput, bytes: usize, closed: bool) {
        let by_person = input.author.kind == ClientKind::Editor;
        let body_with =
            |text| change_of(&self.session, "input", &input.author, &InputWritten { bytes, closed, text });
        let (whole, without_text) = (body_with(Some(input.text.as_str())), body_with(None));
        for id in self.clients.ready() {
            let is_agent =
                self.clients.get(id).is_some_and(|client| client.identity.kind == ClientKind::Agent);
            let body = if by_person && is_agent { &without_text } else { &whole };
            self.send_event(id, "sessionChanged", body);
        }
    }

    /// Reports what changed in a client's list of breakpoints.
    pub(super) fn report_breakpoint_changes(&mut self, by: ClientId, changes: &BreakpointChanges) {
        if let Some(client) = self.clients.get(by)
            && let Some(body) = self.breakpoint_changes_body(client, changes)
        {
            self.broadcast("sessionChanged", &body);
        }
    }

    /// The body of that event; `None` when nothing changed.
    pub(super) fn breakpoint_changes_body(&self, by: &Client, changes: &BreakpointChanges) -> Option<Value> {
        let named = |list: &[(ClientId, Value)]| -> Vec<Value> {
            let named = list.iter().take(MAX_BREAKPOINTS).map(|(owner, body)| {
                let mut body = body.clone();
                if *owner != by.id {
                    types::set(&mut body, "owner", self.name_of(*owner));
                }
                body
            });
            named.collect()
        };
        let more = |list: &[_]| list.len().checked_sub(MAX_BREAKPOINTS).filter(|more| *more > 0);
        let BreakpointChanges { added, removed, .. } = changes;
        let details = BreakpointsChanged {
            added: named(added),
            added_more: more(added),
            removed: named(removed),
            removed_more: more(removed),
        };
        let is_any = !(added.is_empty() && removed.is_empty());
        is_any.then(|| change(&self.session, "breakpoints", by, &details))
    }

    /// Reports that a client has configured.
    pub(super) fn report_joined(&mut self, id: ClientId) {
        let Some(client) = self.clients.get(id) else { return };
        let access = self.access.of(client);
        let body = change(&self.session, "joined", client, &ClientJoined { access: access.as_str() });
        let note = (client.identity.kind == ClientKind::Agent).then(|| {
            let may = match access {
                AgentAccess::Full => "may control the program",
                AgentAccess::ReadOnly => "may look only",
                AgentAccess::None => "may do nothing",
            };
            format!("{} (an agent) joined this session; it {may}", client.identity.name)
        });
        self.broadcast_except(Some(id), "sessionChanged", &body);
        if let Some(note) = note {
            self.write_to_users(&note);
        }
    }

    /// Reports that an agent was refused a command, once for each command until its access changes: an agent
    /// that tries again and again is not news.
    pub(super) fn report_refused(&mut self, request: &ClientRequest) {
        let Some(client) = self.clients.get_mut(request.client) else { return };
        if client.identity.kind != ClientKind::Agent
            || client.stage != HandshakeStage::Ready
            || !client.access.note_refused(&request.command, MAX_REFUSED)
        {
            return;
        }
        let Some(client) = self.clients.get(request.client) else { return };
        let access = self.access.of(client).as_str();
        let details = CommandRefused { command: &request.command, access };
        let body = change(&self.session, "refused", client, &details);
        let note = format!(
            "{} was refused `{}`: `agentAccess` is `{access}`",
            client.identity.name, request.command
        );
        self.broadcast_except(Some(request.client), "sessionChanged", &body);
        self.write_to_users(&note);
    }

    /// Writes a line to the debug console of users whose editor does not subscribe to `sessionChanged`.
    pub(super) fn write_to_users(&mut self, line: &str) {
        let unaware = |client: &Client| {
            client.identity.kind == ClientKind::Editor
                && !client.subscription.is_active
                && client.stage == HandshakeStage::Ready
        };
        for id in self.clients.ids_where(unaware) {
            self.send_event(id, "output", &output_line("console", line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_reported_by_its_beginning() {
        assert_eq!(excerpt("short"), "short");
        let long = excerpt(&"ü".repeat(MAX_TEXT + 1));
        assert_eq!((long.chars().count(), long.ends_with('…')), (MAX_TEXT + 1, true));
    }
}
