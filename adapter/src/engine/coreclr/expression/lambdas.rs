//! Lambdas as they are written: their parameters, and their bodies' values for the items of a sequence.

use std::time::{Duration, Instant};

use dap_wire::{ErrorCode, Failure};
use tree_sitter::Node as Syntax;

use super::items::too_many;
use super::walk::{child, inner};
use super::{Constant, Found, Scope, Val, failed};
use crate::engine::coreclr::session::Session;

/// A lambda's parameters and body.
pub(super) struct Lambda<'t> {
    parameters: Vec<String>,
    body: Body<'t>,
    /// It is worked out for as long as a call may run.
    since: Instant,
    limit: Duration,
}

enum Body<'t> {
    Expression(Syntax<'t>),
    /// Statements in braces.
    Block(Syntax<'t>),
    /// `char.IsDigit` where a lambda could stand.
    Method(Box<Found>),
}

impl<'t> Lambda<'t> {
    /// One that is written out.
    pub(super) fn read(node: Syntax<'t>, scope: &Scope<'_>, since: Instant) -> Result<Self, Failure> {
        let body = child(node, "body")?;
        let body = if body.kind() == "block" { Body::Block(body) } else { Body::Expression(body) };
        let list = child(node, "parameters")?;
        let parameters = match list.kind() {
            "parameter_list" => inner(list)
                .into_iter()
                .map(|parameter| {
                    scope.of(parameter.child_by_field_name("name").unwrap_or(parameter)).to_owned()
                })
                .collect(),
            _ => vec![scope.of(list).to_owned()],
        };
        Ok(Self { parameters, body, since, limit: scope.site.limit })
    }

    /// A method in a lambda's place.
    pub(super) fn of_method(group: Found, scope: &Scope<'_>, since: Instant) -> Self {
        Self { parameters: Vec::new(), body: Body::Method(Box::new(group)), since, limit: scope.site.limit }
    }

    /// How many parameters it has; a method says nothing.
    pub(super) fn arity(&self) -> usize {
        self.parameters.len()
    }

    /// Whether it is `x => x`.
    pub(super) fn gives_its_item(&self, scope: &Scope<'_>) -> bool {
        match (&self.body, self.parameters.as_slice()) {
            (Body::Expression(body), [name]) => scope.of(*body) == name,
            _ => false,
        }
    }

    /// The method's name, if it is one.
    fn method(&self) -> Option<&str> {
        match &self.body {
            Body::Method(group) => match group.as_ref() {
                Found::Group { name, .. } => Some(name),
                _ => None,
            },
            _ => None,
        }
    }

    fn text<'s>(&'s self, scope: &'s Scope<'_>) -> &'s str {
        match &self.body {
            Body::Expression(node) | Body::Block(node) => scope.of(*node),
            Body::Method(_) => self.method().unwrap_or_default(),
        }
    }
}

impl Session {
    pub(super) fn kept(
        &mut self,
        items: Vec<Val>,
        lambda: &Lambda<'_>,
        scope: &Scope<'_>,
    ) -> Result<Vec<Val>, Failure> {
        let mut kept = Vec::new();
        for (position, item) in items.into_iter().enumerate() {
            if self.holds(lambda, item.clone(), position, scope)? {
                kept.push(item);
            }
        }
        Ok(kept)
    }

    pub(super) fn first(
        &mut self,
        items: Vec<Val>,
        is_cut: bool,
        lambda: &Lambda<'_>,
        scope: &Scope<'_>,
    ) -> Result<Option<(usize, Val)>, Failure> {
        for (position, item) in items.into_iter().enumerate() {
            if self.holds(lambda, item.clone(), position, scope)? {
                return Ok(Some((position, item)));
            }
        }
        if is_cut { Err(too_many()) } else { Ok(None) }
    }

    pub(super) fn holds(
        &mut self,
        lambda: &Lambda<'_>,
        item: Val,
        position: usize,
        scope: &Scope<'_>,
    ) -> Result<bool, Failure> {
        let val = self.applied(lambda, item, position, scope)?;
        match self.load(&val)? {
            Some(Constant::Bool(holds)) => Ok(holds),
            _ => Err(failed(format!("`{}` is no truth", lambda.text(scope)))),
        }
    }

    pub(super) fn applied(
        &mut self,
        lambda: &Lambda<'_>,
        item: Val,
        position: usize,
        scope: &Scope<'_>,
    ) -> Result<Val, Failure> {
        let mut values = vec![item];
        if lambda.parameters.len() > 1 {
            values.push(Val::int(i32::try_from(position).unwrap_or(i32::MAX)));
        }
        self.applied_to(lambda, values, scope)
    }

    /// A lambda's value for these arguments.
    pub(super) fn applied_to(
        &mut self,
        lambda: &Lambda<'_>,
        values: Vec<Val>,
        scope: &Scope<'_>,
    ) -> Result<Val, Failure> {
        match self.outcome(lambda, values, scope)? {
            Found::Val(val) => Ok(val),
            Found::Skipped => Ok(Val::null()),
            _ => Err(failed(format!("`{}` gives nothing, so it has no value", lambda.text(scope)))),
        }
    }

    /// As `applied_to`, also where nothing comes of it.
    pub(super) fn outcome(
        &mut self,
        lambda: &Lambda<'_>,
        values: Vec<Val>,
        scope: &Scope<'_>,
    ) -> Result<Found, Failure> {
        if self.cancel.is_cancelled() {
            return Err(Failure::cancelled());
        }
        if lambda.since.elapsed() > lambda.limit {
            let message = format!(
                "`{}` was worked out item by item for {} ms and did not come to an end",
                lambda.text(scope),
                lambda.limit.as_millis()
            );
            return Err(Failure::new(ErrorCode::EvaluationTimeout, message));
        }
        if let Body::Method(group) = &lambda.body {
            return self.invoke_with((**group).clone(), values, scope);
        }
        let before = scope.bindings.borrow().len();
        scope.bindings.borrow_mut().extend(lambda.parameters.iter().cloned().zip(values));
        let found = match &lambda.body {
            Body::Block(block) => self.block(*block, scope),
            Body::Expression(body) => self.walk(*body, scope).map(|found| self.lifted(found, *body, scope)),
            Body::Method(_) => Ok(Found::Nothing),
        };
        scope.bindings.borrow_mut().truncate(before);
        found
    }
}
