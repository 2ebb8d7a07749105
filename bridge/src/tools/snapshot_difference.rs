//! The variables that differ between two snapshots.
//!
//! Not here: taking a snapshot ([`super::snapshot`]).

use serde::Serialize;

use crate::agent_view::{SnapshotPlace, StoredSnapshot, Values};

/// The answer of `debug_snapshot_diff`.
#[derive(Serialize)]
pub(super) struct SnapshotDifference<'a> {
    from: SnapshotEnd<'a>,
    to: SnapshotEnd<'a>,
    added: Vec<UnmatchedValue<'a>>,
    removed: Vec<UnmatchedValue<'a>>,
    changed: Vec<ChangedValue<'a>>,
    /// The number of variables that are the same.
    unchanged: usize,
}

/// One of the two snapshots that are compared.
#[derive(Serialize)]
struct SnapshotEnd<'a> {
    #[serde(flatten)]
    place: &'a SnapshotPlace,
    snapshot: u64,
}

/// A variable that only one of the snapshots has.
#[derive(Serialize)]
struct UnmatchedValue<'a> {
    name: &'a str,
    value: &'a str,
}

/// A variable whose values differ.
#[derive(Serialize)]
struct ChangedValue<'a> {
    name: &'a str,
    was: &'a str,
    value: &'a str,
}

impl<'a> SnapshotDifference<'a> {
    /// Compares the variables of two snapshots.
    pub(super) fn of(from: &'a StoredSnapshot, to: &'a StoredSnapshot) -> Self {
        let both = from.values.iter().filter_map(|(name, was)| Some((name, was, to.values.get(name)?)));
        let (same, different): (Vec<_>, Vec<_>) = both.partition(|(_, was, now)| was == now);
        let changed = different.into_iter().map(|(name, was, value)| ChangedValue { name, was, value });
        let end = |kept: &'a StoredSnapshot| SnapshotEnd { place: &kept.place, snapshot: kept.id };
        Self {
            from: end(from),
            to: end(to),
            added: missing(&to.values, &from.values),
            removed: missing(&from.values, &to.values),
            changed: changed.collect(),
            unchanged: same.len(),
        }
    }
}

/// The values of one snapshot that the other does not have.
fn missing<'a>(one: &'a Values, other: &Values) -> Vec<UnmatchedValue<'a>> {
    let only = one.iter().filter(|(name, _)| !other.contains_key(*name));
    only.map(|(name, value)| UnmatchedValue { name, value }).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tandem_wire::types;

    use super::*;

    #[test]
    fn two_snapshots_differ_in_what_was_added_removed_and_changed() {
        let values = |pairs: &[(&str, &str)]| -> Values {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let from = StoredSnapshot {
            id: 1,
            depth: 1,
            place: SnapshotPlace { line: Some(7), ..SnapshotPlace::default() },
            values: values(&[("a", "1"), ("b", "2"), ("c", "3")]),
        };
        let to = StoredSnapshot {
            id: 2,
            depth: 1,
            place: SnapshotPlace { line: Some(7), ..SnapshotPlace::default() },
            values: values(&[("b", "2"), ("c", "4"), ("d", "5")]),
        };
        let place = |id: u64| json!({ "function": null, "file": null, "line": 7, "snapshot": id });
        assert_eq!(
            types::body(&SnapshotDifference::of(&from, &to)),
            json!({ "from": place(1), "to": place(2),
                "added": [{ "name": "d", "value": "5" }], "removed": [{ "name": "a", "value": "1" }],
                "changed": [{ "name": "c", "was": "3", "value": "4" }], "unchanged": 1 })
        );
    }
}
