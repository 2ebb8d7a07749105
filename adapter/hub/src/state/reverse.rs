//! Reverse requests of the engine: `runInTerminal` and `startDebugging` go to one client that supports them.
//!
//! The client that launched comes first, then whichever connected first. Agents do not run things on a
//! person's screen, so one that did not launch gets a request only with full access. When a client leaves
//! before it responds, the next gets the request; a client that is only silent keeps it, since it may have
//! opened the terminal already. The engine gets one reply.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;
use tandem_wire::types::{self, ChildProgram, SessionChangedBody, StartDebuggingRequestArguments};
use tandem_wire::{ErrorCode, Failure, Message, Request, Response};

use super::State;
use crate::access::AgentAccess;
use crate::clients::{Client, HandshakeStage};
use crate::event::{ClientId, HubEffect, ReverseRequestId, Timer};
use tandem_engine::CHILD_SESSION_REQUEST;

/// Maximum time of a client to open a terminal or to start a session.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);

/// Reverse requests without a response.
#[derive(Debug, Default)]
pub(super) struct ReverseRequests {
    open: BTreeMap<ReverseRequestId, OpenReverseRequest>,
    last: i64,
    /// Users know that no client notices child sessions.
    has_reported_child: bool,
}

/// A reverse request that has no reply yet.
#[derive(Debug)]
struct OpenReverseRequest {
    /// The engine's number for it.
    engine_id: i64,
    command: String,
    arguments: Value,
    /// The client that has it.
    client: ClientId,
    /// All clients that had it, so that none gets it twice.
    sent_to: BTreeSet<ClientId>,
}

impl OpenReverseRequest {
    fn reply(&self, result: Result<Value, Failure>) -> HubEffect {
        HubEffect::ReplyToEngine { id: self.engine_id, result }
    }
}

impl ReverseRequests {
    fn next_id(&mut self) -> ReverseRequestId {
        self.last += 1;
        ReverseRequestId(self.last)
    }

    /// Takes a request from the client that has it; `None` when another has it, or none.
    fn take_from(&mut self, id: ReverseRequestId, client: ClientId) -> Option<OpenReverseRequest> {
        self.open.get(&id).filter(|open| open.client == client)?;
        self.open.remove(&id)
    }

    fn of_client(&self, client: ClientId) -> Vec<ReverseRequestId> {
        self.open.iter().filter(|(_, open)| open.client == client).map(|(id, _)| *id).collect()
    }

    /// Gives up all of them; the engine gets a reply to each.
    fn abandon(&mut self) -> Vec<HubEffect> {
        let open = std::mem::take(&mut self.open).into_values();
        open.map(|open| open.reply(Err(Failure::cancelled()))).collect()
    }

    /// Sends a request to a client that supports it, or replies to the engine that none does.
    fn send(&mut self, id: ReverseRequestId, mut open: OpenReverseRequest, to: Option<&Client>) -> HubEffect {
        let Some(client) = to else {
            let message = format!("no client of this session can carry out `{}`", open.command);
            let failure = Failure::new(ErrorCode::Unsupported, message).hint("announce it in `initialize`");
            return open.reply(Err(failure));
        };
        let mut arguments = open.arguments.clone();
        if !client.protocol.supports.shell
            && let Some(arguments) = arguments.as_object_mut()
        {
            arguments.shift_remove("argsCanBeInterpretedByShell");
        }
        open.client = client.id;
        open.sent_to.insert(client.id);
        // The writer renumbers it and the reader undoes that: here its number is the hub's.
        let request = Request { seq: id.0, command: open.command.clone(), arguments };
        self.open.insert(id, open);
        HubEffect::Send { client: client.id, message: Message::Request(request) }
    }
}

impl State {
    pub(super) fn receive_reverse_request(&mut self, engine_id: i64, command: String, arguments: Value) {
        if self.end.is_ending || self.program.is_over() {
            self.effects.push(HubEffect::ReplyToEngine { id: engine_id, result: Err(Failure::cancelled()) });
            return;
        }
        if engine_id == CHILD_SESSION_REQUEST {
            let StartDebuggingRequestArguments { configuration, .. } = types::read(&arguments);
            let child: ChildProgram = types::read(&configuration);
            self.announce_child_session(&child);
            self.report_unnoticed_child(&child);
        }
        let id = self.engine.reverse.next_id();
        let open = OpenReverseRequest {
            engine_id,
            command,
            arguments,
            client: ClientId(0),
            sent_to: BTreeSet::new(),
        };
        self.send_to_next_client(id, open);
        if self.engine.reverse.open.contains_key(&id) {
            let timer = Timer::ReverseRequest(id);
            self.effects.push(HubEffect::StartTimer { timer, after: RESPONSE_TIMEOUT });
        }
    }

