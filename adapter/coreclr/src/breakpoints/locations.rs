//! Possible breakpoint locations: `breakpointLocations`.
//!
//! Does not set breakpoints ([`super::binding`]).

use serde_json::Value;
use tandem_wire::Failure;
use tandem_wire::types::{
    self, BreakpointLocation, BreakpointLocationsArguments, BreakpointLocationsResponseBody,
};

use crate::sources::SourceLocator;
use crate::types::ClrTypeSystem;

/// Most lines searched at once.
const MAX_LINES: u32 = 10_000;

impl SourceLocator {
    /// `breakpointLocations`: the statements that begin in a range of a source.
    pub(crate) fn breakpoint_locations(
        &self,
        types: &ClrTypeSystem,
        arguments: &Value,
    ) -> Result<Value, Failure> {
        let first: u32 = types::require(arguments, "line")?;
        let arguments: BreakpointLocationsArguments = types::read(arguments);
        let path = arguments.source.path.ok_or_else(|| Failure::invalid("`source.path` is missing"))?;
        let number = |argument: Option<i64>| argument.and_then(|number| u32::try_from(number).ok());
        let last = number(arguments.end_line).unwrap_or(first).min(first.saturating_add(MAX_LINES));
        let (from, to) =
            (number(arguments.column).unwrap_or(0), number(arguments.end_column).unwrap_or(u32::MAX));
        let mut breakpoints = Vec::new();
        for loaded in types.modules.with_symbols() {
            let Ok(pdb) = &loaded.pdb else { continue };
            let Some(document) = self.find(pdb, &path) else { continue };
            for at in pdb.statements(document, first..=last) {
                let point = at.point;
                let before = point.line == first && point.column < from;
                let behind = point.line == last && point.column > to;
                let location = BreakpointLocation {
                    line: point.line.into(),
                    column: Some(point.column.into()),
                    end_line: Some(point.end_line.into()),
                    end_column: Some(point.end_column.into()),
                    ..BreakpointLocation::default()
                };
                if !(before || behind || breakpoints.contains(&location)) {
                    breakpoints.push(location);
                }
            }
        }
        breakpoints.sort_by_key(|location| (location.line, location.column));
        let rest = BreakpointLocationsResponseBody::default();
        Ok(types::body(&BreakpointLocationsResponseBody { breakpoints, ..rest }))
    }
}
