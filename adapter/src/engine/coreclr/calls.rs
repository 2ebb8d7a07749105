//! Running code of the program for us: getters, methods, constructors, new strings.
//!
//! The thread of the stop runs the code; the others stand still at first, so that looking does not move the program. Each
//! call has a deadline: past half of it the others run too, in case it waits for one of them; past the whole it is aborted,
//! first politely, then not; and when even that does not end it, or may end the program ([`moment`], [`reached`]), it is left where it
//! is ([`left`]) and the session goes on.
//! Requests that come meanwhile wait; stops and exceptions inside the call are not the clients'.

pub(super) mod left;
mod moment;
mod reached;
pub(super) mod supply;

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use cordebug::callback::Callback;
use cordebug::debugger::{Debugger, Process};
use cordebug::eval::Eval;
use cordebug::frame::Function;
use cordebug::hresult::CORDBG_E_PROCESS_TERMINATED;
use cordebug::value::Value as ClrValue;
use dap_wire::{ErrorCode, Failure};

use super::cor;
use super::expression::{Data, Val};
use super::session::{Input, Session};
use super::types::Ty;
use super::values::{Path, Root, bare};
use reached::Reached;

/// How long a call may run that somebody asked for.
pub(super) const CALL_LIMIT: Duration = Duration::from_secs(5);
/// How long a call may run that only makes a row nicer.
pub(super) const DISPLAY_LIMIT: Duration = Duration::from_millis(400);
/// How long a call that is to be aborted may take to come to its method, before which it must not be.
const BEGIN_LIMIT: Duration = Duration::from_millis(500);
/// How long an aborted call may take to end.
const ABORT_LIMIT: Duration = Duration::from_secs(1);
/// How often a call looks whether the session ends.
const SLICE: Duration = Duration::from_millis(50);

/// Where, and under which conditions, code of the program may run.
#[derive(Clone, Copy)]
pub(super) struct Site<'a> {
    pub(super) thread: u32,
    /// Whose names are visible, counted from the top.
    pub(super) frame: usize,
    pub(super) inputs: &'a Receiver<Input>,
    /// Whether code of the program may run at all: looking while hovering must not change anything.
    pub(super) runs: bool,
    /// Only types are wanted: a call gives a sample of what it would give.
    pub(super) supposes: bool,
    pub(super) limit: Duration,
}

enum Outcome {
    Value(Option<ClrValue>),
    Threw(Option<ClrValue>),
}

impl Session {
    /// Lets the program do what `setup` prepares, a call of `function` if it is one; gives its result, which dies with the next
    /// resume.
    pub(super) fn run_in(
        &mut self,
        site: &Site<'_>,
        what: &str,
        function: Option<&Function>,
        setup: impl FnOnce(&Eval) -> cordebug::Result<()>,
    ) -> Result<Option<ClrValue>, Failure> {
        if self.looks_only {
            return Err(Failure::new(
                ErrorCode::AccessDenied,
                format!("`{what}` runs code of the program, and agents may only look (`agentAccess` is `readOnly`)"),
            )
            .quiet());
        }
        if !site.runs {
            return Err(Failure::new(
                ErrorCode::EvaluationFailed,
                format!("`{what}` runs code of the program, which hovering does not do"),
            )
            .hint("evaluate it in the console or as a watch")
            .quiet());
        }
        if let Some(refusal) = self.left.refusal(site.thread, what) {
            return Err(refusal);
        }
        let eval = self.thread(site.thread)?.create_eval().map_err(cor("prepare a call"))?;
        setup(&eval).map_err(|error| no_call(what, site.thread, error))?;
        match self.finish(&eval, site, what, function)? {
            Outcome::Value(value) => Ok(value),
            Outcome::Threw(thrown) => {
                let (name, message) = match &thrown {
                    Some(thrown) => (self.type_of(thrown), self.text_field(thrown, "_message")),
                    None => ("an exception".into(), None),
                };
                let message = message.map_or(String::new(), |message| format!(": {message}"));
                Err(Failure::new(ErrorCode::EvaluationFailed, format!("`{what}` threw {name}{message}")))
            }
        }
    }

    /// A new string in the program.
    pub(super) fn new_string(&mut self, site: &Site<'_>, text: &str) -> Result<Path, Failure> {
        let made = self.run_in(site, "new string", None, |eval| eval.new_string(text))?;
        let lost = || Failure::new(ErrorCode::EvaluationFailed, "the program could not make a string");
        self.held(&made.ok_or_else(lost)?, "new string").ok_or_else(lost)
    }

    /// A way to an object that stays good until the program runs on.
    pub(super) fn held(&mut self, value: &ClrValue, name: &str) -> Option<Path> {
        let heap = value.as_reference().filter(|reference| reference.is_null() == Ok(false));
        let object = match heap {
            Some(reference) => reference.dereference().ok()?,
            None => value.clone(),
        };
        let handle = object.handle().ok()?;
        Some(Path::new(Root::Handle(self.references.keep(handle)), name))
    }

