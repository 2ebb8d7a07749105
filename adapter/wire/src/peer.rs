//! The client's end of a connection: sends requests, and pairs each response with its waiter.
//!
//! A receiver that follows the state of the session takes all messages in the order of arrival
//! ([`Peer::start_in_order`]): a response wakes its waiter only after the receiver has applied it. Other
//! receivers may send requests while they handle a message ([`Peer::start`]).
//!
//! Used by the bridge, the tests and the child adapters. Not used by the hub, which serves many clients
//! itself.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tandem_error::{ErrorCode, Failure};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot};
use tokio_util::codec::{FramedRead, FramedWrite};
use tokio_util::sync::CancellationToken;

use crate::codec::DapCodec;
use crate::message::{Event, Message, MessageError, Request, Response};

/// A message of the other side.
#[derive(Debug)]
pub enum Incoming {
    /// A response to a request of this side. Only an [`IncomingStream`] has responses.
    Response(ArrivedResponse),
    /// An event from the other side.
    Event(Event),
    /// A reverse request; answer it with [`Peer::respond`].
    Request(Request),
}

/// Wakes the task that waits for a response.
type Waiter = oneshot::Sender<Result<Value, Failure>>;

/// A response that has arrived. Its waiter gets the result when this is dropped.
#[derive(Debug)]
pub struct ArrivedResponse {
    command: String,
    result: Result<Value, Failure>,
    /// `None` if the waiter has given up.
    waiter: Option<Waiter>,
}

impl ArrivedResponse {
    /// The command of the request, as the other side repeats it.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// The body of a successful response, or the failure.
    pub fn result(&self) -> &Result<Value, Failure> {
        &self.result
    }
}

impl Drop for ArrivedResponse {
    fn drop(&mut self) {
        if let Some(waiter) = self.waiter.take() {
            // A waiter may give up between the arrival and now.
            drop(waiter.send(std::mem::replace(&mut self.result, Ok(Value::Null))));
        }
    }
}

/// All messages of the other side, in the order of arrival. Requests without a response fail when this is
/// dropped, so the receiver can apply the end of the connection before anyone acts on it.
#[derive(Debug)]
pub struct IncomingStream {
    messages: mpsc::UnboundedReceiver<Incoming>,
    shared: Weak<PeerState>,
}

impl IncomingStream {
    /// The next message; `None` after the connection has ended.
    pub async fn next(&mut self) -> Option<Incoming> {
        self.messages.recv().await
    }
}

impl Drop for IncomingStream {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            shared.ended.cancel();
            shared.fail_waiters();
        }
    }
}

/// When a waiter gets its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Delivery {
    /// As soon as the response arrives.
    AtOnce,
    /// After the receiver has taken the response from its [`IncomingStream`].
    InOrder,
}

/// Requests that wait for a response, by number.
#[derive(Debug, Default)]
struct OutstandingRequests {
    /// The last number that was assigned.
    seq: i64,
    /// `None` after the connection has ended.
    waiting: Option<HashMap<i64, Waiter>>,
}

#[derive(Debug)]
struct PeerState {
    delivery: Delivery,
    outstanding: Mutex<OutstandingRequests>,
    outgoing: mpsc::UnboundedSender<Message>,
    ended: CancellationToken,
    /// The reason why the connection was lost, if it did not end normally.
    broken: OnceLock<String>,
    /// Whether the other side has announced DAP's `cancel`. Some adapters that have not crash on
    /// it (lldb-dap 19, rdbg).
    supports_cancel: AtomicBool,
}

impl PeerState {
    fn outstanding(&self) -> MutexGuard<'_, OutstandingRequests> {
        self.outstanding.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Numbers a message and queues it for writing, in this order. Returns the number, or `None` if the
    /// connection has ended.
    fn send(&self, mut message: Message, waiter: Option<Waiter>) -> Option<i64> {
        let mut outstanding = self.outstanding();
        outstanding.seq += 1;
        let seq = outstanding.seq;
        let waiting = outstanding.waiting.as_mut()?;
        if let Some(waiter) = waiter {
            waiting.insert(seq, waiter);
        }
        message.set_seq(seq);
        self.outgoing.send(message).ok().map(|()| seq)
    }

    fn supports_cancel(&self) -> bool {
        self.supports_cancel.load(Ordering::Relaxed)
    }

