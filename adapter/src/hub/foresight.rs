//! What clients will ask at a stop, asked of the adapter before they do: threads, the stack, the scopes of its top frame and
//! their variables. An adapter behind the hub costs two more wake-ups for each request; an answer that is there already costs
//! none of the adapter's.
//!
//! Exact, in this way: only what a client asked at the stop before is asked ahead, with that client's own arguments. An
//! answer is given away once, to whoever asks for the same JSON, and only while nothing has been asked or said in between
//! that could change it ([`Foresight::upset`]); it is not kept for long ([`KEPT`]). So no client gets an answer that is older
//! than the last change before its request, and nothing is a cache.
//!
//! Cheap, in this way: an adapter answers in order, so a step that comes at once waits behind what was asked ahead; but only
//! if somebody looked at the stop before. Who only steps pays nothing. What follows from an answer is asked when the answer is
//! there, so a step stops it.
//!
//! As a by-product, two clients' equal requests under way are one. Not here: sending, ids of clients, and which engines are
//! asked ahead (`state::ahead`).

#[cfg(test)]
mod tests;

use std::time::Duration;

use dap_wire::{ErrorCode, Failure};
use serde_json::Value;

use super::event::Ticket;

/// How many different requests are remembered, and so asked ahead.
const HABITS: usize = 8;
/// How many scopes of a frame are looked at.
const SCOPES: usize = 16;
/// How long after its stop an answer is kept for who has not asked yet: memory may be shared with programs that run.
pub const KEPT: Duration = Duration::from_secs(2);

/// Requests that change nothing: what was asked ahead stays true.
const READING: [&str; 12] = [
    "threads",
    "stackTrace",
    "scopes",
    "variables",
    "source",
    "modules",
    "loadedSources",
    "exceptionInfo",
    "breakpointLocations",
    "stepInTargets",
    "readMemory",
    "disassemble",
];
/// Events after which what was asked ahead stays true.
const HARMLESS: [&str; 8] = [
    "output",
    "module",
    "loadedSource",
    "breakpoint",
    "process",
    "progressStart",
    "progressUpdate",
    "progressEnd",
];

/// Whether the engine only looks when it is asked this.
pub fn only_reads(command: &str) -> bool {
    READING.contains(&command)
}

/// Whether the program is as before after this event.
pub fn is_harmless(event: &str) -> bool {
    HARMLESS.contains(&event)
}

/// What a request is about, whatever the ids are at this stop.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Topic {
    Threads,
    /// Of the stopped thread.
    Stack,
    /// Of the frame on top.
    Scopes,
    /// Of the scope of this name of the frame on top.
    Variables(String),
}

impl Topic {
    fn command(&self) -> &'static str {
        match self {
            Self::Threads => "threads",
            Self::Stack => "stackTrace",
            Self::Scopes => "scopes",
            Self::Variables(_) => "variables",
        }
    }

    /// The argument that is another one at each stop.
    fn key(&self) -> Option<&'static str> {
        match self {
            Self::Threads => None,
            Self::Stack => Some("threadId"),
            Self::Scopes => Some("frameId"),
            Self::Variables(_) => Some("variablesReference"),
        }
    }
}

/// A request that clients make at stops.
#[derive(Debug)]
struct Habit {
    topic: Topic,
    /// The client's own, with `Null` for the argument that changes.
    arguments: Value,
    /// At this stop a client has asked it.
    used: bool,
    /// At this stop it was asked, by a client or ahead of them.
    asked: bool,
}

/// A request to the engine that any number of clients may wait for.
#[derive(Debug)]
struct Inquiry {
    ticket: Ticket,
    command: String,
    arguments: Value,
    topic: Option<Topic>,
    /// Nobody had asked when it was sent.
    ahead: bool,
    /// Who waits for it. Each is the ticket of a client's request.
    followers: Vec<Ticket>,
    /// Whether its answer holds for who asks now.
    open: bool,
    /// It was cancelled: its failure is what was wanted.
    cancelled: bool,
    /// The stop it was asked at, counted; elsewhere its ids mean something else.
    stop: u64,
    /// It came before anybody asked.
    answer: Option<Value>,
}

/// The stop at which things are asked.
#[derive(Debug, Default)]
struct Place {
    thread: Value,
    /// The engine's id of the frame on top.
    top: Option<Value>,
    /// Names and references of its scopes.
    scopes: Vec<(String, Value)>,
    /// Something may have changed since: nothing more is learnt or asked ahead.
    upset: bool,
    /// Answers nobody asked for are not kept any more.
    late: bool,
    /// Somebody minds the time.
    timed: bool,
}

/// What to do with a client's request.
#[derive(Debug, PartialEq)]
pub enum Reception {
    /// Ask the engine, and tell [`Foresight::sent`].
    Ask,
    /// An equal request is under way; its answer is this one's as well.
    Joined,
    /// The answer is here.
    Known(Value),
}

