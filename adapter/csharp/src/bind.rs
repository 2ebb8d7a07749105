//! From a tree to a typed tree: names looked up, overloads chosen, conversions inserted, constants folded.
//! Pure: nothing of a program runs, and types come from a [`TypeProvider`]. What only the compiler knows how
//! to mean is handed over by name.
//!
//! In reading order: [`system`] (what types are), [`relations`] and [`spelling`], [`scope`], [`typed`] (what
//! comes out) and [`effects`]; then the binder: [`binder`], [`lookup`] and [`members`], [`type_names`],
//! [`conversions`] and [`user_conversions`], [`inference`] and [`overloads`], [`calls`], [`operators`],
//! [`logical`] and [`equality`], [`elements`], [`creation`], [`assignment`], [`patterns`], [`choices`],
//! [`lambdas`] and [`statements`], [`sequences`] and [`queries`], [`completions`].

mod assignment;
mod binder;
mod calls;
mod choices;
pub(crate) mod completions;
mod conversions;
mod creation;
pub(crate) mod effects;
mod elements;
mod equality;
mod inference;
mod lambdas;
mod logical;
mod lookup;
mod members;
mod operators;
mod overloads;
mod patterns;
mod queries;
mod relations;
pub(crate) mod scope;
mod sequences;
mod spelling;
mod statements;
pub(crate) mod system;
mod type_names;
pub(crate) mod typed;
mod user_conversions;

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fake;
#[cfg(test)]
mod mutations;
#[cfg(test)]
mod tests;

pub use completions::{Completion, complete};
pub use effects::Effects;
#[cfg(any(test, feature = "fuzzing"))]
pub use fake::bind_any;
pub use relations::TypeRelations;
pub use scope::{Scope, UsingDirectives, Variable};
pub use system::{
    ContiguousElements, Field, GenericParameter, Member, Method, Parameter, Pass, Property, TypeInfo,
    TypeKind, TypeProvider, Variance,
};
pub use typed::{FieldRef, MethodRef, PropertyRef, Typed};

use crate::syntax::{Diagnostic, Expr, Span};
use crate::types::Ty;

/// The meaning of an expression.
#[derive(Debug, Clone)]
pub enum Meaning {
    /// A value, or a call that returns nothing.
    Value(Typed),
    /// A type by itself.
    Type(Ty),
    /// A namespace by itself.
    Namespace(String),
}

/// Why an expression has no meaning here.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    /// It is not valid C#.
    Wrong(Diagnostic),
    /// It may be right, but only the compiler knows what it means.
    NeedsCompiler {
        /// Its kind: "a `with` expression".
        what: String,
        /// The part of the expression that needs the compiler.
        span: Span,
    },
}

impl From<Diagnostic> for Refusal {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Wrong(diagnostic)
    }
}

/// A typed tree, with as many places for what it declares itself.
#[derive(Debug, Clone)]
pub struct BoundExpression {
    /// The meaning of the expression.
    pub meaning: Meaning,
    /// How many variables the expression declares: of lambdas, patterns, `out var`.
    pub slots: u32,
}

/// Binds an expression; where a type is expected it becomes a value of that type.
///
/// # Errors
/// Why it means nothing, as the compiler says it; or that only the compiler knows.
pub fn bind(
    expr: &Expr,
    scope: &Scope,
    expected: Option<&Ty>,
    types: &dyn TypeProvider,
) -> Result<BoundExpression, Refusal> {
    let mut binder = binder::Binder::new(scope, types);
    let meaning = match expected {
        Some(ty) => binder.converted_expr(expr, ty).map(Meaning::Value),
        None => binder.meaning(expr),
    };
    let meaning = meaning.map_err(|refusal| *refusal)?;
    Ok(BoundExpression { meaning, slots: binder.slots })
}

/// Binds an assignment of one expression to another, as `target = value`.
///
/// # Errors
/// As [`bind`].
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
