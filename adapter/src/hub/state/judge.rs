//! Stops the hub judges itself: a breakpoint of several owners on an engine that keeps one per line, or a condition,
//! hit count or log message an engine does not know.
//!
//! The engine stops each time. Nobody is told until it is known who wants the stop: for each owner's wish the condition
//! is evaluated on top of the stack, the hit counted, the log message written. When nobody wants it the program goes on,
//! and no client ever saw it stand. Only what somebody waits for is never taken away: a step that came by ends there as
//! a step, and a pause that was asked for meanwhile is one.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use dap_wire::Failure;
use serde_json::{Value, json};

use super::values_at_hit::{Values, Written};
use super::{ENGINE_DEADLINE, Phase, State};
use crate::engine::CONDITION_FAILURE;
use crate::engine::hit_condition::{CONDITION_FAILED, HitTest, condition_failed, hit_condition};
use crate::hub::breakpoints::Suspect;
use crate::hub::event::ClientId;
use crate::hub::pending::Waiter;

/// How long one condition, or one piece of a log message, may take.
const QUESTION_DEADLINE: Duration = Duration::from_secs(5);

/// Stops nobody was told of.
#[derive(Debug, Default)]
pub(super) struct Judging {
    now: Option<Judgement>,
    /// Stops of other threads that came meanwhile.
    next: VecDeque<Value>,
    /// A client asked for a pause that has not come.
    pub(super) pause_wanted: bool,
    /// The breakpoints at which this program has stopped.
    pub(super) stopped_at: BTreeSet<i64>,
    /// What a client let the program do last.
    pub(super) last_resume: String,
    /// A stop nobody wants, until all that came with it are known.
    unwanted: Option<Value>,
    /// Questions are counted: an answer that comes after its stop is over is nobody's.
    questions: u64,
}

#[derive(Debug)]
struct Judgement {
    /// Body of the engine's `stopped`.
    body: Value,
    /// The engine's id of the frame on top, once it is known.
    frame: Value,
    /// Who may want the stop; `None` until the place is known.
    suspects: Option<VecDeque<Suspect>>,
    /// What is being found out about the first suspect.
    step: Step,
    /// Who wants the stop.
    wanted: Vec<i64>,
    /// Conditions that could not be evaluated, each with the reason.
    failed: Vec<String>,
    /// It names only breakpoints that are gone, or that have other ids by now.
    late: bool,
    question: u64,
}

#[derive(Debug)]
enum Step {
    Frame,
    Condition,
    /// A log message or a trace.
    Values(Values),
}

impl State {
    /// The engine says the program stands.
    pub(super) fn engine_stopped(&mut self, body: Value) {
        self.answer_resume();
        self.judging.next.push_back(if body.is_object() { body } else { json!({}) });
        self.next_stop();
    }

    /// Takes up stops until one has to be judged; when all are known, the program goes on if nobody wants any.
    fn next_stop(&mut self) {
        while self.judging.now.is_none()
            && let Some(body) = self.judging.next.pop_front()
        {
            self.consider(body);
        }
        if self.judging.now.is_none() {
            // Where clients know of another stop the program stands, whoever wants this one.
            if let Some(body) = self.judging.unwanted.take()
                && !matches!(self.phase, Phase::Stopped { .. })
            {
                self.go_on(body);
            }
        }
    }

    /// Tells of a stop, or finds out first who wants it.
    fn consider(&mut self, body: Value) {
        let mut body = body;
        let told = body.as_object_mut().and_then(|body| body.shift_remove(CONDITION_FAILURE));
        let mut hit = self.ledger.hit(&body["hitBreakpointIds"]);
        let named = body["hitBreakpointIds"].as_array().is_some_and(|ids| !ids.is_empty());
        let is_breakpoint = body["reason"].as_str().is_some_and(|reason| reason.ends_with("breakpoint"));
        if let Some(told) = told {
            // Of several conditions that the engine had as one, only some have failed.
            match named {
                true if hit.iter().any(Suspect::has_open_condition) => {}
                false if is_breakpoint && self.ledger.judges() => body[CONDITION_FAILURE] = told,
                _ => return self.tell_failed_condition(body, &told),
            }
        }
        let late = hit.is_empty() && self.ledger.had(&body["hitBreakpointIds"]);
        without_traced(&mut hit);
        let open = match named {
            true => late || hit.iter().any(|suspect| suspect.judged),
            false => self.ledger.judges(),
        };
        if !is_breakpoint || !open {
            return self.tell_stop(body, &ids(&hit));
        }
        let thread = body["threadId"].clone();
        self.judging.now = Some(Judgement {
            body,
            frame: Value::Null,
            suspects: (named && !late).then(|| hit.into()),
            step: Step::Frame,
            wanted: Vec::new(),
            failed: Vec::new(),
            late,
            question: 0,
        });
        self.question("stackTrace", json!({ "threadId": thread, "startFrame": 0, "levels": 1 }));
    }

