//! The state of a program as this agent's session reports it: a fold over the messages of the session, in
//! their order of arrival. [`crate::event_listener`] applies each message; calls wait for changes.

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use serde_json::{Map, Value};
use tandem_wire::command::{self, Execution};
use tandem_wire::types::{
    self, Breakpoint, BreakpointEventBody, ChildProgram, OutputDetails, OutputEventBody, ProcessEventBody,
    ProgramExit, SessionChangedBody, SetBreakpointsResponseBody, StopDetails, StoppedEventBody,
};
use tandem_wire::{Event, Failure};

/// Maximum characters of a console message that are kept.
const MAX_CONSOLE_CHARS: usize = 400;

/// Programs that were started that are kept.
const MAX_STARTED: usize = 64;

/// The state of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ProgramState {
    /// No program was started.
    #[default]
    Idle,
    /// The program is running.
    Running,
    /// The program is stopped.
    Stopped,
    /// The program has ended, or the session is gone.
    Exited,
}

impl ProgramState {
    /// Spelling of the state in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Running => "running",
            Self::Stopped => "stopped",
            Self::Exited => "exited",
        }
    }
}

/// The state of the program as the messages of its session report it.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// State of the program.
    pub state: ProgramState,
    /// Counts stops and ends: a change means something happened.
    pub news: u64,
    /// The restarts that replaced the program.
    pub restarts: RestartCount,
    /// Announcements of the adapter.
    pub adapter: AdapterState,
    /// Body of the last `stopped`.
    pub stop: StoppedEventBody,
    /// Body of the `process` event, if it has come.
    pub process: Option<ProcessEventBody>,
    /// How the program ended.
    pub end: ProgramEnd,
    /// The client that resumed the program last, if it was another one.
    pub resumed_by: Option<String>,
    /// Changes of breakpoints since they were set.
    pub breakpoints: ReportedBreakpoints,
    /// Messages of the engine about the program.
    pub advice: EngineAdvice,
    /// A `followCall` of this agent is in flight, and no event says that the program runs.
    pub follows: bool,
    /// The newest programs that this one has started, as `sessionChanged` reports them, and the total number.
    pub started: (Vec<ChildProgram>, u64),
}

/// The restarts of a session.
#[derive(Debug, Clone, Copy, Default)]
pub struct RestartCount {
    /// Number of restarts since this agent joined.
    pub count: u64,
    /// The [`Snapshot::news`] at the last restart: anything newer belongs to the current program.
    pub news: u64,
}

/// Announcements of an adapter about itself.
#[derive(Debug, Clone, Default)]
pub struct AdapterState {
    /// `initialized` has come: breakpoints may be set.
    pub is_initialized: bool,
    /// Capabilities from `initialize`, and those that the engine has announced since.
    pub capabilities: Map<String, Value>,
}

/// The end of a program.
#[derive(Debug, Clone, Default)]
pub struct ProgramEnd {
    /// Exit code from the event `exited`.
    pub exit_code: Option<i64>,
    /// The signal that ended the program, from the event `exited`.
    pub signal: Option<String>,
    /// The connection ended without `terminated`.
    pub is_lost: bool,
}

/// Changes of breakpoints, by the session's id.
#[derive(Debug, Clone, Default)]
pub struct ReportedBreakpoints {
    /// The last event of each breakpoint that changed since it was set.
    pub changed: HashMap<i64, Breakpoint>,
    /// This agent's breakpoints that another client removed.
    pub removed: HashSet<i64>,
}

/// Messages of the engine that explain to the agent why the program stops or runs.
#[derive(Debug, Clone, Default)]
pub struct EngineAdvice {
    /// The engine's last message on the debug console since the last stop or restart, cut at
    /// [`MAX_CONSOLE_CHARS`].
    pub console: String,
    /// The session's advice about why the program stopped or ended, since it last ran.
    pub hint: Option<String>,
    /// The [`Snapshot::news`] of the stop from which a step ends nowhere.
    pub step_lost: Option<u64>,
    /// The program runs on without a debugger.
    pub debugger_ended: bool,
}

impl Snapshot {
    /// Applies a response; returns whether anything changed.
    pub(crate) fn apply_response(&mut self, command: &str, result: &Result<Value, Failure>) -> bool {
        if command == "followCall" && std::mem::take(&mut self.follows) && result.is_err() {
            // It was refused.
            self.state = ProgramState::Stopped;
            return true;
        }
        let Ok(body) = result else { return false };
        match command {
            "initialize" => self.adapter.capabilities.extend(body.as_object().cloned().unwrap_or_default()),
            // It says how each breakpoint is now: what events said before is out of date.
            "setBreakpoints" | "setFunctionBreakpoints" => {
                let body: SetBreakpointsResponseBody = types::read(body);
                for id in body.breakpoints.into_iter().filter_map(|breakpoint| breakpoint.id) {
                    self.breakpoints.changed.remove(&id);
                }
            }
            // The client that resumes gets only the response, no event.
            _ if matches!(command::execution(command), Execution::Continue | Execution::Step) => {
                if self.state != ProgramState::Stopped {
                    return false;
                }
                self.state = ProgramState::Running;
                self.advice.hint = None;
            }
            _ => return false,
        }
        true
    }

