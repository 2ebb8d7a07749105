//! A conversation as text: who said what to whom, with everything that differs between two runs redacted.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use dap_wire::Message;
use serde_json::Value;

use crate::fixture;

/// Events whose number or order is the runtime's own affair.
const UNORDERED: [&str; 4] = ["module", "thread", "output", "process"];

/// Answers whose bodies say more about us than about the story.
const BODILESS: [&str; 2] = ["initialize", "sessionInfo"];

#[derive(Debug, Default)]
struct Inner {
    lines: Vec<String>,
    names: HashMap<(&'static str, String), String>,
    aloud: bool,
}

/// Lines of one story; clones write into the same.
#[derive(Debug, Clone, Default)]
pub struct Transcript(Arc<Mutex<Inner>>);

impl Transcript {
    /// One that also prints each line as it comes.
    pub fn aloud() -> Self {
        Self(Arc::new(Mutex::new(Inner { aloud: true, ..Inner::default() })))
    }

    fn add(&self, line: String) {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.aloud {
            eprintln!("  {line}");
        }
        inner.lines.push(line);
    }

    /// A remark of the story-teller.
    pub fn note(&self, text: &str) {
        self.add(format!("# {text}"));
    }

    /// What a client sends.
    pub fn sent(&self, who: &str, command: &str, arguments: &Value) {
        let arguments = self.redacted(arguments);
        self.add(format!("{who} → {command}{}", tail(&arguments)));
    }

    /// What a client gets.
    pub fn received(&self, who: &str, message: &Message) {
        match message {
            Message::Response(response) => {
                let body = self.redacted(&response.body);
                let word = if response.success { "ok" } else { "failed" };
                let body = if BODILESS.contains(&response.command.as_str()) { Value::Null } else { body };
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

    /// A tool call's answer.
    pub fn answered(&self, who: &str, answer: &Value) {
        let answer = self.redacted(answer);
        self.add(format!("{who} ←{}", tail(&answer)));
    }

    /// The whole story.
    pub fn text(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).lines.join("\n")
    }

    /// The one list of redactions.
    fn redacted(&self, value: &Value) -> Value {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        redact(&mut inner.names, "", value)
    }
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
        ("session", Value::String(_)) => Value::String("[SESSION]".into()),
        (_, Value::String(text)) => {
            let cache = fixture::cache().display().to_string();
            let root = fixture::root().display().to_string();
            Value::String(text.replace(&cache, "[CACHE]").replace(&root, "[ROOT]"))
        }
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
