//! Keeping descriptors from the program that a process becomes: those it was given without asking, which have
//! no owner here and so no safe call. Not for our own, which are born with the mark.

/// A program that this process becomes later (execve(2)) gets its stdin, stdout and stderr, and no other open
/// descriptor.
///
/// # Errors
/// When the kernel does not list what is open.
pub fn keep_from_programs() -> std::io::Result<()> {
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let number = entry?.file_name().to_str().and_then(|name| name.parse::<libc::c_int>().ok());
        if let Some(number) = number.filter(|number| *number > libc::STDERR_FILENO) {
            // SAFETY: the descriptor is marked and stays open; one that has gone meanwhile is refused by the
            // kernel.
            unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
    }
    Ok(())
}
