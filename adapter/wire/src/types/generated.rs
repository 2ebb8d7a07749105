//! Types of the Debug Adapter Protocol as its schema has them. Written by `generate.py`; do not edit.
#![allow(missing_docs, reason = "the specification documents the fields")]

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{optional, required};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Breakpoint {
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub id: Option<i64>,
    #[serde(deserialize_with = "required")]
    pub verified: bool,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub line: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub column: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub end_line: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub end_column: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub instruction_reference: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct BreakpointEventBody {
    #[serde(deserialize_with = "required")]
    pub reason: String,
    #[serde(deserialize_with = "required")]
    pub breakpoint: Breakpoint,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct BreakpointLocation {
    #[serde(deserialize_with = "required")]
    pub line: i64,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub column: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub end_line: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub end_column: Option<i64>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct BreakpointLocationsArguments {
    #[serde(deserialize_with = "required")]
    pub source: Source,
    #[serde(deserialize_with = "required")]
    pub line: i64,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub column: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub end_line: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub end_column: Option<i64>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct BreakpointLocationsResponseBody {
    #[serde(deserialize_with = "required")]
    pub breakpoints: Vec<BreakpointLocation>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CancelArguments {
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub request_id: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub progress_id: Option<String>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CapabilitiesEventBody {
    #[serde(deserialize_with = "required")]
    pub capabilities: Value,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DapChecksum {
    #[serde(deserialize_with = "required")]
    pub algorithm: String,
    #[serde(deserialize_with = "required")]
    pub checksum: String,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CompletionItem {
    #[serde(deserialize_with = "required")]
    pub label: String,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub sort_text: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    #[serde(rename = "type", deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub kind: Option<Value>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub start: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub length: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub selection_start: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub selection_length: Option<i64>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CompletionsArguments {
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub frame_id: Option<i64>,
    #[serde(deserialize_with = "required")]
    pub text: String,
    #[serde(deserialize_with = "required")]
    pub column: i64,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub line: Option<i64>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CompletionsResponseBody {
    #[serde(deserialize_with = "required")]
    pub targets: Vec<CompletionItem>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ContinueResponseBody {
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub all_threads_continued: Option<bool>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ContinuedEventBody {
    #[serde(deserialize_with = "required")]
    pub thread_id: i64,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub all_threads_continued: Option<bool>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DataBreakpointInfoResponseBody {
    #[serde(deserialize_with = "required")]
    pub data_id: Value,
    #[serde(deserialize_with = "required")]
    pub description: String,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub access_types: Option<Vec<String>>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub can_persist: Option<bool>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DisassembleArguments {
    #[serde(deserialize_with = "required")]
    pub memory_reference: String,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub instruction_offset: Option<i64>,
    #[serde(deserialize_with = "required")]
    pub instruction_count: i64,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub resolve_symbols: Option<bool>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DisassembleResponseBody {
    #[serde(deserialize_with = "required")]
    pub instructions: Vec<DisassembledInstruction>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DisassembledInstruction {
    #[serde(deserialize_with = "required")]
    pub address: String,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub instruction_bytes: Option<String>,
    #[serde(deserialize_with = "required")]
    pub instruction: String,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub location: Option<Source>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub line: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub column: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub end_line: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub end_column: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub presentation_hint: Option<String>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DisconnectArguments {
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub restart: Option<bool>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub terminate_debuggee: Option<bool>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub suspend_debuggee: Option<bool>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct EvaluateArguments {
    #[serde(deserialize_with = "required")]
    pub expression: String,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub frame_id: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub line: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub column: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub format: Option<ValueFormat>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct EvaluateResponseBody {
    #[serde(deserialize_with = "required")]
    pub result: String,
    #[serde(rename = "type", deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub presentation_hint: Option<VariablePresentationHint>,
    #[serde(deserialize_with = "required")]
    pub variables_reference: i64,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub named_variables: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub indexed_variables: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub memory_reference: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub value_location_reference: Option<i64>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ExceptionDetails {
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub type_name: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub full_type_name: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub evaluate_name: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub stack_trace: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub inner_exception: Option<Vec<ExceptionDetails>>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ExceptionFilterOptions {
    #[serde(deserialize_with = "required")]
    pub filter_id: String,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ExceptionInfoArguments {
    #[serde(deserialize_with = "required")]
    pub thread_id: i64,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ExceptionInfoResponseBody {
    #[serde(deserialize_with = "required")]
    pub exception_id: String,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(deserialize_with = "required")]
    pub break_mode: String,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub details: Option<ExceptionDetails>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GotoTarget {
    #[serde(deserialize_with = "required")]
    pub id: i64,
    #[serde(deserialize_with = "required")]
    pub label: String,
    #[serde(deserialize_with = "required")]
    pub line: i64,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub column: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub end_line: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub end_column: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub instruction_pointer_reference: Option<String>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GotoTargetsArguments {
    #[serde(deserialize_with = "required")]
    pub source: Source,
    #[serde(deserialize_with = "required")]
    pub line: i64,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub column: Option<i64>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GotoTargetsResponseBody {
    #[serde(deserialize_with = "required")]
    pub targets: Vec<GotoTarget>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct InitializeRequestArguments {
    #[serde(rename = "clientID", deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub client_name: Option<String>,
    #[serde(rename = "adapterID", deserialize_with = "required")]
    pub adapter_id: String,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub lines_start_at1: Option<bool>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub columns_start_at1: Option<bool>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub path_format: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub supports_variable_type: Option<bool>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub supports_variable_paging: Option<bool>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub supports_run_in_terminal_request: Option<bool>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub supports_memory_references: Option<bool>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub supports_progress_reporting: Option<bool>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub supports_invalidated_event: Option<bool>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub supports_memory_event: Option<bool>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub supports_args_can_be_interpreted_by_shell: Option<bool>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub supports_start_debugging_request: Option<bool>,
    #[serde(
        rename = "supportsANSIStyling",
        deserialize_with = "optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub supports_ansi_styling: Option<bool>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct InvalidatedEventBody {
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub areas: Option<Vec<String>>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub stack_frame_id: Option<i64>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct LoadedSourceEventBody {
    #[serde(deserialize_with = "required")]
    pub reason: String,
    #[serde(deserialize_with = "required")]
    pub source: Source,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct LoadedSourcesResponseBody {
    #[serde(deserialize_with = "required")]
    pub sources: Vec<Source>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DapModule {
    #[serde(deserialize_with = "required")]
    pub id: Value,
    #[serde(deserialize_with = "required")]
    pub name: String,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub is_optimized: Option<bool>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub is_user_code: Option<bool>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub symbol_status: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub symbol_file_path: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub date_time_stamp: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub address_range: Option<String>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ModuleEventBody {
    #[serde(deserialize_with = "required")]
    pub reason: String,
    #[serde(deserialize_with = "required")]
    pub module: DapModule,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DapModulesArguments {
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub start_module: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub module_count: Option<i64>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ModulesResponseBody {
    #[serde(deserialize_with = "required")]
    pub modules: Vec<DapModule>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub total_modules: Option<i64>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct OutputEventBody {
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    #[serde(deserialize_with = "required")]
    pub output: String,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub variables_reference: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub line: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub column: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub location_reference: Option<i64>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ProcessEventBody {
    #[serde(deserialize_with = "required")]
    pub name: String,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub system_process_id: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub is_local_process: Option<bool>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub start_method: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub pointer_size: Option<i64>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ProgressEndEventBody {
    #[serde(deserialize_with = "required")]
    pub progress_id: String,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ProgressStartEventBody {
    #[serde(deserialize_with = "required")]
    pub progress_id: String,
    #[serde(deserialize_with = "required")]
    pub title: String,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub request_id: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub cancellable: Option<bool>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub percentage: Option<i64>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ProgressUpdateEventBody {
    #[serde(deserialize_with = "required")]
    pub progress_id: String,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub percentage: Option<i64>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ReadMemoryArguments {
    #[serde(deserialize_with = "required")]
    pub memory_reference: String,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
    #[serde(deserialize_with = "required")]
    pub count: i64,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ReadMemoryResponseBody {
    #[serde(deserialize_with = "required")]
    pub address: String,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub unreadable_bytes: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RunInTerminalRequestArguments {
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(deserialize_with = "required")]
    pub cwd: String,
    #[serde(deserialize_with = "required")]
    pub args: Vec<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub env: Option<Value>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub args_can_be_interpreted_by_shell: Option<bool>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RunInTerminalResponseBody {
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub process_id: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub shell_process_id: Option<i64>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DapScope {
    #[serde(deserialize_with = "required")]
    pub name: String,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub presentation_hint: Option<String>,
    #[serde(deserialize_with = "required")]
    pub variables_reference: i64,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub named_variables: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub indexed_variables: Option<i64>,
    #[serde(deserialize_with = "required")]
    pub expensive: bool,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub line: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub column: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub end_line: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub end_column: Option<i64>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ScopesArguments {
    #[serde(deserialize_with = "required")]
    pub frame_id: i64,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ScopesResponseBody {
    #[serde(deserialize_with = "required")]
    pub scopes: Vec<DapScope>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SetBreakpointsResponseBody {
    #[serde(deserialize_with = "required")]
    pub breakpoints: Vec<Breakpoint>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SetExceptionBreakpointsArguments {
    #[serde(deserialize_with = "required")]
    pub filters: Vec<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub filter_options: Option<Vec<ExceptionFilterOptions>>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub exception_options: Option<Vec<Value>>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SetExceptionBreakpointsResponseBody {
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub breakpoints: Option<Vec<Breakpoint>>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SetVariableArguments {
    #[serde(deserialize_with = "required")]
    pub variables_reference: i64,
    #[serde(deserialize_with = "required")]
    pub name: String,
    #[serde(deserialize_with = "required")]
    pub value: String,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub format: Option<ValueFormat>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SetVariableResponseBody {
    #[serde(deserialize_with = "required")]
    pub value: String,
    #[serde(rename = "type", deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub variables_reference: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub named_variables: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub indexed_variables: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub memory_reference: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub value_location_reference: Option<i64>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Source {
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub source_reference: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub presentation_hint: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub sources: Option<Vec<Source>>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub adapter_data: Option<Value>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub checksums: Option<Vec<DapChecksum>>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DapSourceArguments {
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    #[serde(deserialize_with = "required")]
    pub source_reference: i64,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SourceBreakpoint {
    #[serde(deserialize_with = "required")]
    pub line: i64,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub column: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub hit_condition: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub log_message: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SourceResponseBody {
    #[serde(deserialize_with = "required")]
    pub content: String,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct StackFrame {
    #[serde(deserialize_with = "required")]
    pub id: i64,
    #[serde(deserialize_with = "required")]
    pub name: String,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    #[serde(deserialize_with = "required")]
    pub line: i64,
    #[serde(deserialize_with = "required")]
    pub column: i64,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub end_line: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub end_column: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub can_restart: Option<bool>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub instruction_pointer_reference: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub module_id: Option<Value>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub presentation_hint: Option<String>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct StackTraceArguments {
    #[serde(deserialize_with = "required")]
    pub thread_id: i64,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub start_frame: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub levels: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub format: Option<Value>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct StackTraceResponseBody {
    #[serde(deserialize_with = "required")]
    pub stack_frames: Vec<StackFrame>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub total_frames: Option<i64>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct StartDebuggingRequestArguments {
    #[serde(deserialize_with = "required")]
    pub configuration: Value,
    #[serde(deserialize_with = "required")]
    pub request: String,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct StepInTarget {
    #[serde(deserialize_with = "required")]
    pub id: i64,
    #[serde(deserialize_with = "required")]
    pub label: String,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub line: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub column: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub end_line: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub end_column: Option<i64>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct StepInTargetsResponseBody {
    #[serde(deserialize_with = "required")]
    pub targets: Vec<StepInTarget>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct StoppedEventBody {
    #[serde(deserialize_with = "required")]
    pub reason: String,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub preserve_focus_hint: Option<bool>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub all_threads_stopped: Option<bool>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub hit_breakpoint_ids: Option<Vec<i64>>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DapThread {
    #[serde(deserialize_with = "required")]
    pub id: i64,
    #[serde(deserialize_with = "required")]
    pub name: String,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ThreadEventBody {
    #[serde(deserialize_with = "required")]
    pub reason: String,
    #[serde(deserialize_with = "required")]
    pub thread_id: i64,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ThreadsResponseBody {
    #[serde(deserialize_with = "required")]
    pub threads: Vec<DapThread>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ValueFormat {
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub hex: Option<bool>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DapVariable {
    #[serde(deserialize_with = "required")]
    pub name: String,
    #[serde(deserialize_with = "required")]
    pub value: String,
    #[serde(rename = "type", deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub presentation_hint: Option<VariablePresentationHint>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub evaluate_name: Option<String>,
    #[serde(deserialize_with = "required")]
    pub variables_reference: i64,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub named_variables: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub indexed_variables: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub memory_reference: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub declaration_location_reference: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub value_location_reference: Option<i64>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct VariablePresentationHint {
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub attributes: Option<Vec<String>>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub visibility: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub lazy: Option<bool>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct VariablesArguments {
    #[serde(deserialize_with = "required")]
    pub variables_reference: i64,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub start: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub count: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub format: Option<ValueFormat>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct VariablesResponseBody {
    #[serde(deserialize_with = "required")]
    pub variables: Vec<DapVariable>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct WriteMemoryArguments {
    #[serde(deserialize_with = "required")]
    pub memory_reference: String,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub allow_partial: Option<bool>,
    #[serde(deserialize_with = "required")]
    pub data: String,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct WriteMemoryResponseBody {
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub bytes_written: Option<i64>,
    /// Fields that the schema does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}
