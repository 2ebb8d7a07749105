//! The access of agents to this session: the launch attribute `agentAccess`, enforced only here.

use serde_json::Value;
use subtle::ConstantTimeEq;
use tandem_wire::{ErrorCode, Failure, extensions};

use super::look_only;
use tandem_engine::StartedEngine;

/// `agentAccess`, from nothing to everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum AgentAccess {
    /// An agent may only know that the session exists.
    None,
    /// An agent may read, but not change or run anything.
    ReadOnly,
    /// An agent has the same access as an editor.
    #[default]
    Full,
}

/// The access of agents in a session, and its origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AccessPolicy {
    /// The access of agents.
    pub agents: AgentAccess,
    /// A person has set it while the session ran: then it binds the agent that launched, too,
    /// and no agent changes it.
    pub by_person: bool,
}

/// Who may take part in a session, and what agents may do in it.
#[derive(Debug, Default)]
pub struct SessionAccess {
    /// The token that the first client must present.
    pub token: Option<Token>,
    /// The access of agents; before the launch, the default for a launch that does not set it.
    pub policy: AccessPolicy,
}

impl AgentAccess {
    /// As it is spelled in `launch`, `sessionControl` and `--agent-access`.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` for anything else.
    pub fn parse(value: &Value) -> Result<Self, Failure> {
        match value.as_str() {
            Some("full") => Ok(Self::Full),
            Some("readOnly") => Ok(Self::ReadOnly),
            Some("none") => Ok(Self::None),
            Some("ask") => Err(Failure::invalid("`agentAccess: \"ask\"` is not offered yet")
                .hint("use `readOnly` or `none`, and raise the access during the session")),
            _ => Err(Failure::invalid(format!(
                "`agentAccess` is {value}; it must be \"full\", \"readOnly\" or \"none\""
            ))),
        }
    }

    /// Reads `agentAccess` of `launch`, `attach` and `sessionControl`; `None` when they do not name it.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` when it has another value.
    pub fn requested(arguments: &Value) -> Result<Option<Self>, Failure> {
        match &arguments["agentAccess"] {
            Value::Null => Ok(None),
            spelled => Self::parse(spelled).map(Some),
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::ReadOnly => "readOnly",
            Self::None => "none",
        }
    }

    /// Whether an agent may see an event: with `none`, only events about its own membership of the session.
    pub fn shows(self, event: &str) -> bool {
        const OWN: [&str; 5] = ["initialized", "capabilities", "terminated", "sessionChanged", "exited"];
        self != Self::None || OWN.contains(&event)
    }

    /// Whether an agent may get this change in a `sessionChanged` event: with `none`, only who is
    /// there and what it may do.
    pub fn shows_change(self, change: &str) -> bool {
        self != Self::None || extensions::find_change(change).is_some_and(|change| change.about_clients)
    }

    /// Whether an agent may send this command to a session with this engine, once it is known.
    ///
    /// # Errors
    /// `ACCESS_DENIED` with the reason, and who can allow it.
    pub fn check(self, command: &str, engine: Option<&StartedEngine>) -> Result<(), Failure> {
        let allowed = match self {
            Self::Full => true,
            Self::ReadOnly => look_only::allows(engine, command),
            Self::None => look_only::is_handshake(command),
        };
        if allowed {
            return Ok(());
        }
        let message = match engine.filter(|_| self == Self::ReadOnly && look_only::is_read_only(command)) {
            Some(engine) => format!(
                "agents may only look in this session (`agentAccess` is `readOnly`), and `{command}` may \
                    run code of the \
                 program under {}",
                engine.name
            ),
            None => {
                format!("agents may not `{command}` in this session (`agentAccess` is `{}`)", self.as_str())
            }
        };
        Err(Failure::new(ErrorCode::AccessDenied, message)
            .hint(
                "a person in the session, or the client that launched it, can change that with \
                `sessionControl`",
            )
            .quiet())
    }
}

/// The secret that a client of a listener must present first. Compared in constant time, never shown.
#[derive(Clone)]
pub struct Token(Vec<u8>);

impl Token {
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// Whether `presented` equals the token.
    pub fn is(&self, presented: &str) -> bool {
        bool::from(self.0.ct_eq(presented.as_bytes()))
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unsupported_access_is_refused_by_name() {
        assert_eq!(AgentAccess::parse(&json!("none")).unwrap(), AgentAccess::None);
        let refused = AgentAccess::parse(&json!("ask")).unwrap_err();
        assert!(refused.to_string().contains("not offered yet"), "{refused}");
        for wrong in [json!("all"), json!(true), Value::Null] {
            assert_eq!(AgentAccess::parse(&wrong).unwrap_err().code, ErrorCode::InvalidParameter);
        }
    }
}
