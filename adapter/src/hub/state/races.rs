//! Races of breakpoints and stops, one by one: two clients, an engine whose every answer comes when the test says so.

use dap_wire::{Failure, Message, Request};
use serde_json::{Value, json};

use super::State;
use crate::engine::EngineEvent;
use crate::hub::event::{ClientId, Effect, Event, Origin, StartedEngine, Ticket, Timer};

pub(super) const EDITOR: ClientId = ClientId(1);
pub(super) const AGENT: ClientId = ClientId(2);

pub(super) struct Table {
    pub(super) state: State,
    seq: i64,
    /// What the engine was asked and has not answered.
    asks: Vec<(Ticket, String, Value)>,
    /// What each client got, as short lines.
    told: Vec<String>,
    /// Timers that run.
    pub(super) timers: Vec<Timer>,
}

impl Table {
    /// An editor that launched, an agent that joined; `several` says what kind of engine it is.
    fn laid(several: bool) -> Self {
        Self::laid_for("launch", several, json!({}))
    }

    /// The same after this request with these attributes.
    pub(super) fn laid_for(command: &str, several: bool, attributes: Value) -> Self {
        let mut table = Self {
            state: State::new("fox1"),
            seq: 0,
            asks: Vec::new(),
            told: Vec::new(),
            timers: Vec::new(),
        };
        table.feed(Event::ClientJoined { client: EDITOR, origin: Origin::First });
        table.ask(EDITOR, "initialize", json!({ "clientID": "vscode", "supportsInvalidatedEvent": true }));
        table.ask(EDITOR, command, attributes);
        table.feed(Event::EngineStarted(Ok(StartedEngine {
            name: "scripted".into(),
            several_per_line: several,
        })));
        table.say("initialized", Value::Null);
        table.ask(EDITOR, "configurationDone", Value::Null);
        table.say("process", json!({}));
        table.feed(Event::ClientJoined { client: AGENT, origin: Origin::Socket });
        table.ask(AGENT, "initialize", json!({ "clientID": "tandem-mcp" }));
        table.ask(AGENT, "attach", json!({}));
        table.ask(AGENT, "configurationDone", Value::Null);
        table.answer(command, Ok(Value::Null));
        table.answer("configurationDone", Ok(Value::Null));
        table.told.clear();
        table.timers.clear();
        table
    }

    pub(super) fn ask(&mut self, client: ClientId, command: &str, arguments: Value) {
        self.seq += 1;
        let request = Request { seq: self.seq, command: command.into(), arguments };
        self.feed(Event::ClientSaid { client, message: Message::Request(request) });
    }

    pub(super) fn set(&mut self, client: ClientId, wishes: Value) {
        self.ask(client, "setBreakpoints", json!({ "source": { "path": "/x.c" }, "breakpoints": wishes }));
    }

    pub(super) fn say(&mut self, event: &str, body: Value) {
        self.feed(Event::EngineSaid(EngineEvent::Dap { event: event.into(), body }));
    }

    fn say_all(&mut self, capabilities: Value) {
        self.feed(Event::EngineSaid(EngineEvent::Capabilities(capabilities)));
    }

    /// The engine answers the oldest question of this name.
    pub(super) fn answer(&mut self, command: &str, result: Result<Value, Failure>) {
        let at = self.asks.iter().position(|(_, asked, _)| asked == command);
        let at = at.unwrap_or_else(|| panic!("the engine was not asked `{command}` but {:?}", self.asks));
        let (ticket, ..) = self.asks.remove(at);
        self.feed(Event::EngineAnswered { ticket, result });
    }

    /// The engine takes a list and gives these ids.
    pub(super) fn take(&mut self, ids: &[i64]) -> Value {
        let list =
            self.asks.iter().find(|(_, asked, _)| asked == "setBreakpoints").map(|(_, _, list)| list.clone());
        let list = list.expect("no list")["breakpoints"].clone();
        let told: Vec<Value> = ids
            .iter()
            .zip(list.as_array().into_iter().flatten())
            .map(|(id, wish)| json!({ "id": id, "verified": true, "line": wish["line"] }))
            .collect();
        self.answer("setBreakpoints", Ok(json!({ "breakpoints": told })));
        list
    }

    pub(super) fn asked(&self) -> Vec<&str> {
        self.asks.iter().map(|(_, command, _)| command.as_str()).collect()
    }

    /// What the engine was asked last of this name, and has not answered.
    pub(super) fn asked_for(&self, command: &str) -> Value {
        let asked = self.asks.iter().rev().find(|(_, asked, _)| asked == command);
        asked.map(|(_, _, arguments)| arguments.clone()).unwrap_or_default()
    }

