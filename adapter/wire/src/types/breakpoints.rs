//! A breakpoint of a request, of any kind, with the fields that Tandem adds. Clients send it, and the hub
//! reads it strictly: a field with another type is refused.
//!
//! Not here: the breakpoint as an engine reports it ([`super::Breakpoint`]).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The message of a breakpoint in code that did not bind, if the engine does not say why.
pub const UNBOUND: &str = "no loaded code is there yet; it binds when such code is loaded";

/// One breakpoint that a client requests: DAP `SourceBreakpoint`, `FunctionBreakpoint`, `DataBreakpoint`,
/// `InstructionBreakpoint`, `ExceptionFilterOptions` (a bare filter has only its id) or
/// `ExceptionOptions` (all in `rest`).
///
/// Fields that do not change its meaning are absent, so equal requests mean the same.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BreakpointRequest {
    /// The line in the source, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<i64>,
    /// The column in the line, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<i64>,
    /// The location, if it is not a line.
    #[serde(flatten)]
    pub target: BreakpointTarget,
    /// The condition under which it stops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// The hits at which it stops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hit_condition: Option<String>,
    /// The message that it logs instead of stopping.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_message: Option<String>,
    /// One of the capability's `breakpointModes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Tandem's own field: the assembly in which it binds; .NET only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module_path: Option<String>,
    /// Tandem's own field: expressions to evaluate at each hit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceRequest>,
    /// Fields that Tandem does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// The location of a breakpoint that is not at a line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BreakpointTarget {
    /// The name of the function at whose beginning it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What `dataBreakpointInfo` returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_id: Option<String>,
    /// `read`, `write` or `readWrite`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_type: Option<String>,
    /// Address of an instruction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instruction_reference: Option<String>,
    /// Offset from `instruction_reference`, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
    /// Id of an exception filter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter_id: Option<String>,
}

/// Expressions to evaluate at each hit, and the hit at which the program stops.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TraceRequest {
    /// Expressions to evaluate, 1 to 20.
    pub expressions: Vec<String>,
    /// The hit, from 1, at which the program stops; never when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hits: Option<u64>,
    /// Breakpoints of one owner with the same group count their hits together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Fields that Tandem does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

impl BreakpointRequest {
    /// A breakpoint at a line of a source.
    pub fn at_line(line: u64) -> Self {
        Self { line: i64::try_from(line).ok(), ..Self::default() }
    }

    /// A breakpoint at the beginning of a function.
    pub fn at_function(name: &str) -> Self {
        let target = BreakpointTarget { name: Some(name.to_owned()), ..BreakpointTarget::default() };
        Self { target, ..Self::default() }
    }

    /// An exception filter without a condition.
    pub fn filter(filter_id: &str) -> Self {
        let target =
            BreakpointTarget { filter_id: Some(filter_id.to_owned()), ..BreakpointTarget::default() };
        Self { target, ..Self::default() }
    }

    /// Whether nothing but the location matters: it stops each time.
    pub fn is_plain(&self) -> bool {
        self.condition.is_none()
            && self.hit_condition.is_none()
            && self.log_message.is_none()
            && self.trace.is_none()
    }
}