    /// The process of the program, if the session has named it.
    pub fn process_id(&self) -> Option<i64> {
        self.process.as_ref()?.system_process_id
    }

    /// What Tandem adds to the last `stopped`.
    pub fn stop_details(&self) -> StopDetails {
        types::read(&Value::Object(self.stop.rest.clone()))
    }

    /// Applies an event; returns whether anything changed.
    pub(crate) fn apply_event(&mut self, event: &Event) -> bool {
        if matches!(event.event.as_str(), "stopped" | "continued" | "exited" | "terminated") {
            self.follows = false;
        }
        match event.event.as_str() {
            "initialized" => self.adapter.is_initialized = true,
            "process" => {
                self.process = Some(types::read(&event.body));
                // Messages of the build do not explain events of the program.
                self.advice.console.clear();
                if self.state == ProgramState::Idle {
                    self.state = ProgramState::Running;
                }
            }
            "stopped" => {
                self.state = ProgramState::Stopped;
                self.stop = types::read(&event.body);
                self.advice.console.clear();
                self.advice.step_lost = None;
                self.advice.debugger_ended = false;
                self.news += 1;
            }
            "output" => return self.apply_output(&event.body),
            "continued" => {
                self.state = ProgramState::Running;
                self.advice.hint = None;
            }
            "sessionChanged" => return self.apply_session_change(types::read(&event.body)),
            "breakpoint" => return self.breakpoints.apply(types::read(&event.body)),
            "capabilities" => {
                self.adapter
                    .capabilities
                    .extend(event.body["capabilities"].as_object().cloned().unwrap_or_default());
            }
            "exited" => {
                self.state = ProgramState::Exited;
                let exit: ProgramExit = types::read(&event.body);
                (self.end.exit_code, self.end.signal) = (exit.exit_code, exit.signal);
                self.news += 1;
            }
            "terminated" if self.state != ProgramState::Exited => {
                self.state = ProgramState::Exited;
                self.news += 1;
            }
            _ => return false,
        }
        true
    }

    /// Applies an `output` event. Output of the program or of a breakpoint is not a message of the engine.
    fn apply_output(&mut self, body: &Value) -> bool {
        let details: OutputDetails = types::read(body);
        let output: OutputEventBody = types::read(body);
        if output.category.as_deref() != Some("console") || details.from.is_some() {
            return false;
        }
        self.advice.console = output.output.trim().chars().take(MAX_CONSOLE_CHARS).collect();
        self.advice.hint = details.hint.or(self.advice.hint.take());
        self.advice.debugger_ended |= details.debugger_ended == Some(true);
        let is_lost = details.step_ends_nowhere == Some(true);
        if is_lost {
            self.advice.step_lost = Some(self.news);
        }
        is_lost
    }

    fn apply_session_change(&mut self, body: SessionChangedBody) -> bool {
        match body.change.as_str() {
            "child" => {
                let (newest, count) = &mut self.started;
                newest.push(body.child.unwrap_or_default());
                newest.drain(..newest.len().saturating_sub(MAX_STARTED));
                *count += 1;
                return false;
            }
            "resumed" => self.resumed_by = body.client,
            "restarted" => {
                self.state = ProgramState::Running;
                self.stop = StoppedEventBody::default();
                self.advice.console.clear();
                self.advice.hint = None;
                self.advice.debugger_ended = false;
                self.restarts.count += 1;
                self.restarts.news = self.news;
            }
            _ => return false,
        }
        true
    }
}

impl ReportedBreakpoints {
    /// Applies a `breakpoint` event; returns whether anything changed.
    fn apply(&mut self, body: BreakpointEventBody) -> bool {
        match (body.reason.as_str(), body.breakpoint.id) {
            ("changed", Some(id)) => drop(self.changed.insert(id, body.breakpoint)),
            ("removed", Some(id)) => drop(self.removed.insert(id)),
            ("changed" | "removed", None) => {}
            _ => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_response_replaces_what_earlier_events_said_about_its_breakpoints() {
        let mut snapshot = Snapshot::default();
        let changed =
            |id: i64| Event::new("breakpoint", json!({ "reason": "changed", "breakpoint": { "id": id } }));
        snapshot.apply_event(&changed(1));
        snapshot.apply_event(&changed(2));
        let body = json!({ "breakpoints": [{ "id": 1, "verified": false }] });
        assert!(snapshot.apply_response("setBreakpoints", &Ok(body)));
        assert_eq!(snapshot.breakpoints.changed.keys().collect::<Vec<_>>(), [&2]);
    }
}
