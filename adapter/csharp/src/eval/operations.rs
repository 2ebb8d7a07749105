//! Built-in operators on values.
//!
//! Not here: arithmetic on constants ([`crate::operators`]).

use super::EvaluationTarget;
use super::evaluator::{Evaluator, Res};
use super::values::{TypedValue, ValueOrSequence};
use crate::bind::typed::Typed;
use crate::constant::Constant;
use crate::operators::{BinaryOp, OperatorError, Overflow, UnaryOp, compute, compute_unary};
use crate::types::STRING;

impl<T: EvaluationTarget> Evaluator<'_, T> {
    pub(crate) fn binary(
        &mut self,
        op: BinaryOp,
        (a, b): (&Typed, &Typed),
        overflow: Overflow,
        of: &Typed,
    ) -> Res<T, ValueOrSequence<T::Location>> {
        if a.ty == STRING && b.ty == STRING && matches!(op, BinaryOp::Equal | BinaryOp::NotEqual) {
            let are_equal = self.equal_texts(a, b)?;
            return Ok(TypedValue::bool(are_equal == (op == BinaryOp::Equal)).into());
        }
        let (first, second) = (self.constant(a)?, self.constant(b)?);
        match compute(op, &first, &second, (false, false), overflow) {
            Ok(constant) => Ok(TypedValue::constant_of(constant, of.ty.clone()).into()),
            Err(problem) => {
                let shown = format!("{} {} {}", first.invariant_text(), op.text(), second.invariant_text());
                match problem {
                    OperatorError::Overflow => self.fail(format!("OverflowException: {shown} overflows")),
                    OperatorError::DividesByZero => self.fail(format!("DivideByZeroException: {shown}")),
                    OperatorError::NoOperator => {
                        self.fail(format!("`{}` cannot be computed", self.source(of)))
                    }
                }
            }
        }
    }

    fn equal_texts(&mut self, a: &Typed, b: &Typed) -> Res<T, bool> {
        let [first, second] = self.pair(a, b)?;
        match (self.target.load(&first)?, self.target.load(&second)?) {
            (Some(first), Some(second)) => Ok(first == second),
            (None, None) => self.target.equal_texts(&first, &second),
            // If only one of two strings is too long to be read, their lengths differ.
            _ => Ok(false),
        }
    }

    pub(crate) fn unary(
        &mut self,
        op: UnaryOp,
        inner: &Typed,
        overflow: Overflow,
        of: &Typed,
    ) -> Res<T, ValueOrSequence<T::Location>> {
        let constant = self.constant(inner)?;
        match compute_unary(op, &constant, false, overflow) {
            Ok(constant) => Ok(TypedValue::constant_of(constant, of.ty.clone()).into()),
            Err(OperatorError::Overflow) => {
                self.fail(format!("OverflowException: {}{} overflows", op.text(), constant.invariant_text()))
            }
            Err(_) => self.fail(format!("`{}` cannot be computed", self.source(of))),
        }
    }

    /// Whether two references lead to the same object. A value that was just boxed equals only itself.
    pub(crate) fn same(&mut self, a: &Typed, b: &Typed) -> Res<T, bool> {
        let (first, second) = (self.value(a)?, self.value(b)?);
        let (first, second) = match (first, second) {
            (ValueOrSequence::Value(first), ValueOrSequence::Value(second)) => (first, second),
            (ValueOrSequence::Local(first, _), ValueOrSequence::Local(second, _)) => {
                return Ok(std::rc::Rc::ptr_eq(&first, &second));
            }
            _ => return Ok(false),
        };
        let (is_null, other_null) = (self.target.is_null(&first)?, self.target.is_null(&second)?);
        if is_null || other_null {
            return Ok(is_null && other_null);
        }
        let is_new_box = |val: &TypedValue<T::Location>| {
            val.ty.is_value() && !matches!(val.ty, crate::types::Ty::Pointer(_))
        };
        if is_new_box(&first) || is_new_box(&second) {
            return Ok(false);
        }
        match (a.interned_text(), b.interned_text()) {
            (Some(first), Some(second)) => Ok(first == second),
            (Some(text), None) => self.is_interned(text, &second),
            (None, Some(text)) => self.is_interned(text, &first),
            // A string that was just computed is another object.
            (None, None) => match (self.target.identity(&first)?, self.target.identity(&second)?) {
                (Some(first), Some(second)) => Ok(first == second),
                _ => Ok(false),
            },
        }
    }

    /// Whether a value is the string that the runtime interns for a literal.
    fn is_interned(&self, text: &str, val: &TypedValue<T::Location>) -> Res<T, bool> {
        if self.target.identity(val)?.is_none() {
            return Ok(false);
        }
        match self.target.load(val)? {
            Some(Constant::Text(own)) if own == text => self.target.is_interned(val),
            _ => Ok(false),
        }
    }
}
