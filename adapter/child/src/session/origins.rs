//! The processes that a session's program descends from. An adapter in a container or behind `ssh` reports
//! process ids that belong to other processes here, which Tandem would signal: an id counts only if its
//! process is one of these.
//!
//! Not here: following a process to its ancestors ([`super::super::debuggee`]).

use std::collections::HashSet;

use super::super::debuggee;
use super::super::socket;
use super::super::target::Target;

/// Processes and an address that lead to a session's program.
pub(super) struct Origins {
    /// The processes that the session has started, or was requested to attach to.
    pub(super) processes: Vec<u32>,
    /// Its `connect` leads to the program.
    pub(super) target: Target,
}

impl Origins {
    /// Whether they include a process. Reads `/proc`, and may look for a host: blocks.
    pub(super) fn include(mut self, pid: u32) -> bool {
        if debuggee::descends_from(pid, &self.processes) {
            return true;
        }
        if let Ok(Some(address)) = self.target.connect() {
            self.processes.extend(address.holders());
            if debuggee::descends_from(pid, &self.processes) {
                return true;
            }
        }
        // debugpy's own adapter has left the program that started it.
        let sockets = |pid: u32| debuggee::sockets_of(pid).collect::<HashSet<u64>>();
        let theirs = sockets(pid);
        let ours: HashSet<u64> = self.processes.into_iter().flat_map(sockets).collect();
        let connections =
            socket::connections_between(|inode| theirs.contains(&inode), |inode| ours.contains(&inode));
        !connections.is_empty()
    }
}
