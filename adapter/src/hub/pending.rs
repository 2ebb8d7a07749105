//! Who waits for what: every ticket has exactly one waiter until it is answered, and then none.

use std::collections::HashMap;

use serde_json::Value;

use super::breakpoints::Place;
use super::event::{ClientId, Ticket};
use super::state::Touched;

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
    /// The broker's answer, as it is.
    Io(Asked),
    /// The same, for what is written to the program.
    Write {
        /// Whose.
        asked: Asked,
        /// What, as far as it is told to others.
        text: String,
        /// The input ends behind it.
        closes: bool,
    },
    /// The same, for what is asked of the engine as it is.
    Inspect {
        /// Whose.
        asked: Asked,
        /// The stop it belongs to, if it belongs to one.
        stop: Option<u64>,
        /// What it changes.
        touched: Touched,
    },
    /// The answer to `launch` or `attach`.
    Launch(Asked),
    /// The answer to `continue`, a step, or the like; or to `terminate`, which resumes a program that stands.
    Resume(Asked),
    /// The answer to `terminate`: whose, and the stop at which it was asked.
    Terminate {
        /// Whose.
        asked: Asked,
        /// As [`Waiter::Inspect`] has it.
        stop: Option<u64>,
    },
    /// The answer to `pause`.
    Pause(Asked),
    /// The old engine lets go, so that the program can be restarted.
    Restarting,
    /// The answer to the launch of a restart.
    Relaunched,
    /// The union of breakpoints of a place went to the engine; who asked waits on the place's sheet.
    Breakpoints {
        /// Which place of the ledger.
        place: Place,
        /// The entries each position of the list stands for.
        ids: Vec<Vec<i64>>,
        /// Which engine it was, counted.
        engine: u64,
    },
    /// A question of ours about a stop, by its number.
    Question(u64),
    /// The program goes on after a stop nobody wanted: the body of the stop.
    GoOn {
        /// Of the stop.
        body: Value,
        /// How many stops clients had been told of.
        stops: u64,
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
            Self::Client(asked)
            | Self::Io(asked)
            | Self::Pause(asked)
            | Self::Inspect { asked, .. }
            | Self::Write { asked, .. }
            | Self::Launch(asked)
            | Self::Resume(asked)
            | Self::Terminate { asked, .. }
            | Self::SessionInfo(asked) => Some(asked),
            Self::Ending(asked) => asked.as_ref(),
            Self::Breakpoints { .. }
            | Self::Question(_)
            | Self::GoOn { .. }
            | Self::Nobody
            | Self::Restarting
            | Self::Relaunched => None,
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

    /// The ticket given out last.
    #[cfg(test)]
    pub fn last_ticket(&self) -> Ticket {
        Ticket(self.last)
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

    /// Everything the engine was asked; nobody waits for it from now on. In the order it was asked.
    pub fn take_engines(&mut self) -> Vec<(Ticket, Waiter)> {
        let mut taken: Vec<_> = self
            .waiters
            .extract_if(|_, waiter| !matches!(waiter, Waiter::Io(_) | Waiter::Write { .. }))
            .collect();
        taken.sort_by_key(|(ticket, _)| *ticket);
        taken
    }

    /// Tickets of launches in flight, also of a restart's: one, at most.
    pub fn launches(&self) -> Vec<Ticket> {
        let launches = |waiter: &Waiter| matches!(waiter, Waiter::Launch(_) | Waiter::Relaunched);
        self.waiters.iter().filter(|(_, waiter)| launches(waiter)).map(|(ticket, _)| *ticket).collect()
    }

    /// Tickets of what is asked of the engine as it is.
    pub fn inspections(&self) -> Vec<Ticket> {
        let inspects = |waiter: &Waiter| matches!(waiter, Waiter::Inspect { .. });
        self.waiters.iter().filter(|(_, waiter)| inspects(waiter)).map(|(ticket, _)| *ticket).collect()
    }

    /// Whether a client's launch is in flight.
    pub fn launch_of(&self, client: ClientId) -> bool {
        let is_its = |waiter: &Waiter| matches!(waiter, Waiter::Launch(asked) if asked.client == client);
        self.waiters.values().any(is_its)
    }

    /// The resume in flight.
    pub fn resume(&self) -> Option<(Ticket, Asked)> {
        self.waiters.iter().find_map(|(ticket, waiter)| match waiter {
            Waiter::Resume(asked) => Some((*ticket, asked.clone())),
            _ => None,
        })
    }
}