/// What to do with the engine's answer.
#[derive(Debug, PartialEq)]
pub enum Outcome {
    /// Give it to these, if any.
    For(Vec<Ticket>, Result<Value, Failure>),
    /// It waits for who asks.
    Kept,
    /// It was asked ahead and came too early, perhaps: it is to be asked again, for these.
    Again {
        /// DAP command.
        command: String,
        /// With the engine's ids.
        arguments: Value,
        /// Who waits.
        followers: Vec<Ticket>,
    },
}

/// All of it, for one session with one engine.
#[derive(Debug, Default)]
pub struct Foresight {
    habits: Vec<Habit>,
    inquiries: Vec<Inquiry>,
    place: Option<Place>,
    /// Stops, counted.
    stops: u64,
}

impl Foresight {
    /// The program stands, and clients are told so with this body.
    pub fn stopped(&mut self, body: &Value) {
        self.resumed();
        self.stops += 1;
        // What nobody wanted at the last stop is not wanted at this one.
        self.habits.retain_mut(|habit| {
            habit.asked = false;
            std::mem::replace(&mut habit.used, false)
        });
        // What other threads do meanwhile changes what is seen.
        if body["allThreadsStopped"] == true {
            self.place = Some(Place { thread: body["threadId"].clone(), ..Place::default() });
        }
    }

    /// The program runs, or there is none.
    pub fn resumed(&mut self) {
        self.upset();
        self.place = None;
    }

    /// Something was asked or said that may change what the engine would answer now.
    pub fn upset(&mut self) {
        self.inquiries.retain_mut(|inquiry| {
            inquiry.open = false;
            !inquiry.followers.is_empty()
        });
        if let Some(place) = &mut self.place {
            place.upset = true;
        }
    }

    /// The time of what nobody asked for is over.
    pub fn let_answers_go(&mut self) {
        self.inquiries.retain(|inquiry| inquiry.answer.is_none());
        if let Some(place) = &mut self.place {
            place.late = true;
        }
    }

    /// A client asks this, with the engine's ids; `follower` is its ticket, and `before` those of its requests that the engine
    /// has not answered: it is answered in the order in which it asks. `None` when it is nothing that is shared.
    pub fn wanted(
        &mut self,
        follower: Ticket,
        command: &str,
        arguments: &Value,
        before: &[Ticket],
    ) -> Option<Reception> {
        self.place.as_ref()?;
        if !matches!(command, "threads" | "stackTrace" | "scopes" | "variables") {
            return None;
        }
        self.learn(command, arguments);
        let same =
            |inquiry: &Inquiry| inquiry.open && inquiry.command == command && inquiry.arguments == *arguments;
        let Some(at) = self.inquiries.iter().position(same) else { return Some(Reception::Ask) };
        let latest = before.iter().map(|ticket| self.asked_as(*ticket)).max();
        let in_turn = self.inquiries.get(at).is_some_and(|inquiry| match latest {
            Some(latest) => inquiry.answer.is_none() && latest <= inquiry.ticket,
            None => true,
        });
        if !in_turn {
            return Some(Reception::Ask);
        }
        let inquiry = self.inquiries.get_mut(at)?;
        match inquiry.answer.take() {
            Some(answer) => {
                self.inquiries.swap_remove(at);
                Some(Reception::Known(answer))
            }
            None => {
                inquiry.followers.push(follower);
                Some(Reception::Joined)
            }
        }
    }

    /// The ticket with which the engine was asked for this one.
    fn asked_as(&self, follower: Ticket) -> Ticket {
        let shared = self.inquiries.iter().find(|inquiry| inquiry.followers.contains(&follower));
        shared.map_or(follower, |inquiry| inquiry.ticket)
    }

    /// The engine was asked for these clients, or, without any, ahead of them.
    pub fn sent(&mut self, ticket: Ticket, command: &str, arguments: Value, followers: Vec<Ticket>) {
        let topic = self.topic(command, &arguments);
        let ahead = followers.is_empty();
        let command = command.to_owned();
        let open = self.place.is_some();
        let (cancelled, answer, stop) = (false, None, self.stops);
        let inquiry =
            Inquiry { ticket, command, arguments, topic, ahead, followers, open, cancelled, stop, answer };
        self.inquiries.push(inquiry);
    }

    /// Whether the time of this stop is to be minded from now on: once for each at which anything was asked ahead.
    pub fn starts_clock(&mut self) -> bool {
        let ahead = self.inquiries.iter().any(|inquiry| inquiry.ahead && inquiry.open);
        ahead && self.place.as_mut().is_some_and(|place| !std::mem::replace(&mut place.timed, true))
    }

    /// What to ask ahead now, if anything; it counts as asked.
    pub fn next_ahead(&mut self) -> Option<(&'static str, Value)> {
        let place = self.place.as_ref().filter(|place| !place.upset && !place.late)?;
        let (at, asked) =
            self.habits.iter().enumerate().filter(|(_, habit)| !habit.asked).find_map(|(at, habit)| {
                Some((at, (habit.topic.command(), place.fill(&habit.topic, &habit.arguments)?)))
            })?;
        self.habits.get_mut(at)?.asked = true;
        Some(asked)
    }

