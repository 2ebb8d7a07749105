//! The hub rehearsed: any bytes at all are a play of clients, an engine and accidents, and every rule is checked after
//! every line of it. Property tests and the fuzz target (`fuzz/`) both come in here; a play that breaks a rule panics.
//!
//! Rules: a request is answered once; nobody is told anything before it is ready, after it left or after its end; stops
//! and resumes alternate; a client knows the ids it is told of; once nothing is under way, the engine holds the union,
//! every rider sees every breakpoint, and the program stands exactly when clients think so.

//!
//! [`clients`] and [`engine`] are the players, [`view`] is what a client can know, [`rules`] what is checked.

mod clients;
mod engine;
mod rules;
mod view;

use std::collections::{BTreeMap, BTreeSet};

use dap_wire::Failure;
use serde_json::{Value, json};

use super::State;
use crate::engine::EngineEvent;
use crate::hub::event::{ClientId, Effect, Event, Origin, StartedEngine, Ticket, Timer};
use view::View;

const FIRST: ClientId = ClientId(1);
const RESUMES: [&str; 3] = ["continue", "next", "stepOut"];
const FILES: [&str; 2] = ["/a.cs", "/b.cs"];

/// Plays these bytes.
///
/// # Panics
/// When a rule is broken.
pub fn rehearse(bytes: &[u8]) {
    let mut bytes = bytes.iter().copied();
    let mut stage = Stage::new(bytes.next().unwrap_or(0));
    while let Some(line) = bytes.next() {
        let (who, what) = (bytes.next().unwrap_or(0), bytes.next().unwrap_or(0));
        stage.play(line, who, what);
        if stage.ended {
            return;
        }
    }
    stage.last_act();
}

struct Stage {
    state: State,
    /// The engine keeps several breakpoints on one line.
    several: bool,
    clients: BTreeMap<ClientId, View>,
    next_client: u64,
    seq: i64,
    owed: BTreeMap<(ClientId, i64), String>,
    /// What it is asked, and whether it would not resume then.
    asks: Vec<(Ticket, String, Value, bool)>,
    timers: Vec<Timer>,
    made: bool,
    /// The engine was told `configurationDone`: its program may stop.
    configured: bool,
    dead: bool,
    /// The program stands, as the engine knows it.
    stands: bool,
    over: bool,
    /// The engine's lists: command and file to wishes and ids.
    held: BTreeMap<(String, String), Vec<(Value, i64)>>,
    /// Files whose last list it would not take: what it holds is not known.
    refused: BTreeSet<String>,
    last_id: i64,
    place: (usize, i64),
    /// Breakpoints moved, perhaps onto each other.
    blurred: bool,
    ended: bool,
    /// Who said what, to read when a rule is broken.
    prompt_book: Vec<String>,
}

impl Drop for Stage {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("THE PLAY:\n{}", self.prompt_book.join("\n"));
        }
    }
}

impl Stage {
    fn new(kind: u8) -> Self {
        let mut stage = Self {
            state: State::new("fox1"),
            several: kind.is_multiple_of(2),
            clients: BTreeMap::new(),
            next_client: 0,
            seq: 0,
            owed: BTreeMap::new(),
            asks: Vec::new(),
            timers: Vec::new(),
            made: false,
            configured: false,
            dead: false,
            stands: false,
            over: false,
            held: BTreeMap::new(),
            refused: BTreeSet::new(),
            last_id: 0,
            place: (0, 1),
            blurred: false,
            ended: false,
            prompt_book: Vec::new(),
        };
        stage.join(Origin::First);
        if kind & 2 != 0 {
            stage.shake_hands(FIRST, "launch", kind);
        }
        stage
    }

