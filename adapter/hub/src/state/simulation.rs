//! Simulates the hub: any bytes become a run of clients, an engine and faults, and every rule is checked
//! after each step. Property tests and the fuzz target (`fuzz/`) both call it; a run that breaks a rule
//! panics.
//!
//! Rules: a request is answered once; no client is notified before it is ready, after it left or after its
//! end; stops and resumes alternate; a client knows the ids in its notifications; once nothing is in
//! progress, the engine holds the union, every client sees every breakpoint, and the program is stopped
//! exactly when clients think so.
//!
//! [`clients`] and [`engine`] act, [`view`] is what a client can know, [`rules`] what is checked.

mod clients;
mod engine;
mod rules;
mod view;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use tandem_wire::Failure;

use super::State;
use crate::event::{ClientId, ClientOrigin, HubEffect, HubEvent, IoAnswer, Ticket, Timer};
use tandem_engine::EngineEvent;
use view::View;

const FIRST: ClientId = ClientId(1);
const RESUMES: [&str; 3] = ["continue", "next", "stepOut"];
const FILES: [&str; 2] = ["/a.cs", "/b.cs"];

/// Runs a simulation whose actions come from these bytes.
///
/// # Panics
/// When a rule is broken.
pub fn simulate(bytes: &[u8]) {
    let mut bytes = bytes.iter().copied();
    let mut simulation = Simulation::new(bytes.next().unwrap_or(0));
    while let Some(line) = bytes.next() {
        let (who, what) = (bytes.next().unwrap_or(0), bytes.next().unwrap_or(0));
        simulation.step(line, who, what);
        if simulation.ended {
            return;
        }
    }
    simulation.deliver_all();
}

struct Simulation {
    state: State,
    /// The engine keeps several breakpoints on one line.
    several: bool,
    clients: BTreeMap<ClientId, View>,
    next_client: u64,
    seq: i64,
    unanswered: BTreeMap<(ClientId, i64), String>,
    /// Requests to the engine, and whether it would refuse to resume for each.
    requests: Vec<(Ticket, String, Value, bool)>,
    timers: Vec<Timer>,
    made: bool,
    /// The engine got `configurationDone`: its program may stop.
    configured: bool,
    dead: bool,
    /// The program is stopped, as the engine knows it.
    stopped: bool,
    over: bool,
    /// The engine's lists: command and file to requests and ids.
    held: BTreeMap<(String, String), Vec<(Value, i64)>>,
    /// Files whose last list it would not take: what it holds is not known.
    refused: BTreeSet<String>,
    last_id: i64,
    location: (usize, i64),
    /// Breakpoints moved, perhaps onto each other.
    uncertain: bool,
    ended: bool,
    /// All messages with their senders, printed when a rule is broken.
    trace: Vec<String>,
}

impl Drop for Simulation {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("TRACE:\n{}", self.trace.join("\n"));
        }
    }
}

impl Simulation {
    fn new(kind: u8) -> Self {
        let mut simulation = Self {
            state: State::new("fox1"),
            several: kind.is_multiple_of(2),
            clients: BTreeMap::new(),
            next_client: 0,
            seq: 0,
            unanswered: BTreeMap::new(),
            requests: Vec::new(),
            timers: Vec::new(),
            made: false,
            configured: false,
            dead: false,
            stopped: false,
            over: false,
            held: BTreeMap::new(),
            refused: BTreeSet::new(),
            last_id: 0,
            location: (0, 1),
            uncertain: false,
            ended: false,
            trace: Vec::new(),
        };
        simulation.join(ClientOrigin::First);
        if kind & 2 != 0 {
            simulation.join_session(FIRST, "launch", kind);
        }
        simulation
    }

