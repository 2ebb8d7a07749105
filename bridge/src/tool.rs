//! The definition of a tool: name, description, schemas and the function that executes it. Each group of
//! tools is a table in its own module under [`crate::tools`]; [`crate::catalog`] only lists the groups.

use std::pin::Pin;

use rmcp::model::Tool as Listed;
use serde::Serialize;
use serde_json::{Map, Value};
use tandem_wire::{Failure, types};

use crate::arguments::kind::{ArgumentType, ElementType};
use crate::arguments::schema::ArgumentSchema;
use crate::call::ToolCall;

/// Effect of a tool; becomes the MCP annotations, and decides whether `--read-only` offers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolEffect {
    /// Reads only: changes neither the program nor files.
    ReadOnly,
    /// Changes or runs something, and is not idempotent.
    Mutating,
    /// Changes something, and is idempotent.
    Idempotent,
    /// May destroy data, and is not idempotent.
    Destructive,
    /// May destroy data, and is idempotent.
    DestructiveIdempotent,
}

/// The use of a session's stop by a call. It decides about the order of calls ([`crate::call_order`]) and
/// about the arguments `waitFor` and `trigger`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopUse {
    /// Neither reads nor ends the stop.
    Independent,
    /// Needs the stop as it is when the call arrives, or decides where the next one is.
    Inspects,
    /// Waits for the next stop, and resumes nothing.
    Awaits,
    /// Ends the stop, and waits for the next one.
    Resumes,
    /// Ends the stop, and waits for the next one, where a later step begins.
    Steps,
    /// Makes another session the current one.
    Selects,
    /// Makes a new session the current one, and waits for its first stop.
    Launches,
    /// Ends the program, and waits for the first stop of the next.
    Restarts,
    /// Ends the session, or leaves it to its other clients.
    Leaves,
}

/// The future of one call.
pub type ToolFuture = Pin<Box<dyn Future<Output = Result<Value, Failure>> + Send>>;

/// A tool in a group's table.
#[derive(Clone, Copy)]
pub struct Tool {
    /// Name under which MCP lists it.
    pub name: &'static str,
    /// Part of `--tools core`.
    pub core: bool,
    /// Effect of a call, for the annotations and `--read-only`.
    pub effect: ToolEffect,
    /// The use of the stop by a call.
    pub stop: StopUse,
    /// When to use it and what it returns. A model reads it and pays for its tokens in each conversation.
    pub description: &'static str,
    /// Makes the schema of the `struct` of its arguments.
    pub input: fn() -> ArgumentSchema,
    /// Fields of the answer, without `success`, which every answer has: listing it
    /// would cost a model 400 tokens.
    pub output: &'static [AnswerField],
    /// The function that executes it; built with [`run!`].
    pub run: fn(ToolCall) -> ToolFuture,
}

/// A field of an answer.
#[derive(Clone, Copy)]
pub struct AnswerField {
    name: &'static str,
    kind: ArgumentType,
}

impl AnswerField {
    const fn new(name: &'static str, kind: ArgumentType) -> Self {
        Self { name, kind }
    }

    /// A field that is a string.
    pub const fn text(name: &'static str) -> Self {
        Self::new(name, ArgumentType::Text)
    }

    /// A field that is an integer.
    pub const fn integer(name: &'static str) -> Self {
        Self::new(name, ArgumentType::Integer)
    }

    /// A field that is true or false.
    pub const fn flag(name: &'static str) -> Self {
        Self::new(name, ArgumentType::Flag)
    }

    /// A field that is an object.
    pub const fn object(name: &'static str) -> Self {
        Self::new(name, ArgumentType::Object)
    }

    /// A field that is a list.
    pub const fn list(name: &'static str) -> Self {
        Self::new(name, ArgumentType::List(ElementType::Any))
    }

    /// A field that is a list of strings.
    pub const fn texts(name: &'static str) -> Self {
        Self::new(name, ArgumentType::List(ElementType::Text))
    }
}

/// Tools that belong together.
pub struct ToolGroup {
    /// Name of the group for users.
    pub name: &'static str,
    /// Its tools, in the order of the list.
    pub tools: &'static [Tool],
}

/// Makes an `async fn(&ToolCall, T, …) -> Result<Value, Failure>` the `run` of a [`Tool`]; `T` is the
/// `struct` of its arguments.
macro_rules! run {
    ($function:path $(, $more:expr)*) => {
        |call| Box::pin(async move {
            let arguments = call.arguments.parse()?;
            $function(&call, arguments $(, $more)*).await
        })
    };
}
pub(crate) use run;

/// A tool as MCP lists it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ListedTool {
    name: &'static str,
    description: &'static str,
    input_schema: Value,
    output_schema: AnswerSchema,
    annotations: EffectHints,
}

/// The schema of an answer.
#[derive(Serialize)]
struct AnswerSchema {
    #[serde(rename = "type")]
    kind: &'static str,
    properties: Map<String, Value>,
}

/// MCP's annotations of a tool.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EffectHints {
    #[serde(skip_serializing_if = "Option::is_none")]
    read_only_hint: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    destructive_hint: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idempotent_hint: Option<bool>,
}

impl ToolEffect {
    /// Whether `--read-only` offers such a tool.
    pub fn is_read_only(self) -> bool {
        self == Self::ReadOnly
    }

    /// MCP annotations, without those that equal MCP's defaults.
    fn annotations(self) -> EffectHints {
        let hints = |read_only_hint, destructive_hint, idempotent_hint| EffectHints {
            read_only_hint,
            destructive_hint,
            idempotent_hint,
        };
        match self {
            Self::ReadOnly => hints(Some(true), None, None),
            Self::Mutating => hints(None, Some(false), None),
            Self::Idempotent => hints(None, Some(false), Some(true)),
            Self::Destructive => hints(None, Some(true), None),
            Self::DestructiveIdempotent => hints(None, Some(true), Some(true)),
        }
    }
}

impl StopUse {
    /// Whether a call that ends the stop must wait for such a call.
    pub fn needs_stop(self) -> bool {
        matches!(self, Self::Inspects | Self::Steps)
    }

    /// Whether a call answers with the next stop, and so takes `waitFor` and `trigger`.
    pub fn waits_for_stop(self) -> bool {
        matches!(self, Self::Awaits | Self::Resumes | Self::Steps | Self::Launches | Self::Restarts)
    }
}

impl Tool {
    /// The names of the shared arguments that it takes.
    pub fn shared_names(&self) -> &'static [&'static str] {
        if self.stop.waits_for_stop() { &["session", "waitFor", "trigger"] } else { &["session"] }
    }

    /// Converts it to MCP's form; `None` when its tables are wrong, which a test excludes.
    ///
    /// The description of `debug_sessions` explains the argument `session` for all debugging tools: in each
    /// schema it would cost a model 300 tokens.
    pub fn to_mcp(&self) -> Option<Listed> {
        let output: Map<String, Value> =
            self.output.iter().map(|field| (field.name.to_owned(), field.kind.schema())).collect();
        let tool = ListedTool {
            name: self.name,
            description: self.description,
            input_schema: (self.input)().listed(),
            output_schema: AnswerSchema { kind: "object", properties: output },
            annotations: self.effect.annotations(),
        };
        serde_json::from_value(types::body(&tool)).ok()
    }
}
