//! A process that an adapter started and reported: identified by pid and start time, so that no other process
//! is ever hit. And what the kernel says of processes (proc(5)).

use std::path::Path;

use rustix::process::{Pid, Signal, getpgid, kill_process, kill_process_group};

use tandem_process::ExitInfo;

/// Positions of the fields 3, 4, 6, 20, 22 and 52 of proc_pid_stat(5) in the result of [`stat_of`].
const STATE: usize = 0;
const PARENT: usize = 1;
const SESSION: usize = 3;
const THREADS: usize = 17;
const START_TIME: usize = 19;
const EXIT_CODE: usize = 49;
/// Generations of processes that are followed upwards.
const MAX_ANCESTORS: usize = 200;

/// The program as the kernel knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DebuggeeProcess {
    pid: u32,
    started: String,
}

impl DebuggeeProcess {
    /// The process with this id now; `None` when there is none.
    pub(super) fn of(pid: u32) -> Option<Self> {
        Some(Self { pid, started: start_time(pid)? })
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether it has not ended.
    pub(super) fn is_there(&self) -> bool {
        start_time(self.pid).as_ref() == Some(&self.started)
    }

    /// Its exit code and the signal that ended it, from when all of its threads have ended until it is
    /// reaped.
    pub(super) fn exit(&self) -> Option<ExitInfo> {
        let fields = stat_of(self.pid)?;
        let field = |at: usize| fields.get(at).map(String::as_str);
        // A first thread that ends before the others is a zombie as well.
        let has_ended = field(STATE) == Some("Z") && field(THREADS) == Some("1");
        if !has_ended || field(START_TIME) != Some(&self.started) {
            return None;
        }
        // As waitpid(2) has it.
        let status: i32 = field(EXIT_CODE)?.parse().ok()?;
        Some(match status & 0x7f {
            0 => ExitInfo { code: status >> 8 & 0xff, signal: None },
            signal => ExitInfo { code: 128 + signal, signal: Some(signal) },
        })
    }

    /// Sends a signal to the process, and to its group if it leads one. It is not an error if the
    /// process has already ended.
    pub(super) fn signal(&self, signal: Signal) {
        let Some(pid) = self.reached() else { return };
        // Only "no such process" can happen to a process of our own user.
        if getpgid(Some(pid)) == Ok(pid) {
            kill_process_group(pid, signal).unwrap_or_default();
        } else {
            kill_process(pid, signal).unwrap_or_default();
        }
    }

    /// Sends a signal to this process only.
    pub(super) fn signal_alone(&self, signal: Signal) {
        if let Some(pid) = self.reached() {
            kill_process(pid, signal).unwrap_or_default();
        }
    }

    /// Whether it has a handler for this signal (proc(5), `SigCgt`).
    pub(super) fn handles(&self, signal: Signal) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid)).unwrap_or_default();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = caught.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0);
        caught & (1 << (signal.as_raw() - 1)) != 0
    }

    fn reached(&self) -> Option<Pid> {
        i32::try_from(self.pid).ok().and_then(Pid::from_raw).filter(|_| self.is_there())
    }
}

/// The processes of a group that have not ended.
pub(super) fn group_of(leader: u32) -> Vec<u32> {
    processes_where(|state, _, group| group == leader && state != "Z")
}

/// Whether a debugger holds this process (`TracerPid` of proc_pid_status(5)).
pub(super) fn is_traced(pid: u64) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    tracer.is_some_and(|tracer| tracer.trim() != "0")
}

/// Whether all threads of a process sleep.
pub(super) fn is_asleep(pid: u32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let states = threads.map(|thread| {
        let stat = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('S'))
    });
    let states: Vec<bool> = states.collect();
    !states.is_empty() && states.into_iter().all(|asleep| asleep)
}

/// The processes that a process has started and that still run.
pub(super) fn children_of(parent: u32) -> Vec<u32> {
    processes_where(|_, of, _| of == parent)
}

