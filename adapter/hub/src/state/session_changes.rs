//! Reports of what a client did: `sessionChanged` for subscribers, and a line of the debug console for users
//! whose editor does not subscribe, where an agent is concerned.
//!
//! Not here: what the program does, and the handshake of a client that joins.

use dap_wire::extensions;
use serde_json::{Value, json};

use super::{State, output_line};
use crate::access::AgentAccess;
use crate::breakpoints::BreakpointChanges;
use crate::clients::{Client, ClientKind, HandshakeStage};
use crate::event::{ClientId, ClientRequest};

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

/// The body of a `sessionChanged` event about a client.
pub(super) fn change(session: &str, change: &str, by: &Client, details: &Value) -> Value {
    debug_assert!(extensions::find_change(change).is_some(), "undocumented change `{change}`");
    let mut body = json!({ "session": session, "change": change, "client": by.identity.name,
        "clientId": by.id.0, "kind": by.identity.kind.as_str() });
    if let (Some(body), Some(details)) = (body.as_object_mut(), details.as_object()) {
        body.extend(details.iter().map(|(key, value)| (key.clone(), value.clone())));
    }
    body
}

impl State {
    /// Reports to subscribers what a client did.
    pub(super) fn report_change(&mut self, by: ClientId, what: &str, details: &Value) {
        let Some(client) = self.clients.get(by) else { return };
        let body = change(&self.session, what, client, details);
        self.broadcast("sessionChanged", &body);
    }

    /// Reports input to the program's stdin. A person's input may be a password: agents
    /// learn only its length.
    pub(super) fn report_input(&mut self, request: &ClientRequest, text: &str, closes: bool, bytes: usize) {
        let Some(client) = self.clients.get(request.client) else { return };
        let by_person = client.identity.kind == ClientKind::Editor;
        let body = change(&self.session, "input", client, &json!({ "bytes": bytes, "closed": closes }));
        for id in self.clients.ready() {
            let mut body = body.clone();
            let is_agent =
                self.clients.get(id).is_some_and(|client| client.identity.kind == ClientKind::Agent);
            if !(by_person && is_agent) {
                body["text"] = json!(text);
            }
            self.send_event(id, "sessionChanged", &body);
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
        let mut details = json!({});
        for (key, list) in [("added", &changes.added), ("removed", &changes.removed)] {
            if list.is_empty() {
                continue;
            }
            let named = list.iter().take(MAX_BREAKPOINTS).map(|(owner, body)| {
                let mut body = body.clone();
                if *owner != by.id {
                    body["owner"] = json!(self.name_of(*owner));
                }
                body
            });
            details[key] = named.collect();
            if list.len() > MAX_BREAKPOINTS {
                details[format!("{key}More")] = json!(list.len() - MAX_BREAKPOINTS);
            }
        }
        let some = details.as_object().is_some_and(|details| !details.is_empty());
        some.then(|| change(&self.session, "breakpoints", by, &details))
    }

    /// Reports that a client has configured.
    pub(super) fn report_joined(&mut self, id: ClientId) {
        let Some(client) = self.clients.get(id) else { return };
        let access = self.access.of(client);
        let body = change(&self.session, "joined", client, &json!({ "access": access.as_str() }));
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
        let details = json!({ "command": request.command, "access": access });
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
