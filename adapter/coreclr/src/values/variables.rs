//! Rows of the variables view.
//!
//! Not here: the contents of a value ([`super::contents`]).

use crate::debuggee::ClrDebuggee;
use std::time::{Duration, Instant};

use clr_metadata::members::Access;
use dap_wire::Failure;
use serde_json::{Map, Value, json};

use super::bulk_read::is_number;
use super::contents::{RowContent, VariableEntry, rest_entry};
use super::formatted_value::FormattedValue;
use super::path::{Path, bare};
use super::references::Node;
use super::{MAX_ROWS, MAX_UNASKED, UNNAMED};
use crate::calls::{CALL_TIMEOUT, DISPLAY_TIMEOUT, EvalContext};
use crate::debuggee::RunState;
use crate::evaluator::{Format, TypedValue, ValueLocation};
use crate::session::ClrSession;
use crate::values::ValueStore;

/// Time limit of reading items for one answer, and its size limit, bytes.
const READ_TIMEOUT: Duration = Duration::from_secs(3);
const MAX_TEXT: usize = 4 << 20;
/// Time limit of displays in one list of rows; later rows are shown without.
const DISPLAYS_TIMEOUT: Duration = Duration::from_secs(1);

impl ClrSession {
    pub(crate) fn variables(&mut self, arguments: &Value) -> Result<Value, Failure> {
        let node = arguments["variablesReference"].as_i64().and_then(|id| self.values.references.node(id));
        let Some(node) = node else {
            return Err(Failure::invalid(format!(
                "there is no reference {}",
                arguments["variablesReference"]
            )));
        };
        let number = |key: &str| arguments[key].as_u64().and_then(|number| usize::try_from(number).ok());
        let count = number("count").filter(|count| *count > 0);
        let page = VariablesPage {
            start: number("start").unwrap_or(0),
            count: count.unwrap_or(usize::MAX),
            most: if count.is_some() { MAX_ROWS } else { MAX_UNASKED },
            filter: arguments["filter"].as_str(),
        };
        let site = self.debuggee.site_of(&node);
        let hex = arguments["format"]["hex"] == true;
        let rows = self.rows_of(&node, &page, &site)?;
        let since = Instant::now();
        let (until, mut given) = (since + DISPLAYS_TIMEOUT, 0);
        let mut list = Vec::with_capacity(rows.len());
        for row in rows {
            if self.cancel.is_cancelled() {
                return Err(Failure::cancelled());
            }
            let site = EvalContext { runs: Instant::now() < until, ..site };
            // Other requests wait: slow or large answers are split.
            if let Node::Inside(path, format) | Node::Rest(path, format, _) = &node
                && row.name.starts_with('[')
                && (since.elapsed() > READ_TIMEOUT || given > MAX_TEXT)
            {
                let before = if let Node::Rest(_, _, from) = &node { *from } else { 0 };
                let row =
                    rest_entry(path, format, before.saturating_add(page.start).saturating_add(list.len()));
                list.push(self.render(&row, hex, false, &site));
                break;
            }
            // A variable keeps its source name, whatever its value.
            let is_variable = matches!(node, Node::Locals { .. });
            let row = self.render(&row, hex, is_variable, &site);
            given += row["value"].as_str().map_or(0, str::len);
            list.push(row);
        }
        // `json!` would copy each row.
        Ok(Value::Object(Map::from_iter([("variables".to_owned(), Value::Array(list))])))
    }