    /// Records whether the other side supports `cancel`, from the response to `initialize`
    /// and from later changes.
    fn note_capabilities(&self, capabilities: &Value) {
        if let Some(takes) = capabilities["supportsCancelRequest"].as_bool() {
            self.supports_cancel.store(takes, Ordering::Relaxed);
        }
    }

    /// Delivers a response to its waiter, which may have given up, directly or through the stream.
    fn deliver(
        &self,
        incoming: &mpsc::UnboundedSender<Incoming>,
        number: i64,
        command: String,
        result: Result<Value, Failure>,
    ) {
        let waiter = self.outstanding().waiting.as_mut().and_then(|waiting| waiting.remove(&number));
        if waiter.is_none() {
            tracing::debug!(seq = number, "a response to no request");
        }
        let response = ArrivedResponse { command, result, waiter };
        match self.delivery {
            Delivery::AtOnce => drop(response),
            // Without a receiver, the response is dropped, which wakes the waiter.
            Delivery::InOrder => drop(incoming.send(Incoming::Response(response))),
        }
    }

    /// Handles the end of the connection. An [`IncomingStream`] first has to be read to its end.
    fn end(&self) {
        if self.delivery == Delivery::AtOnce {
            self.fail_waiters();
        }
    }

    /// Wakes all waiters, which then name their requests, and refuses new requests.
    fn fail_waiters(&self) {
        self.outstanding().waiting.take();
    }
}

/// A request that waits for its response. Dropping this ends the wait and cancels the request.
struct OutstandingRequest<'a> {
    peer: &'a Peer,
    /// `None` after the response has arrived.
    number: Option<i64>,
    cancelled: bool,
}

impl OutstandingRequest<'_> {
    /// Cancels the request once, if the other side supports that. The response to `cancel` has no content,
    /// and on a connection that has ended there is nothing to cancel.
    fn cancel(&mut self) {
        if let Some(number) = self.number
            && !std::mem::replace(&mut self.cancelled, true)
            && self.peer.0.supports_cancel()
        {
            let cancel = Request::new("cancel", json!({ "requestId": number }));
            self.peer.0.send(Message::Request(cancel), None);
        }
    }
}

impl Drop for OutstandingRequest<'_> {
    fn drop(&mut self) {
        self.cancel();
        if let (Some(number), Some(waiting)) = (self.number, &mut self.peer.0.outstanding().waiting) {
            waiting.remove(&number);
        }
    }
}

/// A handle to one connection, which clones share. The connection closes when the last clone is dropped or
/// [`Peer::close`] is called.
#[derive(Debug, Clone)]
pub struct Peer(Arc<PeerState>);

impl Drop for PeerState {
    fn drop(&mut self) {
        self.ended.cancel();
    }
}

