//! The hub's races, written down: a scripted engine, many clients, any order of events.

use std::collections::{BTreeMap, BTreeSet};

use dap_wire::{ErrorCode, Failure, Message, Request, Response};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::State;
use crate::engine::EngineEvent;
use crate::hub::event::{ClientId, Effect, Event, Origin, StartedEngine, Ticket, Timer};

const FIRST: ClientId = ClientId(1);

/// A hub with everything around it scripted; checks the rules after every event.
struct Stage {
    state: State,
    seq: i64,
    /// Requests without an answer.
    owed: BTreeMap<(ClientId, i64), String>,
    engine: Vec<(Ticket, String, Value)>,
    /// The breakpoints the engine was sent last.
    held: Option<Value>,
    ready: BTreeSet<ClientId>,
    present: BTreeSet<ClientId>,
    /// Ids are never given out twice.
    seen: BTreeSet<ClientId>,
    terminated: BTreeSet<ClientId>,
    told: Vec<(ClientId, Message)>,
    /// What the engine asked and has no answer to, by its number.
    engine_owed: BTreeSet<i64>,
    /// How the engine's own questions were answered.
    engine_told: Vec<(i64, Result<Value, ErrorCode>)>,
    /// Reverse requests with clients, and timers that run for them.
    asked: Vec<(ClientId, i64)>,
    timers: Vec<Timer>,
    ended: bool,
}

impl Stage {
    fn new() -> Self {
        let mut stage = Self {
            state: State::new("fox1"),
            seq: 0,
            owed: BTreeMap::new(),
            engine: Vec::new(),
            held: None,
            ready: BTreeSet::new(),
            present: BTreeSet::new(),
            seen: BTreeSet::new(),
            terminated: BTreeSet::new(),
            told: Vec::new(),
            engine_owed: BTreeSet::new(),
            engine_told: Vec::new(),
            asked: Vec::new(),
            timers: Vec::new(),
            ended: false,
        };
        stage.join(FIRST, Origin::First);
        stage
    }

    fn join(&mut self, client: ClientId, origin: Origin) {
        self.present.insert(client);
        self.seen.insert(client);
        self.feed(Event::ClientJoined { client, origin });
    }

    fn leave(&mut self, client: ClientId) {
        self.present.remove(&client);
        self.owed.retain(|(owner, _), _| *owner != client);
        self.feed(Event::ClientLeft { client });
    }

    fn ask(&mut self, client: ClientId, command: &str, arguments: Value) {
        if !self.present.contains(&client) {
            return;
        }
        self.seq += 1;
        let seq = self.seq;
        self.owed.insert((client, seq), command.into());
        let message = Message::Request(Request { seq, command: command.into(), arguments });
        self.feed(Event::ClientSaid { client, message });
    }

    fn say(&mut self, event: &str, body: Value) {
        self.feed(Event::EngineSaid(EngineEvent::Dap { event: event.into(), body }));
    }

    /// The engine asks a client something.
    fn engine_asks(&mut self, ask: i64, command: &str) {
        self.engine_owed.insert(ask);
        let arguments = json!({ "cwd": "/", "args": ["a"], "argsCanBeInterpretedByShell": true });
        self.feed(Event::EngineSaid(EngineEvent::Asks { ask, command: command.into(), arguments }));
    }

    /// A client answers what it was asked.
    fn client_answers(&mut self, at: usize, outcome: Result<Value, Failure>) {
        if self.asked.is_empty() {
            return;
        }
        let (client, seq) = self.asked.remove(at % self.asked.len());
        if self.present.contains(&client) {
            let message = Message::Response(Response::to(seq, "runInTerminal", outcome));
            self.feed(Event::ClientSaid { client, message });
        }
    }

    /// The engine answers what it was asked, oldest first or any other.
    fn answer(&mut self, at: usize) {
        if self.engine.is_empty() {
            return;
        }
        let (ticket, command, arguments) = self.engine.remove(at % self.engine.len());
        let body = match command.as_str() {
            "setBreakpoints" => {
                let list = arguments["breakpoints"].as_array().cloned().unwrap_or_default();
                let told: Vec<Value> = list
                    .iter()
                    .map(|wish| json!({ "id": wish["line"], "verified": true, "line": wish["line"] }))
                    .collect();
                json!({ "breakpoints": told })
            }
            "stackTrace" => json!({ "stackFrames": [{ "id": 1, "name": "Main", "line": 1, "column": 1 }] }),
            _ => Value::Null,
        };
        self.feed(Event::EngineAnswered { ticket, result: Ok(body) });
    }

