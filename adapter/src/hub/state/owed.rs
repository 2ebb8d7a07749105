//! What each client has asked and has no answer to: every request gets one, also when its client parts before the engine has
//! answered, and nobody has more than so many under way.

use dap_wire::{ErrorCode, Failure};

use super::State;
use crate::hub::event::ClientId;
use crate::hub::pending::Asked;

/// Requests of one client that may wait for their answers. An editor has some tens under way at a stop.
const MOST: usize = 1024;

impl State {
    /// From now on an answer is owed.
    ///
    /// # Errors
    /// When the client has too many under way; this one is then to be refused.
    pub(super) fn owe(&mut self, asked: &Asked) -> Result<(), Failure> {
        let Some(client) = self.clients.get_mut(asked.client) else { return Ok(()) };
        let too_many = client.owed.len() >= MOST;
        client.owed.push((asked.seq, asked.command.clone()));
        if too_many {
            let message = format!(
                "`{}` is not carried out: {MOST} requests of this client wait for their answers",
                asked.command
            );
            return Err(Failure::invalid(message).hint("wait for some of them, or cancel them"));
        }
        Ok(())
    }

    /// It is answered. Numbers may come twice: some clients do not count.
    pub(super) fn no_longer_owe(&mut self, asked: &Asked) {
        if let Some(client) = self.clients.get_mut(asked.client) {
            let is_it = |(seq, command): &(i64, String)| *seq == asked.seq && *command == asked.command;
            if let Some(at) = client.owed.iter().position(is_it) {
                client.owed.remove(at);
            }
        }
    }

    /// Answers all that a client has asked, before its connection closes, but for the request that closes it.
    pub(super) fn answer_all_but(&mut self, id: ClientId, last: Option<&Asked>) {
        let owed = self.clients.get(id).map(|client| client.owed.clone()).unwrap_or_default();
        for (seq, command) in owed {
            if last.is_some_and(|last| last.seq == seq && last.command == command) {
                continue;
            }
            let message = format!("`{command}` is given up: its client disconnected before it was answered");
            let failure = Failure::new(ErrorCode::Cancelled, message).quiet();
            self.answer(&Asked { client: id, seq, command }, Err(failure));
        }
    }
}
