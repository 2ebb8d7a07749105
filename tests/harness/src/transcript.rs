//! A conversation as text: sender, recipient and message, with everything that differs between two runs
//! redacted.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tandem_wire::{Event, Message};

use crate::fixture;

/// Events whose number or order depends on the runtime: shown at the end, as text per stream and as sets.
const UNORDERED: [&str; 4] = ["module", "thread", "output", "process"];

/// The events of [`UNORDERED`] that one client was sent.
#[derive(Debug, Default)]
struct UnorderedEvents {
    output: BTreeMap<String, String>,
    sets: BTreeMap<String, BTreeSet<String>>,
}

#[derive(Debug, Default)]
struct TranscriptState {
    lines: Vec<String>,
    arrived: BTreeMap<String, UnorderedEvents>,
    /// Bodies of `initialize` that were shown.
    shown: Vec<Value>,
    names: HashMap<(&'static str, String), String>,
    prints: bool,
}

/// Lines of one test; clones write into the same transcript.
#[derive(Debug, Clone, Default)]
pub struct Transcript(Arc<Mutex<TranscriptState>>);

impl Transcript {
    /// A transcript that also prints each line to stderr at once.
    pub fn printing() -> Self {
        Self(Arc::new(Mutex::new(TranscriptState { prints: true, ..TranscriptState::default() })))
    }

    fn add(&self, line: String) {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.prints {
            eprintln!("  {line}");
        }
        inner.lines.push(line);
    }

    /// Writes a remark of the test.
    pub fn note(&self, text: &str) {
        self.add(format!("# {text}"));
    }

    /// Adds a request of a client.
    pub fn sent(&self, who: &str, command: &str, arguments: &Value) {
        let arguments = self.redacted(arguments);
        self.add(format!("{who} → {command}{}", tail(&arguments)));
    }

    /// Adds a message that a client received.
    pub fn received(&self, who: &str, message: &Message) {
        match message {
            Message::Response(response) => {
                let body = self.redacted(&response.body);
                let word = if response.success { "ok" } else { "failed" };
                let body = self.once(&response.command, body);
                self.add(format!("{who} ← {word}{}", tail(&body)));
            }
            Message::Event(event) if UNORDERED.contains(&event.event.as_str()) => {}
            Message::Event(event) => {
                let body = self.redacted(&event.body);
                self.add(format!("{who} ← event {}{}", event.event, tail(&body)));
            }
            Message::Request(request) => self.add(format!("{who} ← request {}", request.command)),
        }
    }

    /// A long body that is the same as an earlier one, as a remark.
    fn once(&self, command: &str, body: Value) -> Value {
        if command != "initialize" {
            return body;
        }
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.shown.contains(&body) {
            return Value::String("the same as before".into());
        }
        inner.shown.push(body.clone());
        body
    }

    /// Counts an event that a client was sent, whether or not the test takes it.
    pub fn arrived(&self, who: &str, message: &Message) {
        let Message::Event(Event { event, body, .. }) = message else { return };
        let shown = match event.as_str() {
            "output" => None,
            // A runtime's own assemblies differ between its versions.
            "module" => {
                let name = body["module"]["name"].as_str().unwrap_or_default();
                let own = name.starts_with("System.")
                    || name.starts_with("Microsoft.")
                    || name == "netstandard.dll";
                Some(format!(
                    "{} {}",
                    body["reason"].as_str().unwrap_or_default(),
                    if own { "System.*" } else { name }
                ))
            }
            "thread" => Some(body["reason"].as_str().unwrap_or_default().to_owned()),
            "process" => Some(self.redacted(body).to_string()),
            _ => return,
        };
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let arrived = inner.arrived.entry(who.to_owned()).or_default();
        match shown {
            Some(shown) => {
                arrived.sets.entry(event.clone()).or_default().insert(shown);
            }
            None => {
                let stream = body["category"].as_str().unwrap_or("console").to_owned();
                let text = body["output"].as_str().unwrap_or_default();
                arrived.output.entry(stream).or_default().push_str(text);
            }
        }
    }

    /// A tool call's answer.
    pub fn answered(&self, who: &str, answer: &Value) {
        let answer = self.redacted(answer);
        self.add(format!("{who} ←{}", tail(&answer)));
    }

    /// The whole transcript. At its end are the output, processes, modules and threads of each client.
    pub fn text(&self) -> String {
        let inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lines = inner.lines.clone();
        for (who, arrived) in &inner.arrived {
            let output =
                arrived.output.iter().map(|(stream, text)| format!("{who} ← all of {stream}: {text:?}"));
            lines.extend(output);
            lines.extend(arrived.sets.iter().map(|(event, set)| format!("{who} ← {event} events: {set:?}")));
        }
        redact_places(&lines.join("\n"))
    }

    /// The one list of redactions.
    fn redacted(&self, value: &Value) -> Value {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        redact(&mut inner.names, "", value)
    }
}

/// Whether it is a word with a number, as the ids of sessions are.
fn is_session_id(id: &str) -> bool {
    let word = id.trim_end_matches(|digit: char| digit.is_ascii_digit());
    !word.is_empty() && word.len() < id.len() && word.bytes().all(|letter| letter.is_ascii_lowercase())
}

/// Replaces the paths of this tree and its cache, which differ between machines.
fn redact_places(text: &str) -> String {
    let cache = fixture::cache().display().to_string();
    text.replace(&cache, "[CACHE]").replace(&fixture::root().display().to_string(), "[ROOT]")
}

fn tail(value: &Value) -> String {
    if value.is_null() { String::new() } else { format!(" {value}") }
}

fn redact(names: &mut HashMap<(&'static str, String), String>, key: &str, value: &Value) -> Value {
    let mut named = |kind: &'static str, value: &Value| {
        let count = names.keys().filter(|(other, _)| *other == kind).count() + 1;
        let name = names.entry((kind, value.to_string())).or_insert_with(|| format!("{kind}{count}"));
        Value::String(name.clone())
    };
    match (key, value) {
        ("variablesReference", Value::Number(number)) if number.as_i64() != Some(0) => named("v", value),
        ("threadId", Value::Number(_)) => named("t", value),
        ("frameId", Value::Number(_)) => named("f", value),
        // Frames, breakpoints: one space of numbers.
        ("id", Value::Number(_)) => named("f", value),
        ("hitBreakpointIds", Value::Array(list)) => list.iter().map(|id| named("f", id)).collect(),
        ("pid" | "systemProcessId" | "moduleId", Value::Number(_)) => Value::String("[NUMBER]".into()),
        ("id", Value::String(id)) if is_session_id(id) => Value::String("[SESSION]".into()),
        ("session", Value::String(_)) => Value::String("[SESSION]".into()),
        // Clients that list sessions at the same time use numbers, too.
        ("clientId", Value::Number(_)) => Value::String("[CLIENT]".into()),
        (_, Value::String(text)) => Value::String(redact_places(text)),
        (_, Value::Array(list)) => list.iter().map(|item| redact(names, "", item)).collect(),
        (_, Value::Object(object)) => {
            // Checksums of sources change with every edit of a fixture, addresses of code with every run.
            let varies = ["checksums", "instructionPointerReference"];
            let shown = object.iter().filter(|(key, _)| !varies.contains(&key.as_str()));
            shown.map(|(key, value)| (key.clone(), redact(names, key, value))).collect()
        }
        _ => value.clone(),
    }
}
