//! Tests of races between breakpoints and stops, one by one: two clients, and an engine that answers when the
//! test says so. Not here: races of other requests ([`super::tests`]), random orders ([`super::simulation`]).

use serde_json::{Value, json};
use tandem_wire::{Failure, Message, Request};

use super::State;
use crate::event::{ClientId, ClientOrigin, HubEffect, HubEvent, IoAnswer, Ticket, Timer};
use tandem_engine::{EngineAnswer, EngineEvent, EngineRequest};
use tandem_process::WriteOutcome;

pub(super) const EDITOR: ClientId = ClientId(1);
pub(super) const AGENT: ClientId = ClientId(2);

pub(super) struct TwoClients {
    pub(super) state: State,
    seq: i64,
    /// Requests that the engine has not answered.
    requests: Vec<(Ticket, EngineRequest)>,
    /// Messages to each client, as short lines.
    received: Vec<String>,
    /// Timers that have not fired.
    pub(super) timers: Vec<Timer>,
}

impl TwoClients {
    /// An editor that launched, an agent that joined; `several` says what kind of engine it is.
    fn launched(several: bool) -> Self {
        Self::started_with("launch", several, json!({}))
    }

    /// The same after this request with these attributes.
    pub(super) fn started_with(command: &str, several: bool, attributes: Value) -> Self {
        let mut session = Self::initialized(command, several, attributes);
        session.request(EDITOR, "configurationDone", Value::Null);
        session.emit("process", json!({}));
        session.feed(HubEvent::ClientJoined { client: AGENT, origin: ClientOrigin::Socket });
        session.request(AGENT, "initialize", json!({ "clientID": "tandem-mcp" }));
        session.request(AGENT, "attach", json!({}));
        session.request(AGENT, "configurationDone", Value::Null);
        session.reply(command, Ok(Value::Null));
        session.reply("configurationDone", Ok(Value::Null));
        session.received.clear();
        session.timers.clear();
        session
    }

    /// Stopped, with an editor's `continue` that waits until the engine has its second list of breakpoints.
    fn with_waiting_resume() -> Self {
        let mut session = Self::launched(true);
        session.emit("stopped", json!({ "reason": "entry", "threadId": 1 }));
        session.set(EDITOR, json!([{ "line": 2 }]));
        session.set(EDITOR, json!([{ "line": 3 }]));
        session.request(EDITOR, "continue", json!({ "threadId": 1 }));
        session
    }

    /// An editor that may configure.
    fn initialized(command: &str, several: bool, attributes: Value) -> Self {
        let mut session = Self {
            state: State::new("fox1"),
            seq: 0,
            requests: Vec::new(),
            received: Vec::new(),
            timers: Vec::new(),
        };
        session.feed(HubEvent::ClientJoined { client: EDITOR, origin: ClientOrigin::First });
        session.request(
            EDITOR,
            "initialize",
            json!({ "clientID": "vscode", "supportsInvalidatedEvent": true, "supportsMemoryEvent": true }),
        );
        session.request(EDITOR, command, attributes);
        session.feed(HubEvent::EngineStarted(Ok(crate::scripted_engine::scripted_engine(several))));
        session.emit("initialized", Value::Null);
        session
    }

    pub(super) fn request(&mut self, client: ClientId, command: &str, arguments: Value) {
        self.seq += 1;
        let request = Request { seq: self.seq, command: command.into(), arguments };
        self.feed(HubEvent::ClientMessage { client, message: Message::Request(request) });
    }

    pub(super) fn set(&mut self, client: ClientId, requests: Value) {
        self.request(
            client,
            "setBreakpoints",
            json!({ "source": { "path": "/x.c" }, "breakpoints": requests }),
        );
    }

    pub(super) fn emit(&mut self, event: &str, body: Value) {
        self.feed(HubEvent::EngineEvent(EngineEvent::Dap { event: event.into(), body }));
    }

    fn report_capabilities(&mut self, capabilities: Value) {
        self.feed(HubEvent::EngineEvent(EngineEvent::Capabilities(capabilities)));
    }

