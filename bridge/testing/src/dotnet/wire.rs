//! Messages in JSON over a local socket, on which a process that we start calls us back: how both test
//! platforms of .NET talk to editors. They frame messages differently.
//!
//! Not here: the meaning of messages ([`super::mtp`], [`super::vstest`]).

use std::net::Ipv4Addr;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use tandem_peers::PeerIdentity;
use tandem_wire::{ErrorCode, Failure, types};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

/// A longer message is refused.
const MAX_MESSAGE: usize = 64 << 20;
/// Time limit for reading the messages of a process that has ended.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// Framing of the messages on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// `Content-Length: N`, an empty line, N bytes.
    Headers,
    /// The length in groups of seven bits, the lowest first, then so many bytes.
    Counted,
}

/// A socket for one process.
#[derive(Debug)]
pub(super) struct Wire {
    listener: TcpListener,
    stream: Option<TcpStream>,
    framing: Framing,
    buffer: Vec<u8>,
}

fn wire_failure(what: &str, error: &std::io::Error) -> Failure {
    Failure::new(ErrorCode::IoFailed, format!("cannot {what} the test platform: {error}"))
}

impl Wire {
    /// Listens on a free port of this machine.
    ///
    /// # Errors
    /// `IO_FAILED` if no port is free.
    pub(super) async fn listen(framing: Framing) -> Result<Self, Failure> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.map_err(|error| wire_failure("listen for", &error))?;
        Ok(Self { listener, stream: None, framing, buffer: Vec::new() })
    }

    /// The port to be called on.
    pub(super) fn port(&self) -> u16 {
        self.listener.local_addr().map_or(0, |address| address.port())
    }

    /// The next message; none when the other side has hung up. May be dropped at any time without a loss.
    ///
    /// # Errors
    /// `IO_FAILED`, also for what is not a message.
    pub(super) async fn receive(&mut self) -> Result<Option<Value>, Failure> {
        loop {
            if let Some(message) = self.next()? {
                return Ok(Some(message));
            }
            let stream = self.connect().await?;
            stream.readable().await.map_err(|error| wire_failure("hear from", &error))?;
            let mut part = vec![0; 64 << 10];
            match stream.try_read(&mut part) {
                Ok(0) => return Ok(None),
                Ok(count) => self.buffer.extend_from_slice(part.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                // A process that was ended leaves a connection that is reset.
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return Ok(None),
                Err(error) => return Err(wire_failure("hear from", &error)),
            }
        }
    }

    /// Waits until the process has connected. May be dropped at any time.
    ///
    /// # Errors
    /// `IO_FAILED` if accepting fails.
    pub(super) async fn connect(&mut self) -> Result<&TcpStream, Failure> {
        if self.stream.is_none() {
            self.stream = Some(self.accept().await?);
        }
        self.stream
            .as_ref()
            .ok_or_else(|| Failure::new(ErrorCode::IoFailed, "the test platform has not connected yet"))
    }

    /// Accepts the first connection of this user: any process on this machine can connect to the port.
    async fn accept(&self) -> Result<TcpStream, Failure> {
        loop {
            let (stream, from) =
                self.listener.accept().await.map_err(|error| wire_failure("be called by", &error))?;
            let own = stream.local_addr().map_err(|error| wire_failure("be called by", &error))?;
            if PeerIdentity::of_tcp(own, from).is_trusted() {
                stream.set_nodelay(true).unwrap_or_default();
                return Ok(stream);
            }
            tracing::warn!(%from, "a process of another user called in place of the test platform");
        }
    }

    /// Returns the messages of an ended process that were not read yet.
    pub(super) async fn drain(&mut self) -> Vec<Value> {
        let mut left = Vec::new();
        if self.stream.is_none() && self.buffer.is_empty() {
            return left;
        }
        let reading = async {
            while let Ok(Some(message)) = self.receive().await {
                left.push(message);
            }
        };
        tokio::time::timeout(DRAIN_TIMEOUT, reading).await.unwrap_or_default();
        left
    }

    /// Sends a message to the process.
    ///
    /// # Errors
    /// `IO_FAILED` when the connection is lost.
    pub(super) async fn send(&mut self, message: &impl Serialize) -> Result<(), Failure> {
        let text = types::body(message).to_string();
        let mut bytes = match self.framing {
            Framing::Headers => format!("Content-Length: {}\r\n\r\n", text.len()).into_bytes(),
            Framing::Counted => count_of(text.len()),
        };
        bytes.extend_from_slice(text.as_bytes());
        match &mut self.stream {
            Some(stream) => stream.write_all(&bytes).await.map_err(|error| wire_failure("write to", &error)),
            None => Err(Failure::new(ErrorCode::IoFailed, "the test platform has not connected yet")),
        }
    }

    /// A message that is whole.
    fn next(&mut self) -> Result<Option<Value>, Failure> {
        let head = match self.framing {
            Framing::Headers => headers(&self.buffer),
            Framing::Counted => parse_frame_head(&self.buffer),
        };
        let Some((head, length)) = head else { return Ok(None) };
        let wrong = |why: String| Failure::new(ErrorCode::IoFailed, format!("the test platform sent {why}"));
        if length > MAX_MESSAGE {
            return Err(wrong(format!("a message of {length} bytes")));
        }
        let Some(body) = self.buffer.get(head..head + length) else { return Ok(None) };
        let message =
            serde_json::from_slice(body).map_err(|error| wrong(format!("what is not JSON: {error}")));
        self.buffer.drain(..head + length);
        message.map(Some)
    }
}

