//! The requests `setVariable` and `setExpression`: which location is meant, and the answer. The evaluation
//! and the write are in [`crate::evaluator`].

use serde_json::Value;
use tandem_wire::Failure;
use tandem_wire::types::{self, SetVariableArguments, SetVariableResponseBody};

use super::UNNAMED;
use super::formatted_value::FormattedValue;
use super::rows::{EVERYTHING, RowContent, VariableEntry, VariablesPage};
use super::variables::wants_hex;
use crate::bare_value::bare;
use crate::expression_binding::ClientTarget;
use crate::func_eval::{CALL_TIMEOUT, EvalContext};
use crate::session::ClrSession;
use crate::typed_value::{Format, TypedValue, ValueLocation};
use crate::types::{ClrTypeSystem, Ty};
use crate::value_path::{Path, PathRoot, PathSegment};
use crate::value_store::Node;

impl ClrSession {
    pub(crate) fn set_variable(&mut self, arguments: &Value) -> Result<Value, Failure> {
        let (name, new) = (text(arguments, "name")?, text(arguments, "value")?);
        let SetVariableArguments { variables_reference: reference, .. } = types::read(arguments);
        let node = self.program.values.references.node(reference);
        let node = node.ok_or_else(|| Failure::invalid(format!("there is no reference {reference}")))?;
        let site = self.program.debuggee.site_of(&node);
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
        let parameter =
            if at.is_none() && is_variable { self.constructor_parameter(&rows, &name) } else { None };
        let row = at.map(|at| rows.swap_remove(at)).or(parameter);
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
            Some(RowContent::At(path)) if path.is_copy && !is_in_result(&path.name) => {
                of_span(&path.name).unwrap_or(path.name)
            }
            Some(RowContent::At(path)) => {
                self.require_own_item(&name, &path, &site)?;
                let place = self.at_stop().val_at(path)?;
                let value = self.assign_shown(ClientTarget::Place(&place), &new, &site)?;
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
        let value = self.assign_shown(ClientTarget::Expression(&way), &new, &site)?;
        self.set_body(&value, &value, arguments, &site)
    }

    pub(crate) fn set_expression(&mut self, arguments: &Value) -> Result<Value, Failure> {
        let (expression, new) = (text(arguments, "expression")?, text(arguments, "value")?);
        let (thread, frame) = self.at_stop().requested_frame(arguments)?;
        let site = EvalContext { thread, frame, runs: true, limit: CALL_TIMEOUT };
        let (expression, _) = Format::split(&expression);
        let value = self.assign_shown(ClientTarget::Expression(expression), &new, &site)?;
        self.set_body(&value, &value, arguments, &site)
    }

    /// The field of `this` that holds a parameter of the primary constructor.
    fn constructor_parameter(&self, rows: &[VariableEntry], name: &str) -> Option<VariableEntry> {
        let RowContent::At(this) = &rows.iter().find(|row| row.name == "this")?.what else { return None };
        let inner = bare(&self.at_stop().fetch(this).ok()?)?;
        let field = format!("<{name}>P");
        let mut members = self.program.types.members(&inner).into_iter();
        let member = members.find(|member| {
            member.loaded.image().is_some_and(|image| image.metadata.field_name(member.token) == field)
        })?;
        let path = this.step(member.step, name.to_owned());
        Some(VariableEntry::new(name, RowContent::At(path), "data"))
    }

    /// Refuses to set an item that a view shows a copy of, and a key in a hash table: the program would not
    /// see the new value, or not find it.
    fn require_own_item(&mut self, name: &str, path: &Path, site: &EvalContext) -> Result<(), Failure> {
        if self.is_hashed_in(path) {
            let message = format!("cannot set `{name}`: its hash table would not find the new value");
            let hint = "evaluate `Remove` of the old value, and `Add` of the new one";
            return Err(Failure::invalid(message).hint(hint));
        }
        let is_new = matches!(path.root, PathRoot::Handle(_)) && is_in_view(&path.name);
        if !is_new && !path.is_copy || self.leads_into_object(path) {
            return Ok(());
        }
        // A view may show the object's own array: then the next view shows the same.
        let again = self.value_of(&path.name, site).ok();
        let own = self.at_stop().val_at(path.clone()).ok();
        let address = |val: Option<TypedValue>| {
            val.and_then(|val| self.at_stop().address_in(&val).ok()).filter(|address| *address != 0)
        };
        match address(again).zip(address(own)) {
            Some((again, own)) if again == own => Ok(()),
            _ => {
                let message =
                    format!("cannot set `{name}`: it is a copy, and the collection would not change");
                let hint = "evaluate a method of the collection, or an assignment with its indexer";
                Err(Failure::invalid(message).hint(hint))
            }
        }
    }

    /// Whether the location determines where an entry of a hash table is.
    fn is_hashed_in(&self, path: &Path) -> bool {
        for (at, step) in path.steps.iter().enumerate().rev() {
            let Ok(value) = self.at_stop().fetch(&start_of(path, at)) else { return false };
            let ty = bare(&value).map_or(Ty::Other, |inner| self.program.types.declared_ty(&inner));
            if is_hashed(&self.program.types.full_name(&ty), &name_of_step(&self.program.types, &ty, *step)) {
                return true;
            }
            if value.as_reference().is_some() {
                return false;
            }
        }
        false
    }

    /// Whether a path leads through a field of another object than the one in which it begins: that object is
    /// not a copy.
    fn leads_into_object(&self, path: &Path) -> bool {
        path.steps.iter().enumerate().skip(1).any(|(at, step)| {
            let is_field = matches!(step, PathSegment::Field { .. });
            is_field
                && self.at_stop().fetch(&start_of(path, at)).is_ok_and(|value| value.as_reference().is_some())
        })
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
                let shown = self.program.types.show_constant(constant, &shown_of.ty, &format);
                Ok(set_body(shown, 0, None))
            }
            ValueLocation::At(path) => {
                let path: Path = path.clone();
                let (shown, _) = self.present(&path, &format, site)?;
                let (reference, items) = self.program.values.open(&shown, &path, &format);
                Ok(set_body(shown, reference, items))
            }
        }
    }
}