    /// The engine answers the oldest question of this name.
    pub(super) fn reply(&mut self, command: &str, result: Result<Value, Failure>) {
        self.answer(command, result.map(EngineAnswer::Body));
    }

    /// The same with an answer that DAP has no body for.
    pub(super) fn answer(&mut self, command: &str, result: Result<EngineAnswer, Failure>) {
        let at = self.requests.iter().position(|(_, requested)| requested.command() == command);
        let at = at.unwrap_or_else(|| panic!("the engine was not asked `{command}` but {:?}", self.requests));
        let (ticket, _) = self.requests.remove(at);
        self.feed(HubEvent::EngineReplied { ticket, result });
    }

    /// The engine takes a list and gives these ids.
    pub(super) fn accept_list(&mut self, ids: &[i64]) -> Value {
        let list = self
            .requests
            .iter()
            .find(|(_, requested)| requested.command() == "setBreakpoints")
            .map(|(_, list)| list.arguments().clone());
        let list = list.expect("no list")["breakpoints"].clone();
        let received: Vec<Value> = ids
            .iter()
            .zip(list.as_array().into_iter().flatten())
            .map(|(id, request)| json!({ "id": id, "verified": true, "line": request["line"] }))
            .collect();
        self.reply("setBreakpoints", Ok(json!({ "breakpoints": received })));
        list
    }

    pub(super) fn requested(&self) -> Vec<&str> {
        self.requests.iter().map(|(_, requested)| requested.command()).collect()
    }

    /// The last unanswered request of this name to the engine.
    pub(super) fn last_request(&self, command: &str) -> Option<EngineRequest> {
        let mut requested = self.requests.iter().rev().map(|(_, requested)| requested);
        requested.find(|requested| requested.command() == command).cloned()
    }

    pub(super) fn feed(&mut self, event: HubEvent) {
        for effect in self.state.handle(event) {
            match effect {
                HubEffect::Send { client, message } => {
                    let who = if client == EDITOR { "editor" } else { "agent" };
                    let what = match message {
                        Message::Response(response) if response.success => format!("ok {}", response.command),
                        Message::Response(response) => {
                            format!(
                                "no {}: {}",
                                response.command, response.body["error"]["variables"]["code"]
                            )
                        }
                        Message::Event(event) => match event.event.as_str() {
                            "breakpoint" => {
                                format!("{} {}", event.body["reason"], event.body["breakpoint"]["line"])
                            }
                            "stopped" => {
                                format!("stopped {} {}", event.body["reason"], event.body["hitBreakpointIds"])
                            }
                            "output" => format!("output {}", event.body["output"]),
                            "memory" => format!("memory {}", event.body["count"]),
                            "sessionChanged" if event.body["change"] == "input" => {
                                format!("input {}", event.body["bytes"])
                            }
                            other => other.to_owned(),
                        },
                        Message::Request(request) => request.command,
                    };
                    self.received.push(format!("{who}: {}", what.replace('"', "")));
                }
                HubEffect::RequestEngine { ticket, request, .. } => self.requests.push((ticket, request)),
                HubEffect::StartTimer { timer, .. } => self.timers.push(timer),
                _ => {}
            }
        }
    }

    /// The messages since the last call.
    pub(super) fn take_received(&mut self) -> Vec<String> {
        std::mem::take(&mut self.received)
    }

    /// An engine that keeps one per line holds line 5 for both: the editor when `a`, the agent
    /// when `b`. Gives our ids.
    fn sharing_line_five() -> (Self, [i64; 2]) {
        let mut session = Self::launched(false);
        session.set(EDITOR, json!([{ "line": 5, "condition": "a" }]));
        session.accept_list(&[1]);
        session.set(AGENT, json!([{ "line": 5, "condition": "b" }]));
        assert_eq!(session.accept_list(&[2]), json!([{ "line": 5 }]));
        session.take_received();
        let id = |client| session.state.breakpoints.owned_by(client)[0]["id"].as_i64().unwrap_or_default();
        let ids = [id(EDITOR), id(AGENT)];
        (session, ids)
    }

