//! The hub's races, written down: a scripted engine, many clients, any order of events.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::{Value, json};
use tandem_wire::{ErrorCode, Failure, Message, Request, Response};

use super::State;
use crate::event::{ClientId, ClientOrigin, HubEffect, HubEvent, IoAnswer, Ticket, Timer};
use tandem_engine::{CHILD_SESSION_REQUEST, EngineEvent};

const FIRST: ClientId = ClientId(1);

/// A hub with everything around it scripted; checks the rules after every event.
struct Scenario {
    state: State,
    seq: i64,
    /// Requests without an answer.
    unanswered: BTreeMap<(ClientId, i64), String>,
    requests: Vec<(Ticket, String, Value)>,
    /// The breakpoints the engine was sent last.
    held: Option<Value>,
    ready: BTreeSet<ClientId>,
    present: BTreeSet<ClientId>,
    /// Ids are never given out twice.
    seen: BTreeSet<ClientId>,
    terminated: BTreeSet<ClientId>,
    received: Vec<(ClientId, Message)>,
    /// Unanswered requests of the engine, by their number.
    reverse_unanswered: BTreeSet<i64>,
    /// How the engine's own questions were answered.
    reverse_replies: Vec<(i64, Result<Value, ErrorCode>)>,
    /// Reverse requests with clients, and timers that run for them.
    reverse_requests: Vec<(ClientId, i64)>,
    timers: Vec<Timer>,
    ended: bool,
}

impl Scenario {
    fn new() -> Self {
        let mut scenario = Self {
            state: State::new("fox1"),
            seq: 0,
            unanswered: BTreeMap::new(),
            requests: Vec::new(),
            held: None,
            ready: BTreeSet::new(),
            present: BTreeSet::new(),
            seen: BTreeSet::new(),
            terminated: BTreeSet::new(),
            received: Vec::new(),
            reverse_unanswered: BTreeSet::new(),
            reverse_replies: Vec::new(),
            reverse_requests: Vec::new(),
            timers: Vec::new(),
            ended: false,
        };
        scenario.join(FIRST, ClientOrigin::First);
        scenario
    }

    fn join(&mut self, client: ClientId, origin: ClientOrigin) {
        self.present.insert(client);
        self.seen.insert(client);
        self.feed(HubEvent::ClientJoined { client, origin });
    }

    fn leave(&mut self, client: ClientId) {
        self.present.remove(&client);
        self.unanswered.retain(|(owner, _), _| *owner != client);
        self.feed(HubEvent::ClientLeft { client });
    }

    fn request(&mut self, client: ClientId, command: &str, arguments: Value) {
        if !self.present.contains(&client) {
            return;
        }
        self.seq += 1;
        let seq = self.seq;
        self.unanswered.insert((client, seq), command.into());
        let message = Message::Request(Request { seq, command: command.into(), arguments });
        self.feed(HubEvent::ClientMessage { client, message });
    }

    fn emit(&mut self, event: &str, body: Value) {
        self.feed(HubEvent::EngineEvent(EngineEvent::Dap { event: event.into(), body }));
    }

    /// The engine sends a client a request.
    fn reverse_request(&mut self, ask: i64, command: &str) {
        self.reverse_unanswered.insert(ask);
        let arguments = json!({ "cwd": "/", "args": ["a"], "argsCanBeInterpretedByShell": true });
        self.feed(HubEvent::EngineEvent(EngineEvent::ReverseRequest {
            id: ask,
            command: command.into(),
            arguments,
        }));
    }

    /// A client answers a request of the engine.
    fn reply_to_reverse_request(&mut self, at: usize, outcome: Result<Value, Failure>) {
        if self.reverse_requests.is_empty() {
            return;
        }
        let (client, seq) = self.reverse_requests.remove(at % self.reverse_requests.len());
        if self.present.contains(&client) {
            let message = Message::Response(Response::to(seq, "runInTerminal", outcome));
            self.feed(HubEvent::ClientMessage { client, message });
        }
    }

    /// The engine answers a request: the oldest, or another one.
    fn reply(&mut self, at: usize) {
        if self.requests.is_empty() {
            return;
        }
        let (ticket, command, arguments) = self.requests.remove(at % self.requests.len());
        let body = match command.as_str() {
            "setBreakpoints" => {
                let list = arguments["breakpoints"].as_array().cloned().unwrap_or_default();
                let received: Vec<Value> = list
                    .iter()
                    .map(
                        |request| json!({ "id": request["line"], "verified": true, "line": request["line"] }),
                    )
                    .collect();
                json!({ "breakpoints": received })
            }
            "stackTrace" => json!({ "stackFrames": [{ "id": 1, "name": "Main", "line": 1, "column": 1 }] }),
            _ => Value::Null,
        };
        self.feed(HubEvent::EngineReplied { ticket, result: Ok(body.into()) });
    }

