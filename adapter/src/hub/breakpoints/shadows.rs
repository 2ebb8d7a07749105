//! Shadows: breakpoints of others that a client was shown by `breakpoint` events.
//!
//! Editors put what they are shown into their own list and send it back with the next `setBreakpoints` of the file, as a
//! plain breakpoint (VS Code, nvim-dap, dape). That is no wish of their user: taken for one, it would make the other's
//! condition void and outlive its owner. So what is sent back is recognised by its line, and a shadow that is there no
//! more means that the user removed it, which is for all. Some editors keep no such list (Helix, Zed, agents): as long
//! as a client has not shown that it does, what it leaves out means nothing.
//!
//! A client is shown one breakpoint per line, and none where it has one itself: dape removes its own when it is told of
//! a new one on its line.

use serde_json::Value;

use super::News;
use super::place::is_plain;
use super::sheet::{Item, Sheet};
use crate::hub::event::ClientId;

/// An entry of others that a client was shown.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shadow {
    pub(super) id: i64,
    /// Every line it was shown at: an editor may send back the first or the latest.
    lines: Vec<i64>,
    /// The client sent it back at least once.
    confirmed: bool,
}

impl Shadow {
    pub(super) fn moved_to(&mut self, line: Option<i64>) {
        if let Some(line) = line.filter(|line| !self.lines.contains(line)) {
            self.lines.push(line);
        }
    }
}

/// An entry's body for somebody else's editor, which would take a column for a wish of its own kind of breakpoint.
pub(super) fn shown(mut body: Value, wish: &Value) -> Value {
    if let Some(body) = body.as_object_mut()
        && wish["column"].is_null()
    {
        ["column", "endLine", "endColumn"].iter().for_each(|key| drop(body.shift_remove(*key)));
    }
    body
}

impl Sheet {
    /// The entry of others that this wish sends back, if it does.
    pub(super) fn reflection(&mut self, client: ClientId, wish: &Value) -> Option<i64> {
        let line = wish["line"].as_i64()?;
        let shadows = self.shadows.get_mut(&client)?;
        let shadow = shadows.iter_mut().find(|shadow| shadow.lines.contains(&line))?;
        let entry = self.entries.iter().find(|entry| entry.id == shadow.id)?;
        // What an editor's user has edited is a wish of its own.
        let same = is_plain(wish)
            || ["condition", "hitCondition", "logMessage"].iter().all(|key| wish[*key] == entry.wish[*key]);
        if !same {
            return None;
        }
        shadow.confirmed = true;
        Some(shadow.id)
    }

    /// The client's list is in place: what it was shown and is not in it. `knows` says that the client keeps shadows in
    /// its list and that nothing else changed in it, so that the absence itself must be what it wanted to say. Gives the
    /// owners whose breakpoints are gone with it.
    pub(super) fn removed_by(&mut self, client: ClientId, knows: bool) -> Vec<(ClientId, i64)> {
        let items = self.lists.get(&client).cloned().unwrap_or_default();
        let own_lines = self.own_lines(client);
        let shadows = self.shadows.remove(&client).unwrap_or_default();
        let (mut left, mut gone_lines) = (Vec::new(), Vec::new());
        for shadow in shadows {
            let is_back = items.iter().any(|item| item.id == shadow.id);
            let covered = shadow.lines.iter().any(|line| own_lines.contains(line));
            match (is_back, covered) {
                (true, _) => left.push(shadow),
                // The user made it a breakpoint of its own; the other's stays.
                (false, true) => {}
                (false, false) if shadow.confirmed || knows => gone_lines.push(shadow),
                (false, false) => left.push(shadow),
            }
        }
        self.shadows.insert(client, left);
        let mut lost = Vec::new();
        for shadow in gone_lines {
            // One dot stood for everything on its line.
            let line = self.entries.iter().find(|entry| entry.id == shadow.id).and_then(|entry| entry.line());
            let gone: Vec<i64> = self
                .entries
                .iter()
                .filter(|entry| entry.id == shadow.id || line.is_some() && entry.line() == line)
                .map(|entry| entry.id)
                .collect();
            for (owner, items) in &mut self.lists {
                items.retain(|item: &Item| {
                    let keep = !gone.contains(&item.id);
                    if !keep && item.own {
                        lost.push((*owner, item.id));
                    }
                    keep
                });
            }
        }
        lost
    }

    fn own_lines(&self, client: ClientId) -> Vec<i64> {
        let own = self.entries.iter().filter(|entry| entry.owners.contains(&client));
        own.flat_map(|entry| [entry.wish["line"].as_i64(), entry.line()]).flatten().collect()
    }

    /// What this client has to be told to see the others' breakpoints as they are.
    pub(super) fn news_for(&mut self, client: ClientId) -> Vec<News> {
        if !self.place.has_lines() {
            return Vec::new();
        }
        let mut news = Vec::new();
        let mut shadows = self.shadows.remove(&client).unwrap_or_default();
        shadows.retain(|shadow| match self.entries.iter().find(|entry| entry.id == shadow.id) {
            Some(entry) => !entry.owners.contains(&client),
            None => {
                news.push(removed(shadow.id));
                false
            }
        });
        let own_lines = self.own_lines(client);
        for entry in self.entries.iter().filter(|entry| !entry.owners.contains(&client)) {
            let Some(line) = entry.line() else { continue };
            let seen = own_lines.contains(&line)
                || shadows.iter().any(|shadow| shadow.id == entry.id || shadow.lines.contains(&line));
            if !seen {
                shadows.push(Shadow { id: entry.id, lines: vec![line], confirmed: false });
                let body = shown(entry.body(self.spelled(client)), &entry.wish);
                news.push(News { reason: "new", id: entry.id, body });
            }
        }
        self.shadows.insert(client, shadows);
        news
    }

    pub(super) fn take_back(&mut self, client: ClientId) -> Vec<News> {
        let shadows = self.shadows.remove(&client).unwrap_or_default();
        shadows.iter().map(|shadow| removed(shadow.id)).collect()
    }
}

pub(super) fn removed(id: i64) -> News {
    News { reason: "removed", id, body: serde_json::json!({ "id": id, "verified": false }) }
}
