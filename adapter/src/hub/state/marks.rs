//! Breakpoints and exception filters: everybody's wishes together are what the engine gets.

use dap_wire::{Failure, types};
use serde_json::{Value, json};

use super::{ENGINE_DEADLINE, State};
use crate::hub::breakpoints::{Change, FUNCTIONS};
use crate::hub::event::ClientId;
use crate::hub::pending::{Asked, Waiter};

impl State {
    pub(super) fn set_breakpoints(&mut self, asked: &Asked, arguments: &Value) {
        match wishes(&asked.command, arguments) {
            Ok((place, source, wishes)) => {
                let change = self.ledger.set(&mut self.counter, asked.client, &place, source, &wishes);
                self.tell_removed(Some(asked.client), &change.removed);
                if self.engine_ready && self.is_live() {
                    self.push_breakpoints(place, Some(asked.clone()), change);
                } else {
                    let answer = self.ledger.answer(&place, asked.client);
                    self.answer(asked, Ok(answer));
                    self.tell_added(Some(asked.client), &change.added);
                }
            }
            Err(failure) => self.refuse(asked, failure),
        }
    }

    /// Sends the union of a place to the engine.
    fn push_breakpoints(&mut self, place: String, asked: Option<Asked>, change: Change) {
        let (command, arguments, ids) = self.ledger.union(&place);
        let waiter = Waiter::Breakpoints { place, ids, asked, added: change.added };
        self.ask_engine(waiter, command, arguments, ENGINE_DEADLINE);
    }

    /// Sends everything that was set before the engine was ready.
    pub(super) fn push_all_breakpoints(&mut self) {
        for place in self.ledger.places() {
            self.push_breakpoints(place, None, Change::default());
        }
        if !self.exception_filters.is_empty() {
            let arguments = self.filters_union();
            self.ask_engine(Waiter::Nobody, "setExceptionBreakpoints", arguments, ENGINE_DEADLINE);
        }
    }

    pub(super) fn breakpoints_applied(
        &mut self,
        place: &str,
        ids: &[i64],
        asked: Option<&Asked>,
        added: &[i64],
        result: Result<Value, Failure>,
    ) {
        match result {
            Ok(body) => self.ledger.applied(place, ids, &body),
            Err(failure) => {
                if let Some(asked) = asked {
                    self.refuse(asked, failure);
                }
                return;
            }
        }
        match asked {
            Some(asked) => {
                let answer = self.ledger.answer(place, asked.client);
                self.answer(asked, Ok(answer));
                self.tell_added(Some(asked.client), added);
            }
            None => self.tell_breakpoints(None, ids, "changed"),
        }
    }

    /// Others see what somebody added, unless they have the same themselves.
    fn tell_added(&mut self, but: Option<ClientId>, added: &[i64]) {
        self.tell_breakpoints(but, added, "new");
    }

    /// Everybody's view of these entries; used for `changed` too, and for a late joiner's replay.
    fn tell_breakpoints(&mut self, but: Option<ClientId>, ids: &[i64], reason: &str) {
        for client in self.clients.ready() {
            if Some(client) != but {
                self.tell_breakpoints_to(client, ids, reason);
            }
        }
    }

    pub(super) fn tell_breakpoints_to(&mut self, client: ClientId, ids: &[i64], reason: &str) {
        for (breakpoint, owned) in self.ledger.bodies(ids, client) {
            // Functions have no place an editor could show somebody else's breakpoint at.
            let placeless = breakpoint["line"].is_null() && !owned;
            if !(placeless || reason == "new" && owned) {
                self.tell(client, "breakpoint", &json!({ "reason": reason, "breakpoint": breakpoint }));
            }
        }
    }

    fn tell_removed(&mut self, but: Option<ClientId>, removed: &[i64]) {
        for id in removed {
            let body = json!({ "reason": "removed", "breakpoint": { "id": id, "verified": false } });
            self.tell_all_but(but, "breakpoint", &body);
        }
    }

    /// A client left: its wishes go, unless it asked to keep them.
    pub(super) fn drop_wishes(&mut self, client: ClientId) {
        for (place, change) in self.ledger.forget(client) {
            self.tell_removed(None, &change.removed);
            if self.engine_ready && self.is_live() {
                self.push_breakpoints(place, None, change);
            }
        }
        let had_filters = self.exception_filters.remove(&client).is_some();
        if had_filters && self.engine_ready && self.is_live() {
            let arguments = self.filters_union();
            self.ask_engine(Waiter::Nobody, "setExceptionBreakpoints", arguments, ENGINE_DEADLINE);
        }
    }

    pub(super) fn set_exception_breakpoints(&mut self, asked: Asked, arguments: Value) {
        if !arguments["filters"].is_array() {
            return self
                .refuse(&asked, Failure::invalid("`filters` is missing; it must be an array of strings"));
        }
        self.exception_filters.insert(asked.client, arguments);
        if self.engine_ready && self.is_live() {
            let union = self.filters_union();
            self.ask_engine(
                Waiter::ExceptionFilters(asked),
                "setExceptionBreakpoints",
                union,
                ENGINE_DEADLINE,
            );
        } else {
            self.answer(&asked, Ok(Value::Null));
        }
    }

    /// A joiner's empty list adds nothing and clears nothing of the others.
    fn filters_union(&self) -> Value {
        let mut union = json!({ "filters": [], "filterOptions": [] });
        for arguments in self.exception_filters.values() {
            for key in ["filters", "filterOptions"] {
                for filter in arguments[key].as_array().into_iter().flatten() {
                    if let Some(list) = union[key].as_array_mut()
                        && !list.contains(filter)
                    {
                        list.push(filter.clone());
                    }
                }
            }
        }
        union
    }
}

/// The place, its source, and the wishes, checked.
fn wishes(command: &str, arguments: &Value) -> Result<(String, Value, Vec<Value>), Failure> {
    if command == "setFunctionBreakpoints" {
        let read: types::requests::SetFunctionBreakpointsArguments =
            types::arguments(command, arguments.clone())?;
        drop(read);
        let list = arguments["breakpoints"].as_array().cloned().unwrap_or_default();
        return Ok((FUNCTIONS.into(), Value::Null, list));
    }
    let path = arguments["source"]["path"].as_str().filter(|path| !path.is_empty());
    let Some(path) = path else {
        return Err(Failure::invalid("`source.path` is missing: breakpoints need the path of a source file"));
    };
    // The old form of DAP: bare line numbers.
    let from_lines = || {
        let lines = arguments["lines"].as_array().into_iter().flatten();
        lines.map(|line| json!({ "line": line })).collect::<Vec<_>>()
    };
    let list = match &arguments["breakpoints"] {
        Value::Null => from_lines(),
        Value::Array(list) => list.clone(),
        _ => return Err(Failure::invalid("`breakpoints` must be an array")),
    };
    for wish in &list {
        if wish["line"].as_i64().is_none_or(|line| line <= 0) {
            return Err(Failure::invalid(format!(
                "a breakpoint needs a `line` from 1 on; `{wish}` has none"
            )));
        }
        for key in ["condition", "hitCondition", "logMessage"] {
            if !(wish[key].is_null() || wish[key].is_string()) {
                return Err(Failure::invalid(format!(
                    "`{key}` of a breakpoint must be a string, not {}",
                    wish[key]
                )));
            }
        }
    }
    Ok((path.into(), json!({ "path": path, "name": path.rsplit(['/', '\\']).next() }), list))
}