    /// What a call gave, as a value: primitives by themselves, objects by a handle.
    pub(super) fn given(&mut self, value: Option<ClrValue>, ty: &Ty, name: &str) -> Result<Val, Failure> {
        let Some(value) = value else { return Ok(Val::null()) };
        let ty = match ty.direct() {
            Ty::Other | Ty::Null | Ty::Var(_) | Ty::MethodVar(_) => self.actual_ty(&value),
            known => known.clone(),
        };
        let Some(inner) = bare(&value) else {
            return Ok(Val::constant_of(super::expression::Constant::Null, ty));
        };
        // A number in a box is of its own type, and an enum would be taken for one.
        let is_boxed_enum = !ty.is_value() && self.enum_storage(&self.declared_ty(&inner)).is_some();
        if inner.as_string().is_none()
            && !is_boxed_enum
            && let Some(constant) = self.constant_of(&inner)
        {
            return Ok(Val::constant_of(constant, ty));
        }
        match self.held(&value, name) {
            Some(path) => Ok(Val { data: Data::At(path), ty, literal: false }),
            None => Err(Failure::new(
                ErrorCode::EvaluationFailed,
                format!("the result of `{name}` cannot be kept: it is a `{}`", self.csharp(&ty)),
            )),
        }
    }

    /// Lets the program run until the call is complete.
    fn finish(
        &mut self,
        eval: &Eval,
        site: &Site<'_>,
        what: &str,
        function: Option<&Function>,
    ) -> Result<Outcome, Failure> {
        let process = self.process()?;
        let go_on = || process.resume().map_err(cor(format!("run `{what}`")));
        // Threads that cannot be held back run; the call does not depend on it.
        let alone = |alone: bool| {
            if let Some(error) =
                self.thread(site.thread).ok().and_then(|thread| process.hold_others(&thread, alone).err())
            {
                tracing::debug!(%error, alone, "the other threads could not be held or let go");
            }
        };
        alone(true);
        let top = self
            .frame_at(site.thread, 0)
            .and_then(|frame| frame.stack_range().map_err(cor("read the stack")))
            .ok();
        go_on()?;
        let start = Instant::now();
        let mut together = false;
        let mut waits = moment::Waits::of(self.pid, site.thread);
        let is_core = self.debugger.as_ref().is_some_and(Debugger::is_core);
        let mut aborted: Option<(Instant, bool)> = None;
        // Since when it is to end and may not be aborted yet.
        let mut wanted: Option<Instant> = None;
        let outcome = loop {
            let patience = if aborted.is_none() && wanted.is_none() {
                site.limit.saturating_sub(start.elapsed())
            } else {
                SLICE
            };
            match site.inputs.recv_timeout(patience.clamp(Duration::from_millis(1), SLICE)) {
                // A call that was given up before ends on another thread meanwhile.
                Ok(Input::Callback(callback)) if self.of_left_call(&callback) => go_on()?,
                Ok(Input::Callback(Callback::EvalComplete { eval, .. })) if aborted.is_none() => {
                    break Ok(Outcome::Value(eval.result()));
                }
                Ok(Input::Callback(Callback::EvalException { eval, .. })) if aborted.is_none() => {
                    break Ok(Outcome::Threw(eval.result()));
                }
                Ok(Input::Callback(Callback::EvalComplete { .. } | Callback::EvalException { .. })) => {
                    break Err(match self.cancel.is_cancelled() {
                        true => Failure::cancelled(),
                        false => timed_out(what, site.limit, "and was aborted")
                            .hint("it may wait for a lock that a stopped thread holds"),
                    });
                }
                Ok(Input::Callback(callback @ Callback::ExitProcess)) => {
                    self.postponed.push_back(Input::Callback(callback));
                    self.dead = true;
                    return Err(ended(what));
                }
                Ok(Input::Callback(callback)) => {
                    self.bookkeeping(callback);
                    go_on()?;
                }
                Ok(other) => self.postponed.push_back(other),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(timed_out(what, site.limit, "")),
            }
            if is_core && aborted.is_none() {
                waits.look();
            }
            let waited = start.elapsed();
            let is_wanted = waited > site.limit || self.is_ending() || self.cancel.is_cancelled();
            if !together && (waited > site.limit / 2 || is_wanted) {
                together = true;
                self.halt(&process, "stop a call that may wait for another thread", what)?;
                alone_off(&process, self, site.thread);
                go_on()?;
            }
            match aborted {
                None if is_wanted && !is_core => {
                    let since = *wanted.get_or_insert_with(Instant::now);
                    self.halt(&process, "stop a call that is to be aborted", what)?;
                    let reached = self.reached(site.thread, top, function);
                    // While it stands: one that ends just while it is asked to abort may abort what runs after it.
                    if reached != Reached::Nothing && eval.abort().is_ok() {
                        aborted = Some((Instant::now(), false));
                    } else if since.elapsed() > BEGIN_LIMIT {
                        if let Some(below) = top {
                            self.leave(site.thread, below, what);
                        }
                        break Err(self.not_aborted(
                            what,
                            site,
                            "and goes on: its method has not begun, and .NET may end the program when such a call is aborted",
                        ));
                    }
                    tracing::debug!(what, ?reached, "a call is to end");
                    go_on()?;
                }
                None if is_wanted => {
                    if is_core && waits.again_and_again() {
                        self.halt(&process, "stop a call that waits again and again", what)?;
                        if self.thread(site.thread).is_ok_and(|thread| thread.waits() == Ok(true)) {
                            if let Some(below) = top {
                                self.leave(site.thread, below, what);
                            }
                            break Err(self.not_aborted(
                                what,
                                site,
                                "and goes on: it waits again and again, and .NET Core may end the program when such a call is \
                                 aborted",
                            ));
                        }
                        go_on()?;
                    }
                    // The runtime stops the program for this itself, for less long than we could.
                    if let Err(error) = eval.abort() {
                        tracing::debug!(%error, "a running call could not be aborted");
                        self.halt(&process, "stop a call that takes too long", what)?;
                        eval.abort().map_err(cor("abort a call that takes too long"))?;
                        go_on()?;
                    }
                    aborted = Some((Instant::now(), false));
                }
                Some((since, rudely)) if since.elapsed() > ABORT_LIMIT => {
                    self.halt(&process, "stop a call that cannot be aborted", what)?;
                    // A wait that did not end by the first does not end by the second either, and without its end a static
                    // constructor would keep others waiting for ever.
                    let waits = self.thread(site.thread).is_ok_and(|thread| thread.waits() == Ok(true));
                    let constructs = !is_core && self.reached(site.thread, top, function) != Reached::Method;
                    if rudely || waits || constructs {
                        if let Some(below) = top {
                            self.leave(site.thread, below, what);
                        }
                        break Err(self.not_aborted(
                            what,
                            site,
                            match constructs {
                                true => {
                                    "and cannot be aborted: the runtime does not end a static constructor"
                                }
                                false => "and cannot be aborted: the runtime does not end a wait",
                            },
                        ));
                    }
                    // Last resort: the thread is unwound without its handlers.
                    eval.rude_abort().map_err(cor("abort a call that does not end"))?;
                    go_on()?;
                    aborted = Some((Instant::now(), true));
                }
                _ => {}
            }
        };
        if !together {
            alone_off(&process, self, site.thread);
        }
        outcome
    }