/// The processes whose stdin has this name in `/proc`; none when it has none.
pub(super) fn with_stdin(name: &Path) -> Vec<u32> {
    let has = |pid: &u32| std::fs::read_link(format!("/proc/{pid}/fd/0")).is_ok_and(|stdin| stdin == name);
    let all =
        if name.as_os_str().is_empty() { Vec::new() } else { processes_where(|state, _, _| state != "Z") };
    all.into_iter().filter(has).collect()
}

/// The processes with such a state, parent and group.
fn processes_where(matches: impl Fn(&str, u32, u32) -> bool) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|folder| folder.file_name().to_str()?.parse().ok());
    let is_wanted = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // Behind the name, which may have anything in it.
        let (_, rest) = stat.rsplit_once(')')?;
        let mut words = rest.split_ascii_whitespace();
        let (state, parent, group) =
            (words.next()?, words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some(matches(state, parent, group))
    };
    pids.filter(|pid| is_wanted(pid).unwrap_or(false)).collect()
}

/// Identifies the program that a process runs, to see later whether it has executed another one (`auxv` of
/// proc(5): the program's place in memory). Empty if it is not readable, or the process has ended.
pub(super) fn image_of(pid: u32) -> Vec<u8> {
    std::fs::read(format!("/proc/{pid}/auxv")).unwrap_or_default()
}

/// Name of the program that a process runs, for users.
pub(super) fn name_of(pid: u32) -> String {
    let program = std::fs::read_link(format!("/proc/{pid}/exe"));
    program.map(|program| program.display().to_string()).unwrap_or_default()
}

/// The command line of a process, beginning with the program's name; empty when the process has ended.
pub(super) fn command_line_of(pid: u32) -> Vec<String> {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = words.strip_suffix(b"\0").unwrap_or(&words);
    words.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// The inodes of the sockets that a process has open.
pub(super) fn sockets_of(pid: u32) -> impl Iterator<Item = u64> {
    socket_numbers(pid).map(|(inode, _)| inode)
}

/// The inodes of the sockets that a process has open, and their numbers in it.
pub(super) fn socket_numbers(pid: u32) -> impl Iterator<Item = (u64, i32)> {
    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    open.filter_map(|entry| {
        let link = std::fs::read_link(entry.path()).ok()?;
        let inode = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()?;
        Some((inode, entry.file_name().to_str()?.parse().ok()?))
    })
}

/// The processes that have this socket open. Looks at every process: blocks for some milliseconds.
pub(super) fn with_socket(inode: u64) -> impl Iterator<Item = u32> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(move |pid| sockets_of(*pid).any(|open| open == inode))
}

/// Whether a process is one of `origins`, or was started below one: it has one as ancestor or, where its
/// parent has ended, is in the session that one leads (credentials(7)).
pub(super) fn descends_from(pid: u32, origins: &[u32]) -> bool {
    let number = |pid: u32, field: usize| stat_of(pid)?.get(field)?.parse::<u32>().ok();
    let parent = |pid: &u32| number(*pid, PARENT).filter(|parent| *parent > 0);
    let mut line = std::iter::successors(Some(pid), parent).take(MAX_ANCESTORS);
    line.any(|pid| origins.contains(&pid))
        || number(pid, SESSION).is_some_and(|session| origins.contains(&session))
}

fn start_time(pid: u32) -> Option<String> {
    stat_of(pid)?.into_iter().nth(START_TIME)
}

