//! A port for a program that needs its number before it listens.

use tokio::net::TcpSocket;

/// A port of loopback that the system assigns to no other process while this value exists. It is bound and
/// does not listen: programs that share addresses (`SO_REUSEADDR`: Python, Node and Ruby do) can still listen
/// on it; until then it refuses.
pub struct Port(TcpSocket);

impl Port {
    /// Binds an unused port, without listening on it.
    ///
    /// # Errors
    /// If the system has no port left.
    pub fn take() -> anyhow::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseaddr(true)?;
        socket.bind(([127, 0, 0, 1], 0).into())?;
        Ok(Self(socket))
    }

    /// The number of the port.
    ///
    /// # Errors
    /// If the system does not report it.
    pub fn number(&self) -> anyhow::Result<u16> {
        Ok(self.0.local_addr()?.port())
    }
}
