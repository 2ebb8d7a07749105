//! The hub rehearsed: any bytes at all are a play of clients, an engine and accidents, and every rule is checked after
//! every line of it. Property tests and the fuzz target (`fuzz/`) both come in here; a play that breaks a rule panics.
//!
//! Rules: a request is answered once; nobody is told anything before it is ready, after it left or after its end; stops
//! and resumes alternate; a client knows the ids it is told of; once nothing is under way, the engine holds the union,
//! every rider sees every breakpoint, and the program stands exactly when clients think so.

use std::collections::{BTreeMap, BTreeSet};

use dap_wire::{ErrorCode, Failure, Message, Request};
use serde_json::{Value, json};

use super::{Phase, State};
use crate::engine::EngineEvent;
use crate::hub::breakpoints::Place;
use crate::hub::event::{ClientId, Effect, Event, Origin, StartedEngine, Ticket, Timer};

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

/// What one client can know.
#[derive(Default)]
struct View {
    here: bool,
    /// Breakpoints moved onto each other, or it lost one of its own: who sees what is not checked.
    blurred: bool,
    introduced: bool,
    ready: bool,
    stopped: bool,
    exited: bool,
    terminated: bool,
    /// Sends back what it is shown.
    reflects: bool,
    /// What its user wants, by file.
    own: BTreeMap<usize, Vec<Value>>,
    /// It sends the line it was shown first, as VS Code does, or the latest, as nvim-dap does.
    latest: bool,
    /// Others' breakpoints it shows, by id.
    shown: BTreeMap<i64, Dot>,
    /// Ids it was ever told.
    known: BTreeSet<i64>,
    /// A list of its was refused: it wants things whose ids it was not told.
    refused: bool,
}

/// A breakpoint of somebody else in an editor's margin.
#[derive(Debug)]
struct Dot {
    path: String,
    /// Where it was at first.
    first: i64,
    /// Where it is.
    now: i64,
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

    fn join(&mut self, origin: Origin) -> ClientId {
        self.next_client += 1;
        let client = ClientId(self.next_client);
        self.clients.insert(client, View { here: true, blurred: self.blurred, ..View::default() });
        self.feed(Event::ClientJoined { client, origin });
        client
    }

    fn shake_hands(&mut self, client: ClientId, command: &str, what: u8) {
        self.introduce(client, what);
        self.ask(client, command, json!({}));
        self.say("initialized", Value::Null);
        self.ask(client, "configurationDone", Value::Null);
    }

