//! The actor around a scripted engine, over connections in memory: what the pure state cannot show.

use std::sync::Arc;

use futures::{SinkExt, StreamExt};
use serde_json::json;
use tandem_wire::codec::DapCodec;
use tandem_wire::{ErrorCode, Failure, Request};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::codec::{FramedRead, FramedWrite};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::inbox::MAX_WAITING;
use tandem_engine::condition_language::ConditionLanguage;
use tandem_engine::result_names::ResultNames;
use tandem_engine::{Engine, EngineReply, EngineRequest, LookOnlyRequests, ReplyHandle, StartedEngine};
use tandem_hub::event::{self, SessionDescription};

/// More events than the actor's inbox holds.
const MANY: usize = 2 * MAX_WAITING;

/// Answers every request except `modules` with an empty body, and reports to the test what it gets. Before it
/// is dropped, it reports a lot.
struct Scripted {
    replies: UnboundedSender<(i64, Result<Value, Failure>)>,
    events: UnboundedSender<EngineEvent>,
    /// Requests that it leaves unanswered.
    kept: UnboundedSender<(CancellationToken, ReplyHandle)>,
}

impl Scripted {
    fn send_event(&self, event: &str, body: Value) {
        self.events.send(EngineEvent::Dap { event: event.into(), body }).unwrap();
    }
}

impl Engine for Scripted {
    fn request(&self, request: EngineRequest, cancel: CancellationToken, reply: ReplyHandle) {
        match request.command() {
            "modules" => return drop(self.kept.send((cancel, reply))),
            "launch" => self.send_event("initialized", Value::Null),
            "disconnect" => {
                (0..MANY).for_each(|_| self.send_event("invalidated", Value::Null));
                self.send_event("exited", json!({ "exitCode": 7 }));
            }
            _ => {}
        }
        reply.send(Ok(Value::Null.into()));
    }

    fn reverse_reply(&self, ask: i64, result: Result<Value, Failure>) {
        drop(self.replies.send((ask, result)));
    }
}

/// Hands out the scripted engine and its end of the events.
struct Memory {
    replies: UnboundedSender<(i64, Result<Value, Failure>)>,
    kept: UnboundedSender<(CancellationToken, ReplyHandle)>,
    events: UnboundedSender<UnboundedSender<EngineEvent>>,
}

impl Host for Memory {
    fn start_engine(
        &mut self,
        _: &Value,
        _: &Broker,
        events: UnboundedSender<EngineEvent>,
    ) -> Result<(StartedEngine, Arc<dyn Engine>), Failure> {
        drop(self.events.send(events.clone()));
        let scripted = Scripted { replies: self.replies.clone(), kept: self.kept.clone(), events };
        Ok((known_engine(), Arc::new(scripted)))
    }

    fn connect(&mut self, session: &str) -> Result<Connection, Failure> {
        Err(Failure::new(ErrorCode::NoSession, session))
    }

    fn publish(&mut self, _: SessionDescription, _: &Inbox) {}

    fn unpublish(&mut self) {}
}

/// The facts about the engines of these tests, none of which matters here.
fn known_engine() -> StartedEngine {
    StartedEngine {
        name: "scripted".into(),
        several_per_line: true,
        look_only: LookOnlyRequests::Unknown,
        conditions: ConditionLanguage::OTHER,
        results: ResultNames::default(),
        fetches_sources: false,
    }
}

struct MemoryClient {
    reader: FramedRead<tokio::io::ReadHalf<tokio::io::DuplexStream>, DapCodec>,
    writer: FramedWrite<tokio::io::WriteHalf<tokio::io::DuplexStream>, DapCodec>,
    seq: i64,
}

impl MemoryClient {
    async fn join(inbox: &Inbox, origin: ClientOrigin) -> Self {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (reader, writer) = tokio::io::split(theirs);
        inbox.connected(origin, Connection { reader: Box::new(reader), writer: Box::new(writer) }).await;
        let (reader, writer) = tokio::io::split(ours);
        Self {
            reader: FramedRead::new(reader, DapCodec::default()),
            writer: FramedWrite::new(writer, DapCodec::default()),
            seq: 0,
        }
    }

    async fn send(&mut self, message: Message) {
        self.writer.send(&message).await.unwrap();
    }

    async fn ask(&mut self, command: &str, arguments: Value) {
        self.seq += 1;
        let request = Request { seq: self.seq, command: command.into(), arguments };
        self.send(Message::Request(request)).await;
    }

