//! Breakpoints: requests of clients, where they bind, and whether a hit counts. Not here: the value of a
//! condition ([`super::evaluator`]), and which client set a breakpoint (the hub).
//!
//! Several breakpoints may need the same location, each with its own condition. So the program gets one
//! breakpoint per *site* (method and offset in its code), and a hit is evaluated for each breakpoint of the
//! site.

mod binding;
mod functions;
mod hits;
mod instructions;
mod locations;
mod operators;

pub(super) use hits::HitOutcome;

use std::collections::BTreeMap;

use clr_metadata::pdb::Location;
use cordebug::frame::RuntimeBreakpoint;
use dap_wire::Failure;
use serde_json::{Value, json};

use super::debuggee::ClrDebuggee;
use super::disassembly::Disassembly;
use super::evaluator::check_syntax;
use super::modules::LoadedModule;
use super::sources::SourceLocator;
use crate::options::SessionOptions;
use crate::types::ClrTypeSystem;
use binding::why_pending;
use functions::FunctionName;
use tandem_engine::hit_condition::hit_condition;
use tandem_engine::log_message::{LogMessagePart, message_parts};

/// The list of requests that a breakpoint belongs to: each request replaces one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum BreakpointList {
    /// `setFunctionBreakpoints`.
    Functions,
    /// `setInstructionBreakpoints`.
    Instructions,
    /// `setBreakpoints` in the file with this path.
    Source(String),
}

impl BreakpointList {
    /// The list that a request replaces.
    pub(super) fn of(
        command: &str,
        arguments: &Value,
        types: &ClrTypeSystem,
        sources: &SourceLocator,
    ) -> Result<Self, Failure> {
        match command {
            "setFunctionBreakpoints" => return Ok(Self::Functions),
            "setInstructionBreakpoints" => return Ok(Self::Instructions),
            _ => {}
        }
        let path = arguments["source"]["path"].as_str().map(str::to_owned);
        // A source without a file may be named by its number alone.
        let path = path
            .or_else(|| sources.path_of_reference(types, arguments["source"]["sourceReference"].as_i64()?));
        path.map(Self::Source).ok_or_else(|| Failure::invalid("`source.path` is missing"))
    }
}

/// Position of a site in a method's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CodeOffset {
    /// At an IL offset, in any compiled code of the method.
    Il(u32),
    /// At an offset in one machine code of the method.
    Native(u32),
}

/// Module, MethodDef token, and position.
type LocationKey = (usize, u32, CodeOffset);

struct ClrBreakpoint {
    id: i64,
    /// The DAP breakpoint, as the hub sent it.
    request: Value,
    /// Sites it is bound to.
    sites: Vec<LocationKey>,
    /// Location where it bound; `None` while it is unbound.
    location: Option<Location>,
    document: String,
    hits: u64,
    /// Last reported problem of its condition, which fails again at every hit.
    condition_problem: Option<String>,
    /// Why it will never bind.
    problem: Option<String>,
    /// Remarks for users about the location where it bound.
    remarks: Vec<String>,
}

struct BoundLocation {
    key: LocationKey,
    breakpoint: RuntimeBreakpoint,
}

/// All breakpoints of the program.
#[derive(Default)]
pub(super) struct Breakpoints {
    lists: BTreeMap<BreakpointList, Vec<ClrBreakpoint>>,
    sites: Vec<BoundLocation>,
    entry: Option<RuntimeBreakpoint>,
    /// Where the runtime is about to notify handlers of an exception that nothing catches.
    pub(super) handler_breakpoint: Option<RuntimeBreakpoint>,
    /// Where the program asks for a stop at an exception that it caught for the user's code.
    pub(super) requested_stop: Option<RuntimeBreakpoint>,
    /// Whether the program is to stop at its entry, of which the module has not come yet.
    pub(super) stop_on_entry: bool,
    last_id: i64,
}

impl Breakpoints {
    /// Replaces breakpoints of a list that bind in modules.
    pub(super) fn set_in_modules(
        &mut self,
        types: &ClrTypeSystem,
        sources: &SourceLocator,
        options: &SessionOptions,
        scope: BreakpointList,
        requests: &[Value],
    ) -> Value {
        let pending = why_pending(types, sources, &scope);
        let within = scope.clone();
        self.replace(scope, requests, &pending, |own, breakpoint| {
            if within == BreakpointList::Functions {
                let named = FunctionName::parse(breakpoint.request["name"].as_str().unwrap_or_default());
                breakpoint.problem = breakpoint.problem.take().or(named.err());
            }
            for loaded in types.modules.all() {
                own.bind(options, sources, &within, breakpoint, loaded);
            }
        })
    }

    /// Replaces breakpoints at instructions.
    pub(super) fn set_at_instructions(
        &mut self,
        disassembly: &mut Disassembly,
        debuggee: &ClrDebuggee,
        types: &ClrTypeSystem,
        sources: &SourceLocator,
        requests: &[Value],
    ) -> Value {
        let scope = BreakpointList::Instructions;
        let pending = why_pending(types, sources, &scope);
        self.replace(scope, requests, &pending, |own, breakpoint| {
            own.bind_instruction(disassembly, debuggee, types, sources, breakpoint);
        })
    }

