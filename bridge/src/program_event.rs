//! What happened to a program, as answers report it: a stop with its reason, exception and frame, or the end
//! with the results of tests.
//!
//! Declares only the form. Not here: the rest of an answer and when to report an event (`tools::run_answer`,
//! `tools::stops`).

use serde::Serialize;
use serde_json::{Map, Value};
use tandem_testing::answer::TestsReport;
use tandem_wire::Failure;
use tandem_workspace::answer_error::AnswerError;
use tandem_workspace::build::report::FileDiagnostics;

use crate::source::ShownPlace;

/// A stop of the program, and why it stopped.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StopEvent {
    /// The kind of stop, which agents read first.
    #[serde(rename = "type")]
    pub kind: StopKind,
    /// The reason as DAP names it, or `test failed`.
    pub reason: String,
    /// The thread that stopped: `null` if the adapter names none, absent in a short form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<Option<i64>>,
    /// The adapter's text about the stop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The process and the signal, if the adapter names them.
    #[serde(flatten)]
    pub process: StoppedProcess,
    /// The breakpoint that was hit.
    #[serde(flatten)]
    pub breakpoint: Option<HitBreakpoint>,
    /// The client that resumed the program, if it was another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumed_by: Option<String>,
    /// The exception at which the program stopped, if it could be read.
    #[serde(flatten)]
    pub exception: Option<StopException>,
    /// The session's advice about the exception.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The frame that is shown.
    #[serde(flatten)]
    pub frame: FrameDetails,
    /// The parts that could not be read, each with the reason.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub unreadable: Map<String, Value>,
}

/// The kind of a stop, which follows from its reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum StopKind {
    /// At a breakpoint of a client.
    BreakpointHit,
    /// At an exception or a signal.
    Exception,
    /// At the end of a step, a pause or another reason.
    #[default]
    Stopped,
}

impl StopKind {
    /// The kind of a stop with this reason of DAP.
    pub fn of(reason: &str) -> Self {
        match reason {
            "breakpoint" | "function breakpoint" => Self::BreakpointHit,
            "exception" => Self::Exception,
            _ => Self::Stopped,
        }
    }
}

/// The process and the signal of a stop.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct StoppedProcess {
    /// The process that stopped, if the session debugs several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<i64>,
    /// The signal that stopped it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
}

/// The breakpoint at which a program stopped. Each variant has one field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub enum HitBreakpoint {
    /// One of the agent's breakpoints.
    Own {
        /// The agent's id for it.
        breakpoint_id: u64,
    },
    /// The place to which the agent ran.
    Target {
        /// True: the program has come there.
        reached: bool,
    },
    /// One of another client.
    Foreign {
        /// True: another client has set it.
        by_other: bool,
    },
}

/// The exception at a stop.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StopException {
    /// The type of the exception, or the adapter's id for it.
    pub exception_type: String,
    /// Its message, where [`StopEvent::message`] does not have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Whether no code catches it; absent where that says nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_unhandled: Option<bool>,
    /// Whether it leaves the user's code, and a library catches it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_user_unhandled: bool,
    /// Advice of the adapter about the exception.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The place where it was thrown, if the stop is elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thrown_at: Option<ShownPlace>,
    /// Its inner exceptions, the nearest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<InnerException>,
}

/// An inner exception of the exception at a stop.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct InnerException {
    /// The full name of its type.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// The message of the inner exception.
    pub message: Option<String>,
}

/// The frame that the answer about a stop shows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FrameDetails {
    /// The frame on top of the stack.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_frame: Option<TopFrame>,
    /// The place of the frame that is shown; empty for a thread without frames.
    #[serde(flatten)]
    pub place: Option<ShownPlace>,
    /// The numbered lines around the place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<Vec<String>>,
    /// Whether its method has ended by an exception.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub has_ended: bool,
    /// The values that the calls of a step returned.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub returned: Vec<ReturnedValue>,
    /// How to read the variables that are not listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more: Option<String>,
    /// All variables, if the last stop was in another function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locals: Option<Vec<VariableChange>>,
    /// The variables that differ from the last stop in the same function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed: Option<Vec<VariableChange>>,
}

