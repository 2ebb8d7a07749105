//! MCP on stdin and stdout: one JSON-RPC message a line. Every request is answered, also one that is too
//! large or cannot be read; rmcp's own transport drops those.
//!
//! One task writes, so that a line is never cut in two when the service stops waiting for the next message.

use std::io::{Error, ErrorKind};

use rmcp::RoleServer;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tandem_wire::outer_fields::OuterFields;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, oneshot};

use crate::call_order::CallOrder;
use crate::json_rpc::{self, ParsedLine};

/// Largest message, bytes.
pub const MAX_LINE: usize = 64 << 20;
/// Room kept for the next line, bytes.
const MAX_IDLE_LINE_BYTES: usize = 1 << 20;
/// Maximum number of lines that wait for the client to read. Further senders wait.
const MAX_QUEUED_LINES: usize = 64;

/// A line on its way out.
struct OutgoingLine {
    line: Vec<u8>,
    written: Option<oneshot::Sender<Result<(), Error>>>,
}

/// MCP transport over stdin and stdout.
pub struct Stdio<R> {
    lines: LineReader<R>,
    queue: Option<mpsc::Sender<OutgoingLine>>,
    /// An answer of the bridge that waits for room.
    refusal: Option<Vec<u8>>,
    /// The calls in the order of their lines: the tasks that answer them begin in any order.
    order: CallOrder,
}

impl<R: AsyncRead + Unpin + Send> Stdio<R> {
    /// Takes ownership of both ends. Must be called inside a tokio runtime.
    pub fn new(reader: R, writer: impl AsyncWrite + Unpin + Send + 'static) -> Self {
        Self::with_limit(reader, writer, MAX_LINE)
    }

    fn with_limit(reader: R, writer: impl AsyncWrite + Unpin + Send + 'static, limit: usize) -> Self {
        let (queue, queued) = mpsc::channel(MAX_QUEUED_LINES);
        tokio::spawn(write(writer, queued));
        let lines = LineReader { reader: BufReader::new(reader), line: Vec::new(), limit, skipped: None };
        Self { lines, queue: Some(queue), refusal: None, order: CallOrder::default() }
    }
}

impl<R: AsyncRead + Unpin + Send> Transport<RoleServer> for Stdio<R> {
    type Error = Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Error>> + Send + 'static {
        let queue = self.queue.clone();
        async move {
            let closed = || Error::new(ErrorKind::NotConnected, "the connection is closed");
            let line = serde_json::to_vec(&item)?;
            let (written, outcome) = oneshot::channel();
            let outgoing = OutgoingLine { line, written: Some(written) };
            queue.ok_or_else(closed)?.send(outgoing).await.map_err(|_| closed())?;
            outcome.await.map_err(|_| closed())?
        }
    }

    /// May be dropped and called again at any time.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if self.refusal.is_some() {
                let permit = self.queue.as_ref()?.reserve().await.ok()?;
                if let Some(line) = self.refusal.take() {
                    permit.send(OutgoingLine { line, written: None });
                }
            }
            let understood = match self.lines.next().await {
                Ok(InputLine::Whole(line)) => json_rpc::parse_line(&line),
                Ok(InputLine::TooLong(outer)) => {
                    ParsedLine::Refused(json_rpc::too_large(&outer, self.lines.limit))
                }
                Ok(InputLine::End) => return None,
                Err(error) => {
                    tracing::warn!(%error, "cannot read from the MCP client");
                    return None;
                }
            };
            match understood {
                ParsedLine::Message(mut message) => {
                    self.order.mark(&mut message);
                    return Some(*message);
                }
                ParsedLine::Refused(refusal) => self.refusal = Some(refusal.to_string().into_bytes()),
                ParsedLine::Nothing => {}
            }
        }
    }

    async fn close(&mut self) -> Result<(), Error> {
        self.queue = None;
        Ok(())
    }
}

/// Ends with the last sender, or when the client closes its end.
async fn write(mut writer: impl AsyncWrite + Unpin, mut queued: mpsc::Receiver<OutgoingLine>) {
    while let Some(OutgoingLine { mut line, written }) = queued.recv().await {
        line.push(b'\n');
        let outcome = async {
            writer.write_all(&line).await?;
            writer.flush().await
        };
        let outcome = outcome.await;
        let failed = outcome.is_err();
        if let Some(written) = written {
            // The caller may have given up.
            drop(written.send(outcome));
        }
        if failed {
            return;
        }
    }
}

