//! Conversion of types to and from those of the runtime (ICorDebugType). Not here: types from signatures
//! ([`super::ty`]).

use std::fmt;
use std::rc::Rc;

use cordebug::frame::Frame;
use cordebug::types::Type;
use cordebug::value::{Value as ClrValue, element};
use tandem_wire::Failure;

use super::ty::STRING;
use super::{NamedType, Ty};
use crate::bare_value::bare;
use crate::cor;
use crate::debuggee::ClrDebuggee;
use crate::modules::LoadedModule;
use crate::types::ClrTypeSystem;

/// Deepest nesting of a type's parts, and most parts: a type that contains itself twice, and so on, is short
/// in the runtime and endless in text.
const MAX_DEPTH: usize = 64;
const MAX_PARTS: usize = 1000;

impl ClrTypeSystem {
    /// The module and the TypeDef token of a type of the runtime.
    pub(crate) fn class_of(&self, kind: &Type) -> Option<(Rc<LoadedModule>, u32)> {
        let class = kind.class().ok()?;
        Some((self.modules.of(&class.module().ok()?)?, class.token().ok()?))
    }

    /// The module and the MethodDef token of the method that a frame runs.
    pub(crate) fn method_of(&self, frame: &Frame) -> Option<(Rc<LoadedModule>, u32)> {
        let function = frame.function().ok()?;
        Some((self.modules.of(&function.module().ok()?)?, function.token().ok()?))
    }

    /// The runtime's handle of a type.
    pub(crate) fn runtime_type(&self, debuggee: &ClrDebuggee, thread: u32, ty: &Ty) -> Result<Type, Failure> {
        let what = fmt::from_fn(|out| write!(out, "use the type `{}`", self.csharp(ty)));
        let lost = || Failure::invalid(format!("the type `{}` is not known to the runtime", self.csharp(ty)));
        match ty {
            Ty::Primitive(kind) if !matches!(*kind, element::STRING | element::OBJECT | element::VOID) => {
                let eval = debuggee.thread(thread)?.create_eval().map_err(cor(&what))?;
                eval.create_value(*kind).and_then(|value| value.exact_type()).map_err(cor(&what))
            }
            Ty::Primitive(_) => {
                let (loaded, token) = self.definition(ty).ok_or_else(lost)?;
                let class = loaded.module.class(token).map_err(cor(&what))?;
                class.parameterized(false, &[]).map_err(cor(&what))
            }
            Ty::Named(NamedType { module, token, is_value, arguments, .. }) => {
                let loaded = self.modules.by_id(*module).ok_or_else(lost)?;
                let arguments: Vec<Type> = arguments
                    .iter()
                    .map(|of| self.runtime_type(debuggee, thread, of))
                    .collect::<Result<_, _>>()?;
                let class = loaded.module.class(*token).map_err(cor(&what))?;
                class.parameterized(*is_value, &arguments).map_err(cor(&what))
            }
            Ty::Vector(of) => {
                let of = self.runtime_type(debuggee, thread, of)?;
                debuggee.thread(thread)?.array_of(element::SZARRAY, 1, &of).map_err(cor(&what))
            }
            Ty::Array(of, rank) => {
                let of = self.runtime_type(debuggee, thread, of)?;
                debuggee.thread(thread)?.array_of(element::ARRAY, *rank, &of).map_err(cor(&what))
            }
            Ty::Pointer(of) => {
                let of = self.runtime_type(debuggee, thread, of)?;
                debuggee.thread(thread)?.array_of(element::PTR, 0, &of).map_err(cor(&what))
            }
            _ => Err(lost()),
        }
    }

    /// A type of the runtime; parts beyond readable lengths are left out.
    pub(crate) fn ty_of_runtime(&self, kind: &Type) -> Ty {
        self.ty_within(kind, MAX_DEPTH, &mut MAX_PARTS.clone())
    }

    fn ty_within(&self, kind: &Type, deeper: usize, left: &mut usize) -> Ty {
        if deeper == 0 || *left == 0 {
            return Ty::Other;
        }
        *left -= 1;
        let Ok(element_type) = kind.element_type() else { return Ty::Other };
        let mut inner = || {
            let inner = kind.first_parameter();
            Box::new(inner.map_or(Ty::Other, |inner| self.ty_within(&inner, deeper - 1, left)))
        };
        match element_type {
            element::VOID..=element::STRING | element::OBJECT | element::I | element::U => {
                Ty::Primitive(element_type)
            }
            element::SZARRAY => Ty::Vector(inner()),
            element::ARRAY => Ty::Array(inner(), kind.rank().unwrap_or(1)),
            element::PTR => Ty::Pointer(inner()),
            element::BYREF => Ty::Reference(inner()),
            element::CLASS | element::VALUETYPE => {
                let Some((loaded, token)) = self.class_of(kind) else { return Ty::Other };
                let arguments = kind.parameters().unwrap_or_default();
                let arguments = arguments.iter().map(|of| self.ty_within(of, deeper - 1, left)).collect();
                self.defined(&loaded, token, Some(element_type == element::VALUETYPE), arguments)
            }
            _ => Ty::Other,
        }
    }

    /// The declared type of a variable, as far as the runtime knows it.
    pub(crate) fn declared_ty(&self, value: &ClrValue) -> Ty {
        if value.is_long_string() {
            return STRING;
        }
        let ty = value.exact_type().map_or(Ty::Other, |kind| self.ty_of_runtime(&kind));
        match ty {
            Ty::Reference(of) => *of,
            other => other,
        }
    }

    /// The type of the current value; the declared one for null.
    pub(crate) fn actual_ty(&self, value: &ClrValue) -> Ty {
        let inner = bare(value);
        self.declared_ty(inner.as_ref().unwrap_or(value))
    }
}