    fn introduce(&mut self, client: ClientId, what: u8) {
        let names = ["vscode", "neovim", "tandem-mcp", "tandem-mcp"];
        let name = names[usize::from(what) % names.len()];
        if let Some(view) = self.clients.get_mut(&client)
            && !std::mem::replace(&mut view.introduced, true)
        {
            view.reflects = matches!(name, "vscode" | "neovim");
            view.latest = name == "neovim";
        }
        self.ask(
            client,
            "initialize",
            json!({ "clientID": name, "supportsInvalidatedEvent": what & 8 != 0 }),
        );
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
            18 => self.ask(client, "cancel", json!({ "requestId": self.seq - i64::from(what % 4) })),
            _ => self.answer(at, who),
        }
        self.check_always();
    }

    /// A user changes its own breakpoints in a file; an editor sends them with what it is shown.
    fn edit(&mut self, client: ClientId, what: u8) {
        let file = usize::from(what & 1);
        let line = i64::from(what >> 1 & 3) + 1;
        let wish = match what >> 3 & 7 {
            0 => json!({ "line": line, "condition": "c" }),
            1 => json!({ "line": line, "hitCondition": "2" }),
            2 => json!({ "line": line, "logMessage": "l {x}" }),
            3 => json!({ "line": line, "column": 2 }),
            _ => json!({ "line": line }),
        };
        let Some(view) = self.clients.get_mut(&client) else { return };
        let dot =
            view.shown.values().any(|dot| dot.path == FILES[file] && (dot.now == line || dot.first == line));
        if view.reflects && dot && what >> 3 & 7 > 2 {
            // There is a dot already; a click would remove it.
            return;
        }
        let list = view.own.entry(file).or_default();
        if what & 64 != 0 {
            list.retain(|wish| wish["line"] != line);
        } else if !list.contains(&wish) {
            list.push(wish);
            // The dot that was there is the user's own now.
            view.shown.retain(|_, dot| dot.path != FILES[file] || dot.now != line);
        }
        self.send_list(client, file, None);
    }

    fn remove_dot(&mut self, client: ClientId, at: usize) {
        let Some(view) = self.clients.get(&client) else { return };
        let dots: Vec<i64> = view.shown.keys().copied().collect();
        if view.reflects && !dots.is_empty() {
            let dot = dots[at % dots.len()];
            let file = FILES.iter().position(|file| view.shown[&dot].path == **file).unwrap_or(0);
            self.send_list(client, file, Some(dot));
        }
    }

    fn send_list(&mut self, client: ClientId, file: usize, without: Option<i64>) {
        let Some(view) = self.clients.get_mut(&client) else { return };
        without.iter().for_each(|dot| drop(view.shown.remove(dot)));
        let mut list = view.own.get(&file).cloned().unwrap_or_default();
        if view.reflects {
            let dots = view.shown.values().filter(|dot| dot.path == FILES[file]);
            let line = |dot: &Dot| if view.latest { dot.now } else { dot.first };
            list.extend(dots.map(|dot| json!({ "line": line(dot) })));
        }
        self.ask(client, "setBreakpoints", json!({ "source": { "path": FILES[file] }, "breakpoints": list }));
    }

    fn set_others(&mut self, client: ClientId, what: u8) {
        let names =
            [json!({ "name": "f" }), json!({ "name": "f", "condition": "c" }), json!({ "name": "g" })];
        let some: Vec<Value> = names
            .iter()
            .enumerate()
            .filter(|(at, _)| what >> at & 1 == 1)
            .map(|(_, wish)| wish.clone())
            .collect();
        if what & 8 == 0 {
            self.ask(client, "setFunctionBreakpoints", json!({ "breakpoints": some }));
        } else {
            let filters: Vec<&str> = if what & 1 == 1 { vec!["all"] } else { vec![] };
            self.ask(client, "setExceptionBreakpoints", json!({ "filters": filters }));
        }
    }

    fn leave(&mut self, client: ClientId) {
        let Some(view) = self.clients.get_mut(&client) else { return };
        if std::mem::replace(&mut view.here, false) {
            self.owed.retain(|(owner, _), _| *owner != client);
            self.feed(Event::ClientLeft { client });
        }
    }

    fn ask(&mut self, client: ClientId, command: &str, arguments: Value) {
        if !self.clients.get(&client).is_some_and(|view| view.here) || self.ended {
            return;
        }
        self.seq += 1;
        let seq = self.seq;
        self.owed.insert((client, seq), command.into());
        self.prompt_book.push(format!("{client} → {seq} {command} {arguments}"));
        let message = Message::Request(Request { seq, command: command.into(), arguments });
        self.feed(Event::ClientSaid { client, message });
    }

    fn say(&mut self, event: &str, body: Value) {
        if self.made && !self.dead {
            self.prompt_book.push(format!("engine: {event} {body}"));
            self.feed(Event::EngineSaid(EngineEvent::Dap { event: event.into(), body }));
        }
    }

    /// A thread comes by a breakpoint the engine holds, or stops for another reason.
    fn stop(&mut self, what: u8) {
        if self.over || self.dead || !self.state.configured {
            return;
        }
        let file = usize::from(what & 1);
        let here = (String::from("setBreakpoints"), String::from(FILES[file]));
        let held = self.held.get(&here).cloned().unwrap_or_default();
        self.stands = true;
        match held.get(usize::from(what >> 2) % held.len().max(1)) {
            Some((wish, id)) => {
                self.place = (file, wish["line"].as_i64().unwrap_or(1));
                let mut body = json!({ "reason": "breakpoint", "threadId": 1 });
                if what & 2 == 0 {
                    body["hitBreakpointIds"] = json!([id]);
                }
                self.say("stopped", body);
            }
            None => self.say("stopped", json!({ "reason": "step", "threadId": 1 })),
        }
    }

    /// The engine finds a better line for one of its breakpoints.
    fn rebind(&mut self, at: usize) {
        let all: Vec<(Value, i64)> = self.held.values().flatten().cloned().collect();
        if !all.is_empty() {
            let (wish, id) = &all[at % all.len()];
            // Two dots that end up on one line are one to an editor's user: who sees what is not checked then.
            let moves = at.is_multiple_of(7);
            if moves {
                self.blurred = true;
                self.clients.values_mut().for_each(|view| view.blurred = true);
            }
            let line = wish["line"].as_i64().map(|line| line + i64::from(moves));
            let body =
                json!({ "reason": "changed", "breakpoint": { "id": id, "verified": true, "line": line } });
            self.say("breakpoint", body);
        }
    }

    fn answer(&mut self, at: usize, how: u8) {
        if self.asks.is_empty() {
            return;
        }
        let (ticket, command, arguments, balked) = self.asks.remove(at % self.asks.len());
        let result = if self.dead || balked && RESUMES.contains(&command.as_str()) {
            Err(Failure::cancelled())
        } else {
            self.engine(&command, &arguments, how)
        };
        self.feed(Event::EngineAnswered { ticket, result });
    }

    fn engine(&mut self, command: &str, arguments: &Value, how: u8) -> Result<Value, Failure> {
        let fails = how % 16 == 15;
        match command {
            command if command.starts_with("set") => {
                let path = arguments["source"]["path"].as_str().unwrap_or_default();
                if fails {
                    self.refused.insert(path.into());
                    return Err(Failure::cancelled());
                }
                self.refused.remove(path);
                let list: Vec<(Value, i64)> = arguments["breakpoints"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(|wish| {
                        self.last_id += 1;
                        (wish.clone(), self.last_id)
                    })
                    .collect();
                let told: Vec<Value> = list
                    .iter()
                    .map(|(wish, id)| json!({ "id": id, "verified": how & 1 == 0, "line": wish["line"] }))
                    .collect();
                self.held.insert((command.into(), path.into()), list);
                Ok(json!({ "breakpoints": told }))
            }
            "stackTrace" => {
                let frame = json!({ "id": 7, "name": "f", "line": self.place.1, "column": 1, "source": { "path": FILES[self.place.0] } });
                Ok(json!({ "stackFrames": [frame] }))
            }
            "evaluate" if fails => Err(Failure::new(ErrorCode::EvaluationFailed, "no")),
            "evaluate" => Ok(json!({ "result": (how & 1 == 0).to_string(), "variablesReference": 0 })),
            "pause" if !self.stands && !self.over => {
                self.stands = true;
                self.say("stopped", json!({ "reason": "pause", "threadId": 1 }));
                Ok(Value::Null)
            }
            "disconnect" => {
                self.over = true;
                Ok(Value::Null)
            }
            _ => Ok(Value::Null),
        }
    }

    /// Whether the engine would refuse to resume now: now and then it does.
    fn balks(&self) -> bool {
        self.seq % 5 == 4
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
                        self.owed.retain(|(owner, _), _| *owner != client);
                    }
                    Effect::End => self.ended = true,
                    _ => {}
                }
            }
        }
    }

    /// An engine that keeps one breakpoint per line is never asked for two.
    fn check_list(&self, command: &str, arguments: &Value) {
        if self.several || command != "setBreakpoints" {
            return;
        }
        let list = arguments["breakpoints"].as_array().cloned().unwrap_or_default();
        let spots: Vec<(Value, Value)> =
            list.iter().map(|wish| (wish["line"].clone(), wish["column"].clone())).collect();
        let distinct = spots.iter().enumerate().all(|(at, spot)| !spots[..at].contains(spot));
        assert!(distinct, "two on one spot: {list:?}");
    }

    fn sent(&mut self, client: ClientId, message: &Message) {
        self.prompt_book.push(format!("{client} ← {message:?}"));
        let view = self.clients.get_mut(&client).expect("a client that never came is told something");
        assert!(view.here, "{client} has left and is still told {message:?}");
        match message {
            Message::Response(response) => {
                let asked = self.owed.remove(&(client, response.request_seq));
                assert!(asked.is_some(), "{client} is answered twice or unasked: {response:?}");
                let body = &response.body;
                for breakpoint in body["breakpoints"].as_array().into_iter().flatten() {
                    view.known.extend(breakpoint["id"].as_i64());
                }
                match response.command.as_str() {
                    "setBreakpoints" if !response.success => view.refused = true,
                    "configurationDone" if response.success => view.ready = true,
                    "continue" | "next" | "stepOut" if response.success => view.stopped = false,
                    _ => {}
                }
            }
            Message::Event(event) => {
                let early = matches!(event.event.as_str(), "initialized" | "capabilities");
                assert!(early || view.ready, "{client} gets {} before it is ready", event.event);
                let late = matches!(
                    event.event.as_str(),
                    "output" | "sessionChanged" | "capabilities" | "invalidated"
                );
                assert!(late || !view.terminated, "{client} gets {} after its end", event.event);
                match event.event.as_str() {
                    "stopped" => view.stopped = true,
                    "continued" => {
                        assert!(view.stopped, "{client} is told that what runs goes on");
                        view.stopped = false;
                    }
                    "exited" => {
                        assert!(!std::mem::replace(&mut view.exited, true), "{client} is told an exit twice")
                    }
                    "terminated" => {
                        view.terminated = true;
                        assert!(
                            view.blurred || view.shown.is_empty(),
                            "{client} is left with {:?}",
                            view.shown
                        );
                    }
                    "breakpoint" => breakpoint_told(client, view, &event.body),
                    _ => {}
                }
            }
            Message::Request(request) => panic!("the hub asks a client: {request:?}"),
        }
    }

    fn check_always(&self) {
        for (client, view) in self.clients.iter().filter(|(_, view)| view.here && view.ready) {
            let stopped = matches!(self.state.phase, Phase::Stopped { .. });
            assert!(
                view.terminated || view.stopped == stopped,
                "{client} thinks stopped is {}",
                view.stopped
            );
        }
    }

    /// Everything that is under way arrives; then all must fit.
    fn last_act(&mut self) {
        for _ in 0..2_000 {
            if self.asks.is_empty() || self.ended {
                break;
            }
            self.answer(0, 0);
            self.check_always();
        }
        if self.ended {
            return;
        }
        assert!(self.asks.is_empty(), "the hub never stops asking: {:?}", self.asks);
        assert!(self.owed.is_empty(), "never answered: {:?}", self.owed);
        if self.state.engine_ready && self.state.is_live() && !self.state.ending && !self.dead {
            self.check_union();
            self.check_views();
            let stopped = matches!(self.state.phase, Phase::Stopped { .. });
            assert_eq!(stopped, self.stands, "the program stands or runs, and clients think otherwise");
        }
    }

    fn check_union(&self) {
        for file in FILES.into_iter().filter(|file| !self.refused.contains(*file)) {
            let held = self.held.get(&("setBreakpoints".into(), file.into()));
            let held: Vec<&Value> = held.into_iter().flatten().map(|(wish, _)| wish).collect();
            let wanted = self.state.ledger.wishes(&Place::of_path(file));
            if self.several {
                assert_eq!(held, wanted, "the engine does not hold the union of {file}");
            } else {
                let spot = |wish: &Value| (wish["line"].clone(), wish["column"].clone());
                let mut spots: Vec<_> = wanted.iter().map(|wish| spot(wish)).collect();
                spots.dedup();
                assert!(held.iter().all(|held| spots.contains(&spot(held))), "too much in {file}: {held:?}");
                assert!(
                    spots.iter().all(|spot_| held.iter().any(|held| spot(held) == *spot_)),
                    "too little in {file}"
                );
            }
        }
    }

    /// Every rider sees a breakpoint on each line where somebody has one.
    fn check_views(&self) {
        for (id, view) in self.clients.iter().filter(|(_, view)| view.here && view.ready && !view.blurred) {
            for (client, bodies) in
                self.clients.keys().map(|other| (other, self.state.ledger.owned_by(*other)))
            {
                for body in bodies.iter().filter(|body| body["source"].is_object() && client != id) {
                    let own = self.state.ledger.owned_by(*id);
                    let path = body["source"]["path"].as_str().unwrap_or_default();
                    // Its own there may have moved from or to the line, and hides what else is on it.
                    let mine = own.iter().any(|own| own["source"]["path"] == path);
                    let shown = view.shown.values().any(|dot| dot.path == path);
                    assert!(mine || shown, "{id} does not see {body} of {client}");
                }
            }
        }
    }
}