enum InputLine {
    Whole(Vec<u8>),
    /// The outer fields of a line that was too long to be kept.
    TooLong(OuterFields),
    End,
}

/// Lines of a bounded length.
struct LineReader<R> {
    reader: BufReader<R>,
    /// The next line, as far as it has been received.
    line: Vec<u8>,
    limit: usize,
    /// The next one is too long: it is passed over.
    skipped: Option<OuterFields>,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// Returns the next line that is not empty. Cancel-safe: it never removes data from
    /// the buffer before it waits.
    async fn next(&mut self) -> Result<InputLine, Error> {
        loop {
            let block = self.reader.fill_buf().await?;
            if block.is_empty() {
                // The rest of a line without an end was never finished.
                return Ok(InputLine::End);
            }
            let end = block.iter().position(|byte| *byte == b'\n');
            let part = block.get(..end.unwrap_or(block.len())).unwrap_or_default();
            match &mut self.skipped {
                Some(outer) => outer.feed(part),
                None if self.line.len() + part.len() > self.limit => {
                    let mut outer = OuterFields::of(&self.line);
                    outer.feed(part);
                    self.line = Vec::new();
                    self.skipped = Some(outer);
                }
                None => self.line.extend_from_slice(part),
            }
            let taken = part.len() + usize::from(end.is_some());
            self.reader.consume(taken);
            if end.is_none() {
                continue;
            }
            if let Some(outer) = self.skipped.take() {
                return Ok(InputLine::TooLong(outer));
            }
            let line = self.line.strip_suffix(b"\r").unwrap_or(&self.line).to_vec();
            self.line.clear();
            self.line.shrink_to(MAX_IDLE_LINE_BYTES);
            if !line.is_empty() {
                return Ok(InputLine::Whole(line));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::JsonRpcMessage;
    use serde_json::{Value, json};
    use tokio::io::AsyncReadExt;

    use super::*;

    /// Sends these bytes; returns the number of requests received and the immediate answers.
    async fn exchange(input: &[u8], limit: usize) -> (usize, Vec<Value>) {
        let (ours, mut theirs) = tokio::io::duplex(1 << 20);
        let mut transport = Stdio::with_limit(input, ours, limit);
        let mut received = 0;
        while let Some(message) = transport.receive().await {
            assert!(matches!(message, JsonRpcMessage::Request(_)));
            received += 1;
        }
        drop(transport);
        let mut answers = String::new();
        theirs.read_to_string(&mut answers).await.unwrap();
        (received, answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
    }

    #[tokio::test]
    async fn every_line_is_received_or_answered() {
        let ping = |id: i64| format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }));
        let giant =
            json!({ "jsonrpc": "2.0", "method": "ping", "params": { "x": "y".repeat(100_000) }, "id": 3 });
        let lines =
            [ping(1), "\r\n{x}\n".into(), ping(2), format!("{giant}\n"), ping(4), "\n{\"id\":5".into()];
        let (received, answers) = exchange(lines.concat().as_bytes(), 50_000).await;
        assert_eq!(received, 3);
        let errors: Vec<_> =
            answers.iter().map(|it| (it["id"].clone(), it["error"]["code"].clone())).collect();
        assert_eq!(errors, [(Value::Null, json!(-32700)), (json!(3), json!(-32600))]);
    }

    #[tokio::test]
    async fn a_wait_that_is_dropped_loses_nothing() {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (mut from_client, to_us) = tokio::io::duplex(64);
        let mut transport = Stdio::new(to_us, ours);
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }).to_string();
        for byte in request.bytes().chain([b'\n']) {
            from_client.write_all(&[byte]).await.unwrap();
            if byte != b'\n' {
                let wait = transport.receive();
                assert!(tokio::time::timeout(std::time::Duration::ZERO, wait).await.is_err());
            }
        }
        assert!(matches!(transport.receive().await, Some(JsonRpcMessage::Request(_))));
        drop(theirs);
    }
}
