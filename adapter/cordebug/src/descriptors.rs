//! Marks inherited file descriptors as close-on-exec. They have no owner in Rust, so no safe call exists.
//! Descriptors that Tandem opens are close-on-exec from the start.

/// Makes every open descriptor but stdin, stdout and stderr close-on-exec, so that a program that this
/// process becomes later (execve(2)) does not inherit it.
///
/// # Errors
/// When `/proc/self/fd` cannot be read.
pub fn keep_from_programs() -> std::io::Result<()> {
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let number = entry?.file_name().to_str().and_then(|name| name.parse::<libc::c_int>().ok());
        if let Some(number) = number.filter(|number| *number > libc::STDERR_FILENO) {
            // SAFETY: the descriptor is marked and stays open; the kernel refuses one that was closed in
            // between.
            unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
    }
    Ok(())
}