/// The name of the field of a step; empty for another step.
fn name_of_step(types: &ClrTypeSystem, ty: &Ty, step: PathSegment) -> String {
    let PathSegment::Field { up, token } = step else { return String::new() };
    let owner = types.chain(ty).into_iter().nth(up).and_then(|owner| types.definition(&owner));
    let name = owner.and_then(|(loaded, _)| Some(loaded.image()?.metadata.field_name(token).to_owned()));
    name.unwrap_or_default()
}

/// The first steps of a path.
fn start_of(path: &Path, count: usize) -> Path {
    Path { steps: path.steps.iter().take(count).copied().collect(), ..path.clone() }
}

/// Whether a field is part of an entry of a hash table, and determines where the entry is.
fn is_hashed(of: &str, field: &str) -> bool {
    let Some(entry) = of.strip_prefix("System.Collections.") else { return false };
    match entry {
        "Generic.HashSet`1.Entry" | "Generic.HashSet`1.Slot" => true,
        "Generic.Dictionary`2.Entry" | "Generic.OrderedDictionary`2.Entry" => {
            !field.eq_ignore_ascii_case("value")
        }
        "Concurrent.ConcurrentDictionary`2.Node" => field != "_value",
        _ => false,
    }
}

/// Whether an expression creates the object that it leads into: the proxy of a collection.
fn is_in_view(name: &str) -> bool {
    let rest = name.trim_start_matches('(');
    rest.starts_with("new ") || name.starts_with("((") && rest.contains(")new ")
}

/// Whether an expression is an item of a sequence that is enumerated for it.
fn is_in_result(name: &str) -> bool {
    name.contains(".ElementAt(")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_determine_the_place_of_an_entry_are_hashed() {
        let is = |of: &str, field| is_hashed(&format!("System.Collections.{of}"), field);
        assert!(is("Generic.HashSet`1.Entry", "Value") && is("Generic.HashSet`1.Slot", "value"));
        assert!(is("Generic.Dictionary`2.Entry", "key") && is("Generic.Dictionary`2.Entry", "hashCode"));
        assert!(is("Concurrent.ConcurrentDictionary`2.Node", "_key"));
        assert!(
            !is("Generic.Dictionary`2.Entry", "value") && !is("Generic.OrderedDictionary`2.Entry", "Value")
        );
        assert!(!is("Concurrent.ConcurrentDictionary`2.Node", "_value") && !is("Generic.Queue`1", "_array"));
        assert!(!is_hashed("My.HashSet`1.Entry", "Value"));
    }

    #[test]
    fn new_objects_of_expressions_are_views() {
        for name in ["new View<int>(x).Items[0]", "((Base)new View(x)).Items[0]"] {
            assert!(is_in_view(name), "{name}");
        }
        for name in ["x.Items[0]", "map[\"new \"]", "((Base)x).Y", "newest.X"] {
            assert!(!is_in_view(name), "{name}");
        }
    }
}
