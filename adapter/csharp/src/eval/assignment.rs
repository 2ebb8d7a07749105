//! Assignments of one value to one place or slot.
//!
//! Compound and deconstructing assignments arrive as such parts (`bind::assignment`).

use super::EvaluationTarget;
use super::evaluator::{Evaluator, Res};
use super::values::ValueOrSequence;
use crate::bind::typed::{Typed, TypedKind};
use crate::types::Ty;

/// Error text for something that can be read but not written to.
pub const NO_PLACE: &str = "has no place in the program to write to";

impl<T: EvaluationTarget> Evaluator<'_, T> {
    /// Writes to a place. Returns the value that was written.
    pub(crate) fn assign(&mut self, place: &Typed, value: &Typed) -> Res<T, ValueOrSequence<T::Location>> {
        match &place.kind {
            TypedKind::Slot(slot) => {
                let value = match self.value(value)? {
                    ValueOrSequence::Value(val) => self.target.copy(&val)?.into(),
                    local => local,
                };
                self.set(*slot, value.clone());
                Ok(value)
            }
            TypedKind::Property(of, property) if !matches!(property.ty, Ty::Reference(_)) => {
                let of = match of {
                    Some(of) => Some(self.receiver(of, &property.property.name)?),
                    None => None,
                };
                let val = self.val(value)?;
                self.target.set_property(of.as_ref(), property, &[], &val)?;
                Ok(val.into())
            }
            TypedKind::Indexer(of, property, arguments) if !matches!(property.ty, Ty::Reference(_)) => {
                let of = self.receiver(of, "[]")?;
                let (arguments, _) = self.arguments(arguments)?;
                let val = self.val(value)?;
                self.target.set_property(Some(&of), property, &arguments, &val)?;
                Ok(val.into())
            }
            _ => {
                let target = self.val(place)?;
                if Self::is_local_constant(&target) || !self.target.is_variable(&target) {
                    let source = self.source(place);
                    return self.fail(format!("`{source}` {NO_PLACE}"));
                }
                let val = self.val(value)?;
                self.target.write(&target, &val).map(ValueOrSequence::Value)
            }
        }
    }
}
