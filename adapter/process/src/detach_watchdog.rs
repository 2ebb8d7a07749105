//! Watchdog of an adapter that has to detach from a program by itself when its host is killed: one that
//! takes too long is killed. Not here: the watchdog's process ([`tandem_process_tree::watchdog`]).

use std::io::Result;
use std::path::Path;
use std::time::Duration;

use tandem_process_tree::watchdog::TreeWatchdog;

/// Maximum time of an adapter to detach from a program after the end of its input.
const DETACH_TIMEOUT: Duration = Duration::from_secs(10);

/// Starts the watchdog of a process that leads its group. It acts only at this process's end. The caller
/// drops it when that process has ended.
///
/// # Errors
/// If it cannot be started.
pub(super) fn start(stub: &Path, leader: u32) -> Result<TreeWatchdog> {
    let mut watchdog = TreeWatchdog::start(stub)?;
    watchdog.add(leader, DETACH_TIMEOUT)?;
    Ok(watchdog)
}