    /// The timer of the first reverse request.
    fn ask_timer(&self) -> Timer {
        *self.timers.iter().find(|timer| matches!(timer, Timer::Ask(_))).unwrap()
    }

    fn feed(&mut self, event: Event) {
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            for effect in self.state.handle(event) {
                match effect {
                    Effect::Send { client, message } => self.sent(client, message),
                    Effect::AskEngine { ticket, command, arguments, .. } => {
                        if command == "setBreakpoints" {
                            self.held = Some(arguments["breakpoints"].clone());
                        }
                        self.engine.push((ticket, command, arguments));
                    }
                    Effect::Io { ticket, .. } => {
                        events.push(Event::IoAnswered { ticket, result: Ok(json!({})) })
                    }
                    Effect::StartEngine { .. } => {
                        events.push(Event::EngineStarted(Ok(StartedEngine {
                            name: "scripted".into(),
                            several_per_line: true,
                        })));
                    }
                    Effect::Close { client } => {
                        self.present.remove(&client);
                        let owed: Vec<_> = self.owed.keys().filter(|(owner, _)| *owner == client).collect();
                        assert!(owed.is_empty(), "{client} is let go without its answers: {owed:?}");
                    }
                    Effect::AnswerEngine { ask, result } => {
                        assert!(
                            self.engine_owed.remove(&ask),
                            "the engine is answered twice or unasked: {ask}"
                        );
                        self.engine_told.push((ask, result.map_err(|failure| failure.code)));
                    }
                    Effect::StartTimer { timer, .. } => self.timers.push(timer),
                    Effect::End => self.ended = true,
                    _ => {}
                }
            }
        }
    }

    fn sent(&mut self, client: ClientId, message: Message) {
        assert!(self.present.contains(&client), "{client} has left and is still told {message:?}");
        match &message {
            Message::Response(response) => {
                let asked = self.owed.remove(&(client, response.request_seq));
                assert!(asked.is_some(), "{client} is answered twice or unasked: {response:?}");
                if response.command == "configurationDone" && response.success {
                    self.ready.insert(client);
                }
            }
            Message::Event(event) => {
                // An end before the program was let run is told at once.
                let ends = matches!(event.event.as_str(), "exited" | "terminated") && !self.state.configured;
                assert!(
                    matches!(event.event.as_str(), "initialized" | "capabilities" | "output")
                        || ends
                        || self.ready.contains(&client),
                    "{client} gets {} before it is ready",
                    event.event
                );
                if event.event == "terminated" {
                    assert!(self.terminated.insert(client), "{client} is told the end twice");
                }
            }
            Message::Request(request) => self.asked.push((client, request.seq)),
        }
        self.told.push((client, message));
    }

    fn launched() -> Self {
        let mut stage = Self::new();
        stage.ask(FIRST, "initialize", json!({ "clientID": "one" }));
        stage.ask(FIRST, "launch", json!({ "program": "x.dll" }));
        stage.say("initialized", Value::Null);
        stage.ask(FIRST, "configurationDone", Value::Null);
        while !stage.engine.is_empty() {
            stage.answer(0);
        }
        stage.say("process", json!({ "systemProcessId": 5 }));
        stage
    }

    fn events_of(&self, client: ClientId) -> Vec<&str> {
        let names =
            self.told.iter().filter(|(to, _)| *to == client).filter_map(|(_, message)| match message {
                Message::Event(event) => Some(event.event.as_str()),
                _ => None,
            });
        names.collect()
    }
}

#[test]
fn a_stop_that_overtakes_the_answer_to_the_step_comes_behind_it() {
    let mut stage = Stage::launched();
    stage.say("stopped", json!({ "reason": "breakpoint", "threadId": 1 }));
    stage.ask(FIRST, "next", json!({ "threadId": 1 }));
    stage.say("stopped", json!({ "reason": "step", "threadId": 1 }));
    let [.., (_, Message::Response(answer)), (_, Message::Event(event))] = stage.told.as_slice() else {
        panic!("not an answer and then an event: {:?}", stage.told);
    };
    assert_eq!((answer.command.as_str(), answer.success, event.event.as_str()), ("next", true, "stopped"));
    // The engine's own answer comes too late to be heard.
    stage.answer(0);
    assert!(stage.owed.is_empty());
}

