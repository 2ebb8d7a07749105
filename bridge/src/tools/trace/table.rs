//! The rows of a trace: which hits are kept, and how an answer shows them.
//!
//! Not here: the breakpoints and the wait for hits ([`super`]).

use std::collections::BTreeMap;

use dap_wire::{Event, Failure};
use serde_json::{Value, json};

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
    last: BTreeMap<i64, Value>,
}

#[derive(Debug)]
struct TraceRow {
    place: usize,
    thread: i64,
    /// Number of the hit over all places, from 1.
    hit: u64,
    values: Value,
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
        let id = event.body["breakpointId"].as_i64();
        let found = self.places.iter().position(|place| place.breakpoint.is_some() && place.breakpoint == id);
        let Some((at, place)) = found.and_then(|at| Some((at, self.places.get_mut(at)?))) else { return };
        let thread = event.body["threadId"].as_i64().unwrap_or_default();
        let cells = event.body["values"].as_array().into_iter().flatten();
        let values: Vec<Value> = cells
            .map(|cell| match &cell["error"] {
                Value::Null => json!(cut(&cell["value"], MAX_VALUE_LEN)),
                error => json!({ "error": cut(error, MAX_VALUE_LEN) }),
            })
            .collect();
        let values = json!(values);
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
                let key = format!("{at} {whose} {}", row.values);
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

    /// Puts rows and columns into an answer. With `single`, the call named one place, so its
    /// rows contain only the values.
    pub(super) fn put(self, answer: &mut Value, single: bool, budget: Budget) {
        let numbered = matches!(self.keep, RowSelection::Changes | RowSelection::Ends);
        let shown = |row: &TraceRow| {
            let mut cells = Vec::new();
            if numbered {
                cells.push(json!(row.hit));
            }
            if !single {
                cells.push(json!(row.place));
            }
            if self.per_thread {
                cells.push(json!(row.thread));
            }
            cells.extend(row.values.as_array().into_iter().flatten().cloned());
            if self.keep == RowSelection::Distinct {
                cells.push(json!(row.count));
            }
            json!(cells)
        };
        let rows: Vec<Value> = self.rows.iter().map(shown).collect();
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
        answer["columns"] = json!(columns);
        if !single {
            let places = self.places.iter().map(|place| {
                let mut body = json!({ "at": place.at, "columns": place.columns, "hits": place.hits });
                if self.per_thread {
                    body["threads"] = json!(place.threads);
                }
                body
            });
            answer["places"] = places.collect();
        } else if self.per_thread
            && let Some(place) = self.places.first()
        {
            answer["threads"] = json!(place.threads);
        }
        answer["hits"] = json!(self.hits);
        for (key, number) in [("missed", self.missed), ("dropped", self.dropped)] {
            if number > 0 {
                answer[key] = json!(number);
            }
        }
        budget.put(answer, "rows", rows, 0);
    }
}

#[cfg(test)]
mod tests {
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
        let mut answer = json!({});
        table.put(&mut answer, single, Budget::of(None));
        answer
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
