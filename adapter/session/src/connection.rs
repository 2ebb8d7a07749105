//! Both halves of a client's connection, over any transport.
//!
//! Knows no messages: [`super::actor`] reads them, [`super::writer`] writes them.

use tokio::io::{AsyncRead, AsyncWrite};

/// A client's connection.
pub struct Connection {
    /// The client's messages.
    pub reader: Box<dyn AsyncRead + Send + Unpin>,
    /// Messages to the client.
    pub writer: Box<dyn AsyncWrite + Send + Unpin>,
}
