//! Progress notifications of a call: to the MCP client, while the call waits for an engine, a build or a
//! program.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::{Peer, RoleServer};
use tandem_wire::Event;
use tandem_wire::types::{self, OutputEventBody};
use tokio::sync::broadcast;

/// Interval at which a client is notified that a call continues.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(2);

/// Progress notifications of one call; none if the client sent no progress token.
#[derive(Default)]
pub struct ProgressReporter {
    to: Option<(Peer<RoleServer>, ProgressToken)>,
    sent: AtomicU64,
}

impl ProgressReporter {
    /// Notifies `peer`, if it sent a progress token.
    pub fn new(peer: Peer<RoleServer>, token: Option<ProgressToken>) -> Self {
        Self { to: token.map(|token| (peer, token)), sent: AtomicU64::new(0) }
    }

    /// Reports progress to the client, if it requested that. Each report increments the count.
    pub async fn say(&self, message: impl Into<String>) {
        if let Some((peer, token)) = &self.to {
            let count = self.sent.fetch_add(1, Ordering::Relaxed) + 1;
            let mut notification = ProgressNotificationParam::new(token.clone(), count as f64);
            notification.message = Some(message.into());
            if let Err(error) = peer.notify_progress(notification).await {
                tracing::debug!(%error, "the client did not receive a progress notification");
            }
        }
    }

    /// Reports every two seconds that `what` continues, and each line that an engine or its build prints.
    pub async fn during<T>(
        &self,
        what: &str,
        mut events: Option<broadcast::Receiver<Arc<Event>>>,
        work: impl Future<Output = T>,
    ) -> T {
        let start = Instant::now();
        let mut ticks =
            tokio::time::interval_at(tokio::time::Instant::now() + PROGRESS_INTERVAL, PROGRESS_INTERVAL);
        tokio::pin!(work);
        loop {
            let next_line = async {
                match &mut events {
                    Some(events) if self.to.is_some() => engine_line(events).await,
                    _ => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                done = &mut work => return done,
                _ = ticks.tick() => self.say(format!("{what}: {} s", start.elapsed().as_secs())).await,
                line = next_line => match line {
                    Some(line) => self.say(line).await,
                    None => events = None,
                },
            }
        }
    }
}

/// Waits for the next line that an engine prints itself; `None` when there are no more.
async fn engine_line(events: &mut broadcast::Receiver<Arc<Event>>) -> Option<String> {
    loop {
        match events.recv().await {
            Ok(event) if event.event == "output" => {
                let body: OutputEventBody = types::read(&event.body);
                let is_reported = matches!(body.category.as_deref(), None | Some("console" | "important"));
                let line = body.output.trim();
                if is_reported && !line.is_empty() {
                    return Some(line.to_owned());
                }
            }
            Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => return None,
        }
    }
}
