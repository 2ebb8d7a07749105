//! Stages of a process that the program has started, from its fork until a debugger is attached to its
//! runtime.
//!
//! Not here: what leads from one to the next ([`super::follower`]).

use std::time::{Duration, Instant};

use cordebug::startup::StartupHold;

use super::identity::Identity;

/// How long a runtime that has found the semaphores may take until it is held.
const HOLD_DELAY: Duration = Duration::from_millis(50);

/// How far the follower is with a process that the program has started.
pub(super) enum ProcessStage {
    /// It is a copy of the process that forked it.
    Copy,
    /// A runtime will be held if it starts one.
    Ready(StartingProcess),
    /// The semaphores were removed; a runtime that has found them before may still be held, until then.
    Withdrawn { hold: StartupHold, until: Instant },
    /// It is debugged in a child session. The hold, until that session has attached.
    Followed { hold: Option<StartupHold>, name: String },
    /// It was held, and the watchdog releases it.
    Released { _hold: StartupHold },
    /// It is not debugged; its child processes may be.
    NotDebugged,
}

/// A process whose runtime will be held.
pub(super) struct StartingProcess {
    pub(super) hold: StartupHold,
    /// The process's identity, and since when it has it.
    pub(super) identity: Identity,
    pub(super) since: Instant,
    /// When it is too late, for a runtime that had started already.
    pub(super) late: Option<Instant>,
    /// It has had enough time to start one.
    pub(super) silent: bool,
}

impl ProcessStage {
    /// Stops holding runtimes in the process, unless one has just found the semaphores.
    pub(super) fn withdraw(hold: StartupHold) -> Self {
        hold.withdraw();
        Self::Withdrawn { hold, until: Instant::now() + HOLD_DELAY }
    }

    /// Whether the process is debugged, or soon may be.
    pub(super) fn is_followed(&self) -> bool {
        match self {
            Self::Followed { .. } | Self::Copy => true,
            Self::Ready(ready) => matches!(ready.identity, Identity::Dotnet(_)) && !ready.silent,
            Self::Withdrawn { .. } | Self::Released { .. } | Self::NotDebugged => false,
        }
    }
}

impl StartingProcess {
    /// A process that has just become this one.
    pub(super) fn new(hold: StartupHold, identity: Identity) -> Self {
        Self { hold, identity, since: Instant::now(), late: None, silent: false }
    }
}
