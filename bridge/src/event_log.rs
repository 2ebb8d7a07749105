//! The events of a session, in one order: stops, exceptions, resumes and by whom, output, clients that joined
//! or left. Bounded: the oldest entries are dropped first, and readers learn how many. Read by
//! `debug_timeline`.
//!
//! Not here: messages to the MCP client ([`crate::client_log`]), and lines of log messages
//! ([`crate::logpoints`]).

use std::collections::VecDeque;
use std::time::Instant;

use dap_wire::Event;
use serde_json::{Map, Value, json};

/// Entries kept; older ones are dropped.
const MAX_ENTRIES: usize = 2000;
/// Text kept of one run of output, bytes; more is counted only.
const MAX_TEXT_BYTES: usize = 400;

/// Keys of a `sessionChanged` event that describe the action of a client.
const ACTION_KEYS: [&str; 12] = [
    "text",
    "bytes",
    "closed",
    "name",
    "value",
    "expression",
    "command",
    "access",
    "added",
    "addedMore",
    "removed",
    "removedMore",
];

/// The entries of one session.
#[derive(Debug)]
pub struct EventLog {
    entries: VecDeque<Map<String, Value>>,
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
        let body = &event.body;
        match event.event.as_str() {
            "process" => {
                self.add("started", json!({ "program": body["name"], "pid": body["systemProcessId"] }))
            }
            "stopped" => {
                let kind = if body["reason"] == "exception" { "exception" } else { "stopped" };
                let details =
                    json!({ "reason": body["reason"], "threadId": body["threadId"], "text": body["text"] });
                self.add(kind, details);
            }
            "sessionChanged" => match body["change"].as_str() {
                Some("resumed") => {
                    self.add("resumed", json!({ "by": body["client"], "how": body["command"] }))
                }
                Some("agentAccess") => {
                    self.add("access", json!({ "by": body["client"], "agentAccess": body["agentAccess"] }));
                }
                Some("child") => self.add("child", body["child"].clone()),
                Some(change @ ("joined" | "left" | "owner")) => {
                    let details = json!({ "who": body["client"], "kind": body["kind"],
                        "access": body["access"], "reason": body["reason"] });
                    // An entry's own kind is the change.
                    self.add(change, rename_key(details, "kind", "is"));
                }
                // Input, values set, evaluations, breakpoints, refusals: whose, and what.
                Some(change) => {
                    let mut details = json!({ "by": body["client"] });
                    for key in ACTION_KEYS {
                        details[key] = body[key].clone();
                    }
                    self.add(change, details);
                }
                None => {}
            },
            "inputClosed" => self.add("inputClosed", json!({ "by": body["client"] })),
            // `sessionChanged` reports which client set or removed one, and where.
            "breakpoint" if body["reason"] == "changed" => {
                let breakpoint = &body["breakpoint"];
                let details = json!({ "change": body["reason"], "file": breakpoint["source"]["path"],
                    "line": breakpoint["line"],
                    "verified": breakpoint["verified"] });
                self.add("breakpoint", details);
            }
            "output" => {
                let stream = body["category"].as_str().unwrap_or("console");
                if stream != "telemetry" {
                    self.output(stream, body["output"].as_str().unwrap_or_default());
                }
            }
            "exited" => {
                let mut end = json!({ "exitCode": body["exitCode"] });
                if let Some(signal) = body["signal"].as_str() {
                    end["signal"] = json!(signal);
                }
                self.add("exited", end);
            }
            "terminated" => self.add("terminated", Value::Null),
            _ => {}
        }
    }

    /// Adds an entry; `details` are its fields.
    pub fn add(&mut self, kind: &str, details: Value) {
        let mut entry = Map::new();
        entry.insert("n".into(), json!(self.first + self.entries.len() as u64));
        entry.insert("ms".into(), json!(u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)));
        entry.insert("kind".into(), json!(kind));
        if let Value::Object(details) = details {
            entry.extend(details.into_iter().filter(|(_, value)| !value.is_null()));
        }
        self.entries.push_back(entry);
        if self.entries.len() > MAX_ENTRIES {
            self.entries.pop_front();
            self.first += 1;
        }
    }

    /// Adds output. Output that follows directly on the same stream extends that entry.
    pub fn output(&mut self, stream: &str, text: &str) {
        let last = self.entries.back_mut().filter(|last| last["kind"] == stream);
        let Some(last) = last else {
            return self.add(stream, json!({ "text": head(text, MAX_TEXT_BYTES), "bytes": text.len() }));
        };
        let bytes = last["bytes"].as_u64().unwrap_or(0) + text.len() as u64;
        if let Some(Value::String(kept)) = last.get_mut("text")
            && kept.len() < MAX_TEXT_BYTES
        {
            let room = MAX_TEXT_BYTES - kept.len();
            kept.push_str(head(text, room));
        }
        last.insert("bytes".into(), json!(bytes));
    }

    /// Adds fields to the latest entry of one of these kinds, if it has none of them yet.
    pub fn complete(&mut self, kinds: &[&str], details: Value) {
        let fits = |entry: &&mut Map<String, Value>| kinds.iter().any(|kind| entry["kind"] == *kind);
        if let (Some(entry), Value::Object(details)) = (self.entries.iter_mut().rev().find(fits), details) {
            for (key, value) in details {
                entry.entry(key).or_insert(value);
            }
        }
    }

    /// Entries from number `since` on, of these kinds (all if empty), at most `count`; the number to continue
    /// from; and how many of the requested entries are no longer kept.
    pub fn read(&self, since: u64, kinds: &[String], count: usize) -> (Vec<Value>, u64, u64) {
        let mut next = since.max(self.first);
        let mut found = Vec::new();
        for entry in self.entries.iter().skip(usize::try_from(next - self.first).unwrap_or(usize::MAX)) {
            if found.len() == count {
                break;
            }
            next += 1;
            if kinds.is_empty() || kinds.iter().any(|kind| entry["kind"] == kind.as_str()) {
                found.push(Value::Object(entry.clone()));
            }
        }
        (found, next, self.first.saturating_sub(since.max(1)))
    }

    /// The number the next entry will have.
    pub fn next(&self) -> u64 {
        self.first + self.entries.len() as u64
    }
}

fn rename_key(mut details: Value, from: &str, to: &str) -> Value {
    if let Some(details) = details.as_object_mut()
        && let Some(value) = details.shift_remove(from)
    {
        details.insert(to.into(), value);
    }
    details
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
        event_log.output("stdout", "a");
        event_log.output("stdout", &"ü".repeat(500));
        event_log.output("stderr", "b");
        let (all, next, dropped) = event_log.read(0, &[], 10);
        assert_eq!((all.len(), next, dropped), (2, 3, 0));
        assert_eq!(all[0]["bytes"], 1001);
        assert!(all[0]["text"].as_str().unwrap().len() <= MAX_TEXT_BYTES);
    }

    #[test]
    fn old_entries_go_and_are_counted() {
        let mut event_log = EventLog::default();
        for number in 0..MAX_ENTRIES + 5 {
            event_log.add(if number % 2 == 0 { "stopped" } else { "resumed" }, json!({ "by": null }));
        }
        let (some, next, dropped) = event_log.read(3, &["stopped".into()], 2);
        assert_eq!((some.len(), dropped), (2, 3));
        assert_eq!((&some[0]["n"], &some[1]["n"], next), (&json!(7), &json!(9), 10));
        assert!(some[0].get("by").is_none());
        assert_eq!(event_log.read(next, &[], usize::MAX).1, event_log.next());
    }
}
