//! `noDebug`: the program runs without a debugger; all clients share its stdio.
//!
//! It is built, started and ended as any other ([`super::start`]); it begins after the clients have
//! configured.

use serde_json::Value;
use tandem_wire::types::{
    self, Breakpoint, BreakpointLocationsResponseBody, LoadedSourcesResponseBody, ModulesResponseBody,
    SetBreakpointsResponseBody, SetExceptionBreakpointsResponseBody, ThreadsResponseBody,
};
use tandem_wire::{ErrorCode, Failure};

use super::debuggee::RunState;
use super::session::ClrSession;
use tandem_dotnet_launch::program::LaunchSpec;

const WHY: &str = "the program runs without a debugger (`noDebug`)";

impl ClrSession {
    /// Starts the program, held until [`ClrSession::handle_without_debugger`] resumes it.
    pub(super) fn launch_without_debugger(
        &mut self,
        program: &LaunchSpec,
        give_up: &dyn Fn() -> bool,
    ) -> Result<Value, Failure> {
        self.program.debuggee.no_debug = true;
        let child = self.start_held(program, give_up)?;
        let pid = child.pid();
        (self.program.debuggee.child, self.program.debuggee.pid) = (Some(child), Some(pid));
        self.program.debuggee.run = RunState::Held;
        self.watch_exit();
        self.hub.outbox.send_event("initialized", Value::Null);
        let name = program.assembly.as_deref().unwrap_or(&program.spec.program).display().to_string();
        self.hub.outbox.send_process(name, pid, "launch");
        Ok(Value::Null)
    }

    /// Answers the requests that a program without a debugger supports.
    pub(super) fn handle_without_debugger(
        &mut self,
        command: &str,
        arguments: &Value,
    ) -> Result<Value, Failure> {
        match command {
            "configurationDone" => {
                if self.program.debuggee.run == RunState::Held
                    && let Some(child) = &mut self.program.debuggee.child
                {
                    self.program.debuggee.run = RunState::Running;
                    child.release()?;
                }
                Ok(Value::Null)
            }
            "setBreakpoints" | "setFunctionBreakpoints" => {
                let count = types::breakpoint_count(arguments);
                let breakpoints = vec![Breakpoint::refused(WHY); count];
                let rest = SetBreakpointsResponseBody::default();
                Ok(types::body(&SetBreakpointsResponseBody { breakpoints, ..rest }))
            }
            "setExceptionBreakpoints" => Ok(types::body(&SetExceptionBreakpointsResponseBody::default())),
            "threads" => Ok(types::body(&ThreadsResponseBody::default())),
            "modules" => {
                let total_modules = Some(0);
                Ok(types::body(&ModulesResponseBody { total_modules, ..ModulesResponseBody::default() }))
            }
            "loadedSources" => Ok(types::body(&LoadedSourcesResponseBody::default())),
            "breakpointLocations" => Ok(types::body(&BreakpointLocationsResponseBody::default())),
            other => Err(Failure::new(ErrorCode::Unsupported, format!("`{other}` needs a debugger: {WHY}"))
                .hint("restart it with debugging")
                .quiet()),
        }
    }
}
