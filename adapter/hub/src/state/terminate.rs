//! `terminate`: the request to the program to end, and the kill when its time is up or the same client sends
//! `terminate` again.
//!
//! The time counts while the program runs, and starts again when it resumes from a stop: a user who looks at
//! a breakpoint in shutdown code has all the time there is.
//!
//! Not here: how a program is asked, which is up to the engine; `disconnect`, which kills
//! ([`super::lifecycle`]).

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;
use tandem_wire::{Failure, types};

use super::lifecycle::ENDING_TIMEOUT;
use super::restart::Restart;
use super::{ENGINE_TIMEOUT, State, output_line};
use crate::event::{ClientId, ClientRequest, HubEffect, Timer};
use crate::launch::{DEFAULT_TERMINATE_TIMEOUT, TERMINATE_TIMEOUT};
use crate::pending::ReplyAction;
use tandem_engine::{EngineRequest, TerminateMode};

/// A program that was asked to end.
#[derive(Debug, Default)]
pub(super) struct Termination {
    /// The clients that sent `terminate`.
    by: BTreeSet<ClientId>,
    /// The breakpoints at which it had stopped before: there it does not stop again on its way out.
    skipped: Vec<i64>,
    /// The last request to the engine was to kill it.
    forced: bool,
}

/// The end of the program or of the session, once a client has asked for it.
#[derive(Debug, Default)]
pub(super) struct SessionEnd {
    pub(super) restart: Option<Restart>,
    /// The program was asked to end.
    pub(super) terminating: Option<Termination>,
    /// The session ends; everything else is refused.
    pub(super) is_ending: bool,
}

impl State {
    pub(super) fn terminate(&mut self, request: ClientRequest) {
        if let Err(failure) = self.program.need_program() {
            return self.refuse(&request, failure);
        }
        self.report_change(request.client, "terminate", &Value::Null);
        // A program that has not begun has nothing to put in order.
        let not_begun =
            !self.start.launch.attached && (!self.start.is_configured() || self.end.restart.is_some());
        let known = self.end.terminating.as_ref();
        let again = known.is_some_and(|known| known.by.contains(&request.client));
        let forced = known.is_some_and(|known| known.forced);
        if again && !forced {
            let by = self.name_of(request.client);
            self.write_ending(&format!("{by} asks the program again to end: it is killed."));
        }
        if again || not_begun || self.start.launch.terminate_timeout == Some(Duration::ZERO) {
            self.terminating_by(request.client);
            return self.end_by_force(ReplyAction::Terminate { request, stop: None });
        }
        let stop = if self.program.is_stopped() {
            self.skip_known_breakpoints(request.client);
            // A slow evaluation, and whatever waits behind it, would delay the end.
            self.cancel_all(self.engine.pending.inspections());
            Some(self.program.stop_count())
        } else if self.end.terminating.is_some() {
            // It was asked to end, and its time runs.
            self.terminating_by(request.client);
            return self.respond(&request, Ok(Value::Null));
        } else {
            self.skip_known_breakpoints(request.client);
            self.start_termination_timer();
            None
        };
        let mode = TerminateMode::Ask { is_stopped: stop.is_some() };
        let action = ReplyAction::Terminate { request, stop };
        self.send_to_engine(action, EngineRequest::Terminate(mode), ENGINE_TIMEOUT);
    }

    /// Skips the breakpoints at which the program has stopped: a loop would stop there again before the
    /// program handles the request to end. Shutdown code has not stopped yet.
    fn skip_known_breakpoints(&mut self, client: ClientId) {
        let skipped: Vec<i64> = self.checks.stopped_at.iter().copied().collect();
        self.terminating_by(client).skipped.clone_from(&skipped);
        self.sync_again(&skipped);
    }

    fn terminating_by(&mut self, client: ClientId) -> &mut Termination {
        let terminating = self.end.terminating.get_or_insert_default();
        terminating.by.insert(client);
        terminating
    }

    /// The engine asked the program to end, or could not; `stop` is where it was stopped then, and
    /// `is_signal_pending` says that the program handles a signal when it resumes.
    pub(super) fn receive_terminate_reply(
        &mut self,
        request: ClientRequest,
        stop: Option<u64>,
        is_signal_pending: bool,
        result: Result<Value, Failure>,
    ) {
        let forced = self.end.terminating.as_ref().is_some_and(|terminating| terminating.forced);
        if let Err(failure) = result
            && self.program.is_live()
        {
            if forced {
                self.effects.push(HubEffect::KillProgram);
            } else {
                self.restore_skipped();
                self.end.terminating = None;
            }
            return self.refuse(&request, failure);
        }
        let same_stop = self.program.is_stopped() && stop == Some(self.program.stop_count());
        if !same_stop || self.engine.pending.resume().is_some() || !is_signal_pending {
            return self.respond(&request, Ok(Value::Null));
        }
        let arguments = types::of_thread(self.stopped_thread());
        self.request_engine(ReplyAction::Resume(request), "continue", arguments, ENGINE_TIMEOUT);
    }

