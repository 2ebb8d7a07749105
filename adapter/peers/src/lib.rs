//! The other end of a connection: the user of its process, and limits for connections. A TCP port on loopback
//! is open to every user of the machine, so servers on it look up the user of the process at the other end.
//!
//! Not here: the use of a connection, and tokens.

mod limits;
pub mod tcp;

use std::net::{IpAddr, SocketAddr};

pub use limits::{ConnectionLimiter, ConnectionLimits, ConnectionPermit};

/// The user or the machine at the other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PeerIdentity {
    /// A process on this machine, by the id of its user.
    User(u32),
    /// Another machine, or a process whose user the kernel does not report.
    Address(IpAddr),
}

impl PeerIdentity {
    /// Looks up the other end of a TCP connection. An end that is already closed has no user.
    pub fn of_tcp(local: SocketAddr, remote: SocketAddr) -> Self {
        tcp::user_of(remote, local).map_or(Self::Address(remote.ip()), Self::User)
    }

    /// Whether it is the user of this process, or root, who may do anything.
    pub fn is_trusted(self) -> bool {
        matches!(self, Self::User(user) if is_trusted(user))
    }
}

impl std::fmt::Display for PeerIdentity {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::User(user) => write!(formatter, "user {user}"),
            Self::Address(address) => address.fmt(formatter),
        }
    }
}

/// Whether a user is the one of this process, or root.
pub fn is_trusted(user: u32) -> bool {
    user == rustix::process::geteuid().as_raw() || user == 0
}

/// The user of the process at the other end of a Unix socket, when it connected.
///
/// # Errors
/// From getsockopt(2) with `SO_PEERCRED`.
pub fn user_of_unix(socket: impl std::os::fd::AsFd) -> std::io::Result<u32> {
    Ok(rustix::net::sockopt::socket_peercred(socket)?.uid.as_raw())
}
