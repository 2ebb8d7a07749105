//! Repeats the same tests, several runs at once, until one fails. Without a debugger only: the client of a
//! debugged run repeats it.

use std::sync::Arc;

use tandem_wire::{ErrorCode, Failure};
use tandem_workspace::jobs::ProgressSink;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::answer::TestRunAnswer;
use crate::host::DirectLauncher;
use crate::request::TestRequest;

/// Runs of one call, at most.
pub const MAX_RUNS: u64 = 10_000;
/// Runs at once, at most.
pub const MAX_PARALLEL: u64 = 64;

impl TestRequest {
    /// Runs the tests `most` times, `parallel` runs at once, until one fails; only the first is built. The
    /// answer is that of the run that failed, or else of the last, with `runs`, the number of runs that have
    /// ended. The other runs are ended.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn repeat(
        &self,
        most: u64,
        parallel: u64,
        cancel: &CancellationToken,
        say: &ProgressSink,
    ) -> Result<TestRunAnswer, Failure> {
        let mut answer = self.run(&DirectLauncher, cancel, say).await.map(|outcome| outcome.answer);
        let mut ended = 1;
        let end = cancel.child_token();
        let _ends_with_this = end.clone().drop_guard();
        let mut runs = JoinSet::new();
        let mut started = 1;
        while answer.as_ref().is_ok_and(|answer| answer.error.is_none()) {
            while started < most && (runs.len() as u64) < parallel.max(1) {
                let (mut request, end) = (self.clone(), end.clone());
                request.options.no_build = true;
                // Counts of runs at once would mix.
                let quiet: ProgressSink = Arc::new(|_| {});
                runs.spawn(async move { request.run(&DirectLauncher, &end, &quiet).await });
                started += 1;
            }
            let Some(next) = runs.join_next().await else { break };
            answer = match next {
                Ok(outcome) => outcome.map(|outcome| outcome.answer),
                Err(error) => {
                    let message = format!("a run of the tests was aborted: {error}");
                    Err(Failure::new(ErrorCode::IoFailed, message))
                }
            };
            ended += 1;
            say(&format!("{ended} of {most} runs"));
        }
        // Each run ends its processes and removes its files when it is dropped.
        end.cancel();
        while runs.join_next().await.is_some() {}
        let mut answer = answer?;
        answer.runs = (most > 1).then_some(ended);
        Ok(answer)
    }
}
