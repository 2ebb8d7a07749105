//! Methods of sequences that the debugger evaluates item by item. A lambda cannot be created in a stopped
//! program, so the debugger implements the methods that have lambdas.
//!
//! [`table`] has all signatures; the code is in [`selection`], [`aggregation`] and [`keys`]. Not here: the
//! choice of a signature (`bind::sequences`), query expressions (`eval::queries`).

mod aggregation;
mod keys;
mod selection;
mod table;

use std::rc::Rc;

pub(crate) use table::{
    ArgumentShape, DeclaringType, Intrinsic, LinqSignature, ResultShape, SignatureType, names, signatures,
};

use crate::bind::typed::TypedLambda;
use crate::eval::values::ValueOrSequence;
use crate::types::Ty;

/// A call of a sequence method, with its arguments.
pub(crate) struct LinqCall<P> {
    pub(crate) intrinsic: Intrinsic,
    pub(crate) lambdas: Vec<Rc<TypedLambda>>,
    pub(crate) values: Vec<ValueOrSequence<P>>,
    /// The type of the items.
    pub(crate) item: Ty,
    /// The type of the result.
    pub(crate) ty: Ty,
}