    /// The engine answers the first request of this command.
    fn reply_to(&mut self, command: &str, result: Result<Value, Failure>) {
        let at = self.requests.iter().position(|(_, requested, _)| requested == command).unwrap();
        let (ticket, ..) = self.requests.remove(at);
        self.feed(HubEvent::EngineReplied { ticket, result: result.map(Into::into) });
    }

    /// The timer of the first reverse request.
    fn reverse_request_timer(&self) -> Timer {
        *self.timers.iter().find(|timer| matches!(timer, Timer::ReverseRequest(_))).unwrap()
    }

    fn feed(&mut self, event: HubEvent) {
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            for effect in self.state.handle(event) {
                match effect {
                    HubEffect::Send { client, message } => self.receive(client, message),
                    HubEffect::RequestEngine { ticket, request, .. } => {
                        let (command, arguments) =
                            (request.command().to_owned(), request.arguments().clone());
                        if command == "setBreakpoints" {
                            self.held = Some(arguments["breakpoints"].clone());
                        }
                        self.requests.push((ticket, command, arguments));
                    }
                    HubEffect::Io { ticket, .. } => {
                        events.push(HubEvent::IoReplied { ticket, result: Ok(IoAnswer::Resized) })
                    }
                    HubEffect::StartEngine { .. } => {
                        events
                            .push(HubEvent::EngineStarted(Ok(crate::scripted_engine::scripted_engine(true))));
                    }
                    HubEffect::Close { client } => {
                        self.present.remove(&client);
                        let unanswered: Vec<_> =
                            self.unanswered.keys().filter(|(owner, _)| *owner == client).collect();
                        assert!(
                            unanswered.is_empty(),
                            "{client} is disconnected without its answers: {unanswered:?}"
                        );
                    }
                    HubEffect::ReplyToEngine { id, result } => {
                        assert!(
                            self.reverse_unanswered.remove(&id),
                            "the engine is replied to twice or without a request: {id}"
                        );
                        self.reverse_replies.push((id, result.map_err(|failure| failure.code)));
                    }
                    HubEffect::StartTimer { timer, .. } => self.timers.push(timer),
                    HubEffect::End => self.ended = true,
                    _ => {}
                }
            }
        }
    }

    fn receive(&mut self, client: ClientId, message: Message) {
        assert!(self.present.contains(&client), "{client} has left and is still received {message:?}");
        match &message {
            Message::Response(response) => {
                let request = self.unanswered.remove(&(client, response.request_seq));
                assert!(request.is_some(), "{client} is answered twice or unasked: {response:?}");
                if response.command == "configurationDone" && response.success {
                    self.ready.insert(client);
                }
            }
            Message::Event(event) => {
                // An end before the program was started is received at once.
                let ends = matches!(event.event.as_str(), "exited" | "terminated")
                    && !self.state.start.is_configured();
                assert!(
                    matches!(event.event.as_str(), "initialized" | "capabilities" | "output")
                        || ends
                        || self.ready.contains(&client),
                    "{client} gets {} before it is ready",
                    event.event
                );
                if event.event == "terminated" {
                    assert!(self.terminated.insert(client), "{client} receives the end twice");
                }
            }
            Message::Request(request) => self.reverse_requests.push((client, request.seq)),
        }
        self.received.push((client, message));
    }

    fn launched() -> Self {
        let mut scenario = Self::new();
        scenario.request(FIRST, "initialize", json!({ "clientID": "one" }));
        scenario.request(FIRST, "launch", json!({ "program": "x.dll" }));
        scenario.emit("initialized", Value::Null);
        scenario.request(FIRST, "configurationDone", Value::Null);
        while !scenario.requests.is_empty() {
            scenario.reply(0);
        }
        scenario.emit("process", json!({ "systemProcessId": 5 }));
        scenario
    }

    fn events_of(&self, client: ClientId) -> Vec<&str> {
        let names =
            self.received.iter().filter(|(to, _)| *to == client).filter_map(|(_, message)| match message {
                Message::Event(event) => Some(event.event.as_str()),
                _ => None,
            });
        names.collect()
    }
}

