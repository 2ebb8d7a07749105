//! DAP over sockets, set for small messages: TCP_NODELAY, and TCP_QUICKACK again after each read. With
//! delayed acknowledgements each request of debugpy takes 40 ms longer.
//!
//! An adapter that speaks DAP with us may ask us to start programs. A TCP port of this machine is open to all
//! its users, so [`tandem_peers`] finds the user at the other end; only our own user and root are accepted.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Poll};

use tandem_peers::tcp::{self, TcpSocket};
use tandem_wire::peer::{Incoming, Peer};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::tcp::OwnedReadHalf;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::mpsc;

use super::debuggee;

/// A connection and its incoming messages.
pub(super) type PeerConnection = (Peer, mpsc::UnboundedReceiver<Incoming>);

/// The next connection of a process of our user, and the inode of its socket; connections of
/// other users are closed.
///
/// # Errors
/// The error of `accept` or of the socket.
pub(super) async fn accept(listener: &TcpListener) -> std::io::Result<(PeerConnection, u64)> {
    loop {
        let (socket, theirs) = listener.accept().await?;
        let ours = socket.local_addr()?;
        let found = tcp::find_with_retry(|socket| socket.is(theirs, ours));
        let owners = SocketOwners::of(&found);
        if let (true, Some(found)) = (owners.is_trusted(), found.first()) {
            return Ok((over_tcp(socket), found.inode));
        }
        tracing::warn!(%theirs, "a connection of another user was refused");
    }
}

/// The address at which an adapter listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Endpoint {
    /// On a port of this machine, which must be our user's.
    Port(u16),
    /// On a Unix socket in our folder, or at the path that the user gave.
    Folder(PathBuf),
    /// At the address in the user's `connect`.
    Named(SocketAddr),
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Port(port) => write!(formatter, "127.0.0.1:{port}"),
            Self::Folder(path) => path.display().fmt(formatter),
            Self::Named(address) => address.fmt(formatter),
        }
    }
}

impl Endpoint {
    /// The same host with another port, for one more program.
    pub(super) fn with_port(&self, port: u16) -> Self {
        match self {
            Self::Named(address) => Self::Named(SocketAddr::new(address.ip(), port)),
            Self::Port(_) | Self::Folder(_) => Self::Port(port),
        }
    }

    /// The processes of this machine that listen at the address, or are connected there. Looks at every
    /// process: blocks for some milliseconds.
    pub(super) fn holders(&self) -> Vec<u32> {
        let is_at = |socket: &TcpSocket, address: Option<IpAddr>, port: u16| {
            let ip = socket.local.ip();
            let is_bound = address.is_none_or(|wanted| ip == wanted.to_canonical() || ip.is_unspecified());
            is_bound && socket.local.port() == port && (socket.listens() || socket.is_connected())
        };
        let inodes: Vec<u64> = match self {
            Self::Port(port) => tcp::find(|socket| is_at(socket, None, *port)),
            Self::Named(address) => tcp::find(|socket| is_at(socket, Some(address.ip()), address.port())),
            Self::Folder(path) => {
                return unix_sockets_at(path).into_iter().flat_map(debuggee::with_socket).collect();
            }
        }
        .iter()
        .map(|socket| socket.inode)
        .collect();
        inodes.into_iter().flat_map(debuggee::with_socket).collect()
    }

    /// # Errors
    /// When nothing listens there yet, or the listener belongs to another user.
    pub(super) async fn connect(&self) -> std::io::Result<PeerConnection> {
        match self {
            Self::Port(port) => {
                let socket = TcpStream::connect((Ipv4Addr::LOCALHOST, *port)).await?;
                if !owners(|socket| socket.listens() && socket.local.port() == *port).is_trusted() {
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

/// The inodes of the sockets that are bound to this path (`unix` of proc_net(5)).
fn unix_sockets_at(path: &Path) -> Vec<u64> {
    let all = std::fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let path = path.display().to_string();
    let inode = |line: &str| {
        let (_, inode) = line.strip_suffix(&path)?.trim_end().rsplit_once(' ')?;
        inode.parse().ok()
    };
    all.lines().filter_map(inode).collect()
}

fn over_tcp(socket: TcpStream) -> PeerConnection {
    // Without these it works, slower.
    socket.set_nodelay(true).unwrap_or_default();
    rustix::net::sockopt::set_tcp_quickack(&socket, true).unwrap_or_default();
    let (reader, writer) = socket.into_split();
    Peer::start(QuickAck(reader), writer)
}

/// The users who own the sockets that a search has found.
#[derive(Debug, Default)]
struct SocketOwners(Vec<u32>);

impl SocketOwners {
    fn of(sockets: &[TcpSocket]) -> Self {
        Self(sockets.iter().map(|socket| socket.user).collect())
    }

    /// All owners are this user or root, who may do anything anyway; and there is at least one.
    fn is_trusted(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(|user| tandem_peers::is_trusted(*user))
    }
}

fn owners(is_wanted: impl Fn(&TcpSocket) -> bool) -> SocketOwners {
    SocketOwners::of(&tcp::find_with_retry(is_wanted))
}

/// The ports that the sockets with these inodes listen on.
pub(super) fn listening(is_wanted: impl Fn(u64) -> bool) -> HashSet<u16> {
    let found = tcp::find(|socket| socket.listens() && is_wanted(socket.inode));
    found.iter().map(|socket| socket.local.port()).collect()
}

/// Whether another socket is connected to this port of the sockets with these inodes.
pub(super) fn is_connected(port: u16, is_wanted: impl Fn(u64) -> bool) -> bool {
    let is_end =
        |socket: &TcpSocket| socket.is_connected() && socket.local.port() == port && is_wanted(socket.inode);
    !tcp::find(is_end).is_empty()
}

/// The connections within this machine that have one end among `ours` and the other among `theirs`,
/// by the inodes of both.
pub(super) fn connections_between(
    ours: impl Fn(u64) -> bool,
    theirs: impl Fn(u64) -> bool,
) -> Vec<(u64, u64)> {
    let is_end = |socket: &TcpSocket| socket.is_connected() && (ours(socket.inode) || theirs(socket.inode));
    let ends = tcp::find(is_end);
    let other = |own: &TcpSocket| ends.iter().find(|end| end.is(own.remote, own.local) && theirs(end.inode));
    let own_ends = ends.iter().filter(|end| ours(end.inode));
    own_ends.filter_map(|own| Some((own.inode, other(own)?.inode))).collect()
}

/// A socket that acknowledges at once; the kernel resets the option with each read.
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
    async fn owner_of_a_connection_is_our_user() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let ours = listener.local_addr().unwrap();
        let client = TcpStream::connect(ours).await.unwrap();
        let theirs = client.local_addr().unwrap();
        let (_socket, _) = listener.accept().await.unwrap();
        let own = rustix::process::geteuid().as_raw();
        assert_eq!(owners(|socket| socket.is(theirs, ours)).0, [own]);
        assert_eq!(owners(|socket| socket.listens() && socket.local.port() == ours.port()).0, [own]);
        assert!(owners(|socket| socket.is(theirs, ours)).is_trusted());
    }

    #[test]
    fn socket_of_another_or_unknown_user_is_not_trusted() {
        let own = rustix::process::geteuid().as_raw();
        assert!(!SocketOwners(vec![own, own + 4321]).is_trusted());
        assert!(!SocketOwners::default().is_trusted());
        assert!(SocketOwners(vec![0, own]).is_trusted());
    }
}
