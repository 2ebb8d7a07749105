//! Execution of a call, and its end when it takes too long. [`super::phase`] decides each action. Not here:
//! preparing the arguments ([`super::arguments`]).

use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use cordebug::callback::Callback;
use cordebug::debugger::{Debugger, Process};
use cordebug::eval::Eval;
use cordebug::frame::Function;
use cordebug::hresult::CORDBG_E_PROCESS_TERMINATED;
use cordebug::value::Value as ClrValue;
use tandem_wire::{ErrorCode, Failure};

use super::abort_safety::CallProgress;
use super::phase::{AbortObstacle, AbortSafety, CallAction, CallEvent, EvalPhase, GiveUpReason};
use super::wait_detection::WaitSamples;
use crate::cor;
use crate::debuggee::ClrDebuggee;
use crate::func_eval::EvalContext;
use crate::inbox::EngineInput;
use crate::managed_threads::StackRange;
use crate::session::ClrSession;
use crate::types::ClrTypeSystem;
use crate::value_path::Path;

/// How often a call checks whether the session ends.
const CANCEL_CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// How often, and at what interval, a call that does not end is checked for an obstacle to its abort.
const MAX_OBSTACLE_CHECKS: usize = 5;
const OBSTACLE_CHECK_INTERVAL: Duration = Duration::from_millis(7);
/// Shortest wait for an input.
const MIN_WAIT: Duration = Duration::from_millis(1);

enum CallOutcome {
    Value(Option<ClrValue>),
    Threw(Option<ClrValue>),
}

impl ClrSession {
    /// As [`Self::run_with_others`], with the other threads suspended at first.
    pub(crate) fn run_in(
        &mut self,
        site: &EvalContext,
        what: &str,
        function: Option<&Function>,
        setup: impl FnOnce(&Eval) -> cordebug::Result<()>,
    ) -> Result<Option<ClrValue>, Failure> {
        self.run_with_others(site, what, function, false, setup)
    }

    /// Runs the evaluation that `setup` prepares, a call of `function` if it is one; returns its result,
    /// which is valid until the next resume. `with_others`: the other threads run from the beginning, because
    /// the call waits for one of them.
    pub(crate) fn run_with_others(
        &mut self,
        site: &EvalContext,
        what: &str,
        function: Option<&Function>,
        with_others: bool,
        setup: impl FnOnce(&Eval) -> cordebug::Result<()>,
    ) -> Result<Option<ClrValue>, Failure> {
        if let Some(refusal) = self.calls.refusal(site, what) {
            return Err(refusal);
        }
        let eval = self.program.debuggee.thread(site.thread)?.create_eval().map_err(cor("prepare a call"))?;
        // Once the call is set up, the stack cannot be walked.
        let top = self.at_stop().frame_at(site.thread, 0);
        let top = top.and_then(|frame| frame.stack_range().map_err(cor("read the stack"))).ok();
        setup(&eval).map_err(|error| call_start_failure(what, site.thread, error))?;
        let is_core = self.program.debuggee.debugger.as_ref().is_some_and(Debugger::is_core);
        let process = self.program.debuggee.process()?;
        let call = RunningCall { eval: &eval, process: &process, site, what, function, top, is_core };
        match self.finish(&call, with_others)? {
            CallOutcome::Value(value) => Ok(value),
            CallOutcome::Threw(thrown) => {
                let name = match &thrown {
                    Some(thrown) => {
                        self.at_stop().note_failed_class(thrown);
                        self.program.types.exception_chain(thrown)
                    }
                    None => "an exception".into(),
                };
                Err(Failure::new(ErrorCode::EvaluationFailed, format!("`{what}` threw {name}")))
            }
        }
    }

    /// A new string in the program.
    pub(crate) fn new_string(&mut self, site: &EvalContext, text: &str) -> Result<Path, Failure> {
        let made = self.run_in(site, "new string", None, |eval| eval.new_string(text))?;
        let lost = || Failure::new(ErrorCode::EvaluationFailed, "the program could not make a string");
        self.program.values.hold_object(&made.ok_or_else(lost)?, "new string").ok_or_else(lost)
    }

