//! One tool call: its arguments, whether it was cancelled, and a way to report its progress.
//!
//! Not here: reading the arguments ([`crate::arguments`]), running the tool ([`crate::handler`]).

use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use serde::Deserialize;
use tandem_wire::Failure;
use tokio_util::sync::CancellationToken;

use crate::arguments::ToolArguments;
use crate::arguments::schema::ObjectOrText;
use crate::progress::ProgressReporter;
use crate::server::Bridge;
use crate::session::{AgentSession, SessionPlan};
use crate::trigger::Trigger;

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

    /// Starts a session and makes it the current one. It has the requests that were made before it, so they
    /// are not kept for another one.
    ///
    /// # Errors
    /// As [`AgentSession::start`]; then the requests stay.
    pub async fn start_session(&self, plan: SessionPlan) -> Result<Arc<AgentSession>, Failure> {
        let session = self.bridge.add(self.start_unlisted_session(plan).await?);
        self.started.0.lock().unwrap_or_else(PoisonError::into_inner).push(session.clone());
        self.bridge.with_early_requests(std::mem::take);
        Ok(session)
    }

    /// Starts a session that no other call finds: the caller ends it.
    ///
    /// # Errors
    /// As [`AgentSession::start`].
    pub async fn start_unlisted_session(&self, plan: SessionPlan) -> Result<AgentSession, Failure> {
        let (adapter, client) = (&self.bridge.options.adapter, self.bridge.client());
        AgentSession::start(adapter, &client, plan, &self.cancel, &self.progress).await
    }

    /// Starts the trigger of the call, unless it has started already.
    pub fn fire(&self) {
        if let Some(trigger) = &self.trigger {
            trigger.fire();
        }
    }
}
