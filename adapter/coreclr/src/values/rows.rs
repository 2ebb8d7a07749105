//! Rows before they are rendered, and the part of them that a client requests. Not here: which rows there are
//! ([`super::contents`]), and how they look ([`super::variables`]).

use clr_metadata::members::Access;
use tandem_wire::Failure;

use crate::typed_value::{Constant, Format, TypedValue};
use crate::types::Ty;
use crate::value_path::Path;
use crate::value_store::Node;

/// A row before it is rendered.
pub(crate) struct VariableEntry {
    pub(crate) name: String,
    pub(crate) what: RowContent,
    /// DAP `VariablePresentationHint.kind`.
    pub(crate) kind: &'static str,
    pub(crate) access: Option<Access>,
    pub(crate) attributes: Vec<&'static str>,
    /// The value at its path, with its type, if it was read together with others.
    pub(crate) read: Option<(Ty, Constant)>,
}

/// The content of a row of `variables`.
pub(crate) enum RowContent {
    At(Path),
    /// A value that is not in the program, and the expression that evaluates to it.
    Here(TypedValue, String),
    /// A value that runs code when a client requests it, and the equivalent expression.
    Lazy(Node, String),
    /// Rows under a heading, its text, and the expression that opens to them.
    Group(Node, String, Option<String>),
    /// A remark in place of a value.
    Message(String),
    Failed(Failure),
}

impl VariableEntry {
    pub(super) fn new(name: impl Into<String>, what: RowContent, kind: &'static str) -> Self {
        Self { name: name.into(), what, kind, access: None, attributes: Vec::new(), read: None }
    }
}

/// The row that opens to the items from this one on.
pub(super) fn rest_entry(path: &Path, format: &Format, from: usize) -> VariableEntry {
    let node = Node::Rest(path.clone(), *format, from);
    VariableEntry::new(format!("[{from}…]"), RowContent::Group(node, "more items".into(), None), "virtual")
}

/// All rows, up to the limit of one answer.
pub(super) const EVERYTHING: VariablesPage<'static> =
    VariablesPage { start: 0, count: usize::MAX, most: super::MAX_ROWS, filter: None };

/// The rows that a client requests.
pub(crate) struct VariablesPage<'a> {
    pub(crate) start: usize,
    pub(crate) count: usize,
    /// Limit of one answer, whatever the client requests.
    pub(crate) most: usize,
    pub(crate) filter: Option<&'a str>,
}

impl VariablesPage<'_> {
    pub(super) fn wants_named(&self) -> bool {
        self.filter != Some("indexed")
    }

    pub(super) fn wants_indexed(&self) -> bool {
        self.filter != Some("named")
    }

    /// Truncates rows that are not items; the last row has the number of others.
    pub(super) fn cut(&self, rows: Vec<VariableEntry>) -> Vec<VariableEntry> {
        let left = rows.len().saturating_sub(self.start);
        let mut rows: Vec<VariableEntry> =
            rows.into_iter().skip(self.start).take(self.count.min(self.most)).collect();
        if left > rows.len() && rows.len() < self.count {
            let text = format!("{} more: ask for them with `start` and `count`", left - rows.len());
            rows.push(VariableEntry::new("…", RowContent::Message(text), "virtual"));
        }
        rows
    }
}