/// Bytes of the head, and the length of the body.
fn headers(buffer: &[u8]) -> Option<(usize, usize)> {
    let end = buffer.windows(4).position(|part| part == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(buffer.get(..end)?).into_owned();
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok()).flatten()
    });
    Some((end + 4, length.unwrap_or(0)))
}

fn parse_frame_head(buffer: &[u8]) -> Option<(usize, usize)> {
    let mut length = 0_usize;
    for (at, byte) in buffer.iter().enumerate().take(5) {
        length |= usize::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Some((at + 1, length));
        }
    }
    None
}

fn count_of(mut length: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = u8::try_from(length & 0x7f).unwrap_or(0);
        length >>= 7;
        bytes.push(if length > 0 { low | 0x80 } else { low });
        if length == 0 {
            return bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn messages_of_both_framings_arrive_whole_in_any_pieces() {
        for framing in [Framing::Headers, Framing::Counted] {
            let mut wire = Wire::listen(framing).await.unwrap();
            let mut other = TcpStream::connect((Ipv4Addr::LOCALHOST, wire.port())).await.unwrap();
            let message = json!({ "text": "é".repeat(20_000) });
            let text = message.to_string();
            let mut bytes = match framing {
                Framing::Headers => {
                    format!("Content-Type: x\r\ncontent-length: {}\r\n\r\n", text.len()).into()
                }
                Framing::Counted => count_of(text.len()),
            };
            bytes.extend_from_slice(text.as_bytes());
            let twice = [bytes.clone(), bytes].concat();
            let writing = tokio::spawn(async move {
                for part in twice.chunks(7_001) {
                    other.write_all(part).await.unwrap();
                }
            });
            assert_eq!(wire.receive().await.unwrap(), Some(message.clone()));
            writing.await.unwrap();
            assert_eq!(wire.drain().await, [message]);
        }
    }

    #[test]
    fn invalid_messages_are_errors() {
        assert_eq!(parse_frame_head(&[0x80, 0x80]), None);
        assert_eq!(parse_frame_head(&[0x81, 0x01, 9]), Some((2, 129)));
        assert_eq!(headers(b"Content-Length: 3\r\n"), None);
    }
}
