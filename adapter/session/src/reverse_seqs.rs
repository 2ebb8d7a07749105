//! The numbers under which reverse requests went out to one client.
//!
//! The writer numbers all that a client is sent, so the hub does not know the `seq` of its reverse request
//! there. The writer records it here, and the client's reader puts the hub's number back into the response.
//! So a client can respond only to what it was itself sent, and once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of reverse requests without a response; of more the oldest is forgotten, and
/// its response ignored.
const MAX_OPEN: usize = 256;

/// The numbers of one client: outside to inside. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct ReverseSeqs(Arc<Mutex<BTreeMap<i64, i64>>>);

impl ReverseSeqs {
    /// Records that the request with the number `inside` goes out under the number `outside`.
    pub fn record(&self, outside: i64, inside: i64) {
        let mut seqs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if seqs.len() >= MAX_OPEN {
            seqs.pop_first();
        }
        seqs.insert(outside, inside);
    }

    /// Returns the hub's number of the request with this outside number; a second time `None`.
    pub fn take(&self, outside: i64) -> Option<i64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&outside)
    }
}
