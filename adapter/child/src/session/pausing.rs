//! `pause` with a time limit: an adapter that answers it with success may never report that the program
//! is stopped, because none of the program's own code runs. Then this module reports the stop, or refuses
//! the request with the reason.
//!
//! Not here: unwanted stops, which the hub handles.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tandem_wire::types::{self, ContinueResponseBody, StoppedEventBody, ThreadsResponseBody};
use tandem_wire::{ErrorCode, Failure};
use tokio_util::sync::CancellationToken;

use super::super::debuggee::{self, DebuggeeProcess};
use super::super::nodelay;
use super::super::profile::IdlePause;
use super::super::state::{ChildEvent, ChildState};
use super::AdapterSession;
use super::suspension::suspended_process;
use tandem_process::Child;

/// How long a pause may take before the client learns why the program does not stop. debugpy waits 0.5
/// s for the main thread.
const PAUSE_TIMEOUT: Duration = Duration::from_millis(1500);

/// How long a stop may take before the pause counts as missed.
const MISSED_PAUSE_TIMEOUT: Duration = Duration::from_millis(500);

/// How long to wait for the response to a `continue` that may never come.
const UNREPORTED_RESUME_TIMEOUT: Duration = Duration::from_millis(100);

/// Length of the part of a command line that messages show, in characters.
const MAX_SHOWN_CHARS: usize = 60;

impl AdapterSession {
    /// How often the program has stopped.
    pub(crate) fn stops(&self) -> u64 {
        self.state(ChildState::stops)
    }

    /// Waits until it has stopped once more.
    pub(crate) async fn wait_for_stop_after(&self, stops: u64) {
        self.until(|now| now.stops() != stops).await;
    }

    /// Pauses the program, and answers when it is stopped or when it is known why it is not.
    pub(super) async fn pause(
        self: &Arc<Self>,
        arguments: Value,
        cancel: &CancellationToken,
    ) -> Result<Value, Failure> {
        let before = self.state(ChildState::stops);
        let answer = self.ask("pause", arguments.clone(), cancel).await?;
        let how = self.profile.idle_pause();
        if how == IdlePause::Stops {
            if self.profile.misses_pauses() {
                tokio::spawn(self.clone().pause_again(arguments, before));
            }
            return Ok(answer);
        }
        let has_stopped = self.wait_for_state(PAUSE_TIMEOUT, |now| now.stops() != before || now.is_ending());
        let has_stopped = tokio::select! {
            stopped = has_stopped => stopped,
            // The adapter has taken the pause; nothing takes it back.
            () = cancel.cancelled() => true,
        };
        match how {
            _ if has_stopped => Ok(answer),
            IdlePause::StopsUnreported => self.report_stop(before, cancel).await.map(|()| answer),
            IdlePause::Deferred(reason) => Err(self.explain_missed_pause(reason).await),
            IdlePause::Stops => Ok(answer),
        }
    }

    /// Pauses once more when the program has not stopped: it was only about to run when the first pause came.
    async fn pause_again(self: Arc<Self>, arguments: Value, before: u64) {
        let has_stopped = |now: &ChildState| now.stops() != before || now.is_ending();
        if !self.wait_for_state(MISSED_PAUSE_TIMEOUT, has_stopped).await
            && let Err(failure) = self.ask("pause", arguments, &self.give_up).await
        {
            tracing::debug!(%failure, "the program was not paused again");
        }
    }

    /// Reports the program as stopped: each thread waits in a call and will stop when that returns, so its
    /// own code does not run.
    async fn report_stop(self: &Arc<Self>, before: u64, cancel: &CancellationToken) -> Result<(), Failure> {
        let answer = self.ask("threads", Value::Null, cancel).await?;
        let ThreadsResponseBody { threads, .. } = types::read(&answer);
        let description = "Paused: each thread waits in a call that has not returned";
        let stop = StoppedEventBody {
            reason: "pause".into(),
            description: Some(description.into()),
            thread_id: threads.first().map(|thread| thread.id),
            all_threads_stopped: Some(true),
            ..StoppedEventBody::default()
        };
        self.handle(ChildEvent::FoundStopped { before, stop });
        Ok(())
    }

    /// Resumes the program. After a stop that the adapter has not reported, it would answer only when stopped
    /// threads resume, and no thread is stopped: it accepts the request anyway.
    pub(super) async fn resume(
        self: &Arc<Self>,
        arguments: Value,
        cancel: &CancellationToken,
    ) -> Result<Value, Failure> {
        self.discard_kept_steps(cancel).await;
        if !self.state(ChildState::is_stop_unreported) {
            return self.ask("continue", arguments, cancel).await;
        }
        let (session, never) = (self.clone(), CancellationToken::new());
        let asking = tokio::spawn(async move { session.ask("continue", arguments, &never).await });
        match tokio::time::timeout(UNREPORTED_RESUME_TIMEOUT, asking).await {
            Ok(Ok(answer)) => answer,
            _ => Ok(types::body(&ContinueResponseBody {
                all_threads_continued: Some(true),
                ..ContinueResponseBody::default()
            })),
        }
    }

    /// The reason why a program keeps running after a pause request.
    async fn explain_missed_pause(&self, reason: &str) -> Failure {
        let program = self.live().as_ref().and_then(|live| {
            let ours = live.program.as_ref().map(Child::pid);
            ours.or_else(|| live.debuggee.as_ref().map(DebuggeeProcess::pid))
        });
        let children = tokio::task::spawn_blocking(move || program.map(debuggee::children_of));
        let children = children.await.ok().flatten().unwrap_or_default();
        let command = |pid: u32| {
            let words = debuggee::command_line_of(pid);
            let of_adapter = words.iter().any(|word| nodelay::is_watchdog(word));
            let shown: String = words.join(" ").chars().take(MAX_SHOWN_CHARS).collect();
            (!of_adapter).then(|| format!("{reason}; its child is `{shown}` (process {pid})"))
        };
        let (why, remedy) = match children.into_iter().find_map(command) {
            _ if suspended_process(self).is_some() => {
                ("a signal (SIGSTOP or Ctrl+Z) has suspended it".to_owned(), "send it SIGCONT")
            }
            _ if self.broker.is_blocked_on_input() => ("it waits for input".to_owned(), "write its input"),
            Some(why) => (why, "wait for that, or end it"),
            None => (reason.to_owned(), "wait for what it waits for"),
        };
        let limit = PAUSE_TIMEOUT.as_secs_f32();
        let message = format!("the program did not stop within {limit} s: {why}");
        Failure::new(ErrorCode::Timeout, message).hint(format!(
            "the pause is pending: the program stops as soon as its own code runs again; {remedy}"
        ))
    }
}
