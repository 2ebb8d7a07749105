//! Jobs: work that may take longer than a call waits for it. When the time of a call is up, the work
//! continues, and the same call made again waits for it. If a call is cancelled and no other call waits
//! for the work, the work is cancelled; when the bridge ends, so does all of it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tandem_error::{ErrorCode, Failure};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Jobs that still run, or whose result was not fetched; more are refused.
const MAX_JOBS: usize = 32;

/// No call waits longer.
const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// Result of the finished work.
type Result = std::result::Result<Value, Failure>;

/// Reports progress to the calls that wait.
pub type ProgressSink = Arc<dyn Fn(&str) + Send + Sync>;

#[derive(Debug)]
struct Job {
    cancel: CancellationToken,
    done: watch::Receiver<Option<Result>>,
    last_message: watch::Receiver<String>,
    began: Instant,
    /// Calls that wait for it now; changed with `Jobs::running` locked where that decides whether it ends.
    waiters: AtomicUsize,
}

/// All work in progress of one bridge.
#[derive(Debug, Default)]
pub struct Jobs {
    running: Mutex<HashMap<String, Arc<Job>>>,
    tasks: TaskTracker,
}

/// Result of a call that waited for work.
#[derive(Debug)]
pub enum JobStatus {
    /// The work has ended, with this answer.
    Done(Value),
    /// The work continues: its duration so far, and its last message.
    Pending(Duration, String),
}

impl Jobs {
    /// Starts the work, unless work with the same key is already in progress, and waits for it; `tell` gets
    /// what is being done, at most once a second.
    ///
    /// # Errors
    /// The work's own; `CANCELLED`.
    pub async fn wait<W, T>(
        &self,
        key: &str,
        patience: Duration,
        cancel: &CancellationToken,
        start: impl FnOnce(CancellationToken, ProgressSink) -> W,
        mut tell: impl FnMut(String) -> T,
    ) -> std::result::Result<JobStatus, Failure>
    where
        W: Future<Output = Result> + Send + 'static,
        T: Future<Output = ()>,
    {
        let job = self.join(key, start)?;
        let _waiting = JobWaiter(job.clone());
        let mut done = job.done.clone();
        let until = Instant::now() + patience.min(MAX_TIMEOUT);
        let mut last_report = (String::new(), Instant::now());
        let outcome = loop {
            tokio::select! {
                outcome = outcome_of(&mut done) => break outcome,
                () = cancel.cancelled() => {
                    self.cancel_if_unshared(key, &job);
                    return Err(Failure::cancelled());
                }
                () = tokio::time::sleep_until(until) => {
                    return Ok(JobStatus::Pending(job.began.elapsed(), job.last_message.borrow().clone()));
                }
                () = tokio::time::sleep(Duration::from_secs(1)) => {
                    let message = job.last_message.borrow().clone();
                    if message != last_report.0 || last_report.1.elapsed() >= Duration::from_secs(5) {
                        last_report = (message.clone(), Instant::now());
                        tell(format!("{} s: {message}", job.began.elapsed().as_secs())).await;
                    }
                }
            }
        };
        self.forget(key, &job);
        outcome.map(JobStatus::Done)
    }

    fn join<W>(
        &self,
        key: &str,
        start: impl FnOnce(CancellationToken, ProgressSink) -> W,
    ) -> std::result::Result<Arc<Job>, Failure>
    where
        W: Future<Output = Result> + Send + 'static,
    {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(job) = running.get(key) {
            job.waiters.fetch_add(1, Ordering::Relaxed);
            return Ok(job.clone());
        }
        if running.len() >= MAX_JOBS {
            running.retain(|_, job| job.done.borrow().is_none());
        }
        if running.len() >= MAX_JOBS {
            return Err(Failure::new(
                ErrorCode::Unsupported,
                format!("{MAX_JOBS} builds and commands are running already"),
            ));
        }
        let cancel = CancellationToken::new();
        let (done_sender, done) = watch::channel(None);
        let (message_sender, last_message) = watch::channel("started".to_owned());
        let say: ProgressSink = Arc::new(move |text| {
            message_sender.send_replace(text.to_owned());
        });
        let work = start(cancel.clone(), say);
        self.tasks.spawn(async move {
            done_sender.send_replace(Some(work.await));
        });
        let waiters = AtomicUsize::new(1);
        let job = Arc::new(Job { cancel, done, last_message, began: Instant::now(), waiters });
        running.insert(key.to_owned(), job.clone());
        Ok(job)
    }