    /// The breakpoints that do not stop the program on its way out.
    pub(super) fn skipped_breakpoints(&self) -> &[i64] {
        self.end.terminating.as_ref().map_or(&[], |terminating| &terminating.skipped)
    }

    /// Whether a stop is at one of those: it was on its way when the engine got the list without them.
    pub(super) fn is_skipped(&self, hit: &[i64]) -> bool {
        !hit.is_empty() && hit.iter().all(|id| self.skipped_breakpoints().contains(id))
    }

    /// The program continues after all: they stop it again.
    fn restore_skipped(&mut self) {
        let skipped =
            self.end.terminating.as_mut().map(|terminating| std::mem::take(&mut terminating.skipped));
        self.sync_again(&skipped.unwrap_or_default());
    }

    /// The program that was asked to end runs: its time counts from here.
    pub(super) fn start_termination_timer(&mut self) {
        if let Some(Termination { forced: false, .. }) = self.end.terminating {
            let after = self.start.launch.terminate_timeout.unwrap_or(DEFAULT_TERMINATE_TIMEOUT);
            self.effects
                .push(HubEffect::StartTimer { timer: Timer::Terminate(self.program.stop_count()), after });
        }
    }

    /// The program had its time; `since` is the resume from which it counts.
    pub(super) fn time_out_termination(&mut self, since: u64) {
        let was_asked = matches!(self.end.terminating, Some(Termination { forced: false, .. }));
        if !was_asked
            || self.program.is_stopped()
            || !self.program.is_live()
            || self.program.stop_count() != since
        {
            return;
        }
        match self.start.launch.terminate_timeout {
            Some(limit) => {
                self.write_ending(&format!(
                    "The program has not ended within {} s of being asked to (`{TERMINATE_TIMEOUT}`): it is \
                        killed.",
                    limit.as_secs_f64()
                ));
                self.end_by_force(ReplyAction::Ignore);
            }
            None => {
                self.restore_skipped();
                self.write_ending(&format!(
                    "The program has not ended within {} s of being asked to, and still runs: to kill it, \
                        ask again, or disconnect with `terminateDebuggee`.",
                    DEFAULT_TERMINATE_TIMEOUT.as_secs()
                ));
            }
        }
    }

    fn end_by_force(&mut self, action: ReplyAction) {
        if let Some(terminating) = &mut self.end.terminating {
            terminating.forced = true;
        }
        // The engine would answer how the end of the program made them fail.
        self.cancel_all(self.engine.pending.inspections());
        self.send_to_engine(action, EngineRequest::Terminate(TerminateMode::Force), ENDING_TIMEOUT);
    }