impl Peer {
    /// Takes over both halves of a connection. Must be called inside a tokio runtime. Waiters get their
    /// responses as soon as they arrive, so a response may overtake the events before it, and the receiver
    /// gets only events and reverse requests. It may send requests while it handles them.
    ///
    /// The receiver ends when the connection ends. It is unbounded, so the caller must keep reading it.
    pub fn start<R, W>(reader: R, writer: W) -> (Self, mpsc::UnboundedReceiver<Incoming>)
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        Self::start_with(reader, writer, Delivery::AtOnce)
    }

    /// Takes over both halves of a connection. Must be called inside a tokio runtime. The stream has
    /// every message in the order of arrival, and a waiter gets its response when the receiver drops it. The
    /// receiver must keep reading, and must not wait for a response while it handles a message.
    pub fn start_in_order<R, W>(reader: R, writer: W) -> (Self, IncomingStream)
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let (peer, messages) = Self::start_with(reader, writer, Delivery::InOrder);
        let stream = IncomingStream { messages, shared: Arc::downgrade(&peer.0) };
        (peer, stream)
    }

    fn start_with<R, W>(reader: R, writer: W, delivery: Delivery) -> (Self, mpsc::UnboundedReceiver<Incoming>)
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let (outgoing, to_write) = mpsc::unbounded_channel();
        let (incoming, received) = mpsc::unbounded_channel();
        let ended = CancellationToken::new();
        let shared = Arc::new(PeerState {
            delivery,
            outstanding: Mutex::new(OutstandingRequests { seq: 0, waiting: Some(HashMap::new()) }),
            outgoing,
            ended: ended.clone(),
            broken: OnceLock::new(),
            supports_cancel: AtomicBool::new(false),
        });
        tokio::spawn(write(writer, to_write, Arc::downgrade(&shared), ended.clone()));
        tokio::spawn(read(reader, incoming, Arc::downgrade(&shared), ended));
        (Self(shared), received)
    }

    /// Sends a request and waits at most `deadline`.
    ///
    /// # Errors
    /// The failure of the other side; `TIMEOUT`; `ENGINE_FAILED` if the connection ends first.
    pub async fn request(
        &self,
        command: &str,
        arguments: Value,
        deadline: Duration,
    ) -> Result<Value, Failure> {
        self.request_or_cancel(command, arguments, deadline, &CancellationToken::new()).await
    }

    /// Sends a request, waits at most `deadline`, and passes a cancellation on as DAP `cancel` if the other
    /// side has announced it. So do dropping the future and the deadline.
    ///
    /// # Errors
    /// As for [`Peer::request`], and `CANCELLED`.
    pub async fn request_or_cancel(
        &self,
        command: &str,
        arguments: Value,
        deadline: Duration,
        cancel: &CancellationToken,
    ) -> Result<Value, Failure> {
        let (sender, answer) = oneshot::channel();
        let request = Message::Request(Request::new(command, arguments));
        let Some(number) = self.0.send(request, Some(sender)) else { return Err(closed_failure(command)) };
        let mut unanswered = OutstandingRequest { peer: self, number: Some(number), cancelled: false };
        tokio::pin!(answer);
        tokio::select! {
            biased;
            answered = &mut answer => {
                unanswered.number = None;
                answered.unwrap_or_else(|_| Err(closed_failure(command)))
            }
            () = cancel.cancelled() => {
                if !self.0.supports_cancel() {
                    return Err(Failure::cancelled());
                }
                unanswered.cancel();
                // The other side still responds, most likely with `cancelled`. This response counts if it
                // arrives soon.
                match tokio::time::timeout(Duration::from_millis(500), answer).await {
                    Ok(Ok(answered)) => answered,
                    _ => Err(Failure::cancelled()),
                }
            }
            () = tokio::time::sleep(deadline) => {
                Err(Failure::new(
                    ErrorCode::Timeout,
                    format!("`{command}` was not answered within {} ms", deadline.as_millis()),
                ))
            }
        }
    }

    /// Responds to a reverse request.
    pub fn respond(&self, request: &Request, outcome: Result<Value, Failure>) {
        let response = Response::to(request.seq, request.command.clone(), outcome);
        // A connection that has ended needs no response.
        self.0.send(Message::Response(response), None);
    }

    /// Closes the connection; every waiter fails.
    pub fn close(&self) {
        self.0.ended.cancel();
    }

    /// The protocol error of the other side that ended the connection, if any.
    pub fn protocol_error(&self) -> Option<String> {
        self.0.broken.get().cloned()
    }

    /// Whether the connection ended.
    pub fn is_closed(&self) -> bool {
        self.0.ended.is_cancelled()
    }
}

fn closed_failure(command: &str) -> Failure {
    Failure::new(
        ErrorCode::EngineFailed,
        format!("the debug adapter went away before it answered `{command}`"),
    )
    .hint("the session has ended; start or join another")
}

async fn write<W: AsyncWrite + Unpin>(
    writer: W,
    mut to_write: mpsc::UnboundedReceiver<Message>,
    shared: Weak<PeerState>,
    ended: CancellationToken,
) {
    let mut writer = FramedWrite::new(writer, DapCodec::default());
    loop {
        let message = tokio::select! {
            message = to_write.recv() => message,
            () = ended.cancelled() => None,
        };
        let Some(message) = message else { break };
        if writer.send(&message).await.is_err() {
            break;
        }
    }
    ended.cancel();
    if let Some(shared) = shared.upgrade() {
        shared.end();
    }
}

