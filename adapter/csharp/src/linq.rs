//! Methods of sequences that are evaluated here, item by item: what each takes and returns is beside its
//! code. A lambda cannot be made in a program that is stopped; what these methods mean is known without one.
//!
//! [`table`] has all signatures; the code is in [`filters`], [`folds`] and [`keys`].

mod filters;
mod folds;
mod keys;
mod table;

use std::rc::Rc;

pub(crate) use table::{Gives, Intrinsic, LinqSignature, On, SignatureType, Takes, named, names};

use crate::bind::typed::TypedLambda;
use crate::eval::values::ValueOrSequence;
use crate::types::Ty;

/// A method with its arguments.
pub(crate) struct LinqCall<P> {
    pub(crate) intrinsic: Intrinsic,
    pub(crate) lambdas: Vec<Rc<TypedLambda>>,
    pub(crate) values: Vec<ValueOrSequence<P>>,
    /// The type of the items.
    pub(crate) item: Ty,
    /// The type of the result.
    pub(crate) ty: Ty,
}
