//! `terminate`: the program is asked to end, and ended by force when its time is up or somebody asks again.
//!
//! The time counts while the program runs, and anew when it goes on from a stop: who looks at a breakpoint in its shutdown code
//! has all the time there is. How a program is asked is the engine's business; `disconnect`, which is the force, is in
//! [`super::lifecycle`].

use std::collections::BTreeSet;
use std::time::Duration;

use dap_wire::Failure;
use serde_json::{Value, json};

use super::lifecycle::ENDING_DEADLINE;
use super::{ENGINE_DEADLINE, Phase, State};
use crate::engine::{BY_FORCE, HEARS_WHEN_IT_RUNS, STANDS};
use crate::hub::event::{ClientId, Effect, Timer};
use crate::hub::pending::{Asked, Waiter};

/// The launch attribute.
const ATTRIBUTE: &str = "terminateTimeout";
/// How long a program may take to end where the launch does not say.
const USUAL_LIMIT: Duration = Duration::from_secs(30);

/// A program that was asked to end.
#[derive(Debug)]
pub(super) struct Terminating {
    /// Who asked.
    by: BTreeSet<ClientId>,
    /// Where it had stopped before it was asked: at these breakpoints it does not stop again on its way out.
    passes: Vec<i64>,
    /// What was asked of the engine last is the force.
    forced: bool,
}

/// How long a program may take to end after it was asked to; `None`: as long as it likes.
///
/// # Errors
/// `INVALID_PARAMETER` when the attribute is no whole number.
pub(super) fn limit(attributes: &Value, attached: bool) -> Result<Option<Duration>, Failure> {
    match &attributes[ATTRIBUTE] {
        Value::Null => Ok((!attached).then_some(USUAL_LIMIT)),
        value => match value.as_i64() {
            Some(limit) => Ok(u64::try_from(limit).ok().map(Duration::from_millis)),
            None => Err(Failure::invalid(format!(
                "`{ATTRIBUTE}` must be a whole number of milliseconds, not {value}"
            ))
            .hint("0 ends the program by force at once, -1 never does")),
        },
    }
}

impl State {
    pub(super) fn terminate(&mut self, asked: Asked) {
        if let Err(failure) = self.need_program() {
            return self.refuse(&asked, failure);
        }
        self.tell_deed(asked.client, "terminate", &Value::Null);
        // A program that has not begun has nothing to put in order.
        let not_begun = !self.attached && (!self.configured || self.restart.is_some());
        let known = self.terminating.as_ref();
        let again = known.is_some_and(|known| known.by.contains(&asked.client));
        let forced = known.is_some_and(|known| known.forced);
        if again && !forced {
            let by = self.name_of(asked.client);
            self.note_ending(&format!("{by} asks the program again to end: it is ended by force."));
        }
        if again || not_begun || self.limit == Some(Duration::ZERO) {
            self.terminating_by(asked.client);
            return self.end_by_force(Waiter::Terminate { asked, stop: None });
        }
        let stop = match &self.phase {
            Phase::Stopped { .. } => {
                self.pass_where_it_stopped(asked.client);
                // An evaluation that takes its time, and whatever waits behind it, is in the way.
                let tickets = self.pending.inspections();
                self.effects.extend(tickets.into_iter().map(|ticket| Effect::Cancel { ticket }));
                Some(self.stops)
            }
            // It was asked, and its time runs.
            _ if self.terminating.is_some() => {
                self.terminating_by(asked.client);
                return self.answer(&asked, Ok(Value::Null));
            }
            _ => {
                self.pass_where_it_stopped(asked.client);
                self.start_ending_clock();
                None
            }
        };
        let arguments = json!({ STANDS: stop.is_some() });
        self.ask_engine(Waiter::Terminate { asked, stop }, "terminate", arguments, ENGINE_DEADLINE);
    }

    /// A loop that has stopped at a breakpoint would do so again before the program hears that it is to end; code that runs at
    /// shutdown has not stopped yet.
    fn pass_where_it_stopped(&mut self, client: ClientId) {
        let passes: Vec<i64> = self.judging.stopped_at.iter().copied().collect();
        self.terminating_by(client).passes.clone_from(&passes);
        self.push_again(&passes);
    }

    fn terminating_by(&mut self, client: ClientId) -> &mut Terminating {
        let new = || Terminating { by: BTreeSet::new(), passes: Vec::new(), forced: false };
        let terminating = self.terminating.get_or_insert_with(new);
        terminating.by.insert(client);
        terminating
    }