    /// Cancels the work unless another call waits for it, too; a later call starts it again.
    fn cancel_if_unshared(&self, key: &str, job: &Arc<Job>) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if job.waiters.load(Ordering::Relaxed) > 1 {
            return;
        }
        job.cancel.cancel();
        if running.get(key).is_some_and(|found| Arc::ptr_eq(found, job)) {
            running.remove(key);
        }
    }

    fn forget(&self, key: &str, job: &Arc<Job>) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running.get(key).is_some_and(|found| Arc::ptr_eq(found, job)) {
            running.remove(key);
        }
    }

    /// Ends all work and waits until it has ended.
    pub async fn close(&self) {
        let running = std::mem::take(&mut *self.running.lock().unwrap_or_else(PoisonError::into_inner));
        running.values().for_each(|job| job.cancel.cancel());
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        let running = self.running.get_mut().unwrap_or_else(PoisonError::into_inner);
        running.values().for_each(|job| job.cancel.cancel());
    }
}

/// One call that waits for a job; counted while it lives.
struct JobWaiter(Arc<Job>);

impl Drop for JobWaiter {
    fn drop(&mut self) {
        self.0.waiters.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Waits until the work has ended.
async fn outcome_of(done: &mut watch::Receiver<Option<Result>>) -> Result {
    match done.wait_for(Option::is_some).await {
        Ok(done) => done.clone().unwrap_or_else(|| Err(Failure::cancelled())),
        Err(_) => Err(Failure::new(ErrorCode::IoFailed, "the background job was aborted")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    async fn silent(_: String) {}

    #[tokio::test(start_paused = true)]
    async fn the_same_call_waits_on_and_cancelling_ends_the_work() {
        let (jobs, cancel, second) = (Jobs::default(), CancellationToken::new(), Duration::from_secs(1));
        let slow = |cancel: CancellationToken, say: ProgressSink| async move {
            say("working");
            tokio::select! {
                () = tokio::time::sleep(Duration::from_secs(90)) => Ok(json!(7)),
                () = cancel.cancelled() => Err(Failure::cancelled()),
            }
        };
        let again = |_: CancellationToken, _: ProgressSink| async { panic!("started twice") };
        let waited = jobs.wait("a", 30 * second, &cancel, slow, silent).await.unwrap();
        assert!(matches!(waited, JobStatus::Pending(_, message) if message == "working"));
        let waited = jobs.wait("a", 30 * second, &cancel, again, silent).await.unwrap();
        assert!(matches!(waited, JobStatus::Pending(..)));
        let waited = jobs.wait("a", 60 * second, &cancel, again, silent).await.unwrap();
        assert!(matches!(waited, JobStatus::Done(value) if value == 7));

        let waited = jobs.wait("a", second, &cancel, slow, silent).await.unwrap();
        assert!(matches!(waited, JobStatus::Pending(..)), "it was started again");
        cancel.cancel();
        let failure = jobs.wait("a", second, &cancel, again, silent).await.unwrap_err();
        assert_eq!(failure.code, ErrorCode::Cancelled);
        jobs.close().await;
    }

    #[tokio::test]
    async fn work_that_breaks_is_an_error() {
        let jobs = Jobs::default();
        let broken = |_: CancellationToken, _: ProgressSink| async { panic!("broken") };
        let failure =
            jobs.wait("a", Duration::MAX, &CancellationToken::new(), broken, silent).await.unwrap_err();
        assert_eq!(failure.code, ErrorCode::IoFailed);
    }
}