impl FrameDetails {
    /// Removes what an answer repeats that shows the statements themselves.
    pub fn remove_contents(&mut self) {
        let Self { top_frame, lines, more, locals, changed, .. } = self;
        (*top_frame, *lines, *more, *locals, *changed) = (None, None, None, None, None);
    }
}

/// The frame on top of a stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum TopFrame {
    /// The frame that is shown.
    Shown {
        /// The id of the frame, which other tools take.
        id: i64,
        /// The line of the frame.
        line: Option<i64>,
    },
    /// Another one than the frame that is shown.
    Other {
        /// The id of the frame, which other tools take.
        id: i64,
        /// The name of its function.
        function: String,
    },
    /// The thread has no frames: both fields are `null`.
    Absent {
        /// The id is `null` then.
        id: (),
        /// The function is `null` then.
        function: (),
    },
}

/// A value that a call returned during a step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ReturnedValue {
    /// The name of the function.
    pub name: String,
    /// The value that it returned.
    pub value: String,
    /// The type of the value.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

/// A variable of a stop that differs from the stop before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VariableChange {
    /// The name of the variable.
    pub name: String,
    /// Its value at this stop.
    pub value: String,
    /// Its value at the stop before, if it was in the same function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub was: Option<String>,
}

impl StopEvent {
    /// The message of the exception or of the adapter.
    pub fn message(&self) -> Option<&str> {
        let exception = self.exception.as_ref().and_then(|exception| exception.message.as_deref());
        exception.or(self.message.as_deref())
    }

    /// The type of the exception; empty at another stop.
    pub fn exception_type(&self) -> &str {
        self.exception.as_ref().map_or("", |exception| &exception.exception_type)
    }

    /// The source of the place that is shown.
    pub fn file(&self) -> Option<&str> {
        self.frame.place.as_ref()?.file.as_deref()
    }

    /// The line of the place that is shown.
    pub fn line(&self) -> Option<i64> {
        self.frame.place.as_ref()?.line
    }

    /// Adds the exception at the stop.
    pub fn add_exception(&mut self, mut exception: StopException) {
        // The message of an exception replaces that of the stop.
        if self.message.is_some() && exception.message.is_some() {
            self.message = exception.message.take();
        }
        self.exception = Some(exception);
    }

    /// Adds the session's advice, which replaces that of the exception.
    pub fn add_hint(&mut self, hint: &str) {
        let exception = self.exception.as_mut().and_then(|exception| exception.hint.as_mut());
        match exception {
            Some(of_exception) => hint.clone_into(of_exception),
            None => self.hint = Some(hint.to_owned()),
        }
    }

    /// Removes the place of an exception that is the place of the stop.
    pub fn remove_repeated_place(&mut self) {
        let place = self.frame.place.clone().unwrap_or_default();
        if let Some(exception) = &mut self.exception {
            let is_here = |thrown: &ShownPlace| thrown.file == place.file && thrown.line == place.line;
            exception.thrown_at = exception.thrown_at.take().filter(|thrown| !is_here(thrown));
        }
    }
}

/// The end of a program.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExitEvent {
    /// The exit code of the program, or of the run of its tests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// The signal that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// What else ended with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<&'static str>,
    /// The session's advice about the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The outcome of its tests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<TestsOutcome>,
    /// The results of its tests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestsReport>,
    /// Why the run has no or not all results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<TestsError>,
    /// The errors of the build.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diagnostics: Option<FileDiagnostics>,
}

/// The outcome of a run of tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum TestsOutcome {
    /// At least one test failed.
    Failed,
    /// No test failed, and at least one passed.
    Passed,
    /// No test failed or passed.
    NotRun,
}

/// Why a run of tests has failed, apart from failed tests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum TestsError {
    /// The error in the answer of the run.
    Answered(AnswerError),
    /// The run has no answer.
    Failed(RunFailure),
}

/// Why a run has no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunFailure {
    code: &'static str,
    message: String,
    /// The remedy; `null` if there is none.
    hint: Option<String>,
}

impl From<Failure> for RunFailure {
    fn from(Failure { code, message, hint, .. }: Failure) -> Self {
        Self { code: code.as_str(), message, hint }
    }
}