    /// The engine asked the program to end, or could not; `stop` is where it stood then.
    pub(super) fn asked_to_end(&mut self, asked: Asked, stop: Option<u64>, result: Result<Value, Failure>) {
        let forced = self.terminating.as_ref().is_some_and(|terminating| terminating.forced);
        let body = match result {
            Ok(body) => body,
            Err(failure) if self.is_live() => {
                if forced {
                    self.effects.push(Effect::KillProgram);
                } else {
                    self.pass_no_more();
                    self.terminating = None;
                }
                return self.refuse(&asked, failure);
            }
            Err(_) => Value::Null,
        };
        let stands = matches!(self.phase, Phase::Stopped { .. }) && stop == Some(self.stops);
        if !stands || self.pending.resume().is_some() || body[HEARS_WHEN_IT_RUNS] != true {
            return self.answer(&asked, Ok(Value::Null));
        }
        let arguments = json!({ "threadId": self.stopped_thread() });
        self.ask_engine(Waiter::Resume(asked), "continue", arguments, ENGINE_DEADLINE);
    }

    /// The breakpoints that do not stop the program on its way out.
    pub(super) fn passed(&self) -> &[i64] {
        self.terminating.as_ref().map_or(&[], |terminating| &terminating.passes)
    }

    /// Whether a stop is one of those, which was on its way when the engine was told.
    pub(super) fn passes(&self, hit: &[i64]) -> bool {
        !hit.is_empty() && hit.iter().all(|id| self.passed().contains(id))
    }

    /// The program goes on after all: they stop it again.
    fn pass_no_more(&mut self) {
        let passes = self.terminating.as_mut().map(|terminating| std::mem::take(&mut terminating.passes));
        self.push_again(&passes.unwrap_or_default());
    }

    /// The program that was asked to end runs: its time counts from here.
    pub(super) fn start_ending_clock(&mut self) {
        if let Some(Terminating { forced: false, .. }) = self.terminating {
            let timer = Timer::Terminate(self.stops);
            self.effects.push(Effect::StartTimer { timer, after: self.limit.unwrap_or(USUAL_LIMIT) });
        }
    }

    /// The program had its time; `since` is the resume that it counts from.
    pub(super) fn ending_is_late(&mut self, since: u64) {
        let is_asked = matches!(self.terminating, Some(Terminating { forced: false, .. }));
        let stands = matches!(self.phase, Phase::Stopped { .. });
        if !is_asked || stands || !self.is_live() || self.stops != since {
            return;
        }
        match self.limit {
            Some(limit) => {
                self.note_ending(&format!(
                    "The program has not ended within {} s of being asked to (`{ATTRIBUTE}`): it is ended by force.",
                    limit.as_secs_f64()
                ));
                self.end_by_force(Waiter::Nobody);
            }
            None => {
                self.pass_no_more();
                self.note_ending(&format!(
                "The program has not ended within {} s of being asked to, and goes on: to end it by force, ask again, or \
                 disconnect with `terminateDebuggee`.",
                USUAL_LIMIT.as_secs()
            ));
            }
        }
    }

    fn end_by_force(&mut self, waiter: Waiter) {
        if let Some(terminating) = &mut self.terminating {
            terminating.forced = true;
        }
        self.ask_engine(waiter, "terminate", json!({ BY_FORCE: true }), ENDING_DEADLINE);
    }

