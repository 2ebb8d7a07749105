//! The requests of each client that have no response: every request gets one, also when its client leaves
//! before the engine has replied, and no client may have more than so many.
//!
//! Not here: requests that the engine has to answer ([`crate::pending`]).

use dap_wire::{ErrorCode, Failure};

use super::State;
use crate::event::{ClientId, ClientRequest};

/// Maximum number of requests of one client without a response. An editor has some tens at a stop.
const MAX_OPEN_REQUESTS: usize = 1024;

impl State {
    /// Counts a request as unanswered.
    ///
    /// # Errors
    /// When the client has too many; the request must then be refused.
    pub(super) fn add_open_request(&mut self, request: &ClientRequest) -> Result<(), Failure> {
        let Some(client) = self.clients.get_mut(request.client) else { return Ok(()) };
        let too_many = client.open_requests.len() >= MAX_OPEN_REQUESTS;
        client.open_requests.push((request.seq, request.command.clone()));
        if too_many {
            let message = format!(
                "`{}` is refused: {MAX_OPEN_REQUESTS} requests of this client are still unanswered",
                request.command
            );
            return Err(Failure::invalid(message).hint("wait for some of their responses, or cancel some"));
        }
        Ok(())
    }

    /// Removes a request that has its response. Numbers may come twice: some clients do not count.
    pub(super) fn remove_open_request(&mut self, request: &ClientRequest) {
        if let Some(client) = self.clients.get_mut(request.client) {
            let is_it = |(seq, command): &(i64, String)| *seq == request.seq && *command == request.command;
            if let Some(at) = client.open_requests.iter().position(is_it) {
                client.open_requests.remove(at);
            }
        }
    }

    /// Refuses all requests of a client before its connection closes, except the one that closes it.
    pub(super) fn cancel_open_requests(&mut self, id: ClientId, except: Option<&ClientRequest>) {
        let open_requests =
            self.clients.get(id).map(|client| client.open_requests.clone()).unwrap_or_default();
        for (seq, command) in open_requests {
            let request = ClientRequest { client: id, seq, command };
            if except == Some(&request) {
                continue;
            }
            let message =
                format!("`{}` was abandoned: its client disconnected before the response", request.command);
            self.refuse(&request, Failure::new(ErrorCode::Cancelled, message).quiet());
        }
    }
}
