//! The life of one call, followed statement by statement until it returns: which lines it executes, what each
//! changes, and what it calls. [`Follow`] decides what the engine is requested next, from the stacks and
//! variables of the stops on the way. It requests nothing itself, knows no client and no clock; that is
//! [`super::state`]'s work. Nothing is folded here: a body has one row for each statement.

mod end;
mod frames;
mod limits;
mod record;

use serde_json::Value;
use tandem_wire::types::{self, NamedValue, ScopesArguments, StackFrame, StackTraceResponseBody};
use tandem_wire::{ErrorCode, Failure};

pub use end::FollowEnd;
use frames::{Caller, StepEnd, as_caller, locate};
use limits::FollowLimits;
use record::{Record, ScopeRef, call_of, local_scopes, take_own, take_returned, visible};
use tandem_engine::result_names::ResultNames;

/// Most calls of one statement that are entered; the rest are stepped over.
const MAX_CALLS: usize = 16;
/// Most bytes of a body.
const MAX_BYTES: usize = 1 << 20;
/// Most variables of one scope.
const MAX_VARIABLES: usize = 60;
/// Frames that are read to find out where a step ended, in the usual case.
const USUAL_LEVELS: usize = 3;
/// The same where a callback may be below frames of a library.
const CALLBACK_LEVELS: usize = 60;
/// The same if a function calls itself: then frames are distinguished by their number.
const MAX_LEVELS: usize = 20_000;

