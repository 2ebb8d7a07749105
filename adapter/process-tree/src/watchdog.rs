//! Watchdog: a process that outlives its host, and then ends the process trees that the host has named and
//! not ended. It allows each some time to end by itself, and kills it then.
//!
//! Not for debugged programs: the kernel kills those with their host.

use std::collections::BTreeMap;
use std::io::{BufRead, Result, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, getppid, kill_process_group, pidfd_open, test_kill_process};

use super::descendants::Descendants;

/// The argument that makes `tandem-dap` or `tandem-mcp` the watchdog.
pub const SUBCOMMAND: &str = "watchdog";
/// How long the end of all processes of a killed tree may take.
const END_TIMEOUT: Duration = Duration::from_secs(3);
/// How long the end of a host may take after the kernel has closed its files.
const HOST_END_TIMEOUT: Duration = Duration::from_secs(1);

/// The host's side. Dropping it ends the watchdog as the host's end does: first remove each process that may
/// continue.
#[derive(Debug)]
pub struct TreeWatchdog(Child);

impl TreeWatchdog {
    /// Starts one. `program` calls [`run`] when its argument is [`SUBCOMMAND`].
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(program: &Path) -> Result<Self> {
        use std::os::unix::process::CommandExt;
        let mut command = Command::new(program);
        // It keeps no folder in use. Signals to the host's group are not meant for it.
        command.arg(SUBCOMMAND).current_dir("/").process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self(command.spawn()?))
    }

    /// Adds a process that leads its group: it and those below it end at most `grace` after this process.
    ///
    /// # Errors
    /// If the watchdog has ended.
    pub fn add(&mut self, leader: u32, grace: Duration) -> Result<()> {
        self.send(&format!("+{leader} {}\n", grace.as_millis()))
    }

    /// Removes a process that has ended.
    ///
    /// # Errors
    /// If the watchdog has ended.
    pub fn remove(&mut self, leader: u32) -> Result<()> {
        self.send(&format!("-{leader}\n"))
    }

    fn send(&mut self, line: &str) -> Result<()> {
        match &mut self.0.stdin {
            Some(stdin) => stdin.write_all(line.as_bytes()),
            None => Err(Errno::PIPE.into()),
        }
    }
}

impl Drop for TreeWatchdog {
    fn drop(&mut self) {
        // Waiting closes its stdin.
        drop(self.0.wait());
    }
}

/// A process of the host.
struct Tree {
    /// `None`: it had ended before the watchdog saw it.
    leader: Option<OwnedFd>,
    grace: Duration,
}

impl Tree {
    fn of(leader: u32, grace: Duration) -> Self {
        let leader = process(leader).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        Self { leader, grace }
    }

    /// Whether its leader ends within this time.
    fn ends_within(&self, limit: Duration) -> bool {
        self.leader.as_ref().is_none_or(|leader| ends_within(leader, limit))
    }
}

/// Whether a process ends within this time.
fn ends_within(process: &OwnedFd, limit: Duration) -> bool {
    let until = Instant::now() + limit;
    loop {
        let left = Timespec::try_from(until.saturating_duration_since(Instant::now())).ok();
        match poll(&mut [PollFd::new(process, PollFlags::IN)], left.as_ref()) {
            Err(Errno::INTR) => {}
            ended => return ended.is_ok_and(|count| count > 0),
        }
    }
}

fn process(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

/// Runs the watchdog: reads what the host names until the host has ended, and ends what is left.
///
/// # Errors
/// When the host's lines cannot be read.
pub fn run() -> Result<()> {
    let host = getppid().and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    let mut trees = BTreeMap::new();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        if let Some((leader, grace)) = line.strip_prefix('+').and_then(|rest| rest.split_once(' ')) {
            if let (Ok(leader), Ok(grace)) = (leader.parse(), grace.parse()) {
                trees.insert(leader, Tree::of(leader, Duration::from_millis(grace)));
            }
        } else if let Some(leader) = line.strip_prefix('-').and_then(|rest| rest.parse::<u32>().ok()) {
            trees.remove(&leader);
        }
    }
    end_all(trees, host.as_ref());
    Ok(())
}

