//! One place: its entries, each client's list, and what each client was shown.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value, json};

use super::place::{Place, Wished};
use super::push::{Owed, Push};
use super::shadows::{Reflects, Shadow};
use crate::hub::event::ClientId;
use crate::hub::ids::IdCounter;

/// How many ids of breakpoints that are gone are remembered.
const RETIRED: usize = 256;

/// A wish in the union.
#[derive(Debug)]
pub struct Entry {
    /// Ours.
    pub id: i64,
    /// The wish, without what does not change its meaning.
    pub wish: Value,
    /// Who wants it.
    pub owners: BTreeSet<ClientId>,
    /// The engine's id, once it knows the entry; several entries may share one.
    pub(super) engine: Option<i64>,
    /// The engine's latest word on it, without an id.
    pub(super) state: Value,
    /// The hub finds out whether a hit counts.
    pub(super) judged: bool,
    /// Of those: the engine has the condition, and stops only where it holds.
    pub(super) filtered: bool,
    /// The engine has the condition now and did not before: a stop from before may be on its way, so it is looked at again.
    pub(super) doubted: bool,
    /// How often the program came by, where the hub counts.
    pub(super) hits: u64,
}

impl Entry {
    /// Where it is: where the engine put it, else where it was asked for.
    pub fn line(&self) -> Option<i64> {
        self.state["line"].as_i64().or(self.wish["line"].as_i64())
    }

    /// Whether a stop alone does not say that it was hit.
    pub(super) fn is_open(&self) -> bool {
        self.judged || self.doubted
    }

    /// What the hub has to find out at a stop.
    pub(super) fn open_questions(&self) -> Value {
        if self.doubted && !self.judged {
            return json!({ "condition": self.wish["condition"] });
        }
        let mut wish = self.wish.clone();
        if self.filtered
            && !self.doubted
            && let Some(wish) = wish.as_object_mut()
        {
            wish.shift_remove("condition");
        }
        wish
    }

    /// Who judges it from now on: the hub, or the engine, or the engine its condition only (`filtered`).
    pub(super) fn set_judge(&mut self, judged: bool, filtered: bool) {
        let filtered = filtered && !self.wish["condition"].is_null();
        let had_none = self.judged && !self.filtered;
        self.doubted |= had_none && (filtered || !judged) && !self.wish["condition"].is_null();
        (self.judged, self.filtered) = (judged, filtered);
    }

    /// Takes in the engine's word; says whether anything changed.
    pub(super) fn told(&mut self, told: &Value) -> bool {
        let mut state = told.clone();
        if let Some(state) = state.as_object_mut() {
            state.shift_remove("id");
            // An event may name only what is new.
            for key in ["line", "column", "endLine", "endColumn", "source", "instructionReference", "offset"]
            {
                if !state.contains_key(key) && !self.state[key].is_null() {
                    state.insert(key.into(), self.state[key].clone());
                }
            }
        }
        let changed = state != self.state;
        self.state = state;
        changed
    }

    pub(super) fn body(&self, source: &Value) -> Value {
        let mut body = if self.state.is_object() {
            self.state.clone()
        } else {
            json!({ "verified": false, "message": "pending: no program runs yet", "reason": "pending" })
        };
        body["id"] = json!(self.id);
        // Some editors rely on both being there.
        if body["line"].is_null() && !self.wish["line"].is_null() {
            body["line"] = self.wish["line"].clone();
        }
        if !source.is_null() {
            body["source"] = source.clone();
        }
        body
    }
}

/// One wish in a client's list: an entry it owns, or one of somebody else that it was shown and sent back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) id: i64,
    pub(super) own: bool,
}

/// Breakpoints that came and went, each with its owner: what was wished for, and `file` for those in one.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Marked {
    /// New in the client's own list.
    pub added: Vec<(ClientId, Value)>,
    /// Gone from it, or taken from others.
    pub removed: Vec<(ClientId, Value)>,
}

/// What a request did.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Which breakpoints came and went.
    pub marks: Marked,
    /// The entries it named, in its order.
    pub list: Vec<i64>,
    /// The union differs from before.
    pub changed: bool,
    /// Entries that were taken from their owners, because the client removed what it was shown of them.
    pub lost: Vec<(ClientId, i64)>,
    /// The client showed that it sends back what it is shown.
    pub reflected: bool,
}

/// Everything about one place.
#[derive(Debug)]
pub struct Sheet {
    pub(super) place: Place,
    /// DAP `Source` for the engine.
    pub(super) source: Value,
    /// How each client spells the source.
    spellings: BTreeMap<ClientId, Value>,
    /// The union.
    pub(super) entries: Vec<Entry>,
    pub(super) lists: BTreeMap<ClientId, Vec<Item>>,
    pub(super) shadows: BTreeMap<ClientId, Vec<Shadow>>,
    /// Ids that the engine gave and that mean nothing any more: a stop that names one may be on its way.
    retired: VecDeque<i64>,
    /// What of it the engine has.
    pub push: Push,
}

