//! Both halves of a client's connection, wherever it came from.

use tokio::io::{AsyncRead, AsyncWrite};

/// A client's connection.
pub struct Connection {
    /// What the client sends.
    pub reader: Box<dyn AsyncRead + Send + Unpin>,
    /// What it is sent.
    pub writer: Box<dyn AsyncWrite + Send + Unpin>,
}