#[test]
fn a_launching_client_that_vanishes_ends_the_session() {
    let mut stage = Stage::launched();
    stage.leave(FIRST);
    assert_eq!(stage.engine.last().map(|(_, command, _)| command.as_str()), Some("disconnect"));
    stage.answer(0);
    assert!(stage.ended);
}

#[test]
fn a_client_that_disconnects_has_all_its_answers_first() {
    let mut stage = Stage::launched();
    let second = ClientId(2);
    stage.join(second, Origin::Socket);
    for (command, arguments) in
        [("initialize", json!({})), ("attach", json!({})), ("configurationDone", Value::Null)]
    {
        stage.ask(second, command, arguments);
    }
    for client in [second, FIRST] {
        stage.told.clear();
        let commands = ["threads", "modules", "setBreakpoints", "disconnect"];
        for command in commands {
            stage.ask(
                client,
                command,
                json!({ "source": { "path": "/a.cs" }, "breakpoints": [{ "line": 1 }] }),
            );
        }
        // The first one's ends the session: the engine's goodbye comes before its answer.
        if let Some(at) = stage.engine.iter().position(|(_, command, _)| command == "disconnect") {
            stage.answer(at);
        }
        let answered = stage.told.iter().filter_map(|(_, message)| match message {
            Message::Response(response) => Some((response.command.as_str(), response.success)),
            _ => None,
        });
        let expected = commands.map(|command| (command, command == "disconnect"));
        assert_eq!(answered.collect::<Vec<_>>(), expected);
    }
}

#[test]
fn who_asks_too_much_at_once_is_refused_and_served_again_later() {
    let mut stage = Stage::launched();
    for _ in 0..1500 {
        stage.ask(FIRST, "threads", Value::Null);
    }
    let refused =
        stage.told.iter().filter(|(_, message)| matches!(message, Message::Response(it) if !it.success));
    assert_eq!(refused.count(), 1500 - 1024);
    stage.engine.retain(|(_, command, _)| command == "threads");
    stage.answer(0);
    stage.told.clear();
    stage.ask(FIRST, "threads", Value::Null);
    assert!(stage.told.is_empty(), "{:?}", stage.told);
}

#[test]
fn a_connection_that_says_nothing_keeps_no_session_alive_and_is_closed_in_the_end() {
    let mut stage = Stage::launched();
    let (silent, other) = (ClientId(2), ClientId(3));
    stage.join(silent, Origin::Socket);
    stage.join(other, Origin::Socket);
    stage.feed(Event::TimerFired(Timer::Admission(silent)));
    assert!(!stage.present.contains(&silent) && stage.present.contains(&other));
    stage.say("exited", json!({ "exitCode": 0 }));
    stage.say("terminated", Value::Null);
    assert!(!stage.ended);
    stage.ask(FIRST, "disconnect", Value::Null);
    assert!(stage.ended, "only a silent connection is left");
}

#[test]
fn the_heir_keeps_the_session_when_the_owner_hands_over() {
    let mut stage = Stage::launched();
    let heir = ClientId(2);
    stage.join(heir, Origin::Socket);
    stage.ask(heir, "initialize", json!({}));
    stage.ask(heir, "attach", json!({}));
    stage.ask(heir, "configurationDone", Value::Null);
    stage.ask(FIRST, "disconnect", json!({ "handOver": true }));
    assert!(stage.engine.is_empty() && !stage.ended);
    stage.say("exited", json!({ "exitCode": 0 }));
    stage.say("terminated", Value::Null);
    assert_eq!(stage.events_of(heir), ["initialized", "process", "exited", "terminated"]);
}

/// A session of two, both of which can open terminals; the engine has asked for one.
fn asked_for_a_terminal() -> Stage {
    let mut stage = Stage::new();
    let capable = json!({ "supportsRunInTerminalRequest": true });
    stage.ask(FIRST, "initialize", capable.clone());
    stage.ask(FIRST, "launch", json!({ "program": "x.py" }));
    let second = ClientId(2);
    stage.join(second, Origin::Socket);
    stage.ask(second, "initialize", capable);
    stage.ask(second, "attach", json!({}));
    stage.engine_asks(7, "runInTerminal");
    stage
}

