//! What the agent was told of a session, so that the next answer tells what is new: output, changed variables, stops.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

/// Snapshots kept to compare with.
const SNAPSHOTS: usize = 20;
/// Longest value that is compared and shown among changed variables, characters.
const LONGEST: usize = 120;

/// Values of a stop by the way to them.
pub type Values = BTreeMap<String, String>;

/// One `debug_snapshot`, to compare with.
#[derive(Debug, Clone)]
pub struct Kept {
    /// Its id.
    pub id: u64,
    /// How deep it looked.
    pub depth: u64,
    /// Where it was taken, as tools answer a place.
    pub place: Value,
    /// What it saw.
    pub values: Values,
}

#[derive(Debug, Default)]
struct Inner {
    /// Behind the output the agent has seen.
    cursor: Option<String>,
    /// The last stop or end the agent was told of.
    news: u64,
    /// A run was answered with `pending`.
    pending: bool,
    /// The last run was answered with a stop the agent did not know, and nothing was run.
    held_back: bool,
    /// It was told that the program asks for input, and nothing was written since.
    asked: bool,
    /// The last event told, with its `news`.
    event: Option<(u64, Value)>,
    /// The function of the last stop and its variables.
    variables: Option<(String, Values)>,
    snapshots: Vec<Kept>,
    last_snapshot: u64,
}

/// What the agent was told of one session.
#[derive(Debug, Default)]
pub struct Memory(Mutex<Inner>);

impl Memory {
    fn with<T>(&self, work: impl FnOnce(&mut Inner) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Behind the output the agent has seen.
    pub fn cursor(&self) -> Option<String> {
        self.with(|inner| inner.cursor.clone())
    }

    /// The agent has seen the output before this.
    pub fn set_cursor(&self, cursor: &str) {
        self.with(|inner| inner.cursor = Some(cursor.to_owned()));
    }

    /// A run was answered with `pending`, or is no longer.
    pub fn set_pending(&self, pending: bool) {
        self.with(|inner| inner.pending = pending);
    }

    /// Whether the last run was answered with `pending`.
    pub fn pending(&self) -> bool {
        self.with(|inner| inner.pending)
    }

    /// Whether a run asked for now is to be answered with the stop the agent does not know yet, instead of running from a
    /// place it does not know. Never twice in a row: who asks again means it.
    pub fn holds_back(&self, news: u64) -> bool {
        self.with(|inner| {
            inner.held_back = inner.news < news && !inner.held_back;
            inner.held_back
        })
    }

    /// Another program runs since; what there was of the old one is old.
    pub fn forget_run(&self, news: u64) {
        self.told(news);
        self.with(|inner| {
            (inner.asked, inner.held_back, inner.event, inner.variables) = (false, false, None, None);
        });
    }

    /// The agent is told that the program asks for input.
    pub fn set_asked(&self, asked: bool) {
        self.with(|inner| inner.asked = asked);
    }

    /// Whether it knows that already: a program may have a thread that reads while others work, and be waited for.
    pub fn asked(&self) -> bool {
        self.with(|inner| inner.asked)
    }

    /// The agent is told of this stop or end.
    pub fn told(&self, news: u64) {
        self.with(|inner| {
            inner.news = inner.news.max(news);
            inner.pending = false;
        });
    }

    /// The agent was shown where this stop is, by a tool that does not run anything.
    pub fn seen(&self, news: u64) {
        self.with(|inner| inner.news = inner.news.max(news));
    }

    /// The last stop or end the agent was told of.
    pub fn known(&self) -> u64 {
        self.with(|inner| inner.news)
    }

    /// Whether the agent was told of this stop or end.
    pub fn knows(&self, news: u64) -> bool {
        self.with(|inner| inner.news >= news)
    }

    /// The event told of a stop, if it was.
    pub fn event(&self, news: u64) -> Option<Value> {
        self.with(|inner| inner.event.as_ref().filter(|(of, _)| *of == news).map(|(_, event)| event.clone()))
    }

    /// Keeps the event of a stop.
    pub fn keep_event(&self, news: u64, event: &Value) {
        self.with(|inner| inner.event = Some((news, event.clone())));
    }

    /// A variable was changed by hand: what was told of this stop is stale.
    pub fn forget_event(&self) {
        self.with(|inner| inner.event = None);
    }

    /// Compares the variables of a stop with those of the last one. In the same function, what is new or different;
    /// in another, all of them, and `false`.
    pub fn changed(&self, function: &str, rows: &[Value]) -> (Vec<Value>, bool) {
        let shown = |row: &Value| {
            let value = crate::bounds::cut(&row["value"], LONGEST);
            (
                row["name"].as_str().unwrap_or_default().to_owned(),
                value.as_str().unwrap_or_default().to_owned(),
            )
        };
        let now: Vec<(String, String)> = rows.iter().map(shown).collect();
        self.with(|inner| {
            let before = inner.variables.take().filter(|(of, _)| of == function).map(|(_, values)| values);
            let mut told = Vec::new();
            for (name, value) in &now {
                match before.as_ref().map(|before| before.get(name)) {
                    Some(Some(was)) if was == value => {}
                    Some(Some(was)) => told.push(json!({ "name": name, "value": value, "was": was })),
                    _ => told.push(json!({ "name": name, "value": value })),
                }
            }
            inner.variables = Some((function.to_owned(), now.into_iter().collect()));
            (told, before.is_some())
        })
    }

    /// Keeps a snapshot; gives its id.
    pub fn keep(&self, depth: u64, place: Value, values: Values) -> u64 {
        self.with(|inner| {
            inner.last_snapshot += 1;
            let id = inner.last_snapshot;
            inner.snapshots.push(Kept { id, depth, place, values });
            if inner.snapshots.len() > SNAPSHOTS {
                inner.snapshots.remove(0);
            }
            id
        })
    }

    /// A snapshot that is still kept; the latest without an id.
    pub fn kept(&self, id: Option<u64>) -> Option<Kept> {
        self.with(|inner| {
            inner.snapshots.iter().rev().find(|kept| id.is_none_or(|id| kept.id == id)).cloned()
        })
    }

    /// Ids of the snapshots that are kept.
    pub fn kept_ids(&self) -> Vec<u64> {
        self.with(|inner| inner.snapshots.iter().map(|kept| kept.id).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changed_is_told_again_within_a_function() {
        let memory = Memory::default();
        let row = |name: &str, value: &str| json!({ "name": name, "value": value });
        let all = memory.changed("f", &[row("a", "1"), row("b", "2")]);
        assert_eq!((all.0.len(), all.1), (2, false));
        let some = memory.changed("f", &[row("a", "1"), row("b", "3"), row("c", "4")]);
        let told = json!([{ "name": "b", "value": "3", "was": "2" }, { "name": "c", "value": "4" }]);
        assert_eq!((json!(some.0), some.1), (told, true));
        assert!(!memory.changed("g", &[row("a", "1")]).1);
    }

    #[test]
    fn a_pending_run_is_over_once_its_outcome_was_told() {
        let memory = Memory::default();
        memory.set_pending(true);
        memory.told(1);
        assert!(!memory.pending());
    }

    #[test]
    fn a_run_is_held_back_by_an_unknown_stop_and_never_twice_in_a_row() {
        let memory = Memory::default();
        assert!(!memory.holds_back(0));
        assert!(memory.holds_back(1));
        // Somebody else stopped it elsewhere meanwhile; the agent asks again.
        memory.told(1);
        assert!(!memory.holds_back(2));
        memory.told(2);
        assert!(memory.holds_back(3));
    }
}
