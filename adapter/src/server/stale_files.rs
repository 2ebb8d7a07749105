//! Files that hosts left which were killed or crashed: in the folder of sessions, and the debugging library's
//! in the temporary folder.
//!
//! Not here: what a host removes itself when its session ends.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use cordebug::startup::RuntimeFiles;

/// How long what a killed host had started may take to end before its files are removed, too.
const DEATH_TIMEOUT: Duration = Duration::from_millis(500);
/// How long a host answers its first client before it looks for files: as long as the start of a program.
const SWEEP_DELAY: Duration = Duration::from_millis(300);
/// Maximum time for which the end of a session waits for the files of crashed hosts to be removed.
const SWEEP_TIMEOUT: Duration = Duration::from_secs(2);

/// Removes what crashed hosts left; returns the files of running runtimes.
fn sweep() -> RuntimeFiles {
    // Listing sweeps.
    drop(tandem_registry::all());
    cordebug::startup::sweep_stale()
}

/// Removes what a host left that this process had started and that has died, and a little later what belonged
/// to processes that were still ending.
pub(super) fn sweep_after_death() {
    drop(sweep());
    std::thread::sleep(DEATH_TIMEOUT);
    drop(sweep());
}

/// The removal of what crashed hosts left, on a thread that begins when the first client has its answers:
/// it takes the longer the more sessions live and the more the temporary folder holds.
pub(super) struct StaleFileSweep {
    /// Dropped when the removal is to begin at once.
    begin: Sender<()>,
    /// Gets the files of runtimes that lived.
    done: Receiver<RuntimeFiles>,
}

impl StaleFileSweep {
    /// Begins the removal in [`SWEEP_DELAY`].
    pub(super) fn begin() -> Self {
        let ((begin, wanted), (ended, done)) = (channel(), channel());
        let work = move || {
            // Nothing is sent: this waits until the sender is dropped, or for the delay.
            wanted.recv_timeout(SWEEP_DELAY).unwrap_or_default();
            // The receiver may have been dropped.
            drop(ended.send(sweep()));
        };
        if let Err(error) = std::thread::Builder::new().name("sweep".into()).spawn(work) {
            tracing::debug!(%error, "what crashed hosts left stays for the next one");
        }
        Self { begin, done }
    }

    /// Waits for the end of the removal, for [`SWEEP_TIMEOUT`] at most: a short session would end before it.
    pub(super) fn finish(self) {
        drop(self.begin);
        let living = self.done.recv_timeout(SWEEP_TIMEOUT).unwrap_or_default();
        // A process that was still exiting when this host started, and left its files, has ended by now.
        drop(living.sweep());
    }
}
