//! Numbers side by side in an array: a whole page of them is read at once, not one by one. Other items are
//! fetched one at a time.

use cordebug::value::element;
use tandem_csharp::constant::width;

use crate::stop_context::StopContext;
use crate::typed_value::Constant;
use crate::types::Ty;
use crate::value_path::{Path, PathSegment};

/// Most memory in one read, bytes.
const MAX_READ: u32 = 1 << 20;

impl StopContext<'_> {
    /// The items at the ends of these paths, which have a common start; `None` unless they are
    /// numbers of one array.
    pub(super) fn read_in_bulk(&self, items: &[(String, Path)]) -> Option<(Ty, Vec<Constant>)> {
        let first = items.first().map(|(_, path)| path)?;
        let (_, before) = first.steps.split_last()?;
        if first.steps.contains(&PathSegment::Behind) {
            return None;
        }
        let position = |path: &Path| match path.steps.split_last()? {
            (PathSegment::Element(at), outer) if outer == before => Some(*at),
            _ => None,
        };
        let positions: Vec<u32> = items.iter().map(|(_, path)| position(path)).collect::<Option<_>>()?;
        let (low, high) = (*positions.iter().min()?, *positions.iter().max()?);
        let lowest = self.holder(first, before).ok()?.as_array()?.element(low).ok()?;
        let kind = lowest.element_type().ok().filter(|kind| is_number(*kind))?;
        let size = u32::try_from(width(kind)?).ok()?;
        let count = (high - low).checked_add(1)?.checked_mul(size).filter(|count| *count <= MAX_READ)?;
        let bytes = self.debuggee.process().ok()?.read_memory(lowest.address().ok()?, count).ok()?;
        let size = size as usize;
        let constant = |at: u32| {
            let from = (at - low) as usize * size;
            Constant::from_bytes(kind, bytes.get(from..from + size)?)
        };
        let constants = positions.into_iter().map(constant).collect::<Option<_>>()?;
        Some((Ty::Primitive(kind), constants))
    }
}

/// Whether values of an element type are numbers, characters or booleans, which their
/// bytes define completely.
pub(super) fn is_number(kind: u32) -> bool {
    matches!(kind, element::BOOLEAN..=element::R8 | element::I | element::U)
}
