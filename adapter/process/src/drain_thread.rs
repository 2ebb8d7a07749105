//! The thread that drains one stream of the program, until its end.
//!
//! Not here: the kept output ([`super::drain`]).

use std::fs::File;
use std::time::Duration;

use super::drain::{DrainStep, wait_readable};

/// How often to look whether a program has opened its terminal again.
const REOPEN_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Starts the thread that calls `drain` while `polled`, the pipe or terminal, has output. It ends with
/// the stream, or with this process: it holds nothing that must be released.
pub(super) fn spawn(
    name: &str,
    polled: File,
    mut drain: impl FnMut() -> DrainStep + Send + 'static,
) -> std::io::Result<()> {
    let work = move || {
        loop {
            wait_readable(&polled);
            match drain() {
                DrainStep::Open => {}
                DrainStep::HungUp | DrainStep::StillHungUp => std::thread::sleep(REOPEN_POLL_INTERVAL),
                DrainStep::Ended => break,
            }
        }
    };
    std::thread::Builder::new().name(name.into()).spawn(work).map(drop)
}
