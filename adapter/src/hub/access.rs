//! What agents may do in this session: the launch attribute `agentAccess`, enforced here and nowhere else.

use dap_wire::{ErrorCode, Failure};
use serde_json::Value;
use subtle::ConstantTimeEq;

/// `agentAccess`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AgentAccess {
    /// Whatever an editor may.
    #[default]
    Full,
    /// Look, but change nothing and run nothing.
    ReadOnly,
    /// Nothing but knowing that the session exists.
    None,
}

impl AgentAccess {
    /// As it is spelled in `launch` and `sessionControl`; absent means `full`.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` for anything else.
    pub fn parse(value: &Value) -> Result<Self, Failure> {
        match value {
            Value::Null => Ok(Self::Full),
            Value::String(text) if text == "full" => Ok(Self::Full),
            Value::String(text) if text == "readOnly" => Ok(Self::ReadOnly),
            Value::String(text) if text == "none" => Ok(Self::None),
            other => Err(Failure::invalid(format!(
                "`agentAccess` is {other}; it must be \"full\", \"readOnly\" or \"none\""
            ))),
        }
    }

    /// Its spelling.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::ReadOnly => "readOnly",
            Self::None => "none",
        }
    }

    /// Whether an agent may see an event: with `none` only what concerns its own place in the session.
    pub fn shows(self, event: &str) -> bool {
        const OWN: [&str; 5] = ["initialized", "capabilities", "terminated", "sessionChanged", "exited"];
        self != Self::None || OWN.contains(&event)
    }

    /// Whether an agent may send this command.
    ///
    /// # Errors
    /// `ACCESS_DENIED`, saying who can allow it.
    pub fn check(self, command: &str) -> Result<(), Failure> {
        let allowed = match self {
            Self::Full => true,
            // `evaluate` runs code of the program, so it is no mere look.
            Self::ReadOnly => HANDSHAKE.contains(&command) || LOOKING.contains(&command),
            Self::None => HANDSHAKE.contains(&command),
        };
        if allowed {
            return Ok(());
        }
        Err(Failure::new(
            ErrorCode::AccessDenied,
            format!("agents may not `{command}` in this session (`agentAccess` is `{}`)", self.as_str()),
        )
        .hint("the client that launched it can change that with `sessionControl`")
        .quiet())
    }
}

const HANDSHAKE: [&str; 6] =
    ["initialize", "attach", "configurationDone", "disconnect", "cancel", "sessionInfo"];

const LOOKING: [&str; 14] = [
    "threads",
    "stackTrace",
    "scopes",
    "variables",
    "source",
    "modules",
    "loadedSources",
    "exceptionInfo",
    "readMemory",
    "disassemble",
    "processReadOutput",
    "breakpointLocations",
    "completions",
    "locations",
];

/// What a client of a listener must present before it may do anything. Compared in constant time, never shown.
#[derive(Clone)]
pub struct Token(Vec<u8>);

impl Token {
    /// Of its bytes.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// Whether this is it.
    pub fn is(&self, presented: &str) -> bool {
        bool::from(self.0.ct_eq(presented.as_bytes()))
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Token")
    }
}
