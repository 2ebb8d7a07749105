//! Breakpoints that this agent requests, by source. DAP replaces a source's whole list, so the list is kept
//! here; so that it survives edits and restarts, a breakpoint may be tied to the text of its line. Sends
//! nothing: [`crate::session::breakpoints`] does.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tandem_wire::Failure;
use tandem_wire::types::{Breakpoint, BreakpointRequest};

use crate::breakpoint_body::{BreakpointBody, BreakpointText, RequestedConditions};
use crate::source::{SourceText, absolute, source_path};

/// The place of function breakpoints; no path is empty.
pub const FUNCTIONS: &str = "";

/// Purpose of a breakpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Stops the program for the agent, who set it.
    Stop,
    /// Removed at the next stop of the program.
    RunTo,
    /// Collects the values of a trace.
    Trace,
    /// Stops the program where a test fails.
    Failure,
}

/// A location in the program, as a call names it.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlaceArguments {
    pub(crate) source_file: Option<String>,
    pub(crate) line: Option<u64>,
    pub(crate) text: Option<String>,
    pub(crate) function: Option<String>,
}

impl PlaceArguments {
    /// Whether the call names a location at all.
    pub fn is_given(&self) -> bool {
        self.source_file.is_some() || self.function.is_some()
    }
}

/// A breakpoint, as a call names it.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BreakpointArguments {
    #[serde(flatten)]
    pub(crate) place: PlaceArguments,
    pub(crate) condition: Option<String>,
    #[schemars(description = "> 5, % 10")]
    pub(crate) hit_condition: Option<String>,
    #[schemars(description = "log {expressions}, no stop")]
    pub(crate) log_message: Option<String>,
    #[schemars(description = ".NET: bind only there")]
    pub(crate) dll_path: Option<String>,
}

impl BreakpointArguments {
    /// The same breakpoint in another file.
    #[must_use]
    pub fn in_file(&self, file: &str) -> Self {
        let place = PlaceArguments { source_file: Some(file.to_owned()), ..self.place.clone() };
        Self { place, ..self.clone() }
    }

    /// The same breakpoint at a line, where the call names a function or a text.
    #[must_use]
    pub fn at_line(&self, file: String, line: u64) -> Self {
        let place = PlaceArguments { source_file: Some(file), line: Some(line), ..PlaceArguments::default() };
        Self { place, ..self.clone() }
    }
}

/// A breakpoint this agent wants.
#[derive(Debug, Clone)]
pub struct AgentBreakpoint {
    /// The agent's id for it.
    pub id: u64,
    /// The session's id, once it is known.
    pub dap: Option<i64>,
    /// Attributes that the session gets.
    pub request: BreakpointRequest,
    /// State that the session reported last.
    pub state: Breakpoint,
    /// The text of its line, when it was set by that.
    pub text: Option<String>,
    /// Purpose of the breakpoint.
    pub purpose: Purpose,
}

/// A breakpoint as it was requested: the file (empty for a function), the DAP request, the text of the line.
#[derive(Debug, Clone)]
pub struct RequestedBreakpoint {
    /// Source path, or [`FUNCTIONS`].
    pub file: String,
    /// Attributes that the session gets.
    pub dap: BreakpointRequest,
    /// The text of its line, when it was set by that.
    pub text: Option<String>,
}

