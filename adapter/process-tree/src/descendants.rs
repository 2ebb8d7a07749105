//! The processes below a program, found within a tick of their beginning: the kernel says which process
//! number it gave out last (proc(5), `/proc/loadavg`), so a look costs one small read until a process or
//! thread begins.
//!
//! A process is below the program if its parent is, or the leader of its process group; so what a shell
//! leaves in the background counts. A process that leaves both within a tick of its beginning (a daemon that
//! forks twice) is missed. Not here: what the processes are.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// Members at a time; each costs a descriptor. Further processes and their children are not seen.
const MAX_MEMBERS: usize = 256;
/// If more process ids than this were assigned between two checks, they are not tried one by one.
const MAX_GAP: usize = 4096;
/// The largest process id plus one, where the kernel does not report it.
const DEFAULT_PID_LIMIT: u32 = 32_768;
/// The first process id after that, when the kernel counts again (`RESERVED_PIDS`, kernel/pid.c).
const FIRST_AGAIN: u32 = 300;
/// How long the kernel may take to make a process or thread to whose number it has counted.
/// Preempted on a busy machine, it takes tens of milliseconds.
const CHILD_START_TIMEOUT: Duration = Duration::from_secs(1);
/// How long it usually takes; later each of so many looks is enough.
const USUAL_CHILD_START_TIME: Duration = Duration::from_millis(20);
const SLOW_POLL_DIVISOR: u32 = 8;
/// Numbers that are waited for at a time.
const MAX_UNKNOWN: usize = 256;
/// Processes that are remembered in case they are below one that is not known yet.
const MAX_UNRELATED: usize = 256;
/// How often a killed tree is searched for processes that it has started meanwhile.
const MAX_ROUNDS: usize = 5;
/// How long to wait for the end of a killed tree before it is searched again.
const END_POLL_INTERVAL: Duration = Duration::from_millis(2);
/// Kernel flag of a process that has forked and not executed a program yet (`PF_FORKNOEXEC`, linux/sched.h).
const FORKED: u64 = 0x40;

/// A program and the processes below it.
#[derive(Debug)]
pub struct Descendants {
    root: u32,
    /// The program's group when it leads none: others are in it, too.
    foreign: u32,
    members: BTreeMap<u32, GroupMember>,
    /// The process id that the kernel had assigned last at the last check; 0 where the
    /// kernel does not report it.
    last: u32,
    /// The largest number there may be, and one more.
    limit: u32,
    numbers: File,
    /// Numbers without a known process yet: the kernel assigns one before its process exists; and since when.
    unknown: Vec<(u32, Instant)>,
    checks: u32,
    /// The last processes that are not below the program, as far as is known: the parent
    /// and the group of each.
    unrelated: VecDeque<(u32, Stat)>,
    /// The processes that were checked, where the kernel does not report the last process id.
    seen: BTreeSet<u32>,
    /// Not every process could be added.
    full: bool,
}

#[derive(Debug)]
struct GroupMember {
    group: u32,
    handle: OwnedFd,
}

/// Fields of a process from `/proc/PID/stat` (proc(5)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stat {
    state: u8,
    parent: u32,
    group: u32,
    flags: u64,
    started: u64,
}

impl Stat {
    fn of(pid: u32) -> Option<Self> {
        Self::parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    fn parse(stat: &str) -> Option<Self> {
        // Behind the name, which may hold anything.
        let words: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        Some(Self {
            state: *words.first()?.as_bytes().first()?,
            parent: words.get(1)?.parse().ok()?,
            group: words.get(2)?.parse().ok()?,
            flags: words.get(6)?.parse().ok()?,
            started: words.get(19)?.parse().ok()?,
        })
    }

    fn is_alive(self) -> bool {
        !matches!(self.state, b'Z' | b'X')
    }
}

impl Descendants {
    /// Observes a process that has not started any other yet.
    ///
    /// # Errors
    /// When there is no such process, or the kernel does not support process handles.
    pub fn of(root: u32) -> std::io::Result<Self> {
        let gone = || std::io::Error::other(format!("there is no process {root}"));
        let group = Stat::of(root).ok_or_else(gone)?.group;
        let most = std::fs::read_to_string("/proc/sys/kernel/pid_max").unwrap_or_default();
        let mut tree = Self {
            root,
            foreign: if group == root { 0 } else { group },
            members: BTreeMap::new(),
            last: 0,
            limit: most.trim().parse().unwrap_or(DEFAULT_PID_LIMIT),
            numbers: File::open("/proc/loadavg")?,
            unknown: Vec::new(),
            checks: 0,
            unrelated: VecDeque::new(),
            seen: BTreeSet::new(),
            full: false,
        };
        tree.last = tree.newest();
        tree.take_in(root).ok_or_else(gone)?;
        Ok(tree)
    }

