//! Lambdas and the statements in their braces.
//!
//! Does not check types or scopes: `bind::lambdas` and `bind::statements` did.

use super::EvaluationTarget;
use super::evaluator::{Evaluator, Res};
use super::values::{TypedValue, ValueOrSequence};
use crate::bind::typed::{Body, TypedLambda, TypedStmt};

/// Maximum number of rounds of all loops of a lambda for one item. The time limit of an evaluation
/// usually ends a loop before.
const MAX_ROUNDS: usize = 1_000_000;

/// How a statement ends.
enum StatementEnd<P> {
    Next,
    Break,
    Continue,
    Return(Option<ValueOrSequence<P>>),
}

impl<T: EvaluationTarget> Evaluator<'_, T> {
    /// Evaluates a lambda with these arguments; `None` if it has no result.
    pub(crate) fn apply_lambda(
        &mut self,
        lambda: &TypedLambda,
        arguments: Vec<ValueOrSequence<T::Location>>,
    ) -> Res<T, Option<ValueOrSequence<T::Location>>> {
        self.target.check_cancellation()?;
        for (slot, value) in lambda.slots.iter().zip(arguments) {
            self.set(*slot, value);
        }
        match &lambda.body {
            Body::Value(value) => self.value(value).map(Some),
            Body::Block(all) => match self.statements(all)? {
                StatementEnd::Return(value) => Ok(value),
                _ => Ok(None),
            },
        }
    }

    /// The same as `apply_lambda`, for a lambda that must have a result.
    pub(crate) fn result(
        &mut self,
        lambda: &TypedLambda,
        arguments: Vec<ValueOrSequence<T::Location>>,
    ) -> Res<T, ValueOrSequence<T::Location>> {
        match self.apply_lambda(lambda, arguments)? {
            Some(value) => Ok(value),
            None => self.fail("a lambda ended without a value"),
        }
    }

    fn statements(&mut self, all: &[TypedStmt]) -> Res<T, StatementEnd<T::Location>> {
        for one in all {
            match self.statement(one)? {
                StatementEnd::Next => {}
                end => return Ok(end),
            }
        }
        Ok(StatementEnd::Next)
    }

    fn statement(&mut self, stmt: &TypedStmt) -> Res<T, StatementEnd<T::Location>> {
        match stmt {
            TypedStmt::Block(all) => return self.statements(all),
            TypedStmt::Value(value) => drop(self.value(value)?),
            TypedStmt::Local(slot, ty, value) => {
                let value = match value {
                    Some(value) => match self.value(value)? {
                        ValueOrSequence::Value(val) => self.target.copy(&val)?.into(),
                        local => local,
                    },
                    None => TypedValue::null_of(ty.clone()).into(),
                };
                self.set(*slot, value);
            }
            TypedStmt::If(condition, then, other) => {
                if self.truth(condition)? {
                    return self.statement(then);
                }
                if let Some(other) = other {
                    return self.statement(other);
                }
            }
            TypedStmt::Loop { condition, updates, body, asks_first } => {
                let mut asks = *asks_first;
                for round in 0.. {
                    self.check_round(round)?;
                    if let Some(condition) = condition
                        && asks
                        && !self.truth(condition)?
                    {
                        break;
                    }
                    asks = true;
                    match self.statement(body)? {
                        StatementEnd::Break => break,
                        StatementEnd::Return(value) => return Ok(StatementEnd::Return(value)),
                        StatementEnd::Next | StatementEnd::Continue => {}
                    }
                    for update in updates {
                        drop(self.value(update)?);
                    }
                }
            }
            TypedStmt::ForEach { slot, of, item, body } => {
                for (round, value) in self.all_items_of(of)?.into_iter().enumerate() {
                    self.check_round(round)?;
                    self.set(*slot, value);
                    if let Some((own, item)) = item {
                        let value = self.value(item)?;
                        self.set(*own, value);
                    }
                    match self.statement(body)? {
                        StatementEnd::Break => break,
                        StatementEnd::Return(value) => return Ok(StatementEnd::Return(value)),
                        StatementEnd::Next | StatementEnd::Continue => {}
                    }
                }
            }
            TypedStmt::Return(value) => {
                let value = value.as_ref().map(|value| self.value(value)).transpose()?;
                return Ok(StatementEnd::Return(value));
            }
            TypedStmt::Break => return Ok(StatementEnd::Break),
            TypedStmt::Continue => return Ok(StatementEnd::Continue),
            TypedStmt::Throw(value) => {
                let thrown = self.val(value)?;
                return Err(self.target.exception_error(&thrown));
            }
        }
        Ok(StatementEnd::Next)
    }

    fn check_round(&self, round: usize) -> Res<T, ()> {
        self.target.check_cancellation()?;
        if round > MAX_ROUNDS {
            return self.fail(format!("a loop did not end within {MAX_ROUNDS} rounds"));
        }
        Ok(())
    }
}
