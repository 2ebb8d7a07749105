//! The triggers of a bridge: actions that an agent starts while it waits for a stop. A trigger runs next to
//! the wait, and its result is in the answer of the call that sees it end. Not here: the actions
//! ([`crate::trigger_action`]).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use tandem_wire::{Failure, types};
use tandem_workspace::answer_error::AnswerError;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Maximum number of triggers that run at once.
const MAX_TRIGGERS: usize = 8;
/// Time that an answer waits for a trigger that is about to end.
const TRIGGER_TIMEOUT: Duration = Duration::from_millis(50);

/// A trigger that was started.
#[derive(Debug)]
pub struct Trigger {
    /// Description for the answer.
    what: String,
    /// Sends the signal to start.
    go: Mutex<Option<oneshot::Sender<()>>>,
    /// Its result, once it has ended.
    result: watch::Receiver<Option<TriggerResult>>,
    task: tokio::task::AbortHandle,
    cancel: CancellationToken,
}

/// The result of a trigger in an answer.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct TriggerResult {
    state: TriggerState,
    #[serde(flatten)]
    outcome: Option<TriggerOutcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
    what: String,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
enum TriggerState {
    Running,
    Ended,
    Failed,
}

/// The effect of a trigger.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub(crate) enum TriggerOutcome {
    Command {
        exit_code: i32,
        #[serde(skip_serializing_if = "String::is_empty")]
        stdout: String,
        #[serde(skip_serializing_if = "String::is_empty")]
        stderr: String,
    },
    /// The response to a request.
    Response {
        status: u16,
        /// Bytes of the body that are left out.
        #[serde(skip_serializing_if = "Option::is_none")]
        omitted: Option<usize>,
        #[serde(skip_serializing_if = "String::is_empty")]
        body: String,
    },
    Input {
        bytes_written: usize,
    },
    Failed {
        error: AnswerError,
    },
}

/// The triggers of a bridge whose end no answer has reported yet. Those that still run are ended with it.
#[derive(Debug, Default)]
pub struct Triggers(Mutex<Vec<Arc<Trigger>>>);

impl Drop for Trigger {
    fn drop(&mut self) {
        self.cancel.cancel();
        self.task.abort();
    }
}

impl Trigger {
    /// Makes a trigger ready; [`Trigger::fire`] starts its work.
    pub(crate) fn new<F>(what: String, work: impl FnOnce(CancellationToken) -> F) -> Arc<Self>
    where
        F: Future<Output = Result<TriggerOutcome, Failure>> + Send + 'static,
    {
        let (sender, result) = watch::channel(None);
        let cancel = CancellationToken::new();
        let (go, gone) = oneshot::channel();
        let (work, named) = (work(cancel.clone()), what.clone());
        let running = tokio::spawn(async move {
            if gone.await.is_err() {
                return;
            }
            let began = Instant::now();
            let (state, outcome) = match work.await {
                Ok(outcome) => (TriggerState::Ended, outcome),
                Err(failure) => {
                    let error = AnswerError { hint: None, ..AnswerError::from(failure) };
                    (TriggerState::Failed, TriggerOutcome::Failed { error })
                }
            };
            let duration_ms = Some(u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX));
            let outcome = Some(outcome);
            sender.send_replace(Some(TriggerResult { state, outcome, duration_ms, what: named }));
        });
        Arc::new(Self { what, go: Mutex::new(Some(go)), result, task: running.abort_handle(), cancel })
    }

    /// Starts the trigger, once: its tool has set up everything that it waits for.
    pub fn fire(&self) {
        let go = self.go.lock().unwrap_or_else(PoisonError::into_inner).take();
        if go.is_some_and(|go| go.send(()).is_err()) {
            tracing::debug!(what = self.what, "a trigger is over before it began");
        }
    }

    /// Waits until the trigger has ended.
    pub async fn wait_until_ended(&self) {
        let mut result = self.result.clone();
        // Without a sender it has ended, too.
        drop(result.wait_for(Option::is_some).await);
    }

    fn result(&self) -> Option<TriggerResult> {
        self.result.borrow().clone()
    }

    /// The result while it runs.
    fn running(&self) -> TriggerResult {
        let what = self.what.clone();
        TriggerResult { state: TriggerState::Running, outcome: None, duration_ms: None, what }
    }
}

impl Triggers {
    fn with<T>(&self, work: impl FnOnce(&mut Vec<Arc<Trigger>>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds a trigger of a call.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` when too many run.
    pub(crate) fn add(&self, trigger: &Arc<Trigger>) -> Result<(), Failure> {
        self.with(|all| {
            if all.len() >= MAX_TRIGGERS {
                let running: Vec<&str> = all.iter().map(|one| one.what.as_str()).collect();
                return Err(Failure::invalid(format!("{MAX_TRIGGERS} triggers run already"))
                    .data(json!({ "triggers": running }))
                    .hint("debug_wait reports their ends"));
            }
            all.push(Arc::clone(trigger));
            Ok(())
        })
    }

    /// Removes a trigger that the tool did not start, because the tool failed.
    pub fn forget(&self, own: Option<&Arc<Trigger>>) {
        let unfired = own.filter(|own| own.go.lock().unwrap_or_else(PoisonError::into_inner).is_some());
        if let Some(own) = unfired {
            self.with(|all| all.retain(|one| !Arc::ptr_eq(one, own)));
        }
    }

    /// Aborts all running triggers.
    pub fn close(&self) {
        self.with(Vec::clear);
    }

    /// Adds to the answer of a call that waits for a stop the results of triggers that have ended since the
    /// last one, and whether the call's own is still running.
    pub async fn report(&self, own: Option<&Arc<Trigger>>, answer: &mut Value) {
        if !answer.is_object() {
            return;
        }
        if let Some(own) = own {
            // This tool had nothing to wait for.
            own.fire();
            drop(tokio::time::timeout(TRIGGER_TIMEOUT, own.wait_until_ended()).await);
        }
        let ended: Vec<TriggerResult> = self.with(|all| {
            let ended = all.iter().filter_map(|one| one.result()).collect();
            all.retain(|one| one.result().is_none());
            ended
        });
        let running = own.filter(|own| own.result().is_none()).map(|own| own.running());
        let results: Vec<TriggerResult> = ended.into_iter().chain(running).collect();
        match results.as_slice() {
            [] => {}
            [one] => answer["trigger"] = types::body(one),
            several => answer["triggers"] = types::body(&several),
        }
    }
}