    /// The program reaches line 5.
    fn hit_line_five(&mut self) {
        self.emit("stopped", json!({ "reason": "breakpoint", "threadId": 1, "hitBreakpointIds": [2] }));
        self.reply(
            "stackTrace",
            Ok(json!({ "stackFrames": [{ "id": 70, "line": 5, "source": { "path": "/x.c" } }] })),
        );
    }

    fn reply_value(&mut self, value: &str) {
        self.reply("evaluate", Ok(json!({ "result": value, "variablesReference": 0 })));
    }
}

#[test]
fn one_list_is_under_way_and_the_latest_wins() {
    let mut session = TwoClients::launched(true);
    session.set(EDITOR, json!([{ "line": 1 }]));
    session.set(AGENT, json!([{ "line": 2 }]));
    session.set(EDITOR, json!([{ "line": 3 }]));
    assert_eq!(session.requested(), ["setBreakpoints"]);
    assert_eq!(session.accept_list(&[1]), json!([{ "line": 1 }]));
    assert_eq!(session.take_received()[0], "editor: ok setBreakpoints");
    assert_eq!(session.accept_list(&[2, 3]), json!([{ "line": 2 }, { "line": 3 }]));
    assert_eq!(session.take_received()[..2], ["agent: ok setBreakpoints", "editor: ok setBreakpoints"]);
    assert_eq!(session.requested(), [""; 0]);
}

#[test]
fn others_see_a_breakpoint_once_the_engine_has_placed_it() {
    let mut session = TwoClients::launched(true);
    session.set(EDITOR, json!([{ "line": 1 }]));
    session.accept_list(&[1]);
    session.take_received();
    session.set(AGENT, json!([{ "line": 5 }]));
    // An event that makes the hub check each client's view.
    session.emit(
        "breakpoint",
        json!({ "reason": "changed", "breakpoint": { "id": 1, "verified": true, "line": 2 } }),
    );
    let shown = |received: Vec<String>| received.iter().any(|received| received == "editor: new 5");
    assert!(!shown(session.take_received()));
    session.accept_list(&[1, 6]);
    assert!(shown(session.take_received()));
}

#[test]
fn a_client_whose_list_the_engine_refuses_is_notified_and_the_next_list_has_it_again() {
    let mut session = TwoClients::launched(true);
    session.set(EDITOR, json!([{ "line": 1 }]));
    session.reply("setBreakpoints", Err(Failure::cancelled()));
    assert_eq!(session.take_received()[0], "editor: no setBreakpoints: CANCELLED");
    session.set(AGENT, json!([{ "line": 2 }]));
    assert_eq!(session.accept_list(&[1, 2]), json!([{ "line": 1 }, { "line": 2 }]));
}

#[test]
fn an_unwanted_stop_is_never_seen() {
    let (mut session, _) = TwoClients::sharing_line_five();
    session.hit_line_five();
    session.reply_value("false");
    session.reply_value("0");
    session.reply("continue", Ok(Value::Null));
    session.emit("continued", json!({ "threadId": 1 }));
    assert_eq!(session.take_received(), [""; 0]);
}

#[test]
fn stop_that_a_client_wants_names_its_breakpoints() {
    let (mut session, [_, agents]) = TwoClients::sharing_line_five();
    session.hit_line_five();
    session.reply_value("false");
    session.reply_value("true");
    let stopped = format!("stopped breakpoint [{agents}]");
    assert_eq!(session.take_received(), [format!("editor: {stopped}"), format!("agent: {stopped}")]);
    assert_eq!(session.requested(), [""; 0]);
}

