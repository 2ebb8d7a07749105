//! Checks whether a process has executed another program: when one is due, and the processes of other users,
//! which are only checked for that.
//!
//! Not here: what follows for a process of the user ([`super::follower`]).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::identity::{Identities, Identity};

/// How often a process is checked for another executable, in ticks: while it is young, and later.
const EARLY_CHECK_TICKS: u64 = 2;
const LATE_CHECK_TICKS: u64 = 64;
/// How long a process counts as young.
const MAX_EARLY_AGE: Duration = Duration::from_secs(2);

/// Whether a tick checks for another executable in a process that has had its own since then.
pub(super) fn is_due(ticks: u64, since: Instant) -> bool {
    let interval = if since.elapsed() < MAX_EARLY_AGE { EARLY_CHECK_TICKS } else { LATE_CHECK_TICKS };
    ticks.is_multiple_of(interval)
}

/// Processes of other users, what they run, and since when. One that changes its user, as `setpriv` and `su`
/// do, executes its program only afterwards.
#[derive(Default)]
pub(super) struct OtherUsers {
    processes: BTreeMap<u32, (Identity, Instant)>,
}

impl OtherUsers {
    pub(super) fn insert(&mut self, pid: u32, identity: Identity) {
        self.processes.insert(pid, (identity, Instant::now()));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }

    /// Removes the processes that have executed another program, with what they run now, and those that have
    /// ended.
    pub(super) fn take_changed(&mut self, ticks: u64, identities: &mut Identities) -> Vec<(u32, Identity)> {
        let due = self.processes.iter().filter(|(_, (_, since))| is_due(ticks, *since));
        let due: Vec<u32> = due.map(|(pid, _)| *pid).collect();
        let mut changed = Vec::new();
        for pid in due {
            let Some((known, since)) = self.processes.remove(&pid) else { continue };
            match identities.of(pid) {
                Some(now) if now == known => drop(self.processes.insert(pid, (known, since))),
                Some(now) => changed.push((pid, now)),
                // It has ended.
                None => {}
            }
        }
        changed
    }
}
