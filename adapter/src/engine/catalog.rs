//! Every engine that Tandem knows by name.
//!
//! Not here: the choice of one ([`super::select`]).

use super::description::Description;
use super::{child, coreclr};

/// All of them: the built-in one, then the child adapters, in the order of the documentation.
pub fn engines() -> impl Iterator<Item = &'static Description> {
    std::iter::once(&coreclr::DESCRIPTION).chain(child::descriptions())
}

/// The one with this name.
pub fn named(name: &str) -> Option<&'static Description> {
    engines().find(|engine| engine.name == name)
}
