//! The rows of a trace: which hits are kept, and how an answer shows them.
//!
//! Not here: the breakpoints and the wait for hits ([`super`]).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tandem_wire::{Event, Failure, types};

use crate::bounds::{Budget, cut};
use crate::tools::values::MAX_VALUE_LEN;

/// Maximum number of rows kept.
const MAX_ROWS: usize = 1000;
/// Rows kept of each end.
const MAX_END_ROWS: usize = 10;
/// Threads that are counted.
const MAX_THREADS: usize = 50;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum RowSelection {
    #[default]
    All,
    /// Hits whose values differ from the previous ones at their location.
    Changes,
    /// Each combination of values once, with its number of hits.
    Distinct,
    /// The first and the last.
    Ends,
    /// No rows, only their number.
    Counts,
}

impl RowSelection {
    pub(super) fn parse(text: Option<&str>) -> Result<Self, Failure> {
        Ok(match text {
            None | Some("all") => Self::All,
            Some("changes") => Self::Changes,
            Some("distinct") => Self::Distinct,
            Some("ends") => Self::Ends,
            Some("counts") => Self::Counts,
            Some(other) => {
                return Err(Failure::invalid(format!("`keep` is `{other}`"))
                    .hint("use all, changes, distinct, ends or counts"));
            }
        })
    }
}

/// A place that is traced.
#[derive(Debug, Default)]
pub(super) struct Tracepoint {
    /// Its file and line, or function.
    at: String,
    /// Expressions that are evaluated at each hit.
    columns: Vec<String>,
    /// The session's id of its breakpoint.
    breakpoint: Option<i64>,
    hits: u64,
    threads: BTreeMap<i64, u64>,
    last: BTreeMap<i64, Vec<TraceCell>>,
}

/// Body of the event `traced`: a hit of a breakpoint that collects values.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct TracedBody {
    breakpoint_id: Option<i64>,
    thread_id: i64,
    values: Vec<TracedValue>,
}

/// The value of an expression at a hit, or the reason why it has none.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TracedValue {
    value: String,
    error: Option<String>,
}

/// A value in a row of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
enum TraceCell {
    Value(String),
    Error { error: String },
    Number(u64),
    Thread(i64),
}

/// A traced place in an answer.
#[derive(Debug, Serialize)]
struct PlaceSummary {
    at: String,
    columns: Vec<String>,
    hits: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    threads: Option<BTreeMap<i64, u64>>,
}

/// The rows and columns of an answer.
#[derive(Debug, Serialize)]
pub(super) struct TracePage {
    columns: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    places: Option<Vec<PlaceSummary>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    threads: Option<BTreeMap<i64, u64>>,
    hits: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    missed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dropped: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    omitted: Option<usize>,
    rows: Vec<Vec<TraceCell>>,
}

impl From<TracedValue> for TraceCell {
    fn from(traced: TracedValue) -> Self {
        match traced.error {
            Some(error) => Self::Error { error: cut(&error, MAX_VALUE_LEN) },
            None => Self::Value(cut(&traced.value, MAX_VALUE_LEN)),
        }
    }
}

#[derive(Debug)]
struct TraceRow {
    place: usize,
    thread: i64,
    /// Number of the hit over all places, from 1.
    hit: u64,
    values: Vec<TraceCell>,
    /// Number of hits with these values.
    count: u64,
}

#[derive(Debug, Default)]
pub(super) struct TraceTable {
    pub(super) places: Vec<Tracepoint>,
    keep: RowSelection,
    /// Whether rows name the thread.
    per_thread: bool,
    rows: Vec<TraceRow>,
    /// The values of rows that are kept once, and where.
    known: BTreeMap<String, usize>,
    pub(super) hits: u64,
    /// Events that were lost.
    pub(super) missed: u64,
    /// Rows that are not kept because there are too many.
    dropped: u64,
}

impl Tracepoint {
    pub(super) fn new(at: String, columns: Vec<String>, breakpoint: Option<i64>) -> Self {
        Self { at, columns, breakpoint, ..Self::default() }
    }
}

