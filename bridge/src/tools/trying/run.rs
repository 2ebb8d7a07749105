//! One run of an experiment, in a separate session that ends with it: it receives the same input, runs to the
//! place, is changed or not, and continues to the end of the experiment.

use std::time::Duration;

use tandem_wire::types::StackFrame;
use tandem_wire::{ErrorCode, Failure};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::outcome::ExperimentRun;
use super::recorded_input::RecordedInput;
use super::skipping::skip;
use super::stopped_run::{StoppedRun, name_place};
use super::{Experiment, ExperimentSetup, SkipTarget, TargetHit};
use crate::breakpoint_requests::Purpose;
use crate::call::ToolCall;
use crate::program_event::StopKind;
use crate::session::requests::{ReadOutputArguments, WriteInputArguments};
use crate::session::{AgentSession, REQUEST_TIMEOUT};
use crate::snapshot::ProgramState;
use crate::tools::shown_frame::path_of;
use crate::tools::stop_exception::exception_of;
use crate::tools::stops::report;

/// Output that is compared, bytes per stream.
const MAX_OUTPUT_BYTES: u64 = 64 * 1024;
/// Time that a program may wait for input while another of its threads may still act.
const INPUT_WAIT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a program that reads may take before it is considered to wait.
const READ_TIMEOUT: Duration = Duration::from_millis(250);
/// Stops on the way that are passed at most.
const MAX_PASSED_STOPS: u64 = 100_000;
/// Matches nothing: the read ends early only when the program waits for input, or ends.
const MATCH_NOTHING: &str = r"[^\s\S]";

/// Runs the program once and ends its session in any case.
///
/// # Errors
/// The errors of a launch, and the engine's error when it refuses the change.
pub(super) async fn run(
    call: &ToolCall,
    experiment: &Experiment,
    start: &ExperimentSetup,
    changed: bool,
) -> Result<ExperimentRun, Failure> {
    let place = call.bridge.next_breakpoint();
    let mut plan = start.plan.clone();
    plan.requested = experiment.run_breakpoints(place);
    let session = call.start_unlisted_session(plan).await?;
    let course = ActiveRun {
        session: &session,
        experiment,
        cancel: &call.cancel,
        place,
        until: call.bridge.next_breakpoint(),
        limit: Instant::now() + experiment.time,
        is_given: CancellationToken::new(),
    };
    let what = if changed { "the run with the change" } else { "the run without the change" };
    let giving = async {
        course.write_input(&start.given).await;
        std::future::pending().await
    };
    let going = async {
        tokio::select! {
            biased;
            () = call.cancel.cancelled() => Err(Failure::cancelled()),
            outcome = course.go(changed) => outcome,
            () = giving => Err(Failure::cancelled()),
        }
    };
    let outcome = call.progress.during(what, None, going).await;
    if let Err(failure) = session.leave(None).await {
        tracing::debug!(%failure, "left a session that was gone");
    }
    outcome
}

/// Event that ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WaitEnd {
    Stopped,
    Exited,
    /// The program waits for input that it does not get.
    Input,
    Timeout,
}

impl WaitEnd {
    fn as_str(self) -> &'static str {
        match self {
            Self::Stopped => "stopped",
            Self::Exited => "exited",
            Self::Input => "waitingForInput",
            Self::Timeout => "timeout",
        }
    }
}

/// A run that is under way.
struct ActiveRun<'a> {
    session: &'a AgentSession,
    experiment: &'a Experiment,
    cancel: &'a CancellationToken,
    /// The breakpoints at both places.
    place: u64,
    until: u64,
    limit: Instant,
    /// Cancelled when all input was written.
    is_given: CancellationToken,
}

