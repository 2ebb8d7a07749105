//! Breakpoints: requests of clients, where they bind, and whether a hit counts. Not here: the value of a
//! condition ([`super::evaluator`]), and which client set a breakpoint (the hub).
//!
//! Several breakpoints may need the same location, each with its own condition. So the program gets one
//! breakpoint per *site* (method and offset in its code), and a hit is evaluated for each breakpoint of the
//! site.

mod binding;
mod functions;
pub(super) mod hits;
mod instructions;
mod locations;
mod operators;

use std::collections::BTreeMap;

use clr_metadata::pdb::Location;
use cordebug::frame::RuntimeBreakpoint;
use serde::Deserialize;
use serde_json::{Map, Value};
use tandem_wire::Failure;
use tandem_wire::types::{self, Breakpoint, SetBreakpointsResponseBody, Source, optional};

use super::debuggee::ClrDebuggee;
use super::disassembly::Disassembly;
use super::expression_syntax::check_syntax;
use super::modules::LoadedModule;
use super::sources::SourceLocator;
use crate::options::SessionOptions;
use crate::types::ClrTypeSystem;
use binding::why_pending;
use functions::FunctionName;
use tandem_engine::hit_condition::HitTest;
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
        let Source { path, source_reference, .. } = types::source(arguments).unwrap_or_default();
        // A source without a file may be named by its number alone.
        let path = path.or_else(|| sources.path_of_reference(types, source_reference?));
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

/// A breakpoint of a line, of a function or of an instruction, as the hub requests it. Two that are equal
/// are the same breakpoint.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ClrBreakpointRequest {
    #[serde(deserialize_with = "optional")]
    line: Option<i64>,
    #[serde(deserialize_with = "optional")]
    column: Option<i64>,
    /// The name of a function.
    #[serde(deserialize_with = "optional")]
    name: Option<String>,
    /// The only assembly in which it may bind.
    #[serde(deserialize_with = "optional")]
    module_path: Option<String>,
    #[serde(deserialize_with = "optional")]
    instruction_reference: Option<String>,
    #[serde(deserialize_with = "optional")]
    offset: Option<i64>,
    #[serde(deserialize_with = "optional")]
    pub(super) condition: Option<String>,
    #[serde(deserialize_with = "optional")]
    hit_condition: Option<String>,
    #[serde(deserialize_with = "optional")]
    pub(super) log_message: Option<String>,
    /// Fields without a meaning for this engine.
    #[serde(flatten)]
    rest: Map<String, Value>,
}

impl ClrBreakpointRequest {
    /// The test for the number of hits.
    fn hit_test(&self) -> Result<Option<HitTest>, String> {
        HitTest::parse(self.hit_condition.as_deref().unwrap_or_default())
    }
}

struct ClrBreakpoint {
    id: i64,
    request: ClrBreakpointRequest,
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
                let named = FunctionName::parse(breakpoint.request.name.as_deref().unwrap_or_default());
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
            let request: ClrBreakpointRequest = types::read(request);
            // An unchanged request keeps its id, its sites and its hit count.
            if let Some(at) = old.iter().position(|breakpoint| breakpoint.request == request) {
                new.push(old.remove(at));
                continue;
            }
            self.last_id += 1;
            let mut breakpoint = ClrBreakpoint::new(self.last_id, request);
            bind(self, &mut breakpoint);
            new.push(breakpoint);
        }
        let breakpoints =
            new.iter().map(|breakpoint| breakpoint.body(&breakpoint.in_its_module(pending))).collect();
        self.lists.insert(scope, new);
        self.sweep();
        types::body(&SetBreakpointsResponseBody { breakpoints, ..SetBreakpointsResponseBody::default() })
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
    fn new(id: i64, request: ClrBreakpointRequest) -> Self {
        let wrong_condition = || {
            let condition = request.condition.as_deref()?;
            let failure = check_syntax(condition).err()?;
            Some(format!("the condition `{condition}`: {failure}"))
        };
        let wrong_message = || wrong_in_message(request.log_message.as_deref()?);
        let problem = request.hit_test().err().or_else(wrong_condition).or_else(wrong_message);
        Self {
            id,
            request,
            sites: Vec::new(),
            location: None,
            document: String::new(),
            hits: 0,
            condition_problem: None,
            problem,
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
    fn body(&self, pending: &str) -> Breakpoint {
        let mut body = Breakpoint { id: Some(self.id), verified: self.is_bound(), ..Breakpoint::default() };
        if let Some(at) = &self.location {
            body.line = Some(at.point.line.into());
            body.column = Some(at.point.column.into());
            body.end_line = Some(at.point.end_line.into());
            body.end_column = Some(at.point.end_column.into());
            // A client that asked for a line knows the file.
            if self.request.line.is_none() {
                let name = self.document.rsplit('/').next().map(str::to_owned);
                body.source = Some(Source { path: Some(self.document.clone()), name, ..Source::default() });
            }
        }
        if !self.is_bound() {
            // The runtime's refusal to set it is the reason why it is not bound.
            let refused = (!self.remarks.is_empty()).then(|| self.remarks.join("; "));
            let why = self.problem.clone().or(refused).unwrap_or_else(|| pending.to_owned());
            body.message = Some(why);
            body.reason = Some(if self.problem.is_some() { "failed" } else { "pending" }.to_owned());
        } else if !self.remarks.is_empty() {
            body.message = Some(self.remarks.join("; "));
        }
        body
    }

    /// Why it is not bound, if it may bind in one assembly only.
    fn in_its_module(&self, pending: &str) -> String {
        match &self.request.module_path {
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
