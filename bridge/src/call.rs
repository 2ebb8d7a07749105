//! One tool call: what was asked, whether the agent still wants it, and a way to tell how far it got.

use std::sync::atomic::{AtomicU64, Ordering};

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::{Peer, RoleServer};
use tokio_util::sync::CancellationToken;

use crate::arguments::Arguments;
use crate::server::Bridge;

/// One tool call.
pub struct Call {
    /// The bridge.
    pub bridge: Bridge,
    /// What the agent sent.
    pub arguments: Arguments,
    /// It gave up.
    pub cancel: CancellationToken,
    /// To tell how far it got.
    pub progress: Progress,
}

/// Progress notifications of one call; silent when the client asked for none.
#[derive(Default)]
pub struct Progress {
    to: Option<(Peer<RoleServer>, ProgressToken)>,
    told: AtomicU64,
}

impl Progress {
    /// Tells `peer`, if it gave a token.
    pub fn new(peer: Peer<RoleServer>, token: Option<ProgressToken>) -> Self {
        Self { to: token.map(|token| (peer, token)), told: AtomicU64::new(0) }
    }

    /// Says what is being done. Each saying counts one on; a client that is gone is not told.
    pub async fn say(&self, message: impl Into<String>) {
        if let Some((peer, token)) = &self.to {
            let count = self.told.fetch_add(1, Ordering::Relaxed) + 1;
            let mut told = ProgressNotificationParam::new(token.clone(), count as f64);
            told.message = Some(message.into());
            if let Err(error) = peer.notify_progress(told).await {
                tracing::debug!(%error, "progress nobody hears");
            }
        }
    }
}
