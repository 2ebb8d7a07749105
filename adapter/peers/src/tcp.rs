//! The TCP sockets of this network namespace, with their users. The kernel's diagnostics list them
//! ([`diagnostics`]); where they are missing, such as in a sandbox, the files of proc(5) do ([`proc_files`]).
//!
//! A socket that its process has closed is still listed until its last bytes are sent, with inode 0 and user
//! 0 instead of its user. Such sockets are left out: they do not count as root's.

mod diagnostics;
mod proc_files;

use std::net::{IpAddr, SocketAddr};

/// `TCP_ESTABLISHED` and `TCP_LISTEN` (include/net/tcp_states.h).
const CONNECTED: u8 = 1;
const LISTENING: u8 = 10;

/// A socket that a process holds. An IPv4 address in an IPv6 socket is an IPv4 address here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TcpSocket {
    /// The local address and port.
    pub local: SocketAddr,
    /// The remote address and port; zeros if the socket listens.
    pub remote: SocketAddr,
    state: u8,
    /// User id of the socket's owner.
    pub user: u32,
    /// The socket's inode; never 0.
    pub inode: u64,
}

/// The sockets that `is_wanted` selects, each once. The kernel returns the list in pieces: if a socket is
/// opened or closed in between, another one may be missing.
pub fn find(is_wanted: impl Fn(&TcpSocket) -> bool) -> Vec<TcpSocket> {
    let mut sockets = diagnostics::list().unwrap_or_else(|_| proc_files::list());
    sockets.retain(|socket| socket.inode != 0 && is_wanted(socket));
    // For the same reason, the kernel may list a socket several times.
    sockets.sort();
    sockets.dedup();
    sockets
}

/// The same for sockets that must exist: if none is found, searches once more.
pub fn find_with_retry(is_wanted: impl Fn(&TcpSocket) -> bool) -> Vec<TcpSocket> {
    let found = find(&is_wanted);
    if found.is_empty() { find(is_wanted) } else { found }
}

/// The user of the process that holds the end `local` of the connection to `remote`. `None` if it is not on
/// this machine, is closed, or the list has several users.
pub fn user_of(local: SocketAddr, remote: SocketAddr) -> Option<u32> {
    let found = find_with_retry(|socket| socket.is(local, remote));
    let (first, others) = found.split_first()?;
    others.iter().all(|other| other.user == first.user).then_some(first.user)
}

impl TcpSocket {
    /// Whether the socket is the end `local` of the connection to `remote`.
    pub fn is(&self, local: SocketAddr, remote: SocketAddr) -> bool {
        self.local == plain(local.ip(), local.port()) && self.remote == plain(remote.ip(), remote.port())
    }

    /// Whether the socket waits for connections.
    pub fn listens(&self) -> bool {
        self.state == LISTENING
    }

    /// Whether both ends are connected.
    pub fn is_connected(&self) -> bool {
        self.state == CONNECTED
    }
}

/// An address without what the kernel's lists do not have: a scope, and the IPv6 form of an IPv4 address.
fn plain(ip: IpAddr, port: u16) -> SocketAddr {
    SocketAddr::new(ip.to_canonical(), port)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};

    use super::*;

    /// A connection to one of the machine's own addresses. `None` on a machine without IPv6.
    fn connected(listens_at: IpAddr, to: IpAddr) -> Option<(TcpListener, TcpStream, TcpStream)> {
        let listener = TcpListener::bind((listens_at, 0)).ok()?;
        let client = TcpStream::connect((to, listener.local_addr().unwrap().port())).unwrap();
        let (server, _) = listener.accept().unwrap();
        Some((listener, client, server))
    }

    const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);
    const ANY: IpAddr = IpAddr::V6(Ipv6Addr::UNSPECIFIED);

    #[test]
    fn user_of_a_connection_is_known() {
        // The last server is an IPv6 socket with an IPv4 client.
        for (listens_at, to) in [(V4, V4), (V6, V6), (ANY, V4)] {
            let Some((_listener, client, server)) = connected(listens_at, to) else { continue };
            let (theirs, ours) = (client.local_addr().unwrap(), server.local_addr().unwrap());
            let own = rustix::process::geteuid().as_raw();
            assert_eq!(user_of(theirs, ours), Some(own), "{to}");
            assert_eq!(user_of(ours, server.peer_addr().unwrap()), Some(own), "{to}");
            assert_eq!(user_of("127.0.0.2:9".parse().unwrap(), ours), None);
        }
    }

    #[test]
    fn client_that_wrote_and_closed_has_no_user() {
        let (_listener, mut client, server) = connected(V4, V4).unwrap();
        let (theirs, ours) = (client.local_addr().unwrap(), server.local_addr().unwrap());
        client.write_all(b"Content-Length: 2\r\n\r\n{}").unwrap();
        drop(client);
        // Its socket is still in the lists, with user 0.
        assert_eq!(user_of(theirs, ours), None);
    }

    #[test]
    fn both_lists_have_the_same_sockets() {
        for (listens_at, to) in [(V4, V4), (V6, V6), (ANY, V4)] {
            let Some((listener, client, server)) = connected(listens_at, to) else { continue };
            let port = listener.local_addr().unwrap().port();
            let of_port = |mut sockets: Vec<TcpSocket>| {
                sockets.retain(|socket| [socket.local.port(), socket.remote.port()].contains(&port));
                sockets.sort();
                sockets.dedup();
                sockets
            };
            // Sockets of other processes come and go.
            let complete = |list: &dyn Fn() -> Vec<TcpSocket>| {
                (0..100).map(|_| of_port(list())).find(|sockets| sockets.len() == 3).expect("three sockets")
            };
            let read = complete(&proc_files::list);
            assert_eq!(read.iter().filter(|socket| socket.listens()).count(), 1, "{read:?}");
            assert_eq!(read.iter().filter(|socket| socket.is_connected()).count(), 2, "{read:?}");
            // A sandbox may lack the diagnostics.
            if diagnostics::list().is_ok() {
                assert_eq!(complete(&|| diagnostics::list().unwrap_or_default()), read);
            }
            drop((client, server));
        }
    }
}
