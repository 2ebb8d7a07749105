//! Sets `TCP_NODELAY` on connections between an adapter and the program. Node's inspector and debugpy write
//! each message in two pieces without it: the second waits 40 ms for the other side to acknowledge the first,
//! at each request. The sockets belong to other processes, so each is duplicated (pidfd_getfd(2)); the option
//! set on the duplicate applies to the socket.
//!
//! If the kernel does not allow that (it needs the same permission as ptrace), everything works as slowly as
//! before.

use std::collections::HashMap;

use rustix::fd::AsRawFd;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::{debuggee, socket};

/// The script that js-debug starts next to each Node process to connect to it.
const WATCHDOG: &str = "watchdog.js";

/// Sets the option at both ends of each connection between a program and the adapter, or the watchdog that
/// the adapter has started below the program. Looks at `/proc`: blocks for some milliseconds.
pub(super) fn set_nodelay(program: u32, adapter: Option<u32>) {
    let watches = |pid: &u32| debuggee::command_line_of(*pid).iter().any(|word| is_watchdog(word));
    let watchdogs = debuggee::children_of(program).into_iter().filter(watches);
    let ours: HashMap<u64, i32> = debuggee::socket_numbers(program).collect();
    for other in watchdogs.chain(adapter.filter(|adapter| *adapter != program)) {
        let theirs: HashMap<u64, i32> = debuggee::socket_numbers(other).collect();
        let connections = socket::connections_between(
            |inode| ours.contains_key(&inode),
            |inode| theirs.contains_key(&inode),
        );
        for (one, another) in connections {
            set_at_both_ends([(program, ours.get(&one), one), (other, theirs.get(&another), another)]);
        }
    }
}

/// Sets the option at both ends of each connection between an adapter and another process of this machine,
/// for a program whose process the adapter does not name. Looks at `/proc`: blocks for some milliseconds.
pub(super) fn set_nodelay_of_adapter(adapter: u32) {
    let ours: HashMap<u64, i32> = debuggee::socket_numbers(adapter).collect();
    for (one, another) in socket::connections_between(|inode| ours.contains_key(&inode), |_| true) {
        let Some(other) = debuggee::with_socket(another).next() else { continue };
        let theirs: HashMap<u64, i32> = debuggee::socket_numbers(other).collect();
        set_at_both_ends([(adapter, ours.get(&one), one), (other, theirs.get(&another), another)]);
    }
}

/// Sets the option on sockets, by their process, their number in it, and their inode.
fn set_at_both_ends(ends: [(u32, Option<&i32>, u64); 2]) {
    for (pid, number, inode) in ends {
        if let Some(Err(error)) = number.map(|number| set(pid, *number, inode)) {
            tracing::debug!(pid, %error, "a connection stays as slow as it is");
        }
    }
}

/// Whether an argument of a process shows that js-debug started it.
pub(super) fn is_watchdog(word: &str) -> bool {
    word.ends_with(WATCHDOG)
}

fn set(pid: u32, number: i32, inode: u64) -> rustix::io::Result<()> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(rustix::io::Errno::SRCH)?;
    let process = pidfd_open(pid, PidfdFlags::empty())?;
    let socket = pidfd_getfd(&process, number, PidfdGetfdFlags::empty())?;
    // The number may stand for something else by now.
    if rustix::fs::fstat(&socket)?.st_ino != inode {
        return Err(rustix::io::Errno::BADF);
    }
    tracing::trace!(?pid, number, ours = socket.as_raw_fd(), "TCP_NODELAY");
    rustix::net::sockopt::set_tcp_nodelay(&socket, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_connection_are_hastened_and_no_other_socket_is_touched() {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let one = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (another, _) = listener.accept().unwrap();
        let own = std::process::id();
        let inode = |socket: &std::net::TcpStream| rustix::fs::fstat(socket).unwrap().st_ino;
        let (first, second) = (inode(&one), inode(&another));
        let found = socket::connections_between(|inode| inode == first, |inode| inode == second);
        assert_eq!(found, [(first, second)]);
        set(own, one.as_raw_fd(), first).unwrap();
        assert!(one.nodelay().unwrap() && !another.nodelay().unwrap());
        assert_eq!(set(own, another.as_raw_fd(), first), Err(rustix::io::Errno::BADF));
        assert!(!another.nodelay().unwrap());
        set_nodelay(own, None);
        assert!(!another.nodelay().unwrap());
    }
}