    pub(super) fn feed(&mut self, event: Event) {
        for effect in self.state.handle(event) {
            match effect {
                Effect::Send { client, message } => {
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
                            other => other.to_owned(),
                        },
                        Message::Request(request) => request.command,
                    };
                    self.told.push(format!("{who}: {}", what.replace('"', "")));
                }
                Effect::AskEngine { ticket, command, arguments, .. } => {
                    self.asks.push((ticket, command, arguments))
                }
                Effect::StartTimer { timer, .. } => self.timers.push(timer),
                _ => {}
            }
        }
    }

    /// What was told since the last look.
    pub(super) fn look(&mut self) -> Vec<String> {
        std::mem::take(&mut self.told)
    }

    /// An engine that keeps one per line holds line 5 for both: the editor when `a`, the agent when `b`. Gives our ids.
    fn torn() -> (Self, [i64; 2]) {
        let mut table = Self::laid(false);
        table.set(EDITOR, json!([{ "line": 5, "condition": "a" }]));
        table.take(&[1]);
        table.set(AGENT, json!([{ "line": 5, "condition": "b" }]));
        assert_eq!(table.take(&[2]), json!([{ "line": 5 }]));
        table.look();
        let id = |client| table.state.ledger.owned_by(client)[0]["id"].as_i64().unwrap_or_default();
        let ids = [id(EDITOR), id(AGENT)];
        (table, ids)
    }

    /// The program comes by line 5.
    fn come_by(&mut self) {
        self.say("stopped", json!({ "reason": "breakpoint", "threadId": 1, "hitBreakpointIds": [2] }));
        self.answer(
            "stackTrace",
            Ok(json!({ "stackFrames": [{ "id": 70, "line": 5, "source": { "path": "/x.c" } }] })),
        );
    }

    fn holds(&mut self, value: &str) {
        self.answer("evaluate", Ok(json!({ "result": value, "variablesReference": 0 })));
    }
}

#[test]
fn one_list_is_under_way_and_the_latest_wins() {
    let mut table = Table::laid(true);
    table.set(EDITOR, json!([{ "line": 1 }]));
    table.set(AGENT, json!([{ "line": 2 }]));
    table.set(EDITOR, json!([{ "line": 3 }]));
    assert_eq!(table.asked(), ["setBreakpoints"]);
    assert_eq!(table.take(&[1]), json!([{ "line": 1 }]));
    assert_eq!(table.look()[0], "editor: ok setBreakpoints");
    assert_eq!(table.take(&[2, 3]), json!([{ "line": 2 }, { "line": 3 }]));
    assert_eq!(table.look()[..2], ["agent: ok setBreakpoints", "editor: ok setBreakpoints"]);
    assert_eq!(table.asked(), [""; 0]);
}

#[test]
fn others_see_a_breakpoint_once_the_engine_has_placed_it() {
    let mut table = Table::laid(true);
    table.set(EDITOR, json!([{ "line": 1 }]));
    table.take(&[1]);
    table.look();
    table.set(AGENT, json!([{ "line": 5 }]));
    // What makes the hub look at everybody's view meanwhile.
    table.say(
        "breakpoint",
        json!({ "reason": "changed", "breakpoint": { "id": 1, "verified": true, "line": 2 } }),
    );
    let shown = |told: Vec<String>| told.iter().any(|told| told == "editor: new 5");
    assert!(!shown(table.look()));
    table.take(&[1, 6]);
    assert!(shown(table.look()));
}

#[test]
fn who_set_a_list_that_the_engine_refuses_is_told_and_the_next_list_has_it_again() {
    let mut table = Table::laid(true);
    table.set(EDITOR, json!([{ "line": 1 }]));
    table.answer("setBreakpoints", Err(Failure::cancelled()));
    assert_eq!(table.look()[0], "editor: no setBreakpoints: CANCELLED");
    table.set(AGENT, json!([{ "line": 2 }]));
    assert_eq!(table.take(&[1, 2]), json!([{ "line": 1 }, { "line": 2 }]));
}

#[test]
fn a_stop_nobody_wants_is_never_seen() {
    let (mut table, _) = Table::torn();
    table.come_by();
    table.holds("false");
    table.holds("0");
    table.answer("continue", Ok(Value::Null));
    table.say("continued", json!({ "threadId": 1 }));
    assert_eq!(table.look(), [""; 0]);
}

