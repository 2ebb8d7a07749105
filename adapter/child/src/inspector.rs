//! The port on which a running Node takes a debugger. One that has none yet opens it when it is sent SIGUSR1
//! (Node.js, "Debugging": "Enabling the inspector"); its adapter does not do that by itself, nor does it
//! close the port ([`OpenedPort`]). A port that a client names: [`await_listener`].

mod closing;
mod listener;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tandem_wire::{ErrorCode, Failure};

pub(super) use self::closing::OpenedPort;
pub(super) use self::listener::await_listener;
use super::debuggee::{self, DebuggeeProcess};
use super::socket;
use tandem_engine::running_process;

/// The port at which Node listens by default.
const USUAL: u16 = 9229;
/// How long it may take to open its port.
const TIMEOUT: Duration = Duration::from_secs(3);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Finds the port, or makes the process open it; then the caller must close it. Blocks briefly.
///
/// # Errors
/// `NOT_DEBUGGABLE` for what is not Node, or one that opens no port.
pub(super) fn port_of(pid: u32) -> Result<(u16, Option<OpenedPort>), Failure> {
    let undebuggable = |what: &str| {
        Failure::new(ErrorCode::NotDebuggable, format!("process {pid} {what}"))
            .hint("start it with `node --inspect` and set `port` to the port that it shows")
    };
    running_process::refuse_hidden(pid.into())?;
    // Any other program would end by the signal.
    let executable = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    let name = executable.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if name != "node" && name != "nodejs" {
        return Err(undebuggable(&format!("is `{}`, not Node", executable.display())));
    }
    let before = ports(pid);
    if before.contains(&USUAL) {
        return Ok((USUAL, None));
    }
    // It opens no other one.
    if let Some(port) = inspected_port(&debuggee::command_line_of(pid), &before) {
        return Ok((port, None));
    }
    let known = i32::try_from(pid).ok().and_then(Pid::from_raw).zip(DebuggeeProcess::of(pid));
    let Some((_, process)) = known.filter(|(pid, _)| kill_process(*pid, Signal::USR1).is_ok()) else {
        return Err(undebuggable("cannot be sent a signal: it has ended, or is another user's"));
    };
    let deadline = Instant::now() + TIMEOUT;
    while Instant::now() < deadline {
        if let Some(opened) = ports(pid).difference(&before).next() {
            return Ok((*opened, Some(OpenedPort { process, port: *opened })));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Err(undebuggable("opened no port for a debugger"))
}

/// The port that Node's own arguments name, if it listens there. It chooses one itself for the port 0: then
/// it is the only one.
fn inspected_port(words: &[String], ports: &HashSet<u16>) -> Option<u16> {
    let options = words.iter().skip(1).take_while(|word| word.starts_with('-'));
    let named = options.filter_map(|word| {
        let (name, address) = word.split_once('=')?;
        let port = address.rsplit(':').next()?.parse().ok()?;
        name.starts_with("--inspect").then_some(port)
    });
    match named.last()? {
        0 => ports.iter().copied().next().filter(|_| ports.len() == 1),
        port => ports.get(&port).copied(),
    }
}

/// The ports that a process listens on.
fn ports(pid: u32) -> HashSet<u16> {
    let inodes = sockets(pid);
    socket::listening(|inode| inodes.contains(&inode))
}

fn sockets(pid: u32) -> HashSet<u64> {
    debuggee::sockets_of(pid).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_asked_for_its_port_only_when_it_is_node() {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(ports(std::process::id()).contains(&port));
        let failure = port_of(std::process::id()).unwrap_err();
        assert_eq!(failure.code, ErrorCode::NotDebuggable);
        assert!(failure.message.contains("not Node"), "{failure}");
    }

    #[test]
    fn the_port_of_a_node_that_inspects_is_in_its_own_arguments() {
        for (line, listening, expected) in [
            ("node --inspect=9300 app.js", &[9300, 80][..], Some(9300)),
            ("node --inspect-brk=127.0.0.1:9300 app.js", &[9300], Some(9300)),
            ("node --no-warnings --inspect=[::1]:9300 app.js", &[9300], Some(9300)),
            ("node --inspect=0 app.js", &[40_000], Some(40_000)),
            ("node --inspect=0 app.js", &[40_000, 80], None),
            ("node --inspect=9300 app.js", &[80], None),
            ("node --inspect app.js", &[80], None),
            ("node app.js --inspect=80", &[80], None),
        ] {
            let words: Vec<_> = line.split(' ').map(str::to_owned).collect();
            let ports = listening.iter().copied().collect();
            assert_eq!(inspected_port(&words, &ports), expected, "{line}");
        }
    }
}
