//! Running code of the program for us: getters, methods, constructors, new strings.
//!
//! The thread of the stop runs the code; the others stand still at first, so that looking does not move the program. Each
//! call has a deadline: past half of it the others run too, in case it waits for one of them; past the whole it is aborted,
//! first politely, then not; and when even that does not end it, it is left behind and the session goes on. Requests that
//! come meanwhile wait; stops and exceptions inside the call are not the clients'.

pub(super) mod supply;

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use cordebug::callback::Callback;
use cordebug::eval::Eval;
use cordebug::value::Value as ClrValue;
use dap_wire::{ErrorCode, Failure};

use super::cor;
use super::expression::{Data, Val};
use super::session::{Input, Session};
use super::types::Ty;
use super::values::{Path, Root, bare};

/// How long a call may run that somebody asked for.
pub(super) const CALL_LIMIT: Duration = Duration::from_secs(5);
/// How long a call may run that only makes a row nicer.
pub(super) const DISPLAY_LIMIT: Duration = Duration::from_millis(400);
/// How long an aborted call may take to end.
const ABORT_LIMIT: Duration = Duration::from_secs(2);
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
    pub(super) limit: Duration,
}

enum Outcome {
    Value(Option<ClrValue>),
    Threw(Option<ClrValue>),
}

impl Session {
    /// Lets the program do what `setup` prepares; gives its result, which dies with the next resume.
    pub(super) fn run_in(
        &mut self,
        site: &Site<'_>,
        what: &str,
        setup: impl FnOnce(&Eval) -> cordebug::Result<()>,
    ) -> Result<Option<ClrValue>, Failure> {
        if !site.runs {
            return Err(Failure::new(
                ErrorCode::EvaluationFailed,
                format!("`{what}` runs code of the program, which hovering does not do"),
            )
            .hint("evaluate it in the console or as a watch")
            .quiet());
        }
        let eval = self.thread(site.thread)?.create_eval().map_err(cor("prepare a call"))?;
        setup(&eval).map_err(cor(format!("call `{what}`")))?;
        match self.finish(&eval, site, what)? {
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
        let made = self.run_in(site, "new string", |eval| eval.new_string(text))?;
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
        if inner.as_string().is_none()
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
    fn finish(&mut self, eval: &Eval, site: &Site<'_>, what: &str) -> Result<Outcome, Failure> {
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
            .and_then(|frame| frame.stack_range().map_err(cor("read the stack")));
        go_on()?;
        let start = Instant::now();
        let mut together = false;
        let mut aborted: Option<(Instant, bool)> = None;
        let outcome = loop {
            let patience = if aborted.is_none() { site.limit.saturating_sub(start.elapsed()) } else { SLICE };
            match site.inputs.recv_timeout(patience.clamp(Duration::from_millis(1), SLICE)) {
                Ok(Input::Callback(Callback::EvalComplete { eval, .. })) if aborted.is_none() => {
                    break Ok(Outcome::Value(eval.result()));
                }
                Ok(Input::Callback(Callback::EvalException { eval, .. })) if aborted.is_none() => {
                    break Ok(Outcome::Threw(eval.result()));
                }
                Ok(Input::Callback(Callback::EvalComplete { .. } | Callback::EvalException { .. })) => {
                    break Err(if self.cancel.is_cancelled() {
                        Failure::cancelled()
                    } else {
                        timed_out(what, site.limit)
                    });
                }
                Ok(Input::Callback(callback @ Callback::ExitProcess)) => {
                    self.postponed.push_back(Input::Callback(callback));
                    return Err(Failure::new(
                        ErrorCode::EvaluationFailed,
                        format!("the program ended during `{what}`"),
                    ));
                }
                Ok(Input::Callback(callback)) => {
                    self.bookkeeping(callback);
                    go_on()?;
                }
                Ok(other) => self.postponed.push_back(other),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(timed_out(what, site.limit)),
            }
            let waited = start.elapsed();
            if !together && (waited > site.limit / 2 || self.is_ending() || self.cancel.is_cancelled()) {
                together = true;
                process.stop().map_err(cor("stop a call that may wait for another thread"))?;
                alone_off(&process, self, site.thread);
                go_on()?;
            }
            match aborted {
                None if waited > site.limit || self.is_ending() || self.cancel.is_cancelled() => {
                    process.stop().map_err(cor("stop a call that takes too long"))?;
                    eval.abort().map_err(cor("abort a call that takes too long"))?;
                    go_on()?;
                    aborted = Some((Instant::now(), false));
                }
                Some((since, false)) if since.elapsed() > ABORT_LIMIT => {
                    process.stop().map_err(cor("stop a call that cannot be aborted"))?;
                    // Last resort: the thread is unwound without its handlers.
                    eval.rude_abort().map_err(cor("abort a call that does not end"))?;
                    go_on()?;
                    aborted = Some((Instant::now(), true));
                }
                Some((since, true)) if since.elapsed() > ABORT_LIMIT => {
                    process.stop().map_err(cor("stop a call that nothing ends"))?;
                    self.known.left.set(top.ok().map(|range| (site.thread, range)));
                    break Err(timed_out(what, site.limit).hint(
                        "it could not be aborted; its thread goes on with it when the program goes on",
                    ));
                }
                _ => {}
            }
        };
        if !together {
            alone_off(&process, self, site.thread);
        }
        outcome
    }
}

fn alone_off(process: &cordebug::debugger::Process, session: &Session, thread: u32) {
    let let_go = session.thread(thread).ok().map(|thread| process.hold_others(&thread, false));
    if let Some(Err(error)) = let_go {
        tracing::debug!(%error, "the other threads could not be let go");
    }
}

fn timed_out(what: &str, limit: Duration) -> Failure {
    Failure::new(
        ErrorCode::EvaluationTimeout,
        format!("`{what}` did not end within {} ms and was aborted", limit.as_millis()),
    )
    .hint("it may wait for a lock that a stopped thread holds")
}
