//! Child sessions: programs that a debugged program starts are debugged in separate sessions. An agent in the
//! first session is also in those: a stop in any of them ends a wait in one of them.
//!
//! The first of these sessions, the root, holds the shared parts: the program's input and output, and this
//! agent's breakpoints, which apply to every child. Not here: the answers of the tools ([`crate::tools`]).

#![allow(deprecated, reason = "what the newest MCP gives up, every client there is still uses")]

use std::sync::{Arc, Weak};
use std::time::Duration;

use rmcp::model::LoggingLevel;
use serde_json::json;
use tandem_wire::types::{self, SessionChangedBody};
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;

use crate::client_log::log_message;
use crate::server::{Bridge, BridgeGuard};
use crate::session::AgentSession;

/// Time until the session of a child must be joinable, and the interval of the checks.
const JOIN_TIMEOUT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Children that are followed at once; more of them are only listed.
const MAX_CHILDREN: usize = 100;

/// A weak reference to a bridge: a task that only listens must not keep its sessions alive.
pub(crate) struct WeakBridge {
    bridge: Bridge,
    last: Weak<BridgeGuard>,
}

impl WeakBridge {
    fn upgrade(&self) -> Option<Bridge> {
        Some(self.bridge.with_last(self.last.upgrade()?))
    }
}

impl Bridge {
    fn downgrade(&self) -> WeakBridge {
        let (bridge, last) = self.without_last();
        WeakBridge { bridge, last }
    }

    /// The other sessions with the same root that this agent is in.
    pub fn related_sessions(&self, session: &AgentSession) -> Vec<Arc<AgentSession>> {
        let root = &session.root().id;
        let mut all = self.joined_sessions();
        all.retain(|other| other.id != session.id && other.root().id == *root);
        all
    }

    /// Another session with the same root that is at a stop that was not reported to the agent.
    pub fn relative_with_news(&self, session: &AgentSession) -> Option<Arc<AgentSession>> {
        self.related_sessions(session).into_iter().find(|other| other.has_news())
    }

    /// Waits until another session with the same root is at a stop that was not reported to the agent.
    pub async fn stop_of_a_relative(&self, session: &AgentSession) -> Arc<AgentSession> {
        let mut stirred = self.watch_changes();
        loop {
            stirred.borrow_and_update();
            if let Some(found) = self.relative_with_news(session) {
                return found;
            }
            if stirred.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Follows a session until it is left: notifies its client of what happens, and joins its children.
    pub(crate) fn follow(&self, session: &AgentSession) {
        let (log, id) = (self.log(), session.id.clone());
        let mut events = session.listener.events();
        let weak = self.downgrade();
        for child in &session.relation.children {
            self.join_child(child);
        }
        self.notify_change();
        tokio::spawn(async move {
            log.send(LoggingLevel::Info, json!({ "session": id, "event": "entered" })).await;
            log.resources_changed().await;
            loop {
                match events.recv().await {
                    Ok(event) => {
                        if let Some(bridge) = weak.upgrade() {
                            bridge.handle_event(&id, &event);
                        }
                        if let Some((level, data)) = log_message(&id, &event) {
                            log.send(level, data).await;
                        }
                    }
                    Err(RecvError::Lagged(_)) => drop(weak.upgrade().map(|bridge| bridge.notify_change())),
                    Err(RecvError::Closed) => break,
                }
            }
            log.resources_changed().await;
        });
    }

    fn handle_event(&self, id: &str, event: &tandem_wire::Event) {
        match event.event.as_str() {
            "stopped" | "exited" => self.notify_change(),
            "sessionChanged" => {
                let changed: SessionChangedBody = types::read(&event.body);
                let child = changed.child.filter(|_| changed.change == "child");
                if let Some(session) = child.and_then(|child| child.session) {
                    self.join_child(&session);
                }
            }
            "terminated" => {
                self.notify_change();
                self.leave_child(id);
            }
            _ => {}
        }
    }

    /// Joins the session of a child as soon as it can be joined. The current session stays the current one.
    fn join_child(&self, child: &str) {
        if !self.begin_joining(child) {
            return;
        }
        let (weak, child) = (self.downgrade(), child.to_owned());
        tokio::spawn(async move {
            let until = Instant::now() + JOIN_TIMEOUT;
            let entry = loop {
                match tandem_registry::find(&child) {
                    Some(entry) => break Some(entry),
                    // It may have ended already.
                    None if Instant::now() > until => break None,
                    None => tokio::time::sleep(POLL_INTERVAL).await,
                }
            };
            let Some(bridge) = weak.upgrade() else { return };
            let known = bridge.joined_sessions().iter().any(|session| session.id == child);
            let room = bridge.joined_sessions().len() < MAX_CHILDREN;
            if let Some(entry) = entry.filter(|_| !known && room)
                && let Err(failure) = bridge.join_record(&entry, false).await
            {
                tracing::debug!(%failure, child, "a program that was started is not followed");
            }
            bridge.end_joining(&child);
        });
    }

    /// Leaves the session of a child whose program has ended: its output belongs to its parent's session.
    fn leave_child(&self, id: &str) {
        let gone = self
            .joined_sessions()
            .into_iter()
            .find(|session| session.id == id && session.relation.root.is_some());
        if let Some(session) = gone {
            self.forget(id);
            tokio::spawn(async move {
                if let Err(failure) = session.leave(None).await {
                    tracing::debug!(%failure, "left a session that was gone");
                }
            });
        }
    }
}
