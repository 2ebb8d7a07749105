//! DAP over sockets, set for small messages: TCP_NODELAY, and TCP_QUICKACK again after each read. With delayed
//! acknowledgements each request of debugpy takes 40 ms longer.
//!
//! Whoever speaks DAP with us may ask us to start programs. A TCP port of this machine is open to all its users, so it is
//! looked up in `/proc/net/tcp` (proc(5)) whose the other end is; only our own user's, and root's, are spoken with.

use std::collections::HashSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll};

use dap_wire::peer::{Incoming, Peer};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::tcp::OwnedReadHalf;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::mpsc;

/// A connection and what comes over it.
pub(super) type Ends = (Peer, mpsc::UnboundedReceiver<Incoming>);

/// `st` of `/proc/net/tcp` for a socket that listens.
const LISTENING: &str = "0A";
/// The same for one that is connected.
const CONNECTED: &str = "01";

/// The next connection of a process of our user, and the inode of its socket; others are shown the door.
///
/// # Errors
/// From the listener.
pub(super) async fn accept(listener: &TcpListener) -> std::io::Result<(Ends, u64)> {
    loop {
        let (socket, theirs) = listener.accept().await?;
        let ours = socket.local_addr()?;
        let found: Vec<(u32, u64)> = from_tables(|row| row.is(theirs, ours).then_some((row.user, row.inode)));
        let owners = Owners(found.iter().map(|(user, _)| *user).collect());
        if let (true, Some((_, inode))) = (owners.is_trusted(), found.first()) {
            return Ok((over_tcp(socket), *inode));
        }
        tracing::warn!(%theirs, "a connection of another user was refused");
    }
}

/// Where an adapter listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// On a port of this machine, which must be our user's.
    Port(u16),
    /// On a socket in a folder of ours, or where the user said.
    Folder(PathBuf),
    /// Where the user said.
    Named(SocketAddr),
}

impl std::fmt::Display for Place {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Port(port) => write!(formatter, "127.0.0.1:{port}"),
            Self::Folder(path) => path.display().fmt(formatter),
            Self::Named(address) => address.fmt(formatter),
        }
    }
}

impl Place {
    /// Where it has another port, for one more program.
    pub(super) fn with_port(&self, port: u16) -> Self {
        match self {
            Self::Named(address) => Self::Named(SocketAddr::new(address.ip(), port)),
            Self::Port(_) | Self::Folder(_) => Self::Port(port),
        }
    }

    /// Connects to it.
    ///
    /// # Errors
    /// When nobody listens there (yet), or another user does.
    pub(super) async fn connect(&self) -> std::io::Result<Ends> {
        match self {
            Self::Port(port) => {
                let socket = TcpStream::connect((Ipv4Addr::LOCALHOST, *port)).await?;
                if !owners(|row| row.state == LISTENING && row.local_port() == Some(*port)).is_trusted() {
                    return Err(std::io::Error::other(format!("port {port} belongs to another user")));
                }
                Ok(over_tcp(socket))
            }
            Self::Folder(path) => {
                let (reader, writer) = UnixStream::connect(path).await?.into_split();
                Ok(Peer::start(reader, writer))
            }
            Self::Named(address) => Ok(over_tcp(TcpStream::connect(address).await?)),
        }
    }
}

fn over_tcp(socket: TcpStream) -> Ends {
    // Without these it works, slower.
    socket.set_nodelay(true).unwrap_or_default();
    rustix::net::sockopt::set_tcp_quickack(&socket, true).unwrap_or_default();
    let (reader, writer) = socket.into_split();
    Peer::start(QuickAck(reader), writer)
}

/// Whose the sockets are that were looked for.
#[derive(Debug, Default)]
struct Owners(Vec<u32>);

impl Owners {
    /// All of them are ours or root's, who may do anything anyway; and there are some.
    fn is_trusted(&self) -> bool {
        let own = rustix::process::geteuid().as_raw();
        !self.0.is_empty() && self.0.iter().all(|user| *user == own || *user == 0)
    }
}

fn owners(wanted: impl Fn(&Row) -> bool) -> Owners {
    Owners(from_tables(|row| wanted(row).then_some(row.user)))
}

/// The ports that the sockets with these inodes listen on.
pub(super) fn listening(wanted: impl Fn(u64) -> bool) -> HashSet<u16> {
    let port = |row: &Row| row.local_port().filter(|_| row.state == LISTENING && wanted(row.inode));
    from_tables(port)
}

/// The connections within this machine that have one end among `ours` and the other among `theirs`, by the inodes of both.
pub(super) fn between(ours: impl Fn(u64) -> bool, theirs: impl Fn(u64) -> bool) -> Vec<(u64, u64)> {
    let end = |row: &Row| {
        (row.state == CONNECTED && (ours(row.inode) || theirs(row.inode)))
            .then(|| (plain(row.local), plain(row.remote), row.inode))
    };
    let ends: Vec<(String, String, u64)> = from_tables(end);
    let other = |local: &str, remote: &str| {
        ends.iter().find(|(from, to, inode)| from == remote && to == local && theirs(*inode))
    };
    let ours = ends.iter().filter(|(_, _, inode)| ours(*inode));
    ours.filter_map(|(local, remote, inode)| Some((*inode, other(local, remote)?.2))).collect()
}

