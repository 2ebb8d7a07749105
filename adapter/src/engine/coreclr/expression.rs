//! What people type, in C#: parsed with the C# grammar of tree-sitter, computed here as far as it can be, and by running code
//! of the program where it must.
//!
//! In reading order: [`request`] (what clients ask), [`parse`] (text to tree), [`walk`] (what each kind of expression means),
//! [`names`] (names and types), [`members`],
//! [`statics`] and [`getters`], [`elements`], [`overloads`] and [`calling`] (which method, and
//! calling it), [`placing`] (values into the program), [`tuples`], [`type_objects`], [`loading`] and [`conversions`], [`operations`], [`equality`],
//! [`operators`] and [`constant`], [`objects`] and [`arrays`] (`new`), [`patterns`],
//! [`supposing`] (types of what is not evaluated),
//! [`items`], [`sequences`], [`folding`], [`keyed`], [`queries`], [`lambdas`] and [`statements`] (LINQ with lambdas, worked out here), [`text`] (interpolation), [`assignment`], [`completions`], [`on_objects`] (for the rows
//! of the variables view).

mod arrays;
pub(super) mod assignment;
mod calling;
mod completions;
mod constant;
mod conversions;
mod elements;
mod equality;
mod folding;
mod getters;
mod items;
mod keyed;
mod lambdas;
mod loading;
mod members;
mod names;
mod objects;
mod on_objects;
mod operations;
mod operators;
mod overloads;
mod parse;
mod patterns;
mod placing;
mod queries;
mod request;
mod sequences;
mod statements;
mod statics;
mod supposing;
mod text;
mod tuples;
mod type_objects;
mod walk;

use dap_wire::{ErrorCode, Failure};
use tree_sitter::Node as Syntax;

pub(super) use constant::{Constant, real, width};
pub(super) use parse::{Format, Scope, check_syntax};
pub(super) use tuples::tuple_names;

use super::types::Ty;
use super::types::ty::BOOL;
use super::values::Path;

/// Where a value is.
#[derive(Clone)]
pub(super) enum Data {
    /// Here.
    Constant(Constant),
    /// In the program.
    At(Path),
}

/// A value with its static type.
#[derive(Clone)]
pub(super) struct Val {
    pub(super) data: Data,
    pub(super) ty: Ty,
    /// A constant expression, which C# converts more freely.
    pub(super) literal: bool,
}

impl Val {
    pub(super) fn null() -> Self {
        Self { data: Data::Constant(Constant::Null), ty: Ty::Null, literal: true }
    }

    pub(super) fn constant_of(constant: Constant, ty: Ty) -> Self {
        Self { data: Data::Constant(constant), ty, literal: false }
    }

    pub(super) fn plain(constant: Constant) -> Self {
        let ty = constant.ty();
        Self::constant_of(constant, ty)
    }

    pub(super) fn bool(value: bool) -> Self {
        Self::constant_of(Constant::Bool(value), BOOL)
    }

    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::plain(Constant::Text(text.into()))
    }

    pub(super) fn int(value: i32) -> Self {
        Self::plain(Constant::int(value))
    }

    pub(super) fn at(path: Path, ty: Ty) -> Self {
        Self { data: Data::At(path), ty, literal: false }
    }

    /// The way to it, when it is in the program.
    pub(super) fn path(&self) -> Option<&Path> {
        match &self.data {
            Data::At(path) => Some(path),
            Data::Constant(_) => None,
        }
    }
}

/// What a part of an expression stands for.
#[derive(Clone)]
enum Found {
    Val(Val),
    Type(Ty),
    Namespace(String),
    /// Methods of this name; the target is none for static ones.
    Group {
        target: Option<Val>,
        ty: Ty,
        name: String,
        types: Vec<Ty>,
    },
    /// A call that gives nothing.
    Nothing,
    /// Behind a `?.` on null: nothing more is looked at.
    Skipped,
}

/// An argument as it was written.
struct Given<'t> {
    name: Option<String>,
    value: Passed<'t>,
}

enum Passed<'t> {
    Val(Val),
    /// `out var name`, `out Type name`, `out _`: a new variable.
    Declared {
        name: Option<String>,
        ty: Option<Ty>,
    },
    /// A lambda: worked out for each item by those few methods that we do ourselves.
    Lambda(Syntax<'t>),
    /// A method in a lambda's place: `char.IsDigit`.
    Method(Found),
}

fn failed(message: impl Into<String>) -> Failure {
    Failure::new(ErrorCode::EvaluationFailed, message)
}
