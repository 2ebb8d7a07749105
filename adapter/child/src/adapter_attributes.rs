//! Attributes that Tandem sets for an adapter, under the names that several adapters share.
//!
//! Not here: attributes of one adapter, which are in its profile, and the client's ([`super::target`]).

use std::path::Path;

use serde::Serialize;
use serde_json::Value;
use tandem_wire::types;

/// The attributes that Tandem sets. The client's own stay where one is absent here.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AdapterAttributes<'a> {
    /// The program to debug.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) program: Option<&'a Path>,
    /// Its working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cwd: Option<&'a Path>,
    /// A terminal of the client: the adapter then asks Tandem to start the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) console: Option<&'static str>,
    /// The older name for the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) run_in_terminal: Option<bool>,
    /// The way in which the adapter gets at the program, such as `exec` or `remote`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mode: Option<&'static str>,
    /// The process to attach to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) process_id: Option<u32>,
    /// The shorter name for the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pid: Option<u32>,
}

impl AdapterAttributes<'_> {
    /// The attributes as JSON.
    pub(super) fn into_value(self) -> Value {
        types::body(&self)
    }
}
