//! The record of a call: its statements in their order, each with its changes and its calls.
//!
//! Not here: where a step ended ([`super::frames`]); folding of loops, which clients do.

use serde_json::Value;
use tandem_wire::types::{
    self, DapScope, FollowCallBody, FollowedFunction, FollowedStatement, NamedValue, ScopesResponseBody,
    Source, StackFrame, ValueChange, VariablesResponseBody,
};

use super::frames::path;
use tandem_engine::result_names::ResultNames;

/// Most characters of a value.
const MAX_VALUE_LEN: usize = 200;
/// Scopes of a frame that are read.
const MAX_SCOPES: usize = 8;

/// The function on top, with its variables as it begins. `is_followed`: its statements follow.
pub(super) fn call_of(top: &StackFrame, rows: &[NamedValue], is_followed: bool) -> FollowedFunction {
    FollowedFunction {
        name: top.name.clone(),
        line: top.line,
        source: path(top).map(source_of),
        variables: rows.to_vec(),
        followed: is_followed,
        returned: None,
    }
}

fn source_of(path: String) -> Source {
    Source { path: Some(path), ..Source::default() }
}

fn is_called(call: &FollowedFunction, name: &str) -> bool {
    let own = call.name.split(['(', '<']).next().unwrap_or_default();
    own == name || own.ends_with(&format!(".{name}")) || own.ends_with(&format!("::{name}"))
}

/// The recorded statements of a call.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// The names by which the engine shows results.
    pub(super) results: ResultNames,
    call: FollowedFunction,
    path: Option<String>,
    statements: Vec<FollowedStatement>,
    returned: Option<String>,
    /// Approximate size of its values, bytes.
    pub(super) bytes: usize,
}

/// The result of a call: the name of the function, if the engine reports it, and the value.
pub(super) type Returned = (Option<String>, String);

impl Record {
    /// An empty record, for an engine that names results so.
    pub(super) fn new(results: ResultNames) -> Self {
        Self { results, ..Self::default() }
    }

    /// The call begins, or is taken up where it is.
    pub(super) fn begin(&mut self, top: &StackFrame, rows: &[NamedValue]) {
        self.call = call_of(top, rows, false);
        self.path = path(top);
    }

    /// Adds a statement; returns its index.
    pub(super) fn add(&mut self, top: &StackFrame, depth: usize, begins: bool) -> usize {
        let path = path(top).filter(|path| self.path.as_ref() != Some(path));
        self.bytes += 40;
        self.statements.push(FollowedStatement {
            line: top.line,
            source: path.map(source_of),
            depth,
            begins: begins && depth > 0,
            ..FollowedStatement::default()
        });
        self.statements.len() - 1
    }

    /// How many statements there are.
    pub(super) fn statements(&self) -> usize {
        self.statements.len()
    }

    /// Removes the last statement, which was not executed.
    pub(super) fn unfinished(&mut self) {
        self.statements.pop();
    }

    /// Whether a statement is on this line.
    pub(super) fn is_at(&self, at: usize, line: i64) -> bool {
        self.statements.get(at).is_some_and(|statement| statement.line == line)
    }

    /// Records the statement's changes: rows that are new, or have another value.
    pub(super) fn changed(&mut self, at: Option<usize>, before: &[NamedValue], after: &[NamedValue]) {
        let Some(statement) = at.and_then(|at| self.statements.get_mut(at)) else { return };
        for row in after {
            let was = before.iter().find(|was| was.name == row.name);
            if was.is_some_and(|was| was.value == row.value) {
                continue;
            }
            let was = was.map(|was| was.value.clone());
            self.bytes += row.name.len() + row.value.len() + was.as_ref().map_or(0, String::len) + 20;
            // A statement with calls changes the same variable several times.
            match statement.changes.iter_mut().find(|other| other.name == row.name) {
                Some(other) => other.value.clone_from(&row.value),
                None => {
                    let (name, value) = (row.name.clone(), row.value.clone());
                    statement.changes.push(ValueChange { name, value, was });
                }
            }
        }
    }

    /// A statement has called a function.
    pub(super) fn call(&mut self, at: Option<usize>, call: FollowedFunction) {
        let Some(statement) = at.and_then(|at| self.statements.get_mut(at)) else { return };
        self.bytes += serde_json::to_string(&call).map_or(0, |text| text.len());
        statement.calls.push(call);
    }

