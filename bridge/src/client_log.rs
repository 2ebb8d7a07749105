//! Notifications to the MCP client: log messages about events in its sessions, and changes of the list of
//! resources.
//!
//! Not here: the events of a session for the agent ([`crate::event_log`]), and the log of the bridge
//! (`tandem-log`).

#![allow(deprecated, reason = "what the newest MCP gives up, every client there is still uses")]

use std::sync::{Mutex, PoisonError};

use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam};
use rmcp::{Peer, RoleServer};
use serde::Serialize;
use serde_json::Value;
use tandem_wire::Event;
use tandem_wire::types::{
    self, ChildProgram, OutputEventBody, ProgramExit, SessionChangedBody, StoppedEventBody,
};

/// Sends log notifications to the MCP client, from the level that it has set.
#[derive(Debug)]
pub struct ClientLog(Mutex<(Option<Peer<RoleServer>>, LoggingLevel)>);

impl Default for ClientLog {
    fn default() -> Self {
        Self(Mutex::new((None, LoggingLevel::Info)))
    }
}

impl ClientLog {
    fn with<T>(&self, work: impl FnOnce(&mut (Option<Peer<RoleServer>>, LoggingLevel)) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sends later notifications to this client.
    pub fn log_to(&self, peer: Peer<RoleServer>) {
        self.with(|log| log.0 = Some(peer));
    }

    /// Drops messages below this level.
    pub fn set_level(&self, level: LoggingLevel) {
        self.with(|log| log.1 = level);
    }

    /// Notifies the client, if it has set this level or a lower one. Without a client it does nothing.
    pub async fn send(&self, level: LoggingLevel, data: Value) {
        let peer = self.with(|log| log.0.clone().filter(|_| weight(level) >= weight(log.1)));
        if let Some(peer) = peer {
            let mut message = LoggingMessageNotificationParam::new(level, data);
            message.logger = Some("session".into());
            if let Err(error) = peer.notify_logging_message(message).await {
                tracing::debug!(%error, "the client did not receive a log message");
            }
        }
    }

    /// Notifies the client that the list of sessions has changed.
    pub async fn resources_changed(&self) {
        if let Some(peer) = self.with(|log| log.0.clone())
            && let Err(error) = peer.notify_resource_list_changed().await
        {
            tracing::debug!(%error, "the client did not receive the change of the resources");
        }
    }
}

/// Levels in their order.
fn weight(level: LoggingLevel) -> u8 {
    match level {
        LoggingLevel::Debug => 0,
        LoggingLevel::Info => 1,
        LoggingLevel::Notice => 2,
        LoggingLevel::Warning => 3,
        LoggingLevel::Error => 4,
        LoggingLevel::Critical => 5,
        LoggingLevel::Alert => 6,
        LoggingLevel::Emergency => 7,
    }
}

/// The content of a log message.
#[derive(Debug, Serialize)]
struct LogMessage<'s> {
    session: &'s str,
    event: &'s str,
    #[serde(flatten)]
    details: LogDetails,
}

/// The fields of a log message that depend on the event.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum LogDetails {
    Stop {
        reason: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    Exit(ProgramExit),
    End {},
    #[serde(rename_all = "camelCase")]
    Change {
        #[serde(skip_serializing_if = "Option::is_none")]
        client: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        agent_access: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        child: Option<ChildProgram>,
    },
    Text {
        text: String,
    },
}

/// Level and content of the log message for an event; `None` when it is not worth one.
pub fn log_message(session: &str, event: &Event) -> Option<(LoggingLevel, Value)> {
    let log =
        |level, event: &str, details| Some((level, types::body(&LogMessage { session, event, details })));
    match event.event.as_str() {
        "stopped" => {
            let StoppedEventBody { reason, text, .. } = types::read(&event.body);
            log(LoggingLevel::Info, "stopped", LogDetails::Stop { reason, text })
        }
        "exited" => log(LoggingLevel::Info, "exited", LogDetails::Exit(types::read(&event.body))),
        "terminated" => log(LoggingLevel::Info, "terminated", LogDetails::End {}),
        "sessionChanged" => {
            let SessionChangedBody { change, client, agent_access, child, .. } = types::read(&event.body);
            log(LoggingLevel::Info, &change, LogDetails::Change { client, agent_access, child })
        }
        "output" => {
            let OutputEventBody { category, output: text, .. } = types::read(&event.body);
            match category.as_deref() {
                Some("important") => log(LoggingLevel::Warning, "engine", LogDetails::Text { text }),
                Some("console") | None => log(LoggingLevel::Debug, "console", LogDetails::Text { text }),
                Some(_) => None,
            }
        }
        _ => None,
    }
}
