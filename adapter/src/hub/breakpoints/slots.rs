//! What the engine is sent: entries as they are where it judges each for itself, one breakpoint per spot where it keeps
//! only one, or where it does not know a condition, hit count or log message. Then the hub judges.

use serde_json::{Map, Value, json};

use super::joined::Joining;
use super::place::{Place, is_plain};
use super::sheet::{Entry, Sheet};
use crate::engine::JOINED_CONDITIONS;

/// What an engine does with a breakpoint by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities {
    /// Several on one spot, each with its own condition.
    pub several: bool,
    /// `condition`.
    pub conditions: bool,
    /// `hitCondition`.
    pub hit_conditions: bool,
    /// `logMessage`.
    pub log_messages: bool,
    /// `filterOptions` of exceptions.
    pub filter_options: bool,
    /// One condition that stands for several.
    pub joining: Joining,
}

/// One position of the list an engine is sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Slot {
    /// The entries it stands for.
    pub ids: Vec<i64>,
    /// What the engine is to hold.
    pub wish: Value,
}

impl Abilities {
    fn judges(self, wish: &Value) -> bool {
        // Adapters differ in whether a hit counts whose condition does not hold, or fails.
        (self.several || wish["condition"].is_null() || wish["hitCondition"].is_null())
            && (self.conditions || wish["condition"].is_null())
            && (self.hit_conditions || wish["hitCondition"].is_null())
            && (self.log_messages || wish["logMessage"].is_null())
            && wish["trace"].is_null()
    }
}

impl Sheet {
    /// The list for the engine. `implied` are wishes without an owner.
    pub fn slots(&mut self, abilities: Abilities, implied: &[Value]) -> Vec<Slot> {
        if self.place == Place::Exceptions {
            return filters(&self.entries, abilities, implied);
        }
        let mut slots: Vec<Slot> = Vec::new();
        let mut spots: Vec<(Value, Vec<usize>)> = Vec::new();
        for (at, entry) in self.entries.iter().enumerate() {
            let spot = spot(&self.place, &entry.wish);
            match spots.iter_mut().find(|(found, _)| *found == spot && !abilities.several) {
                Some((_, list)) => list.push(at),
                None => spots.push((spot, vec![at])),
            }
        }
        for (mut wish, list) in spots {
            let members: Vec<&mut Entry> = self
                .entries
                .iter_mut()
                .enumerate()
                .filter_map(|(at, entry)| list.contains(&at).then_some(entry))
                .collect();
            let judged = members.len() > 1 && !members.iter().all(|entry| is_plain(&entry.wish))
                || members.iter().any(|entry| !abilities.judges(&entry.wish));
            // Where it is alone, the engine stops only where the condition holds, which is much quicker.
            let filtered = judged && members.len() == 1 && abilities.conditions;
            if judged && let Some((condition, each)) = any_condition(&members, abilities) {
                wish["condition"] = json!(condition);
                wish[JOINED_CONDITIONS] = json!(each);
            }
            let mut access: Vec<Value> = Vec::new();
            let mut ids = Vec::new();
            for entry in members {
                entry.set_judge(judged, filtered);
                ids.push(entry.id);
                if !access.contains(&entry.wish["accessType"]) {
                    access.push(entry.wish["accessType"].clone());
                }
                if !judged {
                    wish = entry.wish.clone();
                } else if entry.filtered {
                    wish["condition"] = entry.wish["condition"].clone();
                }
            }
            match access.as_slice() {
                [Value::Null] => {}
                [one] => wish["accessType"] = one.clone(),
                _ => wish["accessType"] = json!("readWrite"),
            }
            slots.push(Slot { ids, wish });
        }
        slots
    }

    /// The request that makes the engine hold these slots.
    pub fn arguments(&self, slots: &[Slot]) -> Value {
        let wishes: Vec<&Value> = slots.iter().map(|slot| &slot.wish).collect();
        match &self.place {
            Place::Source(_) | Place::Reference(_) => json!({ "source": self.source, "breakpoints": wishes }),
            Place::Functions | Place::Data | Place::Instructions => json!({ "breakpoints": wishes }),
            Place::Exceptions => {
                let mut arguments = json!({ "filters": [] });
                for wish in wishes {
                    let (key, item) = match (&wish["filterId"], is_bare_filter(wish)) {
                        (Value::Null, _) => ("exceptionOptions", wish.clone()),
                        (filter, true) => ("filters", filter.clone()),
                        (_, false) => ("filterOptions", wish.clone()),
                    };
                    match arguments[key].as_array_mut() {
                        Some(list) => list.push(item),
                        None => arguments[key] = json!([item]),
                    }
                }
                arguments
            }
        }
    }
}

/// The condition without which none of these is hit, if there is one that can be said, and what it joins.
fn any_condition<'entry>(
    members: &'entry [&mut Entry],
    abilities: Abilities,
) -> Option<(String, Vec<&'entry str>)> {
    let conditions: Option<Vec<&str>> =
        members.iter().map(|entry| entry.wish["condition"].as_str()).collect();
    let conditions = conditions.filter(|conditions| conditions.len() > 1 && abilities.conditions)?;
    Some((abilities.joining.any_of(&conditions)?, conditions))
}

/// The part of a wish that says where, which is also a plain breakpoint there.
fn spot(place: &Place, wish: &Value) -> Value {
    let keys: &[&str] = match place {
        Place::Source(_) | Place::Reference(_) => &["line", "column", "mode"],
        Place::Functions => &["name"],
        Place::Data => &["dataId"],
        Place::Instructions => &["instructionReference", "offset", "mode"],
        Place::Exceptions => &["filterId"],
    };
    let mut spot = Map::new();
    for key in keys {
        if !wish[*key].is_null() {
            spot.insert((*key).to_owned(), wish[*key].clone());
        }
    }
    Value::Object(spot)
}

fn is_bare_filter(wish: &Value) -> bool {
    wish.as_object().is_some_and(|wish| wish.len() == 1)
}

/// Filters first, then options, then path options: the order of the answers (DAP). What conditions of exceptions mean only
/// the engine knows, so an engine that keeps one per filter gets the filter plain when its owners differ: it stops more
/// often than some asked, never less.
fn filters(entries: &[Entry], abilities: Abilities, implied: &[Value]) -> Vec<Slot> {
    let mut slots: Vec<Slot> = Vec::new();
    let ownerless: Vec<i64> = Vec::new();
    let all = entries
        .iter()
        .map(|entry| (vec![entry.id], &entry.wish))
        .chain(implied.iter().map(|wish| (ownerless.clone(), wish)));
    for (ids, wish) in all {
        let plain = spot(&Place::Exceptions, wish);
        let mut wish = wish.clone();
        if !abilities.filter_options && !plain["filterId"].is_null() {
            wish = plain.clone();
        }
        let same = slots.iter_mut().find(|slot| {
            slot.wish == wish
                || !abilities.several
                    && !plain["filterId"].is_null()
                    && slot.wish["filterId"] == wish["filterId"]
        });
        match same {
            Some(slot) => {
                slot.ids.extend(ids);
                if slot.wish != wish {
                    slot.wish = plain;
                }
            }
            None => slots.push(Slot { ids, wish }),
        }
    }
    slots.sort_by_key(|slot| match (&slot.wish["filterId"], is_bare_filter(&slot.wish)) {
        (Value::Null, _) => 2,
        (_, true) => 0,
        (_, false) => 1,
    });
    slots
}
