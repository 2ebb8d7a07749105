//! The breakpoints of one scope: their union, each client's list, and what each client was shown.
//!
//! Not here: when the engine gets the list ([`super::sync`]), and in which form
//! ([`super::engine_breakpoints`]).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::Value;
use tandem_wire::types::{self, Breakpoint, BreakpointRequest, SetBreakpointsResponseBody, Source};

use super::merged_breakpoint::{Evaluation, MergedBreakpoint, engine_id};
use super::request::SetBreakpoints;
use super::scope::BreakpointScope;
use super::sync::{PendingReply, Sync};
use crate::event::ClientId;
use crate::ids::IdCounter;

mod mirrors;

pub use mirrors::EchoesMirrors;
use mirrors::Mirror;

/// Maximum number of ids of removed breakpoints that are remembered.
const MAX_RETIRED: usize = 256;

/// One position of a client's list: a breakpoint that it owns, or one of another client that it
/// was shown and sent back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ListedBreakpoint {
    pub(super) id: i64,
    pub(super) own: bool,
}

/// Breakpoints that were added and removed, each with its owner: the request, and `file` for those in one.
#[derive(Debug, Default, PartialEq)]
pub struct BreakpointChanges {
    /// New in the client's own list.
    pub added: Vec<(ClientId, Value)>,
    /// Removed from the client's list, or from another client.
    pub removed: Vec<(ClientId, Value)>,
}

/// Result of a `set…Breakpoints` request.
#[derive(Debug, Default, PartialEq)]
pub struct SetOutcome {
    /// Which breakpoints were added and removed.
    pub changes: BreakpointChanges,
    /// The ids of the breakpoints it names, in its order.
    pub list: Vec<i64>,
    /// The union differs from before.
    pub changed: bool,
    /// Breakpoints that were taken from their owners, because the client removed what it was shown of them.
    pub lost: Vec<(ClientId, i64)>,
    /// The client sent back mirrors that it was shown.
    pub echoed: bool,
}

/// The breakpoints of one scope: lists of clients, their union, and the engine's part.
#[derive(Debug)]
pub struct ScopeBreakpoints {
    pub(super) scope: BreakpointScope,
    /// The source as the engine gets it.
    pub(super) source: Option<Source>,
    /// The source as each client spells it.
    spellings: BTreeMap<ClientId, Source>,
    /// The breakpoints of all clients, equal requests merged.
    pub(super) merged: Vec<MergedBreakpoint>,
    pub(super) lists: BTreeMap<ClientId, Vec<ListedBreakpoint>>,
    mirrors: BTreeMap<ClientId, Vec<Mirror>>,
    /// Engine ids that are no longer valid, each with the session's id of its breakpoint: a stop that names
    /// one may still arrive.
    retired: VecDeque<(i64, i64)>,
    /// The part of the list that the engine has.
    pub sync: Sync,
}

impl ScopeBreakpoints {
    pub(super) fn new(scope: BreakpointScope) -> Self {
        Self {
            scope,
            source: None,
            spellings: BTreeMap::new(),
            merged: Vec::new(),
            lists: BTreeMap::new(),
            mirrors: BTreeMap::new(),
            retired: VecDeque::new(),
            sync: Sync::default(),
        }
    }

    /// Replaces one client's list. `kept`: owners that left and whose breakpoints stayed.
    pub(super) fn replace_list(
        &mut self,
        counter: &mut IdCounter,
        client: ClientId,
        requested: SetBreakpoints,
        echoes_mirrors: EchoesMirrors,
        kept: &BTreeSet<ClientId>,
    ) -> SetOutcome {
        self.note_source(client, requested.source);
        let before = self.ids();
        let described_before: BTreeMap<i64, Value> =
            self.merged.iter().map(|breakpoint| (breakpoint.id, self.describe(breakpoint))).collect();
        let own_before = self.own_ids(client);
        let mut list = Vec::with_capacity(requested.breakpoints.len());
        let mut echoed = false;
        for (at, request) in requested.breakpoints.into_iter().enumerate() {
            if requested.stale.contains(&at) {
                list.push(ListedBreakpoint { id: counter.take(), own: false });
                continue;
            }
            if echoes_mirrors != EchoesMirrors::Never
                && let Some(id) = self.echoed_mirror(client, &request, &list)
            {
                echoed = true;
                list.push(ListedBreakpoint { id, own: false });
                continue;
            }
            let id = match self.merged.iter().find(|breakpoint| breakpoint.request == request) {
                Some(breakpoint) => breakpoint.id,
                None => self.add(counter, request),
            };
            self.transfer_from_kept(id, kept);
            list.push(ListedBreakpoint { id, own: true });
        }
        let ids = list.iter().map(|listed| listed.id).collect();
        let unchanged = own_before == own(&list) || list.is_empty();
        self.lists.insert(client, list);
        self.update_owners();
        let keeps = echoes_mirrors == EchoesMirrors::Always || echoed;
        let lost = self.remove_missing_mirrors(client, keeps && unchanged);
        self.update_owners();
        let own_after = self.own_ids(client);
        let gone = own_before.iter().filter(|id| !own_after.contains(id)).map(|id| (client, *id));
        let removed = gone.chain(lost.iter().copied());
        let added = self.describe_owned(client).filter(|(id, _)| !own_before.contains(id));
        let changes = BreakpointChanges {
            added: added.map(|(_, described)| (client, described)).collect(),
            removed: removed
                .filter_map(|(owner, id)| Some((owner, described_before.get(&id)?.clone())))
                .collect(),
        };
        SetOutcome { changes, list: ids, changed: before != self.ids(), lost, echoed }
    }

