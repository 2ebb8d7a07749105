//! Arguments and body of `sessionControl`. `launch`, `attach` and `disconnect` have the same fields among
//! theirs.
//!
//! Not here: the other requests of Tandem ([`super::tandem`]).

use serde::{Deserialize, Serialize};

use super::{optional, required};

/// Arguments of `sessionControl`; without any the request only reads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionControlArguments {
    /// The access that agents get.
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub agent_access: Option<String>,
    /// Whether the session continues when the client that launched it leaves.
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub hand_over: Option<bool>,
}

/// Body of `sessionControl`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionControlBody {
    /// The access that agents have now.
    #[serde(deserialize_with = "required")]
    pub agent_access: String,
    /// Whether the session continues when the client that launched it leaves.
    #[serde(deserialize_with = "required")]
    pub hand_over: bool,
}
