//! Synchronization of one scope's breakpoints with the engine: one list is on its way at a time, and the
//! latest wins. Requests that arrive meanwhile wait for the reply to a list that includes them.
//!
//! Sends nothing: [`crate::state`] does. The content of the list is in [`super::engine_breakpoints`].

use crate::event::{ClientId, ClientRequest};

/// A request that waits for the engine's reply about these breakpoints, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingReply {
    /// The client's request.
    pub request: ClientRequest,
    /// Ids in the client's order; an id may repeat.
    pub list: Vec<i64>,
    /// The version of the union that the request made.
    pub version: u64,
    /// Breakpoints of the list that another client removed meanwhile: reported after the
    /// response that names them.
    pub lost: Vec<i64>,
}

/// The breakpoints of a scope that the engine has, and the requests that wait for it.
#[derive(Debug, Default)]
pub struct Sync {
    /// Counts changes of the union.
    version: u64,
    /// The version that the engine replied to last.
    held: u64,
    under_way: Option<u64>,
    /// The engine refused the last list: what it holds is not known.
    out_of_sync: bool,
    pending: Vec<PendingReply>,
}

impl Sync {
    /// Records that a client set its list; `changed`: the union differs from before.
    pub fn set(&mut self, changed: bool) {
        if changed || self.out_of_sync {
            self.mark_outdated();
        }
    }

    /// Marks the engine's list as out of date.
    pub fn mark_outdated(&mut self) {
        self.version += 1;
        self.out_of_sync = false;
    }

    /// Whether the engine's list is up to date.
    pub fn is_settled(&self) -> bool {
        self.under_way.is_none() && self.held == self.version
    }

    /// Whether to send a list now; if so, it counts as sent from now on.
    pub fn start(&mut self) -> bool {
        let due = self.under_way.is_none() && self.held != self.version;
        if due {
            self.under_way = Some(self.version);
        }
        due
    }

    /// Whether a reply of the engine is expected.
    pub fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }

    /// Whether a later list waits for that reply.
    pub fn has_later_list(&self) -> bool {
        self.under_way.is_some_and(|version| version != self.version)
    }

    /// Adds a request that waits for the current version.
    pub fn add_pending(&mut self, request: ClientRequest, list: Vec<i64>) {
        let version = self.version;
        self.pending.push(PendingReply { request, list, version, lost: Vec::new() });
    }

    /// Notes that another client removed a breakpoint of this one; says whether its owner has yet to
    /// learn that it exists.
    pub fn note_removed(&mut self, client: ClientId, id: i64) -> bool {
        let names =
            |pending: &&mut PendingReply| pending.request.client == client && pending.list.contains(&id);
        self.pending.iter_mut().find(names).map(|pending| pending.lost.push(id)).is_some()
    }

    /// Handles the reply to the list that was sent; returns the requests that this answers.
    pub fn finish(&mut self, accepted: bool) -> Vec<PendingReply> {
        let Some(version) = self.under_way.take() else { return Vec::new() };
        // A refused list is not sent again by itself, only with the next change.
        self.held = version;
        self.out_of_sync = !accepted && self.version == version;
        let (now, later) =
            std::mem::take(&mut self.pending).into_iter().partition(|pending| pending.version <= version);
        self.pending = later;
        now
    }

    /// The engine has ended: it holds no breakpoints. Returns all requests that wait for it.
    pub fn forget_engine(&mut self) -> Vec<PendingReply> {
        let pending = std::mem::take(&mut self.pending);
        // A new engine holds no breakpoints, so any list is a change.
        *self = Self { version: self.version + 1, held: self.version, ..Self::default() };
        pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(seq: i64) -> ClientRequest {
        ClientRequest { client: ClientId(1), seq, command: "setBreakpoints".into() }
    }

    #[test]
    fn one_list_is_under_way_and_later_requests_wait_for_the_next() {
        let mut sync = Sync::default();
        sync.set(true);
        sync.add_pending(request(1), vec![1]);
        assert!(sync.start());
        for seq in 2..4 {
            sync.set(true);
            sync.add_pending(request(seq), vec![seq]);
            assert!(!sync.start() && sync.has_later_list());
        }
        assert_eq!(sync.finish(true).iter().map(|pending| pending.request.seq).collect::<Vec<_>>(), [1]);
        assert!(sync.start() && !sync.has_later_list());
        assert_eq!(sync.finish(true).iter().map(|pending| pending.request.seq).collect::<Vec<_>>(), [2, 3]);
        assert!(!sync.start() && sync.is_settled());
    }

    #[test]
    fn a_refused_list_goes_out_again_with_the_next_request_even_an_equal_one() {
        let mut sync = Sync::default();
        sync.set(true);
        assert!(sync.start());
        sync.finish(false);
        assert!(!sync.start());
        sync.set(false);
        assert!(sync.start());
    }
}