    /// Remembers how a client spells the source; the engine gets the first spelling,
    /// with the normalized path.
    fn note_source(&mut self, client: ClientId, source: Option<Source>) {
        let Some(source) = source else { return };
        if self.source.is_none() {
            let mut source = source.clone();
            if let BreakpointScope::Source(path) = &self.scope {
                source.path = Some(path.clone());
            }
            self.source = Some(source);
        }
        self.spellings.insert(client, source);
    }

    /// A breakpoint as other clients see it.
    fn describe(&self, breakpoint: &MergedBreakpoint) -> Value {
        let mut described = breakpoint.request.clone();
        if let Some(path) = self.source.as_ref().and_then(|source| source.path.as_deref()) {
            described.rest.insert("file".into(), path.into());
        }
        types::body(&described)
    }

    /// One client's own breakpoints here, by id.
    pub(super) fn describe_owned(&self, client: ClientId) -> impl Iterator<Item = (i64, Value)> {
        let own = self.merged.iter().filter(move |breakpoint| breakpoint.owners.contains(&client));
        own.map(|breakpoint| (breakpoint.id, self.describe(breakpoint)))
    }

    fn add(&mut self, counter: &mut IdCounter, request: BreakpointRequest) -> i64 {
        let id = counter.take();
        self.merged.push(MergedBreakpoint::new(id, request));
        id
    }

    /// A breakpoint that a client left behind belongs to the client that sets the same one again.
    fn transfer_from_kept(&mut self, id: i64, kept: &BTreeSet<ClientId>) {
        for owner in kept {
            if let Some(list) = self.lists.get_mut(owner) {
                list.retain(|listed| listed.id != id);
            }
        }
    }

    pub(super) fn ids(&self) -> Vec<i64> {
        self.merged.iter().map(|breakpoint| breakpoint.id).collect()
    }

    pub(super) fn find(&self, id: i64) -> Option<&MergedBreakpoint> {
        self.merged.iter().find(|breakpoint| breakpoint.id == id)
    }

    fn own_ids(&self, client: ClientId) -> Vec<i64> {
        self.lists.get(&client).map(|list| own(list)).unwrap_or_default()
    }

    /// Computes owners from the lists and drops breakpoints without one.
    pub(super) fn update_owners(&mut self) {
        for breakpoint in &mut self.merged {
            let wants = |list: &[ListedBreakpoint]| {
                list.iter().any(|listed| listed.own && listed.id == breakpoint.id)
            };
            breakpoint.owners =
                self.lists.iter().filter(|(_, list)| wants(list)).map(|(owner, _)| *owner).collect();
        }
        let gone: Vec<(i64, i64)> = self
            .merged
            .extract_if(.., |breakpoint| breakpoint.owners.is_empty())
            .filter_map(|breakpoint| Some((breakpoint.engine_id?, breakpoint.id)))
            .collect();
        self.retire(gone);
    }

    fn retire(&mut self, former: Vec<(i64, i64)>) {
        self.retired.extend(former);
        let excess = self.retired.len().saturating_sub(MAX_RETIRED);
        self.retired.drain(..excess);
    }

    /// The breakpoints to which the engine gave this id, and that are removed or have another id by now.
    pub(super) fn retired_as(&self, engine_id: i64) -> impl Iterator<Item = i64> {
        let retired = self.retired.iter().filter(move |(former, _)| *former == engine_id);
        retired.map(|(_, id)| *id)
    }

    /// Removes a client and its breakpoints; returns whether the union changed.
    pub(super) fn remove_client(&mut self, client: ClientId) -> bool {
        let before = self.merged.len();
        self.lists.remove(&client);
        self.update_owners();
        self.forget_view(client);
        let changed = before != self.merged.len();
        self.sync.set(changed);
        changed
    }

    /// Forgets what a client was shown.
    pub(super) fn forget_view(&mut self, client: ClientId) {
        self.mirrors.remove(&client);
        self.spellings.remove(&client);
    }

    /// Forgets the engine and its reports. Returns the requests that wait for its reply.
    pub(super) fn forget_engine(&mut self) -> Vec<PendingReply> {
        for breakpoint in &mut self.merged {
            (breakpoint.engine_id, breakpoint.reported) = (None, None);
            (breakpoint.evaluation, breakpoint.recheck, breakpoint.hits) = (Evaluation::Engine, false, 0);
        }
        self.retired.clear();
        self.sync.forget_engine()
    }