#[test]
fn stop_that_overtakes_the_response_to_the_step_is_sent_after_it() {
    let mut scenario = Scenario::launched();
    scenario.emit("stopped", json!({ "reason": "breakpoint", "threadId": 1 }));
    scenario.request(FIRST, "next", json!({ "threadId": 1 }));
    scenario.emit("stopped", json!({ "reason": "step", "threadId": 1 }));
    let [.., (_, Message::Response(response)), (_, Message::Event(event))] = scenario.received.as_slice()
    else {
        panic!("not an answer and then an event: {:?}", scenario.received);
    };
    assert_eq!(
        (response.command.as_str(), response.success, event.event.as_str()),
        ("next", true, "stopped")
    );
    // The engine's own answer comes too late to be heard.
    scenario.reply(0);
    assert!(scenario.unanswered.is_empty());
}

#[test]
fn a_launching_client_that_vanishes_ends_the_session() {
    let mut scenario = Scenario::launched();
    scenario.leave(FIRST);
    assert_eq!(scenario.requests.last().map(|(_, command, _)| command.as_str()), Some("disconnect"));
    scenario.reply(0);
    assert!(scenario.ended);
}

#[test]
fn a_client_that_disconnects_has_all_its_answers_first() {
    let mut scenario = Scenario::launched();
    let second = ClientId(2);
    scenario.join(second, ClientOrigin::Socket);
    for (command, arguments) in
        [("initialize", json!({})), ("attach", json!({})), ("configurationDone", Value::Null)]
    {
        scenario.request(second, command, arguments);
    }
    for client in [second, FIRST] {
        scenario.received.clear();
        let commands = ["threads", "modules", "setBreakpoints", "disconnect"];
        for command in commands {
            scenario.request(
                client,
                command,
                json!({ "source": { "path": "/a.cs" }, "breakpoints": [{ "line": 1 }] }),
            );
        }
        // The response to the first one ends the session: the engine's last events come before it.
        if let Some(at) = scenario.requests.iter().position(|(_, command, _)| command == "disconnect") {
            scenario.reply(at);
        }
        let answered = scenario.received.iter().filter_map(|(_, message)| match message {
            Message::Response(response) => Some((response.command.as_str(), response.success)),
            _ => None,
        });
        let expected = commands.map(|command| (command, command == "disconnect"));
        assert_eq!(answered.collect::<Vec<_>>(), expected);
    }
}

#[test]
fn requests_in_flight_are_refused_when_their_launch_fails() {
    for command in ["pause", "terminate"] {
        let mut scenario = Scenario::new();
        scenario.request(FIRST, "initialize", json!({}));
        scenario.request(FIRST, "launch", json!({ "program": "x" }));
        scenario.request(FIRST, command, json!({ "threadId": 1 }));
        scenario.reply_to("launch", Err(Failure::cancelled()));
        assert!(scenario.unanswered.is_empty(), "{command}: {:?}", scenario.unanswered);
    }
}

#[test]
fn a_session_that_ends_while_its_launch_fails_has_ended() {
    let mut scenario = Scenario::new();
    scenario.request(FIRST, "initialize", json!({}));
    scenario.request(FIRST, "launch", json!({ "program": "x" }));
    scenario.request(FIRST, "disconnect", json!({}));
    scenario.reply_to("launch", Err(Failure::cancelled()));
    scenario.reply_to("disconnect", Ok(Value::Null));
    assert!(scenario.unanswered.is_empty(), "{:?}", scenario.unanswered);
    assert!(scenario.ended);
}

#[test]
fn a_failed_launch_is_shown_to_the_user_and_a_failed_watch_is_not() {
    let shown = |scenario: &Scenario| match scenario.received.last() {
        Some((_, Message::Response(response))) => response.body["error"]["showUser"].clone(),
        other => panic!("not a response: {other:?}"),
    };
    let fail = |scenario: &mut Scenario, command: &str| {
        let at = scenario.requests.iter().position(|(_, requested, _)| requested == command).unwrap();
        let (ticket, ..) = scenario.requests.remove(at);
        let failure = Failure::new(ErrorCode::EngineFailed, "no");
        assert!(failure.show_user);
        scenario.feed(HubEvent::EngineReplied { ticket, result: Err(failure) });
    };
    let mut scenario = Scenario::launched();
    scenario.emit("stopped", json!({ "reason": "pause", "threadId": 1 }));
    for command in ["evaluate", "setExpression", "completions", "exceptionInfo", "someAdaptersOwn"] {
        scenario.request(FIRST, command, json!({ "expression": "x", "text": "x", "column": 1 }));
        fail(&mut scenario, command);
        assert_eq!(shown(&scenario), false, "{command}");
    }
    scenario.request(FIRST, "continue", json!({ "threadId": 1 }));
    fail(&mut scenario, "continue");
    assert_eq!(shown(&scenario), true);
    let mut scenario = Scenario::new();
    scenario.request(FIRST, "initialize", json!({}));
    scenario.request(FIRST, "launch", json!({ "program": "x" }));
    fail(&mut scenario, "launch");
    assert_eq!(shown(&scenario), true);
}

