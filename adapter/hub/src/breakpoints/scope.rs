//! The scope of a DAP request that sets breakpoints: everything that the request replaces.
//!
//! Not here: the breakpoints in it ([`super::scope_breakpoints`]).

use tandem_wire::command::{self, CommandSpec};
use tandem_wire::types::{BreakpointRequest, BreakpointTarget};

/// The breakpoints that one DAP request replaces as a whole.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum BreakpointScope {
    /// `setBreakpoints` of a file, by its normalized path.
    Source(String),
    /// `setBreakpoints` of a source without a file, by the engine's `sourceReference`.
    Reference(i64),
    /// `setFunctionBreakpoints`.
    Functions,
    /// `setExceptionBreakpoints`.
    Exceptions,
    /// `setDataBreakpoints`.
    Data,
    /// `setInstructionBreakpoints`.
    Instructions,
}

impl BreakpointScope {
    /// The part of a request with the location: a plain breakpoint there.
    pub fn location(&self, request: &BreakpointRequest) -> BreakpointRequest {
        let nowhere = BreakpointRequest::default();
        let of = |target| BreakpointRequest { target, ..BreakpointRequest::default() };
        let target = request.target.clone();
        match self {
            Self::Source(_) | Self::Reference(_) => BreakpointRequest {
                line: request.line,
                column: request.column,
                mode: request.mode.clone(),
                ..nowhere
            },
            Self::Functions => of(BreakpointTarget { name: target.name, ..BreakpointTarget::default() }),
            Self::Data => of(BreakpointTarget { data_id: target.data_id, ..BreakpointTarget::default() }),
            Self::Instructions => BreakpointRequest {
                target: BreakpointTarget {
                    instruction_reference: target.instruction_reference,
                    offset: target.offset,
                    ..BreakpointTarget::default()
                },
                mode: request.mode.clone(),
                ..nowhere
            },
            Self::Exceptions => {
                of(BreakpointTarget { filter_id: target.filter_id, ..BreakpointTarget::default() })
            }
        }
    }

    /// The scope of a file: two spellings of one path are one scope. Links are not
    /// followed: the hub does no I/O.
    pub fn of_path(path: &str) -> Self {
        if !path.starts_with('/') {
            return Self::Source(path.to_owned());
        }
        let mut parts: Vec<&str> = Vec::new();
        for part in path.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop()),
                part => parts.push(part),
            }
        }
        Self::Source(format!("/{}", parts.join("/")))
    }

    /// The DAP request that sets it.
    pub fn command(&self) -> &'static str {
        match self {
            Self::Source(_) | Self::Reference(_) => "setBreakpoints",
            Self::Functions => "setFunctionBreakpoints",
            Self::Exceptions => "setExceptionBreakpoints",
            Self::Data => "setDataBreakpoints",
            Self::Instructions => "setInstructionBreakpoints",
        }
    }

    /// The capability an engine needs for it; sources and exceptions need none.
    pub fn capability(&self) -> Option<&'static str> {
        command::find(self.command()).and_then(CommandSpec::capability)
    }

    /// Whether an editor can show another client's breakpoint there: only lines have a margin.
    pub fn has_lines(&self) -> bool {
        matches!(self, Self::Source(_) | Self::Reference(_))
    }
}
