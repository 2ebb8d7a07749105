//! What a hit that does not stop the program writes: a log message, or a row of a trace. Each expression is evaluated by itself,
//! as any other (`evaluate` in the frame on top), and its value or its error is put where it belongs: an expression is never a
//! part of any text that somebody takes apart again. Nothing is asked here; that is [`super::judge`]'s.

use dap_wire::Failure;
use serde_json::{Value, json};

use crate::engine::log_message::{Piece, pieces};

/// Longest value of a row, bytes: an adapter may answer with a whole file.
const LONGEST: usize = 16 * 1024;

/// Values that are being found out, one expression after the other.
#[derive(Debug)]
pub(super) struct Values {
    pieces: Vec<Piece>,
    /// Answers to the expressions among the pieces, as far as they are known.
    found: Vec<Result<Value, Failure>>,
    kind: Kind,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Log,
    Trace { hit: u64, last: bool },
}

/// What comes of it.
#[derive(Debug)]
pub(super) enum Written {
    /// A line for the console.
    Line(String),
    /// A row for those who trace.
    Row {
        /// One for each expression: `value` and `type`, or `error`.
        values: Vec<Value>,
        /// Its number, from 1.
        hit: u64,
        /// The program stops here.
        last: bool,
    },
}

impl Values {
    /// What the wish wants of its hit with this number; `None` for a stop.
    pub(super) fn wanted_by(wish: &Value, hit: u64) -> Option<Self> {
        if let Some(message) = wish["logMessage"].as_str() {
            return Some(Self { pieces: pieces(message), found: Vec::new(), kind: Kind::Log });
        }
        let traced = wish["trace"]["expressions"].as_array()?;
        let texts = traced.iter().filter_map(Value::as_str);
        let pieces = texts.map(|text| Piece::Expression(text.to_owned())).collect();
        let last = wish["trace"]["hits"].as_u64().is_some_and(|hits| hit >= hits);
        Some(Self { pieces, found: Vec::new(), kind: Kind::Trace { hit, last } })
    }

    /// The expression to evaluate next.
    pub(super) fn next(&self) -> Option<&str> {
        let mut expressions = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Expression(expression) => Some(expression.as_str()),
            Piece::Text(_) => None,
        });
        expressions.nth(self.found.len())
    }

    /// The answer to it.
    pub(super) fn take(&mut self, answer: Result<Value, Failure>) {
        self.found.push(answer);
    }

    /// All of them.
    pub(super) fn written(self) -> Written {
        let mut found = self.found.into_iter();
        match self.kind {
            Kind::Trace { hit, last } => Written::Row { values: found.map(cell).collect(), hit, last },
            Kind::Log => {
                let line = self.pieces.into_iter().map(|piece| match piece {
                    Piece::Text(text) => text,
                    Piece::Expression(expression) => match found.next() {
                        Some(Ok(body)) => shortened(bare(&body)),
                        Some(Err(failure)) => format!("{{{expression}: {}}}", failure.message.trim()),
                        None => String::new(),
                    },
                });
                Written::Line(line.collect())
            }
        }
    }
}

/// A value as a log message has it: a string without the quotes that debuggers show, unless something in it is escaped.
fn bare(body: &Value) -> &str {
    let shown = body["result"].as_str().unwrap_or_default();
    let kind = body["type"].as_str().unwrap_or_default().to_ascii_lowercase();
    let inner = |quote: char| shown.strip_prefix(quote)?.strip_suffix(quote);
    let text = inner('"').or_else(|| inner('\'')).filter(|_| kind.contains("str"));
    text.filter(|text| !text.contains(['\\', '"', '\''])).unwrap_or(shown)
}

fn cell(answer: Result<Value, Failure>) -> Value {
    match answer {
        Ok(body) => {
            let mut cell = json!({ "value": shortened(body["result"].as_str().unwrap_or_default()) });
            if let Some(kind) = body["type"].as_str() {
                cell["type"] = json!(kind);
            }
            cell
        }
        Err(failure) => json!({ "error": shortened(failure.message.trim()) }),
    }
}

fn shortened(text: &str) -> String {
    if text.len() <= LONGEST {
        return text.to_owned();
    }
    let (kept, rest) = text.split_at(text.floor_char_boundary(LONGEST));
    format!("{kept}… ({} bytes more)", rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(text: &str) -> Result<Value, Failure> {
        Ok(json!({ "result": text, "type": "int" }))
    }

    #[test]
    fn a_row_has_a_value_or_an_error_for_each_expression_whatever_it_looks_like() {
        let texts = ["i == 2", "f\"{i}\"", "a % b", "nope"];
        let wish = json!({ "trace": { "expressions": texts, "hits": 3 } });
        let mut values = Values::wanted_by(&wish, 3).unwrap();
        for text in texts {
            assert_eq!(values.next(), Some(text));
            values.take(if text == "nope" {
                Err(Failure::invalid("no such name\n"))
            } else {
                answered("x=y}")
            });
        }
        assert_eq!(values.next(), None);
        let Written::Row { values, hit: 3, last: true } = values.written() else { panic!("no row") };
        let cell = json!({ "value": "x=y}", "type": "int" });
        assert_eq!(json!(values), json!([cell, cell, cell, { "error": "no such name" }]));
    }

    #[test]
    fn a_string_is_logged_without_its_quotes_where_that_loses_nothing() {
        for (shown, kind, logged) in [
            ("'ann'", "str", "ann"),
            ("\"ann\"", "string", "ann"),
            ("'a\\n'", "str", "'a\\n'"),
            ("'a'", "char", "'a'"),
            ("'", "str", "'"),
            ("3", "int", "3"),
        ] {
            assert_eq!(bare(&json!({ "result": shown, "type": kind })), logged, "{shown}");
        }
    }

    #[test]
    fn a_log_message_takes_its_values_in_order() {
        let wish = json!({ "logMessage": "{i}: {d[\"}\"]} {{kept}} {nope}" });
        let mut values = Values::wanted_by(&wish, 1).unwrap();
        let mut asked = Vec::new();
        while let Some(next) = values.next().map(str::to_owned) {
            values.take(if next == "nope" { Err(Failure::invalid("unknown")) } else { answered(&next) });
            asked.push(next);
        }
        assert_eq!(asked, ["i", "d[\"}\"]", "nope"]);
        let Written::Line(line) = values.written() else { panic!("no line") };
        assert_eq!(line, "i: d[\"}\"] {kept} {nope: unknown}");
    }
}
