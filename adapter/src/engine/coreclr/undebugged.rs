//! `noDebug`: the program runs with its stdio in everybody's hand, and no debugger looks at it.
//!
//! It is built, started and ended as any other ([`super::start`]); it begins when the clients have configured.

use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};

use super::program::Program;
use super::session::{Run, Session};

const WHY: &str = "the program runs without a debugger (`noDebug`)";

impl Session {
    /// Starts the program, held until [`Session::answer_undebugged`] lets it go.
    pub(super) fn launch_undebugged(
        &mut self,
        program: &Program,
        give_up: &dyn Fn() -> bool,
    ) -> Result<Value, Failure> {
        self.undebugged = true;
        let child = self.start_held(program, give_up)?;
        let pid = child.pid();
        (self.child, self.pid) = (Some(child), Some(pid));
        self.run = Run::Held;
        self.watch_exit();
        self.tell("initialized", Value::Null);
        let name = program.assembly.as_deref().unwrap_or(&program.spec.program).display().to_string();
        self.tell(
            "process",
            json!({ "name": name, "systemProcessId": pid, "isLocalProcess": true, "startMethod": "launch",
            "pointerSize": 64 }),
        );
        Ok(Value::Null)
    }

    /// What can be asked of a program without a debugger.
    pub(super) fn answer_undebugged(&mut self, command: &str, arguments: &Value) -> Result<Value, Failure> {
        match command {
            "configurationDone" => {
                if self.run == Run::Held
                    && let Some(child) = &mut self.child
                {
                    self.run = Run::Running;
                    child.release()?;
                }
                Ok(Value::Null)
            }
            "setBreakpoints" | "setFunctionBreakpoints" => {
                let count = arguments["breakpoints"].as_array().map_or(0, Vec::len);
                let unbound = json!({ "verified": false, "message": WHY, "reason": "failed" });
                Ok(json!({ "breakpoints": vec![unbound; count] }))
            }
            "setExceptionBreakpoints" => Ok(json!({})),
            "threads" => Ok(json!({ "threads": [] })),
            "modules" => Ok(json!({ "modules": [], "totalModules": 0 })),
            "loadedSources" => Ok(json!({ "sources": [] })),
            "breakpointLocations" => Ok(json!({ "breakpoints": [] })),
            other => Err(Failure::new(ErrorCode::Unsupported, format!("`{other}` needs a debugger: {WHY}"))
                .hint("restart it with debugging")
                .quiet()),
        }
    }
}