#[test]
fn client_with_too_many_requests_is_refused_and_served_again_later() {
    let mut scenario = Scenario::launched();
    for _ in 0..1500 {
        scenario.request(FIRST, "threads", Value::Null);
    }
    let refused = scenario
        .received
        .iter()
        .filter(|(_, message)| matches!(message, Message::Response(it) if !it.success));
    assert_eq!(refused.count(), 1500 - 1024);
    scenario.requests.retain(|(_, command, _)| command == "threads");
    scenario.reply(0);
    scenario.received.clear();
    scenario.request(FIRST, "threads", Value::Null);
    assert!(scenario.received.is_empty(), "{:?}", scenario.received);
}

#[test]
fn a_connection_that_says_nothing_keeps_no_session_alive_and_is_closed_in_the_end() {
    let mut scenario = Scenario::launched();
    let (silent, other) = (ClientId(2), ClientId(3));
    scenario.join(silent, ClientOrigin::Socket);
    scenario.join(other, ClientOrigin::Socket);
    scenario.feed(HubEvent::TimerFired(Timer::Handshake(silent)));
    assert!(!scenario.present.contains(&silent) && scenario.present.contains(&other));
    scenario.emit("exited", json!({ "exitCode": 0 }));
    scenario.emit("terminated", Value::Null);
    assert!(!scenario.ended);
    scenario.request(FIRST, "disconnect", Value::Null);
    assert!(scenario.ended, "only a silent connection is left");
}

#[test]
fn the_next_owner_keeps_the_session_when_the_owner_hands_over() {
    let mut scenario = Scenario::launched();
    let successor = ClientId(2);
    scenario.join(successor, ClientOrigin::Socket);
    scenario.request(successor, "initialize", json!({}));
    scenario.request(successor, "attach", json!({}));
    scenario.request(successor, "configurationDone", Value::Null);
    scenario.request(FIRST, "disconnect", json!({ "handOver": true }));
    assert!(scenario.requests.is_empty() && !scenario.ended);
    scenario.emit("exited", json!({ "exitCode": 0 }));
    scenario.emit("terminated", Value::Null);
    assert_eq!(scenario.events_of(successor), ["initialized", "process", "exited", "terminated"]);
}

/// A session of two, both of which can open terminals; the engine has asked for one.
fn asked_for_a_terminal() -> Scenario {
    let mut scenario = Scenario::new();
    let capable = json!({ "supportsRunInTerminalRequest": true });
    scenario.request(FIRST, "initialize", capable.clone());
    scenario.request(FIRST, "launch", json!({ "program": "x.py" }));
    let second = ClientId(2);
    scenario.join(second, ClientOrigin::Socket);
    scenario.request(second, "initialize", capable);
    scenario.request(second, "attach", json!({}));
    scenario.reverse_request(7, "runInTerminal");
    scenario
}

#[test]
fn a_reverse_request_goes_to_the_launching_client_and_its_answer_to_the_engine() {
    let mut scenario = asked_for_a_terminal();
    assert_eq!(scenario.reverse_requests, [(FIRST, 1)]);
    let Some((_, Message::Request(request))) = scenario.received.last() else { panic!("not asked") };
    // A client that did not say it knows this field does not get it.
    assert_eq!(request.arguments, json!({ "cwd": "/", "args": ["a"] }));
    scenario.reply_to_reverse_request(0, Ok(json!({ "processId": 5 })));
    assert_eq!(scenario.reverse_replies, [(7, Ok(json!({ "processId": 5 })))]);
    // Its time is up, but it has answered.
    scenario.feed(HubEvent::TimerFired(scenario.reverse_request_timer()));
    assert_eq!(scenario.reverse_replies.len(), 1);
}

#[test]
fn reverse_request_of_a_leaving_client_goes_to_the_next_and_then_fails() {
    let mut scenario = asked_for_a_terminal();
    scenario.request(FIRST, "disconnect", json!({ "handOver": true }));
    // The owner's going ends the session of one that cannot inherit: it has not configured.
    assert_eq!(scenario.reverse_replies, [(7, Err(ErrorCode::Cancelled))]);

    let mut scenario = asked_for_a_terminal();
    scenario.emit("initialized", Value::Null);
    scenario.request(ClientId(2), "configurationDone", Value::Null);
    scenario.request(FIRST, "disconnect", json!({ "handOver": true }));
    assert_eq!(scenario.reverse_requests, [(FIRST, 1), (ClientId(2), 1)]);
    // Not its question any more.
    scenario.reverse_requests.remove(1);
    scenario.reply_to_reverse_request(0, Ok(Value::Null));
    assert_eq!(scenario.reverse_replies, []);
    scenario.leave(ClientId(2));
    assert_eq!(scenario.reverse_replies, [(7, Err(ErrorCode::Unsupported))]);
}