/// An address as the table has it; an IPv4 one of a socket for IPv6 as the IPv4 one.
fn plain(address: &str) -> String {
    match address.split_once("FFFF0000") {
        Some((zeros, rest)) if zeros.len() == 16 && zeros.bytes().all(|byte| byte == b'0') => rest.to_owned(),
        _ => address.to_owned(),
    }
}

fn from_tables<T, C: Default + Extend<T>>(take: impl Fn(&Row) -> Option<T>) -> C {
    let mut found = C::default();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        // A machine without IPv6 has only one of them.
        let text = std::fs::read_to_string(table).unwrap_or_default();
        found.extend(text.lines().filter_map(Row::parse).filter_map(|row| take(&row)));
    }
    found
}

/// One socket in `/proc/net/tcp`: addresses in hexadecimal, each word in the machine's byte order.
#[derive(Debug, PartialEq, Eq)]
struct Row<'a> {
    local: &'a str,
    remote: &'a str,
    state: &'a str,
    user: u32,
    inode: u64,
}

impl<'a> Row<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace().skip(1);
        let (local, remote, state) = (words.next()?, words.next()?, words.next()?);
        // Before them: queues, timer and retransmissions; between them a time-out.
        let (user, inode) = (words.nth(3)?.parse().ok()?, words.nth(1)?.parse().ok()?);
        Some(Self { local, remote, state, user, inode })
    }

    /// Whether it is the end `local` of the connection to `remote`.
    fn is(&self, local: SocketAddr, remote: SocketAddr) -> bool {
        let same =
            |shown: &str, address| spelled(address).is_some_and(|ways| ways.iter().any(|way| way == shown));
        same(self.local, local) && same(self.remote, remote)
    }

    fn local_port(&self) -> Option<u16> {
        u16::from_str_radix(self.local.rsplit_once(':')?.1, 16).ok()
    }
}

/// An IPv4 address as such, and as a socket for IPv6 has it.
fn spelled(address: SocketAddr) -> Option<[String; 2]> {
    let SocketAddr::V4(address) = address else { return None };
    let (word, port) = (u32::from_ne_bytes(address.ip().octets()), address.port());
    let prefix = u32::from_ne_bytes([0, 0, 0xff, 0xff]);
    Some([format!("{word:08X}:{port:04X}"), format!("{:016X}{prefix:08X}{word:08X}:{port:04X}", 0)])
}

/// A socket that acknowledges at once; the kernel forgets the wish with each read.
struct QuickAck(OwnedReadHalf);

impl AsyncRead for QuickAck {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let polled = Pin::new(&mut self.0).poll_read(context, buffer);
        if polled.is_ready() {
            rustix::net::sockopt::set_tcp_quickack(self.0.as_ref(), true).unwrap_or_default();
        }
        polled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_connects_is_known_to_be_of_our_user() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let ours = listener.local_addr().unwrap();
        let client = TcpStream::connect(ours).await.unwrap();
        let theirs = client.local_addr().unwrap();
        let (_socket, _) = listener.accept().await.unwrap();
        let own = rustix::process::geteuid().as_raw();
        assert_eq!(owners(|row| row.is(theirs, ours)).0, [own]);
        assert_eq!(owners(|row| row.state == LISTENING && row.local_port() == Some(ours.port())).0, [own]);
        assert!(owners(|row| row.is(theirs, ours)).is_trusted());
    }

    #[test]
    fn a_socket_of_somebody_else_or_of_nobody_is_not_trusted() {
        let line =
            "   1: 0100007F:A1B2 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  4321        0 77 1";
        let row = Row::parse(line).unwrap();
        assert_eq!((row.user, row.inode), (4321, 77));
        if cfg!(target_endian = "little") {
            assert!(row.is("127.0.0.1:41394".parse().unwrap(), "127.0.0.1:8080".parse().unwrap()));
            assert!(!row.is("127.0.0.1:8080".parse().unwrap(), "127.0.0.1:41394".parse().unwrap()));
            let mapped = "0000000000000000FFFF00000100007F:1F90".to_owned();
            assert_eq!(spelled("127.0.0.1:8080".parse().unwrap()).unwrap()[1], mapped);
        }
        let own = rustix::process::geteuid().as_raw();
        assert!(!Owners(vec![own, own + 4321]).is_trusted());
        assert!(!Owners::default().is_trusted());
        assert!(Owners(vec![0, own]).is_trusted());
        assert_eq!(Row::parse("  sl  local_address rem_address   st tx_queue rx_queue"), None);
    }
}
