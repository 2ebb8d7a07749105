//! Steps: over, into and out of statements of user code.

use std::sync::mpsc::Receiver;

use dap_wire::Failure;
use serde_json::Value;

use super::cor;
use super::session::{Input, Session};

impl Session {
    /// `next`, `stepIn`, `stepOut`.
    pub(super) fn step(
        &mut self,
        command: &str,
        arguments: &Value,
        inputs: &Receiver<Input>,
    ) -> Result<Value, Failure> {
        let thread = self.thread(self.thread_of(arguments)?)?;
        let stepper = thread.create_stepper(self.just_my_code).map_err(cor("prepare a step"))?;
        let range = if command == "stepOut" { None } else { self.statement(&thread) };
        let prepared = match range {
            Some((start, end)) => stepper.step_range(command == "stepIn", start, end),
            // Code without source has no statements: the only sensible step leaves it.
            None => stepper.step_out(),
        };
        prepared.map_err(cor("step"))?;
        self.stepper = Some(stepper);
        self.go_on(inputs)?;
        Ok(Value::Null)
    }

    /// The IL range of the statement the thread stands in.
    fn statement(&self, thread: &cordebug::thread::Thread) -> Option<(u32, u32)> {
        // The active frame is found through chains, which cost milliseconds; a stack walk does not.
        let frame = thread.frames(1).ok()?.into_iter().next()?;
        let function = frame.function().ok()?;
        let loaded = self.modules.of(&function.module().ok()?)?;
        let pdb = loaded.pdb.as_ref().ok()?;
        let method = function.token().ok()?;
        let il = frame.il_offset().ok()?;
        pdb.point_at(method, il)?;
        Some(pdb.step_range(method, il, function.il_size().ok()?))
    }
}
