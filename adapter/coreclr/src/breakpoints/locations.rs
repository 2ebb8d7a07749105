//! Possible breakpoint locations: `breakpointLocations`.
//!
//! Does not set breakpoints ([`super::binding`]).

use dap_wire::Failure;
use serde_json::{Value, json};

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
        let path = arguments["source"]["path"].as_str();
        let path = path.ok_or_else(|| Failure::invalid("`source.path` is missing"))?;
        let number = |key: &str| arguments[key].as_u64().and_then(|number| u32::try_from(number).ok());
        let first = number("line").ok_or_else(|| Failure::invalid("`line` is missing"))?;
        let last = number("endLine").unwrap_or(first).min(first.saturating_add(MAX_LINES));
        let (from, to) = (number("column").unwrap_or(0), number("endColumn").unwrap_or(u32::MAX));
        let mut found = Vec::new();
        for loaded in types.modules.with_symbols() {
            let Ok(pdb) = &loaded.pdb else { continue };
            let Some(document) = self.find(pdb, path) else { continue };
            for at in pdb.statements(document, first..=last) {
                let point = at.point;
                let before = point.line == first && point.column < from;
                let behind = point.line == last && point.column > to;
                let body = json!({ "line": point.line, "column": point.column, "endLine": point.end_line,
                    "endColumn": point.end_column });
                if !(before || behind || found.contains(&body)) {
                    found.push(body);
                }
            }
        }
        found.sort_by_key(|body| (body["line"].as_u64(), body["column"].as_u64()));
        Ok(json!({ "breakpoints": found }))
    }
}
