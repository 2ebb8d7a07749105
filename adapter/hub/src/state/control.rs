//! Resuming and pausing: the permission of clients, and the notification of others.
//!
//! If two clients request the same at once, the first one succeeds. A second resume is refused, with the name
//! of the first: the stop that it wanted to resume is gone. A second pause succeeds: the program is stopped,
//! as requested.
//!
//! Not here: ending and restarting the program ([`super::terminate`], [`super::restart`]).

use serde_json::Value;
use tandem_wire::command::{Execution, execution};
use tandem_wire::types::{self, ContinueResponseBody, ContinuedEventBody};
use tandem_wire::{ErrorCode, Failure};

use super::session_changes::ResumedBy;
use super::session_engine::HeldRequest;
use super::{ENGINE_TIMEOUT, Phase, State};
use crate::clients::HandshakeStage;
use crate::event::{ClientId, ClientRequest, HubEffect};
use crate::follow::FollowEnd;
use crate::pending::ReplyAction;

impl State {
    /// `continue`, the steps, and other requests that resume the program.
    pub(super) fn resume(&mut self, request: ClientRequest, mut arguments: Value) {
        let first = match (self.engine.pending.resume(), self.program.phase(), self.program.resumed_by()) {
            (Some((_, first)), _, _) => Some(self.name_of(first.client)),
            (None, Phase::Running, Some(first)) => Some(first.to_owned()),
            _ => None,
        };
        let prepared = match first {
            Some(first) => Err(already_resumed(&first)),
            None => self.prepare(&request, &mut arguments),
        };
        if let Err(failure) = prepared {
            return self.refuse(&request, failure);
        }
        let command = request.command.clone();
        self.request_engine(ReplyAction::Resume(request), &command, arguments, ENGINE_TIMEOUT);
    }

    /// The engine resumed the program, or would not.
    pub(super) fn receive_resume_reply(&mut self, request: &ClientRequest, result: Result<Value, Failure>) {
        let terminates = request.command == "terminate";
        let body = match result {
            Ok(_) if terminates => Value::Null,
            Ok(body) if request.command == "continue" => {
                types::body(&ContinueResponseBody { all_threads_continued: Some(true), ..types::read(&body) })
            }
            Ok(body) => body,
            // The program has ended, as requested.
            Err(_) if terminates && !self.program.is_live() => Value::Null,
            Err(failure) => return self.refuse(request, failure),
        };
        self.respond(request, Ok(body));
        if !self.program.is_stopped() {
            return;
        }
        self.abandon_checks();
        self.checks.last_resume = if terminates { "continue".into() } else { request.command.clone() };
        let continued = self.continued();
        self.set_running(Some(self.name_of(request.client)));
        // DAP: the client that resumed knows from the response; all others need the event.
        let knows = (!terminates).then_some(request.client);
        self.broadcast_except(knows, "continued", &continued);
        if knows.is_some() && request.command != "continue" && self.assumes_one_thread_steps(request.client) {
            self.send_event(request.client, "continued", &continued);
        }
        self.report_change(request.client, "resumed", &ResumedBy::of(request));
    }

    /// Whether the client assumes that only the stepped thread runs during a step, and shows the others as
    /// paused until an event says otherwise.
    fn assumes_one_thread_steps(&self, client: ClientId) -> bool {
        let client = self.clients.get(client).filter(|client| client.stage == HandshakeStage::Ready);
        client.is_some_and(|client| client.identity.client_id.as_deref() == Some("vscode"))
    }

    /// The thread of the current stop.
    pub(super) fn stopped_thread(&self) -> Option<i64> {
        match self.program.phase() {
            Phase::Stopped { stop } => stop.thread_id,
            _ => None,
        }
    }

    /// The body of the `continued` event that ends the current stop.
    pub(super) fn continued(&self) -> Value {
        types::body(&ContinuedEventBody {
            thread_id: self.stopped_thread().unwrap_or_default(),
            all_threads_continued: Some(true),
            ..ContinuedEventBody::default()
        })
    }

    /// The program runs: every frame and variable of the last stop is stale.
    pub(super) fn set_running(&mut self, by: Option<String>) {
        self.leave_stop(by);
        self.start_termination_timer();
    }

    /// The same, when the next stop is reported at once.
    pub(super) fn leave_stop(&mut self, by: Option<String>) {
        self.program.resume(by);
        for client in self.clients.iter_mut() {
            client.protocol.ids.expire(&self.counter);
        }
    }

    /// `pause` goes straight to the engine, past anything slow.
    pub(super) fn pause(&mut self, request: ClientRequest, mut arguments: Value) {
        let prepared = if self.program.is_stopped() && self.engine.pending.resume().is_none() {
            Err(Failure::new(ErrorCode::NotRunning, "the program is already stopped")
                .hint("request the stack, or continue the thread")
                .quiet())
        } else {
            self.prepare(&request, &mut arguments)
        };
        match prepared {
            Ok(()) if self.interrupt_following(FollowEnd::Stopped) => self.respond(&request, Ok(Value::Null)),
            Ok(()) if self.pause_during_check() => self.respond(&request, Ok(Value::Null)),
            Ok(()) => self.request_engine(ReplyAction::Pause(request), "pause", arguments, ENGINE_TIMEOUT),
            Err(failure) => self.refuse(&request, failure),
        }
    }

    /// A pause that came too late, because another client's pause or a breakpoint was
    /// quicker, has what it wants.
    pub(super) fn receive_pause_reply(&mut self, request: &ClientRequest, result: Result<Value, Failure>) {
        if result.is_err() {
            self.checks.pause_wanted = false;
        }
        let result = match result {
            Err(failure) if failure.code == ErrorCode::NotRunning && self.program.is_stopped() => {
                Ok(Value::Null)
            }
            other => other,
        };
        let paused = result.is_ok();
        self.respond(request, result);
        if paused {
            self.report_change(request.client, "paused", &Value::Null);
        }
    }

    /// Whether a request to the engine waits: a client that does not wait for replies has set breakpoints
    /// before it that the engine does not have yet, and the program would run past them.
    pub(super) fn waits_for_breakpoints(&self, command: &str) -> bool {
        match execution(command) {
            Execution::Unchanged => false,
            // It is about the program that a held request resumes.
            Execution::Pause => !self.engine.held.is_empty(),
            Execution::Continue | Execution::Step | Execution::Move => self.breakpoints.have_later_lists(),
        }
    }

    /// Sends the requests that waited for breakpoints, unless they were refused meanwhile.
    pub(super) fn send_held_requests(&mut self) {
        if self.breakpoints.have_later_lists() {
            return;
        }
        for HeldRequest { ticket, request, deadline } in std::mem::take(&mut self.engine.held) {
            if self.engine.pending.has(ticket) {
                self.effects.push(HubEffect::RequestEngine { ticket, request, deadline });
            }
        }
    }
}

fn already_resumed(name: &str) -> Failure {
    Failure::new(ErrorCode::NotStopped, format!("the program is running: already resumed by {name}"))
        .hint("wait for the next stop")
        .quiet()
}
