//! Evaluation of C# expressions: the crate `tandem-csharp` parses, binds and evaluates them; this module
//! connects it to the program. Not here: running code of the program ([`super::calls`]), and the text of a
//! value ([`super::values`]).
//!
//! In reading order: [`request`] (requests of clients) and [`prepared_expression`] (expressions that are
//! evaluated repeatedly), [`compiler_fallback`] (to a compiler), [`scope`] (names in scope), [`evaluation`]
//! (both sides of the crate's traits). Its parts: [`member_access`],
//! [`getters`], [`statics`] and [`memory`], [`method_calls`] and [`base_calls`], [`object_creation`] and
//! [`marshal_in`] (values into the program), [`read_only_locals`], [`type_objects`], [`sequence_items`] and
//! [`key_operations`] (items, and the program's own order); [`object_context`] (for the rows of the variables
//! view), [`shown_values`] (their texts as new values), [`expression_hints`], [`completions`].

mod base_calls;
mod compiler_fallback;
mod completions;
mod evaluation;
mod expression_hints;
mod getters;
mod key_operations;
mod marshal_in;
mod member_access;
mod memory;
mod method_calls;
mod object_context;
mod object_creation;
mod prepared_expression;
mod read_only_locals;
mod request;
mod scope;
mod sequence_items;
mod shown_values;
mod statics;
mod type_objects;

use tandem_csharp::constant::width;

use super::expression_syntax::failed;
use super::typed_value::{Constant, Format, TypedValue, ValueLocation};
