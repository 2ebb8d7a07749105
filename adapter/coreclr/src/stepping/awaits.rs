//! Steps across `await`: the next statement may run later and on another thread, and the waiting caller is
//! not on the stack.
//!
//! Over an await: a breakpoint where the method yields; when it is hit, one where the method resumes, for the
//! same state machine. Out of an async method that was resumed: the runtime is asked to call
//! `Task.NotifyDebuggerOfWaitCompletion` when the code that awaits the method's task continues, and a
//! breakpoint is set there.

use cordebug::frame::RuntimeBreakpoint;
use cordebug::thread::Thread;
use cordebug::value::{Value as ClrValue, element};
use tandem_wire::types::StoppedEventBody;
use tandem_wire::{ErrorCode, Failure};

use crate::active_step::{ActiveStep, AwaitBreakpoints, StateMachineRef, StepKind, own_argument};
use crate::code_position::CodePosition;
use crate::cor;
use crate::debuggee::RunState;
use crate::func_eval::{CALL_TIMEOUT, EvalContext};
use crate::session::ClrSession;

const TASK: &str = "System.Threading.Tasks.Task";
/// Asks for a call of [`NOTIFIED`].
const NOTIFY: &str = "SetNotificationForWaitCompletion";
/// The method that the runtime calls when an awaited task has completed.
const NOTIFIED: &str = "NotifyDebuggerOfWaitCompletion";
/// Deepest stack between a state machine and the method that began it.
const MAX_FRAMES: usize = 32;

impl ClrSession {
    /// Prepares a step that begins in an async method. `true` when no stepper is needed.
    pub(super) fn prepare_awaits(
        &mut self,
        step: &mut ActiveStep,
        thread: &Thread,
        from: &CodePosition,
    ) -> bool {
        let Ok(pdb) = &from.loaded.pdb else { return false };
        let awaits = pdb.await_steps(from.method);
        if awaits.is_empty() {
            return false;
        }
        let Some(statement) = step.origin.as_ref().map(|origin| origin.statement) else { return false };
        step.is_async = true;
        let is_ahead = |il: u32| il >= from.il && il < statement.1;
        let ahead: Vec<_> = awaits.into_iter().filter(|at| is_ahead(at.yield_il)).collect();
        let last = pdb.last_statement(from.method).map(|last| last.il);
        let is_left = step.way == StepKind::Out || (last == Some(statement.0) && ahead.is_empty());
        if (is_left || ahead.is_empty()) && self.program.types.is_async_iterator(thread) {
            // Its consumer resumes at any statement that returns an item; others are left to the stepper.
            step.awaiting = self.at_stop().consumer(thread).unwrap_or(AwaitBreakpoints::Nothing);
            return is_left && !matches!(step.awaiting, AwaitBreakpoints::Nothing);
        }
        if is_left && let Some(awaiting) = self.caller(thread) {
            step.awaiting = awaiting;
            return true;
        }
        if is_left {
            return self.wait_for_completion(step, thread).unwrap_or_else(|failure| {
                // The awaiter of a custom source, not of a task, is usually called on this thread.
                tracing::debug!(%failure, "no notice of the task's completion");
                false
            });
        }
        let mut places = Vec::new();
        for at in ahead {
            match from.function.set_breakpoint(at.yield_il) {
                Ok(breakpoint) => places.push((breakpoint, at)),
                Err(error) => tracing::debug!(%error, "an await is not stepped over"),
            }
        }
        if !places.is_empty() {
            let machine = own_argument(thread).as_ref().map_or(StateMachineRef::Unknown, StateMachineRef::of);
            let loaded = from.loaded.clone();
            step.awaiting = AwaitBreakpoints::Yield { loaded, places, machine };
        }
        false
    }

    /// Asks for a call when the task of the method on top completes. `false`: its caller is on the stack, and
    /// a plain step finds it.
    fn wait_for_completion(&mut self, step: &mut ActiveStep, thread: &Thread) -> Result<bool, Failure> {
        let frames = thread.frames(MAX_FRAMES).map_err(cor("walk the stack"))?;
        if self.program.types.is_called_by_its_beginning(&frames) {
            return Ok(false);
        }
        let lost = |what: &str| Failure::new(ErrorCode::EngineFailed, format!("{what} was not found"));
        let machine = frames.first().and_then(|frame| frame.argument(0).ok());
        let task = machine
            .and_then(|machine| self.program.types.task_of(&machine))
            .ok_or_else(|| lost("its task"))?;
        self.notify_when_awaited(step, task)?;
        Ok(true)
    }

