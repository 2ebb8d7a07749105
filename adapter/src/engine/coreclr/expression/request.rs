//! What clients ask: `evaluate`, and the texts and truths that breakpoints need.

use std::sync::mpsc::Receiver;

use dap_wire::Failure;
use serde_json::{Value, json};

use super::parse::Format;
use super::{Constant, Data, Found, Val, failed};
use crate::engine::coreclr::calls::{CALL_LIMIT, Site};
use crate::engine::coreclr::session::{Input, Session};
use crate::engine::coreclr::stack::MARK;
use crate::engine::coreclr::values::Path;

impl Session {
    /// The thread and frame a request means: `frameId`, else the top of the stop's thread.
    pub(crate) fn frame_asked(&self, arguments: &Value) -> Result<(u32, usize), Failure> {
        match &arguments["frameId"] {
            Value::Null => Ok((self.thread_of(&Value::Null)?, 0)),
            id => {
                let known = id.as_i64().and_then(|id| self.references.frame_of(id));
                known.map_or(Ok(()), |(_, frame)| Self::is_alive(frame))?;
                known
                    .filter(|(_, frame)| *frame < MARK)
                    .ok_or_else(|| Failure::invalid(format!("there is no frame {id}")))
            }
        }
    }

    pub(crate) fn evaluate(&mut self, arguments: &Value, inputs: &Receiver<Input>) -> Result<Value, Failure> {
        let text = arguments["expression"].as_str().unwrap_or_default();
        let (thread, frame) = self.frame_asked(arguments)?;
        let site = Site {
            thread,
            frame,
            inputs,
            runs: arguments["context"] != "hover",
            supposes: false,
            limit: CALL_LIMIT,
        };
        let (text, mut format) = Format::split(text);
        format.hex |= arguments["format"]["hex"] == true;
        format.copies = arguments["context"] == "clipboard";
        let found = self.find(text, &site)?;
        self.answer_with(found, text, &format, &site)
    }

    fn answer_with(
        &mut self,
        found: Found,
        text: &str,
        format: &Format,
        site: &Site<'_>,
    ) -> Result<Value, Failure> {
        let val = match found {
            Found::Val(val) => val,
            Found::Skipped => Val::null(),
            Found::Nothing => return Ok(json!({ "result": "", "type": "void", "variablesReference": 0 })),
            Found::Type(ty) => return self.answer_with_type(&ty),
            Found::Namespace(name) => return Err(failed(format!("`{name}` is a namespace"))),
            Found::Group { ty, name, .. } => {
                let hint = format!("call it: `{}(…)`", text.trim());
                return Err(failed(format!("`{name}` is a method of `{}`", self.csharp(&ty))).hint(hint));
            }
        };
        match val.data {
            Data::Constant(constant) => {
                let shown = self.show_constant(&constant, &val.ty, format);
                Ok(json!({ "result": shown.text, "type": shown.kind, "variablesReference": 0 }))
            }
            Data::At(path) => {
                let path = Path { name: text.trim().to_owned(), ..path };
                let (mut shown, more) = self.present(&path, format, site)?;
                // What `a?.b` gives may be null, though what it was got from may not.
                if self.nullable(&val.ty).is_some_and(|inner| self.csharp(&inner) == shown.kind) {
                    shown.kind = self.csharp(&val.ty);
                }
                let mut answer = json!({ "result": shown.text, "type": shown.kind });
                self.open(&mut answer, &shown, &path, format);
                if let (Some(answer), Some(more)) = (answer.as_object_mut(), more.as_object()) {
                    answer.extend(more.clone());
                }
                Ok(answer)
            }
        }
    }

    /// For log messages: strings without quotes.
    pub(crate) fn evaluate_to_text(
        &mut self,
        text: &str,
        thread: u32,
        inputs: &Receiver<Input>,
    ) -> Result<String, Failure> {
        let site = Site { thread, frame: 0, inputs, runs: true, supposes: false, limit: CALL_LIMIT };
        let (text, format) = Format::split(text);
        let kept = self.references.kept();
        let found = self.find(text, &site)?;
        let told = match found {
            Found::Val(val) => match self.load(&val)? {
                Some(Constant::Text(text)) => Ok(text),
                _ => {
                    let answer = self.answer_with(Found::Val(val), text, &format, &site)?;
                    Ok(answer["result"].as_str().unwrap_or_default().to_owned())
                }
            },
            other => {
                let answer = self.answer_with(other, text, &format, &site)?;
                Ok(answer["result"].as_str().unwrap_or_default().to_owned())
            }
        };
        // A log point in a loop must not pile objects up in the program.
        self.references.release_from(kept);
        told
    }

    /// For conditions of breakpoints.
    pub(crate) fn condition_holds(
        &mut self,
        text: &str,
        thread: u32,
        inputs: &Receiver<Input>,
    ) -> Result<bool, Failure> {
        let site = Site { thread, frame: 0, inputs, runs: true, supposes: false, limit: CALL_LIMIT };
        let kept = self.references.kept();
        let found = self.find(text, &site)?;
        let constant = match found {
            Found::Val(val) => self.load(&val)?,
            _ => None,
        };
        self.references.release_from(kept);
        match constant {
            Some(Constant::Bool(holds)) => Ok(holds),
            Some(other) => Err(failed(format!("it is {}, not true or false", other.plain()))),
            None => Err(failed("it is not true or false")),
        }
    }

    /// A value somebody wants by an expression.
    pub(crate) fn value_of(&mut self, text: &str, site: &Site<'_>) -> Result<Val, Failure> {
        match self.find(text, site)? {
            Found::Val(val) => Ok(val),
            Found::Skipped => Ok(Val::null()),
            _ => Err(failed(format!("`{}` has no value", text.trim()))),
        }
    }

    /// A type by itself opens to its static members.
    fn answer_with_type(&mut self, ty: &crate::engine::coreclr::types::Ty) -> Result<Value, Failure> {
        let name = self.csharp(ty);
        let reference = self.references.add(crate::engine::coreclr::values::Node::Statics(ty.clone()));
        Ok(json!({ "result": name, "type": "System.Type", "variablesReference": reference,
            "presentationHint": { "kind": "class" } }))
    }
}
