//! Runs a typed tree against an [`EvaluationTarget`]. Values that can be computed here are; whatever is in a
//! program is reached through the target.
//!
//! In reading order: [`target`] and [`values`], [`evaluator`] (what each node does), [`operations`] and
//! [`conversions`], [`patterns`], [`text`], [`calls`], [`writing`], [`statements`], [`sequences`] and
//! [`queries`]; the methods of sequences are in [`crate::linq`].

mod calls;
mod conversions;
mod evaluator;
mod operations;
mod patterns;
mod queries;
pub(crate) mod sequences;
mod statements;
mod target;
mod text;
pub(crate) mod values;
mod writing;

#[cfg(test)]
pub(crate) mod fake;
#[cfg(test)]
mod tests;

pub(crate) use evaluator::{Evaluator, MAX_ITEMS};
pub use target::EvaluationTarget;
pub use values::{Data, Grouping, SortKeys, Val};
pub use writing::NO_PLACE;

use crate::bind::Typed;

/// The value of a typed tree; none of a call that returns nothing. `text` is what was typed, for messages.
///
/// # Errors
/// Errors of the program or the target, and exceptions that evaluating would throw in the program.
pub fn evaluate<T: EvaluationTarget>(
    typed: &Typed,
    slots: u32,
    text: &str,
    target: &T,
) -> Result<Option<Val<T::Place>>, T::Error> {
    let mut evaluator = Evaluator::new(target, text, slots);
    let value = evaluator.value(typed)?;
    if typed.is_void() {
        return Ok(None);
    }
    evaluator.in_program(value).map(Some)
}

/// The type of what a tree that declares nothing leads to now; none for null.
///
/// # Errors
/// As [`evaluate`].
pub fn seen<T: EvaluationTarget>(typed: &Typed, target: &T) -> Result<Option<crate::types::Ty>, T::Error> {
    let val = Evaluator::new(target, "", 0).val(typed)?;
    Ok(if target.is_null(&val)? { None } else { Some(target.actual_type(&val)?) })
}
