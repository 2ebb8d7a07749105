//! What a hit of a breakpoint means: conditions, hit counts, log messages.

use std::sync::mpsc::Receiver;

use cordebug::frame::Breakpoint;
use serde_json::Value;

use crate::engine::coreclr::session::{Input, Session};
use crate::engine::hit_condition::{condition_failed, hit_condition};
use crate::engine::log_message::{Piece, pieces};

/// What a hit means.
pub(crate) enum Verdict {
    /// Nothing: a condition does not hold, or only something was logged.
    GoOn,
    /// The program stops for these breakpoints.
    Stop {
        /// Their ids.
        hit: Vec<i64>,
        /// Conditions that could not be evaluated, each with the reason.
        failed: Vec<String>,
    },
}

impl Session {
    /// Judges a hit for every breakpoint that wants its site.
    pub(crate) fn judge(&mut self, thread: u32, hit: &Breakpoint, inputs: &Receiver<Input>) -> Verdict {
        let Some(key) =
            self.breakpoints.sites.iter().find(|site| site.breakpoint.is(hit)).map(|site| site.key)
        else {
            return Verdict::GoOn;
        };
        let wants: Vec<(i64, Value)> = self
            .breakpoints
            .places
            .values()
            .flatten()
            .filter(|wanted| wanted.sites.contains(&key))
            .map(|wanted| (wanted.id, wanted.wish.clone()))
            .collect();
        let (mut hit, mut failed) = (Vec::new(), Vec::new());
        for (id, wish) in wants {
            let condition = wish["condition"].as_str().map(|text| self.condition_holds(text, thread, inputs));
            match condition {
                Some(Ok(false)) => continue,
                // Neither a count nor a log message hides it: nobody knows what they should have done.
                Some(Err(failure)) => {
                    let text = wish["condition"].as_str().unwrap_or_default();
                    let problem = condition_failed(text, &failure.to_string());
                    self.note(&problem);
                    failed.push(problem);
                    hit.push(id);
                    continue;
                }
                _ => {}
            }
            if !self.counts(id, &wish["hitCondition"]) {
                continue;
            }
            match wish["logMessage"].as_str() {
                Some(message) => {
                    let line = self.interpolate(message, thread, inputs);
                    self.note(&line);
                }
                None => hit.push(id),
            }
        }
        if hit.is_empty() { Verdict::GoOn } else { Verdict::Stop { hit, failed } }
    }

    fn counts(&mut self, id: i64, condition: &Value) -> bool {
        let wanted = self.breakpoints.places.values_mut().flatten().find(|wanted| wanted.id == id);
        let Some(wanted) = wanted else { return false };
        wanted.hits += 1;
        let hits = wanted.hits;
        hit_condition(condition).is_ok_and(|test| test.is_none_or(|test| test.holds(hits)))
    }

    /// Replaces each `{expression}` of a log message by its value.
    fn interpolate(&mut self, message: &str, thread: u32, inputs: &Receiver<Input>) -> String {
        let mut line = String::new();
        for piece in pieces(message) {
            match piece {
                Piece::Text(text) => line.push_str(&text),
                Piece::Expression(expression) => match self.evaluate_to_text(&expression, thread, inputs) {
                    Ok(text) => line.push_str(&text),
                    Err(failure) => line.push_str(&format!("{{{expression}: {failure}}}")),
                },
            }
        }
        line
    }
}
