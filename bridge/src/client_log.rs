//! Notifications to the MCP client: log messages about events in its sessions, and changes of the list of
//! resources.
//!
//! Not here: the events of a session for the agent ([`crate::event_log`]), and the log of the bridge
//! (`tandem-log`).

#![allow(deprecated, reason = "what the newest MCP gives up, every client there is still uses")]

use std::sync::{Mutex, PoisonError};

use dap_wire::Event;
use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam};
use rmcp::{Peer, RoleServer};
use serde_json::{Value, json};

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

/// Level and content of the log message for an event; `None` when it is not worth one.
pub fn log_message(session: &str, event: &Event) -> Option<(LoggingLevel, Value)> {
    let body = &event.body;
    let log = |level, what: &str, details: Value| {
        let mut data = json!({ "session": session, "event": what });
        if let (Some(data), Value::Object(details)) = (data.as_object_mut(), details) {
            data.extend(details.into_iter().filter(|(_, value)| !value.is_null()));
        }
        Some((level, data))
    };
    match event.event.as_str() {
        "stopped" => {
            log(LoggingLevel::Info, "stopped", json!({ "reason": body["reason"], "text": body["text"] }))
        }
        "exited" => {
            let end = json!({ "exitCode": body["exitCode"], "signal": body["signal"] });
            log(LoggingLevel::Info, "exited", end)
        }
        "terminated" => log(LoggingLevel::Info, "terminated", Value::Null),
        "sessionChanged" => {
            let what = body["change"].as_str().unwrap_or("changed");
            log(
                LoggingLevel::Info,
                what,
                json!({ "client": body["client"], "agentAccess": body["agentAccess"],
                    "child": body["child"] }),
            )
        }
        "output" if body["category"] == "important" => {
            log(LoggingLevel::Warning, "engine", json!({ "text": body["output"] }))
        }
        "output" if body["category"] == "console" || body["category"].is_null() => {
            log(LoggingLevel::Debug, "console", json!({ "text": body["output"] }))
        }
        _ => None,
    }
}
