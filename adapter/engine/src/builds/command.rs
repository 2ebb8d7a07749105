//! A command that a build consists of, or that answers a question: run in its own process group, read line by
//! line, and ended when it takes too long or is cancelled, or when this process is killed. Not here: the
//! meaning of the lines (the caller), and reports to clients ([`super`]).

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};
use tandem_wire::Failure;

use tandem_process::child::signal_group;
use tandem_process_tree::command_guard::CommandGuard;

/// How long a command may take that answers with a line: a cold interpreter on a busy machine takes seconds.
const QUERY_TIMEOUT: Duration = Duration::from_secs(20);
/// Time that an interrupted command has to end by itself.
const INTERRUPT_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a query may run without a watchdog, which costs a process.
const UNGUARDED_TIME: Duration = Duration::from_secs(1);
/// Interval between two checks of a command without output.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The first such interval after a command has closed its outputs, which most do as they end. It doubles.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(1);
/// Most bytes of a line; a longer one is split.
const MAX_LINE_LEN: u64 = 64 << 10;
/// Lines in the queue; the command waits when there are more.
const MAX_WAITING_LINES: usize = 1024;

/// Runs a command without input to its end. `each` gets the lines of both its outputs as they come; bytes
/// that are not UTF-8 are replaced.
///
/// # Errors
/// `CANCELLED` when `give_up` holds meanwhile; what `failed` makes of the reason when it cannot be run, or
/// takes longer than `limit`.
pub fn run(
    mut command: Command,
    limit: Duration,
    give_up: &dyn Fn() -> bool,
    failed: &dyn Fn(String) -> Failure,
    each: &mut dyn FnMut(&str),
) -> Result<ExitStatus, Failure> {
    command.stderr(Stdio::piped());
    follow(command, limit, give_up, failed, each)
}

/// The first line that a command prints to stdout, such as a version; `None` when there is none
/// within [`QUERY_TIMEOUT`].
pub fn first_line(mut command: Command) -> Option<String> {
    let mut first = None;
    command.stderr(Stdio::null());
    let followed =
        follow(command, QUERY_TIMEOUT, &|| false, &|reason| Failure::invalid(reason), &mut |line| {
            first.get_or_insert_with(|| line.trim().to_owned());
        });
    followed.ok().and(first)
}

/// Whether a command ends with success within [`QUERY_TIMEOUT`].
pub fn succeeds(mut command: Command) -> bool {
    command.stderr(Stdio::null());
    follow(command, QUERY_TIMEOUT, &|| false, &|reason| Failure::invalid(reason), &mut |_| {})
        .is_ok_and(|status| status.success())
}

fn follow(
    mut command: Command,
    limit: Duration,
    give_up: &dyn Fn() -> bool,
    failed: &dyn Fn(String) -> Failure,
    each: &mut dyn FnMut(&str),
) -> Result<ExitStatus, Failure> {
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    // A query ends at once; only one that takes long needs a watchdog.
    let mut guard = (limit > QUERY_TIMEOUT).then(CommandGuard::new);
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    if let Some(guard) = &mut guard {
        guard.watch(child.id());
    }
    let begin = Instant::now();
    let read = match lines_of(&mut child) {
        Ok(read) => read,
        Err(error) => {
            end(&mut child);
            return Err(failed(error.to_string()));
        }
    };
    let deadline = Instant::now() + limit;
    let mut pause = MIN_POLL_INTERVAL;
    loop {
        match read.recv_timeout(POLL_INTERVAL) {
            Ok(line) => each(&line),
            Err(RecvTimeoutError::Timeout) => {}
            // It may close its outputs long before it ends.
            Err(RecvTimeoutError::Disconnected) if is_running(&child) => {
                std::thread::sleep(pause);
                pause = (pause * 2).min(POLL_INTERVAL);
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if guard.is_none() && begin.elapsed() > UNGUARDED_TIME {
            guard.insert(CommandGuard::new()).watch(child.id());
        }
        let late = Instant::now() > deadline;
        if late || give_up() {
            end(&mut child);
            return Err(if late { failed("it took too long".into()) } else { Failure::cancelled() });
        }
    }
    child.wait().map_err(|error| failed(error.to_string()))
}

/// Interrupts the process group, as a terminal does, so that a compiler removes its temporary files, and
/// kills what remains of it.
fn end(child: &mut Child) {
    let until = Instant::now() + INTERRUPT_TIMEOUT;
    signal_group(child.id(), Signal::INT);
    while Instant::now() < until && is_running(child) {
        std::thread::sleep(POLL_INTERVAL);
    }
    // It is not reaped yet, so no other process can have its id.
    signal_group(child.id(), Signal::KILL);
    drop(child.wait());
}

/// Whether it has not ended. It is not reaped.
fn is_running(child: &Child) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(Pid::from_child(child)), options).is_ok_and(|status| status.is_none())
}

