//! The clients of a rehearsal: people and agents that change their breakpoints, ask, come and go. Editors send back what
//! they are shown.

use dap_wire::{Message, Request};
use serde_json::{Value, json};

use super::view::{Dot, View};
use super::{FILES, Stage};
use crate::hub::event::{ClientId, Event, Origin};

impl Stage {
    pub(super) fn join(&mut self, origin: Origin) -> ClientId {
        self.next_client += 1;
        let client = ClientId(self.next_client);
        self.clients.insert(client, View { here: true, blurred: self.blurred, ..View::default() });
        self.feed(Event::ClientJoined { client, origin });
        client
    }

    pub(super) fn shake_hands(&mut self, client: ClientId, command: &str, what: u8) {
        self.introduce(client, what);
        self.ask(client, command, json!({}));
        self.say("initialized", Value::Null);
        self.ask(client, "configurationDone", Value::Null);
    }

    pub(super) fn introduce(&mut self, client: ClientId, what: u8) {
        let names = ["vscode", "neovim", "tandem-mcp", "tandem-mcp"];
        let name = names[usize::from(what) % names.len()];
        if let Some(view) = self.clients.get_mut(&client)
            && !std::mem::replace(&mut view.introduced, true)
        {
            view.reflects = matches!(name, "vscode" | "neovim");
            view.latest = name == "neovim";
        }
        self.ask(
            client,
            "initialize",
            json!({ "clientID": name, "supportsInvalidatedEvent": what & 8 != 0 }),
        );
    }

    /// A user changes its own breakpoints in a file; an editor sends them with what it is shown.
    pub(super) fn edit(&mut self, client: ClientId, what: u8) {
        let file = usize::from(what & 1);
        let line = i64::from(what >> 1 & 3) + 1;
        let wish = match what >> 3 & 7 {
            0 => json!({ "line": line, "condition": "c" }),
            1 => json!({ "line": line, "hitCondition": "2" }),
            2 => json!({ "line": line, "logMessage": "l {x}" }),
            3 => json!({ "line": line, "column": 2 }),
            _ => json!({ "line": line }),
        };
        let Some(view) = self.clients.get_mut(&client) else { return };
        let dot =
            view.shown.values().any(|dot| dot.path == FILES[file] && (dot.now == line || dot.first == line));
        if view.reflects && dot && what >> 3 & 7 > 2 {
            // There is a dot already; a click would remove it.
            return;
        }
        let list = view.own.entry(file).or_default();
        if what & 64 != 0 {
            list.retain(|wish| wish["line"] != line);
        } else if !list.contains(&wish) {
            list.push(wish);
            // The dot that was there is the user's own now.
            view.shown.retain(|_, dot| dot.path != FILES[file] || dot.now != line);
        }
        self.send_list(client, file, None);
    }

    pub(super) fn remove_dot(&mut self, client: ClientId, at: usize) {
        let Some(view) = self.clients.get(&client) else { return };
        let dots: Vec<i64> = view.shown.keys().copied().collect();
        if view.reflects && !dots.is_empty() {
            let dot = dots[at % dots.len()];
            let file = FILES.iter().position(|file| view.shown[&dot].path == **file).unwrap_or(0);
            self.send_list(client, file, Some(dot));
        }
    }

    pub(super) fn send_list(&mut self, client: ClientId, file: usize, without: Option<i64>) {
        let Some(view) = self.clients.get_mut(&client) else { return };
        without.iter().for_each(|dot| drop(view.shown.remove(dot)));
        let mut list = view.own.get(&file).cloned().unwrap_or_default();
        if view.reflects {
            let dots = view.shown.values().filter(|dot| dot.path == FILES[file]);
            let line = |dot: &Dot| if view.latest { dot.now } else { dot.first };
            list.extend(dots.map(|dot| json!({ "line": line(dot) })));
        }
        self.ask(client, "setBreakpoints", json!({ "source": { "path": FILES[file] }, "breakpoints": list }));
    }

    pub(super) fn set_others(&mut self, client: ClientId, what: u8) {
        let names =
            [json!({ "name": "f" }), json!({ "name": "f", "condition": "c" }), json!({ "name": "g" })];
        let some: Vec<Value> = names
            .iter()
            .enumerate()
            .filter(|(at, _)| what >> at & 1 == 1)
            .map(|(_, wish)| wish.clone())
            .collect();
        if what & 8 == 0 {
            self.ask(client, "setFunctionBreakpoints", json!({ "breakpoints": some }));
        } else {
            let filters: Vec<&str> = if what & 1 == 1 { vec!["all"] } else { vec![] };
            self.ask(client, "setExceptionBreakpoints", json!({ "filters": filters }));
        }
    }

    pub(super) fn leave(&mut self, client: ClientId) {
        let Some(view) = self.clients.get_mut(&client) else { return };
        if std::mem::replace(&mut view.here, false) {
            self.owed.retain(|(owner, _), _| *owner != client);
            self.feed(Event::ClientLeft { client });
        }
    }

    pub(super) fn ask(&mut self, client: ClientId, command: &str, arguments: Value) {
        if !self.clients.get(&client).is_some_and(|view| view.here) || self.ended {
            return;
        }
        self.seq += 1;
        let seq = self.seq;
        self.owed.insert((client, seq), command.into());
        self.prompt_book.push(format!("{client} → {seq} {command} {arguments}"));
        let message = Message::Request(Request { seq, command: command.into(), arguments });
        self.feed(Event::ClientSaid { client, message });
    }
}
