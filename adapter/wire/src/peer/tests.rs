//! One connection, whose other end is written by hand.

use futures::{SinkExt, StreamExt};
use serde_json::json;
use tokio::io::{AsyncWriteExt, DuplexStream};
use tokio_util::codec::{Framed, FramedRead, FramedWrite};

use super::*;
use crate::codec::DapCodec;
use crate::message::Event;

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
    drop(tokio::time::timeout(Duration::ZERO, peer.request("variables", Value::Null, TEST_TIMEOUT)).await);
    let request = next_request(&mut theirs).await;
    let cancel = next_request(&mut theirs).await;
    assert_eq!((cancel.command.as_str(), &cancel.arguments["requestId"]), ("cancel", &json!(request.seq)));
    assert!(!peer.0.has_waiters());
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
        drop(tokio::time::timeout(Duration::ZERO, peer.request("threads", Value::Null, TEST_TIMEOUT)).await);
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

#[tokio::test]
async fn a_failure_after_the_answer_arrives_as_a_message() {
    let (ours, theirs) = tokio::io::duplex(4096);
    let (reader, writer) = tokio::io::split(ours);
    let (peer, mut messages) = Peer::start(reader, writer);
    let mut theirs = Framed::new(theirs, DapCodec::default());
    let asked = peer.clone();
    let asking = tokio::spawn(async move { asked.request("continue", json!({}), TEST_TIMEOUT).await });
    let Some(Ok(Ok(Message::Request(request)))) = theirs.next().await else { panic!("no request") };
    answer(&mut theirs, &request).await;
    assert_eq!(asking.await.unwrap(), Ok(json!("done")));
    let late = Response::to(request.seq, String::new(), Err(Failure::invalid("it crashed")));
    theirs.send(&Message::Response(late)).await.unwrap();
    let Some(Incoming::Response(response)) = messages.recv().await else { panic!("no failure") };
    assert!(response.result().as_ref().is_err_and(|failure| failure.message.contains("it crashed")));
}