impl RequestedBreakpoint {
    /// Reads `sourceFile` with `line`, `text` or both, or `function`, and the conditions.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`, saying what is there instead.
    pub fn read(arguments: &BreakpointArguments) -> Result<Self, Failure> {
        // A bare name means the assembly wherever it was loaded from.
        let assembly = |named: &String| if named.contains('/') { absolute(named) } else { named.clone() };
        let dap = BreakpointRequest {
            condition: arguments.condition.clone(),
            hit_condition: arguments.hit_condition.clone(),
            log_message: arguments.log_message.clone(),
            module_path: arguments.dll_path.as_ref().map(assembly),
            ..BreakpointRequest::default()
        };
        let place = &arguments.place;
        if let Some(function) = &place.function {
            if function.trim().is_empty() {
                return Err(Failure::invalid("`function` is empty; it must be the name of a function"));
            }
            let dap = BreakpointRequest { target: BreakpointRequest::at_function(function).target, ..dap };
            return Ok(Self { file: FUNCTIONS.into(), dap, text: None });
        }
        let named = place.source_file.as_deref();
        let named = named.ok_or_else(|| Failure::invalid("`sourceFile` is missing; it must be a string"))?;
        let file = source_path(named);
        let (text, mut line) = (place.text.clone(), place.line);
        if let Some(text) = &text {
            let source = SourceText::read(&file).ok_or_else(|| {
                Failure::invalid(format!("`text` needs the file, and `{file}` cannot be read"))
                    .hint("pass `sourceFile` as a full path")
            })?;
            line = Some(source.anchor(&file, text, line)?);
        }
        let line = match line {
            Some(0) => return Err(Failure::invalid("`line` is 0; lines are counted from 1")),
            Some(line) => line,
            None => {
                return Err(Failure::invalid("`line` is missing; it must be at least 1")
                    .hint("pass `text` (the text of the line) or `function`"));
            }
        };
        if let Some(source) = SourceText::read(&file)
            && line > source.len()
        {
            return Err(Failure::invalid(format!("`{file}` has {} lines, so no line {line}", source.len()))
                .data(json!({ "end": source.around(source.len(), 2) })));
        }
        Ok(Self { file, dap: BreakpointRequest { line: i64::try_from(line).ok(), ..dap }, text })
    }
}

impl AgentBreakpoint {
    /// The line where it bound, or that was requested.
    pub fn line(&self) -> Option<i64> {
        self.state.line.or(self.request.line)
    }

    /// The engine's reason, if it refuses the breakpoint.
    pub fn refusal(&self) -> Option<&str> {
        let is_refused = !self.state.verified && self.state.reason.as_deref() == Some("failed");
        let reason = self.state.message.as_deref().unwrap_or("the engine refuses the breakpoint");
        is_refused.then_some(reason)
    }

    /// Returns the breakpoint as tools answer it.
    pub fn body(&self, file: &str) -> BreakpointBody {
        let bound = || self.state.source.as_ref().and_then(|source| source.path.clone());
        let request = self.request.clone();
        BreakpointBody {
            id: self.id,
            function: request.target.name,
            file: if file == FUNCTIONS { bound() } else { Some(file.to_owned()) },
            line: self.line(),
            verified: self.state.verified,
            conditions: RequestedConditions {
                condition: request.condition,
                hit_condition: request.hit_condition,
                log_message: request.log_message,
                dll_path: request.module_path,
            },
            text: BreakpointText::default(),
            message: self.state.message.clone(),
        }
    }
}

/// Breakpoints by source path.
#[derive(Debug, Clone, Default)]
pub struct BreakpointRequests(BTreeMap<String, Vec<AgentBreakpoint>>);

/// Requests that were made before there was a session.
#[derive(Debug, Clone, Default)]
pub struct EarlyRequests {
    /// Breakpoints for the next session.
    pub requested: BreakpointRequests,
    /// Exception filters, if the agent chose.
    pub filters: Option<Vec<String>>,
}

impl BreakpointRequests {
    /// Adds a breakpoint under the agent's id.
    pub fn add(&mut self, request: RequestedBreakpoint, id: u64, purpose: Purpose) {
        let RequestedBreakpoint { file, dap, text } = request;
        let state = Breakpoint::default();
        let breakpoint = AgentBreakpoint { id, dap: None, request: dap, state, text, purpose };
        self.0.entry(file).or_default().push(breakpoint);
    }