/// The fields of `/proc/PID/stat` from the third on. The second is the name in brackets, which
/// may contain anything.
fn stat_of(pid: u32) -> Option<Vec<String>> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(stat.rsplit_once(')')?.1.split_ascii_whitespace().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_process_is_found_by_a_socket_it_has_open() {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let inode = rustix::fs::fstat(&listener).unwrap().st_ino;
        assert_eq!(with_socket(inode).next(), Some(std::process::id()));
        assert_eq!(command_line_of(std::process::id()), std::env::args().collect::<Vec<_>>());
        assert!(command_line_of(u32::MAX).concat().is_empty());
    }

    #[test]
    fn a_process_descends_from_what_started_it_and_from_nothing_else() {
        use std::io::{BufRead, BufReader};
        use std::os::unix::process::CommandExt;

        let start = |command: &mut std::process::Command| {
            command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).spawn().unwrap()
        };
        // The first child has lost its parent; the second one leads a session.
        let mut shell = std::process::Command::new("setsid");
        let mut shell = start(shell.args([
            "sh",
            "-c",
            "sh -c 'sleep 60 & echo $!'; setsid sh -c 'echo $$; exec sleep 60' & read line",
        ]));
        let mut other = start(std::process::Command::new("sleep").arg("60").process_group(0));
        let mut lines = BufReader::new(shell.stdout.take().unwrap()).lines();
        let mut child = || lines.next().unwrap().unwrap().parse::<u32>().unwrap();
        let (orphan, leader) = (child(), child());
        let own = std::process::id();
        for (pid, origins, descends) in [
            (orphan, vec![shell.id()], true),
            (leader, vec![shell.id()], true),
            (leader, vec![other.id(), own], true),
            (shell.id(), vec![shell.id()], true),
            (other.id(), vec![own], true),
            (other.id(), vec![shell.id()], false),
            (orphan, vec![leader, other.id()], false),
            (own, vec![shell.id(), other.id()], false),
            (1, vec![own], false),
            (u32::MAX, vec![own], false),
            (own, Vec::new(), false),
        ] {
            assert_eq!(descends_from(pid, &origins), descends, "{pid} {origins:?}");
        }
        for pid in [orphan, leader] {
            DebuggeeProcess::of(pid).unwrap().signal_alone(Signal::KILL);
        }
        for child in [&mut shell, &mut other] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    #[test]
    fn a_process_that_has_ended_has_an_exit_code_until_it_is_reaped() {
        let run = |script: &str| {
            let mut shell = std::process::Command::new("sh");
            shell.args(["-c", script]).stdin(std::process::Stdio::piped()).spawn().unwrap()
        };
        for (script, code) in
            [("read line; exit 7", 7), ("read line; exit 0", 0), ("read line; kill -9 $$", 137)]
        {
            let mut child = run(script);
            let process = DebuggeeProcess::of(child.id()).unwrap();
            assert_eq!(process.exit(), None, "{script}");
            drop(child.stdin.take());
            let deadline = Instant::now() + Duration::from_secs(30);
            while process.exit().is_none() {
                assert!(Instant::now() < deadline, "{script}: no exit code");
                std::thread::yield_now();
            }
            assert_eq!(process.exit().map(|exit| exit.code), Some(code), "{script}");
            assert_eq!(DebuggeeProcess { started: "1".into(), ..process.clone() }.exit(), None);
            child.wait().unwrap();
            assert_eq!(process.exit(), None, "{script}");
        }
    }

    #[test]
    fn a_process_that_becomes_another_program_is_the_same_process_with_another_image() {
        let mut shell = std::process::Command::new("sh");
        let mut child = shell
            .args(["-c", "read line; exec sleep 60"])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let deadline = Instant::now() + Duration::from_secs(30);
        // The shell itself has to start.
        while command_line_of(child.id()).first().is_none_or(|word| word != "sh") {
            assert!(Instant::now() < deadline, "never a shell");
        }
        let (process, image) = (DebuggeeProcess::of(child.id()).unwrap(), image_of(child.id()));
        assert!(!image.is_empty());
        assert_eq!(image_of(child.id()), image);
        drop(child.stdin.take());
        while image_of(child.id()) == image {
            assert!(Instant::now() < deadline, "still the shell");
            std::thread::yield_now();
        }
        assert!(process.is_there());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(image_of(child.id()).is_empty());
    }

    #[test]
    fn a_process_is_known_by_when_it_started() {
        let own = DebuggeeProcess::of(std::process::id()).unwrap();
        assert_eq!(DebuggeeProcess::of(std::process::id()).unwrap(), own);
        // A reused pid is another process, which must not get a signal.
        DebuggeeProcess { started: "1".into(), ..own }.signal(Signal::KILL);
    }
}
