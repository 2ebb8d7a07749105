//! Tests of the processes that a program starts.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use super::*;

/// In a separate group, as programs are started.
fn shell(script: &str) -> Child {
    Command::new("sh").args(["-c", script]).process_group(0).spawn().unwrap()
}

/// Looks until a process with this word in its command is found; what else was found is in `all`.
fn find(tree: &mut Descendants, word: &str, all: &mut Vec<u32>) -> u32 {
    let until = Instant::now() + Duration::from_secs(20);
    while Instant::now() < until {
        all.extend(tree.find_new());
        let is_it = |pid: &&u32| command_of(**pid).1.iter().any(|found| found == word);
        if let Some(pid) = all.iter().find(is_it).copied()
            && tree.is_copy(pid) == Some(false)
        {
            return pid;
        }
        tree.wait(Duration::from_millis(1));
    }
    panic!("no process with the word {word}");
}

#[test]
fn children_of_a_program_are_found_whatever_started_it_and_end_with_it() {
    let mut program = shell("read go < /dev/null; sleep 0.3; sh -c 'sleep 71 & sleep 72 & exit'; sleep 73");
    let mut tree = Descendants::of(program.id()).unwrap();
    let mut all = Vec::new();
    // The parent of the first two has ended.
    let orphans = ["71", "72"].map(|word| find(&mut tree, word, &mut all));
    let child = find(&mut tree, "73", &mut all);
    assert!(!all.contains(&program.id()) && !all.contains(&std::process::id()), "{all:?}");
    let until = Instant::now() + Duration::from_secs(20);
    tree.kill(orphans[0]);
    let mut ended = Vec::new();
    while !ended.contains(&orphans[0]) && Instant::now() < until {
        ended.extend(tree.wait(Duration::from_secs(1)));
    }
    assert_eq!(tree.is_copy(orphans[0]), None);
    tree.kill_all();
    while tree.count() > 0 && Instant::now() < until {
        ended.extend(tree.wait(Duration::from_secs(1)));
    }
    assert!(ended.contains(&orphans[1]) && ended.contains(&child), "{ended:?}");
    program.wait().unwrap();
    assert!(Descendants::of(program.id()).is_err());
}

#[test]
fn numbers_that_start_again_are_followed() {
    let mut program = shell("sleep 0.3; sleep 75");
    let mut tree = Descendants::of_running(program.id()).unwrap();
    // As if the kernel had counted to its limit.
    (tree.last, tree.limit) = (tree.last + 7, tree.last + 9);
    let mut all = Vec::new();
    find(&mut tree, "75", &mut all);
    program.kill().unwrap();
    program.wait().unwrap();
    tree.kill_all();
}

#[test]
fn all_processes_are_checked_if_the_kernel_counts_no_ids() {
    let mut program = shell("sleep 0.3; sleep 74; :");
    let mut tree = Descendants::of_running(program.id()).unwrap();
    // Of another form: no fifth word.
    tree.numbers = File::open("/proc/version_signature").or_else(|_| File::open("/dev/null")).unwrap();
    let mut all = Vec::new();
    let child = find(&mut tree, "74", &mut all);
    assert!(all.contains(&child));
    // Programs of other users do not count.
    tree.leave_out(child);
    // The first of them has ended, or is about to be seen to.
    let until = Instant::now() + Duration::from_secs(20);
    while tree.count() > 0 && Instant::now() < until {
        tree.wait(Duration::from_millis(1));
    }
    assert_eq!(tree.count(), 0);
    program.kill().unwrap();
    program.wait().unwrap();
    rustix::process::kill_process(process(child).unwrap(), Signal::KILL).unwrap();
}

#[test]
fn stat_is_parsed_after_the_process_name() {
    let stat = "4711 (a) b) S 1 2 3 0 -1 4194368 0 0 0 0 0 0 0 0 20 0 1 0 99 0 0";
    let read = Stat::parse(stat).unwrap();
    assert_eq!((read.state, read.parent, read.group, read.started), (b'S', 1, 2, 99));
    assert!(read.flags & FORKED != 0 && read.is_alive());
    assert_eq!(Stat::parse("4711 (sh) S 1 2"), None);
}
