//! What a hit of a breakpoint means: conditions, hit counts, log messages.

use std::sync::mpsc::Receiver;

use cordebug::frame::Breakpoint;
use serde_json::Value;

use crate::engine::coreclr::session::{Input, Session};
use crate::engine::hit_condition::hit_condition;

/// What a hit means.
pub(crate) enum Verdict {
    /// Nothing: a condition does not hold, or only something was logged.
    GoOn,
    /// The program stops for these breakpoints.
    Stop(Vec<i64>),
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
        let mut stop = Vec::new();
        for (id, wish) in wants {
            let condition = wish["condition"].as_str().map(|text| self.condition_holds(text, thread, inputs));
            match condition {
                Some(Ok(false)) => continue,
                Some(Err(failure)) => {
                    let text = wish["condition"].as_str().unwrap_or_default();
                    self.note(&format!(
                        "The condition `{text}` cannot be evaluated, so the program stops: {failure}"
                    ));
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
                None => stop.push(id),
            }
        }
        if stop.is_empty() { Verdict::GoOn } else { Verdict::Stop(stop) }
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

#[derive(Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Expression(String),
}

/// A log message in parts: `{expression}`, with braces and strings inside it; `{{` and `}}` are braces themselves.
fn pieces(message: &str) -> Vec<Piece> {
    let (mut pieces, mut text) = (Vec::new(), String::new());
    let mut rest = message;
    while let Some(letter) = rest.chars().next() {
        let behind = rest.get(letter.len_utf8()..).unwrap_or_default();
        let doubled = matches!(letter, '{' | '}') && behind.starts_with(letter);
        match (letter, expression(behind)) {
            _ if doubled => {
                text.push(letter);
                rest = behind.get(1..).unwrap_or_default();
            }
            ('{', Some((inner, after))) => {
                if !text.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut text)));
                }
                pieces.push(Piece::Expression(inner.trim().to_owned()));
                rest = after;
            }
            _ => {
                text.push(letter);
                rest = behind;
            }
        }
    }
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    pieces
}

/// What stands before the brace that closes, and what follows it.
fn expression(text: &str) -> Option<(&str, &str)> {
    let (mut open, mut quote, mut escaped) = (0usize, None, false);
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(end), _) if letter == end => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(letter),
            (None, '{') => open += 1,
            (None, '}') if open == 0 => {
                let inner = text.get(..at).filter(|inner| !inner.trim().is_empty())?;
                return Some((inner, text.get(at + 1..)?));
            }
            (None, '}') => open -= 1,
            (None, _) => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_messages_are_cut_at_their_expressions() {
        let text = |text: &str| Piece::Text(text.into());
        let expression = |text: &str| Piece::Expression(text.into());
        assert_eq!(pieces("a {b} c"), [text("a "), expression("b"), text(" c")]);
        assert_eq!(pieces("{d[\"}\"]}{ x }"), [expression("d[\"}\"]"), expression("x")]);
        assert_eq!(pieces("{new { a = 1 }}"), [expression("new { a = 1 }")]);
        assert_eq!(pieces("{{json}} {}"), [text("{json} {}")]);
        assert_eq!(pieces("open {a"), [text("open {a")]);
    }
}
