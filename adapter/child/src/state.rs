//! The decisions of a session with an adapter: `ChildState::handle(ChildEvent) -> Vec<ChildEffect>`. No I/O,
//! no clock, no async, so that each order in which the adapter, the kernel and the hub report things can be
//! written down as a test.
//!
//! In reading order: [`event`] and [`effect`], this file, and the parts of the state. Not here: carrying out
//! the effects, and waiting until the state is as needed (the session).

mod conditions;
mod effect;
mod event;
mod execution_state;
mod knowledge;
mod lower_frames;
mod panics;
mod queries;
mod reverse;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};
use tandem_wire::Failure;
use tandem_wire::types::{self, StoppedEventBody};

use super::connection::MAX_STDERR_TAIL_LEN;
use super::debuggee::DebuggeeProcess;
pub(super) use effect::ChildEffect;
pub(super) use event::ChildEvent;
use execution_state::{EndSignal, ExecutionState};
pub(super) use knowledge::{Correction, Knowledge};
use reverse::AdapterRequests;
pub(super) use reverse::Link;
use tandem_engine::FailedCondition;
use tandem_process::exit::signal_name;

/// How often the signal that asks the program to end waits for the program to run, if it
/// stops again and again.
const MAX_TRIES: u32 = 20;

/// Replaces an exit code that is not known: a program's own is never negative.
const NO_CODE: i64 = -1;

/// How far the handshake is. It only moves forward: the hub does not configure before it gets `initialized`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Handshake {
    /// The adapter has started, and reports its capabilities.
    #[default]
    Connecting,
    LaunchSent,
    /// `initialized` was passed to the hub.
    Initialized,
    Configured,
}

/// The answer to `launch` or `attach`, which may come at any point of the handshake from
/// [`Handshake::LaunchSent`] on.
#[derive(Debug)]
enum LaunchReply {
    /// There is none yet. The adapter's output until then may contain the only reason of a refusal.
    Pending {
        printed: String,
    },
    Succeeded,
}

/// The observed state of the program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum DebuggeeState {
    #[default]
    Unknown,
    /// The process was reported to the hub.
    Reported,
    /// It has ended, and no process was reported.
    EndedUnseen,
    /// It has ended after its process was reported.
    Ended,
}

/// Whether the session continues. It only moves forward.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum EndProgress {
    #[default]
    Open,
    /// A task ends the session.
    Ending,
    /// Nothing more is reported.
    Over,
}

/// The connection to the adapter. It only moves forward.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum ConnectionState {
    #[default]
    Open,
    /// The adapter answered `disconnect`, which it gets once: debugpy's ends, with all its
    /// sessions, at a second one.
    Disconnected,
    HungUp,
}

/// Reports about the end of the program: the adapter's, the kernel's, and those of the debugger in it.
#[derive(Debug, Default)]
struct EndReports {
    /// The exit code that the kernel reported.
    kernel_code: Option<i64>,
    /// The program has executed another one, according to the debugger in it.
    replaced: bool,
    exit_code: Option<i64>,
    signal: Option<i32>,
    /// The first body of `exited`: some adapters send it twice, the second time with less.
    exited: Value,
    /// The first body of `terminated`, which may be empty.
    terminated: Option<Value>,
    connection: ConnectionState,
}

/// How the end is explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EndKind {
    /// The adapter ended before it or the kernel reported the program's end.
    AdapterBroke,
    /// Some adapters report the exit code only after `disconnect`.
    NoExitCode,
    ExitCode,
}

/// The state of one session.
#[derive(Debug)]
pub(super) struct ChildState {
    handshake: Handshake,
    launch: LaunchReply,
    /// Why the adapter cannot start the program that it was configured for.
    refusal: Option<Failure>,
    program: DebuggeeState,
    /// How often the program was seen to stop.
    stops: u64,
    execution_state: ExecutionState,
    end_signal: EndSignal,
    reverse_requests: AdapterRequests,
    end_reports: EndReports,
    phase: EndProgress,
    /// Processes with separate sessions that the program has started.
    subprocesses: Vec<DebuggeeProcess>,
    pub(super) knowledge: Knowledge,
}