    /// A row as clients get it.
    fn render(&mut self, row: &VariableEntry, hex: bool, is_variable: bool, site: &EvalContext) -> Value {
        let mut entry = match &row.what {
            RowContent::At(path) => {
                let format = Format { hex, ..Format::default() };
                let presented = match &row.read {
                    Some((ty, constant)) => Ok((self.types.show_constant(constant, ty, &format), json!({}))),
                    None => self.present(path, &format, site),
                };
                match presented {
                    Ok((mut shown, more)) => {
                        let name = shown.name.take().filter(|_| !is_variable);
                        let name = name.unwrap_or_else(|| row.name.clone());
                        let mut entry = body(name, &mut shown, path.name.clone());
                        self.values.open(&mut entry, &shown, path, &format);
                        merge(&mut entry, &more);
                        entry
                    }
                    Err(failure) => error_row(&row.name, &failure),
                }
            }
            RowContent::Here(val, way) => self.render_val(&row.name, val, way, hex, site),
            RowContent::Lazy(node, way) => {
                let reference = self.values.references.add(node.clone());
                json!({ "name": row.name, "value": "", "evaluateName": way, "variablesReference": reference })
            }
            RowContent::Group(node, text, way) => {
                let reference = self.values.references.add(node.clone());
                let mut entry = json!({ "name": row.name, "value": text, "variablesReference": reference });
                if let Some(way) = way {
                    entry["evaluateName"] = json!(way);
                }
                entry
            }
            RowContent::Message(text) => json!({ "name": row.name, "value": text, "variablesReference": 0 }),
            RowContent::Failed(failure) => error_row(&row.name, failure),
        };
        if entry["evaluateName"].as_str().is_some_and(|way| way.contains(UNNAMED) || !is_speakable(way))
            && let Some(entry) = entry.as_object_mut()
        {
            entry.shift_remove("evaluateName");
        }
        let mut hint = json!({ "kind": row.kind });
        if let Some(access) = row.access {
            hint["visibility"] = json!(match access {
                Access::Private => "private",
                Access::Internal => "internal",
                Access::Protected => "protected",
                Access::Public => "public",
            });
        }
        if matches!(row.what, RowContent::Lazy(..)) {
            hint["lazy"] = json!(true);
        }
        let mut attributes: Vec<Value> = row.attributes.iter().map(|attribute| json!(attribute)).collect();
        attributes.extend(entry["presentationHint"]["attributes"].as_array().cloned().unwrap_or_default());
        if !attributes.is_empty() {
            hint["attributes"] = json!(attributes);
        }
        entry["presentationHint"] = hint;
        entry
    }

    fn render_val(
        &mut self,
        name: &str,
        val: &TypedValue,
        way: &str,
        hex: bool,
        site: &EvalContext,
    ) -> Value {
        let format = Format { hex, ..Format::default() };
        match &val.data {
            ValueLocation::Constant(constant) => {
                let shown = self.types.show_constant(constant, &val.ty, &format);
                json!({ "name": name, "value": shown.text, "type": shown.kind, "evaluateName": way,
                    "variablesReference": 0 })
            }
            ValueLocation::At(path) => {
                let path = Path { name: way.to_owned(), ..path.clone() };
                match self.present(&path, &format, site) {
                    Ok((mut shown, more)) => {
                        let mut entry = body(name.to_owned(), &mut shown, way.to_owned());
                        self.values.open(&mut entry, &shown, &path, &format);
                        merge(&mut entry, &more);
                        entry
                    }
                    Err(failure) => error_row(name, &failure),
                }
            }
        }
    }

    /// A value's text and type, with the display that its type defines; and more for its row.
    pub(crate) fn present(
        &mut self,
        path: &Path,
        format: &Format,
        site: &EvalContext,
    ) -> Result<(FormattedValue, Value), Failure> {
        let mut fetched = self.at_stop().fetch(path);
        if fetched.is_err() && self.load_type_of(path, site) {
            fetched = self.at_stop().fetch(path);
        }
        let value = match fetched {
            Ok(value) => value,
            Err(failure) => {
                let kind = self.at_stop().unloaded(path).map(|ty| self.types.csharp(&ty)).ok_or(failure)?;
                let null = FormattedValue { text: "null".into(), kind, items: 0, opens: false, name: None };
                return Ok((null, json!({})));
            }
        };
        let mut shown = self.types.show_as(&self.debuggee, &value, format, 3);
        let mut more = json!({});
        // A number has only its text.
        let is_plain = !shown.opens && value.element_type().is_ok_and(is_number);
        if !is_plain
            && let Some(inner) = bare(&value)
            && (shown.opens || inner.as_string().is_some())
        {
            let address = value.as_reference().and_then(|reference| reference.target().ok());
            let address = address.or_else(|| inner.address().ok()).filter(|address| *address > 0);
            if let Some(address) = address {
                more["memoryReference"] = json!(format!("0x{address:x}"));
            }
            if inner.as_string().is_some() {
                more["presentationHint"] = json!({ "attributes": ["rawString"] });
            }
            if shown.opens && shown.items == 0 && !format.raw {
                let site = EvalContext { limit: site.limit.min(DISPLAY_TIMEOUT), ..*site };
                // A nullable is shown as its value.
                let is_nullable = self.types.nullable(&self.types.declared_ty(&inner)).is_some();
                let held = self.types.member(&inner, "value").filter(|_| is_nullable);
                let held = held.map_or_else(|| path.clone(), |step| path.step(step, path.name.clone()));
                drop((value, inner));
                self.format_by_type(&held, format, &site, &mut shown);
            }
        }
        Ok((shown, more))
    }
}