    /// Calls of a statement have returned.
    pub(super) fn returned(&mut self, at: Option<usize>, returned: &[Returned]) {
        let Some(statement) = at.and_then(|at| self.statements.get_mut(at)) else { return };
        for (name, value) in returned {
            let open = |call: &&mut FollowedFunction| {
                call.returned.is_none() && name.as_ref().is_none_or(|name| is_called(call, name))
            };
            if let Some(call) = statement.calls.iter_mut().find(open) {
                call.returned = Some(value.clone());
            }
        }
    }

    /// The call itself has returned.
    pub(super) fn end(&mut self, returned: &[Returned]) {
        let of_call = |name: &String| is_called(&self.call, name);
        let own = returned.iter().find(|(name, _)| name.as_ref().is_none_or(of_call));
        self.returned = own.map(|(_, value)| value.clone());
    }

    /// The body of the response, without the reason of the end.
    pub(super) fn into_body(self) -> FollowCallBody {
        FollowCallBody {
            call: self.call,
            statements: self.statements,
            returned: self.returned,
            ..FollowCallBody::default()
        }
    }
}

/// Reference of a scope, and whether it has what a call has returned.
pub(super) type ScopeRef = (i64, bool);

/// The scopes with arguments and locals, and with what was returned; where none is marked as such, the first.
pub(super) fn local_scopes(body: &Value) -> Vec<ScopeRef> {
    let ScopesResponseBody { scopes, .. } = types::read(body);
    let hint = |scope: &DapScope, hints: &[&str]| {
        scope.presentation_hint.as_deref().is_some_and(|hint| hints.contains(&hint))
    };
    let is_local =
        |scope: &&DapScope| hint(scope, &["locals", "arguments", "returnValue"]) && !scope.expensive;
    let mut found: Vec<&DapScope> = scopes.iter().filter(is_local).take(MAX_SCOPES).collect();
    if found.is_empty() {
        found.extend(scopes.first());
    }
    // DAP: 0 means "nothing behind it".
    found.retain(|scope| scope.variables_reference != 0);
    found.into_iter().map(|scope| (scope.variables_reference, hint(scope, &["returnValue"]))).collect()
}

/// Adds the variables of a scope that are not hidden by those of an inner one. Groups that an engine makes
/// up, and what it reads on request only, are left out.
pub(super) fn visible(
    rows: &mut Vec<NamedValue>,
    body: &Value,
    are_returned: bool,
    results: &ResultNames,
    most: usize,
) {
    let VariablesResponseBody { variables, .. } = types::read(body);
    for variable in &variables {
        let (name, value) = (variable.name.as_str(), variable.value.as_str());
        let hint = variable.presentation_hint.as_ref();
        if are_returned {
            rows.push(NamedValue { name: SCOPE_RESULT.into(), value: shorten(value) });
            continue;
        }
        // Code is not a state of the call.
        let is_code = matches!(variable.kind.as_deref(), Some("Function" | "function" | "module" | "type"));
        let is_group = value.is_empty()
            || hint.is_some_and(|hint| hint.kind.as_deref() == Some("class") || hint.lazy == Some(true))
            || is_code;
        let known = rows.iter().any(|row| row.name == name) && results.function_of(name).is_none();
        if name.is_empty() || results.is_hidden(name) || is_group || known || rows.len() >= most {
            continue;
        }
        rows.push(NamedValue { name: name.to_owned(), value: shorten(value) });
    }
}

/// The name of a row from a scope that has only what a call has returned (DAP `returnValue`). No variable
/// has it.
const SCOPE_RESULT: &str = "(result)";

/// Takes out of the variables of a frame what the function itself is about to return.
pub(super) fn take_own(rows: &mut Vec<NamedValue>, results: &ResultNames) -> Option<String> {
    let at = rows.iter().position(|row| results.is_own(&row.name))?;
    Some(rows.remove(at).value)
}

/// Takes out of the variables of a frame what calls have returned.
pub(super) fn take_returned(rows: &mut Vec<NamedValue>, results: &ResultNames) -> Vec<Returned> {
    let function = |name: &str| match results.function_of(name) {
        None if name == SCOPE_RESULT => Some(None),
        function => function.map(|function| function.map(str::to_owned)),
    };
    let taken = rows.extract_if(.., |row| function(&row.name).is_some());
    taken.filter_map(|row| Some((function(&row.name)?, row.value))).collect()
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(MAX_VALUE_LEN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
