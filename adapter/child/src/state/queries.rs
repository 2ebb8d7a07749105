//! Queries of the session to its state, mostly while it waits. They change nothing; [`super`] handles events.

use tandem_wire::Failure;
use tandem_wire::types::StoppedEventBody;

use super::super::debuggee::DebuggeeProcess;
use super::{
    ChildState, ConnectionState, DebuggeeState, EndKind, EndProgress, Handshake, LaunchReply, NO_CODE,
};

impl ChildState {
    pub(in super::super) fn is_launch_sent(&self) -> bool {
        self.handshake >= Handshake::LaunchSent
    }

    pub(in super::super) fn is_initialized(&self) -> bool {
        self.handshake >= Handshake::Initialized
    }

    pub(in super::super) fn is_configured(&self) -> bool {
        self.handshake >= Handshake::Configured
    }

    /// `launch` or `attach` was answered with success: until then its response reports errors.
    pub(in super::super) fn is_launched(&self) -> bool {
        matches!(self.launch, LaunchReply::Succeeded)
    }

    /// The adapter's output before it answered the launch.
    pub(in super::super) fn printed(&self) -> &str {
        match &self.launch {
            LaunchReply::Pending { printed } => printed,
            LaunchReply::Succeeded => "",
        }
    }

    /// Why the program does not start.
    pub(in super::super) fn refusal(&self) -> Option<&Failure> {
        self.refusal.as_ref()
    }

    pub(in super::super) fn is_process_reported(&self) -> bool {
        matches!(self.program, DebuggeeState::Reported | DebuggeeState::Ended)
    }

    /// Whether the program was seen to end; only of one that the adapter starts through our stub.
    pub(in super::super) fn is_gone(&self) -> bool {
        matches!(self.program, DebuggeeState::EndedUnseen | DebuggeeState::Ended)
    }

    pub(in super::super) fn stops(&self) -> u64 {
        self.stops
    }

    /// Whether no stop was reported since the program was resumed.
    pub(in super::super) fn is_running(&self) -> bool {
        !self.execution_state.is_stopped() && !self.is_over()
    }

    /// Whether an unrequested pause only repeats a reported stop.
    pub(in super::super) fn has_reported(&self, stop: &StoppedEventBody) -> bool {
        stop.reason == "pause" && self.execution_state.is_stopped_unpaused()
    }

    /// Whether the program stopped when we connected, and has not been resumed.
    pub(in super::super) fn is_stopped_at_connection(&self) -> bool {
        self.execution_state.is_stopped_at_connection()
    }

    /// Whether the adapter has not said that the program is stopped, so that it may not
    /// answer a `continue` either.
    pub(in super::super) fn is_stop_unreported(&self) -> bool {
        self.execution_state.is_stop_unreported()
    }

    /// The exit code that the adapter reported.
    pub(in super::super) fn exit_code(&self) -> Option<i64> {
        self.end_reports.exit_code
    }

    /// The program's exit code, 128 plus the number for a signal: the kernel's word, else the
    /// adapter's. An adapter may lose a code and say a wrong one. The kernel's is lost only if another
    /// caller has reaped our child.
    pub(in super::super) fn known_code(&self) -> Option<i64> {
        let reported_code = match self.exit_code() {
            // Delve has the signal as a negative code, and `NO_CODE` for any signal when it only runs the
            // program.
            Some(signal @ ..NO_CODE) => Some(128 - signal),
            code => code,
        };
        self.end_reports
            .kernel_code
            .filter(|code| *code != NO_CODE)
            .or(reported_code)
            .or(self.end_reports.kernel_code)
    }

    /// The signal that ended the program, where it is known: an exit code alone does not tell it from a
    /// program that exits with 128 plus the number.
    pub(in super::super) fn end_signal(&self) -> Option<i32> {
        let told = match (self.end_reports.kernel_code, self.exit_code()) {
            (None | Some(NO_CODE), Some(signal @ ..NO_CODE)) => i32::try_from(-signal).ok(),
            _ => None,
        };
        self.end_reports.signal.or(told)
    }

    /// Whether the kernel reported an exit code, which may be lost.
    pub(in super::super) fn has_kernel_code(&self) -> bool {
        self.end_reports.kernel_code.is_some()
    }

    /// Whether the adapter has reported the program's end, or the end was observed otherwise.
    pub(in super::super) fn is_end_reported(&self) -> bool {
        self.is_terminated() || self.exit_code().is_some() || self.is_gone() || self.is_ending()
    }

    pub(in super::super) fn is_terminated(&self) -> bool {
        self.end_reports.terminated.is_some()
    }

    /// Whether the adapter has detached from the program on request, or has hung up.
    pub(in super::super) fn is_disconnected(&self) -> bool {
        self.end_reports.connection >= ConnectionState::Disconnected
    }

    pub(in super::super) fn has_hung_up(&self) -> bool {
        self.end_reports.connection == ConnectionState::HungUp
    }

    /// Whether the adapter hung up without a report of the program's end.
    pub(in super::super) fn hung_up_without_a_word(&self) -> bool {
        self.has_hung_up() && !self.is_terminated() && self.exit_code().is_none()
    }

    /// Whether the debugger of the program has ended, or reports that nothing is left to debug.
    pub(in super::super) fn is_debugging_over(&self) -> bool {
        self.has_hung_up() || self.is_terminated()
    }

    /// Whether the program reported that it executes another one.
    pub(in super::super) fn is_replaced(&self) -> bool {
        self.end_reports.replaced
    }

    /// Processes with separate sessions that the program has started.
    pub(in super::super) fn subprocesses(&self) -> &[DebuggeeProcess] {
        &self.subprocesses
    }

    /// How the end is explained; `may_hang_up`: this adapter ends without a word.
    pub(in super::super) fn end_kind(&self, may_hang_up: bool) -> EndKind {
        match self.known_code() {
            Some(_) => EndKind::ExitCode,
            None if self.hung_up_without_a_word() && !may_hang_up => EndKind::AdapterBroke,
            None => EndKind::NoExitCode,
        }
    }

    /// Whether a task ends the session, or has ended it.
    pub(in super::super) fn is_ending(&self) -> bool {
        self.phase >= EndProgress::Ending
    }

    pub(in super::super) fn is_over(&self) -> bool {
        self.phase == EndProgress::Over
    }
}
