//! Files that hosts left which were killed or crashed: in the folder of sessions, and the debugging library's
//! in the temporary folder.
//!
//! Not here: what a host removes itself when its session ends.

use std::sync::mpsc::Receiver;
use std::time::Duration;

/// How long what a killed host had started may take to end before its files are removed, too.
const DEATH_TIMEOUT: Duration = Duration::from_millis(500);

/// Removes what crashed hosts left.
fn sweep() {
    // Listing sweeps.
    drop(tandem_registry::all());
    cordebug::startup::sweep_stale();
}

/// Removes what a host left that this process had started and that has died, and a little later what belonged
/// to processes that were still ending.
pub(super) fn sweep_after_death() {
    sweep();
    std::thread::sleep(DEATH_TIMEOUT);
    sweep();
}

/// Removes what crashed hosts left. The first client does not wait for it: it takes the longer the more
/// sessions live and the more the temporary folder holds. The receiver gets a message when it is done.
pub(super) fn begin_sweep() -> Receiver<()> {
    let (done, swept) = std::sync::mpsc::sync_channel(1);
    let work = move || {
        sweep();
        // The receiver may have been dropped.
        done.send(()).unwrap_or_default();
    };
    if let Err(error) = std::thread::Builder::new().name("sweep".into()).spawn(work) {
        tracing::debug!(%error, "what crashed hosts left stays for the next one");
    }
    swept
}
