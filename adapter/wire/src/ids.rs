//! The fields of DAP bodies and arguments that are ids of the debug adapter, and the kinds of objects that
//! they identify.
//!
//! Only the field name decides, so bodies that no schema knows are covered too. Lists whose items have a
//! plain `id` are a column of the command table ([`crate::command`]). Not here: breakpoint ids, and the
//! translation of ids (the hub).

/// The kind of object that an id identifies. Frames and variables of one adapter may share numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IdKind {
    /// `frameId`, `StackFrame.id`.
    Frame,
    /// `variablesReference`.
    Variables,
    /// `sourceReference`; valid for the whole session.
    Source,
    /// `GotoTarget.id`, `StepInTarget.id`, `targetId`.
    Target,
    /// `locationReference`, `declarationLocationReference`, `valueLocationReference`.
    Location,
}

impl IdKind {
    /// The kind of id in a field of this name, at any level of a body.
    pub fn of_key(key: &str) -> Option<Self> {
        match key {
            "frameId" => Some(Self::Frame),
            "variablesReference" => Some(Self::Variables),
            "sourceReference" => Some(Self::Source),
            "targetId" => Some(Self::Target),
            "locationReference" | "declarationLocationReference" | "valueLocationReference" => {
                Some(Self::Location)
            }
            _ => None,
        }
    }

    /// The noun for messages to users.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Frame => "frame",
            Self::Variables => "variables reference",
            Self::Source => "source reference",
            Self::Target => "target",
            Self::Location => "location reference",
        }
    }
}
