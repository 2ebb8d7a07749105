//! One tool call: its arguments, whether it was cancelled, and a way to report its progress.
//!
//! Not here: reading the arguments ([`crate::arguments`]), running the tool ([`crate::handler`]).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use dap_wire::{Event, Failure};
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::{Peer, RoleServer};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use crate::arguments::ToolArguments;
use crate::arguments::schema::ObjectOrText;
use crate::server::Bridge;
use crate::session::AgentSession;
use crate::trigger::Trigger;

/// Interval at which a client is notified that a call continues.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(2);

/// A tool call: its arguments, and handles to cancel it and to report its progress.
pub struct ToolCall {
    /// The bridge that serves the call.
    pub bridge: Bridge,
    /// Arguments that the agent sent.
    pub arguments: ToolArguments,
    /// Arguments that several tools share.
    pub shared: SharedArguments,
    /// Trigger that the call has started, to wait for its effect.
    pub trigger: Option<Arc<Trigger>>,
    /// Cancelled when the client cancels the call.
    pub cancel: CancellationToken,
    /// To tell how far it got.
    pub progress: ProgressReporter,
    /// The sessions that it has started.
    pub started: StartedSessions,
}

/// Arguments that helpers of several tools read. Every tool takes `session`; those that wait for the program
/// take the others too.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SharedArguments {
    /// The session that the call means, by its id; the current one if absent.
    pub session: Option<String>,
    /// A pattern of output that ends a wait.
    pub wait_for: Option<String>,
    /// A request, an input or a command that starts while the call waits.
    pub trigger: Option<ObjectOrText>,
}

/// The sessions that a call has started, which end when it is cancelled before it is answered: the agent
/// never learns of them.
#[derive(Clone, Default)]
pub struct StartedSessions(Arc<Mutex<Vec<Arc<AgentSession>>>>);

impl StartedSessions {
    /// Removes and returns all sessions.
    pub fn take(&self) -> Vec<Arc<AgentSession>> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Progress notifications of one call; none if the client sent no progress token.
#[derive(Default)]
pub struct ProgressReporter {
    to: Option<(Peer<RoleServer>, ProgressToken)>,
    sent: AtomicU64,
}

impl ToolCall {
    /// The session that the call means.
    ///
    /// # Errors
    /// `NO_SESSION` if there is none, or this agent may not join it.
    pub async fn session(&self) -> Result<Arc<AgentSession>, Failure> {
        self.bridge.session(self.shared.session.as_deref()).await
    }

    /// Whether the call names its session.
    pub fn names_session(&self) -> bool {
        self.shared.session.is_some()
    }

    /// Whether a request applies to the next session: the call names none, and there is no session, or the
    /// current one's program has ended.
    pub fn is_before_a_launch(&self) -> bool {
        !self.names_session() && self.bridge.is_before_a_launch()
    }

    /// Makes a session that this call has started the current one.
    pub fn add_session(&self, session: AgentSession) -> Arc<AgentSession> {
        let session = self.bridge.add(session);
        self.started.0.lock().unwrap_or_else(PoisonError::into_inner).push(session.clone());
        session
    }

    /// Starts the trigger of the call, unless it has started already.
    pub fn fire(&self) {
        if let Some(trigger) = &self.trigger {
            trigger.fire();
        }
    }
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
                let is_reported =
                    matches!(event.body["category"].as_str(), None | Some("console" | "important"));
                let line = event.body["output"].as_str().unwrap_or_default().trim();
                if is_reported && !line.is_empty() {
                    return Some(line.to_owned());
                }
            }
            Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => return None,
        }
    }
}
