//! The requests `setVariable` and `setExpression`: which location is meant, and the answer. The evaluation
//! and the write are in [`crate::evaluator`].

use dap_wire::Failure;
use dap_wire::types::{self, SetVariableArguments, SetVariableResponseBody};
use serde_json::Value;

use super::UNNAMED;
use super::formatted_value::FormattedValue;
use super::rows::{EVERYTHING, RowContent, VariablesPage};
use super::variables::wants_hex;
use crate::func_eval::{CALL_TIMEOUT, EvalContext};
use crate::session::ClrSession;
use crate::typed_value::{Format, TypedValue, ValueLocation};
use crate::value_path::Path;
use crate::value_store::Node;

impl ClrSession {
    pub(crate) fn set_variable(&mut self, arguments: &Value) -> Result<Value, Failure> {
        let (name, new) = (text(arguments, "name")?, text(arguments, "value")?);
        let SetVariableArguments { variables_reference: reference, .. } = types::read(arguments);
        let node = self.values.references.node(reference);
        let node = node.ok_or_else(|| Failure::invalid(format!("there is no reference {reference}")))?;
        let site = self.debuggee.site_of(&node);
        // One item of a long list does not justify creating rows for all.
        let position =
            name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).and_then(|at| at.parse().ok());
        let page = match position {
            Some(start) if matches!(node, Node::Inside(..) | Node::Rest(..)) => {
                VariablesPage { start, count: 1, most: 1, filter: Some("indexed") }
            }
            _ => EVERYTHING,
        };
        let mut rows = self.rows_of(&node, &page, &site)?;
        if page.filter.is_some() && rows.iter().all(|row| row.name != name) {
            rows = self.rows_of(&node, &EVERYTHING, &site)?;
        }
        let is_variable = matches!(node, Node::Locals { .. });
        let at = rows.iter().position(|row| row.name == name).or_else(|| {
            // Its type may have given the row another name.
            let mut called = |what: &RowContent| match what {
                RowContent::At(path) => self.present(path, &Format::default(), &site).ok()?.0.name,
                _ => None,
            };
            rows.iter().position(|row| !is_variable && called(&row.what).as_deref() == Some(name.as_str()))
        });
        let row = at.map(|at| rows.swap_remove(at));
        if matches!(node, Node::Dynamic(_))
            && row.as_ref().is_some_and(|row| row.attributes.contains(&"readOnly"))
        {
            let message = format!("cannot set `{name}`: what the view of a dynamic object shows is a copy");
            return Err(Failure::invalid(message).hint("assign to the member of the object itself"));
        }
        let way = match row.map(|row| row.what) {
            Some(RowContent::At(path)) if path.is_copy && path.name.contains(UNNAMED) => {
                let message = format!("cannot set `{name}`: it is in a copy that the program does not keep");
                return Err(Failure::invalid(message));
            }
            Some(RowContent::At(path)) if path.is_copy => of_span(&path.name).unwrap_or(path.name),
            Some(RowContent::At(path)) => {
                let place = self.at_stop().val_at(path)?;
                let value = self.assign(&place, &new, &site)?;
                return self.set_body(&value, &place, arguments, &site);
            }
            Some(RowContent::Here(_, way) | RowContent::Lazy(_, way)) if way.contains(UNNAMED) => {
                let message = format!("cannot set `{name}`: it is part of the return value of a call");
                return Err(Failure::invalid(message).hint("fields of a returned object can be set"));
            }
            Some(RowContent::Here(_, way) | RowContent::Lazy(_, way)) => way,
            Some(RowContent::Group(..) | RowContent::Message(_) | RowContent::Failed(_)) | None => {
                return Err(Failure::invalid(format!("there is no variable `{name}` to set")));
            }
        };
        let value = self.assign_expression(&way, &new, &site)?;
        self.set_body(&value, &value, arguments, &site)
    }

    pub(crate) fn set_expression(&mut self, arguments: &Value) -> Result<Value, Failure> {
        let (expression, new) = (text(arguments, "expression")?, text(arguments, "value")?);
        let (thread, frame) = self.at_stop().requested_frame(arguments)?;
        let site = EvalContext { thread, frame, runs: true, limit: CALL_TIMEOUT };
        let (expression, _) = Format::split(&expression);
        let value = self.assign_expression(expression, &new, &site)?;
        self.set_body(&value, &value, arguments, &site)
    }

    fn set_body(
        &mut self,
        value: &TypedValue,
        place: &TypedValue,
        arguments: &Value,
        site: &EvalContext,
    ) -> Result<Value, Failure> {
        // `setExpression` has the same `format`, and its answer the same fields.
        let SetVariableArguments { format, .. } = types::read(arguments);
        let format = Format { hex: wants_hex(format.as_ref()), ..Format::default() };
        // The new value is shown as it now is at its location.
        let shown_of = if place.path().is_some() { place } else { value };
        match &shown_of.data {
            ValueLocation::Constant(constant) => {
                let shown = self.types.show_constant(constant, &shown_of.ty, &format);
                Ok(set_body(shown, 0, None))
            }
            ValueLocation::At(path) => {
                let path: Path = path.clone();
                let (shown, _) = self.present(&path, &format, site)?;
                let (reference, items) = self.values.open(&shown, &path, &format);
                Ok(set_body(shown, reference, items))
            }
        }
    }
}

fn text(arguments: &Value, key: &str) -> Result<String, Failure> {
    let text = arguments[key].as_str().map(str::to_owned);
    text.ok_or_else(|| Failure::invalid(format!("`{key}` is missing; it must be a string")))
}

/// The answer to an assignment: the new value as it is shown.
fn set_body(shown: FormattedValue, reference: i64, indexed_variables: Option<i64>) -> Value {
    types::body(&SetVariableResponseBody {
        value: shown.text,
        kind: Some(shown.kind),
        variables_reference: Some(reference),
        indexed_variables,
        ..SetVariableResponseBody::default()
    })
}

/// The expression for the original of a copy in a span's proxy: `new
/// System.SpanDebugView<T>(span).Items[1].X` is `span[1].X`.
fn of_span(name: &str) -> Option<String> {
    let (made, rest) = name.strip_prefix("new System.SpanDebugView<")?.split_once(").Items")?;
    let (_, span) = made.split_once(">(")?;
    Some(format!("{span}{rest}"))
}
