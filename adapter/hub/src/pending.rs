//! Requests in flight, and how each reply of the engine or the broker is used. Every ticket has exactly one
//! action until its reply comes, and then none.

use std::collections::BTreeMap;

use serde_json::Value;
use tandem_wire::types::{MemoryEventBody, StoppedEventBody};

use super::breakpoints::BreakpointScope;
use super::clients::Author;
use super::event::{ClientId, ClientRequest, Ticket};

/// The effect of an answered request on the program, for all other clients.
#[derive(Debug, Clone)]
pub enum SideEffect {
    None,
    /// It may change variables: `change` and details for the `sessionChanged` of other clients.
    Values(&'static str, Value),
    /// Memory; the count is known with the reply.
    Memory(MemoryEventBody),
}

/// Input that a client sends to the program's stdin. The client may leave before the program has it.
#[derive(Debug, Clone)]
pub struct ClientInput {
    pub author: Author,
    /// The part that others see.
    pub text: String,
    pub size: usize,
    /// Whether stdin closes after it.
    pub closes: bool,
}

/// The use of a reply when it arrives.
#[derive(Debug, Clone)]
pub enum ReplyAction {
    /// Send the broker's reply to the client as it is.
    Io(ClientRequest),
    /// The same for input to the program.
    Write {
        request: ClientRequest,
        input: ClientInput,
    },
    /// Send the engine's reply to the client with the client's ids. `stop` is the stop it belongs to,
    /// if it belongs to one.
    Inspect {
        request: ClientRequest,
        stop: Option<u64>,
        effect: SideEffect,
    },
    /// `launch` or `attach`.
    Launch(ClientRequest),
    /// A request that resumes the program, perhaps `terminate`.
    Resume(ClientRequest),
    /// `terminate`, requested at this stop.
    Terminate {
        request: ClientRequest,
        stop: Option<u64>,
    },
    Pause(ClientRequest),
    /// The old engine detaches, so that the program can be restarted.
    RestartDisconnect,
    /// The launch of a restart.
    RestartLaunch,
    /// A list of breakpoints went to the engine with this number; each position represents these ids.
    Breakpoints {
        scope: BreakpointScope,
        ids: Vec<Vec<i64>>,
        engine: u64,
    },
    /// A query of the hub about a stop, by its number.
    Query(u64),
    /// A query or a step of the call that is followed, by its number.
    Follow(u64),
    /// The program resumes after a stop that no owner wants; `stops` were reported before.
    Resumption {
        stop: StoppedEventBody,
        stops: u64,
    },
    /// The location of the stop for `sessionInfo`.
    SessionInfo(ClientRequest),
    /// The `disconnect` of the client that launched, or that it left without one.
    SessionEnd(Option<ClientRequest>),
    Ignore,
}

impl ReplyAction {
    /// The client's request that waits for this reply.
    pub fn request(&self) -> Option<&ClientRequest> {
        match self {
            Self::Io(request)
            | Self::Pause(request)
            | Self::Inspect { request, .. }
            | Self::Write { request, .. }
            | Self::Launch(request)
            | Self::Resume(request)
            | Self::Terminate { request, .. }
            | Self::SessionInfo(request) => Some(request),
            Self::SessionEnd(request) => request.as_ref(),
            Self::Breakpoints { .. }
            | Self::Query(_)
            | Self::Follow(_)
            | Self::Resumption { .. }
            | Self::Ignore
            | Self::RestartDisconnect
            | Self::RestartLaunch => None,
        }
    }

    fn is_of(&self, client: ClientId) -> bool {
        self.request().is_some_and(|request| request.client == client)
    }
}

/// All requests in flight, in the order in which they were sent.
#[derive(Debug, Default)]
pub struct PendingRequests {
    actions: BTreeMap<Ticket, ReplyAction>,
    last: u64,
}

impl PendingRequests {
    /// Returns a new ticket for this action.
    pub fn add(&mut self, action: ReplyAction) -> Ticket {
        self.last += 1;
        let ticket = Ticket(self.last);
        self.actions.insert(ticket, action);
        ticket
    }

    #[cfg(test)]
    pub fn last_ticket(&self) -> Ticket {
        Ticket(self.last)
    }

    /// Whether the request of a ticket has no reply.
    pub fn has(&self, ticket: Ticket) -> bool {
        self.actions.contains_key(&ticket)
    }

    /// Removes and returns the action of a ticket.
    pub fn take(&mut self, ticket: Ticket) -> Option<ReplyAction> {
        self.actions.remove(&ticket)
    }

    fn tickets_where(&self, holds: impl Fn(&ReplyAction) -> bool) -> Vec<Ticket> {
        self.actions.iter().filter(|(_, action)| holds(action)).map(|(ticket, _)| *ticket).collect()
    }

    /// The ticket of a client's own request, to cancel it.
    pub fn of_request(&self, client: ClientId, seq: i64) -> Option<Ticket> {
        let is_it = |action: &ReplyAction| {
            action.request().is_some_and(|request| request.client == client && request.seq == seq)
        };
        self.tickets_where(is_it).first().copied()
    }

    /// Tickets of the requests that nobody needs when this client has left. Input that it sent is not among
    /// them: a part of it would be in the program's stdin, and what the next client writes would follow it.
    pub fn of_left_client(&self, client: ClientId) -> Vec<Ticket> {
        self.tickets_where(|action| action.is_of(client) && !matches!(action, ReplyAction::Write { .. }))
    }

    /// Removes and returns all requests to the engine, except the one that ends the session: a host whose
    /// last request is forgotten would never exit.
    pub fn take_engine_requests(&mut self) -> Vec<(Ticket, ReplyAction)> {
        let to_engine = |action: &ReplyAction| {
            !matches!(action, ReplyAction::Io(_) | ReplyAction::Write { .. } | ReplyAction::SessionEnd(_))
        };
        self.actions.extract_if(.., |_, action| to_engine(action)).collect()
    }

    /// Tickets of launches, also of a restart's: one, at most.
    pub fn launches(&self) -> Vec<Ticket> {
        self.tickets_where(|action| matches!(action, ReplyAction::Launch(_) | ReplyAction::RestartLaunch))
    }

    /// Tickets of requests that inspect the program.
    pub fn inspections(&self) -> Vec<Ticket> {
        self.tickets_where(|action| matches!(action, ReplyAction::Inspect { .. }))
    }

    /// Whether a client's launch is in flight.
    pub fn has_launch_of(&self, client: ClientId) -> bool {
        self.actions.values().any(|action| matches!(action, ReplyAction::Launch(_)) && action.is_of(client))
    }

    /// The resume in flight.
    pub fn resume(&self) -> Option<(Ticket, ClientRequest)> {
        self.actions.iter().find_map(|(ticket, action)| match action {
            ReplyAction::Resume(request) => Some((*ticket, request.clone())),
            _ => None,
        })
    }
}