    fn question(&mut self, command: &str, arguments: Value) {
        self.judging.questions += 1;
        let question = self.judging.questions;
        if let Some(judgement) = &mut self.judging.now {
            judgement.question = question;
        }
        self.ask_engine(Waiter::Question(question), command, arguments, QUESTION_DEADLINE);
    }

    /// The engine answered a question.
    pub(super) fn question_answered(&mut self, question: u64, result: Result<Value, Failure>) {
        let Some(mut judgement) = self.judging.now.take_if(|judgement| judgement.question == question) else {
            return;
        };
        match (std::mem::replace(&mut judgement.step, Step::Frame), result) {
            (Step::Frame, Ok(stack)) => {
                let frame = &stack["stackFrames"][0];
                judgement.frame = frame["id"].clone();
                let (path, line) = (frame["source"]["path"].as_str(), frame["line"].as_i64());
                let mut here =
                    path.zip(line).map(|(path, line)| self.ledger.hit_at(path, line)).unwrap_or_default();
                without_traced(&mut here);
                let suspects = judgement.suspects.get_or_insert_with(|| here.into());
                if judgement.late && suspects.is_empty() {
                    // What it stopped for was removed while it stopped.
                    self.judging.unwanted = Some(judgement.body);
                    return self.next_stop();
                }
                if !suspects.iter().any(Suspect::has_open_condition) {
                    let failed = judgement.body.as_object_mut();
                    if let Some(told) = failed.and_then(|body| body.shift_remove(CONDITION_FAILURE)) {
                        self.tell_failed_condition(judgement.body, &told);
                        return self.next_stop();
                    }
                }
                if !suspects.iter().any(|suspect| suspect.judged) {
                    // It stopped for something that is not ours to judge.
                    let hit = ids(suspects.make_contiguous());
                    self.tell_stop(judgement.body, &hit);
                    return self.next_stop();
                }
                self.judge(judgement);
            }
            (Step::Frame, Err(failure)) => {
                tracing::warn!(%failure, "a stop could not be judged: no stack");
                // Which of the conditions hold is not known: what may not have been hit is not named.
                let hit = judgement.suspects.map(|mut suspects| {
                    suspects.retain(|suspect| !suspect.judged);
                    ids(suspects.make_contiguous())
                });
                self.tell_stop(judgement.body, &hit.unwrap_or_default());
                self.next_stop();
            }
            (Step::Condition, answer) => self.condition_known(judgement, answer),
            (Step::Values(mut values), answer) => {
                values.take(answer);
                self.find_values(judgement, values);
            }
        }
    }

    /// Takes up the first suspect that is left.
    fn judge(&mut self, mut judgement: Judgement) {
        let suspects = judgement.suspects.get_or_insert_default();
        while suspects.front().is_some_and(|suspect| !suspect.judged) {
            judgement.wanted.extend(suspects.pop_front().map(|suspect| suspect.id));
        }
        let Some(suspect) = suspects.front() else { return self.judged(judgement) };
        match suspect.wish["condition"].as_str() {
            Some(condition) => {
                judgement.step = Step::Condition;
                let condition = condition.to_owned();
                self.evaluate_here(judgement, &condition);
            }
            None => self.counted(judgement),
        }
    }

    fn evaluate_here(&mut self, judgement: Judgement, expression: &str) {
        let arguments = json!({ "expression": expression, "frameId": judgement.frame, "context": "watch" });
        self.judging.now = Some(judgement);
        self.question("evaluate", arguments);
    }

    fn condition_known(&mut self, mut judgement: Judgement, answer: Result<Value, Failure>) {
        let lenient = self.engine.as_deref() == Some("rdbg");
        match answer {
            Ok(body) if !is_true(body["result"].as_str().unwrap_or_default(), lenient) => {
                judgement.suspects.get_or_insert_default().pop_front();
                self.judge(judgement);
            }
            Ok(_) => self.counted(judgement),
            // Neither a count nor a log message hides it: nobody knows what they should have done.
            Err(failure) => {
                if let Some(first) = judgement.suspects.get_or_insert_default().pop_front() {
                    let text = first.wish["condition"].as_str().unwrap_or_default();
                    let problem = condition_failed(text, &failure.to_string());
                    self.write_note(&problem);
                    judgement.failed.push(problem);
                    judgement.wanted.push(first.id);
                }
                self.judge(judgement);
            }
        }
    }