#[test]
fn child_sessions_are_noticed_by_clients_that_open_them_or_subscribe() {
    let notices = |scenario: &Scenario| scenario.state.parent_clients().notice_children;
    let child = |scenario: &mut Scenario| {
        scenario.received.clear();
        scenario.reverse_unanswered.insert(CHILD_SESSION_REQUEST);
        scenario.feed(HubEvent::EngineEvent(EngineEvent::ReverseRequest {
            id: CHILD_SESSION_REQUEST,
            command: "startDebugging".into(),
            arguments: json!({ "configuration": { "name": "echo.py [7] (fox2)", "session": "fox2" } }),
        }));
        scenario.events_of(FIRST).len()
    };
    let mut scenario = Scenario::launched();
    assert!(!notices(&scenario));
    // The console reports the first child only.
    assert_eq!((child(&mut scenario), child(&mut scenario)), (1, 0));

    let opener = ClientId(2);
    scenario.join(opener, ClientOrigin::Socket);
    scenario.request(opener, "initialize", json!({ "supportsStartDebuggingRequest": true }));
    assert!(!notices(&scenario));
    scenario.request(opener, "attach", json!({}));
    assert!(notices(&scenario));
    // A client that could not open the last child is not expected to resume it.
    for (outcome, expected) in [(Err(Failure::cancelled()), false), (Ok(Value::Null), true)] {
        child(&mut scenario);
        scenario.reply_to_reverse_request(0, outcome);
        assert_eq!(notices(&scenario), expected);
    }
    scenario.leave(opener);
    assert!(!notices(&scenario));

    for (subscription, expected) in [
        (json!({ "subscribe": true }), true),
        (json!({ "subscribe": true, "noticesChildren": false }), false),
    ] {
        scenario.request(FIRST, "sessionInfo", subscription);
        assert_eq!(notices(&scenario), expected);
    }
}

#[test]
fn a_client_that_only_inspects_the_session_is_not_among_its_clients() {
    let mut scenario = Scenario::launched();
    let inspector = ClientId(2);
    let clients = |scenario: &mut Scenario, asking| {
        scenario.request(asking, "sessionInfo", json!({}));
        let Some((_, Message::Response(info))) = scenario.received.last() else { panic!("no response") };
        let clients = info.body["clients"].as_array().cloned().unwrap_or_default();
        clients.iter().map(|client| client["id"].as_u64().unwrap_or_default()).collect::<Vec<_>>()
    };
    scenario.join(inspector, ClientOrigin::Socket);
    scenario.request(inspector, "initialize", json!({}));
    assert_eq!(clients(&mut scenario, FIRST), [1]);
    // It learns which of the clients it is itself.
    assert_eq!(clients(&mut scenario, inspector), [1, 2]);
    scenario.request(inspector, "attach", json!({}));
    assert_eq!(clients(&mut scenario, FIRST), [1, 2]);
}

#[test]
fn a_client_that_never_answers_a_reverse_request_is_timed_out() {
    let mut scenario = asked_for_a_terminal();
    scenario.feed(HubEvent::TimerFired(scenario.reverse_request_timer()));
    assert_eq!(scenario.reverse_replies, [(7, Err(ErrorCode::Timeout))]);
    scenario.reply_to_reverse_request(0, Ok(Value::Null));
    assert_eq!(scenario.reverse_replies.len(), 1);
}

#[test]
fn reverse_request_that_no_client_supports_is_refused_at_once() {
    let mut scenario = Scenario::launched();
    scenario.reverse_request(1, "runInTerminal");
    scenario.reverse_request(2, "inventedByAnAdapter");
    assert_eq!(
        scenario.reverse_replies,
        [(1, Err(ErrorCode::Unsupported)), (2, Err(ErrorCode::Unsupported))]
    );
}