    /// Observes a process that may have started others already; these are not reported.
    ///
    /// # Errors
    /// As [`Descendants::of`].
    pub fn of_running(root: u32) -> std::io::Result<Self> {
        let mut tree = Self::of(root)?;
        tree.scan_all();
        tree.seen.clear();
        Ok(tree)
    }

    /// The process id that was assigned last; 0 where the kernel does not report it.
    fn newest(&self) -> u32 {
        let mut text = [0; 128];
        let count = self.numbers.read_at(&mut text, 0).unwrap_or_default();
        let text = std::str::from_utf8(text.get(..count).unwrap_or_default()).unwrap_or_default();
        let last = text.trim_ascii_end().rsplit_once(' ');
        last.and_then(|(_, last)| last.parse().ok()).unwrap_or(0)
    }

    /// The processes below the program that have started since the last check, parents first.
    pub fn find_new(&mut self) -> Vec<u32> {
        let newest = self.newest();
        if newest == 0 {
            return self.scan_all();
        }
        let before = std::mem::replace(&mut self.last, newest);
        // Almost always: a caller looks a thousand times in a second.
        if newest == before && self.unknown.is_empty() {
            return Vec::new();
        }
        // After the largest number the kernel starts again.
        let (rest, first) = match newest < before {
            true => (before + 1..self.limit, FIRST_AGAIN..newest + 1),
            false => (before + 1..newest + 1, 0..0),
        };
        let mut found = match rest.len() + first.len() {
            gap if gap <= MAX_GAP => self.check_pids(rest.chain(first)),
            _ => {
                let found = self.scan_all();
                self.seen.clear();
                found
            }
        };
        // Processes that were seen before their parents.
        let mut at = 0;
        while let Some(parent) = found.get(at).copied() {
            let of_parent = |(_, stat): &&(u32, Stat)| stat.parent == parent || stat.group == parent;
            let more: Vec<u32> = self.unrelated.iter().filter(of_parent).map(|(pid, _)| *pid).collect();
            for pid in more {
                found.extend(Stat::of(pid).and_then(|stat| self.consider(pid, stat)));
            }
            at += 1;
        }
        found
    }

    /// Checks these process ids, and those without a known process.
    fn check_pids(&mut self, numbers: impl Iterator<Item = u32>) -> Vec<u32> {
        let now = Instant::now();
        self.checks = self.checks.wrapping_add(1);
        let seldom = self.checks.is_multiple_of(SLOW_POLL_DIVISOR);
        let mut unknown = std::mem::take(&mut self.unknown);
        unknown.extend(numbers.map(|pid| (pid, now)));
        let mut found = Vec::new();
        for (pid, since) in unknown {
            let age = now.duration_since(since);
            let stat = if age < USUAL_CHILD_START_TIME || seldom { Stat::of(pid) } else { None };
            match stat {
                Some(stat) => found.extend(self.consider(pid, stat)),
                // Or it was a thread's, or nothing came of it.
                None if age < CHILD_START_TIMEOUT => self.unknown.push((pid, since)),
                None => {}
            }
        }
        let many = self.unknown.len().saturating_sub(MAX_UNKNOWN);
        self.unknown.drain(..many);
        found
    }

    /// Checks all processes, until no more are found below the program.
    fn scan_all(&mut self) -> Vec<u32> {
        let mut found = Vec::new();
        loop {
            let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
            let pids: BTreeSet<u32> =
                processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
            let unseen: Vec<u32> = pids.difference(&self.seen).copied().collect();
            let new: Vec<u32> = unseen
                .into_iter()
                .filter_map(|pid| Stat::of(pid).and_then(|stat| self.consider(pid, stat)))
                .collect();
            if new.is_empty() {
                self.seen = pids;
                return found;
            }
            found.extend(new);
        }
    }

    /// Adds a process if it is below the program.
    fn consider(&mut self, pid: u32, stat: Stat) -> Option<u32> {
        if self.members.contains_key(&pid) || !stat.is_alive() {
            return None;
        }
        // A leader may have ended, and the group of one may not be known yet.
        let is_ours =
            |(leader, member): (&u32, &GroupMember)| *leader == stat.group || member.group == stat.group;
        let in_group = stat.group != self.foreign && self.members.iter().any(is_ours);
        if self.members.contains_key(&stat.parent) || in_group {
            return is_process(pid).then(|| self.take_in(pid)).flatten();
        }
        self.unrelated.push_back((pid, stat));
        if self.unrelated.len() > MAX_UNRELATED {
            self.unrelated.pop_front();
        }
        None
    }

