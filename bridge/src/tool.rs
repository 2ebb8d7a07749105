//! The definition of a tool: name, description, schemas and the function that executes it. Each group of
//! tools is a table in its own module under [`crate::tools`]; [`crate::catalog`] only lists the groups.

use std::pin::Pin;

use dap_wire::Failure;
use rmcp::model::Tool as Listed;
use serde_json::{Map, Value, json};

use crate::arguments::kind::ArgumentType;
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

/// The future of one call.
pub type ToolFuture = Pin<Box<dyn Future<Output = Result<Value, Failure>> + Send>>;

/// A tool in a group's table.
///
/// Schemas are written `name:type`, with `!` after the type when required and `=meaning` (or `=default`)
/// at the end. Types: `s` string, `i` integer, `n` number, `b` boolean, `a` array, `o` object, `x`
/// integer or string; `as`, `ao`, `ai` arrays of these. `so` is a string and `os` an object that may also
/// be written the other way; `sa` is a string or a list of them. `0` after the type: an empty value is
/// distinct from an absent one.
#[derive(Clone, Copy)]
pub struct Tool {
    /// Name under which MCP lists it.
    pub name: &'static str,
    /// Part of `--tools core`.
    pub core: bool,
    /// Effect of a call, for the annotations and `--read-only`.
    pub effect: ToolEffect,
    /// When to use it and what it returns. A model reads it and pays for its tokens in each conversation.
    pub description: &'static str,
    /// Parameters, one string for each.
    pub input: &'static [&'static str],
    /// Fields of the answer, without `success`, which every answer has: listing it
    /// would cost a model 400 tokens.
    pub output: &'static [&'static str],
    /// The function that executes it; built with [`run!`].
    pub run: fn(ToolCall) -> ToolFuture,
}

/// Tools that belong together.
pub struct ToolGroup {
    /// Name of the group for users.
    pub name: &'static str,
    /// Its tools, in the order of the list.
    pub tools: &'static [Tool],
}

/// Makes an `async fn(&ToolCall, …) -> Result<Value, Failure>` the `run` of a [`Tool`].
macro_rules! run {
    ($function:path $(, $more:expr)*) => {
        |call| Box::pin(async move { $function(&call $(, $more)*).await })
    };
}
pub(crate) use run;

impl ToolEffect {
    /// Whether `--read-only` offers such a tool.
    pub fn is_read_only(self) -> bool {
        self == Self::ReadOnly
    }

    /// MCP annotations, without those that equal MCP's defaults.
    fn annotations(self) -> Value {
        match self {
            Self::ReadOnly => json!({ "readOnlyHint": true }),
            Self::Mutating => json!({ "destructiveHint": false }),
            Self::Idempotent => json!({ "destructiveHint": false, "idempotentHint": true }),
            Self::Destructive => json!({ "destructiveHint": true }),
            Self::DestructiveIdempotent => json!({ "destructiveHint": true, "idempotentHint": true }),
        }
    }
}

impl Tool {
    /// The names of its parameters.
    pub fn parameters(&self) -> impl Iterator<Item = &'static str> {
        self.input.iter().filter_map(|field| field.split(':').next())
    }

    /// The names of its parameters with their kinds, and whether an empty value has a meaning.
    pub fn kinds(&self) -> impl Iterator<Item = (&'static str, ArgumentType, bool)> {
        self.input.iter().filter_map(|field| {
            let (name, rest) = field.split_once(':')?;
            let letters = rest.split('=').next().unwrap_or(rest).trim_end_matches('!');
            let (kind, empty_counts) = ArgumentType::parse(letters)?;
            Some((name, kind, empty_counts))
        })
    }

    /// Converts it to MCP's form; `None` when its tables are wrong, which a test excludes.
    ///
    /// The description of `debug_sessions` explains the argument `session` for all debugging tools: in each
    /// schema it would cost a model 300 tokens.
    pub fn to_mcp(&self) -> Option<Listed> {
        let input = schema(self.input.iter().copied())?;
        let output = schema(self.output.iter().copied())?;
        let tool = json!({ "name": self.name, "description": self.description, "inputSchema": input,
            "outputSchema": output, "annotations": self.effect.annotations() });
        serde_json::from_value(tool).ok()
    }
}

fn schema<'a>(fields: impl Iterator<Item = &'a str>) -> Option<Value> {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for field in fields {
        let (name, rest) = field.split_once(':')?;
        let (kind, meaning) = rest.split_once('=').map_or((rest, None), |(kind, text)| (kind, Some(text)));
        if kind.ends_with('!') {
            required.push(name);
        }
        let mut property = ArgumentType::parse(kind.trim_end_matches('!'))?.0.schema();
        if let Some(meaning) = meaning {
            // A bare number or truth value is the default.
            match serde_json::from_str(meaning) {
                Ok(default @ (Value::Number(_) | Value::Bool(_))) => property["default"] = default,
                _ => property["description"] = json!(meaning),
            }
        }
        properties.insert(name.into(), property);
    }
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    Some(schema)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_written_in_one_line_per_field() {
        let made = schema(["file:s!=where", "lines:as", "start:x", "count:i=20"].into_iter()).unwrap();
        let expected = json!({ "type": "object", "properties": {
            "file": { "type": "string", "description": "where" },
            "lines": { "type": "array", "items": { "type": "string" } }, "start": { "type": ["integer",
                "string"] },
            "count": { "type": "integer", "default": 20 } }, "required": ["file"] });
        assert_eq!(made, expected);
        assert_eq!(schema(["file:q"].into_iter()), None);
    }
}