    fn play(&mut self, line: u8, who: u8, what: u8) {
        let count = u64::try_from(self.clients.len()).unwrap_or(1);
        let client = ClientId(u64::from(who) % count + 1);
        let at = usize::from(what);
        match line % 24 {
            0 if self.next_client < 6 => {
                let joined = self.join(Origin::Socket);
                if what & 1 == 0 {
                    self.shake_hands(joined, "attach", what >> 1);
                }
            }
            1 => self.introduce(client, what),
            2 => self.ask(client, if client == FIRST { "launch" } else { "attach" }, json!({})),
            3 => self.ask(client, "configurationDone", Value::Null),
            4..=6 => self.edit(client, what),
            7 => self.remove_dot(client, at),
            8 => self.ask(client, ["continue", "next", "pause", "stepOut"][at % 4], json!({ "threadId": 1 })),
            9 => self.ask(
                client,
                ["stackTrace", "threads", "sessionInfo", "evaluate"][at % 4],
                json!({ "threadId": 1, "expression": "x" }),
            ),
            10 => self.set_others(client, what),
            11 if what.is_multiple_of(4) => self.ask(
                client,
                "disconnect",
                json!({ "handOver": what & 16 != 0, "keepBreakpoints": what & 32 != 0 }),
            ),
            12 if what.is_multiple_of(4) => self.leave(client),
            13 => self.say("initialized", Value::Null),
            14 | 15 => self.stop(what),
            16 if what == 0 => {
                self.over = true;
                self.say("exited", json!({ "exitCode": 1 }));
                self.say("terminated", Value::Null);
            }
            16 if what == 1 && self.made => {
                self.dead = true;
                self.feed(Event::EngineSaid(EngineEvent::Died(Failure::cancelled())));
            }
            16 => self.rebind(at),
            17 if what.is_multiple_of(8) && !self.timers.is_empty() => {
                let timer = self.timers.remove(at % self.timers.len());
                self.feed(Event::TimerFired(timer));
            }
            17 if what % 3 == 1 => self.ask(client, "terminate", Value::Null),
            17 if what.is_multiple_of(3) => self.ask(client, "restart", Value::Null),
            18 => self.ask(client, "cancel", json!({ "requestId": self.seq - i64::from(what % 4) })),
            _ => self.answer(at, who),
        }
        self.check_always();
    }

    fn feed(&mut self, event: Event) {
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            for effect in self.state.handle(event) {
                match effect {
                    Effect::Send { client, message } => self.sent(client, &message),
                    Effect::AskEngine { ticket, command, arguments, .. } => {
                        self.prompt_book.push(format!("hub → engine {command} {arguments}"));
                        self.check_list(&command, &arguments);
                        self.configured |= command == "configurationDone";
                        // An engine resumes when it is asked, and says so later.
                        if RESUMES.contains(&command.as_str()) && !self.balks() {
                            self.stands = false;
                        }
                        self.asks.push((ticket, command, arguments, self.balks()));
                    }
                    Effect::Io { ticket, .. } => {
                        events.push(Event::IoAnswered { ticket, result: Ok(json!({})) })
                    }
                    Effect::StartEngine { .. } => {
                        (self.made, self.dead, self.over, self.stands) = (true, false, false, false);
                        self.configured = false;
                        // What the engine before it was asked is nobody's business any more.
                        self.asks.clear();
                        self.held.clear();
                        self.refused.clear();
                        let started =
                            StartedEngine { name: "scripted".into(), several_per_line: self.several };
                        events.push(Event::EngineStarted(Ok(started)));
                    }
                    Effect::StartTimer { timer, .. } => self.timers.push(timer),
                    Effect::Close { client } => {
                        if let Some(view) = self.clients.get_mut(&client) {
                            view.here = false;
                        }
                        let owed: Vec<_> =
                            self.owed.iter().filter(|((owner, _), _)| *owner == client).collect();
                        assert!(owed.is_empty(), "{client} is let go without its answers: {owed:?}");
                    }
                    Effect::End => self.ended = true,
                    _ => {}
                }
            }
        }
    }
}
