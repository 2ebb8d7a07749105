//! Every engine that Tandem knows by name.
//!
//! Not here: the choice of one ([`super::select`]).

use tandem_engine::description::Description;

/// All of them: the built-in one, then the child adapters, in the order of the documentation.
pub fn engines() -> impl Iterator<Item = &'static Description> {
    std::iter::once(&tandem_coreclr::DESCRIPTION).chain(tandem_child::descriptions())
}

/// The one with this name.
pub fn named(name: &str) -> Option<&'static Description> {
    engines().find(|engine| engine.name == name)
}
