//! The engine of a simulation: it carries out requests late, in any order, and sometimes not at all.

use serde_json::{Value, json};
use tandem_wire::{ErrorCode, Failure};

use super::{FILES, RESUMES, Simulation};
use crate::event::HubEvent;
use tandem_engine::{EngineAnswer, EngineEvent};

impl Simulation {
    pub(super) fn emit(&mut self, event: &str, body: Value) {
        if self.made && !self.dead {
            self.trace.push(format!("engine: {event} {body}"));
            self.feed(HubEvent::EngineEvent(EngineEvent::Dap { event: event.into(), body }));
        }
    }

    /// A thread reaches a breakpoint of the engine, or stops for another reason.
    pub(super) fn stop(&mut self, what: u8) {
        if self.over || self.dead || !self.configured {
            return;
        }
        let file = usize::from(what & 1);
        let here = (String::from("setBreakpoints"), String::from(FILES[file]));
        let held = self.held.get(&here).cloned().unwrap_or_default();
        self.stopped = true;
        match held.get(usize::from(what >> 2) % held.len().max(1)) {
            Some((request, id)) => {
                self.location = (file, request["line"].as_i64().unwrap_or(1));
                let mut body = json!({ "reason": "breakpoint", "threadId": 1 });
                if what & 2 == 0 {
                    body["hitBreakpointIds"] = json!([id]);
                }
                self.emit("stopped", body);
            }
            None => self.emit("stopped", json!({ "reason": "step", "threadId": 1 })),
        }
    }

    /// The engine finds a better line for one of its breakpoints.
    pub(super) fn rebind(&mut self, at: usize) {
        let all: Vec<(Value, i64)> = self.held.values().flatten().cloned().collect();
        if !all.is_empty() {
            let (request, id) = &all[at % all.len()];
            // Two mirrors that end up on one line are one to an editor's user: who sees what is not checked
            // then.
            let moves = at.is_multiple_of(7);
            if moves {
                self.uncertain = true;
                self.clients.values_mut().for_each(|view| view.uncertain = true);
            }
            let line = request["line"].as_i64().map(|line| line + i64::from(moves));
            let body =
                json!({ "reason": "changed", "breakpoint": { "id": id, "verified": true, "line": line } });
            self.emit("breakpoint", body);
        }
    }

    pub(super) fn reply(&mut self, at: usize, how: u8) {
        if self.requests.is_empty() {
            return;
        }
        let (ticket, command, arguments, refuses) = self.requests.remove(at % self.requests.len());
        let result = if self.dead || refuses && RESUMES.contains(&command.as_str()) {
            Err(Failure::cancelled())
        } else {
            self.engine(&command, &arguments, how)
        };
        self.feed(HubEvent::EngineReplied { ticket, result });
    }

    fn engine(&mut self, command: &str, arguments: &Value, how: u8) -> Result<EngineAnswer, Failure> {
        match command {
            "terminate" if how & 1 == 0 => Ok(EngineAnswer::SignalPending),
            _ => self.body(command, arguments, how).map(EngineAnswer::Body),
        }
    }

    fn body(&mut self, command: &str, arguments: &Value, how: u8) -> Result<Value, Failure> {
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
                    .map(|request| {
                        self.last_id += 1;
                        (request.clone(), self.last_id)
                    })
                    .collect();
                let reported: Vec<Value> = list
                    .iter()
                    .map(|(request, id)| {
                        json!({ "id": id, "verified": how & 1 == 0,
                        "line": request["line"] })
                    })
                    .collect();
                self.held.insert((command.into(), path.into()), list);
                Ok(json!({ "breakpoints": reported }))
            }
            "stackTrace" => {
                let frame = json!({ "id": 7, "name": "f", "line": self.location.1, "column": 1, "source": {
                    "path": FILES[self.location.0] } });
                Ok(json!({ "stackFrames": [frame] }))
            }
            "evaluate" if fails => Err(Failure::new(ErrorCode::EvaluationFailed, "no")),
            "evaluate" => Ok(json!({ "result": (how & 1 == 0).to_string(), "variablesReference": 0 })),
            "pause" if !self.stopped && !self.over => {
                self.stopped = true;
                self.emit("stopped", json!({ "reason": "pause", "threadId": 1 }));
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
    pub(super) fn refuses_to_resume(&self) -> bool {
        self.seq % 5 == 4
    }
}