    /// Asks for a call when the code that awaits a task continues.
    pub(super) fn notify_when_awaited(
        &mut self,
        step: &mut ActiveStep,
        task: ClrValue,
    ) -> Result<(), Failure> {
        let lost = |what: &str| Failure::new(ErrorCode::EngineFailed, format!("{what} was not found"));
        let (core, class) = self.program.types.type_named(TASK).ok_or_else(|| lost(TASK))?;
        let function = |name: &str| {
            let metadata = &core.image().ok_or_else(|| lost(TASK))?.metadata;
            let token = metadata.methods(class).find(|method| metadata.method_name(*method) == name);
            let token = token.ok_or_else(|| lost(name))?;
            core.module.function(token).map_err(cor(format_args!("find `{name}`")))
        };
        let (notify, notified) = (function(NOTIFY)?, function(NOTIFIED)?);
        let site = EvalContext { thread: step.thread, frame: 0, runs: true, limit: CALL_TIMEOUT };
        self.run_in(&site, NOTIFY, Some(&notify), |eval| {
            let on = eval.create_value(element::BOOLEAN)?;
            on.set_bytes(&[1])?;
            eval.call(&notify, &[], &[task, on])
        })?;
        let breakpoint = notified.set_breakpoint(0).map_err(cor("set a breakpoint"))?;
        step.awaiting = AwaitBreakpoints::Completion(breakpoint);
        Ok(())
    }

    /// A breakpoint was hit. `true` if it belongs to the step in progress, and so to nothing else.
    pub(crate) fn step_breakpoint(&mut self, thread: &Thread, hit: &RuntimeBreakpoint) -> bool {
        let Some(mut step) = self.stepping.step.take_if(|step| step.awaiting.is_hit_by(hit)) else {
            return false;
        };
        let id = thread.id().unwrap_or(0);
        tracing::trace!(thread = id, of = step.thread, "a step reached its breakpoint");
        let arrived = match &step.awaiting {
            AwaitBreakpoints::Yield { machine, .. } => id == step.thread && machine.runs_on(thread, false),
            AwaitBreakpoints::Resume { machine, .. } | AwaitBreakpoints::Consumer { machine, .. } => {
                machine.runs_on(thread, true)
            }
            AwaitBreakpoints::Completion(_) => true,
            AwaitBreakpoints::Nothing => false,
        };
        let went = if arrived { self.on_await_reached(&mut step, thread, hit) } else { Ok(()) };
        if self.program.debuggee.run == RunState::Running {
            self.stepping.step = Some(step);
        }
        if let Err(failure) = went {
            tracing::debug!(%failure, "the step stops early");
            self.stop_at(thread, StoppedEventBody::because("step"));
        }
        true
    }

    /// The step has reached the breakpoint that it waited for.
    fn on_await_reached(
        &mut self,
        step: &mut ActiveStep,
        thread: &Thread,
        hit: &RuntimeBreakpoint,
    ) -> Result<(), Failure> {
        match std::mem::replace(&mut step.awaiting, AwaitBreakpoints::Nothing) {
            AwaitBreakpoints::Nothing => {}
            AwaitBreakpoints::Yield { loaded, places, machine } => {
                let at = places.iter().find(|(breakpoint, _)| breakpoint.is(hit)).map(|(_, at)| *at);
                AwaitBreakpoints::Yield { loaded: loaded.clone(), places, machine: StateMachineRef::Unknown }
                    .clear();
                let Some(at) = at else { return Ok(()) };
                let set = || loaded.module.function(at.method)?.set_breakpoint(at.resume_il);
                let breakpoint = set().map_err(cor("set a breakpoint where the method resumes"))?;
                if let Some(stepper) = step.stepper.take() {
                    stepper.deactivate().unwrap_or_default();
                }
                // Another call of the method may have its frame at the same address.
                step.returns.disarm();
                step.awaiting = AwaitBreakpoints::Resume { breakpoint, machine };
            }
            resume @ AwaitBreakpoints::Resume { .. } => {
                resume.clear();
                step.thread = thread.id().unwrap_or(0);
                // The rest of the statement, which may await again.
                let lost = || Failure::new(ErrorCode::EngineFailed, "the resumed method has no frame");
                let position = self.program.types.modules.position(thread).ok_or_else(lost)?;
                self.set_out(step, thread, &position)?;
            }
            consumer @ AwaitBreakpoints::Consumer { .. } => {
                consumer.clear();
                if let Some(stepper) = step.stepper.take() {
                    stepper.deactivate().unwrap_or_default();
                }
                self.stop_at(thread, StoppedEventBody::because("step"));
            }
            completion @ AwaitBreakpoints::Completion(_) => {
                completion.clear();
                (step.thread, step.way, step.origin) = (thread.id().unwrap_or(0), StepKind::Out, None);
                step.stepper = Some(self.program.types.stepper_out(&self.options, thread)?);
            }
        }
        Ok(())
    }
}