/// Ends the trees of a host that ends, those with the least time first.
fn end_all(trees: BTreeMap<u32, Tree>, host: Option<&OwnedFd>) {
    let begin = Instant::now();
    let mut trees: Vec<(u32, Tree)> = trees.into_iter().collect();
    trees.sort_by_key(|(_, tree)| tree.grace);
    for (leader, tree) in trees {
        let ended = tree.ends_within(tree.grace.saturating_sub(begin.elapsed()));
        match process(leader) {
            // A leader that had time to end decided itself which of its children continue.
            Some(group) if !ended => {
                // At a host's end, the kernel sends SIGHUP to stopped groups that it orphans (`_exit`(3p)).
                // A leader that ends of it leaves children whose parent is no longer known.
                host.map(|host| ends_within(host, HOST_END_TIMEOUT));
                end_tree(leader, group);
            }
            // While its group has members, no other process gets the number.
            Some(group) if tree.grace.is_zero() && test_kill_process(group).is_err() => {
                kill_process_group(group, Signal::KILL).unwrap_or_default();
            }
            _ => {}
        }
    }
}

/// Kills the processes of a tree whose leader lives, so that its number is still that of its group.
fn end_tree(leader: u32, group: Pid) {
    // So that it starts no other meanwhile. An error means that none is left.
    kill_process_group(group, Signal::STOP).unwrap_or_default();
    let below = Descendants::of_running(leader);
    kill_process_group(group, Signal::KILL).unwrap_or_default();
    if let Ok(mut below) = below {
        below.end_all(END_TIMEOUT);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;

    use super::*;

    /// A process in a separate group, and the lines that it prints.
    fn shell(script: &str) -> (Child, std::io::Lines<std::io::BufReader<std::process::ChildStdout>>) {
        let mut command = Command::new("sh");
        command.args(["-c", script]).process_group(0).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
        (child, lines)
    }

    fn is_running(pid: u32) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
    }

    fn wait_until_ended(pid: u32) {
        let until = Instant::now() + Duration::from_secs(20);
        while is_running(pid) {
            assert!(Instant::now() < until, "process {pid} is left");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_tree_ends_with_what_left_its_group_and_another_continues() {
        let (mut leader, mut lines) = shell("sleep 1000 & setsid sleep 1000 & echo $$; wait");
        let (mut other, _) = shell("exec sleep 1000");
        lines.next().unwrap().unwrap();
        let mut below = Descendants::of_running(leader.id()).unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        while below.count() < 2 {
            assert!(Instant::now() < until, "its children were not found");
            below.find_new();
        }
        end_all([(leader.id(), Tree::of(leader.id(), Duration::ZERO))].into(), None);
        leader.wait().unwrap();
        while below.count() > 0 {
            assert!(Instant::now() < until, "children are left");
            below.wait(Duration::from_millis(5));
        }
        assert!(is_running(other.id()));
        other.kill().unwrap();
        other.wait().unwrap();
    }

    #[test]
    fn what_a_leader_that_has_ended_left_in_its_group_ends() {
        let (mut leader, mut lines) = shell("sleep 1000 & echo $!");
        let left = lines.next().unwrap().unwrap().parse().unwrap();
        let tree = Tree::of(leader.id(), Duration::ZERO);
        leader.wait().unwrap();
        end_all([(leader.id(), tree)].into(), None);
        wait_until_ended(left);
    }

    #[test]
    fn a_process_that_ends_in_its_time_is_not_killed() {
        let (mut leader, _lines) = shell("sleep 0.2; exit 7");
        end_all([(leader.id(), Tree::of(leader.id(), Duration::from_secs(20)))].into(), None);
        assert_eq!(leader.wait().unwrap().code(), Some(7));
    }

    #[test]
    fn a_tree_is_stopped_after_the_end_of_its_host() {
        let (mut host, _) = shell("sleep 0.2");
        let handle = pidfd_open(process(host.id()).unwrap(), PidfdFlags::empty()).unwrap();
        let (mut leader, _lines) = shell("exec sleep 1000");
        end_all([(leader.id(), Tree::of(leader.id(), Duration::ZERO))].into(), Some(&handle));
        assert!(host.try_wait().unwrap().is_some());
        assert!(!leader.wait().unwrap().success());
    }
}