    /// A child process has a session now. One client is requested to open it; all subscribers are notified,
    /// so that a client that waits for a stop can wait there, too.
    fn announce_child_session(&mut self, configured: &ChildProgram) {
        let (name, session) = (configured.name.as_deref().unwrap_or_default(), configured.session.clone());
        let of_session = format!(" ({})", session.as_deref().unwrap_or_default());
        let name = name.strip_suffix(&of_session).unwrap_or(name).to_owned();
        self.announce_child(&ChildProgram { name: Some(name), session, ..ChildProgram::default() });
    }

    /// Whether a client opens child sessions, or is notified of them. Without such a client, nobody would
    /// resume a child that stops.
    pub(super) fn notices_children(&self, client: &Client) -> bool {
        let opens =
            client.supports_reverse_request("startDebugging") && !client.subscription.refuses_children;
        (HandshakeStage::Joined..HandshakeStage::Leaving).contains(&client.stage)
            && ((opens && self.access.of(client) == AgentAccess::Full)
                || (client.subscription.shows_children() && self.access.of(client) != AgentAccess::None))
    }

    /// Where no client notices a child session, users learn of the first one, and that nothing stops it.
    fn report_unnoticed_child(&mut self, configured: &ChildProgram) {
        let is_noticed = self.parent_clients().notice_children;
        if !is_noticed && !std::mem::replace(&mut self.engine.reverse.has_reported_child, true) {
            let name = configured.name.as_deref().unwrap_or("a child process");
            self.write_to_users(&format!(
                "The program has started {name}. This client does not open sessions of child processes \
                 (`startDebugging`), so they continue at breakpoints and exceptions unless a client joins \
                 them"
            ));
        }
    }

    /// The program has started another: all subscribers are notified.
    pub(super) fn announce_child(&mut self, child: &ChildProgram) {
        self.program.replay.record_child(child);
        let changed = SessionChangedBody {
            session: Some(self.session.clone()),
            change: "child".into(),
            child: Some(child.clone()),
            ..SessionChangedBody::default()
        };
        self.broadcast("sessionChanged", &types::body(&changed));
    }

    /// Sends the request to the first client that supports it and has not had it.
    fn send_to_next_client(&mut self, id: ReverseRequestId, open: OpenReverseRequest) {
        let can = |client: &&Client| {
            (HandshakeStage::Joined..HandshakeStage::Leaving).contains(&client.stage)
                && self.access.of(client) == AgentAccess::Full
                && client.supports_reverse_request(&open.command)
                && !open.sent_to.contains(&client.id)
        };
        let next = self.clients.iter().filter(can).min_by_key(|client| (!client.launched, client.id));
        let effect = self.engine.reverse.send(id, open, next);
        self.effects.push(effect);
    }

    /// A client responded to a reverse request. A response that is too late, or to no request, means nothing.
    pub(super) fn receive_reverse_response(&mut self, client: ClientId, response: Response) {
        match self.engine.reverse.take_from(ReverseRequestId(response.request_seq), client) {
            Some(open) => {
                let result = response.into_result();
                self.learn_of_children(&open, result.is_err());
                self.effects.push(open.reply(result));
            }
            None => tracing::debug!(%client, command = response.command, "a response to no reverse request"),
        }
    }

    /// Records whether a client opened the child session that it was requested to open.
    fn learn_of_children(&mut self, open: &OpenReverseRequest, has_failed: bool) {
        if open.engine_id == CHILD_SESSION_REQUEST
            && let Some(client) = self.clients.get_mut(open.client)
        {
            client.subscription.refuses_children = has_failed;
        }
    }

    pub(super) fn time_out_reverse_request(&mut self, id: ReverseRequestId) {
        let Some(open) = self.engine.reverse.open.remove(&id) else { return };
        self.learn_of_children(&open, true);
        let message = format!(
            "{} did not answer `{}` within {} s",
            self.name_of(open.client),
            open.command,
            RESPONSE_TIMEOUT.as_secs()
        );
        self.effects.push(open.reply(Err(Failure::new(ErrorCode::Timeout, message))));
    }

    /// A client left: its reverse requests go to the next one.
    pub(super) fn pass_on_reverse_requests_of(&mut self, client: ClientId) {
        for id in self.engine.reverse.of_client(client) {
            if let Some(open) = self.engine.reverse.open.remove(&id) {
                self.send_to_next_client(id, open);
            }
        }
    }

    /// Drops all requests: their responses are no longer needed.
    pub(super) fn abandon_reverse_requests(&mut self) {
        let replies = self.engine.reverse.abandon();
        self.effects.extend(replies);
    }
}
