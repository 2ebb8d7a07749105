//! The breakpoints of all clients: each client's requests, their union for the engine, and what each client
//! was shown of the others'.
//!
//! A [`BreakpointScope`] is what one DAP request replaces whole: the breakpoints of a source, of all
//! functions, all exception filters, data or instruction breakpoints. Everything about one scope is in its
//! [`ScopeBreakpoints`]. Equal requests of several owners are one [`MergedBreakpoint`]; its id is the
//! session's, stays the same as long as an owner wants it, and is never used again. The engine is sent a list
//! of [`EngineBreakpoint`]s: one per merged breakpoint where the engine evaluates conditions itself, else one
//! per location (with one condition for all where the engine's language can combine them), and then the hub
//! evaluates (`state::conditions`).
//!
//! Not here: the choice of clients to notify, and when (`state::breakpoints`).

mod engine_breakpoints;
mod merged_breakpoint;
mod request;
mod scope;
mod scope_breakpoints;
mod sync;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use tandem_wire::types::Breakpoint;

use merged_breakpoint::engine_id;

pub use engine_breakpoints::{BreakpointSupport, EngineBreakpoint, joined_conditions};
pub use merged_breakpoint::MergedBreakpoint;
pub use request::{SetBreakpoints, parse};
pub use scope::BreakpointScope;
pub use scope_breakpoints::EchoesMirrors;
pub use scope_breakpoints::{BreakpointChanges, ScopeBreakpoints, SetOutcome};
pub use sync::{PendingReply, Sync};
pub use tandem_wire::types::BreakpointRequest;

use super::event::ClientId;
use super::ids::IdCounter;

/// The reason of a stop at a data breakpoint.
pub const DATA_STOP: &str = "data breakpoint";

/// A `breakpoint` event to send.
#[derive(Debug, Clone, PartialEq)]
pub struct BreakpointUpdate {
    /// `new`, `changed` or `removed`.
    pub reason: &'static str,
    /// The session's id of the breakpoint.
    pub id: i64,
    /// The breakpoint as the client sees it.
    pub body: Breakpoint,
}

/// A breakpoint that stopped the program, or may have.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The session's id of the breakpoint.
    pub id: i64,
    /// The clients that requested it.
    pub owners: BTreeSet<ClientId>,
    /// The part of the request that the hub may have to evaluate.
    pub request: BreakpointRequest,
    /// Whether the hub has to find out if the hit counts.
    pub by_hub: bool,
}

impl Candidate {
    /// Whether the hub has to evaluate its condition.
    pub fn has_open_condition(&self) -> bool {
        self.by_hub && self.request.condition.is_some()
    }

    /// Has the hub evaluate its condition, if it has one: the engine cannot.
    pub fn open_condition(&mut self) {
        self.by_hub |= self.request.condition.is_some();
    }
}

/// All breakpoints of the session.
#[derive(Debug, Default)]
pub struct BreakpointStore {
    scopes: BTreeMap<BreakpointScope, ScopeBreakpoints>,
    /// Owners that left with `keepBreakpoints`.
    kept: BTreeSet<ClientId>,
    /// Clients that changed breakpoints to which the engine has not replied.
    changed_by: BTreeSet<ClientId>,
    /// Data ids that are valid only at one stop, with the number of that stop.
    data_ids: BTreeMap<String, u64>,
}

impl BreakpointStore {
    /// Records that a client changed breakpoints, until the engine has replied.
    pub fn note_changed_by(&mut self, client: ClientId) {
        self.changed_by.insert(client);
    }

    /// The clients that changed breakpoints since the last call.
    pub fn take_changed_by(&mut self) -> BTreeSet<ClientId> {
        std::mem::take(&mut self.changed_by)
    }

    /// Records a data id that is valid only at this stop, if it is bound to one.
    pub fn record_data_id(&mut self, id: &str, stop: Option<u64>) {
        match stop {
            Some(stop) => drop(self.data_ids.insert(id.to_owned(), stop)),
            None => drop(self.data_ids.remove(id)),
        }
    }

    /// Whether a data id is from another stop than this one.
    pub fn is_stale_data_id(&self, id: &str, stop: u64) -> bool {
        self.data_ids.get(id).is_some_and(|known| *known != stop)
    }

    /// Replaces one client's breakpoints of one scope.
    pub fn set(
        &mut self,
        counter: &mut IdCounter,
        client: ClientId,
        requested: SetBreakpoints,
        echoes_mirrors: EchoesMirrors,
    ) -> SetOutcome {
        let scope = &requested.scope;
        let in_scope =
            self.scopes.entry(scope.clone()).or_insert_with(|| ScopeBreakpoints::new(scope.clone()));
        in_scope.replace_list(counter, client, requested, echoes_mirrors, &self.kept)
    }

    /// The breakpoints of a scope, if any client ever set it.
    pub fn scope(&self, scope: &BreakpointScope) -> Option<&ScopeBreakpoints> {
        self.scopes.get(scope)
    }

    /// The same, to change them.
    pub fn scope_mut(&mut self, scope: &BreakpointScope) -> Option<&mut ScopeBreakpoints> {
        self.scopes.get_mut(scope)
    }

