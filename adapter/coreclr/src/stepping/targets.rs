//! `stepInTargets`: the calls of a statement, to step into a chosen one. A call is identified by its offset
//! in the code, so that its actual target does not matter: an override, a delegate, a lambda that the
//! framework calls.

use cordebug::thread::Thread;
use serde_json::Value;
use tandem_wire::Failure;
use tandem_wire::types::{self, StepInTarget, StepInTargetsResponseBody};

use crate::active_step::ExecutionTarget;
use crate::code_position::{MAX_FRAMES, StepOrigin};
use crate::methods;
use crate::modules::LoadedModule;
use crate::names::without_arity;
use crate::session::ClrSession;
use crate::types::ClrTypeSystem;

impl ClrSession {
    /// `stepInTargets`: calls in the rest of a statement that a step can enter.
    pub(crate) fn step_in_targets(&mut self, arguments: &Value) -> Result<Value, Failure> {
        let (thread, index) = self.at_stop().requested_frame(arguments)?;
        // Only the statement on top continues with calls; the others are in one.
        let top = if index == 0 { self.at_stop().frame_at(thread, 0).ok() } else { None };
        let position = top.as_ref().and_then(|frame| self.program.types.modules.position_of(frame));
        let mut body = StepInTargetsResponseBody::default();
        let Some((position, frame)) = position.zip(top) else { return Ok(types::body(&body)) };
        // In the middle of a statement, the call that has returned is before the offset.
        let is_behind = frame.is_exactly_mapped() != Ok(true);
        let made = position.current_call().filter(|_| is_behind);
        for call in position.calls() {
            if call.il < position.il || made.is_some_and(|made| call.il <= made) {
                continue;
            }
            if let Some(label) = self.program.types.call_label(&position.loaded, call.token) {
                let id = self.stepping.add_target(ExecutionTarget::Call { thread, il: call.il });
                let id = types::integer(id);
                body.targets.push(StepInTarget { id, label, ..StepInTarget::default() });
            }
        }
        Ok(types::body(&body))
    }
}

impl ClrTypeSystem {
    /// The call that a step is in, by the frame in which it began.
    pub(super) fn call_under_way(&self, thread: &Thread, origin: &StepOrigin) -> Option<u32> {
        let frames = thread.frames(MAX_FRAMES).ok()?;
        let mut below = frames.iter().skip(1).filter_map(|frame| self.modules.position_of(frame));
        below.find(|at| (at.loaded.id, at.method) == (origin.module, origin.method))?.current_call()
    }

    /// The label of a call, if it may lead to user code: to a user method, or through a delegate.
    pub(super) fn call_label(&self, loaded: &LoadedModule, token: u32) -> Option<String> {
        let metadata = &loaded.image()?.metadata;
        let (owner, name, own) = metadata.call_target(token)?;
        if let Some(method) = own {
            return self.reaches(loaded, method).then(|| loaded.method_display(method));
        }
        let owner = without_arity(owner.split('<').next().unwrap_or_default());
        if name == "Invoke" && (owner.starts_with("System.Func") || owner.starts_with("System.Action")) {
            return Some(format!("{owner}.Invoke"));
        }
        // A method of another user module: the overload does not matter for a name.
        self.modules.with_symbols().iter().find_map(|other| {
            let metadata = &other.image()?.metadata;
            let method = metadata.all_methods().find(|method| {
                metadata.method_name(*method) == name
                    && without_arity(&metadata.type_name(metadata.owner_of(*method))) == owner
                    && self.reaches(other, *method)
            })?;
            Some(methods::qualified(metadata, other.pdb.as_ref().ok(), method))
        })
    }

    /// Whether a step can enter a method, or pass through it: it has source, maybe in its state machine, and
    /// is not `DebuggerHidden` or the like.
    fn reaches(&self, loaded: &LoadedModule, method: u32) -> bool {
        let Ok(pdb) = &loaded.pdb else { return false };
        let body = pdb.move_next(method).unwrap_or(method);
        let is_abstract = || loaded.image().is_some_and(|image| image.metadata.method_rva(method) == 0);
        pdb.first_statement(body).map_or_else(is_abstract, |_| self.modules.is_users(loaded, body))
    }
}
