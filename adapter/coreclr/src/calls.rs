//! Runs code of the program for evaluations: getters, methods, constructors, new strings.
//!
//! The thread of the stop runs the code; the others stay suspended at first, so that inspecting does not move
//! the program. Each call has a deadline: after half of it the others run too, in case the call waits for one
//! of them; after the whole it is aborted, first politely, then rudely ([`phase`]). If even that does not end
//! it, or might end the program ([`wait_detection`], [`abort_safety`]), the call stays on its thread
//! ([`stuck_calls`]) and the session continues. [`execution`] is the loop that does so.
//! Requests that arrive in the meantime wait; stops and exceptions inside the call are not reported to
//! clients.

mod abort_safety;
pub(super) mod arguments;
mod execution;
mod first_calls;
mod phase;
pub(super) mod stuck_calls;
mod wait_detection;

use std::time::Duration;

use cordebug::value::Value as ClrValue;
use dap_wire::{ErrorCode, Failure};

use super::typed_value::{Constant, TypedValue, ValueLocation};
use super::types::Ty;
use super::value_path::{Path, PathRoot};
use crate::bare_value::bare;
use crate::stop_context::StopContext;
use crate::values::ValueStore;
use first_calls::FirstCalls;
use stuck_calls::StuckCalls;

/// Time limit of a call that a client requested.
pub(super) const CALL_TIMEOUT: Duration = Duration::from_secs(5);
/// Time limit of a call that only improves how a row looks.
pub(super) const DISPLAY_TIMEOUT: Duration = Duration::from_millis(400);

/// The location and the conditions under which code of the program may run.
#[derive(Clone, Copy)]
pub(super) struct EvalContext {
    pub(super) thread: u32,
    /// The frame whose names are visible, counted from the top.
    pub(super) frame: usize,
    /// Whether code of the program may run: an evaluation for a hover must not change anything.
    pub(super) runs: bool,
    pub(super) limit: Duration,
}

/// Calls of the program's code: whether they are allowed, and earlier ones that are still running.
#[derive(Default)]
pub(super) struct FuncEval {
    /// The current request may run no code of the program.
    pub(super) is_look_only: bool,
    /// Calls that could not be ended.
    pub(super) stuck: StuckCalls,
    /// Threads of the program that have not begun.
    pub(super) first_calls: FirstCalls,
}

impl FuncEval {
    /// Why nothing may run there, if so.
    fn refusal(&self, site: &EvalContext, what: &str) -> Option<Failure> {
        if self.is_look_only {
            let message = format!(
                "`{what}` runs code of the program, and agents may only look (`agentAccess` is `readOnly`)"
            );
            return Some(Failure::new(ErrorCode::AccessDenied, message).quiet());
        }
        if !site.runs {
            let message = format!("`{what}` runs code of the program, which hovering does not do");
            let failure = Failure::new(ErrorCode::EvaluationFailed, message);
            return Some(failure.hint("evaluate it in the console or as a watch").quiet());
        }
        self.stuck.refusal(site.thread, what)
    }
}

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
            Some(path) => Ok(TypedValue { data: ValueLocation::At(path), ty }),
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
