//! Ignoring a signal, for which there is no safe call. Not for handling any: tokio does that.

/// Lets SIGTTOU pass by: who is not in the foreground of a terminal may then still say who is (tcsetpgrp(3)). Programs that
/// are started afterwards inherit it.
pub fn ignore_background_writes() {
    // SAFETY: no handler is installed, so nothing can run at a bad moment.
    unsafe { libc::signal(libc::SIGTTOU, libc::SIG_IGN) };
}