#[test]
fn a_reverse_request_goes_to_the_launching_client_and_its_answer_to_the_engine() {
    let mut stage = asked_for_a_terminal();
    assert_eq!(stage.asked, [(FIRST, 1)]);
    let Some((_, Message::Request(request))) = stage.told.last() else { panic!("not asked") };
    // A client that did not say it knows this field does not get it.
    assert_eq!(request.arguments, json!({ "cwd": "/", "args": ["a"] }));
    stage.client_answers(0, Ok(json!({ "processId": 5 })));
    assert_eq!(stage.engine_told, [(7, Ok(json!({ "processId": 5 })))]);
    // Its time is up, but it has answered.
    stage.feed(Event::TimerFired(stage.ask_timer()));
    assert_eq!(stage.engine_told.len(), 1);
}

#[test]
fn a_reverse_request_of_a_client_that_leaves_goes_to_the_next_and_then_to_nobody() {
    let mut stage = asked_for_a_terminal();
    stage.ask(FIRST, "disconnect", json!({ "handOver": true }));
    // The owner's going ends the session of one that cannot inherit: it has not configured.
    assert_eq!(stage.engine_told, [(7, Err(ErrorCode::Cancelled))]);

    let mut stage = asked_for_a_terminal();
    stage.say("initialized", Value::Null);
    stage.ask(ClientId(2), "configurationDone", Value::Null);
    stage.ask(FIRST, "disconnect", json!({ "handOver": true }));
    assert_eq!(stage.asked, [(FIRST, 1), (ClientId(2), 1)]);
    // Not its question any more.
    stage.asked.remove(1);
    stage.client_answers(0, Ok(Value::Null));
    assert_eq!(stage.engine_told, []);
    stage.leave(ClientId(2));
    assert_eq!(stage.engine_told, [(7, Err(ErrorCode::Unsupported))]);
}

#[test]
fn a_client_that_never_answers_a_reverse_request_is_timed_out() {
    let mut stage = asked_for_a_terminal();
    stage.feed(Event::TimerFired(stage.ask_timer()));
    assert_eq!(stage.engine_told, [(7, Err(ErrorCode::Timeout))]);
    stage.client_answers(0, Ok(Value::Null));
    assert_eq!(stage.engine_told.len(), 1);
}

#[test]
fn a_reverse_request_nobody_can_carry_out_is_refused_at_once() {
    let mut stage = Stage::launched();
    stage.engine_asks(1, "runInTerminal");
    stage.engine_asks(2, "inventedByAnAdapter");
    assert_eq!(stage.engine_told, [(1, Err(ErrorCode::Unsupported)), (2, Err(ErrorCode::Unsupported))]);
}

#[test]
fn a_restart_keeps_clients_and_breakpoints_and_nobody_is_told_of_an_end() {
    let mut stage = Stage::launched();
    let lines = json!({ "source": { "path": "x.cs" }, "breakpoints": [{ "line": 3 }] });
    stage.ask(FIRST, "setBreakpoints", lines);
    stage.answer(0);
    stage.say("thread", json!({ "reason": "started", "threadId": 1 }));
    stage.say("stopped", json!({ "reason": "breakpoint", "threadId": 1 }));
    stage.ask(FIRST, "stackTrace", json!({ "threadId": 1 }));
    let before = stage.events_of(FIRST).len();
    stage.ask(FIRST, "restart", json!({}));
    stage.ask(FIRST, "restart", json!({}));
    // What the old engine was asked is answered, so is the second restart; the first waits.
    assert_eq!(stage.owed.values().collect::<Vec<_>>(), ["restart"]);
    let (_, command, arguments) = stage.engine.pop().unwrap();
    assert_eq!((command.as_str(), &arguments["terminateDebuggee"]), ("disconnect", &json!(true)));
    stage.engine.clear();
    stage.engine.push((stage.state.pending.last_ticket(), command, arguments));
    stage.say("exited", json!({ "exitCode": 137 }));
    stage.say("terminated", Value::Null);
    stage.answer(0);
    let asked =
        |stage: &Stage| stage.engine.iter().map(|(_, command, _)| command.clone()).collect::<Vec<_>>();
    assert_eq!(asked(&stage), ["launch"]);
    assert_eq!(stage.engine[0].2, json!({ "program": "x.dll" }));
    stage.held = None;
    stage.say("initialized", Value::Null);
    assert_eq!(asked(&stage), ["launch", "setBreakpoints", "configurationDone"]);
    assert_eq!(stage.held.clone().unwrap(), json!([{ "line": 3 }]));
    stage.say("process", json!({ "systemProcessId": 6 }));
    while !stage.engine.is_empty() {
        stage.answer(0);
    }
    assert!(stage.owed.is_empty());
    assert_eq!(stage.events_of(FIRST)[before..], ["continued", "thread", "process", "breakpoint"]);
    stage.say("exited", json!({ "exitCode": 0 }));
    stage.say("terminated", Value::Null);
    assert_eq!(stage.events_of(FIRST)[before + 4..], ["exited", "terminated"]);
}