    fn note_ending(&mut self, text: &str) {
        self.note_all(&json!({ "category": "console", "output": format!("{text}\n") }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hub::event::Event;
    use crate::hub::state::races::{AGENT, EDITOR, Table};

    /// The engine has sent the signal.
    fn sent(table: &mut Table) {
        table.answer("terminate", Ok(json!({ HEARS_WHEN_IT_RUNS: true })));
    }

    fn time_passes(table: &mut Table) {
        for timer in std::mem::take(&mut table.timers) {
            table.feed(Event::TimerFired(timer));
        }
    }

    fn is_forced(table: &Table) -> bool {
        table.asked_for("terminate")[BY_FORCE] == true
    }

    #[test]
    fn the_time_counts_while_the_program_runs() {
        let mut table = Table::laid_for("launch", true, json!({}));
        table.ask(EDITOR, "terminate", json!({}));
        sent(&mut table);
        table.say("stopped", json!({ "reason": "exception", "threadId": 1 }));
        time_passes(&mut table);
        assert!(!table.asked().contains(&"terminate"), "{:?}", table.asked());
        table.ask(AGENT, "continue", json!({ "threadId": 1 }));
        table.answer("continue", Ok(Value::Null));
        assert_eq!(table.timers.len(), 1);
        time_passes(&mut table);
        assert!(is_forced(&table));
        assert!(table.look().iter().any(|line| line.contains("(`terminateTimeout`): it is ended by force")));
    }

    #[test]
    fn a_program_without_a_limit_is_told_of_and_goes_on() {
        let attach = json!({ "processId": 7 });
        for (command, attributes) in [("attach", attach), ("launch", json!({ ATTRIBUTE: -1 }))] {
            let mut table = Table::laid_for(command, true, attributes);
            table.ask(EDITOR, "terminate", json!({}));
            sent(&mut table);
            time_passes(&mut table);
            assert!(!table.asked().contains(&"terminate"));
            assert!(table.look().iter().any(|line| line.contains("ask again, or disconnect")));
            table.ask(EDITOR, "terminate", json!({}));
            assert!(is_forced(&table));
        }
    }

    #[test]
    fn a_stop_that_was_not_known_when_the_program_was_asked_to_end_is_shown() {
        let mut table = Table::laid_for("launch", true, json!({}));
        table.ask(EDITOR, "terminate", json!({}));
        table.say("stopped", json!({ "reason": "breakpoint", "threadId": 1 }));
        sent(&mut table);
        assert_eq!(table.asked(), [""; 0]);
        // Another client's word resumes it, and ends nothing by force.
        table.look();
        table.ask(AGENT, "terminate", json!({}));
        assert!(!is_forced(&table));
        sent(&mut table);
        table.answer("continue", Ok(Value::Null));
        assert_eq!(table.look(), ["agent: ok terminate", "editor: continued", "agent: continued"]);
    }

    #[test]
    fn where_it_stood_it_does_not_stop_again() {
        let mut table = Table::laid_for("launch", true, json!({}));
        table.set(EDITOR, json!([{ "line": 5 }, { "line": 6 }]));
        table.take(&[1, 2]);
        let stop = |id: i64| json!({ "reason": "breakpoint", "threadId": 1, "hitBreakpointIds": [id] });
        table.say("stopped", stop(1));
        table.ask(EDITOR, "terminate", json!({}));
        assert_eq!(table.take(&[2]), json!([{ "line": 6 }]));
        sent(&mut table);
        table.answer("continue", Ok(Value::Null));
        table.look();
        // It was on its way.
        table.say("stopped", stop(1));
        assert_eq!((table.look(), table.asked()), (Vec::new(), vec!["continue"]));
        table.answer("continue", Ok(Value::Null));
        table.say("stopped", stop(2));
        assert_eq!(table.look().len(), 2);
        // Asked to end where it stands now, it does not stop here either.
        table.ask(AGENT, "terminate", json!({}));
        assert_eq!(table.take(&[]), json!([]));
    }

    #[test]
    fn where_it_stopped_before_it_does_not_stop_either() {
        let mut table = Table::laid_for("launch", true, json!({}));
        table.set(EDITOR, json!([{ "line": 5 }, { "line": 6 }]));
        table.take(&[1, 2]);
        table.say("stopped", json!({ "reason": "breakpoint", "threadId": 1, "hitBreakpointIds": [1] }));
        table.ask(EDITOR, "next", json!({ "threadId": 1 }));
        table.answer("next", Ok(Value::Null));
        table.say("stopped", json!({ "reason": "step", "threadId": 1 }));
        table.ask(EDITOR, "terminate", json!({}));
        assert_eq!(table.take(&[2]), json!([{ "line": 6 }]));
    }

    #[test]
    fn a_program_that_cannot_be_asked_is_as_it_was() {
        let mut table = Table::laid_for("launch", true, json!({}));
        table.ask(EDITOR, "terminate", json!({}));
        table.answer("terminate", Err(Failure::cancelled()));
        time_passes(&mut table);
        table.ask(EDITOR, "terminate", json!({}));
        assert!(!is_forced(&table));
    }

    #[test]
    fn the_limit_is_the_attribute_in_milliseconds() {
        let limit = |value: Value, attached| limit(&json!({ ATTRIBUTE: value }), attached);
        assert_eq!(limit(Value::Null, false).unwrap(), Some(USUAL_LIMIT));
        assert_eq!(limit(Value::Null, true).unwrap(), None);
        assert_eq!(limit(json!(1500), true).unwrap(), Some(Duration::from_millis(1500)));
        assert_eq!(limit(json!(0), false).unwrap(), Some(Duration::ZERO));
        assert_eq!(limit(json!(-1), false).unwrap(), None);
        for wrong in [json!("5"), json!(1.5), json!(true), json!({})] {
            assert!(limit(wrong, false).is_err());
        }
    }
}
