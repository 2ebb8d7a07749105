//! Rows of the variables view.
//!
//! Not here: the contents of a value ([`super::contents`]).

use crate::debuggee::ClrDebuggee;
use std::time::{Duration, Instant};

use clr_metadata::members::Access;
use serde_json::Value;
use tandem_wire::Failure;
use tandem_wire::types::{
    self, DapVariable, ValueFormat, VariablePresentationHint, VariablesArguments, VariablesResponseBody,
};

use super::bulk_read::is_number;
use super::formatted_value::FormattedValue;
use super::rows::{RowContent, VariableEntry, VariablesPage, rest_entry};
use super::{MAX_ROWS, MAX_UNASKED, UNNAMED};
use crate::bare_value::bare;
use crate::debuggee::RunState;
use crate::func_eval::{CALL_TIMEOUT, DISPLAY_TIMEOUT, EvalContext};
use crate::memory;
use crate::session::ClrSession;
use crate::typed_value::{Format, TypedValue, ValueLocation};
use crate::value_path::Path;
use crate::value_store::{Node, ValueStore};

/// Time limit of reading items for one answer, and its size limit, bytes.
const READ_TIMEOUT: Duration = Duration::from_secs(3);
const MAX_TEXT: usize = 4 << 20;
/// Time limit of displays in one list of rows; later rows are shown without.
const DISPLAYS_TIMEOUT: Duration = Duration::from_secs(1);

impl ClrSession {
    pub(crate) fn variables(&mut self, arguments: &Value) -> Result<Value, Failure> {
        let arguments: VariablesArguments = types::read(arguments);
        let reference = arguments.variables_reference;
        let node = self.program.values.references.node(reference);
        let node = node.ok_or_else(|| Failure::invalid(format!("there is no reference {reference}")))?;
        let count = types::unsigned(arguments.count).filter(|count| *count > 0);
        let page = VariablesPage {
            start: types::unsigned(arguments.start).unwrap_or(0),
            count: count.unwrap_or(usize::MAX),
            most: if count.is_some() { MAX_ROWS } else { MAX_UNASKED },
            filter: arguments.filter.as_deref(),
        };
        let site = self.program.debuggee.site_of(&node);
        let hex = wants_hex(arguments.format.as_ref());
        let rows = self.rows_of(&node, &page, &site)?;
        let since = Instant::now();
        let (until, mut given) = (since + DISPLAYS_TIMEOUT, 0);
        let mut variables = Vec::with_capacity(rows.len());
        for row in rows {
            if self.hub.request.is_cancelled() {
                return Err(Failure::cancelled());
            }
            let site = EvalContext { runs: Instant::now() < until, ..site };
            // Other requests wait: slow or large answers are split.
            if let Node::Inside(path, format) | Node::Rest(path, format, _) = &node
                && row.name.starts_with('[')
                && (since.elapsed() > READ_TIMEOUT || given > MAX_TEXT)
            {
                let before = if let Node::Rest(_, _, from) = &node { *from } else { 0 };
                let first = before.saturating_add(page.start).saturating_add(variables.len());
                let row = rest_entry(path, format, first);
                variables.push(self.render(&row, hex, false, &site));
                break;
            }
            // A variable keeps its source name, whatever its value.
            let is_variable = matches!(node, Node::Locals { .. });
            let row = self.render(&row, hex, is_variable, &site);
            given += row.value.len();
            variables.push(row);
        }
        Ok(types::body(&VariablesResponseBody { variables, ..VariablesResponseBody::default() }))
    }