impl Default for ChildState {
    fn default() -> Self {
        Self {
            handshake: Handshake::default(),
            launch: LaunchReply::Pending { printed: String::new() },
            refusal: None,
            program: DebuggeeState::default(),
            stops: 0,
            execution_state: ExecutionState::default(),
            end_signal: EndSignal::default(),
            reverse_requests: AdapterRequests::default(),
            end_reports: EndReports::default(),
            phase: EndProgress::default(),
            subprocesses: Vec::new(),
            knowledge: Knowledge::default(),
        }
    }
}

impl ChildState {
    /// Takes one event; returns what to do about it, in order.
    pub(super) fn handle(&mut self, event: ChildEvent) -> Vec<ChildEffect> {
        match event {
            ChildEvent::LaunchSent => self.advance(Handshake::LaunchSent, None),
            ChildEvent::Initialized => self.advance(Handshake::Initialized, Some("initialized")),
            ChildEvent::Configured => self.advance(Handshake::Configured, None),
            ChildEvent::Launched => {
                self.launch = LaunchReply::Succeeded;
                Vec::new()
            }
            ChildEvent::Refused(failure) => {
                self.refusal.get_or_insert(failure);
                Vec::new()
            }
            ChildEvent::Printed(text) => self.remember(&text),
            ChildEvent::Process(body) => {
                self.program = match self.program {
                    DebuggeeState::Unknown | DebuggeeState::Reported => DebuggeeState::Reported,
                    DebuggeeState::EndedUnseen | DebuggeeState::Ended => DebuggeeState::Ended,
                };
                self.report("process", body)
            }
            ChildEvent::ProgramGone => {
                self.program = match self.program {
                    DebuggeeState::Unknown | DebuggeeState::EndedUnseen => DebuggeeState::EndedUnseen,
                    DebuggeeState::Reported | DebuggeeState::Ended => DebuggeeState::Ended,
                };
                Vec::new()
            }
            ChildEvent::RequestSent(execution) => {
                self.execution_state.request(execution);
                Vec::new()
            }
            ChildEvent::Resumed => match self.end_signal {
                EndSignal::Owed { .. } => vec![ChildEffect::AwaitOutside { stops: self.stops }],
                EndSignal::Usual => Vec::new(),
            },
            ChildEvent::StoppedAtConnection => {
                self.execution_state.stopped_at_connection();
                Vec::new()
            }
            ChildEvent::StopReported(_) if self.execution_state.is_stopped_at_connection() => Vec::new(),
            ChildEvent::StopReported(mut stop) => {
                let paused = self.execution_state.stop(&mut stop);
                vec![ChildEffect::Examine { stop, paused }]
            }
            ChildEvent::Stopped { stop, failed } => self.stopped(stop, failed, false),
            ChildEvent::FoundStopped { before, stop } if self.stops == before => {
                self.stopped(stop, None, true)
            }
            // Meanwhile it has stopped by itself.
            ChildEvent::FoundStopped { .. } => Vec::new(),
            ChildEvent::SignalOwed => {
                self.end_signal = EndSignal::Owed { tries: MAX_TRIES };
                Vec::new()
            }
            ChildEvent::LeftDebugger { again } if self.end_signal.take_due(again) => {
                vec![ChildEffect::SignalProgram]
            }
            ChildEvent::LeftDebugger { .. } => Vec::new(),
            ChildEvent::SubprocessStarted { process, ended } => {
                self.subprocesses.retain(|known| !ended.contains(known));
                self.subprocesses.push(process);
                Vec::new()
            }
            ChildEvent::SubprocessesEnd => match std::mem::take(&mut self.subprocesses) {
                none if none.is_empty() => Vec::new(),
                all => vec![ChildEffect::KillSubprocesses(all)],
            },
            ChildEvent::WantsTerminal { link, request, external } => {
                let (command, mut arguments) = (request.command.clone(), request.arguments.clone());
                if external {
                    types::set(&mut arguments, "kind", "external");
                }
                vec![ChildEffect::AskClient {
                    id: self.reverse_requests.add(link, request),
                    command,
                    arguments,
                }]
            }
            ChildEvent::ClientAnswered { id, result } => {
                let open = self.reverse_requests.take(id);
                open.map(|(link, request)| ChildEffect::Respond { link, request, result })
                    .into_iter()
                    .collect()
            }
            ChildEvent::ExitCode(code) => {
                self.end_reports.exit_code = Some(code);
                Vec::new()
            }
            ChildEvent::Exited(body) => {
                self.end_reports.exit_code = Some(body["exitCode"].as_i64().unwrap_or(0));
                if self.end_reports.exited.is_null() {
                    self.end_reports.exited = body;
                }
                self.begin_end()
            }
            ChildEvent::Replaced => {
                self.end_reports.replaced = true;
                Vec::new()
            }
            ChildEvent::Terminated(body) => {
                let known = self.end_reports.terminated.get_or_insert_default();
                if known.is_null() {
                    *known = body;
                }
                self.begin_end()
            }
            ChildEvent::KernelCode(code) => {
                self.end_reports.kernel_code = Some(code);
                Vec::new()
            }
            ChildEvent::EndedBySignal(signal) => {
                self.end_reports.signal = Some(signal);
                Vec::new()
            }
            ChildEvent::Disconnected => {
                self.end_reports.connection = self.end_reports.connection.max(ConnectionState::Disconnected);
                Vec::new()
            }
            ChildEvent::HungUp => {
                self.end_reports.connection = ConnectionState::HungUp;
                self.begin_end()
            }
            ChildEvent::EndNoticed => self.begin_end(),
            // The answer to the launch says so, and the same client may launch again. After the end, the hub
            // has its report, or has ended the session itself.
            ChildEvent::AdapterBroke(_) if !self.is_launched() || self.is_over() => Vec::new(),
            ChildEvent::AdapterBroke(failure) => {
                self.phase = EndProgress::Over;
                vec![ChildEffect::Died(failure)]
            }
            ChildEvent::EndKnown(code) => self.report_end(code),
            ChildEvent::Released => {
                self.phase = EndProgress::Over;
                Vec::new()
            }
            ChildEvent::Report { event, body } => self.report(&event, body),
        }
    }

