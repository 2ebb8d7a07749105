//! The record of a call: its statements in their order, each with its changes and its calls.

use dap_wire::types::StackFrame;
use serde_json::{Map, Value, json};

use super::frames::path;
use tandem_engine::result_names::ResultNames;

/// Most characters of a value.
const MAX_VALUE_LEN: usize = 200;
/// Scopes of a frame that are read.
const MAX_SCOPES: usize = 8;

/// A variable: its name and the engine's text for its value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NamedValue {
    pub(super) name: String,
    pub(super) value: String,
}

impl NamedValue {
    fn body(&self) -> Value {
        json!({ "name": self.name, "value": self.value })
    }
}

/// A call of a statement.
#[derive(Debug)]
pub(super) struct Call {
    body: Map<String, Value>,
}

impl Call {
    /// The function on top, with its variables as it begins. `is_followed`: its statements follow.
    pub(super) fn of(top: &StackFrame, rows: &[NamedValue], is_followed: bool) -> Self {
        let mut body = location_body(top);
        body.insert("variables".into(), rows.iter().map(NamedValue::body).collect());
        if is_followed {
            body.insert("followed".into(), json!(true));
        }
        Self { body }
    }

    fn is_open(&self) -> bool {
        !self.body.contains_key("returned")
    }

    fn is_called(&self, name: &str) -> bool {
        let own = self.body.get("name").and_then(Value::as_str).unwrap_or_default();
        let own = own.split(['(', '<']).next().unwrap_or_default();
        own == name || own.ends_with(&format!(".{name}")) || own.ends_with(&format!("::{name}"))
    }
}

#[derive(Debug)]
struct Statement {
    line: i64,
    path: Option<String>,
    depth: usize,
    /// It is the first of its call.
    begins: bool,
    changes: Vec<Value>,
    calls: Vec<Call>,
}

/// The recorded statements of a call.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// The names by which the engine shows results.
    pub(super) results: ResultNames,
    call: Map<String, Value>,
    path: Option<String>,
    statements: Vec<Statement>,
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
        self.call = location_body(top);
        self.path = path(top);
        self.call.insert("variables".into(), rows.iter().map(NamedValue::body).collect());
    }

    /// Adds a statement; returns its index.
    pub(super) fn add(&mut self, top: &StackFrame, depth: usize, begins: bool) -> usize {
        let path = path(top).filter(|path| self.path.as_ref() != Some(path));
        self.bytes += 40;
        self.statements.push(Statement {
            line: top.line,
            path,
            depth,
            begins,
            changes: Vec::new(),
            calls: Vec::new(),
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
            let mut change = row.body();
            if let Some(was) = was {
                change["was"] = json!(was.value);
            }
            self.bytes += row.name.len() + row.value.len() + was.map_or(0, |was| was.value.len()) + 20;
            // A statement with calls changes the same variable several times.
            match statement.changes.iter_mut().find(|other| other["name"] == row.name) {
                Some(other) => other["value"] = json!(row.value),
                None => statement.changes.push(change),
            }
        }
    }

    /// A statement has called a function.
    pub(super) fn call(&mut self, at: Option<usize>, call: Call) {
        let Some(statement) = at.and_then(|at| self.statements.get_mut(at)) else { return };
        self.bytes += call.body.values().map(|value| value.to_string().len()).sum::<usize>();
        statement.calls.push(call);
    }

    /// Calls of a statement have returned.
    pub(super) fn returned(&mut self, at: Option<usize>, returned: &[Returned]) {
        let Some(statement) = at.and_then(|at| self.statements.get_mut(at)) else { return };
        for (name, value) in returned {
            let open =
                |call: &&mut Call| call.is_open() && name.as_ref().is_none_or(|name| call.is_called(name));
            if let Some(call) = statement.calls.iter_mut().find(open) {
                call.body.insert("returned".into(), json!(value));
            }
        }
    }

    /// The call itself has returned.
    pub(super) fn end(&mut self, returned: &[Returned]) {
        let call = Call { body: self.call.clone() };
        let own = returned.iter().find(|(name, _)| name.as_ref().is_none_or(|name| call.is_called(name)));
        self.returned = own.map(|(_, value)| value.clone());
    }

    /// `call`, `statements` and `returned`.
    pub(super) fn body(self) -> Value {
        let statements: Vec<Value> = self.statements.into_iter().map(Statement::body).collect();
        let mut body = json!({ "call": self.call, "statements": statements });
        if let Some(returned) = self.returned {
            body["returned"] = json!(returned);
        }
        body
    }
}

impl Statement {
    fn body(self) -> Value {
        let mut body = json!({ "line": self.line });
        if let Some(path) = self.path {
            body["source"] = json!({ "path": path });
        }
        if self.depth > 0 {
            body["depth"] = json!(self.depth);
        }
        if self.begins && self.depth > 0 {
            body["begins"] = json!(true);
        }
        if !self.changes.is_empty() {
            body["changes"] = json!(self.changes);
        }
        if !self.calls.is_empty() {
            body["calls"] = self.calls.into_iter().map(|call| Value::Object(call.body)).collect();
        }
        body
    }
}

fn location_body(top: &StackFrame) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("name".into(), json!(top.name));
    body.insert("line".into(), json!(top.line));
    if let Some(path) = path(top) {
        body.insert("source".into(), json!({ "path": path }));
    }
    body
}

/// Reference of a scope, and whether it has what a call has returned.
pub(super) type ScopeRef = (i64, bool);

/// The scopes with arguments and locals, and with what was returned; where none is marked as such, the first.
pub(super) fn local_scopes(body: &Value) -> Vec<ScopeRef> {
    let scopes = body["scopes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_local = |scope: &&Value| {
        matches!(scope["presentationHint"].as_str(), Some("locals" | "arguments" | "returnValue"))
            && scope["expensive"] != true
    };
    let mut found: Vec<&Value> = scopes.iter().filter(is_local).take(MAX_SCOPES).collect();
    if found.is_empty() {
        found.extend(scopes.first());
    }
    let reference = |scope: &Value| {
        Some((scope["variablesReference"].as_i64()?, scope["presentationHint"] == "returnValue"))
    };
    found.into_iter().filter_map(reference).collect()
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
    for variable in body["variables"].as_array().into_iter().flatten() {
        let name = variable["name"].as_str().unwrap_or_default();
        let value = variable["value"].as_str().unwrap_or_default();
        let hint = &variable["presentationHint"];
        if are_returned {
            rows.push(NamedValue { name: SCOPE_RESULT.into(), value: shorten(value) });
            continue;
        }
        // Code is not a state of the call.
        let is_code = matches!(variable["type"].as_str(), Some("Function" | "function" | "module" | "type"));
        let is_group = value.is_empty() || hint["kind"] == "class" || hint["lazy"] == true || is_code;
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
