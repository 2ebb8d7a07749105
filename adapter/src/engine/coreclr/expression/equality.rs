//! Equality of what has no operator of its own: objects by identity, tuples by their items.

use dap_wire::Failure;

use super::{Constant, Found, Scope, Val};
use crate::engine::coreclr::session::Session;
use crate::engine::coreclr::types::Ty;

impl Session {
    /// Whether two values that are looked at as objects are one, if either is in a box: a box is only itself, whatever is in
    /// it.
    pub(super) fn identical(&self, left: &Val, right: &Val) -> Result<Option<bool>, Failure> {
        let is_object = |val: &Val| !val.ty.is_value() && val.ty != Ty::Null;
        if !is_object(left) || !is_object(right) {
            return Ok(None);
        }
        let is_boxed = |val: &Val| -> Result<bool, Failure> {
            Ok(!self.is_null_val(val)? && self.actual(val)?.is_value())
        };
        if !is_boxed(left)? && !is_boxed(right)? {
            return Ok(None);
        }
        match (left.path(), right.path()) {
            // What is computed here is boxed anew each time.
            (Some(_), Some(_)) => match (self.address(left)?, self.address(right)?) {
                (Some(left), Some(right)) => Ok(Some(left == right)),
                _ => Ok(Some(false)),
            },
            _ => Ok(Some(false)),
        }
    }

    /// Equality of what has no operator: references by identity, tuples by their items.
    pub(super) fn same(
        &mut self,
        left: &Val,
        right: &Val,
        scope: &Scope<'_>,
    ) -> Result<Option<bool>, Failure> {
        if !left.ty.is_value() && !right.ty.is_value() {
            let (left, right) = (self.address(left)?, self.address(right)?);
            return Ok(left.zip(right).map(|(left, right)| left == right));
        }
        if self.full_name(&left.ty).starts_with("System.ValueTuple`")
            && left.ty.arguments().len() == right.ty.arguments().len()
        {
            for position in 1..=left.ty.arguments().len().min(7) {
                let name = format!("Item{position}");
                let item = |session: &mut Self, val: &Val| {
                    session.member_of(Found::Val(val.clone()), &name, Vec::new(), scope)
                };
                let (Found::Val(a), Found::Val(b)) = (item(self, left)?, item(self, right)?) else {
                    return Ok(None);
                };
                if !self.equal(&a, &b, scope)? {
                    return Ok(Some(false));
                }
            }
            return Ok(Some(true));
        }
        if self.is_null_val(left)? || self.is_null_val(right)? {
            return Ok(Some(self.is_null_val(left)? && self.is_null_val(right)?));
        }
        Ok(None)
    }

    /// `==`, as a truth.
    pub(super) fn equal(&mut self, left: &Val, right: &Val, scope: &Scope<'_>) -> Result<bool, Failure> {
        let val = self.operate("==", left.clone(), right.clone(), scope)?;
        Ok(self.load(&val)? == Some(Constant::Bool(true)))
    }
}
