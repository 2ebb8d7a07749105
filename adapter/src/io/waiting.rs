//! Does the program wait for input? On Linux `/proc` tells which system call each thread is blocked in.
//!
//! Not a guess at prompts: a thread must be inside `read` on the very pipe we write. Programs that poll are not seen.

use std::collections::VecDeque;
use std::path::Path;

/// x86-64 system call numbers that read: `read`, `readv`, `preadv2` is not used on pipes.
const READING_CALLS: [&str; 2] = ["0", "19"];

/// How many processes below the program are looked at.
const FAMILY: usize = 64;

/// Whether a thread of process `pid`, or of one below it, is blocked reading what `/proc` calls `name`. `false` where it
/// cannot be known.
pub fn is_reading(pid: u32, name: &Path) -> bool {
    let mut family = VecDeque::from([pid.to_string()]);
    let mut seen = 0;
    while let Some(process) = family.pop_front() {
        if process_is_reading(&process, name) {
            return true;
        }
        seen += 1;
        let tasks = std::fs::read_dir(Path::new("/proc").join(process).join("task"));
        for task in tasks.into_iter().flatten().flatten() {
            let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            let room = FAMILY.saturating_sub(seen + family.len());
            family.extend(children.split_ascii_whitespace().take(room).map(str::to_owned));
        }
    }
    false
}

fn process_is_reading(pid: &str, name: &Path) -> bool {
    let process = Path::new("/proc").join(pid);
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
                .is_ok_and(|target| target == name),
            _ => false,
        }
    })
}
