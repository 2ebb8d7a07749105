//! Shadows: breakpoints of others that a client was shown by `breakpoint` events.
//!
//! Editors put what they are shown into their own list and send it back with the next `setBreakpoints` of the file, as a
//! plain breakpoint (VS Code, nvim-dap, dape). That is no wish of their user: taken for one, it would make the other's
//! condition void and outlive its owner. So what is sent back is recognised by its line, and a shadow that is there no
//! more means that the user removed it, which is for all. Agents keep no such list, and of an editor we do not know we learn
//! it when it sends something back: until then what it leaves out means nothing.
//!
//! A client is shown one breakpoint per line, and none where it has one itself: dape removes its own when it is told of
//! a new one on its line.

use serde_json::Value;

use super::News;
use super::place::is_plain;
use super::sheet::{Item, Sheet};
use crate::hub::event::ClientId;

/// Whether a client puts what it is shown into its own list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reflects {
    /// An agent does not: what it sends is what it wants.
    Never,
    /// An editor may.
    Perhaps,
    /// This one does.
    Surely,
}

/// An entry of others that a client was shown.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shadow {
    pub(super) id: i64,
    /// Every line it was shown at, the latest last: an editor may send back the first or the latest.
    lines: Vec<i64>,
    /// The client sent it back at least once.
    confirmed: bool,
}

impl Shadow {
    pub(super) fn moved_to(&mut self, line: Option<i64>) {
        if let Some(line) = line {
            self.lines.retain(|before| *before != line);
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
    /// The entry of others that this wish sends back, if it does; `sent` are those the same list has sent back already.
    pub(super) fn reflection(&mut self, client: ClientId, wish: &Value, sent: &[Item]) -> Option<i64> {
        // Nobody was told a condition: one that has any was written by the client's own user.
        let line = wish["line"].as_i64().filter(|_| is_plain(wish))?;
        let shadows = self.shadows.get_mut(&client)?;
        // One that moved may have left a line for another to be shown there.
        let is_sent = |shadow: &Shadow| sent.iter().any(|item| item.id == shadow.id);
        // Who was shown no column does not send one back.
        let shown_column = |shadow: &Shadow| {
            let entry = self.entries.iter().find(|entry| entry.id == shadow.id);
            entry.is_some_and(|entry| !entry.wish["column"].is_null())
        };
        let mut fitting: Vec<&mut Shadow> = shadows
            .iter_mut()
            .filter(|shadow| shadow.lines.contains(&line))
            .filter(|shadow| wish["column"].is_null() || shown_column(shadow))
            .collect();
        fitting.sort_by_key(|shadow| is_sent(shadow));
        let shadow = fitting.into_iter().next()?;
        // It may be gone already and the client not yet told: then it is no wish either.
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
            let is_back = items.iter().any(|item| item.id == shadow.id && !item.own);
            let covered = shadow.lines.iter().any(|line| own_lines.contains(line));
            match (is_back, covered) {
                (true, _) => left.push(shadow),
                // The user made it a breakpoint of its own; the other's stays.
                (false, true) => {}
                (false, false) if shadow.confirmed || knows => gone_lines.push(shadow),
                (false, false) => left.push(shadow),
            }
        }
        // Of two dots on one line it is not known which is gone: the client is told of all that go.
        self.shadows.insert(client, left.into_iter().chain(gone_lines.iter().cloned()).collect());
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
            // The engine is about to say where it is and whether it binds: others see it from then on.
            if self.push.is_under_way() && entry.state.is_null() {
                continue;
            }
            let seen = own_lines.contains(&line)
                || shadows.iter().any(|shadow| shadow.id == entry.id || shadow.lines.last() == Some(&line));
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
