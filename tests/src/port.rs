//! A port for a program that needs its number before it listens.

use tokio::net::TcpSocket;

/// A port of loopback that the system gives to nobody else while this is there. It is bound and does not listen: who may
/// share addresses (`SO_REUSEADDR`: Python, Node and Ruby do) listens on it all the same, and until then it refuses.
pub struct Port(TcpSocket);

impl Port {
    /// Takes a free one.
    ///
    /// # Errors
    /// When there is none.
    pub fn take() -> anyhow::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseaddr(true)?;
        socket.bind(([127, 0, 0, 1], 0).into())?;
        Ok(Self(socket))
    }

    /// Its number.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn number(&self) -> anyhow::Result<u16> {
        Ok(self.0.local_addr()?.port())
    }
}
