//! What a client did, told to those who ride with it: `sessionChanged` for subscribers, and a line of the debug console for people
//! whose editor does not subscribe, where an agent is concerned.
//!
//! Not here: the program's own doings, and `joined`'s handshake.

use serde_json::{Value, json};

use super::State;
use crate::hub::access::AgentAccess;
use crate::hub::breakpoints::Marked;
use crate::hub::clients::{Client, Kind, Stage};
use crate::hub::event::ClientId;
use crate::hub::pending::Asked;

/// Most characters of a text that is told.
const TEXT: usize = 500;
/// Most breakpoints that one event names.
const BREAKPOINTS: usize = 50;
/// Commands whose refusal is remembered for a client, so that it is told once.
const REFUSED: usize = 32;

/// The beginning of a text.
pub(super) fn excerpt(text: &str) -> String {
    let mut letters = text.chars();
    let start: String = letters.by_ref().take(TEXT).collect();
    if letters.next().is_some() { format!("{start}…") } else { start }
}

/// The body of a `sessionChanged` event about a client.
pub(super) fn change(session: &str, change: &str, by: &Client, details: &Value) -> Value {
    let mut body = json!({ "session": session, "change": change, "client": by.name, "clientId": by.id.0,
        "kind": by.kind.as_str() });
    if let (Some(body), Some(details)) = (body.as_object_mut(), details.as_object()) {
        body.extend(details.iter().map(|(key, value)| (key.clone(), value.clone())));
    }
    body
}

impl State {
    /// Tells subscribers what a client did.
    pub(super) fn tell_deed(&mut self, by: ClientId, what: &str, details: &Value) {
        let Some(client) = self.clients.get(by) else { return };
        let body = change(&self.session, what, client, details);
        self.tell_all("sessionChanged", &body);
    }

    /// What was written to the program's stdin. What a person typed may be a password: agents learn only how much it was.
    pub(super) fn tell_input(&mut self, asked: &Asked, text: &str, closes: bool, answer: &Value) {
        let Some(client) = self.clients.get(asked.client) else { return };
        let by_person = client.kind == Kind::Editor;
        let body = change(
            &self.session,
            "input",
            client,
            &json!({ "bytes": answer["bytesWritten"], "closed": closes }),
        );
        for id in self.clients.ready() {
            let mut body = body.clone();
            let is_agent = self.clients.get(id).is_some_and(|client| client.kind == Kind::Agent);
            if !(by_person && is_agent) {
                body["text"] = json!(text);
            }
            self.tell(id, "sessionChanged", &body);
        }
    }

    /// What became of somebody's list of breakpoints.
    pub(super) fn tell_marks(&mut self, by: ClientId, marks: &Marked) {
        if let Some(client) = self.clients.get(by)
            && let Some(body) = self.marks_body(client, marks)
        {
            self.tell_all("sessionChanged", &body);
        }
    }

    /// The same, for the event itself; `None` when nothing became of it.
    pub(super) fn marks_body(&self, by: &Client, marks: &Marked) -> Option<Value> {
        let mut details = json!({});
        for (key, list) in [("added", &marks.added), ("removed", &marks.removed)] {
            if list.is_empty() {
                continue;
            }
            let told = list.iter().take(BREAKPOINTS).map(|(owner, body)| {
                let mut body = body.clone();
                if *owner != by.id {
                    body["owner"] = json!(self.name_of(*owner));
                }
                body
            });
            details[key] = told.collect();
            if list.len() > BREAKPOINTS {
                details[format!("{key}More")] = json!(list.len() - BREAKPOINTS);
            }
        }
        let some = details.as_object().is_some_and(|details| !details.is_empty());
        some.then(|| change(&self.session, "breakpoints", by, &details))
    }

    /// A client has configured: it is one of those who ride.
    pub(super) fn tell_joined(&mut self, id: ClientId) {
        let Some(client) = self.clients.get(id) else { return };
        let access = self.access_of(client);
        let body = change(&self.session, "joined", client, &json!({ "access": access.as_str() }));
        let note = (client.kind == Kind::Agent).then(|| {
            let may = match access {
                AgentAccess::Full => "may control the program",
                AgentAccess::ReadOnly => "may look only",
                AgentAccess::None => "may do nothing",
            };
            format!("{} (an agent) joined this session; it {may}\n", client.name)
        });
        self.tell_all_but(Some(id), "sessionChanged", &body);
        if let Some(note) = note {
            self.note_people(&note);
        }
    }

    /// An agent asked for what it may not do. Told once for each command, until its access changes: an agent that tries again and
    /// again tells nothing new.
    pub(super) fn tell_refused(&mut self, asked: &Asked) {
        let Some(client) = self.clients.get_mut(asked.client) else { return };
        if client.kind != Kind::Agent
            || client.stage != Stage::Ready
            || client.refused.len() >= REFUSED
            || !client.refused.insert(asked.command.clone())
        {
            return;
        }
        let Some(client) = self.clients.get(asked.client) else { return };
        let access = self.access_of(client).as_str();
        let details = json!({ "command": asked.command, "access": access });
        let body = change(&self.session, "refused", client, &details);
        let note = format!("{} was refused `{}`: `agentAccess` is `{access}`\n", client.name, asked.command);
        self.tell_all_but(Some(asked.client), "sessionChanged", &body);
        self.note_people(&note);
    }

    /// A line of the debug console for people whose editor hears nothing of `sessionChanged`.
    fn note_people(&mut self, text: &str) {
        let unaware = |client: &&Client| {
            client.kind == Kind::Editor && !client.subscribed && client.stage == Stage::Ready
        };
        let people: Vec<_> = self.clients.iter().filter(unaware).map(|client| client.id).collect();
        for id in people {
            self.tell(id, "output", &json!({ "category": "console", "output": text }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_told_by_its_beginning() {
        assert_eq!(excerpt("short"), "short");
        let long = excerpt(&"ü".repeat(TEXT + 1));
        assert_eq!((long.chars().count(), long.ends_with('…')), (TEXT + 1, true));
    }
}
