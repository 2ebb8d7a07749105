//! `/proc/net/tcp` and `/proc/net/tcp6` (proc(5)): the sockets in this network namespace, with their users.
//!
//! A socket that its process has closed is still listed until its last bytes are sent, with inode 0 and user
//! 0 instead of its user. Here it has no user; it does not count as root's.

use std::net::{IpAddr, SocketAddr};

/// Column `st` of a listening socket.
const LISTENING: &str = "0A";
/// Column `st` of a connected socket.
const CONNECTED: &str = "01";

/// One socket. Addresses are in hexadecimal, each word in the byte order of the machine.
#[derive(Debug, PartialEq, Eq)]
pub struct TcpTableRow<'a> {
    /// The local address and port, as the kernel writes them.
    pub local: &'a str,
    /// The remote address and port, as the kernel writes them.
    pub remote: &'a str,
    state: &'a str,
    /// User id of the socket's owner.
    pub user: u32,
    /// The socket's inode; never 0.
    pub inode: u64,
}

/// Collects the results of `take` for each socket that a process holds. The kernel returns the
/// table in pieces: if a socket is opened or closed in between, the row of another one may appear
/// twice, or be missing.
pub fn rows<T, C: Default + Extend<T>>(take: impl Fn(&TcpTableRow<'_>) -> Option<T>) -> C {
    let mut found = C::default();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        // A machine without IPv6 has only one of them.
        let text = std::fs::read_to_string(table).unwrap_or_default();
        found.extend(text.lines().filter_map(TcpTableRow::parse).filter_map(|row| take(&row)));
    }
    found
}

/// The same for sockets that must exist: if none is found, reads the tables once more.
pub fn rows_with_retry<T>(take: impl Fn(&TcpTableRow<'_>) -> Option<T>) -> Vec<T> {
    let found: Vec<T> = rows(&take);
    if found.is_empty() { rows(take) } else { found }
}

/// The user of the process that holds the end `local` of the connection to `remote`. `None` if it is not on
/// this machine, is closed, or the table has several users.
pub fn user_of(local: SocketAddr, remote: SocketAddr) -> Option<u32> {
    let found = rows_with_retry(|row| row.is(local, remote).then_some(row.user));
    let (first, others) = found.split_first()?;
    others.iter().all(|other| other == first).then_some(*first)
}

impl<'a> TcpTableRow<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace().skip(1);
        let (local, remote, state) = (words.next()?, words.next()?, words.next()?);
        // Queues, timer and retransmissions are before the user; a time-out is between user and inode.
        let (user, inode) = (words.nth(3)?.parse().ok()?, words.nth(1)?.parse().ok()?);
        Some(Self { local, remote, state, user, inode }).filter(|row| row.inode != 0)
    }

    /// Whether the socket is the end `local` of the connection to `remote`.
    pub fn is(&self, local: SocketAddr, remote: SocketAddr) -> bool {
        let same = |shown: &str, address| spell_address(address).iter().flatten().any(|way| way == shown);
        same(self.local, local) && same(self.remote, remote)
    }

    /// Whether the socket waits for connections.
    pub fn listens(&self) -> bool {
        self.state == LISTENING
    }

    /// Whether both ends are connected.
    pub fn is_connected(&self) -> bool {
        self.state == CONNECTED
    }

    /// The port of the local end.
    pub fn local_port(&self) -> Option<u16> {
        u16::from_str_radix(self.local.rsplit_once(':')?.1, 16).ok()
    }
}

/// Formats an address as in the tables. An IPv4 address has two forms, because an IPv6 socket contains
/// it as an IPv6 address.
fn spell_address(address: SocketAddr) -> [Option<String>; 2] {
    let port = address.port();
    let word = |bytes: [u8; 4]| format!("{:08X}", u32::from_ne_bytes(bytes));
    let long = |bytes: [u8; 16]| {
        let (words, _) = bytes.as_chunks::<4>();
        let words: String = words.iter().map(|bytes| word(*bytes)).collect();
        format!("{words}:{port:04X}")
    };
    match address.ip().to_canonical() {
        IpAddr::V4(ip) => {
            [Some(format!("{}:{port:04X}", word(ip.octets()))), Some(long(ip.to_ipv6_mapped().octets()))]
        }
        IpAddr::V6(ip) => [Some(long(ip.octets())), None],
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    use super::*;

    fn connected(to: IpAddr) -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind((to, 0)).unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (client, listener.accept().unwrap().0)
    }

    #[test]
    fn user_of_a_connection_is_known() {
        for to in [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(std::net::Ipv6Addr::LOCALHOST)] {
            // A machine without IPv6 has no such address.
            if TcpListener::bind((to, 0)).is_err() {
                continue;
            }
            let (client, server) = connected(to);
            let (theirs, ours) = (client.local_addr().unwrap(), server.local_addr().unwrap());
            let own = rustix::process::geteuid().as_raw();
            assert_eq!(user_of(theirs, ours), Some(own), "{to}");
            assert_eq!(user_of("127.0.0.2:9".parse().unwrap(), ours), None);
        }
    }

    #[test]
    fn client_that_wrote_and_closed_has_no_user() {
        let (mut client, server) = connected(IpAddr::V4(Ipv4Addr::LOCALHOST));
        let (theirs, ours) = (client.local_addr().unwrap(), server.local_addr().unwrap());
        client.write_all(b"Content-Length: 2\r\n\r\n{}").unwrap();
        drop(client);
        // Its socket is still in the tables, with user 0.
        assert_eq!(user_of(theirs, ours), None);
    }

    #[test]
    fn a_line_is_read_and_a_heading_is_not() {
        let line =
            "   1: 0100007F:A1B2 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  4321        0 77 1";
        let row = TcpTableRow::parse(line).unwrap();
        assert_eq!((row.user, row.inode), (4321, 77));
        if cfg!(target_endian = "little") {
            assert!(row.is("127.0.0.1:41394".parse().unwrap(), "127.0.0.1:8080".parse().unwrap()));
            assert!(!row.is("127.0.0.1:8080".parse().unwrap(), "127.0.0.1:41394".parse().unwrap()));
            let mapped = "0000000000000000FFFF00000100007F:1F90".to_owned();
            assert_eq!(spell_address("127.0.0.1:8080".parse().unwrap())[1], Some(mapped));
            let own = "00000000000000000000000001000000:1F90".to_owned();
            assert_eq!(spell_address("[::1]:8080".parse().unwrap())[0], Some(own));
        }
        assert_eq!(TcpTableRow::parse("  sl  local_address rem_address   st tx_queue rx_queue"), None);
        assert_eq!(TcpTableRow::parse(&line.replace(" 77 1", " 0 1")), None);
    }
}
