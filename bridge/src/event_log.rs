//! The events of a session, in one order: stops, exceptions, resumes and by whom, output, clients that joined
//! or left. Bounded: the oldest entries are dropped first, and readers learn how many. Read by
//! `debug_timeline`.
//!
//! Not here: messages to the MCP client ([`crate::client_log`]), and lines of log messages
//! ([`crate::logpoints`]).

use std::collections::VecDeque;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tandem_wire::Event;
use tandem_wire::types::{
    self, BreakpointEventBody, ChildProgram, OutputEventBody, ProcessEventBody, ProgramExit,
    SessionChangedBody, StoppedEventBody,
};

use crate::source::ShownPlace;

/// Entries kept; older ones are dropped.
const MAX_ENTRIES: usize = 2000;
/// Text kept of one run of output, bytes; more is counted only.
const MAX_TEXT_BYTES: usize = 400;

/// One entry of the log.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LogEntry {
    /// Its number; the first of a session has 1.
    #[serde(rename = "n")]
    pub number: u64,
    /// Milliseconds since the log began.
    ms: u64,
    /// The event, the change of the session, or the stream of output.
    pub kind: String,
    #[serde(flatten)]
    details: EntryDetails,
}

/// The facts of an entry beyond its kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
enum EntryDetails {
    Start(ProgramStart),
    Stop(StopEntry),
    Resumption(Resumption),
    Access(AccessChange),
    Child(ChildProgram),
    Member(Membership),
    /// An action of a client. Boxed, because it is much larger than the others.
    Action(Box<ClientAction>),
    Breakpoint(BreakpointChange),
    Output(PrintedText),
    Exit(ProgramExit),
    /// The reason why the adapter is gone.
    Loss {
        text: &'static str,
    },
    End {},
}

/// A program that was started.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct ProgramStart {
    program: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<i64>,
}

/// A stop; the place is added when the agent's answer has found it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct StopEntry {
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread_id: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(flatten)]
    place: Option<ShownPlace>,
}

/// A client that resumed the program, and the request by which it did.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Resumption {
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    how: Option<String>,
}

/// A client that changed the access of agents.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct AccessChange {
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_access: Option<String>,
}

/// A client that joined, left or became the owner.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Membership {
    #[serde(skip_serializing_if = "Option::is_none")]
    who: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    access: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// `editor` or `agent`; an entry's own kind is the change.
    #[serde(rename = "is", skip_serializing_if = "Option::is_none")]
    client_kind: Option<String>,
}

/// An action of a client: input, values set, evaluations, breakpoints, refusals.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct ClientAction {
    #[serde(rename(serialize = "by", deserialize = "client"))]
    #[serde(deserialize_with = "types::optional", skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    #[serde(deserialize_with = "types::optional", skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(deserialize_with = "types::optional", skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(deserialize_with = "types::optional", skip_serializing_if = "Option::is_none")]
    closed: Option<bool>,
    #[serde(deserialize_with = "types::optional", skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(deserialize_with = "types::optional", skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    #[serde(deserialize_with = "types::optional", skip_serializing_if = "Option::is_none")]
    expression: Option<String>,
    #[serde(deserialize_with = "types::optional", skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    #[serde(deserialize_with = "types::optional", skip_serializing_if = "Option::is_none")]
    access: Option<String>,
    #[serde(flatten)]
    breakpoints: ChangedBreakpoints,
}

/// Breakpoints that a client added and removed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ChangedBreakpoints {
    #[serde(deserialize_with = "types::optional", skip_serializing_if = "Option::is_none")]
    added: Option<Vec<Value>>,
    /// How many more were added.
    #[serde(deserialize_with = "types::optional", skip_serializing_if = "Option::is_none")]
    added_more: Option<u64>,
    #[serde(deserialize_with = "types::optional", skip_serializing_if = "Option::is_none")]
    removed: Option<Vec<Value>>,
    /// How many more were removed.
    #[serde(deserialize_with = "types::optional", skip_serializing_if = "Option::is_none")]
    removed_more: Option<u64>,
}

/// A breakpoint that the engine changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct BreakpointChange {
    change: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<i64>,
    verified: bool,
}

/// Output of one stream that no other event interrupted.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct PrintedText {
    text: String,
    /// Bytes that were printed; the text may have fewer.
    bytes: usize,
}

impl PrintedText {
    fn append(&mut self, text: &str) {
        self.bytes += text.len();
        let room = MAX_TEXT_BYTES.saturating_sub(self.text.len());
        self.text.push_str(head(text, room));
    }
}

/// The entries of one session.
#[derive(Debug)]
pub struct EventLog {
    entries: VecDeque<LogEntry>,
    /// Number of the first entry that is kept.
    first: u64,
    start: Instant,
}

impl Default for EventLog {
    fn default() -> Self {
        Self { entries: VecDeque::new(), first: 1, start: Instant::now() }
    }
}

