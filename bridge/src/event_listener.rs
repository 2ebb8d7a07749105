//! The listener of a session: folds its messages, in their order of arrival, into a snapshot of the
//! program's state and an event log. A response is applied before its waiter continues. To wait is to watch
//! the snapshot change. Not here: which changes end a wait (`tools::waiting`).

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tandem_wire::peer::{ArrivedResponse, Incoming, IncomingStream, Peer};
use tandem_wire::types::{self, OutputDetails, OutputEventBody};
use tandem_wire::{ErrorCode, Event, Failure};
use tokio::sync::{broadcast, watch};

use crate::event_log::EventLog;
use crate::logpoints::LogpointBuffer;
use crate::snapshot::{ProgramState, Snapshot};

/// Events that are kept for a slow receiver, which learns how many it missed.
const MAX_BACKLOG: usize = 4096;
/// Faults of the program's input and output that are kept for the next answer; one may follow another.
const MAX_WARNINGS: usize = 16;

/// Keeps what the events of a session report.
#[derive(Debug)]
pub struct EventListener {
    /// The state of the program, to read and to watch.
    pub snapshot: watch::Sender<Snapshot>,
    event_log: Mutex<EventLog>,
    logged: Mutex<LogpointBuffer>,
    /// Faults of the program's input and output that no answer has reported.
    warnings: Mutex<Vec<String>>,
    events: broadcast::Sender<Arc<Event>>,
}

impl Default for EventListener {
    fn default() -> Self {
        Self {
            snapshot: watch::Sender::new(Snapshot::default()),
            event_log: Mutex::default(),
            logged: Mutex::default(),
            warnings: Mutex::default(),
            events: broadcast::Sender::new(MAX_BACKLOG),
        }
    }
}