    fn take_in(&mut self, pid: u32) -> Option<u32> {
        if self.members.len() >= MAX_MEMBERS {
            self.full = true;
            return None;
        }
        let before = Stat::of(pid)?;
        let handle = pidfd_open(process(pid)?, PidfdFlags::empty()).ok()?;
        // Of the same process, not of the next one of this number.
        let now = Stat::of(pid).filter(|now| now.started == before.started)?;
        self.members.insert(pid, GroupMember { group: now.group, handle });
        Some(pid)
    }

    /// Whether a process could not be added because there were too many.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// Waits until a process below the program ends, at most `limit`; those that have ended are no
    /// longer part of the tree.
    pub fn wait(&mut self, limit: Duration) -> Vec<u32> {
        let mut ends: Vec<PollFd<'_>> =
            self.members.values().map(|member| PollFd::new(&member.handle, PollFlags::IN)).collect();
        let limit = Timespec::try_from(limit).ok();
        // An interrupted wait is only shorter.
        if poll(&mut ends, limit.as_ref()).unwrap_or_default() == 0 {
            return Vec::new();
        }
        let ended = self.members.keys().zip(&ends).filter(|(_, end)| !end.revents().is_empty());
        let ended: Vec<u32> = ended.map(|(pid, _)| *pid).collect();
        for pid in &ended {
            self.members.remove(pid);
        }
        ended
    }

    /// Whether the process is still a copy of the one that forked it. `None` when it has ended.
    pub fn is_copy(&mut self, pid: u32) -> Option<bool> {
        let member = self.members.get_mut(&pid)?;
        let mut end = [PollFd::new(&member.handle, PollFlags::IN)];
        let stat = Stat::of(pid).filter(|_| poll(&mut end, Some(&Timespec::default())) == Ok(0))?;
        // Shells and daemons change it before they execute a program.
        member.group = stat.group;
        Some(stat.flags & FORKED != 0)
    }

    /// Ignores processes that this process starts from now on.
    pub fn leave_out(&mut self, pid: u32) {
        self.members.remove(&pid);
    }

    /// Kills a process of the tree, unless it has ended.
    pub fn kill(&self, pid: u32) {
        if let Some(member) = self.members.get(&pid) {
            // It has ended, or is not ours to end.
            pidfd_send_signal(&member.handle, Signal::KILL).unwrap_or_default();
        }
    }

    /// Kills all processes below the program, including those that start meanwhile.
    pub fn kill_all(&mut self) {
        let mut killed = BTreeSet::new();
        for _ in 0..MAX_ROUNDS {
            self.find_new();
            let left: Vec<u32> = self.members.keys().copied().filter(|pid| killed.insert(*pid)).collect();
            if left.is_empty() {
                return;
            }
            left.into_iter().filter(|pid| *pid != self.root).for_each(|pid| self.kill(pid));
        }
    }

    /// Kills all processes below the program and waits for their end, at most `limit`.
    pub fn end_all(&mut self, limit: Duration) {
        let until = Instant::now() + limit;
        // Processes that have ended are no longer anyone's parent.
        self.wait(Duration::ZERO);
        self.kill_all();
        while self.count() > 0 && Instant::now() < until {
            self.wait(END_POLL_INTERVAL);
            self.kill_all();
        }
    }

    /// Adds a process that is known to be below the program.
    pub fn add(&mut self, pid: u32) {
        if !self.members.contains_key(&pid) {
            self.take_in(pid);
        }
    }

    /// The number of processes below the program.
    pub fn count(&self) -> usize {
        self.members.keys().filter(|pid| **pid != self.root).count()
    }
}

fn process(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

/// Whether this is the number of a process, not only of one of its threads (proc(5), `Tgid`).
fn is_process(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let leader = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    leader.and_then(|leader| leader.trim().parse().ok()) == Some(pid)
}

/// Executable and command line of a process, its name first. The command line is empty when the process has
/// ended, or is just starting: the kernel sets the executable first.
pub fn command_of(pid: u32) -> (PathBuf, Vec<String>) {
    let executable = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = words.strip_suffix(b"\0").map(|words| words.split(|byte| *byte == 0));
    let words = words.into_iter().flatten().map(|word| String::from_utf8_lossy(word).into_owned());
    (executable, words.collect())
}

#[cfg(test)]
mod tests;