    /// Replaces a list; `bind` binds a new breakpoint. `pending`: why unbound ones are not bound.
    fn replace(
        &mut self,
        scope: BreakpointList,
        requests: &[Value],
        pending: &str,
        mut bind: impl FnMut(&mut Self, &mut ClrBreakpoint),
    ) -> Value {
        let mut old = self.lists.remove(&scope).unwrap_or_default();
        let mut new: Vec<ClrBreakpoint> = Vec::with_capacity(requests.len());
        for request in requests {
            // An unchanged request keeps its id, its sites and its hit count.
            if let Some(at) = old.iter().position(|breakpoint| breakpoint.request == *request) {
                new.push(old.remove(at));
                continue;
            }
            self.last_id += 1;
            let mut breakpoint = ClrBreakpoint::new(self.last_id, request);
            bind(self, &mut breakpoint);
            new.push(breakpoint);
        }
        let bodies: Vec<Value> =
            new.iter().map(|breakpoint| breakpoint.body(&breakpoint.in_its_module(pending))).collect();
        self.lists.insert(scope, new);
        self.sweep();
        json!({ "breakpoints": bodies })
    }

    /// Whether this is the entry stop, which happens once.
    pub(super) fn take_entry(&mut self, hit: &RuntimeBreakpoint) -> bool {
        let is_entry = self.entry.as_ref().is_some_and(|entry| entry.is(hit));
        if is_entry && let Some(entry) = self.entry.take() {
            entry.remove().unwrap_or_default();
        }
        is_entry
    }

    /// Removes all breakpoints from the program.
    pub(super) fn remove_all(&mut self) {
        for site in self.sites.drain(..) {
            // A process that is going away has none left.
            site.breakpoint.remove().unwrap_or_default();
        }
        for own in [self.handler_breakpoint.take(), self.requested_stop.take()].into_iter().flatten() {
            own.remove().unwrap_or_default();
        }
        self.lists.clear();
    }

    /// Whether a breakpoint waits for code to bind in.
    pub(super) fn has_pending(&self) -> bool {
        self.lists.values().flatten().any(|breakpoint| !breakpoint.is_bound() && breakpoint.problem.is_none())
    }

    /// Removes sites that no breakpoint uses any more.
    fn sweep(&mut self) {
        let used: Vec<_> =
            self.lists.values().flatten().flat_map(|breakpoint| breakpoint.sites.clone()).collect();
        self.sites.retain(|site| {
            let keep = used.contains(&site.key);
            if !keep {
                site.breakpoint.remove().unwrap_or_default();
            }
            keep
        });
    }
}

impl ClrBreakpoint {
    /// A new, unbound breakpoint, with the error in its request.
    fn new(id: i64, request: &Value) -> Self {
        let wrong_condition = || {
            let condition = request["condition"].as_str()?;
            let failure = check_syntax(condition).err()?;
            Some(format!("the condition `{condition}`: {failure}"))
        };
        let problem = hit_condition(&request["hitCondition"]).err().or_else(wrong_condition);
        Self {
            id,
            request: request.clone(),
            sites: Vec::new(),
            location: None,
            document: String::new(),
            hits: 0,
            condition_problem: None,
            problem: problem.or_else(|| wrong_in_message(request["logMessage"].as_str()?)),
            remarks: Vec::new(),
        }
    }

    fn is_bound(&self) -> bool {
        !self.sites.is_empty()
    }

    fn is_bound_in(&self, loaded: &LoadedModule) -> bool {
        self.sites.iter().any(|site| site.0 == loaded.id)
    }

    /// DAP `Breakpoint`; `pending`: why an unbound one is not bound yet.
    fn body(&self, pending: &str) -> Value {
        let mut body = json!({ "id": self.id, "verified": self.is_bound() });
        if let Some(at) = &self.location {
            body["line"] = json!(at.point.line);
            body["column"] = json!(at.point.column);
            body["endLine"] = json!(at.point.end_line);
            body["endColumn"] = json!(at.point.end_column);
            // A client that asked for a line knows the file.
            if !self.request["line"].is_number() {
                body["source"] = json!({ "path": self.document, "name": self.document.rsplit('/').next() });
            }
        }
        if !self.is_bound() {
            // The runtime's refusal to set it is the reason why it is not bound.
            let refused = (!self.remarks.is_empty()).then(|| self.remarks.join("; "));
            let why = self.problem.clone().or(refused).unwrap_or_else(|| pending.to_owned());
            body["message"] = json!(why);
            body["reason"] = json!(if self.problem.is_some() { "failed" } else { "pending" });
        } else if !self.remarks.is_empty() {
            body["message"] = json!(self.remarks.join("; "));
        }
        body
    }

    /// Why it is not bound, if it may bind in one assembly only.
    fn in_its_module(&self, pending: &str) -> String {
        match self.request["modulePath"].as_str() {
            Some(named) => format!("it is only for `{named}`: {pending}"),
            None => pending.to_owned(),
        }
    }

    fn remark(&mut self, text: String) {
        if !self.remarks.contains(&text) {
            self.remarks.push(text);
        }
    }
}

/// The first expression of a log message that cannot be parsed.
fn wrong_in_message(message: &str) -> Option<String> {
    message_parts(message).into_iter().find_map(|piece| match piece {
        LogMessagePart::Expression(text) => {
            let failure = check_syntax(&hits::in_csharp(&text)).err()?;
            Some(format!("`{{{text}}}` in the log message: {failure}"))
        }
        LogMessagePart::Text(_) => None,
    })
}
