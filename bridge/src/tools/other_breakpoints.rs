//! Breakpoints of the other clients of a session, as the session lists them.
//!
//! Not here: this agent's own ([`super::breakpoints`]).

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tandem_wire::types::{self, SessionClient, Source};

/// Breakpoints of the other clients.
pub fn others(clients: &[SessionClient]) -> Vec<OtherBreakpoint> {
    let others = clients.iter().filter(|client| !client.you);
    others.flat_map(|client| client.breakpoints.iter().map(|one| OtherBreakpoint::of(client, one))).collect()
}

/// A breakpoint of another client: of a function it has the name, of an exception filter the id, and a
/// location only once it is known.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OtherBreakpoint {
    owner: String,
    verified: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    filter: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instruction: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    condition: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    log_message: Option<String>,
}

/// A breakpoint in `sessionInfo`: a DAP breakpoint with what was requested.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ClientBreakpoint {
    verified: bool,
    source: Option<Source>,
    line: Option<i64>,
    name: Option<String>,
    filter_id: Option<String>,
    data_id: Option<Value>,
    instruction_reference: Option<String>,
    condition: Option<String>,
    log_message: Option<String>,
}

impl OtherBreakpoint {
    fn of(owner: &SessionClient, breakpoint: &Value) -> Self {
        let known: ClientBreakpoint = types::read(breakpoint);
        Self {
            owner: owner.name.clone(),
            verified: known.verified,
            file: known.source.and_then(|source| source.path),
            line: known.line,
            function: known.name,
            filter: known.filter_id,
            data: known.data_id,
            instruction: known.instruction_reference,
            condition: known.condition,
            log_message: known.log_message,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn breakpoints_of_others_are_listed_with_their_details() {
        let info: types::SessionInfoBody = types::read(&json!({ "clients": [
            { "name": "me", "you": true, "breakpoints": [{ "line": 1, "verified": true }] },
            { "name": "ann", "breakpoints": [
                { "line": 3, "verified": true, "source": { "path": "/w/a.cs" }, "condition": "i > 2" },
                { "name": "Main", "verified": false },
                { "filterId": "all", "verified": true } ] } ] }));
        assert_eq!(
            json!(others(&info.clients.unwrap())),
            json!([
                { "owner": "ann", "verified": true, "file": "/w/a.cs", "line": 3, "condition": "i > 2" },
                { "owner": "ann", "verified": false, "function": "Main" },
                { "owner": "ann", "verified": true, "filter": "all" }
            ])
        );
    }
}