    /// Removes the breakpoints at the location of another: its line, or its function.
    pub fn clear(&mut self, request: &RequestedBreakpoint) {
        if let Some(list) = self.0.get_mut(&request.file) {
            let place = |dap: &BreakpointRequest| (dap.line, dap.target.name.clone());
            list.retain(|breakpoint| place(&breakpoint.request) != place(&request.dap));
        }
    }

    /// Removes a breakpoint and returns its file.
    pub fn take(&mut self, id: u64) -> Option<String> {
        let (file, list) =
            self.0.iter_mut().find(|(_, list)| list.iter().any(|breakpoint| breakpoint.id == id))?;
        list.retain(|breakpoint| breakpoint.id != id);
        Some(file.clone())
    }

    /// Removes all breakpoints with this purpose and returns their files.
    pub fn take_all(&mut self, purpose: Purpose) -> Vec<String> {
        let mut files = Vec::new();
        for (file, list) in &mut self.0 {
            let before = list.len();
            list.retain(|breakpoint| breakpoint.purpose != purpose);
            if list.len() < before {
                files.push(file.clone());
            }
        }
        files
    }

    /// Finds a breakpoint, with its file.
    pub fn find(&self, id: u64) -> Option<(&str, &AgentBreakpoint)> {
        self.all().find(|(_, breakpoint)| breakpoint.id == id)
    }

    /// All, with their files.
    pub fn all(&self) -> impl Iterator<Item = (&str, &AgentBreakpoint)> {
        self.0.iter().flat_map(|(file, list)| list.iter().map(move |breakpoint| (file.as_str(), breakpoint)))
    }

    /// The breakpoints that the agent set, in the form that tools answer.
    pub fn bodies(&self) -> Vec<BreakpointBody> {
        let set = self.all().filter(|(_, breakpoint)| breakpoint.purpose == Purpose::Stop);
        set.map(|(file, breakpoint)| breakpoint.body(file)).collect()
    }