#[derive(Debug, PartialEq)]
pub enum FollowAction {
    /// A query about the stop: command and arguments.
    Query(&'static str, Value),
    /// A step request: its command.
    Step(&'static str),
    /// No further request: the call has ended.
    End(FollowEnd),
}

/// A frame that is followed statement by statement.
#[derive(Debug)]
struct FollowedFrame {
    name: String,
    path: Option<String>,
    /// The frame that called it.
    caller: Option<Caller>,
    /// Number of frames of the stack with it on top, if frames are distinguished by it.
    height: usize,
    /// The latest values of its variables.
    rows: Vec<NamedValue>,
    /// The index of its statement that is being executed.
    statement: Option<usize>,
    /// The value it is about to return, if the engine stops there.
    returns: Option<String>,
}

/// The expected response, with the state to interpret it.
#[derive(Debug)]
enum AwaitedResponse {
    Stack,
    Scopes,
    Variables { left: Vec<ScopeRef>, are_returned: bool, rows: Vec<NamedValue> },
}

/// The last stack that the engine has shown.
#[derive(Debug, Default)]
struct LastStack {
    top: StackFrame,
    /// The caller of the frame on top.
    caller: Option<Caller>,
    /// The number of frames, where they are counted.
    height: usize,
}

/// How many frames a stack has at most, and whether their number distinguishes them.
#[derive(Debug)]
struct StackRequest {
    /// How many frames the next stack has at most.
    max_levels: usize,
    /// Frames are distinguished by their number.
    is_recursive: bool,
    /// Frames are distinguished by their number from the next stack on.
    counts_next: bool,
}

impl StackRequest {
    /// A new stop: the usual number of frames, or all of them if they are counted.
    fn reset(&mut self) {
        self.max_levels = if self.is_recursive { MAX_LEVELS } else { USUAL_LEVELS };
    }

    /// Counts frames from the next stack on, which has all of them.
    fn begin_counting(&mut self) {
        *self = Self { max_levels: MAX_LEVELS, is_recursive: true, counts_next: true };
    }
}

/// The last step, and the calls of the statement in which it ended.
#[derive(Debug)]
struct LastStep {
    /// The place where it ended.
    end: StepEnd,
    /// It ended in the middle of a statement: a call of it has returned.
    within: bool,
    /// It was one into calls.
    was_into: bool,
    /// Calls of the current statement that were entered.
    entered: usize,
}

/// A call that is followed: its statements, and the state of the search for the next one.
#[derive(Debug)]
pub struct Follow {
    thread: i64,
    limits: FollowLimits,
    levels: Vec<FollowedFrame>,
    record: Record,
    look: AwaitedResponse,
    stack: LastStack,
    request: StackRequest,
    step: LastStep,
}

impl Follow {
    /// Reads the arguments of `followCall`, at a stop of the thread `stopped` in an engine that names
    /// results so.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` when an argument has the wrong type or is out of range.
    pub fn parse(arguments: &Value, stopped: Option<i64>, results: ResultNames) -> Result<Self, Failure> {
        let (thread, limits) = FollowLimits::parse(arguments)?;
        let Some(thread) = thread.or(stopped) else {
            return Err(Failure::invalid("`followCall` needs `threadId`"));
        };
        Ok(Self {
            thread,
            limits,
            levels: Vec::new(),
            record: Record::new(results),
            look: AwaitedResponse::Stack,
            stack: LastStack::default(),
            request: StackRequest { max_levels: USUAL_LEVELS, is_recursive: false, counts_next: false },
            step: LastStep { end: StepEnd::Gone, within: false, was_into: false, entered: 0 },
        })
    }

    /// The time limit, in milliseconds.
    pub fn timeout_ms(&self) -> u64 {
        self.limits.timeout_ms
    }

    /// The thread that is followed.
    pub fn thread(&self) -> i64 {
        self.thread
    }

    /// The program has stopped, with this thread, in the call or on the way there: requests the stack.
    pub fn stopped(&mut self, thread: Option<i64>) -> FollowAction {
        self.thread = thread.unwrap_or(self.thread);
        self.request.reset();
        self.request_stack()
    }

    fn request_stack(&mut self) -> FollowAction {
        self.look = AwaitedResponse::Stack;
        let arguments = types::top_frames(Some(self.thread), self.request.max_levels);
        FollowAction::Query("stackTrace", arguments)
    }

    /// The engine replied to the last query.
    ///
    /// # Errors
    /// The engine's own, when nothing can be known without.
    pub fn receive(&mut self, reply: Result<Value, Failure>) -> Result<FollowAction, Failure> {
        match std::mem::replace(&mut self.look, AwaitedResponse::Stack) {
            AwaitedResponse::Stack => {
                let stack: StackTraceResponseBody = types::read(&reply?);
                Ok(self.receive_stack(&stack.stack_frames))
            }
            AwaitedResponse::Scopes => {
                let mut left = local_scopes(&reply.unwrap_or_default());
                left.reverse();
                Ok(self.next_scope(left, Vec::new()))
            }
            AwaitedResponse::Variables { left, are_returned, mut rows } => {
                // Code of a library may have variables that cannot be read.
                let results = &self.record.results;
                visible(&mut rows, &reply.unwrap_or_default(), are_returned, results, MAX_VARIABLES);
                Ok(self.next_scope(left, rows))
            }
        }
    }

    fn next_scope(&mut self, mut left: Vec<ScopeRef>, rows: Vec<NamedValue>) -> FollowAction {
        let Some((reference, are_returned)) = left.pop() else { return self.record_step_end(rows) };
        self.look = AwaitedResponse::Variables { left, are_returned, rows };
        FollowAction::Query("variables", types::first_children(reference, MAX_VARIABLES + 10))
    }

    fn receive_stack(&mut self, frames: &[StackFrame]) -> FollowAction {
        let Some(top) = frames.first() else { return FollowAction::End(FollowEnd::Unwound) };
        self.stack.top = top.clone();
        self.stack.caller = frames.get(1).map(as_caller);
        self.stack.height = frames.len();
        if std::mem::take(&mut self.request.counts_next) {
            self.count_levels(frames);
        }
        let mut place = locate(&self.levels, frames, self.request.is_recursive);
        if place == StepEnd::Same && self.levels.last().is_some_and(|level| level.returns.is_some()) {
            // It has returned, and its caller, which has no frame here, has called it again.
            if self.levels.len() == 1 {
                self.finish(&[]);
                return FollowAction::End(FollowEnd::Returned);
            }
            self.pop_to(self.levels.len() - 1);
            place = StepEnd::Called;
        }
        let calls_itself = match place {
            StepEnd::Start => frames.get(1).is_some_and(|caller| caller.name == top.name),
            StepEnd::Called => self.levels.iter().any(|level| level.name == top.name),
            _ => false,
        };
        if !self.request.is_recursive && calls_itself {
            self.request.begin_counting();
            return self.request_stack();
        }
        if place == StepEnd::Gone && self.request.max_levels < CALLBACK_LEVELS {
            self.request.max_levels = CALLBACK_LEVELS;
            return self.request_stack();
        }
        self.step.end = place;
        match self.step.end {
            // At the first instruction of a library's function some debuggers miss its caller.
            StepEnd::Gone if self.step.was_into && !frames::is_users(top) => self.leave_call(),
            StepEnd::Gone => FollowAction::End(FollowEnd::Unwound),
            StepEnd::Called if !frames::is_users(top) => self.leave_call(),
            StepEnd::Library => self.leave_call(),
            _ => {
                self.look = AwaitedResponse::Scopes;
                let arguments = ScopesArguments { frame_id: top.id, ..ScopesArguments::default() };
                FollowAction::Query("scopes", types::body(&arguments))
            }
        }
    }

    /// From now on frames are distinguished by their number: that of each level, from this
    /// stack with all frames.
    fn count_levels(&mut self, frames: &[StackFrame]) {
        let Some(last) = self.levels.last() else { return };
        let below = frames.iter().skip(1).position(|frame| frames::is(frame, last)).unwrap_or_default() + 1;
        let own = self.stack.height.saturating_sub(below);
        for (back, level) in self.levels.iter_mut().rev().enumerate() {
            level.height = own.saturating_sub(back);
        }
    }

    fn leave_call(&mut self) -> FollowAction {
        self.step.entered += 1;
        self.step.was_into = false;
        FollowAction::Step("stepOut")
    }

    /// The variables where the step ended are known.
    fn record_step_end(&mut self, mut rows: Vec<NamedValue>) -> FollowAction {
        let returned = take_returned(&mut rows, &self.record.results);
        let own = take_own(&mut rows, &self.record.results);
        match self.step.end {
            StepEnd::Start => {
                self.record.begin(&self.stack.top, &rows);
                self.push(rows);
            }
            StepEnd::Same => {
                if let Some(level) = self.levels.last_mut() {
                    level.returns = own;
                }
                self.record.returned(self.statement(), &returned);
                self.changed(rows);
            }
            StepEnd::Back { to } => {
                self.pop_to(to + 1);
                self.step.within = true;
                self.record.returned(self.statement(), &returned);
                self.changed(rows);
            }
            StepEnd::Called => {
                let is_followed = self.levels.len() <= self.limits.depth || frames::is_block(&self.stack.top);
                self.record.call(self.statement(), call_of(&self.stack.top, &rows, is_followed));
                if !is_followed {
                    self.step.within = true;
                    return self.leave_call();
                }
                self.push(rows);
            }
            StepEnd::Caller => {
                self.finish(&returned);
                return FollowAction::End(FollowEnd::Returned);
            }
            StepEnd::Gone | StepEnd::Library => return FollowAction::End(FollowEnd::Unwound),
        }
        if self.record.statements() > self.limits.max_steps || self.record.bytes > MAX_BYTES {
            self.record.unfinished();
            return FollowAction::End(FollowEnd::Steps);
        }
        let enters = self.limits.enter_calls && self.step.entered < MAX_CALLS;
        self.step.was_into = enters;
        FollowAction::Step(if enters { "stepIn" } else { "next" })
    }

    /// The call itself has returned.
    fn finish(&mut self, returned: &[record::Returned]) {
        let own = self.levels.first_mut().and_then(|level| level.returns.take());
        match own {
            Some(value) => self.record.end(&[(None, value)]),
            None => self.record.end(returned),
        }
    }

    /// The calls below have returned: `left` levels remain.
    fn pop_to(&mut self, left: usize) {
        while self.levels.len() > left {
            let own = self.levels.pop().and_then(|level| level.returns);
            if let Some(value) = own {
                self.record.returned(self.statement(), &[(None, value)]);
            }
        }
    }

    fn statement(&self) -> Option<usize> {
        self.levels.last().and_then(|level| level.statement)
    }

    /// Takes up a call: its first statement begins.
    fn push(&mut self, rows: Vec<NamedValue>) {
        let depth = self.levels.len();
        let statement = self.record.add(&self.stack.top, depth, true);
        self.levels.push(FollowedFrame {
            name: self.stack.top.name.clone(),
            path: frames::path(&self.stack.top),
            caller: self.stack.caller.clone(),
            height: self.stack.height,
            rows,
            statement: Some(statement),
            returns: None,
        });
        (self.step.within, self.step.entered) = (false, 0);
    }

    /// A step has ended in the call: records the changes and the next statement.
    fn changed(&mut self, rows: Vec<NamedValue>) {
        let depth = self.levels.len().saturating_sub(1);
        let Some(level) = self.levels.last_mut() else { return };
        self.record.changed(level.statement, &level.rows, &rows);
        level.rows = rows;
        let is_same = level.statement.is_some_and(|at| self.record.is_at(at, self.stack.top.line));
        if std::mem::take(&mut self.step.within) && is_same {
            return;
        }
        self.step.entered = 0;
        level.statement = Some(self.record.add(&self.stack.top, depth, false));
    }

    /// The body of the response.
    pub fn body(self, ended: FollowEnd, failure: Option<&Failure>) -> Value {
        let mut body = self.record.into_body();
        body.ended = ended.name().to_owned();
        body.message = failure.map(Failure::to_string);
        types::body(&body)
    }
}

/// The refusal of a second `followCall` during the first.
pub fn is_followed() -> Failure {
    Failure::new(ErrorCode::NotStopped, "a call is being followed").hint("wait for the next stop")
}
