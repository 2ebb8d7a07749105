//! Writing to variables.

use std::sync::mpsc::Receiver;

use dap_wire::Failure;
use serde_json::{Value, json};

use super::constant::Constant;
use super::{Found, failed};
use crate::engine::coreclr::cor;
use crate::engine::coreclr::session::{Input, Run, Session};
use crate::engine::coreclr::values::bare;

impl Session {
    pub(crate) fn set_variable(
        &mut self,
        arguments: &Value,
        inputs: &Receiver<Input>,
    ) -> Result<Value, Failure> {
        let Run::Stopped { thread } = self.run else { return Err(failed("the program runs")) };
        let text = |key: &str| {
            arguments[key]
                .as_str()
                .ok_or_else(|| Failure::invalid(format!("`{key}` is missing; it must be a string")))
        };
        let (name, new) = (text("name")?.to_owned(), text("value")?.to_owned());
        // The row that was shown under this name.
        let rows =
            self.variables(&json!({ "variablesReference": arguments["variablesReference"] }), inputs)?;
        let row = rows["variables"].as_array().into_iter().flatten().find(|row| row["name"] == name.as_str());
        let way = row.and_then(|row| row["evaluateName"].as_str()).map(str::to_owned);
        let way = way.ok_or_else(|| Failure::invalid(format!("there is no variable `{name}` to set")))?;
        let Found::At(target) = self.find(&way, thread, 0, inputs)? else {
            return Err(failed(format!("`{way}` has no place to write to")));
        };
        let found = self.find(&new, thread, 0, inputs)?;
        let source = match found {
            Found::At(path) => Ok(path),
            other => Err(self.constant(other)?),
        };
        let source = match source {
            Err(Constant::Text(text)) => Ok(self.string_at(thread, &text, inputs)?),
            other => other,
        };
        let place = self.fetch(&target)?;
        let write = cor(format!("set `{way}`"));
        match (place.as_reference(), source) {
            (Some(reference), Ok(path)) => {
                let from = self.fetch(&path)?;
                let from = from.as_reference().ok_or_else(|| failed(format!("`{new}` is no object")))?;
                from.target().and_then(|address| reference.set_target(address)).map_err(write)?;
            }
            (Some(reference), Err(Constant::Null)) => reference.set_target(0).map_err(write)?,
            (None, Ok(path)) => {
                let from = self.fetch(&path)?;
                let misfit = || {
                    failed(format!("`{new}` does not fit into `{way}`, which is {}", self.type_of(&place)))
                };
                if self.type_of(&from) != self.type_of(&place) {
                    return Err(misfit());
                }
                let bytes = bare(&from).ok_or_else(misfit)?.bytes();
                bytes.and_then(|bytes| place.set_bytes(&bytes)).map_err(write)?;
            }
            (None, Err(constant)) => {
                let kind = place.element_type().map_err(cor("find the variable's type"))?;
                let bytes = constant.bytes_for(kind).ok_or_else(|| {
                    failed(format!("`{new}` does not fit into `{way}`, which is {}", self.type_of(&place)))
                })?;
                place.set_bytes(&bytes).map_err(write)?;
            }
            (Some(_), Err(_)) => return Err(failed(format!("`{new}` does not fit into `{way}`"))),
        }
        let value = self.fetch(&target)?;
        let shown = self.show(&value);
        let mut answer = json!({ "value": shown.text, "type": shown.kind });
        self.open(&mut answer, &shown, &target);
        Ok(answer)
    }
}
