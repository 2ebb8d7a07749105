//! Evaluates hits of breakpoints: conditions, hit counts, log messages.
//!
//! Not here: the locations of breakpoints ([`super::binding`]).

use cordebug::frame::RuntimeBreakpoint;

use super::{Breakpoints, ClrBreakpointRequest};
use crate::session::ClrSession;
use tandem_engine::hit_condition::condition_failed;
use tandem_engine::log_message::{LogMessagePart, line_body, message_parts};

/// The outcome of a hit.
pub(crate) enum HitOutcome {
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

impl Breakpoints {
    fn count_hit(&mut self, id: i64, request: &ClrBreakpointRequest) -> bool {
        let breakpoint = self.lists.values_mut().flatten().find(|breakpoint| breakpoint.id == id);
        let Some(breakpoint) = breakpoint else { return false };
        breakpoint.hits += 1;
        let hits = breakpoint.hits;
        request.hit_test().is_ok_and(|test| test.is_none_or(|test| test.holds(hits)))
    }

    /// Whether a breakpoint's condition failed with another error than last time.
    fn is_new_problem(&mut self, id: i64, problem: &str) -> bool {
        let Some(breakpoint) = self.lists.values_mut().flatten().find(|breakpoint| breakpoint.id == id)
        else {
            return true;
        };
        let is_new = breakpoint.condition_problem.as_deref() != Some(problem);
        breakpoint.condition_problem = Some(problem.to_owned());
        is_new
    }
}

impl ClrSession {
    /// Evaluates a hit for every breakpoint of its site.
    pub(crate) fn evaluate_hit(&mut self, thread: u32, hit: &RuntimeBreakpoint) -> HitOutcome {
        let Some(key) =
            self.breakpoints.sites.iter().find(|site| site.breakpoint.is(hit)).map(|site| site.key)
        else {
            return HitOutcome::Continue;
        };
        let requests: Vec<(i64, ClrBreakpointRequest)> = self
            .breakpoints
            .lists
            .values()
            .flatten()
            .filter(|breakpoint| breakpoint.sites.contains(&key))
            .map(|breakpoint| (breakpoint.id, breakpoint.request.clone()))
            .collect();
        let (mut hit, mut failed) = (Vec::new(), Vec::new());
        for (id, request) in requests {
            let il = if let super::CodeOffset::Il(il) = key.2 { Some(il) } else { None };
            let condition = request.condition.as_deref();
            match condition.map(|text| (text, self.condition_holds(text, thread, (key.0, key.1, il)))) {
                Some((_, Ok(false))) => continue,
                // Neither a hit count nor a log message hides a failed condition: their effect depends on it.
                Some((text, Err(failure))) => {
                    let problem = condition_failed(text, &failure.to_string());
                    if self.breakpoints.is_new_problem(id, &problem) {
                        self.outbox.note(&problem);
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
                    self.outbox.send(&line_body(&line));
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

/// The expression in the braces of a log message; an alignment or format is written as C# would.
pub(super) fn in_csharp(expression: &str) -> String {
    match clauses(expression) {
        Some((value, clauses)) => format!("$\"{{({value}){clauses}}}\""),
        None => expression.to_owned(),
    }
}

/// Cuts `total,8:F2` before its alignment or format; `None` if it has neither. The colon of `a ? b : c`
/// does not start a format.
fn clauses(expression: &str) -> Option<(&str, &str)> {
    let (mut open, mut choices) = (0usize, 0usize);
    let mut letters = expression.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let next = letters.peek().map(|(_, next)| *next);
        match letter {
            '"' | '\'' => skip_literal(letter, &mut letters),
            '(' | '[' | '{' => open += 1,
            ')' | ']' | '}' => open = open.saturating_sub(1),
            _ if open > 0 => {}
            '?' if matches!(next, Some('?' | '.' | '[')) => {
                letters.next_if(|(_, next)| *next == '?');
            }
            '?' => choices += 1,
            ':' if next == Some(':') => {
                letters.next();
            }
            ':' if choices > 0 => choices -= 1,
            ':' => return expression.split_at_checked(at),
            ',' => {
                let width = expression.get(at + 1..)?.split(':').next()?.trim();
                if width.parse::<i32>().is_ok() {
                    return expression.split_at_checked(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// Skips to the end of a literal, past its closing quote.
fn skip_literal(quote: char, letters: &mut impl Iterator<Item = (usize, char)>) {
    while let Some((_, letter)) = letters.next() {
        match letter {
            '\\' => drop(letters.next()),
            _ if letter == quote => return,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alignment_and_format_are_distinguished_from_lookalikes() {
        for (text, cut) in [
            ("x:D3", Some(("x", ":D3"))),
            ("total,8:F2", Some(("total", ",8:F2"))),
            ("name, -6", Some(("name", ", -6"))),
            ("when:HH:mm:ss", Some(("when", ":HH:mm:ss"))),
            ("map[\"a:b\"]:X", Some(("map[\"a:b\"]", ":X"))),
            ("a?.B ?? c:D2", Some(("a?.B ?? c", ":D2"))),
            ("f(a, 5)", None),
            ("a ? b : c", None),
            ("(a ? b : c):D3", Some(("(a ? b : c)", ":D3"))),
            ("global::N.C.Field", None),
            ("x,h", None),
            ("'\\'', 3", Some(("'\\''", ", 3"))),
            ("", None),
        ] {
            assert_eq!(clauses(text), cut, "{text}");
        }
    }
}
