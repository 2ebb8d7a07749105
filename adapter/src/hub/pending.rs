//! Who waits for what: every ticket has exactly one waiter until it is answered, and then none.

use std::collections::HashMap;

use super::breakpoints::Place;
use super::event::{ClientId, Ticket};

/// A request of a client that is owed its one answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Who asked.
    pub client: ClientId,
    /// The client's number.
    pub seq: i64,
    /// The command, which the answer repeats.
    pub command: String,
}

/// What to do with an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Waiter {
    /// Pass it to the client, with the client's ids.
    Client(Asked),
    /// The answer to `launch` or `attach`.
    Launch(Asked),
    /// The answer to `continue`, a step, or the like.
    Resume(Asked),
    /// The union of breakpoints of a place went to the engine; who asked waits on the place's sheet.
    Breakpoints {
        /// Which place of the ledger.
        place: Place,
        /// The entries each position of the list stands for.
        ids: Vec<Vec<i64>>,
        /// Which engine it was, counted.
        engine: u64,
    },
    /// The place of the stop for `sessionInfo`.
    SessionInfo(Asked),
    /// The launching client's `disconnect`, or its silent leaving.
    Ending(Option<Asked>),
    /// Nobody needs the answer.
    Nobody,
}

impl Waiter {
    /// The client's request behind it.
    pub fn asked(&self) -> Option<&Asked> {
        match self {
            Self::Client(asked) | Self::Launch(asked) | Self::Resume(asked) | Self::SessionInfo(asked) => {
                Some(asked)
            }
            Self::Ending(asked) => asked.as_ref(),
            Self::Breakpoints { .. } | Self::Nobody => None,
        }
    }
}

/// All that is in flight.
#[derive(Debug, Default)]
pub struct Pending {
    waiters: HashMap<Ticket, Waiter>,
    last: u64,
}

impl Pending {
    /// A new ticket for this waiter.
    pub fn add(&mut self, waiter: Waiter) -> Ticket {
        self.last += 1;
        let ticket = Ticket(self.last);
        self.waiters.insert(ticket, waiter);
        ticket
    }

    /// Who waits for it, and nobody from now on.
    pub fn take(&mut self, ticket: Ticket) -> Option<Waiter> {
        self.waiters.remove(&ticket)
    }

    /// The ticket of a client's own request, to cancel it.
    pub fn of_request(&self, client: ClientId, seq: i64) -> Option<Ticket> {
        let is_it =
            |waiter: &Waiter| waiter.asked().is_some_and(|asked| asked.client == client && asked.seq == seq);
        self.waiters.iter().find(|(_, waiter)| is_it(waiter)).map(|(ticket, _)| *ticket)
    }

    /// Tickets of everything a client waits for.
    pub fn of_client(&self, client: ClientId) -> Vec<Ticket> {
        let is_its = |waiter: &Waiter| waiter.asked().is_some_and(|asked| asked.client == client);
        self.waiters.iter().filter(|(_, waiter)| is_its(waiter)).map(|(ticket, _)| *ticket).collect()
    }

    /// The resume in flight.
    pub fn resume(&self) -> Option<(Ticket, Asked)> {
        self.waiters.iter().find_map(|(ticket, waiter)| match waiter {
            Waiter::Resume(asked) => Some((*ticket, asked.clone())),
            _ => None,
        })
    }
}
