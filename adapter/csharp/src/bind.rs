//! Binds a tree to a typed tree: looks names up, chooses overloads, inserts conversions, folds constants.
//! Pure: no code of a program runs, and types come from a [`TypeProvider`]. Expressions that only the
//! compiler can bind are refused, with the name of their kind.
//!
//! In reading order: [`system`] (type definitions), [`relations`] and [`type_text`], [`scope`], [`typed`]
//! (the typed tree) and [`effects`]; then the binder: [`classification`], [`binder`], [`lookup`] and
//! [`members`] with [`intrinsic_members`], [`extension_properties`], [`dynamic_members`] and
//! [`interface_member`], [`type_names`],
//! [`conversions`], [`user_conversions`] and [`spans`], [`source_argument`] and [`arguments`], [`inference`],
//! [`candidates`] and [`overloads`], [`calls`] and [`receivers`], [`operators`], [`unary`] and
//! [`user_operators`], [`logical`] and [`equality`], [`elements`] and [`indexers`], [`creation`],
//! [`anonymous_objects`] and [`anonymous_types`], [`assignment`] with [`hoisted_values`] and
//! [`deconstruction`], [`patterns`], [`conditional`], [`lambdas`] and [`statements`],
//! [`sequences`] and [`queries`], [`completions`].

mod anonymous_objects;
mod anonymous_types;
mod arguments;
mod assignment;
mod binder;
mod calls;
mod candidates;
mod classification;
pub(crate) mod completions;
mod conditional;
mod conversions;
mod creation;
mod deconstruction;
mod dynamic_members;
pub(crate) mod effects;
mod elements;
mod equality;
mod extension_properties;
mod hoisted_values;
mod indexers;
mod inference;
mod interface_member;
mod intrinsic_members;
mod lambdas;
mod logical;
mod lookup;
mod members;
mod operators;
mod overloads;
mod patterns;
mod pointers;
mod queries;
mod receivers;
mod refusals;
mod relations;
pub(crate) mod scope;
mod sequences;
mod source_argument;
mod spans;
mod statements;
pub(crate) mod system;
mod type_names;
mod type_text;
pub(crate) mod typed;
mod unary;
mod user_conversions;
mod user_operators;

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fake;
#[cfg(test)]
mod mutations;
#[cfg(test)]
mod receiver_tests;
#[cfg(test)]
mod span_tests;
#[cfg(test)]
mod tests;

pub use completions::{Completion, complete};
pub use effects::Effects;
#[cfg(any(test, feature = "fuzzing"))]
pub use fake::bind_any;
pub use relations::TypeRelations;
pub use scope::{Caller, Scope, UsingDirectives, Variable};
pub use system::{
    CallerPart, ContiguousElements, Field, GenericParameter, Member, Method, Parameter, PassMode, Property,
    TypeInfo, TypeKind, TypeProvider, Variance,
};
pub use typed::{FieldRef, MethodRef, PropertyRef, Typed};

use crate::syntax::{Diagnostic, Expr, Span};
use crate::types::Ty;

/// The meaning of an expression.
#[derive(Debug, Clone)]
pub enum Meaning {
    /// A value, or a call that returns nothing.
    Value(Typed),
    /// The expression names a type, for example `List<int>`.
    Type(Ty),
    /// The expression names a namespace, by its full name.
    Namespace(String),
}

/// The reason why an expression cannot be bound.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    /// The expression is not valid C#.
    Invalid(Diagnostic),
    /// The expression may be valid, but only the compiler can bind it.
    NeedsCompiler {
        /// The kind of the expression: "a `with` expression".
        what: String,
        /// The part of the expression that needs the compiler.
        span: Span,
    },
}

impl From<Diagnostic> for Refusal {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Invalid(diagnostic)
    }
}

/// A typed tree, and the number of variables that it needs.
#[derive(Debug, Clone)]
pub struct BoundExpression {
    /// The meaning of the expression.
    pub meaning: Meaning,
    /// Number of variables that the expression declares, in lambdas, patterns and `out var`.
    pub slots: u32,
}

/// Binds an expression. With an expected type, it is converted to that type.
///
/// # Errors
/// The compiler's error, or that only the compiler can bind it.
pub fn bind(
    expr: &Expr,
    scope: &Scope,
    expected: Option<&Ty>,
    types: &dyn TypeProvider,
) -> Result<BoundExpression, Refusal> {
    let mut binder = binder::Binder::new(scope, types);
    let meaning = match expected {
        Some(ty) => binder.convert_expr(expr, ty).map(Meaning::Value),
        None => binder.meaning(expr),
    };
    let meaning = meaning.map_err(|refusal| *refusal)?;
    Ok(BoundExpression { meaning, slots: binder.slots })
}

/// Binds an assignment of one expression to another, as `target = value`.
///
/// # Errors
/// The same errors as for [`bind`].
pub fn bind_assignment(
    target: &Expr,
    value: &Expr,
    scope: &Scope,
    types: &dyn TypeProvider,
) -> Result<BoundExpression, Refusal> {
    let mut binder = binder::Binder::new(scope, types);
    let assigned = binder.plain_assignment(target, value, target.span).map_err(|refusal| *refusal)?;
    Ok(BoundExpression { meaning: Meaning::Value(assigned), slots: binder.slots })
}