#[test]
fn a_restart_keeps_clients_and_breakpoints_and_reports_no_end() {
    let mut scenario = Scenario::launched();
    let lines = json!({ "source": { "path": "x.cs" }, "breakpoints": [{ "line": 3 }] });
    scenario.request(FIRST, "setBreakpoints", lines);
    scenario.reply(0);
    scenario.emit("thread", json!({ "reason": "started", "threadId": 1 }));
    scenario.emit("stopped", json!({ "reason": "breakpoint", "threadId": 1 }));
    scenario.request(FIRST, "stackTrace", json!({ "threadId": 1 }));
    let before = scenario.events_of(FIRST).len();
    scenario.request(FIRST, "restart", json!({}));
    scenario.request(FIRST, "restart", json!({}));
    // Requests to the old engine are answered, and so is the second restart; the first waits.
    assert_eq!(scenario.unanswered.values().collect::<Vec<_>>(), ["restart"]);
    let (_, command, arguments) = scenario.requests.pop().unwrap();
    assert_eq!((command.as_str(), &arguments["terminateDebuggee"]), ("disconnect", &json!(true)));
    scenario.requests.clear();
    scenario.requests.push((scenario.state.engine.pending.last_ticket(), command, arguments));
    scenario.emit("exited", json!({ "exitCode": 137 }));
    scenario.emit("terminated", Value::Null);
    scenario.reply(0);
    let commands = |scenario: &Scenario| {
        scenario.requests.iter().map(|(_, command, _)| command.clone()).collect::<Vec<_>>()
    };
    assert_eq!(commands(&scenario), ["launch"]);
    assert_eq!(scenario.requests[0].2, json!({ "program": "x.dll" }));
    scenario.held = None;
    scenario.emit("initialized", Value::Null);
    assert_eq!(commands(&scenario), ["launch", "setBreakpoints"]);
    assert_eq!(scenario.held.clone().unwrap(), json!([{ "line": 3 }]));
    scenario.emit("process", json!({ "systemProcessId": 6 }));
    scenario.reply(0);
    scenario.reply(0);
    assert_eq!(commands(&scenario), ["configurationDone"]);
    while !scenario.requests.is_empty() {
        scenario.reply(0);
    }
    assert!(scenario.unanswered.is_empty());
    assert_eq!(scenario.events_of(FIRST)[before..], ["continued", "thread", "process", "breakpoint"]);
    scenario.emit("exited", json!({ "exitCode": 0 }));
    scenario.emit("terminated", Value::Null);
    assert_eq!(scenario.events_of(FIRST)[before + 4..], ["exited", "terminated"]);
}

#[test]
fn a_launched_test_stops_where_it_fails_besides_where_the_clients_want() {
    let mut scenario = Scenario::new();
    scenario.request(FIRST, "initialize", json!({ "clientID": "one" }));
    let stops = json!({ "filters": ["thrown", "unknown"],
        "filterOptions": [{ "filterId": "all", "condition": "Assert*" }, { "filterId": "unknown",
            "condition": "X" }],
        "breakpoints": [{ "name": "testing.(*T).FailNow" }] });
    scenario.request(FIRST, "launch", json!({ "program": "x.dll", "__failureStops": stops }));
    let offered = ["all", "own", "thrown"]
        .map(|name| json!({ "filter": name, "label": name, "supportsCondition": true }));
    let able = json!({ "exceptionBreakpointFilters": offered, "supportsFunctionBreakpoints": true,
        "supportsExceptionFilterOptions": true });
    scenario.emit("capabilities", json!({ "capabilities": able }));
    scenario.request(FIRST, "setExceptionBreakpoints", json!({ "filters": ["own"] }));
    scenario.emit("initialized", Value::Null);
    scenario.request(FIRST, "configurationDone", Value::Null);
    let mut requests = BTreeMap::new();
    while let Some((_, command, arguments)) = scenario.requests.first().cloned() {
        requests.insert(command, arguments);
        scenario.reply(0);
    }
    let launch = requests.get("launch").unwrap();
    assert!(launch.get("__failureStops").is_none(), "the engine has no such attribute: {launch}");
    let exceptions = requests.get("setExceptionBreakpoints").unwrap().to_string();
    for (name, expected) in [("own", true), ("thrown", true), ("Assert*", true), ("unknown", false)] {
        assert_eq!(exceptions.contains(name), expected, "{name}: {exceptions}");
    }
    let functions = requests.get("setFunctionBreakpoints").unwrap();
    assert_eq!(functions["breakpoints"][0]["name"], "testing.(*T).FailNow", "{functions}");
}

#[test]
fn malformed_failure_stops_of_a_launched_test_are_ignored() {
    for stops in [json!(5), json!([1]), json!("thrown"), json!({ "filters": 5, "breakpoints": {} })] {
        let mut scenario = Scenario::new();
        scenario.request(FIRST, "initialize", json!({ "clientID": "one" }));
        scenario.request(FIRST, "launch", json!({ "program": "x.dll", "__failureStops": stops }));
        scenario.emit("initialized", Value::Null);
        assert_eq!(scenario.events_of(FIRST), ["initialized"], "{stops}");
    }
}

