//! Handshakes, leaving, and the end.
//!
//! The client that launched or attached owns the session: when it leaves, the session ends, unless it hands
//! over. All other clients come and go alone. Not here: launch and join ([`super::start_up`]).

use std::time::Duration;

use serde_json::{Value, json};
use tandem_wire::types::{self, DisconnectArguments};
use tandem_wire::{ErrorCode, Failure};

use super::session_changes::change;
use super::{Configuration, Phase, State};
use crate::access::AgentAccess;
use crate::clients::{Client, ClientKind, HandshakeStage};
use crate::event::{ClientId, ClientOrigin, ClientRequest, HubEffect, Timer};
use crate::pending::ReplyAction;

/// Maximum time of the engine to detach from the program before the program is killed.
pub(super) const ENDING_TIMEOUT: Duration = Duration::from_secs(6);
/// How long others may read the output of a session whose owner has left.
const LINGER_TIMEOUT: Duration = Duration::from_secs(10 * 60);

impl State {
    pub(super) fn initialize(&mut self, request: &ClientRequest, arguments: &Value) {
        let Some(client) = self.clients.get_mut(request.client) else { return };
        let outcome = if client.stage == HandshakeStage::Connected {
            client.initialize(arguments).map(|()| {
                client.protocol.sent_capabilities = self.engine.capabilities.offered().clone();
                client.protocol.sent_capabilities.clone()
            })
        } else {
            Err(Failure::invalid("`initialize` was sent twice; send it once per connection"))
        };
        self.respond(request, outcome);
    }

    /// Sends `initialized` once the engine takes breakpoints.
    pub(super) fn send_initialized(&mut self, id: ClientId) {
        if !self.engine.is_initialized() {
            return;
        }
        if let Some(client) = self.clients.get_mut(id)
            && client.stage == HandshakeStage::Joined
        {
            client.stage = HandshakeStage::Configuring;
            self.send_capability_changes(id);
            self.send_event(id, "initialized", &Value::Null);
            if self.start.early_reply.as_ref().is_some_and(|(request, _)| request.client == id) {
                self.respond_to_launch();
            }
        }
    }

    pub(super) fn configuration_done(&mut self, request: &ClientRequest) {
        let Some(client) = self.clients.get_mut(request.client) else { return };
        if client.stage != HandshakeStage::Configuring {
            let failure = Failure::invalid("`configurationDone` belongs after the `initialized` event, once");
            return self.refuse(request, failure);
        }
        client.stage = HandshakeStage::Ready;
        let (launched, knows_all) = (client.launched, client.terminated_sent);
        self.respond(request, Ok(Value::Null));
        if !knows_all {
            self.catch_up(request.client);
        }
        if launched && !self.start.is_configured() {
            self.start.configuration = Configuration::Due;
            self.configure_engine();
        }
        self.report_joined(request.client);
    }

    /// Sends one client all that the others know already.
    pub(super) fn catch_up(&mut self, id: ClientId) {
        let no_access = self.clients.get(id).is_none_or(|client| self.access.of(client) == AgentAccess::None);
        if no_access && !self.program.is_over() {
            return;
        }
        for (event, body) in self.program.replay.replay() {
            self.send_event(id, event, &body);
        }
        if !no_access {
            self.effects.push(HubEffect::StartOutput { client: id });
        }
        if self.program.is_live() {
            self.send_mirrors(id);
        }
        match self.program.phase().clone() {
            Phase::Stopped { stop } => {
                self.effects.push(HubEffect::FlushOutput { client: id });
                self.send_event(id, "stopped", &types::body(&stop));
            }
            Phase::Over { exited, .. } => self.send_end(id, &exited),
            _ => {}
        }
    }

    fn send_end(&mut self, id: ClientId, exited: &Value) {
        self.effects.push(HubEffect::FlushOutput { client: id });
        if !exited.is_null() {
            self.send_event(id, "exited", exited);
        }
        self.send_terminated(id);
    }

