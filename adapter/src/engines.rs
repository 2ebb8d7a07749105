//! The choice of an engine: the built-in one for .NET, or a child adapter.
//!
//! The only code that knows every engine. Not here: the interface of an engine ([`tandem_engine`]).

pub mod catalog;
pub mod detect;
pub mod expected_filters;
pub mod select;
#[cfg(test)]
mod tables;
