//! Runs code of the program for evaluations: getters, methods, constructors, new strings.
//!
//! The thread of the stop runs the code; the others stay suspended at first, so that inspecting does not move
//! the program. Each call has a deadline: after half of it the others run too, in case the call waits for one
//! of them; after the whole it is aborted, first politely, then rudely ([`phase`]). If even that does not end
//! it, or might end the program ([`wait_detection`], [`abort_safety`]), the call stays on its thread
//! ([`super::func_eval::stuck_calls`]) and the session continues. [`execution`] is the loop that does so,
//! after threads that have just begun are past their first calls ([`lone_thread`]).
//! Requests that arrive in the meantime wait; stops and exceptions inside the call are not reported to
//! clients.

mod abort_safety;
pub(super) mod arguments;
mod execution;
mod lone_thread;
mod marshalled_argument;
mod phase;
mod wait_detection;

use cordebug::value::Value as ClrValue;
use tandem_wire::{ErrorCode, Failure};

use super::typed_value::{Constant, TypedValue, ValueLocation};
use super::types::Ty;
use super::value_path::{NameType, Path, PathRoot};
use crate::bare_value::bare;
use crate::stop_context::StopContext;
use crate::value_store::ValueStore;

impl StopContext<'_> {
    /// The result of a call, as a value: primitives inline, objects by a handle.
    pub(super) fn wrap_result(
        &self,
        value: Option<ClrValue>,
        ty: &Ty,
        name: &str,
    ) -> Result<TypedValue, Failure> {
        let Some(value) = value else { return Ok(TypedValue::null()) };
        let ty = match ty.direct() {
            Ty::Other | Ty::Null | Ty::Var(_) | Ty::MethodVar(_) => self.types.actual_ty(&value),
            known => known.clone(),
        };
        let Some(inner) = bare(&value) else {
            return Ok(TypedValue::constant_of(Constant::Null, ty));
        };
        // A boxed number has its own type; a boxed enum would look like its number.
        let is_boxed_enum =
            !ty.is_value() && self.types.enum_storage(&self.types.declared_ty(&inner)).is_some();
        if inner.as_string().is_none()
            && !is_boxed_enum
            && let Some(constant) = self.types.constant_of(&inner)
        {
            return Ok(TypedValue::constant_of(constant, ty));
        }
        match self.values.hold_object(&value, name) {
            Some(path) => {
                let is_base = !ty.is_value() && self.types.declared_ty(&inner) != ty;
                let name_type = if is_base { NameType::Base } else { NameType::Declared };
                Ok(TypedValue { data: ValueLocation::At(Path { name_type, ..path }), ty })
            }
            None => Err(Failure::new(
                ErrorCode::EvaluationFailed,
                format!("the result of `{name}` cannot be kept: it is a `{}`", self.types.csharp(&ty)),
            )),
        }
    }
}

impl ValueStore {
    /// A path to an object, valid until the program resumes.
    pub(super) fn hold_object(&self, value: &ClrValue, name: &str) -> Option<Path> {
        let refers = |value: &ClrValue| value.as_reference().filter(|to| to.is_null() == Ok(false));
        let mut object = value.clone();
        // A member that returns by reference returns the place of a reference to the object.
        for _ in 0..2 {
            let Some(reference) = refers(&object) else { break };
            object = reference.dereference().ok()?;
        }
        let handle = object.handle().ok()?;
        Some(Path::new(PathRoot::Handle(self.references.keep(handle)), name))
    }
}
