//! Asking the engine and the broker: requests out, answers back in the order in which they are given, deadlines.

use std::time::Duration;

use dap_wire::{ErrorCode, Failure};
use regex::Regex;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::{Actor, DRAIN_LIMIT, Host};
use crate::engine::{Answer, Engine, EngineRequest, Reply};
use crate::hub::event::{ClientId, Event, IoRequest, ReadOutput, Ticket};
use crate::io::{Broker, ReadRequest};

/// A request that was not answered yet.
pub(super) struct Asking {
    pub(super) cancel: CancellationToken,
    /// Answers instead when the engine does not; the broker bounds its own waits.
    _deadline: Option<AbortOnDropHandle<()>>,
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
        // What a program is launched with may hold its secrets.
        let shown = if matches!(command.as_str(), "launch" | "attach") { &Value::Null } else { &arguments };
        tracing::trace!(number = ticket.0, command, arguments = %shown, "asked of the engine");
        let cancel = CancellationToken::new();
        let reply = Reply::new(ticket.0, command.clone(), self.answers.clone());
        let (late, give_up, name) = (self.answers.clone(), cancel.clone(), command.clone());
        let watching = tokio::spawn(async move {
            tokio::time::sleep(deadline).await;
            let message = format!("the engine did not answer `{name}` within {} s", deadline.as_secs());
            let failure = Failure::new(ErrorCode::Timeout, message)
                .hint("it may never: then end the session, which works all the same, and launch again");
            let result = Err(failure);
            // An actor that has ended asks for no answer.
            drop(late.send(Answer { number: ticket.0, command: name, result }));
            give_up.cancel();
        });
        let watching = Some(AbortOnDropHandle::new(watching));
        self.asking.insert(ticket, Asking { cancel: cancel.clone(), _deadline: watching });
        engine.request(EngineRequest { command, arguments }, cancel, reply);
    }

    /// The engine answered, or its time is up.
    pub(super) fn answered(&mut self, answer: Answer) {
        let Answer { number, command, result } = answer;
        tracing::trace!(number, command, ?result, "answered by the engine");
        let event = Event::EngineAnswered { ticket: Ticket(number), result };
        if command != "disconnect" || !self.asking.contains_key(&Ticket(number)) {
            return self.handle(event);
        }
        // Whatever comes next finds no program of ours and all it printed in the rings.
        let (broker, inbox) = (self.broker.clone(), self.inbox.clone());
        tokio::spawn(async move {
            if matches!(event, Event::EngineAnswered { result: Err(_), .. }) {
                broker.kill();
            }
            broker.ended(DRAIN_LIMIT).await;
            inbox.event(event).await;
        });
    }

    pub(super) fn ask_broker(&mut self, ticket: Ticket, client: ClientId, request: IoRequest) {
        let (cancel, inbox, broker) = (CancellationToken::new(), self.inbox.clone(), self.broker.clone());
        self.asking.insert(ticket, Asking { cancel: cancel.clone(), _deadline: None });
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
        wait_for: wait_for.map_err(|error| Failure::invalid(error.to_string()))?,
        timeout: read.timeout,
    };
    let answer = broker.read_output(client.0, &request, cancel).await?;
    let mut body = json!({ "cursor": answer.cursor, "dropped": answer.dropped,
        "waitingForInput": answer.waiting_for_input, "exited": answer.exited });
    for (name, bytes, text) in
        [("stdout", "stdoutBytes", answer.stdout), ("stderr", "stderrBytes", answer.stderr)]
    {
        if let Some(text) = text {
            body[bytes] = json!(text.len());
            body[name] = json!(text);
        }
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
