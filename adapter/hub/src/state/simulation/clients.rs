//! The clients of a simulation: people and agents that join, change their breakpoints, send requests and
//! leave. Editors send back what they are shown.
//!
//! Not here: what each client knows ([`super::view`]), the engine ([`super::engine`]).

use serde_json::{Value, json};
use tandem_wire::{Message, Request};

use super::view::{ShownBreakpoint, View};
use super::{FILES, Simulation};
use crate::event::{ClientId, ClientOrigin, HubEvent};

impl Simulation {
    pub(super) fn join(&mut self, origin: ClientOrigin) -> ClientId {
        self.next_client += 1;
        let client = ClientId(self.next_client);
        self.clients.insert(client, View { here: true, uncertain: self.uncertain, ..View::default() });
        self.feed(HubEvent::ClientJoined { client, origin });
        client
    }

    pub(super) fn join_session(&mut self, client: ClientId, command: &str, what: u8) {
        self.initialize(client, what);
        self.request(client, command, json!({}));
        self.emit("initialized", Value::Null);
        self.request(client, "configurationDone", Value::Null);
    }

    pub(super) fn initialize(&mut self, client: ClientId, what: u8) {
        let names = ["vscode", "neovim", "tandem-mcp", "tandem-mcp"];
        let name = names[usize::from(what) % names.len()];
        if let Some(view) = self.clients.get_mut(&client)
            && !std::mem::replace(&mut view.initialized, true)
        {
            view.echoes_mirrors = matches!(name, "vscode" | "neovim");
            view.latest = name == "neovim";
        }
        self.request(
            client,
            "initialize",
            json!({ "clientID": name, "supportsInvalidatedEvent": what & 8 != 0 }),
        );
    }

    /// A user changes its own breakpoints in a file; an editor sends them with what it is shown.
    pub(super) fn edit(&mut self, client: ClientId, what: u8) {
        let file = usize::from(what & 1);
        let line = i64::from(what >> 1 & 3) + 1;
        let request = match what >> 3 & 7 {
            0 => json!({ "line": line, "condition": "c" }),
            1 => json!({ "line": line, "hitCondition": "2" }),
            2 => json!({ "line": line, "logMessage": "l {x}" }),
            3 => json!({ "line": line, "column": 2 }),
            _ => json!({ "line": line }),
        };
        let Some(view) = self.clients.get_mut(&client) else { return };
        let mirror = view
            .shown
            .values()
            .any(|mirror| mirror.path == FILES[file] && (mirror.now == line || mirror.first == line));
        if view.echoes_mirrors && mirror && what >> 3 & 7 > 2 {
            // There is a mirror already; a click would remove it.
            return;
        }
        let list = view.own.entry(file).or_default();
        if what & 64 != 0 {
            list.retain(|request| request["line"] != line);
        } else if !list.contains(&request) {
            list.push(request);
            // The mirror that was there is the user's own now.
            view.shown.retain(|_, mirror| mirror.path != FILES[file] || mirror.now != line);
        }
        self.send_list(client, file, None);
    }

    pub(super) fn remove_mirror(&mut self, client: ClientId, at: usize) {
        let Some(view) = self.clients.get(&client) else { return };
        let mirrors: Vec<i64> = view.shown.keys().copied().collect();
        if view.echoes_mirrors && !mirrors.is_empty() {
            let mirror = mirrors[at % mirrors.len()];
            let file = FILES.iter().position(|file| view.shown[&mirror].path == **file).unwrap_or(0);
            self.send_list(client, file, Some(mirror));
        }
    }

    pub(super) fn send_list(&mut self, client: ClientId, file: usize, without: Option<i64>) {
        let Some(view) = self.clients.get_mut(&client) else { return };
        without.iter().for_each(|mirror| drop(view.shown.remove(mirror)));
        let mut list = view.own.get(&file).cloned().unwrap_or_default();
        if view.echoes_mirrors {
            let mirrors = view.shown.values().filter(|mirror| mirror.path == FILES[file]);
            let line = |mirror: &ShownBreakpoint| if view.latest { mirror.now } else { mirror.first };
            list.extend(mirrors.map(|mirror| json!({ "line": line(mirror) })));
        }
        self.request(
            client,
            "setBreakpoints",
            json!({ "source": { "path": FILES[file] }, "breakpoints": list }),
        );
    }

    pub(super) fn set_others(&mut self, client: ClientId, what: u8) {
        let names =
            [json!({ "name": "f" }), json!({ "name": "f", "condition": "c" }), json!({ "name": "g" })];
        let some: Vec<Value> = names
            .iter()
            .enumerate()
            .filter(|(at, _)| what >> at & 1 == 1)
            .map(|(_, request)| request.clone())
            .collect();
        if what & 8 == 0 {
            self.request(client, "setFunctionBreakpoints", json!({ "breakpoints": some }));
        } else {
            let filters: Vec<&str> = if what & 1 == 1 { vec!["all"] } else { vec![] };
            self.request(client, "setExceptionBreakpoints", json!({ "filters": filters }));
        }
    }

    pub(super) fn leave(&mut self, client: ClientId) {
        let Some(view) = self.clients.get_mut(&client) else { return };
        if std::mem::replace(&mut view.here, false) {
            self.unanswered.retain(|(owner, _), _| *owner != client);
            self.feed(HubEvent::ClientLeft { client });
        }
    }

    pub(super) fn request(&mut self, client: ClientId, command: &str, arguments: Value) {
        if !self.clients.get(&client).is_some_and(|view| view.here) || self.ended {
            return;
        }
        self.seq += 1;
        let seq = self.seq;
        self.unanswered.insert((client, seq), command.into());
        self.trace.push(format!("{client} → {seq} {command} {arguments}"));
        let message = Message::Request(Request { seq, command: command.into(), arguments });
        self.feed(HubEvent::ClientMessage { client, message });
    }
}
