//! A breakpoint's log message, cut at its `{expressions}`: the same for the built-in engine and for the hub,
//! which writes the messages of all other engines. Nothing here evaluates.

use tandem_wire::types::OutputEventBody;

/// A part of a log message.
#[derive(Debug, PartialEq, Eq)]
pub enum LogMessagePart {
    Text(String),
    /// An expression, replaced by its value.
    Expression(String),
}

/// A log message in parts: `{expression}`, with braces and strings inside it; `{{` and `}}`
/// are braces themselves.
pub fn message_parts(message: &str) -> Vec<LogMessagePart> {
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
                    pieces.push(LogMessagePart::Text(std::mem::take(&mut text)));
                }
                pieces.push(LogMessagePart::Expression(inner.trim().to_owned()));
                rest = after;
            }
            _ => {
                text.push(letter);
                rest = behind;
            }
        }
    }
    if !text.is_empty() {
        pieces.push(LogMessagePart::Text(text));
    }
    pieces
}

/// DAP `output` for a line that a breakpoint has written; `from` distinguishes it from the
/// debugger's own messages.
pub fn line_body(line: &str) -> OutputEventBody {
    OutputEventBody::console_line(line).from_writer("logMessage")
}

/// The text before the closing brace, and the text after it.
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
        let text = |text: &str| LogMessagePart::Text(text.into());
        let expression = |text: &str| LogMessagePart::Expression(text.into());
        assert_eq!(message_parts("a {b} c"), [text("a "), expression("b"), text(" c")]);
        assert_eq!(message_parts("{d[\"}\"]}{ x }"), [expression("d[\"}\"]"), expression("x")]);
        assert_eq!(message_parts("{new { a = 1 }}"), [expression("new { a = 1 }")]);
        assert_eq!(message_parts("{{json}} {}"), [text("{json} {}")]);
        assert_eq!(message_parts("open {a"), [text("open {a")]);
    }
}
