//! Closing of a port that Node opened for Tandem: anyone who can connect to it can run anything in the
//! program. Node has no signal for that, so Tandem asks the program over the port itself, in Node's
//! inspector protocol: one evaluation over a WebSocket (RFC 6455).
//!
//! Not here: a port that was open before, which stays open, and one that another debugger is using by now.

use std::io::{Error, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::super::{debuggee::DebuggeeProcess, socket};
use super::{POLL_INTERVAL, ports, sockets};

/// How long it may take until the port is unused, and then until it is closed.
const TIMEOUT: Duration = Duration::from_secs(1);
/// Most of an answer that is read.
const MAX_ANSWER_BYTES: usize = 64 * 1024;
/// The same as `close()` of Node's `inspector` module, without `require`, which ES modules do not have.
const CLOSE: &str = "process._debugEnd()";
/// Any key serves: it shows only that the other end speaks the protocol (RFC 6455, 1.3).
const KEY: &str = "dGFuZGVtIGNsb3NlcyBpdA==";

/// A port that a process was made to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct OpenedPort {
    /// The process that opened the port.
    pub(super) process: DebuggeeProcess,
    pub(super) port: u16,
}

impl OpenedPort {
    /// Closes it, unless the process has ended or another debugger is connected. Blocks briefly.
    pub(in super::super) fn close(&self) {
        let (pid, port) = (self.process.pid(), self.port);
        // The adapter may be about to go.
        if !until(|| !self.is_used()) {
            return tracing::info!(pid, port, "Node's inspector stays open: another debugger uses it");
        }
        if !self.is_open() {
            return;
        }
        let closed = ask_to_close(port);
        if !until(|| !self.is_open()) {
            tracing::warn!(pid, port, ?closed, "Node's inspector could not be closed");
        }
    }

    fn is_open(&self) -> bool {
        self.process.is_there() && ports(self.process.pid()).contains(&self.port)
    }

    fn is_used(&self) -> bool {
        let own = sockets(self.process.pid());
        self.process.is_there() && socket::is_connected(self.port, |inode| own.contains(&inode))
    }
}

fn until(reached: impl Fn() -> bool) -> bool {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        if reached() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// An entry of the inspector's list of what it can inspect.
#[derive(Debug, Deserialize)]
struct InspectorTarget {
    id: String,
}

/// A request of Node's inspector protocol.
#[derive(Debug, Serialize)]
struct InspectorRequest<'a> {
    id: u32,
    method: &'a str,
    params: EvaluationParams<'a>,
}

/// The parameters of `Runtime.evaluate`.
#[derive(Debug, Serialize)]
struct EvaluationParams<'a> {
    expression: &'a str,
}

/// Has the program close its inspector, and waits until that hangs up.
fn ask_to_close(port: u16) -> std::io::Result<()> {
    let host = format!("Host: 127.0.0.1:{port}\r\n");
    let (_, list) = ask(port, &format!("GET /json/list HTTP/1.1\r\n{host}\r\n"))?;
    let targets: Vec<InspectorTarget> = serde_json::from_slice(&list)?;
    // It becomes a part of a request.
    let id = targets.into_iter().next().map(|target| target.id);
    let id = id.filter(|id| id.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-'));
    let id = id.ok_or_else(|| Error::other("the inspector names nothing to inspect"))?;
    let upgrade = format!(
        "GET /{id} HTTP/1.1\r\n{host}Upgrade: websocket\r\nConnection: Upgrade\r\n\
            Sec-WebSocket-Key: {KEY}\r\n\
         Sec-WebSocket-Version: 13\r\n\r\n"
    );
    let (mut socket, _) = ask(port, &upgrade)?;
    let message = InspectorRequest {
        id: 1,
        method: "Runtime.evaluate",
        params: EvaluationParams { expression: CLOSE },
    };
    socket.write_all(&frame(&serde_json::to_string(&message)?)?)?;
    // It may answer before it hangs up.
    let mut rest = Vec::new();
    socket.take(MAX_ANSWER_BYTES as u64).read_to_end(&mut rest).map(drop)
}

/// A short text as one frame of a client (RFC 6455, 5.2), with a mask that changes nothing: it protects
/// proxies, and there is none.
fn frame(text: &str) -> std::io::Result<Vec<u8>> {
    let length = u8::try_from(text.len()).ok().filter(|length| *length < 126);
    let length = length.ok_or_else(|| Error::other("the message is too long for a short frame"))?;
    Ok([&[0x81, 0x80 | length, 0, 0, 0, 0], text.as_bytes()].concat())
}

/// Sends a request; returns the connection and the body of the answer.
fn ask(port: u16, request: &str) -> std::io::Result<(TcpStream, Vec<u8>)> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut socket = TcpStream::connect_timeout(&address, TIMEOUT)?;
    socket.set_read_timeout(Some(TIMEOUT))?;
    socket.set_write_timeout(Some(TIMEOUT))?;
    socket.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    loop {
        if let Some(body) = body_of(&answer) {
            return Ok((socket, body.to_vec()));
        }
        let count = socket.read(&mut piece)?;
        answer.extend_from_slice(piece.get(..count).unwrap_or_default());
        if count == 0 || answer.len() > MAX_ANSWER_BYTES {
            return Err(ErrorKind::UnexpectedEof.into());
        }
    }
}

/// The body of an answer once all of it is there; an answer that names no length has none.
fn body_of(answer: &[u8]) -> Option<&[u8]> {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(answer.get(..end)?).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    answer.get(end + 4..)?.get(..length.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_when_all_of_it_is_there() {
        let whole = b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n[]";
        for cut in 0..whole.len() {
            assert_eq!(body_of(&whole[..cut]), None, "{cut}");
        }
        assert_eq!(body_of(whole), Some(&b"[]"[..]));
        assert_eq!(body_of(b"HTTP/1.1 101 Switching Protocols\r\n\r\n"), Some(&b""[..]));
        assert_eq!(
            body_of(b"HTTP/1.0 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n"),
            Some(&b""[..])
        );
    }

    #[test]
    fn port_of_another_process_is_left_alone() {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let process = DebuggeeProcess::of(std::process::id()).unwrap();
        let opened = OpenedPort { process, port: address.port() };
        assert!(opened.is_open() && !opened.is_used());
        let _other = TcpStream::connect(address).unwrap();
        let _end = listener.accept().unwrap();
        assert!(opened.is_used());
        opened.close();
        listener.set_nonblocking(true).unwrap();
        assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    }
}
