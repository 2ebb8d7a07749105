//! The answer of each tool that runs the program: its state, the event that ended the wait, new output, other
//! programs, and the session.
//!
//! Declares the form. Not here: what a stop says ([`super::stops`]), the wait ([`super::waiting`]).

use serde::Serialize;
use tandem_testing::answer::TestRunAnswer;

use super::session_summary::SessionSummary;
use crate::breakpoint_body::BreakpointBody;
use crate::new_output::NewOutput;
use crate::program_event::{ExitEvent, StopEvent, StopKind, TestsOutcome};
use crate::repeat::RunOutcome;
use crate::session::AgentSession;
use crate::snapshot::ProgramState;

/// The answer of a tool that runs the program.
#[derive(Debug, Default, Serialize)]
pub(super) struct RunAnswer {
    /// The most important message of the answer, before all else.
    #[serde(rename = "message", skip_serializing_if = "Option::is_none")]
    pub(super) lead: Option<String>,
    /// The answer of the test framework, if no process of the run can be debugged.
    #[serde(flatten)]
    unstarted: Option<Box<TestRunAnswer>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) state: Option<ProgramState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) event: Option<RunEvent>,
    #[serde(flatten)]
    pub(super) wait: Option<UnfinishedWait>,
    /// New output, where no event has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) output: Option<NewOutput>,
    #[serde(flatten)]
    pub(super) related: RelatedPrograms,
    #[serde(flatten)]
    pub(super) runs: RunCounts,
    #[serde(flatten)]
    session: Option<SessionDetails>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(flatten)]
    pub(super) launch: LaunchDetails,
}

/// The event that ended a wait.
#[derive(Debug, Serialize)]
pub(super) struct RunEvent {
    #[serde(flatten)]
    pub(super) details: EventDetails,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) output: Option<NewOutput>,
    /// The program, if there are several.
    #[serde(flatten)]
    pub(super) program: Option<EventProgram>,
    /// The agent has not seen this stop before, and nothing was run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) unseen: bool,
    /// The lines of the steps before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) walked: Vec<String>,
}

/// The kind of an event, and its fields.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum EventDetails {
    Stop(Box<StopEvent>),
    Other(OtherEvent),
}

/// An event that is not a stop.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub(super) enum OtherEvent {
    Exited(Box<ExitEvent>),
    /// The program has printed what the call waits for.
    Output {
        matched: String,
    },
    /// The program has printed where it listens.
    Listening {
        urls: Vec<String>,
    },
    WaitingForInput {
        /// The text on the terminal, if the program reads single keys.
        #[serde(skip_serializing_if = "Option::is_none")]
        screen: Option<String>,
    },
}

/// The program of an event.
#[derive(Debug, Serialize)]
pub(super) struct EventProgram {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) program: Option<String>,
    /// Its process, where the event itself does not name one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pid: Option<i64>,
}

/// A wait that has ended before anything happened.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UnfinishedWait {
    pending: bool,
    /// The program still waits for input, which was reported before.
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting_for_input: Option<&'static str>,
    /// Why it lasts, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

/// Other programs with the same root session.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RelatedPrograms {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) also_stopped: Vec<StoppedProgram>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) started_programs: Vec<ReportedChild>,
    /// Programs that were started and are not listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) started_more: Option<usize>,
}

/// Another program that is stopped.
#[derive(Debug, Default, Serialize)]
pub(super) struct StoppedProgram {
    pub(super) session: String,
    pub(super) program: String,
    pub(super) reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pid: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<i64>,
}

/// A program that was started: with the session that debugs it, or with its process.
#[derive(Debug, Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub(super) enum ReportedChild {
    Session { program: Option<String>, session: String },
    Process { program: Option<String>, process_id: Option<i64>, debugged: bool },
}

/// The number of runs of a repeated launch.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunCounts {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) runs: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) failed_runs: Option<u64>,
}

/// The session of an answer, its process and the breakpoints in it.
#[derive(Debug, Serialize)]
struct SessionDetails {
    session: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<i64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    breakpoints: Vec<BreakpointBody>,
}

/// The fields that only a launch answers.
#[derive(Debug, Default, Serialize)]
pub(super) struct LaunchDetails {
    /// Other programs of this agent that still run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) others: Vec<SessionSummary>,
    /// The addresses at which a server listens.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) urls: Vec<String>,
    /// How a program was started again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) how: Option<&'static str>,
}

