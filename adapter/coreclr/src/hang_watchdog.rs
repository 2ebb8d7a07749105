//! Watchdog for a runtime that hangs: detects and reports the hang, and keeps the session able to end.
//!
//! A runtime can hang in three ways. It does not return from a call of the debugging library, and the
//! engine's thread waits in it for ever. Or it tries for ever to stop its threads: early .NET 9 does, about
//! once in two thousand stops of a program whose threads start and end. Then the runtime reports nothing
//! more, and a step never ends. A separate thread sees both from outside: nothing passes between Tandem and
//! the runtime, and every thread of the program sleeps, though something is in progress. Or a stop never
//! ends, because a busy thread reaches no point where the runtime can suspend it: .NET Core 3.1, and later
//! versions after an evaluation was aborted in native code of the runtime. The second hang is fixed
//! ([`dead_threads`]), and one cause of the first is prevented (`calls::lone_thread`); for the rest Tandem
//! notifies the clients, refuses requests, and keeps the session able to end.

mod dead_threads;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cordebug::activity::{self, Activity};
use cordebug::runtime::ClrRuntime;
use tandem_wire::{ErrorCode, Failure};

use super::stack_overflow;
use tandem_engine::{EngineAnswer, ReplyHandle};

/// Time between two samples.
const SAMPLE_INTERVAL: Duration = Duration::from_secs(1);
/// How many consecutive samples must show the same hang before it is fixed, and before it is reported.
const SAMPLES_BEFORE_FIX: u32 = 2;
const SAMPLES_BEFORE_REPORT: u32 = 5;
/// The same for a stop that does not end. A busy machine delays a stop, too.
const SAMPLES_BEFORE_STOP_REPORT: u32 = 10;
/// Name of the runtime's debugging threads (.NET 5 and later).
const HELPER: &str = ".NET Debugger";
/// Name of the engine's thread, and of those that the debugging library starts from it.
pub(super) const ENGINE: &str = "coreclr-engine";
/// How often they wake between two samples while they try to stop the threads: every 20 ms,
/// less on a busy machine.
const MIN_TRIES: u64 = 5;

/// Cause of a hang, which decides the text for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HangCause {
    /// The runtime reports nothing, and every thread sleeps.
    Blocked,
    /// The runtime cannot suspend a thread.
    EndlessStop,
}

impl HangCause {
    /// A sentence without its first word, "the", and a hint.
    fn texts(self) -> [&'static str; 2] {
        match self {
            Self::Blocked => [
                "program's .NET runtime hangs: it is blocked and reports nothing to the debugger",
                "end the session and launch again; if it happens again, a newer patch of the runtime may \
                    help",
            ],
            Self::EndlessStop => [
                "program's .NET runtime cannot stop it: a busy thread reaches no point where the \
                    runtime can suspend it",
                "wait, or end the session and launch again; do not evaluate the code that the thread is in",
            ],
        }
    }
}

/// Shared by the engine's thread, the engine's handle, and the watchdog's thread.
#[derive(Default)]
pub(super) struct HangWatchdog {
    /// `None` while the runtime responds.
    hang: Mutex<Option<HangCause>>,
    /// Whether the engine's thread waits for the program to stop.
    stopping: Arc<AtomicBool>,
    over: AtomicBool,
    /// The request that the engine's thread is answering.
    current: Mutex<Option<ReplyHandle>>,
}

impl HangWatchdog {
    pub(super) fn new(stopping: Arc<AtomicBool>) -> Self {
        Self { stopping, ..Self::default() }
    }

    /// The error that answers requests while the runtime hangs.
    pub(super) fn hang_failure(&self) -> Option<Failure> {
        self.hang().map(|cause| {
            let [message, hint] = cause.texts();
            Failure::new(ErrorCode::EngineFailed, format!("the {message}")).hint(hint)
        })
    }

