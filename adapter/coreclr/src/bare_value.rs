//! Values without the references and boxes around them. Their text and contents: [`super::values`].

use cordebug::value::{Value as ClrValue, element};

/// Dereferences and unboxes; `None` for null. Pointers stay pointers.
pub(crate) fn bare(value: &ClrValue) -> Option<ClrValue> {
    let mut value = value.clone();
    // A reference to a reference to a box is the deepest nesting.
    for _ in 0..4 {
        if matches!(value.element_type(), Ok(element::PTR | element::FNPTR)) {
            break;
        }
        if let Some(reference) = value.as_reference() {
            if reference.is_null().ok()? {
                return None;
            }
            value = reference.dereference().ok()?;
        } else if let Some(unboxed) = value.unbox() {
            value = unboxed.ok()?;
        } else {
            break;
        }
    }
    Some(value)
}
