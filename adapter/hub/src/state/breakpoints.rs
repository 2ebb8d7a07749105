//! Breakpoints and exception filters: the engine gets the union of all clients' requests, and clients are
//! notified.
//!
//! Per scope one list is on its way to the engine, and the latest wins. A client gets its response, in its
//! own order, with the reply to the list that includes its requests; then the others are notified.
//!
//! Not here: the union, and the list for the engine ([`crate::breakpoints`]).

use serde_json::Value;
use tandem_wire::types::{self, Breakpoint, BreakpointEventBody, DataBreakpointInfoResponseBody};
use tandem_wire::{ErrorCode, Failure};

use super::{ENGINE_TIMEOUT, State, invalidated};
use crate::breakpoints::{
    BreakpointChanges, BreakpointRequest, BreakpointScope, BreakpointSupport, EchoesMirrors, PendingReply,
    SetBreakpoints, joined_conditions, parse,
};
use crate::clients::{Client, ClientKind, HandshakeStage};
use crate::event::{ClientId, ClientRequest};
use crate::pending::ReplyAction;
use tandem_engine::EngineRequest;
use tandem_engine::condition_language::ConditionLanguage;

/// Clients that are known to keep mirrors in their own list; others may turn out to.
const ECHOING: [&str; 3] = ["vscode", "neovim", "dape"];

/// Owns where a launched test stops when it fails; no client is it.
const FAILURE_STOPS: ClientId = ClientId(u64::MAX);

impl State {
    /// `setBreakpoints` and its kin: replaces this client's breakpoints of one scope.
    pub(super) fn set_breakpoints(&mut self, request: ClientRequest, mut arguments: Value) {
        let Some(client) = self.clients.get(request.client) else { return };
        let known = client.identity.client_id.as_deref().is_some_and(|id| ECHOING.contains(&id));
        let echoes_mirrors = match client.identity.kind {
            ClientKind::Agent => EchoesMirrors::Never,
            ClientKind::Editor if known || client.echoes_mirrors => EchoesMirrors::Always,
            ClientKind::Editor => EchoesMirrors::Maybe,
        };
        let source =
            arguments.get_mut("source").map_or(Ok(()), |source| client.protocol.ids.to_engine(source));
        let requested = source.and_then(|()| parse(&request.command, &arguments)).and_then(|requested| {
            self.can_hold(&requested.scope, requested.breakpoints.is_empty())?;
            Ok(requested)
        });
        let requested = match requested {
            Ok(requested) => self.mark_stale_data(requested),
            Err(failure) => return self.refuse(&request, failure),
        };
        let scope = requested.scope.clone();
        // A client that never set exception filters has the defaults, so its first list is a change, whatever
        // it is.
        let first = scope == BreakpointScope::Exceptions && !self.breakpoints.has_set(&scope, request.client);
        let outcome = self.breakpoints.set(&mut self.counter, request.client, requested, echoes_mirrors);
        self.report_breakpoint_changes(request.client, &outcome.changes);
        if outcome.echoed
            && let Some(client) = self.clients.get_mut(request.client)
        {
            client.echoes_mirrors = true;
        }
        if outcome.changed {
            self.breakpoints.note_changed_by(request.client);
        }
        let takes = self.takes_breakpoints();
        let Some(in_scope) = self.breakpoints.scope_mut(&scope) else { return };
        in_scope.sync.set(outcome.changed || first);
        let mut lost = outcome.lost;
        lost.retain(|(owner, id)| !in_scope.sync.note_removed(*owner, *id));
        if !takes || in_scope.sync.is_settled() {
            let response = in_scope.response(request.client, &outcome.list);
            self.respond_with_breakpoints(&request, response);
            self.send_lost(&lost);
            return self.update_mirrors();
        }
        in_scope.sync.add_pending(request, outcome.list);
        self.sync_breakpoints(&scope);
        self.send_lost(&lost);
    }

    /// Notifies owners whose breakpoints another client removed.
    fn send_lost(&mut self, lost: &[(ClientId, i64)]) {
        let viewers = self.viewers();
        for (owner, id) in lost.iter().filter(|(owner, _)| viewers.contains(owner)) {
            self.send_breakpoint_removed(*owner, &Breakpoint { id: Some(*id), ..Breakpoint::default() });
        }
    }