    fn write_ending(&mut self, line: &str) {
        self.broadcast_to_joined("output", &output_line("console", line));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use tandem_wire::{Message, Request};

    use super::*;
    use crate::event::HubEvent;
    use crate::state::races::{AGENT, EDITOR, TwoClients};
    use tandem_engine::EngineAnswer;

    /// The engine has sent the signal.
    fn sent(session: &mut TwoClients) {
        session.answer("terminate", Ok(EngineAnswer::SignalPending));
    }

    fn time_passes(session: &mut TwoClients) {
        for timer in std::mem::take(&mut session.timers) {
            session.feed(HubEvent::TimerFired(timer));
        }
    }

    fn is_forced(session: &TwoClients) -> bool {
        session.last_request("terminate") == Some(EngineRequest::Terminate(TerminateMode::Force))
    }

    #[test]
    fn the_time_counts_while_the_program_runs() {
        let mut session = TwoClients::started_with("launch", true, json!({}));
        session.request(EDITOR, "terminate", json!({}));
        sent(&mut session);
        session.emit("stopped", json!({ "reason": "exception", "threadId": 1 }));
        time_passes(&mut session);
        assert!(!session.requested().contains(&"terminate"), "{:?}", session.requested());
        session.request(AGENT, "continue", json!({ "threadId": 1 }));
        session.reply("continue", Ok(Value::Null));
        assert_eq!(session.timers.len(), 1);
        time_passes(&mut session);
        assert!(is_forced(&session));
        assert!(
            session.take_received().iter().any(|line| line.contains("(`terminateTimeout`): it is killed"))
        );
    }

    #[test]
    fn a_program_without_a_limit_is_reported_and_continues() {
        let attach = json!({ "processId": 7 });
        for (command, attributes) in [("attach", attach), ("launch", json!({ TERMINATE_TIMEOUT: -1 }))] {
            let mut session = TwoClients::started_with(command, true, attributes);
            session.request(EDITOR, "terminate", json!({}));
            sent(&mut session);
            time_passes(&mut session);
            assert!(!session.requested().contains(&"terminate"));
            assert!(session.take_received().iter().any(|line| line.contains("ask again, or disconnect")));
            session.request(EDITOR, "terminate", json!({}));
            assert!(is_forced(&session));
        }
    }

    #[test]
    fn a_stop_that_was_not_known_when_the_program_was_asked_to_end_is_shown() {
        let mut session = TwoClients::started_with("launch", true, json!({}));
        session.request(EDITOR, "terminate", json!({}));
        session.emit("stopped", json!({ "reason": "breakpoint", "threadId": 1 }));
        sent(&mut session);
        assert_eq!(session.requested(), [""; 0]);
        // Another client's request resumes it, and kills nothing.
        session.take_received();
        session.request(AGENT, "terminate", json!({}));
        assert!(!is_forced(&session));
        sent(&mut session);
        session.reply("continue", Ok(Value::Null));
        assert_eq!(session.take_received(), ["agent: ok terminate", "editor: continued", "agent: continued"]);
    }

    #[test]
    fn a_program_that_ends_does_not_stop_again_where_it_was_stopped() {
        let mut session = TwoClients::started_with("launch", true, json!({}));
        session.set(EDITOR, json!([{ "line": 5 }, { "line": 6 }]));
        session.accept_list(&[1, 2]);
        let stop = |id: i64| json!({ "reason": "breakpoint", "threadId": 1, "hitBreakpointIds": [id] });
        session.emit("stopped", stop(1));
        session.request(EDITOR, "terminate", json!({}));
        assert_eq!(session.accept_list(&[2]), json!([{ "line": 6 }]));
        sent(&mut session);
        session.reply("continue", Ok(Value::Null));
        session.take_received();
        // It was on its way.
        session.emit("stopped", stop(1));
        assert_eq!((session.take_received(), session.requested()), (Vec::new(), vec!["continue"]));
        session.reply("continue", Ok(Value::Null));
        session.emit("stopped", stop(2));
        assert_eq!(session.take_received().len(), 2);
        // Asked to end where it is stopped now, it does not stop here either.
        session.request(AGENT, "terminate", json!({}));
        assert_eq!(session.accept_list(&[]), json!([]));
    }

    #[test]
    fn a_program_that_ends_does_not_stop_where_it_had_stopped_before() {
        let mut session = TwoClients::started_with("launch", true, json!({}));
        session.set(EDITOR, json!([{ "line": 5 }, { "line": 6 }]));
        session.accept_list(&[1, 2]);
        session.emit("stopped", json!({ "reason": "breakpoint", "threadId": 1, "hitBreakpointIds": [1] }));
        session.request(EDITOR, "next", json!({ "threadId": 1 }));
        session.reply("next", Ok(Value::Null));
        session.emit("stopped", json!({ "reason": "step", "threadId": 1 }));
        session.request(EDITOR, "terminate", json!({}));
        assert_eq!(session.accept_list(&[2]), json!([{ "line": 6 }]));
    }

    #[test]
    fn a_program_that_is_killed_cancels_what_inspects_it() {
        let mut session = TwoClients::started_with("launch", true, json!({ TERMINATE_TIMEOUT: 0 }));
        session.emit("stopped", json!({ "reason": "breakpoint", "threadId": 1 }));
        session.request(AGENT, "evaluate", json!({ "expression": "slow()" }));
        let evaluation = session.state.engine.pending.last_ticket();
        let request = Request { seq: 100, command: "terminate".into(), arguments: Value::Null };
        let message = Message::Request(request);
        let effects = session.state.handle(HubEvent::ClientMessage { client: EDITOR, message });
        let cancels =
            |effect: &HubEffect| matches!(effect, HubEffect::Cancel { ticket } if *ticket == evaluation);
        assert!(effects.iter().any(cancels));
    }

    #[test]
    fn a_program_that_cannot_be_asked_to_end_is_not_ended_by_force() {
        let mut session = TwoClients::started_with("launch", true, json!({}));
        session.request(EDITOR, "terminate", json!({}));
        session.reply("terminate", Err(Failure::cancelled()));
        time_passes(&mut session);
        session.request(EDITOR, "terminate", json!({}));
        assert!(!is_forced(&session));
    }
}