    /// A row as clients get it.
    fn render(
        &mut self,
        row: &VariableEntry,
        hex: bool,
        is_variable: bool,
        site: &EvalContext,
    ) -> DapVariable {
        let mut entry = match &row.what {
            RowContent::At(path) => {
                let format = Format { hex, ..Format::default() };
                let presented = match &row.read {
                    Some((ty, constant)) => {
                        Ok((self.program.types.show_constant(constant, ty, &format), ValueDetails::default()))
                    }
                    None => self.present(path, &format, site),
                };
                match presented {
                    Ok((mut shown, details)) => {
                        let name = shown.name.take().filter(|_| !is_variable);
                        let name = name.unwrap_or_else(|| row.name.clone());
                        self.program.values.row(name, shown, details, path, &format)
                    }
                    Err(failure) => error_row(&row.name, &failure),
                }
            }
            RowContent::Here(val, way) => self.render_val(&row.name, val, way, hex, site),
            RowContent::Lazy(node, way) => DapVariable {
                name: row.name.clone(),
                evaluate_name: Some(way.clone()),
                variables_reference: self.program.values.references.add(node.clone()),
                ..DapVariable::default()
            },
            RowContent::Group(node, text, way) => DapVariable {
                name: row.name.clone(),
                value: text.clone(),
                evaluate_name: way.clone(),
                variables_reference: self.program.values.references.add(node.clone()),
                ..DapVariable::default()
            },
            RowContent::Message(text) => {
                DapVariable { name: row.name.clone(), value: text.clone(), ..DapVariable::default() }
            }
            RowContent::Failed(failure) => error_row(&row.name, failure),
        };
        entry.evaluate_name = entry.evaluate_name.filter(|way| !way.contains(UNNAMED) && is_speakable(way));
        let of_value = entry.presentation_hint.take().and_then(|hint| hint.attributes).unwrap_or_default();
        let attributes: Vec<String> =
            row.attributes.iter().map(|attribute| (*attribute).to_owned()).chain(of_value).collect();
        let visibility = row.access.map(|access| match access {
            Access::Private => "private",
            Access::Internal => "internal",
            Access::Protected => "protected",
            Access::Public => "public",
        });
        entry.presentation_hint = Some(VariablePresentationHint {
            kind: Some(row.kind.to_owned()),
            visibility: visibility.map(str::to_owned),
            lazy: matches!(row.what, RowContent::Lazy(..)).then_some(true),
            attributes: (!attributes.is_empty()).then_some(attributes),
            ..VariablePresentationHint::default()
        });
        entry
    }

    fn render_val(
        &mut self,
        name: &str,
        val: &TypedValue,
        way: &str,
        hex: bool,
        site: &EvalContext,
    ) -> DapVariable {
        let format = Format { hex, ..Format::default() };
        match &val.data {
            ValueLocation::Constant(constant) => {
                let shown = self.program.types.show_constant(constant, &val.ty, &format);
                DapVariable {
                    name: name.to_owned(),
                    value: shown.text,
                    kind: Some(shown.kind),
                    evaluate_name: Some(way.to_owned()),
                    ..DapVariable::default()
                }
            }
            ValueLocation::At(path) => {
                let path = Path { name: way.to_owned(), ..path.clone() };
                match self.present(&path, &format, site) {
                    Ok((shown, details)) => {
                        self.program.values.row(name.to_owned(), shown, details, &path, &format)
                    }
                    Err(failure) => error_row(name, &failure),
                }
            }
        }
    }

    /// A value's text and type, with the display that its type defines; and details for its row.
    pub(crate) fn present(
        &mut self,
        path: &Path,
        format: &Format,
        site: &EvalContext,
    ) -> Result<(FormattedValue, ValueDetails), Failure> {
        let mut fetched = self.at_stop().fetch(path);
        if fetched.is_err() && self.load_type_of(path, site) {
            fetched = self.at_stop().fetch(path);
        }
        let value = match fetched {
            Ok(value) => value,
            Err(failure) => {
                let kind =
                    self.at_stop().unloaded(path).map(|ty| self.program.types.csharp(&ty)).ok_or(failure)?;
                let null = FormattedValue { text: "null".into(), kind, items: 0, opens: false, name: None };
                return Ok((null, ValueDetails::default()));
            }
        };
        let mut shown = self.program.types.show_as(&self.program.debuggee, &value, format, 3);
        let mut details = ValueDetails::default();
        // A number has only its text.
        let is_plain = !shown.opens && value.element_type().is_ok_and(is_number);
        if !is_plain
            && let Some(inner) = bare(&value)
            && (shown.opens || inner.as_string().is_some())
        {
            let address = value.as_reference().and_then(|reference| reference.target().ok());
            let address = address.or_else(|| inner.address().ok()).filter(|address| *address > 0);
            details.memory_reference = address.map(memory::reference);
            details.is_string = inner.as_string().is_some();
            if shown.opens && shown.items == 0 && !format.raw {
                let site = EvalContext { limit: site.limit.min(DISPLAY_TIMEOUT), ..*site };
                // A nullable is shown as its value.
                let is_nullable =
                    self.program.types.nullable(&self.program.types.declared_ty(&inner)).is_some();
                let held = self.program.types.member(&inner, "value").filter(|_| is_nullable);
                let held = held.map_or_else(|| path.clone(), |step| path.step(step, path.name.clone()));
                drop((value, inner));
                self.format_by_type(&held, format, &site, &mut shown);
            }
        }
        Ok((shown, details))
    }
}

