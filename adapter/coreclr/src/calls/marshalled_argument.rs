//! Arguments that exist in the program, from their paths to what an evaluation passes. Not here: how an
//! argument gets there ([`super::arguments`]).

use cordebug::eval::Eval;
use cordebug::value::{Value as ClrValue, element};
use tandem_wire::{ErrorCode, Failure};

use crate::bare_value::bare;
use crate::cor;
use crate::stop_context::StopContext;
use crate::value_path::Path;

/// An argument that exists in the program.
pub(super) enum MarshalledArgument {
    Bits(u32, Vec<u8>),
    /// The value as it is: a reference.
    As(Path),
    /// The contents of a boxed struct.
    Inside(Path),
    /// The same, for a parameter that receives a copy.
    Copy(Path),
    Null,
}

/// An argument that was fetched, or that the evaluation creates.
pub(super) enum EvalArgument {
    Bits(u32, Vec<u8>),
    Null,
    Value(ClrValue),
}

impl StopContext<'_> {
    /// Fetches all arguments; nothing may run between this and the call.
    pub(super) fn all(&self, values: &[MarshalledArgument]) -> Result<Vec<EvalArgument>, Failure> {
        let inside = |path: &Path| {
            bare(&self.fetch(path)?)
                .ok_or_else(|| Failure::new(ErrorCode::EvaluationFailed, format!("`{}` is null", path.name)))
        };
        let fetch = |value: &MarshalledArgument| {
            Ok(match value {
                MarshalledArgument::Bits(kind, bytes) => EvalArgument::Bits(*kind, bytes.clone()),
                MarshalledArgument::Null => EvalArgument::Null,
                MarshalledArgument::As(path) => EvalArgument::Value(self.fetch(path)?),
                MarshalledArgument::Inside(path) => EvalArgument::Value(inside(path)?),
                MarshalledArgument::Copy(path) => {
                    let inner = inside(path)?;
                    match pad_struct(&inner).map_err(cor(format_args!("read `{}`", path.name)))? {
                        Some(bytes) => EvalArgument::Bits(element::U8, bytes),
                        None => EvalArgument::Value(inner),
                    }
                }
            })
        };
        values.iter().map(fetch).collect()
    }
}

/// Creates the values that do not exist yet.
pub(super) fn finish(list: Vec<EvalArgument>, eval: &Eval) -> cordebug::Result<Vec<ClrValue>> {
    list.into_iter()
        .map(|part| match part {
            EvalArgument::Value(value) => Ok(value),
            EvalArgument::Null => eval.create_value(element::CLASS),
            EvalArgument::Bits(kind, bytes) => {
                // The library creates no values of native size.
                let kind = match kind {
                    element::I => element::I8,
                    element::U => element::U8,
                    kind => kind,
                };
                let value = eval.create_value(kind)?;
                value.set_bytes(&bytes)?;
                Ok(value)
            }
        })
        .collect()
}

/// The bytes of a struct as the integer that is passed in a register. The runtime copies only structs of 1,
/// 2, 4 and 8 bytes, and larger ones; for others it would pass the address in that register. None of them
/// contains a reference.
fn pad_struct(value: &ClrValue) -> cordebug::Result<Option<Vec<u8>>> {
    if !matches!(value.size()?, 3 | 5 | 6 | 7) {
        return Ok(None);
    }
    let mut bytes = value.bytes()?;
    bytes.resize(size_of::<u64>(), 0);
    Ok(Some(bytes))
}