    async fn take(&mut self, fits: impl Fn(&Message) -> bool) -> Message {
        let looking = async {
            loop {
                let message = self.reader.next().await.unwrap().unwrap().unwrap();
                if fits(&message) {
                    return message;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(30), looking).await.unwrap()
    }
}

/// A launched session of the scripted engine: the client, the engine's voice, what it hears,
/// what it does not answer.
struct LaunchedSession {
    client: MemoryClient,
    engine: UnboundedSender<EngineEvent>,
    received_replies: UnboundedReceiver<(i64, Result<Value, Failure>)>,
    kept: UnboundedReceiver<(CancellationToken, ReplyHandle)>,
}

async fn launched() -> LaunchedSession {
    let ((replies, received_replies), (events, mut handed)) = (unbounded_channel(), unbounded_channel());
    let (keep, kept) = unbounded_channel();
    let (actor, inbox) =
        Actor::new("fox1", Memory { replies, kept: keep, events }, Broker::new(4096, "/nonexistent".into()));
    tokio::spawn(actor.run());
    let mut client = MemoryClient::join(&inbox, ClientOrigin::First).await;
    client.ask("initialize", json!({ "supportsRunInTerminalRequest": true })).await;
    client.ask("launch", json!({ "program": "x" })).await;
    let engine = handed.recv().await.unwrap();
    LaunchedSession { client, engine, received_replies, kept }
}

#[tokio::test]
async fn the_answer_to_a_reverse_request_finds_its_way_whatever_number_it_went_out_under() {
    let LaunchedSession { mut client, engine, mut received_replies, .. } = launched().await;
    for (ask, pid) in [(40, 7), (41, 8)] {
        let arguments = json!({ "cwd": "/", "args": ["x"] });
        engine
            .send(EngineEvent::ReverseRequest { id: ask, command: "runInTerminal".into(), arguments })
            .unwrap();
        let Message::Request(request) = client.take(|message| matches!(message, Message::Request(_))).await
        else {
            panic!()
        };
        // One count over everything the client gets; numbers inside the hub count the reverse requests.
        assert!(request.seq > 2, "{request:?}");
        let response = Response::to(request.seq, request.command, Ok(json!({ "processId": pid })));
        for number in [request.seq, 1, request.seq] {
            // Wrong numbers and a second answer mean nothing.
            let response = Response { seq: 0, request_seq: number, ..response.clone() };
            client.send(Message::Response(response)).await;
        }
        let reply =
            tokio::time::timeout(Duration::from_secs(30), received_replies.recv()).await.unwrap().unwrap();
        assert_eq!(reply, (ask, Ok(json!({ "processId": pid }))));
    }
    client.ask("threads", Value::Null).await;
    client
        .take(|message| matches!(message, Message::Response(response) if response.command == "threads"))
        .await;
    assert!(received_replies.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn unanswered_engine_request_times_out_once_and_the_session_continues() {
    let LaunchedSession { mut client, mut kept, .. } = launched().await;
    client.ask("modules", Value::Null).await;
    let (cancel, reply) = kept.recv().await.unwrap();
    let modules =
        |message: &Message| matches!(message, Message::Response(response) if response.command == "modules");
    let start = tokio::time::Instant::now();
    // The clock is paused while any task has something to do, and jumps to the next timer when none has.
    let response = loop {
        let message = client.reader.next().await.unwrap().unwrap().unwrap();
        if modules(&message) {
            break message;
        }
    };
    let Message::Response(response) = response else { panic!() };
    assert_eq!(response.into_result().unwrap_err().code, ErrorCode::Timeout);
    assert!(start.elapsed() >= tandem_hub::state::ENGINE_TIMEOUT, "{:?}", start.elapsed());
    tokio::time::timeout(Duration::from_secs(1), cancel.cancelled()).await.unwrap();
    reply.send(Ok(Value::Null.into()));
    client.ask("threads", Value::Null).await;
    client
        .take(|message| {
            assert!(!modules(message), "a second answer");
            matches!(message, Message::Response(response) if response.command == "threads")
        })
        .await;
}

#[tokio::test]
async fn all_events_of_an_engine_before_it_detached_are_sent_before_the_session_ends() {
    let LaunchedSession { mut client, .. } = launched().await;
    client.take(|message| matches!(message, Message::Event(event) if event.event == "initialized")).await;
    client.ask("configurationDone", Value::Null).await;
    client.ask("disconnect", Value::Null).await;
    let exited = client.take(|message| match message {
        Message::Event(event) => event.event == "exited" || event.event == "terminated",
        Message::Response(response) => response.command == "disconnect",
        Message::Request(_) => false,
    });
    let Message::Event(exited) = exited.await else {
        panic!("it was disconnected before it received the end")
    };
    assert_eq!((exited.event.as_str(), &exited.body["exitCode"]), ("exited", &json!(7)));
}

/// Answers nothing, and starts a program with each engine.
struct Programs(UnboundedSender<(UnboundedSender<EngineEvent>, tandem_process::Child)>);

struct Silent;

impl Engine for Silent {
    fn request(&self, _: EngineRequest, _: CancellationToken, reply: ReplyHandle) {
        // An answer that is dropped is one.
        std::mem::forget(reply);
    }

    fn reverse_reply(&self, _: i64, _: Result<Value, Failure>) {}
}

impl Host for Programs {
    fn start_engine(
        &mut self,
        _: &Value,
        broker: &Broker,
        events: UnboundedSender<EngineEvent>,
    ) -> Result<(StartedEngine, Arc<dyn Engine>), Failure> {
        let program = broker.spawn(&tandem_process::SpawnSpec { cwd: "/".into(), ..Default::default() })?;
        self.0.send((events, program)).unwrap();
        Ok((known_engine(), Arc::new(Silent)))
    }

    fn connect(&mut self, session: &str) -> Result<Connection, Failure> {
        Err(Failure::new(ErrorCode::NoSession, session))
    }

    fn publish(&mut self, _: SessionDescription, _: &Inbox) {}

    fn unpublish(&mut self) {}
}

/// An engine that answers its `disconnect` just after its time was up, and talks so much that the actor is at
/// the next program before the pump is at that answer. The actor is not run but led.
#[tokio::test(start_paused = true)]
async fn a_program_that_was_started_again_survives_the_late_answer_of_the_engine_before() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let stub = folder.path().join("stub");
    std::fs::write(&stub, "#!/bin/sh\nexec sleep 1000\n").unwrap();
    std::fs::set_permissions(&stub, std::fs::Permissions::from_mode(0o700)).unwrap();
    let (started, mut starts) = unbounded_channel();
    let (mut actor, _inbox) = Actor::new("fox1", Programs(started), Broker::new(4096, stub));
    actor.start_engine(&json!({}));
    let (events, old) = starts.recv().await.unwrap();
    let talk = |much: usize| {
        for _ in 0..much {
            events.send(EngineEvent::Dap { event: "invalidated".into(), body: Value::Null }).unwrap();
        }
    };
    let (ticket, command, limit) = (event::Ticket(1), "disconnect".to_owned(), Duration::from_secs(6));
    actor.request_engine(ticket, EngineRequest::dap(command.clone(), Value::Null), limit);
    talk(MAX_WAITING);
    // The clock jumps when no task has anything to do.
    tokio::time::sleep(Duration::from_secs(1)).await;
    actor.time_out(deadlines::TimedOutRequest { ticket, command: command.clone(), limit });
    actor.receive_reply(EngineReply { number: ticket.0, command, result: Err(Failure::cancelled()) });
    tokio::time::sleep(Duration::from_secs(10)).await;
    while old.exited().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    talk(MANY);
    while !matches!(actor.items.recv().await, Some(InboxItem::Event(HubEvent::EngineReplied { .. }))) {}
    actor.start_engine(&json!({}));
    let (_, new) = starts.recv().await.unwrap();
    while tokio::time::timeout(Duration::from_secs(60), actor.items.recv()).await.is_ok() {}
    // A killed process takes a moment to be gone.
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(new.exited(), None);
}

/// Delve has the program's pipes, and ends after it.
#[tokio::test]
async fn a_read_sees_the_exit_that_clients_are_shown() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let stub = folder.path().join("stub");
    std::fs::write(&stub, "#!/bin/sh\nexec sleep 1000\n").unwrap();
    std::fs::set_permissions(&stub, std::fs::Permissions::from_mode(0o700)).unwrap();
    let (started, mut starts) = unbounded_channel();
    let broker = Broker::new(4096, stub);
    let (mut actor, _inbox) = Actor::new("fox1", Programs(started), broker.clone());
    actor.start_engine(&json!({}));
    let (_events, debugger) = starts.recv().await.unwrap();
    let (request, never) = (tandem_process::ReadRequest::default(), CancellationToken::new());
    assert!(!broker.read_output(1, &request, &never).await.unwrap().exited);
    let body = json!({ "exitCode": 0 });
    actor.handle(HubEvent::EngineEvent(EngineEvent::Dap { event: "exited".into(), body }));
    assert!(broker.read_output(1, &request, &never).await.unwrap().exited);
    assert_eq!(debugger.exited(), None);
}
