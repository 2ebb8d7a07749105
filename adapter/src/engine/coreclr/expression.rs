//! What people type: names, member paths, indexers, calls, literals, and operators on primitives, in C#.
//!
//! Parsed with the C# grammar of tree-sitter, evaluated over [`Path`]s and constants. In reading order: [`parse`], [`walk`]
//! (what each kind of expression means), [`members`], [`calling`], [`operators`], [`constant`], [`assignment`].

mod assignment;
mod calling;
mod constant;
mod members;
mod operators;
mod parse;
mod walk;

use std::sync::mpsc::Receiver;

use cordebug::value::Value as ClrValue;
use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};

use super::session::{Input, Session};
use super::values::Path;
use constant::Constant;

pub(crate) enum Found {
    At(Path),
    Constant(Constant),
    /// A primitive or struct a call gave; shown at once.
    Value(ClrValue),
    Nothing,
}

pub(crate) fn failed(message: impl Into<String>) -> Failure {
    Failure::new(ErrorCode::EvaluationFailed, message)
}

impl Session {
    pub(super) fn evaluate(&mut self, arguments: &Value, inputs: &Receiver<Input>) -> Result<Value, Failure> {
        let text = arguments["expression"].as_str().unwrap_or_default();
        let (thread, frame) = match &arguments["frameId"] {
            Value::Null => (self.thread_of(&Value::Null)?, 0),
            id => id
                .as_i64()
                .and_then(|id| self.references.frame_of(id))
                .ok_or_else(|| Failure::invalid(format!("there is no frame {id}")))?,
        };
        let found = self.find(text, thread, frame, inputs)?;
        self.answer_with(found, text)
    }

    fn answer_with(&mut self, found: Found, text: &str) -> Result<Value, Failure> {
        let path = match found {
            Found::Constant(constant) => {
                let (result, kind) = constant.shown();
                return Ok(json!({ "result": result, "type": kind, "variablesReference": 0 }));
            }
            Found::Nothing => return Ok(json!({ "result": "", "type": "void", "variablesReference": 0 })),
            Found::Value(value) => {
                let shown = self.show(&value);
                return Ok(json!({ "result": shown.text, "type": shown.kind, "variablesReference": 0 }));
            }
            Found::At(path) => Path { name: text.trim().to_owned(), ..path },
        };
        let value = self.fetch(&path)?;
        let shown = self.show(&value);
        let mut answer = json!({ "result": shown.text, "type": shown.kind });
        self.open(&mut answer, &shown, &path);
        Ok(answer)
    }

    /// For log messages.
    pub(super) fn evaluate_to_text(
        &mut self,
        text: &str,
        thread: u32,
        inputs: &Receiver<Input>,
    ) -> Result<String, Failure> {
        let found = self.find(text, thread, 0, inputs)?;
        if let Found::Constant(Constant::Text(text)) = found {
            return Ok(text);
        }
        let answer = self.answer_with(found, text)?;
        let result = answer["result"].as_str().unwrap_or_default();
        // A string in a message needs no quotes.
        Ok(if answer["type"] == "string" { result.trim_matches('"').to_owned() } else { result.to_owned() })
    }

    /// For conditions of breakpoints.
    pub(super) fn condition_holds(
        &mut self,
        text: &str,
        thread: u32,
        inputs: &Receiver<Input>,
    ) -> Result<bool, Failure> {
        let found = self.find(text, thread, 0, inputs)?;
        match self.constant(found)? {
            Constant::Bool(holds) => Ok(holds),
            other => Err(failed(format!("it is {}, not true or false", other.shown().0))),
        }
    }
}