    fn step(&mut self, line: u8, who: u8, what: u8) {
        let count = u64::try_from(self.clients.len()).unwrap_or(1);
        let client = ClientId(u64::from(who) % count + 1);
        let at = usize::from(what);
        match line % 24 {
            0 if self.next_client < 6 => {
                let joined = self.join(ClientOrigin::Socket);
                if what & 1 == 0 {
                    self.join_session(joined, "attach", what >> 1);
                }
            }
            1 => self.initialize(client, what),
            2 => self.request(client, if client == FIRST { "launch" } else { "attach" }, json!({})),
            3 => self.request(client, "configurationDone", Value::Null),
            4..=6 => self.edit(client, what),
            7 => self.remove_mirror(client, at),
            8 => self.request(
                client,
                ["continue", "next", "pause", "stepOut"][at % 4],
                json!({ "threadId": 1 }),
            ),
            9 => self.request(
                client,
                ["stackTrace", "threads", "sessionInfo", "evaluate"][at % 4],
                json!({ "threadId": 1, "expression": "x" }),
            ),
            10 => self.set_others(client, what),
            11 if what.is_multiple_of(4) => self.request(
                client,
                "disconnect",
                json!({ "handOver": what & 16 != 0, "keepBreakpoints": what & 32 != 0 }),
            ),
            12 if what.is_multiple_of(4) => self.leave(client),
            13 => self.emit("initialized", Value::Null),
            14 | 15 => self.stop(what),
            16 if what == 0 => {
                self.over = true;
                self.emit("exited", json!({ "exitCode": 1 }));
                self.emit("terminated", Value::Null);
            }
            16 if what == 1 && self.made => {
                self.dead = true;
                self.feed(HubEvent::EngineEvent(EngineEvent::Died(Failure::cancelled())));
            }
            16 => self.rebind(at),
            17 if what.is_multiple_of(8) && !self.timers.is_empty() => {
                let timer = self.timers.remove(at % self.timers.len());
                self.feed(HubEvent::TimerFired(timer));
            }
            17 if what % 3 == 1 => self.request(client, "terminate", Value::Null),
            17 if what.is_multiple_of(3) => self.request(client, "restart", Value::Null),
            18 => self.request(client, "cancel", json!({ "requestId": self.seq - i64::from(what % 4) })),
            _ => self.reply(at, who),
        }
        self.check_always();
    }

    fn feed(&mut self, event: HubEvent) {
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            for effect in self.state.handle(event) {
                match effect {
                    HubEffect::Send { client, message } => self.receive(client, &message),
                    HubEffect::RequestEngine { ticket, request, .. } => {
                        let (command, arguments) =
                            (request.command().to_owned(), request.arguments().clone());
                        self.trace.push(format!("hub → engine {command} {arguments}"));
                        self.check_list(&command, &arguments);
                        self.configured |= command == "configurationDone";
                        // An engine resumes when a client requests it, and says so later.
                        if RESUMES.contains(&command.as_str()) && !self.refuses_to_resume() {
                            self.stopped = false;
                        }
                        self.requests.push((ticket, command, arguments, self.refuses_to_resume()));
                    }
                    HubEffect::Io { ticket, .. } => {
                        events.push(HubEvent::IoReplied { ticket, result: Ok(IoAnswer::Resized) })
                    }
                    HubEffect::StartEngine { .. } => {
                        (self.made, self.dead, self.over, self.stopped) = (true, false, false, false);
                        self.configured = false;
                        // Requests to the previous engine no longer count.
                        self.requests.clear();
                        self.held.clear();
                        self.refused.clear();
                        let started = crate::scripted_engine::scripted_engine(self.several);
                        events.push(HubEvent::EngineStarted(Ok(started)));
                    }
                    HubEffect::StartTimer { timer, .. } => self.timers.push(timer),
                    HubEffect::Close { client } => {
                        if let Some(view) = self.clients.get_mut(&client) {
                            view.here = false;
                        }
                        let unanswered: Vec<_> =
                            self.unanswered.iter().filter(|((owner, _), _)| *owner == client).collect();
                        assert!(
                            unanswered.is_empty(),
                            "{client} is disconnected without its answers: {unanswered:?}"
                        );
                    }
                    HubEffect::End => self.ended = true,
                    _ => {}
                }
            }
        }
    }
}
