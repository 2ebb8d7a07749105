//! The program of a session: its phase, its stops, and what a client that joins later receives. Requests and
//! events are handled elsewhere.

use serde_json::Value;
use tandem_wire::types::StoppedEventBody;
use tandem_wire::{ErrorCode, Failure};

use crate::replay_state::ReplayState;

/// The phase of the session. It decides which requests are legal.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) enum Phase {
    /// No client has launched or attached.
    #[default]
    Idle,
    /// The engine builds, starts or attaches.
    Starting,
    Running,
    Stopped {
        /// The `stopped` event as clients got it.
        stop: StoppedEventBody,
    },
    /// The program has ended, or the engine has detached from it.
    Over {
        /// Body of the engine's `exited`; null if it did not report an exit code.
        exited: Value,
        /// Body of the engine's `terminated`.
        terminated: Value,
    },
}

/// The program, as the engine has reported it.
#[derive(Debug, Default)]
pub(super) struct SessionProgram {
    phase: Phase,
    stops: StopCounter,
    /// The reports that a client receives that joins later.
    pub(super) replay: ReplayState,
}

/// The stops of the program.
#[derive(Debug, Default)]
struct StopCounter {
    count: u64,
    resumed_by: Option<String>,
}

impl SessionProgram {
    pub(super) fn phase(&self) -> &Phase {
        &self.phase
    }

    /// The number of stops and resumes so far: a request at one stop is invalid at the next.
    pub(super) fn stop_count(&self) -> u64 {
        self.stops.count
    }

    /// The client that resumed the program last, named to a client that resumes too late.
    pub(super) fn resumed_by(&self) -> Option<&str> {
        self.stops.resumed_by.as_deref()
    }

    /// Records that the engine builds, starts or attaches.
    pub(super) fn start(&mut self) {
        self.phase = Phase::Starting;
    }

    /// Forgets a start that failed.
    pub(super) fn abandon_start(&mut self) {
        self.phase = Phase::Idle;
    }

    /// Records that the engine is attached: the program runs unless a stop was reported.
    pub(super) fn attach(&mut self) {
        if self.phase == Phase::Starting {
            self.phase = Phase::Running;
        }
    }

    /// Records a stop. The caller ends an earlier one with [`Self::resume`] first.
    pub(super) fn stop(&mut self, stop: StoppedEventBody) {
        self.phase = Phase::Stopped { stop };
    }

    /// Records that the program runs. `by`: the name of the client that resumed it.
    pub(super) fn resume(&mut self, by: Option<String>) {
        self.phase = Phase::Running;
        self.stops.resumed_by = by;
        self.stops.count += 1;
    }

    /// Records the engine's `exited`.
    pub(super) fn exit(&mut self, body: Value) {
        self.phase = Phase::Over { exited: body, terminated: Value::Null };
    }

    /// Records the engine's `terminated`; the first body is kept.
    pub(super) fn terminate(&mut self, body: Value) {
        match &mut self.phase {
            Phase::Over { terminated, .. } if terminated.is_null() => *terminated = body,
            Phase::Over { .. } => {}
            _ => self.phase = Phase::Over { exited: Value::Null, terminated: body },
        }
    }

    /// Whether a program exists and has not ended.
    pub(super) fn is_live(&self) -> bool {
        matches!(self.phase, Phase::Starting | Phase::Running | Phase::Stopped { .. })
    }

    pub(super) fn is_stopped(&self) -> bool {
        matches!(self.phase, Phase::Stopped { .. })
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over { .. })
    }

    pub(super) fn need_program(&self) -> Result<(), Failure> {
        match self.phase {
            Phase::Idle => Err(Failure::new(ErrorCode::NoSession, "there is no program in this session yet")
                .hint("send `launch` or `attach` first")),
            Phase::Over { .. } => Err(Failure::new(ErrorCode::NoSession, "the program has ended")
                .hint("its output can still be read; launch again to continue")
                .quiet()),
            _ => Ok(()),
        }
    }

    pub(super) fn need_stop(&self, command: &str) -> Result<(), Failure> {
        self.need_program()?;
        match self.phase {
            Phase::Stopped { .. } => Ok(()),
            _ => Err(Failure::new(
                ErrorCode::NotStopped,
                format!("`{command}` needs a stopped program; it runs"),
            )
            .hint("pause it, or wait for a breakpoint")
            .quiet()),
        }
    }
}