    /// Moves the handshake forward; reports that the first time.
    fn advance(&mut self, to: Handshake, event: Option<&str>) -> Vec<ChildEffect> {
        if self.handshake >= to {
            return Vec::new();
        }
        self.handshake = to;
        event.map(|event| self.report(event, Value::Null)).unwrap_or_default()
    }

    fn remember(&mut self, text: &str) -> Vec<ChildEffect> {
        if let LaunchReply::Pending { printed } = &mut self.launch
            && printed.len() < MAX_STDERR_TAIL_LEN
        {
            printed.extend(text.chars().take(MAX_STDERR_TAIL_LEN));
        }
        Vec::new()
    }

    fn stopped(
        &mut self,
        stop: StoppedEventBody,
        failed: Option<FailedCondition>,
        unreported: bool,
    ) -> Vec<ChildEffect> {
        self.stops += 1;
        self.execution_state.reported(unreported);
        match failed {
            Some(failure) if self.phase != EndProgress::Over => {
                vec![ChildEffect::ReportFailedCondition { stop, failure }]
            }
            _ => self.report("stopped", types::body(&stop)),
        }
    }

    fn begin_end(&mut self) -> Vec<ChildEffect> {
        if self.phase != EndProgress::Open {
            return Vec::new();
        }
        self.phase = EndProgress::Ending;
        vec![ChildEffect::EndSession]
    }

    /// Reports `exited` and `terminated` once, however often the adapter sent them.
    fn report_end(&mut self, code: Option<i64>) -> Vec<ChildEffect> {
        let mut effects = Vec::new();
        if let Some(code) = code {
            let mut exited = std::mem::take(&mut self.end_reports.exited);
            match exited.as_object_mut() {
                Some(body) => drop(body.insert("exitCode".into(), code.into())),
                None => exited = json!({ "exitCode": code }),
            }
            if let Some(signal) = self.end_signal() {
                exited["signal"] = json!(signal_name(signal));
            }
            effects.extend(self.report("exited", exited));
        }
        let terminated = self.end_reports.terminated.clone().unwrap_or_default();
        effects.extend(self.report("terminated", terminated));
        self.phase = EndProgress::Over;
        effects
    }

    fn report(&self, event: &str, body: Value) -> Vec<ChildEffect> {
        match self.phase {
            EndProgress::Over => Vec::new(),
            EndProgress::Open | EndProgress::Ending => {
                vec![ChildEffect::SendEvent { event: event.into(), body }]
            }
        }
    }
}