#[test]
fn an_engine_that_does_not_name_what_was_hit_is_asked_where_it_stopped() {
    let (mut session, [editors, _]) = TwoClients::sharing_line_five();
    session.emit("stopped", json!({ "reason": "breakpoint", "threadId": 1 }));
    session.reply(
        "stackTrace",
        Ok(json!({ "stackFrames": [{ "id": 70, "line": 5, "source": { "path": "/x.c" } }] })),
    );
    session.reply_value("true");
    session.reply_value("false");
    assert_eq!(session.take_received()[0], format!("editor: stopped breakpoint [{editors}]"));
    // Elsewhere it concerns another client.
    session.request(EDITOR, "continue", json!({ "threadId": 1 }));
    session.reply("continue", Ok(Value::Null));
    session.take_received();
    session.emit("stopped", json!({ "reason": "breakpoint", "threadId": 1 }));
    session.reply(
        "stackTrace",
        Ok(json!({ "stackFrames": [{ "id": 71, "line": 9, "source": { "path": "/x.c" } }] })),
    );
    assert_eq!(session.take_received()[0], "editor: stopped breakpoint null");
}

#[test]
fn a_condition_that_cannot_be_evaluated_stops_and_says_so() {
    let (mut session, [editors, _]) = TwoClients::sharing_line_five();
    session.hit_line_five();
    session.reply("evaluate", Err(Failure::cancelled()));
    session.reply_value("false");
    let received = session.take_received();
    assert!(received[0].starts_with("editor: output The condition `a` cannot be evaluated"), "{received:?}");
    assert_eq!(received[2], format!("editor: stopped breakpoint [{editors}]"));
}

#[test]
fn a_step_that_ends_at_an_unwanted_breakpoint_is_reported_as_a_step() {
    let (mut session, _) = TwoClients::sharing_line_five();
    session.emit("stopped", json!({ "reason": "entry", "threadId": 1 }));
    session.request(EDITOR, "next", json!({ "threadId": 1 }));
    session.take_received();
    // The stop overtakes the answer.
    session.hit_line_five();
    session.reply_value("false");
    session.reply_value("false");
    assert_eq!(
        session.take_received(),
        [
            "editor: ok next",
            "agent: continued",
            // VS Code would show the other threads as paused.
            "editor: continued",
            "editor: stopped step null",
            "agent: stopped step null"
        ]
    );
    assert_eq!(session.requested(), ["next"]);
}

#[test]
fn a_pause_while_a_stop_is_evaluated_is_that_stop() {
    let (mut session, _) = TwoClients::sharing_line_five();
    session.hit_line_five();
    session.request(AGENT, "pause", json!({ "threadId": 1 }));
    session.reply_value("false");
    session.reply_value("false");
    assert_eq!(
        session.take_received(),
        ["agent: ok pause", "editor: stopped pause null", "agent: stopped pause null"]
    );
    assert_eq!(session.requested(), [""; 0]);
}

#[test]
fn a_program_that_ends_while_a_stop_is_evaluated_has_ended() {
    let (mut session, _) = TwoClients::sharing_line_five();
    session.hit_line_five();
    session.emit("exited", json!({ "exitCode": 0 }));
    session.emit("terminated", Value::Null);
    session.reply_value("true");
    let received = session.take_received();
    assert!(received.iter().all(|line| !line.contains("stopped")), "{received:?}");
    assert_eq!(session.requested(), [""; 0]);
}

/// The engine evaluates each condition itself, and the agent leaves while it evaluates the agent's.
#[test]
fn a_stop_for_a_breakpoint_that_was_removed_is_not_a_hit_of_another_condition() {
    let stop_after = |left: Value| {
        let mut session = TwoClients::launched(true);
        session.set(EDITOR, left.clone());
        session.accept_list(&[1]);
        session.set(AGENT, json!([{ "line": 5, "condition": "slow()" }]));
        session.accept_list(&[1, 2]);
        session.set(AGENT, json!([]));
        session.take_received();
        session.hit_line_five();
        (session.take_received(), session.last_request("continue").is_some())
    };
    for left in
        [json!({ "condition": "false" }), json!({ "hitCondition": "9" }), json!({ "logMessage": "x" })]
    {
        let mut left = left;
        left["line"] = json!(5);
        assert_eq!(stop_after(json!([left])), (vec![], true));
    }
    let (received, resumed) = stop_after(json!([{ "line": 5 }]));
    assert!(received[0].starts_with("editor: stopped breakpoint ["), "{received:?}");
    assert!(!resumed);
}