#[test]
fn the_answer_to_a_launch_waits_for_initialized_and_its_notes_wait_for_nothing() {
    let started = || {
        let mut scenario = Scenario::new();
        scenario.request(FIRST, "initialize", json!({ "clientID": "one" }));
        scenario.request(FIRST, "launch", json!({ "program": "x.csproj" }));
        scenario.emit("output", json!({ "category": "console", "output": "it is built" }));
        assert_eq!(scenario.events_of(FIRST), ["output"]);
        scenario.reply(0);
        assert_eq!(scenario.unanswered.values().collect::<Vec<_>>(), ["launch"]);
        scenario
    };
    let mut scenario = started();
    scenario.emit("initialized", Value::Null);
    assert!(scenario.unanswered.is_empty());
    let [.., (_, Message::Event(event)), (_, Message::Response(response))] = scenario.received.as_slice()
    else {
        panic!("not an event and then an answer: {:?}", scenario.received);
    };
    assert_eq!((event.event.as_str(), response.command.as_str()), ("initialized", "launch"));
    // A program may be faster than its debugger.
    let mut scenario = started();
    scenario.emit("exited", json!({ "exitCode": 0 }));
    assert!(scenario.unanswered.is_empty());
    let mut scenario = started();
    scenario.feed(HubEvent::EngineEvent(EngineEvent::Died(Failure::cancelled())));
    assert!(scenario.unanswered.is_empty());
}

#[test]
fn a_client_that_has_not_configured_learns_at_once_that_there_is_nothing_to_configure() {
    let (died, exited) = (
        |scenario: &mut Scenario| {
            let failure =
                Failure::new(ErrorCode::EngineFailed, "it crashed; end of its stderr: the moon is full");
            scenario.feed(HubEvent::EngineEvent(EngineEvent::Died(failure)));
        },
        |scenario: &mut Scenario| {
            scenario.emit("exited", json!({ "exitCode": 3 }));
            scenario.emit("terminated", Value::Null);
        },
    );
    let starting = || {
        let mut scenario = Scenario::new();
        scenario.request(FIRST, "initialize", json!({ "clientID": "one" }));
        scenario.request(FIRST, "launch", json!({ "program": "x" }));
        scenario
    };
    // It got `initialized`.
    for (end, received) in
        [(&died as &dyn Fn(&mut Scenario), ["output", "terminated"]), (&exited, ["exited", "terminated"])]
    {
        let mut scenario = starting();
        scenario.emit("initialized", Value::Null);
        scenario.reply(0);
        end(&mut scenario);
        assert!(scenario.unanswered.is_empty());
        assert_eq!(scenario.events_of(FIRST), ["initialized", received[0], received[1]]);
        // It may have been about to.
        scenario.request(FIRST, "configurationDone", Value::Null);
        assert_eq!(scenario.events_of(FIRST).len(), 3);
    }
    // It was not: then the launch has failed, if its answer was kept; else it has a program that ended.
    let mut scenario = starting();
    scenario.reply(0);
    died(&mut scenario);
    let Some((_, Message::Response(response))) = scenario.received.last() else {
        panic!("{:?}", scenario.received)
    };
    assert!(!response.success && response.command == "launch", "{response:?}");
    scenario.request(FIRST, "launch", json!({ "program": "x" }));
    assert_eq!(scenario.requests.last().map(|(_, command, _)| command.as_str()), Some("launch"));
    let mut scenario = starting();
    scenario.reply(0);
    exited(&mut scenario);
    assert_eq!(scenario.events_of(FIRST), ["exited", "terminated"]);
    // Who waits for the answer is not received before it.
    let mut scenario = starting();
    exited(&mut scenario);
    assert_eq!(scenario.events_of(FIRST), [""; 0]);
    scenario.reply(0);
    assert_eq!(scenario.events_of(FIRST), ["exited", "terminated"]);
}

#[test]
fn an_engine_that_answers_the_relaunch_before_it_is_initialized_is_configured_too() {
    let mut scenario = Scenario::launched();
    scenario.request(FIRST, "restart", Value::Null);
    scenario.reply(0);
    // The launch.
    scenario.reply(0);
    assert!(scenario.unanswered.is_empty());
    scenario.emit("initialized", Value::Null);
    assert!(scenario.requests.iter().any(|(_, command, _)| command == "configurationDone"));
}

#[test]
fn a_request_of_an_engine_that_is_being_replaced_is_refused() {
    let mut scenario = Scenario::launched();
    scenario.request(FIRST, "restart", Value::Null);
    scenario.reverse_request(1, "runInTerminal");
    assert_eq!(scenario.reverse_replies, [(1, Err(ErrorCode::Cancelled))]);
}