async fn read<R: AsyncRead + Unpin>(
    reader: R,
    incoming: mpsc::UnboundedSender<Incoming>,
    shared: Weak<PeerState>,
    ended: CancellationToken,
) {
    let mut reader = FramedRead::new(reader, DapCodec::default());
    loop {
        let item = tokio::select! {
            item = reader.next() => item,
            () = ended.cancelled() => None,
        };
        let message = match item {
            Some(Ok(Ok(message))) => message,
            Some(Ok(Err(error))) => {
                tracing::warn!(%error, "message skipped");
                let Some(shared) = shared.upgrade() else { break };
                receive_invalid(&shared, &incoming, error);
                continue;
            }
            Some(Err(error)) => {
                tracing::warn!(%error, "connection broken");
                if error.breaks_protocol()
                    && let Some(shared) = shared.upgrade()
                {
                    // Only the first reason counts.
                    drop(shared.broken.set(error.to_string()));
                }
                break;
            }
            None => break,
        };
        match message {
            Message::Response(response) => {
                let Some(shared) = shared.upgrade() else { break };
                if response.success && response.command == "initialize" {
                    shared.note_capabilities(&response.body);
                }
                let (number, command) = (response.request_seq, response.command.clone());
                shared.deliver(&incoming, number, command, response.into_result());
            }
            Message::Event(event) => {
                if event.event == "capabilities"
                    && let Some(shared) = shared.upgrade()
                {
                    shared.note_capabilities(&event.body["capabilities"]);
                }
                drop(incoming.send(Incoming::Event(event)));
            }
            Message::Request(request) => drop(incoming.send(Incoming::Request(request))),
        }
    }
    ended.cancel();
    if let Some(shared) = shared.upgrade() {
        shared.end();
    }
}