/// An engine may give each list new ids.
#[test]
fn a_stop_that_names_the_former_id_of_a_breakpoint_is_a_hit_of_it() {
    let mut session = TwoClients::launched(true);
    session.set(EDITOR, json!([{ "line": 5, "condition": "a" }]));
    session.accept_list(&[2]);
    let id = session.state.breakpoints.owned_by(EDITOR)[0]["id"].clone();
    session.set(AGENT, json!([{ "line": 6 }]));
    session.accept_list(&[3, 4]);
    session.take_received();
    session.hit_line_five();
    assert_eq!(session.take_received()[0], format!("editor: stopped breakpoint [{id}]"));
}

#[test]
fn an_engine_that_will_not_resume_after_an_unwanted_stop_shows_it() {
    let (mut session, _) = TwoClients::sharing_line_five();
    session.hit_line_five();
    session.reply_value("false");
    session.reply_value("false");
    session.reply("continue", Err(Failure::cancelled()));
    assert_eq!(session.take_received()[0], "editor: stopped breakpoint []");
}

#[test]
fn an_engine_that_says_so_after_the_next_stop_shows_nothing() {
    let (mut session, _) = TwoClients::sharing_line_five();
    session.hit_line_five();
    session.reply_value("false");
    session.reply_value("false");
    session.emit("stopped", json!({ "reason": "step", "threadId": 1 }));
    session.request(EDITOR, "stepOut", json!({ "threadId": 1 }));
    session.reply("stepOut", Ok(Value::Null));
    session.take_received();
    session.reply("continue", Err(Failure::cancelled()));
    assert_eq!(session.take_received(), [""; 0]);
}

/// The engine would resume a program that clients see stopped.
#[test]
fn a_resume_that_waits_for_breakpoints_is_not_sent_after_the_next_stop() {
    for (second, wanted) in [("true", true), ("false", false)] {
        let (mut session, _) = TwoClients::sharing_line_five();
        session.set(EDITOR, json!([{ "line": 5, "condition": "a" }, { "line": 7 }]));
        session.set(EDITOR, json!([{ "line": 5, "condition": "a" }, { "line": 8 }]));
        session.hit_line_five();
        session.reply_value("false");
        session.reply_value("false");
        session.take_received();
        assert!(!session.requested().contains(&"continue"), "it does not wait");
        session.hit_line_five();
        session.reply_value(second);
        session.reply_value("false");
        session.accept_list(&[2, 3]);
        let stopped = session.take_received().iter().any(|line| line.starts_with("editor: stopped"));
        let resumes = session.requested().iter().filter(|command| **command == "continue").count();
        assert_eq!((stopped, resumes), (wanted, usize::from(!wanted)));
    }
}

#[test]
fn log_messages_of_both_clients_are_written_without_a_stop() {
    let mut session = TwoClients::launched(false);
    session.set(EDITOR, json!([{ "line": 5, "logMessage": "x is {x}, y is {y}" }]));
    session.accept_list(&[1]);
    session.set(AGENT, json!([{ "line": 5, "logMessage": "here", "hitCondition": "2" }]));
    session.accept_list(&[2]);
    session.take_received();
    for round in 0..2 {
        session.hit_line_five();
        session.reply_value("1");
        session.reply_value("2");
        let received = session.take_received();
        assert!(received[0].starts_with("editor: output x is 1, y is 2"), "{received:?}");
        assert_eq!(
            received.get(2).is_some_and(|line| line.starts_with("editor: output here")),
            round == 1,
            "{received:?}"
        );
        session.reply("continue", Ok(Value::Null));
    }
}

