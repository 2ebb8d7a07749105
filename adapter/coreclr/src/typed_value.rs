//! Values as expressions and rows use them: a constant here, or the path to a value in the program, with a
//! type. Reads none (`values::current_values`).

pub(super) use tandem_csharp::Constant;
pub(super) use tandem_csharp::eval::ValueLocation;
pub(super) use tandem_csharp::syntax::Format;

use super::value_path::Path;

/// A value: a constant here, or the path to it in the program.
pub(super) type TypedValue = tandem_csharp::eval::TypedValue<Path>;