/// The lines of both outputs; disconnected at the end of both.
fn lines_of(child: &mut Child) -> std::io::Result<Receiver<String>> {
    let (lines, read) = sync_channel(MAX_WAITING_LINES);
    let stdout = child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>);
    let stderr = child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>);
    for pipe in [stdout, stderr].into_iter().flatten() {
        let lines = lines.clone();
        let copy = move || {
            let mut pipe = BufReader::new(pipe);
            let mut line = Vec::new();
            while pipe.by_ref().take(MAX_LINE_LEN).read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
                let text = String::from_utf8_lossy(&line);
                if lines.send(text.trim_end_matches(['\n', '\r']).to_owned()).is_err() {
                    break;
                }
                line.clear();
            }
        };
        std::thread::Builder::new().name("build-output".into()).spawn(copy)?;
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use tandem_process_tree::command_guard;

    use super::*;

    fn run_script(script: &str) -> (Result<bool, String>, Vec<String>) {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let mut lines = Vec::new();
        let failed = |reason: String| Failure::invalid(reason);
        let each = &mut |line: &str| lines.push(line.to_owned());
        let status = run(command, Duration::from_secs(30), &|| false, &failed, each);
        (status.map(|status| status.success()).map_err(|failure| failure.message), lines)
    }

    #[test]
    fn long_or_binary_lines_are_read_and_the_command_continues() {
        let (status, lines) =
            run_script("printf 'a\\377b\\r\\n'; head -c 100000 /dev/zero | tr '\\0' x; echo; echo last");
        assert_eq!(status, Ok(true));
        let lengths: Vec<usize> = lines.iter().map(|line| line.chars().count()).collect();
        assert_eq!(lengths, [3, 65_536, 100_000 - 65_536, 4]);
        assert_eq!(run_script("echo no >&2; exit 3"), (Ok(false), vec!["no".into()]));
    }

    #[test]
    fn a_question_is_answered_by_the_first_line_of_stdout() {
        let first_line_of = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            first_line(command)
        };
        assert_eq!(
            first_line_of("echo careful >&2; echo ' v22.1.0'; echo more; exit 1").as_deref(),
            Some("v22.1.0")
        );
        assert_eq!(first_line_of("exit 0"), None);
        assert_eq!(first_line(Command::new("/nowhere/at/all")), None);
    }

    #[test]
    fn a_query_is_guarded_after_a_second_also_without_its_outputs() {
        for script in ["echo $$; exec sleep 30", "echo $$; exec sleep 30 >&- 2>&-"] {
            let mut command = Command::new("sh");
            command.args(["-c", script]).stderr(Stdio::null());
            let pid = std::cell::Cell::new(None);
            let begin = Instant::now();
            let is_guarded = || pid.get().is_some_and(command_guard::is_watched);
            let failed = |reason: String| Failure::invalid(reason);
            let failure = follow(command, QUERY_TIMEOUT, &is_guarded, &failed, &mut |line| {
                pid.set(line.parse().ok());
            })
            .unwrap_err();
            assert_eq!(failure.code, Failure::cancelled().code, "{script}: {failure:?}");
            assert!(begin.elapsed() >= UNGUARDED_TIME, "{script}");
            assert!(!is_guarded(), "{script}: its guard is left");
        }
    }

    #[test]
    fn slow_or_cancelled_command_ends_with_its_children() {
        let failed = |reason: String| Failure::invalid(reason);
        for given_up in [false, true] {
            let mut command = Command::new("sh");
            command.args(["-c", "sleep 1000 & echo $!; wait"]);
            let mut pid = None;
            let limit = if given_up { Duration::from_secs(30) } else { Duration::from_millis(300) };
            let seen = std::cell::Cell::new(false);
            let failure = run(command, limit, &|| given_up && seen.get(), &failed, &mut |line| {
                pid = line.parse::<u32>().ok();
                seen.set(true);
            })
            .unwrap_err();
            assert_eq!(failure.message.contains("too long"), !given_up, "{failure:?}");
            let stat = format!("/proc/{}/stat", pid.unwrap());
            let lives = |stat: &str| std::fs::read_to_string(stat).is_ok_and(|stat| !stat.contains(") Z"));
            // The kernel takes a moment to end it.
            let deadline = Instant::now() + Duration::from_secs(10);
            while lives(&stat) {
                assert!(Instant::now() < deadline, "{stat} lives");
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
    #[test]
    fn a_command_that_is_given_up_removes_its_temporary_files_if_it_does_so_in_time() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("temporary");
        let ended_by = |trap: &str| {
            let mut command = Command::new("sh");
            command.args([
                "-c",
                &format!("trap '{trap}' INT; touch temporary; echo; while :; do sleep 0.1; done"),
            ]);
            command.current_dir(folder.path());
            let (failed, seen) = (|reason: String| Failure::invalid(reason), std::cell::Cell::new(false));
            let ended =
                run(command, Duration::from_secs(30), &|| seen.get(), &failed, &mut |_| seen.set(true));
            (ended.unwrap_err().code, file.exists())
        };
        let cancelled = Failure::cancelled().code;
        assert_eq!(ended_by("rm temporary; exit 1"), (cancelled, false));
        assert_eq!(ended_by(""), (cancelled, true));
    }
}