#[test]
fn a_breakpoint_removed_before_its_owner_was_answered_is_reported_after_the_answer() {
    let mut session = TwoClients::launched(true);
    session.set(AGENT, json!([{ "line": 5 }]));
    session.accept_list(&[1]);
    assert_eq!(session.take_received(), ["agent: ok setBreakpoints", "editor: new 5", "editor: invalidated"]);
    session.set(AGENT, json!([{ "line": 5 }, { "line": 6 }]));
    // The editor's user clicks the dot on line 5 away.
    session.set(EDITOR, json!([]));
    session.accept_list(&[1, 2]);
    assert_eq!(session.take_received()[..2], ["agent: ok setBreakpoints", "agent: removed null"]);
    assert_eq!(session.accept_list(&[2]), json!([{ "line": 6 }]));
}

#[test]
fn an_answer_that_belongs_to_an_earlier_stop_is_refused_even_when_the_program_is_stopped_again() {
    let mut session = TwoClients::launched(true);
    session.emit("stopped", json!({ "reason": "entry", "threadId": 1 }));
    session.request(AGENT, "stackTrace", json!({ "threadId": 1 }));
    session.request(EDITOR, "next", json!({ "threadId": 1 }));
    session.reply("next", Ok(Value::Null));
    session.emit("stopped", json!({ "reason": "step", "threadId": 1 }));
    session.take_received();
    session.reply("stackTrace", Ok(json!({ "stackFrames": [{ "id": 1 }] })));
    assert_eq!(session.take_received(), ["agent: no stackTrace: NOT_STOPPED"]);
}

#[test]
fn console_input_and_memory_writes_of_a_client_are_reported_to_the_others() {
    let mut session = TwoClients::launched(true);
    session.emit("stopped", json!({ "reason": "entry", "threadId": 1 }));
    session.take_received();
    session.request(AGENT, "evaluate", json!({ "expression": "x = 1", "context": "repl" }));
    session.reply("evaluate", Ok(json!({ "result": "1", "variablesReference": 0 })));
    assert_eq!(session.take_received(), ["agent: ok evaluate", "editor: invalidated"]);
    session.request(AGENT, "evaluate", json!({ "expression": "x", "context": "watch" }));
    session.reply("evaluate", Ok(json!({ "result": "1", "variablesReference": 0 })));
    // An agent calls all that it requests for a watch; only hovering changes nothing for sure.
    assert_eq!(session.take_received(), ["agent: ok evaluate", "editor: invalidated"]);
    for (who, context) in [(AGENT, "hover"), (EDITOR, "watch")] {
        session.request(who, "evaluate", json!({ "expression": "x", "context": context }));
        session.reply("evaluate", Ok(json!({ "result": "1", "variablesReference": 0 })));
        assert_eq!(session.take_received().len(), 1, "{context}");
    }
    // An engine returns the number of bytes only where it may write a part.
    session.report_capabilities(json!({ "supportsWriteMemoryRequest": true }));
    session.take_received();
    for (body, count) in [(Value::Null, 3), (json!({}), 3), (json!({ "bytesWritten": 2 }), 2)] {
        session.request(AGENT, "writeMemory", json!({ "memoryReference": "0x10", "data": "AAEC" }));
        session.reply("writeMemory", Ok(body));
        let memory = format!("editor: memory {count}");
        assert_eq!(session.take_received(), ["agent: ok writeMemory", &memory, "editor: invalidated"]);
    }
}

/// A part of it would be in the program's stdin, and the input of the next client would follow it.
#[test]
fn input_of_a_client_that_leaves_is_written_and_reported() {
    let taken = |bytes_written| WriteOutcome { bytes_written, stdin_closed: false };
    let cut = || Failure::cancelled().data(json!({ "bytesWritten": 2 }));
    let line = "output tandem-mcp left while it wrote to the program's stdin, which took";
    let cases = [
        (Ok(IoAnswer::Written(taken(5))), vec!["input 5".to_owned()]),
        (Err(cut()), vec!["input 2".to_owned(), format!("{line} 2 of 5 bytes\\n")]),
        (Err(Failure::cancelled()), vec![format!("{line} 0 of 5 bytes\\n")]),
    ];
    for (result, expected) in cases {
        let mut session = TwoClients::launched(true);
        session.request(EDITOR, "sessionInfo", json!({ "subscribe": true }));
        let arguments = json!({ "data": "hello" });
        let request = Request { seq: 100, command: "processWriteInput".into(), arguments };
        let message = Message::Request(request);
        let effects = session.state.handle(HubEvent::ClientMessage { client: AGENT, message });
        let written = |effect: &HubEffect| match effect {
            HubEffect::Io { ticket, .. } => Some(*ticket),
            _ => None,
        };
        let ticket = effects.iter().find_map(written).expect("nothing is written");
        let effects = session.state.handle(HubEvent::ClientLeft { client: AGENT });
        assert!(!effects.iter().any(|effect| matches!(effect, HubEffect::Cancel { .. })));
        session.take_received();
        session.feed(HubEvent::IoReplied { ticket, result });
        let expected: Vec<_> = expected.into_iter().map(|line| format!("editor: {line}")).collect();
        assert_eq!(session.take_received(), expected);
    }
}

