//! Evaluation of a typed tree against an [`EvaluationTarget`]. Constants are computed in the debugger; values
//! of a program are accessed through the target. Names, overloads and conversions were chosen by
//! [`crate::bind`].
//!
//! In reading order: [`target`] and [`values`], [`evaluator`] (the evaluation of nodes), [`operations`] and
//! [`conversions`], [`patterns`], [`string_conversion`], [`calls`], [`assignment`], [`statements`],
//! [`sequences`] and [`queries`]; the methods of sequences are in [`crate::linq`].

mod assignment;
mod calls;
mod conversions;
mod evaluator;
mod operations;
mod patterns;
mod queries;
pub(crate) mod sequences;
mod statements;
mod string_conversion;
mod target;
pub(crate) mod values;

#[cfg(test)]
pub(crate) mod fake;
#[cfg(test)]
mod tests;

pub use assignment::NO_PLACE;
pub(crate) use evaluator::{Evaluator, MAX_ITEMS};
pub use target::EvaluationTarget;
pub use values::{Grouping, SortKeys, TypedValue, ValueLocation};

use crate::bind::{Effects, Typed};

/// Evaluates a typed tree; `None` for a call without a result. `text` is the source text, for messages.
///
/// # Errors
/// Errors of the program or the target, and exceptions that the evaluation would throw in the program.
pub fn evaluate<T: EvaluationTarget>(
    typed: &Typed,
    slots: u32,
    text: &str,
    target: &T,
) -> Result<Option<TypedValue<T::Location>>, T::Error> {
    let mut evaluator = Evaluator::new(target, text, slots);
    evaluator.is_writing = typed.effects() >= Effects::Assigns;
    let value = evaluator.value(typed)?;
    if typed.is_void() {
        return Ok(None);
    }
    evaluator.create_in_program(value).map(Some)
}

/// The run-time type of the current value of a tree that declares no variables; `None` for null.
///
/// # Errors
/// The same errors as for [`evaluate`].
pub fn current_type<T: EvaluationTarget>(
    typed: &Typed,
    target: &T,
) -> Result<Option<crate::types::Ty>, T::Error> {
    let val = Evaluator::new(target, "", 0).val(typed)?;
    Ok(if target.is_null(&val)? { None } else { Some(target.actual_type(&val)?) })
}
