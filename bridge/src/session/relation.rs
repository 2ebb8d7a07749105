//! The sessions of the programs that a program starts. [`crate::child_sessions`] joins them.

use std::sync::Arc;

use super::AgentSession;
use crate::snapshot::ProgramState;

/// The relation of a session to those of the programs that its program starts, or that started it.
#[derive(Debug, Default)]
pub struct SessionRelation {
    /// Description of its program for messages.
    pub title: String,
    /// The session whose program started this one's.
    pub parent: Option<String>,
    /// The first of them, when this agent is in it.
    pub root: Option<Arc<AgentSession>>,
    /// Ids of the child sessions that existed when this agent joined.
    pub children: Vec<String>,
}

impl AgentSession {
    /// The first session of the launched program and its children; itself if no other is known.
    pub fn root(&self) -> &Self {
        self.relation.root.as_deref().unwrap_or(self)
    }

    /// The root session, if this one's program has ended. The end of a program that another
    /// one started is not news about the launched program, which continues.
    pub fn root_after_end(&self) -> Option<Arc<Self>> {
        self.relation.root.clone().filter(|_| self.snapshot().state == ProgramState::Exited)
    }

    /// Whether it is at a stop that was not reported to the agent.
    pub(crate) fn has_news(&self) -> bool {
        let snapshot = self.snapshot();
        snapshot.state == ProgramState::Stopped && !self.agent_view.knows(snapshot.news)
    }
}