#[test]
fn the_answer_to_a_launch_waits_for_initialized_and_its_notes_wait_for_nothing() {
    let started = || {
        let mut stage = Stage::new();
        stage.ask(FIRST, "initialize", json!({ "clientID": "one" }));
        stage.ask(FIRST, "launch", json!({ "program": "x.csproj" }));
        stage.say("output", json!({ "category": "console", "output": "it is built" }));
        assert_eq!(stage.events_of(FIRST), ["output"]);
        stage.answer(0);
        assert_eq!(stage.owed.values().collect::<Vec<_>>(), ["launch"]);
        stage
    };
    let mut stage = started();
    stage.say("initialized", Value::Null);
    assert!(stage.owed.is_empty());
    let [.., (_, Message::Event(event)), (_, Message::Response(answer))] = stage.told.as_slice() else {
        panic!("not an event and then an answer: {:?}", stage.told);
    };
    assert_eq!((event.event.as_str(), answer.command.as_str()), ("initialized", "launch"));
    // A program may be faster than its debugger.
    let mut stage = started();
    stage.say("exited", json!({ "exitCode": 0 }));
    assert!(stage.owed.is_empty());
    let mut stage = started();
    stage.feed(Event::EngineSaid(EngineEvent::Died(Failure::cancelled())));
    assert!(stage.owed.is_empty());
}

#[test]
fn who_has_not_configured_yet_is_told_at_once_that_there_is_nothing_to_configure() {
    let (died, exited) = (
        |stage: &mut Stage| {
            let failure =
                Failure::new(ErrorCode::EngineFailed, "it crashed; its last words: the moon is full");
            stage.feed(Event::EngineSaid(EngineEvent::Died(failure)));
        },
        |stage: &mut Stage| {
            stage.say("exited", json!({ "exitCode": 3 }));
            stage.say("terminated", Value::Null);
        },
    );
    let starting = || {
        let mut stage = Stage::new();
        stage.ask(FIRST, "initialize", json!({ "clientID": "one" }));
        stage.ask(FIRST, "launch", json!({ "program": "x" }));
        stage
    };
    // It was asked to configure.
    for (end, told) in
        [(&died as &dyn Fn(&mut Stage), ["output", "terminated"]), (&exited, ["exited", "terminated"])]
    {
        let mut stage = starting();
        stage.say("initialized", Value::Null);
        stage.answer(0);
        end(&mut stage);
        assert!(stage.owed.is_empty());
        assert_eq!(stage.events_of(FIRST), ["initialized", told[0], told[1]]);
        // It may have been about to.
        stage.ask(FIRST, "configurationDone", Value::Null);
        assert_eq!(stage.events_of(FIRST).len(), 3);
    }
    // It was not: then the launch has failed, if its answer was kept; else it has a program that ended.
    let mut stage = starting();
    stage.answer(0);
    died(&mut stage);
    let Some((_, Message::Response(answer))) = stage.told.last() else { panic!("{:?}", stage.told) };
    assert!(!answer.success && answer.command == "launch", "{answer:?}");
    stage.ask(FIRST, "launch", json!({ "program": "x" }));
    assert_eq!(stage.engine.last().map(|(_, command, _)| command.as_str()), Some("launch"));
    let mut stage = starting();
    stage.answer(0);
    exited(&mut stage);
    assert_eq!(stage.events_of(FIRST), ["exited", "terminated"]);
    // Who waits for the answer is not told before it.
    let mut stage = starting();
    exited(&mut stage);
    assert_eq!(stage.events_of(FIRST), [""; 0]);
    stage.answer(0);
    assert_eq!(stage.events_of(FIRST), ["exited", "terminated"]);
}

#[test]
fn an_engine_that_answers_the_relaunch_before_it_is_initialized_is_configured_too() {
    let mut stage = Stage::launched();
    stage.ask(FIRST, "restart", Value::Null);
    stage.answer(0);
    // The launch.
    stage.answer(0);
    assert!(stage.owed.is_empty());
    stage.say("initialized", Value::Null);
    assert!(stage.engine.iter().any(|(_, command, _)| command == "configurationDone"));
}

