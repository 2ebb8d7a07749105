//! Requests to the engine and the broker: sent, replied to in the order in which the replies come, timed out.
//!
//! Not here: how a reply is used ([`tandem_hub::pending`]).

use std::collections::HashMap;
use std::time::Duration;

use serde_json::Value;
use tandem_wire::{ErrorCode, Failure};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Actor;
use super::deadlines::{Deadlines, ReplyDeadline, TimedOutRequest};
use super::readers::hint_event;
use crate::host::Host;
use crate::message_structure::message_structure;
use tandem_engine::{EngineAnswer, EngineReply, EngineRequest, ReplyHandle};
use tandem_hub::event::{ClientId, HubEvent, IoAnswer, IoRequest, Ticket};

/// A request without a reply.
struct InFlight {
    cancel: CancellationToken,
    /// When the engine must have replied; the broker bounds its own waits.
    due: Option<ReplyDeadline>,
    /// The reply is on its way through the event pump.
    replied: bool,
}

/// The requests to the engine and the broker that have no reply.
pub(super) struct RequestsInFlight {
    in_flight: HashMap<Ticket, InFlight>,
    pub(super) deadlines: Deadlines,
    sender: mpsc::UnboundedSender<EngineReply>,
    /// The engine's replies, in the order in which it sent them.
    pub(super) replies: mpsc::UnboundedReceiver<EngineReply>,
}

impl RequestsInFlight {
    /// No requests. Must be called inside a tokio runtime.
    pub(super) fn new() -> Self {
        let (sender, replies) = mpsc::unbounded_channel();
        Self { in_flight: HashMap::new(), deadlines: Deadlines::new(), sender, replies }
    }

    /// Adds a request to the engine. Returns what cancels it, and what the engine replies with.
    fn add(&mut self, ticket: Ticket, command: &str, deadline: Duration) -> (CancellationToken, ReplyHandle) {
        let due = self.deadlines.add(ticket, command, deadline);
        let cancel = self.insert(ticket, Some(due));
        (cancel, ReplyHandle::new(ticket.0, command.to_owned(), self.sender.clone()))
    }

    /// Adds a request to the broker, which bounds its own waits. Returns what cancels it.
    fn add_io(&mut self, ticket: Ticket) -> CancellationToken {
        self.insert(ticket, None)
    }

    fn insert(&mut self, ticket: Ticket, due: Option<ReplyDeadline>) -> CancellationToken {
        let cancel = CancellationToken::new();
        self.in_flight.insert(ticket, InFlight { cancel: cancel.clone(), due, replied: false });
        cancel
    }

    /// What cancels a request, unless it has its reply.
    pub(super) fn cancellation(&self, ticket: Ticket) -> Option<CancellationToken> {
        self.in_flight.get(&ticket).map(|request| request.cancel.clone())
    }

    /// Records that the reply is on its way; whether it was before.
    fn note_reply(&mut self, ticket: Ticket) -> Option<bool> {
        self.in_flight.get_mut(&ticket).map(|request| std::mem::replace(&mut request.replied, true))
    }

    /// Removes a request that has its reply.
    pub(super) fn remove(&mut self, ticket: Ticket) {
        if let Some(InFlight { due: Some(due), .. }) = self.in_flight.remove(&ticket) {
            self.deadlines.remove(due);
        }
    }
}

impl<H: Host> Actor<H> {
    pub(super) fn request_engine(&mut self, ticket: Ticket, request: EngineRequest, deadline: Duration) {
        let Some(engine) = self.engine.get().cloned() else { return };
        let command = request.command().to_owned();
        tracing::trace!(
            number = ticket.0,
            command,
            arguments = message_structure(request.arguments()),
            "request to the engine"
        );
        let (cancel, reply) = self.requests.add(ticket, &command, deadline);
        engine.request(request, cancel, reply);
    }

    /// The engine has not replied in time: replies with `TIMEOUT`, and cancels the request.
    pub(super) fn time_out(&mut self, request: TimedOutRequest) {
        let TimedOutRequest { ticket, command, limit } = request;
        let cancel = self.requests.cancellation(ticket);
        let message = format!("the engine did not answer `{command}` within {} s", limit.as_secs());
        let failure = Failure::new(ErrorCode::Timeout, message)
            .hint("wait for it, or end the session and launch again");
        self.receive_reply(EngineReply { number: ticket.0, command, result: Err(failure) });
        if let Some(cancel) = cancel {
            cancel.cancel();
        }
    }

    /// Adds what helps a program that needs a terminal: some adapters name the message only
    /// here, not at the stop.
    fn advise(&mut self, info: &mut Value) {
        let text = |key: &str| info[key].as_str().unwrap_or_default();
        let exception = format!("{}\n{}", text("exceptionId"), text("description"));
        let Some(hint) = self.broker.terminal_hint(&exception) else { return };
        info["hint"] = hint.into();
        if let Some(first) = self.broker.first_terminal_hint(&exception) {
            self.handle(HubEvent::EngineEvent(hint_event(first)));
        }
    }

    /// The engine replied, or its time is up.
    pub(super) fn receive_reply(&mut self, reply: EngineReply) {
        let EngineReply { number, command, mut result } = reply;
        if command == "exceptionInfo"
            && let Ok(EngineAnswer::Body(info)) = &mut result
        {
            self.advise(info);
        }
        match &result {
            Ok(EngineAnswer::Body(body) | EngineAnswer::LastingData(body)) => {
                tracing::trace!(number, command, body = message_structure(body), "reply of the engine")
            }
            Ok(EngineAnswer::SignalPending) => {
                tracing::trace!(number, command, "the engine sent the program a signal");
            }
            Err(failure) => {
                tracing::trace!(number, command, code = failure.code.as_str(), "refusal of the engine");
            }
        }
        let event = HubEvent::EngineReplied { ticket: Ticket(number), result };
        let is_disconnect = command == "disconnect";
        let Some(replied) = is_disconnect.then(|| self.requests.note_reply(Ticket(number))).flatten() else {
            return self.handle(event);
        };
        // An engine that replies as its time is up replies twice. The second reply would come when the next
        // program may run already, and have that killed.
        if !replied {
            // It follows the events that the engine sent before, which take their time.
            self.engine.reply_after_events(event);
        }
    }

    pub(super) fn request_io(&mut self, ticket: Ticket, client: ClientId, request: IoRequest) {
        let cancel = self.requests.add_io(ticket);
        let (inbox, broker) = (self.inbox.clone(), self.broker.clone());
        let work = tokio::spawn(async move {
            match request {
                IoRequest::Write { data, close } => {
                    broker.write_input(&data, close, &cancel).await.map(IoAnswer::Written)
                }
                IoRequest::Read(read) => {
                    broker.read_output(client.0, &read, &cancel).await.map(IoAnswer::Output)
                }
                IoRequest::ReadInput => broker.input().map(IoAnswer::Input),
                IoRequest::Resize(size) => broker.resize_terminal(size).map(|()| IoAnswer::Resized),
            }
        });
        tokio::spawn(async move {
            // Every request is answered, also one whose task panicked.
            let result = work.await.unwrap_or_else(|error| {
                let message = format!("a fault of Tandem ended the request: {error}");
                Err(Failure::new(ErrorCode::IoFailed, message))
            });
            inbox.event(HubEvent::IoReplied { ticket, result }).await;
        });
    }
}
