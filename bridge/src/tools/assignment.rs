//! Assignments to variables, members and elements, by the request that the name and the engine allow.
//!
//! Declares no tool: [`super::inspect`] does.

use dap_wire::Failure;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::frames::{frame_of, scope};
use super::shown_frame::locals_scopes;
use crate::call::ToolCall;
use crate::session::{AgentSession, REQUEST_TIMEOUT};

/// Maximum number of scopes around a function that are inspected.
const MAX_OUTER_SCOPES: usize = 8;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-unlisted" = ["scope"]))]
pub(super) struct SetArguments {
    #[schemars(description = "total, person.Age, numbers[1]")]
    name: String,
    value: String,
    frame_id: Option<u64>,
    scope: Option<String>,
}

/// `debug_set_variable`.
pub(super) async fn set_variable(call: &ToolCall, arguments: SetArguments) -> Result<Value, Failure> {
    let session = call.session().await?;
    let SetArguments { name, value, frame_id, scope: scope_name } = arguments;
    let frame = frame_of(frame_id, &session).await?;
    session.agent_view.forget_event();
    let response = match split(&name) {
        None => {
            let scopes = scope(scope_name.as_deref(), &session, &frame).await?;
            set_in(&session, &frame, &scopes, &name, &value, &call.cancel).await?
        }
        Some(_) => set(&session, &frame, &name, &value, &call.cancel).await?,
    };
    let mut answer = json!({ "name": name, "value": response["value"] });
    if let Some(kind) = response["type"].as_str() {
        answer["type"] = json!(kind);
    }
    Ok(answer)
}

/// Assigns a value to a variable, or to a member or element such as `a.b`, as seen from a frame.
///
/// # Errors
/// The error that the engine responds with.
pub(super) async fn set(
    session: &AgentSession,
    frame: &Value,
    name: &str,
    value: &str,
    cancel: &CancellationToken,
) -> Result<Value, Failure> {
    match split(name) {
        None => {
            let scopes = session.ask("scopes", json!({ "frameId": frame })).await?;
            set_in(session, frame, &locals_scopes(&scopes), name, value, cancel).await
        }
        Some(_) if session.can("supportsSetExpression") => {
            let set = json!({ "expression": name, "value": value, "frameId": frame });
            session.ask_or_cancel("setExpression", set, REQUEST_TIMEOUT, cancel).await
        }
        Some((above, member)) => {
            let parent = evaluate(session, frame, above, cancel).await?;
            let reference = &parent["variablesReference"];
            let set = json!({ "variablesReference": reference, "name": member, "value": value });
            session.ask_or_cancel("setVariable", set, REQUEST_TIMEOUT, cancel).await
        }
    }
}

/// Sets a variable of one of these scopes.
async fn set_in(
    session: &AgentSession,
    frame: &Value,
    scopes: &[Value],
    name: &str,
    value: &str,
    cancel: &CancellationToken,
) -> Result<Value, Failure> {
    let reference = match holder(session, scopes, name).await? {
        Some(scope) => scope,
        None => {
            // An engine may resolve a bare name to a member of the method's object; debugpy would create a
            // new variable for a typo.
            evaluate(session, frame, name, cancel).await?;
            let others = outer_scopes(session, frame).await?;
            holder(session, &others, name).await?.or_else(|| scopes.first().cloned()).unwrap_or_default()
        }
    };
    let set = json!({ "variablesReference": reference, "name": name, "value": value });
    session.ask_or_cancel("setVariable", set, REQUEST_TIMEOUT, cancel).await
}

/// The scopes without arguments and locals, such as the globals of a module, as far as they cost little.
async fn outer_scopes(session: &AgentSession, frame: &Value) -> Result<Vec<Value>, Failure> {
    let scopes = session.ask("scopes", json!({ "frameId": frame })).await?;
    let list = scopes["scopes"].as_array().into_iter().flatten();
    let outer = list.filter(|scope| scope["expensive"] != true && scope["presentationHint"] != "registers");
    Ok(outer.map(|scope| scope["variablesReference"].clone()).take(MAX_OUTER_SCOPES).collect())
}

/// Returns the response to `evaluate` without fields that Tandem adds.
///
/// # Errors
/// The error that the engine responds with.
pub(super) async fn evaluate(
    session: &AgentSession,
    frame: &Value,
    expression: &str,
    cancel: &CancellationToken,
) -> Result<Value, Failure> {
    let arguments = json!({ "expression": expression, "frameId": frame, "context": "watch" });
    session.ask_or_cancel("evaluate", arguments, REQUEST_TIMEOUT, cancel).await
}

/// The innermost of these scopes that has a variable of this name.
async fn holder(session: &AgentSession, scopes: &[Value], name: &str) -> Result<Option<Value>, Failure> {
    for scope in scopes {
        let rows = session.ask("variables", json!({ "variablesReference": scope })).await?;
        if rows["variables"].as_array().into_iter().flatten().any(|row| row["name"] == name) {
            return Ok(Some(scope.clone()));
        }
    }
    Ok(None)
}

/// Splits a name into its container and the name there: `a.b` and `a->b` into `a` and `b`,
/// `a[1]` into `a` and `[1]`, Perl's `$a{b}` into `$a` and `{b}`. A dereferenced pointer such as `*p` has no
/// name in a container, and none in a scope either.
fn split(name: &str) -> Option<(&str, &str)> {
    let at = match name.chars().last() {
        Some(']') => name.rfind('['),
        Some('}') => name.rfind('{'),
        _ => name.rfind('.').max(name.rfind("->")),
    };
    if name.starts_with('*') {
        return Some((name, ""));
    }
    let at = at.filter(|at| *at > 0)?;
    let (above, member) = name.split_at(at);
    Some((above, member.strip_prefix('.').or(member.strip_prefix("->")).unwrap_or(member)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_found_in_what_it_is_in() {
        assert_eq!(split("total"), None);
        assert_eq!(split("person.Age"), Some(("person", "Age")));
        assert_eq!(split("a.b[1]"), Some(("a.b", "[1]")));
        assert_eq!(split("a[1].b"), Some(("a[1]", "b")));
        assert_eq!(split("$table{a}{b}"), Some(("$table{a}", "{b}")));
        assert_eq!(split("*p"), Some(("*p", "")));
        assert_eq!(split("list.head->value"), Some(("list.head", "value")));
    }
}
