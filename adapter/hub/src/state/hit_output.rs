//! Output of a hit that does not stop the program: a log message, or a row of a trace. Each expression is
//! evaluated by itself, as any other (`evaluate` in the top frame), and its value or its error is put where
//! it belongs: an expression never becomes part of a text that is parsed again. Nothing is requested here;
//! [`super::conditions`] does that.

use serde::Serialize;
use tandem_wire::Failure;
use tandem_wire::types::EvaluateResponseBody;

use crate::breakpoints::BreakpointRequest;
use tandem_engine::log_message::{LogMessagePart, message_parts};

/// Maximum length of a value, bytes: an adapter may reply with a whole file.
const MAX_VALUE: usize = 16 * 1024;

/// An evaluated expression.
type Evaluated = Result<EvaluateResponseBody, Failure>;

/// The output of one hit, while its expressions are evaluated one after the other.
#[derive(Debug)]
pub(super) struct HitOutput {
    pieces: Vec<LogMessagePart>,
    /// The values of the expressions among the pieces, as far as they are known.
    values: Vec<Evaluated>,
    kind: OutputKind,
}

#[derive(Debug, Clone, Copy)]
enum OutputKind {
    Log,
    Trace { hit: u64, last: bool },
}

#[derive(Debug)]
pub(super) enum HitRecord {
    /// A line of the console.
    Line(String),
    /// A row for the clients that trace.
    Row {
        /// One for each expression.
        values: Vec<TraceResult>,
        /// The number of the hit, from 1.
        hit: u64,
        /// The program stops here.
        last: bool,
    },
}

/// The value of a traced expression, or why it has none.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum TraceResult {
    Value {
        value: String,
        #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
        kind: Option<String>,
    },
    Error {
        error: String,
    },
}

impl TraceResult {
    fn of(evaluated: Evaluated) -> Self {
        match evaluated {
            Ok(value) => Self::Value { value: shorten(&value.result), kind: value.kind },
            Err(failure) => Self::Error { error: shorten(failure.message.trim()) },
        }
    }
}

impl HitOutput {
    /// The output of a breakpoint for the hit with this number; `None` without a log message or trace.
    pub(super) fn of(request: &BreakpointRequest, hit: u64) -> Option<Self> {
        if let Some(message) = &request.log_message {
            return Some(Self { pieces: message_parts(message), values: Vec::new(), kind: OutputKind::Log });
        }
        let trace = request.trace.as_ref()?;
        let pieces = trace.expressions.iter().cloned().map(LogMessagePart::Expression).collect();
        let last = trace.hits.is_some_and(|hits| hit >= hits);
        Some(Self { pieces, values: Vec::new(), kind: OutputKind::Trace { hit, last } })
    }

    /// The expression to evaluate next.
    pub(super) fn next(&self) -> Option<&str> {
        let mut expressions = self.pieces.iter().filter_map(|piece| match piece {
            LogMessagePart::Expression(expression) => Some(expression.as_str()),
            LogMessagePart::Text(_) => None,
        });
        expressions.nth(self.values.len())
    }

    /// Adds the value of the next expression.
    pub(super) fn add(&mut self, value: Evaluated) {
        self.values.push(value);
    }

    /// The output, once all expressions are evaluated.
    pub(super) fn finish(self) -> HitRecord {
        let mut values = self.values.into_iter();
        match self.kind {
            OutputKind::Trace { hit, last } => {
                HitRecord::Row { values: values.map(TraceResult::of).collect(), hit, last }
            }
            OutputKind::Log => {
                let line = self.pieces.into_iter().map(|piece| match piece {
                    LogMessagePart::Text(text) => text,
                    LogMessagePart::Expression(expression) => match values.next() {
                        Some(Ok(value)) => shorten(without_quotes(&value)),
                        Some(Err(failure)) => format!("{{{expression}: {}}}", failure.message.trim()),
                        None => String::new(),
                    },
                });
                HitRecord::Line(line.collect())
            }
        }
    }
}

/// A value as a log message has it: a string without the quotes that debuggers show, unless
/// something in it is escaped.
fn without_quotes(value: &EvaluateResponseBody) -> &str {
    let shown = value.result.as_str();
    let kind = value.kind.as_deref().unwrap_or_default().to_ascii_lowercase();
    let inner = |quote: char| shown.strip_prefix(quote)?.strip_suffix(quote);
    let text = inner('"').or_else(|| inner('\'')).filter(|_| kind.contains("str"));
    text.filter(|text| !text.contains(['\\', '"', '\''])).unwrap_or(shown)
}

fn shorten(text: &str) -> String {
    if text.len() <= MAX_VALUE {
        return text.to_owned();
    }
    let (kept, rest) = text.split_at(text.floor_char_boundary(MAX_VALUE));
    format!("{kept}… ({} bytes more)", rest.len())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn evaluated(text: &str, kind: &str) -> Evaluated {
        let kind = Some(kind.to_owned());
        Ok(EvaluateResponseBody { result: text.into(), kind, ..EvaluateResponseBody::default() })
    }

    fn output_of(request: Value, hit: u64) -> HitOutput {
        HitOutput::of(&serde_json::from_value(request).unwrap(), hit).unwrap()
    }

    #[test]
    fn a_row_has_a_value_or_an_error_for_each_expression_whatever_it_looks_like() {
        let texts = ["i == 2", "f\"{i}\"", "a % b", "nope"];
        let request = json!({ "trace": { "expressions": texts, "hits": 3 } });
        let mut values = output_of(request, 3);
        for text in texts {
            assert_eq!(values.next(), Some(text));
            values.add(if text == "nope" {
                Err(Failure::invalid("no such name\n"))
            } else {
                evaluated("x=y}", "int")
            });
        }
        assert_eq!(values.next(), None);
        let HitRecord::Row { values, hit: 3, last: true } = values.finish() else { panic!("no row") };
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
            assert_eq!(without_quotes(&evaluated(shown, kind).unwrap()), logged, "{shown}");
        }
    }

    #[test]
    fn a_log_message_takes_its_values_in_order() {
        let request = json!({ "logMessage": "{i}: {d[\"}\"]} {{kept}} {nope}" });
        let mut values = output_of(request, 1);
        let mut request = Vec::new();
        while let Some(next) = values.next().map(str::to_owned) {
            values.add(if next == "nope" {
                Err(Failure::invalid("unknown"))
            } else {
                evaluated(&next, "int")
            });
            request.push(next);
        }
        assert_eq!(request, ["i", "d[\"}\"]", "nope"]);
        let HitRecord::Line(line) = values.finish() else { panic!("no line") };
        assert_eq!(line, "i: d[\"}\"] {kept} {nope: unknown}");
    }
}