/// Handles a message that could not be parsed. A request gets an error response; for a response, the
/// waiter gets an error.
fn receive_invalid(shared: &PeerState, incoming: &mpsc::UnboundedSender<Incoming>, error: MessageError) {
    if let Some(number) = error.answers {
        let message = format!("the debug adapter's answer cannot be read: {}", error.reason);
        let failure = Failure::new(ErrorCode::EngineFailed, message).quiet();
        let failure = failure.hint("request less, or something else");
        shared.deliver(incoming, number, error.command.unwrap_or_default(), Err(failure));
    } else if let Some(seq) = error.seq {
        let response =
            Response::to(seq, error.command.unwrap_or_default(), Err(Failure::invalid(error.reason)));
        shared.send(Message::Response(response), None);
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncWriteExt, DuplexStream};
    use tokio_util::codec::Framed;

    use super::*;

    const TEST_TIMEOUT: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn every_waiter_fails_when_the_connection_ends() {
        let (ours, theirs) = tokio::io::duplex(1024);
        let (reader, writer) = tokio::io::split(ours);
        let (peer, _events) = Peer::start(reader, writer);
        let asking = tokio::spawn({
            let peer = peer.clone();
            async move { peer.request("threads", Value::Null, TEST_TIMEOUT).await }
        });
        drop(theirs);
        let failure = asking.await.unwrap().unwrap_err();
        assert_eq!(failure.code, ErrorCode::EngineFailed);
        assert_eq!(
            peer.request("threads", Value::Null, TEST_TIMEOUT).await.unwrap_err().code,
            ErrorCode::EngineFailed
        );
    }

    /// Connects both ends; the other side has responded to `initialize` with these capabilities.
    async fn connect_introduced(
        capabilities: Value,
    ) -> (Peer, mpsc::UnboundedReceiver<Incoming>, Framed<DuplexStream, DapCodec>) {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (reader, writer) = tokio::io::split(ours);
        let (peer, events) = Peer::start(reader, writer);
        let mut theirs = Framed::new(theirs, DapCodec::default());
        let answering = async {
            let request = next_request(&mut theirs).await;
            let answer = Response::to(request.seq, request.command, Ok(capabilities));
            theirs.send(&Message::Response(answer)).await.unwrap();
        };
        let (answer, ()) = tokio::join!(peer.request("initialize", Value::Null, TEST_TIMEOUT), answering);
        answer.unwrap();
        (peer, events, theirs)
    }

    async fn next_request(theirs: &mut Framed<DuplexStream, DapCodec>) -> Request {
        match theirs.next().await.unwrap().unwrap().unwrap() {
            Message::Request(request) => request,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn a_request_whose_waiter_gives_up_is_cancelled() {
        let (peer, _events, mut theirs) = connect_introduced(json!({ "supportsCancelRequest": true })).await;
        drop(
            tokio::time::timeout(Duration::ZERO, peer.request("variables", Value::Null, TEST_TIMEOUT)).await,
        );
        let request = next_request(&mut theirs).await;
        let cancel = next_request(&mut theirs).await;
        assert_eq!(
            (cancel.command.as_str(), &cancel.arguments["requestId"]),
            ("cancel", &json!(request.seq))
        );
        assert!(peer.0.outstanding().waiting.as_ref().unwrap().is_empty());
    }

    #[tokio::test]
    async fn cancel_is_sent_only_to_a_side_that_has_announced_it() {
        for capabilities in [json!({}), json!({ "supportsCancelRequest": false })] {
            let (peer, mut events, mut theirs) = connect_introduced(capabilities).await;
            drop(
                tokio::time::timeout(Duration::ZERO, peer.request("completions", Value::Null, TEST_TIMEOUT))
                    .await,
            );
            peer.request("variables", Value::Null, Duration::ZERO).await.unwrap_err();
            let cancel = CancellationToken::new();
            cancel.cancel();
            let failure =
                peer.request_or_cancel("evaluate", Value::Null, TEST_TIMEOUT, &cancel).await.unwrap_err();
            assert_eq!(failure.code, ErrorCode::Cancelled);
            // The other side announces it later.
            let body = json!({ "capabilities": { "supportsCancelRequest": true } });
            theirs.send(&Message::Event(Event::new("capabilities", body))).await.unwrap();
            assert!(matches!(events.recv().await, Some(Incoming::Event(_))), "it is noted on arrival");
            drop(
                tokio::time::timeout(Duration::ZERO, peer.request("threads", Value::Null, TEST_TIMEOUT))
                    .await,
            );
            let mut commands = Vec::new();
            while commands.last().is_none_or(|last| last != "cancel") {
                commands.push(next_request(&mut theirs).await.command);
            }
            assert_eq!(commands, ["completions", "variables", "evaluate", "threads", "cancel"]);
        }
    }

    #[tokio::test]
    async fn a_response_that_cannot_be_parsed_is_a_failure_at_once() {
        let (peer, mut events, theirs) = connect_introduced(json!({})).await;
        let mut theirs = theirs.into_inner();
        let answering = async {
            let number = 2;
            let head = format!(r#""seq":9,"type":"response","request_seq":{number},"success":true"#);
            let body = format!(r#"{{{head},"command":"threads","body":[1e999]}}"#);
            let frame = format!("Content-Length: {}\r\n\r\n{body}", body.len());
            theirs.write_all(frame.as_bytes()).await.unwrap();
            let event = "{\"seq\":1,\"type\":\"event\",\"event\":\"thread\",\"body\":{\"name\":\"\\ud800\"}}";
            let frame = format!("Content-Length: {}\r\n\r\n{event}", event.len());
            theirs.write_all(frame.as_bytes()).await.unwrap();
        };
        let (answer, ()) = tokio::join!(peer.request("threads", Value::Null, TEST_TIMEOUT), answering);
        let failure = answer.unwrap_err();
        assert_eq!(failure.code, ErrorCode::EngineFailed);
        assert!(failure.message.contains("out of range"), "{failure}");
        let Some(Incoming::Event(event)) = events.recv().await else { panic!("no event") };
        assert_eq!(event.body["name"], "\\ud800");
    }

    #[tokio::test]
    async fn responses_find_their_requests_in_any_order_and_a_second_one_is_ignored() {
        let (ours, theirs) = tokio::io::duplex(4096);
        let (reader, writer) = tokio::io::split(ours);
        let (peer, mut events) = Peer::start(reader, writer);
        let (reader, writer) = tokio::io::split(theirs);
        let mut reader = FramedRead::new(reader, DapCodec::default());
        let mut writer = FramedWrite::new(writer, DapCodec::default());
        let both = tokio::spawn(async move {
            tokio::join!(
                peer.request("a", Value::Null, TEST_TIMEOUT),
                peer.request("b", Value::Null, TEST_TIMEOUT)
            )
        });
        let mut requests = Vec::new();
        for _ in 0..2 {
            let Message::Request(request) = reader.next().await.unwrap().unwrap().unwrap() else { panic!() };
            requests.push(request);
        }
        for request in [&requests[1], &requests[0], &requests[0]] {
            let answer = Response::to(request.seq, request.command.clone(), Ok(json!(request.command)));
            writer.send(&Message::Response(answer)).await.unwrap();
        }
        writer.send(&Message::Event(Event::new("late", Value::Null))).await.unwrap();
        let Some(Incoming::Event(event)) = events.recv().await else { panic!("no event") };
        assert_eq!(event, Event::new("late", Value::Null));
        let (a, b) = both.await.unwrap();
        assert_eq!((a.unwrap(), b.unwrap()), (json!("a"), json!("b")));
    }

    /// A connection whose messages are taken in order, a request on it, and the other side, which has read
    /// the request.
    async fn connect_in_order() -> (Peer, IncomingStream, Asking, Framed<DuplexStream, DapCodec>, Request) {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (reader, writer) = tokio::io::split(ours);
        let (peer, stream) = Peer::start_in_order(reader, writer);
        let mut theirs = Framed::new(theirs, DapCodec::default());
        let asking = tokio::spawn({
            let peer = peer.clone();
            async move { peer.request("continue", Value::Null, TEST_TIMEOUT).await }
        });
        let request = next_request(&mut theirs).await;
        (peer, stream, asking, theirs, request)
    }

    type Asking = tokio::task::JoinHandle<Result<Value, Failure>>;

    async fn is_waiting(asking: &mut Asking) -> bool {
        tokio::time::timeout(Duration::from_millis(10), asking).await.is_err()
    }

    async fn answer(theirs: &mut Framed<DuplexStream, DapCodec>, request: &Request) {
        let response = Response::to(request.seq, request.command.clone(), Ok(json!("done")));
        theirs.send(&Message::Response(response)).await.unwrap();
    }

    async fn stop(theirs: &mut Framed<DuplexStream, DapCodec>) {
        theirs.send(&Message::Event(Event::new("stopped", Value::Null))).await.unwrap();
    }

    async fn next_event(stream: &mut IncomingStream) -> String {
        match stream.next().await {
            Some(Incoming::Event(event)) => event.event,
            other => panic!("{other:?}"),
        }
    }

    async fn next_response(stream: &mut IncomingStream) -> ArrivedResponse {
        match stream.next().await {
            Some(Incoming::Response(response)) => response,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn responses_and_events_are_taken_in_the_order_of_arrival() {
        for response_is_first in [false, true] {
            let (_peer, mut stream, mut asking, mut theirs, request) = connect_in_order().await;
            if response_is_first {
                answer(&mut theirs, &request).await;
                stop(&mut theirs).await;
            } else {
                stop(&mut theirs).await;
                answer(&mut theirs, &request).await;
                assert_eq!(next_event(&mut stream).await, "stopped");
            }
            let response = next_response(&mut stream).await;
            assert_eq!((response.command(), response.result()), ("continue", &Ok(json!("done"))));
            if response_is_first {
                assert_eq!(next_event(&mut stream).await, "stopped");
            }
            assert!(is_waiting(&mut asking).await, "the receiver still handles the response");
            drop(response);
            assert_eq!(asking.await.unwrap(), Ok(json!("done")));
        }
    }

    #[tokio::test]
    async fn requests_fail_after_the_receiver_has_seen_the_end_of_the_connection() {
        let (peer, mut stream, mut asking, mut theirs, _) = connect_in_order().await;
        stop(&mut theirs).await;
        drop(theirs);
        assert_eq!(next_event(&mut stream).await, "stopped");
        assert!(stream.next().await.is_none());
        assert!(peer.is_closed() && is_waiting(&mut asking).await, "the receiver still handles the end");
        drop(stream);
        assert_eq!(asking.await.unwrap().unwrap_err().code, ErrorCode::EngineFailed);
        let late = peer.request("threads", Value::Null, TEST_TIMEOUT).await;
        assert_eq!(late.unwrap_err().code, ErrorCode::EngineFailed);
    }

    #[tokio::test]
    async fn a_receiver_that_leaves_ends_the_connection_and_its_requests() {
        let (peer, stream, asking, mut theirs, request) = connect_in_order().await;
        answer(&mut theirs, &request).await;
        drop(stream);
        // Whether the response came before depends on the scheduler; nobody waits forever.
        drop(asking.await.unwrap());
        assert!(peer.is_closed());
    }

    #[tokio::test]
    async fn the_response_to_a_waiter_that_gave_up_is_in_the_stream() {
        let (_peer, mut stream, asking, mut theirs, request) = connect_in_order().await;
        asking.abort();
        assert!(asking.await.unwrap_err().is_cancelled());
        answer(&mut theirs, &request).await;
        assert_eq!(next_response(&mut stream).await.result(), &Ok(json!("done")));
    }
}