    /// Runs the program until the call is complete, or is given up.
    fn finish(&mut self, call: &RunningCall<'_>, mut with_others: bool) -> Result<CallOutcome, Failure> {
        let (site, what) = (call.site, call.what);
        // Threads that cannot be suspended keep running; the call does not depend on it.
        call.hold_others(&self.program.debuggee, !with_others);
        call.resume()?;
        let start = Instant::now();
        let mut waits = WaitSamples::of(self.program.debuggee.pid, site.thread);
        let mut phase = EvalPhase::Running;
        let outcome = loop {
            let patience = if phase.is_running() {
                site.limit.saturating_sub(start.elapsed())
            } else {
                CANCEL_CHECK_INTERVAL
            };
            let (event, result) = match self
                .hub
                .inbox
                .recv_timeout(patience.clamp(MIN_WAIT, CANCEL_CHECK_INTERVAL))
            {
                // An earlier call that was given up may end on another thread now.
                Ok(EngineInput::Callback(callback))
                    if self.calls.stuck.of_abandoned_call(&mut self.program.debuggee.threads, &callback) =>
                {
                    call.resume()?;
                    (None, None)
                }
                Ok(EngineInput::Callback(Callback::EvalComplete { eval, .. })) => {
                    (Some(CallEvent::Completed), eval.result())
                }
                Ok(EngineInput::Callback(Callback::EvalException { eval, .. })) => {
                    (Some(CallEvent::Threw), eval.result())
                }
                Ok(EngineInput::Callback(callback @ Callback::ExitProcess)) => {
                    self.hub.inbox.postpone(EngineInput::Callback(callback));
                    self.program.debuggee.end.is_noticed = true;
                    return Err(end_failure(what));
                }
                Ok(EngineInput::Callback(callback)) => {
                    self.record_changes(callback);
                    call.resume()?;
                    (None, None)
                }
                Ok(other) => {
                    self.hub.inbox.postpone(other);
                    (None, None)
                }
                Err(RecvTimeoutError::Timeout) => (None, None),
                Err(RecvTimeoutError::Disconnected) => return Err(timeout_failure(what, site.limit, "")),
            };
            let action = match event {
                Some(event) => phase.next(start.elapsed(), event),
                None => {
                    if call.is_core && !phase.is_aborting() {
                        waits.sample();
                    }
                    let waited = start.elapsed();
                    let is_wanted = waited > site.limit || self.hub.request.is_abandoned();
                    if !with_others && (waited > site.limit / 2 || is_wanted) {
                        with_others = true;
                        call.halt(
                            &mut self.program.debuggee,
                            "stop a call that may wait for another thread",
                        )?;
                        call.hold_others(&self.program.debuggee, false);
                        call.resume()?;
                    }
                    phase.next(start.elapsed(), CallEvent::Waited { is_wanted })
                }
            };
            let action = match action {
                CallAction::Inspect => {
                    let safety =
                        call.check_abort_safety(&mut self.program.debuggee, &self.program.types, &waits)?;
                    let mut action = phase.next(start.elapsed(), CallEvent::Inspected(safety));
                    if action == CallAction::Abort {
                        let taken = call.abort(&mut self.program.debuggee)?;
                        action = phase.next(start.elapsed(), taken);
                    }
                    tracing::debug!(what, ?safety, ?phase, "a call is to end");
                    if !call.is_core && action == CallAction::Continue {
                        call.resume()?;
                    }
                    action
                }
                CallAction::LookWhatKeepsIt => {
                    let keeper = call.look_for_obstacle(&mut self.program.debuggee, &self.program.types)?;
                    tracing::debug!(what, obstacle = ?keeper, "an aborted call has not ended");
                    let action = phase.next(start.elapsed(), CallEvent::AbortBlocked(keeper));
                    if action == CallAction::AbortRudely {
                        call.eval.rude_abort().map_err(cor("abort a call that does not end"))?;
                        call.resume()?;
                    }
                    action
                }
                action => action,
            };
            match action {
                CallAction::TakeResult => break Ok(CallOutcome::Value(result)),
                CallAction::TakeException => break Ok(CallOutcome::Threw(result)),
                CallAction::ReportAborted => break Err(call.abort_failure(self.hub.request.is_cancelled())),
                CallAction::GiveUp(why) => {
                    if let Some(below) = call.top {
                        self.calls.stuck.leave(&mut self.program.debuggee.threads, site.thread, below, what);
                    }
                    break Err(call.give_up_failure(why, self.hub.request.is_cancelled()));
                }
                CallAction::Continue
                | CallAction::Inspect
                | CallAction::Abort
                | CallAction::LookWhatKeepsIt
                | CallAction::AbortRudely => {}
            }
        };
        if !with_others {
            call.hold_others(&self.program.debuggee, false);
        }
        outcome
    }
}

