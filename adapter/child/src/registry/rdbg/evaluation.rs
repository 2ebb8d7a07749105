//! Expressions for rdbg, which answers with the exception as the value when one fails. They are evaluated
//! inside code that marks a failure. Not here: conditions, which hold where they fail.

use serde_json::Value;
use tandem_wire::types::{self, EvaluateArguments, EvaluateResponseBody};
use tandem_wire::{ErrorCode, Failure};

/// The code around an expression. A variable that it sets is still the frame's.
const AROUND: (&str, &str) = ("begin; (", "\n); rescue Exception; FAILURE; end");
/// The same for an expression that is evaluated at each stop, which must not change the program's `$~`.
const AROUND_WATCH: (&str, &str) = (
    "begin; Thread.current[:__tandem_match] = $~; (",
    "\n); rescue Exception; FAILURE; ensure; $~ = Thread.current[:__tandem_match]; end",
);
/// The value of an expression that failed.
const FAILURE: &str = "\"__tandem_failed #{$!.class}: #{$!.message.lines.first.to_s.chomp}\"";
/// The beginning of the value of an expression that failed.
const FAILED: &str = "\"__tandem_failed ";
/// The file of an expression, which a syntax error names.
const FILE: &str = "(DEBUG CONSOLE):";
/// The value in a frame of native code.
const UNABLE: &str = "\"Error: Can not evaluate on this frame\"";

/// Marks the failure of an expression. One that is pointed at is a name, which is looked up.
pub(super) fn guard(arguments: &mut Value) {
    types::edit(arguments, |evaluate: &mut EvaluateArguments| {
        let (before, after) = match evaluate.context.as_deref() {
            Some("repl") => AROUND,
            Some("watch") => AROUND_WATCH,
            _ => return,
        };
        evaluate.expression = format!("{before}{}{}", evaluate.expression, after.replace("FAILURE", FAILURE));
    });
}

/// The reason why an expression failed, by the answer to its evaluation.
pub(super) fn failure(answer: &Value) -> Option<Failure> {
    let EvaluateResponseBody { result, kind, .. } = types::read(answer);
    let message = if let Some(text) = result.strip_prefix(FAILED) {
        // A long text is cut, and has no end.
        unescape(text.strip_suffix('"').unwrap_or(text))
    } else if result == UNABLE {
        "cannot evaluate in this frame: it is not Ruby's".to_owned()
    } else if kind.as_deref() == Some("SyntaxError") && result.contains(FILE) {
        // The code around it cannot be parsed with it.
        let (_, text) = result.split_once(FILE)?;
        let text = text.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == ':').trim();
        format!("SyntaxError: {}", text.strip_suffix('>').unwrap_or(text))
    } else {
        return None;
    };
    Some(Failure::new(ErrorCode::EvaluationFailed, message).quiet())
}

/// A string as Ruby's `inspect` shows it, without the escapes.
fn unescape(shown: &str) -> String {
    let (mut text, mut letters) = (String::with_capacity(shown.len()), shown.chars());
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => text.extend(letters.next()),
            letter => text.push(letter),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(result: &str, kind: &str) -> Option<String> {
        failure(&json!({ "result": result, "type": kind, "variablesReference": 1 }))
            .map(|failure| failure.message)
    }

    #[test]
    fn what_is_typed_is_guarded_and_what_is_pointed_at_is_not() {
        let guarded = |context: &str| {
            let mut arguments = json!({ "expression": "a # b", "context": context, "frameId": 1 });
            guard(&mut arguments);
            arguments["expression"].as_str().unwrap().to_owned()
        };
        for (context, before) in [("repl", ""), ("watch", "Thread.current[:__tandem_match] = $~; ")] {
            let expected = format!("begin; {before}(a # b\n); rescue Exception; \"__tandem_failed ");
            assert!(guarded(context).starts_with(&expected), "{}", guarded(context));
        }
        assert_eq!(guarded("hover"), "a # b");
    }

    #[test]
    fn a_failure_is_not_a_value() {
        for (result, kind, expected) in [
            ("\"__tandem_failed NameError: no \\\"x\\\" \\#{y}\"", "String", "NameError: no \"x\" #{y}"),
            ("\"__tandem_failed E: a long te...", "String", "E: a long te..."),
            (UNABLE, "String", "cannot evaluate in this frame: it is not Ruby's"),
            (
                "#<SyntaxError: (DEBUG CONSOLE):1: syntax error, unexpected ')'>",
                "SyntaxError",
                "SyntaxError: syntax error, unexpected ')'",
            ),
        ] {
            assert_eq!(message(result, kind).as_deref(), Some(expected));
        }
        for (result, kind) in [
            ("#<NameError: kept in a variable>", "NameError"),
            ("#<SyntaxError: a.rb:1: of the program>", "SyntaxError"),
            ("\"failed\"", "String"),
            ("nil", "NilClass"),
        ] {
            assert_eq!(message(result, kind), None);
        }
    }
}