    /// Marks breakpoints whose `dataId` may not outlive its stop (DAP `canPersist`): it names another
    /// variable by now, unless the engine has held it ever since.
    fn mark_stale_data(&self, mut requested: SetBreakpoints) -> SetBreakpoints {
        if requested.scope == BreakpointScope::Data {
            let held = self.breakpoints.requests(&BreakpointScope::Data);
            for (at, request) in requested.breakpoints.iter().enumerate() {
                let id = request.target.data_id.as_ref();
                let stale =
                    id.is_some_and(|id| self.breakpoints.is_stale_data_id(id, self.program.stop_count()));
                if stale && !held.iter().any(|held| held.target.data_id == request.target.data_id) {
                    requested.stale.insert(at);
                }
            }
        }
        requested
    }

    /// Records how long a `dataId` is valid; `stop` is the one that its data belongs to.
    pub(super) fn record_data_id(&mut self, info: &Value, stop: Option<u64>) {
        let info: DataBreakpointInfoResponseBody = types::read(info);
        if let Some(id) = info.data_id.as_str() {
            self.breakpoints.record_data_id(id, stop.filter(|_| info.can_persist != Some(true)));
        }
    }

    /// Whether the engine takes breakpoints now.
    fn takes_breakpoints(&self) -> bool {
        self.engine.is_initialized() && self.program.is_live()
    }

    fn can_hold(&self, scope: &BreakpointScope, nothing: bool) -> Result<(), Failure> {
        match scope.capability() {
            Some(name) if !nothing && !self.engine.capabilities.engine_has(name) => {
                Err(Failure::new(ErrorCode::Unsupported, format!("the engine has no `{}`", scope.command()))
                    .hint(format!("its capabilities do not have `{name}`")))
            }
            _ => Ok(()),
        }
    }

    fn support(&self) -> BreakpointSupport {
        let several = self.engine.started().is_none_or(|engine| engine.several_per_line);
        let language = self.engine.started().map(|engine| engine.conditions);
        BreakpointSupport {
            several,
            conditions: self.engine.capabilities.engine_has("supportsConditionalBreakpoints"),
            hit_conditions: self.engine.capabilities.engine_has("supportsHitConditionalBreakpoints"),
            // Other adapters treat `{expression}` in different ways, and some print it as the program's own
            // output.
            log_messages: several && self.engine.capabilities.engine_has("supportsLogPoints"),
            filter_options: self.engine.capabilities.engine_has("supportsExceptionFilterOptions"),
            language: language.unwrap_or(ConditionLanguage::OTHER),
        }
    }

    /// Sends the union of a scope to the engine, unless one is on its way.
    fn sync_breakpoints(&mut self, scope: &BreakpointScope) {
        let support = self.support();
        let defaults = self.default_filters(scope);
        let skipped = self.skipped_breakpoints().to_vec();
        let Some(in_scope) = self.breakpoints.scope_mut(scope) else { return };
        if !in_scope.sync.start() {
            return;
        }
        let mut engine_breakpoints = in_scope.engine_breakpoints(support, &defaults);
        engine_breakpoints
            .retain(|sent| sent.ids.is_empty() || !sent.ids.iter().all(|id| skipped.contains(id)));
        let (command, arguments) = (scope.command(), in_scope.arguments(&engine_breakpoints));
        let joined = joined_conditions(&engine_breakpoints);
        let requested = in_scope.requested_arguments(&engine_breakpoints);
        let request = match joined.is_empty() && requested == arguments {
            true => EngineRequest::dap(command, arguments),
            false => {
                EngineRequest::MergedBreakpoints { command: command.to_owned(), arguments, joined, requested }
            }
        };
        let ids = engine_breakpoints.into_iter().map(|sent| sent.ids).collect();
        let action = ReplyAction::Breakpoints { scope: scope.clone(), ids, engine: self.engine.count() };
        self.send_to_engine(action, request, ENGINE_TIMEOUT);
    }

    /// The engine's default filters, for a client that launched and never set any: the list of a client that
    /// joined, even an empty one, does not replace them.
    fn default_filters(&self, scope: &BreakpointScope) -> Vec<BreakpointRequest> {
        let mut owners = self.clients.iter().filter(|client| client.launched);
        if *scope != BreakpointScope::Exceptions
            || owners.any(|client| self.breakpoints.has_set(scope, client.id))
        {
            return Vec::new();
        }
        let filters = self.engine.capabilities.offered()["exceptionBreakpointFilters"].as_array();
        let defaults = filters.into_iter().flatten().filter(|filter| filter["default"] == true);
        let ids = defaults.filter_map(|filter| filter["filter"].as_str());
        ids.map(BreakpointRequest::filter).collect()
    }

