//! The ledger of breakpoints: each client's wishes, their union for the engine, each client's answer, and what each
//! client was shown of the others'.
//!
//! A [`Place`] is what one DAP request replaces whole: the breakpoints of a source, of all functions, all exception
//! filters, data or instruction breakpoints. Everything about one place is on its [`Sheet`]. Identical wishes of several
//! owners are one entry; an entry's id is ours, stays the same as long as somebody wants the entry, and is never given out
//! again. What the engine is sent is a list of [`Slot`]s: one per entry where the engine judges conditions itself, one
//! per spot where it cannot (`slots`, with one condition for all where that can be said: `joined`; then `state::judge`
//! judges).
//!
//! Not here: who is told and when (`state::marks`).

mod joined;
mod place;
mod push;
mod shadows;
mod sheet;
mod slots;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

pub use joined::Joining;
pub use place::{Place, Wished, wished};
pub use push::{Owed, Push};
pub use shadows::Reflects;
pub use sheet::{Change, Entry, Marked, Sheet};
pub use slots::{Abilities, Slot};

use super::event::ClientId;
use super::ids::IdCounter;

/// A `breakpoint` event to make: why, about which entry, and the entry as it is to be shown.
#[derive(Debug, Clone, PartialEq)]
pub struct News {
    /// `new`, `changed` or `removed`.
    pub reason: &'static str,
    /// Our id.
    pub id: i64,
    /// DAP `Breakpoint`.
    pub body: Value,
}

/// A breakpoint that stopped the program, or might have.
#[derive(Debug, Clone, PartialEq)]
pub struct Suspect {
    /// Our id.
    pub id: i64,
    /// Who wants it.
    pub owners: BTreeSet<ClientId>,
    /// What its owners asked for, as far as the hub has to find it out.
    pub wish: Value,
    /// Whether the hub has to find out if it counts.
    pub judged: bool,
}

impl Suspect {
    /// Whether the hub has to find out if its condition holds.
    pub fn has_open_condition(&self) -> bool {
        self.judged && !self.wish["condition"].is_null()
    }
}

/// All breakpoints of the session.
#[derive(Debug, Default)]
pub struct Ledger {
    sheets: BTreeMap<Place, Sheet>,
    /// Owners that left and asked to keep theirs.
    kept: BTreeSet<ClientId>,
}

impl Ledger {
    /// Replaces what one client wants at one place.
    pub fn set(
        &mut self,
        counter: &mut IdCounter,
        client: ClientId,
        wished: Wished,
        reflects: Reflects,
    ) -> Change {
        let sheet =
            self.sheets.entry(wished.place.clone()).or_insert_with(|| Sheet::new(wished.place.clone()));
        sheet.set(counter, client, wished, reflects, &self.kept)
    }

    /// The sheet of a place, if anybody ever wanted something there.
    pub fn sheet(&self, place: &Place) -> Option<&Sheet> {
        self.sheets.get(place)
    }

    /// The same, to change it.
    pub fn sheet_mut(&mut self, place: &Place) -> Option<&mut Sheet> {
        self.sheets.get_mut(place)
    }

    /// Where these breakpoints are.
    pub fn places_of(&self, ids: &[i64]) -> Vec<Place> {
        let has = |place: &Place| {
            self.sheet(place).is_some_and(|sheet| sheet.entries.iter().any(|entry| ids.contains(&entry.id)))
        };
        self.places().into_iter().filter(has).collect()
    }

    /// Every place that has entries.
    pub fn places(&self) -> Vec<Place> {
        self.sheets
            .iter()
            .filter(|(_, sheet)| !sheet.entries.is_empty())
            .map(|(place, _)| place.clone())
            .collect()
    }

    /// The union at a place, in order.
    pub fn wishes(&self, place: &Place) -> Vec<&Value> {
        self.sheets.get(place).into_iter().flat_map(|sheet| &sheet.entries).map(|entry| &entry.wish).collect()
    }

    /// Whether this client ever set this place.
    pub fn has_set(&self, place: &Place, client: ClientId) -> bool {
        self.sheets.get(place).is_some_and(|sheet| sheet.lists.contains_key(&client))
    }

    /// A client left for good. Gives the places whose union changed.
    pub fn forget(&mut self, client: ClientId) -> Vec<Place> {
        let mut changed = Vec::new();
        for (place, sheet) in &mut self.sheets {
            if sheet.forget(client) {
                changed.push(place.clone());
            }
        }
        changed
    }

    /// A client left and its breakpoints stay, until somebody sets the same or removes them.
    pub fn keep(&mut self, client: ClientId) {
        self.kept.insert(client);
        self.sheets.values_mut().for_each(|sheet| sheet.forget_view(client));
    }