    /// The engine stopped because it could not evaluate a condition, and says why.
    fn tell_failed_condition(&mut self, mut body: Value, told: &Value) {
        let hit = ids(&self.ledger.hit(&body["hitBreakpointIds"]));
        let (condition, reason) = (told["condition"].as_str(), told["reason"].as_str().unwrap_or_default());
        let own = || {
            hit.iter().find_map(|id| self.ledger.entry(*id)?.wish["condition"].as_str().map(str::to_owned))
        };
        let condition = condition.map(str::to_owned).or_else(own).unwrap_or_default();
        let problem = condition_failed(&condition, reason);
        self.write_note(&problem);
        name_failed(&mut body, &[problem]);
        self.tell_stop(body, &hit);
    }

    /// The condition holds: the hit counts, and is logged or wanted.
    fn counted(&mut self, mut judgement: Judgement) {
        let Some(suspect) = judgement.suspects.get_or_insert_default().front().cloned() else {
            return self.judged(judgement);
        };
        let hits = self.ledger.count(suspect.id);
        let counts = match hit_condition(&suspect.wish["hitCondition"]) {
            Ok(test) => test.is_none_or(|test: HitTest| test.holds(hits)),
            Err(problem) => {
                self.write_note(&format!("{problem}; so each hit counts"));
                true
            }
        };
        match Values::wanted_by(&suspect.wish, hits) {
            Some(values) if counts => return self.find_values(judgement, values),
            None if counts => judgement.wanted.push(suspect.id),
            _ => {}
        }
        judgement.suspects.get_or_insert_default().pop_front();
        self.judge(judgement);
    }

    /// Asks for the next value of a log message or a trace; with all of them it is written.
    fn find_values(&mut self, mut judgement: Judgement, values: Values) {
        if let Some(expression) = values.next().map(str::to_owned) {
            judgement.step = Step::Values(values);
            return self.evaluate_here(judgement, &expression);
        }
        if let Some(suspect) = judgement.suspects.get_or_insert_default().pop_front() {
            match values.written() {
                Written::Line(line) => self.write_note(&line),
                Written::Row { values, hit, last } => {
                    let body = json!({ "breakpointId": suspect.id, "threadId": judgement.body["threadId"],
                        "hit": hit, "values": values });
                    suspect.owners.iter().for_each(|owner| self.tell(*owner, "traced", &body));
                    if last {
                        judgement.wanted.push(suspect.id);
                    }
                }
            }
        }
        self.judge(judgement);
    }

    fn write_note(&mut self, text: &str) {
        self.tell_all("output", &json!({ "category": "console", "output": format!("{text}\n") }));
    }

    /// Everything about one stop is known.
    fn judged(&mut self, mut judgement: Judgement) {
        name_failed(&mut judgement.body, &judgement.failed);
        if judgement.wanted.is_empty() {
            self.judging.unwanted = Some(judgement.body);
        } else {
            self.tell_stop(judgement.body, &judgement.wanted);
        }
        self.next_stop();
    }

    /// The program stands and clients are told; `hit` are our ids.
    fn tell_stop(&mut self, mut body: Value, hit: &[i64]) {
        if !hit.is_empty() || !body["hitBreakpointIds"].is_null() {
            body["hitBreakpointIds"] = json!(hit);
        }
        if let Some(body) = body.as_object_mut() {
            body.shift_remove(CONDITION_FAILURE);
        }
        if self.passes(hit) {
            self.judging.unwanted = Some(body);
            return;
        }
        self.judging.stopped_at.extend(hit);
        self.judging.pause_wanted = false;
        // A stop while stopped (another thread) is a new stop: what was asked before it is stale.
        self.leave_stop(None);
        self.phase = Phase::Stopped { body: body.clone() };
        self.flush_and_tell("stopped", &body);
    }

