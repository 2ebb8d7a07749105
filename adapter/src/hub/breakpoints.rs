//! The ledger of breakpoints: each client's wishes, their union for the engine, and each client's answer.
//!
//! A *place* is a source file or the function breakpoints. Identical wishes of several owners are one entry; different
//! conditions on one line are entries of their own. An entry's id is ours, stays the same as long as somebody wants the
//! entry, and is never given out again.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::event::ClientId;
use super::ids::IdCounter;

/// The place of function breakpoints; no path is empty.
pub const FUNCTIONS: &str = "";

#[derive(Debug)]
struct Entry {
    id: i64,
    /// The wish, with only the fields that matter.
    wish: Value,
    owners: BTreeSet<ClientId>,
    /// The engine's id, once it knows the entry.
    engine: Option<i64>,
    /// The engine's latest word on it, without an id.
    state: Value,
}

impl Entry {
    fn body(&self, source: &Value) -> Value {
        let mut body = self.state.clone();
        if !body.is_object() {
            body =
                json!({ "verified": false, "message": "pending: no program runs yet", "reason": "pending" });
        }
        body["id"] = json!(self.id);
        // Some editors rely on both being there.
        if body["line"].is_null() && !self.wish["line"].is_null() {
            body["line"] = self.wish["line"].clone();
        }
        if body["source"].is_null() && !source.is_null() {
            body["source"] = source.clone();
        }
        body
    }
}

#[derive(Debug, Default)]
struct Place {
    source: Value,
    entries: Vec<Entry>,
    /// Ids in each owner's own order; may repeat.
    wishes: BTreeMap<ClientId, Vec<i64>>,
}

/// What a change did to the union.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Entries nobody had before.
    pub added: Vec<i64>,
    /// Entries nobody wants any more.
    pub removed: Vec<i64>,
}

/// All breakpoints of the session.
#[derive(Debug, Default)]
pub struct Ledger(BTreeMap<String, Place>);

impl Ledger {
    /// Replaces what one client wants at one place.
    pub fn set(
        &mut self,
        counter: &mut IdCounter,
        client: ClientId,
        name: &str,
        source: Value,
        wishes: &[Value],
    ) -> Change {
        let place = self.0.entry(name.to_owned()).or_default();
        if place.source.is_null() {
            place.source = source;
        }
        let mut change = Change::default();
        let mut ids = Vec::with_capacity(wishes.len());
        for wish in wishes {
            let wish = essence(wish);
            let id = match place.entries.iter().find(|entry| entry.wish == wish) {
                Some(entry) => entry.id,
                None => {
                    let id = counter.take();
                    change.added.push(id);
                    let (owners, state) = (BTreeSet::new(), Value::Null);
                    place.entries.push(Entry { id, wish, owners, engine: None, state });
                    id
                }
            };
            ids.push(id);
        }
        place.wishes.insert(client, ids);
        change.removed = place.recount();
        change
    }

    /// A client left for good. Gives the places whose union changed.
    pub fn forget(&mut self, client: ClientId) -> Vec<(String, Change)> {
        let mut changed = Vec::new();
        for (name, place) in &mut self.0 {
            if place.wishes.remove(&client).is_some() {
                let removed = place.recount();
                if !removed.is_empty() {
                    changed.push((name.clone(), Change { added: Vec::new(), removed }));
                }
            }
        }
        changed
    }

    /// Every place that has entries.
    pub fn places(&self) -> Vec<String> {
        self.0.iter().filter(|(_, place)| !place.entries.is_empty()).map(|(name, _)| name.clone()).collect()
    }

    /// What the engine shall have at a place: the command, its arguments, and the ids in the same order.
    pub fn union(&self, name: &str) -> (&'static str, Value, Vec<i64>) {
        let empty = Place::default();
        let place = self.0.get(name).unwrap_or(&empty);
        let wishes: Vec<&Value> = place.entries.iter().map(|entry| &entry.wish).collect();
        let ids = place.entries.iter().map(|entry| entry.id).collect();
        if name == FUNCTIONS {
            ("setFunctionBreakpoints", json!({ "breakpoints": wishes }), ids)
        } else {
            ("setBreakpoints", json!({ "source": place.source, "breakpoints": wishes }), ids)
        }
    }

    /// The engine's answer to a union that was sent with these ids.
    pub fn applied(&mut self, name: &str, ids: &[i64], body: &Value) {
        let Some(place) = self.0.get_mut(name) else { return };
        for (id, told) in ids.iter().zip(body["breakpoints"].as_array().into_iter().flatten()) {
            if let Some(entry) = place.entries.iter_mut().find(|entry| entry.id == *id) {
                entry.engine = told["id"].as_i64();
                entry.state = without_id(told);
            }
        }
    }

    /// The engine changed its mind about one breakpoint: our id and the body for clients, if we know it.
    pub fn told(&mut self, told: &Value) -> Option<Value> {
        let engine = told["id"].as_i64()?;
        self.0.values_mut().find_map(|place| {
            let source = place.source.clone();
            let entry = place.entries.iter_mut().find(|entry| entry.engine == Some(engine))?;
            entry.state = without_id(told);
            Some(entry.body(&source))
        })
    }

