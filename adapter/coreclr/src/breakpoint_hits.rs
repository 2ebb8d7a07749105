//! Evaluates hits of breakpoints: conditions, hit counts, log messages.
//!
//! Not here: which breakpoints are at a site ([`super::breakpoints`]).

use cordebug::frame::RuntimeBreakpoint;

use super::breakpoints::hits::{HitSite, in_csharp};
use super::session::ClrSession;
use tandem_engine::hit_condition::condition_failed;
use tandem_engine::log_message::{LogMessagePart, line_body, message_parts};

/// The outcome of a hit.
pub(super) enum HitOutcome {
    /// Continue: a condition does not hold, or the breakpoint only logs.
    Continue,
    /// Stop for these breakpoints.
    Stop {
        /// Ids of the breakpoints that were hit.
        hit: Vec<i64>,
        /// Conditions that could not be evaluated, each with the reason.
        failed: Vec<String>,
    },
}

impl ClrSession {
    /// Evaluates a hit for every breakpoint of its site.
    pub(crate) fn evaluate_hit(&mut self, thread: u32, hit: &RuntimeBreakpoint) -> HitOutcome {
        let Some(HitSite { place, requests }) = self.breakpoints.site_of(hit) else {
            return HitOutcome::Continue;
        };
        let (mut hit, mut failed) = (Vec::new(), Vec::new());
        for (id, request) in requests {
            let condition = request.condition.as_deref();
            match condition.map(|text| (text, self.condition_holds(text, thread, place))) {
                Some((_, Ok(false))) => continue,
                // Neither a hit count nor a log message hides a failed condition: their effect depends on it.
                Some((text, Err(failure))) => {
                    let problem = condition_failed(text, &failure.to_string());
                    if self.breakpoints.is_new_problem(id, &problem) {
                        self.hub.outbox.note(&problem);
                    }
                    failed.push(problem);
                    hit.push(id);
                    continue;
                }
                _ => {}
            }
            if !self.breakpoints.count_hit(id, &request) {
                continue;
            }
            match &request.log_message {
                Some(message) => {
                    let line = self.interpolate(message, thread);
                    self.hub.outbox.send(&line_body(&line));
                }
                None => hit.push(id),
            }
        }
        if hit.is_empty() { HitOutcome::Continue } else { HitOutcome::Stop { hit, failed } }
    }

    /// Replaces each `{expression}` of a log message by its value.
    fn interpolate(&mut self, message: &str, thread: u32) -> String {
        let mut line = String::new();
        for piece in message_parts(message) {
            match piece {
                LogMessagePart::Text(text) => line.push_str(&text),
                LogMessagePart::Expression(expression) => {
                    match self.evaluate_to_text(&in_csharp(&expression), thread) {
                        Ok(text) => line.push_str(&text),
                        Err(failure) => line.push_str(&format!("{{{expression}: {failure}}}")),
                    }
                }
            }
        }
        line
    }
}