#[test]
fn an_engine_that_asks_something_while_it_is_replaced_is_told_that_nobody_answers() {
    let mut stage = Stage::launched();
    stage.ask(FIRST, "restart", Value::Null);
    stage.engine_asks(1, "runInTerminal");
    assert_eq!(stage.engine_told, [(1, Err(ErrorCode::Cancelled))]);
}

#[test]
fn a_program_that_cannot_be_started_again_ends_the_session() {
    let mut stage = Stage::launched();
    stage.ask(FIRST, "restart", json!({ "arguments": { "program": "gone.dll" } }));
    stage.answer(0);
    let (ticket, _, arguments) = stage.engine.remove(0);
    assert_eq!(arguments, json!({ "program": "gone.dll" }));
    let result = Err(Failure::new(ErrorCode::LaunchFailed, "no such file"));
    stage.feed(Event::EngineAnswered { ticket, result });
    assert!(stage.owed.is_empty());
    assert_eq!(stage.events_of(FIRST).last(), Some(&"terminated"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// Whatever happens in whatever order: each request is answered once, nobody is told anything too early, twice, or
    /// after it left, and what the engine holds last is the union of what is wanted.
    #[test]
    fn any_order_of_events_keeps_the_rules(script in proptest::collection::vec((0usize..19, 1u64..5, 0usize..8), 0..120)) {
        let mut stage = Stage::new();
        let mut engine_asked = 0;
        for (what, who, which) in script {
            let client = ClientId(who);
            let lines = json!([{ "line": which + 1 }, { "line": 3 }]);
            match what {
                0 if !stage.seen.contains(&client) => {
                    stage.join(client, Origin::Socket);
                }
                1 => stage.ask(client, "initialize", json!({
                    "clientID": if which % 2 == 0 { "x" } else { "tandem-mcp" }, "supportsRunInTerminalRequest": which < 4 })),
                2 => stage.ask(client, if who == 1 { "launch" } else { "attach" }, json!({})),
                3 => stage.ask(client, "configurationDone", Value::Null),
                4 => stage.ask(client, "setBreakpoints", json!({ "source": { "path": "x.cs" }, "breakpoints": lines })),
                5 => stage.ask(client, ["continue", "next", "pause", "restart"][which % 4], json!({ "threadId": 1 })),
                6 => stage.ask(client, ["stackTrace", "threads", "sessionInfo"][which % 3], json!({ "threadId": 1 })),
                7 => stage.ask(client, "processReadOutput", json!({})),
                8 => stage.ask(client, "disconnect", json!({ "handOver": which % 2 == 0 })),
                9 if stage.present.contains(&client) => stage.leave(client),
                // An engine that was never made says nothing.
                10..=14 if stage.state.engine.is_none() => {}
                10 => stage.say("initialized", Value::Null),
                11 => stage.say("stopped", json!({ "reason": "step", "threadId": 1 })),
                12 if which == 0 => stage.say("exited", json!({ "exitCode": 1 })),
                13 if which == 0 => stage.say("terminated", Value::Null),
                14 => {
                    engine_asked += 1;
                    stage.engine_asks(engine_asked, "runInTerminal");
                }
                15 => stage.client_answers(which, if which == 0 { Err(Failure::cancelled()) } else { Ok(Value::Null) }),
                16 => if let Some(timer) = stage.timers.pop().filter(|timer| *timer != Timer::Linger) {
                    stage.feed(Event::TimerFired(timer));
                }
                _ => stage.answer(which),
            }
            if stage.ended {
                break;
            }
        }
        // Everything the engine owes comes in the end; then nobody waits any more.
        while !stage.engine.is_empty() && !stage.ended {
            stage.answer(0);
        }
        if stage.state.engine_ready && stage.state.is_live() && !stage.state.ending {
            let union = stage.state.ledger.wishes(&crate::hub::breakpoints::Place::of_path("x.cs"));
            prop_assert_eq!(stage.held.clone().unwrap_or(json!([])), json!(union));
        }
        // So does every answer the engine itself waits for.
        while let Some(timer) = stage.timers.pop() {
            stage.feed(Event::TimerFired(timer));
        }
        prop_assert!(stage.engine_owed.is_empty(), "the engine waits for {:?}", stage.engine_owed);
        if !stage.ended {
            prop_assert!(stage.owed.is_empty(), "never answered: {:?}", stage.owed);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// The rules of `rehearsal` hold in any play.
    #[test]
    fn any_play_keeps_the_rules(bytes in proptest::collection::vec(any::<u8>(), 0..360)) {
        super::rehearsal::rehearse(&bytes);
    }
}