#[test]
fn a_stop_somebody_wants_names_who_wants_it() {
    let (mut table, [_, agents]) = Table::torn();
    table.come_by();
    table.holds("false");
    table.holds("true");
    let stopped = format!("stopped breakpoint [{agents}]");
    assert_eq!(table.look(), [format!("editor: {stopped}"), format!("agent: {stopped}")]);
    assert_eq!(table.asked(), [""; 0]);
}

#[test]
fn an_engine_that_does_not_name_what_was_hit_is_asked_where_it_stands() {
    let (mut table, [editors, _]) = Table::torn();
    table.say("stopped", json!({ "reason": "breakpoint", "threadId": 1 }));
    table.answer(
        "stackTrace",
        Ok(json!({ "stackFrames": [{ "id": 70, "line": 5, "source": { "path": "/x.c" } }] })),
    );
    table.holds("true");
    table.holds("false");
    assert_eq!(table.look()[0], format!("editor: stopped breakpoint [{editors}]"));
    // Elsewhere it is somebody else's affair.
    table.ask(EDITOR, "continue", json!({ "threadId": 1 }));
    table.answer("continue", Ok(Value::Null));
    table.look();
    table.say("stopped", json!({ "reason": "breakpoint", "threadId": 1 }));
    table.answer(
        "stackTrace",
        Ok(json!({ "stackFrames": [{ "id": 71, "line": 9, "source": { "path": "/x.c" } }] })),
    );
    assert_eq!(table.look()[0], "editor: stopped breakpoint null");
}

#[test]
fn a_condition_that_cannot_be_evaluated_stops_and_says_so() {
    let (mut table, [editors, _]) = Table::torn();
    table.come_by();
    table.answer("evaluate", Err(Failure::cancelled()));
    table.holds("false");
    let told = table.look();
    assert!(told[0].starts_with("editor: output The condition `a` cannot be evaluated"), "{told:?}");
    assert_eq!(told[2], format!("editor: stopped breakpoint [{editors}]"));
}

#[test]
fn a_step_that_comes_by_a_breakpoint_nobody_wants_ends_there_as_a_step() {
    let (mut table, _) = Table::torn();
    table.say("stopped", json!({ "reason": "entry", "threadId": 1 }));
    table.ask(EDITOR, "next", json!({ "threadId": 1 }));
    table.look();
    // The stop overtakes the answer.
    table.come_by();
    table.holds("false");
    table.holds("false");
    assert_eq!(
        table.look(),
        [
            "editor: ok next",
            "agent: continued",
            // VS Code would show the other threads as paused.
            "editor: continued",
            "editor: stopped step null",
            "agent: stopped step null"
        ]
    );
    assert_eq!(table.asked(), ["next"]);
}

#[test]
fn a_pause_while_a_stop_is_judged_is_that_stop() {
    let (mut table, _) = Table::torn();
    table.come_by();
    table.ask(AGENT, "pause", json!({ "threadId": 1 }));
    table.holds("false");
    table.holds("false");
    assert_eq!(table.look(), ["agent: ok pause", "editor: stopped pause null", "agent: stopped pause null"]);
    assert_eq!(table.asked(), [""; 0]);
}

#[test]
fn a_program_that_ends_while_a_stop_is_judged_has_ended() {
    let (mut table, _) = Table::torn();
    table.come_by();
    table.say("exited", json!({ "exitCode": 0 }));
    table.say("terminated", Value::Null);
    table.holds("true");
    let told = table.look();
    assert!(told.iter().all(|line| !line.contains("stopped")), "{told:?}");
    assert_eq!(table.asked(), [""; 0]);
}

#[test]
fn an_engine_that_will_not_go_on_after_a_stop_nobody_wants_shows_it() {
    let (mut table, _) = Table::torn();
    table.come_by();
    table.holds("false");
    table.holds("false");
    table.answer("continue", Err(Failure::cancelled()));
    assert_eq!(table.look()[0], "editor: stopped breakpoint []");
}

#[test]
fn an_engine_that_says_so_after_the_next_stop_shows_nothing() {
    let (mut table, _) = Table::torn();
    table.come_by();
    table.holds("false");
    table.holds("false");
    table.say("stopped", json!({ "reason": "step", "threadId": 1 }));
    table.ask(EDITOR, "stepOut", json!({ "threadId": 1 }));
    table.answer("stepOut", Ok(Value::Null));
    table.look();
    table.answer("continue", Err(Failure::cancelled()));
    assert_eq!(table.look(), [""; 0]);
}

