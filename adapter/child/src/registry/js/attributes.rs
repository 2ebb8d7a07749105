//! The attributes that Tandem sets for vscode-js-debug.
//!
//! Not here: their choice ([`super`]).

use std::path::Path;

use serde::Serialize;
use serde_json::Value;
use tandem_engine::path_map::RootMapping;
use tandem_wire::types;

/// A configuration of vscode-js-debug.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct JsAttributes<'a> {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) request: &'static str,
    pub(super) name: &'static str,
    pub(super) cwd: &'a Path,
    #[serde(flatten)]
    pub(super) launch: Option<JsLaunch>,
    /// The folder in which the adapter looks for compiled files.
    #[serde(rename = "__workspaceFolder", skip_serializing_if = "Option::is_none")]
    pub(super) workspace: Option<String>,
    /// The adapter takes one.
    #[serde(flatten)]
    pub(super) roots: Option<RootMapping>,
}

/// The attributes of a launch alone.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct JsLaunch {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) program: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) runtime_executable: Option<String>,
    pub(super) console: &'static str,
    pub(super) output_capture: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) runtime_args: Option<Vec<Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pause_for_source_map: Option<bool>,
}

impl<'a> JsAttributes<'a> {
    /// A configuration of a program in this folder.
    pub(super) fn new(request: &'static str, cwd: &'a Path) -> Self {
        let (kind, name) = ("pwa-node", "program");
        Self { kind, request, name, cwd, launch: None, workspace: None, roots: None }
    }

    /// The attributes as JSON.
    pub(super) fn into_value(self) -> Value {
        types::body(&self)
    }
}
