//! Children of a value as DAP pages them: which of them are its elements, and which part of them a client
//! requested. Asks no adapter for them (`session/paging.rs`).

use std::collections::HashSet;

use tandem_wire::types::{DapVariable, VariablesArguments};

/// The children of one value that a client requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Page {
    /// `indexed`, `named`, or both: elements first.
    pub(super) filter: Filter,
    /// Index of the first row, from 0.
    pub(super) start: usize,
    /// Maximum number of rows; `usize::MAX` for all.
    pub(super) count: usize,
}

/// DAP `VariablesArguments.filter`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filter {
    /// Elements, then all others.
    All,
    /// The elements of an array or a collection.
    Indexed,
    /// All rows except elements.
    Named,
}

impl Page {
    /// The requested part; `None` for all.
    pub(super) fn of(arguments: &VariablesArguments) -> Option<Self> {
        let number = |argument: Option<i64>| argument.and_then(|number| usize::try_from(number).ok());
        let filter = match arguments.filter.as_deref() {
            Some("indexed") => Filter::Indexed,
            Some("named") => Filter::Named,
            _ => Filter::All,
        };
        let (start, count) = (number(arguments.start).unwrap_or(0), number(arguments.count).unwrap_or(0));
        if filter == Filter::All && start == 0 && count == 0 {
            return None;
        }
        // DAP: without a number, or with 0, all.
        Some(Self { filter, start, count: if count == 0 { usize::MAX } else { count } })
    }

    /// Index after the last row.
    pub(super) fn end(self) -> usize {
        self.start.saturating_add(self.count)
    }

    /// The part of the page that lies after the first `skipped` rows.
    pub(super) fn after(self, skipped: usize) -> Self {
        let end = self.end();
        let start = self.start.saturating_sub(skipped);
        let count = if end == usize::MAX { end } else { end.saturating_sub(skipped).saturating_sub(start) };
        Self { start, count, ..self }
    }

    /// This part of the rows.
    pub(super) fn cut(self, rows: Vec<DapVariable>) -> Vec<DapVariable> {
        rows.into_iter().skip(self.start).take(self.count).collect()
    }

    /// This part of all children.
    pub(super) fn of_children(
        self,
        (elements, others): (Vec<DapVariable>, Vec<DapVariable>),
    ) -> Vec<DapVariable> {
        match self.filter {
            Filter::All => self.cut(elements.into_iter().chain(others).collect()),
            Filter::Indexed => self.cut(elements),
            Filter::Named => self.cut(others),
        }
    }
}

/// Elements, and all others, each in their order.
pub(super) fn split_elements(rows: Vec<DapVariable>) -> (Vec<DapVariable>, Vec<DapVariable>) {
    rows.into_iter().partition(is_element)
}

/// Takes out rows that come a second time with the same name and value.
pub(super) fn without_repeats(rows: &mut Vec<DapVariable>) {
    let mut known = HashSet::new();
    rows.retain(|row| known.insert((row.name.clone(), row.value.clone())));
}

/// Whether its name is an index: `7`, `007`, `[7]`.
pub(super) fn is_element(row: &DapVariable) -> bool {
    let name = row.name.as_str();
    let inside = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    !inside.is_empty() && inside.bytes().all(|byte| byte.is_ascii_digit())
}

/// The elements that a row represents, by its name: `[100:1100]`.
pub(super) fn range_of(row: &DapVariable) -> Option<(usize, usize)> {
    let (from, to) = row.name.strip_prefix('[')?.strip_suffix(']')?.split_once(':')?;
    Some((from.parse().ok()?, to.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tandem_wire::types;

    use super::*;

    fn page(arguments: &Value) -> Page {
        Page::of(&types::read(arguments)).unwrap()
    }

    fn row(name: &str) -> DapVariable {
        DapVariable { name: name.to_owned(), ..DapVariable::default() }
    }

    #[test]
    fn a_page_is_a_part_of_elements_others_or_both() {
        let rows = ["[[Prototype]]", "0", "01", "[2]", "len()", "", "[]", "[1:2]"].map(row);
        let cut = |arguments: Value| {
            let children = split_elements(rows.to_vec());
            let rows = page(&arguments).of_children(children).into_iter();
            rows.map(|row| row.name).collect::<Vec<_>>()
        };
        assert_eq!(cut(json!({ "filter": "indexed" })), ["0", "01", "[2]"]);
        assert_eq!(cut(json!({ "filter": "indexed", "start": 1, "count": 1 })), ["01"]);
        assert_eq!(cut(json!({ "filter": "named", "start": 1 })), ["len()", "", "[]", "[1:2]"]);
        assert_eq!(cut(json!({ "start": 2, "count": 2 })), ["[2]", "[[Prototype]]"]);
        assert_eq!(cut(json!({ "start": 9, "count": 2 })), Vec::<String>::new());
        assert_eq!(cut(json!({ "start": i64::MAX, "count": i64::MAX })), Vec::<String>::new());
    }

    #[test]
    fn request_for_all_is_not_a_page() {
        for arguments in
            [json!({}), json!({ "start": 0, "count": 0 }), json!({ "start": -1 }), json!({ "count": "x" })]
        {
            assert_eq!(Page::of(&types::read(&arguments)), None, "{arguments}");
        }
    }

    #[test]
    fn rows_after_the_elements_are_a_page_of_their_own() {
        let after = |start: u64, count: u64, skipped| {
            let page = page(&json!({ "start": start, "count": count })).after(skipped);
            (page.start, page.count)
        };
        assert_eq!(after(8, 5, 10), (0, 3));
        assert_eq!(after(12, 5, 10), (2, 5));
        assert_eq!(after(1, 5, 10), (0, 0));
        assert_eq!(after(3, 0, 10), (0, usize::MAX));
    }

    #[test]
    fn a_row_may_stand_for_a_range_of_elements() {
        assert_eq!(range_of(&row("[100:1100]")), Some((100, 1100)));
        for other in ["[100]", "100:200", "[a:b]", "[:]", "[-1:5]"] {
            assert_eq!(range_of(&row(other)), None, "{other}");
        }
    }
}