impl TraceTable {
    pub(super) fn new(keep: RowSelection, per_thread: bool) -> Self {
        Self { keep, per_thread, ..Self::default() }
    }

    /// Adds a hit: for each expression its value as a string, or an object with its error.
    pub(super) fn take(&mut self, event: &Event) {
        if event.event != "traced" {
            return;
        }
        let TracedBody { breakpoint_id: id, thread_id: thread, values } = types::read(&event.body);
        let found = self.places.iter().position(|place| place.breakpoint.is_some() && place.breakpoint == id);
        let Some((at, place)) = found.and_then(|at| Some((at, self.places.get_mut(at)?))) else { return };
        let values: Vec<TraceCell> = values.into_iter().map(TraceCell::from).collect();
        self.hits += 1;
        place.hits += 1;
        if place.threads.len() < MAX_THREADS || place.threads.contains_key(&thread) {
            *place.threads.entry(thread).or_default() += 1;
        }
        let whose = if self.per_thread { thread } else { 0 };
        let differs = place.last.insert(whose, values.clone()) != Some(values.clone());
        let row = TraceRow { place: at, thread, hit: self.hits, values, count: 1 };
        match self.keep {
            RowSelection::Counts => {}
            RowSelection::Changes if !differs => {}
            RowSelection::All | RowSelection::Changes => self.push(row),
            RowSelection::Ends => {
                if self.rows.len() >= 2 * MAX_END_ROWS {
                    self.rows.remove(MAX_END_ROWS);
                    self.dropped += 1;
                }
                self.rows.push(row);
            }
            RowSelection::Distinct => {
                let key = format!("{at} {whose} {:?}", row.values);
                match self.known.get(&key).and_then(|known| self.rows.get_mut(*known)) {
                    Some(known) => known.count += 1,
                    None => {
                        self.known.insert(key, self.rows.len());
                        self.push(row);
                    }
                }
            }
        }
    }

    fn push(&mut self, row: TraceRow) {
        if self.rows.len() < MAX_ROWS {
            self.rows.push(row);
        } else {
            self.dropped += 1;
        }
    }

    /// Whether the table has no rows.
    pub(super) fn is_empty(&self) -> bool {
        self.hits == 0
    }

