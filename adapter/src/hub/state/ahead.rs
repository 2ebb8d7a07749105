//! Requests that several may wait for, and those that are asked ahead of all: what [`Foresight`] decides, carried out.
//!
//! [`Foresight`]: crate::hub::foresight::Foresight

use dap_wire::Failure;
use serde_json::Value;

use super::{ENGINE_DEADLINE, State};
use crate::hub::event::{Effect, Ticket, Timer};
use crate::hub::foresight::{GaveUp, KEPT, Outcome, Reception, only_reads};
use crate::hub::pending::Waiter;

impl State {
    /// A client's request that passed all checks, as `waiter`; back it comes when it is nothing that is shared.
    pub(super) fn share(&mut self, waiter: Waiter, command: &str, arguments: &Value) -> Option<Waiter> {
        if !self.asks_ahead {
            return Some(waiter);
        }
        let client = waiter.asked().map(|asked| asked.client);
        let before = client.map(|client| self.pending.owed_by_engine(client)).unwrap_or_default();
        let follower = self.pending.add(waiter);
        match self.foresight.wanted(follower, command, arguments, &before) {
            None => return self.pending.take(follower),
            Some(Reception::Joined) => {}
            Some(Reception::Ask) => self.inquire(command, arguments.clone(), vec![follower]),
            Some(Reception::Known(body)) => self.engine_answered(follower, Ok(body)),
        }
        self.look_ahead();
        None
    }

    /// Asks the engine what others may wait for as well.
    fn inquire(&mut self, command: &str, arguments: Value, followers: Vec<Ticket>) {
        let ticket = self.put_to_engine(Waiter::Shared, command, arguments.clone(), ENGINE_DEADLINE);
        self.foresight.sent(ticket, command, arguments, followers);
    }

    /// Clients were told of a stop.
    pub(super) fn foresee(&mut self, body: &Value) {
        if self.asks_ahead {
            self.foresight.stopped(body);
            self.look_ahead();
        }
    }

    /// Asks ahead what may be.
    fn look_ahead(&mut self) {
        while let Some((command, arguments)) = self.foresight.next_ahead() {
            self.inquire(command, arguments, Vec::new());
        }
        if self.foresight.starts_clock() {
            let timer = Timer::Foresight { stop: self.stops };
            self.effects.push(Effect::StartTimer { timer, after: KEPT });
        }
    }

    /// The engine answered what several may wait for. Its next work comes first.
    pub(super) fn inquiry_answered(&mut self, ticket: Ticket, result: Result<Value, Failure>) {
        let outcome = self.foresight.answered(ticket, result);
        self.look_ahead();
        match outcome {
            Outcome::Kept => {}
            Outcome::For(followers, result) => self.give(followers, result),
            Outcome::Again { command, arguments, followers } => {
                tracing::debug!(command, "refused when it was asked ahead; asked again");
                self.inquire(&command, arguments, followers);
            }
        }
    }

    fn give(&mut self, mut followers: Vec<Ticket>, result: Result<Value, Failure>) {
        let last = followers.pop();
        for follower in followers {
            self.engine_answered(follower, result.clone());
        }
        if let Some(last) = last {
            self.engine_answered(last, result);
        }
    }

    /// A client cancels what it asked. Others that wait for the same still get it.
    pub(super) fn cancel_request(&mut self, ticket: Ticket) {
        match self.foresight.gave_up(ticket) {
            GaveUp::NotMine => self.effects.push(Effect::Cancel { ticket }),
            GaveUp::Cancel(ticket) => self.effects.push(Effect::Cancel { ticket }),
            GaveUp::OthersWait => self.engine_answered(ticket, Err(Failure::cancelled())),
        }
    }

    /// What was asked at this stop and that nobody wanted is forgotten.
    pub(super) fn foresight_timed_out(&mut self, stop: u64) {
        if stop == self.stops {
            self.foresight.let_answers_go();
        }
    }

    /// A request that is asked, or was answered, may have changed what the engine would say of anything.
    pub(super) fn note_effects(&mut self, command: &str) {
        if !only_reads(command) {
            self.foresight.upset();
        }
    }
}