    /// Our ids of the breakpoints the engine says were hit.
    pub fn hits(&self, engine_ids: &Value) -> Vec<i64> {
        let wanted: Vec<i64> =
            engine_ids.as_array().into_iter().flatten().filter_map(Value::as_i64).collect();
        self.0
            .values()
            .flat_map(|place| &place.entries)
            .filter(|entry| entry.engine.is_some_and(|engine| wanted.contains(&engine)))
            .map(|entry| entry.id)
            .collect()
    }

    /// The list a client is owed for its own wishes, in its own order.
    pub fn answer(&self, name: &str, client: ClientId) -> Value {
        let Some(place) = self.0.get(name) else { return json!({ "breakpoints": [] }) };
        let ids = place.wishes.get(&client).map(Vec::as_slice).unwrap_or_default();
        let bodies: Vec<Value> = ids
            .iter()
            .filter_map(|id| place.entries.iter().find(|entry| entry.id == *id))
            .map(|entry| entry.body(&place.source))
            .collect();
        json!({ "breakpoints": bodies })
    }

    /// Bodies of these entries, for `breakpoint` events, with whether this client owns them itself.
    pub fn bodies(&self, ids: &[i64], client: ClientId) -> Vec<(Value, bool)> {
        self.0
            .values()
            .flat_map(|place| place.entries.iter().map(move |entry| (place, entry)))
            .filter(|(_, entry)| ids.contains(&entry.id))
            .map(|(place, entry)| (entry.body(&place.source), entry.owners.contains(&client)))
            .collect()
    }

    /// Ids of all entries.
    pub fn ids(&self) -> Vec<i64> {
        self.0.values().flat_map(|place| &place.entries).map(|entry| entry.id).collect()
    }

    /// For `sessionInfo`: what one client wants, everywhere.
    pub fn owned_by(&self, client: ClientId) -> Vec<Value> {
        self.0
            .values()
            .flat_map(|place| place.entries.iter().map(move |entry| (place, entry)))
            .filter(|(_, entry)| entry.owners.contains(&client))
            .map(|(place, entry)| entry.body(&place.source))
            .collect()
    }
}

impl Place {
    /// Works out owners from wishes and drops entries without one; gives their ids.
    fn recount(&mut self) -> Vec<i64> {
        for entry in &mut self.entries {
            entry.owners = self
                .wishes
                .iter()
                .filter(|(_, ids)| ids.contains(&entry.id))
                .map(|(owner, _)| *owner)
                .collect();
        }
        let removed =
            self.entries.iter().filter(|entry| entry.owners.is_empty()).map(|entry| entry.id).collect();
        self.entries.retain(|entry| !entry.owners.is_empty());
        removed
    }
}

/// A wish without what does not change its meaning: absent, `null` and empty conditions are the same.
fn essence(wish: &Value) -> Value {
    let mut kept = Map::new();
    for key in ["line", "column", "name", "condition", "hitCondition", "logMessage", "mode"] {
        match &wish[key] {
            Value::Null => {}
            Value::String(text) if text.is_empty() => {}
            value => drop(kept.insert(key.into(), value.clone())),
        }
    }
    Value::Object(kept)
}

fn without_id(told: &Value) -> Value {
    let mut state = told.clone();
    if let Some(state) = state.as_object_mut() {
        state.shift_remove("id");
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: ClientId = ClientId(1);
    const B: ClientId = ClientId(2);

    fn lines(lines: &[i64]) -> Vec<Value> {
        lines.iter().map(|line| json!({ "line": line })).collect()
    }

    #[test]
    fn one_client_clearing_its_lines_leaves_the_others() {
        let (mut counter, mut ledger) = (IdCounter::default(), Ledger::default());
        ledger.set(&mut counter, A, "x.cs", json!({"path": "x.cs"}), &lines(&[10, 20]));
        ledger.set(&mut counter, B, "x.cs", json!({"path": "x.cs"}), &lines(&[20, 30]));
        assert_eq!(ledger.union("x.cs").1["breakpoints"], json!([{"line": 10}, {"line": 20}, {"line": 30}]));
        let change = ledger.set(&mut counter, A, "x.cs", Value::Null, &[]);
        assert_eq!((change.added.len(), change.removed.len()), (0, 1));
        assert_eq!(ledger.union("x.cs").1["breakpoints"], json!([{"line": 20}, {"line": 30}]));
        assert_eq!(ledger.forget(B).len(), 1);
        assert_eq!(ledger.union("x.cs").1["breakpoints"], json!([]));
    }

    #[test]
    fn different_conditions_on_one_line_are_two_entries_and_each_owner_is_answered_its_own() {
        let (mut counter, mut ledger) = (IdCounter::default(), Ledger::default());
        ledger.set(&mut counter, A, "x.cs", Value::Null, &[json!({"line": 1, "condition": "i == 1"})]);
        ledger.set(
            &mut counter,
            B,
            "x.cs",
            Value::Null,
            &[json!({"line": 1}), json!({"line": 1, "condition": ""})],
        );
        let (_, arguments, ids) = ledger.union("x.cs");
        assert_eq!(arguments["breakpoints"].as_array().unwrap().len(), 2);
        ledger.applied(
            "x.cs",
            &ids,
            &json!({"breakpoints": [{"id": 7, "verified": true}, {"id": 8, "verified": true}]}),
        );
        let answer = ledger.answer("x.cs", B);
        assert_eq!(answer["breakpoints"][0], answer["breakpoints"][1]);
        assert_eq!(ledger.hits(&json!([8])), vec![ids[1]]);
    }
}
