//! Asking the engine and the broker: requests out, answers back in the order in which they are given, deadlines.

use std::time::Duration;

use dap_wire::{ErrorCode, Failure};
use regex::Regex;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::deadlines::{Due, Late};
use super::{Actor, Host};
use crate::engine::{Answer, Engine, EngineRequest, Reply};
use crate::hub::event::{ClientId, Event, IoRequest, ReadOutput, Ticket};
use crate::io::waiting::Waiting;
use crate::io::{Broker, ReadRequest};
use crate::logging::shape;

/// A request that was not answered yet.
pub(super) struct Asking {
    pub(super) cancel: CancellationToken,
    /// When the engine must have answered; the broker bounds its own waits.
    due: Option<Due>,
    /// The answer is on its way through the pump.
    answered: bool,
}

impl<H: Host> Actor<H> {
    pub(super) fn ask_engine(
        &mut self,
        ticket: Ticket,
        command: String,
        arguments: Value,
        deadline: Duration,
    ) {
        let Some(engine) = self.engine.clone() else { return };
        tracing::trace!(number = ticket.0, command, arguments = shape(&arguments), "asked of the engine");
        let cancel = CancellationToken::new();
        let reply = Reply::new(ticket.0, command.clone(), self.answers.clone());
        let due = Some(self.deadlines.add(ticket, &command, deadline));
        self.asking.insert(ticket, Asking { cancel: cancel.clone(), due, answered: false });
        engine.request(EngineRequest { command, arguments }, cancel, reply);
    }

    /// The engine has not answered in time: that is the answer, and it may give up.
    pub(super) fn is_late(&mut self, late: Late) {
        let Late { ticket, command, limit } = late;
        let give_up = self.asking.get(&ticket).map(|asking| asking.cancel.clone());
        let message = format!("the engine did not answer `{command}` within {} s", limit.as_secs());
        let failure = Failure::new(ErrorCode::Timeout, message)
            .hint("it may never: then end the session, which works all the same, and launch again");
        self.answered(Answer { number: ticket.0, command, result: Err(failure) });
        if let Some(give_up) = give_up {
            give_up.cancel();
        }
    }

    /// The request was answered.
    pub(super) fn no_longer_asks(&mut self, ticket: Ticket) {
        if let Some(Asking { due: Some(due), .. }) = self.asking.remove(&ticket) {
            self.deadlines.remove(due);
        }
    }

    /// The engine answered, or its time is up.
    pub(super) fn answered(&mut self, answer: Answer) {
        let Answer { number, command, result } = answer;
        match &result {
            Ok(body) => tracing::trace!(number, command, body = shape(body), "answered by the engine"),
            Err(failure) => {
                tracing::trace!(number, command, code = failure.code.as_str(), "refused by the engine");
            }
        }
        let event = Event::EngineAnswered { ticket: Ticket(number), result };
        let asking = self.asking.get_mut(&Ticket(number)).filter(|_| command == "disconnect");
        let Some(asking) = asking else { return self.handle(event) };
        // An engine that answers as its time is up answers twice. The second would come when the next program may run already,
        // and have that killed.
        if std::mem::replace(&mut asking.answered, true) {
            return;
        }
        // Behind what the engine has said, which takes its time.
        if let Some(goodbyes) = &self.goodbyes {
            drop(goodbyes.send(event));
        }
    }

    pub(super) fn ask_broker(&mut self, ticket: Ticket, client: ClientId, request: IoRequest) {
        let (cancel, inbox, broker) = (CancellationToken::new(), self.inbox.clone(), self.broker.clone());
        self.asking.insert(ticket, Asking { cancel: cancel.clone(), due: None, answered: false });
        tokio::spawn(async move {
            let result = match request {
                IoRequest::Write { data, close } => {
                    broker.write_input(&data, close, &cancel).await.map(|written| {
                        json!({ "bytesWritten": written.bytes_written, "stdinClosed": written.stdin_closed,
                        // For the debug console, whose answer this may be.
                        "result": "", "variablesReference": 0 })
                    })
                }
                IoRequest::Read(read) => read_output(&broker, client, read, &cancel).await,
            };
            inbox.event(Event::IoAnswered { ticket, result }).await;
        });
    }
}

async fn read_output(
    broker: &Broker,
    client: ClientId,
    read: ReadOutput,
    cancel: &CancellationToken,
) -> Result<Value, Failure> {
    let wait_for = read.wait_for.as_deref().map(Regex::new).transpose();
    let request = ReadRequest {
        stdout: read.stdout,
        stderr: read.stderr,
        clear: read.clear,
        since: read.since,
        max_bytes: read.max_bytes,
        newest: read.newest,
        wait_for: wait_for.map_err(|error| Failure::invalid(error.to_string()))?,
        timeout: read.timeout,
        screen: read.screen,
        stands: read.stands,
    };
    let answer = broker.read_output(client.0, &request, cancel).await?;
    let mut body = json!({ "cursor": answer.cursor, "dropped": answer.dropped,
        "waitingForInput": answer.waiting_for_input.is_some(), "exited": answer.exited });
    if answer.waiting_for_input == Some(Waiting::ForKeys) {
        body["takesKeys"] = json!(true);
    }
    if let Some(screen) = answer.screen {
        body["screen"] = json!(screen);
    }
    for (name, bytes, text) in
        [("stdout", "stdoutBytes", answer.stdout), ("stderr", "stderrBytes", answer.stderr)]
    {
        if let Some(text) = text {
            body[bytes] = json!(text.len());
            body[name] = json!(text);
        }
    }
    if answer.skipped > 0 {
        body["skipped"] = json!(answer.skipped);
    }
    if let Some(matched) = answer.matched {
        body["matched"] = json!(matched);
    }
    Ok(body)
}

/// Stands in for an engine that could not be made, and says why to whoever asks.
pub(super) struct NoEngine(pub(super) Failure);

impl Engine for NoEngine {
    fn request(&self, _: EngineRequest, _: CancellationToken, reply: Reply) {
        reply.send(Err(self.0.clone()));
    }
}