    /// Nobody wants the stop.
    fn go_on(&mut self, mut body: Value) {
        let reason = match self.judging.last_resume.as_str() {
            _ if self.judging.pause_wanted => "pause",
            "next" | "stepIn" | "stepOut" | "stepBack" => "step",
            _ => {
                let arguments = json!({ "threadId": body["threadId"] });
                return self.ask_engine(
                    Waiter::GoOn { body, stops: self.stops },
                    "continue",
                    arguments,
                    ENGINE_DEADLINE,
                );
            }
        };
        body["reason"] = json!(reason);
        if let Some(body) = body.as_object_mut() {
            body.shift_remove("hitBreakpointIds");
            body.shift_remove("description");
        }
        self.tell_stop(body, &[]);
    }

    /// The engine let the program go on after a stop nobody wanted, or would not: then it stands, and clients are told.
    /// `stops`: how many were told when it was asked; after another, whether the program went on from this one is old news.
    pub(super) fn went_on(&mut self, body: Value, stops: u64, result: Result<Value, Failure>) {
        if let Err(failure) = result
            && self.is_live()
            && self.stops == stops
            && self.judging.now.is_none()
            && !matches!(self.phase, Phase::Stopped { .. })
        {
            tracing::warn!(%failure, "the program did not go on after a stop nobody wanted");
            self.tell_stop(body, &[]);
        }
    }

    /// A pause that comes while a stop is judged: the program stands already.
    pub(super) fn pause_while_judging(&mut self) -> bool {
        self.judging.pause_wanted = true;
        self.judging.now.is_some()
    }

    /// Stops that are not told of are over.
    pub(super) fn stop_judging(&mut self) {
        let judging = std::mem::take(&mut self.judging);
        self.judging.questions = judging.questions;
        self.judging.stopped_at = judging.stopped_at;
        self.judging.last_resume = judging.last_resume;
    }
}

/// A trace takes the place of its owner's own breakpoints on its line: those would end it at the first hit.
fn without_traced(suspects: &mut Vec<Suspect>) {
    let traces = |suspect: &Suspect| !suspect.wish["trace"].is_null();
    let tracing: BTreeSet<ClientId> = suspects
        .iter()
        .filter(|suspect| traces(suspect))
        .flat_map(|suspect| suspect.owners.clone())
        .collect();
    if !tracing.is_empty() {
        suspects.retain(|suspect| traces(suspect) || !suspect.owners.is_subset(&tracing));
    }
}

/// A stop at a condition that failed says so: the place alone looks as if the condition held.
fn name_failed(body: &mut Value, failed: &[String]) {
    if !failed.is_empty() {
        body["description"] = json!(CONDITION_FAILED);
        body["text"] = json!(failed.join("\n"));
    }
}

fn ids(suspects: &[Suspect]) -> Vec<i64> {
    suspects.iter().map(|suspect| suspect.id).collect()
}

/// Whether a debugger's text for a value means true, in the languages that adapters debug. In Ruby zero and empty things
/// are true.
fn is_true(text: &str, ruby: bool) -> bool {
    let text = text.trim();
    // gdb and lldb show a character with its number first, C++ debuggers a type in front.
    let value = text.rsplit_once(") ").map_or(text, |(_, value)| value);
    let value = value.split(" '").next().unwrap_or(value);
    if matches!(value, "false" | "False" | "nil" | "FALSE") {
        return false;
    }
    let empty = matches!(
        value,
        "" | "None"
            | "null"
            | "NULL"
            | "nullptr"
            | "undefined"
            | "NaN"
            | "nan"
            | "\"\""
            | "''"
            | "[]"
            | "{}"
            | "()"
    );
    let number = value.strip_prefix("0x").map_or_else(
        || value.parse::<f64>().is_ok_and(|number| number == 0.0),
        |digits| !digits.is_empty() && digits.bytes().all(|digit| digit == b'0'),
    );
    ruby || !(empty || number)
}

#[cfg(test)]
mod tests {
    use super::is_true;

    #[test]
    fn truth_is_what_each_language_says() {
        for text in
            ["true", "True", "1", "-1", "0.5", "0x10", "'a'", "\"0\"", "[0]", "(int) 3", "Point { x: 0 }"]
        {
            assert!(is_true(text, false), "{text}");
        }
        for text in [
            "false",
            "False",
            "0",
            "0.0",
            "0x0",
            "None",
            "null",
            "undefined",
            "\"\"",
            "[]",
            "(bool) false",
            "0 '\\000'",
        ] {
            assert!(!is_true(text, false), "{text}");
        }
        assert!(
            is_true("0", true) && is_true("[]", true) && !is_true("nil", true) && !is_true("false", true)
        );
    }
}