    /// Whether the engine's thread waits for the program to stop, which may take for ever in a busy program.
    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    fn hang(&self) -> Option<HangCause> {
        *self.hang.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the current hang and returns the former one.
    fn replace_hang(&self, hang: Option<HangCause>) -> Option<HangCause> {
        std::mem::replace(&mut *self.hang.lock().unwrap_or_else(PoisonError::into_inner), hang)
    }

    /// The engine's thread begins to answer a request.
    pub(super) fn begin(&self, reply: ReplyHandle) {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(reply);
    }

    /// The request, to be answered later elsewhere; `None` if the watchdog has answered already.
    pub(super) fn take(&self) -> Option<ReplyHandle> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Answers the request, unless the watchdog has answered already.
    pub(super) fn reply(&self, result: Result<EngineAnswer, Failure>) {
        if let Some(reply) = self.take() {
            reply.send(result);
        }
    }

    /// The engine's thread has ended.
    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// Watches the process until it or the session ends; `note` is for people.
    pub(super) fn watch(
        self: &Arc<Self>,
        pid: u32,
        runtime: ClrRuntime,
        note: impl Fn(&str) + Send + 'static,
    ) {
        let own = self.clone();
        let watch = move || own.observe(&Tasks::of(pid), &|| fix(pid, &runtime), &note);
        // Without it a hang goes unexplained; requests still have deadlines.
        if let Err(error) = std::thread::Builder::new().name("hang_watchdog".into()).spawn(watch) {
            tracing::warn!(%error, "a runtime that hangs will not be noticed");
        }
    }

    fn observe(&self, tasks: &Tasks, fix: &dyn Fn(), note: &dyn Fn(&str)) {
        let (mut before, mut found, mut stops) = (ActivitySample::take(tasks, None), 0, 0);
        while !self.over.load(Ordering::Relaxed) && tasks.folder.exists() {
            std::thread::sleep(SAMPLE_INTERVAL);
            let now = ActivitySample::take(tasks, Some(&before));
            let is_same = now.activity == before.activity;
            found = if now.is_hung_since(&before) { found + 1 } else { 0 };
            stops = if is_same && self.is_stopping() { stops + 1 } else { 0 };
            if !is_same && self.replace_hang(None).is_some() {
                note("The program's runtime has resumed.");
            } else if found == SAMPLES_BEFORE_FIX && now.tries > before.tries {
                fix();
            } else if found == SAMPLES_BEFORE_REPORT {
                self.report(HangCause::Blocked, &now, note);
            } else if stops == SAMPLES_BEFORE_STOP_REPORT {
                self.report(HangCause::EndlessStop, &now, note);
            }
            before = now;
        }
        self.replace_hang(None);
    }

    /// Reports a hang, unless one is reported already, and answers the current request.
    fn report(&self, cause: HangCause, sample: &ActivitySample, note: &dyn Fn(&str)) {
        if self.hang().is_some() {
            return;
        }
        tracing::warn!(?cause, ?sample, latest = activity::latest_call(), "the runtime hangs");
        self.replace_hang(Some(cause));
        let [message, hint] = cause.texts();
        note(&format!("The {message} ({}): {hint}.", ErrorCode::EngineFailed));
        if let Some(failure) = self.hang_failure() {
            self.reply(Err(failure));
        }
    }
}

fn fix(pid: u32, runtime: &ClrRuntime) {
    match dead_threads::end_wait(pid, runtime) {
        Ok(true) => tracing::warn!(pid, "the runtime waited for a thread that had ended, and does no more"),
        Ok(false) => {
            tracing::warn!(pid, "the runtime waits for threads that are stopped, for an unknown reason")
        }
        Err(error) => {
            tracing::warn!(pid, %error, "the runtime's wait for its threads could not be looked at")
        }
    }
}

/// A sample of the runtime's activity.
#[derive(Debug)]
struct ActivitySample {
    activity: Activity,
    /// How often the runtime's debugging threads have woken.
    tries: u64,
    /// Whether every thread sleeps; checked only if there may be a hang.
    is_asleep: bool,
}

impl ActivitySample {
    fn take(tasks: &Tasks, before: Option<&Self>) -> Self {
        let (activity, tries) = (Activity::now(), tasks.tries());
        let mut sample = Self { activity, tries, is_asleep: false };
        sample.is_asleep = before.is_some_and(|before| sample.is_silent_since(before)) && tasks.sleep();
        sample
    }

    /// Whether nothing was reported although something is in progress.
    fn is_silent_since(&self, before: &Self) -> bool {
        let trying = self.tries.saturating_sub(before.tries) >= MIN_TRIES;
        self.activity == before.activity && (self.activity.is_inside() || trying)
    }

    fn is_hung_since(&self, before: &Self) -> bool {
        self.is_asleep && self.is_silent_since(before)
    }
}

/// The threads of a process: proc(5), `/proc/pid/task`.
struct Tasks {
    folder: PathBuf,
    /// The runtime's debugging threads, which exist as long as the runtime.
    helpers: Vec<PathBuf>,
}

impl Tasks {
    fn of(pid: u32) -> Self {
        let folder = Path::new("/proc").join(pid.to_string()).join("task");
        let helpers = entries_of(&folder).filter(|task| is_named(task, HELPER)).collect();
        Self { folder, helpers }
    }

    /// How often the runtime's debugging threads have woken, in total.
    fn tries(&self) -> u64 {
        let woken = |task: &PathBuf| field(task, "voluntary_ctxt_switches:")?.parse::<u64>().ok();
        self.helpers.iter().filter_map(woken).sum()
    }

    /// Whether every thread sleeps, except those that try and the engine's: a program that computes, or waits
    /// for a disk, does not hang. Neither does one that has overflowed its stack, which is handled elsewhere.
    fn sleep(&self) -> bool {
        let sleeps = |task: PathBuf| field(&task, "State:").is_none_or(|state| state.starts_with('S'));
        let mut engine = entries_of(Path::new("/proc/self/task")).filter(|task| is_named(task, ENGINE));
        let others = || entries_of(&self.folder).filter(|task| !self.helpers.contains(task));
        others().all(sleeps)
            && engine.all(sleeps)
            && !others().any(|task| stack_overflow::sleeps_in_handler(&task))
    }
}

pub(super) fn entries_of(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

pub(super) fn is_named(task: &Path, name: &str) -> bool {
    std::fs::read_to_string(task.join("comm")).is_ok_and(|found| found.trim_end() == name)
}

/// A line of a thread's status.
fn field(task: &Path, name: &str) -> Option<String> {
    let status = std::fs::read_to_string(task.join("status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
}