impl UnfinishedWait {
    /// A wait that lasts for this reason.
    pub(super) fn because(message: Option<String>) -> Self {
        Self { pending: true, waiting_for_input: None, message }
    }

    /// The same while the program waits for input, which was reported before.
    pub(super) fn for_input(self) -> Self {
        let how = "reported before: write it with process_write_input; debug_wait keeps waiting";
        Self { waiting_for_input: Some(how), ..self }
    }
}

impl RunEvent {
    /// An event with the output up to it.
    pub(super) fn new(details: EventDetails, output: NewOutput) -> Self {
        Self { details, output: output.some(), program: None, unseen: false, walked: Vec::new() }
    }

    /// The stop, if it is one.
    pub(super) fn stop(&self) -> Option<&StopEvent> {
        match &self.details {
            EventDetails::Stop(stop) => Some(stop),
            EventDetails::Other(_) => None,
        }
    }

    /// The stop, to be changed.
    pub(super) fn stop_mut(&mut self) -> Option<&mut StopEvent> {
        match &mut self.details {
            EventDetails::Stop(stop) => Some(stop),
            EventDetails::Other(_) => None,
        }
    }

    /// The end of the program, if it is that.
    pub(super) fn exit(&self) -> Option<&ExitEvent> {
        match &self.details {
            EventDetails::Other(OtherEvent::Exited(exit)) => Some(exit),
            _ => None,
        }
    }

    /// Names the session, the program and the process.
    pub(super) fn name_program(&mut self, session: &AgentSession) {
        // A forked process that shares the session has been named already.
        let is_named = self.stop().is_some_and(|stop| stop.process.pid.is_some());
        self.program = Some(EventProgram {
            session: Some(session.id.clone()),
            program: Some(session.relation.title.clone()),
            pid: session.snapshot().process_id().filter(|_| !is_named),
        });
    }
}

impl RunAnswer {
    /// The state without an event.
    pub(super) fn new(state: ProgramState) -> Self {
        Self { state: Some(state), ..Self::default() }
    }

    /// An event of a program in this state.
    pub(super) fn with_event(state: ProgramState, event: RunEvent) -> Self {
        Self { state: Some(state), event: Some(event), ..Self::default() }
    }

    /// A wait that has ended before anything happened.
    pub(super) fn pending(state: ProgramState, wait: UnfinishedWait) -> Self {
        Self { state: Some(state), wait: Some(wait), ..Self::default() }
    }

    /// The answer of a test framework, if no process of the run can be debugged.
    pub(super) fn unstarted(answer: Box<TestRunAnswer>) -> Self {
        Self { unstarted: Some(answer), ..Self::default() }
    }

    /// The stop, if the program is stopped.
    pub(super) fn stop(&self) -> Option<&StopEvent> {
        self.event.as_ref()?.stop()
    }

    /// The end of the program, if it has ended.
    pub(super) fn exit(&self) -> Option<&ExitEvent> {
        self.event.as_ref()?.exit()
    }

    /// Whether the wait has ended before anything happened.
    pub(super) fn is_pending(&self) -> bool {
        self.wait.is_some()
    }

    /// Whether the answer has a message.
    pub(super) fn has_message(&self) -> bool {
        let of_wait = self.wait.as_ref().and_then(|wait| wait.message.as_ref());
        self.lead.is_some() || of_wait.is_some() || self.message.is_some()
    }

    /// Puts a message first. A message that the answer has follows it.
    pub(super) fn with_lead(mut self, message: &str) -> Self {
        let of_wait = self.wait.as_mut().and_then(|wait| wait.message.take());
        let known = self.lead.take().or(of_wait).or_else(|| self.message.take());
        let lead = known.map_or_else(|| message.to_owned(), |known| format!("{message}; {known}"));
        Self { lead: Some(lead), ..self }
    }

    /// Sets the message. It replaces one that the answer has.
    pub(super) fn set_message(&mut self, message: String) {
        let of_wait = self.wait.as_mut().and_then(|wait| wait.message.as_mut());
        match self.lead.as_mut().or(of_wait) {
            Some(known) => *known = message,
            None => self.message = Some(message),
        }
    }

