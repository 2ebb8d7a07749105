//! Patterns: whether a value passes their tests.
//!
//! Does not choose the tests: the typed tree has them (`bind::patterns`).

use super::EvaluationTarget;
use super::evaluator::{Evaluator, Res};
use super::values::{TypedValue, ValueOrSequence};
use crate::bind::Effects;
use crate::bind::typed::{Typed, TypedPattern};
use crate::constant::Constant;
use crate::operators::{BinaryOp, Overflow, compute};

impl<T: EvaluationTarget> Evaluator<'_, T> {
    /// The value that patterns test. Their variables keep it while the expression writes to the program.
    pub(crate) fn input(&mut self, of: &Typed) -> Res<T, ValueOrSequence<T::Location>> {
        Ok(match self.value(of)? {
            ValueOrSequence::Value(val) if self.is_writing => self.keep_during(val, Effects::Assigns)?.into(),
            value => value,
        })
    }

    pub(crate) fn holds(&mut self, test: &TypedPattern, slot: u32) -> Res<T, bool> {
        Ok(match test {
            TypedPattern::Always => true,
            TypedPattern::Keep(own) => {
                let value = self.slot(slot)?;
                self.set(*own, value);
                true
            }
            TypedPattern::NotNull => !self.is_null(&self.slot(slot)?)?,
            TypedPattern::Null => self.is_null(&self.slot(slot)?)?,
            TypedPattern::Type(ty, own) => {
                let value = self.slot(slot)?;
                let val = match &value {
                    ValueOrSequence::Value(val) => val,
                    ValueOrSequence::Local(_, from) => {
                        let is = self.types().derives(from, ty);
                        self.set(*own, value);
                        return Ok(is);
                    }
                };
                if !self.is_of(val, ty)? {
                    return Ok(false);
                }
                let val = match self.types().nullable(&val.ty) {
                    Some(_) => self.target.nullable_value(val)?,
                    None => val.clone(),
                };
                let is_boxed = val.ty.is_value() && !ty.is_value();
                let ty = if is_boxed { val.ty.clone() } else { ty.clone() };
                self.set(*own, TypedValue { ty, ..val }.into());
                true
            }
            TypedPattern::Constant(expected) => self.is_constant(slot, expected)?,
            TypedPattern::Holds(of) => self.truth(of)?,
            TypedPattern::Not(of) => !self.holds(of, slot)?,
            TypedPattern::All(all) => {
                for one in all {
                    if !self.holds(one, slot)? {
                        return Ok(false);
                    }
                }
                true
            }
            TypedPattern::Any(all) => {
                for one in all {
                    if self.holds(one, slot)? {
                        return Ok(true);
                    }
                }
                false
            }
            TypedPattern::Part(of, own, test) => {
                let value = self.value(of)?;
                self.set(*own, value);
                self.holds(test, *own)?
            }
        })
    }

    /// Whether a value equals a constant. For an object the type must be equal, too, and NaN equals NaN.
    fn is_constant(&mut self, slot: u32, expected: &Typed) -> Res<T, bool> {
        let ValueOrSequence::Value(val) = self.slot(slot)? else { return Ok(false) };
        if self.target.is_null(&val)? {
            return Ok(false);
        }
        let constant = self.constant(expected)?;
        if !val.ty.is_value() && self.target.actual_type(&val)? != expected.ty {
            return Ok(false);
        }
        let Some(own) = self.target.load(&val)? else { return Ok(false) };
        Ok(match (&own, &constant) {
            (Constant::Double(a), Constant::Double(b)) if a.is_nan() => b.is_nan(),
            (Constant::Single(a), Constant::Single(b)) if a.is_nan() => b.is_nan(),
            _ => {
                compute(BinaryOp::Equal, &own, &constant, (false, false), Overflow::Wraps)
                    == Ok(Constant::Bool(true))
            }
        })
    }
}