    /// The scopes of these breakpoints.
    pub fn scopes_of(&self, ids: &[i64]) -> Vec<BreakpointScope> {
        let with_any = |in_scope: &ScopeBreakpoints| in_scope.ids().iter().any(|id| ids.contains(id));
        self.scopes_where(with_any)
    }

    /// Whether the engine has yet to reply to a list.
    pub fn are_under_way(&self) -> bool {
        self.scopes.values().any(|in_scope| in_scope.sync.is_under_way())
    }

    /// Whether a list waits until the engine has replied to an earlier one.
    pub fn have_later_lists(&self) -> bool {
        self.scopes.values().any(|in_scope| in_scope.sync.has_later_list())
    }

    /// Every scope that has breakpoints.
    pub fn scopes(&self) -> Vec<BreakpointScope> {
        self.scopes_where(|in_scope| !in_scope.merged.is_empty())
    }

    fn scopes_where(&self, holds: impl Fn(&ScopeBreakpoints) -> bool) -> Vec<BreakpointScope> {
        self.scopes.iter().filter(|(_, in_scope)| holds(in_scope)).map(|(scope, _)| scope.clone()).collect()
    }

    fn all(&self) -> impl Iterator<Item = &MergedBreakpoint> {
        self.scopes.values().flat_map(|in_scope| &in_scope.merged)
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut MergedBreakpoint> {
        self.scopes.values_mut().flat_map(|in_scope| &mut in_scope.merged)
    }

    /// The union of a scope, in order.
    pub fn requests(&self, scope: &BreakpointScope) -> Vec<&BreakpointRequest> {
        let merged = self.scopes.get(scope).into_iter().flat_map(|in_scope| &in_scope.merged);
        merged.map(|breakpoint| &breakpoint.request).collect()
    }

    /// Whether this client ever set this scope.
    pub fn has_set(&self, scope: &BreakpointScope, client: ClientId) -> bool {
        self.scopes.get(scope).is_some_and(|in_scope| in_scope.lists.contains_key(&client))
    }

    /// Removes a client that left, with its breakpoints. Returns the scopes whose union changed.
    pub fn remove_client(&mut self, client: ClientId) -> Vec<BreakpointScope> {
        let changed = self.scopes.iter_mut().filter_map(|(scope, in_scope)| {
            let changed = in_scope.remove_client(client);
            changed.then(|| scope.clone())
        });
        changed.collect()
    }

    /// Keeps the breakpoints of a client that left, until another client sets the same or removes them.
    pub fn keep(&mut self, client: ClientId) {
        self.kept.insert(client);
        self.scopes.values_mut().for_each(|in_scope| in_scope.forget_view(client));
    }

    /// All breakpoints of one client, as other clients see them.
    pub fn describe_owned(&self, client: ClientId) -> Vec<(ClientId, Value)> {
        let described = self.scopes.values().flat_map(|in_scope| in_scope.describe_owned(client));
        described.map(|(_, described)| (client, described)).collect()
    }

    /// The engine is gone, with all it reported; the requests stay. Returns the requests
    /// that wait for its reply.
    pub fn forget_engine(&mut self) -> Vec<(BreakpointScope, Vec<PendingReply>)> {
        self.scopes.iter_mut().map(|(scope, in_scope)| (scope.clone(), in_scope.forget_engine())).collect()
    }

    /// Takes what the engine reports of one breakpoint (DAP `Breakpoint`); returns the ids
    /// of those that changed.
    pub fn update(&mut self, reported: &Value) -> Vec<i64> {
        let Some(engine_id) = engine_id(reported) else { return Vec::new() };
        let reported_of = self.all_mut().filter(|breakpoint| breakpoint.engine_id == Some(engine_id));
        reported_of.filter_map(|breakpoint| breakpoint.update(reported).then_some(breakpoint.id)).collect()
    }

    /// The breakpoints with these ids of the engine, at a stop for this reason. lldb numbers data breakpoints
    /// for themselves, so at a stop at data an id never means a line.
    pub fn hit_candidates(&self, reason: &str, engine_ids: &[i64]) -> Vec<Candidate> {
        let named = |is_data: bool| {
            self.candidates(|scope, breakpoint| {
                (*scope == BreakpointScope::Data) == is_data
                    && breakpoint.engine_id.is_some_and(|id| engine_ids.contains(&id))
            })
        };
        let at_data = reason == DATA_STOP;
        let hit = named(at_data);
        if hit.is_empty() && !at_data { named(true) } else { hit }
    }

    /// Whether all of these are the engine's ids of breakpoints at instructions.
    pub fn are_at_instructions(&self, engine_ids: &[i64]) -> bool {
        let is_one = |id: &i64| {
            let has_id = |scope: &BreakpointScope, breakpoint: &MergedBreakpoint| {
                *scope == BreakpointScope::Instructions && breakpoint.engine_id == Some(*id)
            };
            !self.candidates(has_id).is_empty()
        };
        !engine_ids.is_empty() && engine_ids.iter().all(is_one)
    }

    /// The only data breakpoint, at a stop at data of which the engine does not say more.
    pub fn only_data(&self) -> Vec<Candidate> {
        let all = self.candidates(|scope, _| *scope == BreakpointScope::Data);
        if all.len() == 1 { all } else { Vec::new() }
    }

    /// The breakpoints that may have been hit by a program that stopped here; for engines that do not say.
    pub fn hit_at(&self, path: &str, line: i64) -> Vec<Candidate> {
        let here = BreakpointScope::of_path(path);
        self.candidates(|scope, breakpoint| match scope {
            BreakpointScope::Source(_) => *scope == here && breakpoint.line() == Some(line),
            // A function breakpoint says where it is, if the engine says anything.
            BreakpointScope::Functions => {
                breakpoint.reported_path().is_some_and(|found| BreakpointScope::of_path(found) == here)
                    && breakpoint.line() == Some(line)
            }
            _ => false,
        })
    }

    /// The same at a stop that names only retired ids of the engine. A breakpoint of which the engine decides
    /// whether it is hit was hit only if one of the ids was its own.
    pub fn hit_late_at(&self, path: &str, line: i64, engine_ids: &[i64]) -> Vec<Candidate> {
        let former: Vec<i64> = self
            .scopes
            .values()
            .flat_map(|in_scope| engine_ids.iter().flat_map(|id| in_scope.retired_as(*id)))
            .collect();
        let mut here = self.hit_at(path, line);
        here.retain(|candidate| {
            let is_plain = || self.find(candidate.id).is_some_and(|breakpoint| breakpoint.request.is_plain());
            candidate.by_hub || former.contains(&candidate.id) || is_plain()
        });
        here
    }

    fn candidates(&self, is_one: impl Fn(&BreakpointScope, &MergedBreakpoint) -> bool) -> Vec<Candidate> {
        let all = self
            .scopes
            .iter()
            .flat_map(|(scope, in_scope)| in_scope.merged.iter().map(move |breakpoint| (scope, breakpoint)));
        all.filter(|(scope, breakpoint)| is_one(scope, breakpoint))
            .map(|(_, breakpoint)| Candidate {
                id: breakpoint.id,
                owners: breakpoint.owners.clone(),
                request: breakpoint.left_to_hub(),
                by_hub: breakpoint.needs_hub(),
            })
            .collect()
    }

    /// Whether all of these are the engine's ids of breakpoints that are removed, or that
    /// have other ids by now.
    pub fn are_retired(&self, reason: &str, engine_ids: &[i64]) -> bool {
        let at_data = reason == DATA_STOP;
        let is_retired = |id: &i64| {
            let mut scopes = self.scopes.iter();
            scopes.any(|(scope, in_scope)| {
                (*scope == BreakpointScope::Data) == at_data && in_scope.retired_as(*id).next().is_some()
            })
        };
        !engine_ids.is_empty() && engine_ids.iter().all(is_retired)
    }

    /// Whether the hub evaluates any breakpoint.
    pub fn need_hub(&self) -> bool {
        self.all().any(MergedBreakpoint::needs_hub)
    }

    /// Counts a hit of a breakpoint; returns how many there were.
    pub fn count_hit(&mut self, id: i64) -> u64 {
        match self.all_mut().find(|breakpoint| breakpoint.id == id) {
            Some(breakpoint) => {
                breakpoint.hits += 1;
                breakpoint.hits
            }
            None => 0,
        }
    }

    /// How many hits there were of the traces that count together with this breakpoint; `None`
    /// when it counts alone.
    pub fn group_hits(&self, id: i64) -> Option<u64> {
        let one = self.find(id)?;
        let group = one.request.trace.as_ref()?.group.as_ref()?;
        let of_group = self.all().filter(|other| {
            let theirs = other.request.trace.as_ref().and_then(|trace| trace.group.as_ref());
            other.owners == one.owners && theirs == Some(group)
        });
        Some(of_group.map(|other| other.hits).sum())
    }

    /// The breakpoint with this id.
    pub fn find(&self, id: i64) -> Option<&MergedBreakpoint> {
        self.all().find(|breakpoint| breakpoint.id == id)
    }

    /// The events this client needs to see the others' breakpoints as they are.
    pub fn updates_for(&mut self, client: ClientId) -> Vec<BreakpointUpdate> {
        self.scopes.values_mut().flat_map(|in_scope| in_scope.updates_for(client)).collect()
    }

    /// The events that take back what this client was shown: it leaves, or the session ends.
    pub fn remove_mirrors(&mut self, client: ClientId) -> Vec<BreakpointUpdate> {
        self.scopes.values_mut().flat_map(|in_scope| in_scope.remove_mirrors(client)).collect()
    }

    /// The breakpoint as this client sees it; `None` if the client does not know it.
    pub fn seen_by(&mut self, client: ClientId, id: i64) -> Option<Breakpoint> {
        self.scopes.values_mut().find_map(|in_scope| in_scope.seen_by(client, id))
    }

    /// For `sessionInfo`: all breakpoints of one client.
    pub fn owned_by(&self, client: ClientId) -> Vec<Value> {
        self.scopes.values().flat_map(|in_scope| in_scope.owned_by(client)).collect()
    }
}
