//! The other end of a connection: whose process it is, and how many connections each may have at once. A TCP
//! port on loopback is open to every user of the machine, so servers on it look up whose process holds the
//! other end.
//!
//! Not here: what is done with a connection, and tokens.

mod limits;
pub mod tcp;

use std::net::{IpAddr, SocketAddr};

pub use limits::{ConnectionLimiter, ConnectionLimits, ConnectionPermit};

/// The other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Who {
    /// A process of this user on this machine.
    User(u32),
    /// Another machine, or a process of which the kernel does not say whose it is.
    Address(IpAddr),
}

impl Who {
    /// The other end of a TCP connection. One that has closed already belongs to no user.
    pub fn of_tcp(local: SocketAddr, remote: SocketAddr) -> Self {
        tcp::user_of(remote, local).map_or(Self::Address(remote.ip()), Self::User)
    }

    /// This process's own user, or root, who may do anything anyway.
    pub fn is_trusted(self) -> bool {
        matches!(self, Self::User(user) if is_trusted(user))
    }
}

impl std::fmt::Display for Who {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::User(user) => write!(formatter, "user {user}"),
            Self::Address(address) => address.fmt(formatter),
        }
    }
}

/// Whether a user is this process's own, or root.
pub fn is_trusted(user: u32) -> bool {
    user == rustix::process::geteuid().as_raw() || user == 0
}

/// The user of the process at the other end of a Unix socket, as it was when it connected.
///
/// # Errors
/// From the kernel.
pub fn user_of_unix(socket: impl std::os::fd::AsFd) -> std::io::Result<u32> {
    Ok(rustix::net::sockopt::socket_peercred(socket)?.uid.as_raw())
}
