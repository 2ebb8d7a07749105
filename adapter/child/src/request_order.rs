//! The order of requests. Each request runs in its own task, and a client may send the next one without
//! waiting for the answer: a request takes its turn on arrival, and begins when the earlier requests have
//! made the progress that it needs. Several messages to an adapter may be one request of a client; an adapter
//! keeps the order of messages itself.
//!
//! Not here: `configurationDone` and two lists of breakpoints for one source, whose order the hub keeps.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tandem_wire::Failure;
use tandem_wire::command::{ChangedState, Execution, RequiredState, find};
use tokio_util::sync::CancellationToken;

/// How long a pause may wait until the adapter has the request to resume before it. That one may wait for an
/// assignment that the pause is to interrupt.
const MAX_PAUSE_DELAY: Duration = Duration::from_millis(500);

/// The effect of a request, as far as the order depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Replaces a list of them.
    Breakpoints,
    /// Assigns to variables or memory.
    Assignment,
    /// Evaluates an expression, which may have effects.
    Evaluation,
    /// Reads what the program's stop shows, or is a request that only this adapter has.
    Read,
    /// Resumes or moves the program.
    Resume,
    /// Stops a running program.
    Pause,
    /// Depends on no other: it ends the program, or reads what no request changes.
    Independent,
}

/// How far an earlier request must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// The adapter has the message that carries it out.
    Sent,
    /// The client has its answer.
    Done,
}

impl Role {
    fn of(command: &str) -> Self {
        let Some(row) = find(command) else { return Self::Read };
        match (row.execution, row.changes) {
            (Execution::Pause, _) => Self::Pause,
            (Execution::Continue | Execution::Step | Execution::Move, _) => Self::Resume,
            (_, ChangedState::Breakpoints) => Self::Breakpoints,
            (_, ChangedState::Value(_) | ChangedState::Memory) => Self::Assignment,
            (_, ChangedState::Evaluation) => Self::Evaluation,
            _ if row.needs == RequiredState::Stop => Self::Read,
            _ if matches!(command, "readMemory" | "disassemble") => Self::Read,
            _ => Self::Independent,
        }
    }

    /// How far a request must be before a later one with the role `later` may begin. An assignment and a list
    /// of breakpoints may take several messages; what others mean is in one.
    fn before(self, later: Self) -> Option<Progress> {
        use Role::{Assignment, Breakpoints, Evaluation, Independent, Pause, Read, Resume};
        match (self, later) {
            (Independent, _) | (_, Independent) => None,
            (Resume, Pause) | (Pause, Resume) => Some(Progress::Sent),
            // It interrupts whatever else there is.
            (_, Pause) | (Pause, _) => None,
            (Breakpoints, Breakpoints | Resume) => Some(Progress::Done),
            (Resume, Breakpoints) => Some(Progress::Sent),
            (Breakpoints, _) | (_, Breakpoints) | (Read, Read) => None,
            (Assignment, _) => Some(Progress::Done),
            (Evaluation | Read | Resume, _) => Some(Progress::Sent),
        }
    }
}

/// A request that has no answer yet.
#[derive(Debug)]
struct Earlier {
    role: Role,
    /// How often the program had stopped when it came.
    stops: u64,
    sent: CancellationToken,
    done: CancellationToken,
}

/// The requests of a session that have no answer, in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct RequestOrder(Mutex<Vec<Earlier>>);

/// The place of a request in the order. The request is done when it is dropped.
#[derive(Debug)]
pub(crate) struct RequestTurn {
    role: Role,
    waits_for: Vec<CancellationToken>,
    sent: CancellationToken,
    done: CancellationToken,
}

tokio::task_local! {
    /// The request that a task carries out.
    static CURRENT: (Role, CancellationToken);
}

impl RequestOrder {
    /// The turn of a request that comes now; `stops` is how often the program has stopped.
    pub(crate) fn take_turn(&self, command: &str, stops: u64) -> RequestTurn {
        let role = Role::of(command);
        let (sent, done) = (CancellationToken::new(), CancellationToken::new());
        let mut earlier = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The program has stopped in it: it ends only after others resume the program.
        earlier.retain(|one| !one.done.is_cancelled() && one.stops == stops);
        let waits_for = earlier.iter().filter_map(|one| match one.role.before(role)? {
            Progress::Sent => Some(one.sent.clone()),
            Progress::Done => Some(one.done.clone()),
        });
        let waits_for = waits_for.filter(|token| !token.is_cancelled()).collect();
        if role != Role::Independent {
            earlier.push(Earlier { role, stops, sent: sent.clone(), done: done.clone() });
        }
        RequestTurn { role, waits_for, sent, done }
    }
}

impl RequestTurn {
    /// Carries out the request when those before it are as far as it needs, or when the program has stopped
    /// meanwhile (`next_stop`).
    ///
    /// # Errors
    /// `CANCELLED` if it is cancelled before; the request's own.
    pub(crate) async fn carry_out<T>(
        self,
        cancel: &CancellationToken,
        next_stop: impl Future<Output = ()>,
        request: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        if !self.waits_for.is_empty() {
            let is_due = async {
                for token in &self.waits_for {
                    token.cancelled().await;
                }
            };
            let is_late = async {
                match self.role {
                    Role::Pause => tokio::time::sleep(MAX_PAUSE_DELAY).await,
                    _ => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(Failure::cancelled()),
                () = is_due => {}
                () = next_stop => {}
                () = is_late => {}
            }
        }
        CURRENT.scope((self.role, self.sent.clone()), request).await
    }
}

impl Drop for RequestTurn {
    fn drop(&mut self) {
        self.sent.cancel();
        self.done.cancel();
    }
}

/// Notes that the adapter has a message of the request that this task carries out, if `command` is what that
/// request means and not what prepares it.
pub(crate) fn note_sent(command: &str) {
    // Other tasks carry out none.
    let _: Result<(), _> = CURRENT.try_with(|(role, sent)| {
        if *role == Role::Read || *role == Role::of(command) {
            sent.cancel();
        }
    });
}

/// Sends what only prepares the request.
pub(crate) async fn prepare<T>(preparation: impl Future<Output = T>) -> T {
    CURRENT.scope((Role::Independent, CancellationToken::new()), preparation).await
}

#[cfg(test)]
mod tests;
