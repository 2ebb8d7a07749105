//! Requests of the adapter that a client carries out: each is answered once, on its own connection. Not here:
//! requests that Tandem answers by itself (`session/reverse.rs`).

use std::collections::BTreeMap;

use tandem_wire::Request;

/// A connection to the adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Link {
    First,
    /// The one that the program got for itself.
    Program,
}

/// The adapter's requests that have no answer yet, by our number.
#[derive(Debug, Default)]
pub(super) struct AdapterRequests {
    last: i64,
    open: BTreeMap<i64, (Link, Request)>,
}

impl AdapterRequests {
    pub(super) fn add(&mut self, link: Link, request: Request) -> i64 {
        self.last += 1;
        self.open.insert(self.last, (link, request));
        self.last
    }

    pub(super) fn take(&mut self, number: i64) -> Option<(Link, Request)> {
        self.open.remove(&number)
    }
}
