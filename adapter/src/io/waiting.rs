//! Does the program wait for input? On Linux `/proc` tells which system call each thread is blocked in.
//!
//! Not a guess at prompts: a thread must be inside `read` on the very pipe we write. Programs that poll are not seen.

use std::path::Path;

/// x86-64 system call numbers that read: `read`, `readv`, `preadv2` is not used on pipes.
const READING_CALLS: [&str; 2] = ["0", "19"];

/// Whether a thread of process `pid` is blocked reading the pipe with this inode. `false` where it cannot be known.
pub fn is_reading(pid: u32, pipe_inode: u64) -> bool {
    let process = Path::new("/proc").join(pid.to_string());
    let pipe = format!("pipe:[{pipe_inode}]");
    let Ok(tasks) = std::fs::read_dir(process.join("task")) else { return false };
    tasks.flatten().any(|task| {
        let Ok(call) = std::fs::read_to_string(task.path().join("syscall")) else { return false };
        let mut words = call.split_ascii_whitespace();
        let reading = words.next().is_some_and(|number| READING_CALLS.contains(&number));
        let descriptor =
            words.next().and_then(|word| u32::from_str_radix(word.trim_start_matches("0x"), 16).ok());
        // The runtime may have duplicated descriptor 0: what counts is the pipe behind it.
        match (reading, descriptor) {
            (true, Some(descriptor)) => std::fs::read_link(process.join("fd").join(descriptor.to_string()))
                .is_ok_and(|target| target.as_os_str() == pipe.as_str()),
            _ => false,
        }
    })
}
