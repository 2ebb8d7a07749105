//! Evaluates C# expressions of users: the crate `csharp-expr` parses, binds and evaluates them; this module
//! connects it to the program.
//!
//! In reading order: [`request`] (requests of clients) and [`prepared`] (expressions that are evaluated
//! repeatedly), [`handover`] (to a compiler), [`scope`] (names in scope), [`library`] (types from metadata),
//! [`evaluation`] (both sides of the crate's traits). Its parts: [`reading`], [`getters`], [`statics`] and
//! [`memory`], [`calling`], [`making`] and [`marshal_in`] (values into the program), [`type_objects`],
//! [`sequences`] and [`keyed`] (items, and the program's own order); [`objects`] (for the rows of the
//! variables view), [`completions`].

mod calling;
mod completions;
mod evaluation;
mod getters;
mod handover;
mod keyed;
mod library;
mod making;
mod marshal_in;
mod memory;
mod objects;
mod prepared;
mod reading;
mod request;
mod scope;
mod sequences;
mod statics;
mod type_objects;

use dap_wire::{ErrorCode, Failure};

pub(super) use csharp_expr::Constant;
pub(super) use csharp_expr::constant::{real, width};
pub(super) use csharp_expr::eval::Data;
pub(super) use csharp_expr::syntax::Format;
pub(super) use library::Library;
pub(super) use prepared::{BindContext, PreparedExpression};
pub(super) use request::check_syntax;

use super::values::{MAX_COPY, MAX_TEXT_LEN, Path};

/// A value: a constant here, or the path to it in the program.
pub(super) type Val = csharp_expr::eval::Val<Path>;

/// Longest text, UTF-16 units.
pub(super) fn max_text_len(format: &Format) -> u32 {
    if format.copies { MAX_COPY } else { MAX_TEXT_LEN }
}

pub(super) fn failed(message: impl Into<String>) -> Failure {
    Failure::new(ErrorCode::EvaluationFailed, message)
}
