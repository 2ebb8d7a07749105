//! The requests of each client that have no response: every request gets one, also when its client leaves
//! before the engine has replied, and no client may have more than so many.
//!
//! Not here: requests that the engine has to answer ([`crate::pending`]).

use tandem_wire::Failure;

use crate::event::{ClientId, ClientRequest};

/// Maximum number of requests of one client without a response. An editor has some tens at a stop.
const MAX_OPEN_REQUESTS: usize = 1024;

/// The requests of one client without a response: the number and the command of each.
#[derive(Debug, Default)]
pub struct UnansweredRequests {
    list: Vec<(i64, String)>,
}

impl UnansweredRequests {
    /// Counts a request as unanswered.
    ///
    /// # Errors
    /// When the client has too many; the request must then be refused.
    pub(crate) fn add(&mut self, request: &ClientRequest) -> Result<(), Failure> {
        let too_many = self.list.len() >= MAX_OPEN_REQUESTS;
        self.list.push((request.seq, request.command.clone()));
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
    pub(crate) fn remove(&mut self, request: &ClientRequest) {
        let is_it = |(seq, command): &(i64, String)| *seq == request.seq && *command == request.command;
        if let Some(at) = self.list.iter().position(is_it) {
            self.list.remove(at);
        }
    }

    /// All of them, as requests of the client.
    pub(crate) fn of_client(&self, client: ClientId) -> Vec<ClientRequest> {
        let requests = self.list.iter();
        requests.map(|(seq, command)| ClientRequest { client, seq: *seq, command: command.clone() }).collect()
    }
}
