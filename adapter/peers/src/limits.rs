//! Limits for open connections: for all, and for each other user, so that other users never take the last
//! permit from the user of this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::PeerIdentity;

/// Maximum numbers of open connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Maximum for all together. Other users get at most half of it.
    pub all: usize,
    /// Maximum for each other user: another user of this machine, or another machine.
    pub each: usize,
}

/// Issues permits, and counts them for each owner. Clones share the counts.
#[derive(Debug, Clone)]
pub struct ConnectionLimiter {
    limits: ConnectionLimits,
    taken: Arc<Mutex<HashMap<PeerIdentity, usize>>>,
}

/// A permit for one connection, returned when it is dropped.
#[derive(Debug)]
pub struct ConnectionPermit {
    of: ConnectionLimiter,
    who: PeerIdentity,
}

impl ConnectionLimiter {
    /// Creates a limiter that has issued no permit.
    pub fn new(limits: ConnectionLimits) -> Self {
        Self { limits, taken: Arc::default() }
    }

    /// Issues a permit, unless a limit is reached.
    pub fn acquire(&self, who: PeerIdentity) -> Option<ConnectionPermit> {
        let mut taken = self.lock_taken();
        let all: usize = taken.values().sum();
        let own = taken.get(&who).copied().unwrap_or(0);
        let others: usize = taken.iter().filter(|(who, _)| !who.is_trusted()).map(|(_, count)| count).sum();
        let fits = all < self.limits.all
            && (who.is_trusted() || (own < self.limits.each && others < self.limits.all / 2));
        if !fits {
            return None;
        }
        taken.insert(who, own + 1);
        Some(ConnectionPermit { of: self.clone(), who })
    }

    fn lock_taken(&self) -> MutexGuard<'_, HashMap<PeerIdentity, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut taken = self.of.lock_taken();
        match taken.get_mut(&self.who) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(taken.remove(&self.who)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_do_not_take_the_last_permit() {
        let own = PeerIdentity::User(rustix::process::geteuid().as_raw());
        let other = |number: u8| PeerIdentity::Address([192, 0, 2, number].into());
        let limiter = ConnectionLimiter::new(ConnectionLimits { all: 6, each: 2 });
        let mut held: Vec<ConnectionPermit> = (0..3).filter_map(|_| limiter.acquire(other(1))).collect();
        assert_eq!(held.len(), 2);
        held.extend((2..9).filter_map(|number| limiter.acquire(other(number))));
        assert_eq!(held.len(), 3);
        held.extend((0..9).filter_map(|_| limiter.acquire(own)));
        assert_eq!(held.len(), 6);
        held.clear();
        assert!(limiter.lock_taken().is_empty());
        assert!(limiter.acquire(other(9)).is_some());
    }
}