    /// Adds which session it is, its process and the breakpoints in it.
    pub(super) fn describe_session(&mut self, session: &AgentSession) {
        // Those of a program hold in every program that it starts.
        let mut breakpoints = session.root().with_requested(|requested| requested.bodies());
        breakpoints.iter_mut().for_each(|one| session.name_files(one));
        let pid = session.snapshot().process_id();
        self.session = Some(SessionDetails { session: session.id.clone(), pid, breakpoints });
    }

    /// The outcome of the run so far.
    pub(super) fn outcome(&self) -> RunOutcome {
        match self.state {
            Some(ProgramState::Stopped)
                if self.stop().is_some_and(|stop| stop.kind == StopKind::Exception) =>
            {
                RunOutcome::Failed
            }
            Some(ProgramState::Stopped) => RunOutcome::Stopped,
            Some(ProgramState::Exited) => {
                let exit = self.exit();
                match (exit.and_then(|exit| exit.outcome), exit.and_then(|exit| exit.exit_code)) {
                    (Some(TestsOutcome::Passed), _) | (None, Some(0)) => RunOutcome::Passed,
                    _ => RunOutcome::Failed,
                }
            }
            Some(ProgramState::Running | ProgramState::Idle) | None => RunOutcome::Runs,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tandem_wire::types;

    use super::*;
    use crate::program_event::{HitBreakpoint, StopException};

    fn exited(exit_code: Option<i64>, outcome: Option<TestsOutcome>) -> RunAnswer {
        let exit = Box::new(ExitEvent { exit_code, outcome, ..ExitEvent::default() });
        let event = RunEvent::new(EventDetails::Other(OtherEvent::Exited(exit)), NewOutput::default());
        RunAnswer::with_event(ProgramState::Exited, event)
    }

    fn stopped(stop: StopEvent) -> RunAnswer {
        let event = RunEvent::new(EventDetails::Stop(Box::new(stop)), NewOutput::default());
        RunAnswer::with_event(ProgramState::Stopped, event)
    }

    #[test]
    fn a_run_has_passed_when_its_tests_have_or_its_exit_code_is_0() {
        let (passed, failed) = (RunOutcome::Passed, RunOutcome::Failed);
        for (exit_code, outcome, expected) in [
            (Some(0), None, passed),
            (Some(3), None, failed),
            (None, None, failed),
            (Some(0), Some(TestsOutcome::Failed), failed),
            (Some(0), Some(TestsOutcome::NotRun), failed),
            (Some(2), Some(TestsOutcome::Passed), passed),
        ] {
            assert_eq!(exited(exit_code, outcome).outcome(), expected, "{exit_code:?} {outcome:?}");
        }
        let stop = |kind| stopped(StopEvent { kind, ..StopEvent::default() }).outcome();
        assert_eq!((stop(StopKind::Exception), stop(StopKind::BreakpointHit)), (failed, RunOutcome::Stopped));
        let pending = RunAnswer::pending(ProgramState::Running, UnfinishedWait::because(None));
        assert_eq!(pending.outcome(), RunOutcome::Runs);
    }

    #[test]
    fn fields_are_where_agents_read_them() {
        let stop = StopEvent {
            kind: StopKind::Exception,
            reason: "exception".into(),
            thread_id: Some(None),
            breakpoint: Some(HitBreakpoint::Own { breakpoint_id: 2 }),
            exception: Some(StopException { exception_type: "E".into(), ..StopException::default() }),
            ..StopEvent::default()
        };
        let answer = stopped(stop).with_lead("look");
        let expected = r#"{"message":"look","state":"stopped","event":{"type":"exception","#.to_owned()
            + r#""reason":"exception","threadId":null,"breakpointId":2,"exceptionType":"E"}}"#;
        assert_eq!(serde_json::to_string(&answer).unwrap(), expected);
        let expected = json!({ "state": "exited", "event": { "type": "exited", "exitCode": 3 } });
        assert_eq!(types::body(&exited(Some(3), None)), expected);
        let mut waits = RunAnswer::pending(
            ProgramState::Running,
            UnfinishedWait::because(Some("the step waits".into())).for_input(),
        );
        waits = waits.with_lead("it continues");
        let text = serde_json::to_string(&waits).unwrap();
        assert!(
            text.starts_with(
                r#"{"message":"it continues; the step waits","state":"running","pending":true,"#
            ),
            "{text}"
        );
        waits.set_message("other".into());
        assert!(serde_json::to_string(&waits).unwrap().starts_with(r#"{"message":"other","state""#));
    }
}