    /// The engine answered; what nobody waits for is kept, if it may be.
    pub fn answered(&mut self, ticket: Ticket, result: Result<Value, Failure>) -> Outcome {
        let Some(at) = self.inquiries.iter().position(|inquiry| inquiry.ticket == ticket) else {
            return Outcome::For(Vec::new(), result);
        };
        let mut inquiry = self.inquiries.swap_remove(at);
        let followers = std::mem::take(&mut inquiry.followers);
        match result {
            Ok(body) => {
                if inquiry.open {
                    self.find_ids(&inquiry, &body);
                }
                let kept = self.place.as_ref().is_some_and(|place| !place.late);
                if followers.is_empty() && inquiry.open && kept {
                    self.inquiries.push(Inquiry { answer: Some(body), ..inquiry });
                    return Outcome::Kept;
                }
                Outcome::For(followers, Ok(body))
            }
            Err(failure) => {
                let here = self.place.is_some() && inquiry.stop == self.stops;
                // Its time is up, and with it that of who waits; a second try would take as long again.
                let up = failure.code == ErrorCode::Timeout;
                if followers.is_empty() || !inquiry.ahead || inquiry.cancelled || up || !here {
                    Outcome::For(followers, Err(failure))
                } else {
                    Outcome::Again { command: inquiry.command, arguments: inquiry.arguments, followers }
                }
            }
        }
    }

    /// One of those who wait does not want its answer any more: the request to cancel, when nobody else waits for it.
    pub fn gave_up(&mut self, follower: Ticket) -> GaveUp {
        let Some(inquiry) = self.inquiries.iter_mut().find(|inquiry| inquiry.followers.contains(&follower))
        else {
            return GaveUp::NotMine;
        };
        if inquiry.followers.len() > 1 {
            inquiry.followers.retain(|other| *other != follower);
            return GaveUp::OthersWait;
        }
        (inquiry.open, inquiry.cancelled) = (false, true);
        GaveUp::Cancel(inquiry.ticket)
    }

    /// Remembers what a client asks, if it can be said without the ids of this stop.
    fn learn(&mut self, command: &str, arguments: &Value) {
        if self.place.as_ref().is_none_or(|place| place.upset) {
            return;
        }
        let Some(topic) = self.topic(command, arguments) else { return };
        let mut arguments = arguments.clone();
        if let Some(changing) = topic.key().and_then(|key| arguments.get_mut(key)) {
            *changing = Value::Null;
        }
        let same = |habit: &&mut Habit| habit.topic == topic && habit.arguments == arguments;
        if let Some(habit) = self.habits.iter_mut().find(same) {
            (habit.used, habit.asked) = (true, true);
        } else if self.habits.len() < HABITS {
            self.habits.push(Habit { topic, arguments, used: true, asked: true });
        }
    }

    fn topic(&self, command: &str, arguments: &Value) -> Option<Topic> {
        let place = self.place.as_ref()?;
        match command {
            "threads" => Some(Topic::Threads),
            "stackTrace" => (arguments["threadId"] == place.thread).then_some(Topic::Stack),
            "scopes" => (Some(&arguments["frameId"]) == place.top.as_ref()).then_some(Topic::Scopes),
            "variables" => place
                .scopes
                .iter()
                .find(|(_, reference)| arguments["variablesReference"] == *reference)
                .map(|(name, _)| Topic::Variables(name.clone())),
            _ => None,
        }
    }

    /// Takes the ids of this stop out of an answer.
    fn find_ids(&mut self, inquiry: &Inquiry, body: &Value) {
        let Some(place) = &mut self.place else { return };
        match &inquiry.topic {
            Some(Topic::Stack) if matches!(inquiry.arguments["startFrame"].as_i64(), None | Some(0)) => {
                let top = &body["stackFrames"][0]["id"];
                place.top = (!top.is_null()).then(|| top.clone());
            }
            Some(Topic::Scopes) => {
                let scopes = body["scopes"].as_array().into_iter().flatten();
                let named = scopes.filter_map(|scope| {
                    Some((scope["name"].as_str()?.to_owned(), scope["variablesReference"].clone()))
                });
                place.scopes = named.filter(|(_, reference)| *reference != 0).take(SCOPES).collect();
            }
            _ => {}
        }
    }
}

/// What [`Foresight::gave_up`] found.
#[derive(Debug, PartialEq, Eq)]
pub enum GaveUp {
    /// It waits for nothing that is shared.
    NotMine,
    /// It waits no more; others do.
    OthersWait,
    /// Nobody else waits: this request to the engine can be cancelled, and its answer is the last one's.
    Cancel(Ticket),
}

impl Place {
    /// The arguments for this stop, once what they need is known.
    fn fill(&self, topic: &Topic, arguments: &Value) -> Option<Value> {
        let id = match topic {
            Topic::Threads => return Some(arguments.clone()),
            Topic::Stack => &self.thread,
            Topic::Scopes => self.top.as_ref()?,
            Topic::Variables(name) => &self.scopes.iter().find(|(known, _)| known == name)?.1,
        };
        let mut arguments = arguments.clone();
        *arguments.get_mut(topic.key()?)? = id.clone();
        Some(arguments)
    }
}