impl ValueStore {
    /// Makes a row or an evaluation's answer expandable, if its value is.
    pub(crate) fn open(&mut self, row: &mut Value, shown: &FormattedValue, path: &Path, format: &Format) {
        let mut add = || self.references.add(Node::Inside(path.clone(), *format));
        let reference = if shown.opens { add() } else { 0 };
        row["variablesReference"] = json!(reference);
        if shown.items > 0 && !format.raw {
            row["indexedVariables"] = json!(shown.items);
        }
    }
}

impl ClrDebuggee {
    /// Where code of the program runs for a node, and in which scope.
    pub(super) fn site_of(&self, node: &Node) -> EvalContext {
        let stopped = match self.run {
            RunState::Stopped { thread } => thread,
            _ => 0,
        };
        let (thread, frame) = match node {
            Node::Locals { thread, index } | Node::Types { thread, index } => (*thread, *index),
            Node::Inside(path, _)
            | Node::Rest(path, ..)
            | Node::Raw(path)
            | Node::NonPublic(path)
            | Node::Dynamic(path)
            | Node::Results(path)
            | Node::Property { of: path, .. } => path.frame().unwrap_or((stopped, 0)),
            Node::Statics(..) | Node::Evaluated { .. } => (stopped, 0),
        };
        EvalContext { thread, frame, runs: true, limit: CALL_TIMEOUT }
    }
}

/// The rows that a client requests.
pub(crate) struct VariablesPage<'a> {
    pub(crate) start: usize,
    pub(crate) count: usize,
    /// Limit of one answer, whatever the client requests.
    pub(crate) most: usize,
    pub(crate) filter: Option<&'a str>,
}

impl VariablesPage<'_> {
    pub(super) fn wants_named(&self) -> bool {
        self.filter != Some("indexed")
    }

    pub(super) fn wants_indexed(&self) -> bool {
        self.filter != Some("named")
    }

    /// Truncates rows that are not items; the last row has the number of others.
    pub(super) fn cut(&self, rows: Vec<VariableEntry>) -> Vec<VariableEntry> {
        let left = rows.len().saturating_sub(self.start);
        let mut rows: Vec<VariableEntry> =
            rows.into_iter().skip(self.start).take(self.count.min(self.most)).collect();
        if left > rows.len() && rows.len() < self.count {
            let text = format!("{} more: ask for them with `start` and `count`", left - rows.len());
            rows.push(VariableEntry::new("…", RowContent::Message(text), "virtual"));
        }
        rows
    }
}

/// The common fields of rows: `json!` would copy each text and let the object grow.
fn body(name: String, shown: &mut FormattedValue, way: String) -> Value {
    let mut entry = Map::with_capacity(8);
    entry.insert("name".into(), name.into());
    entry.insert("value".into(), std::mem::take(&mut shown.text).into());
    entry.insert("type".into(), std::mem::take(&mut shown.kind).into());
    entry.insert("evaluateName".into(), way.into());
    Value::Object(entry)
}

/// Whether an expression contains no compiler-generated name, such as `<Run>d__0`.
fn is_speakable(way: &str) -> bool {
    let (mut quote, mut before) = (None, '.');
    let mut letters = way.chars().peekable();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(_), '\\') => drop(letters.next()),
            (Some(end), _) if letter == end => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(letter),
            (None, '<') if matches!(before, '.' | '(' | '<') && letters.peek() != Some(&' ') => return false,
            (None, _) => {}
        }
        before = letter;
    }
    true
}

fn merge(into: &mut Value, more: &Value) {
    if let (Some(into), Some(more)) = (into.as_object_mut(), more.as_object()) {
        into.extend(more.clone());
    }
}

pub(super) fn error_row(name: &str, failure: &Failure) -> Value {
    json!({ "name": name, "value": format!("<{failure}>"), "variablesReference": 0,
        "presentationHint": { "attributes": ["failedEvaluation"] } })
}

#[cfg(test)]
mod tests {
    use super::is_speakable;

    #[test]
    fn compiler_generated_names_are_not_speakable() {
        for way in [
            "a.b",
            "new List<int>(x)",
            "map[\"<>\"]",
            "map['<']",
            "(a < b)",
            "List<Box<int>>.Count",
            "((T<U>)x).y",
        ] {
            assert!(is_speakable(way), "{way}");
        }
        for way in ["<Run>d__0.x", "Program.<Run>d__0", "Box<Program.<Run>d__0>", "((<>c)x).y", "Box<<>c>"] {
            assert!(!is_speakable(way), "{way}");
        }
    }
}
