//! Under which number a reverse request went out to one client.
//!
//! The writer numbers all that a client gets, so the hub does not know the number its request has out there. The writer
//! notes it here, and the client's reader puts the inner number back into the answer. A client can so answer only what it
//! was itself asked, and once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Reverse requests a client may leave unanswered; of more the oldest is forgotten, and its answer ignored.
const LIMIT: usize = 256;

/// The numbers of one client; clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Numbers(Arc<Mutex<BTreeMap<i64, i64>>>);

impl Numbers {
    /// The request with the number `inside` goes out under the number `outside`.
    pub fn note(&self, outside: i64, inside: i64) {
        let mut numbers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if numbers.len() >= LIMIT {
            numbers.pop_first();
        }
        numbers.insert(outside, inside);
    }

    /// The inner number of the request that is answered now; none a second time.
    pub fn inside(&self, outside: i64) -> Option<i64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&outside)
    }
}