impl EventLog {
    /// Adds the entry of an event, if it has one.
    pub fn record(&mut self, event: &Event) {
        match event.event.as_str() {
            "process" => {
                let body: ProcessEventBody = types::read(&event.body);
                let start = ProgramStart { program: body.name, pid: body.system_process_id };
                self.add("started", EntryDetails::Start(start));
            }
            "stopped" => {
                let body: StoppedEventBody = types::read(&event.body);
                let kind = if body.reason == "exception" { "exception" } else { "stopped" };
                let StoppedEventBody { reason, thread_id, text, .. } = body;
                self.add(kind, EntryDetails::Stop(StopEntry { reason, thread_id, text, place: None }));
            }
            "sessionChanged" => self.record_change(&event.body),
            "inputClosed" => {
                let action: ClientAction = types::read(&event.body);
                let closing = ClientAction { by: action.by, ..ClientAction::default() };
                self.add("inputClosed", EntryDetails::Action(Box::new(closing)));
            }
            "breakpoint" => {
                let body: BreakpointEventBody = types::read(&event.body);
                // `sessionChanged` reports which client set or removed one, and where.
                if body.reason == "changed" {
                    let breakpoint = body.breakpoint;
                    let change = BreakpointChange {
                        change: body.reason,
                        file: breakpoint.source.and_then(|source| source.path),
                        line: breakpoint.line,
                        verified: breakpoint.verified,
                    };
                    self.add("breakpoint", EntryDetails::Breakpoint(change));
                }
            }
            "output" => {
                let body: OutputEventBody = types::read(&event.body);
                let stream = body.category.as_deref().unwrap_or("console");
                if stream != "telemetry" {
                    self.add_output(stream, &body.output);
                }
            }
            "exited" => self.add("exited", EntryDetails::Exit(types::read(&event.body))),
            "terminated" => self.add("terminated", EntryDetails::End {}),
            _ => {}
        }
    }

    fn record_change(&mut self, body: &Value) {
        let changed: SessionChangedBody = types::read(body);
        let details = match changed.change.as_str() {
            "" => return,
            "resumed" => EntryDetails::Resumption(Resumption { by: changed.client, how: changed.command }),
            "agentAccess" => {
                let change = AccessChange { by: changed.client, agent_access: changed.agent_access };
                return self.add("access", EntryDetails::Access(change));
            }
            "child" => EntryDetails::Child(changed.child.unwrap_or_default()),
            "joined" | "left" | "owner" => EntryDetails::Member(Membership {
                who: changed.client,
                access: changed.access,
                reason: changed.reason,
                client_kind: changed.kind,
            }),
            _ => EntryDetails::Action(Box::new(types::read(body))),
        };
        self.add(&changed.change, details);
    }

    /// Records that the debug adapter is gone.
    pub fn record_loss(&mut self) {
        self.add("lost", EntryDetails::Loss { text: "the debug adapter is gone" });
    }

    fn add(&mut self, kind: &str, details: EntryDetails) {
        self.entries.push_back(LogEntry {
            number: self.next(),
            ms: u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX),
            kind: kind.to_owned(),
            details,
        });
        if self.entries.len() > MAX_ENTRIES {
            self.entries.pop_front();
            self.first += 1;
        }
    }

    /// Adds output. Output that follows directly on the same stream extends that entry.
    fn add_output(&mut self, stream: &str, text: &str) {
        let last = self.entries.back_mut().filter(|last| last.kind == stream);
        if let Some(LogEntry { details: EntryDetails::Output(printed), .. }) = last {
            return printed.append(text);
        }
        let mut printed = PrintedText { text: String::new(), bytes: 0 };
        printed.append(text);
        self.add(stream, EntryDetails::Output(printed));
    }

    /// Adds the place, without the text of its line, to the latest stop, if it has none yet.
    pub fn add_place(&mut self, place: &ShownPlace) {
        let stops = self.entries.iter_mut().rev().find_map(|entry| match &mut entry.details {
            EntryDetails::Stop(stop) => Some(stop),
            _ => None,
        });
        if let Some(stop) = stops {
            stop.place.get_or_insert_with(|| ShownPlace { source: None, ..place.clone() });
        }
    }

    /// Entries from number `since` on, of these kinds (all if empty), at most `count`; the number to continue
    /// from; and how many of the requested entries are no longer kept.
    pub fn read(&self, since: u64, kinds: &[String], count: usize) -> (Vec<LogEntry>, u64, u64) {
        let mut next = since.max(self.first);
        let mut found = Vec::new();
        for entry in self.entries.iter().skip(usize::try_from(next - self.first).unwrap_or(usize::MAX)) {
            if found.len() == count {
                break;
            }
            next += 1;
            if kinds.is_empty() || kinds.contains(&entry.kind) {
                found.push(entry.clone());
            }
        }
        (found, next, self.first.saturating_sub(since.max(1)))
    }

    /// The number the next entry will have.
    pub fn next(&self) -> u64 {
        self.first + self.entries.len() as u64
    }
}

/// The longest beginning of at most `most` bytes that ends between characters.
fn head(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_of_one_stream_is_one_entry_and_bounded() {
        let mut event_log = EventLog::default();
        event_log.add_output("stdout", "a");
        event_log.add_output("stdout", &"ü".repeat(500));
        event_log.add_output("stderr", "b");
        let (all, next, dropped) = event_log.read(0, &[], 10);
        assert_eq!((all.len(), next, dropped), (2, 3, 0));
        let first = types::body(&all[0]);
        assert_eq!(first["bytes"], 1001);
        assert!(first["text"].as_str().unwrap().len() <= MAX_TEXT_BYTES);
    }

    #[test]
    fn old_entries_go_and_are_counted() {
        let mut event_log = EventLog::default();
        for number in 0..MAX_ENTRIES + 5 {
            let kind = if number % 2 == 0 { "stopped" } else { "resumed" };
            event_log.add(kind, EntryDetails::Resumption(Resumption { by: None, how: None }));
        }
        let (some, next, dropped) = event_log.read(3, &["stopped".into()], 2);
        assert_eq!((some.len(), dropped), (2, 3));
        assert_eq!((some[0].number, some[1].number, next), (7, 9, 10));
        assert!(types::body(&some[0]).get("by").is_none());
        assert_eq!(event_log.read(next, &[], usize::MAX).1, event_log.next());
    }
}
