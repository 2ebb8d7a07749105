//! Arguments of a call in the source, bound as far as their types do not depend on the parameters.
//!
//! Not here: their binding and their conversion to parameters ([`super::arguments`]).

use std::rc::Rc;

use super::typed::Typed;
use crate::syntax::Span;
use crate::syntax::tree::{ArgumentMode, Designation, Expr, TypeName};
use crate::types::Ty;

/// An argument of a call in the source.
pub(super) struct SourceArgument<'e> {
    pub(super) name: Option<Rc<str>>,
    pub(super) mode: ArgumentMode,
    pub(super) value: SourceArgumentValue<'e>,
    pub(super) span: Span,
}

pub(super) enum SourceArgumentValue<'e> {
    Value(Typed),
    /// An expression whose type depends on the parameter: `new(…)`, `default`.
    TargetTyped(&'e Expr),
    /// A lambda, or a method group.
    Function,
    /// A declaration in an argument: `out var name`.
    Declared(Option<(&'e TypeName, Ty)>, &'e Designation),
}

impl<'e> SourceArgument<'e> {
    /// A value that is passed by position.
    pub(super) fn of(value: Typed) -> Self {
        let span = value.span;
        Self { name: None, mode: ArgumentMode::Value, value: SourceArgumentValue::Value(value), span }
    }

    /// A copy, which refers to the same source.
    pub(super) fn duplicate(&self) -> SourceArgument<'e> {
        let value = match &self.value {
            SourceArgumentValue::Value(value) => SourceArgumentValue::Value(value.clone()),
            SourceArgumentValue::TargetTyped(expr) => SourceArgumentValue::TargetTyped(expr),
            SourceArgumentValue::Function => SourceArgumentValue::Function,
            SourceArgumentValue::Declared(ty, names) => SourceArgumentValue::Declared(ty.clone(), names),
        };
        SourceArgument { name: self.name.clone(), mode: self.mode, value, span: self.span }
    }
}