impl Sheet {
    pub(super) fn new(place: Place) -> Self {
        Self {
            place,
            source: Value::Null,
            spellings: BTreeMap::new(),
            entries: Vec::new(),
            lists: BTreeMap::new(),
            shadows: BTreeMap::new(),
            retired: VecDeque::new(),
            push: Push::default(),
        }
    }

    pub(super) fn set(
        &mut self,
        counter: &mut IdCounter,
        client: ClientId,
        wished: Wished,
        reflects: Reflects,
        kept: &BTreeSet<ClientId>,
    ) -> Change {
        if self.source.is_null() && !wished.source.is_null() {
            self.source = wished.source.clone();
            if let Place::Source(path) = &self.place {
                self.source["path"] = json!(path);
            }
        }
        if !wished.source.is_null() {
            self.spellings.insert(client, wished.source);
        }
        let before = self.ids();
        let marks_before: BTreeMap<i64, Value> =
            self.entries.iter().map(|entry| (entry.id, self.mark(entry))).collect();
        let own_before = self.own_ids(client);
        let mut items = Vec::with_capacity(wished.list.len());
        let mut reflected = false;
        for (at, wish) in wished.list.iter().enumerate() {
            if wished.void.contains(&at) {
                items.push(Item { id: counter.take(), own: false });
                continue;
            }
            if reflects != Reflects::Never
                && let Some(id) = self.reflection(client, wish, &items)
            {
                reflected = true;
                items.push(Item { id, own: false });
                continue;
            }
            let id = match self.entries.iter().find(|entry| entry.wish == *wish) {
                Some(entry) => entry.id,
                None => self.add(counter, wish.clone()),
            };
            self.adopt(id, kept);
            items.push(Item { id, own: true });
        }
        let list = items.iter().map(|item| item.id).collect();
        let unchanged = self.own_ids(client) == own(&items) || items.is_empty();
        self.lists.insert(client, items);
        self.recount();
        let lost = self.removed_by(client, (reflects == Reflects::Surely || reflected) && unchanged);
        self.recount();
        let own_after = self.own_ids(client);
        let gone = own_before.iter().filter(|id| !own_after.contains(id)).map(|id| (client, *id));
        let removed = gone.chain(lost.iter().copied());
        let added = self.marks_of(client).filter(|(id, _)| !own_before.contains(id));
        let marks = Marked {
            added: added.map(|(_, mark)| (client, mark)).collect(),
            removed: removed
                .filter_map(|(owner, id)| Some((owner, marks_before.get(&id)?.clone())))
                .collect(),
        };
        Change { marks, list, changed: before != self.ids(), lost, reflected }
    }

    /// A breakpoint as others are told of it.
    fn mark(&self, entry: &Entry) -> Value {
        let mut mark = entry.wish.clone();
        if let Some(path) = self.source["path"].as_str() {
            mark["file"] = json!(path);
        }
        mark
    }

    /// What one client wants here, by our ids.
    pub(super) fn marks_of(&self, client: ClientId) -> impl Iterator<Item = (i64, Value)> {
        let own = self.entries.iter().filter(move |entry| entry.owners.contains(&client));
        own.map(|entry| (entry.id, self.mark(entry)))
    }

    fn add(&mut self, counter: &mut IdCounter, wish: Value) -> i64 {
        let id = counter.take();
        self.entries.push(Entry {
            id,
            wish,
            owners: BTreeSet::new(),
            engine: None,
            state: Value::Null,
            judged: false,
            filtered: false,
            doubted: false,
            hits: 0,
        });
        id
    }

    /// What somebody left behind belongs to whoever sets the same again.
    fn adopt(&mut self, id: i64, kept: &BTreeSet<ClientId>) {
        for owner in kept {
            if let Some(items) = self.lists.get_mut(owner) {
                items.retain(|item| item.id != id);
            }
        }
    }

    pub(super) fn ids(&self) -> Vec<i64> {
        self.entries.iter().map(|entry| entry.id).collect()
    }

    fn own_ids(&self, client: ClientId) -> Vec<i64> {
        self.lists.get(&client).map(|items| own(items)).unwrap_or_default()
    }

    /// Works out owners from lists and drops entries without one.
    pub(super) fn recount(&mut self) {
        for entry in &mut self.entries {
            let wants = |items: &[Item]| items.iter().any(|item| item.own && item.id == entry.id);
            entry.owners =
                self.lists.iter().filter(|(_, items)| wants(items)).map(|(owner, _)| *owner).collect();
        }
        let gone: Vec<i64> = self
            .entries
            .extract_if(.., |entry| entry.owners.is_empty())
            .filter_map(|entry| entry.engine)
            .collect();
        gone.into_iter().for_each(|id| self.retire(id));
    }

    fn retire(&mut self, engine: i64) {
        if self.retired.len() == RETIRED {
            self.retired.pop_front();
        }
        self.retired.push_back(engine);
    }