    /// The rows and columns that fit into an answer. With `single`, the call named one place, so its
    /// rows contain only the values.
    pub(super) fn page(self, single: bool, budget: Budget) -> TracePage {
        let numbered = matches!(self.keep, RowSelection::Changes | RowSelection::Ends);
        let shown = |row: &TraceRow| {
            let mut cells = Vec::new();
            cells.extend(numbered.then_some(TraceCell::Number(row.hit)));
            cells.extend((!single).then_some(TraceCell::Number(row.place as u64)));
            cells.extend(self.per_thread.then_some(TraceCell::Thread(row.thread)));
            cells.extend(row.values.iter().cloned());
            cells.extend((self.keep == RowSelection::Distinct).then_some(TraceCell::Number(row.count)));
            cells
        };
        let rows: Vec<Vec<TraceCell>> = self.rows.iter().map(shown).collect();
        let mut columns: Vec<&str> = Vec::new();
        columns.extend(numbered.then_some("hit"));
        columns.extend((!single).then_some("place"));
        columns.extend(self.per_thread.then_some("thread"));
        if single {
            columns.extend(self.places.iter().flat_map(|place| place.columns.iter().map(String::as_str)));
        } else {
            columns.push("values");
        }
        columns.extend((self.keep == RowSelection::Distinct).then_some("hits"));
        let columns = columns.into_iter().map(str::to_owned).collect();
        let summary = |place: &Tracepoint| PlaceSummary {
            at: place.at.clone(),
            columns: place.columns.clone(),
            hits: place.hits,
            threads: self.per_thread.then(|| place.threads.clone()),
        };
        let only = self.places.first().filter(|_| single && self.per_thread);
        let above_zero = |number: u64| Some(number).filter(|number| *number > 0);
        let page = budget.page(rows, 0);
        TracePage {
            columns,
            places: (!single).then(|| self.places.iter().map(summary).collect()),
            threads: only.map(|place| place.threads.clone()),
            hits: self.hits,
            missed: above_zero(self.missed),
            dropped: above_zero(self.dropped),
            next: page.next,
            omitted: page.omitted,
            rows: page.rows,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn table(keep: RowSelection, places: &[i64]) -> TraceTable {
        let traced = |id: &i64| Tracepoint {
            at: format!("a.py:{id}"),
            columns: vec!["x".into()],
            breakpoint: Some(*id),
            ..Tracepoint::default()
        };
        TraceTable { keep, places: places.iter().map(traced).collect(), ..TraceTable::default() }
    }

    fn hit(table: &mut TraceTable, place: i64, thread: i64, value: &str) {
        let values = json!([{ "value": value, "type": "int" }]);
        table.take(&Event::new(
            "traced",
            json!({ "breakpointId": place, "threadId": thread, "values": values }),
        ));
    }

    fn answer(table: TraceTable, single: bool) -> Value {
        types::body(&table.page(single, Budget::of(None)))
    }

    #[test]
    fn rows_have_values_as_they_are_and_errors_apart_from_them() {
        let mut table = table(RowSelection::All, &[7]);
        let values =
            json!([{ "value": "x=y", "type": "str" }, { "error": "no `nope`" }, { "value": "'%s {}'" }]);
        table.take(&Event::new("traced", json!({ "breakpointId": 7, "hit": 1, "values": values })));
        table.take(&Event::new("traced", json!({ "breakpointId": 8, "hit": 1, "values": values })));
        table.take(&Event::new("output", json!({ "category": "stdout", "output": "x=y" })));
        let answer = answer(table, true);
        assert_eq!(answer["rows"], json!([["x=y", { "error": "no `nope`" }, "'%s {}'"]]));
        assert_eq!((&answer["columns"], &answer["hits"]), (&json!(["x"]), &json!(1)));
    }

    #[test]
    fn hits_of_several_places_are_in_the_order_of_time() {
        let mut table = table(RowSelection::All, &[7, 8]);
        for (place, value) in [(8, "1"), (7, "2"), (8, "3")] {
            hit(&mut table, place, 1, value);
        }
        let answer = answer(table, false);
        assert_eq!(answer["rows"], json!([[1, "1"], [0, "2"], [1, "3"]]));
        assert_eq!(answer["places"][1], json!({ "at": "a.py:8", "columns": ["x"], "hits": 2 }));
    }

    #[test]
    fn keep_selects_the_rows_of_many_hits() {
        let values = ["1", "1", "2", "2", "2", "1"];
        for (keep, rows) in [
            (RowSelection::Changes, json!([[1, "1"], [3, "2"], [6, "1"]])),
            (RowSelection::Distinct, json!([["1", 3], ["2", 3]])),
            (RowSelection::Counts, json!([])),
        ] {
            let mut table = table(keep, &[7]);
            values.iter().for_each(|value| hit(&mut table, 7, 1, value));
            let answer = answer(table, true);
            assert_eq!((&answer["rows"], &answer["hits"]), (&rows, &json!(6)), "{keep:?}");
        }
        let mut many = table(RowSelection::Ends, &[7]);
        (1..=100).for_each(|number| hit(&mut many, 7, 1, &number.to_string()));
        let answer = answer(many, true);
        let rows = answer["rows"].as_array().unwrap();
        assert_eq!((rows.len(), &rows[9], &rows[10]), (20, &json!([10, "10"]), &json!([91, "91"])));
        assert_eq!(answer["dropped"], 80);
    }

    #[test]
    fn each_thread_has_its_own_last_values() {
        let mut table = table(RowSelection::Changes, &[7]);
        table.per_thread = true;
        for (thread, value) in [(1, "a"), (2, "b"), (1, "a"), (2, "b"), (2, "c")] {
            hit(&mut table, 7, thread, value);
        }
        let answer = answer(table, true);
        assert_eq!(answer["rows"], json!([[1, 1, "a"], [2, 2, "b"], [5, 2, "c"]]));
        assert_eq!(answer["threads"], json!({ "1": 2, "2": 3 }));
    }
}