    fn send_terminated(&mut self, id: ClientId) {
        let body = match self.program.phase() {
            Phase::Over { terminated, .. } => terminated.clone(),
            _ => Value::Null,
        };
        if let Some(client) = self.clients.get_mut(id)
            && !client.terminated_sent
        {
            client.terminated_sent = true;
            self.take_back_mirrors(id);
            self.send_event(id, "terminated", &body);
        }
    }

    pub(super) fn disconnect(&mut self, request: ClientRequest, arguments: &Value) {
        let Some(client) = self.clients.get_mut(request.client) else { return };
        let disconnect: DisconnectArguments = types::read(arguments);
        let flag = |name: &str| disconnect.rest.get(name).and_then(Value::as_bool);
        client.departure.keeps_breakpoints = flag("keepBreakpoints").unwrap_or(false);
        client.departure.hands_over = flag("handOver").unwrap_or(client.departure.hands_over);
        let (launched, hands_over) = (client.launched, client.departure.hands_over);
        let continues = hands_over && self.successor(request.client).is_some();
        if launched && self.program.is_live() && !continues {
            let kill = disconnect.terminate_debuggee.unwrap_or(!self.start.launch.attached);
            return self.end_session(Some(request), kill);
        }
        self.take_back_mirrors(request.client);
        self.respond_and_close(&request);
    }

    /// Answers all requests of the client, `disconnect` last, and closes the connection.
    fn respond_and_close(&mut self, request: &ClientRequest) {
        self.cancel_open_requests(request.client, Some(request));
        self.respond(request, Ok(Value::Null));
        self.close_client(request.client);
    }

    /// The client that owns the session after this one: an editor, else an agent, only with full access.
    fn successor(&self, owner: ClientId) -> Option<ClientId> {
        let can = |client: &&Client| {
            client.id != owner
                && client.stage == HandshakeStage::Ready
                && self.access.of(client) == AgentAccess::Full
        };
        let successor = self
            .clients
            .iter()
            .filter(can)
            .min_by_key(|client| (client.identity.kind == ClientKind::Agent, client.id));
        successor.map(|client| client.id)
    }

    fn transfer_ownership(&mut self, owner: ClientId) {
        let Some(successor) = self.successor(owner) else { return };
        if let Some(client) = self.clients.get_mut(successor) {
            client.launched = true;
        }
        self.report_change(successor, "owner", &Value::Null);
    }

    /// Refuses all requests of a client before its connection closes, except the one that closes it.
    fn cancel_open_requests(&mut self, id: ClientId, except: Option<&ClientRequest>) {
        let requests = self.clients.get(id).map(|client| client.unanswered.of_client(id));
        for request in requests.unwrap_or_default() {
            if except == Some(&request) {
                continue;
            }
            let message =
                format!("`{}` was abandoned: its client disconnected before the response", request.command);
            self.refuse(&request, Failure::new(ErrorCode::Cancelled, message).quiet());
        }
    }

    /// Closes a connection after its last response; the rest happens as if the client had closed it.
    pub(super) fn close_client(&mut self, id: ClientId) {
        self.cancel_open_requests(id, None);
        self.effects.push(HubEffect::Close { client: id });
        self.remove_client(id, None);
    }

    /// Removes a client whose connection ended.
    pub(super) fn remove_client(&mut self, id: ClientId, reason: Option<&str>) {
        let Some(client) = self.clients.remove(id) else { return };
        self.cancel_all(self.engine.pending.of_left_client(id));
        self.pass_on_reverse_requests_of(id);
        self.cancel_following(id, None);
        // A client that only looked whether the session lives never joined it.
        if client.stage >= HandshakeStage::Ready {
            let why = reason.map_or(Value::Null, |reason| json!({ "reason": reason }));
            self.broadcast("sessionChanged", &change(&self.session, "left", &client, &why));
        }
        if client.launched && client.departure.hands_over && self.program.is_live() && !self.end.is_ending {
            self.transfer_ownership(id);
        }
        let owner_left = client.launched && !self.clients.iter().any(|other| other.launched);
        if (owner_left || self.clients.is_empty()) && self.program.is_live() && !self.end.is_ending {
            self.end_session(None, !self.start.launch.attached);
        } else if !self.end.is_ending {
            self.remove_client_breakpoints(&client);
        }
        self.end_if_done();
    }

