//! Ignores a signal, for which there is no safe call. tokio handles the other signals.

/// Ignores SIGTTOU: a process outside the foreground of a terminal may then still set the foreground
/// (tcsetpgrp(3)). Programs that are started afterwards inherit it.
pub fn ignore_background_writes() {
    // SAFETY: no handler is installed, so no code can run at a wrong moment.
    unsafe { libc::signal(libc::SIGTTOU, libc::SIG_IGN) };
}