struct RunningCall<'a> {
    eval: &'a Eval,
    process: &'a Process,
    site: &'a EvalContext,
    what: &'a str,
    /// The method it calls, if it calls one.
    function: Option<&'a Function>,
    /// The frame below the call.
    top: Option<StackRange>,
    is_core: bool,
}

impl RunningCall<'_> {
    fn resume(&self) -> Result<(), Failure> {
        self.process.resume().map_err(cor(format_args!("run `{}`", self.what)))
    }

    /// Stops the program while the call runs in it.
    fn halt(&self, debuggee: &mut ClrDebuggee, why: &str) -> Result<(), Failure> {
        debuggee.stop(self.process).map_err(|error| match error.hresult {
            CORDBG_E_PROCESS_TERMINATED => {
                debuggee.end.is_noticed = true;
                end_failure(self.what)
            }
            _ => cor(why)(error),
        })
    }

    /// Suspends the other threads from the next resume on, or releases them.
    fn hold_others(&self, debuggee: &ClrDebuggee, hold: bool) {
        let thread = debuggee.thread(self.site.thread).ok();
        if let Some(Err(error)) = thread.map(|thread| self.process.suspend_others(&thread, hold)) {
            tracing::debug!(%error, hold, "the other threads could not be suspended or resumed");
        }
    }

    fn thread_waits(&self, debuggee: &ClrDebuggee) -> bool {
        debuggee.thread(self.site.thread).is_ok_and(|thread| thread.is_waiting() == Ok(true))
    }

    /// Whether it may be aborted. The program is stopped for this, except on .NET Core
    /// unless it waits repeatedly.
    fn check_abort_safety(
        &self,
        debuggee: &mut ClrDebuggee,
        types: &ClrTypeSystem,
        waits: &WaitSamples,
    ) -> Result<AbortSafety, Failure> {
        if !self.is_core {
            self.halt(debuggee, "stop a call that is to be aborted")?;
            let progress = types.eval_progress(debuggee, self.site.thread, self.top, self.function);
            return Ok(if progress == CallProgress::Nothing {
                AbortSafety::NotBegun
            } else {
                AbortSafety::Safe
            });
        }
        if waits.waits_repeatedly() {
            self.halt(debuggee, "stop a call that waits again and again")?;
            if self.thread_waits(debuggee) {
                return Ok(AbortSafety::WaitsRepeatedly);
            }
            self.resume()?;
        }
        Ok(AbortSafety::Safe)
    }

    /// Asks the runtime to abort it.
    fn abort(&self, debuggee: &mut ClrDebuggee) -> Result<CallEvent, Failure> {
        if !self.is_core {
            // While it is stopped: aborting a call that is just ending may abort the code that runs after it.
            return Ok(if self.eval.abort().is_ok() {
                CallEvent::AbortTaken
            } else {
                CallEvent::AbortRefused
            });
        }
        // The runtime stops the program itself for this, for a shorter time than Tandem could.
        if let Err(error) = self.eval.abort() {
            tracing::debug!(%error, "a running call could not be aborted");
            self.halt(debuggee, "stop a call that takes too long")?;
            self.eval.abort().map_err(cor("abort a call that takes too long"))?;
            self.resume()?;
        }
        Ok(CallEvent::AbortTaken)
    }

    /// Stops the program, a few times if no obstacle is seen: a loop that calls .NET's libraries is outside
    /// of them now and then.
    fn look_for_obstacle(
        &self,
        debuggee: &mut ClrDebuggee,
        types: &ClrTypeSystem,
    ) -> Result<Option<AbortObstacle>, Failure> {
        let why = "stop a call that cannot be aborted";
        self.halt(debuggee, why)?;
        for _ in 1..MAX_OBSTACLE_CHECKS {
            if let Some(found) = self.abort_obstacle(debuggee, types) {
                return Ok(Some(found));
            }
            self.resume()?;
            std::thread::sleep(OBSTACLE_CHECK_INTERVAL);
            self.halt(debuggee, why)?;
        }
        Ok(self.abort_obstacle(debuggee, types))
    }

    /// The obstacle that prevents an aborted call from ending. The program is stopped. A wait that did not
    /// end on the first abort does not end on the second, an unfinished static constructor would block other
    /// threads for ever, and the runtime may end the program when the second abort finds it in native code.
    fn abort_obstacle(&self, debuggee: &ClrDebuggee, types: &ClrTypeSystem) -> Option<AbortObstacle> {
        let progress = || types.eval_progress(debuggee, self.site.thread, self.top, self.function);
        if !self.is_core && progress() != CallProgress::Method {
            return Some(AbortObstacle::StaticConstructor);
        }
        if self.thread_waits(debuggee) {
            return Some(AbortObstacle::Wait);
        }
        // The second abort throws in the runtime's native code, where nothing may catch it.
        let is_framework = self.is_core && types.is_in_framework(debuggee, self.site.thread);
        is_framework.then_some(AbortObstacle::FrameworkCode)
    }

    fn abort_failure(&self, is_cancelled: bool) -> Failure {
        match is_cancelled {
            true => Failure::cancelled(),
            false => timeout_failure(self.what, self.site.limit, "and was aborted")
                .hint("resume the program if it waits for a lock of a stopped thread, or evaluate less"),
        }
    }

    fn give_up_failure(&self, why: GiveUpReason, is_cancelled: bool) -> Failure {
        let (what, why) = (self.what, why.reason());
        let failure = match is_cancelled {
            true => Failure::new(ErrorCode::Cancelled, format!("`{what}` was cancelled {why}")),
            false => timeout_failure(what, self.site.limit, why),
        };
        failure.hint(format!(
            "thread {} stays in the call until it ends; variables can still be read",
            self.site.thread
        ))
    }
}

fn end_failure(what: &str) -> Failure {
    Failure::new(ErrorCode::EvaluationFailed, format!("the program ended during `{what}`"))
}

fn timeout_failure(what: &str, limit: Duration, fate: &str) -> Failure {
    let message = format!("`{what}` did not end within {} ms {fate}", limit.as_millis());
    Failure::new(ErrorCode::EvaluationTimeout, message.trim_end())
}

/// The runtime refused to begin a call.
fn call_start_failure(what: &str, thread: u32, error: cordebug::CorError) -> Failure {
    if !error.is_unsafe_location() {
        return cor(format!("call `{what}`"))(error);
    }
    let reason =
        error.meaning().map_or("it is at a location where evaluation is not safe", |(_, sentence)| sentence);
    Failure::new(ErrorCode::EvaluationFailed, format!("`{what}` cannot run on thread {thread}: {reason}"))
        .hint(
            "variables and fields can be read; step to a statement, or evaluate on a thread that is \
            stopped at one",
        )
}