impl EventListener {
    /// Reads or writes the event log.
    pub fn event_log<T>(&self, work: impl FnOnce(&mut EventLog) -> T) -> T {
        work(&mut self.event_log.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads or takes what the log messages of breakpoints wrote.
    pub fn with_logpoints<T>(&self, work: impl FnOnce(&mut LogpointBuffer) -> T) -> T {
        work(&mut self.logged.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns a receiver of every event from now on.
    pub fn events(&self) -> broadcast::Receiver<Arc<Event>> {
        self.events.subscribe()
    }

    /// Removes and returns the faults of the program's input and output that no answer has reported.
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.warnings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add_warnings(&self, lines: &str) {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        let room = MAX_WARNINGS.saturating_sub(warnings.len());
        warnings.extend(lines.lines().take(room).map(str::to_owned));
    }

    fn take(&self, event: Event) {
        self.event_log(|event_log| event_log.record(&event));
        if event.event == "output"
            && let Some(from) = types::read::<OutputDetails>(&event.body).from
        {
            let body: OutputEventBody = types::read(&event.body);
            match from.as_str() {
                "logMessage" => self.with_logpoints(|logged| logged.push(&body.output)),
                "stdio" => self.add_warnings(&body.output),
                _ => {}
            }
        }
        self.snapshot.send_if_modified(|snapshot| snapshot.apply_event(&event));
        self.publish(event);
    }

    /// Passes an event to the receivers, if there are any.
    pub fn publish(&self, event: Event) {
        drop(self.events.send(Arc::new(event)));
    }

    fn take_response(&self, response: &ArrivedResponse) {
        self.snapshot
            .send_if_modified(|snapshot| snapshot.apply_response(response.command(), response.result()));
    }

    /// Records that this agent sends `followCall`. The program runs until the stop that precedes the
    /// response, and only other clients get an event about that.
    pub fn begin_following(&self) {
        self.snapshot.send_modify(|snapshot| {
            if snapshot.state == ProgramState::Stopped {
                snapshot.state = ProgramState::Running;
                snapshot.follows = true;
            }
        });
    }

    fn handle_disconnect(&self) {
        let mut ended = false;
        self.snapshot.send_modify(|snapshot| {
            if snapshot.state != ProgramState::Exited {
                snapshot.state = ProgramState::Exited;
                snapshot.end.is_lost = true;
                snapshot.news += 1;
                ended = true;
            }
        });
        if ended {
            self.event_log(EventLog::record_loss);
            self.publish(Event::new("terminated", Value::Null));
        }
    }
}

/// Starts listening to a session, until its connection ends.
pub fn listen(mut incoming: IncomingStream, peer: Peer) -> Arc<EventListener> {
    let listener = Arc::new(EventListener::default());
    let watching = listener.clone();
    tokio::spawn(async move {
        while let Some(message) = incoming.next().await {
            match message {
                // Its waiter continues when it is dropped, after this.
                Incoming::Response(response) => listener.take_response(&response),
                Incoming::Event(event) => listener.take(event),
                Incoming::Request(request) => {
                    let failure =
                        Failure::new(ErrorCode::Unsupported, "the MCP bridge runs nothing for a session");
                    peer.respond(&request, Err(failure));
                }
            }
        }
        // Requests without a response fail when the stream is dropped, after this.
        listener.handle_disconnect();
    });
    watching
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::{SinkExt, StreamExt};
    use serde_json::json;
    use tandem_wire::codec::DapCodec;
    use tandem_wire::{Message, Request, Response};
    use tokio::io::DuplexStream;
    use tokio_util::codec::Framed;

    use super::*;

    const TEST_TIMEOUT: Duration = Duration::from_secs(60);

    /// The other end of a connection.
    struct FakeAdapter(Framed<DuplexStream, DapCodec>);

    impl FakeAdapter {
        async fn receive(&mut self) -> Request {
            match self.0.next().await {
                Some(Ok(Ok(Message::Request(request)))) => request,
                other => panic!("{other:?}"),
            }
        }

        async fn respond(&mut self, request: &Request, outcome: Result<Value, Failure>) {
            let response = Response::to(request.seq, request.command.clone(), outcome);
            self.0.send(&Message::Response(response)).await.unwrap();
        }

        async fn stop(&mut self, body: Value) {
            self.0.send(&Message::Event(Event::new("stopped", body))).await.unwrap();
        }
    }

    fn connect() -> (Arc<EventListener>, Peer, FakeAdapter) {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(ours);
        let (peer, incoming) = Peer::start_in_order(reader, writer);
        let adapter = FakeAdapter(Framed::new(theirs, DapCodec::default()));
        (listen(incoming, peer.clone()), peer, adapter)
    }

    /// Sends a request; returns its result and the snapshot at the moment when its waiter continues.
    fn send(
        (listener, peer): (&Arc<EventListener>, &Peer),
        command: &'static str,
    ) -> tokio::task::JoinHandle<(Result<Value, Failure>, Snapshot)> {
        let (listener, peer) = (listener.clone(), peer.clone());
        tokio::spawn(async move {
            let result = peer.request(command, Value::Null, TEST_TIMEOUT).await;
            let snapshot = listener.snapshot.borrow().clone();
            (result, snapshot)
        })
    }

    async fn wait_for(listener: &EventListener, is_it: impl FnMut(&Snapshot) -> bool) {
        listener.snapshot.subscribe().wait_for(is_it).await.unwrap();
    }

    #[tokio::test]
    async fn waiter_sees_every_event_that_came_before_its_response() {
        let (listener, peer, mut adapter) = connect();
        let sent = send((&listener, &peer), "sessionInfo");
        let request = adapter.receive().await;
        for line in 1..=100 {
            adapter.stop(json!({ "threadId": line })).await;
        }
        adapter.respond(&request, Ok(Value::Null)).await;
        let (_, snapshot) = sent.await.unwrap();
        assert_eq!((snapshot.news, snapshot.stop.thread_id), (100, Some(100)));
    }

    #[tokio::test]
    async fn the_program_runs_from_the_response_to_a_resume_until_the_stop_after_it() {
        let (listener, peer, mut adapter) = connect();
        adapter.stop(json!({ "reason": "entry" })).await;
        wait_for(&listener, |snapshot| snapshot.news == 1).await;
        let sent = send((&listener, &peer), "next");
        let request = adapter.receive().await;
        assert_eq!(listener.snapshot.borrow().state, ProgramState::Stopped, "it is not resumed yet");
        adapter.respond(&request, Ok(Value::Null)).await;
        assert_eq!(sent.await.unwrap().1.state, ProgramState::Running);
        // The stop that a resume leads to comes directly after its response.
        adapter.stop(json!({ "reason": "step" })).await;
        wait_for(&listener, |snapshot| snapshot.news == 2).await;
        assert_eq!(listener.snapshot.borrow().state, ProgramState::Stopped);
    }

    #[tokio::test]
    async fn a_stop_of_another_client_before_the_response_does_not_hide_the_resume() {
        let (listener, peer, mut adapter) = connect();
        let sent = send((&listener, &peer), "continue");
        let request = adapter.receive().await;
        adapter.stop(json!({ "reason": "pause" })).await;
        adapter.respond(&request, Ok(Value::Null)).await;
        let (_, snapshot) = sent.await.unwrap();
        assert_eq!((snapshot.state, snapshot.news), (ProgramState::Running, 1));
    }

    #[tokio::test]
    async fn a_resume_that_is_refused_or_whose_waiter_gave_up_is_applied_as_answered() {
        let (listener, peer, mut adapter) = connect();
        adapter.stop(json!({ "reason": "entry" })).await;
        let sent = send((&listener, &peer), "continue");
        let request = adapter.receive().await;
        adapter.respond(&request, Err(Failure::invalid("no"))).await;
        assert_eq!(sent.await.unwrap().1.state, ProgramState::Stopped);
        let sent = send((&listener, &peer), "continue");
        let request = adapter.receive().await;
        sent.abort();
        assert!(sent.await.unwrap_err().is_cancelled());
        adapter.respond(&request, Ok(Value::Null)).await;
        wait_for(&listener, |snapshot| snapshot.state == ProgramState::Running).await;
    }

    #[tokio::test]
    async fn a_request_fails_after_the_end_of_the_connection_is_in_the_snapshot() {
        let (listener, peer, mut adapter) = connect();
        let sent = send((&listener, &peer), "continue");
        adapter.receive().await;
        drop(adapter);
        let (result, snapshot) = sent.await.unwrap();
        assert_eq!(result.unwrap_err().code, ErrorCode::EngineFailed);
        assert!(snapshot.end.is_lost && snapshot.state == ProgramState::Exited);
    }

    #[test]
    fn a_program_runs_while_a_call_is_followed_and_is_stopped_again_if_that_is_refused() {
        let listener = EventListener::default();
        let state = || listener.snapshot.borrow().state;
        let answer = |result| {
            listener.snapshot.send_if_modified(|snapshot| snapshot.apply_response("followCall", &result));
        };
        for (is_stopped, result, expected) in [
            (false, Err(Failure::invalid("no")), ProgramState::Stopped),
            // The program may not stop within the time.
            (false, Ok(Value::Null), ProgramState::Running),
            (true, Ok(Value::Null), ProgramState::Stopped),
        ] {
            listener.take(Event::new("stopped", json!({})));
            listener.begin_following();
            assert_eq!(state(), ProgramState::Running);
            if is_stopped {
                listener.take(Event::new("stopped", json!({})));
            }
            answer(result);
            assert_eq!(state(), expected);
        }
    }

    #[test]
    fn the_snapshot_follows_the_events_and_an_end_is_reported_once() {
        let listener = EventListener::default();
        for (event, body) in [
            ("initialized", json!(null)),
            ("process", json!({"systemProcessId": 5})),
            ("stopped", json!({"reason": "entry"})),
            ("continued", json!({})),
            ("sessionChanged", json!({"change": "resumed", "client": "ann", "command": "next"})),
            ("exited", json!({"exitCode": 3})),
            ("terminated", json!(null)),
        ] {
            listener.take(Event::new(event, body));
        }
        listener.handle_disconnect();
        let snapshot = listener.snapshot.borrow().clone();
        assert_eq!(
            (snapshot.state, snapshot.news, snapshot.end.exit_code),
            (ProgramState::Exited, 2, Some(3))
        );
        assert!(!snapshot.end.is_lost);
        let entries = listener.event_log(|event_log| event_log.read(0, &[], 99).0);
        let kinds: Vec<&str> = entries.iter().map(|entry| entry.kind.as_str()).collect();
        assert_eq!(kinds, ["started", "stopped", "resumed", "exited", "terminated"]);
    }

    #[test]
    fn only_the_engine_itself_has_words_for_a_wait_in_vain() {
        let listener = EventListener::default();
        for body in [
            json!({ "category": "console", "output": "the step waits for a call to end\n" }),
            json!({ "category": "console", "output": "Shop: Information: sold\n", "from": "program" }),
            json!({ "category": "console", "output": "i = 3\n", "from": "logMessage" }),
            json!({ "category": "important", "output": "no room in `o`\nno room in `e`\n", "from": "stdio" }),
            json!({ "category": "important", "output": "[9 bytes of stdout were not shown]\n" }),
            json!({ "category": "stdout", "output": "hello\n" }),
        ] {
            listener.take(Event::new("output", body));
        }
        assert_eq!(listener.snapshot.borrow().advice.console, "the step waits for a call to end");
        assert_eq!(listener.with_logpoints(LogpointBuffer::take), Some((vec!["i = 3".to_owned()], 0)));
        assert_eq!(listener.take_warnings(), ["no room in `o`", "no room in `e`"]);
        assert!(listener.take_warnings().is_empty());
    }

    #[test]
    fn the_timeline_lists_actions_of_others_with_their_names() {
        let listener = EventListener::default();
        for body in [
            json!({ "change": "joined", "client": "ann", "clientId": 3, "kind": "editor", "access": "full" }),
            json!({ "change": "input", "client": "robot", "kind": "agent", "text": "1\n", "bytes": 2,
                "closed": false }),
            json!({ "change": "valueSet", "client": "ann", "kind": "editor", "name": "i", "value": "7" }),
            json!({ "change": "breakpoints", "client": "ann", "kind": "editor",
                "removed": [{ "file": "/a.py", "line": 3, "owner": "robot" }] }),
            json!({ "change": "refused", "client": "robot", "kind": "agent", "command": "next",
                "access": "readOnly" }),
        ] {
            listener.take(Event::new("sessionChanged", body));
        }
        listener.take(Event::new("breakpoint", json!({ "reason": "removed", "breakpoint": { "id": 4 } })));
        let (entries, ..) = listener.event_log(|event_log| event_log.read(0, &[], 99));
        let entries: Vec<Value> = entries
            .iter()
            .map(types::body)
            .map(|mut entry| {
                entry.as_object_mut().unwrap().retain(|key, _| key != "ms" && key != "n");
                entry
            })
            .collect();
        assert_eq!(
            json!(entries),
            json!([
                { "kind": "joined", "who": "ann", "access": "full", "is": "editor" },
                { "kind": "input", "by": "robot", "text": "1\n", "bytes": 2, "closed": false },
                { "kind": "valueSet", "by": "ann", "name": "i", "value": "7" },
                { "kind": "breakpoints", "by": "ann", "removed": [{ "file": "/a.py", "line": 3,
                    "owner": "robot" }] },
                { "kind": "refused", "by": "robot", "command": "next", "access": "readOnly" },
            ])
        );
    }
}
