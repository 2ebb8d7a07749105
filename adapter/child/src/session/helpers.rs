//! Helpers: processes beside a program that end by themselves when it has gone, and clean up after it (the
//! resource tracker of Python's `multiprocessing`, which removes its semaphores). They are killed with the
//! rest of the program only when they do not end in time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::super::debuggee::{self, DebuggeeProcess};
use super::super::profile::Profile;
use super::{AdapterSession, POLL_INTERVAL};

/// How long they may take. On a busy machine one that is debugged, too, needs a second.
const TIMEOUT: Duration = Duration::from_secs(3);

impl AdapterSession {
    /// Kills a program that has helpers, and waits until those have ended. A program without helpers
    /// is left to the caller.
    pub(super) async fn end_before_helpers(&self) {
        if !self.profile.has_helpers() {
            return;
        }
        let programs: Vec<u32> =
            self.live().as_ref().map(|live| live.processes().collect()).unwrap_or_default();
        let profile = self.profile.clone();
        // It looks at /proc.
        drop(tokio::task::spawn_blocking(move || end_before(&profile, &programs)).await);
    }
}

fn end_before(profile: &Arc<dyn Profile>, programs: &[u32]) {
    let is_helper = |pid: u32| profile.is_helper(&debuggee::command_line_of(pid));
    // A process that loses its parent gets another one, so all are recorded before any is killed.
    let mut all: Vec<u32> = programs.to_vec();
    let mut at = 0;
    while let Some(pid) = all.get(at).copied() {
        let below = debuggee::children_of(pid).into_iter().chain(debuggee::group_of(pid));
        let new: Vec<u32> = below.filter(|pid| !all.contains(pid)).collect();
        all.extend(new);
        at += 1;
    }
    let (helpers, others): (Vec<u32>, Vec<u32>) = all.into_iter().partition(|pid| is_helper(*pid));
    let helpers: Vec<DebuggeeProcess> = helpers.into_iter().filter_map(DebuggeeProcess::of).collect();
    if helpers.is_empty() {
        return;
    }
    others.into_iter().filter_map(DebuggeeProcess::of).for_each(|process| process.signal_alone(Signal::KILL));
    let deadline = Instant::now() + TIMEOUT;
    while helpers.iter().any(DebuggeeProcess::is_there) && Instant::now() < deadline {
        // Processes that were starting just now.
        let late = programs.iter().flat_map(|pid| debuggee::group_of(*pid)).filter(|pid| !is_helper(*pid));
        late.filter_map(DebuggeeProcess::of).for_each(|process| process.signal_alone(Signal::KILL));
        std::thread::sleep(POLL_INTERVAL);
    }
}