#[test]
fn a_data_id_means_nothing_at_the_next_stop_unless_the_engine_holds_it() {
    let mut session = TwoClients::launched(false);
    session.report_capabilities(json!({ "supportsDataBreakpoints": true }));
    session.emit("stopped", json!({ "reason": "entry", "threadId": 1 }));
    let mut stack = json!({ "stackFrames": [{ "id": 7 }] });
    let State { clients, counter, .. } = &mut session.state;
    clients.get_mut(EDITOR).expect("no editor").protocol.ids.to_client(counter, "stackTrace", &mut stack);
    let frame = &stack["stackFrames"][0]["id"];
    // Without a frame it is global, also if it was bound to a stop before; in a frame the engine knows.
    let frames = [Some(frame), Some(frame), Some(frame), None, Some(frame)];
    for (id, frame) in ["held", "stale", "global", "global", "global in a frame"].into_iter().zip(frames) {
        session.request(EDITOR, "dataBreakpointInfo", json!({ "name": id, "frameId": frame }));
        let body = json!({ "dataId": id, "description": id });
        let is_lasting = id == "global in a frame";
        let answer = if is_lasting { EngineAnswer::LastingData(body) } else { EngineAnswer::Body(body) };
        session.answer("dataBreakpointInfo", Ok(answer));
    }
    session.request(EDITOR, "setDataBreakpoints", json!({ "breakpoints": [{ "dataId": "held" }] }));
    session.reply("setDataBreakpoints", Ok(json!({ "breakpoints": [{ "id": 1, "verified": true }] })));
    session.request(EDITOR, "continue", json!({ "threadId": 1 }));
    session.reply("continue", Ok(Value::Null));
    let kept = json!([{ "dataId": "held" }, { "dataId": "global" }, { "dataId": "global in a frame" },
        { "dataId": "of an earlier session" }]);
    let mut all = kept.clone();
    all.as_array_mut().expect("a list").insert(0, json!({ "dataId": "stale" }));
    session.request(EDITOR, "setDataBreakpoints", json!({ "breakpoints": all }));
    let (_, list) = session.requests.last().expect("no list");
    assert_eq!(list.arguments()["breakpoints"], kept);
}

#[test]
fn an_engine_is_configured_when_it_has_replied_to_all_breakpoints() {
    let mut session = TwoClients::initialized("launch", true, json!({}));
    // The later list waits for the reply to the earlier one, and the program for both.
    session.set(EDITOR, json!([{ "line": 2 }]));
    session.set(EDITOR, json!([{ "line": 3 }]));
    session.request(EDITOR, "configurationDone", Value::Null);
    assert_eq!(session.requested(), ["launch", "setBreakpoints"]);
    assert_eq!(session.accept_list(&[1]), json!([{ "line": 2 }]));
    assert_eq!(session.requested(), ["launch", "setBreakpoints"]);
    assert_eq!(session.accept_list(&[2]), json!([{ "line": 3 }]));
    assert_eq!(session.requested(), ["launch", "configurationDone"]);
}

