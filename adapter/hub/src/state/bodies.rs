//! Bodies that the hub itself makes or changes. Other bodies of engines pass through.

use serde_json::Value;
use tandem_wire::types::{self, InvalidatedEventBody, OutputEventBody};

/// The body of an `output` event with a line.
pub(super) fn output_line(category: &str, line: &str) -> Value {
    let (category, output) = (Some(category.to_owned()), format!("{line}\n"));
    types::body(&OutputEventBody { category, output, ..OutputEventBody::default() })
}

/// The body of an `invalidated` event.
pub(super) fn invalidated(area: &str) -> Value {
    let areas = Some(vec![area.to_owned()]);
    types::body(&InvalidatedEventBody { areas, ..InvalidatedEventBody::default() })
}

/// Takes DAP `showUser` back from the body of an error response. Editors evaluate watches and hovers, ask
/// for completions and read variables at each stop without a user's request: a failure there is a row of
/// a table, not a dialog.
pub(super) fn unset_show_user(body: &mut Value) {
    if let Some(show) = body.get_mut("error").and_then(|error| error.get_mut("showUser")) {
        *show = Value::Bool(false);
    }
}