    /// Sends the scopes of these breakpoints again: what the engine has to hold of them has changed.
    pub(super) fn sync_again(&mut self, ids: &[i64]) {
        for scope in self.breakpoints.scopes_of(ids) {
            if let Some(in_scope) = self.breakpoints.scope_mut(&scope) {
                in_scope.sync.mark_outdated();
            }
            self.sync_breakpoints(&scope);
        }
    }

    /// Adds where a launched test stops when it fails, as one more owner's, as far as the engine knows it.
    pub(super) fn add_failure_stops(&mut self) {
        let mut stops = self.start.launch.failure_stops.clone();
        if stops.is_null() {
            return;
        }
        let offered = self.engine.capabilities.offered()["exceptionBreakpointFilters"].clone();
        let has =
            |name: &Value| offered.as_array().is_some_and(|all| all.iter().any(|one| one["filter"] == *name));
        if let Some(filters) = types::list_mut(&mut stops, "filters") {
            filters.retain(has);
        }
        if let Some(options) = types::list_mut(&mut stops, "filterOptions") {
            options.retain(|option| has(&option["filterId"]));
        }
        for command in ["setExceptionBreakpoints", "setFunctionBreakpoints"] {
            let requested = parse(command, &stops).and_then(|requested| {
                self.can_hold(&requested.scope, requested.breakpoints.is_empty())?;
                Ok(requested)
            });
            let Ok(requested) = requested else { continue };
            let scope = requested.scope.clone();
            self.breakpoints.set(&mut self.counter, FAILURE_STOPS, requested, EchoesMirrors::Never);
            if let Some(in_scope) = self.breakpoints.scope_mut(&scope) {
                in_scope.sync.set(true);
            }
        }
    }

    /// Sends everything that was set before the engine was initialized.
    pub(super) fn sync_all_breakpoints(&mut self) {
        for scope in self.breakpoints.scopes() {
            self.sync_breakpoints(&scope);
        }
        // An empty list is a request too: the program must not stop at exceptions.
        self.sync_breakpoints(&BreakpointScope::Exceptions);
    }

    /// The engine replied to a list.
    pub(super) fn receive_breakpoints_reply(
        &mut self,
        scope: &BreakpointScope,
        ids: &[Vec<i64>],
        engine: u64,
        result: Result<Value, Failure>,
    ) {
        if engine != self.engine.count() {
            return;
        }
        let Some(in_scope) = self.breakpoints.scope_mut(scope) else { return };
        let changed = result.as_ref().map(|body| in_scope.apply_reply(ids, body)).unwrap_or_default();
        let pending = in_scope.sync.finish(result.is_ok());
        let mut answered = Vec::new();
        for pending in pending {
            answered.push(pending.request.client);
            match &result {
                Ok(_) => self.send_pending_reply(scope, pending),
                Err(failure) => self.refuse(&pending.request, failure.clone()),
            }
        }
        for id in changed {
            // A client that gets a response has it there.
            self.send_breakpoint_changed(id, &answered);
        }
        self.sync_or_give_up(scope);
        self.update_mirrors();
        self.configure_engine();
        self.send_held_requests();
    }

    /// Sends what came meanwhile, or answers it as it is when the engine takes nothing any more.
    fn sync_or_give_up(&mut self, scope: &BreakpointScope) {
        if self.takes_breakpoints() {
            return self.sync_breakpoints(scope);
        }
        let pending = self
            .breakpoints
            .scope_mut(scope)
            .map(|in_scope| in_scope.sync.forget_engine())
            .unwrap_or_default();
        pending.into_iter().for_each(|pending| self.send_pending_reply(scope, pending));
    }

    fn send_pending_reply(&mut self, scope: &BreakpointScope, pending: PendingReply) {
        let client = pending.request.client;
        let body = self.breakpoints.scope(scope).map(|in_scope| in_scope.response(client, &pending.list));
        self.respond_with_breakpoints(&pending.request, body.unwrap_or_default());
        let lost: Vec<(ClientId, i64)> = pending.lost.iter().map(|id| (client, *id)).collect();
        self.send_lost(&lost);
    }