#[test]
fn log_messages_of_both_are_written_and_nobody_stops() {
    let mut table = Table::laid(false);
    table.set(EDITOR, json!([{ "line": 5, "logMessage": "x is {x}, y is {y}" }]));
    table.take(&[1]);
    table.set(AGENT, json!([{ "line": 5, "logMessage": "here", "hitCondition": "2" }]));
    table.take(&[2]);
    table.look();
    for round in 0..2 {
        table.come_by();
        table.holds("1");
        table.holds("2");
        let told = table.look();
        assert!(told[0].starts_with("editor: output x is 1, y is 2"), "{told:?}");
        assert_eq!(
            told.get(2).is_some_and(|line| line.starts_with("editor: output here")),
            round == 1,
            "{told:?}"
        );
        table.answer("continue", Ok(Value::Null));
    }
}

#[test]
fn a_dot_removed_before_its_owner_was_answered_is_told_after_the_answer() {
    let mut table = Table::laid(true);
    table.set(AGENT, json!([{ "line": 5 }]));
    table.take(&[1]);
    assert_eq!(table.look(), ["agent: ok setBreakpoints", "editor: new 5", "editor: invalidated"]);
    table.set(AGENT, json!([{ "line": 5 }, { "line": 6 }]));
    // The editor's user clicks the dot on line 5 away.
    table.set(EDITOR, json!([]));
    table.take(&[1, 2]);
    assert_eq!(table.look()[..2], ["agent: ok setBreakpoints", "agent: removed null"]);
    assert_eq!(table.take(&[2]), json!([{ "line": 6 }]));
}

#[test]
fn an_answer_that_belongs_to_an_earlier_stop_is_refused_even_when_the_program_stands_again() {
    let mut table = Table::laid(true);
    table.say("stopped", json!({ "reason": "entry", "threadId": 1 }));
    table.ask(AGENT, "stackTrace", json!({ "threadId": 1 }));
    table.ask(EDITOR, "next", json!({ "threadId": 1 }));
    table.answer("next", Ok(Value::Null));
    table.say("stopped", json!({ "reason": "step", "threadId": 1 }));
    table.look();
    table.answer("stackTrace", Ok(json!({ "stackFrames": [{ "id": 1 }] })));
    assert_eq!(table.look(), ["agent: no stackTrace: NOT_STOPPED"]);
}

#[test]
fn what_a_client_types_in_the_console_or_writes_to_memory_is_news_for_the_others() {
    let mut table = Table::laid(true);
    table.say("stopped", json!({ "reason": "entry", "threadId": 1 }));
    table.look();
    table.ask(AGENT, "evaluate", json!({ "expression": "x = 1", "context": "repl" }));
    table.answer("evaluate", Ok(json!({ "result": "1", "variablesReference": 0 })));
    assert_eq!(table.look(), ["agent: ok evaluate", "editor: invalidated"]);
    table.ask(AGENT, "evaluate", json!({ "expression": "x", "context": "watch" }));
    table.answer("evaluate", Ok(json!({ "result": "1", "variablesReference": 0 })));
    // An agent calls all that it asks for a watch; only hovering changes nothing for sure.
    assert_eq!(table.look(), ["agent: ok evaluate", "editor: invalidated"]);
    for (who, context) in [(AGENT, "hover"), (EDITOR, "watch")] {
        table.ask(who, "evaluate", json!({ "expression": "x", "context": context }));
        table.answer("evaluate", Ok(json!({ "result": "1", "variablesReference": 0 })));
        assert_eq!(table.look().len(), 1, "{context}");
    }
}

#[test]
fn a_data_id_means_nothing_at_the_next_stop_unless_the_engine_holds_it() {
    let mut table = Table::laid(false);
    table.say_all(json!({ "supportsDataBreakpoints": true }));
    table.say("stopped", json!({ "reason": "entry", "threadId": 1 }));
    for id in ["held", "stale"] {
        table.ask(EDITOR, "dataBreakpointInfo", json!({ "name": id }));
        table.answer("dataBreakpointInfo", Ok(json!({ "dataId": id, "description": id })));
    }
    table.ask(EDITOR, "setDataBreakpoints", json!({ "breakpoints": [{ "dataId": "held" }] }));
    table.answer("setDataBreakpoints", Ok(json!({ "breakpoints": [{ "id": 1, "verified": true }] })));
    table.ask(EDITOR, "continue", json!({ "threadId": 1 }));
    table.answer("continue", Ok(Value::Null));
    let both = json!([{ "dataId": "stale" }, { "dataId": "held" }, { "dataId": "of an earlier session" }]);
    table.ask(EDITOR, "setDataBreakpoints", json!({ "breakpoints": both }));
    let (_, _, list) = table.asks.last().expect("no list");
    assert_eq!(list["breakpoints"], json!([{ "dataId": "held" }, { "dataId": "of an earlier session" }]));
}
