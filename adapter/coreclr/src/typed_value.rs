//! Values as expressions and rows use them: a constant here, or the path to a value in the program, with a
//! type. Reads none (`values::current_values`).

pub(super) use csharp_expr::Constant;
pub(super) use csharp_expr::eval::ValueLocation;
pub(super) use csharp_expr::syntax::Format;

use super::value_path::Path;

/// A value: a constant here, or the path to it in the program.
pub(super) type TypedValue = csharp_expr::eval::TypedValue<Path>;
