//! C# expressions as a debugger needs them, in three layers that only look downward: [`syntax`] (text to
//! tree), [`bind`] (tree to typed tree; nothing runs) and [`eval`] (a typed tree against a target). It knows
//! no debugging interface, protocol or thread.

pub mod bind;
pub mod constant;
pub mod eval;
pub(crate) mod linq;
pub mod operators;
pub mod syntax;
pub mod types;

pub use constant::Constant;
pub use types::Ty;
