//! Lambdas and the statements in their braces.

use super::EvaluationTarget;
use super::evaluator::{Evaluator, Res};
use super::values::{Val, ValueOrSequence};
use crate::bind::typed::{Body, TypedLambda, TypedStmt};

/// Rounds that all loops of a lambda may make for one item; what takes longer than a call may is given up
/// before.
const MAX_ROUNDS: usize = 1_000_000;

/// How a statement ends.
enum End<P> {
    Next,
    Break,
    Continue,
    Return(Option<ValueOrSequence<P>>),
}

impl<T: EvaluationTarget> Evaluator<'_, T> {
    /// The result of a lambda for these arguments; none if it returns nothing.
    pub(crate) fn applied(
        &mut self,
        lambda: &TypedLambda,
        arguments: Vec<ValueOrSequence<T::Place>>,
    ) -> Res<T, Option<ValueOrSequence<T::Place>>> {
        self.target.proceed()?;
        for (slot, value) in lambda.slots.iter().zip(arguments) {
            self.set(*slot, value);
        }
        match &lambda.body {
            Body::Value(value) => self.value(value).map(Some),
            Body::Block(all) => match self.statements(all)? {
                End::Return(value) => Ok(value),
                _ => Ok(None),
            },
        }
    }

    /// As `applied`, where a value is wanted.
    pub(crate) fn result(
        &mut self,
        lambda: &TypedLambda,
        arguments: Vec<ValueOrSequence<T::Place>>,
    ) -> Res<T, ValueOrSequence<T::Place>> {
        match self.applied(lambda, arguments)? {
            Some(value) => Ok(value),
            None => self.failed("a lambda ended without a value"),
        }
    }

    fn statements(&mut self, all: &[TypedStmt]) -> Res<T, End<T::Place>> {
        for one in all {
            match self.statement(one)? {
                End::Next => {}
                end => return Ok(end),
            }
        }
        Ok(End::Next)
    }

    fn statement(&mut self, stmt: &TypedStmt) -> Res<T, End<T::Place>> {
        match stmt {
            TypedStmt::Block(all) => return self.statements(all),
            TypedStmt::Value(value) => drop(self.value(value)?),
            TypedStmt::Local(slot, ty, value) => {
                let value = match value {
                    Some(value) => match self.value(value)? {
                        ValueOrSequence::Val(val) => self.target.copied(&val)?.into(),
                        local => local,
                    },
                    None => Val::null_of(ty.clone()).into(),
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
                    self.in_time(round)?;
                    if let Some(condition) = condition
                        && asks
                        && !self.truth(condition)?
                    {
                        break;
                    }
                    asks = true;
                    match self.statement(body)? {
                        End::Break => break,
                        End::Return(value) => return Ok(End::Return(value)),
                        End::Next | End::Continue => {}
                    }
                    for update in updates {
                        drop(self.value(update)?);
                    }
                }
            }
            TypedStmt::ForEach { slot, of, item, body } => {
                for (round, value) in self.all_items_of(of)?.into_iter().enumerate() {
                    self.in_time(round)?;
                    self.set(*slot, value);
                    if let Some((own, item)) = item {
                        let value = self.value(item)?;
                        self.set(*own, value);
                    }
                    match self.statement(body)? {
                        End::Break => break,
                        End::Return(value) => return Ok(End::Return(value)),
                        End::Next | End::Continue => {}
                    }
                }
            }
            TypedStmt::Return(value) => {
                let value = value.as_ref().map(|value| self.value(value)).transpose()?;
                return Ok(End::Return(value));
            }
            TypedStmt::Break => return Ok(End::Break),
            TypedStmt::Continue => return Ok(End::Continue),
            TypedStmt::Throw(value) => {
                let thrown = self.val(value)?;
                return Err(self.target.thrown(&thrown));
            }
        }
        Ok(End::Next)
    }

    fn in_time(&self, round: usize) -> Res<T, ()> {
        self.target.proceed()?;
        if round > MAX_ROUNDS {
            return self.failed(format!("a loop did not end within {MAX_ROUNDS} rounds"));
        }
        Ok(())
    }
}