    /// Ends the program, or detaches from it, and then ends everything.
    pub(super) fn end_session(&mut self, request: Option<ClientRequest>, kill: bool) {
        if self.end.is_ending || !self.program.is_live() {
            self.end.is_ending = true;
            if let Some(request) = request {
                self.respond_and_close(&request);
            }
            return self.end_if_done();
        }
        self.end.is_ending = true;
        self.abandon_restart();
        self.abandon_reverse_requests();
        self.cancel_all(self.engine.pending.inspections());
        let arguments = types::body(&DisconnectArguments {
            terminate_debuggee: Some(kill),
            ..DisconnectArguments::default()
        });
        self.request_engine(ReplyAction::SessionEnd(request), "disconnect", arguments, ENDING_TIMEOUT);
    }

    /// The engine has detached. Its last events come before this reply.
    pub(super) fn receive_disconnect_reply(
        &mut self,
        request: Option<&ClientRequest>,
        result: Result<Value, Failure>,
    ) {
        if let Err(failure) = result {
            tracing::warn!(%failure, "the engine did not detach from the program");
            self.effects.push(HubEffect::KillProgram);
        }
        self.finish_program(Value::Null);
        if let Some(request) = request {
            self.respond_and_close(request);
        }
        self.end_if_done();
    }

    /// The program is gone, one way or the other; each client is notified once. `body`: of the
    /// engine's `terminated`.
    pub(super) fn finish_program(&mut self, body: Value) {
        self.abandon_checks();
        self.abandon_following();
        self.program.terminate(body);
        self.respond_to_launch();
        self.abandon_restart();
        self.abandon_reverse_requests();
        self.end_progress();
        for id in self.clients.ready() {
            self.effects.push(HubEffect::FlushOutput { client: id });
            self.send_terminated(id);
        }
        for id in self.clients.joined() {
            self.send_early_end(id);
        }
    }

    /// Notifies a client of the end that has not configured yet. It would learn of the end when it does; but
    /// before the program was resumed there is nothing to wait for, and maybe no engine. Not a client whose
    /// launch itself will be refused.
    pub(super) fn send_early_end(&mut self, id: ClientId) {
        let Phase::Over { exited, .. } = self.program.phase().clone() else { return };
        let waits = self.clients.get(id).is_some_and(|client| {
            matches!(client.stage, HandshakeStage::Joined | HandshakeStage::Configuring)
                && !client.terminated_sent
        });
        if !waits || self.start.is_configured() || self.engine.pending.has_launch_of(id) {
            return;
        }
        if self.clients.get(id).is_some_and(|client| self.access.of(client) != AgentAccess::None) {
            self.effects.push(HubEffect::StartOutput { client: id });
        }
        self.send_end(id, &exited);
    }

    pub(super) fn end_if_done(&mut self) {
        if self.program.is_live() {
            return;
        }
        if self.clients.is_empty() {
            self.effects.push(HubEffect::End);
        } else if self.end.is_ending {
            self.effects.push(HubEffect::Unpublish);
            self.effects.push(HubEffect::StartTimer { timer: Timer::Linger, after: LINGER_TIMEOUT });
        }
    }

    pub(super) fn receive_timer(&mut self, timer: Timer) {
        match timer {
            Timer::Linger => self.effects.push(HubEffect::End),
            Timer::EarlyLaunchReply => self.respond_to_launch(),
            Timer::Follow(number) => self.time_out_following(number),
            Timer::Terminate(since) => self.time_out_termination(since),
            Timer::ReverseRequest(id) => self.time_out_reverse_request(id),
            Timer::Handshake(client) => {
                let silent = |client: &Client| {
                    client.origin == ClientOrigin::Socket && client.stage == HandshakeStage::Connected
                };
                if self.clients.get(client).is_some_and(|client| !client.access.is_admitted || silent(client))
                {
                    self.close_client(client);
                }
            }
        }
    }
}