    /// Takes the engine's reply to a list whose positions represent these ids; returns the
    /// breakpoints it changed.
    pub fn apply_reply(&mut self, sent: &[Vec<i64>], body: &Value) -> Vec<i64> {
        let (mut changed, mut former) = (Vec::new(), Vec::new());
        for (ids, reported) in sent.iter().zip(body["breakpoints"].as_array().into_iter().flatten()) {
            for breakpoint in self.merged.iter_mut().filter(|breakpoint| ids.contains(&breakpoint.id)) {
                let engine_id = engine_id(reported);
                let retired = breakpoint.engine_id.filter(|id| Some(*id) != engine_id);
                former.extend(retired.map(|retired| (retired, breakpoint.id)));
                breakpoint.engine_id = engine_id;
                // A reply names everything: nothing of before stays.
                let before = breakpoint.reported.take();
                breakpoint.update(reported);
                if breakpoint.reported != before {
                    changed.push(breakpoint.id);
                }
            }
        }
        self.share_reports(sent);
        self.retire(former);
        changed
    }

    /// Gives breakpoints that share one of the engine's, and of which it reported nothing, what it reported
    /// of that one before: js-debug replies to an unchanged list with nothing.
    fn share_reports(&mut self, sent: &[Vec<i64>]) {
        for ids in sent {
            let mut of_position = self.merged.iter().filter(|breakpoint| ids.contains(&breakpoint.id));
            let known = of_position.find(|breakpoint| breakpoint.engine_id.is_some());
            let Some((engine_id, reported)) = known.map(|known| (known.engine_id, known.reported.clone()))
            else {
                continue;
            };
            let unknown = |breakpoint: &&mut MergedBreakpoint| {
                ids.contains(&breakpoint.id) && breakpoint.engine_id.is_none()
            };
            for breakpoint in self.merged.iter_mut().filter(unknown) {
                breakpoint.engine_id = engine_id;
                breakpoint.reported = reported.clone();
            }
        }
    }

    /// The response for a client that named these ids, in this order.
    pub fn response(&self, client: ClientId, list: &[i64]) -> Value {
        // Few engines say anything about exception filters, and DAP leaves it to them.
        if self.scope == BreakpointScope::Exceptions
            && self.merged.iter().all(|breakpoint| breakpoint.reported.is_none())
        {
            return Value::Null;
        }
        let why = match self.scope {
            BreakpointScope::Data => {
                "its `dataId` belongs to an earlier stop; ask `dataBreakpointInfo` again"
            }
            _ => "removed meanwhile",
        };
        let gone = |id: i64| Breakpoint {
            id: Some(id),
            message: Some(why.into()),
            reason: Some("failed".into()),
            ..Breakpoint::default()
        };
        let source = self.spelled(client);
        let body = |id: &i64| self.find(*id).map_or_else(|| gone(*id), |breakpoint| breakpoint.body(source));
        let breakpoints = list.iter().map(body).collect();
        types::body(&SetBreakpointsResponseBody { breakpoints, ..SetBreakpointsResponseBody::default() })
    }

    /// The source as a client spells it.
    pub(super) fn spelled(&self, client: ClientId) -> Option<&Source> {
        self.spellings.get(&client).or(self.source.as_ref())
    }

    /// The breakpoint as this client sees it, if it knows the breakpoint.
    pub(super) fn seen_by(&mut self, client: ClientId, id: i64) -> Option<Breakpoint> {
        let breakpoint = self.merged.iter().find(|breakpoint| breakpoint.id == id)?;
        let owns = breakpoint.owners.contains(&client);
        let body = breakpoint.body(self.spelled(client));
        let line = breakpoint.line();
        let mirror =
            self.mirrors.get_mut(&client).and_then(|list| list.iter_mut().find(|mirror| mirror.id == id));
        match mirror {
            Some(mirror) => {
                mirror.moved_to(line);
                Some(mirrors::mirrored(body, &breakpoint.request))
            }
            None => owns.then_some(body),
        }
    }

    /// One client's own breakpoints here, with their conditions, for `sessionInfo`.
    pub(super) fn owned_by(&self, client: ClientId) -> impl Iterator<Item = Value> {
        self.merged.iter().filter(move |breakpoint| breakpoint.owners.contains(&client)).map(|breakpoint| {
            let request = BreakpointRequest { line: None, column: None, ..breakpoint.request.clone() };
            let mut body = types::body(&breakpoint.body(self.source.as_ref()));
            if let (Some(body), Value::Object(request)) = (body.as_object_mut(), types::body(&request)) {
                body.extend(request);
            }
            body
        })
    }
}

fn own(list: &[ListedBreakpoint]) -> Vec<i64> {
    list.iter().filter(|listed| listed.own).map(|listed| listed.id).collect()
}