    /// The engine is gone: what it reported of breakpoints is void, and requests that wait for it get their
    /// response. The next engine gets everything again.
    pub(super) fn forget_engine_breakpoints(&mut self) {
        self.engine.count_next();
        self.abandon_checks();
        self.checks.last_resume.clear();
        for (scope, pending) in self.breakpoints.forget_engine() {
            pending.into_iter().for_each(|pending| self.send_pending_reply(&scope, pending));
        }
    }

    fn respond_with_breakpoints(&mut self, request: &ClientRequest, mut body: Value) {
        if let Some(client) = self.clients.get_mut(request.client) {
            client.protocol.ids.to_client(&mut self.counter, &request.command, &mut body);
        }
        self.respond(request, Ok(body));
    }

    /// The engine reports a change of one breakpoint.
    pub(super) fn update_breakpoint(&mut self, reported: &Value) {
        for id in self.breakpoints.update(reported) {
            self.send_breakpoint_changed(id, &[]);
        }
        // It may have moved to a line where a client has no mirror yet.
        self.update_mirrors();
    }

    /// Notifies all clients that know this breakpoint of its change.
    fn send_breakpoint_changed(&mut self, id: i64, but: &[ClientId]) {
        for client in self.viewers() {
            if !but.contains(&client)
                && let Some(breakpoint) = self.breakpoints.seen_by(client, id)
            {
                self.send_breakpoint(client, "changed", breakpoint);
            }
        }
    }

    /// Brings every client's mirrors up to date.
    fn update_mirrors(&mut self) {
        let by = self.breakpoints.take_changed_by();
        for client in self.viewers() {
            self.send_mirrors(client);
            // Function, data and exception breakpoints of others have no mirrors.
            if by.iter().any(|by| *by != client) {
                self.send_event(client, "invalidated", &invalidated("breakpoints"));
            }
        }
    }

    /// Sends one client the mirrors that it does not have.
    pub(super) fn send_mirrors(&mut self, client: ClientId) {
        for update in self.breakpoints.updates_for(client) {
            let mut body = update.body;
            if update.reason == "new" && !body.is_explained() {
                body.message = Some(self.describe_owners(update.id));
            }
            self.send_breakpoint(client, update.reason, body);
        }
    }

    /// The owners of a breakpoint and its conditions.
    fn describe_owners(&self, id: i64) -> String {
        let Some(breakpoint) = self.breakpoints.find(id) else { return String::new() };
        let name = |owner: &ClientId| {
            let client = self.clients.get(*owner);
            client.map_or_else(|| "a client that left".into(), |client| client.identity.name.clone())
        };
        breakpoint.describe(&breakpoint.owners.iter().map(name).collect::<Vec<_>>())
    }

    /// Takes mirrors back before the client leaves, or the session ends: they are not its own, but an editor
    /// would keep them for its next session.
    pub(super) fn take_back_mirrors(&mut self, client: ClientId) {
        let updates = self.breakpoints.remove_mirrors(client);
        if self.clients.ready().contains(&client) {
            updates.iter().for_each(|update| self.send_breakpoint_removed(client, &update.body));
        }
    }

    /// Clients that get events and were not sent `terminated`.
    fn viewers(&self) -> Vec<ClientId> {
        self.clients.ids_where(|client| client.stage == HandshakeStage::Ready && !client.terminated_sent)
    }

    fn send_breakpoint_removed(&mut self, client: ClientId, breakpoint: &Breakpoint) {
        self.send_breakpoint(client, "removed", breakpoint.clone());
    }

    fn send_breakpoint(&mut self, client: ClientId, reason: &str, breakpoint: Breakpoint) {
        let body =
            BreakpointEventBody { reason: reason.into(), breakpoint, ..BreakpointEventBody::default() };
        self.send_event(client, "breakpoint", &types::body(&body));
    }

    /// A client left: its breakpoints are removed, unless it asked to keep them.
    pub(super) fn remove_client_breakpoints(&mut self, left: &Client) {
        let client = left.id;
        if left.departure.keeps_breakpoints {
            return self.breakpoints.keep(client);
        }
        let changes =
            BreakpointChanges { added: Vec::new(), removed: self.breakpoints.describe_owned(client) };
        let scopes = self.breakpoints.remove_client(client);
        if let Some(body) = self.breakpoint_changes_body(left, &changes) {
            self.broadcast("sessionChanged", &body);
        }
        if self.takes_breakpoints() {
            scopes.iter().for_each(|scope| self.sync_breakpoints(scope));
        }
        if !scopes.is_empty() {
            self.breakpoints.note_changed_by(client);
        }
        self.update_mirrors();
    }
}