/// An engine may number data breakpoints for themselves, or name none at such a stop.
#[test]
fn a_stop_at_data_or_an_instruction_never_checks_the_breakpoints_of_lines() {
    let line_of = |session: &mut TwoClients, ids: Value| {
        session
            .emit("stopped", json!({ "reason": "data breakpoint", "threadId": 1, "hitBreakpointIds": ids }));
        session.take_received()
    };
    let (mut session, _) = TwoClients::sharing_line_five();
    session.report_capabilities(
        json!({ "supportsDataBreakpoints": true, "supportsInstructionBreakpoints": true }),
    );
    session.take_received();
    // The number of the line, of which the hub evaluates the condition, and one of a removed breakpoint.
    for ids in [json!([2]), json!([1]), Value::Null] {
        let received = line_of(&mut session, ids);
        assert!(received[0].starts_with("editor: stopped data breakpoint"), "{received:?}");
        session.request(EDITOR, "continue", json!({ "threadId": 1 }));
        session.reply("continue", Ok(Value::Null));
        session.take_received();
    }
    session.request(
        EDITOR,
        "setInstructionBreakpoints",
        json!({ "breakpoints": [{ "instructionReference": "0x1" }] }),
    );
    session.reply("setInstructionBreakpoints", Ok(json!({ "breakpoints": [{ "id": 9, "verified": true }] })));
    session.take_received();
    session.emit("stopped", json!({ "reason": "breakpoint", "threadId": 1, "hitBreakpointIds": [9] }));
    let received = session.take_received();
    assert!(received[0].starts_with("editor: stopped instruction breakpoint"), "{received:?}");
    session.request(EDITOR, "continue", json!({ "threadId": 1 }));
    session.reply("continue", Ok(Value::Null));
    session.request(EDITOR, "setDataBreakpoints", json!({ "breakpoints": [{ "dataId": "d" }] }));
    session.reply("setDataBreakpoints", Ok(json!({ "breakpoints": [{ "id": 2, "verified": true }] })));
    let data = session.state.breakpoints.owned_by(EDITOR);
    let data = data.iter().find(|one| one["line"].is_null()).expect("no data breakpoint")["id"].clone();
    session.take_received();
    for ids in [json!([2]), Value::Null] {
        let received = line_of(&mut session, ids);
        assert_eq!(received[0], format!("editor: stopped data breakpoint [{data}]"));
    }
}

#[test]
fn a_resume_and_the_pause_after_it_wait_for_a_list_that_the_engine_does_not_have() {
    let mut session = TwoClients::with_waiting_resume();
    session.request(AGENT, "pause", json!({ "threadId": 1 }));
    assert_eq!(session.requested(), ["setBreakpoints"]);
    session.take_received();
    session.request(AGENT, "next", json!({ "threadId": 1 }));
    assert_eq!(session.take_received(), ["agent: no next: NOT_STOPPED"]);
    session.accept_list(&[1]);
    // An engine keeps the order of what it gets.
    assert_eq!(session.requested(), ["setBreakpoints", "continue", "pause"]);
    assert_eq!(session.accept_list(&[2]), json!([{ "line": 3 }]));
}

#[test]
fn a_resume_that_was_refused_while_it_waited_is_not_sent() {
    let mut session = TwoClients::with_waiting_resume();
    session.emit("exited", json!({ "exitCode": 0 }));
    session.emit("terminated", Value::Null);
    session.accept_list(&[1]);
    assert!(!session.requested().contains(&"continue"), "{:?}", session.requested());
    let answers = session.take_received();
    let answers = answers.iter().filter(|one| one.ends_with("continue") || one.contains("continue:"));
    assert_eq!(answers.count(), 1);
}

#[test]
fn a_pause_does_not_wait_for_a_resume_that_a_restart_has_refused() {
    let mut session = TwoClients::with_waiting_resume();
    session.request(EDITOR, "restart", Value::Null);
    assert!(session.take_received().contains(&"editor: no continue: CANCELLED".to_owned()));
    session.request(AGENT, "pause", json!({ "threadId": 1 }));
    assert!(session.requested().contains(&"pause"), "{:?}", session.requested());
}
