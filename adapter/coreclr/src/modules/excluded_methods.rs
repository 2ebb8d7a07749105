//! Methods that attributes exclude from just-my-code, or from stops altogether; found on first use. Not here:
//! the methods that steps pass over in each module ([`crate::load_events`]).

use std::cell::OnceCell;
use std::collections::HashSet;

use clr_metadata::image::PeImage;

/// Attributes that exclude a method from just-my-code. Breakpoints still work with `DebuggerStepThrough`.
const HIDING: [&str; 3] =
    ["DebuggerHiddenAttribute", "DebuggerNonUserCodeAttribute", "DebuggerStepThroughAttribute"];

/// Attributes that prevent breakpoints in a method.
const UNSEEN: [&str; 1] = ["DebuggerHiddenAttribute"];

/// The methods of one module.
#[derive(Default)]
pub(super) struct ExcludedMethods {
    /// Methods that attributes exclude from the user's code.
    hidden: OnceCell<HashSet<u32>>,
    /// Methods in which nothing stops, sorted.
    unseen: OnceCell<Vec<u32>>,
}

impl ExcludedMethods {
    /// Methods that are not the user's code. `image` opens the module.
    pub(super) fn hidden<'a>(&self, image: impl FnOnce() -> Option<&'a PeImage>) -> &HashSet<u32> {
        self.hidden.get_or_init(|| with_attribute(image(), &HIDING).into_iter().collect())
    }

    /// Whether nothing stops in a method.
    pub(super) fn is_unseen<'a>(&self, method: u32, image: impl FnOnce() -> Option<&'a PeImage>) -> bool {
        self.unseen.get_or_init(|| with_attribute(image(), &UNSEEN)).binary_search(&method).is_ok()
    }
}

fn with_attribute(image: Option<&PeImage>, attributes: &[&str]) -> Vec<u32> {
    image.map(|image| image.metadata.methods_with_attribute(attributes)).unwrap_or_default()
}