impl ActiveRun<'_> {
    /// Writes the input, however slowly the program reads.
    async fn write_input(&self, given: &RecordedInput) {
        let blocks = given.blocks();
        let last = blocks.len().saturating_sub(1);
        let mut writes: Vec<(&str, bool)> =
            blocks.iter().enumerate().map(|(at, block)| (*block, given.closed && at == last)).collect();
        if writes.is_empty() && given.closed {
            writes.push(("", true));
        }
        for (data, close) in writes {
            let input = WriteInputArguments {
                data: data.to_owned(),
                close_after: close,
                encoding: Some(given.encoding.clone()),
            };
            loop {
                match self.session.send(&input).await {
                    // The pipe stayed full.
                    Err(failure)
                        if failure.code == ErrorCode::Timeout && failure.data["bytesWritten"] == 0 => {}
                    Err(failure) => {
                        tracing::debug!(%failure, "the program reads no more of its input");
                        return self.is_given.cancel();
                    }
                    Ok(_) => break,
                }
            }
        }
        self.is_given.cancel();
    }

    /// The program, where it is stopped.
    fn stopped(&self) -> StoppedRun<'_> {
        StoppedRun { session: self.session, cancel: self.cancel }
    }

    async fn go(&self, changed: bool) -> Result<ExperimentRun, Failure> {
        self.session.check_accepted(self.place)?;
        let mut run = ExperimentRun::default();
        let news = self.run_to_place(&mut run).await?;
        if !run.came {
            self.describe_end(&mut run, news).await;
            run.after = self.output(None).await.0;
            run.unbound = self.unbound_reason();
            return Ok(run);
        }
        let (before, cursor) = self.output(None).await;
        run.before = before;
        let is_there = self.apply_change(&mut run, changed).await?;
        let news = if is_there { WaitEnd::Stopped } else { self.run_to_end().await? };
        let came = news == WaitEnd::Stopped && (is_there || self.is_at(self.until));
        self.describe_end(&mut run, news).await;
        if came {
            (run.end.how, run.end.why) = ("reached", None);
        }
        if news == WaitEnd::Stopped {
            let frame = self.stopped().frame().await?;
            run.values = self.stopped().values(frame.id, &self.experiment.expressions).await?;
        }
        run.after = self.output(cursor).await.0;
        Ok(run)
    }

    /// Runs to the hit of the place; passes other stops.
    async fn run_to_place(&self, run: &mut ExperimentRun) -> Result<WaitEnd, Failure> {
        let mut seen = 0;
        for _ in 0..MAX_PASSED_STOPS {
            if self.is_over() {
                break;
            }
            let news = self.next(seen).await;
            if news != WaitEnd::Stopped {
                return Ok(news);
            }
            seen = self.session.snapshot().news;
            if self.is_at(self.place) {
                run.hits += 1;
                if run.hits == self.experiment.place.stops() {
                    run.came = true;
                    return Ok(news);
                }
            }
            self.resume().await?;
        }
        Ok(WaitEnd::Timeout)
    }

    /// Applies the change at the place. Returns whether the run ends there already: a skip may lead to the
    /// end of the experiment.
    async fn apply_change(&self, run: &mut ExperimentRun, changed: bool) -> Result<bool, Failure> {
        let experiment = self.experiment;
        let mut frame = self.stopped().frame().await?;
        run.end.at = Some(name_place(&frame));
        for (name, _) in &experiment.set {
            run.was.push((name.clone(), self.stopped().value(frame.id, name).await?));
        }
        let mut is_there = false;
        if changed {
            for (name, value) in &experiment.set {
                let now = self.stopped().set(frame.id, name, value).await?;
                run.set.push((name.clone(), now));
            }
            if experiment.skip != SkipTarget::Nothing {
                let thread = self.session.snapshot().stop.thread_id.unwrap_or_default();
                skip(self.session, thread, &frame, experiment.skip).await?;
                frame = self.stopped().frame().await?;
                run.went_to = u64::try_from(frame.line).ok();
                is_there = experiment.until.as_ref().is_some_and(|until| until.is_first_hit(&frame));
            }
        }
        if experiment.until.is_none() {
            run.at_place = self.stopped().values(frame.id, &experiment.expressions).await?;
        }
        Ok(is_there)
    }

    /// Runs on to the place where the experiment ends, another stop, or the end.
    async fn run_to_end(&self) -> Result<WaitEnd, Failure> {
        let until = self.experiment.until.as_ref();
        let mut files: Vec<String> =
            self.session.with_requested(|requested| requested.take(self.place)).into_iter().collect();
        if let Some(until) = until {
            let request = until.to_request();
            if !files.contains(&request.file) {
                files.push(request.file.clone());
            }
            self.session.with_requested(|requested| requested.add(request, self.until, Purpose::RunTo));
        }
        for file in files {
            self.session.send_breakpoints(&file).await?;
        }
        self.session
            .check_accepted(self.until)
            .map_err(|failure| Failure { message: format!("`until`: {}", failure.message), ..failure })?;
        let mut hits = 0;
        for _ in 0..MAX_PASSED_STOPS {
            if self.is_over() {
                break;
            }
            let seen = self.session.snapshot().news;
            self.resume().await?;
            let news = self.next(seen).await;
            if news == WaitEnd::Stopped && self.is_exiting().await {
                continue;
            }
            if news != WaitEnd::Stopped || !self.is_at(self.until) {
                return Ok(news);
            }
            hits += 1;
            if until.is_none_or(|until| hits >= until.stops()) {
                return Ok(news);
            }
        }
        Ok(WaitEnd::Timeout)
    }

    /// Whether the time of the run is up. A program that stops often never lets a single wait time out.
    fn is_over(&self) -> bool {
        Instant::now() >= self.limit
    }

    async fn next(&self, seen: u64) -> WaitEnd {
        let mut snapshot = self.session.watch_snapshot();
        let idles = async {
            self.is_given.cancelled().await;
            tokio::time::sleep(READ_TIMEOUT).await;
            self.waits_for_input().await;
            tokio::time::sleep(INPUT_WAIT_TIMEOUT).await;
        };
        tokio::select! {
            biased;
            _ = snapshot.wait_for(|snapshot| snapshot.news > seen) => match self.session.snapshot().state {
                ProgramState::Exited => WaitEnd::Exited,
                _ => WaitEnd::Stopped,
            },
            () = idles => WaitEnd::Input,
            () = tokio::time::sleep_until(self.limit) => WaitEnd::Timeout,
        }
    }

    /// Returns when the program has read all its input and waits for more.
    async fn waits_for_input(&self) {
        let left = self.limit.saturating_duration_since(Instant::now());
        let arguments = ReadOutputArguments {
            wait_for: Some(MATCH_NOTHING.to_owned()),
            timeout_ms: Some(u64::try_from(left.as_millis()).unwrap_or(u64::MAX)),
            ..ReadOutputArguments::default()
        };
        let reading = self.session.send_or_cancel(&arguments, left + REQUEST_TIMEOUT, self.cancel).await;
        if !reading.is_ok_and(|read| read.wait.waiting_for_input) {
            // Its output is not readable here, or it has ended: only the events count.
            std::future::pending::<()>().await;
        }
    }

    async fn resume(&self) -> Result<(), Failure> {
        let thread = self.session.snapshot().stop.thread_id.unwrap_or_default();
        self.session.control("continue", thread, self.cancel).await
    }

    /// Whether the program is stopped at this breakpoint. The run sets no other, and
    /// some adapters report no ids.
    fn is_at(&self, id: u64) -> bool {
        let stop = self.session.snapshot().stop;
        let Some(hits) = stop.hit_breakpoint_ids.filter(|hits| !hits.is_empty()) else {
            let set = self.session.with_requested(|requested| requested.find(id).is_some());
            return set && matches!(stop.reason.as_str(), "breakpoint" | "function breakpoint");
        };
        let own = self.session.with_requested(|requested| requested.find(id).and_then(|(_, own)| own.dap));
        own.is_some_and(|own| hits.contains(&own))
    }

    /// Whether it is stopped at what Python's `sys.exit` throws, which ends the program with a code.
    async fn is_exiting(&self) -> bool {
        let stop = self.session.snapshot().stop;
        if stop.reason != "exception" {
            return false;
        }
        let body = self.session.send(&exception_of(stop.thread_id.unwrap_or_default())).await;
        body.is_ok_and(|body| body.exception_id == "SystemExit")
    }

    /// The engine's reason for not setting a breakpoint.
    fn unbound_reason(&self) -> Option<String> {
        self.session.with_requested(|requested| {
            let (_, own) = requested.find(self.place)?;
            let reason = own.state.message.as_deref().unwrap_or("no code was found there");
            (!own.state.verified).then(|| reason.to_owned())
        })
    }

    /// Describes where the run stopped, and why.
    async fn describe_end(&self, run: &mut ExperimentRun, news: WaitEnd) {
        run.end.how = news.as_str();
        match news {
            WaitEnd::Exited => {
                let snapshot = self.session.snapshot();
                (run.end.exit_code, run.end.signal) = (snapshot.end.exit_code, snapshot.end.signal);
                run.end.at = None;
            }
            WaitEnd::Stopped => {
                let answer = report(self.session).await;
                if let Some(stop) = answer.stop() {
                    if stop.kind == StopKind::Exception {
                        run.end.how = "exception";
                    }
                    let exception = stop.exception.as_ref().map(|found| found.exception_type.as_str());
                    let words: Vec<&str> = exception.into_iter().chain(stop.message()).collect();
                    let reason = || stop.reason.clone();
                    run.end.why = Some(if words.is_empty() { reason() } else { words.join(": ") });
                }
                if let Ok(frame) = self.stopped().frame().await {
                    run.end.at = Some(name_place(&frame));
                }
            }
            WaitEnd::Input | WaitEnd::Timeout => run.end.at = None,
        }
    }

    /// stdout and stderr from a position on, and the position after it. Without one it is what was printed
    /// until now, the newest.
    async fn output(&self, since: Option<String>) -> ([String; 2], Option<String>) {
        let newest = since.is_none();
        let max_bytes = MAX_OUTPUT_BYTES;
        let arguments = ReadOutputArguments { max_bytes, since, newest, ..ReadOutputArguments::default() };
        let Ok(read) = self.session.send(&arguments).await else { return Default::default() };
        let strip = |text: Option<String>| {
            anstream::adapter::strip_str(text.as_deref().unwrap_or_default()).to_string()
        };
        ([read.stdout, read.stderr].map(strip), Some(read.cursor))
    }
}

impl TargetHit {
    /// Whether a frame is at this location, if the first hit counts.
    fn is_first_hit(&self, frame: &StackFrame) -> bool {
        let dap = &self.request.dap;
        let here = path_of(frame) == Some(&self.request.file) && dap.line == Some(frame.line);
        here && self.hit == 1 && dap.condition.is_none()
    }
}
