//! C# expressions for a debugger, in three layers, each of which uses only those below it: [`syntax`] (text
//! to tree), [`bind`] (tree to typed tree, without running code) and [`eval`] (evaluation against a target).
//! The crate does not depend on a debugging interface, a protocol or threads.

pub mod bind;
pub mod constant;
pub mod eval;
pub(crate) mod linq;
pub mod operators;
pub mod syntax;
pub mod types;

pub use constant::Constant;
pub use types::Ty;
