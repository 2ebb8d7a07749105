//! Rows of the variables view.

use std::sync::mpsc::Receiver;

use dap_wire::Failure;
use serde_json::{Value, json};

use super::members::DEEPEST_BASE;
use super::path::{Node, Path, bare};
use super::show::Shown;
use crate::engine::coreclr::session::{Input, Session};

impl Session {
    /// A row of the variables view.
    pub(crate) fn row(&mut self, name: &str, path: &Path) -> Value {
        match self.fetch(path) {
            Ok(value) => {
                let shown = self.show(&value);
                let mut row = json!({ "name": name, "value": shown.text, "type": shown.kind,
                    "evaluateName": path.name });
                self.open(&mut row, &shown, path);
                row
            }
            Err(failure) => json!({ "name": name, "value": format!("<{failure}>"), "variablesReference": 0,
                "presentationHint": { "attributes": ["failedEvaluation"] } }),
        }
    }

    /// Adds what can be opened to a row or an evaluation's answer.
    pub(crate) fn open(&mut self, row: &mut Value, shown: &Shown, path: &Path) {
        let reference = if shown.opens { self.references.add(Node::Inside(path.clone())) } else { 0 };
        row["variablesReference"] = json!(reference);
        if shown.items > 0 {
            row["indexedVariables"] = json!(shown.items);
        }
    }

    pub(crate) fn variables(
        &mut self,
        arguments: &Value,
        inputs: &Receiver<Input>,
    ) -> Result<Value, Failure> {
        let node = arguments["variablesReference"].as_i64().and_then(|id| self.references.node(id));
        let Some(node) = node else {
            return Err(Failure::invalid(format!(
                "there is no reference {}",
                arguments["variablesReference"]
            )));
        };
        let number = |key: &str| arguments[key].as_u64().and_then(|number| usize::try_from(number).ok());
        let (start, count) = (number("start").unwrap_or(0), number("count").filter(|count| *count > 0));
        let filter = arguments["filter"].as_str();
        let rows = match node {
            Node::Locals { thread, index } => {
                let locals = self.locals(thread, index)?;
                locals.iter().map(|(name, path)| self.row(name, path)).collect()
            }
            Node::Inside(path) => self.inside(&path, filter, start, count.unwrap_or(usize::MAX))?,
            Node::Raw(path) => self.fields_and_properties(&path)?,
            Node::Property { of, name } => vec![self.property_row(&of, &name, inputs)],
        };
        let whole = matches!(filter, Some("indexed"));
        let rows: Vec<Value> = if whole {
            rows
        } else {
            rows.into_iter().skip(if filter.is_none() { 0 } else { start }).collect()
        };
        Ok(json!({ "variables": rows }))
    }

    pub(crate) fn inside(
        &mut self,
        path: &Path,
        filter: Option<&str>,
        start: usize,
        count: usize,
    ) -> Result<Vec<Value>, Failure> {
        let value = self.fetch(path)?;
        let Some(inner) = bare(&value) else { return Ok(Vec::new()) };
        let items = self.items(&inner, path, start, count);
        let is_array = inner.as_array().is_some();
        let Some(items) = items else { return self.fields_and_properties(path) };
        let mut rows: Vec<Value> = Vec::new();
        if filter != Some("named") {
            rows.extend(items.iter().map(|(name, path)| self.row(name, path)));
        }
        if filter != Some("indexed") && !is_array {
            let reference = self.references.add(Node::Raw(path.clone()));
            rows.push(json!({ "name": "Raw View", "value": "", "variablesReference": reference,
                "presentationHint": { "kind": "virtual" } }));
        }
        Ok(rows)
    }

    /// Fields now, properties when they are asked for: a getter is code of the program.
    pub(crate) fn fields_and_properties(&mut self, path: &Path) -> Result<Vec<Value>, Failure> {
        let value = self.fetch(path)?;
        let Some(inner) = bare(&value) else { return Ok(Vec::new()) };
        let mut rows = Vec::new();
        let mut names: Vec<String> = Vec::new();
        for member in self.members(&inner) {
            let way = path.step(member.step, format!("{}.{}", path.name, member.name));
            rows.push(self.row(&member.name, &way));
            names.push(member.name);
        }
        let mut kind = inner.exact_type().ok();
        for _ in 0..DEEPEST_BASE {
            let Some(current) = kind else { break };
            let declared = self
                .class_of(&current)
                .and_then(|(loaded, token)| loaded.image().map(|image| image.metadata.properties(token)));
            for property in declared.unwrap_or_default() {
                if property.is_static || property.is_indexer || names.contains(&property.name) {
                    continue;
                }
                let node = Node::Property { of: path.clone(), name: property.name.clone() };
                let reference = self.references.add(node);
                rows.push(json!({ "name": property.name, "value": "", "variablesReference": reference,
                    "evaluateName": format!("{}.{}", path.name, property.name),
                    "presentationHint": { "kind": "property", "lazy": true } }));
                names.push(property.name);
            }
            kind = current.base().ok();
        }
        Ok(rows)
    }
}