impl ValueStore {
    /// The reference to the children of a value, 0 without any, and the number of its items.
    pub(crate) fn open(
        &mut self,
        shown: &FormattedValue,
        path: &Path,
        format: &Format,
    ) -> (i64, Option<i64>) {
        let mut add = || self.references.add(Node::Inside(path.clone(), *format));
        let reference = if shown.opens { add() } else { 0 };
        (reference, (shown.items > 0 && !format.raw).then(|| shown.items.into()))
    }

    /// The row of a value at a path, without the facts of its declaration.
    fn row(
        &mut self,
        name: String,
        shown: FormattedValue,
        details: ValueDetails,
        path: &Path,
        format: &Format,
    ) -> DapVariable {
        let (variables_reference, indexed_variables) = self.open(&shown, path, format);
        DapVariable {
            name,
            value: shown.text,
            kind: Some(shown.kind),
            evaluate_name: Some(path.name.clone()),
            variables_reference,
            indexed_variables,
            presentation_hint: details.presentation_hint(),
            memory_reference: details.memory_reference,
            ..DapVariable::default()
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

/// Facts about a value in memory, for its row or for the answer of an evaluation.
#[derive(Default)]
pub(crate) struct ValueDetails {
    /// The address of the object.
    pub(crate) memory_reference: Option<String>,
    /// Whether it is a string, which clients can show without quotes.
    is_string: bool,
}

impl ValueDetails {
    /// The hint for clients about the form of the value's text.
    pub(crate) fn presentation_hint(&self) -> Option<VariablePresentationHint> {
        let attributes = Some(vec!["rawString".to_owned()]);
        let hint = || VariablePresentationHint { attributes, ..VariablePresentationHint::default() };
        self.is_string.then(hint)
    }
}

/// Whether a request asks for hexadecimal integers.
pub(crate) fn wants_hex(format: Option<&ValueFormat>) -> bool {
    format.and_then(|format| format.hex) == Some(true)
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
            // F# writes it inside names, and Visual Basic begins those of static locals with a dollar.
            (None, '@') if before.is_alphanumeric() || before == '_' => return false,
            (None, '$') if before == '.' && !way.starts_with('$') => return false,
            (None, '<') if matches!(before, '.' | '(' | '<') && letters.peek() != Some(&' ') => return false,
            (None, _) => {}
        }
        before = letter;
    }
    true
}

/// The row of a value that cannot be read.
fn error_row(name: &str, failure: &Failure) -> DapVariable {
    let attributes = Some(vec!["failedEvaluation".to_owned()]);
    DapVariable {
        name: name.to_owned(),
        value: format!("<{failure}>"),
        presentation_hint: Some(VariablePresentationHint {
            attributes,
            ..VariablePresentationHint::default()
        }),
        ..DapVariable::default()
    }
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
            "x.@class",
            "new Proxy(@this).Items",
            "$exception.Message",
            "$\"{x}\"",
        ] {
            assert!(is_speakable(way), "{way}");
        }
        for way in [
            "<Run>d__0.x",
            "Program.<Run>d__0",
            "Box<Program.<Run>d__0>",
            "((<>c)x).y",
            "Box<<>c>",
            "main@14.x",
            "this.$STATIC$Run$1$calls",
        ] {
            assert!(!is_speakable(way), "{way}");
        }
    }
}