fn breakpoint_told(client: ClientId, view: &mut View, body: &Value) {
    let breakpoint = &body["breakpoint"];
    let id = breakpoint["id"].as_i64().expect("a breakpoint without an id");
    match body["reason"].as_str() {
        Some("new") => {
            let path = breakpoint["source"]["path"].as_str().expect("Helix needs a path").to_owned();
            let line = breakpoint["line"].as_i64().expect("Helix needs a line");
            let twice = view.shown.values().any(|dot| dot.path == path && dot.now == line);
            let again = view.shown.contains_key(&id);
            // A user's own breakpoint may have moved onto the line and hidden the dot meanwhile.
            let file = FILES.iter().position(|file| *file == path).unwrap_or(0);
            let own = view.own.contains_key(&file);
            assert!(own || view.blurred || !twice, "{client} is shown two on line {line} of {path}");
            assert!(own || view.blurred || !again, "{client} is shown {id} twice");
            view.known.insert(id);
            view.shown.insert(id, Dot { path, first: line, now: line });
        }
        Some("removed") => {
            assert!(view.refused || view.known.contains(&id), "{client} never knew {id}");
            // Its own, removed by somebody else: which it was is more than this player remembers.
            view.blurred |= view.shown.remove(&id).is_none();
        }
        reason => {
            assert_eq!(reason, Some("changed"));
            if let (Some(dot), Some(line)) = (view.shown.get_mut(&id), breakpoint["line"].as_i64()) {
                dot.now = line;
            }
        }
    }
}