    /// Whether the engine gave this id to a breakpoint that is not wanted any more, or has another id by now.
    pub(super) fn had(&self, engine: i64) -> bool {
        self.retired.contains(&engine)
    }

    /// Says whether the union changed.
    pub(super) fn forget(&mut self, client: ClientId) -> bool {
        let before = self.entries.len();
        self.lists.remove(&client);
        self.recount();
        self.forget_view(client);
        let changed = before != self.entries.len();
        self.push.set(changed);
        changed
    }

    pub(super) fn forget_view(&mut self, client: ClientId) {
        self.shadows.remove(&client);
        self.spellings.remove(&client);
    }

    pub(super) fn engine_gone(&mut self) -> Vec<Owed> {
        for entry in &mut self.entries {
            (entry.engine, entry.state, entry.judged, entry.doubted, entry.hits) =
                (None, Value::Null, false, false, 0);
        }
        self.retired.clear();
        self.push.engine_gone()
    }

    /// The engine's answer to a list that was sent with these ids per position; gives the entries it changed.
    pub fn applied(&mut self, sent: &[Vec<i64>], body: &Value) -> Vec<i64> {
        let (mut changed, mut former) = (Vec::new(), Vec::new());
        for (ids, told) in sent.iter().zip(body["breakpoints"].as_array().into_iter().flatten()) {
            for entry in self.entries.iter_mut().filter(|entry| ids.contains(&entry.id)) {
                let given = told["id"].as_i64();
                former.extend(entry.engine.filter(|id| Some(*id) != given));
                entry.engine = given;
                // An answer names everything: nothing of before stays.
                let before = std::mem::take(&mut entry.state);
                entry.told(told);
                if entry.state != before {
                    changed.push(entry.id);
                }
            }
        }
        self.share_within(sent);
        former.into_iter().for_each(|id| self.retire(id));
        changed
    }

    /// Entries that share one of the engine's breakpoints and were not told of it have what the engine said of that one before:
    /// js-debug answers a list that is as it was with nothing.
    fn share_within(&mut self, sent: &[Vec<i64>]) {
        for ids in sent {
            let known = self.entries.iter().find(|entry| ids.contains(&entry.id) && entry.engine.is_some());
            let Some((engine, state)) = known.map(|entry| (entry.engine, entry.state.clone())) else {
                continue;
            };
            for entry in
                self.entries.iter_mut().filter(|entry| ids.contains(&entry.id) && entry.engine.is_none())
            {
                entry.engine = engine;
                entry.state = state.clone();
            }
        }
    }

    /// The body a client is owed for these entries, in this order.
    pub fn answer(&self, client: ClientId, list: &[i64]) -> Value {
        let why = match self.place {
            Place::Data => "its `dataId` belongs to an earlier stop; ask `dataBreakpointInfo` again",
            _ => "removed meanwhile",
        };
        let gone = |id: i64| json!({ "id": id, "verified": false, "message": why, "reason": "failed" });
        let bodies: Vec<Value> = list
            .iter()
            .map(|id| {
                self.entries
                    .iter()
                    .find(|entry| entry.id == *id)
                    .map_or_else(|| gone(*id), |entry| entry.body(self.spelled(client)))
            })
            .collect();
        // Few engines say anything about exception filters, and DAP leaves it to them.
        let silent =
            self.place == Place::Exceptions && self.entries.iter().all(|entry| entry.state.is_null());
        if silent { Value::Null } else { json!({ "breakpoints": bodies }) }
    }

    /// The source as a client spells it.
    pub(super) fn spelled(&self, client: ClientId) -> &Value {
        self.spellings.get(&client).unwrap_or(&self.source)
    }

    /// The entry as this client is to see it, if it knows the entry.
    pub(super) fn seen_by(&mut self, client: ClientId, id: i64) -> Option<Value> {
        let entry = self.entries.iter().find(|entry| entry.id == id)?;
        let owns = entry.owners.contains(&client);
        let body = entry.body(self.spelled(client));
        let line = entry.line();
        let shadow =
            self.shadows.get_mut(&client).and_then(|list| list.iter_mut().find(|shadow| shadow.id == id));
        match shadow {
            Some(shadow) => {
                shadow.moved_to(line);
                Some(super::shadows::shown(body, &entry.wish))
            }
            None => owns.then_some(body),
        }
    }

    /// What one client wants here, with its conditions.
    pub(super) fn owned_by(&self, client: ClientId) -> impl Iterator<Item = Value> {
        self.entries.iter().filter(move |entry| entry.owners.contains(&client)).map(|entry| {
            let mut body = entry.body(&self.source);
            let empty = Map::new();
            let wish = entry.wish.as_object().unwrap_or(&empty);
            for (key, value) in wish.iter().filter(|(key, _)| !matches!(key.as_str(), "line" | "column")) {
                body[key.as_str()] = value.clone();
            }
            body
        })
    }
}

fn own(items: &[Item]) -> Vec<i64> {
    items.iter().filter(|item| item.own).map(|item| item.id).collect()
}