    fn not_aborted(&self, what: &str, site: &Site<'_>, why: &str) -> Failure {
        let failure = match self.cancel.is_cancelled() {
            true => Failure::new(ErrorCode::Cancelled, format!("`{what}` was cancelled {why}")),
            false => timed_out(what, site.limit, why),
        };
        failure
            .hint(format!("thread {} stays in it until it is over; variables can still be read", site.thread))
    }

    /// Stops the program while a call runs in it.
    fn halt(&mut self, process: &Process, why: &str, what: &str) -> Result<(), Failure> {
        self.stand(process).map_err(|error| match error.hresult {
            CORDBG_E_PROCESS_TERMINATED => {
                self.dead = true;
                ended(what)
            }
            _ => cor(why)(error),
        })
    }
}

fn ended(what: &str) -> Failure {
    Failure::new(ErrorCode::EvaluationFailed, format!("the program ended during `{what}`"))
}

fn alone_off(process: &Process, session: &Session, thread: u32) {
    let let_go = session.thread(thread).ok().map(|thread| process.hold_others(&thread, false));
    if let Some(Err(error)) = let_go {
        tracing::debug!(%error, "the other threads could not be let go");
    }
}

fn timed_out(what: &str, limit: Duration, fate: &str) -> Failure {
    let message = format!("`{what}` did not end within {} ms {fate}", limit.as_millis());
    Failure::new(ErrorCode::EvaluationTimeout, message.trim_end())
}

/// The runtime does not even begin a call.
fn no_call(what: &str, thread: u32, error: cordebug::CorError) -> Failure {
    if !error.is_unsafe_place() {
        return cor(format!("call `{what}`"))(error);
    }
    let reason = error.meaning().map_or("it stands at an unsafe place", |(_, sentence)| sentence);
    Failure::new(ErrorCode::EvaluationFailed, format!("`{what}` cannot run on thread {thread}: {reason}"))
        .hint("variables and fields can be read; step to a statement, or evaluate on a thread that stands at one")
}