    /// What one client wants, everywhere, as others are told of it.
    pub fn marks_of(&self, client: ClientId) -> Vec<(ClientId, Value)> {
        self.sheets
            .values()
            .flat_map(|sheet| sheet.marks_of(client))
            .map(|(_, mark)| (client, mark))
            .collect()
    }

    /// The engine is gone, and with it all it said; what is wanted stays. Gives the requests that wait for its answer.
    pub fn engine_gone(&mut self) -> Vec<(Place, Vec<Owed>)> {
        self.sheets.iter_mut().map(|(place, sheet)| (place.clone(), sheet.engine_gone())).collect()
    }

    /// The engine changed its mind about one breakpoint: our ids of it.
    pub fn told(&mut self, told: &Value) -> Vec<i64> {
        let Some(engine) = told["id"].as_i64() else { return Vec::new() };
        let entries = self.sheets.values_mut().flat_map(|sheet| &mut sheet.entries);
        entries
            .filter(|entry| entry.engine == Some(engine))
            .filter_map(|entry| entry.told(told).then_some(entry.id))
            .collect()
    }

    /// What the engine says was hit.
    pub fn hit(&self, engine_ids: &Value) -> Vec<Suspect> {
        let ids: Vec<i64> = engine_ids.as_array().into_iter().flatten().filter_map(Value::as_i64).collect();
        self.suspects(|_, entry| entry.engine.is_some_and(|engine| ids.contains(&engine)))
    }

    /// What may have been hit by a program that stands here; for engines that do not say.
    pub fn hit_at(&self, path: &str, line: i64) -> Vec<Suspect> {
        let here = Place::of_path(path);
        self.suspects(|place, entry| match place {
            Place::Source(_) => *place == here && entry.line() == Some(line),
            // A function breakpoint says where it is, if the engine says anything.
            Place::Functions => {
                entry.state["source"]["path"].as_str().is_some_and(|found| Place::of_path(found) == here)
                    && entry.line() == Some(line)
            }
            _ => false,
        })
    }

    fn suspects(&self, is_one: impl Fn(&Place, &Entry) -> bool) -> Vec<Suspect> {
        let all = self
            .sheets
            .iter()
            .flat_map(|(place, sheet)| sheet.entries.iter().map(move |entry| (place, entry)));
        all.filter(|(place, entry)| is_one(place, entry))
            .map(|(_, entry)| Suspect {
                id: entry.id,
                owners: entry.owners.clone(),
                wish: entry.open_questions(),
                judged: entry.is_open(),
            })
            .collect()
    }

    /// Whether all of these were the engine's ids of breakpoints that are gone, or that have other ids by now.
    pub fn had(&self, engine_ids: &Value) -> bool {
        let mut ids = engine_ids.as_array().into_iter().flatten().filter_map(Value::as_i64).peekable();
        ids.peek().is_some() && ids.all(|id| self.sheets.values().any(|sheet| sheet.had(id)))
    }

    /// Whether the hub judges any breakpoint.
    pub fn judges(&self) -> bool {
        self.sheets.values().flat_map(|sheet| &sheet.entries).any(Entry::is_open)
    }

    /// Counts a hit of an entry; gives how many there were.
    pub fn count(&mut self, id: i64) -> u64 {
        match self.sheets.values_mut().flat_map(|sheet| &mut sheet.entries).find(|entry| entry.id == id) {
            Some(entry) => {
                entry.hits += 1;
                entry.hits
            }
            None => 0,
        }
    }

    /// Who wants an entry, and what.
    pub fn entry(&self, id: i64) -> Option<&Entry> {
        self.sheets.values().flat_map(|sheet| &sheet.entries).find(|entry| entry.id == id)
    }

    /// What a client has to be told so that it sees the breakpoints of the others as they are.
    pub fn news_for(&mut self, client: ClientId) -> Vec<News> {
        self.sheets.values_mut().flat_map(|sheet| sheet.news_for(client)).collect()
    }

    /// A client goes, or the session does: what it was shown is taken back.
    pub fn take_back(&mut self, client: ClientId) -> Vec<News> {
        self.sheets.values_mut().flat_map(|sheet| sheet.take_back(client)).collect()
    }

    /// The entry as this client is to see it, if it knows the entry at all.
    pub fn seen_by(&mut self, client: ClientId, id: i64) -> Option<Value> {
        self.sheets.values_mut().find_map(|sheet| sheet.seen_by(client, id))
    }

    /// For `sessionInfo`: what clients that left have left behind.
    pub fn left_behind(&self) -> Vec<Value> {
        self.kept.iter().flat_map(|owner| self.owned_by(*owner)).collect()
    }

    /// For `sessionInfo`: what one client wants, everywhere.
    pub fn owned_by(&self, client: ClientId) -> Vec<Value> {
        self.sheets.values().flat_map(|sheet| sheet.owned_by(client)).collect()
    }
}
