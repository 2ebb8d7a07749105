//! Assignments to variables, members and elements, by the request that the name and the engine allow.
//!
//! Declares no tool: [`super::inspect`] does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tandem_wire::types::{SetVariableArguments, SetVariableResponseBody, VariablesArguments};
use tandem_wire::{ErrorCode, Failure};
use tokio_util::sync::CancellationToken;

use super::answer;
use super::frames::{frame_of, scope};
use super::shown_frame::locals_scopes;
use super::value_path::{PathOfRows, evaluate};
use super::values::scopes_of;
use crate::call::ToolCall;
use crate::session::requests::SetExpressionArguments;
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

/// The answer of `debug_set_variable`.
#[derive(Serialize)]
struct AssignedVariable {
    name: String,
    value: String,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
}

/// `debug_set_variable`.
pub(super) async fn set_variable(call: &ToolCall, arguments: SetArguments) -> Result<Value, Failure> {
    let session = call.session().await?;
    let SetArguments { name, value, frame_id, scope: scope_name } = arguments;
    let frame = frame_of(frame_id, &session).await?;
    session.agent_view.forget_event();
    let response = match (PathOfRows::parse(&name), split(&name)) {
        (Some(rows), _) => {
            let found = rows.locate(&session, frame, scope_name.as_deref(), &call.cancel).await?;
            let set = assignment(found.parent, &found.row.name, &value);
            session.send_or_cancel(&set, REQUEST_TIMEOUT, &call.cancel).await?
        }
        (None, None) => {
            let scopes = scope(scope_name.as_deref(), &session, frame).await?;
            set_in(&session, frame, &scopes, &name, &value, &call.cancel).await?
        }
        (None, Some(_)) => set(&session, frame, &name, &value, &call.cancel).await?,
    };
    answer(&AssignedVariable { name, value: response.value, kind: response.kind })
}

/// Assigns a value to a variable, or to a member or element such as `a.b`, as seen from a frame.
///
/// # Errors
/// The error that the engine responds with.
pub(super) async fn set(
    session: &AgentSession,
    frame: Option<i64>,
    name: &str,
    value: &str,
    cancel: &CancellationToken,
) -> Result<SetVariableResponseBody, Failure> {
    match split(name) {
        None => {
            let scopes = session.send(&scopes_of(frame)?).await?.scopes;
            set_in(session, frame, &locals_scopes(&scopes), name, value, cancel).await
        }
        Some((above, member)) if session.can("supportsSetExpression") => {
            let (expression, value) = (name.to_owned(), value.to_owned());
            let set = SetExpressionArguments { expression, value: value.clone(), frame_id: frame };
            match session.send_or_cancel(&set, REQUEST_TIMEOUT, cancel).await {
                Err(failure) if failure.code == ErrorCode::EvaluationFailed => {
                    // Without the program's own operator, `numbers[1]` is not an expression of C++.
                    let Some(holder) = holder_of_element(session, frame, above, member, cancel).await else {
                        return Err(failure);
                    };
                    let set = assignment(holder, member, &value);
                    session.send_or_cancel(&set, REQUEST_TIMEOUT, cancel).await
                }
                answer => answer,
            }
        }
        Some((above, member)) => {
            let parent = evaluate(session, frame, above, cancel).await?;
            let set = assignment(parent.variables_reference, member, value);
            session.send_or_cancel(&set, REQUEST_TIMEOUT, cancel).await
        }
    }
}

/// The reference of a value that shows this element, such as `[1]`, as a row of that name.
async fn holder_of_element(
    session: &AgentSession,
    frame: Option<i64>,
    above: &str,
    element: &str,
    cancel: &CancellationToken,
) -> Option<i64> {
    let index = index_of(element)?;
    let list = evaluate(session, frame, above, cancel).await.ok()?;
    if !is_sequence(&list.kind.unwrap_or_default()) {
        return None;
    }
    let holder = list.variables_reference;
    let row = VariablesArguments {
        variables_reference: holder,
        start: Some(index),
        count: Some(1),
        ..VariablesArguments::default()
    };
    let rows = session.send_or_cancel(&row, REQUEST_TIMEOUT, cancel).await.ok()?.variables;
    rows.iter().any(|row| row.name == element).then_some(holder)
}

/// Whether a type of C++ or Rust numbers its elements. The rows of a map are numbered, too, but not by their
/// keys.
fn is_sequence(kind: &str) -> bool {
    let name = kind.split('<').next().and_then(|name| name.rsplit("::").next()).unwrap_or_default();
    matches!(name, "vector" | "deque" | "array" | "span" | "Vec" | "VecDeque")
}

/// The index that a name such as `[1]` has.
fn index_of(element: &str) -> Option<i64> {
    let number = element.strip_prefix('[')?.strip_suffix(']')?;
    number.parse().ok().filter(|index| *index >= 0)
}

fn assignment(reference: i64, name: &str, value: &str) -> SetVariableArguments {
    SetVariableArguments {
        variables_reference: reference,
        name: name.to_owned(),
        value: value.to_owned(),
        ..SetVariableArguments::default()
    }
}

/// Sets a variable of one of these scopes.
async fn set_in(
    session: &AgentSession,
    frame: Option<i64>,
    scopes: &[i64],
    name: &str,
    value: &str,
    cancel: &CancellationToken,
) -> Result<SetVariableResponseBody, Failure> {
    let reference = match holder(session, scopes, name).await? {
        Some(scope) => scope,
        None => {
            // An engine may resolve a bare name to a member of the method's object; debugpy would create a
            // new variable for a typo.
            evaluate(session, frame, name, cancel).await?;
            let others = outer_scopes(session, frame).await?;
            holder(session, &others, name).await?.or_else(|| scopes.first().copied()).unwrap_or_default()
        }
    };
    session.send_or_cancel(&assignment(reference, name, value), REQUEST_TIMEOUT, cancel).await
}

/// The scopes without arguments and locals, such as the globals of a module, as far as they cost little.
async fn outer_scopes(session: &AgentSession, frame: Option<i64>) -> Result<Vec<i64>, Failure> {
    let scopes = session.send(&scopes_of(frame)?).await?.scopes;
    let outer = scopes
        .iter()
        .filter(|scope| !scope.expensive && scope.presentation_hint.as_deref() != Some("registers"));
    Ok(outer.map(|scope| scope.variables_reference).take(MAX_OUTER_SCOPES).collect())
}

/// The innermost of these scopes that has a variable of this name.
async fn holder(session: &AgentSession, scopes: &[i64], name: &str) -> Result<Option<i64>, Failure> {
    for scope in scopes {
        let all = VariablesArguments { variables_reference: *scope, ..VariablesArguments::default() };
        if session.send(&all).await?.variables.iter().any(|row| row.name == name) {
            return Ok(Some(*scope));
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

    #[test]
    fn only_a_number_in_brackets_is_the_name_of_an_element() {
        assert_eq!((index_of("[1]"), index_of("[0x1]"), index_of("[-1]")), (Some(1), None, None));
        assert_eq!((index_of("['a']"), index_of("1")), (None, None));
        for (kind, expected) in [
            ("std::vector<int, std::allocator<int> >", true),
            ("alloc::vec::Vec<int, alloc::alloc::Global>", true),
            ("std::map<int, std::vector<int> >", false),
            ("", false),
        ] {
            assert_eq!(is_sequence(kind), expected, "{kind}");
        }
    }
}
