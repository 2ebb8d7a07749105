//! State of the program's run: how it was resumed, what is to stop it, and the signal that asks it to end.
//! Not here: the handshake, and the end of the session ([`super`]).

use tandem_wire::command::Execution;
use tandem_wire::types::StoppedEventBody;

/// How the program was resumed, and whether a client wants it to stop. A stop ends both.
#[derive(Debug, Default)]
pub(super) struct ExecutionState {
    stepping: bool,
    pausing: bool,
    /// The last stop is our word, not the adapter's.
    unreported: bool,
    /// A stop was reported, and the program has not been resumed.
    stopped: bool,
    /// The program stopped when we connected, and has not been resumed; the adapter may report that again.
    at_connection: bool,
}

impl ExecutionState {
    /// The adapter is sent a request that does this.
    pub(super) fn request(&mut self, execution: Execution) {
        match execution {
            Execution::Step | Execution::Move => {
                (self.stepping, self.stopped, self.at_connection) = (true, false, false);
            }
            Execution::Continue => {
                (self.stepping, self.unreported) = (false, false);
                (self.stopped, self.at_connection) = (false, false);
            }
            Execution::Pause => self.pausing = true,
            Execution::Unchanged => {}
        }
    }

    /// The adapter says that the program is stopped; returns whether a client wants that. js-debug steps out
    /// of Node's own code after a pause, and calls that a step.
    pub(super) fn stop(&mut self, stop: &mut StoppedEventBody) -> bool {
        let before = std::mem::take(self);
        if before.pausing && !before.stepping && stop.reason == "step" {
            stop.reason = "pause".into();
        }
        before.pausing
    }

    /// The stop is reported, either by us alone or because the adapter reported it.
    pub(super) fn reported(&mut self, unreported: bool) {
        (self.unreported, self.stopped) = (unreported, true);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped
    }

    pub(super) fn is_stopped_unpaused(&self) -> bool {
        self.stopped && !self.pausing
    }

    pub(super) fn stopped_at_connection(&mut self) {
        self.at_connection = true;
    }

    pub(super) fn is_stopped_at_connection(&self) -> bool {
        self.at_connection
    }

    pub(super) fn is_stop_unreported(&self) -> bool {
        self.unreported
    }
}

/// The signal that asks the program to end, if the debugger delays it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum EndSignal {
    /// No signal was requested, or the program has received it.
    #[default]
    Usual,
    /// It is sent when the program runs and no thread is in the debugger; `tries` limits how often it waits.
    Owed { tries: u32 },
}

impl EndSignal {
    /// The resumed program has left the debugger, or stopped `again` before it could; returns whether
    /// to send the signal now.
    pub(super) fn take_due(&mut self, again: bool) -> bool {
        match self {
            Self::Owed { tries } if again && *tries > 1 => {
                *tries -= 1;
                false
            }
            Self::Owed { .. } => {
                *self = Self::Usual;
                true
            }
            Self::Usual => false,
        }
    }
}
