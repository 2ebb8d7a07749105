//! Requests to the engine and the broker: sent, replied to in the order in which the replies come, timed out.
//!
//! Not here: how a reply is used ([`tandem_hub::pending`]).

use std::time::Duration;

use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::Actor;
use super::deadlines::{ReplyDeadline, TimedOutRequest};
use super::readers::hint_event;
use crate::host::Host;
use crate::message_structure::message_structure;
use tandem_engine::{Engine, EngineAnswer, EngineReply, EngineRequest, ReplyHandle};
use tandem_hub::event::{ClientId, HubEvent, IoAnswer, IoRequest, Ticket};

/// A request without a reply.
pub(super) struct InFlight {
    pub(super) cancel: CancellationToken,
    /// When the engine must have replied; the broker bounds its own waits.
    due: Option<ReplyDeadline>,
    /// The reply is on its way through the event pump.
    replied: bool,
}

impl<H: Host> Actor<H> {
    pub(super) fn request_engine(&mut self, ticket: Ticket, request: EngineRequest, deadline: Duration) {
        let Some(engine) = self.engine.clone() else { return };
        let command = request.command().to_owned();
        tracing::trace!(
            number = ticket.0,
            command,
            arguments = message_structure(request.arguments()),
            "request to the engine"
        );
        let cancel = CancellationToken::new();
        let due = Some(self.deadlines.add(ticket, &command, deadline));
        let reply = ReplyHandle::new(ticket.0, command, self.reply_sender.clone());
        self.in_flight.insert(ticket, InFlight { cancel: cancel.clone(), due, replied: false });
        engine.request(request, cancel, reply);
    }

    /// The engine has not replied in time: replies with `TIMEOUT`, and cancels the request.
    pub(super) fn time_out(&mut self, request: TimedOutRequest) {
        let TimedOutRequest { ticket, command, limit } = request;
        let cancel = self.in_flight.get(&ticket).map(|request| request.cancel.clone());
        let message = format!("the engine did not answer `{command}` within {} s", limit.as_secs());
        let failure = Failure::new(ErrorCode::Timeout, message)
            .hint("wait for it, or end the session and launch again");
        self.receive_reply(EngineReply { number: ticket.0, command, result: Err(failure) });
        if let Some(cancel) = cancel {
            cancel.cancel();
        }
    }

    /// A request has its reply.
    pub(super) fn forget_request(&mut self, ticket: Ticket) {
        if let Some(InFlight { due: Some(due), .. }) = self.in_flight.remove(&ticket) {
            self.deadlines.remove(due);
        }
    }

    /// Adds what helps a program that needs a terminal: some adapters name the message only
    /// here, not at the stop.
    fn advise(&mut self, info: &mut Value) {
        let text = |key: &str| info[key].as_str().unwrap_or_default();
        let exception = format!("{}\n{}", text("exceptionId"), text("description"));
        let Some(hint) = self.broker.terminal_hint(&exception) else { return };
        info["hint"] = json!(hint);
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
            Ok(EngineAnswer::Body(body)) => {
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
        let request = self.in_flight.get_mut(&Ticket(number)).filter(|_| command == "disconnect");
        let Some(request) = request else { return self.handle(event) };
        // An engine that replies as its time is up replies twice. The second reply would come when the next
        // program may run already, and have that killed.
        if std::mem::replace(&mut request.replied, true) {
            return;
        }
        // It follows the events that the engine sent before, which take their time.
        if let Some(disconnects) = &self.disconnects {
            drop(disconnects.send(event));
        }
    }

    pub(super) fn request_io(&mut self, ticket: Ticket, client: ClientId, request: IoRequest) {
        let (cancel, inbox, broker) = (CancellationToken::new(), self.inbox.clone(), self.broker.clone());
        self.in_flight.insert(ticket, InFlight { cancel: cancel.clone(), due: None, replied: false });
        tokio::spawn(async move {
            let result = match request {
                IoRequest::Write { data, close } => {
                    broker.write_input(&data, close, &cancel).await.map(IoAnswer::Written)
                }
                IoRequest::Read(read) => {
                    broker.read_output(client.0, &read, &cancel).await.map(IoAnswer::Output)
                }
                IoRequest::ReadInput => broker.input().map(IoAnswer::Input),
                IoRequest::Resize(size) => broker.resize_terminal(size).map(|()| IoAnswer::Resized),
            };
            inbox.event(HubEvent::IoReplied { ticket, result }).await;
        });
    }
}

/// Replaces an engine that could not be created: replies to every request with the reason.
pub(super) struct FailedEngine(pub(super) Failure);

impl Engine for FailedEngine {
    fn request(&self, _: EngineRequest, _: CancellationToken, reply: ReplyHandle) {
        reply.send(Err(self.0.clone()));
    }
}