#[test]
fn a_program_that_cannot_be_started_again_ends_the_session() {
    let mut scenario = Scenario::launched();
    scenario.request(FIRST, "restart", json!({ "arguments": { "program": "gone.dll" } }));
    scenario.reply(0);
    let (ticket, _, arguments) = scenario.requests.remove(0);
    assert_eq!(arguments, json!({ "program": "gone.dll" }));
    let result = Err(Failure::new(ErrorCode::LaunchFailed, "no such file"));
    scenario.feed(HubEvent::EngineReplied { ticket, result });
    assert!(scenario.unanswered.is_empty());
    assert_eq!(scenario.events_of(FIRST).last(), Some(&"terminated"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// Whatever happens in whatever order: each request is answered once, no client is sent anything too
    /// early, twice, or after it has left, and what the engine holds last is the union of what is wanted.
    #[test]
    fn any_order_of_events_keeps_the_rules(script in proptest::collection::vec((0usize..19, 1u64..5,
        0usize..8), 0..120)) {
        let mut scenario = Scenario::new();
        let mut engine_asked = 0;
        for (what, who, which) in script {
            let client = ClientId(who);
            let lines = json!([{ "line": which + 1 }, { "line": 3 }]);
            match what {
                0 if !scenario.seen.contains(&client) => {
                    scenario.join(client, ClientOrigin::Socket);
                }
                1 => scenario.request(client, "initialize", json!({
                    "clientID": if which % 2 == 0 { "x" } else { "tandem-mcp" },
                    "supportsRunInTerminalRequest": which < 4 })),
                2 => scenario.request(client, if who == 1 { "launch" } else { "attach" }, json!({})),
                3 => scenario.request(client, "configurationDone", Value::Null),
                4 => scenario.request(client, "setBreakpoints", json!({ "source": { "path": "x.cs" },
                    "breakpoints": lines })),
                5 => scenario.request(client, ["continue", "next", "pause", "restart"][which % 4], json!({
                    "threadId": 1 })),
                6 => scenario.request(client, ["stackTrace", "threads", "sessionInfo"][which % 3], json!({
                    "threadId": 1 })),
                7 => scenario.request(client,
                    ["processReadOutput", "processReadInput", "processResizeTerminal"][which % 3],
                    json!({ "columns": 80, "rows": 24 })),
                8 => scenario.request(client, "disconnect", json!({ "handOver": which % 2 == 0 })),
                9 if scenario.present.contains(&client) => scenario.leave(client),
                // An engine that was never made says nothing.
                10..=14 if scenario.state.engine.started().is_none() => {}
                10 => scenario.emit("initialized", Value::Null),
                11 => scenario.emit("stopped", json!({ "reason": "step", "threadId": 1 })),
                12 if which == 0 => scenario.emit("exited", json!({ "exitCode": 1 })),
                13 if which == 0 => scenario.emit("terminated", Value::Null),
                14 => {
                    engine_asked += 1;
                    scenario.reverse_request(engine_asked, "runInTerminal");
                }
                15 => scenario.reply_to_reverse_request(which, if which == 0 {
                    Err(Failure::cancelled()) } else { Ok(Value::Null) }),
                16 => if let Some(timer) = scenario.timers.pop().filter(|timer| *timer != Timer::Linger) {
                    scenario.feed(HubEvent::TimerFired(timer));
                }
                _ => scenario.reply(which),
            }
            if scenario.ended {
                break;
            }
        }
        // Everything the engine owes comes in the end; then no client waits any more.
        while !scenario.requests.is_empty() && !scenario.ended {
            scenario.reply(0);
        }
        let state = &scenario.state;
        if state.engine.is_initialized() && state.program.is_live() && !state.end.is_ending {
            let scope = crate::breakpoints::BreakpointScope::of_path("x.cs");
            let union = scenario.state.breakpoints.requests(&scope);
            prop_assert_eq!(scenario.held.clone().unwrap_or(json!([])), json!(union));
        }
        // So does every answer the engine itself waits for.
        while let Some(timer) = scenario.timers.pop() {
            scenario.feed(HubEvent::TimerFired(timer));
        }
        prop_assert!(scenario.reverse_unanswered.is_empty(), "the engine waits for {:?}",
            scenario.reverse_unanswered);
        if !scenario.ended {
            prop_assert!(scenario.unanswered.is_empty(), "never answered: {:?}", scenario.unanswered);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// The rules of `simulation` hold for any sequence of actions.
    #[test]
    fn any_simulation_keeps_the_rules(bytes in proptest::collection::vec(any::<u8>(), 0..360)) {
        super::simulation::simulate(&bytes);
    }
}