    /// Every file there is something for.
    pub fn files(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    /// The list of one file, to change.
    pub fn of(&mut self, file: &str) -> &mut Vec<AgentBreakpoint> {
        self.0.entry(file.to_owned()).or_default()
    }

    /// Every breakpoint, to change.
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut AgentBreakpoint> {
        self.0.values_mut().flatten()
    }

    /// Keeps only the breakpoints for which `stay` is true.
    pub fn retain(&mut self, stay: impl Fn(&AgentBreakpoint) -> bool) {
        self.0.values_mut().for_each(|list| list.retain(&stay));
    }

    /// Moves breakpoints under a name, or the end of a path, to the file that it means.
    pub fn resolve_files(&mut self, find: impl Fn(&str) -> Option<String>) {
        for named in self.files() {
            if named != FUNCTIONS
                && !std::path::Path::new(&absolute(&named)).exists()
                && let Some(file) = find(&named)
                && let Some(list) = self.0.remove(&named)
            {
                self.0.entry(file).or_default().extend(list);
            }
        }
    }

    /// Forgets files with nothing left.
    pub fn sweep(&mut self) {
        self.0.retain(|_, list| !list.is_empty());
    }

    /// A copy for the next program: a breakpoint follows the text of its line if that has moved.
    #[must_use]
    pub fn for_next_program(&self) -> Self {
        let mut copy = self.clone();
        copy.relocate();
        for breakpoint in copy.all_mut() {
            (breakpoint.dap, breakpoint.state) = (None, Breakpoint::default());
        }
        copy.sweep();
        copy
    }

    /// Moves each breakpoint whose line's text has moved, and drops those of a single run. Files without
    /// breakpoints stay until they are swept, because their empty list must be sent.
    pub fn relocate(&mut self) {
        self.take_all(Purpose::RunTo);
        self.take_all(Purpose::Trace);
        self.take_all(Purpose::Failure);
        for (file, list) in &mut self.0 {
            let Some(source) = SourceText::read(file) else { continue };
            for breakpoint in list {
                let line = breakpoint.request.line.and_then(|line| u64::try_from(line).ok());
                let moved = breakpoint.text.as_ref().and_then(|text| source.anchor(file, text, line).ok());
                let moved = moved.and_then(|line| i64::try_from(line).ok());
                breakpoint.request.line = moved.or(breakpoint.request.line);
            }
        }
    }

    /// Appends the breakpoints of another collection.
    pub fn extend(&mut self, others: Self) {
        for (file, list) in others.0 {
            self.0.entry(file).or_default().extend(list);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::arguments::schema;

    fn request(given: &Value) -> Result<RequestedBreakpoint, Failure> {
        RequestedBreakpoint::read(&schema::read(given.as_object().cloned().unwrap())?)
    }

    #[test]
    fn names_of_files_are_resolved_when_the_program_is_known() {
        let mut requested = BreakpointRequests::default();
        for (id, file) in [(1, "menu.sh"), (2, "unknown.sh"), (3, "/p/menu.sh")] {
            requested.add(request(&json!({ "file": file, "line": 2 })).unwrap(), id, Purpose::Stop);
        }
        requested.resolve_files(|named| (named == "menu.sh").then(|| "/p/menu.sh".to_owned()));
        let files: Vec<_> = requested.all().map(|(file, breakpoint)| (file, breakpoint.id)).collect();
        assert_eq!(files, [("/p/menu.sh", 3), ("/p/menu.sh", 1), ("unknown.sh", 2)]);
    }

    #[test]
    fn a_breakpoint_by_text_moves_with_its_line() {
        let folder = std::env::temp_dir().join(format!("tandem-requested-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("a.cs").display().to_string();
        std::fs::write(&file, "one\ntwo\nthree\n").unwrap();
        let mut requested = BreakpointRequests::default();
        requested.add(request(&json!({ "file": file, "text": "two" })).unwrap(), 1, Purpose::Stop);
        requested.add(request(&json!({ "file": file, "line": 3 })).unwrap(), 2, Purpose::Stop);
        requested.add(request(&json!({ "file": file, "line": 1 })).unwrap(), 3, Purpose::RunTo);
        let beyond = request(&json!({ "file": file, "line": 9 })).unwrap_err();
        std::fs::write(&file, "zero\none\ntwo\nthree\n").unwrap();
        let moved = requested.for_next_program();
        std::fs::remove_dir_all(&folder).unwrap();
        let lines: Vec<_> =
            moved.all().map(|(_, breakpoint)| (breakpoint.id, breakpoint.request.line)).collect();
        assert_eq!(lines, [(1, Some(3)), (2, Some(3))]);
        assert_eq!(beyond.data["end"][2], ">   3 three");
    }

    #[test]
    fn a_breakpoint_needs_a_place() {
        assert!(request(&json!({ "file": "/a.cs" })).is_err());
        assert!(request(&json!({ "line": 3 })).is_err());
        // An empty name matches nothing: kept for the next launch, it would make every launch fail.
        for (empty, problem) in [
            (json!({ "file": "", "line": 3 }), " is missing"),
            (json!({ "function": "", "condition": "i > 2" }), " is missing"),
            (json!({ "function": " " }), " is empty"),
            (json!({ "file": "/a.cs", "line": 0 }), " is 0"),
        ] {
            let message = request(&empty).unwrap_err().message;
            assert!(message.contains(problem), "{message}");
        }
        let plain = request(&json!({ "file": "/a.cs", "line": 3.0, "text": "", "condition": null,
            "hitCondition": 4, "logMessage": "", "function": "" }));
        let dap = serde_json::to_string(&plain.unwrap().dap).unwrap();
        assert_eq!(dap, r#"{"line":3,"hitCondition":"4"}"#);
        assert_eq!(request(&json!({ "function": "Main" })).unwrap().file, FUNCTIONS);
    }
}
