//! Targets that clients were offered at a stop, by the numbers that they send back. Finds none
//! (`stepping::targets`, `stepping::goto`).

use serde_json::Value;
use tandem_wire::Failure;

use super::Stepping;

/// The target of a `targetId`, valid until the program runs.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ExecutionTarget {
    /// A call in the statement on top of a thread's stack, by its IL offset.
    Call { thread: u32, il: u32 },
    /// A statement of the method there, by IL offset.
    Statement { thread: u32, il: u32 },
}

impl Stepping {
    /// Registers a target; returns its number.
    pub(crate) fn add_target(&mut self, target: ExecutionTarget) -> usize {
        self.targets.push(target);
        self.targets.len()
    }

    /// The target of a request.
    pub(crate) fn target(&self, arguments: &Value) -> Result<Option<ExecutionTarget>, Failure> {
        let id = &arguments["targetId"];
        if id.is_null() {
            return Ok(None);
        }
        let at = id.as_u64().and_then(|id| usize::try_from(id).ok()?.checked_sub(1));
        let found = at.and_then(|at| self.targets.get(at)).copied();
        found.map(Some).ok_or_else(|| {
            Failure::invalid(format!("there is no target {id}"))
                .hint("targets belong to the last stop; request them again")
        })
    }

    /// The call that a `stepIn` is to go into.
    pub(crate) fn chosen_call(&self, arguments: &Value, of: u32) -> Result<Option<u32>, Failure> {
        match self.target(arguments)? {
            None => Ok(None),
            Some(ExecutionTarget::Call { thread, il }) if thread == of => Ok(Some(il)),
            Some(ExecutionTarget::Call { thread, .. }) => {
                Err(Failure::invalid(format!("this target is a call of thread {thread}, not of thread {of}")))
            }
            Some(ExecutionTarget::Statement { .. }) => {
                Err(Failure::invalid("this target is a place for `goto`, not a call for `stepIn`"))
            }
        }
    }
}
